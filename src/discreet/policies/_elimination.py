"""Elimination on fresh private means: DP-SE, and GDP-Elim-New.

DP-SE, successive elimination:

Epoch e, gap 2^-e, S active arms: every active arm is played
R = ceil(max{32 log(8|S|e²/β) 4^e, 8 log(4|S|e²/β) 2^e / ε}) + 1 times, its mean released with
Lap(1/(εR)); with h = sqrt(log(8|S|e²/β)/(2R)) and c = log(4|S|e²/β)/(Rε), arm j is dropped if the
best mean is above m_j + 2h + 2c. β = 1/T.

GDP-Elim-New, explore then exploit: phase k, Δ = 2^-k, every arm is played
N(k) = ceil(max{32 log T/Δ², (4/(Δε)) log[(T²(e^ε-1)+T²δ)/(2(e^ε-1)+T²δ)]}) times, its mean released
with truncated Laplace noise for (ε, δ/2); an arm that leads by Δ is played indefinitely. For ε ->
0 the second term tends to (4/Δ)(1-2/T²)/δ.

Both release means of fresh rewards, each reward once: what the noise of one release keeps, the
run keeps. Wang & Zhu (2024) claim less for theirs, (ε, δ)-DP averaged over the instance; but a
choice is a function of released means alone, and truncated Laplace noise for (ε, δ/2) keeps
(ε, δ/2) for every event. Sajed & Sheffet (2019), Algorithm 2; Wang & Zhu (2024), Algorithm 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import share
from .._compiled import Function, Kernel
from ..privacy.budgets import Budget
from ._rules import Rule, epsilon_delta
from ._schedules import UNTIL_THE_END
from ._view import Setting, View, counts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Integers


class Confidence(NamedTuple):
    """ε of the release, and the error probability β."""

    epsilon: float
    beta: float


class Race(NamedTuple):
    """Who is still in, and where the epoch stands."""

    active: Integers
    """1 for an arm that is still in"""
    epoch: Integers
    """number of the epoch, 0 before the first"""
    next: Integers
    """the arm from which to look for the next active one"""
    length: Integers
    """pulls of every active arm in this epoch"""


def choose_eliminating(rule: Confidence, memory: Race, view: View, t: int, rng: Generator) -> int:
    """The next active arm of the epoch; at its end, drop the clearly worse and begin another."""
    arms = len(view.size)
    if memory.epoch[0] == 0:
        begin_epoch(rule, memory, arms)
    arm = next_active(memory, memory.next[0], arms)
    if arm == arms:
        eliminate(rule, memory, view)
        begin_epoch(rule, memory, arms)
        arm = next_active(memory, 0, arms)
    memory.next[0] = arm + 1
    return arm


def next_active(memory: Race, start: int, arms: int) -> int:
    """The first active arm from `start` on; `arms` if there is none."""
    arm = start
    while arm < arms and memory.active[arm] == 0:
        arm += 1
    return arm


def next_in_turn(memory: Race, arms: int) -> int:
    """The next active arm, after the last one the first again."""
    arm = next_active(memory, memory.next[0], arms)
    if arm == arms:
        arm = next_active(memory, 0, arms)
    memory.next[0] = arm + 1
    return arm


def count_active(memory: Race, arms: int) -> int:
    """|S|."""
    active = 0
    for arm in range(arms):
        active += memory.active[arm]
    return active


def begin_epoch(rule: Confidence, memory: Race, arms: int) -> None:
    """Set the length R of the next epoch; a last arm is played until the end."""
    memory.epoch[0] += 1
    memory.next[0] = 0
    active = count_active(memory, arms)
    if active == 1:
        memory.length[0] = UNTIL_THE_END
        return
    epoch = float(memory.epoch[0])
    gap = 2.0**-epoch
    union = active * epoch * epoch / rule.beta
    pulls = max(
        32.0 * math.log(8.0 * union) / (gap * gap),
        8.0 * math.log(4.0 * union) / (rule.epsilon * gap),
    )
    memory.length[0] = UNTIL_THE_END if pulls > 4e18 else math.ceil(pulls) + 1


def eliminate(rule: Confidence, memory: Race, view: View) -> None:
    """Drop every arm whose mean is more than 2h + 2c below the best."""
    arms = len(view.size)
    epoch, pulls = float(memory.epoch[0]), float(memory.length[0])
    union = count_active(memory, arms) * epoch * epoch / rule.beta
    width = 2.0 * math.sqrt(math.log(8.0 * union) / (2.0 * pulls))
    width += 2.0 * math.log(4.0 * union) / (pulls * rule.epsilon)
    best = -1e300
    for arm in range(arms):
        if memory.active[arm] == 1:
            best = max(best, view.value[arm])
    for arm in range(arms):
        if memory.active[arm] == 1 and best - view.value[arm] > width:
            memory.active[arm] = 0


@dataclass(frozen=True)
class SuccessiveElimination(Rule):
    """Drop arms whose private mean is clearly below the best; β = 1/T unless given."""

    beta: float | None = None
    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    name: ClassVar[str] = "elimination"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_eliminating)

    def __post_init__(self) -> None:
        if self.beta is not None:
            share("beta", self.beta, fix="leave it out for 1/T")

    def parameters(self, setting: Setting) -> Confidence:
        beta = self.beta or 1.0 / setting.needs_horizon(self.name)
        return Confidence(setting.pure_epsilon(self.name), beta)

    def memory(self, setting: Setting) -> Race:
        return fresh_race(setting.arms)


def fresh_race(arms: int) -> Race:
    """Everyone is in, nothing has begun."""
    import numpy as np

    return Race(np.ones(arms, np.int64), counts(), counts(), counts())


class Lead(NamedTuple):
    """log T, and the reach of the noise, times N."""

    log_horizon: float
    noise: float


def noise_reach(epsilon: float, delta: float, horizon: int) -> float:
    """(1/ε) log[(T²(e^ε-1)+T²δ)/(2(e^ε-1)+T²δ)], and its limit (1-2/T²)/δ at ε = 0."""
    few = 2.0 * math.exp(-2.0 * math.log(horizon))
    if epsilon == 0.0:
        return (1.0 - few) / delta
    # divided by T² e^ε above and below, so that no ε overflows
    grown, slack = -math.expm1(-epsilon), delta * math.exp(-epsilon)
    return math.log1p(grown * (1.0 - few) / (few * grown + slack)) / epsilon


def choose_leading(rule: Lead, memory: Race, view: View, t: int, rng: Generator) -> int:
    """The next arm of the phase; at its end, an arm that leads by Δ indefinitely, or another
    phase."""
    arms = len(view.size)
    if memory.epoch[0] == 0:
        begin_phase(rule, memory)
    if memory.next[0] == arms:
        leader = clear_leader(memory, view)
        if leader >= 0:
            for arm in range(arms):
                memory.active[arm] = 1 if arm == leader else 0
            memory.length[0] = UNTIL_THE_END
        else:
            begin_phase(rule, memory)
    arm = next_active(memory, memory.next[0] % arms, arms)
    memory.next[0] = arm + 1
    return arm


def begin_phase(rule: Lead, memory: Race) -> None:
    """Set N(k) for the next k."""
    memory.epoch[0] += 1
    memory.next[0] = 0
    gap = 2.0 ** -float(memory.epoch[0])
    pulls = max(32.0 * rule.log_horizon / (gap * gap), 4.0 * rule.noise / gap)
    memory.length[0] = UNTIL_THE_END if pulls > 4e18 else math.ceil(pulls)


def clear_leader(memory: Race, view: View) -> int:
    """The arm whose released mean is at least Δ above all others; -1 if there is none."""
    best, first, second = -1, -1e300, -1e300
    for arm in range(len(view.size)):
        if view.value[arm] > first:
            best, second, first = arm, first, view.value[arm]
        elif view.value[arm] > second:
            second = view.value[arm]
    return best if first >= second + 2.0 ** -float(memory.epoch[0]) else -1


@dataclass(frozen=True)
class LeadElimination(Rule):
    """Explore in phases until one arm leads by the phase's gap, then play it indefinitely."""

    asked: Budget
    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    name: ClassVar[str] = "exploit a clear leader"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_leading)

    def parameters(self, setting: Setting) -> Lead:
        horizon = setting.needs_horizon(self.name)
        epsilon, delta = epsilon_delta(self.asked)
        return Lead(math.log(horizon), noise_reach(epsilon, delta, horizon))

    def memory(self, setting: Setting) -> Race:
        return fresh_race(setting.arms)
