"""Noisy prefix sums after every round: binary trees, and hybrid counters for unknown horizons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..._checks import count
from ..._compiled import Function
from ...privacy._counters import (
    HYBRID_LEVELS,
    HybridLedger,
    TogetherLedger,
    TreeLedger,
    hybrid_add,
    hybrid_ledger,
    together_add,
    together_ledger,
    tree_add,
    tree_ledger,
    tree_levels,
)
from .._schedules import Schedule
from .._view import Setting, View
from ._base import PureRelease, Scale, laplace_parts
from ._entries import AGAIN, POWERS, RUNNING, TOGETHER, Entries, Silence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from ._noise_of_mean import MeanNoise


class TreeScale(NamedTuple):
    """Noise scale of a node, steps of a reward of 1, levels of the tree."""

    scale: float
    resolution: int
    levels: int


def publish_tree(
    release: TreeScale, ledger: TreeLedger, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """value = noisy prefix sum of the arm's tree / N. A batch is one leaf."""
    view.size[arm] += rounds
    prefix = tree_add(ledger, release.levels, release.scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class Tree(PureRelease):
    """A binary tree of noisy sums an arm, node noise Lap(h/ε), h = floor(log2 leaves) + 1.

    A reward is in one leaf, a leaf under h nodes, each node costs ε/h.
    """

    name: ClassVar[str] = "tree"
    publish: ClassVar[Function] = staticmethod(publish_tree)
    any_lengths: ClassVar[bool] = True
    counter: ClassVar[str | None] = "tree"
    settles: ClassVar[bool] = True

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return tree_levels(schedule.releases(horizon))

    def parameters(self, setting: Setting) -> TreeScale:
        horizon = setting.needs_horizon(self.name)
        scale = self.scale(setting.schedule, horizon, setting.source)
        return TreeScale(scale, setting.source.resolution, self.touches(setting.schedule, horizon))

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """One noise for every node of the prefix sum: as many as the number of leaves has ones."""
        scale = self.parameters(setting).scale
        return laplace_parts(setting, sizes, (scale, len(sizes).bit_count()))

    def entries(self, setting: Setting) -> Entries | Silence:
        """At powers of two the prefix is one node, whose noise is in no other such read."""
        return Entries(AGAIN, self.noise_of_sum(setting), POWERS)

    def ledger(self, setting: Setting) -> TreeLedger:
        levels = self.touches(setting.schedule, setting.needs_horizon(self.name))
        return tree_ledger(setting.arms, levels, exact=setting.source.secure)


@dataclass(frozen=True)
class DividedTree(Tree):
    """The same with ε/K an arm, as Mishra & Thakurta (2015) print it.

    The arms' rewards are disjoint, so ε an arm would do: this keeps the budget K times over.
    """

    name: ClassVar[str] = "tree, budget divided by arms"

    def parameters(self, setting: Setting) -> TreeScale:
        tight = super().parameters(setting)
        return tight._replace(scale=tight.scale * setting.arms)


def publish_hybrid(
    release: Scale, ledger: HybridLedger, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """value = noisy prefix sum of the arm's hybrid counter / N."""
    view.size[arm] += rounds
    prefix = hybrid_add(ledger, HYBRID_LEVELS, release.scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class Hybrid(PureRelease):
    """A hybrid counter an arm, for any horizon: Lap(2/ε) at powers of two, trees between them.

    A reward is in one block, ε/2, and under log2 P nodes of a tree, each ε/(2 log2 P): ε.
    """

    name: ClassVar[str] = "hybrid"
    publish: ClassVar[Function] = staticmethod(publish_hybrid)
    any_lengths: ClassVar[bool] = True
    counter: ClassVar[str | None] = "hybrid"
    settles: ClassVar[bool] = True

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """A noise for every power of two so far, and for every node of the tree since the last."""
        leaves = len(sizes) if steps is None else self._steps(sizes, steps)
        depth = leaves.bit_length() - 1
        scale = self.scale(setting.schedule, setting.horizon, setting.source)
        nodes = (leaves - (1 << depth)).bit_count()
        return laplace_parts(setting, sizes, (2 * scale, depth + 1), (2 * depth * scale, nodes))

    def largest_scale(self, setting: Setting) -> float:
        """That of a node when the count is largest."""
        horizon = setting.horizon
        depth = HYBRID_LEVELS if horizon is None else max(1, horizon.bit_length() - 1)
        return 2 * depth * super().largest_scale(setting)

    def _steps(self, sizes: Sequence[int], steps: int) -> int:
        """A counter continues with its own arm alone."""
        return len(sizes)

    def entries(self, setting: Setting) -> Entries | Silence:
        """At powers of two a sum of blocks, each with Lap(2/ε). Trees are read inside a block, but
        its size is fixed in advance."""
        return Entries(RUNNING, self.noise_of_sum(setting, 2.0), POWERS)

    def ledger(self, setting: Setting) -> HybridLedger:
        return hybrid_ledger(setting.arms, exact=setting.source.secure)


def publish_hybrid_idle(
    release: Scale, ledger: TogetherLedger, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """Every arm's counter continues, with a 0 where another arm was played."""
    view.size[arm] += rounds
    together_add(ledger, release.scale, arm, total, rng)
    for other in range(len(view.size)):
        if view.size[other] > 0:
            view.value[other] = ledger.prefix[other] / (view.size[other] * release.resolution)


@dataclass(frozen=True)
class IdleHybrid(Hybrid):
    """Hybrid counters of all arms advanced in every round; a 0 is no one's reward."""

    name: ClassVar[str] = "hybrid, idle arms counted"
    publish: ClassVar[Function] = staticmethod(publish_hybrid_idle)
    any_lengths: ClassVar[bool] = True
    counter: ClassVar[str | None] = "together"
    settles: ClassVar[bool] = False

    def _steps(self, sizes: Sequence[int], steps: int) -> int:
        """A counter continues with every arm."""
        return count("steps", steps, least=len(sizes), fix="give the releases of all arms so far")

    def entries(self, setting: Setting) -> Entries | Silence:
        """The same, but blocks end at powers of two of all arms' releases."""
        return Entries(TOGETHER, self.noise_of_sum(setting, 2.0), POWERS)

    def ledger(self, setting: Setting) -> TogetherLedger:  # type: ignore[override]
        return together_ledger(setting.arms, exact=setting.source.secure)
