"""Scores under both hypotheses, and what they say: advantage, AUC, power, and an audit.

A score is high for members. A threshold is either the score's own, known before the game (0 for a
likelihood ratio), or learnt on the even rounds and counted on the odd ones: no figure rests on a
threshold that was chosen on the rounds that it is counted on.

Limits are exact for every sample size: Clopper and Pearson's for error rates; for the power at a
level, an order statistic of the non-members' scores whose level is on the safe side with half of
the error, then Clopper and Pearson's on the members; for the AUC Hoeffding's for U-statistics.

>>> import numpy as np
>>> rng = np.random.default_rng(1)
>>> scores = Scores(rng.normal(1.0, 1.0, 4000), rng.normal(0.0, 1.0, 4000))
>>> low, high = scores.power_limits(0.05, confidence=0.999)
>>> low < 0.26 < high  # Φ(Φ⁻¹(0.05) + 1) = 0.26
True
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..audit._counts import Claim, check_confidence, from_errors, settled_delta
from ..audit._limits import clopper_pearson_lower, clopper_pearson_upper, epsilon_bound
from ..audit._result import Audit
from ..errors import InvalidArgument
from ..simulator._files import damage_named, digest, numbers, open_table, save_table, stamped
from ._curve import LEVELS, Curve, check_level

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy import float64
    from numpy.typing import ArrayLike, NDArray

    from .._types import Ints

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of members and of non-members, one per round, in the order of the rounds.

    Example:
        >>> from discreet import membership
        >>> found = membership.Scores([0.9, 0.4, 0.8], [0.1, 0.6, 0.2])
        >>> round(found.auc, 3), round(found.power(0.4), 2)
        (0.889, 1.0)
    """

    members: NDArray[float64]
    nonmembers: NDArray[float64]
    name: str = "scores"
    threshold: float | None = None
    """the score's own threshold, fixed before the game; accuse above it"""
    settings: Mapping[str, object] = field(default_factory=dict)
    """how the game was set up, JSON-ready"""
    seed: int = 0
    seconds: float = 0.0
    complete: bool = True
    """False if Ctrl-C ended the game early"""

    def __post_init__(self) -> None:
        for side in ("members", "nonmembers"):
            object.__setattr__(self, side, check_scores(side, getattr(self, side)))

    @property
    def rounds(self) -> tuple[int, int]:
        """Rounds with the target in the data, and without."""
        return len(self.members), len(self.nonmembers)

    # what is measured

    @property
    def advantage(self) -> float:
        """1 - false alarms - misses."""
        level, power = self._rates()
        return power - level

    @property
    def accuracy(self) -> float:
        """How often the attacker is right when the target is a member every other time."""
        return (1.0 + self.advantage) / 2.0

    @cached_property
    def auc(self) -> float:
        """The probability that a member's score is above a non-member's, ties counted half."""
        ranked = np.sort(self.nonmembers)
        below = np.searchsorted(ranked, self.members, side="left")
        upto = np.searchsorted(ranked, self.members, side="right")
        return float((below + upto).mean() / (2.0 * len(ranked)))

    def power(self, level: float) -> float:
        """The share of members that is found by a test with this false-alarm rate."""
        return self.curve().power_at(level)

    def curve(self) -> Curve:
        """The whole trade-off curve, from the scores as they are."""
        return self._curve

    @cached_property
    def _curve(self) -> Curve:
        thresholds = np.unique(np.concatenate([self.members, self.nonmembers]))[::-1]
        level = _above(self.nonmembers, thresholds) / len(self.nonmembers)
        power = _above(self.members, thresholds) / len(self.members)
        return Curve.of(level, power)

    # how sure that is

    def advantage_limits(self, confidence: float = 0.95) -> tuple[float, float]:
        """Limits of the advantage of the test that `advantage` is counted with."""
        error = (1.0 - check_confidence(confidence)) / 4.0
        false_alarms, misses, (members, nonmembers) = self._errors()
        found = members - misses
        low = clopper_pearson_lower(found, members, error)
        low = low - clopper_pearson_upper(false_alarms, nonmembers, error)
        high = clopper_pearson_upper(found, members, error)
        high = high - clopper_pearson_lower(false_alarms, nonmembers, error)
        return float(low), float(high)

    def auc_limits(self, confidence: float = 0.95) -> tuple[float, float]:
        """Limits of the AUC (Hoeffding 1963, for two-sample U-statistics)."""
        error = 1.0 - check_confidence(confidence)
        half = math.sqrt(math.log(2.0 / error) / (2.0 * min(self.rounds)))
        return max(0.0, self.auc - half), min(1.0, self.auc + half)

    def power_limits(self, level: float, confidence: float = 0.95) -> tuple[float, float]:
        """Limits of the power at a level, whatever the distribution of the scores.

        The k-th largest of T non-members' scores is exceeded with a probability that is above
        `level` with probability P(Bin(T, level) < k) at most: a k that makes this small gives a
        threshold that is strict enough, and one that makes the converse small, one that is not.
        """
        from scipy.stats import binom

        level = check_level(level)
        error = (1.0 - check_confidence(confidence)) / 4.0
        trials, members = len(self.nonmembers), len(self.members)
        ranked = np.sort(self.nonmembers)[::-1]
        # strict: accuse above the k-th largest with P(Bin(T, level) <= k - 1) <= error
        k = int(binom.ppf(error, trials, level))
        strict = math.inf if k < 1 else float(ranked[k - 1])
        low = clopper_pearson_lower(int((self.members > strict).sum()), members, error)
        # loose: accuse from the k-th largest on with P(Bin(T, level) >= k) <= error
        k = int(binom.isf(error, trials, level)) + 1
        loose = -math.inf if k > trials else float(ranked[k - 1])
        high = clopper_pearson_upper(int((self.members >= loose).sum()), members, error)
        return float(low), float(high)

    def audit(self, delta: float = 0.0, confidence: float = 0.95, claimed: Claim = None) -> Audit:
        """A lower bound on ε(δ), and on μ for Gaussian claims.

        The even rounds choose the threshold that proves most on them; the odd ones are counted.
        Games that replace a point bound replace-one privacy: against an add-or-remove claim (ε, δ)
        compare with (2ε, (1 + e^ε)δ).
        """
        delta, confidence = settled_delta(delta, claimed), check_confidence(confidence)
        threshold = self._proving_threshold(delta, 1.0 - confidence)
        members, nonmembers = self._odd()
        errors = int((nonmembers > threshold).sum()), int((members <= threshold).sum())
        return from_errors(
            errors, (len(nonmembers), len(members)), delta=delta, confidence=confidence,
            claimed=claimed, event=f"{self.name} > {threshold:.6g}",
            name=str(self.settings.get("mechanism", "membership game")),
            played=sum(self.rounds), seed=self.seed, seconds=self.seconds,
        )  # fmt: skip

    def _proving_threshold(self, delta: float, error: float) -> float:
        members, nonmembers = self.members[::2], self.nonmembers[::2]
        candidates = np.unique(np.concatenate([members, nonmembers]))
        found, alarms = _over(members, candidates), _over(nonmembers, candidates)
        power = clopper_pearson_lower(found, len(members), error / 2.0)
        level = clopper_pearson_upper(alarms, len(nonmembers), error / 2.0)
        return float(candidates[int(np.argmax(epsilon_bound(power, level, delta)))])

    # the test that advantage and accuracy are counted with

    def _odd(self) -> tuple[NDArray[float64], NDArray[float64]]:
        if min(self.rounds) < 2:
            raise InvalidArgument(
                "rounds", "leave rounds to count after a threshold was chosen", self.rounds,
                "play at least 2 rounds per side",
            )  # fmt: skip
        return self.members[1::2], self.nonmembers[1::2]

    def _errors(self) -> tuple[int, int, tuple[int, int]]:
        """False alarms, misses, and the members and non-members among which they were counted."""
        if self.threshold is not None:
            threshold, members, nonmembers = self.threshold, self.members, self.nonmembers
        else:
            threshold = _best_threshold(self.members[::2], self.nonmembers[::2])
            members, nonmembers = self._odd()
        alarms, misses = int((nonmembers > threshold).sum()), int((members <= threshold).sum())
        return alarms, misses, (len(members), len(nonmembers))

    def _rates(self) -> tuple[float, float]:
        alarms, misses, (members, nonmembers) = self._errors()
        return alarms / nonmembers, 1.0 - misses / members

    # what is shown and saved

    def summary(
        self, levels: Sequence[float] = LEVELS, confidence: float = 0.95
    ) -> dict[str, object]:
        """Figures for JSON, each with its limits."""
        return {
            "attack": self.name,
            **self.settings,
            "rounds": {"members": self.rounds[0], "nonmembers": self.rounds[1]},
            "advantage": self.advantage,
            "accuracy": self.accuracy,
            "auc": self.auc,
            "power": {f"{level:g}": self.power(level) for level in levels},
            "confidence": confidence,
            "limits": {
                "advantage": list(self.advantage_limits(confidence)),
                "auc": list(self.auc_limits(confidence)),
                "power": {
                    f"{level:g}": list(self.power_limits(level, confidence)) for level in levels
                },
            },
            "seconds": self.seconds,
            "seed": self.seed,
            "complete": self.complete,
        }

    def table(self) -> pa.Table:
        """Tidy columns: attack, member (1 or 0), round, score."""
        import pyarrow as pa

        columns = {
            "policy": pa.array([self.name] * sum(self.rounds)).dictionary_encode(),
            "member": np.repeat(np.array([1, 0], np.int8), self.rounds),
            "round": np.concatenate([np.arange(count) for count in self.rounds]),
            "score": np.concatenate([self.members, self.nonmembers]),
        }
        entry: dict[str, object] = {
            "format": FORMAT,
            "version": __version__,
            "kind": "membership",
            "name": self.name,
            "threshold": self.threshold,
            "settings": dict(self.settings),
            "seed": self.seed,
            "seconds": self.seconds,
            "complete": self.complete,
        }
        entry = json.loads(json.dumps(entry))
        return stamped(columns, entry | {"digest": digest(entry, columns)})

    def save(self, path: str | Path) -> Path:
        """Write a Parquet file with all scores and settings, whole or not at all."""
        return save_table(self.table(), path)

    def plot(self, **options: Any) -> Figure:
        """Histograms and the trade-off curve: see `discreet.membership._plots.plot_scores`."""
        from ._plots import plot_scores

        return plot_scores(self, **options)


def load(path: str | Path) -> Scores:
    """What `Scores.save` wrote; refuses files that are damaged, foreign or of a later format.

    Args:
        path: The file.

    Returns:
        The scores.

    Raises:
        DamagedFile: If the file was changed, is of another kind, or of a later format.

    Raises:
        DamagedFile: If the file was changed, is of another kind, or of a later format.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from discreet import membership
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "game.parquet"
        ...     _ = membership.Scores([0.9, 0.4], [0.1, 0.6]).save(path)
        ...     membership.load(path).members
        array([0.9, 0.4])
    """
    with damage_named(path, "membership game"):
        table, entry = open_table(path, "membership game", newest=FORMAT)
        columns = numbers(table)
        if entry.pop("digest") != digest(entry, columns) or entry.pop("kind") != "membership":
            raise ValueError("they were changed after they were written")
        for name in ("format", "version"):
            entry.pop(name)
        inside = columns["member"] == 1
        return Scores(columns["score"][inside], columns["score"][~inside], **entry)


def check_scores(argument: str, values: ArrayLike) -> NDArray[float64]:
    """One score per round, none of them NaN; read-only."""
    try:
        scores = np.array(values, float)
    except (TypeError, ValueError):
        raise InvalidArgument(
            argument,
            "be numbers, one per round",
            type(values).__name__,
            "return one score per round",
        ) from None
    if scores.ndim != 1 or not len(scores):
        raise InvalidArgument(
            argument, "be one score per round", f"shape {scores.shape}", "return an array (rounds,)"
        )
    if np.isnan(scores).any():
        raise InvalidArgument(
            argument, "hold no NaN", f"{int(np.isnan(scores).sum())} NaN",
            "let the score be -inf where the output rules the target out",
        )  # fmt: skip
    scores.setflags(write=False)
    return scores


def _above(values: NDArray[float64], thresholds: NDArray[float64]) -> Ints:
    """How many values are at or above each threshold."""
    return len(values) - np.searchsorted(np.sort(values), thresholds, side="left")


def _over(values: NDArray[float64], thresholds: NDArray[float64]) -> Ints:
    """How many values exceed each threshold."""
    return len(values) - np.searchsorted(np.sort(values), thresholds, side="right")


def _best_threshold(members: NDArray[float64], nonmembers: NDArray[float64]) -> float:
    """The threshold of largest advantage on these rounds."""
    candidates = np.unique(np.concatenate([members, nonmembers]))
    found = _over(members, candidates) / len(members)
    alarms = _over(nonmembers, candidates) / len(nonmembers)
    return float(candidates[int(np.argmax(found - alarms))])
