"""The local counterpart of figure 5.7: CTB-TT, where every participant answers with a random bit.

Not in the thesis; the journal version adds the algorithm. A bit keeps (e^ε - 1)/(e^ε + 1) of every
gap, and evidence grows with the square of a gap: CTB-TT should need ((e^ε + 1)/(e^ε - 1))² times
TTUCB's samples, up to logarithms. Azize, Jourdan, Al Marjani & Basu (2026); same instances, δ and
runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size, Statement, Verdict
from .._excerpts import in_how_many
from .._measures import Measure, clearly_above, ratio
from .._pictures import canvas, colours, dress
from ._stops import DELTA, INSTANCES, TTUCB, draw_stops, identified, stopping_time, worst_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

BUDGETS = (0.5, 1.0, 2.0, 4.0, 8.0)
CTB, CENTRAL = "CTB-TT", "AdaP-TT"
WITHIN = 1.5
"""Factor within which the price must be as the formula says."""
IMPLIED = "our counterpart: what randomised response implies"
SAID = "thesis, chapter 3, on trust models"


@dataclass(frozen=True, kw_only=True)
class LocalStoppingTimes(Figure):
    """CTB-TT and AdaP-TT at every budget, TTUCB once."""

    def panels(self, lab: Lab) -> list[Panel]:
        from ...identify import identifier

        panels = []
        for instance in INSTANCES:
            panels.append(identified(lab, instance, {TTUCB: identifier("ttucb")}))
            for epsilon in BUDGETS:
                rows = {
                    CTB: identifier("ctb-tt", epsilon=epsilon),
                    CENTRAL: identifier("adap-tt", epsilon=epsilon),
                }
                panels.append(identified(lab, instance, rows, epsilon=epsilon))
        return panels

    def draw(self, panels: Sequence[Panel]) -> Picture:
        picture, both = canvas(2)
        hues = colours([CTB, CENTRAL, TTUCB])
        for axes, instance in zip(both, INSTANCES, strict=True):
            mine = [panel for panel in panels if panel.setting == instance]
            twin = stopping_time(mine, TTUCB).value
            for label in (CTB, CENTRAL):
                draw_stops(axes, mine, label, BUDGETS, hues[label], dashed=False)
            axes.axhline(twin, color=hues[TTUCB], label=TTUCB)
            expected = [twin * _price(epsilon) for epsilon in BUDGETS]
            axes.plot(BUDGETS, expected, ":", color="#555555", label="expected")
            axes.set_xscale("log")
            axes.set_yscale("log")
            dress(axes, instance, "ε", "stopping time")
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        measured: dict[str, Measure] = {}
        against: dict[str, Measure] = {}
        near, above = [], []
        for instance in INSTANCES:
            mine = [panel for panel in panels if panel.setting == instance]
            twin = stopping_time(mine, TTUCB)
            for epsilon in BUDGETS:
                local = stopping_time(mine, CTB, epsilon)
                price = ratio(local, twin)
                measured[f"{instance}, ε = {epsilon:g}: CTB-TT / TTUCB"] = price
                near.append(1 / WITHIN <= price.value / _price(epsilon) <= WITHIN)
                central = stopping_time(mine, CENTRAL, epsilon)
                above.append(clearly_above(local, central))
                against[f"{instance}, ε = {epsilon:g}: CTB-TT / AdaP-TT"] = ratio(local, central)
        measured |= {f"expected at ε = {e:g}": Measure(_price(e)) for e in BUDGETS}
        worst = worst_error(list(panels), (CTB,))
        return [
            Finding(
                Statement("the price of local privacy is ((e^ε + 1)/(e^ε - 1))²", IMPLIED),
                Verdict.REPRODUCED if all(near) else Verdict.DIFFERS,
                measured,
                f"Within a factor {WITHIN} at every budget and instance.",
            ),
            Finding(
                Statement("local privacy takes more samples than a trusted curator", SAID),
                in_how_many(above),
                {"largest error rate of CTB-TT": worst} | against,
                f"CTB-TT against AdaP-TT, δ = {DELTA}, thresholds as printed: AdaP-TT also pays "
                "for doubling, forgetting and a union over phases, whatever ε.",
            ),
        ]


def _price(epsilon: float) -> float:
    """((e^ε + 1)/(e^ε - 1))²."""
    return 1.0 / math.tanh(0.5 * epsilon) ** 2


FIGURE = LocalStoppingTimes(
    study="thesis2024",
    number="5.7-local",
    title="The local counterpart of figure 5.7",
    reference="azize2026",
    full=Size(10**8, 1000),
    quick=Size(10**7, 20),
    note="Not a figure of the thesis: its setting, with the algorithm of the journal version. In "
    "the data, t is the stopping time.",
)
