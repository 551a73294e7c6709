"""The arm of the highest index, without working out every index in every round.

Indices of the form bound(arm, level(t)) only grow while an arm is not played: a *ceiling*, worked
out for a round that is yet to come, stays above the index until that round. Most arms have a
ceiling below the index of the arm that was played last and need not be looked at. In most rounds
none need: a level that was already reached gives the arm that was played last an index above the
largest ceiling of the others, its *rival*. Addition, division and square roots round monotonely,
so the choice is the same to the last bit.

For simulations alone, which choose every round: live trials and audits work out every index. A
release must leave the view of all other arms alone (`Release.settles`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .._compiled import Function, Kernel
from ._parts import says_itself
from ._rules import bound, level
from ._view import View

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers
    from ._policy import Policy

AHEAD, SHARE = 16, 12
"""Ceilings last 16 rounds, and one for every 2^12 that are over: the level moves by as little in
all of them."""


class Ceilings(NamedTuple):
    """What is known of the indices without working them out."""

    value: Floats
    """never below an arm's index, unless the arm was played last, ..."""
    until: Integers
    """... up to this round; one entry, as the next four"""
    level: Floats
    """the level of that round"""
    low: Floats
    """a level that was already reached"""
    played: Integers
    """the arm that was played last"""
    rival: Floats
    """the largest ceiling of the others"""


def choose_under_ceilings(
    rule: object, memory: Ceilings, view: View, t: int, rng: Generator
) -> int:
    """argmax of `bound`, the first of equals; an arm without release first."""
    ceilings = memory.value
    best = memory.played[0]
    if t > memory.until[0]:
        for arm in range(len(view.size)):
            if view.size[arm] == 0:
                return arm
        memory.until[0] = t + AHEAD + (t >> SHARE)
        memory.level[0] = level(rule, memory.until[0])
        memory.low[0] = level(rule, t)
        for arm in range(len(view.size)):
            ceilings[arm] = bound(rule, view, arm, memory.level[0])
    elif bound(rule, view, best, memory.low[0]) > memory.rival[0]:
        return int(best)
    else:
        ceilings[best] = bound(rule, view, best, memory.level[0])
    now = level(rule, t)
    largest = bound(rule, view, best, now)
    for arm in range(len(view.size)):
        if ceilings[arm] < largest:
            continue
        value = bound(rule, view, arm, now)
        if value > largest or (value == largest and arm < best):
            best, largest = arm, value
    memory.played[0] = best
    rival = -1e300
    for arm in range(len(view.size)):
        if arm != best:
            rival = max(rival, ceilings[arm])
    memory.rival[0] = rival
    return int(best)


def under_ceilings(level: Function, bound: Function) -> Kernel:
    """The kernel for an index."""
    return Kernel(choose_under_ceilings, level=level, bound=bound)


def takes_notes(policy: Policy) -> bool:
    """Whether a simulation may choose so. A rule that chooses in its own way may not: what it
    inherits is the other choice."""
    rule, each_round = policy.rule, policy.schedule.each_round
    own = rule.noted is not None and says_itself(rule, "noted", "choose")
    return own and policy.release.settles and each_round


def no_ceilings(arms: int) -> Ceilings:
    """Before the first round."""
    import numpy as np

    none = np.zeros(1)
    return Ceilings(
        np.zeros(arms), np.full(1, -1, np.int64), none, none.copy(), np.zeros(1, np.int64),
        none.copy(),
    )  # fmt: skip
