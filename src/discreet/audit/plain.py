"""Plain mechanisms: one number, or a few, from either side. To calibrate the audit itself, and to
audit a mechanism of your own by a function that draws from it.

>>> coin = Plain(lambda side, count, rng: rng.random((count, 1)) < (0.3, 0.4)[side])
>>> coin.sample(0, 3, __import__("numpy").random.default_rng(1)).numbers.shape
(3, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..privacy.mechanisms import Gaussian, Laplace, Mechanism, RandomisedResponse, TruncatedLaplace
from .transcripts import Transcripts

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class Plain:
    """`draw(side, count, rng)` gives the numbers of so many transcripts, one row each."""

    draw: Callable[[int, int, Generator], Any]
    names: tuple[str, ...] = ("output",)
    inputs: str = "0 or 1"
    codes: int = 1

    @classmethod
    def of(cls, mechanism: Mechanism) -> Plain:
        """A mechanism of the library on two values as far apart as its sensitivity."""
        return cls(lambda side, count, rng: _drawn(mechanism, side, count, rng)[:, None])

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        import numpy as np

        numbers = np.asarray(self.draw(side, count, rng), float).reshape(count, len(self.names))
        return Transcripts(np.zeros(count, np.int64), numbers)


def _drawn(mechanism: Mechanism, side: int, count: int, rng: Generator) -> Any:
    """Whole arrays of the laws that `mechanism.draw` draws from one by one."""
    import numpy as np

    match mechanism:
        case Laplace(scale=scale, sensitivity=sensitivity):
            return side * sensitivity + rng.laplace(0.0, scale, count)
        case Gaussian(scale=scale, sensitivity=sensitivity):
            return side * sensitivity + scale * rng.standard_normal(count)
        case RandomisedResponse(epsilon=epsilon):
            truth = 1.0 / (1.0 + np.exp(-epsilon))
            return (rng.random(count) < (truth if side else 1.0 - truth)).astype(float)
        case TruncatedLaplace(sensitivity=sensitivity):
            noise = np.array([mechanism.draw(rng) for _ in range(count)])
            return side * sensitivity + noise
