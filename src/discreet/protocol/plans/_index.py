"""An index, in streams: blocks of all arms fill and wait concurrently.

A participant takes the next place in the *stream* of an arm. A stream is cut into blocks where the
policy's schedule says, on counts alone. The rule is asked for every place of a *window*, which is
then given out in a random order; no arm has less than its least share. What the rule is shown:

    value    the released mean m
    size     the evidence C: places in closed blocks, released or waiting, as if those that wait
             were going to look like m; of a policy that forgets, those of the newest closed block
    pulls    N: all places
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._compiled import Floats, Function, Integers, open_slot
from ...policies._epochs import keep_least
from ...policies._rules import prepare, score
from ...policies._schedules import LONGEST
from ...policies._step import choose, length
from ...policies._view import View, shown
from .._missing import worth
from .._state import LEFT, TAKEN, Design, Head
from .._steps import own_due
from ._batch import BATCH, as_scheduled

if TYPE_CHECKING:
    from numpy.random import Generator

ask: Callable[[Design, Head, View, int, int, int, Generator], tuple[int, int]] = open_slot("ask")
"""Who of the arms that are shown gets the next place, and for how many arrivals that stands."""
keep_shares: Callable[[Design, Head, Generator], None] = open_slot("keep_shares")


class Room(NamedTuple):
    """Where a window is reckoned, one entry per arm."""

    arm: Integers
    """the arms that have a release, in their order"""
    value: Any
    size: Any
    """the evidence of each: whole but for pairs"""
    pulls: Any
    score: Floats
    shared: Floats
    planned: Integers
    """places, those of the window that is being planned included"""
    mark: Integers
    ends: Integers
    newest: Integers
    least: Integers


def plan_index(design: Design, head: Head, most: int, rng: Generator) -> None:
    """A window, place by place: an arm without release has one in K, before any has one all have
    the same, the rule has the rest; and no arm has less than its share."""
    arms, room, left, many, on = len(head.places), design.room, design.window, 0, 0
    for arm in range(arms):
        head.left[arm] = 0
        on += head.active[arm]
        if head.active[arm] == 1 and head.size[arm] > 0:
            room.arm[many] = arm
            many += 1
    if many == 0:
        share_in_turn(head, left)
        left = 0
    elif many < on:
        for arm in range(arms):
            blind = head.active[arm] == 1 and head.size[arm] == 0
            room.value[arm] = design.window / on if blind else 0.0
        left -= spread(1.0, room.value, head.left, rng.random())
    if many == 1:
        head.left[room.arm[0]] += left
    elif left > 0:
        ask_for(design, head, room, many, left, most, rng)
    keep_shares(design, head, rng)
    for arm in range(arms):
        head.at[LEFT] += head.left[arm]


def share_in_turn(head: Head, window: int) -> None:
    """Each place to the arm that has fewest."""
    for _ in range(window):
        arm, fewest = 0, LONGEST
        for other in range(len(head.places)):
            if head.active[other] == 1 and head.places[other] + head.left[other] < fewest:
                arm, fewest = other, head.places[other] + head.left[other]
        head.left[arm] += 1


def ask_for(
    design: Design, head: Head, room: Room, many: int, left: int, most: int, rng: Generator
) -> None:
    """The rule names who gets so many places, among the arms that have a release."""
    evidence = room.size[:many]
    view = View(room.value[:many], evidence, room.pulls[:many])
    for number in range(many):
        arm = room.arm[number]
        room.planned[arm], room.mark[arm] = head.places[arm], head.mark[arm]
        room.ends[arm], room.newest[arm] = head.closed[arm], head.newest[arm]
        view.value[number], view.pulls[number] = head.value[arm], head.places[arm]
        evidence[number] = behind(design, head, room, arm)
    last, t = -1, head.at[TAKEN] + design.window - left
    while left > 0:
        last, stay = ask(design, head, view, t, last, most if design.window == 1 else 1, rng)
        if last < 0 or last >= many:  # compiled code would write elsewhere
            raise IndexError("a rule names an arm that is there")
        arm = room.arm[last]
        stay = min(stay, room.mark[arm] - room.planned[arm])
        head.left[arm] += stay
        room.planned[arm] += stay
        if room.planned[arm] == room.mark[arm]:  # the block closes, and counts as evidence
            room.newest[arm] = room.planned[arm] - room.ends[arm]
            room.ends[arm] = room.planned[arm]
            seen = shown(View(room.value, head.size, room.planned))
            room.mark[arm] += min(length(design.schedule, head.memory, seen, arm), LONGEST)
        view.pulls[last], evidence[last] = room.planned[arm], behind(design, head, room, arm)
        left, t = left - min(stay, left), t + stay


def behind(design: Design, head: Head, room: Room, arm: int) -> float:
    """C: how many outcomes stand behind a mean, those that wait included; R/n of them, where it is
    counted who answers."""
    found = room.ends[arm]
    if design.evidence == 3:
        found = room.planned[arm]
    elif design.evidence == 1:
        found = room.newest[arm]
    elif design.evidence == 2:  # doubling batches of single places: 1, 2, 4, ...
        found = 1
        while 4 * found <= room.ends[arm] + 1:
            found *= 2
    return worth(design, head, arm, max(1, found))


def spread(times: float, share: Floats, least: Integers, start: float) -> int:
    """Whole numbers, `times` share on average over `start` uniform on [0, 1), each rounded up or
    down, and so is their sum (systematic sampling), which it gives."""
    reached, before = start, 0
    for arm in range(len(share)):
        reached += times * share[arm]
        least[arm] = int(reached) - before
        before = int(reached)
    return before


def no_shares(design: Design, head: Head, rng: Generator) -> None:
    """No arm has a least share."""


def least_shares(design: Design, head: Head, rng: Generator) -> None:
    """Move places to arms that have less than their share, from those with most to spare."""
    room = design.room
    for arm in range(len(head.places)):
        room.value[arm] = design.share[arm] * head.active[arm]
    spread(design.window, room.value, room.least, rng.random())
    keep_least(head.left, room.least)


def is_scheduled(design: Design, head: Head, arm: int, size: int) -> bool:
    """Whether a block has all its places: one that was cut off has a size that may depend on
    releases."""
    seen = shown(View(head.value, head.size, head.pulls))
    return size == min(length(design.schedule, head.memory, seen, arm), LONGEST)


def ask_rule(
    design: Design, head: Head, view: View, t: int, last: int, most: int, rng: Generator
) -> tuple[int, int]:
    """The rule's own choice, and for how many arrivals it stands: no one knows of more than one."""
    return choose(design.rule, head.memory, shown(view), t, rng), 1


# --- exact shortcuts, for scores that read no t: `Rule.still`


def ask_scores(
    design: Design, head: Head, view: View, t: int, last: int, most: int, rng: Generator
) -> tuple[int, int]:
    """The arm of the smallest score, as `choose_smallest` finds it: only the score of the arm that
    moved is worked out again. And for how many arrivals it stays the smallest."""
    room, best = design.room, 0
    if last < 0:
        room.shared[0] = prepare(design.rule, view, t)
    for number in range(len(view.size)):
        if last < 0 or number == last:
            room.score[number] = score(design.rule, view, number, t, room.shared[0])
    for number in range(1, len(view.size)):
        if room.score[number] < room.score[best]:
            best = number
    return best, stay_smallest(design, view, t, best, most) if most > 1 else 1


def stay_smallest(design: Design, view: View, t: int, best: int, most: int) -> int:
    """For how many arrivals an arm keeps the smallest score, which rises with every place; no
    further than to the end of its block, where its evidence changes."""
    room, pulls = design.room, view.pulls[best]
    second, equals = 1e300, False
    for number in range(len(view.size)):
        if number != best and room.score[number] < second:
            second, equals = room.score[number], best < number
        elif number != best and room.score[number] == second:
            equals = equals and best < number
    low, high = 1, min(most, room.mark[room.arm[best]] - pulls) + 1
    while high - low > 1:
        middle = (low + high) // 2
        view.pulls[best] = pulls + middle - 1
        value = score(design.rule, view, best, t, room.shared[0])
        if value < second or (value == second and equals):
            low = middle
        else:
            high = middle
    view.pulls[best] = pulls
    return low


INDEX: dict[str, Function] = {
    **BATCH, "plan": plan_index, "mark": as_scheduled, "due_of": own_due, "whole": is_scheduled,
    "ask": ask_rule, "keep_shares": no_shares,
}  # fmt: skip
