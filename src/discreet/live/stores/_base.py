"""What a store must do for a trial.

A trial keeps nothing to itself: who has which arm, the blocks that are not yet released with their
outcomes, and where the run stands are the store's. It calls `ready` first in whatever it does, so
that a store can refuse, or say that someone else continued with it; then it reads, decides by the
rules, and writes. From `ready` to the write no one else changes anything: a store that several
processes share holds them off, and lets go with the write, or when the call ends (`held`).

Every write is all or nothing, and durable when it returns, or when the `together` ends that it is
in. One write does two things at once, and must: `release` puts the new state in place *and* erases
the outcomes of the block that went into it. Were the state stored first, a crash would leave
outcomes that no one needs; were they erased first, a block could never be released.

    state      a JSON document: settings, and where the run stands
    members    unit -> its arm, how many places it took, and its latest place
    blocks     key -> places and outcomes; several may be open, or full and waiting, concurrently

Nothing is replayed: with every place comes what it changed of the run (`moved`), so that a trial is
opened as fast after a million assignments as after one.

A block has one release. Two objects that know nothing of each other could each draw one, and two
noisy answers about the same people reveal more than one. So a store that cannot tell its users of
each other has one owner: anyone who loads it continues with it, and the object before refuses.
`discreet.testing._stores.check_store` tests all this.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from ..._checks import Name
from .._rules import Member, Place

if TYPE_CHECKING:
    from ._people import People

Json = dict[str, Any]
Moved = Callable[[], Json]
"""What a place has changed of `state["protocol"]`, when it is asked for."""
P = ParamSpec("P")
T = TypeVar("T")


def name_text(unit: Name) -> str:
    """A name as it is stored, in JSON; of a text without the way through an encoder."""
    return encode_basestring_ascii(unit) if type(unit) is str else json.dumps(unit)


def bare(error: BaseException) -> BaseException:
    """An error without the frames and errors that it came through: they hold outcomes."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def unheld(call: Callable[P, T]) -> Callable[P, T]:
    """A call that has outcomes in its hands, exact sums or features that may be private: whatever
    it raises, be it a refusal or Ctrl-C, continues without the frames that it came through."""

    @wraps(call)
    def clean(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return call(*arguments, **options)
        except BaseException as error:
            del arguments, options
            raise bare(error)  # noqa: B904 - the same error

    return clean


class Block(Protocol):
    """Places that are released together, and the outcomes that have come."""

    @property
    def places(self) -> Sequence[Place]:
        """In the order of their assignment; a place's number is its slot."""

    @property
    def outcomes(self) -> Mapping[int, int]:
        """By slot, in whole steps; of a local release, what was built from them."""

    @property
    def due(self) -> float | None:
        """When it is released, once it is full and if there is a deadline."""

    @property
    def latest(self) -> float | None:
        """When its latest place was taken, in streams."""


class Store(Protocol):
    """Where one trial is stored."""

    @property
    def lock(self) -> threading.RLock:
        """What a trial holds around every call. Stores that share a connection share it."""

    @property
    def place(self) -> str:
        """Where that is, for messages."""

    @property
    def releases_here(self) -> bool:
        """Whether its user releases blocks. If not, it is a worker's: the trial then calls neither
        `whole` nor `release` nor `begin`, `state` has no ledger, and of the outcomes of a block
        none is seen; of two that are recorded for one place the store keeps the first."""

    @property
    def state(self) -> Json:
        """What `create`, `release` and `begin` have stored, and what has `moved` since."""

    @property
    def assigned(self) -> Sequence[int]:
        """Assignments per arm so far, of visitors too; `release` may make arms of it more, as many
        as `state["arms"]` has."""

    @property
    def blocks(self) -> Mapping[str, Block]:
        """The blocks that are not yet released."""

    @property
    def people(self) -> People:
        """Who is forgotten, and what was decided for all."""

    def whole(self, key: str) -> Block:
        """One of them, for its release: all its places, and all outcomes that will ever count."""

    def ready(self, alone: bool = True) -> bool:
        """Hold the store for this user, up to its next write or the end of the call. Whether
        someone else continued with it since; `TrialError` if it is unknown what is stored. A worker
        that hands an outcome in asks for `alone=False`: others may continue meanwhile, and if its
        block is released by then the outcome is dropped."""

    def held(self) -> AbstractContextManager[object]:
        """A call of the trial: at its end the store is let go."""

    def together(self) -> AbstractContextManager[object]:
        """Writes that are stored at once, at the end; none of them if anything is raised."""

    def member(self, unit: Name) -> Member | None:
        """What is known of a unit; None for a stranger."""

    def create(self, state: Json, arms: int, block: str | None) -> None:
        """A new trial, with one empty block, or with none; refused where there is one already."""

    def assign(self, unit: Name, member: Member, place: Place | None, moved: Moved) -> None:
        """A unit has got an arm: `member` is what is known of it from now on. With a place it is
        the next one of `member.block`, which opens if it is not there; its action is erased with
        its outcome, and takes the same room whatever it is if `place.private`."""

    def record(self, block: str, slot: int, value: int) -> None:
        """An outcome has come."""

    def void(self, block: str, slot: int) -> None:
        """An outcome is withdrawn, come or not: `VOID` stands in its place, and nothing is left of
        it."""

    def noted(self) -> None:
        """A step that stores nothing but what was noted in the trail."""

    def forget_copies(self) -> None:
        """Overwrite what erased names may have left in unused bytes."""

    def release(self, block: str | None, state: Json, opens: str | None) -> None:
        """A block was released: put the state in place, erase the block, open an empty one. None
        where there is nothing to erase, or nothing to open. Anyone who has withdrawn from that
        block is forgotten."""

    def begin(self, block: str, run: Json) -> None:
        """The rule has seen the last release: `run` are the entries of `state["protocol"]` that
        changed. `block` is the one that it opened."""

    def close(self) -> None:
        """End the use of this object; whatever it holds of outcomes in memory is erased."""
