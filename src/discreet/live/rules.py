"""The rules of a trial, as pure functions: who gets which arm, what an outcome does, what is due.

    admit    a unit asks for an arm       -> the arm it has, a place in the block, or a refusal
    closes   a block has its last place   -> when it is due
    accept   an outcome is handed in      -> kept, dropped, or refused
    is_due   is the block to be released?

Nothing here reads a clock, draws noise or writes anywhere: what is known goes in as small public
values, what is to be done comes out. None of it looks at what an outcome says, but for the one
comparison in `accept`.

A *block* is what is released at once: places of one arm (with contexts, of any arm), fixed before
any of their outcomes is seen. It is open until it is full, then it waits, and is released once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from ..checks import Name

Action = list[int]
"""The features of the arm that a unit got, in whole steps."""


class Terms(NamedTuple):
    """What was fixed when the trial was planned."""

    deadline: float | None = None
    """seconds from the last place of a block to its release; None to wait for all outcomes"""
    contributions: int = 1
    """places that one unit may take"""
    horizon: int | None = None
    """places that are used at most"""
    refuses_conflicts: bool = True
    """whether a second, different outcome is an error; else it is dropped like any other"""
    local: bool = False
    """whether outcomes are randomised one by one, so that they cannot be compared"""


class Member(NamedTuple):
    """What a trial knows of a unit."""

    arm: int
    used: int = 0
    """places that it has taken"""
    block: str = ""
    """where its latest place is; empty if it has none"""
    slot: int = -1
    """the number of that place in its block"""


class Place(NamedTuple):
    """One place of a block."""

    unit: Name
    arm: int
    due: float | None = None
    """when the block is due, if this place made it full"""
    action: Action | None = None
    private: bool = False
    """whether the action is to be erased with the outcome"""
    at: float | None = None
    """when it was taken; in streams"""
    number: int | None = None
    """how many places were taken before, in all streams"""
    left: tuple[int, ...] | None = None
    """what is left of the window after it"""


class Standing(NamedTuple):
    """Where the open block stands."""

    block: str
    filled: int
    """places that are taken"""
    full: bool
    """whether it takes no more"""
    cut: bool
    """whether it is never released, because the horizon cuts it off"""
    answered: int
    """outcomes that are there"""
    due: float | None
    rounds: int
    """places that were taken in all blocks so far"""


class Admission(Enum):
    """What happens to a unit that asks for an arm."""

    SAME = auto()
    """it has one, and keeps it"""
    PLACE = auto()
    """the next place of the open block"""
    VISITOR = auto()
    """the block is full: an arm, but no place, so its outcome is not used"""
    OVER = auto()
    """the horizon is reached"""


class Effect(Enum):
    """What happens to an outcome."""

    KEPT = auto()
    DROPPED = auto()
    CONFLICT = auto()


def admit(
    member: Member | None, standing: Standing, terms: Terms, outcomes: Mapping[int, int]
) -> Admission:
    """Who arrives while a block waits is a visitor; who has an arm keeps it, until its next turn.

    A unit may take another place if it has any left and its last one is settled. With a deadline
    that is when its block is released, for it is private whether a unit has responded; without
    one it is public, and a response settles it.
    """
    if member is not None:
        done = member.used >= terms.contributions
        if standing.full or done or terms.contributions == 1:
            return Admission.SAME
        if member.block == standing.block and (
            terms.deadline is not None or member.slot not in outcomes
        ):
            return Admission.SAME
    if not standing.full:
        return Admission.PLACE
    if terms.horizon is not None and standing.rounds >= terms.horizon:
        return Admission.OVER
    return Admission.VISITOR


def closes(cut: bool, terms: Terms, now: float) -> float | None:
    """When a block is due whose last place is taken at `now`; None if no moment is fixed."""
    return None if cut or terms.deadline is None else now + terms.deadline


def accept(
    member: Member, standing: Standing, terms: Terms, outcomes: Mapping[int, int], value: int,
    now: float,
) -> Effect:  # fmt: skip
    """An outcome counts if it is the first of a place in a block that will still be released, and
    whose moment has not come."""
    late = standing.due is not None and now >= standing.due
    if member.block != standing.block or standing.cut or late:
        return Effect.DROPPED
    return _compared(member, terms, outcomes, value)


def _compared(member: Member, terms: Terms, outcomes: Mapping[int, int], value: int) -> Effect:
    known = outcomes.get(member.slot)
    if known is None:
        return Effect.KEPT
    if known == value or terms.local or not terms.refuses_conflicts:
        return Effect.DROPPED
    return Effect.CONFLICT


# --- streams: blocks of several arms, side by side ------------------------------------------------


def is_settled(
    member: Member, at: float, terms: Terms, outcomes: Mapping[int, int], now: float
) -> bool:
    """Whether a unit's place, taken at `at`, needs no more waiting: with a deadline its own has
    passed, whether it responded or not; without one, it is public that it has responded."""
    if terms.deadline is None:
        return member.slot in outcomes
    return now >= at + terms.deadline


def readmits(member: Member, settled: bool, terms: Terms) -> bool:
    """Whether a unit that has an arm may take another place.

    However its places fall into blocks, at most `contributions` outcomes are its own, and the
    guarantee is stated for a group of so many."""
    return member.used < terms.contributions and settled


def accept_place(
    member: Member, at: float, terms: Terms, outcomes: Mapping[int, int], value: int, now: float
) -> Effect:
    """An outcome counts until its own assignment + deadline, however long its block waits for
    others: so everybody is followed up equally long."""
    if terms.deadline is not None and now >= at + terms.deadline:
        return Effect.DROPPED
    return _compared(member, terms, outcomes, value)


def due_at(block_filled: int, last: float, answered: int, terms: Terms, now: float) -> float | None:
    """When a closed block is released whose last place was taken at `last`: so much later, or,
    without a deadline, now if everybody has responded; None if that is open."""
    if terms.deadline is not None:
        return last + terms.deadline
    return now if answered >= block_filled else None


def is_due(standing: Standing, terms: Terms, now: float) -> bool:
    """Whether the public moment of a release has come; without a deadline, the last outcome. What
    nobody has a place in is never due: so it is between a release and the choice that follows."""
    if not standing.full or standing.cut or not standing.filled:
        return False
    if terms.deadline is None:
        return standing.answered >= standing.filled
    return standing.due is not None and now >= standing.due
