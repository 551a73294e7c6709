"""Results against a setting: mean regret or samples by ε, horizon, risk or an option.

found.plot(x="epsilon", hue="policy", col="horizon")

Results that differ in nothing but `x` and `col` are one line. What else sets lines apart is in
their labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidArgument
from ._labels import SIGNS
from ._record import standard_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .._types import Array
    from ._results import Result

BANDS = ("sd", "error", "range", "quantiles")
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
)  # fmt: skip
"""Okabe & Ito's palette, which colour-blind readers can tell apart, and one more."""
DASHES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
WORDS = SIGNS | {"horizon": "T", "t": "rounds t"}
FOLLOWS = ("policy", "row", "environment", "arms")
"""Columns that say nothing more than others, or that labels are built from."""


class Line(NamedTuple):
    """Results that differ only in what a panel is drawn against."""

    base: str
    """the policy"""
    settings: dict[str, object]
    """the rest"""
    places: list[int]
    """which results"""


def check_setting(argument: str, name: str, columns: dict[str, list[object]]) -> str:
    """A column of settings."""
    if not isinstance(name, str) or name not in columns:
        known = ", ".join(columns)
        raise InvalidArgument(argument, f"be one of {known}", name, f"use {argument}='policy'")
    return name


def panels(
    records: Sequence[Result], columns: dict[str, list[object]], col: str | None
) -> list[tuple[str, list[int]]]:
    """A title and the results of every panel."""
    if col is None:
        return [("", list(range(len(records))))]
    values = columns[check_setting("col", col, columns)]
    if col == "policy":  # settings are for the labels of lines
        values = list(bases(records, columns))
    own = ordered(values)
    word = "" if isinstance(own[0], str) else f"{WORDS.get(col, col)} = "
    return [
        (f"{word}{spoken(value)}", [i for i, other in enumerate(values) if other == value])
        for value in own
    ]


def lines_of(
    records: Sequence[Result], columns: dict[str, list[object]], *drawn: str | None
) -> list[Line]:
    """The lines of all panels, each with its results."""
    rest = [name for name in columns if name not in (*FOLLOWS, *drawn)]
    names = bases(records, columns)
    found: dict[tuple[str, ...], Line] = {}
    for place in range(len(records)):
        base = names[place]
        settings = {name: columns[name][place] for name in rest}
        key = (base, *map(repr, settings.values()))
        found.setdefault(key, Line(base, settings, [])).places.append(place)
    return list(found.values())


def labels_of(lines: Sequence[Line]) -> list[str]:
    """A label a line: the policy, and what sets it apart from others of the same policy."""
    found = []
    for line in lines:
        same = [other for other in lines if other.base == line.base]
        apart = [
            f"{value}" if isinstance(value, str) else f"{WORDS.get(name, name)}={spoken(value)}"
            for name, value in line.settings.items()
            if value is not None and len({repr(other.settings[name]) for other in same}) > 1
        ]
        found.append(", ".join([line.base, *apart]))
    return found


def bases(records: Sequence[Result], columns: dict[str, list[object]]) -> list[str]:
    """The label that a user gave, or the policy's name without its settings."""
    found = []
    for record, row in zip(records, columns["row"], strict=True):
        own = record.policy.get("given_label") or record.label
        found.append(f"{row}" if own.startswith(f"{row}") else f"{own}")
    return found


def ordered(values: Sequence[object]) -> list[object]:
    """Distinct values: numbers by size, others as they come; None is left to the caller."""
    own = list(dict.fromkeys(value for value in values if value is not None))
    numbers = [v for v in own if isinstance(v, int | float) and not isinstance(v, bool)]
    return sorted(numbers) if len(numbers) == len(own) else own  # type: ignore[return-value]


def spoken(value: object) -> str:
    """A value in a label."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 1000 and value == int(value) else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else f"{value}"


def bands_of(values: Array, band: str) -> list[tuple[float, float]]:
    """From where to where, widest first."""
    import numpy as np

    if not len(values):
        return []
    if band == "range":
        return [(float(values.min()), float(values.max()))]
    if band == "quantiles":
        low, lower, upper, high = map(float, np.quantile(values, (0.05, 0.25, 0.75, 0.95)))
        return [(low, high), (lower, upper)]
    error = standard_error(values)
    if math.isnan(error):
        return []
    half = error * math.sqrt(len(values)) if band == "sd" else 2.0 * error
    return [(float(values.mean()) - half, float(values.mean()) + half)]


class Panel(NamedTuple):
    """What one panel draws, and how."""

    axes: Axes
    records: Sequence[Result]
    columns: dict[str, list[object]]
    x: str
    hue: str | None
    band: str
    log: bool


def draw(panel: Panel, lines: Sequence[Line], places: Sequence[int]) -> None:
    """Mean outcome against a setting, one line a policy; without that setting, a level."""
    import numpy as np

    axes, values = panel.axes, panel.columns[panel.x]
    own = ordered(values)
    scale = {value: float(i) for i, value in enumerate(own)}
    numeric = all(isinstance(v, int | float) and not isinstance(v, bool) for v in own)
    where = {v: float(v) if numeric else scale[v] for v in own}  # type: ignore[arg-type]
    colours = _colours(lines, panel.hue)
    for line, label, (colour, dash, mark) in zip(lines, labels_of(lines), colours, strict=True):
        mine = [i for i in line.places if i in places and panel.records[i].runs]
        there = sorted((where[values[i]], i) for i in mine if values[i] is not None)
        if there:
            means = [float(panel.records[i].outcome[1].mean()) for _, i in there]
            at = [x for x, _ in there]
            axes.plot(at, means, linestyle=dash, marker=mark, color=colour, label=label)
            for x, i in there:
                for width, (low, high) in zip(
                    (1.0, 3.0), bands_of(panel.records[i].outcome[1], panel.band), strict=False
                ):
                    axes.plot([x, x], [low, high], color=colour, linewidth=width, alpha=0.7)
        for i in mine:
            if values[i] is None:
                found = panel.records[i].outcome[1]
                axes.axhline(float(np.mean(found)), linestyle=":", color=colour, label=label)
                for low, high in bands_of(found, panel.band):
                    axes.axhspan(low, high, color=colour, alpha=0.12, linewidth=0)
    if not numeric:
        axes.set_xticks(range(len(own)), [spoken(value) for value in own])
    elif panel.log and own and _wide([where[v] for v in own]):
        axes.set_xscale("log")
    means = [float(r.outcome[1].mean()) for r in panel.records if r.runs]
    if panel.log and _wide(means):
        axes.set_yscale("log")
    axes.set_xlabel(WORDS.get(panel.x, panel.x))
    axes.grid(alpha=0.25)


def _wide(values: Sequence[float]) -> bool:
    """Whether numbers are better shown by their logarithms."""
    return bool(values) and min(values) > 0.0 and max(values) >= 10.0 * min(values)


def _colours(lines: Sequence[Line], hue: str | None) -> list[tuple[str, str, str]]:
    """Colour, dashes and mark of every line: of one colour where `hue` is the same."""
    groups = [f"{number}" for number in range(len(lines))]
    if hue in ("policy", "row"):
        groups = [line.base for line in lines]
    elif hue is not None:
        groups = [repr(line.settings.get(hue)) for line in lines]
    known = list(dict.fromkeys(groups))
    found: list[tuple[str, str, str]] = []
    for number, group in enumerate(groups):
        colour = COLOURS[known.index(group) % len(COLOURS)]
        used = sum(other == colour for other, _, _ in found)
        found.append((colour, DASHES[used % len(DASHES)], MARKS[number % len(MARKS)]))
    return found


def default_x(columns: dict[str, list[object]]) -> str:
    """The first of budget, horizon and risk that differs; else the policies next to each other."""
    for name in (*SIGNS, "risk", "horizon"):
        if len(ordered(columns.get(name, []))) > 1:
            return name
    return "policy"
