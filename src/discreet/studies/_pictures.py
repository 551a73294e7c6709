"""How studies are drawn: axes concurrently, mean curves with bands, one colour a label.

A band is ±1 standard deviation over runs, as the papers have it. Regret and rounds are
logarithmic unless told otherwise, so that policies which differ tenfold share one picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..simulator._plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

    from ._base import Panel
    from ._measures import Measure

WIDTH, HEIGHT = 4.6, 3.5
"""Inches of one set of axes."""


def canvas(count: int, columns: int = 2) -> tuple[Picture, list[Axes]]:
    """A picture with `count` axes, row by row; one alone is wider."""
    from .._figures import Picture

    across = min(columns, count)
    down = -(-count // across)
    width = 7.2 if count == 1 else WIDTH * across
    picture = Picture(figsize=(width, 4.4 if count == 1 else HEIGHT * down), layout="constrained")
    return picture, [picture.add_subplot(down, across, place + 1) for place in range(count)]


def colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour for every label, in the order of the palette."""
    return {label: COLOURS[place % len(COLOURS)] for place, label in enumerate(labels)}


def draw_regret(
    axes: Axes,
    panel: Panel,
    hues: dict[str, str] | None = None,
    *,
    log: bool = True,
    since: int = 10,
    legend: bool = True,
) -> None:
    """Mean regret against rounds, one curve a label."""
    import numpy as np

    hues = hues or colours(panel.labels)
    for result in panel.comparison:
        shown = result.t >= since
        t, mean, sd = result.t[shown], result.mean_regret[shown], result.sd_regret[shown]
        hue = hues[result.name]
        axes.plot(t, mean, color=hue, label=result.name, linewidth=1.7)
        low = np.maximum(mean - sd, 1e-3)
        axes.fill_between(t, low, mean + sd, color=hue, alpha=0.18, linewidth=0)
    if log:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(bottom=1.0)
    dress(axes, panel.setting, "rounds t", "regret", legend=legend)


def draw_panels(panels: Sequence[Panel], columns: int = 2, **look: Any) -> Picture:
    """A picture of several panels, each drawn by `draw_regret`."""
    picture, all_axes = canvas(len(panels), columns)
    for axes, panel in zip(all_axes, panels, strict=True):
        draw_regret(axes, panel, **look)
    return picture


def draw_measures(
    axes: Axes, xs: Sequence[float], measures: Sequence[Measure], label: str, hue: str
) -> None:
    """Points with bars of ±2 standard errors, joined by a line."""
    import math

    errors = [m.error if m.error is not None and math.isfinite(m.error) else 0.0 for m in measures]
    axes.errorbar(
        list(xs), [m.value for m in measures], yerr=[2.0 * error for error in errors],
        color=hue, label=label, linewidth=1.7, marker="o", markersize=3.5, capsize=2.5,
    )  # fmt: skip


def dress(axes: Axes, title: str, across: str, up: str, *, legend: bool = True) -> None:
    """Words, a faint grid and a plain frame."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across, fontsize=9)
    axes.set_ylabel(up, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.25)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if legend:
        axes.legend(fontsize=8, frameon=False, loc="upper left")


def shared_legend(picture: Picture, axes: Axes, columns: int = 5) -> None:
    """One legend for all axes, below them."""
    handles, labels = axes.get_legend_handles_labels()
    options: dict[str, Any] = {"loc": "outside lower center", "ncols": columns}
    picture.legend(handles, labels, frameon=False, fontsize=8, **options)
