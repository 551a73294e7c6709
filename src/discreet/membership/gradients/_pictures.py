"""Pictures: trade-off curves on log axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...simulator._plots import COLOURS
from ._epochs import FROZEN, LOG_MEAN_EXP, SCALAR, SUM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .._result import Scores

SHOWN = (SUM, FROZEN, LOG_MEAN_EXP, SCALAR)


def draw_roc(
    axes: Axes,
    scores: Mapping[str, Scores],
    attacks: Sequence[str] = SHOWN,
    predicted: float | None = None,
) -> None:
    """Power against false alarms on log axes, down to half of one game, AUCs in the legend.

    `predicted`, the AUC of the frozen sum by theory, is drawn dotted: Φ(Φ⁻¹(α) + κ).
    """
    from scipy.special import ndtr, ndtri

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
    if predicted is not None:
        level = np.geomspace(least / 2.0, 1.0, 200)[:-1]
        power = ndtr(ndtri(level) + np.sqrt(2.0) * ndtri(min(predicted, 1.0 - 1e-12)))
        hue = dict(zip(attacks, COLOURS, strict=False)).get(FROZEN, "#888888")
        axes.plot(
            level, power, color=hue, linewidth=1.2, linestyle=":",
            label=f"frozen sum, theory ({predicted:.2f})",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(least * 0.8, 1.05)
    axes.set_ylim(least * 0.8, 1.1)
    axes.legend(fontsize="x-small", frameon=False, loc="lower right")


def roc_picture(
    found: Mapping[tuple[str, str], Scores],
    leakage: Mapping[str, float],
    predicted: Mapping[str, float] | None = None,
) -> Figure:
    """Trade-off curves of every target, next to each other; `predicted` as in `draw_roc`, by
    target."""
    from ..._figures import Picture as Figure

    targets = list(dict.fromkeys(target for target, _ in found))
    figure = Figure(figsize=(3.8 * len(targets), 3.6), layout="constrained")
    for place, target in enumerate(targets):
        axes = figure.add_subplot(1, len(targets), place + 1)
        own = {attack: scores for (of, attack), scores in found.items() if of == target}
        draw_roc(axes, own, predicted=None if predicted is None else predicted[target])
        axes.set_title(f"{target} (m = {shown(leakage[target])})", fontsize="medium")
        axes.set_xlabel("false alarms")
        if not place:
            axes.set_ylabel("power")
    return figure


def shown(leak: float) -> str:
    """Three digits, without an exponent.

    >>> shown(1779.36), shown(7.0257)
    ('1,779', '7.03')
    """
    return f"{leak:,.0f}" if leak >= 100.0 else f"{leak:.3g}"
