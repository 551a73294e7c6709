"""Checks of what callers pass in: each returns the clean value or raises InvalidArgument."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

from ..errors import InvalidArgument
from .rules import Name

LONGEST = 1 << 128
"""Whole numbers that serve as names stay below it: enough for a UUID."""


def check_arms(arms: int | Sequence[Name]) -> tuple[Name, ...]:
    """The names of the arms; a number stands for 0, 1, 2, ..."""
    fix = 'use arms=3, or names such as ["A", "B"]'
    if isinstance(arms, bool | str) or not isinstance(arms, Integral | Sequence):
        raise InvalidArgument("arms", "be a number or a list of names", arms, fix)
    names = tuple(range(int(arms))) if isinstance(arms, Integral) else tuple(arms)
    if len(names) < 2:
        raise InvalidArgument("arms", "be at least 2", arms, "a choice needs two arms")
    for name in names:
        if type(name) not in (str, int):
            raise InvalidArgument("arms", "be named by strings or whole numbers", name, fix)
    if len(set(names)) < len(names):
        raise InvalidArgument("arms", "have distinct names", list(names), fix)
    return names


def check_horizon(horizon: object) -> int | None:
    """A whole number of rounds, floats like 1e6 included; None for no end."""
    if horizon is None:
        return None
    fix = "use for example horizon=10_000, or None for no end"
    if isinstance(horizon, bool) or not isinstance(horizon, Real):
        raise InvalidArgument("horizon", "be a whole number", horizon, fix)
    rounds = float(horizon)
    if not math.isfinite(rounds) or rounds != int(rounds) or rounds < 1.0:
        raise InvalidArgument("horizon", "be a whole number from 1", horizon, fix)
    return int(rounds)


def check_unit(unit: object) -> Name:
    """An identifier: 1 and "1" are different participants."""
    kind = type(unit)
    if kind is str or (kind is int and -LONGEST < unit < LONGEST):  # type: ignore[operator]
        return unit  # type: ignore[return-value]
    if kind is bool or not isinstance(unit, Integral) or abs(int(unit)) >= LONGEST:
        raise InvalidArgument(
            "unit", "be a string or a whole number", unit, 'use an identifier such as "patient-17"'
        )
    return int(unit)


def check_range(outcome_range: Sequence[float]) -> tuple[float, float]:
    """Two finite numbers, the lower first."""
    fix = "use for example outcome_range=(0, 1)"
    rule = "be two finite numbers, the lower first"
    try:
        low, high = (float(bound) for bound in outcome_range)
    except (TypeError, ValueError):
        raise InvalidArgument("outcome_range", rule, outcome_range, fix) from None
    if not low < high or not math.isfinite(high - low):
        raise InvalidArgument("outcome_range", rule, outcome_range, fix)
    return low, high


def check_number(argument: str, value: object, rule: str, least: float, fix: str) -> float:
    """A finite number above `least`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidArgument(argument, rule, value, fix)
    clean = float(value)
    if not math.isfinite(clean) or not clean > least:
        raise InvalidArgument(argument, rule, value, fix)
    return clean


def check_count(argument: str, value: object, fix: str) -> int:
    """A whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise InvalidArgument(argument, "be a whole number from 1", value, fix)
    return int(value)


def check_clock(clock: Callable[[], float]) -> Callable[[], float]:
    """A function that tells the time, now and later."""
    if not callable(clock):
        raise InvalidArgument("clock", "be a function without arguments", clock, "use time.time")
    read_clock(clock)
    return clock


def read_clock(clock: Callable[[], float]) -> float:
    """The time in seconds."""
    now: object = clock()
    if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
        raise InvalidArgument("clock", "return a finite number", now, "use time.time")
    return float(now)


class Unshown:
    """Stands in error messages for an outcome, which is private even if it is wrong."""

    def __init__(self, kind: str, what: str = "outcomes") -> None:
        self.kind, self.what = kind, what

    def __repr__(self) -> str:
        return f"a {self.kind} (not shown: {self.what} are private)"


def number_of(outcome: Any) -> float | None:
    """An outcome as a float, NaN included; None if it is no real number."""
    if type(outcome) is float:
        return outcome
    if not isinstance(outcome, Real):
        if hasattr(outcome, "mask"):  # an array that says of itself that its value is missing
            return None
        if getattr(outcome, "shape", None) != ():  # numpy's booleans are not Real
            return None
        outcome = outcome.item()
        if not isinstance(outcome, Real):
            return None
    try:
        return float(outcome)
    except (OverflowError, ValueError):
        return math.inf
