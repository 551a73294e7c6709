"""KL-UCB: index max{q : N kl(mean, q) <= log f(t)}, f(t) = 1 + t log² t. No privacy.

The rule decides every round, so its indices are solved for lazily. An arm that was not played
has an index that only grows with log f(t): a *ceiling*, solved for at a slightly larger value of
log f, stays above it until log f gets there. As long as the arm that was played last has an index
above the highest ceiling, which one divergence tells, it is played again and nothing is solved for;
else a round costs one solution, for that arm, and a comparison with each ceiling. The choice is the
same.

Garivier & Cappé (2011); Lattimore & Szepesvári (2020), ch. 10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ._divergences import kl, kl_upper
from ._rules import Rule, clip01
from ._ucb import log_f
from ._view import Setting, View, counts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers


class Ceilings(NamedTuple):
    """What is known of every index without solving for it."""

    value: Floats
    """never below the index ..."""
    until: Floats
    """... while log f is at most this and the arm was not played"""
    played: Integers
    """the arm that was played last"""
    begun: Integers
    """1 once every arm has a release, so that no one has to look again"""


def choose_klucb(rule: object, memory: Ceilings, view: View, t: int, rng: Generator) -> int:
    """argmax of the KL-UCB index."""
    if memory.begun[0] == 0:
        for arm in range(len(view.size)):
            if view.size[arm] == 0:
                memory.played[0] = arm
                return arm
        memory.begun[0] = 1
    budget = log_f(t)
    played = memory.played[0]
    memory.until[played] = -1.0
    mean, size = clip01(view.value[played]), view.size[played]
    highest, known = -1.0, True
    for arm in range(len(view.size)):
        if arm != played:
            known = known and budget <= memory.until[arm]
            highest = max(highest, memory.value[arm])
    if known and highest < 1.0:
        # not by a hair: rounding in a divergence is below 1e-14
        above = size * (kl(mean, highest) + 1e-14) < budget * (1.0 - 1e-9)
        if mean > highest or above:
            return int(played)
    best = played
    level = kl_upper(mean, budget / size)
    for arm in range(len(view.size)):
        if arm == played or (memory.value[arm] < level and budget <= memory.until[arm]):
            continue
        mean, size = clip01(view.value[arm]), view.size[arm]
        if budget > memory.until[arm]:
            # a margin that shrinks with N: one pull moves an index by about this share
            memory.until[arm] = budget * (1.0 + 0.25 / size) + 1e-9
            memory.value[arm] = kl_upper(mean, memory.until[arm] / size)
            if memory.value[arm] < level:
                continue
        if mean < level and size * kl(mean, level) > budget * (1.0 + 1e-9):
            continue
        value = kl_upper(mean, budget / size)
        if value > level or (value == level and arm < best):
            best, level = arm, value
    memory.played[0] = best
    return int(best)


@dataclass(frozen=True)
class KLUCB(Rule):
    """max{q : N kl(mean, q) <= log f(t)}."""

    name: ClassVar[str] = "KL-UCB index"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_klucb)

    def memory(self, setting: Setting) -> Ceilings:
        import numpy as np

        arms = setting.arms
        return Ceilings(np.zeros(arms), np.full(arms, -1.0), counts(), counts())
