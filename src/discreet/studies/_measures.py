"""Numbers with standard errors, and what two of them say about an order or a ratio.

Means over independent runs; a ratio's error by the delta method, both policies taken as
independent:  se(a/b) = |a/b| sqrt((se a/a)² + (se b/b)²).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from .._types import Floats, Ints
    from ..simulator import Result

CLEAR = 2.0
"""Standard errors of a difference from which an order counts as seen."""


class Number(TypedDict):
    """A measure as JSON has it."""

    value: float | None
    standard_error: float | None


@dataclass(frozen=True)
class Measure:
    """A number and its standard error; None where it is a count or a chosen value."""

    value: float
    error: float | None = None

    def to_dict(self) -> Number:
        """JSON-ready: what is not finite becomes null."""
        return {"value": _finite(self.value), "standard_error": _finite(self.error)}

    def __str__(self) -> str:
        if self.error is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} ± {self.error:.2g}"


def mean_of(values: Floats | Ints) -> Measure:
    """The mean of independent values; one value alone has no known error."""
    runs = len(values)
    if runs == 1:
        return Measure(float(values[0]), math.inf)
    # runs that agree have error 0, not the rounding of their sum
    error = float(values.std(ddof=1)) / math.sqrt(runs) if values.min() < values.max() else 0.0
    return Measure(float(values.mean()), error)


def final_regret(result: Result) -> Measure:
    """Mean regret at the horizon."""
    return mean_of(result.final_regret)


def regret_at(result: Result, t: float) -> Measure:
    """Mean regret at the last recorded round up to t."""
    place = max(int((result.t <= t).sum()) - 1, 0)
    return mean_of(result.regret[:, place])


def difference(a: Measure, b: Measure) -> Measure:
    """a - b."""
    return Measure(a.value - b.value, math.hypot(_error(a), _error(b)))


def ratio(a: Measure, b: Measure) -> Measure:
    """a / b."""
    if b.value == 0.0:
        return Measure(math.inf, math.inf)
    value = a.value / b.value
    relative = _error(a) / abs(a.value) if a.value else 0.0
    return Measure(value, abs(value) * math.hypot(relative, _error(b) / abs(b.value)))


def clearly_above(a: Measure, b: Measure) -> bool:
    """Whether a > b by at least two standard errors of the difference."""
    found = difference(a, b)
    return found.value > 0.0 and found.value >= CLEAR * _error(found)


def smallest_seen(measure: Measure) -> Measure:
    """The least true effect that would be told from zero: one of four standard errors comes out
    above two with probability 0.98."""
    return Measure(2.0 * CLEAR * _error(measure))


def ascending(measures: Sequence[Measure]) -> bool:
    """Whether every measure is clearly below the next."""
    return all(clearly_above(b, a) for a, b in pairwise(measures))


def _error(measure: Measure) -> float:
    return 0.0 if measure.error is None else measure.error


def _finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None


def log_slope(regrets: dict[float, Measure]) -> Measure:
    """The least-squares slope of log regret in log of the key, with its standard error."""
    from scipy.stats import linregress

    xs = [math.log(epsilon) for epsilon in regrets]
    ys = [math.log(max(measure.value, 1e-9)) for measure in regrets.values()]
    fit = linregress(xs, ys)
    return Measure(float(fit.slope), float(fit.stderr))
