"""Beta rewards on (0, 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import number, numbers, stretch
from discreet.arms._base import BETA, Parametric, Part

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray


class BetaState(NamedTuple):
    """The two shapes of every arm."""

    a: NDArray[float64]
    b: NDArray[float64]


def draw_beta(state: BetaState, arm: int, rounds: int, t: int, rng: Generator) -> tuple[float, int]:
    """Sum of n draws of Beta(a, b); no closed form, so n draws."""
    total = 0.0
    for _ in range(rounds):
        total += rng.beta(state.a[arm], state.b[arm])
    return total, rounds


@dataclass(frozen=True, init=False)
class Beta(Parametric):
    """Rewards in (0, 1): reward ~ Beta(a, b), of mean a / (a + b).

    Args:
        a: The first shape of every arm, above 0; one number stands for all arms.
        b: The second shape.

    Raises:
        InvalidArgument: If a shape is not above 0.

    Example:
        >>> import discreet
        >>> discreet.Beta([3, 1], [1, 1]).means
        (0.75, 0.5)
    """

    name = "beta"
    draw = staticmethod(draw_beta)
    state = BetaState
    a: tuple[float, ...]
    b: tuple[float, ...]

    def __init__(self, a: float | Sequence[float], b: float | Sequence[float]) -> None:
        fix = "pass one positive shape per arm"
        first = numbers("a", a, low=0.0, strict=True, fix=fix)
        second = numbers("b", b, low=0.0, strict=True, fix=fix)
        first, second = stretch(a=first, b=second)
        means = tuple(x / (x + y) for x, y in zip(first, second, strict=True))
        self._set(a=first, b=second, means=means, bounds=(0.0, 1.0))

    @classmethod
    def of_means(cls, means: float | Sequence[float], concentration: float = 2.0) -> Beta:
        """a = c m, b = c (1 - m): variance m (1 - m) / (c + 1); c = 2, m = 1/2 is uniform."""
        fix = "a beta reward lies inside (0, 1), and so does its mean"
        mean = numbers("means", means, low=0.0, high=1.0, strict=True, fix=fix)
        c = number("concentration", concentration, low=0.0, strict=True, fix="pass for instance 2")
        return cls([c * m for m in mean], [c * (1.0 - m) for m in mean])

    def parts(self) -> tuple[Part, ...]:
        """The shapes."""
        return tuple(Part(BETA, a, b) for a, b in zip(self.a, self.b, strict=True))
