"""Looks: arms compared over the same participants, as elimination and races do.

A rule that sets phases plays every arm of a phase equally often and then looks at all of them. Here
the arms of a phase share *permuted blocks*: of every 2 |active| participants each active arm gets
two, in a random order. So whatever moves all arms alike, a season or a new clinic, moves every
difference between them by next to nothing, and they wait for outcomes once, not one after the
other. Block j of an arm is its part of look j; the blocks of a look are released at one public
moment, when the last of them is due, and then the rule looks. Who arrives meanwhile fills the
blocks of the next look: of fixed length where lengths are fixed in advance (races), else
(elimination, whose lengths depend on how many arms are left) open until the look says how long they
are. A block that has more places by then closes with all of them: its size is a matter of arrivals,
and a mean of more outcomes is nearer the truth than the rule counts on.

The open block of an arm that is dropped closes, and is released when it is due. A rule that drops
all arms ends the trial without an answer: a test that is futile.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..._compiled import Function, Integers
from ...policies._schedules import LONGEST
from ...policies._step import choose
from ...policies._view import View, shown
from .._state import ANSWER, LEFT, LOOKED, NEVER, OVER, Design, Head
from .._steps import close, end, leave, own_due
from .._verdicts import verdict
from ._batch import BATCH

if TYPE_CHECKING:
    from numpy.random import Generator


class Looks(NamedTuple):
    """Places of every arm at every look, arm by arm within a look, where they are fixed in advance;
    else empty. Whether the last of them is the end, and whether arms have different numbers."""

    marks: Integers
    fixed_size: int
    uneven: int


def plan_looks(design: Design, head: Head, most: int, rng: Generator) -> None:
    """A permuted block: the same for every arm that is still in and has places to come; or, where
    shares differ, what keeps every arm within one place of its share."""
    each = max(1, design.window // len(head.places))
    for arm in range(len(head.places)):
        wanted = each
        if design.plan.uneven == 1 and head.active[arm] == 1:
            wanted = share_of(design, head, arm)
        head.left[arm] = head.active[arm] * min(wanted, room_for(design, head, arm))
        head.at[LEFT] += head.left[arm]
    if head.at[LEFT] == 0:  # rounding left nothing: one place for each that has room
        for arm in range(len(head.places)):
            head.left[arm] = head.active[arm] * min(1, room_for(design, head, arm))
            head.at[LEFT] += head.left[arm]


def share_of(design: Design, head: Head, arm: int) -> int:
    """Places of an arm in the next block: up to its share of all that there are then, of arms that
    are still in. A function of public counts alone."""
    arms, taken, planned = len(head.places), 0, 0
    last = len(design.plan.marks) - arms
    for other in range(arms):
        taken += head.active[other] * head.places[other]
        planned += head.active[other] * design.plan.marks[last + other]
    aim = math.floor((taken + design.window) * design.plan.marks[last + arm] / planned + 0.5)
    return max(0, int(aim) - head.places[arm])


def room_for(design: Design, head: Head, arm: int) -> int:
    """Places that are still to come for an arm."""
    looks = design.plan
    if looks.fixed_size == 0:
        return LONGEST
    last = len(looks.marks) - len(head.places) + arm
    return int(looks.marks[last] - head.places[arm])


def all_taken(design: Design, head: Head) -> bool:
    """Whether no arm has a place to come."""
    for arm in range(len(head.places)):
        if head.active[arm] == 1 and room_for(design, head, arm) > 0:
            return False
    return True


def phase(design: Design, head: Head) -> int:
    """How long the phase is that has begun."""
    return min(int(head.memory.length[0]), LONGEST)


def looks_had(design: Design, head: Head, arm: int) -> int:
    """Marks that an arm has reached."""
    marks, arms, look = design.plan.marks, len(head.places), 0
    while look * arms < len(marks) and marks[look * arms + arm] <= head.places[arm]:
        look += 1
    return look


def next_mark(design: Design, head: Head, arm: int) -> int:
    """Places to the next of the marks that are fixed in advance; open after the last."""
    marks, arms, look = design.plan.marks, len(head.places), looks_had(design, head, arm)
    if look * arms >= len(marks):
        return LONGEST
    return int(marks[look * arms + arm] - head.places[arm])


def racing(head: Head) -> int:
    """Arms that the rule has not dropped."""
    many = 0
    for arm in range(len(head.places)):
        many += head.memory.active[arm]
    return many


def of_look(design: Design, head: Head, arm: int) -> int:
    """Places of an arm's next block: to a mark that is fixed in advance; of a last arm, which is
    played indefinitely, in blocks that double, so that outcomes do not pile up; else open until a
    look says how long it is."""
    if len(design.plan.marks) > 0:
        return next_mark(design, head, arm)
    return max(1, head.places[arm]) if racing(head) == 1 else LONGEST


def last_look(design: Design, head: Head) -> int:
    """The last look there will be: once no one comes any more, that of the last full blocks."""
    if head.at[ANSWER] >= 0:
        return head.at[LOOKED]
    if head.at[OVER] == 0:
        return LONGEST
    number, least = head.at[LOOKED] + 1, LONGEST
    for arm in range(len(head.places)):
        if head.active[arm] == 1:
            if len(design.plan.marks) > 0:
                least = min(least, looks_had(design, head, arm))
            elif head.block[arm] < number or (
                head.block[arm] == number and head.newest[arm] < phase(design, head)
            ):
                return head.at[LOOKED]
    return least if len(design.plan.marks) > 0 else number


def is_of_look(design: Design, head: Head, arm: int, size: int) -> bool:
    """Whether the oldest block in flight of an arm is part of a look to come."""
    number = head.released[arm] + 1
    ahead = head.at[LOOKED] < number <= last_look(design, head)
    return head.active[arm] == 1 and ahead


def look_due(design: Design, head: Head, arm: int) -> float:
    """The blocks of a look are due together; those that are of no look, on their own."""
    own, number, latest = own_due(design, head, arm), head.released[arm], -NEVER
    if own == NEVER or not is_of_look(design, head, arm, 0):
        return own
    for other in range(len(head.places)):
        if head.active[other] == 1:
            if head.block[other] <= number:
                return NEVER  # still open
            if head.released[other] <= number:
                slot = other * design.depth + number % design.depth
                latest = max(latest, head.due[slot])
    return latest


def is_complete(design: Design, head: Head) -> bool:
    """Whether every arm that is still in has released its part of the next look."""
    number, some = head.at[LOOKED] + 1, False
    if number > last_look(design, head):
        return False
    for arm in range(len(head.places)):
        if head.active[arm] == 1:
            some = True
            if head.released[arm] < number:
                return False
    return some


def look(design: Design, head: Head, arm: int, now: float, rng: Generator) -> None:
    """Drop who is behind, and open the next phase; again, if that look is complete as well."""
    while is_complete(design, head):
        head.at[LOOKED] += 1
        in_the_race = 0
        for other in range(len(head.places)):
            in_the_race += head.active[other]
        head.at[ANSWER] = verdict(design, head)
        if head.at[ANSWER] < 0 and in_the_race > 1:
            ask_all(design, head, rng)
        for other in range(len(head.places)):
            if head.active[other] == 1:
                if head.memory.active[other] == 0:
                    leave(design, head, other)
                elif len(design.plan.marks) == 0 and head.at[OVER] == 0:
                    remark(design, head, other)
        if head.at[OVER] == 0 and (head.at[ANSWER] >= 0 or racing(head) == 0):
            end(design, head)


def ask_all(design: Design, head: Head, rng: Generator) -> None:
    """Have the rule name all arms of the phase: it looks at nothing in between."""
    known, asked = 0, 0
    for arm in range(len(head.places)):
        known += head.pulls[arm]
    while asked == 0 or asked < racing(head):
        choose(design.rule, head.memory, shown(View(head.value, head.size, head.pulls)), known, rng)
        asked += 1


def remark(design: Design, head: Head, arm: int) -> None:
    """The length of an arm's open block is set anew; if it has as many places, it closes."""
    begins, places, size = head.closed[arm], head.places[arm], LONGEST
    if racing(head) == 1:
        size = max(1, begins)
    elif head.block[arm] == head.at[LOOKED]:
        size = phase(design, head)
    head.mark[arm] = begins + size
    if begins < places and head.mark[arm] <= places:
        close(design, head, arm)


LOOKS: dict[str, Function] = {
    **BATCH, "plan": plan_looks, "mark": of_look, "due_of": look_due, "whole": is_of_look,
    "owes": is_complete, "follow": look, "filled": all_taken,
}  # fmt: skip
