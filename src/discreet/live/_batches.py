"""Single batches: the rule names an arm, and nothing else is played until its batch is released
(`protocol.plans`). For policies that decide so, and where it is asked for.

**Private**, as all streams: a batch is a block. Who comes while it waits gets its arm, and no
place: the outcome is not used. A batch that the horizon cuts off is played, but never released,
and no outcome of it is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..policies import Policy
from ..policies._schedules import UNTIL_THE_END
from ..policies._view import Setting
from ..protocol._state import TAKEN, WAITING
from ._randomness import SeenDraws
from ._run import Standing
from ._stream_run import StreamRun

if TYPE_CHECKING:
    from ._rules import Effect, Member, Terms
    from ._run import Blocks


class BatchRun(StreamRun):
    """A run that plays one batch at a time. `arm` is that of the batch, from its beginning to its
    release."""

    PLAN: ClassVar[str] = "one batch"
    CUTS: ClassVar[bool] = True
    CHANGES: ClassVar[bool] = False
    NO_ESTIMATE: ClassVar[str] = "a single batch releases a sum without a count"
    no_propensity: ClassVar[str] = (
        "its policy draws the arm, with probabilities that have no closed form; "
        "Rehearsal.propensities estimates it"
    )

    def plan_as(self, policy: Policy, first: Setting) -> None:
        super().plan_as(policy, first)
        self.record_lazily()
        self._plan()

    def _plan(self) -> None:
        """The next batch: who takes it knows its arm and its size."""
        if not self.has_ended:
            coins = SeenDraws(self.random)
            self.steps.plan(self.design, self.head, 1, coins)
            self.planned = [] if coins.drawn else list(self.head.left)
            self.arm = next(arm for arm, left in enumerate(self.head.left) if left > 0)

    @property
    def owes(self) -> bool:
        return True

    def begin(self) -> None:
        super().begin()
        self._plan()

    def enter(self, arm: int, before: object) -> None:
        if not self.lazy:
            super().enter(arm, before)

    # --- what is public ---------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        return bool(self.head.at[WAITING] > 0)

    @property
    def visited(self) -> int:
        return self.arm

    @property
    def filled(self) -> int:
        """Places of the batch that are taken."""
        head, arm = self.head, self.arm
        return int(head.newest[arm] if self.waits else head.places[arm] - head.closed[arm])

    @property
    def rounds(self) -> int:
        """Its length."""
        head, arm = self.head, self.arm
        return int(head.newest[arm] if self.waits else head.mark[arm] - head.closed[arm])

    @property
    def is_cut_off(self) -> bool:
        """Whether the horizon cuts it off, so that it is never released."""
        if self.waits:
            return False
        if self.has_ended:
            return True
        left = self.design.horizon - self.head.at[TAKEN]
        return self.rounds - self.filled > left or self.rounds >= UNTIL_THE_END

    @property
    def cut(self) -> bool:
        head, arm = self.head, self.arm
        return (
            self.has_ended and not self.waits and head.at[TAKEN] < self.design.horizon
            and head.places[arm] > head.closed[arm] and not head.erased[arm]
        )  # fmt: skip

    def abandon(self) -> None:
        self.head.erased[self.arm] = 1

    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        if self.is_cut_off:
            return "dropped"
        return super().accept(member, value, blocks, terms, now)

    def standing(self, blocks: Blocks, terms: Terms, failure: str) -> Standing:
        status, due = "collecting", None
        if self.is_over:
            status = "finished"
        elif self.waits:
            status, due = "settling", self.shown_due(self.arm, self.head.released[self.arm], terms)
        elif failure or not self.begun:
            status = "stuck"
        return Standing(status, sum(self.used), due, self.filled)
