"""Pictures of regret: mean over runs, a band, and bounds to compare with.

`bounds` is the hook for theory: any functions of t, drawn as dashed lines under their names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from .._types import Ints
    from ._results import Comparison, Result

BANDS = ("sd", "error", "range", "quantiles")
BOUNDS = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)), (0, (8, 3)))
"""Lines of bounds: each has a style and a grey of its own."""
GREYS = ("#333333", "#666666", "#8c8c8c")
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
)  # fmt: skip
"""Okabe & Ito's palette, which colour-blind readers can tell apart, and one more."""


class Look(TypedDict, total=False):
    """What can be said about a picture: the arguments of `plot_regret`."""

    band: str
    bounds: Mapping[str, Callable[[Ints], ArrayLike]] | None
    log: bool
    path: str | Path | None
    title: str | None


def plot_regret(
    comparison: Comparison,
    *,
    band: str = "error",
    bounds: Mapping[str, Callable[[Ints], ArrayLike]] | None = None,
    log: bool = True,
    path: str | Path | None = None,
    title: str | None = None,
) -> Figure:
    """Mean regret against t, one curve a policy.

    `band`: "error" is ±2 standard errors of the mean, "sd" ±1 standard deviation over runs,
    "range" the smallest to the largest run, "quantiles" the middle 90 % of the runs and, darker,
    the middle half. `path` saves the figure (PNG, SVG, PDF by its ending).
    """
    import numpy as np
    from matplotlib.figure import Figure

    if band not in BANDS:
        raise InvalidArgument("band", f"be one of {', '.join(BANDS)}", band, "use band='error'")
    place = _places(comparison)
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for number, result in enumerate(comparison):
        if not result.runs:
            continue
        colour = COLOURS[number % len(COLOURS)]
        style = "-" if number < len(COLOURS) else "-."
        mean, sd = result.mean_regret, result.sd_regret
        reached = np.isfinite(mean)
        label = f"{result.label}{place(result)} ({result.guarantee.short()})"
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
    grid = comparison[0].t
    for number, (name, bound) in enumerate((bounds or {}).items()):
        dashes, grey = BOUNDS[number % len(BOUNDS)], GREYS[number % len(GREYS)]
        axes.plot(grid, bound(grid), linestyle=dashes, color=grey, linewidth=1.2, label=name)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_xlabel("rounds t")
    axes.set_ylabel("mean regret")
    axes.set_title(title or "")
    axes.set_ylim(bottom=0.0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small", frameon=False, loc="upper left")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _places(comparison: Comparison) -> Callable[[Result], str]:
    """Problem and horizon of a result in a legend, where there are several."""
    problems = len({result.problem for result in comparison}) > 1
    horizons = len({result.horizon for result in comparison}) > 1

    def place(result: Result) -> str:
        said = f" on {result.problem}" if problems else ""
        return said + (f", T = {result.horizon:,}" if horizons else "")

    return place
