"""Figures 6 and 7: DP-FTPL-New and DP-FTPL-Gauss on instance 1 while δ or ε shrinks, T = 1e6.

A figure is two parts, each a sweep over one of ε and δ, and the questions that are put to them.

The bounds of the extra regret are  Gauss N min{1/δ², log(1/δ)/ε²},  New (N/ε) log(1 + (e^ε-1)/δ):
straight lines on log-log axes, of slope -2 and -1, as long as privacy dominates the regret and the
start phases end before the horizon. Slopes are fitted there, to the regret and to the extra regret,
which is the regret less that at the loosest budget. Wang & Zhu (2024), section 8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._base import Figure, Finding, Lab, Panel, Size
from .._measures import Measure, difference, final_regret
from .._pictures import canvas, colours, draw_measures, dress
from ._setting import DAMAGED, GAUSS, GAUSS_EXACT, NEW, bandit, leader_pair, outlasts

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

INSTANCE = "instance 1"
CURVES = (NEW, GAUSS, GAUSS_EXACT)
NOTE = (
    f"{DAMAGED}run at 10^6. A start phase that outlasts the horizon plays the arms one after the "
    "other, from the worst: there the regret says nothing about the policy, and a statement that "
    "rests on it cannot be told. The intervals of the slopes are ours and end where by the printed "
    "formula the start phase would outlast T; the tolerances are ours, set after a first look at "
    "runs of three to T = 1e5."
)

Regrets = dict[float, Measure]


@dataclass(frozen=True)
class Part:
    """One of a figure's two pictures: what is fixed, what varies, over which values."""

    letter: str
    fixed: str
    """ "epsilon" or "delta" """
    at: float
    values: tuple[float, ...]
    """from the loosest to the tightest"""

    @property
    def varied(self) -> str:
        """The other of the two."""
        return "delta" if self.fixed == "epsilon" else "epsilon"

    @property
    def title(self) -> str:
        """ "(a) ε = 0"."""
        return f"({self.letter}) {SYMBOLS[self.fixed]} = {self.at:g}"

    def budget(self, value: float) -> tuple[float, float]:
        """(ε, δ) at a value of what varies."""
        return (self.at, value) if self.fixed == "epsilon" else (value, self.at)

    def blind(self, label: str, values: Iterable[float], horizon: int) -> bool:
        """Whether the horizon, and not the policy, decides the regret at one of the values."""
        return label == GAUSS and any(outlasts(*self.budget(value), horizon) for value in values)


SYMBOLS = {"epsilon": "ε", "delta": "δ"}


class Question(ABC):
    """What is asked of the regrets in one part of a figure."""

    part: str
    """its letter"""

    @abstractmethod
    def answer(self, panels: Sequence[Panel], part: Part, where: str) -> Finding:
        """What was found; `where` is the place of the printed statement."""


@dataclass(frozen=True, kw_only=True)
class Sweep(Figure):
    """Both leaders at many budgets."""

    parts: tuple[Part, ...]
    questions: tuple[Question, ...]

    def panels(self, lab: Lab) -> list[Panel]:
        environment = bandit(INSTANCE)
        panels = []
        for part in self.parts:
            for value in part.values:
                epsilon, delta = part.budget(value)
                setting = f"{part.title}, {SYMBOLS[part.varied]} = {value:g}"
                curves = leader_pair(epsilon, delta)
                panels.append(
                    lab.compare(setting, curves, environment, epsilon=epsilon, delta=delta)
                )
        return panels

    def draw(self, panels: Sequence[Panel]) -> Picture:
        picture, all_axes = canvas(len(self.parts))
        hues = colours(CURVES)
        for axes, part in zip(all_axes, self.parts, strict=True):
            for label in CURVES:
                found = regrets_of(panels, part, label)
                draw_measures(axes, list(found), list(found.values()), label, hues[label])
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.invert_xaxis()
            dress(
                axes,
                f"{part.title}, T = {horizon_of(panels):.0e}",
                SYMBOLS[part.varied],
                "regret at T",
            )
        return picture

    def judge(self, panels: Sequence[Panel]) -> list[Finding]:
        where = f"section 8, figure {self.number}"
        return [
            question.answer(panels, self.part(question.part), f"{where} ({question.part})")
            for question in self.questions
        ]

    def part(self, letter: str) -> Part:
        """A part by its letter."""
        return next(part for part in self.parts if part.letter == letter)


def regrets_of(panels: Sequence[Panel], part: Part, label: str) -> Regrets:
    """Regret at T by the value that varies."""
    return {
        panel.values[part.varied]: final_regret(panel[label])
        for panel in panels
        if panel.setting.startswith(part.title + ",")
    }


def horizon_of(panels: Sequence[Panel]) -> int:
    """T of all panels."""
    return panels[0][NEW].horizon


def between(regrets: Regrets, low: float, high: float) -> Regrets:
    """The values in a closed interval, which rounding does not narrow."""
    return {x: m for x, m in regrets.items() if low * (1 - 1e-9) <= x <= high * (1 + 1e-9)}


def extra(regrets: Regrets) -> Regrets:
    """What privacy costs: regret less that at the loosest budget, where this is a tenth of it."""
    loosest = regrets[max(regrets)]
    costs = {x: difference(m, loosest) for x, m in regrets.items()}
    return {x: cost for x, cost in costs.items() if cost.value >= 0.1 * loosest.value}


def at_value(regrets: Regrets, value: float) -> Measure:
    """The regret at the nearest value."""
    return regrets[min(regrets, key=lambda x: abs(x - value))]


def sweep(
    number: str, title: str, parts: tuple[Part, ...], questions: tuple[Question, ...]
) -> Sweep:
    """One of the two figures: 100 runs to T = 1e6, of which only the end is shown."""
    return Sweep(
        study="wang2024",
        number=number,
        title=title,
        reference="wang2024",
        full=Size(10**6, 100, 2),
        quick=Size(10**5, 3, 2),
        parts=parts,
        questions=questions,
        note=NOTE,
    )
