"""Figures 6 and 7: DP-FTPL-New and DP-FTPL-Gauss on instance 1 while δ or ε shrinks, T = 1e5.

The bounds of the extra regret are  Gauss N min{1/δ², log(1/δ)/ε²},  New (N/ε) log(1 + (e^ε-1)/δ):
straight lines on log-log axes, of slope -2 and -1, as long as privacy dominates the regret and the
start phases end before the horizon. Slopes are fitted there, to the regret and to the extra regret,
which is the regret less that at the loosest budget. Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ..base import Figure, Finding, Lab, Panel, Statement, Verdict
from ..excerpts import in_how_many
from ..measures import Measure, clearly_above, difference, final_regret, ratio
from ..pictures import canvas, colours, draw_measures, dress
from .setting import GAUSS, GAUSS_EXACT, NEW, bandit, leader_pair

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

INSTANCE = "instance 1"
CURVES = (NEW, GAUSS, GAUSS_EXACT)
STEEP = 0.25
"""A slope is met within this."""
LITTLE = 5.0
"""A regret that grows by less than this factor grows little, for a budget a hundredfold smaller."""
FLAT = 1.1
"""A regret that changes by less than this factor is constant."""

Regrets = dict[float, Measure]


@dataclass(frozen=True)
class Part:
    """One of a figure's two pictures: what is fixed, what varies, over which values."""

    letter: str
    fixed: str
    """ "epsilon" or "delta" """
    at: float
    values: tuple[float, ...]
    """from the loosest to the tightest"""

    @property
    def varied(self) -> str:
        """The other of the two."""
        return "delta" if self.fixed == "epsilon" else "epsilon"

    @property
    def title(self) -> str:
        """ "(a) ε = 0"."""
        return f"({self.letter}) {SYMBOLS[self.fixed]} = {self.at:g}"


SYMBOLS = {"epsilon": "ε", "delta": "δ"}


@dataclass(frozen=True, kw_only=True)
class Sweep(Figure):
    """Both leaders at many budgets."""

    parts: tuple[Part, ...]

    def panels(self, lab: Lab) -> list[Panel]:
        law = bandit(INSTANCE)
        panels = []
        for part in self.parts:
            for value in part.values:
                swept = part.fixed == "epsilon"
                epsilon, delta = (part.at, value) if swept else (value, part.at)
                setting = f"{part.title}, {SYMBOLS[part.varied]} = {value:g}"
                curves = leader_pair(epsilon, delta)
                panels.append(lab.compare(setting, curves, law, epsilon=epsilon, delta=delta))
        return panels

    def draw(self, panels: Sequence[Panel]) -> Picture:
        picture, all_axes = canvas(len(self.parts))
        hues = colours(CURVES)
        for axes, part in zip(all_axes, self.parts, strict=True):
            for label in CURVES:
                found = regrets_of(panels, part, label)
                draw_measures(axes, list(found), list(found.values()), label, hues[label])
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.invert_xaxis()
            horizon = panels[0][NEW].horizon
            dress(axes, f"{part.title}, T = {horizon:.0e}", SYMBOLS[part.varied], "regret at T")
        return picture

    def part(self, letter: str) -> Part:
        """A part by its letter."""
        return next(part for part in self.parts if part.letter == letter)


def regrets_of(panels: Sequence[Panel], part: Part, label: str) -> Regrets:
    """Regret at T by the value that varies."""
    return {
        panel.values[part.varied]: final_regret(panel[label])
        for panel in panels
        if panel.setting.startswith(part.title + ",")
    }


def between(regrets: Regrets, low: float, high: float) -> Regrets:
    """The values in a closed interval, which rounding does not narrow."""
    return {x: m for x, m in regrets.items() if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)}


def extra(regrets: Regrets) -> Regrets:
    """What privacy costs: regret less that at the loosest budget, where this is a tenth of it."""
    loosest = regrets[max(regrets)]
    costs = {x: difference(m, loosest) for x, m in regrets.items()}
    return {x: cost for x, cost in costs.items() if cost.value >= 0.1 * loosest.value}


def slope_finding(
    claim: Statement, panels: Sequence[Panel], part: Part, label: str, published: float,
    low: float, high: float, why: str,
) -> Finding:  # fmt: skip
    """The slope of log regret over an interval, against a published one.

    Regret is between the larger and the sum of what privacy and learning cost, so the slope that
    privacy alone would have is between those of the regret and of the extra regret.
    """
    from ..measures import log_slope

    regrets = regrets_of(panels, part, label)
    inside = between(regrets, low, high)
    costs = between(extra(regrets), low, high)
    whole = log_slope(inside)
    alone = log_slope(costs) if len(costs) > 1 else whole
    shallow, steep = max(whole.value, alone.value), min(whole.value, alone.value)
    met = steep - STEEP <= published <= shallow + STEEP
    symbol = SYMBOLS[part.varied]
    place = f"in log {symbol}, {low:g} <= {symbol} <= {high:g}"
    return Finding(
        claim,
        Verdict.REPRODUCED
        if met
        else Verdict.DIFFERS
        if shallow <= -STEEP
        else Verdict.NOT_REPRODUCED,
        {
            f"{label}: slope of log regret {place}": whole,
            f"{label}: slope of log extra regret {place}": alone,
            f"{label}: regret at {symbol} = {min(inside):g}": regrets[min(inside)],
            f"{label}: regret at {symbol} = {max(regrets):g}": regrets[max(regrets)],
        },
        f"Published {published:g}: met within {STEEP:g} of the two slopes or between them. {why}",
    )


def change_finding(
    claim: Statement, panels: Sequence[Panel], part: Part, labels: Sequence[str],
    loose: float, tight: float, factor: float, why: str,
) -> Finding:  # fmt: skip
    """Whether the regret from one budget to a tighter one stays within a factor."""
    measured, holds = {}, []
    symbol = SYMBOLS[part.varied]
    for label in labels:
        regrets = regrets_of(panels, part, label)
        found = ratio(at_value(regrets, tight), at_value(regrets, loose))
        measured[f"{label}: regret at {symbol} = {tight:g} / at {loose:g}"] = found
        holds.append(found.value <= factor)
    return Finding(claim, in_how_many(holds), measured, why)


def at_value(regrets: Regrets, value: float) -> Measure:
    """The regret at the nearest value."""
    return regrets[min(regrets, key=lambda x: abs(x - value))]


def lower_finding(panels: Sequence[Panel], part: Part, where: str) -> Finding:
    """DP-FTPL-New is below DP-FTPL-Gauss at every budget of a part."""
    new, gauss = regrets_of(panels, part, NEW), regrets_of(panels, part, GAUSS)
    holds = [clearly_above(gauss[x], new[x]) for x in new]
    ratios = {x: ratio(gauss[x], new[x]) for x in new}
    ascending = sorted(ratios, key=lambda x: ratios[x].value)
    low, high = ascending[0], ascending[-1]
    symbol = SYMBOLS[part.varied]
    return Finding(
        Statement(f"DP-FTPL-New has the lower regret of the two, {part.title[4:]}", where),
        in_how_many(holds),
        {
            f"smallest {GAUSS} / {NEW}, at {symbol} = {low:g}": ratios[low],
            f"largest {GAUSS} / {NEW}, at {symbol} = {high:g}": ratios[high],
            "budgets where it is lower": Measure(float(sum(holds))),
            "budgets": Measure(float(len(holds))),
        },
        "Start phase as printed; lower by two standard errors.",
    )


def smoother_finding(panels: Sequence[Panel], part: Part, where: str) -> Finding:
    """The largest step between neighbouring budgets is smaller for DP-FTPL-New."""
    jumps = {}
    for label in (NEW, GAUSS):
        regrets = regrets_of(panels, part, label).values()
        jumps[label] = max((ratio(b, a) for a, b in pairwise(regrets)), key=lambda step: step.value)
    smoother = clearly_above(jumps[GAUSS], jumps[NEW])
    return Finding(
        Statement(f"the curve of DP-FTPL-New is the smoother, {part.title[4:]}", where),
        Verdict.REPRODUCED if smoother else Verdict.NOT_REPRODUCED,
        {f"{label}: largest factor between neighbours": step for label, step in jumps.items()},
        "The largest step between two budgets of the sweep, start phase as printed.",
    )
