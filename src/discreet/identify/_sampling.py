"""Top-two sampling: play the leader, or the arm that is hardest to tell from it.

    leader      B = argmax of m_a + bonus_a
    challenger  C = argmin over a ≠ B of W_{B,a}(m, N), N all pulls
    tracking    play B if (times B was played while it led) <= β (times B led, this one included)
    bonus       exact: sqrt(2σ²α(1+s) log t / N), α = s = 1.2;  private: sqrt(k/n) + k/(εn)

n is the size of the released batch, k = log2 n + 2, β = 1/2; in print the n inside k is the arm's
own, by default here that of the largest batch (`SharedTopTwo` says why). A rule sees releases and
counts, so between two releases its choices follow from counts alone. `BatchedTopTwo` decides once
a batch: of leader and challenger it plays the one that has fallen behind its share, to the end of
the batch. `RandomTopTwo` plays the leader with probability β, as public code does.

Jourdan & Degenne (2023), TTUCB; Azize (2024, thesis), Algorithm 10, lines 16 to 18.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import positive, share
from .._compiled import Function, Kernel, open_slot
from ..policies import Rule, Setting, SuccessiveElimination
from ..policies._elimination import Confidence
from ..policies._view import View
from ._costs import SIGMA, GaussianCost, Scale, resistance
from ._setting import risk_of
from ._thresholds import phase

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Integers


class TopTwoScale(NamedTuple):
    """Cost, share of the leader, and the constant of the bonus (2σ²α(1+s), or ε)."""

    cost: Scale
    beta: float
    constant: float


class Tracking(NamedTuple):
    """One entry an arm."""

    led: Integers
    """how often it was the leader"""
    own: Integers
    """how often it was played while it led"""


exploration: Callable[[TopTwoScale, View, int], float] = open_slot("exploration")
"""What the bonuses of all arms share."""
bonus: Callable[[TopTwoScale, View, int, float], float] = open_slot("bonus")


def explore_time(rule: TopTwoScale, view: View, t: int) -> float:
    """2σ²α(1+s) log t."""
    return rule.constant * math.log(t)


def bonus_exact(rule: TopTwoScale, view: View, arm: int, shared: float) -> float:
    """sqrt(2σ²α(1+s) log t / N)."""
    return math.sqrt(shared / view.pulls[arm])


def explore_alone(rule: TopTwoScale, view: View, t: int) -> float:
    """Nothing: every arm has its own k."""
    return 0.0


def explore_together(rule: TopTwoScale, view: View, t: int) -> float:
    """The k of the largest batch."""
    largest = view.size[0]
    for arm in range(1, len(view.size)):
        largest = max(largest, view.size[arm])
    return phase(float(largest))


def bonus_private(rule: TopTwoScale, view: View, arm: int, shared: float) -> float:
    """sqrt(k/n) + k/(εn)."""
    size = float(view.size[arm])
    k = max(shared, phase(size))
    return math.sqrt(k / size) + k / (rule.constant * size)


def find_leader(rule: TopTwoScale, view: View, t: int) -> int:
    """argmax of m + bonus, the first of equals."""
    shared = exploration(rule, view, t)
    best, largest = 0, -1e300
    for arm in range(len(view.value)):
        index = view.value[arm] + bonus(rule, view, arm, shared)
        if index > largest:
            best, largest = arm, index
    return best


def find_challenger(rule: TopTwoScale, view: View, leader: int) -> int:
    """argmin of W_{B,a}(m, N), the first of equals: argmax of 1/W = (1/N_B + 1/N_a)/gain."""
    best, largest = -1, 0.0
    share = 1.0 / view.pulls[leader]
    for arm in range(len(view.value)):
        if arm != leader:
            resists = resistance(rule.cost, view.value[leader] - view.value[arm])
            ease = resists * share + resists * (1.0 / view.pulls[arm])
            if ease > largest:
                best, largest = arm, ease
    return best


def first_unreleased(view: View) -> int:
    """The first arm without a release; -1 if there is none."""
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
    return -1


def choose_top_two(rule: TopTwoScale, memory: Tracking, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then leader or challenger, as the leader's share says."""
    arm = first_unreleased(view)
    if arm >= 0:
        return arm
    leader = find_leader(rule, view, t)
    memory.led[leader] += 1
    if memory.own[leader] <= rule.beta * memory.led[leader]:
        memory.own[leader] += 1
        return leader
    return find_challenger(rule, view, leader)


def choose_at_random(rule: TopTwoScale, memory: object, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then the leader with probability β, else the challenger."""
    arm = first_unreleased(view)
    if arm >= 0:
        return arm
    leader = find_leader(rule, view, t)
    if rng.random() < rule.beta:
        return leader
    return find_challenger(rule, view, leader)


def choose_for_a_batch(
    rule: TopTwoScale, memory: object, view: View, t: int, rng: Generator
) -> int:
    """An arm without release first; then the leader, unless it is ahead of its share."""
    arm = first_unreleased(view)
    if arm >= 0:
        return arm
    leader = find_leader(rule, view, t)
    challenger = find_challenger(rule, view, leader)
    if (1.0 - rule.beta) * view.pulls[leader] <= rule.beta * view.pulls[challenger]:
        return leader
    return challenger


def leader_and_challenger(rule: TopTwoScale, memory: object, view: View, t: int) -> tuple[int, int]:
    """The two arms of which one is played; every arm has a release."""
    leader = find_leader(rule, view, t)
    return leader, find_challenger(rule, view, leader)


@dataclass(frozen=True)
class TopTwo(Rule):
    """TTUCB's sampling, for a release after every round."""

    cost: GaussianCost
    beta: float = 0.5
    alpha: float = 1.2
    power: float = 1.2
    name: ClassVar[str] = "top two"
    compares: ClassVar[str] = "top two"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_top_two, exploration=explore_time, bonus=bonus_exact
    )

    def __post_init__(self) -> None:
        share("beta", self.beta, fix="use beta=0.5")
        positive("alpha", self.alpha, "use alpha=1.2")
        positive("power", self.power, "use power=1.2")

    def parameters(self, setting: Setting) -> TopTwoScale:
        width = 2.0 * SIGMA**2 * self.alpha * (1.0 + self.power)
        return TopTwoScale(self.cost.scale(setting), float(self.beta), width)

    def memory(self, setting: Setting) -> NamedTuple:
        import numpy as np

        return Tracking(np.zeros(setting.arms, np.int64), np.zeros(setting.arms, np.int64))

    @property
    def pair(self) -> Kernel:
        """(rule, memory, view, t) -> leader and challenger, for runs in which both are played."""
        return Kernel(leader_and_challenger, **Kernel(self.choose).parts)


@dataclass(frozen=True)
class PrivateTopTwo(TopTwo):
    """The same with the bonus of AdaP-TT, which depends on releases alone: k is the arm's own.

    An arm whose first means were released far too low then waits until the others' evidence has
    outgrown its own, and if they are equally good it waits for very long: see `SharedTopTwo`.
    """

    name: ClassVar[str] = "private top two"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_top_two, exploration=explore_alone, bonus=bonus_private
    )

    def parameters(self, setting: Setting) -> TopTwoScale:
        epsilon = setting.pure_epsilon(self.name)
        return TopTwoScale(self.cost.scale(setting), float(self.beta), epsilon)

    def between_releases(self) -> Rule:
        return BatchedTopTwo(self.cost, self.beta)


@dataclass(frozen=True)
class SharedTopTwo(PrivateTopTwo):
    """The same with the k of the largest batch for all arms, so that no one waits indefinitely."""

    name: ClassVar[str] = "private top two, shared bonus"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_top_two, exploration=explore_together, bonus=bonus_private
    )


@dataclass(frozen=True)
class RandomTopTwo(PrivateTopTwo):
    """The shared bonus, with a coin of probability β in the place of tracking."""

    name: ClassVar[str] = "private top two, randomised"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_at_random, exploration=explore_together, bonus=bonus_private
    )

    def memory(self, setting: Setting) -> NamedTuple:
        return Rule.memory(self, setting)


@dataclass(frozen=True)
class BatchedTopTwo(PrivateTopTwo):
    """The shared bonus, decided once a batch, as live trials in single batches do."""

    name: ClassVar[str] = "private top two, batch by batch"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_for_a_batch, exploration=explore_together, bonus=bonus_private
    )

    def memory(self, setting: Setting) -> NamedTuple:
        return Rule.memory(self, setting)


@dataclass(frozen=True)
class Elimination(SuccessiveElimination):
    """Successive elimination with β = δ."""

    def parameters(self, setting: Setting) -> Confidence:
        return Confidence(setting.pure_epsilon(self.name), risk_of(setting, self.name))
