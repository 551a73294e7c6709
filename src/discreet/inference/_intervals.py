"""Intervals that hold, from what was released and nothing else.

    anytime  {u : U(u) < 2/α and D(u) < 2/α}: all releases at once, any sampling, any sizes
    looks    exact tails at α/P, or Chernoff's J where outcomes are not binary: batch sizes that are
             fixed in advance, P of them an arm at which a look is taken; holds at every look
    end      the same with P = 1: one look, shares that no outcome changes

α = 1 - level is the probability that one arm's interval ever misses its mean; `together=True` takes
α/K, so that all of them hold at once. Proof: `discreet.identify._evidence`. Differences of two
arms:
`comparisons`.

The kind is chosen before the data: a second interval after the first was seen holds for neither.
So are the looks that are taken and the batches that each is built from (`Recording.first`,
`kept_from`): by sizes, noise and horizon, never by what was released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .._checks import Name
from .._notebooks import card, table
from ..errors import InvalidArgument
from ..identify._evidence import (
    Books,
    Tilts,
    class_of,
    enter_as,
    fresh_books,
    tilts_for,
)
from ..policies.releases._entries import AGAIN, PAIR, Noise
from ._missing import bounded_batches, bounded_noise, responder_limits
from ._record import Batch, Record, check_kind, record_of
from ._tails import HALVINGS, chernoff_limits, exact_limits

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

LEVEL = 0.95
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
    """An interval for one arm, or for the difference of two, on the scale of the outcomes.

    Example:
        >>> from discreet.inference import Interval
        >>> found = Interval("drug", estimate=0.4, low=0.1, high=0.7, size=60, against="placebo")
        >>> print(found)
        drug - placebo: 0.4 in [0.1, 0.7]
        >>> 0.0 in found, round(found.width, 1)
        (False, 0.6)
    """

    arm: Name | None
    """None for features without a name (`Ellipsoid.interval`)"""
    estimate: float | None
    low: float
    high: float
    size: int
    """outcomes behind it"""
    against: Name | None = None
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
    """Intervals of one kind and level, in the order of the arms; of `intervals` or `differences`.

    Example:
        >>> import discreet
        >>> from discreet.inference import intervals
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> found = intervals(discreet.Rehearsal(policy, ["A", "B"], horizon=120, seed=1))
        >>> print(found.of("B"))  # before the first release
        B: - in [0, 1]
    """

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

    def of(self, arm: Name) -> Interval:
        """The interval of an arm by name."""
        for row in self.rows:
            if row.arm == arm:
                return row
        raise InvalidArgument(
            "arm", "be one of the arms", arm, f"use one of {[row.arm for row in self.rows]}"
        )

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return asdict(self) | {"rows": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        held = "all at once" if self.together else "each"
        about = ABOUT.get(self.estimand, "")
        head = f"{100.0 * self.level:g} % intervals{about}, {self.kind}, {held}"
        return "\n".join([head, *map(str, self.rows)])

    def _repr_html_(self) -> str:
        """For notebooks."""
        head, *_ = str(self).splitlines()
        lines = [
            (
                f"{row.arm}" if row.against is None else f"{row.arm} - {row.against}",
                row.estimate, float(row.low), float(row.high), f"{row.size:,}",
            )
            for row in self.rows
        ]  # fmt: skip
        return card(head, {}, table(["arm", "estimate", "low", "high", "outcomes"], lines))

    def plot(self, path: str | Path | None = None) -> Figure:
        """Estimates with their intervals; saved if a path is given."""
        from ._pictures import plot_intervals

        return plot_intervals(self, path)


def check_level(level: float) -> float:
    """A probability strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise InvalidArgument("level", "lie in (0, 1)", level, "use for example level=0.95")
    return float(level)


def intervals(
    source: object,
    level: float = LEVEL,
    kind: str | None = None,
    *,
    together: bool = False,
    over: str = "responders",
    run: int = 0,
) -> Intervals:
    """An interval for the mean outcome of every arm, from what a trial has released.

    A function of releases, so it costs no privacy.

    Args:
        source: A trial, a rehearsal, a report, a `Record`, or a result of `simulate` or `identify`,
            of which one run is played again.
        level: The probability with which an interval holds.
        kind: The kind that the trial was created with; it cannot be changed after a look.
        together: Whether the level is for all arms at once, and not for each.
        over: Where missing outcomes are estimated: "responders" for the mean of those who answer,
            "all" for that of all, whatever the missing ones were.
        run: Which run of a result, from 0.

    Returns:
        The intervals, one for each arm.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the releases do not speak of means.

    Example:
        >>> import discreet
        >>> from discreet.inference import intervals
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> rehearsal = discreet.Rehearsal(policy, ["drug", "placebo"], horizon=120, seed=1)
        >>> for _ in range(120):
        ...     arm = rehearsal.select()
        ...     rehearsal.update(arm, 1.0 if arm == "drug" else 0.0)
        >>> print(intervals(rehearsal, together=True))
        95 % intervals, looks, all at once
        drug: 1.007 in [0.837, 1]
        placebo: - in [0, 1]
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
        size, total, _ = record.sums(arm) if kind == "anytime" else record.look(arm)
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
                estimate = record.estimate(answered_mean(record, arm))
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


def answered_mean(record: Record, arm: int) -> float:
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


def books_of(record: Record) -> tuple[Tilts, Books]:
    """The evidence of all arms."""
    if record.recorded.kind == AGAIN:
        raise InvalidArgument(
            "source", "release sums of disjoint batches for evidence that may be watched",
            "reads that share their rewards (a tree)",
            "take intervals or differences, which hold at planned looks",
        )  # fmt: skip
    return _books([record.batches(arm) for arm in range(len(record.arms))], record.recorded.noise)


def _books(batches: list[list[Batch]], noise: Noise) -> tuple[Tilts, Books]:
    tilts = tilts_for(noise, interpreted=True)
    books = fresh_books(len(batches), tilts.effects, tilts.classes, interpreted=True)
    for arm, own in enumerate(batches):
        for batch in own:
            number = class_of(tilts, batch.planned or max(1, batch.size // batch.draws))
            times = float(batch.size if noise.each else batch.draws)
            enter_as(tilts, books, arm, number, batch.size, batch.total, times)
    return tilts, books


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


def _low_end(tilts: Tilts, books: Books, arm: int, level: float, upwards: bool = True) -> float:
    """U falls and D grows with u: what is refused is an end of [0, 1], the lower one (or upper)."""
    outer = 0.0 if upwards else 1.0
    if books.size[arm] == 0:
        return outer
    centre = min(max(books.total[arm] / books.size[arm], 0.0), 1.0)
    log = single_log(tilts, books, arm, upwards)
    return _bisect(lambda u: log(u) < level, outer, centre)


def single_log(tilts: Tilts, books: Books, arm: int, upwards: bool) -> Callable[[float], float]:
    """u -> log U(u), or log D(u): `identify.evidence.log_single`, all effects at once."""
    import numpy as np

    effects, at = tilts.effects, arm * tilts.classes
    places = range(at, at + books.used[arm])
    growth = tilts.rise if upwards else tilts.fall
    grown = np.array([growth[(n := books.which[p]) * effects : (n + 1) * effects] for p in places])
    weight = np.array([books.weight[p] for p in places])
    fixed = list(books.up if upwards else books.down)[arm * effects : (arm + 1) * effects]
    base = np.array(fixed) + np.log(tilts.single)

    def log(u: float) -> float:
        logs = base - weight @ np.log1p(u * grown)
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    return log


def _bisect(inside: Callable[[float], bool], outer: float, inner: float) -> float:
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
    looks = 1 if kind == "end" else record.recorded.counted
    assert looks is not None
    share = alpha / looks
    found = []
    for arm in range(len(record.arms)):
        size, total, draws = record.look(arm)
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
