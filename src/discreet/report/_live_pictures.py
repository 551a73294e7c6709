"""Pictures of a live trial: assignments over time, and released means with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..simulator._plots import COLOURS
from ._pictures import INK, MUTED, WIDTH, frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..live._documents import Report


def assignments_picture(report: Report, days: list[float], across: str) -> Figure:
    """How many participants every arm had when each block was released, on which day."""
    figure, axes = _empty(3.2, across, "participants so far")
    course = report["course"]
    names = [str(arm["arm"]) for arm in report["arms"] or ()]
    for number, name in enumerate(names):
        counts = [entry["assigned"].get(name, 0) for entry in course]
        axes.step(
            days, counts, where="post", color=_colour(number), label=name, linewidth=1.6,
            marker="o", markersize=3,
        )  # fmt: skip
    most = max(count for entry in course for count in entry["assigned"].values())
    axes.set_ylim(0, 1.06 * max(most, 1))
    figure.legend(fontsize="small", frameon=False, loc="outside lower center", ncols=2)
    return figure


def means_picture(report: Report, days: list[float], across: str) -> Figure:
    """Released means over time; at the right, where each stands now and how far it may be off."""
    figure, axes = _empty(3.4, across, "released mean")
    dated = list(zip(days, report["course"], strict=True))
    end, room = days[-1], 0.05 * max(days[-1] - days[0], 1e-9)
    for number, arm in enumerate(report["arms"] or ()):
        own = [
            (day, entry["mean"])
            for day, entry in dated
            if entry["arm"] == arm["arm"] and entry["mean"] is not None
        ]
        colour = _colour(number)
        axes.plot(
            [day for day, _ in own], [mean for _, mean in own], color=colour, marker="o",
            markersize=3.5, linewidth=1.4, label=str(arm["arm"]),
        )  # fmt: skip
        span = arm.get("interval") or arm.get("bounds")
        if arm["mean"] is not None and span is not None:
            low, high = span
            axes.vlines(end + room * (1 + number), low, high, color=colour, linewidth=2.4)
            axes.plot([end + room * (1 + number)], [arm["mean"]], "o", color=colour, markersize=4)
    figure.legend(fontsize="small", frameon=False, loc="outside lower center", ncols=2)
    return figure


def _empty(height: float, across: str, up: str) -> tuple[Figure, Axes]:
    from .._figures import Picture as Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.tick_params(colors=MUTED)
    frame(axes, MUTED)
    return figure, axes


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
