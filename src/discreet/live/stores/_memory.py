"""A trial in memory: gone with its process.

What a write changes takes effect at one assignment, so that Ctrl-C finds it done or not begun; what
an assignment to several places needs is noted down first and made up for by the next call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple, NoReturn

from ..._checks import Name
from ...errors import InvalidArgument, TrialError
from .._rules import VOID, Member, Place, is_void
from ._base import Json, Moved
from ._people import HeldPeople


class HeldBlock:
    """A block, all of it in memory."""

    __slots__ = ("outcomes", "places")

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.outcomes: dict[int, int] = {}

    def copy(self) -> HeldBlock:
        """The same places and outcomes, in another object."""
        other = HeldBlock()
        other.places, other.outcomes = self.places.copy(), self.outcomes.copy()
        return other

    @property
    def due(self) -> float | None:
        """When it is released, once it is full and if there is a deadline."""
        return self.places[-1].due if self.places else None

    @property
    def latest(self) -> float | None:
        """When its latest place was taken."""
        return self.places[-1].at if self.places else None


class Noted(NamedTuple):
    """An assignment; entering it twice is entering it once."""

    unit: Name
    member: Member
    place: Place | None
    assigned: int
    taken: int
    moved: Moved


class MemoryStore:
    """Dictionaries. Other stores may build on it: write first, then call the method of this one."""

    releases_here = True

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._members: dict[Name, Member] = {}
        self._assigned: list[int] = []
        self._now: tuple[Json, dict[str, HeldBlock]] = {}, {}
        self._moved: tuple[Json, Moved] | None = None
        """what places have changed of the run since that state was stored"""
        self._noted: Noted | None = None
        self._undo: list[Callable[[], object]] | None = None
        """how to take back what is gathered, the last of it first"""
        self._process = os.getpid()
        self.people = HeldPeople(self)
        self.taken = 0
        """places that were taken"""
        self._strata = [self]

    def beside(self) -> MemoryStore:
        """The store of another stratum."""
        other = MemoryStore()
        other._strata = self._strata
        self._strata.append(other)
        return other

    @property
    def taken_in_all(self) -> int:
        """Places that were taken, in all strata."""
        return sum(store.taken for store in self._strata)

    @property
    def place(self) -> str:
        return "memory"

    @property
    def state(self) -> Json:
        state, moved = self._now[0], self._moved
        if moved is None or moved[0] is not state:
            return state
        return {**state, "protocol": {**state["protocol"], **moved[1]()}}

    @property
    def assigned(self) -> list[int]:
        return self._assigned

    @property
    def blocks(self) -> Mapping[str, HeldBlock]:
        return self._now[1]

    def whole(self, key: str) -> HeldBlock:
        return self._now[1][key]

    def ready(self, alone: bool = True) -> bool:
        if self._noted is not None:
            self._enter(self._noted)
        self.people.waiting = []
        return False

    def held(self) -> AbstractContextManager[object]:
        return _NOTHING

    @contextmanager
    def together(self) -> Iterator[None]:
        if self._undo is not None:  # within another one
            yield
            return
        before, noted = (self._now, self._moved, self._assigned.copy()), len(self.people.entries)
        places = self.taken
        taken = {arm: len(units) for arm, units in self.people.taken.items()}
        undo: list[Callable[[], object]] = []
        self._undo = undo
        try:
            yield
        except BaseException:
            self._noted = None
            while undo:
                undo.pop()()
            self._now, self._moved, self._assigned = before
            self.taken = places
            del self.people.entries[noted:]
            for arm, units in self.people.taken.items():
                del units[taken.get(arm, 0) :]
            raise
        finally:
            self._undo = None

    def member(self, unit: Name) -> Member | None:
        return self._members.get(unit)

    def create(self, state: Json, arms: int, block: str | None) -> None:
        if self._now[0]:
            raise InvalidArgument(
                "store", "be empty for a new trial", f"the store of one, in {self.place}",
                "go on with it by Trial.load(store)",
            )  # fmt: skip
        self._assigned = [0] * arms
        self._now = state, {} if block is None else {block: HeldBlock()}
        self.people.flush()

    def assign(self, unit: Name, member: Member, place: Place | None, moved: Moved) -> None:
        if self._undo is not None:
            self._undo.append(self._without(unit, member, place))
        taken = self.taken + (place is not None)
        self._noted = noted = Noted(
            unit, member, place, self._assigned[member.arm] + 1, taken, moved
        )
        self._enter(noted)

    def _without(self, unit: Name, member: Member, place: Place | None) -> Callable[[], None]:
        """Takes an assignment back."""
        blocks, known = self._now[1], self._members.get(unit)
        seats = len(blocks[member.block].places) if member.block in blocks else None

        def undo() -> None:
            if known is None:
                self._members.pop(unit, None)
            else:
                self._members[unit] = known
            if place is not None and seats is None:
                blocks.pop(member.block, None)
            elif place is not None:
                del blocks[member.block].places[seats:]

        return undo

    def _enter(self, noted: Noted) -> None:
        """Doing it twice is doing it once."""
        unit, member, place, assigned, taken, moved = noted
        if place is not None:
            blocks = self._now[1]
            if member.block not in blocks:
                blocks[member.block] = HeldBlock()
            places = blocks[member.block].places
            if len(places) == member.slot:
                places.append(place)
            self._moved = self._now[0], moved
        self._members[unit] = member
        self._assigned[member.arm], self.taken = assigned, taken
        self._noted = None

    def record(self, block: str, slot: int, value: int) -> None:
        outcomes = self._now[1][block].outcomes
        if self._undo is not None:
            known = outcomes.get(slot)
            self._undo.append(
                partial(outcomes.pop, slot, None)
                if known is None
                else partial(outcomes.__setitem__, slot, known)
            )
        outcomes[slot] = value

    def void(self, block: str, slot: int) -> None:
        self.record(block, slot, VOID)

    def noted(self) -> None:
        self.people.flush()

    def forget_copies(self) -> None:
        """There are none."""

    def release(self, block: str | None, state: Json, opens: str | None) -> None:
        if block is not None and block in self._now[1]:
            gone = self._now[1][block]
            for slot, outcome in gone.outcomes.items():
                if is_void(outcome):
                    self.people.forget(gone.places[slot].unit)
        blocks = {key: other for key, other in self._now[1].items() if key != block}
        if opens is not None:
            blocks[opens] = HeldBlock()
        self._grow(state)
        self._put(state, blocks)
        self.people.flush()

    def _put(self, state: Json, blocks: dict[str, HeldBlock]) -> None:
        """A state of now: what moved before is in it, or is void."""
        self._now = state, blocks
        self._moved = None

    def _grow(self, state: Json) -> None:
        """Room for arms that were added."""
        self._assigned += [0] * (len(state.get("arms", ())) - len(self._assigned))

    def begin(self, block: str, run: Json) -> None:
        state = self.state
        self._put({**state, "protocol": {**state["protocol"], **run}}, self._now[1])

    def check_process(self) -> None:
        """Refuse a fork: the process that it comes from has the same blocks."""
        if self._process != os.getpid():
            raise TrialError(
                f"the store of a trial, in {self.place}, belongs to the process that made it, and "
                "this is a fork of it: both could release the same block; load it there"
            )

    def __reduce__(self) -> NoReturn:
        raise TrialError(
            "the store of a trial must not be copied or pickled: two copies could release the same "
            "block twice; use save(path), close() and Trial.load(path)"
        )

    def close(self) -> None:
        state, blocks = self.state, self._now[1]
        for block in blocks.values():
            block.outcomes.clear()
            block.places[:] = [place._replace(action=None) for place in block.places]
        run = state.get("protocol", {})
        kept = {name: part for name, part in run.items() if name != "ledger"}  # exact sums, perhaps
        self._put({**state, **({"protocol": kept} if run else {})}, blocks)


_NOTHING = nullcontext()
"""No one else can have it, so that there is nothing to let go of."""
