"""The noise in a released mean: independent parts, each with its distribution and scale.

>>> from discreet.policies import Doubling, EachRound, ForgetLaplace, Policy, Tree, UCB1
>>> row = Policy("mine", EachRound(), Tree(epsilon=1.0), UCB1())
>>> noise = row.release.mean_noise(row.setting(arms=2, horizon=100), sizes=[1] * 7)
>>> print(noise)  # 7 = 4 + 2 + 1: three nodes
3 × Laplace, scale 1; standard deviation 2.45
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...privacy._mechanisms import TruncatedLaplace

if TYPE_CHECKING:
    from ...privacy.verification import Tape

WORDS = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "truncated": "truncated Laplace",
    "response": "response",
}


@dataclass(frozen=True)
class Part:
    """`count` independent noises of one distribution and scale, added to the mean.

    Laplace: scale b. Gaussian: σ. Truncated Laplace: 1/ε, with δ, for a sensitivity of 1, times
    `factor`. Response: a bound on the standard deviation, whatever the rewards are.
    """

    law: str
    scale: float
    count: int = 1
    delta: float = 0.0
    factor: float = 1.0

    @property
    def variance(self) -> float:
        """Of all of them together; of responses at most."""
        if self.law == "laplace":
            return self.count * 2.0 * self.scale**2
        if self.law == "truncated":
            epsilon = 0.0 if math.isinf(self.scale) else 1.0 / self.scale
            one = TruncatedLaplace(epsilon, self.delta).variance
            return self.count * one * self.factor**2
        return self.count * self.scale**2

    def __str__(self) -> str:
        times = "" if self.count == 1 else f"{self.count} × "
        return f"{times}{WORDS[self.law]}, scale {self.scale * self.factor:.4g}"


@dataclass(frozen=True)
class MeanNoise:
    """The noise in one released mean; no parts if there is none."""

    parts: tuple[Part, ...] = ()

    @property
    def sd(self) -> float:
        """Standard deviation; of responses at most."""
        return math.sqrt(math.fsum(part.variance for part in self.parts))

    def __str__(self) -> str:
        if not self.parts:
            return "no noise"
        return f"{' + '.join(map(str, self.parts))}; standard deviation {self.sd:.3g}"


def noise_of(tape: Tape) -> MeanNoise:
    """The noise in the last number of a walk on symbols."""
    if not tape.numbers:
        return MeanNoise()
    parts: dict[tuple[str, float, float, float], int] = {}
    for number, coefficient in enumerate(tape.numbers[-1].coefficients.tolist()):
        symbol = tape.symbols[number]
        if coefficient == 0.0 or symbol.law not in WORDS:
            continue
        size = abs(coefficient)
        if symbol.law == "truncated":
            key = (symbol.law, symbol.scale, symbol.delta, size)
        else:
            key = (symbol.law, float(f"{symbol.scale * size:.12g}"), 0.0, 1.0)
        parts[key] = parts.get(key, 0) + 1
    return MeanNoise(
        tuple(
            Part(law, scale, count, delta, factor)
            for (law, scale, delta, factor), count in sorted(parts.items())
        )
    )
