"""Pictures for reports: curves of regret, and the price of privacy.

A policy has one colour in all of them, and its non-private twin has the same one, dashed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..policies import CATALOGUE
from ..simulator._plots import COLOURS
from ._numbers import Estimate, count

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..simulator import Result

INK, MUTED, GRID = "#333c46", "#6b7683", "#e3e7eb"
WIDTH = 7.6
LABEL_HEIGHT = 0.058
"""The least distance between two labels, as a share of the height of the axes."""


@dataclass(frozen=True)
class Price:
    """What one private policy loses against its twin, at one ε."""

    policy: str
    twin: str
    epsilon: float
    patients: Estimate
    """Extra patients on a worse arm."""
    successes: Estimate
    """Extra successes lost."""


def title(name: str) -> str:
    """The name of a policy as its paper writes it."""
    return CATALOGUE[name].title if name in CATALOGUE else name


def twin(name: str) -> str:
    """The policy without privacy whose rule a private one adapts; empty if there is none."""
    return CATALOGUE[name].twin if name in CATALOGUE else ""


class Palette:
    """One colour for every policy: the same in all pictures of a report, and a twin's too."""

    def __init__(self, names: Iterable[str]) -> None:
        self.of: dict[str, str] = {}
        names = list(dict.fromkeys(names))
        for name in sorted(names, key=lambda name: not twin(name)):  # private ones first
            if name not in self.of:
                self.of[name] = COLOURS[len(set(self.of.values())) % len(COLOURS)]
            if twin(name) in names:
                self.of.setdefault(twin(name), self.of[name])

    def __getitem__(self, name: str) -> str:
        return self.of.get(name, MUTED)


def regret_picture(
    results: Iterable[Result],
    *,
    across: str = "rounds",
    up: str = "mean regret",
    heading: str = "",
    since: int = 10,
    height: float = 4.4,
    baseline: tuple[str, float] | None = None,
    palette: Palette | None = None,
) -> Figure:
    """Mean regret against time, both logarithmic, with ±2 standard errors; labels at the ends.

    `baseline` is the name and the regret per round of something that does not learn.
    """
    results = list(results)
    colours = palette or Palette(result.name for result in results)
    import numpy as np

    figure, axes = _canvas(height, right=0.76)
    ends: list[tuple[float, str, str]] = []
    highest, last = 1.0, since
    for result in results:
        mean = result.mean_regret
        shown = np.isfinite(mean) & (result.t >= since)
        t, mean = result.t[shown], mean[shown]
        half = 2.0 * result.sd_regret[shown] / np.sqrt(max(result.runs, 1))
        private = result.guarantee.is_private
        hue = colours[result.name]
        axes.plot(t, mean, "-" if private else "--", color=hue, linewidth=1.9 if private else 1.4)
        low = np.maximum(mean - half, 1e-3)
        axes.fill_between(t, low, mean + half, color=hue, alpha=0.16, linewidth=0)
        ends.append((float(mean[-1]), title(result.name), hue))
        highest, last = max(highest, float(mean.max())), max(last, int(t[-1]))
    if baseline is not None:
        name, slope = baseline
        axes.plot([since, last], [since * slope, last * slope], ":", color=MUTED, linewidth=1.4)
        ends.append((last * slope, name, MUTED))
        highest = max(highest, last * slope)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(since, last)
    axes.set_ylim(1.0, 1.6 * highest)
    _words(axes, across, up, heading)
    _end_labels(axes, last, ends)
    return figure


def price_picture(
    prices: Sequence[Price], *, up: str, heading: str = "", palette: Palette | None = None
) -> Figure:
    """The price of privacy against ε, with bars of ±2 standard errors."""
    colours = palette or Palette(price.policy for price in prices)
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, axes = _canvas(4.2, right=0.76)
    ends: list[tuple[float, str, str]] = []
    for name in dict.fromkeys(price.policy for price in prices):
        own = sorted((p for p in prices if p.policy == name), key=lambda p: p.epsilon)
        hue = colours[name]
        axes.errorbar(
            [p.epsilon for p in own],
            [p.patients.mean for p in own],
            yerr=[2.0 * _known(p.patients.error) for p in own],
            color=hue, linewidth=1.9, marker="o", markersize=4.5, capsize=3,
        )  # fmt: skip
        ends.append((own[-1].patients.mean, title(name), hue))
    epsilons = sorted({p.epsilon for p in prices})
    axes.axhline(0.0, color=INK, linewidth=1.0)
    axes.set_xscale("log")
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
    axes.set_yscale("symlog", linthresh=100.0, linscale=0.7)
    bars = [(p.patients.mean, 2.0 * _known(p.patients.error)) for p in prices]
    highest = max(mean + half for mean, half in bars)
    lowest = min(mean - half for mean, half in bars)
    axes.set_ylim(min(-30.0, 1.15 * lowest), 10.0 ** math.ceil(math.log10(max(highest, 200.0))))
    ticks = [s * 10.0**k for k in range(2, 9) for s in (-1, 1)] + [0.0]
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: count(y)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(epsilons))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    _words(axes, "ε: strong privacy on the left, weak on the right", up, heading)
    _end_labels(axes, epsilons[-1] * 1.15, ends)
    return figure


def _known(error: float) -> float:
    """The error, or 0 where a single run leaves it unknown."""
    return error if math.isfinite(error) else 0.0


def _canvas(height: float, right: float) -> tuple[Figure, Axes]:
    from .._figures import Picture as Figure

    figure = Figure(figsize=(WIDTH, height))
    figure.subplots_adjust(left=0.115, right=right, top=0.92, bottom=0.125)
    axes = figure.add_subplot()
    frame(axes, INK)
    axes.tick_params(colors=INK, labelsize=9.5)
    return figure, axes


def frame(axes: Axes, hue: str) -> None:
    """A faint grid behind the curves, and lines at the left and below."""
    axes.grid(color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(hue)


def _words(axes: Axes, across: str, up: str, heading: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogFormatter, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), LogFormatter):
            large = axis.get_view_interval()[1] >= 1e7
            axis.set_major_formatter(FuncFormatter(_power if large else _plain))
            axis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(across, color=INK, fontsize=10)
    axes.set_title(up, loc="left", color=INK, fontsize=10)
    if heading:
        figure = axes.figure
        figure.subplots_adjust(top=0.84)
        figure.text(0.02, 0.955, heading, color=INK, fontsize=11, fontweight="bold", va="center")


def _plain(value: float, _: object) -> str:
    return count(value) if value >= 1 else f"{value:g}"


def _power(value: float, _: object) -> str:
    digits = str(round(math.log10(value)))
    return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in digits if digit.isdigit())


def _end_labels(axes: Axes, x: float, ends: list[tuple[float, str, str]]) -> None:
    """Names at the ends of the curves, moved apart where they would overlap."""
    to_axes = axes.transData + axes.transAxes.inverted()
    least = 1e-3 if axes.get_yscale() == "log" else -math.inf
    heights = [float(to_axes.transform((x, max(y, least)))[1]) for y, _, _ in ends]
    order = sorted(range(len(ends)), key=lambda i: heights[i])
    for place, i in zip(_apart([heights[i] for i in order]), order, strict=True):
        _, name, hue = ends[i]
        line = {"arrowstyle": "-", "color": hue, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 1}
        axes.annotate(
            name, xy=(1.0, heights[i]), xycoords="axes fraction",
            xytext=(1.045, place), textcoords="axes fraction",
            va="center", ha="left", color=hue, fontsize=10, annotation_clip=False,
            arrowprops=line,
        )  # fmt: skip


def _apart(heights: Sequence[float]) -> list[float]:
    """Ascending heights, spread so that neighbours keep their distance and groups their centre."""
    groups: list[list[float]] = []
    for height in heights:
        groups.append([height, 1.0])
        while len(groups) > 1:
            (low, many), (high, more) = groups[-2], groups[-1]
            if high - low >= LABEL_HEIGHT * (many + more) / 2:
                break
            total = many + more
            groups[-2:] = [[(low * many + high * more) / total, total]]
    places: list[float] = []
    for centre, size in groups:
        start = centre - LABEL_HEIGHT * (size - 1) / 2
        places += [start + LABEL_HEIGHT * i for i in range(int(size))]
    return places


def save_picture(figure: Figure, path: str | Path) -> Path:
    """Write a figure (PNG, SVG or PDF by its ending), whole or not at all."""
    from ..simulator._files import written_whole
    from ._page import check_path, svg

    path = check_path(path, "picture")
    with written_whole(path) as temporary:
        if path.suffix == ".svg":
            temporary.write_bytes(svg(figure))
        else:
            figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=150)
    return path
