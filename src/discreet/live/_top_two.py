"""Top two, side by side: leader and challenger share the windows, and all blocks wait together.

Leader L and challenger C are made of what is released. Of the places of a window L gets the next
one if (1 - β) N_L <= β N_C, else C, N all their places, those that wait included (β = 1/2 for rows
that have none); before every arm has a release, all get the same. Blocks of all arms fill and wait
side by side, each is released once, and after every release the row is asked for its verdict.

**Why the risk holds.** Risks of these rows hold whatever arm is played when, as long as nothing is
read inside a batch and its size is a function of releases: `evidence` multiplies a martingale at
every release by a factor whose mean is at most 1 given *all else that has been released*, and the
outcomes of a block are independent of that, also if other blocks were released while it was open.
Sizes are the schedule's (doubling, geometric, one), on counts alone; where they are sized by the
missing evidence they are set when a block opens, and anew at every release, never below the places
that are taken: with b the places of closed blocks and n those released, growth g,

    length = max(ceil((1 + g) n) - b, ceil(g_least b), 1).

A release is entered in the books before the next one comes: two of them at once would count one
noise for two. Should the rule fail in between, the trial says so and takes no more units.

**Blocks that are cut off.** Where any size counts, so does what the horizon or an answer cuts off:
both are functions of counts and releases. The last block of an arm that is dropped by hand, or of a
trial that is ended so, is released but is no evidence and stays out of the record: whoever cut it
may have seen its outcomes, and a size that follows from them would choose the tilt. Where sizes are
the schedule's, a block that was cut off ends the verdicts, at the end of the trial, and for the
same reason no arm is dropped by hand there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from .._compiled import Function
from ..errors import DamagedFile, TrialError
from ..identify._evidence_top_two import growth
from ..policies import EachRound, Geometric, Policy
from ..policies._schedules import LONGEST
from ..policies._view import Setting
from ..protocol.plans._top_two import Covered
from ._stream_run import StreamRun

if TYPE_CHECKING:
    from .._types import Json
    from ._randomness import Draws, Randomness


class TopTwoRun(StreamRun):
    """A run of a row that identifies by leader and challenger."""

    PLAN: ClassVar[str] = "top two"
    NO_NEWCOMERS: ClassVar[str] = (
        "add() is for policies with an index; the risk of an answer counts the arms beforehand"
    )
    FEWEST: ClassVar[int] = 2
    NO_ESTIMATE: ClassVar[str] = (
        "its risk is proved for sums in which every participant of a batch counts; of means over "
        "those who answered it says nothing"
    )

    note: Function | None
    """enters a release in the books"""
    sized: bool
    """whether blocks are sized by the missing evidence"""
    covered: bool
    """whether the risk covers a verdict on what was released"""

    def __init__(
        self, policy: Policy, setting: Setting, random: Randomness, noise: Draws | None,
        window: int, shares: Sequence[float],
    ) -> None:  # fmt: skip
        rule: Any = policy.rule
        self.sized = not isinstance(policy.schedule, EachRound | Geometric)
        self.covered = True
        note = getattr(rule, "note", None)
        self.note = None if note is None else note.interpreted()
        super().__init__(policy, setting, random, noise, window, shares)

    # --- what is released -------------------------------------------------------------------------

    def follow(self, rounds: int, whole: bool, before: tuple[float, int]) -> None:
        entered = self.begun or self.note is None
        self.covered = self.covered and entered and (self.sized or whole)
        super().follow(rounds, whole, before)
        self.begun = False

    def is_whole(self, arm: int, rounds: int) -> bool:
        if self.sized:
            return not self.is_by_hand(arm, self.streams.released[arm] + 1)
        return super().is_whole(arm, rounds)

    def is_by_hand(self, arm: int, number: int) -> bool:
        """Whether a closed block is the last of an arm that was dropped, or of a trial that was
        ended before its time: perhaps it had been full, but that is not known any more."""
        streams = self.streams
        early = self.horizon is None or streams.total < self.horizon
        ended = streams.over and early and self.answer is None
        return (ended or not streams.active[arm]) and number + 1 == streams.block[arm]

    def begin(self) -> None:
        """Enter the release; the verdict; and what the blocks that are open still need."""
        self.begun = True
        if self.verdict is not None:
            self.think()

    def noted_cells(self) -> object:
        return Covered([int(self.covered)])

    # --- what comes next: made of counts and releases ---------------------------------------------

    def length_after(self, arm: int, places: int) -> int:
        if not self.sized:
            return super().length_after(arm, places)
        if places == 0:
            return min(int(self.rule.first), LONGEST)
        released, grown = int(self.memory.size[arm]), 2.0
        if self.memory.known[0] == 1:
            grown = growth(self.rule, self.memory)
        wanted = math.ceil((1.0 + grown) * released) - places
        least: int = math.ceil(self.rule.least * places)
        return min(max(wanted, least, 1), LONGEST)

    def dropped(self, arm: int) -> Self:
        if not self.sized:
            raise TrialError(
                "drop() would leave a batch of a size that the risk of an answer does not count "
                "on; use stop(), or plan with evidence-tt or race"
            )
        return super().dropped(arm)

    # --- as JSON ----------------------------------------------------------------------------------

    def public(self) -> dict[str, object]:
        return super().public() | {"covered": self.covered}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        covered = data.get("covered")
        if type(covered) is not bool:
            raise DamagedFile("the state of the run does not say whether its risk is kept")
        self.covered = covered
