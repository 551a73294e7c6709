"""Events: sets of transcripts that one input makes likelier than its neighbour.

An event is {score >= threshold}, with the side on which it is the likelier one. Thresholds are
chosen where the exact confidence limits, on the transcripts they are chosen from, prove most; the
few events that are chosen are then counted again on other transcripts, which alone prove anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..privacy.budgets import ZCDP, Budget, GaussianDP, Renyi
from . import _limits as limits
from ._scores import HUGE, Score
from ._transcripts import Transcripts

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from .._types import Floats, Ints

PARTS = 24
"""Parts of the partition that Rényi divergences are bounded on."""


@dataclass(frozen=True)
class Event:
    """{score >= threshold}, likelier on side `likelier` (0 or 1) than on the other."""

    score: Score
    threshold: float
    likelier: int

    def hits(self, seen: Transcripts) -> int:
        """How many transcripts lie in it."""
        return int((self.score(seen) >= self.threshold).sum())

    def __str__(self) -> str:
        if self.threshold > HUGE:
            return f"{self.score.name} is NaN or infinite"
        return f"{self.score.name} >= {self.threshold:.6g}"


@dataclass(frozen=True)
class Partition:
    """Parts of equal frequency of one score."""

    score: Score
    edges: NDArray[float64]

    def counts(self, seen: Transcripts) -> Ints:
        """How many transcripts lie in each part."""
        where = np.searchsorted(self.edges, self.score(seen), side="right")
        return np.bincount(where, minlength=len(self.edges) + 1)

    def __str__(self) -> str:
        return f"{len(self.edges) + 1} of the {self.score.name}"


def uses_partition(budget: Budget) -> bool:
    """Whether a claim is about Rényi divergences, which no single event bounds tightly."""
    return isinstance(budget, ZCDP | Renyi)


def choose_events(
    scores: Sequence[Score], first: Transcripts, second: Transcripts, budget: Budget,
    delta: float, error: float, most: int = 4,
) -> list[Event]:  # fmt: skip
    """The events that prove most on these transcripts, in each of the measures that count."""
    found: list[tuple[list[Floats], Score, Floats, int]] = []
    for score in scores:
        values = [score(first), score(second)]
        thresholds = _thresholds(values)
        hits = [_hits(side, thresholds) for side in values]
        for likelier in (0, 1):
            p = limits.clopper_pearson_lower(hits[likelier], len(values[likelier]), error)
            q = limits.clopper_pearson_upper(hits[1 - likelier], len(values[1 - likelier]), error)
            found.append((measures_of(p, q, budget, delta), score, thresholds, likelier))
    chosen: list[Event] = []
    for measure in range(len(found[0][0])):
        ranked = [
            (float(measures[measure][best]), score, float(thresholds[best]), likelier)
            for measures, score, thresholds, likelier in found
            for best in (int(measures[measure].argmax()),)
        ]
        ranked.sort(key=lambda entry: -entry[0])
        for value, score, threshold, likelier in ranked[:most]:
            event = Event(score, threshold, likelier)
            if value > 0.0 and not any(_same(event, other) for other in chosen):
                chosen.append(event)
    return chosen


def _same(event: Event, other: Event) -> bool:
    return (event.score.name, event.threshold, event.likelier) == (
        other.score.name, other.threshold, other.likelier,
    )  # fmt: skip


def choose_partition(scores: Sequence[Score], first: Transcripts, second: Transcripts) -> Partition:
    """The score whose partition shows the largest divergence on these transcripts."""

    def partition(score: Score) -> Partition:
        pooled = np.concatenate([score(first), score(second)])
        levels = np.linspace(0.0, 1.0, PARTS + 1)[1:-1]
        return Partition(score, np.unique(np.quantile(pooled, levels, method="nearest")))

    def divergence(part: Partition) -> float:
        p, q = (part.counts(side) + 1.0 for side in (first, second))
        return float((p / p.sum() * np.log((p / p.sum()) / (q / q.sum()))).sum())

    return max(map(partition, scores), key=divergence)


def measures_of(p: Floats, q: Floats, budget: Budget, delta: float) -> list[Floats]:
    """What events are ranked by: the bound on ε at δ, how much the claim is exceeded, and μ."""
    with np.errstate(divide="ignore"):
        excess = np.log(np.maximum(p, 1e-300)) - np.log(np.maximum(limits.allowed(budget, q), 0.0))
    measures = [limits.epsilon_bound(p, q, delta), np.maximum(excess, 0.0)]
    if isinstance(budget, GaussianDP | ZCDP):
        measures.append(limits.mu_bound(p, q))
    return measures


def _thresholds(values: Sequence[Floats]) -> Floats:
    """Quantiles of both sides, dense in the tails; every value where there are few."""
    pooled = np.sort(np.concatenate(list(values)))
    tail = np.geomspace(1e-4, 0.05, 16)
    levels = np.concatenate([tail, np.linspace(0.05, 0.95, 91)[1:-1], 1.0 - tail[::-1]])
    places = np.floor(levels * (len(pooled) - 1)).astype(np.int64)
    return np.unique(pooled[places])


def _hits(values: Floats, thresholds: Floats) -> Ints:
    return len(values) - np.searchsorted(np.sort(values), thresholds, side="left")
