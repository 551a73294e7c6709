"""An adaptive trial of two arms in epochs of fixed sizes that ends with a test (`protocol.plans`).

**Private**, as all streams: an outcome is in one cell, a cell is released once, and sizes, splits,
moments and the verdict are built from arrivals, the clock, coins and earlier releases.

An epoch is planned on the releases that its design lets it see. Who comes before these are there is
not in the trial: they get the control, and their outcomes are not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..protocol._state import LEFT
from ._stream_run import StreamRun

if TYPE_CHECKING:
    pass


class TestedEpochRun(StreamRun):
    """A run of a design in epochs."""

    __test__: ClassVar[bool] = False  # no class of tests
    PLAN: ClassVar[str] = "tested epochs"
    NO_NEWCOMERS: ClassVar[str] = "add() is for policies with an index; a test keeps its arms"
    FEWEST: ClassVar[int] = 2
    NO_ESTIMATE: ClassVar[str] = (
        "its boundaries are certified for sums of a fixed number of outcomes; sums over those who "
        "answered have denominators of their own"
    )

    @property
    def waits(self) -> bool:
        """Whether the next epoch cannot be planned yet."""
        head = self.head
        planned = head.at[LEFT] > 0 or self.has_ended
        return not planned and head.block[0] - self.rule.lag > self.looked

    @property
    def cells(self) -> list[tuple[int, int, float, float]]:
        """Of every epoch that was looked at: places and noisy sums of treatment and control."""
        memory = self.memory
        return [
            (*memory.places[2 * e : 2 * e + 2], *memory.sums[2 * e : 2 * e + 2])
            for e in range(int(memory.epoch[0]))
        ]
