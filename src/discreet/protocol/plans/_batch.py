"""One batch at a time: the rule names an arm on all that is released, the schedule says for how
long, and nothing else is played until that batch is released. As the papers' algorithms are
written; a batch that the horizon cuts off is never released. A policy that identifies gives its
verdict after every batch.

*Mixed* is the same with a decision every round: the batches of several arms fill concurrently, and
each is released when it is full. The rule sees all places, released or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._compiled import Function
from ...policies._schedules import LONGEST
from ...policies._step import choose, length
from ...policies._view import View, shown
from .._state import ANSWER, LEFT, OVER, TAKEN, Design, Head
from .._steps import end, own_due
from .._verdicts import verdict

if TYPE_CHECKING:
    from numpy.random import Generator


def plan_batch(design: Design, head: Head, most: int, rng: Generator) -> None:
    """The batch of the rule's arm."""
    seen = shown(View(head.value, head.size, head.pulls))
    arm = choose(design.rule, head.memory, seen, head.at[TAKEN], rng)
    if arm < 0 or arm >= len(head.places):  # compiled code would write elsewhere
        raise IndexError("a rule names an arm that is there")
    rounds = length(design.schedule, head.memory, seen, arm)
    if rounds < 1:  # and never come to an end
        raise ValueError("a batch has one round at least")
    head.left[arm] = head.at[LEFT] = rounds
    head.mark[arm] = head.places[arm] + rounds


def open_end(design: Design, head: Head, arm: int) -> int:
    """No one knows before the batch is planned."""
    return LONGEST


def any_size(design: Design, head: Head, arm: int, size: int) -> bool:
    """A batch that is released has its length."""
    return True


def nothing_entered(
    design: Design, head: Head, arm: int, size: int, fully: bool, value: float, before: int
) -> None:
    """The view is all that is noted."""


def owes_nothing(design: Design, head: Head) -> bool:
    """The rule is asked when someone comes."""
    return False


def nothing_follows(design: Design, head: Head, arm: int, now: float, rng: Generator) -> None:
    """An index is asked when someone comes, not when something was released."""


def always(design: Design, head: Head) -> bool:
    """Every release is asked about."""
    return True


def say_after_batch(design: Design, head: Head, arm: int, now: float, rng: Generator) -> None:
    """The verdict: with an answer, no one gets a place any more."""
    if head.at[ANSWER] < 0:
        head.at[ANSWER] = verdict(design, head)
        if head.at[ANSWER] >= 0 and head.at[OVER] == 0:
            end(design, head)


def never_filled(design: Design, head: Head) -> bool:
    """There are places until the horizon."""
    return False


BATCH: dict[str, Function] = {
    "plan": plan_batch, "mark": open_end, "due_of": own_due, "whole": any_size,
    "entered": nothing_entered, "owes": owes_nothing, "follow": nothing_follows,
    "filled": never_filled,
}  # fmt: skip
SAYS: dict[str, Function] = {"owes": always, "follow": say_after_batch}
"""What differs for a policy that identifies."""


# --- mixed: a decision every round


def plan_round(design: Design, head: Head, most: int, rng: Generator) -> None:
    """One place, of the arm that the rule names."""
    seen = shown(View(head.value, head.size, head.places))
    arm = choose(design.rule, head.memory, seen, head.at[TAKEN], rng)
    if arm < 0 or arm >= len(head.places):  # compiled code would write elsewhere
        raise IndexError("a rule names an arm that is there")
    head.left[arm] = head.at[LEFT] = 1


def as_scheduled(design: Design, head: Head, arm: int) -> int:
    """Places of the block that begins: the schedule's, on counts alone."""
    seen = shown(View(head.value, head.size, head.places))
    return min(length(design.schedule, head.memory, seen, arm), LONGEST)


MIXED: dict[str, Function] = {**BATCH, "plan": plan_round, "mark": as_scheduled}
