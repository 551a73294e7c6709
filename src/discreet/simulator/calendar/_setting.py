"""What a trial on a calendar is like: arrivals, answers, what is missing, drift.

>>> calendar(2, arrivals=12, delay=14, missing=0.1).answered
(0.9, 0.9)
>>> calendar(2, arrivals=12, delay=Delay(14, "exponential", mean=5)).answered[0] > 0.93
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from ..._checks import amount, check_flag, count, number, numbers, one_of, positive
from ..._durations import days
from ...errors import InvalidArgument

Duration = Any
"""A length of time with its unit, or a number of days; numbers of days once it is checked."""
ENVIRONMENTS = ("fixed", "uniform", "exponential")
DRIFTS = ("none", "linear", "season")
ESTIMATE = "estimate"
YEAR = 365.0
"""Days."""


@dataclass(frozen=True)
class Delay:
    """When answers come: by the `deadline` after the assignment, or they do not count.

    `law`: "fixed" (every answer after `mean`; default: the deadline), "uniform" (from 0 to twice
    the mean; default: to the deadline) or "exponential" (with this mean). Both are lengths of time,
    such as "14 days", or numbers of days: the clock of a calendar.
    """

    deadline: Duration
    law: str = "fixed"
    mean: Duration | None = None

    def __post_init__(self) -> None:
        deadline = amount(
            "deadline", days("deadline", self.deadline), infinite=False, fix='use delay="14 days"'
        )
        one_of("environment", self.law, *ENVIRONMENTS)
        if self.mean is None and self.law == "exponential":
            raise InvalidArgument("mean", "be given for exponential delays", None, "use mean=5")
        usual = deadline if self.law == "fixed" else 0.5 * deadline
        mean = usual
        if self.mean is not None:
            mean = amount("mean", days("mean", self.mean), fix='use mean="5 days"')
        if not math.isfinite(mean):
            raise InvalidArgument("mean", "be finite", mean, "use mean=5")
        object.__setattr__(self, "deadline", deadline)
        object.__setattr__(self, "mean", mean)

    @property
    def in_time(self) -> float:
        """P(an answer comes by the deadline)."""
        deadline, mean = float(self.deadline), float(self.mean or 0.0)
        if self.law == "fixed" or mean == 0.0:
            return 1.0 if mean <= deadline else 0.0
        if self.law == "uniform":
            return min(1.0, deadline / (2.0 * mean))
        return -math.expm1(-deadline / mean)


@dataclass(frozen=True)
class Drift:
    """How the rates of all arms move together: "linear", by `size` from the first day to the last,
    which is that of the horizon; "season", size · sin(2π t / period), days t. Rates stay in [0, 1],
    other rewards within the bounds that they have."""

    kind: str
    size: float
    period: Duration = YEAR

    def __post_init__(self) -> None:
        one_of("kind", self.kind, *DRIFTS)
        size = number("size", self.size, low=-1.0, high=1.0, fix="use for example size=0.1")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "period", positive("period", days("period", self.period)))

    def moved(self, rate: float, day: float, length: float) -> float:
        """A rate on a day of a trial that lasts about `length` days."""
        return min(max(rate + self.shift(day, length), 0.0), 1.0)

    def shift(self, day: float, length: float) -> float:
        """By how much all rates have moved."""
        if self.kind == "linear":
            return self.size * min(day / length, 1.0)
        return self.size * math.sin(2.0 * math.pi * day / float(self.period))


@dataclass(frozen=True)
class Calendar:
    """A checked calendar, one entry of `missing` per arm.

    `default` is what a missing outcome counts as; None: means are estimated from those who
    answered, and the number of answers is released beside their sum.
    """

    arrivals: float
    delay: Delay
    missing: tuple[float, ...]
    default: float | None
    drift: Drift | None
    window: int
    share: tuple[float, ...] = ()
    """the least share of every arm, in every window or epoch"""
    trend: bool = False
    """whether arms are compared within epochs alone; a window is then the largest epoch, 1 for a
    deadline's arrivals"""

    @property
    def answered(self) -> tuple[float, ...]:
        """P(an outcome counts), per arm."""
        return tuple((1.0 - missing) * self.delay.in_time for missing in self.missing)

    @property
    def counts(self) -> float | None:
        """What a missing outcome counts as; None if means are estimated. A trial in epochs counts
        it as declared, and as 0 if nothing is."""
        return 0.0 if self.default is None and self.trend else self.default

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        drift = self.drift
        return {
            "arrivals": self.arrivals,
            "deadline": self.delay.deadline,
            "delay": self.delay.law,
            "mean_delay": self.delay.mean,
            "missing": list(self.missing),
            "default": ESTIMATE if self.default is None else self.default,
            "drift": None if drift is None else drift.kind,
            "drift_size": None if drift is None else drift.size,
            "drift_period": None if drift is None else drift.period,
            "window": self.window,
            "share": list(self.share),
            "trend": self.trend,
        }


def calendar_from_dict(data: Mapping[str, Any]) -> Calendar:
    """The inverse of `Calendar.to_dict`."""
    drift = data["drift"]
    return Calendar(
        data["arrivals"], Delay(data["deadline"], data["delay"], data["mean_delay"]),
        tuple(data["missing"]), None if data["default"] == ESTIMATE else data["default"],
        None if drift is None else Drift(drift, data["drift_size"], data["drift_period"]),
        data["window"], tuple(data["share"]), data["trend"],
    )  # fmt: skip


class Late(TypedDict, total=False):
    """How outcomes come late: the arguments of `calendar` beside the arrivals."""

    delay: Duration | Delay
    missing: float | Sequence[float]
    default: float | str
    drift: Drift | None
    window: int
    share: float | Sequence[float]
    trend: bool


def calendar(
    arms: int,
    *,
    arrivals: object,
    delay: object = 0.0,
    missing: float | Sequence[float] = 0.0,
    default: object = ESTIMATE,
    drift: Drift | None = None,
    window: object = 1,
    share: float | Sequence[float] = 0.0,
    trend: bool = False,
) -> Calendar:
    """Check everything; a length of time for `delay` is a deadline that all answers keep."""
    rate = positive("arrivals", arrivals, "say how many participants come a day")
    late = delay
    if not isinstance(late, Delay):
        late = Delay(number("delay", days("delay", delay), fix='use delay="14 days"'))
    fix = "say which share never answers: one number, or one per arm"
    shares = _shares("missing", missing, arms, fix)
    if max(shares) >= 1.0:
        raise InvalidArgument("missing", "be below 1", max(shares), fix)
    fix = "say which share every arm has at least: one number, or one per arm"
    least = _shares("share", share, arms, fix)
    if sum(least) > 1.0 + 1e-12:
        raise InvalidArgument("share", "sum to at most 1", sum(least), fix)
    if late.in_time == 0.0:
        raise InvalidArgument(
            "delay", "let answers come by the deadline", late, "shorten the mean delay"
        )
    counted = None
    if default != ESTIMATE:
        fix = 'use default="estimate", or what a missing outcome counts as, such as default=0'
        counted = number("default", default, low=0.0, high=1.0, fix=fix)
    if drift is not None and not isinstance(drift, Drift):
        raise InvalidArgument("drift", "be a Drift", drift, 'use Drift("linear", 0.1)')
    return Calendar(
        rate, late, shares, counted, None if drift is None or drift.kind == "none" else drift,
        count("window", window, fix="use window=1", most=10**6), least, check_flag("trend", trend),
    )  # fmt: skip


def _shares(
    argument: str, given: float | Sequence[float], arms: int, fix: str
) -> tuple[float, ...]:
    """One share per arm; a single one is that of all."""
    shares = numbers(argument, given, low=0.0, high=1.0, fix=fix)
    if len(shares) not in (1, arms):
        raise InvalidArgument(argument, f"have 1 or {arms} entries", list(shares), fix)
    return shares * (arms // len(shares))
