"""Arms compared at looks: elimination, races, equal shares, concurrently (`protocol.plans`).

**Private**, as all streams: an outcome is in one block, a block is released once, and sizes, due
moments, looks and drops are built from arrivals, the clock, coins and earlier releases. The open
block of an arm that is dropped closes, and is released when it is due.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ._stream_run import StreamRun


class LookRun(StreamRun):
    """A run of a policy with phases, its arms in permuted blocks."""

    PLAN: ClassVar[str] = "looks"
    NO_NEWCOMERS: ClassVar[str] = (
        "add() is for policies with an index; here arms are compared over the same participants"
    )
    FEWEST: ClassVar[int] = 2
    NO_ESTIMATE: ClassVar[str] = (
        "its limits are proved for sums of equally many outcomes, in which a shared drift cancels; "
        "means over those who answered have denominators of their own, and no such limit"
    )

    @property
    def marks(self) -> tuple[int, ...]:
        """Places of the first arm at every look, where they are fixed in advance; else empty."""
        return tuple(self.design.plan.marks[:: len(self.head.places)])

    def dropped(self, arm: int) -> Self:
        other = super().dropped(arm)
        other.head.memory.active[arm] = 0
        other.begun = not other.steps.owes(other.design, other.head)
        return other.changed()
