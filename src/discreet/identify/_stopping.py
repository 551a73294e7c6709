"""Stopping rules: when the releases are enough for an answer.

A kernel `enough(stopping, rule, memory, view, best, t)` sees what a sampling rule sees, releases
and counts, and the arm `best` that would be recommended: to stop is post-processing.

- `Likelihood`: generalised likelihood ratio, W_{best,a} >= threshold for every other arm a, with
  the sizes of the released batches as counts.
- `OneLeft`: an eliminating rule has one arm left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._compiled import Kernel, open_slot
from ..errors import InvalidArgument
from ..policies import Release, Rule, Schedule, Setting
from ..policies._elimination import (
    Confidence,
    Race,
    begin_epoch,
    count_active,
    eliminate,
    next_active,
)
from ..policies._view import Empty, View
from ._costs import GaussianCost, Scale, evidence, gain
from ._thresholds import Threshold


class Stopping:
    """Base of all stopping rules."""

    name: ClassVar[str]
    counts_arms: ClassVar[bool] = False
    """Whether it asks which arms are left, so that the rule must eliminate them."""
    ends: ClassVar[str] = ""
    """How the sampling rule must end, `Rule.ends`; "" for any rule."""
    fitting: ClassVar[tuple[str, str]] = ("", "")
    """What a rule must be that does not, and which one to use, for the refusal."""

    @property
    def enough(self) -> Kernel:
        """The kernel."""
        raise NotImplementedError

    def parameters(self, setting: Setting) -> NamedTuple:
        """What the kernel gets as its first argument."""
        return Empty()

    def covers(self, schedule: Schedule, release: Release) -> bool:
        """Whether an answer after such releases is proved wrong with probability at most δ."""
        return False

    def check(self, rule: Rule) -> None:
        """Refuse a sampling rule that does not note what the kernel reads."""
        if self.ends and rule.ends != self.ends:
            must, fix = self.fitting
            raise InvalidArgument("rule", must, str(rule), f"use {fix}")

    def __str__(self) -> str:
        return self.name


class Bar(NamedTuple):
    """The cost, the threshold, and what no threshold is below."""

    cost: Scale
    level: NamedTuple
    least: float


threshold: Callable[[object, float, float, float, int], float] = open_slot("threshold")


def enough_likelihood(
    stopping: Bar, rule: object, memory: object, view: View, best: int, t: int
) -> bool:
    """W_{best,a} >= threshold for all a; the cheap comparison first."""
    weight = float(view.size[best])
    for arm in range(len(view.size)):
        if arm != best:
            gap = view.value[best] - view.value[arm]
            other = float(view.size[arm])
            seen = evidence(gain(stopping.cost, gap), weight, other)
            if seen < stopping.least:
                return False
            if seen < threshold(stopping.level, gap, weight, other, t):
                return False
    return True


@dataclass(frozen=True)
class Likelihood(Stopping):
    """Stop when every other arm is beaten by more than the threshold."""

    cost: GaussianCost
    threshold: Threshold
    name: ClassVar[str] = "likelihood ratio"

    @property
    def enough(self) -> Kernel:
        return Kernel(enough_likelihood, threshold=self.threshold.value)

    def parameters(self, setting: Setting) -> Bar:
        return Bar(
            self.cost.scale(setting), self.threshold.level(setting), self.threshold.least(setting)
        )

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return self.threshold.delta_correct and self.threshold.covers(schedule, release)

    def __str__(self) -> str:
        return f"{self.cost} >= {self.threshold}"


def enough_one_left(
    stopping: object, rule: Confidence, memory: Race, view: View, best: int, t: int
) -> bool:
    """At the end of an epoch: drop the clearly worse arms, and see whether one is left."""
    arms = len(view.size)
    if next_active(memory, memory.next[0], arms) < arms:
        return False
    eliminate(rule, memory, view)
    begin_epoch(rule, memory, arms)
    return bool(count_active(memory, arms) == 1)


@dataclass(frozen=True)
class OneLeft(Stopping):
    """Stop when an eliminating rule has one arm left."""

    counts_arms: ClassVar[bool] = True
    name: ClassVar[str] = "one arm left"
    enough = Kernel(enough_one_left)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return schedule.set_by_rule and release.guarantee(schedule).is_private
