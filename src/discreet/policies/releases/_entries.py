"""What a release's numbers are, as inference reads them: which sums, and which noise in them.

`Release.entries(setting)` answers with an `Entries`, or with a `Silence` that says why its numbers
speak of no mean. Intervals are built from that answer, so a release that publishes in its own way
must give its own: `entries_of` does not take the word of a parent class for it.

| kind     | a number of an arm is |
|---|---|
| running  | the mean of its noisy batch sums so far: batches are differences |
| fresh    | the noisy mean of its last batch |
| again    | the mean of all its rewards, with noise that later numbers do not share |
| together | as running, but blocks of all arms end at the same steps, whatever is in them |
| pair     | of a block: Σ r (y - 1/2) and Σ r, r = 1 for who answered, each with its own noise |
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .._parts import says_itself

if TYPE_CHECKING:
    from .._view import Setting
    from ._base import Release

LAPLACE, GAUSSIAN, NONE = "laplace", "gaussian", "none"
RUNNING, FRESH, AGAIN, TOGETHER, PAIR = "running", "fresh", "again", "together", "pair"
ALL, LAST, POWERS, SIZES = "all", "last", "powers", "sizes"
VARIANCE = 0.2
"""v: the variance of a reward that tilts are meant for."""


class Noise(NamedTuple):
    """What is added to the sum of a batch, rewards in [0, 1]: its kind and its scale."""

    kind: str
    scale: float
    """b of Lap(b), σ of N(0, σ²)"""
    each: bool = False
    """whether it is added to every reward by itself (the local model)"""

    def log_moment(self, tilt: float, size: float = 1.0) -> float:
        """κ(l). Discrete noise has no more: sinh x / x grows, and discrete Gaussians are
        sub-Gaussian (Canonne, Kamath & Steinke 2020)."""
        times = size if self.each else 1.0
        if self.kind == LAPLACE:
            return -times * math.log1p(-((tilt * self.scale) ** 2))
        return times * 0.5 * (tilt * self.scale) ** 2

    @property
    def variance(self) -> float:
        """Of one draw."""
        return {LAPLACE: 2.0, GAUSSIAN: 1.0, NONE: 0.0}[self.kind] * self.scale**2

    def tilt(self, effect: float, size: float) -> float:
        """The l with κ'(l) = b v (θ - l)."""
        if self.kind == NONE or self.scale == 0.0:
            return effect
        times, weight = (size if self.each else 1.0), size * VARIANCE
        if self.kind == GAUSSIAN:
            return effect * weight / (weight + times * self.scale**2)
        low, high = 0.0, min(effect, 1.0 / self.scale)
        for _ in range(40):
            tilt = 0.5 * (low + high)
            room = 1.0 - (tilt * self.scale) ** 2
            if 2.0 * tilt * times * self.scale**2 < weight * (effect - tilt) * room:
                low = tilt
            else:
                high = tilt
        return low

    def __str__(self) -> str:
        return "no noise" if self.kind == NONE else f"{self.kind} noise of scale {self.scale:g}"


NOISELESS = Noise(NONE, 0.0)


@dataclass(frozen=True)
class Entries:
    """The numbers of an arm."""

    kind: str
    noise: Noise
    """of a batch (running, fresh, together, the sum of a pair) or of a number (again), for rewards
    in [0, 1]"""
    reads: str = ALL
    """which releases of an arm to keep: "all", the "last", those whose number is a power of two
    ("powers"), or those whose size is ("sizes")"""
    power: float = 0.0
    """of a number: the scale is multiplied by size^power"""
    factor: float = 1.0
    """a difference of two means is seen multiplied by it (random bits)"""
    sigmoid: bool = False
    """whether what is summed up is 1/(1+e^-y) and not the outcome y"""
    doubling: bool = False
    """whether the sizes of an arm's releases at least double, whatever the schedule"""


class Silence(NamedTuple):
    """Why the numbers of a release speak of no mean."""

    reason: str


def entries_of(release: Release, setting: Setting) -> Entries | Silence:
    """What a release says of its numbers, if it is the release that publishes them.

    A class that changes `publish` or `respond` and inherits `entries` has said nothing.
    """
    if not says_itself(release, "entries", "publish", "respond"):
        return Silence(
            f"{release.name!r} publishes in a way of its own and does not say what its numbers "
            "are: define entries(setting)"
        )
    return release.entries(setting)
