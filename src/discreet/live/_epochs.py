"""`trend=True`: an index in epochs (`protocol.plans`), which no shared trend can bend.

**Private**, as all streams: an outcome is in one cell, and cells and moments are built from
arrivals, the clock, coins and earlier releases. An epoch that is cut off at the end has the cells
it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import DamagedFile
from ..inference._within import EpochRecord
from ..policies import Policy
from ..policies._epochs import Cells, difference, epoch_leader
from ..policies._view import Setting
from ..policies.releases._entries import Noise, Silence
from ..protocol._state import LEFT
from ..protocol.plans._epochs import pass_released
from ._rules import Terms
from ._stream_run import StreamRun

if TYPE_CHECKING:
    from .._checks import Name
    from .._types import Json
    from ._run import Run

MOST_CELLS = 4
"""Default: an epoch has at most so many times its least size."""


def longest_epoch(policy: Policy, setting: Setting) -> int:
    """The default of the largest epoch."""
    first: int = policy.schedule.parameters(setting).first  # type: ignore[attr-defined]
    return MOST_CELLS * setting.arms * first


class EpochRun(StreamRun):
    """A run of DP-IMED in epochs; `window` is the largest of them."""

    PLAN: ClassVar[str] = "epochs"
    NO_ESTIMATE: ClassVar[str] = (
        "differences within epochs are of sums over all places of a cell; who answers may drift "
        "differently from arm to arm, and then no shared trend cancels in means over them"
    )

    shortened: tuple[int, ...]
    """epochs that were cut short, which stay out of intervals"""
    cell_noise: Noise
    """of the sum of a cell, outcomes in [0, 1]"""

    def plan_as(self, policy: Policy, first: Setting) -> None:
        super().plan_as(policy, first)
        self.cell_noise = policy.release.noise_of_sum(first)  # type: ignore[attr-defined]
        self.recorded = Silence(
            "means of arms whose shares follow a trend are means of nothing fixed; differences "
            "within epochs have intervals, see trend in the report"
        )
        self.history, self.shortened = None, ()

    @property
    def cells(self) -> tuple[tuple[tuple[int, float | None], ...], ...]:
        """By epoch and arm: its places, and its noisy sum once it is released."""
        cells, arms = self.head.notes.cells, len(self.releases)
        found = [
            (places, total if released else None)
            for places, total, released in zip(*cells, strict=True)
        ]
        return tuple(tuple(found[e * arms : (e + 1) * arms]) for e in range(self.epochs))

    @property
    def epochs(self) -> int:
        """How many were planned."""
        many: int = self.head.notes.many[0]
        return many

    def make_notes(self) -> None:
        cells, arms = self.head.notes.cells, len(self.releases)
        if len(cells.places) < (self.epochs + 1) * arms:
            for column in cells:
                column += [0] * arms

    def shown_due(self, arm: int, number: int, terms: Terms) -> float | None:
        if number > self.head.released[arm]:
            return None  # nothing is fixed before the epoch is the oldest
        return super().shown_due(arm, number, terms)

    def differences(self) -> tuple[int, list[tuple[float, float] | None]] | None:
        """The leader, and of every arm how far it is behind, with a standard error that takes the
        variance of an outcome as ¼; None where arms were not released concurrently."""
        plan, cells, arms = self.design.plan, self.head.notes.cells, len(self.releases)
        leader = epoch_leader(plan, cells, self.epochs, arms, self.head.active)
        if leader < 0:
            return None
        found: list[tuple[float, float] | None] = []
        for arm in range(arms):
            behind, weights = difference(plan, cells, self.epochs, arms, leader, arm)
            known = arm != leader and weights > 0.0
            found.append((behind, 1.0 / sqrt(weights)) if known else None)
        return leader, found

    def public_epochs(
        self, arms: Sequence[Name], outcome_range: tuple[float, float]
    ) -> EpochRecord:
        """What differences within epochs are built from. An epoch that was cut short is not among
        it: anyone who cut it may have seen which arms were given in it."""
        cells = (cells for number, cells in enumerate(self.cells) if number not in self.shortened)
        return EpochRecord(tuple(arms), tuple(cells), self.cell_noise, outcome_range)

    def leave_window(self) -> None:
        """The epoch ends as it is: its cells are what they have come to be."""
        head, arms = self.head, len(self.releases)
        cells, epoch = head.notes.cells, self.epochs - 1
        if head.at[LEFT] > 0:
            for arm in range(arms):
                cell = epoch * arms + arm
                cells.places[cell] = 0 if head.erased[arm] else cells.places[cell] - head.left[arm]
            self.shortened = (*self.shortened, epoch)
        super().leave_window()
        for arm in range(arms):
            self.steps.close(self.design, head, arm)
        pass_released(head)

    def grown(self, fresh: Run) -> StreamRun:
        other = super().grown(fresh)
        assert isinstance(other, EpochRun)
        cut = self.head.at[LEFT] > 0
        other.shortened = (*self.shortened, self.epochs - 1) if cut else self.shortened
        return other

    def more_notes(self, arms: int) -> Any:
        notes, before = self.head.notes, len(self.releases)
        columns = (
            [x for e in range(self.epochs) for x in (*column[e * before : (e + 1) * before],
             *[0] * (arms - before))]
            for column in notes.cells
        )  # fmt: skip
        return notes._replace(cells=Cells(*columns))

    def public(self) -> dict[str, object]:
        return super().public() | {"shortened": list(self.shortened)}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        notes, arms = self.head.notes, len(self.releases)
        room, oldest = {len(column) for column in notes.cells}, notes.oldest[0]
        whole = all(type(n) is int and n >= 0 for n in (*notes.many, *notes.oldest))
        if not whole or len(room) != 1 or max(room) < self.epochs * arms or oldest > self.epochs:
            raise DamagedFile("the cells of the run are damaged")
        shortened = data.get("shortened")
        known = range(self.epochs)
        if type(shortened) is not list or not all(type(n) is int and n in known for n in shortened):
            raise DamagedFile("the cells of the run are damaged")
        self.shortened = tuple(shortened)
