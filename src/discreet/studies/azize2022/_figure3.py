"""Figure 3: regret of AdaP-KLUCB against ε, with the lower bounds, on means .8 .1 .1 .1 .1.

Published: T = 1e7, 20 runs, ε from 0.05 to 10. The bounds are log T times
Lai-Robbins ΣΔ/kl(μ_a, μ*)  and, for ε-DP,  ΣΔ/min(kl(μ_a, μ*), 6εΔ), which part at kl/(6Δ) = 0.27.
Azize & Basu (2022), section 5 and Theorem 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement, Verdict
from .._measures import Measure, clearly_above, final_regret, log_slope, ratio
from .._pictures import canvas, draw_measures, dress
from ._instances import ADAP_KLUCB, ALPHA, ORDER_NOTE, bernoulli

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ...policies import Policy

MEANS = (0.8, 0.1, 0.1, 0.1, 0.1)
EPSILONS = (
    0.05, 0.07, 0.1, 0.14, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 10.0,
)  # fmt: skip
FURTHER = (30.0, 100.0, 300.0, 1000.0)
"""Beyond the paper's range, to see where the regret stops falling."""
CHANGE = 0.3
"""Where the paper sees the regime change."""
STEADY, DOUBLED = 1.25, 2.0
"""A regret that varies by less than this factor is independent of ε; by less than that, nearly."""


@dataclass(frozen=True, kw_only=True)
class PrivacyRegimes(Figure):
    """One policy at many budgets, in the same bandit."""

    where: str
    epsilons: tuple[float, ...] = (*EPSILONS, *FURTHER)

    def panels(self, lab: Lab) -> list[Panel]:
        environment = bernoulli(MEANS)
        return [
            lab.compare(
                f"ε = {epsilon:g}", {ADAP_KLUCB: _policy(epsilon)}, environment, epsilon=epsilon
            )
            for epsilon in self.epsilons
        ]

    def draw(self, panels: Sequence[Panel]) -> Picture:
        from ...theory._regret_lower import lai_robbins, view_private

        regrets = _regrets(panels)
        horizon = panels[0][ADAP_KLUCB].horizon
        picture, (axes,) = canvas(1)
        draw_measures(axes, list(regrets), list(regrets.values()), ADAP_KLUCB, "#0072b2")
        log = math.log(horizon)
        private = [view_private(MEANS, epsilon, version="2022") * log for epsilon in regrets]
        axes.plot(list(regrets), private, "--", color="#d55e00", label="lower bound, ε-DP")
        unaware = lai_robbins(MEANS) * log
        axes.axhline(unaware, ls=":", color="#555555", label="lower bound without privacy")
        axes.axvline(CHANGE, color="#999999", linewidth=0.8)
        axes.axvspan(EPSILONS[-1], max(regrets), color="#999999", alpha=0.12, label="beyond print")
        axes.set_xscale("log")
        axes.set_yscale("log")
        dress(axes, f"means .8 .1 .1 .1 .1, T = {horizon:.0e}", "ε", "regret at T")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        regrets = _regrets(panels)
        return [self._high_privacy(regrets), self._low_privacy(regrets)]

    def _high_privacy(self, regrets: dict[float, Measure]) -> Finding:
        low, change = min(regrets), CHANGE
        fall = ratio(regrets[low], regrets[change])
        slope = log_slope({e: m for e, m in regrets.items() if e <= CHANGE})
        falls = clearly_above(fall, Measure(STEADY))
        return Finding(
            Statement(f"below ε = {CHANGE} the regret depends on ε", self.where),
            Verdict.of(falls),
            {
                f"regret at ε = {low:g}": regrets[low],
                f"regret at ε = {change:g}": regrets[change],
                f"regret at {low:g} / at {change:g}": fall,
                "slope of log regret in log ε": slope,
            },
            "A slope of -1 is regret in proportion to 1/ε. The steps are powers of two: an arm's "
            "pulls double, so its regret does.",
        )

    def _low_privacy(self, regrets: dict[float, Measure]) -> Finding:
        last = EPSILONS[-1]
        fall = ratio(regrets[CHANGE], regrets[last])
        printed = {e: m for e, m in regrets.items() if CHANGE <= e <= last}
        settled = settles_at(regrets)
        bound = bounds_part()
        return Finding(
            Statement(f"above ε = {CHANGE} the regret does not depend on ε", self.where),
            Verdict.of(fall.value <= STEADY, fall.value <= DOUBLED),
            {
                f"regret at ε = {CHANGE:g}": regrets[CHANGE],
                f"regret at ε = {last:g}": regrets[last],
                f"regret at {CHANGE:g} / at {last:g}": fall,
                "slope of log regret in log ε": log_slope(printed),
                f"ε from which the regret stays within {STEADY:g} × its last value": settled,
                "ε where the lower bounds part, kl/(6Δ)": Measure(bound),
            },
            f"The published {CHANGE} is near the place where the lower bounds part ({bound:.2f}). "
            "The policy's index lifts the mean by 3.1 log t/(εn) before the KL bound is taken, and "
            "that decides how long an arm is played for budgets far above it.",
        )


def _policy(epsilon: float) -> Policy:
    from ...policies import policy

    return policy("adap-klucb", epsilon=epsilon, alpha=ALPHA)


def _regrets(panels: Sequence[Panel]) -> dict[float, Measure]:
    return {panel.values["epsilon"]: final_regret(panel[ADAP_KLUCB]) for panel in panels}


def bounds_part() -> float:
    """The ε where the two lower bounds part."""
    from ...policies._divergences import kl

    return kl(min(MEANS), max(MEANS)) / (6.0 * (max(MEANS) - min(MEANS)))


def settles_at(regrets: dict[float, Measure]) -> Measure:
    """The least ε from which on every regret is within a factor STEADY of the last."""
    last = regrets[max(regrets)].value
    settled = max(regrets)
    for epsilon in sorted(regrets, reverse=True):
        if not last / STEADY <= regrets[epsilon].value <= last * STEADY:
            break
        settled = epsilon
    return Measure(settled)


FIGURE = PrivacyRegimes(
    study="azize2022",
    number="3",
    title="Regret against the privacy budget",
    reference="azize2022",
    full=Size(10**7, 20),
    quick=Size(10**6, 20),
    where="section 5, figure 3",
    note=f"Budgets above 10 are ours. {ORDER_NOTE}",
)
