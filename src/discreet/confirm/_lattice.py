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
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import binom

from ._noises import Noise

if TYPE_CHECKING:
    from .._types import Array, Flags, Floats

TRIM = 1e-12
"""Mass of a tail that is left out of a step's law, or of a margin."""
LARGE = 80_000
"""Width times reach from which on transforms are faster than products."""
FAR = 2**30
"""A sum that no trial reaches."""
Sizes = tuple[tuple[int, int], ...]
"""Participants of treatment and control at each look, cumulative."""


def pooled_rate(total: Floats, size: tuple[int, int], noise: Noise) -> Floats:
    """p̂, from S₁ + S₀."""
    return _pooled(total, size, noise.shrinkage)


def _pooled(total: Array, size: tuple[int, int], shrink: float) -> Floats:
    return np.clip((total + shrink) / (sum(size) + 2.0 * shrink), 0.0, 1.0)


def statistic(
    treatment: Floats, control: Floats, size: tuple[int, int], look: int, noise: Noise
) -> Floats:
    """Z at a look (1, 2, ...), from the sums of the noisy block sums so far; 0 for 0/0."""
    return _z(treatment, control, size, look * noise.variance, noise.shrinkage)


def _z(
    treatment: Array, control: Array, size: tuple[int, int], known: float, shrink: float
) -> Floats:
    n1, n0 = size
    spread = _spread(treatment + control, size, known, shrink)
    difference = treatment / n1 - control / n0
    # no noise and p̂ in {0, 1}: both arms are equal, and ties do not reject
    return np.asarray(difference / np.where(spread > 0.0, spread, 1.0))


def _spread(total: Array, size: tuple[int, int], known: float, shrink: float) -> Floats:
    """What the difference is divided by; `known` is the variance of the noise in a sum."""
    n1, n0 = size
    rate = _pooled(total, size, shrink)
    noisy = known * (1.0 / n1**2 + 1.0 / n0**2)
    return np.asarray(np.sqrt(rate * (1.0 - rate) * (1.0 / n1 + 1.0 / n0) + noisy))


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


@dataclass(frozen=True)
class Cuts:
    """Where a rule stops at a look, by total: arrays over t = S₁ + S₀ from `first` on.

    On one total Z grows with S₁, in floating-point numbers too. So S₁ >= `up`[t] is Z above, S₁ <
    `down`[t] is Z below, and S₁ in [`idle`[t], `end`[t]) is Z where the trial gives up.
    """

    first: int
    up: Array
    down: Array
    idle: Array | None
    end: Array | None

    @cached_property
    def ordered(self) -> bool:
        """Whether `up` and `down` grow with the total."""
        return bool((np.diff(self.up) >= 0).all() and (np.diff(self.down) >= 0).all())


def cuts_of(sizes: Sizes, noise: Noise, rule: Rule, look: int) -> Cuts:
    """The cuts at a look (0, 1, ...), the same that `statistic` makes, ties included."""
    futile = rule.futile[look] if look < len(rule.futile) else None
    return _cuts(
        sizes[look], (look + 1) * noise.variance, noise.shrinkage,
        (look + 1) * (len(noise.masses) // 2), (rule.lower[look], rule.upper[look]), futile,
    )  # fmt: skip


@lru_cache(maxsize=64)
def _cuts(
    size: tuple[int, int],
    known: float,
    shrink: float,
    reach: int,
    bounds: tuple[float, float],
    futile: tuple[float, float] | None,
) -> Cuts:
    n1, n0 = size
    total = np.arange(-2 * reach, n1 + n0 + 2 * reach + 1)
    spread = _spread(total, size, known, shrink)

    def least(bound: float, strict: bool) -> Array:
        """The least S₁ with Z > bound, or Z >= bound."""
        if math.isinf(bound):
            return np.full(total.shape, -FAR if bound < 0.0 else FAR, np.int32)
        near = (bound * spread + total / n0) / (1.0 / n1 + 1.0 / n0)
        found = np.ceil(near).astype(np.int64) - 2
        for _ in range(4):  # the formula is off by rounding, at most
            z = _z(found, total - found, size, known, shrink)
            found += ~((z > bound) if strict else (z >= bound))
        return found.astype(np.int32)

    idle = end = None
    if futile is not None:
        idle, end = least(futile[0], True), least(futile[1], False)
    return Cuts(-2 * reach, least(bounds[1], True), least(bounds[0], False), idle, end)


class Law:
    """The law of the sums at a pair of rates, for any rule. `trim`: mass of a tail that is left out
    of a step's law, or of a margin."""

    def __init__(
        self, sizes: Sizes, noise: Noise, treatment: float, control: float, trim: float = TRIM
    ) -> None:
        self.sizes, self.noise, self.trim = sizes, noise, trim
        blocks = [
            (size[0] - before[0], size[1] - before[1])
            for before, size in zip(((0, 0), *sizes[:-1]), sizes, strict=True)
        ]
        made: dict[tuple[int, float], tuple[int, Floats]] = {}
        for pair in blocks:
            for m, p in zip(pair, (treatment, control), strict=True):
                if (m, p) not in made:
                    made[m, p] = block_law(m, p, noise, trim)
        self.steps = [(made[m1, treatment], made[m0, control]) for m1, m0 in blocks]

    def stops(self, rule: Rule) -> Stops:
        """P(stop) at each look, and why."""
        looks = len(self.sizes)
        above, below, futile = np.zeros(looks), np.zeros(looks), np.zeros(looks)
        cells, low1, low0, followed = np.ones((1, 1)), 0, 0, 1.0
        for look, (first, second) in enumerate(self.steps):
            cut = cuts_of(self.sizes, self.noise, rule, look)
            followed = float(cells.sum() * first[1].sum() * second[1].sum())
            cells, low1 = spread_columns(cells.T, first[1]).T, low1 + first[0]
            if look + 1 == looks and cut.ordered:
                last = _Rows(cells, low1, low0, second)
                above[look], below[look] = last.above(cut), last.below(cut)
                break
            cells, low0 = spread_columns(cells, second[1]), low0 + second[0]
            rows = np.arange(low1, low1 + cells.shape[0], dtype=np.int32)[:, None]
            at = partial(by_total, cut.first, low1 + low0, cells.shape)
            up, down = rows >= at(cut.up), rows < at(cut.down)
            above[look], below[look] = cells[up].sum(), cells[down].sum()
            out = up | down
            if cut.idle is not None and cut.end is not None:
                idle = (rows >= at(cut.idle)) & (rows < at(cut.end)) & ~out
                futile[look] = cells[idle].sum()
                out |= idle
            if look + 1 < looks:
                cells[out] = 0.0
                from1, to1 = kept(cells.sum(1), self.trim)
                from0, to0 = kept(cells.sum(0), self.trim)
                cells, low1, low0 = cells[from1:to1, from0:to0], low1 + from1, low0 + from0
        stopped = above[:-1].sum() + below[:-1].sum() + futile[:-1].sum()
        return Stops(above, below, futile, max(1.0 - float(stopped) - followed, 0.0))


@dataclass(frozen=True)
class _Rows:
    """The last look before the control's last step: rows are S₁, columns S₀ up to the step. Cuts
    that grow with the total leave all S₀ below one number, or above one, to each S₁."""

    cells: Floats
    low1: int
    low0: int
    step: tuple[int, Floats]

    def above(self, cut: Cuts) -> float:
        """P(S₁ >= up): the totals up to the last one with up <= S₁."""
        return self._beyond(cut, cut.up, np.cumsum(self.step[1]), 0.0)

    def below(self, cut: Cuts) -> float:
        """P(S₁ < down): the totals from the first one with down > S₁ on."""
        beyond = np.cumsum(self.step[1][::-1])[::-1]
        return self._beyond(cut, cut.down, np.append(beyond, 0.0)[1:], float(beyond[0]))

    def _beyond(self, cut: Cuts, ends: Array, tail: Floats, before: float) -> float:
        """E of a tail function of the step, `before` its value left of the table and tail[-1]
        right of it, at the last total that has its cut at S₁ or below, minus S₁ and the rest."""
        if abs(int(ends[0])) == FAR:
            return 0.0
        height, width = self.cells.shape
        s1 = np.arange(self.low1, self.low1 + height)
        last = cut.first - 1 + np.searchsorted(ends, s1, side="right") - s1
        places = last - self.step[0] - self.low0  # in the tail, for the first column
        low, high = int(places.min()) - width + 1, int(places.max())
        table = tail[np.clip(np.arange(low, high + 1), 0, len(tail) - 1)]
        table[: max(0, -low)] = before
        shifted = np.lib.stride_tricks.sliding_window_view(table[::-1], width)
        return float(np.vdot(self.cells, shifted[high - places]))


def by_total(first: int, low: int, shape: tuple[int, ...], cut: Array) -> Array:
    """A cut for each cell of a matrix whose corner has the total `low`; nothing is copied."""
    start = low - first
    return np.lib.stride_tricks.sliding_window_view(
        cut[start : start + shape[0] + shape[1] - 1], shape[1]
    )


def block_law(m: int, p: float, noise: Noise, trim: float = TRIM) -> tuple[int, Floats]:
    """The law of Bin(m, p) + Y: its least value and its masses."""
    start, stop = int(binom.ppf(trim, m, p)), int(binom.isf(trim, m, p))
    start, stop = max(min(start, m), 0), max(min(stop + 1, m), 0)
    ones = binom.pmf(np.arange(start, stop + 1), m, p)
    masses = np.convolve(ones, noise.masses)
    first, last = kept(masses, trim)
    return start - len(noise.masses) // 2 + first, masses[first:last]


def kept(masses: Floats, trim: float = TRIM) -> tuple[int, int]:
    """The range outside of which there is at most `trim` on either side."""
    first = int(np.searchsorted(np.cumsum(masses), trim))
    last = len(masses) - int(np.searchsorted(np.cumsum(masses[::-1]), trim))
    return (first, last) if first < last else (0, 1)


def spread_columns(cells: Floats, step: Floats) -> Floats:
    """Every row convolved with a step: a product with a banded matrix, exact to rounding; of large
    ones by Fourier transforms, exact to 1e-13 in all."""
    width, reach = cells.shape[1], len(step)
    if width == 1:
        return np.asarray(cells * step)
    if width * reach > LARGE:
        size = next_fast_len(width + reach - 1, real=True)
        product = rfft(cells, size, axis=1)
        product *= rfft(step, size)
        found = irfft(product, size, axis=1, overwrite_x=True)
        return np.asarray(found[:, : width + reach - 1])
    padded = np.zeros(2 * width + reach - 2)
    padded[width - 1 : width - 1 + reach] = step
    band = np.lib.stride_tricks.sliding_window_view(padded, width)
    return np.asarray(cells @ np.ascontiguousarray(band[:, ::-1].T))  # BLAS needs a copy


def two_arm_rule(bounds: Sequence[float], factor: float, sides: int) -> Rule:
    """|Z| > c·b_l, or Z > c·b_l."""
    upper = tuple(factor * b for b in bounds)
    return Rule(tuple(-b if sides == 2 else -math.inf for b in upper), upper)
