"""Missing outcomes, estimated: two noisy numbers a block at the price of one.

With r = 1 for who answered and 0 for who did not, a block releases

    S = Σ r (y - 1/2) + noise,    R = Σ r + noise,    and m = 1/2 + S / clip(R, 1, n).

**Price.** Another answer moves (S, R) by at most (1, 0); answering or not moves them by at most
(1/2, 1). Laplace noise 1/ε on S and 2/ε on R: at most max(ε, ε/2 + ε/2) = ε. Gaussian noise σ on S
and 2σ/√3 on R: at most max(1, 1/4 + 3/4) / (2σ²) of zCDP. So the count costs the sum nothing. An
approximate budget is reached through zCDP, for the sharper bound on one number does not speak of
two. Everything else is made of S and R, and free: the mean of those who answered (assumed to be
like those who did not), and (S + R/2 + d(n-R))/n, the mean with d in place of the missing ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from .._compiled import Function
from ..inference._record import Recording, pair_recording
from ..policies import Policy, Setting
from ..policies.releases._entries import Noise
from ..policies.releases._pairs import Pairs, PairScale, pair_scale_of, publish_pair
from ._lists import as_lists
from ._rules import Action
from ._stream_run import StreamRun

if TYPE_CHECKING:
    from ._lists import Lists
    from ._randomness import Draws, Randomness
    from ._run import Outcomes
    from .stores import Block


class PairRun(StreamRun):
    """Streams whose blocks release a pair."""

    PARTS: ClassVar[tuple[str, ...]] = (*StreamRun.PARTS, "pairs")
    NUMBERS: ClassVar[int] = 2
    ESTIMATES: ClassVar[bool] = True

    pair: PairScale
    pairs: Lists
    publish_pair: Function

    def __init__(
        self, policy: Policy, setting: Setting, random: Randomness, noise: Draws | None,
        window: int, shares: Sequence[float],
    ) -> None:  # fmt: skip
        super().__init__(policy, setting, random, noise, window, shares)
        pair = pair_scale_of(policy.release, setting.source)
        assert pair is not None
        self.pair = pair
        self.publish_pair = policy.release.kernel(publish_pair, setting.source).interpreted()
        none: list[float] = [0] * setting.arms
        self.pairs = as_lists(Pairs(none, none.copy(), none.copy()))
        self.recorded = self._recording(policy, setting)

    def plan_as(self, policy: Policy, first: Setting) -> None:
        super().plan_as(policy, first)
        self.recorded = self._recording(policy, first)

    def _recording(self, policy: Policy, setting: Setting) -> Recording:
        """What blocks release, for intervals."""
        kind, resolution = policy.release.noise, self.pair.resolution
        total, answers = (Noise(kind, x / resolution) for x in (self.pair.total, self.pair.answers))
        return pair_recording(total, answers, 1.0 / resolution if setting.source.secure else 0.0)

    def largest_scale(self, policy: Policy, setting: Setting) -> float:
        return max(self.pair.total, self.pair.answers)

    def completed(self, block: Block, default: int | None) -> Outcomes:
        """The outcomes of a block; one that did not come is None, and is estimated."""
        return [block.outcomes.get(slot) for slot in range(len(block.places))]

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        """Release the pair of a block."""
        arm, half, places, view, pairs = (
            self.arm, self.pair.resolution // 2, len(outcomes), self.view, self.pairs,
        )  # fmt: skip
        total = sum([0 if outcome is None else outcome - half for outcome in outcomes])
        answered = sum([outcome is not None for outcome in outcomes])
        full = places == self.length_after(arm, int(view.pulls[arm]))
        before = tuple(self.pair.kept * sums[arm] for sums in (pairs.total, pairs.count))
        self.publish_pair(self.pair, pairs, arm, total, answered, self.noise)
        del total, answered
        pairs.places[arm] = self.pair.kept * pairs.places[arm] + places
        self.t += places
        view.pulls[arm] += places
        view.size[arm] = pairs.places[arm]
        view.value[arm] = 0.5 + pairs.total[arm] / (self.answered(arm) * self.pair.resolution)
        self.releases[arm] += 1
        if full and self.history is not None:
            block = (pairs.total[arm] - before[0], pairs.count[arm] - before[1])
            self.history[arm].append([places, *(value / self.pair.resolution for value in block)])
        self.streams = self.streams.released_one(arm)

    def paired(self) -> object:
        return self.pairs

    def answered(self, arm: int) -> float:
        """clip(R, 1, n): how many seem to have answered."""
        count = self.pairs.count[arm] / self.pair.resolution
        return float(min(max(count, 1.0), max(1, self.pairs.places[arm])))

    def mean_with(self, arm: int, value: float) -> float:
        """The mean with that value, in [0, 1], in place of missing outcomes."""
        count, places = self.answered(arm), self.pairs.places[arm]
        total = self.pairs.total[arm] / self.pair.resolution + 0.5 * count
        return float((total + value * (places - count)) / places)
