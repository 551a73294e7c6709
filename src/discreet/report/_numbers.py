"""Numbers for readers: thousands are separated, errors set the precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._types import Floats, Ints

MINUS, THIN_SPACE, NO_BREAK = "\u2212", "\u202f", "\u00a0"


@dataclass(frozen=True)
class Estimate:
    """A mean and its standard error.

    >>> print(Estimate(618.32, 13.7)), print(Estimate(-0.234, 0.02))
    618 ± 14
    −0.23 ± 0.02
    (None, None)
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float] | Floats | Ints) -> Estimate:
        """From independent values; a single one has no error to show."""
        numbers = [float(value) for value in values]
        n = len(numbers)
        if not n:
            return cls(math.nan, math.nan)
        mean = math.fsum(numbers) / n
        if n == 1:
            return cls(mean, math.nan)
        variance = math.fsum((x - mean) ** 2 for x in numbers) / (n - 1)
        return cls(mean, math.sqrt(variance / n))

    def __str__(self) -> str:
        if not math.isfinite(self.mean):
            return "–"
        if not math.isfinite(self.error) or self.error == 0.0:
            return decimal(self.mean, 0 if abs(self.mean) >= 100 else 1)
        places = max(0, 1 - math.floor(math.log10(self.error)) - (self.error < 1))
        return f"{decimal(self.mean, places)} ± {decimal(self.error, places)}"


def count(value: float) -> str:
    """A whole number with separated thousands.

    Args:
        value: The number; finite.

    Returns:
        The text.

    Example:
        >>> from discreet.report import count
        >>> count(12345.4)
        '12,345'
    """
    return decimal(round(value), 0)


def decimal(value: float, places: int) -> str:
    """A number with so many decimal places; what rounds to 0 has no sign.

    Args:
        value: The number.
        places: How many decimal places.

    Returns:
        The text.

    Example:
        >>> from discreet.report import decimal
        >>> decimal(0.123456, 3), decimal(-0.0001, 2)
        ('0.123', '0.00')
    """
    return f"{value:z,.{places}f}".replace("-", MINUS)


def percent(share: float, places: int = 1) -> str:
    r"""A share as a percentage.

    Args:
        share: The share; 1 is all.
        places: How many decimal places.

    Returns:
        The text.

    Example:
        >>> from discreet.report import percent
        >>> percent(0.1234)
        '12.3\u202f%'
    """
    return f"{decimal(100.0 * share, places)}{THIN_SPACE}%"
