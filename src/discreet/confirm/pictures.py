"""Pictures of conclusions: forest plots, and operating characteristics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..simulator.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .strata import Forest

INK, MUTED = "#333c46", "#6b7683"
LARGEST = 140.0
"""Area of the largest square, in points²."""


def plot_forest(found: Forest, path: str | Path | None = None) -> Figure:
    """Strata from the top, the common effect below them."""
    from matplotlib.figure import Figure

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
