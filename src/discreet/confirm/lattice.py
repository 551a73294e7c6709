"""The exact law of a private group-sequential comparison of two arms with 0/1 outcomes.

At look l arm a has n_a outcomes and q = l releases behind S_a, the sum of its noisy block sums.

    p̂ = clip((S₁ + S₀ + κ)/(n₁ + n₀ + 2κ), 0, 1)
    Z = (S₁/n₁ - S₀/n₀) / sqrt(p̂(1-p̂)(1/n₁ + 1/n₀) + qv/n₁² + qv/n₀²)

S₁ and S₀ are whole numbers, so the law of (S₁, S₀) among trials that go on is a matrix: at each
look its rows and columns are convolved with Bin(m, p) ∗ noise, the cells beyond a boundary are
added up and set to 0. All terms are probabilities, none is subtracted, so rounding is relative.
What is trimmed on the way is kept in `lost`, and whoever needs a bound adds it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binom

from .noises import Noise

if TYPE_CHECKING:
    from ..types import Flags, Floats

TRIM = 1e-12
"""Mass of a tail that is left out of a step's law, or of a margin."""
Sizes = tuple[tuple[int, int], ...]
"""Participants of treatment and control at each look, cumulative."""


def pooled_rate(total: Floats, size: tuple[int, int], noise: Noise) -> Floats:
    """p̂, from S₁ + S₀."""
    shrink = noise.shrinkage
    return np.clip((total + shrink) / (sum(size) + 2.0 * shrink), 0.0, 1.0)


def statistic(
    treatment: Floats, control: Floats, size: tuple[int, int], look: int, noise: Noise
) -> Floats:
    """Z at a look (1, 2, ...), from the sums of the noisy block sums so far; 0 for 0/0."""
    n1, n0 = size
    rate = pooled_rate(treatment + control, size, noise)
    known = look * noise.variance * (1.0 / n1**2 + 1.0 / n0**2)
    spread = np.sqrt(rate * (1.0 - rate) * (1.0 / n1 + 1.0 / n0) + known)
    difference = treatment / n1 - control / n0
    # no noise and p̂ in {0, 1}: both arms are equal, and ties do not reject
    return np.asarray(difference / np.where(spread > 0.0, spread, 1.0))


@dataclass(frozen=True)
class Stops:
    """Where a trial stops, look by look: above, below, for futility; `lost` was not followed."""

    above: Floats
    below: Floats
    futile: Floats
    lost: float

    @property
    def rejected(self) -> float:
        return float(self.above.sum() + self.below.sum())


@dataclass(frozen=True)
class Rule:
    """Boundaries for Z: stop above `upper`, below `lower`; inside `futile` give up."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    futile: tuple[tuple[float, float], ...] = ()

    def gives_up(self, z: Floats, look: int) -> Flags:
        """Whether Z lies where the trial is futile, at a look (0, 1, ...); never at the last."""
        if look >= len(self.futile):
            return np.zeros(np.shape(z), bool)
        low, high = self.futile[look]
        return np.asarray((z > low) & (z < high))


class Law:
    """The law of the sums at a pair of rates, for any rule."""

    def __init__(self, sizes: Sizes, noise: Noise, treatment: float, control: float) -> None:
        self.sizes, self.noise = sizes, noise
        blocks = [
            (size[0] - before[0], size[1] - before[1])
            for before, size in zip(((0, 0), *sizes[:-1]), sizes, strict=True)
        ]
        made: dict[tuple[int, float], tuple[int, Floats]] = {}
        for pair in blocks:
            for m, p in zip(pair, (treatment, control), strict=True):
                if (m, p) not in made:
                    made[m, p] = block_law(m, p, noise)
        self.steps = [(made[m1, treatment], made[m0, control]) for m1, m0 in blocks]

    def stops(self, rule: Rule) -> Stops:
        """P(stop) at each look, and why."""
        looks = len(self.sizes)
        above, below, futile = np.zeros(looks), np.zeros(looks), np.zeros(looks)
        cells, low1, low0, left = np.ones((1, 1)), 0, 0, 0.0
        for look, (first, second) in enumerate(self.steps):
            cells = spread_columns(spread_columns(cells, second[1]).T, first[1]).T
            low1, low0 = low1 + first[0], low0 + second[0]
            s1 = (low1 + np.arange(cells.shape[0], dtype=float))[:, None]
            s0 = (low0 + np.arange(cells.shape[1], dtype=float))[None, :]
            z = statistic(s1, s0, self.sizes[look], look + 1, self.noise)
            up, down = z > rule.upper[look], z < rule.lower[look]
            above[look], below[look] = cells[up].sum(), cells[down].sum()
            out = up | down
            idle = rule.gives_up(z, look) & ~out
            futile[look] = cells[idle].sum()
            out |= idle
            cells = np.where(out, 0.0, cells)
            if look + 1 < looks:
                (from1, to1), (from0, to0) = kept(cells.sum(1)), kept(cells.sum(0))
                cells, low1, low0 = cells[from1:to1, from0:to0], low1 + from1, low0 + from0
            left = float(cells.sum())
        lost = max(1.0 - float(above.sum() + below.sum() + futile.sum()) - left, 0.0)
        return Stops(above, below, futile, lost)


def block_law(m: int, p: float, noise: Noise) -> tuple[int, Floats]:
    """The law of Bin(m, p) + Y: its least value and its masses."""
    start, stop = int(binom.ppf(TRIM, m, p)), int(binom.isf(TRIM, m, p))
    start, stop = max(min(start, m), 0), max(min(stop + 1, m), 0)
    ones = binom.pmf(np.arange(start, stop + 1), m, p)
    masses = np.convolve(ones, noise.masses)
    first, last = kept(masses)
    return start - len(noise.masses) // 2 + first, masses[first:last]


def kept(masses: Floats) -> tuple[int, int]:
    """The range outside of which there is at most `TRIM` on either side."""
    first = int(np.searchsorted(np.cumsum(masses), TRIM))
    last = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), TRIM))
    return (first, last) if first < last else (0, 1)


def spread_columns(cells: Floats, step: Floats) -> Floats:
    """Every row convolved with a step: a product with a banded matrix, exact to rounding."""
    width, reach = cells.shape[1], len(step)
    padded = np.zeros(2 * width + reach - 2)
    padded[width - 1 : width - 1 + reach] = step
    band = np.lib.stride_tricks.sliding_window_view(padded, width)
    return np.asarray(cells @ np.ascontiguousarray(band[:, ::-1].T))  # BLAS needs a copy


def two_arm_rule(bounds: Sequence[float], factor: float, sides: int) -> Rule:
    """|Z| > c·b_l, or Z > c·b_l."""
    upper = tuple(factor * b for b in bounds)
    return Rule(tuple(-b if sides == 2 else -math.inf for b in upper), upper)
