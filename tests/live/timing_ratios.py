"""The sharpest attack on durations: guesses at coins by what was released and how long it took.

A fair coin decides whether an outcome is 0 or 1. Whoever sees all that ε-private calls show, and
all other coins, knows no coin with odds beyond e^ε. So where all guesses are made before any of
their coins is looked at, each is right with probability at most e^ε/(1 + e^ε) whatever the others
are, and so many right ones among so many prove an ε, by Clopper and Pearson's limit, with a stated
confidence: nothing is assumed of the machine (Steinke, Nasr & Jagielski 2023). Of (ε, δ) a coin may
besides be shown openly with probability δ (Kairouz, Oh & Viswanath 2015).

A sampler of discrete Laplace noise tosses coins until it has counted ⌊|noise|/scale⌋ of them, one
of Gaussian noise proposes such a variable, and one of random bits reads a second byte where the
first has no answer: a draw takes some *steps*, and no draw is quicker than its steps. Whoever sees
a released value knows which steps its draw had if the outcome was 0, and which if it was 1; the
duration tells which is likelier, and the quickest draws tell it for sure. Where one call draws
twice, and the noise of the second draw is known, its steps come on top. What else makes a call slow
mostly makes the other calls of that trial slow too: what they lead to expect is taken off.

Half of the trials teach the law of durations given steps and other calls, which call to time by
which clock, and from which likelihood ratio on to guess. The other half is guessed at.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, binom

CELLS = 240
"""Of a histogram of durations, by quantiles, at most; none has fewer than `FEW` trials."""
FEW = 40
LEVELS = (4, 16)
"""Of how slow the other calls are: calm trials tell more. Which number is better is tried."""
CLASSES = 4
"""Numbers of steps whose durations may differ by more than what the steps take."""
MORE = 1000.0
"""Trials that are added to every class, of the law of all classes."""
BELIEF = 8.0
"""No duration is believed beyond a ratio of e^8: cells are small."""
RARE = 30
"""Guesses that are made at least where the ratio is chosen from which on to guess."""
CHOICE = 1.0 - 1e-6
"""The confidence by which a guess is chosen: a high one, for the best of many was lucky."""
SHOWN = 0.1
"""The share of the risk that more coins are shown openly than is reckoned with."""


class Environment(NamedTuple):
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


LAPLACE = Environment(laplace, np.floor)
GAUSSIAN = Environment(normal, proposed, 1e-4)
BITS = Environment(laplace, flipped)
"""Of a bit that was flipped m is ε, of one that was kept 0."""


class Transcripts(NamedTuple):
    """Trials, a line each."""

    coins: Any
    """the outcomes, 0 or 1"""
    sizes: Any
    """of the noise, in scales: if the outcome was 0, and if it was 1"""
    known: Any
    """of other noise in the same call, which is known; 0 where there is none"""
    durations: Any
    """of every call by every clock"""

    def halves(self) -> tuple[Transcripts, Transcripts]:
        """Every other one, and the rest: a machine that changes its ways changes them for both."""
        first, second = (Transcripts(*(column[start::2] for column in self)) for start in (0, 1))
        return first, second

    def steps(self, environment: Environment) -> tuple[Any, Any]:
        """If the outcome was 0, and if it was 1."""
        other = environment.steps(self.known)
        return environment.steps(self.sizes[:, 0]) + other, environment.steps(
            self.sizes[:, 1]
        ) + other

    def timed(self, call: int, clock: int) -> tuple[Any, Any]:
        """What a call took, and what the others did."""
        by_clock = self.durations[:, :, clock]
        return by_clock[:, call], np.delete(by_clock, call, axis=1)


class Durations:
    """The law of a duration given steps and other calls, learnt from trials with known coins."""

    def __init__(self, steps: Any, durations: Any, others: Any, levels: int) -> None:
        low, middle, high = np.quantile(others, [0.25, 0.5, 0.75], axis=0)
        self.highest = middle + 4.0 * (high - low)
        self.middle = middle
        terms = [np.ones(len(steps)), steps, *self._clipped(others).T]
        self.weights = fitted(np.column_stack(terms), durations)
        expected = self._expected(others)
        self.levels = np.unique(np.quantile(expected, np.linspace(0.0, 1.0, levels + 1)[1:-1]))
        rest, places = self._rest(steps, durations, expected), self._levels(expected)
        self.spread = float(np.subtract(*np.quantile(rest, [0.75, 0.25])))
        self.environments = [
            histogram(rest[places == level], self._classes(steps[places == level]))
            for level in range(len(self.levels) + 1)
        ]

    @property
    def step(self) -> float:
        """What a step takes."""
        return float(self.weights[1])

    def _clipped(self, others: Any) -> Any:
        return np.minimum(others, self.highest) - self.middle

    def _expected(self, others: Any) -> Any:
        """Of a draw without steps."""
        return self.weights[0] + self._clipped(others) @ self.weights[2:]

    def _rest(self, steps: Any, durations: Any, expected: Any) -> Any:
        return durations - expected - self.step * steps

    def _levels(self, expected: Any) -> Any:
        return np.searchsorted(self.levels, expected)

    @staticmethod
    def _classes(steps: Any) -> Any:
        return np.minimum(steps, CLASSES - 1).astype(int)

    def logarithm(self, steps: Any, durations: Any, others: Any) -> Any:
        """Of the density."""
        expected = self._expected(others)
        rest, levels = self._rest(steps, durations, expected), self._levels(expected)
        classes, found = self._classes(steps), np.empty(len(steps))
        for level, (edges, logarithms) in enumerate(self.environments):
            here = levels == level
            cells = np.searchsorted(edges, rest[here], side="right")
            found[here] = logarithms[classes[here], cells]
        return found


def fitted(terms: Any, durations: Any) -> Any:
    """Least squares in which a trial that is far off weighs little."""
    weights = np.ones(len(durations))
    for _ in range(10):
        weighed = terms * weights[:, None]
        found = np.linalg.lstsq(weighed.T @ terms, weighed.T @ durations, rcond=None)[0]
        off = np.abs(durations - terms @ found)
        near = 1.5 * np.median(off) + 1.0
        weights = (near / np.maximum(off, near)) ** 2
    return found


def histogram(rest: Any, classes: Any) -> tuple[Any, Any]:
    """Inner edges, and logarithms of densities for each class."""
    cells = max(1, min(CELLS, len(rest) // FEW))
    edges = np.unique(np.quantile(rest, np.linspace(0.0, 1.0, cells + 1))) if len(rest) else [0.0]
    # nothing was ever as short as the first cell, or as long as the last
    beyond = edges[-1] - edges[0] + 1.0
    widths = np.concatenate([[beyond], np.diff(edges), [beyond]])
    places, size = np.searchsorted(edges, rest, side="right"), len(widths)
    every = (np.bincount(places, minlength=size) + 0.1) / (len(rest) + 0.1 * size)
    counted = np.array([np.bincount(places[classes == c], minlength=size) for c in range(CLASSES)])
    shares = (counted + MORE * every) / (counted.sum(axis=1, keepdims=True) + MORE)
    logarithms = np.log(shares / widths)
    for row in logarithms:
        row[1:-1] = smoothed(row[1:-1])
    return edges, logarithms


def smoothed(values: Any) -> Any:
    if len(values) == 0:
        return values
    return np.convolve(np.pad(values, 2, mode="edge"), np.array([1, 2, 3, 2, 1]) / 9.0, "valid")


Score = Callable[[Transcripts], Any]
"""The logarithm of the likelihood ratio of 1 to 0."""


class Look(NamedTuple):
    """What is timed, and how."""

    call: int
    clock: int
    levels: int

    def taught(self, teach: Transcripts, environment: Environment) -> Durations:
        zero, one = teach.steps(environment)
        timed = teach.timed(self.call, self.clock)
        return Durations(np.where(teach.coins == 1, one, zero), *timed, self.levels)

    def scored(self, teach: Transcripts, environment: Environment) -> Score:
        """By values and durations."""
        durations = self.taught(teach, environment)

        def score(rows: Transcripts) -> Any:
            timed = rows.timed(self.call, self.clock)
            zero, one = (durations.logarithm(steps, *timed) for steps in rows.steps(environment))
            return by_value(rows, environment) + np.clip(one - zero, -BELIEF, BELIEF)

        return score


def looks(rows: Transcripts) -> list[Look]:
    """All that are tried."""
    _, calls, clocks = rows.durations.shape
    return [Look(*look) for look in product(range(calls), range(clocks), LEVELS)]


def clearest(rows: Transcripts, environment: Environment) -> tuple[float, float]:
    """What a step takes, and between which quartiles other things make a duration vary, of the call
    and clock where a step stands out most."""
    found = [look.taught(rows, environment) for look in looks(rows)]
    best = max(found, key=lambda durations: durations.step / max(durations.spread, 1.0))
    return best.step, best.spread


def by_value(rows: Transcripts, environment: Environment) -> Any:
    """The ratio of values alone, without digits that tell of nothing but arithmetic."""
    return np.round(
        environment.logarithm(rows.sizes[:, 1]) - environment.logarithm(rows.sizes[:, 0]), 9
    )


class Guess(NamedTuple):
    """1 where the score is high, 0 where it is low, nothing in between."""

    score: Score
    threshold: float

    def counted(self, rows: Transcripts) -> tuple[int, int]:
        """The right ones, and all."""
        scores = self.score(rows)
        guessed = np.abs(scores) >= self.threshold
        return int(np.sum(guessed & ((scores > 0.0) == (rows.coins == 1)))), int(np.sum(guessed))


def proved(rows: Transcripts, environment: Environment, confidence: float) -> float:
    """A lower bound on ε that is wrong with probability at most 1 - confidence."""
    teach, test = rows.halves()
    right, guesses = (np.array(found) for found in learnt(teach, environment).counted(test))
    return float(worth(right, guesses, len(test.coins), environment.delta, confidence))


def learnt(teach: Transcripts, environment: Environment) -> Guess:
    """The guess that proves most on the two parts of what teaches, each by what the other teaches;
    then both teach."""
    parts = teach.halves()
    coins = np.concatenate([part.coins for part in parts])

    values = np.concatenate([by_value(part, environment) for part in parts])
    best, threshold = best_threshold(values, coins, environment)
    guess = Guess(lambda rows: by_value(rows, environment), threshold)
    for look in looks(teach):
        first, second = (look.scored(part, environment) for part in parts)
        crossed = np.concatenate([second(parts[0]), first(parts[1])])
        proves, threshold = best_threshold(crossed, coins, environment)
        if proves > best:
            best, guess = proves, Guess(look.scored(teach, environment), threshold)
    return guess


def best_threshold(scores: Any, coins: Any, environment: Environment) -> tuple[float, float]:
    """What is proved, and by guesses from which ratio on."""
    sizes = np.abs(scores)
    order = np.argsort(-sizes, kind="stable")
    right = np.cumsum((scores > 0.0)[order] == (coins == 1)[order])
    least = min(RARE, len(sizes))
    guesses = np.unique(np.geomspace(least, len(sizes), 100).astype(int))
    # scores that are equal are guessed at together
    guesses = np.unique(np.searchsorted(-sizes[order], -sizes[order][guesses - 1], side="right"))
    proves = worth(right[guesses - 1], guesses, len(sizes), environment.delta, CHOICE)
    place = int(np.argmax(proves))
    return float(proves[place]), float(sizes[order][guesses[place] - 1])


def worth(right: Any, guesses: Any, size: int, delta: float, confidence: float) -> Any:
    """What so many right guesses prove, in so many trials."""
    alpha, shown = 1.0 - confidence, 0
    if delta > 0.0:
        shown = int(binom.isf(SHOWN * alpha, size, delta))
        alpha *= 1.0 - SHOWN
    right, guesses = np.maximum(right - shown, 0), np.maximum(guesses - shown, 0)
    low = beta.ppf(alpha, np.maximum(right, 1), guesses - right + 1)
    low = np.where(right > 0, np.maximum(low, 0.5), 0.5)
    return np.log(low / (1.0 - low))
