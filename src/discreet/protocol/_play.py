"""The one driver of simulations. All its state is in its arguments, so it can be left and entered
again: when an environment is out of rewards, or when more blocks wait than there is room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from .._compiled import Floats, Function, Integers, Kernel, open_slot
from ..arms._base import lost_steadily
from ._state import ANSWER, OVER, SOON, TAKEN, WAITING, Design, Head, Vault
from ._steps import seat, settle, turn
from .worlds._base import World, asked, coming, passed, reply

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Ints

FINISHED, STARVED, GROW = range(3)
"""How `play` ends: at the end of the trial; because the environment has run out of rewards; or
because the blocks of an arm that wait need more room."""

conclude: Callable[[Design, Head, Floats], None] = open_slot("conclude")
"""The means at the end of a trial."""
lost: Callable[..., float] = lost_steadily


class Track(NamedTuple):
    """What is recorded of a trial."""

    grid: Integers
    """participants at which it is"""
    regret: Floats
    pulls: Ints
    """by point of the grid, and arm"""
    standard: Any
    """what an arm is held against: `Law.standard`"""
    lost: Floats
    """pseudo-regret so far"""
    at: Integers
    """points of the grid that are over, and the arm of the latest participant"""
    when: Floats
    """when the answer was given, or -1; when the last block was released"""
    means: Floats
    """of the arms, at the end"""


def play(
    world: World, design: Design, head: Head, vault: Vault, track: Track, rng: Generator
) -> int:
    """Until no one comes and nothing waits.

    Args:
        world: Who comes when, and what they answer.
        design: What was fixed before the first participant.
        head: The public state.
        vault: The secret state.
        track: What is recorded.
        rng: Random draws.

    Returns:
        How it ended: finished, starved or in need of room.
    """
    while head.at[OVER] == 0 or head.at[WAITING] > 0:
        if not reply(world, design, head, vault, rng):
            return STARVED
        before, most = head.at[TAKEN], 0
        if head.at[OVER] == 0:
            most = coming(world, design, head, rng)
        if head.at[TAKEN] > before:  # participants who have no place in a block
            arm = track.at[1]
            track.lost[0] += lost(track.standard, arm, before, head.at[TAKEN] - before)
            note_places(head, track, arm)
        if most == 0:
            moment = head.when[SOON]
            settle(design, head, vault, moment, rng)
            note_release(head, track, moment)
            if is_crowded(design, head):
                return GROW
            continue
        arm, many = turn(design, head, most, rng)
        last = head.at[TAKEN] + many == design.horizon
        closes = last or head.places[arm] + many == head.mark[arm]
        track.lost[0] += lost(track.standard, arm, head.at[TAKEN], many)
        now = passed(world, head, many, closes, rng)
        slot = seat(design, head, arm, many, now)
        asked(world, head, slot, arm, now)
        track.at[1] = arm
        note_places(head, track, arm)
        if head.block[arm] - head.released[arm] == design.depth:
            return GROW
    conclude(design, head, track.means)
    return FINISHED


def note_places(head: Head, track: Track, arm: int) -> None:
    """Regret and places of every arm when so many were taken; the last of them were of one arm."""
    point = track.at[0]
    while point < len(track.grid) and track.grid[point] <= head.at[TAKEN]:
        beyond = head.at[TAKEN] - track.grid[point]
        track.regret[point] = track.lost[0] - lost(track.standard, arm, track.grid[point], beyond)
        for other in range(len(head.places)):
            track.pulls[point, other] = head.places[other]
        track.pulls[point, arm] -= beyond
        point += 1
    track.at[0] = point


def note_release(head: Head, track: Track, moment: float) -> None:
    """When the answer was given, and when the last block was released."""
    if head.at[ANSWER] >= 0 and track.when[0] < 0.0:
        track.when[0] = moment
    track.when[1] = moment


def is_crowded(design: Design, head: Head) -> bool:
    """Whether an arm has no slot for its open block."""
    for arm in range(len(head.places)):
        if head.block[arm] - head.released[arm] == design.depth:
            return True
    return False


def released_means(design: Design, head: Head, means: Floats) -> None:
    """As they stand in the view."""
    for arm in range(len(head.places)):
        means[arm] = head.value[arm]


@lru_cache(maxsize=256)
def _kernel(parts: tuple[tuple[str, Function | Kernel], ...]) -> Kernel:
    filled = {name: Kernel(part).inlined() for name, part in parts}
    filled |= {each.__name__: Kernel(each).inlined() for each in (turn, seat, settle)}
    return Kernel(play, **filled)


def play_kernel(slots: Mapping[str, Function | Kernel]) -> Kernel:
    """`play` with all its slots filled in.

    Args:
        slots: Functions by the name of their slot.

    Returns:
        The kernel.
    """
    return _kernel(tuple(sorted(slots.items(), key=lambda each: each[0])))
