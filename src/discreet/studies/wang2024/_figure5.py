"""Figure 5: DP-FTPL-New, DP-UCB, DP-UCB-BOUND and DP-SE with δ = 0, ε = 1 and 0.1.

(a), (b) instance 1 with 9 arms, (c), (d) instance 2 with 101; 100 runs to T and to T/10, as in
figure 4. Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement
from .._excerpts import in_how_many
from .._measures import clearly_above, final_regret, ratio
from .._pictures import draw_panels
from ._figure4 import LETTERS, at_each_horizon, both_horizons, letter, named_after
from ._setting import BOUND, DAMAGED, DP_SE, DP_UCB, EPSILONS, INSTANCES, NEW, bandit, pure_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture


@dataclass(frozen=True, kw_only=True)
class PureLeaders(Figure):
    """Two bandits, two budgets, two horizons."""

    def panels(self, lab: Lab) -> list[Panel]:
        settings = [(instance, epsilon) for instance in INSTANCES for epsilon in EPSILONS]
        return [
            lab.compare(
                f"({letter}) {instance}, ε = {epsilon:g}, T = {horizon:.0e}", pure_curves(epsilon),
                bandit(instance), horizon=horizon, arms=len(INSTANCES[instance]), epsilon=epsilon,
            )
            for horizon in both_horizons(lab.size)
            for letter, (instance, epsilon) in zip(LETTERS, settings, strict=True)
        ]  # fmt: skip

    def draw(self, panels: Sequence[Panel]) -> Picture:
        return draw_panels(at_each_horizon(panels)[-1], since=100)

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        return [
            named_after(finding, some)
            for some in at_each_horizon(panels)
            for finding in (_new_is_lowest(some), _elimination_is_worse(some))
        ]


def _new_is_lowest(panels: Sequence[Panel]) -> Finding:
    measured, holds = {}, []
    for panel in panels:
        best = final_regret(panel[NEW])
        measured[f"{letter(panel)} regret of {NEW}"] = best
        for label in (BOUND, DP_UCB, DP_SE):
            other = final_regret(panel[label])
            measured[f"{letter(panel)} {label} / {NEW}"] = ratio(other, best)
            holds.append(clearly_above(other, best))
    return Finding(
        Statement(
            "DP-FTPL-New has a significantly lower regret than DP-UCB, DP-UCB-BOUND and DP-SE",
            "section 8, figure 5",
        ),
        in_how_many(holds),
        measured,
        "It protects each choice given the history, the others the whole run: the comparison is "
        "the paper's, and not one of equal protection.",
    )


def _elimination_is_worse(panels: Sequence[Panel]) -> Finding:
    measured, holds = {}, []
    for panel in panels:
        worst = final_regret(panel[DP_SE])
        for label in (DP_UCB, BOUND):
            other = final_regret(panel[label])
            measured[f"{letter(panel)} {DP_SE} / {label}"] = ratio(worst, other)
            holds.append(clearly_above(worst, other))
    return Finding(
        Statement(
            "DP-SE has a higher regret than the non-optimal DP-UCB and DP-UCB-BOUND",
            "section 8, figure 5",
        ),
        in_how_many(holds),
        measured,
        "Every ratio should be above 1 by two standard errors. DP-SE pays for epochs that are "
        "fixed beforehand and hardly grow with 1/ε, the counters pay in proportion to 1/ε.",
    )


FIGURE = PureLeaders(
    study="wang2024",
    number="5",
    title="DP-FTPL-New, private UCBs and DP-SE under ε",
    reference="wang2024",
    full=Size(10**6, 100),
    quick=Size(10**5, 3),
    note=f"{DAMAGED}run at 10^5 and at 10^6, the latter drawn. DP-UCB is Tossou & Dimitrakakis', "
    "whose counters go on while an arm is idle.",
)
