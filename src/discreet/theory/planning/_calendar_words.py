"""A plan with a calendar in the words of a trial's protocol."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._designs import INDEX, RACE
from ._plan import number

if TYPE_CHECKING:
    from ...simulator._record import Figure, Probability
    from ._calendar import Deadline, Difference, TrialLine, TrialPlan

GAIN = 0.99
"""Of what equal allocation loses: below that, adapting is worth its while."""
POWER = 0.8
"""Below this a test is said to have little power."""


def ranged(value: Figure) -> str:
    """ "24.4 ± 0.2 (18 to 33)": mean, standard error, nine of ten trials."""
    return f"{measured(value)} ({number(value.low)} to {number(value.high)})"


def measured(value: Figure | Difference) -> str:
    """ "24.4 ± 0.2"."""
    return f"{number(value.mean)} ± {value.error:.2g}"


def likely(value: Probability) -> str:
    """ ".94 (.93 to .95)"."""
    return f"{value:.3f} ({value.low:.3f} to {value.high:.3f})"


def recommendation(plan: TrialPlan) -> tuple[str, ...]:
    """What to write into the protocol, and what it rests on."""
    own = plan.lines[0]
    said = [allocation(plan, own), conduct(plan), price(plan), declaration(plan)]
    if plan.deadlines:
        said.append(follow_up(plan))
    said.append(missing(plan))
    if plan.calendar.drift is not None and not plan.calendar.trend:
        said.append(
            "Secular trend: the allocation ratio changes with what is released and means are "
            "pooled over time, so a shared trend biases the comparison of arms. Take trend=True, "
            "which compares arms within epochs of fixed allocation, or the race, whose arms run "
            "concurrently in equal numbers."
        )
    return tuple(said)


def allocation(plan: TrialPlan, own: TrialLine) -> str:
    """Adapt, or allocate equally."""
    error = own.regret.error
    worse = plan.horizon * sum(mean < max(plan.means) for mean in plan.means) / len(plan.means)
    if own.regret.mean + 4.0 * error >= GAIN * plan.equal:
        return (
            f"Allocation: equal. With {plan.horizon:,} participants response-adaptive allocation "
            f"at {own.label} does not help (expected outcomes lost {measured(own.regret)}, equal "
            f"allocation {number(plan.equal)}); equal allocation reveals nothing on the way."
        )
    kind = "within epochs, " if plan.calendar.trend else ""
    return (
        f"Allocation: response-adaptive, DP-IMED {kind}at {own.label}. Of {plan.horizon:,} "
        f"participants expect {number(own.worse.mean)} on an inferior arm (nine of ten trials: "
        f"{number(own.worse.low)} to {number(own.worse.high)}) where equal allocation has "
        f"{number(worse)}, and {number(own.regret.mean)} outcomes lost instead of "
        f"{number(plan.equal)}. The arm with the largest estimate at the end is the best one with "
        f"probability {likely(own.best_named)}."
    )


def conduct(plan: TrialPlan) -> str:
    """How long, and who is analysed."""
    days, late = plan.lines[0].days, plan.calendar.delay
    return (
        f"Conduct: recruitment and follow-up take {number(days.mean)} days (nine of ten trials: "
        f"{number(days.low)} to {number(days.high)}). Everybody is followed up for "
        f"{late.deadline:g} days after their own assignment, and all who were assigned are "
        "analysed."
    )


def price(plan: TrialPlan) -> str:
    """What privacy costs."""
    own = plan.prices[0]
    lost = (
        f"Price of privacy at ε = {own.epsilon:g}: {measured(own.privacy)} outcomes lost and "
        f"{measured(own.participants)} participants on inferior arms, beside"
    )
    shares = " with the same least shares" if any(plan.calendar.share) else ""
    if plan.calendar.trend:
        return f"{lost} the same epochs{shares} without noise."
    noise = (
        f"the noise itself {measured(own.noise)}"
        if abs(own.noise.mean) > 2.0 * own.noise.error
        else f"of which the noise itself is not measurable ({measured(own.noise)})"
    )
    return (
        f"{lost} a trial{shares} that sees every answer at once; {noise}, the rest is waiting for "
        "whole blocks."
    )


def declaration(plan: TrialPlan) -> str:
    """Which design to take, by what is wanted."""
    known = {line.name: line for line in plan.designs}
    race, adaptive = known[RACE], known[INDEX]
    assert race.power is not None
    by_race = f"a race declares a winner with probability {race.power:.3f}"
    intervals = "" if adaptive.power is None else (
        f" The adaptive trial has intervals that hold at level {1.0 - plan.risk:g}; that of the "
        f"difference excludes 0 in {100.0 * adaptive.power:.0f} % of trials."
    )  # fmt: skip
    if "conclude" not in plan.advice:
        return (
            f"Confirmatory question: {by_race}. No test was planned here, for so many or so few "
            f"participants: see discreet.confirm.{'design' if len(plan.means) == 2 else 'several'}."
            f"{intervals}"
        )
    test, both = (known[plan.advice[aim]] for aim in ("conclude", "both"))
    assert test.power is not None
    said = (
        f"Confirmatory question: take a group-sequential test ({test.what}): power "
        f"{test.power:.3f}, type I error at most {test.bound:.3f}, {number(test.participants)} "
        f"participants on average; {by_race}."
    )
    if test.power < POWER:
        said += " That power is low: take more participants, or a larger difference."
    if both is not test:
        assert both.power is not None
        said += (
            f" To conclude and to treat well: {both.name}, with power {both.power:.3f} and "
            f"{number(both.on_worse)} of {plan.horizon:,} on a worse arm."
        )
    return said + intervals


def follow_up(plan: TrialPlan) -> str:
    """The deadline."""
    best = min(plan.deadlines, key=lambda deadline: deadline.regret.mean)
    asked = plan.calendar.delay.deadline
    mine = next((one for one in plan.deadlines if one.days == asked), None)
    if mine is None or mine is best or not _apart(mine, best):
        others = ", ".join(f"{one.days:g}" for one in plan.deadlines if one is not mine)
        return f"Deadline: keep {asked:g} days; none of {others} is measurably better."
    lost = f"{number(best.regret.mean)} outcomes instead of {number(mine.regret.mean)}"
    grounds = "That is another estimand: decide on clinical grounds."
    if plan.calendar.delay.law == "fixed":
        return (
            f"Deadline: were outcomes known after {best.days:g} days, the trial would lose {lost}. "
            f"{grounds}"
        )
    return (
        f"Deadline: {best.days:g} days would lose {lost}, with {100.0 * best.answered:.0f} % of "
        f"answers in time instead of {100.0 * mine.answered:.0f} %. {grounds}"
    )


def _apart(one: Deadline, other: Deadline) -> bool:
    error = math.hypot(one.regret.error, other.regret.error)
    return abs(one.regret.mean - other.regret.mean) > 3.0 * error


def missing(plan: TrialPlan) -> str:
    """What is made of missing outcomes."""
    shares = [100.0 * (1.0 - answered) for answered in plan.calendar.answered]
    span = f"{min(shares):.0f} %" if min(shares) == max(shares) else (
        f"{min(shares):.0f} to {max(shares):.0f} %"
    )  # fmt: skip
    if max(shares) == 0.0:
        return "Missing outcomes: none expected."
    value = plan.calendar.counts
    if value is None:
        return (
            f"Missing outcomes ({span} expected): estimated from those who answered, assumed "
            "missing at random within an arm; report the worst-case bounds beside them."
        )
    return (
        f"Missing outcomes ({span} expected): counted as {value:g}, a composite strategy. If arms "
        "differ in how many answer, the comparison is of that composite, not of the rates."
    )
