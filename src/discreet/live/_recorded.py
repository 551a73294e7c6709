"""The public record of a run of a finite-armed policy: its releases, by arm, for inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .._checks import Name
from ..errors import DamagedFile
from ..inference._record import History, Record, Recording, frozen, note
from ..policies.releases._entries import LAST, Silence
from ._lists import copied_history, count_in, history_in

if TYPE_CHECKING:
    from .._types import Json


class Recorded:
    """What a run with arms keeps of its releases."""

    NUMBERS: ClassVar[int] = 1
    """numbers that a release adds to the record"""

    arm: int
    """arm of the open block, or of the one that is released"""
    memory: Any
    """the rule's own notes"""
    view: Any
    """what is released"""
    releases: list[int]
    """of every arm"""
    recorded: Recording | Silence
    """what the releases are, or why they do not speak of a mean"""
    history: History | None
    """the public record, by arm; None if it was not kept from the beginning"""
    lazy: bool = False
    """whether it is brought up to date when it is asked for: of running totals the last entry is
    all that counts"""

    def record_lazily(self) -> None:
        """Where the last entry is all that counts."""
        self.lazy = isinstance(self.recorded, Recording) and self.recorded.reads == LAST

    def note(self, arm: int) -> None:
        """Enter the last release of an arm into the record."""
        if isinstance(self.recorded, Recording) and self.history is not None:
            note(self.recorded, self.history, arm, self.releases, self.view, self.memory)

    def noted(self) -> History | None:
        """The public record, by arm, up to now."""
        for arm, number in enumerate(self.releases) if self.lazy else ():
            if number:
                self.note(arm)
        return self.history

    def record(
        self, arms: Sequence[Name], outcome_range: tuple[float, float], kind: str, binary: bool
    ) -> Record | None:
        """The public record, for inference."""
        history = self.noted()
        if not isinstance(self.recorded, Recording) or history is None:
            return None
        return Record(self.recorded, tuple(arms), frozen(history), outcome_range, kind, binary)

    @property
    def silence(self) -> str:
        """Why there is no record; empty where there is one."""
        if isinstance(self.recorded, Silence):
            return self.recorded.reason
        return "" if self.history is not None else "its history was not kept from the beginning"

    def saved_history(self) -> History | None:
        """A copy, for JSON."""
        return copied_history(self.noted())

    def restore_record(self, data: Json) -> None:
        """Stand where `saved_history` was called."""
        self.arm = count_in(data, "arm")
        self.history = history_in(data, len(self.releases), self.NUMBERS)
        if self.arm >= len(self.releases):
            raise DamagedFile("the state of the run has no open block")
