"""Figures that notebooks show by themselves, and that print with fonts which publishers take.

>>> picture = Picture(figsize=(2.0, 1.0))
>>> picture._repr_png_()[1:4]
b'PNG'

Imported late: it imports matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import rc_context, rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

SMALL = 0.833
"""The size of a legend's letters beside others: matplotlib's "small"."""
FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""TrueType: type 3, which matplotlib takes by itself, is refused by many publishers."""
STYLES: Mapping[str, dict[Any, Any]] = {
    "screen": {},
    "paper": {
        "font.size": 8.0, "axes.titlesize": 8.0, "axes.linewidth": 0.6, "lines.linewidth": 1.1,
        "lines.markersize": 3.5, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    },
}  # fmt: skip
SIZES = {"screen": (7.2, 4.2), "paper": (3.4, 2.4)}
"""Inches of one panel without its legend: a screen's, and a column of a two-column paper."""
WIDEST = {"screen": 14.4, "paper": 7.0}
"""Inches of panels next to each other."""
DPI = {"screen": 150, "paper": 300}


class Picture(Figure):
    """A figure of matplotlib that needs neither pyplot nor a magic command to be seen."""

    def savefig(self, fname: Any, *, transparent: bool | None = None, **kwargs: Any) -> None:
        """Write it; a PDF holds TrueType fonts."""
        with rc_context(FONTS):
            super().savefig(fname, transparent=transparent, **kwargs)

    def _repr_png_(self) -> bytes:
        """For notebooks."""
        file = io.BytesIO()
        self.savefig(file, format="png", dpi=100)
        return file.getvalue()


def legend_below(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for a figure in constrained layout, under its panels: it covers no data.
    The figure grows by the height of it."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        return
    size = float(rcParams["font.size"]) * SMALL
    letters = figure.get_figwidth() * 72.0 / (0.55 * size)
    columns = max(1, min(len(found), int(letters / (max(map(len, found)) + 8))))
    lines = -(-len(found) // columns)
    figure.set_figheight(figure.get_figheight() + 1.5 * size / 72.0 * lines)
    figure.legend(
        list(found.values()), list(found), fontsize=size, frameon=False,
        loc="outside lower center", ncols=columns,
    )  # fmt: skip


def legend_beside(axes: Axes) -> None:
    """A legend to the right of someone else's axes, outside of them."""
    if axes.get_legend_handles_labels()[1]:
        axes.legend(
            fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0),
            borderaxespad=0.0,
        )  # fmt: skip
