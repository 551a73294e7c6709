"""Pictures of results: regret against rounds, or what a study is about against a setting.

`bounds` is the hook for theory: any functions of t, drawn as dashed lines under their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from .._checks import one_of
from ..errors import InvalidArgument
from ._grids import (
    BANDS,
    COLOURS,
    DASHES,
    Panel,
    bases,
    check_setting,
    default_x,
    draw,
    lines_of,
    panels,
)
from ._labels import settings_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from .._types import Ints
    from ._comparison import Comparison
    from ._results import Result

__all__ = ["BANDS", "COLOURS", "Look", "plot_regret", "plot_setting"]

BOUNDS = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3)))
"""Lines of bounds: each has a style and its own grey."""
GREYS = ("#333333", "#666666", "#8c8c8c")
ROUNDS = "t"
"""The x of curves of regret."""


class Look(TypedDict, total=False):
    """What can be said about a picture.

    - `x`: "t" for curves of regret, or a setting: epsilon, horizon, risk, an option, policy.
    - `hue`: a setting that has a colour a value; default: every line has its own.
    - `col`: a setting that has a panel a value.
    - `ax`: axes of your own to draw on, one a panel; their figure is returned.
    - `style`: "screen", or "paper", with small print in the width of a column.
    - `band`: "error" is ±2 standard errors of the mean, "sd" ±1 standard deviation over runs,
      "range" the smallest to the largest run, "quantiles" the middle 90 % of the runs and, darker,
      the middle half.
    - `bounds`: functions of t by name, drawn beside curves.
    - `log`: False for linear axes.
    - `path`: saves the figure (PNG, SVG, PDF by its ending).
    """

    x: str
    hue: str | None
    col: str | None
    ax: Axes | Sequence[Axes] | None
    style: str
    band: str
    bounds: Mapping[str, Callable[[Ints], ArrayLike]] | None
    log: bool
    path: str | Path | None
    title: str | None


def plot_regret(comparison: Comparison, **look: Unpack[Look]) -> Figure:
    """Mean regret against t, one curve a policy; or final regret against a setting: see `Look`."""
    if look.get("x", ROUNDS) != ROUNDS:
        return plot_setting(comparison.results, **look)
    columns = settings_columns(comparison.results, ())
    band = _band(look)
    hue = look.get("hue")
    parts = panels(comparison.results, columns, look.get("col"))
    with Canvas(parts, look) as canvas:
        place = _places(comparison, look.get("col"))
        values = None if hue is None else columns[check_setting("hue", hue, columns)]
        if hue == "policy":
            values = columns["row"]
        looks = _looks(range(len(comparison)) if values is None else values)
        for axes, (_, places) in zip(canvas.axes, parts, strict=True):
            for number, result in enumerate(comparison):
                if number in places and result.runs:
                    label = f"{result.label}{place(result)} ({result.guarantee.short()})"
                    _curve(axes, result, looks[number], label, band)
            grid = comparison[places[0]].t
            for number, (name, bound) in enumerate((look.get("bounds") or {}).items()):
                dashes, grey = BOUNDS[number % len(BOUNDS)], GREYS[number % len(GREYS)]
                axes.plot(
                    grid, bound(grid), linestyle=dashes, color=grey, linewidth=1.2, label=name
                )
            if look.get("log", True):
                axes.set_xscale("log")
                axes.set_yscale("symlog", linthresh=1.0)
            axes.set_xlabel("rounds t")
            axes.set_ylim(bottom=0.0)
            axes.grid(alpha=0.25)
        canvas.axes[0].set_ylabel("mean regret")
    return canvas.figure


def plot_setting(records: Sequence[Result], **look: Unpack[Look]) -> Figure:
    """The mean of what a study is about (regret, samples) against a setting: see `Look`."""
    columns = settings_columns(records, ())
    x = check_setting("x", look.get("x") or default_x(columns), columns)
    hue, col, band = look.get("hue"), look.get("col"), _band(look)
    if hue is not None:
        check_setting("hue", hue, columns)
    if look.get("bounds"):
        raise InvalidArgument("bounds", "be left out unless x='t'", x, "draw them with x='t'")
    if not any(value is not None for value in columns[x]):
        raise InvalidArgument("x", "be a setting that a result has", x, "use x='policy'")
    parts = panels(records, columns, col)
    if x == "policy":
        columns = columns | {"policy": list(bases(records, columns))}
    lines = lines_of(records, columns, x, col)
    with Canvas(parts, look) as canvas:
        for axes, (_, places) in zip(canvas.axes, parts, strict=True):
            panel = Panel(axes, records, columns, x, hue, band, look.get("log", True))
            draw(panel, lines, places)
        canvas.axes[0].set_ylabel(f"mean {records[0].outcome[0]}")
    return canvas.figure


def _band(look: Look) -> str:
    band = look.get("band", "error")
    if band not in BANDS:
        raise InvalidArgument("band", f"be one of {', '.join(BANDS)}", band, "use band='error'")
    return band


class Canvas:
    """The axes of panels next to each other: a figure's own, or those of a user. At the end titles
    and legends are added, and the figure is saved if it was asked for."""

    figure: Figure
    axes: list[Axes]

    def __init__(self, parts: Sequence[tuple[str, Sequence[int]]], look: Look) -> None:
        from contextlib import ExitStack

        from matplotlib import rc_context

        from .._figures import SIZES, STYLES, WIDEST, Picture

        self.look, self.titles = look, [title for title, _ in parts]
        self.style = one_of("style", look.get("style", "screen"), *STYLES)
        given = look.get("ax")
        self.context = ExitStack()
        self.context.enter_context(rc_context(STYLES[self.style]))
        if given is None:
            width, height = SIZES[self.style]
            size = (min(width * len(parts), WIDEST[self.style]), height)
            self.figure = Picture(figsize=size, layout="constrained")
            found = self.figure.subplots(1, len(parts), sharey=True, squeeze=False)
            self.axes = list(found[0])
            return
        self.axes = list(given) if isinstance(given, Sequence) else [given]
        if len(self.axes) != len(parts):
            self.context.close()
            raise InvalidArgument(
                "ax", f"be as many axes as there are panels, {len(parts)}", len(self.axes),
                "leave ax out",
            )  # fmt: skip
        figure = self.axes[0].get_figure(root=True)
        assert figure is not None
        self.figure = figure

    def __enter__(self) -> Canvas:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        from .._figures import DPI, FONTS, legend_below, legend_beside

        try:
            if kind is not None:
                return
            for axes, title in zip(self.axes, self.titles, strict=True):
                axes.set_title(title)
            said = self.look.get("title")
            if said and len(self.axes) == 1 and not self.titles[0]:
                self.axes[0].set_title(said)
            elif said:
                self.figure.suptitle(said)
            if self.look.get("ax") is None:
                legend_below(self.figure, self.axes)
            else:
                legend_beside(self.axes[-1])
            path = self.look.get("path")
            if path is not None:
                from matplotlib import rc_context

                with rc_context(FONTS):
                    self.figure.savefig(path, dpi=DPI[self.style])
        finally:
            self.context.close()


def _looks(values: Sequence[object]) -> list[tuple[str, str]]:
    """A colour a value, and dashes that tell apart what has the same."""
    groups = list(dict.fromkeys(map(repr, values)))
    found: list[tuple[str, str]] = []
    for value in values:
        number = groups.index(repr(value))
        colour = COLOURS[number % len(COLOURS)]
        used = sum(other == colour for other, _ in found)
        found.append((colour, DASHES[used % len(DASHES)]))
    return found


def _curve(axes: Axes, result: Result, look: tuple[str, str], label: str, band: str) -> None:
    """The mean regret of one result, and its band."""
    import numpy as np

    colour, style = look
    mean, sd = result.mean_regret, result.sd_regret
    reached = np.isfinite(mean)
    axes.plot(result.t[reached], mean[reached], style, color=colour, label=label)
    regret, rounds = result.regret[:, reached], result.t[reached]
    if band == "range":
        bands = [(np.nanmin(regret, axis=0), np.nanmax(regret, axis=0))]
    elif band == "quantiles":
        levels = np.nanquantile(regret, (0.05, 0.25, 0.75, 0.95), axis=0)
        bands = [(levels[0], levels[3]), (levels[1], levels[2])]
    else:
        half = sd[reached] if band == "sd" else 2.0 * sd[reached] / np.sqrt(result.runs)
        bands = [(mean[reached] - half, mean[reached] + half)]
    for low, high in bands:
        axes.fill_between(rounds, low, high, color=colour, alpha=0.18, linewidth=0)


def _places(comparison: Comparison, col: str | None) -> Callable[[Result], str]:
    """Problem and horizon of a result in a legend, where there are several."""
    problems = col != "problem" and len({result.problem for result in comparison}) > 1
    horizons = col != "horizon" and len({result.horizon for result in comparison}) > 1

    def place(result: Result) -> str:
        said = f" on {result.problem}" if problems else ""
        return said + (f", T = {result.horizon:,}" if horizons else "")

    return place
