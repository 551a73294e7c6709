"""KL-UCB: index max{q : N kl(mean, q) <= log f(t)}, f(t) = 1 + t log² t. No privacy.

The rule decides every round, so its indices are solved for lazily. An arm that was not played
has an index that only grows with log f(t): a *ceiling*, solved for at a slightly larger value of
log f, stays above it until log f gets there. A round then costs one Newton solution, for the arm
that was played last, and a comparison with each ceiling; the choice is the same.

Garivier & Cappé (2011); Lattimore & Szepesvári (2020), ch. 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..compiled import Function, Kernel
from .divergences import kl, kl_upper, newton_upper
from .rules import Rule, clip01
from .ucb import log_f
from .view import Setting, View


class Ceilings(NamedTuple):
    """What is known of every index without solving for it."""

    value: Any
    """never below the index ..."""
    until: Any
    """... while log f is at most this and the arm was not played"""
    last: Any
    """the index of the arm that was played last, where the next solution starts"""
    arm: Any
    """that arm"""


def choose_klucb(rule: Any, memory: Ceilings, view: View, t: int, rng: Any) -> int:
    """argmax of the KL-UCB index."""
    if t < len(view.size):
        for arm in range(len(view.size)):
            if view.size[arm] == 0:
                memory.arm[0] = arm
                memory.until[arm] = -1.0
                return arm
    budget = log_f(t)
    best = memory.arm[0]
    memory.until[best] = -1.0  # it was just played: its ceiling is void
    level = solve_from(clip01(view.value[best]), budget / view.size[best], memory.last[0])
    played = best
    for arm in range(len(view.size)):
        if arm == played or (memory.value[arm] < level and budget <= memory.until[arm]):
            continue
        mean = clip01(view.value[arm])
        if budget > memory.until[arm]:
            # a margin that shrinks with N: one pull moves an index by about this share
            ahead = budget * (1.0 + 0.25 / view.size[arm]) + 1e-9
            memory.value[arm] = kl_upper(mean, ahead / view.size[arm])
            memory.until[arm] = ahead
            if memory.value[arm] < level:
                continue
        if mean < level and view.size[arm] * kl(mean, level) > budget:
            continue
        value = kl_upper(mean, budget / view.size[arm])
        if value > level or (value == level and arm < best):
            best, level = arm, value
    memory.arm[0] = best
    memory.last[0] = level
    return int(best)


def solve_from(p: float, c: float, start: float) -> float:
    """kl_upper(p, c), from a start that is usually close."""
    if p <= 0.0 or p >= 1.0 or start <= p + 1e-9 or start >= 1.0:
        return kl_upper(p, c)
    # never start below half the way to Pinsker's bound: the first step would overshoot far
    return newton_upper(p, c, start) if kl(p, start) > 0.25 * c else kl_upper(p, c)


@dataclass(frozen=True)
class KLUCB(Rule):
    """max{q : N kl(mean, q) <= log f(t)}."""

    name: ClassVar[str] = "KL-UCB index"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_klucb)

    def memory(self, setting: Setting) -> Ceilings:
        import numpy as np

        arms = setting.arms
        return Ceilings(np.zeros(arms), np.full(arms, -1.0), np.ones(1), np.zeros(1, np.int64))
