"""Top two, concurrently: leader and challenger share the windows, and all blocks wait together.

Leader L and challenger C are built from what is released. Of the places of a window L gets the next
one if (1 - β) N_L <= β N_C, else C, N all their places, those that wait included (β = 1/2 for
policies that have none); before every arm has a release, all get the same. After every release the
policy is asked for its verdict.

**Why the risk holds.** Risks of these policies hold whatever arm is played when, as long as nothing
is read inside a batch and its size is a function of releases: `identify.evidence` multiplies a
martingale at every release by a factor whose mean is at most 1 given *all else that has been
released*, and the outcomes of a block are independent of that, also if other blocks were released
while it was open. Sizes are the schedule's (doubling, geometric, one), on counts alone; where they
are sized by the missing evidence they are set when a block opens, and anew at every release, never
below the places that are taken: with b the places of closed blocks and n those released, growth g,

    length = max(ceil((1 + g) n) - b, ceil(g_least b), 1).

A release is entered in the books before the next one comes: two of them at once would count one
noise for two.

**Blocks that are cut off.** Where any size counts, so does what the horizon or an answer cuts off:
both are functions of counts and releases. The last block of an arm that is dropped by hand, or of a
trial that is ended so, is released but is no evidence: anyone who cut it may have seen its
outcomes, and a size that follows from them would choose the tilt. Where sizes are the schedule's,
a block that was cut off ends the verdicts, at the end of the trial, and for the same reason no arm
is dropped by hand there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..._compiled import Function, Integers, open_slot
from ...policies._schedules import LONGEST
from ...policies._view import View, shown
from .._state import ANSWER, LEFT, OVER, TAKEN, Design, Head
from .._steps import close, end, own_due
from .._verdicts import verdict
from ._batch import BATCH, always, as_scheduled
from ._index import is_scheduled, keep_shares, no_shares, share_in_turn

if TYPE_CHECKING:
    from numpy.random import Generator

pair: Callable[[object, object, View, int], tuple[int, int]] = open_slot("pair")
"""Leader and challenger."""
note: Callable[[object, object, View], None] = open_slot("note")
"""Enters a release in the rule's books."""
missing_growth: Callable[[object, object], float] = open_slot("missing_growth")
"""By how much of its pulls an arm must grow for the evidence that is still missing."""
pass_over: Callable[[object, View, int], None] = open_slot("pass_over")
"""Counts a release, but as no evidence."""


set_apart: Callable[[Design, Head, View, int], None] = open_slot("set_apart")
resize: Callable[[Design, Head], None] = open_slot("resize")


class TopTwo(NamedTuple):
    """The leader's share of the places of both."""

    beta: float


class Covered(NamedTuple):
    """Whether the risk covers a verdict on what was released."""

    covered: Integers


def plan_top_two(design: Design, head: Head, most: int, rng: Generator) -> None:
    """The places of the window, one by one."""
    blind = 0
    for arm in range(len(head.places)):
        head.left[arm] = 0
        if head.active[arm] == 1 and head.size[arm] == 0:
            blind += 1
    if blind > 0:
        share_in_turn(head, design.window)
    else:
        seen = shown(View(head.value, head.size, head.places))
        leader, challenger = pair(design.rule, head.memory, seen, head.at[TAKEN])
        leader, challenger = still_in(head, leader, challenger)
        for _ in range(design.window):
            ahead = head.places[leader] + head.left[leader]
            behind = head.places[challenger] + head.left[challenger]
            if (1.0 - design.plan.beta) * ahead <= design.plan.beta * behind:
                head.left[leader] += 1
            else:
                head.left[challenger] += 1
    keep_shares(design, head, rng)
    for arm in range(len(head.places)):
        head.at[LEFT] += head.left[arm]


def still_in(head: Head, leader: int, challenger: int) -> tuple[int, int]:
    """The two of them; in place of an arm that was dropped, the other with most places."""
    if head.active[leader] == 0:
        leader, challenger = challenger, leader
    if head.active[leader] == 0:
        leader = most_played(head, -1)
    if head.active[challenger] == 0 or challenger == leader:
        challenger = most_played(head, leader)
    return leader, challenger


def most_played(head: Head, but: int) -> int:
    """The arm that is in and has most places, of all but one."""
    best = -1
    for arm in range(len(head.places)):
        more = best < 0 or head.places[arm] > head.places[best]
        if head.active[arm] == 1 and arm != but and more:
            best = arm
    return best


def is_by_hand(design: Design, head: Head, arm: int, number: int) -> bool:
    """Whether a block is the last of an arm that was dropped, or of a trial that was ended before
    its time: perhaps it had been full, but that is not known any more."""
    early = head.at[TAKEN] < design.horizon
    ended = head.at[OVER] == 1 and early and head.at[ANSWER] < 0
    return (ended or head.active[arm] == 0) and number + 1 == head.block[arm]


def enter_scheduled(
    design: Design, head: Head, arm: int, size: int, fully: bool, value: float, before: int
) -> None:
    """A block that was cut off ends the verdicts."""
    if not fully:
        head.notes.covered[0] = 0


def say(design: Design, head: Head, arm: int, now: float, rng: Generator) -> None:
    """Enter the release; the verdict; and what the blocks that are open still need."""
    if head.at[ANSWER] >= 0:
        return
    if head.notes.covered[0] == 0:
        if head.at[OVER] == 1:
            return  # there is no verdict on what was released
        raise ValueError("a release came before the one before it was entered")
    seen = shown(View(head.value, head.size, head.pulls))
    set_apart(design, head, seen, arm)
    note(design.rule, head.memory, seen)
    head.at[ANSWER] = verdict(design, head)
    if head.at[OVER] == 0:
        if head.at[ANSWER] >= 0:
            end(design, head)
        else:
            resize(design, head)


def nothing_noted(rule: object, memory: object, view: View) -> None:
    """The rule keeps no books."""


def as_evidence(design: Design, head: Head, view: View, arm: int) -> None:
    """Every block that is released counts."""


def as_it_was(design: Design, head: Head) -> None:
    """Blocks stay as long as they were planned."""


# --- sized by the missing evidence


def as_missing(design: Design, head: Head, arm: int) -> int:
    """Places of an arm's block that begins after the closed ones."""
    places = head.closed[arm]
    if places == 0:
        return min(int(design.rule.first), LONGEST)
    released, grown = int(head.memory.size[arm]), 2.0
    if head.memory.known[0] == 1:
        grown = missing_growth(design.rule, head.memory)
    wanted = math.ceil((1.0 + grown) * released) - places
    least: int = math.ceil(design.rule.least * places)
    return min(max(wanted, least, 1), LONGEST)


def is_evidence(design: Design, head: Head, arm: int, size: int) -> bool:
    """Whether a block counts: one that was cut by hand does not."""
    return not is_by_hand(design, head, arm, head.released[arm])


def unless_by_hand(design: Design, head: Head, view: View, arm: int) -> None:
    """A block that was cut by hand is no evidence."""
    if is_by_hand(design, head, arm, head.released[arm] - 1):
        pass_over(head.memory, view, arm)


def as_needed(design: Design, head: Head) -> None:
    """The length of every open block is set anew; if it has as many places, it closes."""
    for arm in range(len(head.places)):
        if head.active[arm] == 1:
            head.mark[arm] = head.closed[arm] + as_missing(design, head, arm)
            if head.closed[arm] < head.places[arm] and head.mark[arm] <= head.places[arm]:
                close(design, head, arm)


TOP_TWO: dict[str, Function] = {
    **BATCH, "plan": plan_top_two, "mark": as_scheduled, "due_of": own_due, "whole": is_scheduled,
    "entered": enter_scheduled, "owes": always, "follow": say, "keep_shares": no_shares,
    "note": nothing_noted, "set_apart": as_evidence, "resize": as_it_was,
}  # fmt: skip
SIZED: dict[str, Function] = {
    "mark": as_missing, "whole": is_evidence, "entered": BATCH["entered"],
    "set_apart": unless_by_hand, "resize": as_needed,
}  # fmt: skip
"""What differs where blocks are sized by the missing evidence."""
