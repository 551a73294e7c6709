"""An adaptive trial in epochs as a policy that a live trial plays (`protocol.plans`).

Every cell, the places of one arm in one epoch, is released once with the noise that the design is
calibrated on. The split of an epoch, and the verdict, are the design's own (`EpochDesign.places`,
`EpochDesign.verdict`), worked out here from the rule's notes: the same numbers in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..identify._halving import HalvingRounds
from ..policies import Rule, Setting
from ..policies._view import View, counts
from ..policies.releases._whole import whole_sums
from ._adaptive import EpochDesign, least_places
from ._played import Crossed, ShownBetter, Tested, check_private, recipe_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Integers


class InEpochs(NamedTuple):
    """Sizes of the epochs, the smaller cell of each, boundaries of Z; how many epochs are under way
    when one is planned; whether the statistic is B; what is known of the noise."""

    sizes: Any
    few: Any
    lower: Any
    upper: Any
    lag: int
    batched: int
    variance: float
    shrinkage: float


class Noted(NamedTuple):
    """The cells so far: places and noisy sums, two an epoch."""

    active: Integers
    epoch: Integers
    next: Integers
    length: Integers
    places: Any
    sums: Any
    winner: Integers


def shrunk(total: float, n: float, shrink: float) -> float:
    """A rate, shrunk by κ, in [0, 1]."""
    return min(max((total + shrink) / (n + 2.0 * shrink), 0.0), 1.0)


def z_of_epochs(rule: InEpochs, memory: Noted, epochs: int, batched: int) -> float:
    """Z of B or of W after so many epochs, as `confirm._final` has it."""
    total, n = 0.0, 0.0
    for epoch in range(epochs):
        total += memory.sums[2 * epoch] + memory.sums[2 * epoch + 1]
        n += memory.places[2 * epoch] + memory.places[2 * epoch + 1]
    m = shrunk(total, n, rule.shrinkage)
    top, bottom = 0.0, 0.0
    for epoch in range(epochs):
        n1, n0 = float(memory.places[2 * epoch]), float(memory.places[2 * epoch + 1])
        gap = memory.sums[2 * epoch] / n1 - memory.sums[2 * epoch + 1] / n0
        first = m * (1.0 - m) / n1 + rule.variance / n1**2
        second = m * (1.0 - m) / n0 + rule.variance / n0**2
        spread = max(first + second, 1e-12)
        if batched == 1:
            top += math.sqrt((n1 + n0) / spread) * gap
            bottom += n1 + n0
        else:
            noisy = rule.variance * (1.0 / n1**2 + 1.0 / n0**2)
            w = 1.0 / (0.25 * (1.0 / n1 + 1.0 / n0) + noisy)
            top += w * gap
            bottom += w**2 * spread
    return float(top / math.sqrt(bottom))


def split_by_lead(rule: InEpochs, memory: Noted, epoch: int) -> int:
    """Evenly in the beginning; then the arm that is ahead gets all but the least share."""
    seen = max(epoch - rule.lag, 0)
    if seen > memory.epoch[0]:
        raise ValueError("an epoch is planned once those that it may see are released")
    lead = z_of_epochs(rule, memory, seen, 1) if seen > 0 else 0.0
    size, few = rule.sizes[epoch], rule.few[epoch]
    if lead > 0.0:
        return int(size - few)
    return int(few if lead < 0.0 else size // 2)


def choose_in_turn(rule: InEpochs, memory: Noted, view: View, t: int, rng: Generator) -> int:
    """One batch after the other: an epoch has a batch of each arm."""
    epoch = min(memory.epoch[0], len(rule.sizes) - 1)
    first = split_by_lead(rule, memory, epoch)
    arm = memory.next[0] % 2
    memory.next[0] += 1
    memory.length[0] = first if arm == 0 else rule.sizes[epoch] - first
    return int(arm)


def enough_in_epochs(
    stopping: object, rule: InEpochs, memory: Noted, view: View, best: int, t: int
) -> bool:
    """After an epoch: note its cells, and see whether Z is beyond a boundary."""
    epoch = memory.epoch[0]
    if epoch >= len(rule.sizes):
        return False
    for arm in range(2):
        # whole by itself: the division is undone
        memory.sums[2 * epoch + arm] = float(math.floor(view.value[arm] * view.size[arm] + 0.5))
        memory.places[2 * epoch + arm] = view.size[arm]
    memory.epoch[0] += 1
    memory.next[0] = 0
    if rule.batched == 0 and memory.epoch[0] < len(rule.sizes):
        return False
    z = z_of_epochs(rule, memory, memory.epoch[0], rule.batched)
    if z > rule.upper[epoch] or z < rule.lower[epoch]:
        memory.winner[0] = 0 if z > 0.0 else 1
        return True
    return False


@dataclass(frozen=True)
class EpochBoundaries(Rule):
    """Two arms in epochs, to the sizes of a design; the second one is the control."""

    design: EpochDesign
    compares: ClassVar[str] = "epochs"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    ends: ClassVar[str] = "boundary"
    name: ClassVar[str] = "test in epochs"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_in_turn, split_by_lead=split_by_lead, z_of_epochs=z_of_epochs, shrunk=shrunk
    )
    split: ClassVar[Kernel] = Kernel(split_by_lead, z_of_epochs=z_of_epochs, shrunk=shrunk)

    @property
    def participants(self) -> int:
        """At most, both arms."""
        return self.design.participants

    def parameters(self, setting: Setting) -> InEpochs:
        import numpy as np

        plan = self.design
        if setting.arms != 2:
            raise InvalidArgument(
                "arms", "be two for a test: the treatment, then the control", setting.arms,
                'use for example arms=["treatment", "control"]',
            )  # fmt: skip
        low = [-b if plan.sides == 2 else -math.inf for b in plan.boundaries]
        few = [least_places(size, plan.least) for size in plan.sizes]
        columns: list[Any] = [list(plan.sizes), few, low, list(plan.boundaries)]
        if not setting.source.secure:
            columns = [np.array(column) for column in columns]
        sizes, few_of, lower, upper = columns
        return InEpochs(
            sizes, few_of, lower, upper, plan.lag, int(plan.statistic == "B"),
            plan.noise.variance, plan.noise.shrinkage,
        )  # fmt: skip

    def memory(self, setting: Setting) -> Noted:
        import numpy as np

        cells = 2 * len(self.design.sizes)
        return Noted(
            np.ones(2, np.int64), counts(), counts(), counts(), np.zeros(cells, np.int64),
            np.zeros(cells), np.full(1, -1, np.int64),
        )  # fmt: skip

    def __str__(self) -> str:
        return str(self.design)


@dataclass(frozen=True)
class CrossedInEpochs(Crossed):
    """Stop beyond a boundary after an epoch, or at the last one."""

    enough = Kernel(enough_in_epochs, z_of_epochs=z_of_epochs, shrunk=shrunk)


@dataclass(frozen=True, kw_only=True)
class TestedInEpochs(Tested):
    """A design in epochs as a trial plays it."""

    __test__: ClassVar[bool] = False  # no class of tests

    def plan(self, setting: Setting) -> str:
        return "tested epochs"

    @property
    def kernels(self) -> dict[str, Function | Kernel]:
        return {**super().kernels, "split": EpochBoundaries.split}


def played_in_epochs(design: EpochDesign, rest: int = 0) -> TestedInEpochs:
    """The policy of a design, for a live trial or a rehearsal of one."""
    check_private(design.budget)
    recipe = {**recipe_of(rest), "epochs": design.to_dict()}
    return TestedInEpochs(
        "test", HalvingRounds(), whole_sums(design.budget), EpochBoundaries(design), recipe=recipe,
        stopping=CrossedInEpochs(), recommendation=ShownBetter(),
        rest=rest,
    )  # fmt: skip


def played_epochs_from(recipe: Mapping[str, Any]) -> TestedInEpochs:
    """The policy that a stored recipe names."""
    return played_in_epochs(EpochDesign.from_dict(recipe["epochs"]), recipe.get("rest", 0))
