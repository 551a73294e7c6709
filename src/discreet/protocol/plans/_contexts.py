"""Contexts: participants bring features, and a block has participants of any arm.

The same four calls, on a head and a vault of their own:

    turn(design, head, features, rng) -> arm            by the current estimate, and own features
    seat(design, head, features, arm, now) -> slot      the place in the open block; -1 for none
    answer(design, vault, slot, features, arm, value)   the one line that is handed an outcome
    settle(design, head, vault, now, rng)               release the block that is due; estimate anew

One block is filled at a time. It ends where the policy's schedule says, on public numbers alone,
and is due at a moment that is public when it ends. Who comes while it waits is treated by the
current estimate and has no place in any block: with one design matrix for all arms, a second block
would be chosen by an estimate that does not know of the first, and no bound on regret covers that.
A block that the horizon cuts off is never released.

**Why this is private.** As in `steps`: which block a participant is in, and when it is due, follows
from arrivals, coins, earlier releases and, where contexts are public, features. An outcome (and
with private contexts the features) is in one block, a block in one release; where every participant
is a leaf of a tree (`alone`), the release of a block is that of its leaves in their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._compiled import Floats, Function, Integers, open_slot
from .._state import NEVER

if TYPE_CHECKING:
    from numpy.random import Generator

TAKEN, MEMBERS, WAITS, OVER, RELEASED, USED = range(6)
"""Entries of `ContextHead.at`: places that are taken; members of the block that is open or waits;
whether it waits; whether no one gets a place any more; blocks that were released; their members."""

choose: Callable[[object, Any, Floats, int, int, Generator], int] = open_slot("choose")
follow: Callable[[object, Any, Floats, int, int], bool] = open_slot("follow")
"""The public part of a place: the design matrix, and whether a release is due."""
collect: Callable[[object, object, Floats, int, float, int], None] = open_slot("collect")
publish: Callable[[object, object, Any, int, Any], None] = open_slot("publish")
update: Callable[[object, Any, int], None] = open_slot("update")


class ContextDesign(NamedTuple):
    """What is fixed before the first participant comes."""

    schedule: Any
    release: Any
    rule: Any
    arms: int
    dimension: int
    horizon: int
    deadline: float
    batch: int
    """members of a block at least: 1, but for policies that could release after everyone"""
    alone: int
    """whether every member is released by itself, in order"""
    default: float
    """what a missing outcome counts as"""


class ContextHead(NamedTuple):
    """Public. How many got which arm is not here: with private contexts it is not."""

    seen: Any
    """what was released: the estimate θ~, the matrix V behind it, its width"""
    at: Integers
    when: Floats
    """when the block is due"""


class ContextVault(NamedTuple):
    """Secret: what the curator has collected; and where every member is released alone, features
    and outcomes of those that wait."""

    ledger: Any
    features: Floats
    outcomes: Floats


def turn_by_context(design: ContextDesign, head: ContextHead, features: Floats, rng: Any) -> int:
    """The arm of the rule, on the current estimate and the features of all arms, flat."""
    arm: int = choose(design.rule, head.seen, features, design.arms, design.dimension, rng)
    if arm < 0 or arm >= design.arms:  # compiled code would write elsewhere
        raise IndexError("a rule names an arm that is there")
    return arm


def seat_by_context(
    design: ContextDesign, head: ContextHead, features: Floats, arm: int, now: float
) -> int:
    """The number of the place in the open block; -1 while a block waits."""
    slot = -1
    head.at[TAKEN] += 1
    if head.at[WAITS] == 0:
        slot = head.at[MEMBERS]
        head.at[MEMBERS] += 1
        start = arm * design.dimension
        due = follow(design.schedule, head.seen, features, start, design.dimension)
        if due and head.at[MEMBERS] >= design.batch:
            head.at[WAITS] = 1
            head.when[0] = now + design.deadline
    if head.at[TAKEN] >= design.horizon:
        head.at[OVER] = 1
    return slot


def answer_by_context(
    design: ContextDesign, vault: ContextVault, slot: int, features: Floats, arm: int, value: float
) -> None:
    """The one line that is handed an outcome."""
    d = design.dimension
    if design.alone == 0:
        collect(design.release, vault.ledger, features, arm * d, value, d)
        return
    for i in range(d):
        vault.features[slot * d + i] = features[arm * d + i]
    vault.outcomes[slot] = value


def release_by_context(
    design: ContextDesign, head: ContextHead, vault: ContextVault, rng: Any
) -> None:
    """Release the block that waits, and erase its outcomes."""
    d, members = design.dimension, head.at[MEMBERS]
    if design.alone == 1:
        for slot in range(members):
            value = vault.outcomes[slot]
            collect(design.release, vault.ledger, vault.features, slot * d, value, d)
            publish(design.release, vault.ledger, head.seen, d, rng)
            vault.outcomes[slot] = 0.0
            for i in range(d):
                vault.features[slot * d + i] = 0.0
    else:
        publish(design.release, vault.ledger, head.seen, d, rng)
    head.at[RELEASED] += 1
    head.at[USED] += members
    head.at[WAITS], head.at[MEMBERS], head.when[0] = 0, 0, NEVER


def settle_by_context(
    design: ContextDesign, head: ContextHead, vault: ContextVault, now: float, rng: Any
) -> None:
    """Release the block if it is due, and hand the release to the rule."""
    if head.at[WAITS] == 1 and head.when[0] <= now:
        release_by_context(design, head, vault, rng)
        update(design.rule, head.seen, design.dimension)


CONTEXTS: dict[str, Function] = {
    "turn": turn_by_context, "seat": seat_by_context, "answer": answer_by_context,
    "settle": settle_by_context,
}  # fmt: skip
