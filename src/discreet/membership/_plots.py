"""Pictures of games: how scores are spread, and what the attacker reaches at every level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..simulator._plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..privacy._tradeoff import Tradeoff
    from ._curve import Curve
    from ._result import Scores

SMALLEST_LEVEL = 1e-4


def plot_scores(
    scores: Scores,
    *,
    theory: Mapping[str, Curve] | None = None,
    path: str | Path | None = None,
    title: str | None = None,
) -> Figure:
    """Left the scores of members and non-members, right the trade-off curve.

    `theory` are curves to compare with, drawn dotted under their names. `path` saves the figure
    (PNG, SVG, PDF by its ending).
    """
    from .._figures import Picture as Figure

    figure = Figure(figsize=(9.2, 3.8), layout="constrained")
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    draw_histograms(left, scores)
    draw_curve(right, scores.curve(), scores.name, COLOURS[0])
    for number, (name, curve) in enumerate((theory or {}).items()):
        draw_curve(right, curve, name, COLOURS[(number + 1) % len(COLOURS)], line=":")
    dress_curves(right)
    figure.suptitle(title or "")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def draw_histograms(axes: Axes, scores: Scores, bins: int = 60) -> None:
    """The finite scores of both sides."""
    sides = {"non-members": scores.nonmembers, "members": scores.members}
    shown = {name: side[np.isfinite(side)] for name, side in sides.items()}
    pooled = np.concatenate(list(shown.values()))
    edges: int | list[float] = bins
    if len(pooled):
        edges = np.histogram_bin_edges(pooled, bins).tolist()
    for hue, (name, side) in zip(COLOURS[:2], shown.items(), strict=True):
        axes.hist(side, edges, density=True, alpha=0.45, color=hue, label=name)
    axes.set_xlabel(f"score: {scores.name}")
    axes.set_ylabel("density")
    axes.legend(fontsize="small", frameon=False, loc="upper left")


def draw_curve(axes: Axes, curve: Curve, name: str, hue: str, line: str = "-") -> None:
    """Power against level, both from a level that a logarithm can show."""
    level = np.geomspace(SMALLEST_LEVEL, 1.0, 240)
    power = np.interp(level, curve.level, curve.power)
    axes.plot(level, power, line, color=hue, label=name, linewidth=1.7)


def dress_curves(axes: Axes) -> None:
    """Logarithmic levels, the coin that knows nothing, words."""
    level = np.geomspace(SMALLEST_LEVEL, 1.0, 60)
    axes.plot(level, level, "--", color="#999999", linewidth=1.0, label="a coin")
    axes.set_xscale("log")
    axes.set_xlabel("false alarms (level)")
    axes.set_ylabel("members found (power)")
    axes.set_ylim(0.0, 1.02)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small", frameon=False, loc="upper left")


def plot_tradeoffs(
    tradeoffs: Mapping[str, Tradeoff], *, measured: Mapping[str, Curve] | None = None,
    path: str | Path | None = None, title: str | None = None,
) -> Figure:  # fmt: skip
    """The largest power that budgets allow, and measured curves below them."""
    return _drawn(lambda axes: draw_tradeoffs(axes, tradeoffs, measured), path, title)


def draw_tradeoffs(
    axes: Axes, tradeoffs: Mapping[str, Tradeoff], measured: Mapping[str, Curve] | None = None
) -> None:
    """Budgets as solid lines with the region below them shaded, measured curves dashed."""
    level = np.geomspace(SMALLEST_LEVEL, 1.0, 120)
    for number, (name, tradeoff) in enumerate(tradeoffs.items()):
        hue = COLOURS[number % len(COLOURS)]
        power = [tradeoff.power(float(x)) for x in level]
        axes.plot(level, power, color=hue, label=name, linewidth=1.7)
        axes.fill_between(level, level, power, color=hue, alpha=0.10, linewidth=0)
    for number, (name, curve) in enumerate((measured or {}).items()):
        hue = COLOURS[(len(tradeoffs) + number) % len(COLOURS)]
        draw_curve(axes, curve, name, hue, line="--")
    dress_curves(axes)


def plot_curves(
    curves: Mapping[str, Curve], *, path: str | Path | None = None, title: str | None = None
) -> Figure:
    """Trade-off curves by name."""

    def draw(axes: Axes) -> None:
        for number, (name, curve) in enumerate(curves.items()):
            draw_curve(axes, curve, name, COLOURS[number % len(COLOURS)])
        dress_curves(axes)

    return _drawn(draw, path, title)


def _drawn(draw: Callable[[Axes], None], path: str | Path | None, title: str | None) -> Figure:
    """A figure of one picture, saved if a path is given."""
    from .._figures import Picture as Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    axes.set_title(title or "")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
