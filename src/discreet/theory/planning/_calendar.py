"""A plan with a calendar: what a trial will cost whose outcomes come late, and some never.

>>> found = plan_trial([0.5, 0.3], horizon=600, arrivals=12, delay="14 days", missing=0.1, runs=100)
>>> [line.label for line in found.lines]
['ε = 1', 'no noise', 'not private']

DP-IMED in streams (r = 1.5) for every ε; the same blocks without noise, which is what waiting for
them costs; and IMED that sees every answer when it comes. All of them keep the same least shares,
and in epochs the last two are one: epochs are there against trends, and cost nothing of privacy's.
Beside them a race in permuted blocks, which declares a winner with the risk asked for, and what it
declares if all arms are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._checks import MOST_RUNS, amount, count, means_of, positive
from ..._checks import share as probability
from ..._durations import days
from ..._notebooks import plain
from ..._progress import Bar
from ...arms import Bernoulli
from ...errors import InvalidArgument
from ...identify import identifier
from ...policies import Policy, policy
from ...policies._private_kl import first_batch
from ...simulator import compare
from ...simulator._record import Figure, Probability, figure
from ...simulator._results import Result
from ...simulator.calendar import Calendar, Delay, Drift, calendar
from ...simulator.calendar._runs import checked_size
from ._designs import DesignLine, Wanted, chosen, design_lines
from ._plan import number
from ._progress import Steps

if TYPE_CHECKING:
    from ...report import Page

RATIO = 1.5
"""Growth of blocks."""
RUNS, LEAST = 1000, 100
"""Trials that are simulated, and of large ones at least so many."""
FOLLOWED = 20_000_000
"""Participants of all of them together, where nobody asks for more: a large trial is much like the
next one."""
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
    best_named: Probability
    used: float
    width_figures: tuple[Figure, ...] | None
    declared: Probability | None = None
    race_participants: Figure | None = None
    race_days: Figure | None = None
    false_winners: Probability | None = None

    @property
    def widths(self) -> tuple[float, ...] | None:
        """Mean width of the interval of every arm; None where nothing is released."""
        if self.width_figures is None:
            return None
        return tuple(width.mean for width in self.width_figures)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "label": self.label,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "worse": self.worse.to_dict(),
            "regret": self.regret.to_dict(),
            "days": self.days.to_dict(),
            "best_named": self.best_named.to_dict(),
            "used": self.used,
            "widths": None if self.width_figures is None else [
                width.to_dict() for width in self.width_figures
            ],
            "declared": _dict(self.declared),
            "race_participants": _dict(self.race_participants),
            "race_days": _dict(self.race_days),
            "false_winners": _dict(self.false_winners),
        }  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """Of two means, with its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, one: Figure, other: Figure) -> Difference:
        """From independent trials."""
        return cls(one.mean - other.mean, math.hypot(one.error, other.error))


@dataclass(frozen=True)
class Price:
    """What an ε costs: the noise alone, and all of privacy, blocks included."""

    epsilon: float
    noise: Difference
    """regret, beside the same blocks without noise"""
    privacy: Difference
    """regret, beside a trial that sees every answer when it comes"""
    participants: Difference
    """on worse arms, likewise"""

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True)
class Deadline:
    """One deadline of the scan: answers that count, and what the trial costs with it."""

    days: float
    answered: float
    regret: Figure
    length: Figure

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "deadline": self.days,
            "answered": self.answered,
            "regret": self.regret.to_dict(),
            "days": self.length.to_dict(),
        }


@dataclass(frozen=True)
class TrialPlan:
    """The answer of `plan_trial`: a line per ε, one without noise, and one without privacy.

    See `plan_trial` for an example.
    """

    means: tuple[float, ...]
    horizon: int
    calendar: Calendar
    epsilon: float
    risk: float
    runs: int
    seed: int
    lines: tuple[TrialLine, ...]
    deadlines: tuple[Deadline, ...]
    designs: tuple[DesignLine, ...]
    """tests beside the race and the adaptive trial"""

    @property
    def advice(self) -> dict[str, str]:
        """Which design to take, by what is wanted: "treat well", "conclude" or "both"."""
        return chosen(self.designs)

    @property
    def equal(self) -> float:
        """The regret of equal allocation."""
        return self.horizon * (max(self.means) - math.fsum(self.means) / len(self.means))

    def to_dict(self) -> dict[str, object]:
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
            "prices": [price.to_dict() for price in self.prices],
            "designs": [design.to_dict() for design in self.designs],
            "advice": self.advice,
            "recommendation": list(self.recommendation),
        }

    def __repr__(self) -> str:
        """One line: `text()` has the page."""
        own = self.lines[0]
        cost = f"regret {_give_or_take(own.regret)}, {_give_or_take(own.days)} days"
        return f"TrialPlan({own.label}: {cost})"

    def _repr_html_(self) -> str:
        """For notebooks: the page of plain text."""
        return plain(self.text())

    def text(self, width: int = 100) -> str:
        """One page of plain text."""
        from ._calendar_page import text

        return text(self, width)

    @property
    def recommendation(self) -> tuple[str, ...]:
        """What to do, in the words of a trial's protocol."""
        from ._calendar_words import recommendation

        return recommendation(self)

    @property
    def prices(self) -> tuple[Price, ...]:
        """What privacy costs at every ε."""
        *private, silent, seen = self.lines
        return tuple(
            Price(
                line.epsilon, Difference.of(line.regret, silent.regret),
                Difference.of(line.regret, seen.regret), Difference.of(line.worse, seen.worse),
            )
            for line in private
        )  # fmt: skip

    @property
    def asked(self) -> str:
        """What was asked, in a sentence."""
        plan = self.calendar
        shares = sorted({f"{100 * share:g} %" for share in plan.missing})
        means = ", ".join(f"{mean:g}" for mean in self.means)
        rest = "estimated from those who answered"
        if plan.counts is not None:
            rest = f"counting missing outcomes as {plan.counts:g}"
        drift = "" if plan.drift is None else f"; {plan.drift.kind} drift of {plan.drift.size:g}"
        if any(plan.share):
            drift += f"; least shares {', '.join(f'{share:g}' for share in plan.share)}"
        if plan.trend:
            drift += "; arms compared within epochs"
        return (
            f"Asked: rates {means}; {self.horizon:,} participants, {plan.arrivals:g} a day; "
            f"outcomes within {plan.delay.deadline:g} days ({plan.delay.law}), "
            f"{' or '.join(shares)} never; means {rest}{drift}; ε = {self.epsilon:g}. "
            f"{self.runs:,} trials, seed {self.seed}."
        )

    def page(self) -> Page:
        """One HTML page, with pictures."""
        from ._calendar_page import page

        return page(self)

    def write(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        return self.page().write(path)


def _give_or_take(figure: Figure) -> str:
    """A mean ± its standard error."""
    return f"{number(figure.mean)} ± {number(figure.error)}"


def plan_trial(
    means: Sequence[float],
    *,
    horizon: float | None = None,
    days: float | None = None,
    arrivals: float,
    delay: str | timedelta | float | Delay = 0.0,
    missing: float | Sequence[float] = 0.0,
    default: float | str = "estimate",
    drift: Drift | None = None,
    window: int = 1,
    share: float | Sequence[float] = 0.0,
    trend: bool = False,
    epsilon: float = 1.0,
    epsilons: Sequence[float] = (),
    risk: float = 0.05,
    strata: int | Sequence[float] = 1,
    deadlines: Sequence[str | timedelta | float] | None = None,
    runs: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | None = None,
) -> TrialPlan:
    """Simulate a trial whose outcomes come late, before it starts: with privacy, and without.

    It shows participants on worse arms, days, a race for a winner, and other deadlines.

    Args:
        means: The expected rate of every arm.
        horizon: The number of participants.
        days: Instead of horizon, the days of recruitment.
        arrivals: Participants a day.
        delay: The deadline for outcomes, "14 days", or a `Delay`.
        missing: The share that never answers, or one per arm.
        default: What a missing outcome counts as, or "estimate".
        drift: How the rates move over time.
        window: Assignments that are shuffled.
        share: The least share of every arm, or one per arm.
        trend: Compare arms within epochs alone.
        epsilon: The budget.
        epsilons: Further budgets to show.
        risk: The probability that the race declares a wrong winner, and that a test errs.
        strata: How many groups release their own sums, or their shares, for a test by stratum.
        deadlines: Other deadlines to show.
        runs: Simulated trials. Default: 1,000, fewer of more than 20,000 participants.
        seed: Random seed, for reproducible results.
        threads: The number of threads. Default: all cores.
        progress: Whether to say the steps. Default: True.

    Returns:
        The plan: `text()`, `page()`, and `recommendation` in sentences.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the means do not differ.

    Example:
        >>> import discreet
        >>> found = discreet.plan_trial([0.5, 0.3], horizon=100, arrivals=12, delay=14, runs=20)
        >>> found.lines[0].label
        'ε = 1'
    """
    clean = means_of(means)
    if max(clean) == min(clean):
        raise InvalidArgument("means", "differ", list(clean), "there is nothing to learn")
    asked = calendar(
        len(clean), arrivals=arrivals, delay=delay, missing=missing, default=default,
        drift=drift, window=window, share=share, trend=trend,
    )  # fmt: skip
    size = checked_size(_size(horizon, days, asked.arrivals), len(clean))
    wanted = [positive("epsilon", epsilon)]
    wanted += sorted({positive("epsilons", e) for e in epsilons} - set(wanted))
    wrong, seed = probability("risk", risk), count("seed", seed, least=0, fix="use seed=1")
    enough = max(LEAST, min(RUNS, FOLLOWED // size))
    many = enough if runs is None else count("runs", runs, most=MOST_RUNS)
    given: dict[str, Any] = {"horizon": size, "runs": many, "seed": seed, "threads": threads}
    environment = Bernoulli(clean)
    groups = _groups(strata, len(clean))
    equal = Bernoulli([math.fsum(clean) / len(clean)] * len(clean))
    others = _scan(asked.delay, delay, deadlines)
    with Steps(len(wanted) + 3 + len(others), "simulating trials", progress) as steps:
        given["progress"] = Bar(above=steps)
        lines = _lines(wanted, wrong, asked, (environment, equal), given, steps)
        scan = []
        for late in others:
            answered = replace(asked, delay=late)
            trials = _trials(_row(wanted[0], wanted[0]), environment, answered, given)
            scan.append(_deadline(trials, answered))
            steps.advance(f"with a deadline of {late.deadline:g} days")
        still = asked.drift is None and not asked.trend
        compared = Wanted(clean, size, wanted[0], wrong, seed, groups)
        designs = design_lines(compared, _row(wanted[0], wanted[0]), lines[0], still)
        steps.advance("designs beside each other")
    return TrialPlan(
        clean, size, asked, wanted[0], wrong, many, seed, tuple(lines), tuple(scan), designs
    )


def _groups(strata: int | Sequence[float], arms: int) -> tuple[float, ...]:
    """Shares of strata; none where there is one."""
    from ...confirm._sizes import shares_of

    found = shares_of(strata)
    if found and arms > 2:
        raise InvalidArgument(
            "strata", "be 1 with more than two arms", strata, "leave it out, or compare two arms"
        )
    return found


def _lines(
    wanted: Sequence[float], wrong: float, asked: Calendar, places: tuple[Bernoulli, Bernoulli],
    given: dict[str, Any], steps: Steps,
) -> list[TrialLine]:  # fmt: skip
    """A line for every ε, one without noise, and one without privacy, where arms differ; races
    also where they are equal."""
    lines, (environment, equal) = [], places
    for budget in (*wanted, math.inf):
        silent = _trials(_row(budget, wanted[0]), environment, asked, given)
        race, raced = _race(budget, wrong), replace(asked, share=(), trend=False, window=1)
        races = _trials(race, environment, raced, given)
        level = _trials(race, equal, raced, given)
        label = f"ε = {budget:g}" if math.isfinite(budget) else "no noise"
        lines.append(_line(label, budget, silent, wrong, races, level))
        steps.advance(f"trials with {label}")
    # the last of them has no noise: in epochs that is the trial without privacy
    seen = silent if asked.trend else _trials(policy("imed"), environment, asked, given)
    lines.append(_line("not private", math.inf, seen, wrong))
    steps.advance("trials without privacy")
    return lines


def _trials(row: Policy, environment: Bernoulli, asked: Calendar, given: dict[str, Any]) -> Result:
    """Trials on a calendar that was checked."""
    late: dict[str, Any] = {
        "delay": asked.delay, "missing": asked.missing, "drift": asked.drift,
        "default": "estimate" if asked.default is None else asked.default,
        "window": asked.window, "share": asked.share or 0.0, "trend": asked.trend,
    }  # fmt: skip
    size: dict[str, Any] = {**given, "points": 2}
    (found,) = compare([row], environment, arrivals=asked.arrivals, **size, **late)
    assert isinstance(found, Result)
    return found


def _race(epsilon: float, risk: float) -> Policy:
    """The race at a budget, or without noise."""
    return identifier("race", epsilon=epsilon).at(risk)


def _size(horizon: float | None, days: float | None, arrivals: float) -> float:
    fix = "give horizon, the participants, or days, how long they are recruited"
    if (horizon is None) == (days is None):
        raise InvalidArgument("horizon", "be given, or days, and not both", horizon, fix)
    return round(arrivals * positive("days", days, fix)) if horizon is None else horizon


def _row(epsilon: float, asked: float) -> Policy:
    """Without noise in the blocks, and so in the epochs, of the ε that was asked for."""
    first = first_batch(asked if math.isinf(epsilon) else epsilon)
    return policy("dp-imed", epsilon=epsilon, ratio=RATIO, first=first)


def _scan(
    delay: Delay, given: object, deadlines: Sequence[str | timedelta | float] | None
) -> list[Delay]:
    """Other deadlines. A delay given as a length of time is a deadline that all answers keep, so
    there answers are as late as each deadline; with a law of delays they stay as they are."""
    asked = [delay.deadline * x for x in MULTIPLES]
    if deadlines is not None:
        asked = [days("deadlines", each) for each in deadlines]
    checked = sorted({amount("deadlines", day, infinite=False, fix="use [7, 14]") for day in asked})
    mean = delay.mean if isinstance(given, Delay) else None
    scan = [Delay(day, delay.law, mean) for day in checked]
    return [late for late in scan if late.in_time > 0.0 and (late.deadline > 0.0 or deadlines)]


def _deadline(trials: Result, asked: Calendar) -> Deadline:
    answered = math.fsum(asked.answered) / len(asked.answered)
    regret = figure(trials.final_regret)
    return Deadline(asked.delay.deadline, answered, regret, figure(trials.days))


def _line(
    label: str, epsilon: float, trials: Result, risk: float,
    races: Result | None = None, level: Result | None = None,
) -> TrialLine:  # fmt: skip
    line = TrialLine(
        label, epsilon, figure(trials.worse), figure(trials.final_regret), figure(trials.days),
        trials.best_named, float(trials.used.mean()), None,
    )  # fmt: skip
    if races is None or level is None:
        return line
    return replace(
        line, width_figures=trials.width_figures(risk), declared=races.declared,
        race_participants=figure(races.participants), race_days=figure(races.days),
        false_winners=level.declared,
    )  # fmt: skip


def _dict(value: Figure | Probability | None) -> dict[str, float] | None:
    return None if value is None else value.to_dict()
