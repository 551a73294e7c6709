"""Figure C.1: where AdaC-GOPE adds its noise, at the estimate or at the sums of rewards.

Published: the setting of figure 5.5, several ρ; noise at the estimate regrets less, above all
where ρ is small. Azize (2024), appendix C.3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement, Verdict
from .._measures import Measure, clearly_above, difference, final_regret, smallest_seen
from .._pictures import draw_panels
from ._linear_price import INSTANCE_SEED, compare_linear
from ._price import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BUDGETS = (0.001, 0.01, 0.1, 1.0)
ESTIMATE, SUMS = "noise at the estimate", "noise at the sums"


@dataclass(frozen=True, kw_only=True)
class WhereToAddNoise(Figure):
    """Both variants at several budgets."""

    def panels(self, lab: Lab) -> list[Panel]:
        from ...linear import LinearProblem, policy

        problem = LinearProblem.random(
            arms=10, dimension=3, contexts="fixed", rewards="sign", seed=INSTANCE_SEED
        )
        return [
            compare_linear(
                lab, label(rho),
                {
                    ESTIMATE: policy("adac-gope", rho=rho),
                    SUMS: policy("adac-gope", rho=rho, noise="sums"),
                },
                problem,
            )
            for rho in BUDGETS
        ]  # fmt: skip

    def draw(self, panels: Sequence[Panel]) -> Picture:
        return draw_panels(panels)

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        pairs = {
            panel.setting: (final_regret(panel[ESTIMATE]), final_regret(panel[SUMS]))
            for panel in panels
        }
        less = [clearly_above(sums, estimate) for estimate, sums in pairs.values()]
        more = [clearly_above(estimate, sums) for estimate, sums in pairs.values()]
        measured: dict[str, Measure] = {}
        for setting, (estimate, sums) in pairs.items():
            seen = smallest_seen(difference(estimate, sums))
            measured |= {
                f"{setting}: {ESTIMATE}": estimate,
                f"{setting}: {SUMS}": sums,
                f"{setting}: smallest difference that would be seen": seen,
            }
        return [
            Finding(
                Statement(
                    "noise at the estimate regrets less than noise at the sums",
                    "thesis, appendix C.3.3, figure C.1",
                ),
                Verdict.of(all(less), any(less) and not any(more)),
                measured,
                "Both noises are calibrated to what they can prove: at the estimate to the largest "
                "norm of the actions played, at the sums to a single reward. Both play phases of "
                "the same length, so the noise only shows in what is eliminated: the two differ by "
                "a factor of about (actions played)/d in its variance, which K = 10 and d = 3 keep "
                "near 1. Less means two standard errors; a true difference of four would be seen "
                "with probability 0.98.",
            )
        ]


FIGURE = WhereToAddNoise(
    study="thesis2024",
    number="C.1",
    title="AdaC-GOPE: noise at the estimate or at the sums",
    reference="azize2024",
    full=Size(10**7, 100),
    quick=Size(10**6, 20),
    note="Rewards are 1 or -1 with the linear mean, so that both promises hold as they stand; the "
    "budgets and the instance (seed 1) are ours.",
)
