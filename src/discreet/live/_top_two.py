"""Top two, concurrently (`protocol.plans`): leader and challenger share the windows.

A release is entered in the books before the next one comes: two of them at once would count one
noise for two. Should the rule fail in between, the trial says so and takes no more units, and the
risk covers no verdict on what was released.
"""

from __future__ import annotations

from typing import ClassVar, Self

from ..errors import TrialError
from ..policies import Policy
from ..policies._view import Setting
from ._stream_run import StreamRun


class TopTwoRun(StreamRun):
    """A run of a policy that identifies by leader and challenger."""

    PLAN: ClassVar[str] = "top two"
    NO_NEWCOMERS: ClassVar[str] = (
        "add() is for policies with an index; the risk of an answer counts the arms beforehand"
    )
    FEWEST: ClassVar[int] = 2
    NO_ESTIMATE: ClassVar[str] = (
        "its risk is proved for sums in which every participant of a batch counts; of means over "
        "those who answered it says nothing"
    )

    keeps_books: bool
    """whether releases are entered one by one"""
    sized: bool
    """whether blocks are sized by the missing evidence"""

    def plan_as(self, policy: Policy, first: Setting) -> None:
        super().plan_as(policy, first)
        self.keeps_books = getattr(policy.rule, "note", None) is not None
        self.sized = not policy.schedule.fixed_sizes

    def miss(self) -> None:
        if self.keeps_books:
            self.head.notes.covered[0] = 0

    def dropped(self, arm: int) -> Self:
        if not self.sized:
            raise TrialError(
                "drop() would leave a batch of a size that the risk of an answer does not count "
                "on; use stop(), or plan with evidence-tt or race"
            )
        return super().dropped(arm)
