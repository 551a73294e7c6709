"""Missing outcomes, estimated: two noisy numbers a block at the price of one (`protocol`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from ..inference._record import Recording, pair_recording
from ..policies import Policy, Setting
from ..policies.releases._entries import Noise
from ..policies.releases._pairs import PairScale
from ..protocol._missing import answering
from ._stream_run import StreamRun

if TYPE_CHECKING:
    from ._run import Outcomes
    from .stores import Block


class PairRun(StreamRun):
    """Streams whose blocks release a pair."""

    NUMBERS: ClassVar[int] = 2
    ESTIMATES: ClassVar[bool] = True

    def plan_as(self, policy: Policy, first: Setting) -> None:
        super().plan_as(policy, first)
        self.recorded = self._recording(policy, first)

    @property
    def pair(self) -> PairScale:
        """The noise of both numbers."""
        scale: PairScale = self.design.pair
        return scale

    @property
    def pairs(self) -> Any:
        """Noisy sums and counts of those who answered."""
        return self.head.pairs

    def _recording(self, policy: Policy, setting: Setting) -> Recording:
        """What blocks release, for intervals."""
        kind, resolution = policy.release.noise, self.pair.resolution
        total, answers = (Noise(kind, x / resolution) for x in (self.pair.total, self.pair.answers))
        return pair_recording(total, answers, 1.0 / resolution if setting.source.secure else 0.0)

    def largest_scale(self, policy: Policy, setting: Setting) -> float:
        return max(self.pair.total, self.pair.answers)

    def completed(self, block: Block, default: int | None) -> Outcomes:
        """The sum of those who answered, and how many they are."""
        found = [block.outcomes.get(slot) for slot in range(len(block.places))]
        total = sum([0 if outcome is None else outcome for outcome in found])
        return total, sum([outcome is not None for outcome in found])

    def known(self, arm: int) -> tuple[float, float]:
        kept = self.pair.kept
        return kept * self.pairs.total[arm], kept * self.pairs.count[arm]

    def enter(self, arm: int, before: Any) -> None:
        if self.history is not None:
            pairs, head = self.pairs, self.head
            block = (pairs.total[arm] - before[0], pairs.count[arm] - before[1])
            size = head.many[arm * self.design.depth + (head.released[arm] - 1) % self.design.depth]
            self.history[arm].append([size, *(value / self.pair.resolution for value in block)])

    def answered(self, arm: int) -> float:
        """clip(R, 1, n): how many seem to have answered."""
        return answering(self.design, self.head, arm)

    def mean_with(self, arm: int, value: float) -> float:
        """The mean with that value, in [0, 1], in place of missing outcomes."""
        count, places = self.answered(arm), self.pairs.places[arm]
        total = self.pairs.total[arm] / self.pair.resolution + 0.5 * count
        return float((total + value * (places - count)) / places)
