"""Arms from different families concurrently."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from discreet.arms._base import BETA, GAUSSIAN, TWO_POINT, Parametric, Part, taken
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

    from .._types import Json


class MixedState(NamedTuple):
    """Family and parameters of every arm, as in `Part`."""

    family: NDArray[int64]
    x: NDArray[float64]
    y: NDArray[float64]
    z: NDArray[float64]


def draw_mixed(
    state: MixedState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of n rewards by the rule of the arm's family."""
    family, x, y = state.family[arm], state.x[arm], state.y[arm]
    if family == TWO_POINT:
        hits = rng.binomial(rounds, state.z[arm])
        return x * (rounds - hits) + y * hits, rounds
    if family == GAUSSIAN:
        return rng.normal(rounds * x, y * math.sqrt(rounds)), rounds
    total = 0.0
    if family == BETA:
        for _ in range(rounds):
            total += rng.beta(x, y)
        return total, rounds
    for _ in range(rounds):
        total += rng.random()
    return rounds * x + (y - x) * total, rounds


@dataclass(frozen=True, init=False)
class Mixed(Parametric):
    """The arms of several environments in one: those of the first, then those of the second, …

    Args:
        environments: Parametric environments, such as `Bernoulli`, `Beta` and `Gaussian`.

    Raises:
        InvalidArgument: If one of them is not parametric.

    Example:
        >>> import discreet
        >>> discreet.Mixed([discreet.Bernoulli([0.9]), discreet.Uniform([0.0], [1.0])]).means
        (0.9, 0.5)
    """

    name = "mixed"
    draw = staticmethod(draw_mixed)
    environments: tuple[Parametric, ...]

    def __init__(self, environments: Iterable[Parametric]) -> None:
        rule = "be a sequence of parametric environments"
        fix = "pass for instance [Bernoulli(0.9), Beta(4, 1), Uniform(0, 1)]"
        if not isinstance(environments, Iterable):
            raise InvalidArgument("environments", rule, environments, fix)
        environments = tuple(environments)
        if not environments:
            raise InvalidArgument(
                "environments", "hold at least one environment", environments, fix
            )
        for i, environment in enumerate(environments):
            if not isinstance(environment, Parametric):
                raise InvalidArgument(
                    f"environments[{i}]", "be a parametric environment", environment, fix
                )
        bounds = [
            environment.bounds for environment in environments if environment.bounds is not None
        ]
        self._set(
            environments=environments,
            means=tuple(mean for environment in environments for mean in environment.means),
            bounds=(min(b[0] for b in bounds), max(b[1] for b in bounds))
            if len(bounds) == len(environments)
            else None,
        )

    def start(self, rng: Generator) -> MixedState:
        """The parameters; nothing changes during a run."""
        return table_of(self.parts())

    def parts(self) -> tuple[Part, ...]:
        """The parts of all environments."""
        return tuple(part for environment in self.environments for part in environment.parts())

    def arranged(self, order: Sequence[int]) -> Mixed:
        """Every arm as its own environment."""
        single = [
            environment.arranged([arm])
            for environment in self.environments
            for arm in range(environment.arms)
        ]
        return self._changed(environments=taken(single, order), means=taken(self.means, order))

    @classmethod
    def from_settings(cls, settings: Json) -> Mixed:
        """The environment with these settings."""
        from discreet.arms._catalogue import environment_from_dict

        environments = [
            environment_from_dict(environment)
            for environment in cast("Sequence[Json]", settings["environments"])
        ]
        return cls(environments)  # type: ignore[arg-type]  # the constructor refuses what is not parametric


def table_of(parts: Iterable[Part]) -> MixedState:
    """The parts as columns."""
    import numpy as np

    family, x, y, z = zip(*parts, strict=True)
    return MixedState(np.array(family, dtype=np.int64), np.array(x), np.array(y), np.array(z))
