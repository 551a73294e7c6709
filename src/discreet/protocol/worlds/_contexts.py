"""Participants with features: who comes when, what they bring, and what they answer.

`at once` is as papers simulate; on a calendar participants come at random moments, λ a day, and
outcomes count at the deadline. An outcome is drawn when its participant comes: no one reads it
before its block is due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._compiled import Floats, Function, Integers, Kernel, open_slot
from ..plans._contexts import (
    OVER,
    TAKEN,
    WAITS,
    ContextDesign,
    ContextHead,
    ContextVault,
    answer_by_context,
    seat_by_context,
    settle_by_context,
    turn_by_context,
)
from ._base import STEADY, World
from ._calendar import shift

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Ints

FINISHED, STARVED, PAUSED = range(3)
"""How `play_contexts` ends: at the horizon; because contexts have run out; or to look up."""

offer: Callable[[object, Floats, Generator], bool] = open_slot("offer")
"""Writes the features of all arms; False if there are none left."""
pay: Callable[[object, float, Generator], float] = open_slot("pay")
"""One reward with a mean."""
product: Callable[[Floats, int, Any, int], float] = open_slot("product")
"""<θ, a> for the action that begins at a place."""
arrives: Callable[[World, ContextHead, Generator], bool] = open_slot("arrives")
"""Whether someone comes before the next release."""
comes: Callable[[World], float] = open_slot("comes")
"""The moment of that arrival."""
replies: Callable[..., float] = open_slot("replies")
"""What a participant answers."""


class ContextTruth(NamedTuple):
    """What is true of participants: where features come from, and how rewards are built from
    them."""

    contexts: Any
    rewards: Any
    theta: Any
    features: Floats
    """those of the participant who comes, flat"""


class ContextTrack(NamedTuple):
    """What is recorded of a trial."""

    grid: Integers
    regret: Floats
    pulls: Ints
    lost: Floats
    """regret so far"""
    at: Integers
    """points of the grid that are over"""
    places: Integers
    """by arm"""


def play_contexts(
    world: World, truth: ContextTruth, design: ContextDesign, head: ContextHead,
    vault: ContextVault, track: ContextTrack, rng: Generator,
) -> int:  # fmt: skip
    """Until the horizon; what waits then is released. It stops for a while after many places."""
    d, arms, many = design.dimension, design.arms, 100_000
    while head.at[OVER] == 0:
        if not arrives(world, head, rng):
            settle_by_context(design, head, vault, head.when[0], rng)
            continue
        if many == 0:
            return PAUSED
        many -= 1
        if not offer(truth.contexts, truth.features, rng):
            return STARVED
        now = comes(world)
        arm = turn_by_context(design, head, truth.features, rng)
        mean = product(truth.features, arm * d, truth.theta, d)
        best = mean
        for other in range(arms):
            best = max(best, product(truth.features, other * d, truth.theta, d))
        slot = seat_by_context(design, head, truth.features, arm, now)
        track.places[arm] += 1
        if slot >= 0:
            value = replies(world, truth, design, arm, mean, rng)
            answer_by_context(design, vault, slot, truth.features, arm, value)
        track.lost[0] += best - mean
        point = track.at[0]
        if point < len(track.grid) and track.grid[point] == head.at[TAKEN]:
            track.regret[point] = track.lost[0]
            for other in range(arms):
                track.pulls[point, other] = track.places[other]
            track.at[0] = point + 1
    if head.at[WAITS] == 1:
        world.now[0] = max(world.now[0], head.when[0])
        settle_by_context(design, head, vault, head.when[0], rng)
    return FINISHED


# --- at once


def always_somebody(world: World, head: ContextHead, rng: Generator) -> bool:
    """Unless a release is due."""
    return bool(head.at[WAITS] == 0)


def no_clock(world: World) -> float:
    """A moment per participant."""
    world.now[0] += 1.0
    return world.now[0]


def pays(
    world: World, truth: ContextTruth, design: ContextDesign, arm: int, mean: float, rng: Generator
) -> float:
    """A reward."""
    return pay(truth.rewards, mean, rng)


# --- on a calendar


def before_release(world: World, head: ContextHead, rng: Generator) -> bool:
    """The next arrival is drawn once."""
    if world.drawn[0] < 1:
        world.now[1] = world.now[0] + rng.standard_exponential() / world.arrivals
        world.drawn[0] = 1
    return bool(head.at[WAITS] == 0 or head.when[0] > world.now[1])


def by_clock(world: World) -> float:
    """The moment of that arrival."""
    world.now[0], world.drawn[0] = world.now[1], 0
    return world.now[0]


def pays_late(
    world: World, truth: ContextTruth, design: ContextDesign, arm: int, mean: float, rng: Generator
) -> float:
    """A reward, in the drift of its day; what is declared for who is missing."""
    if rng.random() >= world.answered[arm]:
        return design.default
    moved = mean if world.drift == STEADY else mean + shift(world)
    return pay(truth.rewards, moved, rng)


CONTEXT_WORLDS: dict[str, dict[str, Function]] = {
    "at once": {"arrives": always_somebody, "comes": no_clock, "replies": pays},
    "calendar": {"arrives": before_release, "comes": by_clock, "replies": pays_late},
}


@lru_cache(maxsize=64)
def _kernel(parts: tuple[tuple[str, Function | Kernel], ...]) -> Kernel:
    return Kernel(play_contexts, **dict(parts))


def context_kernel(slots: Mapping[str, Function | Kernel], world: str) -> Kernel:
    """`play_contexts` with a policy, a problem and a world filled in."""
    filled = {**CONTEXT_WORLDS[world], **slots}
    return _kernel(tuple(sorted(filled.items(), key=lambda each: each[0])))
