"""Intervals as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._intervals import Intervals


def plot_intervals(found: Intervals, path: str | Path | None = None) -> Figure:
    """One line an arm, the estimate as a dot; saved if a path is given."""
    from .._figures import Picture as Figure
    from ._intervals import ABOUT

    rows = list(found)
    figure = Figure(figsize=(6.0, 0.6 + 0.4 * len(rows)), layout="constrained")
    axes = figure.subplots()
    names = [f"{r.arm}" if r.against is None else f"{r.arm} - {r.against}" for r in rows]
    for place, row in enumerate(rows):
        axes.plot([row.low, row.high], [place, place], color="C0", solid_capstyle="butt")
        if row.estimate is not None:
            axes.plot([row.estimate], [place], "o", color="C0")
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(f"{100.0 * found.level:g} % intervals{ABOUT[found.estimand]} ({found.kind})")
    if any(row.against is not None for row in rows):
        axes.axvline(0.0, color="0.7", linewidth=0.8)
    if path is not None:
        figure.savefig(path)
    return figure
