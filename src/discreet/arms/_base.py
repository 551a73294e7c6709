"""What every reward environment offers: true means, a range, and a kernel that draws batches."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Never, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints, Json

Kernel: TypeAlias = "Callable[[Never, int, int, int, Generator], tuple[float, int]]"
"""`draw(state, arm, rounds, t, rng) -> (total, served)`, in numba's nopython subset.

`total` is the sum of `served` rewards of `arm` in rounds t, t+1, …; `served < rounds` only when
the state has run out, and then `refill` decides whether there is more. (Every environment has a
class of states of its own: no other can be handed to its kernel.)
"""

T = TypeVar("T")


def lost_steadily(gaps: Floats, arm: int, t: int, rounds: int) -> float:
    """Pseudo-regret of an arm whose mean stays what it is."""
    lost: float = gaps[arm] * rounds
    return lost


def _settings(environment: Environment) -> list[str]:
    """The names of what an environment was built from."""
    return [field.name for field in fields(environment)]  # type: ignore[arg-type]  # all are dataclasses


class Environment(ABC):
    """Base of all environments: what draws the rewards of all arms. Frozen, so it can be shared.

    `means` and `bounds` say what is true of the rewards; `start` gives each run its own state.

    Example:
        >>> import discreet
        >>> isinstance(discreet.Bernoulli([0.7, 0.5]), discreet.Environment)
        True
    """

    name: ClassVar[str]
    means: tuple[float, ...]
    """True mean of every arm."""
    bounds: tuple[float, float] | None
    """A range that holds every reward; None if there is none."""
    limit: int | None = None
    """The most rounds that one run can be served; None if endless."""
    draw: Kernel
    """Plain function that draws the sum of a batch."""
    late: ClassVar[bool] = False
    """Whether rewards arrive later than they are earned: see `Delayed`."""
    steady: bool = True
    """Whether every arm's rewards have one distribution in all rounds."""
    lost: Callable[[Never, int, int, int], float] = staticmethod(lost_steadily)
    """`lost(standard, arm, t, rounds)`: what rounds t, t+1, … of an arm cost, beside the best."""

    @property
    def arms(self) -> int:
        """Number of arms K."""
        return len(self.means)

    @abstractmethod
    def start(self, rng: Generator) -> NamedTuple:
        """Fresh state of one run: a NamedTuple of arrays for `draw`."""

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """Give a starved `draw` more rewards; False if nothing is left and the run ends."""
        return False

    def standard(self, horizon: int) -> Floats | NamedTuple:
        """What `lost` holds an arm against: every arm's gap to the best."""
        import numpy as np

        means = np.array(self.means)
        gaps: Floats = means.max() - means
        return gaps

    def ahead(self, t: Ints, horizon: int) -> Floats:
        """How far the best arm of every round is ahead of the best fixed one, after t rounds."""
        import numpy as np

        return np.zeros(len(t))

    def arranged(self, order: Sequence[int]) -> Environment:
        """The same arms under other numbers: arm a of the new one is arm `order[a]` of this one.

        What fits every environment and costs a compilation; those that can rearrange themselves do.
        """
        from ._arranged import Arranged

        return Arranged(self, order)

    def to_dict(self) -> dict[str, object]:
        """Settings as JSON-ready values; `environment_from_dict` is the inverse."""
        given = {name: _plain(getattr(self, name)) for name in _settings(self)}
        inside = {"of": given.pop("environment")} if "environment" in given else {}
        return {"environment": self.name, **inside, **given}

    @classmethod
    def from_settings(cls, settings: Json) -> Self:
        """The environment with these settings (those of `to_dict`, without the name)."""
        from ._catalogue import environment_from_dict

        given = dict(settings)
        if "of" in given:
            given["environment"] = environment_from_dict(given.pop("of"))
        return cls(**given)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _changed(self, **values: object) -> Self:
        """A copy with other values, which are not checked again."""
        environment = copy.copy(self)
        environment._set(**values)
        return environment


TWO_POINT, GAUSSIAN, BETA, UNIFORM = 0, 1, 2, 3


class Part(NamedTuple):
    """One arm of a parametric family.

    TWO_POINT: low, high, probability of high. GAUSSIAN: mean, sd. BETA: a, b. UNIFORM: low, high.
    """

    family: int
    x: float
    y: float
    z: float = 0.0


class Parametric(Environment):
    """An environment with arms of known families, so that it can be mixed and clipped."""

    state: ClassVar[type]
    """What `draw` is handed: an array for every field of the environment."""

    def start(self, rng: Generator) -> NamedTuple:
        """The parameters; nothing changes during a run."""
        import numpy as np

        columns = (getattr(self, name) for name in _settings(self))
        state: NamedTuple = self.state(*map(np.array, columns))
        return state

    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """Family and parameters of every arm."""

    def arranged(self, order: Sequence[int]) -> Parametric:
        """Parameters are tuples with one entry per arm."""
        names = {"means", *_settings(self)}
        given = {name: getattr(self, name) for name in names}
        return self._changed(
            **{
                name: taken(value, order)
                for name, value in given.items()
                if isinstance(value, tuple) and len(value) == self.arms
            }
        )


def taken(values: Sequence[T], order: Sequence[int]) -> tuple[T, ...]:
    """values[order[0]], values[order[1]], …"""
    return tuple(values[arm] for arm in order)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return value.to_dict() if hasattr(value, "to_dict") else value
