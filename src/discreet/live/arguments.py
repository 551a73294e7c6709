"""Where `live` imports its checks from."""

from ..checks import (
    Name,
    Unshown,
    check_arms,
    check_horizon,
    check_range,
    check_unit,
    number_of,
)
from ..checks import count as _count
from ..checks import number as _number

__all__ = [
    "Name", "Unshown", "check_arms", "check_count", "check_horizon", "check_number", "check_range",
    "check_unit", "number_of",
]  # fmt: skip


def check_number(argument: str, value: object, rule: str, least: float, fix: str) -> float:
    """A finite number above `least`."""
    return _number(argument, value, low=least, strict=True, fix=fix)


def check_count(argument: str, value: object, fix: str) -> int:
    """A whole number from 1."""
    return _count(argument, value, fix=fix)
