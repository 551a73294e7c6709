"""Lengths of time. From a file or a shell they carry their unit: 28 may be seconds, or days.

>>> seconds("deadline", "28 days"), seconds("deadline", "PT30M"), seconds("deadline", "1 h 30 min")
(2419200.0, 1800.0, 5400.0)
>>> in_words(2_419_200.0), in_words(5_400.0)
('28 days', '1 hour 30 minutes')
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Any

from ._checks import positive, real
from .errors import InvalidArgument

DAY = 86_400.0
WORDS = {"week": 7.0 * DAY, "day": DAY, "hour": 3600.0, "minute": 60.0, "second": 1.0}
SHORT = {"w": "week", "d": "day", "h": "hour", "hr": "hour", "min": "minute", "s": "second",
         "sec": "second"}  # fmt: skip
"""No "m": it may be a month."""
NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
PART = re.compile(rf"{NUMBER}\s*([a-z]+)[\s,]*")
BARE = re.compile(NUMBER)
ISO = re.compile(
    rf"P(?:{NUMBER}W)?(?:{NUMBER}D)?(?:T(?=[\d.])(?:{NUMBER}H)?(?:{NUMBER}M)?(?:{NUMBER}S)?)?"
)
"""ISO 8601, but for months and years, which have no fixed length."""


def seconds(argument: str, value: object) -> float:
    """A length of time with its unit, above 0, in seconds."""
    found: float | None = None
    if isinstance(value, timedelta):
        found = value.total_seconds()
    elif _is_bare(value):
        raise InvalidArgument(
            argument, "carry its unit", value,
            f'use {argument}="{value} days" or {argument}="{value} s"',
        )  # fmt: skip
    elif isinstance(value, str):
        found = _read(value.strip())
    if found is None:
        raise InvalidArgument(
            argument, "be a length of time with its unit", value,
            f'use for example {argument}="28 days", "30 min", "12 h" or "P28D"',
        )  # fmt: skip
    return positive(argument, found, f'use for example {argument}="28 days"')


def days(argument: str, value: object) -> Any:
    """The same in days, the unit of a bare number where there may be one; whatever else it may be
    is left to be checked."""
    return seconds(argument, value) / DAY if isinstance(value, str | timedelta) else value


def _is_bare(value: object) -> bool:
    """Whether it is a number, and nothing else."""
    if not isinstance(value, str):
        return not math.isnan(real(value))
    return BARE.fullmatch(value.strip()) is not None


def _read(text: str) -> float | None:
    """Seconds, or None for what is no length of time."""
    found = ISO.fullmatch(text)
    if found is not None and any(found.groups()):
        sizes = zip(found.groups(), WORDS.values(), strict=True)
        return sum(float(number) * size for number, size in sizes if number)
    total, end = 0.0, 0
    for part in PART.finditer(text.lower()):
        number, unit = part.groups()
        size = WORDS.get(SHORT.get(unit, unit.removesuffix("s")))
        if size is None or part.start() != end:
            return None
        total, end = total + float(number) * size, part.end()
    return total if end == len(text) > 0 else None


def in_words(length: float) -> str:
    """A number of seconds, as people say it: exact to the millisecond, two units where they do."""
    words, left = [], round(length, 3)
    for unit, size in WORDS.items():
        whole = left // size if unit != "second" else left
        if unit == "week" or not whole:
            continue
        left = round(left - whole * size, 3)
        words.append(f"{whole:g} {unit}" if whole == 1 else f"{whole:g} {unit}s")
    return " ".join(words) or f"{length:g} seconds"
