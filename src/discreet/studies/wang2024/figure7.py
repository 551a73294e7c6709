"""Figure 7: regret against ε at (a) δ = 1e-10 and (b) δ = 0.001, T = 1e5.

The printed start phase of DP-FTPL-Gauss is log(e/(4πδ²))/ε² pulls of every arm, (a) 44.5/ε², which
fills T = 1e5 for ε < 0.063, (b) 12.3/ε², for ε < 0.033. Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..base import Finding, Panel, Size, Statement
from .setting import GAUSS, NEW
from .sweep import FLAT, LITTLE, Part, Sweep, change_finding, slope_finding, smoother_finding

EPSILONS = (
    5.0, 2.0, 1.0, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, 0.005,
)  # fmt: skip
SMALLER = (0.001, 1e-4, 1e-5)
"""Further ε of (b), where δ takes over."""
WHERE = "section 8, figure 7"


@dataclass(frozen=True, kw_only=True)
class AgainstEpsilon(Sweep):
    """ε from 5 down."""

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        a, b = self.part("a"), self.part("b")
        return [
            change_finding(
                Statement(
                    "at δ = 1e-10 both regrets grow little at first (here: by less than a factor "
                    f"of {LITTLE:g} from ε = 5 to 0.5)",
                    f"{WHERE} (a)",
                ),
                panels, a, (NEW, GAUSS), 5.0, 0.5, LITTLE,
                "At ε = 0.5 the start phase takes 179 pulls of every arm.",
            ),
            slope_finding(
                Statement("at δ = 1e-10 DP-FTPL-Gauss grows as 1/ε²", f"{WHERE} (a)"),
                panels, a, GAUSS, -2.0, 0.07, 0.2,
                "Below ε = 0.063 its start phase outlasts the horizon.",
            ),
            slope_finding(
                Statement("at δ = 1e-10 DP-FTPL-New grows as 1/ε", f"{WHERE} (a)"),
                panels, a, NEW, -1.0, 0.02, 0.2,
                "The text names DP-FTPL-Gauss twice; the second is DP-FTPL-New by its bound.",
            ),
            slope_finding(
                Statement(
                    "at δ = 0.001 the second part of DP-FTPL-Gauss grows as 1/ε²", f"{WHERE} (b)"
                ),
                panels, b, GAUSS, -2.0, 0.04, 0.1,
                "Below ε = 0.033 its start phase outlasts the horizon.",
            ),
            change_finding(
                Statement(
                    "at δ = 0.001 DP-FTPL-Gauss does not increase at all in its third part",
                    f"{WHERE} (b)",
                ),
                panels, b, (GAUSS,), 0.01, 1e-5, FLAT,
                "Within a factor of 1.1. The printed minimum passes to 1/(4πδ²) = 79578 pulls at "
                "ε = 0.012, nine times which is beyond T = 1e5: the horizon flattens it already.",
            ),
            change_finding(
                Statement(
                    "at δ = 0.001 DP-FTPL-New almost stops increasing for ε < 1e-4", f"{WHERE} (b)"
                ),
                panels, b, (NEW,), 1e-4, 1e-5, FLAT, "Within a factor of 1.1.",
            ),
            smoother_finding(panels, b, f"{WHERE} (b)"),
        ]  # fmt: skip


FIGURE = AgainstEpsilon(
    study="wang2024",
    number="7",
    title="Regret against ε",
    reference="wang2024",
    full=Size(10**5, 100, 2),
    quick=Size(10**5, 3, 2),
    parts=(
        Part("a", "delta", 1e-10, EPSILONS),
        Part("b", "delta", 0.001, (*EPSILONS, *SMALLER)),
    ),
    note="A start phase that outlasts the horizon plays the arms one after the other, from the "
    "worst: there the regret says nothing about the policy. The intervals of the slopes and all "
    "tolerances are ours, set after a first look at runs of three.",
)
