"""Contexts: which actions are on offer in each round.

    FixedActions      the same K vectors in every round
    IIDContexts       one of M given sets of K vectors, drawn anew in every round
    GaussianContexts  K independent N(mean, variance I) vectors in every round
    ContextSource     whatever a function of the caller's draws

A kernel `offer(state, actions, rng)` writes the next round's K vectors into the flat `actions`;
False means that its buffer is empty and Python must `refill` it. Actions may have any length: what
noise a release needs is computed from the actions that were played.

>>> GaussianContexts(arms=10, dimension=3).longest
inf
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import action_array, check_seed, count, positive
from ..errors import InvalidArgument
from ._algebra import of_known_length

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from .._compiled import Floats as FlatFloats
    from .._types import Floats, Ints

BUFFER = 1024
"""Context sets that a source is asked for at a time."""


class Contexts(ABC):
    """K actions of d features a round."""

    name: ClassVar[str]
    offer: ClassVar[Callable[..., bool]]
    arms: int
    dimension: int
    longest: float
    """No action is longer than this; infinity if there is no bound."""

    @abstractmethod
    def start(self, rng: Generator) -> NamedTuple:
        """Fresh state of one run, for `offer`."""

    def refill(self, state: NamedTuple, rng: Generator) -> None:
        """Fill an empty buffer; contexts without one never ask for it."""
        raise RuntimeError(f"{self.name} contexts have no buffer to fill")

    def reach(self, theta: Floats) -> tuple[float, float]:
        """A range that holds <θ, a> for every action that can be on offer."""
        furthest = self.longest * math.sqrt(float(theta @ theta))
        return -furthest, furthest

    @property
    @abstractmethod
    def average(self) -> Floats:
        """The mean vector of every action, K × d."""

    @abstractmethod
    def to_dict(self) -> dict[str, object]:
        """Settings, JSON-ready."""

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


class Fixed(NamedTuple):
    """All actions, flat."""

    actions: Floats


def offer_fixed(state: Fixed, actions: Floats, rng: Generator) -> bool:
    """The same as ever."""
    for i in range(len(actions)):
        actions[i] = state.actions[i]
    return True


@dataclass(frozen=True, init=False, eq=False)
class FixedActions(Contexts):
    """The same K vectors in every round."""

    name = "fixed"
    offer = staticmethod(offer_fixed)
    actions: Floats

    def __init__(self, actions: ArrayLike) -> None:
        points = action_array("actions", actions)
        self._set(actions=points, arms=_arms(points.shape[0]), dimension=points.shape[1])
        self._set(longest=_longest(points))

    @classmethod
    def on_sphere(cls, arms: int, dimension: int, rng: Generator) -> FixedActions:
        """K independent uniform vectors of length 1."""
        return cls(sphere(_arms(arms), _dimension(dimension), rng))

    def reach(self, theta: Floats) -> tuple[float, float]:
        means = self.actions @ theta
        return float(means.min()), float(means.max())

    def start(self, rng: Generator) -> Fixed:
        return Fixed(self.actions.ravel())

    @property
    def average(self) -> Floats:
        return self.actions

    def to_dict(self) -> dict[str, object]:
        return {"contexts": self.name, "actions": self.actions.tolist()}


class Pool(NamedTuple):
    """Context sets, flat: set m begins at m * K * d."""

    sets: Floats
    size: int


def offer_pool(state: Pool, actions: Floats, rng: Generator) -> bool:
    """A set drawn uniformly."""
    start = rng.integers(0, state.size) * len(actions)
    for i in range(len(actions)):
        actions[i] = state.sets[start + i]
    return True


@dataclass(frozen=True, init=False, eq=False)
class IIDContexts(Contexts):
    """In every round one of M sets of K vectors, drawn uniformly and independently."""

    name = "iid"
    offer = staticmethod(offer_pool)
    sets: Floats

    def __init__(self, sets: ArrayLike) -> None:
        pool = action_array("sets", sets, 3)
        self._set(sets=pool, arms=_arms(pool.shape[1]), dimension=pool.shape[2])
        self._set(longest=_longest(pool))

    def reach(self, theta: Floats) -> tuple[float, float]:
        means = self.sets @ theta
        return float(means.min()), float(means.max())

    def start(self, rng: Generator) -> Pool:
        return Pool(self.sets.ravel(), self.sets.shape[0])

    @property
    def average(self) -> Floats:
        import numpy as np

        return np.asarray(self.sets.mean(axis=0))

    def to_dict(self) -> dict[str, object]:
        return {"contexts": self.name, "sets": self.sets.tolist()}


class Normal(NamedTuple):
    """Mean vector, the same for every action in turn, standard deviation, and whether long actions
    are shortened to length 1."""

    mean: FlatFloats | tuple[float, ...]
    means: Floats
    sd: float
    ball: bool


def offer_normal(state: Normal, actions: Floats, rng: Generator) -> bool:
    """N(mean, sd² I) for every action, scaled into the unit ball if asked."""
    dimension = len(state.mean)
    for start in range(0, len(actions), dimension):
        square = 0.0
        for i in range(dimension):
            value = state.mean[i] + state.sd * rng.standard_normal()
            actions[start + i] = value
            square += value * value
        if state.ball and square > 1.0:
            scale = 1.0 / math.sqrt(square)
            for i in range(dimension):
                actions[start + i] *= scale
    return True


@dataclass(frozen=True, init=False, eq=False)
class GaussianContexts(Contexts):
    """K independent N(mean, variance I) vectors a round, by default as in Azize 2024, 5.5.2.

    There mean = (1/sqrt d, …, 1/sqrt d) and variance = 1/10: near the sphere, often outside it.
    With `ball`, an action longer than 1 is shortened to length 1.
    """

    name = "gaussian"
    offer = staticmethod(offer_normal)
    mean: tuple[float, ...]
    variance: float
    ball: bool

    def __init__(
        self,
        arms: int,
        dimension: int,
        mean: ArrayLike | None = None,
        variance: float = 0.1,
        ball: bool = False,
    ) -> None:
        dimension = _dimension(dimension)
        centre = (1.0 / math.sqrt(dimension),) * dimension
        if mean is not None:
            centre = tuple(action_array("mean", mean, 1).tolist())
            if len(centre) != dimension:
                raise InvalidArgument(
                    "mean", f"have {dimension} entries", mean, "pass one a feature"
                )
        self._set(arms=_arms(arms), dimension=dimension, mean=centre, ball=bool(ball))
        self._set(variance=positive("variance", variance, "use for example 0.1"))
        self._set(longest=1.0 if ball else math.inf)

    def start(self, rng: Generator) -> Normal:
        import numpy as np

        mean = of_known_length(np.array(self.mean))
        return Normal(mean, np.tile(self.mean, self.arms), math.sqrt(self.variance), self.ball)

    @property
    def average(self) -> Floats:
        """Before shortening: the direction that all arms share."""
        import numpy as np

        return np.tile(self.mean, (self.arms, 1))

    def to_dict(self) -> dict[str, object]:
        return {
            "contexts": self.name, "arms": self.arms, "dimension": self.dimension,
            "mean": list(self.mean), "variance": self.variance, "ball": self.ball,
        }  # fmt: skip


class Stock(NamedTuple):
    """Context sets drawn ahead, flat, and how many of them are used."""

    sets: Floats
    used: Ints


def offer_stock(state: Stock, actions: Floats, rng: Generator) -> bool:
    """The next set of the buffer."""
    start = state.used[0] * len(actions)
    if start >= len(state.sets):
        return False
    for i in range(len(actions)):
        actions[i] = state.sets[start + i]
    state.used[0] += 1
    return True


@dataclass(frozen=True, init=False, eq=False)
class ContextSource(Contexts):
    """Whatever `draw(rng, size)` returns: size × K × d numbers, one set a round, in order.

    `longest` declares a bound on the length of actions, which every buffer is checked against. The
    mean vectors are those of one buffer drawn from a fixed seed; they only serve the printed means.
    """

    name = "source"
    offer = staticmethod(offer_stock)
    draw: Callable[[Generator, int], ArrayLike]
    buffer: int = field(default=BUFFER)

    def __init__(
        self,
        draw: Callable[[Generator, int], ArrayLike],
        longest: float = math.inf,
        buffer: int = BUFFER,
    ) -> None:
        if not callable(draw):
            raise InvalidArgument("draw", "be a function f(rng, size)", draw, "pass a function")
        if longest != math.inf:
            longest = positive("longest", longest, "pass a bound on the length of actions, or none")
        size = count("buffer", buffer, fix="pass for instance 1024")
        self._set(draw=draw, longest=longest, buffer=size)
        probe = action_array("draw", draw(generator(0), size), 3)
        self._set(arms=_arms(probe.shape[1]), dimension=probe.shape[2])
        self._checked(probe)
        self._set(_average=probe.mean(axis=0))

    def start(self, rng: Generator) -> Stock:
        import numpy as np

        state = Stock(np.zeros(self.buffer * self.arms * self.dimension), np.zeros(1, np.int64))
        self.refill(state, rng)
        return state

    def refill(self, state: NamedTuple, rng: Generator) -> None:
        assert isinstance(state, Stock)
        drawn = self._checked(action_array("draw", self.draw(rng, self.buffer), 3))
        state.sets[:] = drawn.ravel()
        state.used[0] = 0

    def _checked(self, drawn: Floats) -> Floats:
        want = (self.buffer, self.arms, self.dimension)
        if drawn.shape != want:
            raise InvalidArgument(
                "draw", f"return shape {want}", f"shape {drawn.shape}", "return `size` sets"
            )
        if _longest(drawn) > self.longest * (1.0 + 1e-9):
            raise InvalidArgument(
                "draw", f"return actions no longer than longest = {self.longest:g}",
                _longest(drawn), "scale them, or declare another bound",
            )  # fmt: skip
        return drawn

    @property
    def average(self) -> Floats:
        average: Floats = self._average  # type: ignore[attr-defined]  # set by __init__
        return average

    def to_dict(self) -> dict[str, object]:
        return {
            "contexts": self.name, "draw": getattr(self.draw, "__name__", repr(self.draw)),
            "longest": self.longest if math.isfinite(self.longest) else None,
            "buffer": self.buffer,
        }  # fmt: skip


def generator(seed: int | None) -> Generator:
    """Its own generator for an instance."""
    import numpy as np

    return np.random.default_rng(check_seed(seed))


def sphere(count: int, dimension: int, rng: Generator) -> Floats:
    """Independent uniform vectors of length 1."""
    import numpy as np

    points = rng.standard_normal((count, dimension))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _longest(points: Floats) -> float:
    import numpy as np

    return float(np.sqrt((points * points).sum(axis=-1).max()))


def _arms(arms: int) -> int:
    return count("arms", arms, fix="a choice needs two actions", least=2)


def _dimension(dimension: int) -> int:
    return count("dimension", dimension, fix="give the number of features")
