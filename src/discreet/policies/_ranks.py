"""The best of very many arms, without a look at each of them in every decision.

Arms that were played equally often, and have as many rewards behind their means, differ by their
means alone: of those the largest mean wins, because an index never falls with it. Batches that grow
leave few different numbers of rewards, some twenty for T = 1e6. So arms of equal numbers are a
*class* with its own tournament: a binary tree over all arms, of which every node knows the
arm with the largest mean below it. A decision compares the winners of the classes, and moves the
arm that was played from one tournament into another: O(classes + log K), and not O(K). That an
index moves with log t for all arms at once does no harm, for it is worked out for winners alone.

The choice is that of a walk over all arms, the first of equals included. Let s be the smallest
score of a winner. No arm of another class, nor of its own, is below s; the first arm of a class at
s is found on the way down its tree, to the left wherever the winner of the left half is at s too.
This rests on scores that do not rise with the mean, rounding included. Sums, quotients and roots
round monotonely. Where a score is the solution of an equation, that holds but for its last digits:
two arms of a class whose scores are as close as that could be taken for each other.

For simulations alone: live trials and audits look at every arm. A release must leave the view of
all other arms alone (`Release.settles`), and few arms are walked over as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from .._compiled import Function, Kernel, open_slot
from ._parts import says_itself
from ._rules import floor, index, score
from ._view import Setting, View, counts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers
    from ._policy import Policy

MANY = 48
"""Fewer arms are looked at one by one, which is as fast and compiles sooner."""
ROOM = 1 << 24
"""Nodes of all tournaments together, 64 MB; with more arms than fit they are walked over."""


class Ranks(NamedTuple):
    """The tournaments, and who is in which."""

    winner: Integers
    """node after node of every tournament: the arm of the largest mean below it, -1 for none"""
    size: Integers
    """of every class: the rewards behind a mean ..."""
    pulls: Integers
    """... and how often its arms were played"""
    least: Floats
    """the score of its winner in this decision"""
    home: Integers
    """of every arm: its class"""
    classes: Integers
    """how many classes there are; one entry, as the next two"""
    fresh: Integers
    """no arm before this one is without release"""
    played: Integers
    """the arm that was played last, and stands in no tournament; -1 for none"""


shared_by: Callable[[float], float] = open_slot("shared_by")
"""What the scores of all arms share, from the largest mean."""
hopeless: Callable[[object, View, int, int, float, float], bool] = open_slot("hopeless")
"""Whether the score of an arm is surely above another, where that is quicker to say."""


def nothing_shared(largest: float) -> float:
    """An index needs no more than its own arm."""
    return 0.0


def never_hopeless(rule: object, view: View, arm: int, t: int, shared: float, least: float) -> bool:
    """For scores that are quick to work out."""
    return False


def above_floor(rule: object, view: View, arm: int, t: int, shared: float, least: float) -> bool:
    """What the score is not below is above the other by more than rounding."""
    return floor(rule, view, arm, t, shared) > least + 1e-9 * (1.0 + abs(least))


def negative_index(rule: object, view: View, arm: int, t: int, shared: float) -> float:
    """Indices are to be maximised, scores minimised."""
    return -index(rule, view, arm, t)


def better(view: View, one: int, other: int) -> int:
    """The arm of the larger mean, the first of equals; `one` comes first."""
    if other < 0 or (one >= 0 and view.value[one] >= view.value[other]):
        return one
    return other


def settle(winner: Integers, view: View, base: int, node: int) -> None:
    """Play the matches from a node to the root again, as far as they end in another way."""
    while node > 1:
        node >>= 1
        was = winner[base + node]
        now = better(view, winner[base + 2 * node], winner[base + 2 * node + 1])
        winner[base + node] = now
        if now == was:
            break


def enter(memory: Ranks, view: View, arm: int) -> None:
    """Put an arm into the tournament of its class."""
    nodes = len(memory.winner) // len(memory.size)
    classes = memory.classes[0]
    place = 0
    while place < classes and not (
        memory.size[place] == view.size[arm] and memory.pulls[place] == view.pulls[arm]
    ):
        place += 1
    if place == len(memory.size):  # compiled code would write elsewhere
        raise IndexError("a schedule says how many releases an arm can see")
    if place == classes:
        memory.size[place], memory.pulls[place] = view.size[arm], view.pulls[arm]
        memory.classes[0] = classes + 1
    leaf = nodes // 2 + arm
    memory.home[arm] = place
    memory.winner[place * nodes + leaf] = arm
    settle(memory.winner, view, place * nodes, leaf)


def leave(memory: Ranks, view: View, arm: int) -> None:
    """Take an arm out of its tournament, while its mean is what it was in there."""
    nodes, place = len(memory.winner) // len(memory.size), memory.home[arm]
    leaf = nodes // 2 + arm
    memory.winner[place * nodes + leaf] = -1
    settle(memory.winner, view, place * nodes, leaf)


def first_at(
    rule: object, memory: Ranks, view: View, place: int, t: int, shared: float, least: float
) -> int:
    """The first arm of a class at a score that its winner has. Mostly only the winner has it, and
    then so has not the second: the largest mean that lost against the winner on its way. Else means
    from `at` on have it, means up to `above` do not, and what is between is worked out."""
    nodes = len(memory.winner) // len(memory.size)
    base = place * nodes
    arm = memory.winner[base + 1]
    second, node = -1, nodes // 2 + arm
    while node > 1:
        rival = memory.winner[base + (node ^ 1)]
        if rival >= 0 and (second < 0 or view.value[rival] > view.value[second]):
            second = rival
        node >>= 1
    if second < 0 or hopeless(rule, view, second, t, shared, least):
        return int(arm)
    if score(rule, view, second, t, shared) > least:
        return int(arm)
    node, at, above = 1, view.value[second], -math.inf
    while node < nodes // 2:
        node *= 2
        left = memory.winner[base + node]
        if left < 0 or view.value[left] <= above:
            node += 1
        elif view.value[left] < at:
            if score(rule, view, left, t, shared) > least:
                above = view.value[left]
                node += 1
            else:
                at = view.value[left]
    return int(memory.winner[base + node])


def choose_ranked(rule: object, memory: Ranks, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then argmin of `score`, the first of equals."""
    arms, nodes = len(view.size), len(memory.winner) // len(memory.size)
    if memory.played[0] >= 0:
        enter(memory, view, memory.played[0])
    arm = memory.fresh[0]
    while arm < arms and view.size[arm] > 0:
        arm += 1
    memory.fresh[0] = arm
    if arm < arms:
        memory.played[0] = arm
        return int(arm)
    top, leader = 0, -1
    for place in range(memory.classes[0]):
        winner = memory.winner[place * nodes + 1]
        memory.least[place] = 1e300
        if winner >= 0 and (leader < 0 or view.value[winner] > view.value[leader]):
            top, leader = place, winner
    shared = shared_by(view.value[leader])
    least = score(rule, view, leader, t, shared)
    memory.least[top] = least
    for place in range(memory.classes[0]):
        winner = memory.winner[place * nodes + 1]
        if winner < 0 or place == top or hopeless(rule, view, winner, t, shared, least):
            continue
        memory.least[place] = score(rule, view, winner, t, shared)
        least = min(least, memory.least[place])
    best = arms
    for place in range(memory.classes[0]):
        if memory.least[place] == least:
            best = min(best, first_at(rule, memory, view, place, t, shared, least))
    leave(memory, view, best)
    memory.played[0] = best
    return int(best)


def ranked_scores(score: Function, shared_by: Function, floor: Function | None = None) -> Kernel:
    """The kernel for a score to be minimised."""
    if floor is None:
        kernel = Kernel(choose_ranked, hopeless=never_hopeless)
    else:
        kernel = Kernel(choose_ranked, hopeless=above_floor, floor=floor)
    return Kernel(kernel, score=score, shared_by=shared_by)


def ranked_indices(index: Function, hopeless: Function = never_hopeless) -> Kernel:
    """The kernel for an index to be maximised."""
    return Kernel(
        choose_ranked, score=negative_index, index=index, shared_by=nothing_shared,
        hopeless=hopeless,
    )  # fmt: skip


def is_ranked(policy: Policy, setting: Setting, many: int = MANY) -> bool:
    """Whether a simulation may choose so: many arms, batches whose sizes are fixed and grow, a rule
    and a release that say so themselves, and room for as many tournaments as there can be."""
    rule, release, schedule = policy.rule, policy.release, policy.schedule
    own = rule.ranked is not None and says_itself(rule, "ranked", "choose")
    settles = release.settles and says_itself(release, "settles", "publish")
    if setting.arms < many or not (own and settles and schedule.grows and schedule.fixed_sizes):
        return False
    looks = schedule.looks(setting)
    return looks is not None and nodes_of(setting.arms) * looks <= ROOM


def nodes_of(arms: int) -> int:
    """Of one tournament: a leaf for each arm, filled up to a power of two."""
    return 2 << (arms - 1).bit_length()


def fresh_ranks(setting: Setting) -> Ranks:
    """Before the first round."""
    import numpy as np

    classes = setting.schedule.looks(setting) or 1
    return Ranks(
        np.full(nodes_of(setting.arms) * classes, -1, np.int32), counts(classes), counts(classes),
        np.zeros(classes), counts(setting.arms), counts(), counts(), np.full(1, -1, np.int64),
    )  # fmt: skip
