"""Rewards that are uniform on an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import number, numbers, ordered, stretch
from discreet.arms._base import UNIFORM, Parametric, Part

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray


class UniformState(NamedTuple):
    """Both ends of every arm's interval."""

    low: NDArray[float64]
    high: NDArray[float64]


def draw_uniform(
    state: UniformState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of n rewards = n low + (high - low) (U₁ + … + Uₙ)."""
    total = 0.0
    for _ in range(rounds):
        total += rng.random()
    return rounds * state.low[arm] + (state.high[arm] - state.low[arm]) * total, rounds


@dataclass(frozen=True, init=False)
class Uniform(Parametric):
    """Rewards that are uniform on [low, high]; with low = high they are constant.

    Args:
        low: The low end of every arm; one number stands for all arms.
        high: The high end, at least the low one.

    Raises:
        InvalidArgument: If low is above high.

    Example:
        >>> import discreet
        >>> discreet.Uniform([0.0, 0.0], [1.0, 0.5]).means
        (0.5, 0.25)
    """

    name = "uniform"
    draw = staticmethod(draw_uniform)
    state = UniformState
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __init__(self, low: float | Sequence[float], high: float | Sequence[float]) -> None:
        below, above = stretch(low=numbers("low", low), high=numbers("high", high))
        ordered(below, above)
        means = tuple(0.5 * x + 0.5 * y for x, y in zip(below, above, strict=True))
        self._set(low=below, high=above, means=means, bounds=(min(below), max(above)))

    @classmethod
    def of_means(cls, means: float | Sequence[float], half_width: float = 0.5) -> Uniform:
        """[m - w, m + w] with the largest w <= half_width that stays inside [0, 1]."""
        fix = "pass means inside [0, 1]"
        mean = numbers("means", means, low=0.0, high=1.0, fix=fix)
        most = number("half_width", half_width, low=0.0, fix="pass for instance 0.5")
        widths = [min(most, m, 1.0 - m) for m in mean]
        return cls(
            [max(0.0, m - w) for m, w in zip(mean, widths, strict=True)],
            [min(1.0, m + w) for m, w in zip(mean, widths, strict=True)],
        )

    def parts(self) -> tuple[Part, ...]:
        """Both ends."""
        return tuple(Part(UNIFORM, x, y) for x, y in zip(self.low, self.high, strict=True))
