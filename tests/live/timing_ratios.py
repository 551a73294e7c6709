"""The sharpest attack on durations: the likelihood ratio of what was released and how long it took.

A sampler of discrete Laplace noise tosses coins until it has counted ⌊|noise|/scale⌋ of them, one
of Gaussian noise proposes such a variable, and one of random bits reads a second byte where the
first has no answer: a draw takes some *steps*, and no draw is quicker than its steps. Whoever sees
a released value knows which steps its draw had if the outcome was 0, and which if it was 1; the
duration tells which is likelier, and the quickest draws tell it for sure. Where one call draws
twice, and the noise of the second draw is known, its steps come on top.

A quarter of the trials teaches what a step takes and the law of durations given steps, the next one
which call to time by which clock and from which score on to believe it. The other half tests that
one event, by Clopper and Pearson's limits: P(event) is at least `low` on the one side and at most
`high` on the other, so ε is at least log((low - δ)/high), with a stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

CELLS = 240
"""Of the histogram of durations, by quantiles."""
CLASSES = 4
"""Numbers of steps whose durations may differ by more than what the steps take."""
MORE = 30.0
"""Trials that are added to every class, of the law of all classes."""
BELIEF = 8.0
"""No duration is believed beyond a ratio of e^8: cells are small."""
RARE = 20
"""Hits that an event needs where it is chosen."""


class Law(NamedTuple):
    """Of noise whose size is m scales."""

    logarithm: Callable[[Any], Any]
    """of its probability, but for a constant"""
    steps: Callable[[Any], Any]
    """that its draw takes"""
    delta: float = 0.0
    """of the claim"""


def laplace(m: Any) -> Any:
    return -m


def normal(m: Any) -> Any:
    return -m * m / 2.0


def proposed(m: Any) -> Any:
    """Steps of the proposal, and of the coin e^-((m-1)²/2) that accepts it."""
    return np.floor(m) + np.floor((m - 1.0) ** 2 / 2.0)


def flipped(m: Any) -> Any:
    return (m > 0.0).astype(float)


LAPLACE = Law(laplace, np.floor)
GAUSSIAN = Law(normal, proposed, 1e-6)
BITS = Law(laplace, flipped)
"""Of a bit that was flipped m is ε, of one that was kept 0."""


class Transcripts(NamedTuple):
    """Trials of one side, a line each."""

    sizes: Any
    """of the noise, in scales: if the outcome was 0, and if it was 1"""
    known: Any
    """of other noise in the same call, which is known; 0 where there is none"""
    durations: Any
    """of every call by every clock"""

    def cut(self, start: float, end: float) -> Transcripts:
        """A part of them."""
        part = slice(int(start * len(self.known)), int(end * len(self.known)))
        return Transcripts(self.sizes[part], self.known[part], self.durations[part])

    def steps(self, law: Law) -> tuple[Any, Any]:
        """If the outcome was 0, and if it was 1."""
        other = law.steps(self.known)
        return law.steps(self.sizes[:, 0]) + other, law.steps(self.sizes[:, 1]) + other


Sides = tuple[Transcripts, Transcripts]


class Durations:
    """The law of a duration given steps, learnt from trials whose outcomes are known."""

    def __init__(self, steps: Any, durations: Any) -> None:
        self.slope = slope(steps, durations)
        rest = durations - self.slope * steps
        inner = np.unique(np.quantile(rest, np.linspace(0.0, 1.0, CELLS + 1)))
        # nothing was ever as short as the first cell, or as long as the last
        self.edges = np.concatenate([[-math.inf], inner, [math.inf]])
        widths = np.diff(self.edges)
        widths[[0, -1]] = inner[-1] - inner[0] + 1.0
        cells, classes, size = self._cells(rest), self._classes(steps), len(widths)
        every = (np.bincount(cells, minlength=size) + 0.1) / (len(cells) + 0.1 * size)
        counted = np.array(
            [np.bincount(cells[classes == c], minlength=size) for c in range(CLASSES)]
        )
        shares = (counted + MORE * every) / (counted.sum(axis=1, keepdims=True) + MORE)
        self.logarithms = np.log(shares / widths)

    def _cells(self, rest: Any) -> Any:
        return np.searchsorted(self.edges[1:-1], rest, side="right")

    @staticmethod
    def _classes(steps: Any) -> Any:
        return np.minimum(steps, CLASSES - 1).astype(int)

    def logarithm(self, steps: Any, durations: Any) -> Any:
        """Of the density."""
        cells = self._cells(durations - self.slope * steps)
        return self.logarithms[self._classes(steps), cells]


def slope(steps: Any, durations: Any) -> float:
    """What a step takes, by the quick ones of a few steps."""
    found = [(number, durations[steps == number]) for number in range(CLASSES)]
    quick = [(n, np.quantile(some, 0.1), len(some)) for n, some in found if len(some) >= 50]
    if len(quick) < 2:
        return 0.0
    numbers, durations, sizes = (np.array(column, float) for column in zip(*quick, strict=True))
    return float(np.polyfit(numbers, durations, 1, w=np.sqrt(sizes))[0])


class Event(NamedTuple):
    """Trials whose score lies beyond a threshold."""

    score: Callable[[Transcripts], Any]
    threshold: float
    side: int
    """where it is likelier: of 1 the scores above, of 0 those below"""

    def hits(self, rows: Transcripts) -> int:
        """How many of them."""
        return int(beyond(self.score(rows), np.array([self.threshold]), self.side)[0])


def proved(sides: Sides, law: Law, confidence: float) -> float:
    """A lower bound on ε that is wrong with probability at most 1 - confidence."""
    event = learnt(sides, law, confidence)
    if event is None:
        return 0.0
    test = [rows.cut(0.5, 1.0) for rows in sides]
    hits, others = (np.array(event.hits(test[side])) for side in (event.side, 1 - event.side))
    return float(worth(hits, others, len(test[0].known), law.delta, confidence))


def learnt(sides: Sides, law: Law, confidence: float) -> Event | None:
    """The event that proves most on the second quarter."""
    first, second = ([rows.cut(start, start + 0.25) for rows in sides] for start in (0.0, 0.25))
    steps = np.concatenate([rows.steps(law)[side] for side, rows in enumerate(first)])
    best, found = 0.0, None
    for column in range(sides[0].durations.shape[1]):
        durations = np.concatenate([rows.durations[:, column] for rows in first])
        score = scored(law, Durations(steps, durations), column)
        scores = [score(rows) for rows in second]
        grid = np.unique(np.quantile(np.concatenate(scores), np.linspace(0.0, 1.0, 4001)))
        for side in (0, 1):
            hits, others = (beyond(scores[which], grid, side) for which in (side, 1 - side))
            proves = worth(hits, others, len(scores[0]), law.delta, confidence)
            proves[hits < RARE] = 0.0
            place = int(np.argmax(proves))
            if proves[place] > best:
                best, found = proves[place], Event(score, float(grid[place]), side)
    return found


def scored(law: Law, durations: Durations, column: int) -> Callable[[Transcripts], Any]:
    """The logarithm of the likelihood ratio of 1 to 0."""

    def score(rows: Transcripts) -> Any:
        times = rows.durations[:, column]
        zero, one = (durations.logarithm(steps, times) for steps in rows.steps(law))
        value = law.logarithm(rows.sizes[:, 1]) - law.logarithm(rows.sizes[:, 0])
        return value + np.clip(one - zero, -BELIEF, BELIEF)

    return score


def beyond(scores: Any, thresholds: Any, side: int) -> Any:
    """How many scores lie beyond each threshold."""
    ordered = np.sort(scores)
    if side:
        return len(scores) - np.searchsorted(ordered, thresholds, side="left")
    return np.searchsorted(ordered, thresholds, side="right")


def worth(hits: Any, others: Any, size: int, delta: float, confidence: float) -> Any:
    """What so many hits on the two sides prove."""
    alpha = (1.0 - confidence) / 2.0
    low = np.where(hits > 0, beta.ppf(alpha, np.maximum(hits, 1), size - hits + 1), 0.0) - delta
    above = beta.ppf(1.0 - alpha, others + 1, np.maximum(size - others, 1))
    high = np.where(others < size, above, 1.0)
    return np.where(low > high, np.log(np.maximum(low, high) / high), 0.0)
