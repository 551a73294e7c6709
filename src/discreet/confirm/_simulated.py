"""Boundaries certified by simulation, for tests whose law is no sum over a lattice.

With M = max_l |Z_l|/b_l (one side: Z_l) a test rejects where M > c. P(reject) at a common rate p is
a function that the lemma of `certificates` bounds between the points of a grid: that holds for any
test, adaptive shares, strata and noise included. At each rate of the grid, of n simulated trials
the k-th smallest M is at least the (1-α')-quantile but for probability P(Bin(n, 1-α') >= k); k is
the least with that at most (1-confidence)/rates, and c the largest of these over the grid. So
P(reject) <= α' = α/(1+r) at all rates of the grid at once, and <= α in between, with that
confidence; nothing was tried and chosen from. (Order statistics as tolerance limits: Wilks 1941.)

The grid goes up to ½: tests here are such that P(reject) is the same at p and 1-p.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom

from ..errors import InvalidArgument
from ._certificates import frequency, grid
from ._lattice import block_law
from ._noises import Noise

if TYPE_CHECKING:
    from .._types import Floats

SLACK = 0.01
"""r of the grid."""
CONFIDENCE = 0.999


@dataclass(frozen=True)
class Simulated:
    """The certificate of a simulation, where no proof is known.

    `quantiles` are the upper limits on M's quantile at each of `rates`, from `runs` trials each;
    the factor is their largest. `bound` holds for every common rate, with probability `confidence`
    over the simulation.

    Example:
        >>> import discreet
        >>> found = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000).certificate
        >>> found.runs, found.risk, found.confidence
        (1000, 0.05, 0.999)
    """

    participants: int
    risk: float
    factor: float
    boundaries: tuple[float, ...]
    rates: tuple[float, ...]
    quantiles: tuple[float, ...]
    errors: tuple[float, ...]
    slack: float
    runs: int
    seed: int | None
    confidence: float
    bound: float

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        said = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        said["boundaries"] = [None if math.isinf(b) else b for b in self.boundaries]
        return said

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Simulated:
        """The inverse of `to_dict`; a grid too wide or a factor too small is refused."""
        if not isinstance(data, Mapping) or set(data) != {field.name for field in fields(cls)}:
            raise InvalidArgument(
                "certificate", "be what to_dict made", type(data).__name__, "pass it as it was made"
            )
        made: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        made["boundaries"] = tuple(math.inf if b is None else b for b in made["boundaries"])
        found = cls(**made)
        angles = np.arcsin(np.sqrt(np.array(found.rates[1:])))
        turns = [
            0.5 * frequency(low, found.participants) * (high - low)
            for low, high in pairwise(angles)
        ]
        fine = max(turns) <= math.acos(1.0 / (1.0 + found.slack)) + 1e-9
        if not fine or found.rates[-1] != 0.5 or found.factor < max(found.quantiles):
            raise InvalidArgument(
                "certificate", "have a factor and a grid that its bound follows from", found.factor,
                "pass it as it was made, or plan the test anew",
            )  # fmt: skip
        return found

    def __str__(self) -> str:
        return (
            f"type I error at most {self.bound:.4g} at every common rate, with confidence "
            f"{self.confidence:g}: {self.runs} trials at each of {len(self.rates)} rates"
        )


class Sums:
    """Draws of Bin(n, p) + noise from its exact law, by inversion."""

    def __init__(self, noise: Noise) -> None:
        self.noise = noise
        self.made: dict[tuple[int, float], tuple[int, Floats]] = {}

    def draw(self, n: int, rate: float, runs: int, rng: np.random.Generator) -> Floats:
        """So many sums of n outcomes."""
        if (n, rate) not in self.made:
            low, masses = block_law(n, rate, self.noise)
            self.made[n, rate] = low, np.cumsum(masses)[:-1]
        low, steps = self.made[n, rate]
        return np.asarray(low + np.searchsorted(steps, rng.random(runs), side="right"), float)


@dataclass(frozen=True)
class Trials:
    """A test to certify: `play` gives Z, looks by `runs` trials, at a common rate."""

    play: Callable[[float, np.random.Generator], Floats]
    participants: int
    bounds: tuple[float, ...]
    sides: int
    runs: int

    def largest(self, rate: float, rng: np.random.Generator) -> Floats:
        """M, of each trial."""
        z = self.play(rate, rng)
        limits = np.array(self.bounds)[:, None]
        return np.asarray(((np.abs(z) if self.sides == 2 else z) / limits).max(0))


def certify(trials: Trials, risk: float, seed: int | None) -> Simulated:
    """The factor, with what it rests on."""
    rates = [0.0, *(math.sin(angle) ** 2 for angle in grid(trials.participants, risk, SLACK))]
    rates[-1] = 0.5
    keep = 1.0 - risk / (1.0 + SLACK)
    k = int(binom.isf((1.0 - CONFIDENCE) / len(rates), trials.runs, keep)) + 1
    if k > trials.runs:
        raise InvalidArgument(
            "runs", f"be enough for a limit on a quantile at risk {risk:g}", trials.runs,
            "use for example runs=100_000",
        )  # fmt: skip
    streams = np.random.SeedSequence(seed).spawn(len(rates))
    worst = [
        trials.largest(rate, np.random.default_rng(stream))
        for rate, stream in zip(rates, streams, strict=True)
    ]
    quantiles = tuple(float(np.partition(m, k - 1)[k - 1]) for m in worst)
    factor = max(quantiles) * (1.0 + 1e-9)  # Z/b > c is Z > cb but for rounding
    errors = tuple(float((m > factor).mean()) for m in worst)
    return Simulated(
        trials.participants, risk, factor, trials.bounds, tuple(rates), quantiles, errors, SLACK,
        trials.runs, seed, CONFIDENCE, risk,
    )  # fmt: skip
