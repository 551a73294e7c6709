"""Gaussian rewards, unbounded: see `Clipped` for a bounded version."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import numbers, stretch
from discreet.arms._base import GAUSSIAN, Parametric, Part

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray


class GaussianState(NamedTuple):
    """Mean and standard deviation of every arm."""

    mean: NDArray[float64]
    sd: NDArray[float64]


def draw_gaussian(
    state: GaussianState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of n rewards ~ N(n μ, n σ²)."""
    return rng.normal(rounds * state.mean[arm], state.sd[arm] * math.sqrt(rounds)), rounds


@dataclass(frozen=True, init=False)
class Gaussian(Parametric):
    """Unbounded rewards: reward ~ N(mean, sd²). Private policies need `Clipped` around it.

    Args:
        means: The mean of every arm.
        sd: The standard deviation of every arm, above 0; one number stands for all arms.

    Raises:
        InvalidArgument: If a standard deviation is not above 0.

    Example:
        >>> import discreet
        >>> discreet.Gaussian([1.0, 0.0], sd=0.5).bounds is None
        True
    """

    name = "gaussian"
    draw = staticmethod(draw_gaussian)
    state = GaussianState
    means: tuple[float, ...]
    sd: tuple[float, ...]

    def __init__(self, means: float | Sequence[float], sd: float | Sequence[float] = 1.0) -> None:
        mean = numbers("means", means)
        spread = numbers("sd", sd, low=0.0, strict=True, fix="pass a positive standard deviation")
        mean, spread = stretch(means=mean, sd=spread)
        self._set(means=mean, sd=spread, bounds=None)

    def parts(self) -> tuple[Part, ...]:
        """Mean and sd."""
        return tuple(Part(GAUSSIAN, m, s) for m, s in zip(self.means, self.sd, strict=True))
