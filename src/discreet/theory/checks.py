"""Argument checks of the bounds: each returns the clean value or raises InvalidArgument."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

from ..errors import InvalidArgument
from ..policies.entries import LEAST
from ..privacy._checks import count, number

MOST_ROUNDS = 10**100
"""Beyond it, T² would be more than a float can hold."""


def positive(argument: str, value: object, *, infinite: bool = False) -> float:
    """A number above 0; infinite only where it means "no privacy"."""
    fix = f"use for example {argument}=1.0"
    clean = number(argument, value, fix=fix, zero=False, infinite=infinite)
    if clean < LEAST:
        raise InvalidArgument(argument, f"be at least {LEAST:g}", value, fix)
    return clean


def horizon_of(value: object, arms: int = 1) -> int:
    """A whole number of rounds, floats like 1e6 included, one for every arm at least."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        value = int(value)
    rounds = count("horizon", value, fix="for example horizon=1e6", least=max(2, arms))
    if rounds > MOST_ROUNDS:
        raise InvalidArgument("horizon", "be at most 1e100", value, "for example horizon=1e6")
    return rounds


def means_of(means: object, low: float = 0.0, high: float = 1.0) -> tuple[float, ...]:
    """At least two means in a range."""
    if isinstance(means, str) or not hasattr(means, "__iter__"):
        raise InvalidArgument("means", "be a list of numbers", means, "use means=[0.7, 0.5]")
    values = tuple(means)
    if len(values) < 2:
        raise InvalidArgument("means", "hold at least two arms", list(values), "add an arm")
    rule = f"lie in [{low:g}, {high:g}]" if math.isfinite(high) else "be finite numbers"
    clean = []
    for value in values:
        given = _real(value)
        if not math.isfinite(given) or not low <= given <= high:
            raise InvalidArgument("means", rule, value, "use for example means=[0.7, 0.5]")
        clean.append(given)
    return tuple(clean)


def one_best(means: Sequence[float]) -> tuple[int, tuple[float, ...]]:
    """The place of the only best arm, and all gaps."""
    best = max(means)
    gaps = tuple(best - mean for mean in means)
    if gaps.count(0.0) > 1:
        raise InvalidArgument(
            "means", "have one best arm", list(means), "no number of samples can tell equals apart"
        )
    return gaps.index(0.0), gaps


def share(argument: str, value: object, *, below: float = 1.0) -> float:
    """A number strictly between 0 and `below`."""
    clean = _real(value)
    if not 0.0 < clean < below:
        text = "1/3" if below == 1.0 / 3.0 else f"{below:g}"
        raise InvalidArgument(argument, f"lie strictly between 0 and {text}", value, "use 0.05")
    return clean


def _real(value: object) -> float:
    """The number; NaN for anything else, True and False included."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    return float(value)
