"""A plan with a calendar: what a trial will cost whose outcomes come late, and some never.

>>> found = plan_trial([0.5, 0.3], horizon=600, arrivals=12, delay=14, missing=0.1, runs=100)
>>> [line.label for line in found.lines]
['ε = 1', 'no noise', 'not private']

DP-IMED in streams (r = 1.5) for every ε; the same without noise (ε = ∞), which is what waiting for
whole blocks costs; and IMED that sees every answer when it comes. Beside them a race in permuted
blocks, which declares a winner with the risk asked for, and what it declares if all arms are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...arms import Bernoulli
from ...checks import MOST_RUNS, amount, count, means_of, positive, share
from ...errors import InvalidArgument
from ...plain import aligned, wrapped
from ...simulator.calendar import (
    Calendar,
    Delay,
    Drift,
    RaceResult,
    TrialResult,
    calendar,
    simulate_races,
    simulate_trials,
)
from ...simulator.calendar.results import Figure, figure
from ...simulator.calendar.runs import checked_size
from .plan import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

    from ...report import Page

RATIO = 1.5
"""Growth of blocks."""
MULTIPLES = (0.25, 0.5, 1.0, 1.5, 2.5)
"""Deadlines of the scan, as multiples of the one that was asked for."""


@dataclass(frozen=True)
class TrialLine:
    """One ε: the trial, and the race (none where nothing is private: that is the noiseless one)."""

    label: str
    epsilon: float
    worse: Figure
    regret: Figure
    days: Figure
    best_named: float
    used: float
    widths: tuple[float, ...] | None
    declared: float | None = None
    race_participants: Figure | None = None
    race_days: Figure | None = None
    false_winners: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "label": self.label,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "worse": self.worse.to_dict(),
            "regret": self.regret.to_dict(),
            "days": self.days.to_dict(),
            "best_named": self.best_named,
            "used": self.used,
            "widths": None if self.widths is None else list(self.widths),
            "declared": self.declared,
            "race_participants": _dict(self.race_participants),
            "race_days": _dict(self.race_days),
            "false_winners": self.false_winners,
        }


@dataclass(frozen=True)
class Deadline:
    """One deadline of the scan: answers that count, and what the trial costs with it."""

    days: float
    answered: float
    regret: Figure
    length: Figure

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "deadline": self.days,
            "answered": self.answered,
            "regret": self.regret.to_dict(),
            "days": self.length.to_dict(),
        }


@dataclass(frozen=True)
class TrialPlan:
    """The answer: a line per ε, without noise, and without privacy; a scan of the deadline."""

    means: tuple[float, ...]
    horizon: int
    calendar: Calendar
    epsilon: float
    risk: float
    runs: int
    seed: int
    lines: tuple[TrialLine, ...]
    deadlines: tuple[Deadline, ...]

    @property
    def equal(self) -> float:
        """The regret of equal allocation."""
        return self.horizon * (max(self.means) - math.fsum(self.means) / len(self.means))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "means": list(self.means),
            "horizon": self.horizon,
            "calendar": self.calendar.to_dict(),
            "epsilon": self.epsilon,
            "risk": self.risk,
            "runs": self.runs,
            "seed": self.seed,
            "equal_allocation": self.equal,
            "lines": [line.to_dict() for line in self.lines],
            "deadlines": [deadline.to_dict() for deadline in self.deadlines],
        }

    def __repr__(self) -> str:
        """One line: `text()` has the page."""
        own = self.lines[0]
        cost = f"regret {number(own.regret.mean)}, {number(own.days.mean)} days"
        return f"TrialPlan({own.label}: {cost})"

    def text(self, width: int = 100) -> str:
        """One page of plain text."""
        shown = max(width, 120) if width >= 100 else width
        lines = [wrapped(self.asked, width), "", "THE TRIAL (mean, nine of ten trials)"]
        lines += aligned(TRIAL_HEADER, [trial_cells(line) for line in self.lines], shown)
        lines += ["", wrapped(f"Equal allocation has a regret of {number(self.equal)}.", width)]
        lines += ["", f"A RACE FOR A WINNER (risk {self.risk:g}; permuted blocks)"]
        raced = [line for line in self.lines if line.declared is not None]
        lines += aligned(RACE_HEADER, [race_cells(line) for line in raced], shown)
        lines += ["", f"HOW WIDE THE INTERVALS WILL BE (all looks, risk {self.risk:g})"]
        lines += aligned(["", "by arm"], self.width_cells(), shown)
        if self.deadlines:
            lines += ["", f"OTHER DEADLINES (ε = {self.epsilon:g})"]
            lines += aligned(SCAN_HEADER, [scan_cells(d) for d in self.deadlines], shown)
        lines += ["", *(wrapped(f"- {note}", width) for note in NOTES)]
        return "\n".join(lines)

    @property
    def asked(self) -> str:
        """What was asked, in a sentence."""
        plan = self.calendar
        shares = sorted({f"{100 * share:g} %" for share in plan.missing})
        means = ", ".join(f"{mean:g}" for mean in self.means)
        rest = "estimated from those who answered"
        if plan.default is not None:
            rest = f"counting missing outcomes as {plan.default:g}"
        drift = "" if plan.drift is None else f"; {plan.drift.kind} drift of {plan.drift.size:g}"
        return (
            f"Asked: rates {means}; {self.horizon:,} participants, {plan.arrivals:g} a day; "
            f"outcomes within {plan.delay.deadline:g} days ({plan.delay.law}), "
            f"{' or '.join(shares)} never; means {rest}{drift}; ε = {self.epsilon:g}. "
            f"{self.runs:,} trials, seed {self.seed}."
        )

    def width_cells(self) -> list[list[str]]:
        """The widths of every ε."""
        return [
            [line.label, ", ".join(f"{width:.2g}" for width in line.widths)]
            for line in self.lines
            if line.widths is not None
        ]

    def page(self) -> Page:
        """One HTML page."""
        from ...report import Page

        sheet = Page("A plan for a trial with late outcomes", subtitle=self.asked)
        sheet.section("The trial").table(
            TRIAL_HEADER, [trial_cells(line) for line in self.lines],
            caption="Mean, and what nine of ten trials see. Equal allocation has a regret of "
            f"{number(self.equal)}.", numeric=(1, 2, 3, 4, 5),
        )  # fmt: skip
        sheet.section("A race for a winner").table(
            RACE_HEADER, [race_cells(x) for x in self.lines if x.declared is not None],
            caption=f"Permuted blocks; wrong with probability at most {self.risk:g}.",
            numeric=(1, 2, 3, 4),
        )  # fmt: skip
        sheet.section("How wide the intervals will be").table(
            ["", "By arm"], self.width_cells(),
            caption=f"Intervals that hold at all looks together, risk {self.risk:g}.",
        )  # fmt: skip
        if self.deadlines:
            sheet.section("Other deadlines").figure(
                self.picture(),
                caption="Regret against the deadline; the band holds nine of ten trials.",
                alt="Regret for several deadlines.",
            )
            sheet.table(
                SCAN_HEADER, [scan_cells(deadline) for deadline in self.deadlines],
                caption=f"The same trial with other deadlines, ε = {self.epsilon:g}.",
                numeric=(0, 1, 2, 3),
            )  # fmt: skip
        sheet.items(NOTES)
        sheet.footer(f"Simulated with seed {self.seed}, {self.runs:,} trials, yes-or-no outcomes.")
        return sheet

    def picture(self) -> Picture:
        """Regret against the deadline."""
        from matplotlib.figure import Figure as Drawing

        from ...simulator.plots import COLOURS

        drawing = Drawing(figsize=(7.2, 3.4), layout="constrained")
        axes = drawing.add_subplot()
        days = [deadline.days for deadline in self.deadlines]
        regrets = [deadline.regret for deadline in self.deadlines]
        axes.fill_between(
            days, [r.low for r in regrets], [r.high for r in regrets], color=COLOURS[0],
            alpha=0.15, linewidth=0, label="nine of ten trials",
        )  # fmt: skip
        axes.plot(days, [r.mean for r in regrets], color=COLOURS[0], marker="o", label="mean")
        axes.set_xlabel("deadline, days")
        axes.set_ylabel("regret")
        axes.set_ylim(bottom=0.0)
        axes.grid(alpha=0.25)
        axes.legend(fontsize="small", frameon=False)
        return drawing

    def write(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        return self.page().write(path)


TRIAL_HEADER = ["", "on worse arms", "regret", "days", "best named", "used"]
RACE_HEADER = ["", "declared", "participants", "days", "false winners, equal arms"]
SCAN_HEADER = ["deadline", "answers in time", "regret", "days"]
NOTES = (
    "The trial is DP-IMED in streams whose blocks grow by 1.5. No noise: the same blocks, released "
    "exactly. Not private: IMED, which sees every answer when it comes.",
    "Intervals and races take a missing outcome for its declared default, races for ½ if none is "
    "declared. That participants of an arm are missing at random is assumed.",
)


def plan_trial(
    means: Sequence[float],
    *,
    horizon: float,
    arrivals: float,
    delay: float | Delay = 0.0,
    missing: float | Sequence[float] = 0.0,
    default: float | str = "estimate",
    drift: Drift | None = None,
    window: int = 1,
    epsilon: float = 1.0,
    epsilons: Sequence[float] = (),
    risk: float = 0.05,
    deadlines: Sequence[float] | None = None,
    runs: int = 1000,
    seed: int = 1,
    threads: int | None = None,
) -> TrialPlan:
    """Simulate the trial for `epsilon` (and further `epsilons`), without noise and without privacy,
    the race beside it, and the trial again with other `deadlines`."""
    clean = means_of(means)
    if max(clean) == min(clean):
        raise InvalidArgument("means", "differ", list(clean), "there is nothing to learn")
    size = checked_size(horizon, len(clean))
    asked = calendar(
        len(clean), arrivals=arrivals, delay=delay, missing=missing, default=default,
        drift=drift, window=window,
    )  # fmt: skip
    wanted = [positive("epsilon", epsilon)]
    wanted += sorted({positive("epsilons", e) for e in epsilons} - set(wanted))
    wrong, seed = share("risk", risk), count("seed", seed, least=0, fix="use seed=1")
    many = count("runs", runs, most=MOST_RUNS)
    given: dict[str, Any] = {"horizon": size, "runs": many, "seed": seed, "threads": threads}
    law = Bernoulli(clean)
    equal = Bernoulli([math.fsum(clean) / len(clean)] * len(clean))
    lines = []
    for budget in (*wanted, math.inf):
        trials = simulate_trials(_row(budget), law, asked, **given)
        races = simulate_races(law, asked, epsilon=budget, risk=wrong, **given)
        level = simulate_races(equal, asked, epsilon=budget, risk=wrong, **given)
        label = f"ε = {budget:g}" if math.isfinite(budget) else "no noise"
        lines.append(_line(label, budget, trials, wrong, races, level))
    seen = simulate_trials(_open(), law, asked, **given)
    lines.append(_line("not private", math.inf, seen, wrong))
    scan = tuple(
        _deadline(trials, answered)
        for late in _scan(asked.delay, delay, deadlines)
        for answered in [_moved(asked, late)]
        for trials in [simulate_trials(_row(wanted[0]), law, answered, **given)]
    )
    return TrialPlan(clean, size, asked, wanted[0], wrong, many, seed, tuple(lines), scan)


def _row(epsilon: float) -> Any:
    from ...policies import policy

    if math.isinf(epsilon):
        return policy("dp-imed", epsilon=epsilon, ratio=RATIO, first=20)
    return policy("dp-imed", epsilon=epsilon, ratio=RATIO)


def _open() -> Any:
    from ...policies import policy

    return policy("imed")


def _moved(asked: Calendar, late: Delay) -> Calendar:
    return replace(asked, delay=late)


def _scan(delay: Delay, given: object, deadlines: Sequence[float] | None) -> list[Delay]:
    """Other deadlines. A delay given as a number is a deadline that all answers keep, so there
    answers are as late as each deadline; with a law of delays they stay as they are."""
    days = tuple(delay.deadline * x for x in MULTIPLES) if deadlines is None else tuple(deadlines)
    checked = sorted({amount("deadlines", day, infinite=False, fix="use [7, 14]") for day in days})
    mean = delay.mean if isinstance(given, Delay) else None
    scan = [Delay(day, delay.law, mean) for day in checked]
    return [late for late in scan if late.in_time > 0.0 and (late.deadline > 0.0 or deadlines)]


def _deadline(trials: TrialResult, asked: Calendar) -> Deadline:
    answered = math.fsum(asked.answered) / len(asked.answered)
    return Deadline(asked.delay.deadline, answered, figure(trials.regret), figure(trials.days))


def _line(
    label: str, epsilon: float, trials: TrialResult, risk: float,
    races: RaceResult | None = None, level: RaceResult | None = None,
) -> TrialLine:  # fmt: skip
    line = TrialLine(
        label, epsilon, figure(trials.worse), figure(trials.regret), figure(trials.days),
        trials.best_named, float(trials.used.mean()), None,
    )  # fmt: skip
    if races is None or level is None:
        return line
    return replace(
        line, widths=trials.widths(risk), declared=races.declared,
        race_participants=figure(races.participants), race_days=figure(races.days),
        false_winners=level.declared,
    )  # fmt: skip


def _dict(value: Figure | None) -> dict[str, float] | None:
    return None if value is None else value.to_dict()


def ranged(value: Figure) -> str:
    """ "24.4 (18 to 33)"."""
    return f"{number(value.mean)} ({number(value.low)} to {number(value.high)})"


def trial_cells(line: TrialLine) -> list[str]:
    """One line of the table of trials."""
    return [
        line.label, ranged(line.worse), ranged(line.regret), ranged(line.days),
        f"{line.best_named:.3f}", f"{line.used:.2f}",
    ]  # fmt: skip


def race_cells(line: TrialLine) -> list[str]:
    """One line of the table of races."""
    assert line.declared is not None
    assert line.race_participants is not None
    assert line.race_days is not None
    assert line.false_winners is not None
    return [
        line.label, f"{line.declared:.3f}", ranged(line.race_participants),
        ranged(line.race_days), f"{line.false_winners:.3f}",
    ]  # fmt: skip


def scan_cells(deadline: Deadline) -> list[str]:
    """One deadline."""
    return [
        f"{deadline.days:g}", f"{100.0 * deadline.answered:.3g} %", ranged(deadline.regret),
        ranged(deadline.length),
    ]  # fmt: skip
