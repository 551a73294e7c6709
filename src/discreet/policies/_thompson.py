"""Thompson sampling, plain and on private means.

Draw from Beta(mO+1, (1-m)O+1) of every arm, m its mean of O rewards, and play the largest:
- Thompson: m exact. No privacy. Thompson (1933); Agrawal & Goyal (2012).
- Lazy-DP-TS: m = clip01(noisy mean of the last doubled batch + 3 log t/(εO)).
- DP-TS: m = clip01(hybrid counter's mean + 6 sqrt(8) log(O+1) log t/(εO)).

The private two are ε-DP by their releases; the draws are post-processing. Hu & Hegde (2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._compiled import Floats, Function, Integers, Kernel, open_slot
from ._betas import beta_beyond
from ._rules import Rule, Starting, clip01
from ._view import Setting, View

if TYPE_CHECKING:
    from numpy.random import Generator


belief: Callable[[object, object, View, int, int], tuple[float, float]] = open_slot("belief")
"""The mean and the number of (pseudo-)rewards behind a Beta distribution."""


def choose_beta(rule: Starting, memory: object, view: View, t: int, rng: Generator) -> int:
    """argmax of a draw from every arm's Beta distribution; arms with too few rewards come first.

    The arm with most pulls is drawn first: it usually wins, and the others need not be drawn.
    """
    leader = 0
    for arm in range(len(view.size)):
        if view.size[arm] < rule.start:
            return arm
        if view.pulls[arm] > view.pulls[leader]:
            leader = arm
    mean, size = belief(rule, memory, view, leader, t)
    best, level = leader, rng.beta(mean * size + 1.0, (1.0 - mean) * size + 1.0)
    for arm in range(len(view.size)):
        if arm != leader:
            mean, size = belief(rule, memory, view, arm, t)
            value = beta_beyond(mean * size + 1.0, (1.0 - mean) * size + 1.0, level, rng)
            if value > level:
                best, level = arm, value
    return best


class Start(NamedTuple):
    """Rewards that every arm needs before it takes part."""

    start: int


def exact_belief(rule: Start, memory: object, view: View, arm: int, t: int) -> tuple[float, float]:
    """The mean as it is."""
    return clip01(view.value[arm]), float(view.size[arm])


@dataclass(frozen=True)
class Thompson(Rule):
    """A draw from Beta(R+1, N-R+1)."""

    name: ClassVar[str] = "Beta sample"
    choose: ClassVar[Function | Kernel] = Kernel(choose_beta, belief=exact_belief)

    def parameters(self, setting: Setting) -> Start:
        return Start(1)


class Lift(NamedTuple):
    """Rewards needed to take part, and what lifts the mean, times ε."""

    start: int
    factor: float


def lazy_belief(rule: Lift, memory: object, view: View, arm: int, t: int) -> tuple[float, float]:
    """clip01(m + 3 log t/(εO))."""
    size = float(view.size[arm])
    return clip01(view.value[arm] + rule.factor * math.log(t + 1.0) / size), size


@dataclass(frozen=True)
class LazyThompson(Rule):
    """A draw from Beta(m'O+1, (1-m')O+1), m' = clip01(m + 3 log t/(εO))."""

    name: ClassVar[str] = "Beta sample, lifted"
    choose: ClassVar[Function | Kernel] = Kernel(choose_beta, belief=lazy_belief)

    def parameters(self, setting: Setting) -> Lift:
        return Lift(1, 3.0 / setting.pure_epsilon(self.name))


def hybrid_belief(rule: Lift, memory: object, view: View, arm: int, t: int) -> tuple[float, float]:
    """clip01(m + 6 sqrt(8) log(O+1) log t/(εO))."""
    size = float(view.size[arm])
    lift = rule.factor * math.log(size + 1.0) * math.log(t + 1.0) / size
    return clip01(view.value[arm] + lift), size


class Lifts(NamedTuple):
    """What was worked out at an arm's last release."""

    size: Integers
    lift: Floats
    """6 sqrt(8) log(O+1)/ε"""


def noted_belief(rule: Lift, memory: Lifts, view: View, arm: int, t: int) -> tuple[float, float]:
    """`hybrid_belief`, with one logarithm a round instead of one per arm."""
    if view.size[arm] != memory.size[arm]:
        memory.size[arm] = view.size[arm]
        memory.lift[arm] = rule.factor * math.log(view.size[arm] + 1.0)
    size = float(view.size[arm])
    return clip01(view.value[arm] + memory.lift[arm] * math.log(t + 1.0) / size), size


@dataclass(frozen=True)
class HybridThompson(Rule):
    """A draw from Beta(m'O+1, (1-m')O+1), m' = clip01(m + 6 sqrt(8) log(O+1) log t/(εO))."""

    name: ClassVar[str] = "Beta sample, lifted for hybrids"
    choose: ClassVar[Function | Kernel] = Kernel(choose_beta, belief=hybrid_belief)
    noted: ClassVar[Kernel | None] = Kernel(choose_beta, belief=noted_belief)

    def notes(self, arms: int) -> Lifts:
        import numpy as np

        return Lifts(np.zeros(arms, np.int64), np.zeros(arms))

    def parameters(self, setting: Setting) -> Lift:
        return Lift(1, 6.0 * math.sqrt(8.0) / setting.pure_epsilon(self.name))
