"""What callers pass in: every check returns the clean value or raises `InvalidArgument`.

One wording: "be a whole number from 1", "be a finite number above 0", "be a number in [0, 1)".
True and False are no numbers, except in data. Numbers of NumPy are numbers like any other; nothing
is imported for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeVar
from unicodedata import category

from .errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._types import Floats

T = TypeVar("T")
Name = str | int
"""What arms and units are called."""
LEAST = 1e-100
"""The smallest number of a budget: noise of a scale above its inverse, squared, is not a number."""
BUDGETS = ("epsilon", "epsilons", "rho", "mu")
"""Arguments that are numbers of a budget."""
MOST_ROUNDS = 10**100
"""Beyond it, T² would be more than a float can hold."""
MOST_RUNS = 10**8
"""The most runs, or points of a curve."""
LONGEST = 1 << 128
"""Whole numbers that serve as names stay below it: enough for a UUID."""


def check_is(argument: str, value: object, kind: type[T], fix: str) -> T:
    """An object of a class."""
    if not isinstance(value, kind):
        raise InvalidArgument(argument, f"be a {kind.__name__}", value, fix)
    return value


def one_of(argument: str, value: str, *choices: str) -> str:
    """One of a few words.

    Args:
        argument: What the argument is called in errors.
        value: What was given.
        *choices: The words that are allowed.

    Returns:
        The word.

    Example:
        >>> from discreet.extend import one_of
        >>> one_of('kind', 'tree', 'tree', 'sum')
        'tree'
    """
    if value not in choices:
        known = " or ".join(repr(choice) for choice in choices)
        raise InvalidArgument(argument, f"be {known}", value, f"use {choices[0]!r}")
    return value


def check_flag(argument: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InvalidArgument(argument, "be True or False", value, f"use {argument}=True")
    return value


# numbers


def real(value: object, *, data: bool = False) -> float:
    """The number as a float; NaN for anything else, and for True and False unless it is data."""
    if (isinstance(value, bool) and not data) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:  # a whole number that no float can hold
        return math.inf


def number(
    argument: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    infinite: bool = False,
    fix: str = "pass a finite number",
    data: bool = False,
) -> float:
    """A float with low <= value <= high (low < value < high if strict); finite by default.

    Args:
        argument: What the argument is called in errors.
        value: What was given.
        low: The least that is allowed.
        high: The largest that is allowed.
        strict: Whether both ends are excluded.
        infinite: Whether infinity is allowed.
        fix: What to do about it, as errors say.
        data: Whether the value is data, which errors never show.

    Returns:
        The number.

    Example:
        >>> from discreet.extend import number
        >>> number('rate', 0.5, low=0.0, high=1.0)
        0.5
    """
    clean = real(value, data=data)
    inside = low < clean < high if strict else low <= clean <= high
    if infinite and clean == high == math.inf:
        inside = True
    if not inside or (math.isinf(clean) and not infinite):
        kind = "a number" if infinite else "a finite number"
        raise InvalidArgument(argument, f"be {kind}{_between(low, high, strict)}", value, fix)
    return clean + 0.0  # -0.0 becomes 0.0


def _between(low: float, high: float, strict: bool) -> str:
    if math.isinf(low) and math.isinf(high):
        return ""
    if math.isinf(high):
        return f" {'above' if strict else 'of at least'} {low:g}"
    if math.isinf(low):
        return f" {'below' if strict else 'of at most'} {high:g}"
    end = "1/3" if high == 1.0 / 3.0 else f"{high:g}"
    return f" strictly between {low:g} and {end}" if strict else f" from {low:g} to {end}"


def amount(
    argument: str, value: object, *, fix: str, zero: bool = True, infinite: bool = True
) -> float:
    """A number from 0, or above 0; infinite where that means "no privacy".

    Args:
        argument: What the argument is called in errors.
        value: What was given.
        fix: What to do about it, as errors say.
        zero: Whether 0 is allowed.
        infinite: Whether infinity is allowed.

    Returns:
        The number.

    Example:
        >>> from discreet.extend import amount
        >>> amount('epsilon', 1, fix='use 1.0')
        1.0
    """
    return number(argument, value, low=0.0, strict=not zero, infinite=infinite, fix=fix)


def positive(argument: str, value: object, fix: str = "", *, infinite: bool = False) -> float:
    """A number above 0.

    Args:
        argument: What the argument is called in errors.
        value: What was given.
        fix: What to do about it, as errors say.
        infinite: Whether infinity is allowed.

    Returns:
        The number.

    Example:
        >>> from discreet.extend import positive
        >>> positive('epsilon', 1)
        1.0
    """
    fix = fix or f"use for example {argument}=1.0"
    clean = number(argument, value, low=0.0, strict=True, infinite=infinite, fix=fix)
    if argument in BUDGETS and clean < LEAST:
        raise InvalidArgument(argument, f"be at least {LEAST:g}", value, fix)
    return clean


def share(argument: str, value: object, *, below: float = 1.0, fix: str = "use 0.05") -> float:
    """A number strictly between 0 and `below`."""
    return number(argument, value, low=0.0, high=below, strict=True, fix=fix)


def probability(argument: str, value: object, *, fix: str) -> float:
    """A failure probability in [0, 1).

    Args:
        argument: What the argument is called in errors.
        value: What was given.
        fix: What to do about it, as errors say.

    Returns:
        The probability.

    Example:
        >>> from discreet.extend import probability
        >>> probability('delta', 1e-6, fix='use 1e-6')
        1e-06
    """
    clean = real(value)
    if not 0 <= clean < 1:
        raise InvalidArgument(argument, "be a number in [0, 1)", value, fix)
    return clean + 0.0


def count(
    argument: str, value: object, *, fix: str = "", least: int = 1, most: int | None = None
) -> int:
    """A whole number of at least `least`, and at most `most`.

    Args:
        argument: What the argument is called in errors.
        value: What was given.
        fix: What to do about it, as errors say.
        least: The least that is allowed.
        most: The most that is allowed.

    Returns:
        The number.

    Example:
        >>> from discreet.extend import count
        >>> count('arms', 3, least=2)
        3
    """
    inside = (
        not isinstance(value, bool)
        and isinstance(value, Integral)
        and int(value) >= least
        and (most is None or int(value) <= most)
    )
    if not inside or not isinstance(value, Integral):
        end = "" if most is None else f" to {most:,}"
        fix = fix or f"use for example {argument}={max(least, 2)}"
        raise InvalidArgument(argument, f"be a whole number from {least}{end}", value, fix)
    return int(value)


def check_seed(seed: object) -> int | None:
    """A whole number from 0; None for a seed that is drawn."""
    return None if seed is None else count("seed", seed, least=0, fix="use for example seed=1")


def rounds(value: object, *, argument: str = "horizon", least: int = 1, fix: str = "") -> int:
    """A horizon: a whole number of rounds, floats like 1e6 included."""
    clean = real(value)
    if not isinstance(value, Integral) and math.isfinite(clean) and clean == int(clean):
        value = int(clean)  # of whole numbers a float may hold the first digits alone
    return count(argument, value, fix=fix or f"use for example {argument}=1e6", least=least)


def horizon_of(value: object, arms: int = 1, argument: str = "horizon") -> int:
    """The same, with a round for every arm and two at least."""
    whole = rounds(value, argument=argument, least=max(2, arms))
    if whole > MOST_ROUNDS:
        fix = f"for example {argument}=1e6"
        raise InvalidArgument(argument, "be at most 1e100", value, fix)
    return whole


def numbers(
    argument: str,
    values: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    strict: bool = False,
    fix: str = "pass one finite number per arm",
) -> tuple[float, ...]:
    """A non-empty tuple of finite numbers; a single number counts as one arm.

    Args:
        argument: What the argument is called in errors.
        values: What was given.
        low: The least that is allowed.
        high: The largest that is allowed.
        strict: Whether both ends are excluded.
        fix: What to do about it, as errors say.

    Returns:
        The numbers.

    Example:
        >>> from discreet.extend import numbers
        >>> numbers('means', [0.5, 0.7])
        (0.5, 0.7)
    """
    if hasattr(values, "tolist"):  # a numpy array or scalar, without importing numpy
        values = values.tolist()
    if isinstance(values, Real):
        return (number(argument, values, low=low, high=high, strict=strict, fix=fix, data=True),)
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidArgument(argument, "be a number or a sequence of numbers", values, fix)
    result = tuple(
        number(f"{argument}[{i}]", value, low=low, high=high, strict=strict, fix=fix, data=True)
        for i, value in enumerate(values)
    )
    if not result:
        raise InvalidArgument(argument, "hold at least one number", values, fix)
    return result


# arms and their rewards


def stretch(**columns: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
    """Give every column one entry per arm; a column of one entry serves all arms."""
    arms = max(len(column) for column in columns.values())
    for argument, column in columns.items():
        if len(column) not in (1, arms):
            raise InvalidArgument(
                argument, f"have 1 or {arms} entries", column,
                f"pass one entry per arm; {' and '.join(columns)} must agree",
            )  # fmt: skip
    return tuple(column * (arms // len(column)) for column in columns.values())


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
            argument, "be a pair (low, high) with low < high", value,
            "pass for instance (0.0, 1.0), or None for unbounded rewards",
        )  # fmt: skip
    return ends[0], ends[1]


def means_of(means: object, low: float = 0.0, high: float = 1.0) -> tuple[float, ...]:
    """At least two means in a range."""
    if isinstance(means, str) or not hasattr(means, "__iter__"):
        raise InvalidArgument("means", "be a list of numbers", means, "use means=[0.7, 0.5]")
    values = tuple(means)
    if len(values) < 2:
        raise InvalidArgument("means", "hold at least two arms", list(values), "add an arm")
    rule = f"lie in [{low:g}, {high:g}]" if math.isfinite(high) else "be finite numbers"
    for value in values:
        if not math.isfinite(real(value)) or not low <= real(value) <= high:
            raise InvalidArgument("means", rule, value, "use for example means=[0.7, 0.5]")
    return tuple(real(value) for value in values)


def one_best(means: Sequence[float]) -> tuple[int, tuple[float, ...]]:
    """The place of the only best arm, and all gaps."""
    best = max(means)
    gaps = tuple(best - mean for mean in means)
    if gaps.count(0.0) > 1:
        raise InvalidArgument(
            "means", "have one best arm", list(means), "no number of samples can tell equals apart"
        )
    return gaps.index(0.0), gaps


def action_array(argument: str, values: ArrayLike, dimensions: int = 2) -> Floats:
    """A copy as a finite float array: actions × features, or rounds × actions × features."""
    import numpy as np

    shape = {1: "features", 2: "actions × features", 3: "rounds × actions × features"}[dimensions]
    rule, fix = f"be finite numbers, {shape}", "pass a NumPy array or nested lists"
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidArgument(argument, rule, values, fix) from None
    if array.ndim != dimensions or array.size == 0:
        raise InvalidArgument(argument, rule, f"shape {array.shape}", fix)
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)][0].item()
        raise InvalidArgument(argument, rule, bad, "replace NaN and infinity")
    array.setflags(write=False)
    return array


# trials


def check_arms(arms: int | Sequence[Name], least: int = 2) -> tuple[Name, ...]:
    """The names of the arms; a number stands for 0, 1, 2, ..."""
    fix = 'use arms=3, or names such as ["A", "B"]'
    if isinstance(arms, bool | str) or not isinstance(arms, Integral | Sequence):
        raise InvalidArgument("arms", "be a number or a list of names", arms, fix)
    names = tuple(range(int(arms))) if isinstance(arms, Integral) else tuple(arms)
    if len(names) < least:
        raise InvalidArgument("arms", "be at least 2", arms, "a choice needs two arms")
    return check_names("arms", names, fix)


def check_names(argument: str, names: object, fix: str) -> tuple[Name, ...]:
    """One name or more, all distinct: strings or whole numbers."""
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise InvalidArgument(argument, "be a list of names", names, fix)
    for name in names:
        if type(name) not in (str, int):
            raise InvalidArgument(argument, "be named by strings or whole numbers", name, fix)
    if len(set(names)) < len(names):
        raise InvalidArgument(argument, "have distinct names", list(names), fix)
    return tuple(names)


def check_legible(argument: str, names: Sequence[Name]) -> None:
    """Names that can be read in tables, in JSON, on pages and on a command line, each as another:
    there 1 and "1" are one."""
    for name in names:
        if isinstance(name, str) and not _is_legible(name):
            raise InvalidArgument(
                argument, "have names of one line that can be read and written", name,
                'use letters, digits and signs, such as "arm A"',
            )  # fmt: skip
    if len({str(name) for name in names}) < len(names):
        raise InvalidArgument(
            argument, "have names that read differently, unlike 1 and '1'", list(names),
            "rename one of them",
        )  # fmt: skip


UNWRITTEN = ("Cc", "Cs", "Zl", "Zp")
"""Control characters, lone surrogates (no encoding writes them) and ends of lines, by Unicode."""


def _is_legible(name: str) -> bool:
    return bool(name.strip()) and not any(category(sign) in UNWRITTEN for sign in name)


def by_name(argument: str, value: T | Mapping[Name, T], names: tuple[Name, ...]) -> dict[Name, T]:
    """The same value for every name, or one for each, as a mapping gives it."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    if set(value) != set(names):
        raise InvalidArgument(
            argument, f"be one for all, or one for each of {names}", list(value), "name each once"
        )
    return dict(value)


def check_horizon(horizon: object) -> int | None:
    """A whole number of rounds, floats like 1e6 included; None for no end."""
    if horizon is None:
        return None
    return rounds(horizon, fix="use for example horizon=10_000, or None for no end")


def check_unit(unit: object) -> Name:
    """An identifier: 1 and "1" are different participants."""
    kind = type(unit)
    if kind is str or (kind is int and -LONGEST < unit < LONGEST):  # type: ignore[operator]
        return unit  # type: ignore[return-value]
    if kind is bool or not isinstance(unit, Integral) or abs(int(unit)) >= LONGEST:
        # record(outcome, unit), the wrong way round, must not show the outcome
        shown = unit if kind is int else Unshown(kind.__name__)
        raise InvalidArgument(
            "unit", "be a string or a whole number", shown, 'use an identifier such as "patient-17"'
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


def check_clock(clock: Callable[[], float]) -> Callable[[], float]:
    """A function that tells the time, now and later."""
    if not callable(clock):
        raise InvalidArgument("clock", "be a function without arguments", clock, "use time.time")
    read_clock(clock)
    return clock


def read_clock(clock: Callable[[], float]) -> float:
    """The time in seconds."""
    now: object = clock()
    if type(now) is float and math.isfinite(now):  # the usual case, quickly
        return now
    if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
        raise InvalidArgument("clock", "return a finite number", now, "use time.time")
    return float(now)


class Unshown:
    """Stands in error messages for an outcome, which is private even if it is wrong."""

    def __init__(self, kind: str, what: str = "outcomes") -> None:
        self.kind, self.what = kind, what

    def __repr__(self) -> str:
        return f"a value of type {self.kind} (not shown: {self.what} are private)"


def number_of(outcome: object) -> float | None:
    """An outcome as a float, NaN included; None if it is no real number."""
    if type(outcome) is float:
        return outcome
    if not isinstance(outcome, Real):
        if hasattr(outcome, "mask"):  # an array that says of itself that its value is missing
            return None
        if getattr(outcome, "shape", None) != () or not hasattr(outcome, "item"):
            return None
        outcome = outcome.item()  # numpy's booleans are not Real
        if not isinstance(outcome, Real):
            return None
    try:
        return float(outcome)
    except (OverflowError, ValueError):
        return math.inf
