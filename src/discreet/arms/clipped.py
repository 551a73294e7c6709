"""A law made bounded: each reward is clipped to [low, high].

Means, and so regret, are those after clipping; `Capped` keeps those of the rewards themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet.arms.base import BETA, GAUSSIAN, TWO_POINT, Law, Parametric, Part, taken
from discreet.arms.mixed import table_of
from discreet.arms.sampler import Buffer, Sampler, draw_buffer
from discreet.checks import number
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray


class ClippedState(NamedTuple):
    """Family and parameters of every arm, as in `Part`, and the range."""

    family: NDArray[int64]
    x: NDArray[float64]
    y: NDArray[float64]
    z: NDArray[float64]
    low: float
    high: float


def draw_clipped(
    state: ClippedState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of min(max(reward, low), high) over n rewards."""
    family, x, y = state.family[arm], state.x[arm], state.y[arm]
    total = 0.0
    if family == TWO_POINT:  # both points are clipped by `start`
        hits = rng.binomial(rounds, state.z[arm])
        return x * (rounds - hits) + y * hits, rounds
    for _ in range(rounds):
        if family == GAUSSIAN:
            reward = rng.normal(x, y)
        elif family == BETA:
            reward = rng.beta(x, y)
        else:
            reward = x + (y - x) * rng.random()
        total += min(max(reward, state.low), state.high)
    return total, rounds


@dataclass(frozen=True, init=False)
class Clipped(Law):
    """reward = min(max(X, low), high), X of another law; the means are those after clipping."""

    name = "clipped"
    law: Law
    low: float
    high: float

    def __init__(self, law: Law, low: float = 0.0, high: float = 1.0) -> None:
        low, high = number("low", low), number("high", high)
        if not low < high:
            raise InvalidArgument("low", f"be below high = {high!r}", low, "swap low and high")
        if isinstance(law, Parametric):
            means = tuple(clipped_mean(part, low, high) for part in law.parts())
        elif isinstance(law, Sampler):
            means = law.clipped_means(low, high)
        else:
            raise InvalidArgument(
                "law", "be a parametric law or a Sampler", law, "clip its rewards beforehand"
            )
        draw = draw_buffer if isinstance(law, Sampler) else draw_clipped
        self._set(law=law, low=low, high=high, means=means, bounds=(low, high), draw=draw)

    def start(self, rng: Generator) -> ClippedState | Buffer:
        """The parameters, or a buffer of clipped rewards."""
        if isinstance(self.law, Parametric):
            parts = (_clip_points(part, self.low, self.high) for part in self.law.parts())
            return ClippedState(*table_of(parts), self.low, self.high)
        assert isinstance(self.law, Sampler)
        buffer = self.law.start(rng)
        buffer.values.clip(self.low, self.high, out=buffer.values)
        return buffer

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """More clipped rewards."""
        more = self.law.refill(state, rng)
        if more:
            assert isinstance(state, Buffer)
            state.values.clip(self.low, self.high, out=state.values)
        return more

    def arranged(self, order: Sequence[int]) -> Clipped:
        """The law inside, rearranged."""
        return self._changed(law=self.law.arranged(order), means=taken(self.means, order))


def clipped_mean(part: Part, low: float, high: float) -> float:
    """E min(max(X, low), high) = low P(X < low) + E[X; low <= X <= high] + high P(X > high)."""
    family, x, y, z = part
    if family == TWO_POINT:
        _, x, y, _ = _clip_points(part, low, high)
        return x * (1.0 - z) + y * z
    if family == GAUSSIAN:
        mean = _gaussian(x, y, low, high)
    elif family == BETA:
        mean = _beta(x, y, low, high)
    else:
        mean = _uniform(x, y, low, high)
    return min(max(mean, low), high)  # rounding must not leave the range


def _clip_points(part: Part, low: float, high: float) -> Part:
    if part.family != TWO_POINT:
        return part
    return part._replace(x=min(max(part.x, low), high), y=min(max(part.y, low), high))


def _gaussian(mean: float, sd: float, low: float, high: float) -> float:
    """With α = (low - μ)/σ, β = (high - μ)/σ: E = low + σ (I(β) - I(α)), I(x) = ∫ up to x of 1 - Φ.

    I(x) = x (1 - Φ(x)) - φ(x) up to a constant.
    """

    def primitive(x: float) -> float:
        tail = 0.5 * math.erfc(x / math.sqrt(2.0))
        return x * tail - math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)

    return low + sd * (primitive((high - mean) / sd) - primitive((low - mean) / sd))


def _beta(a: float, b: float, low: float, high: float) -> float:
    """E[X; X <= x] = a/(a+b) Iₓ(a + 1, b), with I the regularised incomplete beta function."""
    if low <= 0.0 and high >= 1.0:
        return a / (a + b)
    from scipy.special import betainc

    below, above = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    inside = float(betainc(a + 1.0, b, above) - betainc(a + 1.0, b, below)) * a / (a + b)
    return float(low * betainc(a, b, below) + inside + high * (1.0 - betainc(a, b, above)))


def _uniform(x: float, y: float, low: float, high: float) -> float:
    """A constant if x = y; else the pieces below, inside and above, by their lengths."""
    if x == y:
        return x
    left, right = min(max(low, x), y), min(max(high, x), y)
    inside = 0.5 * (right - left) * (right + left)
    return (low * (left - x) + inside + high * (y - right)) / (y - x)
