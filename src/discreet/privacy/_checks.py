"""Argument checks shared by this folder: each returns the clean value or raises InvalidArgument."""

from __future__ import annotations

import math
from numbers import Integral, Real

from discreet.errors import InvalidArgument


def number(
    argument: str, value: object, *, fix: str, zero: bool = True, infinite: bool = True
) -> float:
    """A real number that is positive (or zero, or infinite, where allowed); never NaN or a bool."""
    rule = "be a number " + (">= 0" if zero else "> 0") + ("" if infinite else " and finite")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidArgument(argument, rule, value, fix)
    clean = float(value)
    if math.isnan(clean) or clean < 0 or (clean == 0 and not zero):
        raise InvalidArgument(argument, rule, value, fix)
    if math.isinf(clean) and not infinite:
        raise InvalidArgument(argument, rule, value, fix)
    return clean + 0.0  # -0.0 becomes 0.0


def probability(argument: str, value: object, *, fix: str) -> float:
    """A failure probability in [0, 1)."""
    rule = "be a number in [0, 1)"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidArgument(argument, rule, value, fix)
    clean = float(value)
    if not 0 <= clean < 1:
        raise InvalidArgument(argument, rule, value, fix)
    return clean + 0.0


def count(argument: str, value: object, *, fix: str, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InvalidArgument(argument, f"be a whole number >= {least}", value, fix)
    return int(value)
