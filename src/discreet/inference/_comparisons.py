"""Two arms compared: intervals for differences, and evidence that one is better.

Where intervals are of planned looks, a difference is that of the intervals of both arms, each at
its share of α: they are narrower than evidence where an arm has few outcomes or much noise. At any
time μ_a - μ_c has the lower end d with min_u E_{a,c}(u; d) = 2/α, its upper end by swapping. Proof:
`discreet.identify._evidence`. Of a trial in epochs (`trend=True`) arms are compared within epochs
alone: `within`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from .._checks import Name
from ..errors import InvalidArgument
from ..identify._evidence import Books, Tilts, least_pair
from ..policies.releases._entries import PAIR
from ._intervals import (
    LEVEL,
    Interval,
    Intervals,
    answered_mean,
    books_of,
    check_level,
    intervals,
)
from ._missing import PairOfArms
from ._record import Record, check_kind, record_of
from ._tails import HALVINGS, last_refused
from ._within import EpochRecord, Within, epochs_of, limits_within


def differences(
    source: object,
    level: float = LEVEL,
    *,
    against: Name | None = None,
    together: bool = True,
    run: int = 0,
) -> Intervals:
    """Intervals for the difference of every arm and one other, from what a trial has released.

    Of the kind that the trial has. Where missing outcomes are estimated, of the means of those who
    answer. Of a trial in epochs (`trend=True`), within them. Where intervals are of planned looks,
    both arms' at the same looks.

    Args:
        source: A trial, a rehearsal, a report, a `Record`, or a result of `simulate` or `identify`.
        level: The probability with which an interval holds.
        against: The control, by name. Default: the arm with the highest estimate.
        together: Whether the level is for all differences at once. Comparing with the best after
            looking takes that.
        run: Which run of a result, from 0.

    Returns:
        The intervals, one for each arm but the other one.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the releases do not speak of means.

    Example:
        >>> import discreet
        >>> from discreet.inference import Record, differences, recording
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> recorded = recording(policy, policy.setting(2, 300))
        >>> history = (((15, 0.8), (30, 0.8)), ((15, 0.2), (30, 0.2)))  # pulls, released mean
        >>> record = Record(recorded, ("drug", "placebo"), history, binary=True)
        >>> print(differences(record, against="placebo"))
        95 % intervals, looks, all at once
        drug - placebo: 0.6 in [-0.05482, 1]
    """
    epochs = epochs_of(source)
    if epochs is not None:
        return _within_epochs(epochs, level, against, together)
    record = record_of(source, run)
    if check_kind(record.kind, record.recorded) != "anytime":
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


def _each(alpha: float, arms: int, against: Name | None, together: bool) -> float:
    """α of one difference: any two arms may be the ones that are compared, unless the control is
    named in advance."""
    if not together:
        return alpha
    return alpha / (arms - 1 if against is not None else arms * (arms - 1) / 2.0)


def _apart(record: Record, level: float, against: Name | None, together: bool) -> Intervals:
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


def _within_epochs(
    record: EpochRecord, level: float, against: Name | None, together: bool
) -> Intervals:
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
    """What comparisons of two arms are built from, whatever was released."""

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
            [answered_mean(record, arm) if sizes[arm] else -math.inf for arm in arms], sizes,
            lambda a, c, level: PairOfArms(record, a, c).least_gap(level),
            lambda a, c, d: PairOfArms(record, a, c).least(d, d),
        )  # fmt: skip
    tilts, books = books_of(record)

    def least_log(better: int, worse: int, d: float) -> float:
        start = min(max(books.total[worse] / books.size[worse], 0.0), 1.0)
        return least_pair(tilts, books, better, worse, d, start, -math.inf)

    return Compared(
        [books.total[a] / books.size[a] if books.size[a] else -math.inf for a in arms],
        list(books.size),
        lambda a, c, level: _least_gap(tilts, books, a, c, level),
        least_log,
    )


def place_of(record: Record | EpochRecord, arm: Name) -> int:
    """The number of an arm."""
    if arm not in record.arms:
        raise InvalidArgument("arm", "be one of the arms", arm, f"use one of {list(record.arms)}")
    return record.arms.index(arm)


def _least_gap(tilts: Tilts, books: Books, better: int, worse: int, level: float) -> float:
    """The largest d that the evidence refuses: min_u E_{a,c}(u; d) falls with d."""
    start = min(max(books.total[worse] / books.size[worse], 0.0), 1.0)

    def refused(d: float) -> bool:
        return least_pair(tilts, books, better, worse, d, start, level) >= level

    return last_refused(refused, -1.0, 1.0, HALVINGS // 2 + 5)


@dataclass(frozen=True)
class Evidence:
    """How strongly the releases speak for "arm is better than against", whenever it is looked at.

    `value` is an e-value: its mean is at most 1 if that is not so. `p_value` is 1 over it, and is
    ever below α with probability at most α (Ville): the smallest one that was seen may be quoted.

    Example:
        >>> import discreet
        >>> from discreet.inference import evidence
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> evidence(discreet.Rehearsal(policy, ["A", "B"], horizon=120, seed=1), "A", "B")
        Evidence(arm='A', against='B', value=1.0, p_value=1.0)
    """

    arm: Name
    against: Name
    value: float
    p_value: float


def evidence(
    source: object, arm: Name, against: Name, *, margin: float = 0.0, run: int = 0
) -> Evidence:
    """The evidence that an arm beats another by more than `margin`; it may be watched at any time.

    Args:
        source: A trial, a rehearsal, a report, a `Record`, or a result of `simulate` or `identify`.
        arm: The arm that may be better, by name.
        against: The other arm, by name.
        margin: By how much, on the scale of the outcomes.
        run: Which run of a result, from 0.

    Returns:
        An e-value and its p-value; 1 and 1 as long as nothing is known.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the releases do not speak of means.

    Example:
        >>> import discreet
        >>> from discreet.inference import Record, evidence, recording
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> recorded = recording(policy, policy.setting(2, 300))
        >>> history = (((15, 0.8), (30, 0.7)), ((15, 0.2), (30, 0.2)))  # pulls, released mean
        >>> record = Record(recorded, ("drug", "placebo"), history, binary=True)
        >>> found = evidence(record, "drug", "placebo")
        >>> round(found.value, 1), round(found.p_value, 3)
        (24.3, 0.041)
    """
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


def _evidence_within(record: EpochRecord, arm: Name, against: Name, margin: float) -> Evidence:
    better, worse = _two_arms(record, arm, against)
    shift = min(max(margin / record.width, -1.0), 1.0)
    return _worth(arm, against, Within(record, better, worse).log(shift))


def _two_arms(record: Record | EpochRecord, arm: Name, against: Name) -> tuple[int, int]:
    better, worse = place_of(record, arm), place_of(record, against)
    if better == worse:
        raise InvalidArgument("against", "be another arm", against, "name the control")
    return better, worse


def _worth(arm: Name, against: Name, log: float) -> Evidence:
    value = math.exp(min(log, 700.0))
    return Evidence(arm, against, value, min(1.0, math.exp(-log)) if log < 700.0 else 0.0)
