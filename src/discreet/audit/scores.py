"""Scores: functions of a transcript that tell two neighbouring inputs apart, learned from samples.

The best score is the likelihood ratio (Neyman & Pearson 1933); these are its estimates:
- `CodeRatio`: smoothed ratio of how often each action sequence was seen, by enumeration;
- `One`: one number as it is;
- `Projection`: the weighted sum of all numbers that differs most for its spread (Fisher 1936);
- `Total`: the sum over all numbers of the log ratio of how often their bin was seen. The exact
  ratio where the numbers are independent, as noisy sums of different batches are.
A score may be anything: whatever is learned here is tested on other transcripts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from .transcripts import Subject, Transcripts

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

BINS = 64
"""Bins of one number, of equal frequency."""
MOST_PROJECTED = 20_000
"""Transcripts a side that the weights of a projection are learned from, at most."""


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
    name: str = "log likelihood ratio of the arms played"

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        ratios: NDArray[float64] = self.ratios[seen.codes]
        return ratios


@dataclass(frozen=True)
class One:
    """One of the numbers."""

    column: int
    name: str

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        column: NDArray[float64] = seen.numbers[:, self.column]
        return column


@dataclass(frozen=True)
class Projection:
    """A weighted sum of the numbers."""

    weights: NDArray[float64] = field(repr=False)
    name: str = "weighted sum of the releases"

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        import numpy as np

        # not BLAS, whose threads spin on so small a product and may round otherwise next time
        projected: NDArray[float64] = np.einsum("ij,j->i", seen.numbers, self.weights)
        return projected


@dataclass(frozen=True)
class Total:
    """The sum of the log ratios of all numbers, bin by bin."""

    edges: tuple[NDArray[float64], ...] = field(repr=False)
    ratios: tuple[NDArray[float64], ...] = field(repr=False)
    columns: tuple[int, ...] = field(repr=False)
    name: str = "summed log likelihood ratio of the releases"

    def __call__(self, seen: Transcripts) -> NDArray[float64]:
        import numpy as np

        total = np.zeros(len(seen.codes))
        for edges, ratios, column in zip(self.edges, self.ratios, self.columns, strict=True):
            total += ratios[np.searchsorted(edges, seen.numbers[:, column], side="right")]
        return total


def learn(subject: Subject, first: Transcripts, second: Transcripts) -> list[Score]:
    """All scores that the subject's transcripts allow for, learned from samples of both sides."""
    scores: list[Score] = []
    if subject.codes > 1:
        scores.append(_code_ratio(subject.codes, first.codes, second.codes))
    names = subject.names
    useful = [j for j in range(len(names)) if _varies(first.numbers[:, j], second.numbers[:, j])]
    if len(useful) > 1:
        scores.append(_projection(first.numbers, second.numbers))
        scores.append(_total(first.numbers, second.numbers, useful))
    scores += [One(j, names[j]) for j in _strongest(first.numbers, second.numbers, useful)]
    return scores


def _varies(first: Any, second: Any) -> bool:
    least = min(first.min(), second.min())
    return bool(least < max(first.max(), second.max()))


def _code_ratio(codes: int, first: Any, second: Any) -> CodeRatio:
    import numpy as np

    seen = [np.bincount(side, minlength=codes) + 0.5 for side in (first, second)]
    return CodeRatio(np.log(seen[1] / seen[0]))


def _projection(first: Any, second: Any) -> Projection:
    """w = C⁻¹ (mean difference). Where nothing varies at all, C is lifted by a hair: a direction
    without any noise that differs is then the heaviest, as it should be."""
    import numpy as np

    spread = _covariance(first[:MOST_PROJECTED]) + _covariance(second[:MOST_PROJECTED])
    hair = 1e-9 * max(float(np.trace(spread)) / len(spread), 1e-12)
    difference = second.mean(axis=0) - first.mean(axis=0)
    return Projection(np.linalg.solve(spread + hair * np.eye(len(spread)), difference))


def _covariance(numbers: Any) -> Any:
    import numpy as np

    centred = numbers - numbers.mean(axis=0)
    return np.einsum("ni,nj->ij", centred, centred) / max(len(numbers) - 1, 1)


def _total(first: Any, second: Any, columns: list[int]) -> Total:
    import numpy as np

    levels = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    all_edges, all_ratios = [], []
    for column in columns:
        one, other = first[:, column], second[:, column]
        pooled = np.concatenate([one, other])
        edges = np.unique(np.quantile(pooled, levels, method="nearest"))
        seen = [
            np.bincount(np.searchsorted(edges, side, side="right"), minlength=len(edges) + 1)
            for side in (one, other)
        ]
        all_edges.append(edges)
        all_ratios.append(np.log((seen[1] + 1.0) / (seen[0] + 1.0)))
    return Total(tuple(all_edges), tuple(all_ratios), tuple(columns))


def _strongest(first: Any, second: Any, columns: list[int], most: int = 6) -> list[int]:
    """The numbers whose distribution functions differ most: Kolmogorov and Smirnov's distance."""
    import numpy as np

    if len(columns) <= most:
        return columns

    def distance(column: int) -> float:
        one, other = np.sort(first[:2000, column]), np.sort(second[:2000, column])
        both = np.concatenate([one, other])
        below = [np.searchsorted(side, both, side="right") / len(side) for side in (one, other)]
        return float(np.abs(below[0] - below[1]).max())

    return sorted(columns, key=distance, reverse=True)[:most]
