"""Figure 5.4: AdaC-UCB under ρ-zCDP against its non-private twin, on C2.

Published: β = 1, T = 1e7, 100 runs; the twin doubles and forgets without noise. The price of
privacy is (regret with - regret without)/(regret without). Two conclusions are drawn: the extra
regret vanishes as ρ grows (T fixed), and the price vanishes as T grows (ρ fixed).
Azize (2024), section 5.5.2. The budgets are not in the text. Neither policy knows T, so runs that
are much longer show the same curve further on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement, Verdict
from .._measures import CLEAR, Measure, clearly_above, final_regret, smallest_seen
from .._pictures import canvas, colours, draw_measures, dress
from ..azize2022._instances import INSTANCES, ORDER_NOTE, bernoulli
from ._price import SMALL, TWIN, extra_regret, label, price_at, price_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ...policies import Policy

BUDGETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0, 100.0)
SHOWN = (0.001, 0.01, 0.1, 1.0)
"""Budgets whose price is followed over time."""
AT_HORIZON, FURTHER = "the published horizon", "longer runs"
LONGER, MORE = 10**8, 20
"""The longer runs: how many times as long, and how many times as many."""


@dataclass(frozen=True, kw_only=True)
class PriceOfPrivacy(Figure):
    """A private policy and its twin at many budgets."""

    def panels(self, lab: Lab) -> list[Panel]:
        environment = bernoulli(INSTANCES["C2"])
        longer, more = lab.size.horizon * LONGER, lab.size.runs * MORE
        return [
            lab.compare(AT_HORIZON, _curves(BUDGETS), environment),
            lab.compare(FURTHER, _curves(SHOWN), environment, horizon=longer, runs=more),
        ]

    def draw(self, panels: Sequence[Panel]) -> Picture:
        at_horizon, further = panels
        picture, (left, right) = canvas(2)
        extra = extra_regret(at_horizon, BUDGETS)
        draw_measures(left, list(extra), list(extra.values()), "private - not private", "#0072b2")
        left.axhline(0.0, color="#555555", linewidth=0.8)
        left.set_xscale("log")
        left.set_yscale("symlog", linthresh=50.0)
        left.set_ylim(bottom=-50.0)
        horizon = at_horizon[TWIN].horizon
        dress(left, f"extra regret at T = {horizon:.0e}", "ρ", "regret", legend=False)
        t = further[TWIN].t
        late = t >= 100
        for rho, (name, hue) in zip(SHOWN, colours(list(map(label, SHOWN))).items(), strict=True):
            price = price_curve(further, rho)[late]
            right.plot(t[late], price, color=hue, label=name, linewidth=1.7)
        right.axhline(0.0, color="#555555", linewidth=0.8)
        right.axvline(horizon, color="#999999", linewidth=0.8)
        right.set_xscale("log")
        dress(right, "price of privacy over time", "rounds t", "price")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        return [self._free(panels[0]), self._vanishing(panels[0], panels[1])]

    def _free(self, panel: Panel) -> Finding:
        extra = extra_regret(panel, BUDGETS)
        strongest, weakest = extra[BUDGETS[0]], extra[BUDGETS[-1]]
        gone = _none(weakest)
        paid = clearly_above(strongest, Measure(0.0))
        free = _least_free(extra)
        return Finding(
            Statement(
                "at a fixed horizon the extra regret goes to zero as ρ grows",
                "thesis, section 5.5.2, conclusion 1, figure 5.4",
            ),
            Verdict.of(gone and paid, paid),
            {"regret without privacy": final_regret(panel[TWIN])}
            | {f"extra regret at ρ = {rho:g}": measure for rho, measure in extra.items()}
            | {
                "ρ from which it cannot be told from zero": Measure(free),
                f"smallest extra regret that would be seen at ρ = {BUDGETS[-1]:g}": smallest_seen(
                    weakest
                ),
            },
            f"Told from zero means two standard errors of {panel[TWIN].runs} runs; a true effect "
            "of four is seen with probability 0.98, and a smaller one may be there.",
        )

    def _vanishing(self, panel: Panel, further: Panel) -> Finding:
        horizon, beyond = panel[TWIN].horizon, further[TWIN].horizon
        now = {rho: price_at(panel, rho, horizon) for rho in SHOWN}
        last = {rho: price_at(further, rho, beyond) for rho in SHOWN}
        peak = {rho: _peak(further, rho) for rho in SHOWN}
        near = [measure.value <= SMALL for measure in now.values()]
        falls = [clearly_above(peak[rho][0], last[rho]) for rho in SHOWN]
        measured: dict[str, Measure] = {}
        for rho in SHOWN:
            measured[f"ρ = {rho:g}: largest price"] = peak[rho][0]
            measured[f"ρ = {rho:g}: reached at t"] = Measure(peak[rho][1])
            measured[f"ρ = {rho:g}: price at T = {horizon:.0e}"] = now[rho]
            measured[f"ρ = {rho:g}: price at T = {beyond:.0e}"] = last[rho]
        return Finding(
            Statement(
                "at a fixed ρ the price of privacy goes to zero as T grows",
                "thesis, section 5.5.2, conclusion 2, figure 5.4",
            ),
            Verdict.of(all(near), all(falls)),
            measured,
            f"Reproduced means a price of at most {SMALL} at the published horizon for every ρ "
            "shown; differs, that it falls clearly from its peak to the end of the longer runs. "
            "The regret bound has a term in sqrt(log T/ρ) beside one in log T, so the price can "
            "shrink only with 1/sqrt(log T).",
        )


def _curves(budgets: Sequence[float]) -> dict[str, Policy]:
    from ...policies import policy

    return {TWIN: policy("episodic-ucb", alpha=1.0)} | {
        label(rho): policy("adac-ucb", rho=rho, alpha=1.0) for rho in budgets
    }


def _none(measure: Measure) -> bool:
    """Whether a measure cannot be told from zero."""
    return abs(measure.value) <= CLEAR * (measure.error or 0.0)


def _least_free(extra: dict[float, Measure]) -> float:
    """The least ρ from which on no extra regret is seen; NaN if it is seen to the end."""
    free = float("nan")
    for rho in sorted(extra, reverse=True):
        if not _none(extra[rho]):
            break
        free = rho
    return free


def _peak(panel: Panel, rho: float, since: int = 100) -> tuple[Measure, float]:
    """The largest price over time, and when."""
    import numpy as np

    twin = panel[TWIN]
    place = int(np.where(twin.t >= since, price_curve(panel, rho), -1.0).argmax())
    return price_at(panel, rho, float(twin.t[place])), float(twin.t[place])


FIGURE = PriceOfPrivacy(
    study="thesis2024",
    number="5.4",
    title="Finite-armed bandits under ρ-zCDP: the price of privacy",
    reference="azize2024",
    full=Size(10**7, 100),
    quick=Size(10**6, 100),
    note="The budgets ρ are ours: the text does not print them. The right-hand side goes on to "
    f"horizons 1e8 times longer, with 20 times as many runs. {ORDER_NOTE}",
)
