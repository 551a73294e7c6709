"""Turn what a caller passes into tuples of floats, or say what is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real

from discreet.errors import InvalidArgument


def number(
    argument: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    fix: str = "pass a finite number",
) -> float:
    """A finite float with low <= value <= high (low < value < high if strict)."""
    rule = f"be a finite number{_range(low, high, strict)}"
    if not isinstance(value, Real):
        raise InvalidArgument(argument, rule, value, fix)
    try:
        result = float(value)
    except OverflowError:
        raise InvalidArgument(argument, rule, value, fix) from None
    inside = low < result < high if strict else low <= result <= high
    if not math.isfinite(result) or not inside:
        raise InvalidArgument(argument, rule, value, fix)
    return result


def numbers(
    argument: str,
    values: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    fix: str = "pass one finite number per arm",
) -> tuple[float, ...]:
    """A non-empty tuple of such floats; a single number counts as one arm."""
    if hasattr(values, "tolist"):  # a numpy array or scalar, without importing numpy
        values = values.tolist()
    if isinstance(values, Real):
        return (number(argument, values, low=low, high=high, strict=strict, fix=fix),)
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidArgument(argument, "be a number or a sequence of numbers", values, fix)
    result = tuple(
        number(f"{argument}[{i}]", value, low=low, high=high, strict=strict, fix=fix)
        for i, value in enumerate(values)
    )
    if not result:
        raise InvalidArgument(argument, "hold at least one number", values, fix)
    return result


def stretch(**columns: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """Give every column one entry per arm; a column of one entry serves all arms."""
    arms = max(len(column) for column in columns.values())
    for argument, column in columns.items():
        if len(column) not in (1, arms):
            raise InvalidArgument(
                argument,
                f"have 1 or {arms} entries",
                column,
                f"pass one entry per arm; {' and '.join(columns)} must agree",
            )
    return tuple(column * (arms // len(column)) for column in columns.values())


def whole(argument: str, value: object, *, low: int, fix: str) -> int:
    """An integer that is at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise InvalidArgument(argument, f"be a whole number of at least {low}", value, fix)
    return int(value)


def ordered(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """Refuse an arm whose low end lies above its high end."""
    for arm, (below, above) in enumerate(zip(low, high, strict=True)):
        if below > above:
            raise InvalidArgument(
                f"low[{arm}]", f"be at most high[{arm}] = {above!r}", below, "swap low and high"
            )


def interval(argument: str, value: object) -> tuple[float, float] | None:
    """A pair low < high of finite numbers, or None for unbounded."""
    if value is None:
        return None
    ends = numbers(argument, value, fix="pass a pair (low, high) or None for unbounded rewards")
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InvalidArgument(
            argument,
            "be a pair (low, high) with low < high",
            value,
            "pass for instance (0.0, 1.0), or None for unbounded rewards",
        )
    return ends[0], ends[1]


def _range(low: float, high: float, strict: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(high):
        return f" {'above' if strict else 'of at least'} {low:g}"
    if math.isinf(low):
        return f" {'below' if strict else 'of at most'} {high:g}"
    return (
        f" {'strictly between' if strict else 'from'} {low:g} {'and' if strict else 'to'} {high:g}"
    )
