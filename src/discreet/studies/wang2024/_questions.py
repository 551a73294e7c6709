"""What figures 6 and 7 are asked: slopes, growth, order and smoothness of regret against a budget.

Slopes are of log regret in log ε or log δ. Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .._base import Finding, Mark, Panel, Statement, Verdict
from .._excerpts import above, as_far_as_told, in_how_many
from .._measures import Measure, clearly_above, log_slope, ratio
from ._setting import GAUSS, NEW
from ._sweep import SYMBOLS, Part, Question, at_value, between, extra, horizon_of, regrets_of

STEEP = 0.25
"""A slope is met within this."""
LITTLE = 5.0
"""A regret that grows by less than this factor grows little, for a budget a hundredfold smaller."""
FLAT = 1.1
"""A regret that changes by less than this factor does not change."""
CONSTANT = 1.5
"""A regret that changes by less than this factor, before it rises steeply, is constant."""


@dataclass(frozen=True)
class Slope(Question):
    """The slope of log regret over an interval, against a published one.

    Regret is between the larger and the sum of what privacy and learning cost, so the slope that
    privacy alone would have is between those of the regret and of the extra regret.
    """

    part: str
    claim: str
    label: str
    published: float
    low: float
    high: float
    why: str

    def answer(self, panels: Sequence[Panel], part: Part, where: str) -> Finding:
        label, low, high = self.label, self.low, self.high
        regrets = regrets_of(panels, part, label)
        inside = between(regrets, low, high)
        costs = between(extra(regrets), low, high)
        whole = log_slope(inside)
        alone = log_slope(costs) if len(costs) > 1 else whole
        shallow, steep = max(whole.value, alone.value), min(whole.value, alone.value)
        met = steep - STEEP <= self.published <= shallow + STEEP
        verdict = Verdict.of(met, shallow <= -STEEP)
        if part.blind(label, inside, horizon_of(panels)):
            verdict = Verdict.CANNOT_TELL
        symbol = SYMBOLS[part.varied]
        place = f"in log {symbol}, {low:g} <= {symbol} <= {high:g}"
        return Finding(
            Statement(self.claim, where),
            verdict,
            {
                f"{label}: slope of log regret {place}": whole,
                f"{label}: slope of log extra regret {place}": alone,
                f"{label}: regret at {symbol} = {min(inside):g}": regrets[min(inside)],
                f"{label}: regret at {symbol} = {max(regrets):g}": regrets[max(regrets)],
            },
            f"Published {self.published:g}: met within {STEEP:g} of the two slopes or between "
            f"them. {self.why}",
            (Mark.AFTER,),
        )


@dataclass(frozen=True)
class Change(Question):
    """Whether the regret from one budget to a tighter one stays within a factor."""

    part: str
    claim: str
    labels: tuple[str, ...]
    loose: float
    tight: float
    factor: float
    why: str

    def answer(self, panels: Sequence[Panel], part: Part, where: str) -> Finding:
        measured, holds = {}, []
        symbol = SYMBOLS[part.varied]
        for label in self.labels:
            regrets = regrets_of(panels, part, label)
            found = ratio(at_value(regrets, self.tight), at_value(regrets, self.loose))
            name = f"{label}: regret at {symbol} = {self.tight:g} / at {self.loose:g}"
            measured[name] = found
            holds.append(found.value <= self.factor)
        verdict, ends = in_how_many(holds), (self.loose, self.tight)
        if any(part.blind(label, ends, horizon_of(panels)) for label in self.labels):
            verdict = Verdict.CANNOT_TELL
        return Finding(Statement(self.claim, where), verdict, measured, self.why, (Mark.AFTER,))


@dataclass(frozen=True)
class Lower(Question):
    """DP-FTPL-New is below DP-FTPL-Gauss at every budget of a part."""

    part: str

    def answer(self, panels: Sequence[Panel], part: Part, where: str) -> Finding:
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


@dataclass(frozen=True)
class Smoother(Question):
    """The largest step between neighbouring budgets is smaller for DP-FTPL-New."""

    part: str

    def answer(self, panels: Sequence[Panel], part: Part, where: str) -> Finding:
        jumps = {}
        for label in (NEW, GAUSS):
            steps = pairwise(regrets_of(panels, part, label).values())
            jumps[label] = max((ratio(b, a) for a, b in steps), key=lambda step: step.value)
        return Finding(
            Statement(f"the curve of DP-FTPL-New is the smoother, {part.title[4:]}", where),
            as_far_as_told([above(jumps[GAUSS], jumps[NEW])]),
            {f"{label}: largest factor between neighbours": step for label, step in jumps.items()},
            "The largest step between two budgets of the sweep, start phase as printed; undecided "
            "within two standard errors.",
        )


@dataclass(frozen=True)
class ThreeParts(Question):
    """A regret that is constant, then steep, then slower: the budgets where it changes."""

    part: str
    claim: str
    label: str
    steep: tuple[float, float]
    late: tuple[float, float]
    why: str

    def answer(self, panels: Sequence[Panel], part: Part, where: str) -> Finding:
        regrets, symbol = regrets_of(panels, part, self.label), SYMBOLS[part.varied]
        (low, high), loosest = self.steep, max(regrets)
        first = at_value(regrets, high).value / regrets[loosest].value
        steps = pairwise(between(regrets, low, high).items())
        steep = min((log_slope(dict(step)) for step in steps), key=lambda slope: slope.value)
        late = log_slope(between(regrets, *self.late))
        flat, rises, slower = first <= CONSTANT, steep.value <= -1.0, late.value > steep.value / 2
        last = f"{self.late[0]:g} <= {symbol} <= {self.late[1]:g}"
        return Finding(
            Statement(self.claim, where),
            in_how_many([flat, rises, slower]),
            {
                f"regret at {symbol} = {high:g} / at {loosest:g}": Measure(first),
                f"steepest slope of log regret between neighbours, {low:g} <= {symbol} <= "
                f"{high:g}": Measure(steep.value),
                f"slope of log regret, {last}": late,
            },
            f"Constant: by less than a factor of {CONSTANT:g}; steep: a slope of -1 or below; "
            f"slower: half of that or less. {self.why}",
            (Mark.AFTER,),
        )
