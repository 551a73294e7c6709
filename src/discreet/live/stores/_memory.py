"""A trial in memory: gone with its process.

What a write changes takes effect at one assignment, so that Ctrl-C finds it done or not begun; what
an assignment to several places needs is noted down first and made up for by the next call.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NoReturn

from ..._checks import Name
from ...errors import InvalidArgument, TrialError
from .._rules import Member, Place
from ._base import Block, Json


class MemoryStore:
    """Dictionaries. Other stores may build on it: write first, then call the method of this one."""

    def __init__(self) -> None:
        self._members: dict[Name, Member] = {}
        self._assigned: list[int] = []
        self._now: tuple[Json, dict[str, Block]] = {}, {}
        self._noted: tuple[Name, Member, Place | None, int] | None = None
        self._process = os.getpid()

    @property
    def place(self) -> str:
        return "memory"

    @property
    def state(self) -> Json:
        return self._now[0]

    @property
    def assigned(self) -> list[int]:
        return self._assigned

    @property
    def blocks(self) -> Mapping[str, Block]:
        return self._now[1]

    def ready(self) -> None:
        if self._noted is not None:
            self._enter(self._noted)

    def member(self, unit: Name) -> Member | None:
        return self._members.get(unit)

    def create(self, state: Json, arms: int, block: str | None) -> None:
        if self.state:
            raise InvalidArgument(
                "store", "be empty for a new trial", f"the store of one, in {self.place}",
                "go on with it by Trial.load(store)",
            )  # fmt: skip
        self._assigned = [0] * arms
        self._now = state, {} if block is None else {block: Block()}

    def assign(self, unit: Name, member: Member, place: Place | None) -> None:
        self._noted = noted = unit, member, place, self._assigned[member.arm] + 1
        self._enter(noted)

    def _enter(self, noted: tuple[Name, Member, Place | None, int]) -> None:
        """Doing it twice is doing it once."""
        unit, member, place, assigned = noted
        if place is not None:
            blocks = self._now[1]
            if member.block not in blocks:
                blocks[member.block] = Block()
            places = blocks[member.block].places
            if len(places) == member.slot:
                places.append(place)
        self._members[unit] = member
        self._assigned[member.arm] = assigned
        self._noted = None

    def record(self, block: str, slot: int, value: int) -> None:
        self._now[1][block].outcomes[slot] = value

    def release(self, block: str | None, state: Json, opens: str | None) -> None:
        blocks = {key: other for key, other in self._now[1].items() if key != block}
        if opens is not None:
            blocks[opens] = Block()
        self._grow(state)
        self._now = state, blocks

    def _grow(self, state: Json) -> None:
        """Room for arms that were added."""
        self._assigned += [0] * (len(state.get("arms", ())) - len(self._assigned))

    def begin(self, block: str, run: Json) -> None:
        state, blocks = self._now
        self._now = {**state, "protocol": {**state["protocol"], **run}}, blocks

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
        state, blocks = self._now
        for block in blocks.values():
            block.outcomes.clear()
            block.places[:] = [place._replace(action=None) for place in block.places]
        run = state.get("protocol", {})
        kept = {name: part for name, part in run.items() if name != "ledger"}  # exact sums, perhaps
        self._now = {**state, **({"protocol": kept} if run else {})}, blocks
