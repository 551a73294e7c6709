"""Bernoulli rewards: 1 with probability p, else 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import numbers
from discreet.arms._base import TWO_POINT, Parametric, Part

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray


class BernoulliState(NamedTuple):
    """Success probability of every arm."""

    p: NDArray[float64]


def draw_bernoulli(
    state: BernoulliState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Sum of n rewards ~ Binomial(n, p)."""
    if rounds == 1:
        return (1.0 if rng.random() < state.p[arm] else 0.0), rounds
    return float(rng.binomial(rounds, state.p[arm])), rounds


@dataclass(frozen=True, init=False)
class Bernoulli(Parametric):
    """Rewards of 0 and 1: arm a pays 1 with probability means[a].

    Args:
        means: The success probability of every arm, each in [0, 1].

    Raises:
        InvalidArgument: If a mean is not a number in [0, 1].

    Example:
        >>> import discreet
        >>> discreet.Bernoulli([0.7, 0.5]).bounds
        (0.0, 1.0)
    """

    name = "bernoulli"
    draw = staticmethod(draw_bernoulli)
    state = BernoulliState
    means: tuple[float, ...]

    def __init__(self, means: float | Sequence[float]) -> None:
        fix = "pass one success probability per arm"
        self._set(means=numbers("means", means, low=0.0, high=1.0, fix=fix), bounds=(0.0, 1.0))

    def parts(self) -> tuple[Part, ...]:
        """Two points 0 and 1."""
        return tuple(Part(TWO_POINT, 0.0, 1.0, p) for p in self.means)
