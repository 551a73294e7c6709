"""Pictures of conclusions: forest plots, and operating characteristics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..simulator._plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._characteristics import Characteristics
    from ._strata import Forest

INK, MUTED = "#333c46", "#6b7683"
LARGEST = 140.0
"""Area of the largest square, in points²."""


def plot_forest(found: Forest, path: str | Path | None = None) -> Figure:
    """Strata from the top, the common effect below them."""
    from .._figures import Picture as Figure

    rows = len(found.strata) + 1
    figure = Figure(figsize=(6.6, 1.1 + 0.42 * rows), layout="constrained")
    axes = figure.subplots()
    most = max(each.participants for each in found.strata)
    for place, each in enumerate(found.strata):
        axes.plot(each.interval, [place, place], color=COLOURS[0], linewidth=1.2)
        area = max(LARGEST * each.participants / most, 12.0)
        axes.scatter([each.difference], [place], s=area, marker="s", color=COLOURS[0])
    low, high = found.total.interval
    middle, end = found.total.difference, rows - 1
    axes.fill([low, middle, high, middle], [end, end - 0.25, end, end + 0.25], color=INK)
    axes.axvline(0.0, color=MUTED, linewidth=0.8)
    axes.axvline(middle, color=MUTED, linewidth=0.8, linestyle=":")
    names = [f"{each.name} ({each.participants})" for each in (*found.strata, found.total)]
    axes.set_yticks(range(rows), names)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xlabel(
        f"treatment - control, {100.0 * found.level:g} % intervals; "
        f"heterogeneity p = {found.p_heterogeneity:.2g}"
    )
    plain(axes)
    if path is not None:
        figure.savefig(path)
    return figure


def plain(axes: Axes) -> None:
    """No box around it."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def plot_characteristics(found: Characteristics, path: str | Path | None = None) -> Figure:
    """P(shown) over the effect, and the mean number of participants."""
    from .._figures import Picture, legend_below

    figure = Picture(figsize=(8.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for place, name in enumerate(found.designs):
        rows, hue = found.of(name), COLOURS[place % len(COLOURS)]
        gaps = [each.treatment - each.control for each in rows]
        shown = [each.rejected if each.is_null else each.right for each in rows]
        left.plot(gaps, shown, "o-", color=hue, label=name, markersize=4)
        right.plot(gaps, [each.participants for each in rows], "o-", color=hue, markersize=4)
    left.set_ylim(0.0, 1.02)
    left.set_ylabel("P(a difference is shown)")
    right.set_ylabel("mean participants")
    right.set_ylim(bottom=0.0)
    for axes in (left, right):
        axes.set_xlabel("treatment - control")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    legend_below(figure, [left])
    if path is not None:
        figure.savefig(path)
    return figure
