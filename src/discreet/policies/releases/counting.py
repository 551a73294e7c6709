"""Noisy prefix sums after every round, from binary trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...compiled import Function
from ...privacy.counters import TreeLedger, tree_add, tree_ledger, tree_levels
from ..schedules import Schedule
from ..view import Setting, View
from .base import PureRelease


class TreeScale(NamedTuple):
    """Noise scale of a node, unit of rewards, levels of the tree."""

    scale: float
    unit: int
    levels: int


def publish_tree(
    release: TreeScale, ledger: TreeLedger, view: View, arm: int, rounds: int, total: float,
    rng: Any,
) -> None:  # fmt: skip
    """value = noisy prefix sum of the arm's tree / N. A batch is one leaf."""
    view.size[arm] += rounds
    prefix = tree_add(ledger, release.levels, release.scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.unit)


@dataclass(frozen=True)
class Tree(PureRelease):
    """A binary tree of noisy sums an arm, node noise Lap(h/ε), h = ceil(log2 leaves) + 1.

    A reward is in one leaf, a leaf under h nodes, each node costs ε/h.
    """

    name: ClassVar[str] = "tree"
    publish: ClassVar[Function] = staticmethod(publish_tree)

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return tree_levels(schedule.releases(horizon))

    def parameters(self, setting: Setting) -> TreeScale:
        horizon = setting.needs_horizon(self.name)
        scale = self.scale(setting.schedule, horizon, setting.source)
        return TreeScale(scale, setting.source.unit, self.touches(setting.schedule, horizon))

    def ledger(self, setting: Setting) -> TreeLedger:
        levels = self.touches(setting.schedule, setting.needs_horizon(self.name))
        return tree_ledger(setting.arms, levels, exact=setting.source.secure)
