"""The steps: turn, seat, answer, settle. Every trial and every simulation of one takes these.

**Why this is private.** By induction over the steps, the arm, place, block, size and due moment of
every participant are functions of arrivals, of the clock, of coins, and of *earlier releases*: no
argument of `turn` and `seat` holds anything else. An outcome is in one block, a block in one
release. If one outcome differs, everything before the release of its block has the same
distribution; that release costs what its noise buys; everything after is built from the
transcript. So the whole costs one release (adaptive parallel composition).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._compiled import open_slot
from ._state import LATEST, LEFT, NEVER, OVER, SOON, TAKEN, WAITING, Design, Head, Vault

if TYPE_CHECKING:
    from numpy.random import Generator

# of a plan
plan: Callable[[Design, Head, int, Generator], None] = open_slot("plan")
"""Fills in `left`: who gets the places of the next window."""
mark: Callable[[Design, Head, int], int] = open_slot("mark")
"""How many places the next block of an arm has."""
due_of: Callable[[Design, Head, int], float] = open_slot("due_of")
"""When the oldest block of an arm that is in flight is due."""
whole: Callable[[Design, Head, int, int], bool] = open_slot("whole")
"""Whether that block, of so many places, is as long as it was planned to be."""
entered: Callable[[Design, Head, int, int, bool, float, int], None] = open_slot("entered")
"""What the plan notes of a release, with the mean and the size that were public before."""
owes: Callable[[Design, Head], bool] = open_slot("owes")
"""Whether what was released is still to be thought about, by `follow`."""
follow: Callable[[Design, Head, int, float, Generator], None] = open_slot("follow")
"""What comes of a release: who is dropped, the verdict, the length of open blocks."""
filled: Callable[[Design, Head], bool] = open_slot("filled")
"""Whether the plan has no more places, once a window is drawn."""

# of a world
collect: Callable[[Design, Vault, int, int, int, int, Generator], tuple[float, int]] = open_slot(
    "collect"
)
"""The sum of a block's outcomes, and how many there are."""
below: Callable[[Generator, int], int] = open_slot("below")
"""A whole number below another, each with the same probability."""

# of a policy: the sum, or the sum and the number of those who answered
release_block: Callable[..., None] = open_slot("release_block")


def turn(design: Design, head: Head, most: int, rng: Generator) -> tuple[int, int]:
    """Who is next, and for how many arrivals, at most `most`: more than one where it is certain.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
        most: How many arrivals at most.
        rng: Random draws.

    Returns:
        The arm, and how many arrivals get it.
    """
    if head.at[LEFT] == 0:
        plan(design, head, most, rng)
    arm, left = 0, head.at[LEFT]
    while head.left[arm] == 0:
        arm += 1
    many = head.left[arm]
    if many < left:  # several arms: the order of a window is random, and never stored
        place, arm, many = below(rng, left), 0, 1
        while place >= head.left[arm]:
            place -= head.left[arm]
            arm += 1
    many = min(many, most, head.mark[arm] - head.places[arm], design.horizon - head.at[TAKEN])
    head.left[arm] -= many
    head.at[LEFT] -= many
    return arm, many


def seat(design: Design, head: Head, arm: int, many: int, now: float) -> int:
    """They take their places, the last of them at `now`: the slot of their block.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
        arm: The arm.
        many: How many places.
        now: The present moment.

    Returns:
        The slot of their block.
    """
    slot = arm * design.depth + head.block[arm] % design.depth
    head.places[arm] += many
    head.last[arm] = head.when[LATEST] = now
    head.at[TAKEN] += many
    if head.at[TAKEN] >= design.horizon:
        end(design, head)
        return slot
    if head.places[arm] == head.mark[arm]:
        close(design, head, arm)
    if head.at[LEFT] == 0 and filled(design, head):
        end(design, head)
    return slot


def close(design: Design, head: Head, arm: int) -> None:
    """The open block of an arm waits. One that no one is in stays open, and so does one that was
    thrown away.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
        arm: The arm.
    """
    size = head.places[arm] - head.closed[arm]
    if size == 0 or head.erased[arm] == 1:
        return
    slot = arm * design.depth + head.block[arm] % design.depth
    head.due[slot] = head.last[arm] + design.deadline
    head.many[slot] = head.newest[arm] = size
    head.closed[arm] = head.places[arm]
    head.block[arm] += 1
    head.at[WAITING] += 1
    head.mark[arm] = head.places[arm] + mark(design, head, arm)
    head.when[SOON] = min(head.when[SOON], due_of(design, head, arm))


def leave(design: Design, head: Head, arm: int) -> None:
    """No more places for an arm: its open block closes, and no one gets what the window has left
    for it.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
        arm: The arm.
    """
    head.active[arm] = 0
    head.at[LEFT] -= head.left[arm]
    head.left[arm] = 0
    if head.at[OVER] == 0:
        close(design, head, arm)


def end(design: Design, head: Head) -> None:
    """No more places. Open blocks close, unless the policy never releases what is cut off.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
    """
    head.at[OVER], head.at[LEFT] = 1, 0
    for arm in range(len(head.places)):
        head.left[arm] = 0
        if design.cuts == 0 or head.places[arm] == head.mark[arm]:
            close(design, head, arm)
    hasten(design, head)


def hasten(design: Design, head: Head) -> None:
    """Find out when the next release is due.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
    """
    head.when[SOON] = NEVER
    if head.at[WAITING] > 0:
        for arm in range(len(head.places)):
            head.when[SOON] = min(head.when[SOON], due_of(design, head, arm))


def own_due(design: Design, head: Head, arm: int) -> float:
    """When the oldest block of an arm that is in flight is due, by itself."""
    if head.released[arm] == head.block[arm]:
        return NEVER
    return head.due[arm * design.depth + head.released[arm] % design.depth]


def answer(vault: Vault, slot: int, value: float) -> None:
    """The one line that is handed an outcome.

    Args:
        vault: The secret state.
        slot: The slot of the block.
        value: The outcome.
    """
    vault.total[slot] += value
    vault.answers[slot] += 1


def first_due(design: Design, head: Head) -> int:
    """The arm whose block is released next: of those that are due at once, the first."""
    arm = 0
    while due_of(design, head, arm) > head.when[SOON]:
        arm += 1
    return arm


def release(design: Design, head: Head, vault: Vault, arm: int, rng: Any) -> None:
    """Release the oldest block of an arm that is in flight, and erase its outcomes.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
        vault: The secret state.
        arm: The arm.
        rng: Random draws.
    """
    slot = arm * design.depth + head.released[arm] % design.depth
    size = head.many[slot]
    fully = whole(design, head, arm, size)
    value, before = head.value[arm], head.size[arm]
    found = collect(design, vault, slot, arm, size, head.at[TAKEN] - size, rng)
    vault.total[slot], vault.answers[slot] = 0, 0
    head.pulls[arm] += size
    release_block(design, head, vault, arm, size, found, rng)
    head.released[arm] += 1
    if fully:
        head.full[arm] += 1
    head.at[WAITING] -= 1
    entered(design, head, arm, size, fully, value, before)


def settle(design: Design, head: Head, vault: Vault, now: float, rng: Generator) -> None:
    """Release what is due, and hand each release to the plan before the next.

    Args:
        design: What was fixed before the first participant.
        head: The public state.
        vault: The secret state.
        now: The present moment.
        rng: Random draws.
    """
    while head.when[SOON] <= now and head.at[WAITING] > 0:
        arm, due = first_due(design, head), head.when[SOON]
        release(design, head, vault, arm, rng)
        if owes(design, head):
            follow(design, head, arm, due, rng)
        hasten(design, head)
