"""Intervals that hold, from what was released and nothing else.

    anytime  {u : U(u) < 2/α and D(u) < 2/α}: all releases at once, any sampling, any sizes
    looks    exact tails at α/P, or Chernoff's J where outcomes are not binary: batch sizes that are
             fixed beforehand, at most P of them an arm; holds at every look
    end      the same with P = 1: one look, shares that no outcome changes

α = 1 - level is the probability that one arm's interval ever misses its mean; `together=True` takes
α/K, so that all of them hold at once. A difference μ_a - μ_c has the lower end d with
min_u E_{a,c}(u; d) = 2/α, its upper end by swapping. Proof: `discreet.identify.evidence`. Of a
trial in epochs (`trend=True`) arms are compared within epochs alone: `within`.

The kind is chosen before the data: a second interval after the first was seen holds for neither.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..errors import InvalidArgument
from ..identify.evidence import (
    Tilts,
    class_of,
    enter_as,
    fresh_books,
    least_pair,
    tilts_for,
)
from ..policies.releases.entries import AGAIN, PAIR, Noise
from .missing import PairOfArms, bounded_batches, bounded_noise, responder_limits
from .record import Batch, Record, check_kind, record_of
from .tails import chernoff_limits, exact_limits
from .within import EpochRecord, Within, epochs_of, limits_within

LEVEL = 0.95
HALVINGS = 40
OVER = ("responders", "all")
ABOUT = {
    "mean": "",
    "sigmoid": " for the mean of 1/(1+e^-y)",
    "responders": " for the mean of those who answer",
    "all": " for the mean of all, whatever the missing outcomes were",
    "within": " for differences within epochs",
}
"""What an interval may be about."""


@dataclass(frozen=True)
class Interval:
    """One arm, or the difference of two, in the units of the outcomes."""

    arm: Any
    estimate: float | None
    low: float
    high: float
    size: int
    """outcomes behind it"""
    against: Any = None
    """the other arm of a difference"""

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high

    def __str__(self) -> str:
        name = f"{self.arm}" if self.against is None else f"{self.arm} - {self.against}"
        shown = "-" if self.estimate is None else f"{self.estimate:.4g}"
        return f"{name}: {shown} in [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class Intervals:
    """All of one kind and level."""

    kind: str
    level: float
    together: bool
    rows: tuple[Interval, ...]
    estimand: str = "mean"
    """what they are about: see `ABOUT`"""

    def __iter__(self) -> Iterator[Interval]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Interval:
        return self.rows[place]

    def of(self, arm: Any) -> Interval:
        """The interval of an arm by name."""
        for row in self.rows:
            if row.arm == arm:
                return row
        raise InvalidArgument(
            "arm", "be one of the arms", arm, f"use one of {[row.arm for row in self.rows]}"
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self) | {"rows": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        held = "all at once" if self.together else "each"
        about = ABOUT.get(self.estimand, "")
        head = f"{100.0 * self.level:g} % intervals{about}, {self.kind}, {held}"
        return "\n".join([head, *map(str, self.rows)])

    def plot(self, path: Any = None) -> Any:
        """Estimates with their intervals; saved if a path is given."""
        from .pictures import plot_intervals

        return plot_intervals(self, path)


def check_level(level: float) -> float:
    """A probability strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise InvalidArgument("level", "lie in (0, 1)", level, "use for example level=0.95")
    return float(level)


def intervals(
    source: Any,
    level: float = LEVEL,
    kind: str | None = None,
    *,
    together: bool = False,
    over: str = "responders",
    run: int = 0,
) -> Intervals:
    """An interval for the mean outcome of every arm.

    `source` is a trial, a rehearsal, a report, a `Record`, or a result of `simulate` or `identify`,
    of which the `run`-th run is played again; `kind` is the one that the trial was created with, or
    the same again. Where missing outcomes are estimated, `over="all"` asks for the mean of all,
    whatever the missing ones were, instead of that of those who answer.
    """
    record = record_of(source, run)
    kind = _kind_of(record, kind)
    alpha = 1.0 - check_level(level)
    if together:
        alpha /= len(record.arms)
    if over not in OVER:
        raise InvalidArgument("over", "be 'responders' or 'all'", over, "use 'responders'")
    if record.recorded.kind == PAIR:
        return _with_missing(record, alpha, level, together, over)
    limits = _anytime(record, alpha) if kind == "anytime" else _planned(record, alpha, kind)
    rows = []
    for arm, ends in enumerate(limits):
        size, total, _ = record.sums(arm)
        estimate = record.estimate(total / size) if size else None
        rows.append(Interval(record.arms[arm], estimate, *record.limits(*ends), size))
    return Intervals(kind, level, together, tuple(rows), record.estimand)


def _with_missing(
    record: Record, alpha: float, level: float, together: bool, over: str
) -> Intervals:
    """Where missing outcomes are estimated: of those who answer, or of all."""
    rows = []
    for arm, name in enumerate(record.arms):
        estimate: float | None = None
        if over == "responders":
            ends = responder_limits(record, arm, alpha)
            if record.history[arm]:
                estimate = record.estimate(_answered_mean(record, arm))
        else:
            noise = bounded_noise(record)
            lows = []
            for worst in (True, False):
                batches = [bounded_batches(block, noise, worst) for block in record.pairs(arm)]
                tilts, books = _books([batches], noise)
                lows.append(_low_end(tilts, books, 0, math.log(2.0 / alpha)))
            ends = (lows[0], 1.0 - lows[1])
        size = sum(block.size for block in record.pairs(arm))
        rows.append(Interval(name, estimate, *record.limits(min(ends), max(ends)), size))
    return Intervals("anytime", level, together, tuple(rows), over)


def _answered_mean(record: Record, arm: int) -> float:
    """1/2 + S / clip(R, 1, n)."""
    blocks = record.pairs(arm)
    places = sum(block.size for block in blocks)
    answers = math.fsum(block.answers for block in blocks)
    return 0.5 + math.fsum(block.total for block in blocks) / min(max(answers, 1.0), max(1, places))


def _kind_of(record: Record, kind: str | None) -> str:
    fixed = check_kind(record.kind, record.recorded)
    if kind is None or kind == "auto" or check_kind(kind, record.recorded) == fixed:
        return fixed
    if record.kind != "auto":
        raise InvalidArgument(
            "kind", f"be {record.kind!r}, which was fixed when the trial was created", kind,
            "leave it out: an interval that is chosen after the data holds for none",
        )  # fmt: skip
    return kind


def books_of(record: Record) -> tuple[Tilts, Any]:
    """The evidence of all arms."""
    if record.recorded.kind == AGAIN:
        raise InvalidArgument(
            "source", "release sums of disjoint batches for evidence that may be watched",
            "reads that share their rewards (a tree)",
            "take intervals or differences, which hold at planned looks",
        )  # fmt: skip
    return _books([record.batches(arm) for arm in range(len(record.arms))], record.recorded.noise)


def _books(batches: list[list[Batch]], noise: Noise) -> tuple[Tilts, Any]:
    tilts = tilts_for(noise, interpreted=True)
    books = fresh_books(len(batches), tilts.effects, tilts.classes)
    notes = SimpleNamespace(**{name: array.tolist() for name, array in books.items()})
    for arm, own in enumerate(batches):
        for batch in own:
            number = class_of(tilts, batch.planned or max(1, batch.size // batch.draws))
            times = float(batch.size if noise.each else batch.draws)
            enter_as(tilts, notes, arm, number, batch.size, batch.total, times)
    return tilts, notes


def _anytime(record: Record, alpha: float) -> list[tuple[float, float]]:
    tilts, books = books_of(record)
    level = math.log(2.0 / alpha)
    found = []
    for arm in range(len(record.arms)):
        if books.size[arm] == 0:
            found.append((0.0, 1.0))
            continue
        low = _low_end(tilts, books, arm, level)
        high = _low_end(tilts, books, arm, level, upwards=False)
        # evidence both ways at once (drift, say) leaves no u: show the range that it speaks against
        found.append((min(low, high), max(low, high)))
    return found


def _low_end(tilts: Tilts, books: Any, arm: int, level: float, upwards: bool = True) -> float:
    """U falls and D grows with u: what is refused is an end of [0, 1], the lower one (or upper)."""
    outer = 0.0 if upwards else 1.0
    if books.size[arm] == 0:
        return outer
    centre = min(max(books.total[arm] / books.size[arm], 0.0), 1.0)
    log = single_log(tilts, books, arm, upwards)
    return _bisect(lambda u: log(u) < level, outer, centre)


def single_log(tilts: Tilts, books: Any, arm: int, upwards: bool) -> Callable[[float], float]:
    """u -> log U(u), or log D(u): `identify.evidence.log_single`, all effects at once."""
    import numpy as np

    effects, at = tilts.effects, arm * tilts.classes
    places = range(at, at + books.used[arm])
    growth = tilts.rise if upwards else tilts.fall
    grown = np.array([growth[(n := books.which[p]) * effects : (n + 1) * effects] for p in places])
    weight = np.array([books.weight[p] for p in places])
    fixed = (books.up if upwards else books.down)[arm * effects : (arm + 1) * effects]
    base = np.array(fixed) + np.log(tilts.single)

    def log(u: float) -> float:
        logs = base - weight @ np.log1p(u * grown)
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    return log


def _bisect(inside: Any, outer: float, inner: float) -> float:
    """The end of a set that reaches from `inner` towards `outer`, from outside."""
    if inside(outer):
        return outer
    if not inside(inner):
        inner = 1.0 - outer  # far from the estimate: the set lies wholly on the other side
        if not inside(inner):
            return inner
    for _ in range(HALVINGS):
        middle = 0.5 * (outer + inner)
        if inside(middle):
            inner = middle
        else:
            outer = middle
    return outer


def _planned(record: Record, alpha: float, kind: str) -> list[tuple[float, float]]:
    looks = 1 if kind == "end" else record.recorded.looks
    assert looks is not None
    share = alpha / looks
    found = []
    for arm in range(len(record.arms)):
        size, total, draws = record.sums(arm)
        if size == 0:
            found.append((0.0, 1.0))
            continue
        noise, slack = record.noise(arm), 2.0 * draws * record.recorded.step
        limits = None
        if record.binary and not noise.each:
            limits = exact_limits(size, total, noise, draws, share, slack)
        if limits is None:
            limits = chernoff_limits(size, total, noise, draws, share)
        found.append(limits)
    return found


def differences(
    source: Any,
    level: float = LEVEL,
    *,
    against: Any = None,
    together: bool = True,
    run: int = 0,
) -> Intervals:
    """Intervals for the difference of every arm and one other, at any time.

    `against` is the control, by name; without it the arm with the highest estimate. All hold at
    once unless told: comparing with the best after looking takes that. Where missing outcomes are
    estimated, of the means of those who answer. Of a trial in epochs (`trend=True`), within them.
    Of trees, whose reads share their rewards, at planned looks.
    """
    epochs = epochs_of(source)
    if epochs is not None:
        return _within_epochs(epochs, level, against, together)
    record = record_of(source, run)
    if record.recorded.kind == AGAIN:
        return _apart(record, level, against, together)
    count = len(record.arms)
    alpha = _each(1.0 - check_level(level), count, against, together)
    compared = _compared(record)
    means, sizes = compared.means, compared.sizes
    other = place_of(record, against) if against is not None else means.index(max(means))
    level_log = math.log(2.0 / alpha)
    rows = []
    for arm in range(count):
        if arm == other:
            continue
        ends, estimate = (-1.0, 1.0), None
        if sizes[arm] and sizes[other]:
            ends = (
                compared.least_gap(arm, other, level_log),
                -compared.least_gap(other, arm, level_log),
            )
            estimate = record.gap(means[arm] - means[other])
        rows.append(
            Interval(
                record.arms[arm],
                estimate,
                *record.gaps(*ends),
                sizes[arm] + sizes[other],
                record.arms[other],
            )
        )
    return Intervals("anytime", level, together, tuple(rows), record.estimand)


def _each(alpha: float, arms: int, against: Any, together: bool) -> float:
    """α of one difference: any two arms may be the ones that are compared, unless the control is
    named beforehand."""
    if not together:
        return alpha
    return alpha / (arms - 1 if against is not None else arms * (arms - 1) / 2.0)


def _apart(record: Record, level: float, against: Any, together: bool) -> Intervals:
    """Differences from the intervals of both arms, each at half of α; or of all, each at α/K: where
    these hold, so does every difference."""
    count, alpha = len(record.arms), 1.0 - check_level(level)
    known = dict(enumerate(intervals(record, 1.0 - alpha / (count if together else 2))))
    if against is not None:
        other = place_of(record, against)
    else:
        other = max(known, key=lambda a: -math.inf if (m := known[a].estimate) is None else m)
    base, rows = known.pop(other), []
    for one in known.values():
        apart = None
        if one.estimate is not None and base.estimate is not None:
            apart = one.estimate - base.estimate
        low, high, size = one.low - base.high, one.high - base.low, one.size + base.size
        rows.append(Interval(one.arm, apart, low, high, size, base.arm))
    kind = check_kind(record.kind, record.recorded)
    return Intervals(kind, level, together, tuple(rows), record.estimand)


def _within_epochs(record: EpochRecord, level: float, against: Any, together: bool) -> Intervals:
    """Differences that a shared trend cannot bend; without a control, to the arm whose smallest
    difference to any other is largest."""
    arms, width = range(len(record.arms)), record.width
    alpha = _each(1.0 - check_level(level), len(arms), against, together)
    if against is not None:
        other = place_of(record, against)
    else:
        ahead = {arm: [Within(record, arm, c).estimate for c in arms if c != arm] for arm in arms}
        least = [min((x for x in ahead[arm] if x is not None), default=-math.inf) for arm in arms]
        other = least.index(max(least))
    rows = []
    for arm in arms:
        if arm == other:
            continue
        pair = Within(record, arm, other)
        estimate = None if pair.estimate is None else width * pair.estimate
        low, high = (width * end for end in limits_within(record, arm, other, alpha))
        rows.append(Interval(record.arms[arm], estimate, low, high, pair.size, record.arms[other]))
    return Intervals("anytime", level, together, tuple(rows), "within")


class Compared(NamedTuple):
    """What comparisons of two arms are made of, whatever was released."""

    means: list[float]
    """as they are released; -inf where there is none"""
    sizes: list[int]
    least_gap: Callable[[int, int, float], float]
    """the largest d up to which μ_a - μ_c <= d is refused at a level"""
    least_log: Callable[[int, int, float], float]
    """min_u log E_{a,c}(u; d)"""


def _compared(record: Record) -> Compared:
    arms = range(len(record.arms))
    if record.recorded.kind == PAIR:
        sizes = [sum(block.size for block in record.pairs(arm)) for arm in arms]
        return Compared(
            [_answered_mean(record, arm) if sizes[arm] else -math.inf for arm in arms], sizes,
            lambda a, c, level: PairOfArms(record, a, c).least_gap(level),
            lambda a, c, d: PairOfArms(record, a, c).least(d, d),
        )  # fmt: skip
    tilts, books = books_of(record)

    def least_log(better: int, worse: int, d: float) -> float:
        start = min(max(books.total[worse] / books.size[worse], 0.0), 1.0)
        return least_pair(tilts, books, better, worse, d, start, -math.inf)

    return Compared(
        [books.total[a] / books.size[a] if books.size[a] else -math.inf for a in arms],
        books.size,
        lambda a, c, level: _least_gap(tilts, books, a, c, level),
        least_log,
    )


def place_of(record: Record | EpochRecord, arm: Any) -> int:
    """The number of an arm."""
    if arm not in record.arms:
        raise InvalidArgument("arm", "be one of the arms", arm, f"use one of {list(record.arms)}")
    return record.arms.index(arm)


def _least_gap(tilts: Tilts, books: Any, better: int, worse: int, level: float) -> float:
    """The largest d that the evidence refuses: min_u E_{a,c}(u; d) falls with d."""
    start = min(max(books.total[worse] / books.size[worse], 0.0), 1.0)

    def refused(d: float) -> bool:
        return least_pair(tilts, books, better, worse, d, start, level) >= level

    low, high = -1.0, 1.0
    if not refused(low):
        return low
    for _ in range(HALVINGS // 2 + 5):
        middle = 0.5 * (low + high)
        if refused(middle):
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Evidence:
    """How strongly the releases speak for "arm is better than against", whenever it is looked at.

    `value` is an e-value: its mean is at most 1 if that is not so. `p_value` is 1 over it, and is
    ever below α with probability at most α (Ville): the smallest one that was seen may be quoted.
    """

    arm: Any
    against: Any
    value: float
    p_value: float


def evidence(source: Any, arm: Any, against: Any, *, margin: float = 0.0, run: int = 0) -> Evidence:
    """The evidence that an arm beats another by more than `margin`, to be watched at any time."""
    epochs = epochs_of(source)
    if epochs is not None:
        return _evidence_within(epochs, arm, against, margin)
    record = record_of(source, run)
    shift = min(max(record.shift(margin), -1.0), 1.0)
    better, worse = _two_arms(record, arm, against)
    compared = _compared(record)
    if not (compared.sizes[better] and compared.sizes[worse]):
        return Evidence(arm, against, 1.0, 1.0)
    return _worth(arm, against, compared.least_log(better, worse, shift))


def _evidence_within(record: EpochRecord, arm: Any, against: Any, margin: float) -> Evidence:
    better, worse = _two_arms(record, arm, against)
    shift = min(max(margin / record.width, -1.0), 1.0)
    return _worth(arm, against, Within(record, better, worse).log(shift))


def _two_arms(record: Record | EpochRecord, arm: Any, against: Any) -> tuple[int, int]:
    better, worse = place_of(record, arm), place_of(record, against)
    if better == worse:
        raise InvalidArgument("against", "be another arm", against, "name the control")
    return better, worse


def _worth(arm: Any, against: Any, log: float) -> Evidence:
    value = math.exp(min(log, 700.0))
    return Evidence(arm, against, value, min(1.0, math.exp(-log)) if log < 700.0 else 0.0)
