"""A calendar: participants come at random moments, λ a day; outcomes are late, or never come.

No one reads an outcome before its block is due, so it is drawn when its participant comes: one by
one, for any reward distribution, drift and missing answers. Where every arm's rewards have one
distribution throughout, a block's sum is one draw instead (`BLOCKS`): the same distribution.

Where nothing is private, an outcome is known on its own day, and never if it is missing
(`ANSWERS`): every participant is a block, due when the answer comes, out of order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..._compiled import Function, open_slot
from ...policies._rules import clip01
from ...policies._step import draw, publish, respond
from ...policies._view import View
from .._missing import Found
from .._state import OVER, SOON, TAKEN, WAITING, Design, Head, Vault
from .._steps import answer
from ._at_once import nothing_asked, nothing_owed
from ._base import FIXED, LINEAR, UNIFORM, World

if TYPE_CHECKING:
    from numpy.random import Generator

earn: Callable[..., tuple[float, int]] = open_slot("earn")
"""One reward of an arm, by `draw` of the environment or with a drift."""


def one_by_one(world: World, design: Design, head: Head, rng: Generator) -> int:
    """The next arrival, unless a release is due before."""
    if world.drawn[0] < 1:
        world.now[1] = world.now[0] + rng.standard_exponential() / world.arrivals
        world.drawn[0] = 1
    return 0 if head.when[SOON] <= world.now[1] else 1


def to_the_next(world: World, head: Head, many: int, closes: bool, rng: Generator) -> float:
    """The moment of that arrival."""
    world.now[0], world.drawn[0] = world.now[1], 0
    return world.now[0]


def note_owed(world: World, head: Head, slot: int, arm: int, now: float) -> None:
    """An outcome is to be drawn."""
    world.owed[0], world.owed[1], world.owed[2] = slot, arm, head.at[TAKEN] - 1


def reply_each(world: World, design: Design, head: Head, vault: Vault, rng: Generator) -> bool:
    """No one reads it before the block is due, so it may as well be known now."""
    slot, arm, t = world.owed[0], world.owed[1], world.owed[2]
    if slot >= 0:
        if rng.random() < world.answered[arm]:
            value, served = earn(world, vault.environment.environment, arm, t, rng)
            if served == 0:
                return False
            answer(vault, slot, value)
        world.owed[0] = -1
    return True


def reply_by_device(world: World, design: Design, head: Head, vault: Vault, rng: Generator) -> bool:
    """Every participant's own device answers; the declared value for who is missing."""
    slot, arm, t = world.owed[0], world.owed[1], world.owed[2]
    if slot >= 0:
        value, served = design.default, 1
        if rng.random() < world.answered[arm]:
            value, served = earn(world, vault.environment.environment, arm, t, rng)
        if served == 0:
            return False
        answer(vault, slot, respond(design.release, value, rng))
        world.owed[0] = -1
    return True


def earned(
    world: World, environment: object, arm: int, t: int, rng: Generator
) -> tuple[float, int]:
    """One reward."""
    return draw(environment, arm, 1, t, rng)


def shift(world: World) -> float:
    """By how much the means of all arms have moved."""
    if world.drift == LINEAR:
        return world.size * min(world.now[0] / world.length, 1.0)
    return world.size * math.sin(2.0 * math.pi * world.now[0] / world.period)


def earned_in_drift(
    world: World, environment: object, arm: int, t: int, rng: Generator
) -> tuple[float, int]:
    """One reward, moved with the others and kept in the range of rewards."""
    value, served = draw(environment, arm, 1, t, rng)
    return min(max(value + shift(world), world.low), world.high), served


def tossed_in_drift(
    world: World, environment: object, arm: int, t: int, rng: Generator
) -> tuple[float, int]:
    """A reward of 0 or 1 whose rate has moved with the others'."""
    rate = clip01(environment.p[arm] + shift(world))  # type: ignore[attr-defined]
    return (1.0 if rng.random() < rate else 0.0), 1


def held(
    design: Design, vault: Vault, slot: int, arm: int, size: int, t: int, rng: Generator
) -> tuple[float, int]:
    """The sum of a block as it was answered."""
    return vault.total[slot], vault.answers[slot]


def drawn(
    design: Design, vault: Vault, slot: int, arm: int, size: int, t: int, rng: Generator
) -> tuple[float, int]:
    """One draw: exact where the rewards of an arm have one distribution throughout."""
    answers, share = size, vault.environment.answered[arm]
    if share < 1.0:
        answers = rng.binomial(size, share)
    if answers == 0:
        return 0.0, 0
    return draw(vault.environment.environment, arm, answers, t, rng)[0], answers


# --- one batch at a time: who comes while it waits is treated like it, and thrown away


def unless_one_waits(world: World, design: Design, head: Head, rng: Generator) -> int:
    """The next arrival, if no batch waits: who comes then has a place outside of all blocks."""
    while head.at[WAITING] > 0:
        if one_by_one(world, design, head, rng) == 0:
            return 0
        arm = world.owed[1]
        world.now[0], world.drawn[0] = world.now[1], 0
        head.places[arm] += 1
        head.closed[arm] += 1
        head.at[TAKEN] += 1
        if head.at[TAKEN] == design.horizon:
            head.at[OVER] = 1
            return 0
    return one_by_one(world, design, head, rng)


# --- outcomes on their own days, where nothing is private


def late(world: World, rng: Generator) -> float:
    """Days until an answer that comes in time."""
    if world.delay == FIXED or world.mean == 0.0:
        return world.mean
    if world.delay == UNIFORM:
        return min(2.0 * world.mean, world.latest) * rng.random()
    # exponential, given that it is at most the deadline
    return -world.mean * math.log1p(rng.random() * math.expm1(-world.latest / world.mean))


def to_the_answer(world: World, head: Head, many: int, closes: bool, rng: Generator) -> float:
    """When the next to arrive will answer."""
    world.now[0], world.drawn[0] = world.now[1], 0
    return world.now[0] + late(world, rng)


def reply_in_order(world: World, design: Design, head: Head, vault: Vault, rng: Generator) -> bool:
    """An outcome takes its place among those of its arm that are on their way: `in_order` has put
    it before whatever comes later."""
    arm, t = world.owed[1], world.owed[2]
    if world.owed[0] < 0:
        return True
    value, served, many = 0.0, 1, 0
    if rng.random() < world.answered[arm]:
        value, served = earn(world, vault.environment.environment, arm, t, rng)
        many = 1
    if served == 0:
        return False
    number = head.block[arm] - 1
    slot = arm * design.depth + number % design.depth
    while number > head.released[arm] and head.due[slot] > head.last[arm]:
        before = arm * design.depth + (number - 1) % design.depth
        vault.total[slot], vault.answers[slot] = vault.total[before], vault.answers[before]
        number, slot = number - 1, before
    vault.total[slot], vault.answers[slot] = value, many
    world.owed[0] = -1
    return True


def in_order(design: Design, head: Head, arm: int) -> int:
    """The next block is one place. The one that has just closed goes before those that are due
    later: its own moment is that of the answer."""
    number, due = head.block[arm] - 1, head.last[arm]
    slot = arm * design.depth + number % design.depth
    while number > head.released[arm]:
        before = arm * design.depth + (number - 1) % design.depth
        if head.due[before] <= due:
            break
        head.due[slot] = head.due[before]
        number, slot = number - 1, before
    head.due[slot] = due
    return 1


def release_answered(
    design: Design, head: Head, vault: Vault, arm: int, size: int, found: Found, rng: Generator
) -> None:
    """An outcome that came; of one that is missing nothing is ever known."""
    total, answers = found
    if answers > 0:
        seen = View(head.value, head.size, head.pulls)
        publish(design.release, vault.ledger, seen, arm, answers, total, rng)


CALENDAR: dict[str, Function] = {
    "coming": one_by_one, "passed": to_the_next, "asked": note_owed, "reply": reply_each,
    "collect": held, "earn": earned,
}  # fmt: skip
ONE_BATCH: dict[str, Function] = {**CALENDAR, "coming": unless_one_waits}
BLOCKS: dict[str, Function] = {
    **CALENDAR,
    "asked": nothing_asked,
    "reply": nothing_owed,
    "collect": drawn,
}
ANSWERS: dict[str, Function] = {
    **CALENDAR, "passed": to_the_answer, "reply": reply_in_order, "mark": in_order,
    "release_block": release_answered,
}  # fmt: skip
