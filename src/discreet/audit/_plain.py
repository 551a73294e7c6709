"""Plain mechanisms: one number, or a few, from either side. To calibrate the audit itself, and to
audit your own mechanism by a function that draws from it.

>>> coin = Plain(lambda side, count, rng: rng.random((count, 1)) < (0.3, 0.4)[side])
>>> coin.sample(0, 3, __import__("numpy").random.default_rng(1)).numbers.shape
(3, 1)
>>> arms = Plain(lambda side, count, rng: rng.integers(0, 2 + side, count), names=(), codes=3)
>>> arms.sample(1, 3, __import__("numpy").random.default_rng(1)).codes.shape
(3,)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from ..errors import InvalidArgument
from ..privacy._mechanisms import Gaussian, Laplace, Mechanism, RandomisedResponse, TruncatedLaplace
from ._transcripts import Transcripts

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from .._types import Floats


@dataclass(frozen=True)
class Plain:
    """`draw(side, count, rng)` gives so many transcripts at once, as arrays.

    - By default numbers, one line each; NaN is an output like any other.
    - With `codes=k` and `names=()`: discrete outputs 0 … k-1, such as arms, in any order.
    - With `codes=k` and names: a pair of discrete outputs and numbers.

    A draw that may raise is one for `Each`, which runs a mechanism once at a time and counts that.
    """

    draw: Callable[[int, int, Generator], ArrayLike]
    names: tuple[str, ...] = ("output",)
    inputs: str = "0 or 1"
    codes: int = 1
    discrete: str = "the discrete outputs"

    @classmethod
    def of(cls, mechanism: Mechanism) -> Plain:
        """A mechanism of the library on two values as far apart as its sensitivity."""
        return cls(lambda side, count, rng: _drawn(mechanism, side, count, rng)[:, None])

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        width = len(self.names)
        drawn = self.draw(side, count, rng)
        numbers: ArrayLike = np.zeros((count, 0))
        codes: ArrayLike = np.zeros(count, np.int64)
        if self.codes == 1:
            numbers = drawn
        elif width == 0:
            codes = drawn
        else:
            codes, numbers = cast("tuple[ArrayLike, ArrayLike]", drawn)  # as it is to be
        codes = np.asarray(codes)
        if codes.dtype.kind not in "iub" or codes.size != count:
            raise InvalidArgument(
                "draw", f"give {count} whole numbers as its discrete outputs",
                f"{codes.size} of type {codes.dtype}", "return integers, or use Each for words",
            )  # fmt: skip
        if codes.size and not 0 <= codes.min() <= codes.max() < self.codes:
            raise InvalidArgument(
                "draw", f"give discrete outputs from 0 to {self.codes - 1}",
                f"{codes.min()} to {codes.max()}", "raise codes",
            )  # fmt: skip
        shaped = np.asarray(numbers, float).reshape(count, width)
        return Transcripts(codes.reshape(count).astype(np.int64), shaped)


def _drawn(mechanism: Mechanism, side: int, count: int, rng: Generator) -> Floats:
    """Whole arrays of the distributions that `mechanism.draw` draws from one by one."""
    match mechanism:
        case Laplace(scale=scale, sensitivity=sensitivity):
            return side * sensitivity + rng.laplace(0.0, scale, count)
        case Gaussian(scale=scale, sensitivity=sensitivity):
            return side * sensitivity + scale * rng.standard_normal(count)
        case RandomisedResponse(epsilon=epsilon):
            truth = float(1.0 / (1.0 + np.exp(-epsilon)))
            return (rng.random(count) < (truth if side else 1.0 - truth)).astype(float)
        case TruncatedLaplace(sensitivity=sensitivity):
            noise = np.array([mechanism.draw(rng) for _ in range(count)])
            return side * sensitivity + noise
