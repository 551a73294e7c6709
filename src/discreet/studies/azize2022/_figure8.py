"""Figure 8: α = 1 against α = 3.1 for AdaP-UCB and AdaP-KLUCB on C1, ε = 1.

Published: α = 1 plays better, though the theorems ask for α > 3. The dominant terms of the regret
bounds are proportional to α, which suggests a ratio of 3.1. Azize & Basu (2022), appendix G.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement
from .._excerpts import in_how_many
from .._measures import Measure, clearly_above, final_regret, ratio
from .._pictures import draw_panels
from ._instances import ADAP_KLUCB, ADAP_UCB, ALPHA, INSTANCES, ORDER_NOTE, bernoulli

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

ROWS = {ADAP_KLUCB: "adap-klucb", ADAP_UCB: "adap-ucb"}


@dataclass(frozen=True, kw_only=True)
class ChoiceOfAlpha(Figure):
    """Two widths of the confidence bound."""

    def panels(self, lab: Lab) -> list[Panel]:
        from ...policies import policy

        curves = {
            f"{label}, α = {alpha:g}": policy(row, epsilon=1.0, alpha=alpha)
            for alpha in (1.0, ALPHA)
            for label, row in ROWS.items()
        }
        return [lab.compare("C1, ε = 1", curves, bernoulli(INSTANCES["C1"]), epsilon=1.0)]

    def draw(self, panels: Sequence[Panel]) -> Picture:
        return draw_panels(panels)

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        (panel,) = panels
        regrets = {label: final_regret(panel[label]) for label in panel.labels}
        ratios = {
            label: ratio(regrets[f"{label}, α = {ALPHA:g}"], regrets[f"{label}, α = 1"])
            for label in ROWS
        }
        better = [clearly_above(found, Measure(1.0)) for found in ratios.values()]
        return [
            Finding(
                Statement(
                    "α = 1 has a lower regret than α = 3.1, for both policies",
                    "appendix G.3, figure 8",
                ),
                in_how_many(better),
                {f"regret of {label}": measure for label, measure in regrets.items()}
                | {f"{label}: α = 3.1 / α = 1": found for label, found in ratios.items()},
                "No size is printed; regret bounds in proportion to α suggest a ratio of 3.1.",
            )
        ]


FIGURE = ChoiceOfAlpha(
    study="azize2022",
    number="8",
    title="The choice of α",
    reference="azize2022",
    full=Size(10**7, 20),
    quick=Size(10**6, 20),
    note=ORDER_NOTE,
)
