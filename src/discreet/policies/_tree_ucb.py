"""UCB on noisy prefix sums r of every arm: trees and hybrid counters.

DP-UCB:        r/N + sqrt(2 log(2/δ')/N) + sqrt(8) log^1.5 T log(2/δ')/(εN), δ' = t^-4; trees.
Private UCB:   r/N + sqrt(2 log t/N) + Γ/N, Γ = log²T log(KT log T/γ)/ε; trees. As printed both
               Γ and the noise have a factor K more: calibration="paper". In experiments the width
               is sqrt(r log t)/N + log t/N instead.
DP-UCB-BOUND:  r/N + sqrt(2 log t/N) + ν/N, ν = (sqrt(8)/ε) log(4t⁴) (1 + log N 1{N no power of 2});
               hybrid counters. Without ν it is the DP-UCB of Tossou & Dimitrakakis.

ε-DP: each arm has its own counter over its own rewards, and a counter keeps ε. Mishra & Thakurta
(2015), Algorithm 1; Tossou & Dimitrakakis (2016); DP-UCB as run by Azize (2024), section 5.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._checks import positive, share
from .._compiled import Function, Kernel
from ._ceilings import under_ceilings
from ._rules import Rule, choose_highest
from ._view import Setting, View

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Integers


class TreeWidth(NamedTuple):
    """The power of t in δ', and sqrt(8) log^1.5 T / ε."""

    power: float
    noise: float


def dp_ucb_level(rule: TreeWidth, t: int) -> float:
    """log(2/δ')."""
    return math.log(2.0) + rule.power * math.log(t + 1.0)


def dp_ucb_bound(rule: TreeWidth, view: View, arm: int, level: float) -> float:
    """r/N + sqrt(2 log(2/δ')/N) + sqrt(8) log^1.5 T log(2/δ')/(εN)."""
    size = view.size[arm]
    return view.value[arm] + math.sqrt(2.0 * level / size) + rule.noise * level / size


@dataclass(frozen=True)
class DPUCB(Rule):
    """r/N + sqrt(2 log(2/δ')/N) + sqrt(8) log^1.5 T log(2/δ')/(εN), δ' = t^-power."""

    power: float = 4.0
    name: ClassVar[str] = "UCB index + tree width"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_highest, level=dp_ucb_level, bound=dp_ucb_bound
    )
    noted: ClassVar[Kernel | None] = under_ceilings(dp_ucb_level, dp_ucb_bound)

    def __post_init__(self) -> None:
        positive("power", self.power, "use power=4 as published")

    def parameters(self, setting: Setting) -> TreeWidth:
        horizon = setting.needs_horizon(self.name)
        epsilon = setting.pure_epsilon(self.name)
        return TreeWidth(self.power, math.sqrt(8.0) * math.log(horizon) ** 1.5 / epsilon)


class Slack(NamedTuple):
    """What the index adds for the noise, times N."""

    noise: float


def private_level(rule: Slack, t: int) -> float:
    """2 log t."""
    return 2.0 * math.log(t + 1.0)


def private_bound(rule: Slack, view: View, arm: int, level: float) -> float:
    """r/N + sqrt(2 log t/N) + Γ/N."""
    size = view.size[arm]
    return view.value[arm] + math.sqrt(level / size) + rule.noise / size


@dataclass(frozen=True)
class PrivateUCB(Rule):
    """r/N + sqrt(2 log t/N) + Γ/N, Γ = log²T log(KT log T/γ)/ε, times K if `divided`."""

    gamma: float = 0.1
    divided: bool = False
    name: ClassVar[str] = "UCB index + Γ/N"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_highest, level=private_level, bound=private_bound
    )
    noted: ClassVar[Kernel | None] = under_ceilings(private_level, private_bound)

    def __post_init__(self) -> None:
        share("gamma", self.gamma, fix="use gamma=0.1 as published")

    def parameters(self, setting: Setting) -> Slack:
        horizon, arms = setting.needs_horizon(self.name), setting.arms
        log_horizon = math.log(horizon)
        union = math.log(max(arms * horizon * log_horizon / self.gamma, 1.0))
        slack = log_horizon**2 * union / setting.pure_epsilon(self.name)
        return Slack(slack * arms if self.divided else slack)


def log_level(rule: object, t: int) -> float:
    """log t."""
    return math.log(t + 1.0)


def experimental_bound(rule: object, view: View, arm: int, level: float) -> float:
    """r/N + sqrt(r log t)/N + log t/N, r at least 0."""
    size = view.size[arm]
    total = max(view.value[arm] * size, 0.0)
    return view.value[arm] + (math.sqrt(total * level) + level) / size


@dataclass(frozen=True)
class ExperimentalUCB(Rule):
    """r/N + sqrt(r log t)/N + log t/N."""

    name: ClassVar[str] = "UCB index, experimental width"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_highest, level=log_level, bound=experimental_bound
    )
    noted: ClassVar[Kernel | None] = under_ceilings(log_level, experimental_bound)


def hybrid_bound(rule: Slack, view: View, arm: int, level: float) -> float:
    """r/N + sqrt(2 log t/N) + ν/N."""
    size = view.size[arm]
    noise = rule.noise * (math.log(4.0) + 4.0 * level)
    between = 0.0 if size & (size - 1) == 0 else math.log(size)
    return view.value[arm] + math.sqrt(2.0 * level / size) + noise * (1.0 + between) / size


@dataclass(frozen=True)
class DPUCBBound(Rule):
    """r/N + sqrt(2 log t/N) + ν/N, ν = (sqrt(8)/ε) log(4t⁴) (1 + log N 1{N no power of 2})."""

    name: ClassVar[str] = "UCB index + hybrid width"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_highest, level=log_level, bound=hybrid_bound
    )
    noted: ClassVar[Kernel | None] = under_ceilings(log_level, hybrid_bound)

    def parameters(self, setting: Setting) -> Slack:
        return Slack(math.sqrt(8.0) / setting.pure_epsilon(self.name))


class Kept(NamedTuple):
    """Indices as they were at an arm's last release."""

    index: Any  # the tuple has a method of that name
    size: Integers


def choose_kept(rule: object, memory: Kept, view: View, t: int, rng: Generator) -> int:
    """argmax of mean + sqrt(2 log t/N), renewed only when the arm has a new release."""
    best, largest = 0, -1e300
    for arm in range(len(view.size)):
        size = view.size[arm]
        if size == 0:
            return arm
        if size != memory.size[arm]:
            memory.size[arm] = size
            memory.index[arm] = view.value[arm] + math.sqrt(2.0 * math.log(t + 1.0) / size)
        if memory.index[arm] > largest:
            best, largest = arm, memory.index[arm]
    return best


@dataclass(frozen=True)
class IntervalUCB(Rule):
    """DP-UCB-INT: the UCB1 index, computed at an arm's release and kept until its next."""

    name: ClassVar[str] = "UCB1 index, kept"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_kept)

    def memory(self, setting: Setting) -> Kept:
        import numpy as np

        return Kept(np.zeros(setting.arms), np.zeros(setting.arms, np.int64))
