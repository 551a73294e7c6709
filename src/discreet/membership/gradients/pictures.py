"""Pictures: trade-off curves on log axes, and targets beside what they leak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...simulator.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..result import Scores
    from .data import Images

SHOWN = ("covariance, sum", "covariance, log-mean-exp", "scalar product, sum")


def draw_roc(axes: Axes, scores: Mapping[str, Scores], attacks: Sequence[str] = SHOWN) -> None:
    """Power against false alarms on log axes, down to half of one game, AUCs in the legend."""
    import numpy as np

    least = 1.0
    for attack, hue in zip(attacks, COLOURS, strict=False):
        found = scores[attack]
        lowest = 1.0 / found.rounds[1]
        least = min(least, lowest)
        curve = found.curve()
        axes.step(
            np.maximum(curve.level, lowest / 2.0), np.maximum(curve.power, lowest / 2.0),
            where="post", color=hue, linewidth=1.4, label=f"{attack} ({found.auc:.2f})",
        )  # fmt: skip
    axes.plot([least, 1.0], [least, 1.0], color="#888888", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(least * 0.8, 1.05)
    axes.set_ylim(least * 0.8, 1.1)
    axes.legend(fontsize="x-small", frameon=False, loc="lower right")


def roc_picture(found: Mapping[tuple[str, str], Scores], leakage: Mapping[str, float]) -> Figure:
    """Trade-off curves of every target, side by side."""
    from matplotlib.figure import Figure

    targets = list(dict.fromkeys(target for target, _ in found))
    figure = Figure(figsize=(3.6 * len(targets), 3.4), layout="constrained")
    for place, target in enumerate(targets):
        axes = figure.add_subplot(1, len(targets), place + 1)
        draw_roc(axes, {attack: scores for (of, attack), scores in found.items() if of == target})
        axes.set_title(f"{target} (m = {shown(leakage[target])})", fontsize="medium")
        axes.set_xlabel("false alarms")
        if not place:
            axes.set_ylabel("power")
    return figure


def faces_picture(images: Images, distances: Any, batch: int, count: int = 8) -> Figure:
    """The images that leak most, in the top row, and least, each with its m of a batch."""
    import numpy as np
    from matplotlib.figure import Figure

    order = np.argsort(np.asarray(distances), kind="stable")
    figure = Figure(figsize=(1.25 * count, 3.5), layout="constrained")
    for row, (chosen, word) in enumerate(
        ((order[::-1][:count], "easiest"), (order[:count], "hardest"))
    ):
        for place, at in enumerate(chosen):
            axes = figure.add_subplot(2, count, row * count + place + 1)
            axes.imshow(images.pixels[at], cmap="gray_r")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_title(f"m = {shown(float(distances[at]) / batch)}", fontsize="small")
            axes.set_xlabel(images.names[int(images.labels[at])], fontsize="small")
            if not place:
                axes.set_ylabel(word)
    return figure


def shown(leak: float) -> str:
    """Three digits, without an exponent.

    >>> shown(1779.36), shown(7.0257)
    ('1,779', '7.03')
    """
    return f"{leak:,.0f}" if leak >= 100.0 else f"{leak:.3g}"
