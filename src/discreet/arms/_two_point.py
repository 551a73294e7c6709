"""Rewards that take two values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import numbers, ordered, stretch
from discreet.arms._base import TWO_POINT, Parametric, Part

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray


class TwoPointState(NamedTuple):
    """Both values and the probability of the high one, for every arm."""

    low: NDArray[float64]
    high: NDArray[float64]
    p: NDArray[float64]


def draw_two_point(
    state: TwoPointState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of n rewards = low (n - N) + high N with N ~ Binomial(n, p)."""
    hits = rng.binomial(rounds, state.p[arm])
    return state.low[arm] * (rounds - hits) + state.high[arm] * hits, rounds


@dataclass(frozen=True, init=False)
class TwoPoint(Parametric):
    """Rewards of two values: high with a probability, else low.

    Args:
        low: The low value of every arm; one number stands for all arms.
        high: The high value, at least the low one.
        probability: The probability of the high value, in [0, 1].

    Raises:
        InvalidArgument: If low is above high, or a probability is outside of [0, 1].

    Example:
        >>> import discreet
        >>> discreet.TwoPoint(0.0, [1.0, 0.5]).means
        (0.5, 0.25)
    """

    name = "two-point"
    draw = staticmethod(draw_two_point)
    state = TwoPointState
    low: tuple[float, ...]
    high: tuple[float, ...]
    probability: tuple[float, ...]

    def __init__(
        self,
        low: float | Sequence[float],
        high: float | Sequence[float],
        probability: float | Sequence[float] = 0.5,
    ) -> None:
        below, above = numbers("low", low), numbers("high", high)
        fix = "pass the probability of the high value"
        p = numbers("probability", probability, low=0.0, high=1.0, fix=fix)
        below, above, p = stretch(low=below, high=above, probability=p)
        ordered(below, above)
        means = tuple(x * (1.0 - q) + y * q for x, y, q in zip(below, above, p, strict=True))
        bounds = (min(below), max(above))
        self._set(low=below, high=above, probability=p, means=means, bounds=bounds)

    @classmethod
    def of_means(cls, means: float | Sequence[float]) -> TwoPoint:
        """Even odds of max(0, 2m - 1) and min(1, 2m): the widest such pair inside [0, 1]."""
        fix = "pass means inside [0, 1]"
        mean = numbers("means", means, low=0.0, high=1.0, fix=fix)
        return cls([max(0.0, 2 * m - 1) for m in mean], [min(1.0, 2 * m) for m in mean])

    def parts(self) -> tuple[Part, ...]:
        """Both values and the probability of the high one."""
        arms = zip(self.low, self.high, self.probability, strict=True)
        return tuple(Part(TWO_POINT, x, y, p) for x, y, p in arms)
