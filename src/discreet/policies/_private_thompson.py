"""Private Thompson sampling: estimate the gap, fill trees, then sample.

1. Gap estimation, Δ̂ = 1: every arm m = 192 log2 T/(εΔ̂²) times, mean + Lap(1/(εm)); halve Δ̂ until
   the two best differ by more than Δ̂. (Left out in the authors' experiments: gap_estimation=False.)
2. Γ/Δ̂² pulls of every arm, Γ = 192 ln³T/ε, into fresh trees (or `fill` pulls).
3. Draw from Beta(r+1, N-r+1) of every arm, r the tree sum in [0, N]; play the largest.

As printed, m has a factor K more, the first noise is Lap(2K/(εm)) and every tree keeps ε/(2K):
calibration="paper". But a reward is in one batch of phase 1 or in one tree, so each may cost ε.
The logarithm of m is printed with its base (C.1). That of Γ is not: it is the natural one here, as
in a Laplace tail, |w| <= λ ln(1/α); base 2 would only make phase 2 three times as long.
Mishra & Thakurta (2015), Algorithm 2 and appendix C.

Rewards enter a tree in aligned blocks of 2^j, each of which closes the node above it: the same
noisy nodes as one by one, drawn only where someone reads them. That rests on playing the arms that
the rule chooses, so the guarantee is table DP (for a pure budget the same as view and adaptive DP),
and not interactive DP, in which an adversary replaces arms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._checks import check_flag
from .._compiled import Function, Kernel, open_slot
from ..errors import InvalidArgument
from ..privacy._counters import is_node, tree_add
from ..privacy._guarantees import Definition, Guarantee
from ._rules import Rule, clip01
from ._schedules import UNTIL_THE_END, Schedule, check_length
from ._thompson import choose_beta
from ._view import Setting, View, counts
from .releases._base import laplace_parts, noise
from .releases._counting import Tree
from .releases._entries import AGAIN, SIZES, Entries, Silence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from .._compiled import Floats, Integers
    from .releases._noise_of_mean import MeanNoise

GAP, FILL, SAMPLE = 0, 1, 2


class GapScale(NamedTuple):
    """Noise scales of a node and of a batch, steps of a reward, levels, and the first phase."""

    scale: float
    resolution: int
    levels: int
    batch: float
    phase: int


class GapLedger(NamedTuple):
    """Trees for later, and where gap estimation stands: the latter is public."""

    total_at: Floats
    prefix_at: Floats
    total: Floats
    count: Any  # the tuple has a method of that name
    batches: Integers
    """batches of the current estimate"""
    halvings: Integers
    """how often the gap was halved; -1 once the estimation is over"""


def publish_gap_or_tree(
    release: GapScale, ledger: GapLedger, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """Phase 1: value = noisy mean of the batch. From phase 2 on: value = tree sum / N."""
    if release.phase == GAP and ledger.halvings[0] >= 0:
        drawn = noise(release.batch, rng)
        view.value[arm] = (total + drawn) / (rounds * release.resolution)
        view.size[arm] = rounds
        ledger.batches[0] += 1
        if ledger.batches[0] == len(view.size):
            ledger.batches[0] = 0
            over = best_two_differ(view) > 0.5 ** ledger.halvings[0]
            ledger.halvings[0] = -1 if over else ledger.halvings[0] + 1
        return
    if not is_node(ledger.count[arm], rounds):
        raise ValueError("a block of a tree begins where a node of its size does")
    view.size[arm] = ledger.count[arm] + rounds
    ledger.count[arm] += rounds - 1  # tree_add counts the last
    prefix = tree_add(ledger, release.levels, release.scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.resolution)


def best_two_differ(view: View) -> float:
    """The difference of the two largest means."""
    first, second = -1e300, -1e300
    for arm in range(len(view.value)):
        if view.value[arm] > first:
            first, second = view.value[arm], first
        elif view.value[arm] > second:
            second = view.value[arm]
    return first - second


@dataclass(frozen=True)
class GapThenTree(Tree):
    """Noisy means of batches, then a tree per arm; a reward is in one of the two.

    The node noise is Lap(h/ε), that of a batch Lap(1/ε). `divided`: 2K times both, as printed.
    """

    gap_estimation: bool = True
    divided: bool = False
    name: ClassVar[str] = "batches + Laplace, then tree"
    publish: ClassVar[Function] = staticmethod(publish_gap_or_tree)
    counter: ClassVar[str | None] = "blocks"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("gap_estimation", self.gap_estimation)
        check_flag("divided", self.divided)

    def check_composition(self, schedule: Schedule, rule: Rule) -> None:
        """Blocks close the nodes that they should only if the rule lays them out, and both agree on
        when the gap is known. Other batches are in more nodes than the noise pays for."""
        aligned = isinstance(rule, PrivateThompson) and rule.choose is PrivateThompson.choose
        if not isinstance(rule, PrivateThompson) or not (aligned and schedule.set_by_rule):
            raise InvalidArgument(
                "release", "go with Phases and PrivateThompson, whose blocks fill its trees",
                f"{self.name}, with {schedule} and {rule}",
                "use Tree(epsilon), which takes any schedule and any rule",
            )  # fmt: skip
        if rule.gap_estimation is not self.gap_estimation:
            raise InvalidArgument(
                "gap_estimation", "be the same in the release and in the rule",
                (self.gap_estimation, rule.gap_estimation), "give the same value to both",
            )  # fmt: skip

    def parameters(self, setting: Setting) -> GapScale:  # type: ignore[override]
        scale, resolution, levels = super().parameters(setting)
        factor = 2 * setting.arms if self.divided else 1
        batch = setting.source.laplace_scale(self.epsilon) * factor
        phase = GAP if self.gap_estimation else FILL
        return GapScale(scale * factor, resolution, levels, batch, phase)

    def mean_noise(
        self, setting: Setting, sizes: Sequence[int], steps: int | None = None
    ) -> MeanNoise | None:
        """None if batches came before the tree."""
        return None if self.gap_estimation else super().mean_noise(setting, sizes, steps)

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """One noise for every node, the leaves being rounds."""
        scale = self.parameters(setting).scale
        return laplace_parts(setting, sizes, (scale, sum(sizes).bit_count()))

    def entries(self, setting: Setting) -> Entries | Silence:
        """The tree where it holds a power of two of rewards, one node; the batches of the gap's
        estimation, which have other noise, are left out."""
        return Entries(AGAIN, self.noise_of_sum(setting), SIZES, doubling=True)

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        """Table DP: the blocks are aligned as long as no one replaces the arms that are chosen."""
        derived = super().guarantee(schedule, horizon)
        return replace(derived, definition=Definition.TABLE)

    def ledger(self, setting: Setting) -> GapLedger:  # type: ignore[override]
        return GapLedger(*super().ledger(setting), counts(), counts())


class Phases3(NamedTuple):
    """192 log2 T/ε of phase 1, 192 ln³T/ε or a fixed number of phase 2, and `start` for drawing."""

    estimate: float
    fill: float
    fixed: int
    estimates: int
    start: int


class Progress(NamedTuple):
    """Which phase, which arm, the gap, and what is left to fill."""

    phase: Integers
    next: Integers
    length: Integers
    left: Integers
    gap: Floats


def choose_phased(rule: Phases3, memory: Progress, view: View, t: int, rng: Generator) -> int:
    """The next arm of phase 1 or 2, or a draw from the Beta distributions."""
    arms = len(view.size)
    if memory.phase[0] == GAP:
        if t == 0:
            memory.gap[0] = 1.0
            if rule.estimates == 0:
                begin_filling(rule, memory)
            else:
                begin_estimate(rule, memory)
        elif memory.next[0] == arms:
            if best_two_differ(view) > memory.gap[0]:
                begin_filling(rule, memory)
            else:
                memory.gap[0] *= 0.5
                begin_estimate(rule, memory)
        if memory.phase[0] == GAP:
            memory.next[0] += 1
            return int(memory.next[0] - 1)
    if memory.phase[0] == FILL:
        while memory.next[0] < arms and memory.left[memory.next[0]] == 0:
            memory.next[0] += 1
        if memory.next[0] < arms:
            arm = memory.next[0]
            block = 1
            while 2 * block <= memory.left[arm]:
                block *= 2
            memory.left[arm] -= block
            memory.length[0] = block
            return int(arm)
        memory.phase[0] = SAMPLE
    memory.length[0] = 1
    return sample_leader(rule, memory, view, t, rng)


sample_leader: Callable[[Phases3, Progress, View, int, Generator], int] = open_slot("sample_leader")


def begin_estimate(rule: Phases3, memory: Progress) -> None:
    """Set the length of the next batches."""
    memory.next[0] = 0
    pulls = rule.estimate / (memory.gap[0] * memory.gap[0])
    memory.length[0] = UNTIL_THE_END if pulls > 4e18 else math.ceil(pulls)


def begin_filling(rule: Phases3, memory: Progress) -> None:
    """Set how many pulls go into each tree."""
    pulls = rule.fill / (memory.gap[0] * memory.gap[0])
    for arm in range(len(memory.left)):
        memory.left[arm] = rule.fixed if rule.fixed > 0 else math.ceil(min(pulls, 4e18))
    memory.next[0] = 0
    memory.phase[0] = FILL


def clipped_belief(
    rule: Phases3, memory: object, view: View, arm: int, t: int
) -> tuple[float, float]:
    """r clipped into [0, N]."""
    return clip01(view.value[arm]), float(view.size[arm])


@dataclass(frozen=True)
class PrivateThompson(Rule):
    """Three phases: gap estimation (unless left out), filling, Beta draws on tree sums."""

    gap_estimation: bool = True
    fill: int | None = None
    divided: bool = False
    sets_phases: ClassVar[bool] = True
    name: ClassVar[str] = "gap, then Beta sample"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_phased, sample_leader=Kernel(choose_beta, belief=clipped_belief)
    )

    def __post_init__(self) -> None:
        check_flag("gap_estimation", self.gap_estimation)
        check_flag("divided", self.divided)
        if self.fill is not None:
            check_length("fill", self.fill, "leave it out for Γ/Δ̂²")

    def parameters(self, setting: Setting) -> Phases3:
        horizon = setting.needs_horizon(self.name)
        epsilon = setting.pure_epsilon(self.name)
        estimate = 192.0 * math.log2(horizon) / epsilon * (setting.arms if self.divided else 1)
        fill = 192.0 * math.log(horizon) ** 3 / epsilon
        return Phases3(estimate, fill, self.fill or 0, int(self.gap_estimation), 1)

    def memory(self, setting: Setting) -> Progress:
        import numpy as np

        return Progress(counts(), counts(), counts(), counts(setting.arms), np.zeros(1))
