"""What a store must do for a trial.

A trial keeps nothing to itself: who has which arm, the blocks that are not yet released with their
outcomes, and where the run stood after the last release are the store's. It calls `ready` first in
whatever it does, so that a store can refuse; then it reads, decides by the rules, and writes.

Every write is all or nothing, and durable when it returns. One write does two things at once, and
must: `release` puts the new state in place *and* erases the outcomes of the block that went into
it. Were the state stored first, a crash would leave outcomes that nobody needs; were they erased
first, a block could never be released.

    state      a JSON document, replaced as a whole: settings, and the run after its last release
    members    unit -> its arm, how many places it took, and its latest place
    blocks     key -> places and outcomes; several may be open, or full and waiting, side by side

A store has one owner at a time: of two, each could release the same block, and two noisy answers
about the same people reveal more than one. Of the objects of one process the trial sees to that:
whoever loads a store goes on with it, and the object before refuses. It is not asked to be quick: a
trial holds a lock of its own around every call. `discreet.testing._stores.check_store` tests it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar

from ..._checks import Name
from .._rules import Member, Place

Json = dict[str, Any]
P = ParamSpec("P")
T = TypeVar("T")


def bare(error: BaseException) -> BaseException:
    """An error without the frames and errors that it came through: they hold outcomes."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def unheld(call: Callable[P, T]) -> Callable[P, T]:
    """A call that has outcomes in its hands, exact sums or features that may be private: whatever
    it raises, be it a refusal or Ctrl-C, goes on without the frames that it came through."""

    @wraps(call)
    def clean(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return call(*arguments, **options)
        except BaseException as error:
            del arguments, options
            raise bare(error)  # noqa: B904 - the same error

    return clean


class Block:
    """Places that are released together, and the outcomes that have come."""

    __slots__ = ("outcomes", "places")

    def __init__(self) -> None:
        self.places: list[Place] = []
        """in the order of their assignment; a place's number is its slot"""
        self.outcomes: dict[int, int] = {}
        """by slot, in whole steps; of a local release, what was made of them"""

    def copy(self) -> Block:
        """The same places and outcomes, in another object."""
        other = Block()
        other.places, other.outcomes = self.places.copy(), self.outcomes.copy()
        return other

    @property
    def due(self) -> float | None:
        """When it is released, once it is full and if there is a deadline."""
        return self.places[-1].due if self.places else None


class Store(Protocol):
    """Where one trial is stored."""

    @property
    def place(self) -> str:
        """Where that is, for messages."""

    @property
    def state(self) -> Json:
        """What `create`, `release` and `begin` have stored."""

    @property
    def assigned(self) -> list[int]:
        """Assignments per arm so far, of visitors too; `release` may make arms of it more, as many
        as `state["arms"]` has."""

    @property
    def blocks(self) -> Mapping[str, Block]:
        """The blocks that are not yet released."""

    def ready(self) -> None:
        """Raise `TrialError` if it is unknown what is stored, or if there is another owner."""

    def member(self, unit: Name) -> Member | None:
        """What is known of a unit; None for a stranger."""

    def create(self, state: Json, arms: int, block: str | None) -> None:
        """A new trial, with one empty block, or with none; refused where there is one already."""

    def assign(self, unit: Name, member: Member, place: Place | None) -> None:
        """A unit has got an arm: `member` is what is known of it from now on. With a place it is
        the next one of `member.block`, which opens if it is not there; if `place.private`, its
        action is erased like an outcome."""

    def record(self, block: str, slot: int, value: int) -> None:
        """An outcome has come."""

    def release(self, block: str | None, state: Json, opens: str | None) -> None:
        """A block was released: put the state in place, erase the block, open an empty one. None
        where there is nothing to erase, or nothing to open."""

    def begin(self, block: str, run: Json) -> None:
        """The rule has seen the last release: `run` are the entries of `state["protocol"]` that
        changed. `block` is the one that it opened."""

    def close(self) -> None:
        """End the use of this object; whatever it holds of outcomes in memory is erased."""
