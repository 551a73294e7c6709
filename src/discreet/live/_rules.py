"""The rules of a trial, as pure functions: who gets which arm, what an outcome does, what is due.

    admit    a unit asks for an arm       -> the arm it has, a place in a block, or a refusal
    closes   a block has its last place   -> when it is due
    accept   an outcome is handed in      -> kept, dropped, or refused
    due_at   a block waits                -> when it is to be released

Nothing here reads a clock, draws noise or writes anywhere: what is known goes in as small public
values, what is to be done comes out. None of it looks at what an outcome says, but for the one
comparison in `accept`.

A *block* is what is released at once: places of one arm (with contexts, of any arm), fixed before
any of their outcomes is seen. It is open until it is full, then it waits, and is released once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Literal, NamedTuple

from .._checks import Name

Action = list[int]
"""The features of the arm that a unit got, in whole steps."""
Admission = Literal["same", "place", "visitor", "over"]
"""What happens to a unit that asks for an arm: it has one and keeps it; it gets the next place; an
arm, but no place, so that its outcome is not used; or nothing, for the horizon is reached."""
Effect = Literal["kept", "dropped", "conflict"]
"""What happens to an outcome."""
VOID = -(1 << 62)
"""In place of the outcome of someone who has withdrawn: it counts as one that did not come."""


class Terms(NamedTuple):
    """What was fixed when the trial was planned."""

    deadline: float | None = None
    """from the last place of a block to its release, by the trial's clock; None to wait for all
    outcomes"""
    contributions: int = 1
    """places that one unit may take"""
    horizon: int | None = None
    """places that are used at most"""
    shared: bool = False
    """whether these are the places of all strata together"""
    refuses_conflicts: bool = True
    """whether a second, different outcome is an error; else it is dropped like any other"""
    local: bool = False
    """whether outcomes are randomised one by one, so that they cannot be compared"""
    own_clock: bool = False
    """whether the clock is the user's, and counts in a unit that is not known here"""
    corrects: bool = False
    """whether an outcome may be put in place of another, as long as one would still count"""
    retention: float | None = None
    """how long after the end names are kept; None for as long as the trial"""


class Member(NamedTuple):
    """What a trial knows of a unit."""

    arm: int
    used: int = 0
    """places that it has taken"""
    block: str = ""
    """where its latest place is; empty if it has none"""
    slot: int = -1
    """the number of that place in its block"""
    share: float | None = None
    """the probability of its arm, given releases and the window; None where it is not known"""


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


def admit(
    member: Member | None, room: bool, settled: bool, over: bool, terms: Terms
) -> Admission:  # fmt: skip
    """Who arrives while a block waits is a visitor; who has an arm keeps it, until its next turn.

    A unit may take another place if there is room, if it has any left, and if its last one is
    settled. However its places fall into blocks, at most `contributions` outcomes are its own, and
    the guarantee is stated for a group of so many.
    """
    if member is not None:
        done = member.used >= terms.contributions or terms.contributions == 1
        if done or not room or not settled:
            return "same"
    if room:
        return "place"
    return "over" if over else "visitor"


def closes(terms: Terms, now: float) -> float | None:
    """When a block is due whose last place is taken at `now`; None if no moment is fixed. In
    streams, when the follow-up of a place ends that is taken then."""
    return None if terms.deadline is None else now + terms.deadline


def accept(
    member: Member, due: float | None, terms: Terms, outcomes: Mapping[int, int], value: int,
    now: float,
) -> Effect:  # fmt: skip
    """An outcome counts if it is the first of its place, and if the moment has not come at which
    it is late: in streams its own assignment + deadline, however long its block waits for others,
    so that everyone is followed up equally long. A correction takes the place of another one;
    after a withdrawal nothing counts."""
    if due is not None and now >= due:
        return "dropped"
    known = outcomes.get(member.slot)
    if known is None:
        return "kept"
    if is_void(known):
        return "dropped"
    if terms.corrects:
        return "kept"
    if known == value or terms.local or not terms.refuses_conflicts:
        return "dropped"
    return "conflict"


def is_void(outcome: int | None) -> bool:
    """Whether an outcome was withdrawn."""
    return type(outcome) is int and outcome == VOID


def due_at(
    filled: int, outcomes: Sized, fixed: float | None, terms: Terms, now: float
) -> float | None:  # fmt: skip
    """When a block is released that has all its places: at the moment that `closes` fixed, or,
    without a deadline, now if everyone has responded; None if that is open. With a deadline
    outcomes are not even counted."""
    if terms.deadline is not None:
        return fixed
    return now if len(outcomes) >= filled else None
