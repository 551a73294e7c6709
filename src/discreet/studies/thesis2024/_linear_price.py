"""The price of privacy of linear policies: what figures 5.5 and 5.6 share.

A private policy and its twin at many budgets, twice: as printed, with Gaussian rewards (and, in
figure 5.6, contexts outside the unit ball) that void the promise, and soundly, with rewards clipped
to [-3, 3] by the curator and noise from the sensitivity that follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._base import Figure, Finding, Lab, Panel, Statement, Verdict
from .._measures import CLEAR, Measure, clearly_above, final_regret, smallest_seen
from .._pictures import canvas, colours, draw_measures, dress
from ._price import SMALL, TWIN, extra_regret, label, price_at, price_curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ...linear import LinearPolicy, LinearProblem

BUDGETS = (0.01, 0.1, 1.0, 10.0, 100.0)
PRINTED, SOUND = "as printed (promise void)", "sound"
CLIP = 3.0
"""Rewards of the sound runs are clipped to [-3, 3]: three standard deviations."""
EARLIER = 100
"""The price at T is held against that at T/100."""
INSTANCE_SEED = 1


def compare_linear(
    lab: Lab, setting: str, curves: Mapping[str, LinearPolicy], problem: LinearProblem
) -> Panel:
    """Run labelled linear policies on a problem; Ctrl-C is raised, as in `Lab.compare`."""
    from ...linear import compare

    return Panel(setting, lab.compared(compare, curves, problem, lab.size))


@dataclass(frozen=True, kw_only=True)
class LinearPrice(Figure):
    """A private linear policy and its twin, as printed and soundly."""

    private: str
    twin: str
    contexts: str

    def panels(self, lab: Lab) -> list[Panel]:
        from ...linear import LinearProblem

        problem = LinearProblem.random(
            arms=10, dimension=3, contexts=self.contexts, seed=INSTANCE_SEED
        )
        printed, sound = {"setting": "printed"}, {"low": -CLIP, "high": CLIP}
        return [
            compare_linear(lab, PRINTED, self._curves(printed), problem),
            compare_linear(lab, SOUND, self._curves(sound), problem),
        ]

    def _curves(self, options: dict[str, Any]) -> dict[str, LinearPolicy]:
        from ...linear import policy

        return {TWIN: policy(self.twin)} | {
            label(rho): policy(self.private, rho=rho, **options) for rho in BUDGETS
        }

    def draw(self, panels: Sequence[Panel]) -> Picture:
        picture, (left, right) = canvas(2)
        for panel, hue in zip(panels, ("#0072b2", "#d55e00"), strict=True):
            extra = extra_regret(panel, BUDGETS)
            draw_measures(left, list(extra), list(extra.values()), panel.setting, hue)
        left.axhline(0.0, color="#555555", linewidth=0.8)
        left.set_xscale("log")
        left.set_yscale("symlog", linthresh=50.0)
        dress(left, f"extra regret at T = {panels[0][TWIN].horizon:.0e}", "ρ", "regret")
        for rho, hue in zip(
            BUDGETS, colours([label(rho) for rho in BUDGETS]).values(), strict=True
        ):
            for panel, style in zip(panels, ("-", "--"), strict=True):
                t = panel[TWIN].t
                late = t >= EARLIER
                name = label(rho) if style == "-" else None
                right.plot(
                    t[late], price_curve(panel, rho)[late], style, color=hue, label=name,
                    linewidth=1.6,
                )  # fmt: skip
        right.axhline(0.0, color="#555555", linewidth=0.8)
        right.set_xscale("log")
        right.set_yscale("symlog", linthresh=1.0)
        dress(right, "price over time (dashed: sound)", "rounds t", "price")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        return [finding for panel in panels for finding in (self._free(panel), self._falls(panel))]

    def _free(self, panel: Panel) -> Finding:
        extra = extra_regret(panel, BUDGETS)
        twin = final_regret(panel[TWIN])
        strongest, weakest = extra[BUDGETS[0]], extra[BUDGETS[-1]]
        gone = weakest.value <= max(SMALL * twin.value, CLEAR * (weakest.error or 0.0))
        paid = clearly_above(strongest, Measure(0.0)) and clearly_above(strongest, weakest)
        return Finding(
            Statement(
                f"at a fixed horizon the extra regret goes to zero as ρ grows; {panel.setting}",
                f"thesis, section 5.5.2, conclusion 1, figure {self.number}",
            ),
            Verdict.of(paid and gone, paid),
            {"regret without privacy": twin}
            | {f"extra regret at {label(rho)}": measure for rho, measure in extra.items()}
            | {
                f"smallest extra regret that would be seen at {label(BUDGETS[-1])}": smallest_seen(
                    weakest
                )
            },
            f"Zero means at most {SMALL:g} of the twin's regret, or two standard errors of "
            f"{panel[TWIN].runs} runs, at {label(BUDGETS[-1])}; a true effect of four is seen with "
            "probability 0.98, and a smaller one may be there.",
        )

    def _falls(self, panel: Panel) -> Finding:
        horizon = panel[TWIN].horizon
        now = {rho: price_at(panel, rho, horizon) for rho in BUDGETS}
        before = {rho: price_at(panel, rho, horizon / EARLIER) for rho in BUDGETS}
        small = all(measure.value <= SMALL for measure in now.values())
        falls = [now[rho].value <= SMALL or clearly_above(before[rho], now[rho]) for rho in BUDGETS]
        measured: dict[str, Measure] = {}
        for rho in BUDGETS:
            measured[f"{label(rho)}: price at T = {horizon / EARLIER:.0e}"] = before[rho]
            measured[f"{label(rho)}: price at T = {horizon:.0e}"] = now[rho]
        return Finding(
            Statement(
                f"at a fixed ρ the price of privacy goes to zero as T grows; {panel.setting}",
                f"thesis, section 5.5.2, conclusion 2, figure {self.number}",
            ),
            Verdict.of(small, all(falls)),
            measured,
            f"Reproduced means a price of at most {SMALL:g} at T for every ρ; differs, that every "
            f"larger price is clearly below its value at T/{EARLIER}. A policy that has eliminated "
            "all actions but one loses nothing more, so between two such policies the price stays "
            "where it was.",
        )
