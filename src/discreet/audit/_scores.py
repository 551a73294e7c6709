"""Scores: functions of a transcript that tell two neighbouring inputs apart, learned from samples.

The best score is the likelihood ratio (Neyman & Pearson 1933); these are its estimates:
- `CodeRatio`: smoothed ratio of how often each action sequence was seen, by enumeration;
- `Part`: one published number, less an earlier one that holds the same noise, if there is one;
- `Projection`: the weighted sum of all numbers that differs most for its spread (Fisher 1936);
- `Total`: the sum over all parts of the log ratio of how often their bin was seen.

Why parts. What a release adds to those before it is the noise drawn last: a batch that is
forgotten stands alone, a running sum is to be taken less the sum before it, and the i-th prefix sum
of a tree less the one at i - 2^j, whose nodes it contains. Each is a difference of two published
numbers, and the right one is that which varies least. Noise that is drawn last is independent of
all before, and choices see nothing but releases, so the log likelihood ratios of the parts add up
to that of the whole transcript: `Total` is then the exact attack, but for its bins.

A score may be anything: whatever is learned here is tested on other transcripts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ._transcripts import Subject, Transcripts

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from .._types import Floats, Ints

BINS = 64
"""Bins of one part, of equal frequency, at most."""
IN_A_BIN = 40
"""Transcripts per side in a bin, at least, on average."""
HUGE = 1e299
"""Beyond it there are no numbers, but the stand-ins for those that are absent or are none."""
SPECIAL = (-2e300, -HUGE, HUGE, 1.5e300)
"""Edges between -inf, absent, all numbers, NaN (as `Transcripts.settled` writes it) and inf."""
MOST_PROJECTED = 20_000
"""Transcripts per side that the weights of a projection are learned from, at most."""
MOST_PAIRED = 4_000
"""Transcripts per side from which differences are chosen, at most."""
NOTICEABLE = 1.7
"""Kolmogorov's statistic above which a part tells something: 0.6 % of those that do not."""


class Score(Protocol):
    """A number for every transcript; large speaks for one of the sides."""

    @property
    def name(self) -> str:
        """What it is, for the description of an event."""

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        """The score of every transcript."""


@dataclass(frozen=True)
class CodeRatio:
    """Log ratio of how often a code was seen."""

    ratios: NDArray[float64] = field(repr=False)
    name: str

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        ratios: NDArray[float64] = self.ratios[seen.codes]
        return ratios


@dataclass(frozen=True)
class Part:
    """One of the numbers, less another one if `less` is not negative."""

    column: int
    less: int
    name: str

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        own: NDArray[float64] = seen.numbers[:, self.column]
        if self.less < 0:
            return own
        return np.where(np.abs(own) < HUGE, own - seen.numbers[:, self.less], own)


@dataclass(frozen=True)
class Projection:
    """A weighted sum of the numbers; those that are absent count as their mean."""

    weights: NDArray[float64] = field(repr=False)
    means: NDArray[float64] = field(repr=False)
    columns: tuple[int, ...] = field(repr=False)
    name: str = "weighted sum of the releases"

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        numbers = seen.numbers[:, self.columns]
        centred = np.where(np.abs(numbers) < HUGE, numbers - self.means, 0.0)
        # not BLAS, whose threads spin on so small a product and may round otherwise next time
        projected: NDArray[float64] = np.einsum("ij,j->i", centred, self.weights)
        return projected


@dataclass(frozen=True)
class Total:
    """The sum of the log ratios of all parts, bin by bin."""

    parts: tuple[Part, ...] = field(repr=False)
    edges: tuple[NDArray[float64], ...] = field(repr=False)
    ratios: tuple[NDArray[float64], ...] = field(repr=False)
    name: str = "summed log likelihood ratio of the releases"

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        total = np.zeros(len(seen.codes))
        for part, edges, ratios in zip(self.parts, self.edges, self.ratios, strict=True):
            total += ratios[np.searchsorted(edges, part(seen), side="right")]
        return total


def learn(subject: Subject, first: Transcripts, second: Transcripts, parts: int = 6) -> list[Score]:
    """All scores that the subject's transcripts allow for, learned from samples of both sides.

    Of single parts, only so many of the most telling.
    """
    scores: list[Score] = []
    if subject.codes > 1:
        what = getattr(subject, "discrete", "the arms played")
        scores.append(_code_ratio(subject.codes, first.codes, second.codes, what))
    names = subject.names
    useful = [j for j in range(len(names)) if _varies(first.numbers[:, j], second.numbers[:, j])]
    if not useful:
        return scores
    told = [(_distance(part, first, second), part) for part in _parts(names, useful, first, second)]
    told.sort(key=lambda entry: -entry[0])
    if len(useful) > 1:
        scores.append(_projection(useful, first, second))
    enough = NOTICEABLE * math.sqrt(2.0 / min(len(first.codes), MOST_PAIRED))
    telling = [part for distance, part in told if distance > enough] or [told[0][1]]
    scores += _totals(telling, first, second)
    scores += [part for _, part in told[:parts]]
    return scores


def _varies(first: Floats, second: Floats) -> bool:
    least = min(first.min(), second.min())
    return bool(least < max(first.max(), second.max()))


def _code_ratio(codes: int, first: Ints, second: Ints, what: str) -> CodeRatio:
    seen = [np.bincount(side, minlength=codes) + 0.5 for side in (first, second)]
    return CodeRatio(np.log(seen[1] / seen[0]), f"log likelihood ratio of {what}")


def _parts(
    names: Sequence[str], columns: list[int], first: Transcripts, second: Transcripts
) -> list[Part]:
    """Every number less that number before it, or none, with which it varies least."""
    spread = np.zeros((len(columns), len(columns)))
    missed = np.zeros_like(spread)
    own = np.zeros(len(columns))
    for side in (first, second):
        numbers = side.numbers[:MOST_PAIRED, columns]
        there = np.abs(numbers) < HUGE
        count = np.maximum(there.sum(axis=0), 1)
        filled = np.where(there, numbers, 0.0)
        centred = np.where(there, filled - filled.sum(axis=0) / count, 0.0)
        weight = there.astype(float)
        squares = centred * centred
        # of two numbers, over the transcripts that have the later one, and so the earlier one too
        cross = np.einsum("ni,nj->ij", centred, centred)
        earlier = np.einsum("ni,nj->ij", weight, squares)
        spread += (squares.sum(axis=0)[:, None] + earlier - 2.0 * cross) / count[:, None]
        own += squares.sum(axis=0) / count
        missed += np.einsum("ni,nj->ij", weight, 1.0 - weight)
    found = []
    for place, column in enumerate(columns):
        less, least = -1, 0.98 * own[place]
        for other in range(place):
            if missed[place, other] == 0.0 and spread[place, other] < least:
                less, least = columns[other], spread[place, other]
        name = names[column] if less < 0 else f"{names[column]} less {names[less]}"
        found.append(Part(column, less, name))
    return found


def _projection(columns: list[int], first: Transcripts, second: Transcripts) -> Projection:
    """w = C⁻¹ (mean difference). Where nothing varies at all, C is lifted by a hair: a direction
    without any noise that differs is then the heaviest, as it should be."""
    both = [side.numbers[:, columns] for side in (first, second)]
    there = [np.abs(numbers) < HUGE for numbers in both]
    seen = np.maximum(sum(mask.sum(axis=0) for mask in there), 1)
    means = sum(
        np.where(mask, side, 0.0).sum(axis=0) for mask, side in zip(there, both, strict=True)
    )
    means = means / seen
    centred = [np.where(mask, side - means, 0.0) for mask, side in zip(there, both, strict=True)]
    one, other = (_covariance(side[:MOST_PROJECTED]) for side in centred)
    spread = one + other
    hair = 1e-9 * max(float(np.trace(spread)) / len(spread), 1e-12)
    difference = centred[1].mean(axis=0) - centred[0].mean(axis=0)
    weights = np.linalg.solve(spread + hair * np.eye(len(spread)), difference)
    return Projection(weights, means, tuple(columns))


def _covariance(numbers: Floats) -> Floats:
    centred = numbers - numbers.mean(axis=0)
    spread: Floats = np.einsum("ni,nj->ij", centred, centred)
    return spread / max(len(numbers) - 1, 1)


def _totals(parts: Sequence[Part], first: Transcripts, second: Transcripts) -> list[Score]:
    """Bins as they were counted, and with ratios that only rise or only fall.

    The second is exact for noise of one peak around a number that is moved, and steadier: bins in
    which the ratio is the same are pooled. The first sees anything, such as another grid.
    """
    all_edges, all_ratios, all_smooth = [], [], []
    for part in parts:
        one, other = part(first), part(second)
        edges, low = _edges(one, other)
        counts: list[Ints] = [
            np.bincount(np.searchsorted(edges, side, side="right"), minlength=len(edges) + 1)
            for side in (one, other)
        ]
        zero, more = (side.astype(np.float64) + 1.0 for side in counts)
        ratios = np.log(more / zero)
        # whether a number was published at all follows from the numbers before it
        ratios[1] = 0.0
        smooth = ratios.copy()
        inside = slice(low, len(edges) - 1)
        smooth[inside] = _monotone(zero[inside], more[inside])
        all_edges.append(edges)
        all_ratios.append(ratios)
        all_smooth.append(smooth)
    found: list[Score] = [Total(tuple(parts), tuple(all_edges), tuple(all_ratios))]
    name = "summed monotone log likelihood ratio of the releases"
    return [*found, Total(tuple(parts), tuple(all_edges), tuple(all_smooth), name)]


def _edges(one: Floats, other: Floats) -> tuple[Floats, int]:
    """Edges of equal frequency among the numbers, and those around what is none; the first bin of
    numbers."""
    pooled = np.concatenate([one, other])
    pooled = pooled[np.abs(pooled) < HUGE]
    bins = max(8, min(BINS, len(pooled) // (2 * IN_A_BIN)))
    inner = np.zeros(0)
    if len(pooled):
        levels = np.linspace(0.0, 1.0, bins + 1)[1:-1]
        inner = np.unique(np.quantile(pooled, levels, method="nearest"))
    return np.concatenate([SPECIAL[:2], inner, SPECIAL[2:]]), 2


def _monotone(zero: Floats, one: Floats) -> Floats:
    """Log ratios one/zero that rise, or fall, from bin to bin: neighbours in the wrong order are
    pooled (Ayer et al. 1955)."""
    ratios = np.log(one / zero)
    weights = zero + one
    places = np.arange(len(ratios)) - np.average(np.arange(len(ratios)), weights=weights)
    falls = float((weights * places * ratios).sum()) < 0.0
    pools: list[list[float]] = []  # zero, one, bins
    order = range(len(ratios) - 1, -1, -1) if falls else range(len(ratios))
    for place in order:
        pools.append([float(zero[place]), float(one[place]), 1.0])
        while len(pools) > 1 and pools[-2][1] * pools[-1][0] > pools[-1][1] * pools[-2][0]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    pooled = np.concatenate([np.full(int(size), math.log(b / a)) for a, b, size in pools])
    return pooled[::-1] if falls else pooled


def _distance(part: Part, first: Transcripts, second: Transcripts) -> float:
    """How much the distribution functions differ: Kolmogorov and Smirnov's distance, or, where
    that is more, that of the frequencies of values that come again and again."""
    one, other = (np.sort(part(side.cut(0, MOST_PAIRED))) for side in (first, second))
    both = np.concatenate([one, other])
    below = [np.searchsorted(side, both, side="right") / len(side) for side in (one, other)]
    distance = float(np.abs(below[0] - below[1]).max())
    values, seen = np.unique(both, return_counts=True)
    often = values[seen > len(both) // 50]
    for value in often:
        shares = [
            (np.searchsorted(side, value, "right") - np.searchsorted(side, value)) / len(side)
            for side in (one, other)
        ]
        distance = max(distance, abs(float(shares[0] - shares[1])))
    return distance
