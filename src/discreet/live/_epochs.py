"""`trend=True`: an index row in epochs, whose comparisons a shared trend cannot bend.

The rule is `policies.epochs`: shares are fixed within an epoch, its order is random, and the places
of one arm in one epoch are a *cell*: a block, released once. The cells of an epoch are released at
one public moment, when the last of them is due; the next epoch fills meanwhile, planned on what is
released, with the places of epochs in flight counted.

**Private**, as all streams: an outcome is in one cell, and cells and moments are made of arrivals,
the clock, coins and earlier releases. An epoch that is cut off at the end has the cells it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import inf, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ..errors import DamagedFile
from ..inference._within import EpochRecord
from ..policies import Geometric, Policy
from ..policies._epochs import (
    Cells,
    EpochPlan,
    difference,
    epoch_leader,
)
from ..policies._schedules import Growth
from ..policies._view import Setting
from ..policies.releases._entries import Noise, Silence
from ..protocol.plans._epochs import Epochs
from ._rules import Terms
from ._run import Blocks, Run
from ._stream_run import StreamRun
from ._streams import put

if TYPE_CHECKING:
    from .._checks import Name
    from .._types import Json
    from ._randomness import Draws, Randomness

MOST_CELLS = 4
"""Default: an epoch has at most so many times its least size."""


def longest_epoch(policy: Policy, setting: Setting) -> int:
    """The default of the largest epoch."""
    return MOST_CELLS * setting.arms * _growth(policy, setting).first


def _growth(policy: Policy, setting: Setting) -> Growth:
    assert isinstance(policy.schedule, Geometric)  # `serves_epochs` says so
    return policy.schedule.parameters(setting)


class EpochRun(StreamRun):
    """A run of DP-IMED in epochs; `window` is the largest of them."""

    PLAN: ClassVar[str] = "epochs"
    NO_ESTIMATE: ClassVar[str] = (
        "differences within epochs are of sums over all places of a cell; who answers may drift "
        "differently from arm to arm, and then no shared trend cancels in means over them"
    )

    cells: tuple[tuple[tuple[int, float | None], ...], ...]
    """by epoch and arm: its places, and its noisy sum once it is released"""
    shortened: tuple[int, ...]
    """epochs that were cut short, which stay out of intervals"""
    epoch_plan: EpochPlan
    cell_noise: Noise
    """of the sum of a cell, outcomes in [0, 1]"""

    def __init__(
        self, policy: Policy, setting: Setting, random: Randomness, noise: Draws | None,
        window: int, shares: Sequence[float],
    ) -> None:  # fmt: skip
        self.cells, self.shortened = (), ()
        super().__init__(policy, setting, random, noise, window, shares)
        self.plan_as(policy, setting)

    def plan_as(self, policy: Policy, first: Setting) -> None:
        super().plan_as(policy, first)
        growth = _growth(policy, first)
        self.epoch_plan = EpochPlan(
            first.pure_epsilon("epochs"), growth.first, growth.ratio, self.window
        )
        self.cell_noise = policy.release.noise_of_sum(first)  # type: ignore[attr-defined]
        self.recorded = Silence(
            "means of arms whose shares follow a trend are means of nothing fixed; differences "
            "within epochs have intervals, see trend in the report"
        )
        self.history = None

    # --- what is released, and when ---------------------------------------------------------------

    def follow(self, rounds: int, whole: bool, before: tuple[float, int]) -> None:
        super().follow(rounds, whole, before)
        arm, view = self.arm, self.view
        value, size = before
        total = float(view.value[arm] * view.size[arm] - value * size)
        epoch = self._oldest()
        cells = put(self.cells[epoch], arm, (rounds, total))
        self.cells = put(self.cells, epoch, cells)

    def _oldest(self) -> int:
        """The first epoch that is not released; as many as there are if all of them are."""
        for epoch, cells in enumerate(self.cells):
            if any(places and total is None for places, total in cells):
                return epoch
        return len(self.cells)

    def due_of(self, arm: int, blocks: Blocks, terms: Terms, now: float) -> float | None:
        """The cells of an epoch are due together, and epochs in their order."""
        oldest, latest = self._oldest(), -inf
        if oldest == len(self.cells) or not self._waits(arm, oldest):
            return None
        if oldest == len(self.cells) - 1 and any(self.streams.left):
            return None  # the epoch is still open
        for other in range(len(self.releases)):
            if self._waits(other, oldest):
                number = self.streams.released[other] + 1
                due = self.own_due(other, number, blocks, terms, now)
                if due is None:
                    return None
                latest = max(latest, due)
        return latest

    def _waits(self, arm: int, epoch: int) -> bool:
        places, total = self.cells[epoch][arm]
        return places > 0 and total is None

    def shown_due(self, arm: int, number: int, blocks: Blocks, terms: Terms) -> float | None:
        if terms.deadline is None or number > self.streams.released[arm] + 1:
            return None  # nothing is fixed before the epoch is the oldest
        return self.due_of(arm, blocks, terms, self.latest)

    # --- what comes next: made of counts and releases ---------------------------------------------

    def length_after(self, arm: int, places: int) -> int:
        """None: a cell is opened by its epoch."""
        return 0

    def opened(self, left: tuple[int, ...]) -> Self:
        """An epoch begins: a cell for every arm that has places in it."""
        streams = self.streams
        marks = tuple(closed + places for closed, places in zip(streams.closed, left, strict=True))
        other = self.at(streams._replace(left=left, marks=marks))
        other.cells = (*self.cells, tuple((places, None) for places in left))
        return other

    def noted_cells(self) -> object:
        flat, arms = self._flat(), len(self.releases)
        room = Cells(*([*column, *[0] * arms] for column in flat))
        return Epochs(room, [len(self.cells)], [self._oldest()])

    def _flat(self) -> Cells:
        cells = list(chain.from_iterable(self.cells))
        return Cells(
            [places for places, _ in cells],
            [0.0 if total is None else total for _, total in cells],
            [int(total is not None) for _, total in cells],
        )

    def differences(self) -> tuple[int, list[tuple[float, float] | None]] | None:
        """The leader, and of every arm how far it is behind, with a standard error that takes the
        variance of an outcome as ¼; None where arms were not released side by side."""
        plan, cells, arms = self.epoch_plan, self._flat(), len(self.releases)
        active = [int(on) for on in self.streams.active]
        leader = epoch_leader(plan, cells, len(self.cells), arms, active)
        if leader < 0:
            return None
        found: list[tuple[float, float] | None] = []
        for arm in range(arms):
            behind, weights = difference(plan, cells, len(self.cells), arms, leader, arm)
            known = arm != leader and weights > 0.0
            found.append((behind, 1.0 / sqrt(weights)) if known else None)
        return leader, found

    def public_epochs(
        self, arms: Sequence[Name], outcome_range: tuple[float, float]
    ) -> EpochRecord:
        """What differences within epochs are made of. An epoch that was cut short is not among
        it: whoever cut it may have seen which arms were given in it."""
        cells = (cells for number, cells in enumerate(self.cells) if number not in self.shortened)
        return EpochRecord(tuple(arms), tuple(cells), self.cell_noise, outcome_range)

    # --- the life of a trial ----------------------------------------------------------------------

    def _cut_epoch(self) -> Self:
        """The epoch ends as it is: its cells are what they have come to be."""
        other, streams = self.copy(), self.streams
        if any(streams.left):
            taken = [
                0 if streams.erased[arm] else places - left
                for arm, ((places, _), left) in enumerate(
                    zip(self.cells[-1], streams.left, strict=True)
                )
            ]
            other.cells = (*self.cells[:-1], tuple((places, None) for places in taken))
            other.shortened = (*self.shortened, len(self.cells) - 1)
        for arm in range(len(self.releases)):
            streams = streams.cut(arm)
        other.streams = streams._replace(left=(0,) * len(self.releases))
        return other

    def dropped(self, arm: int) -> Self:
        return super(EpochRun, self._cut_epoch()).dropped(arm)

    def ended(self) -> Self:
        return super(EpochRun, self._cut_epoch()).ended()

    def grown(self, fresh: Run) -> StreamRun:
        assert isinstance(fresh, EpochRun)
        other = super(EpochRun, self._cut_epoch()).grown(fresh)
        assert isinstance(other, EpochRun)
        more = len(other.releases) - len(self.releases)
        cut = self._cut_epoch()
        other.cells = tuple((*epoch, *[(0, None)] * more) for epoch in cut.cells)
        other.shortened = cut.shortened
        return other

    # --- as JSON ----------------------------------------------------------------------------------

    def public(self) -> dict[str, object]:
        cells = [[list(cell) for cell in epoch] for epoch in self.cells]
        return super().public() | {"cells": cells, "shortened": list(self.shortened)}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        saved: Any = data.get("cells")
        try:
            cells = tuple(
                tuple(
                    (int(places), None if total is None else float(total))
                    for places, total in epoch
                )
                for epoch in saved
            )
        except (TypeError, ValueError):
            cells = ((),)
        if any(len(epoch) != len(self.releases) for epoch in cells):
            raise DamagedFile("the cells of the run are damaged")
        shortened = data.get("shortened", [])  # of a trial that was never cut, or of old
        known = range(len(cells))
        if type(shortened) is not list or not all(type(n) is int and n in known for n in shortened):
            raise DamagedFile("the cells of the run are damaged")
        self.cells, self.shortened = cells, tuple(shortened)
