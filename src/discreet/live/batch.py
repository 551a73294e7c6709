"""The open batch of a trial."""

from __future__ import annotations

from typing import Generic, TypeVar

from .arguments import Name
from .run import Run

R = TypeVar("R", bound=Run)


class Batch(Generic[R]):
    """Who is in the open batch, and what has come of them, in integer units."""

    __slots__ = ("actions", "arms", "due", "opened", "outcomes", "protocol", "slot_of", "units")

    def __init__(self, protocol: R) -> None:
        self.opened = protocol
        """where the run stood when the batch was opened"""
        self.protocol = protocol
        """where it stands now"""
        self.units: list[Name] = []
        """its members, in the order of their assignment"""
        self.arms: list[int] = []
        """their arms"""
        self.actions: dict[int, list[int]] = {}
        """the features of their arms, by place in the batch; of trials with contexts"""
        self.outcomes: dict[int, int] = {}
        """by place in the batch; of a local release, what was made of them"""
        self.slot_of: dict[Name, int] = {}
        """the latest place of each member"""
        self.due: float | None = None
        """when it is released, once it is full and if there is a deadline"""

    @property
    def is_full(self) -> bool:
        """Whether it takes no more members."""
        return self.protocol.is_full(len(self.units))
