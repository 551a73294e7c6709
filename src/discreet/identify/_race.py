"""The race: arms concurrently, dropped when their released sums fall too far behind.

At look j every arm that is still in has b_j participants and has released j noisy batches; S is the
sum of its releases. Drop a if S_best - S_a > x_j,

    x_j = min over 0 < θ < ε of [θ² b_j / 4 - 2j log(1 - θ²/ε²) + log(1/α_j)] / θ,
    α_j = α / (K (K-1) j (j+1)).

P(a best arm is ever dropped) <= α: the difference of two sums of b_j outcomes in [0, 1] has
log E e^{θX} <= θ² b_j / 4 above its mean, each of the 2j Laplace noises -log(1 - θ²/ε²), and
discrete Laplace noise no more; Markov's inequality, then the union over pairs and looks. So anyone
who is left alone is a best arm but for the risk α. Marks are fixed in advance, so x_j is.

A live trial plays it in permuted blocks (`live.looks`): all arms of a look fill and wait together,
and a drift that they share cancels in every difference. A simulation by `identify` plays the arms
of a look one after the other; `simulator.calendar` has the race on a calendar.

Marks grow by half, the largest T/K if there is a horizon T; the first has about 20/ε participants.
Races: Maron & Moore (1994).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..policies import Phases, Release, Rule, Schedule, Setting
from ..policies._elimination import Race, count_active, fresh_race, next_active, next_in_turn
from ..policies._races import race_marks, threshold
from ..policies._schedules import UNTIL_THE_END
from ..policies._view import View
from ._setting import risk_of
from ._stopping import Stopping

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers


FIRST_LOOK = 20.0
"""Participants per arm at the first look, times ε."""
GROWTH = 1.5
LONGEST_RACE = 10**12


class RacePlan(NamedTuple):
    """Batch of an arm, and how far it may be behind; one entry a look."""

    length: Integers
    limit: Floats


def marks_for(arms: int, horizon: int | None, epsilon: float) -> tuple[int, ...]:
    """b_1, b_2, ...: with T/K among them, if there is a horizon."""
    first = math.ceil(FIRST_LOOK / min(epsilon, 1.0))
    if horizon is not None:
        return race_marks(arms, horizon, max(1, min(first, horizon // (10 * arms))), GROWTH)
    marks = [first]
    while marks[-1] < LONGEST_RACE:
        marks.append(math.floor(marks[-1] * GROWTH))
    return tuple(marks)


def choose_racing(rule: RacePlan, memory: Race, view: View, t: int, rng: Generator) -> int:
    """The next arm of the look; after the last look the race continues without another."""
    memory.length[0] = UNTIL_THE_END
    if memory.epoch[0] < len(rule.length):
        memory.length[0] = rule.length[memory.epoch[0]]
    return next_in_turn(memory, len(view.size))


def enough_raced(
    stopping: object, rule: RacePlan, memory: Race, view: View, best: int, t: int
) -> bool:
    """At a look: drop who is too far behind, and see whether one is left."""
    arms = len(view.size)
    if next_active(memory, memory.next[0], arms) < arms or memory.epoch[0] >= len(rule.limit):
        return False
    most = -1e300
    for arm in range(arms):
        if memory.active[arm] == 1:
            most = max(most, view.value[arm] * view.size[arm])
    for arm in range(arms):
        behind = most - view.value[arm] * view.size[arm]
        if memory.active[arm] == 1 and behind > rule.limit[memory.epoch[0]]:
            memory.active[arm] = 0
    memory.epoch[0] += 1
    memory.next[0] = 0
    return bool(count_active(memory, arms) == 1)


@dataclass(frozen=True)
class Racing(Rule):
    """Arms concurrently, as long as they keep up."""

    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    ends: ClassVar[str] = "race"
    name: ClassVar[str] = "race"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_racing)

    def parameters(self, setting: Setting) -> RacePlan:
        import numpy as np

        epsilon = setting.pure_epsilon(self.name)
        risk, arms = risk_of(setting, self.name), setting.arms
        marks = marks_for(arms, setting.horizon, epsilon)
        lengths = [mark - before for before, mark in zip((0, *marks), marks, strict=False)]
        limits = [
            threshold(mark, look, arms, epsilon, risk) for look, mark in enumerate(marks, start=1)
        ]
        if setting.source.secure:
            return RacePlan(lengths, limits)
        return RacePlan(np.array(lengths), np.array(limits))

    def memory(self, setting: Setting) -> Race:
        return fresh_race(setting.arms)


@dataclass(frozen=True)
class Looks(Phases):
    """Looks at marks that are fixed in advance."""

    name: ClassVar[str] = "looks at fixed marks"


@dataclass(frozen=True)
class RaceWon(Stopping):
    """Stop when one arm is left."""

    name: ClassVar[str] = "one arm left in the race"
    ends: ClassVar[str] = "race"
    fitting = ("be a race", "Racing()")
    enough = Kernel(enough_raced)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return schedule.set_by_rule and release.releases_cells
