"""Choices of a walk: coins of rules, made-up releases, paths that no one chose.

They hide nothing and stand for anything, so they come from a hash of a seed and a counter, and no
generator is near: a live trial verifies a policy where no seedable source may be reached.
"""

from __future__ import annotations

import hashlib
from math import log1p
from statistics import NormalDist

_NORMAL = NormalDist()


class Choices:
    """The same numbers for the same seed. It has what rules ask a generator for."""

    def __init__(self, seed: object) -> None:
        self.seed, self.asked = str(seed).encode(), 0

    def random(self) -> float:
        """In (0, 1)."""
        self.asked += 1
        digest = hashlib.blake2b(self.seed, digest_size=8, salt=self.asked.to_bytes(16, "big"))
        return (int.from_bytes(digest.digest(), "big") >> 12) * 2.0**-52 + 2.0**-53

    def below(self, number: int) -> int:
        """One of 0, ..., number - 1."""
        return int(self.random() * number)

    def normal(self, mean: float, sd: float) -> float:
        """A quantile of the distribution."""
        return mean + sd * _NORMAL.inv_cdf(self.random())

    def standard_normal(self) -> float:
        """A quantile of the distribution."""
        return _NORMAL.inv_cdf(self.random())

    def standard_exponential(self) -> float:
        """A quantile of the distribution."""
        return -log1p(-self.random())

    def beta(self, a: float, b: float) -> float:
        """Near the mean of the distribution, which is enough to choose by."""
        return (a + self.random()) / (a + b + 1.0)
