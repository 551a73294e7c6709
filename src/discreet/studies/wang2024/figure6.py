"""Figure 6: regret against δ at (a) ε = 0 and (b) ε = 0.1, T = 1e5.

The printed start phase of DP-FTPL-Gauss is 1/(4πδ²) pulls of every arm, at ε = 0.1 at most
100 log(e/(4πδ²)): at ε = 0 it fills T = 1e5 for δ < 0.0027. Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..base import Finding, Panel, Size, Statement
from ..excerpts import in_how_many
from ..measures import Measure
from .setting import GAUSS, NEW
from .sweep import (
    LITTLE,
    Part,
    Sweep,
    at_value,
    between,
    change_finding,
    lower_finding,
    regrets_of,
    slope_finding,
    smoother_finding,
)

DELTAS = (
    0.9, 0.5, 0.2, 0.1, 0.05, 0.03, 0.02, 0.015, 0.012, 0.01, 0.007, 0.005, 0.004, 0.003, 0.002,
    0.001, 0.0005, 0.0002, 0.0001,
)  # fmt: skip
WHERE = "section 8, figure 6"
CONSTANT = 1.5
"""A regret that changes by less than this factor is constant."""


@dataclass(frozen=True, kw_only=True)
class AgainstDelta(Sweep):
    """δ from 0.9 (1 is no budget) to 1e-4."""

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        a, b = self.part("a"), self.part("b")
        return [
            change_finding(
                Statement(
                    "at ε = 0 both regrets grow little while δ falls from 1 to 0.01 (here: by less "
                    f"than a factor of {LITTLE:g})",
                    f"{WHERE} (a)",
                ),
                panels, a, (NEW, GAUSS), 1.0, 0.01, LITTLE,
                "At δ = 0.01 the start phase takes 796 pulls of every arm.",
            ),
            slope_finding(
                Statement("at ε = 0 and δ < 0.01 DP-FTPL-Gauss grows as 1/δ²", f"{WHERE} (a)"),
                panels, a, GAUSS, -2.0, 0.003, 0.01,
                "Below δ = 0.0027 its start phase outlasts the horizon, and the regret stays.",
            ),
            slope_finding(
                Statement("at ε = 0 and δ < 0.01 DP-FTPL-New grows as 1/δ", f"{WHERE} (a)"),
                panels, a, NEW, -1.0, 0.001, 0.01,
                "Further down it nears the regret of a policy that learns nothing by T.",
            ),
            _three_parts(panels, b),
            lower_finding(panels, b, f"{WHERE} (b)"),
            smoother_finding(panels, b, f"{WHERE} (b)"),
        ]  # fmt: skip


def _three_parts(panels: Sequence[Panel], part: Part) -> Finding:
    from ..measures import log_slope

    regrets = regrets_of(panels, part, GAUSS)
    first = at_value(regrets, 0.02).value / at_value(regrets, 1.0).value
    steps = pairwise(between(regrets, 0.01, 0.02).items())
    steep = min((log_slope(dict(step)) for step in steps), key=lambda slope: slope.value)
    late = log_slope(between(regrets, 0.0001, 0.007))
    flat, rises, slower = first <= CONSTANT, steep.value <= -1.0, late.value > steep.value / 2
    return Finding(
        Statement(
            "at ε = 0.1 DP-FTPL-Gauss has three parts: constant down to δ = 0.02, steep (1/δ²) to "
            "0.01, then much slower",
            f"{WHERE} (b)",
        ),
        in_how_many([flat, rises, slower]),
        {
            "regret at δ = 0.02 / at 1": Measure(first),
            "steepest slope of log regret between neighbours, 0.01 <= δ <= 0.02": Measure(
                steep.value
            ),
            "slope of log regret, 0.0001 <= δ <= 0.007": late,
        },
        f"Constant: by less than a factor of {CONSTANT:g}; steep: a slope of -1 or below; "
        "slower: half of that or less. The printed minimum passes to log(1/δ)/ε² at δ = 0.011.",
    )


FIGURE = AgainstDelta(
    study="wang2024",
    number="6",
    title="Regret against δ",
    reference="wang2024",
    full=Size(10**5, 100, 2),
    quick=Size(10**5, 3, 2),
    parts=(Part("a", "epsilon", 0.0, DELTAS), Part("b", "epsilon", 0.1, DELTAS)),
    note="A start phase that outlasts the horizon plays the arms one after the other, from the "
    "worst: there the regret says nothing about the policy. The intervals of the slopes and all "
    "tolerances are ours, set after a first look at runs of three.",
)
