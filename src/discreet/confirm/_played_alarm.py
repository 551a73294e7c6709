"""A safety alarm as a policy that a live trial of one arm plays.

Each watched participant takes the next place of the one arm. Blocks end at the looks of the alarm.
Their sums are released once, with the noise that its thresholds are calibrated on. The trial ends
at the look at which the sum reaches a threshold, or at the last one. It recommends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..identify._halving import HalvingRounds
from ..identify._setting import RiskSetting
from ..policies import Rule, Setting
from ..policies._policy import check_size
from ..policies._view import View, counts
from ..policies.releases._whole import whole_sums
from ..privacy._source import SIMULATED, Source
from ._alarm import Alarm
from ._played import MISSING, Crossed, ShownBetter, Tested, check_private, recipe_of

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Integers


class Thresholds(NamedTuple):
    """Places of every look since the last one, and the sum that sets the alarm off."""

    length: Any
    threshold: Any


class Counted(NamedTuple):
    """What the looks so far have shown; `active` is 0 once the alarm has gone off."""

    active: Integers
    epoch: Integers
    next: Integers
    length: Integers
    sums: Any
    winner: Integers


def choose_watched(rule: Thresholds, memory: Counted, view: View, t: int, rng: Generator) -> int:
    """The only arm."""
    memory.length[0] = rule.length[min(memory.epoch[0], len(rule.length) - 1)]
    return 0


def enough_watched(
    stopping: object, rule: Thresholds, memory: Counted, view: View, best: int, t: int
) -> bool:
    """At a look: note the sum; if all of them reach the threshold the arm is left, and the trial
    ends. There is no answer to recommend."""
    look = memory.epoch[0]
    if look >= len(rule.length) or memory.active[0] == 0:
        return False
    # whole by itself: the division is undone
    memory.sums[look] = float(math.floor(view.value[0] * view.size[0] + 0.5))
    memory.epoch[0] += 1
    memory.next[0] = 0
    total = 0.0
    for number in range(look + 1):
        total += memory.sums[number]
    if total >= rule.threshold[look]:
        memory.active[0] = 0
    return False


@dataclass(frozen=True)
class Watch(Rule):
    """One arm, to the looks of an alarm."""

    design: Alarm
    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    ends: ClassVar[str] = "boundary"
    name: ClassVar[str] = "alarm"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_watched)

    @property
    def participants(self) -> int:
        """At most."""
        return self.design.participants

    def parameters(self, setting: Setting) -> Thresholds:
        import numpy as np

        sizes = self.design.sizes
        lengths = [after - before for before, after in zip((0, *sizes), sizes, strict=False)]
        columns: list[Any] = [lengths, list(self.design.thresholds)]
        if not setting.source.secure:
            columns = [np.array(column) for column in columns]
        return Thresholds(*columns)

    def memory(self, setting: Setting) -> Counted:
        import numpy as np

        return Counted(
            np.ones(1, np.int64), counts(), counts(), counts(),
            np.full(len(self.design.sizes), MISSING), np.full(1, -1, np.int64),
        )  # fmt: skip

    def __str__(self) -> str:
        return str(self.design)


@dataclass(frozen=True)
class Reached(Crossed):
    """Stop where a threshold is reached."""

    enough = Kernel(enough_watched)


@dataclass(frozen=True, kw_only=True)
class Watching(Tested):
    """An alarm as a trial plays it."""

    fewest: ClassVar[int] = 1

    def setting(
        self, arms: int, horizon: int | None = None, source: Source = SIMULATED
    ) -> RiskSetting:
        arms = check_size(arms, horizon, self.fewest)
        setting = RiskSetting(arms, horizon, source, self.schedule, self.release, math.nan)
        for part in (self.schedule, self.release, self.rule, self.stopping):
            part.parameters(setting)
        return setting


def played_alarm(alarm: Alarm) -> Watching:
    """The policy of an alarm."""
    check_private(alarm.budget)
    return Watching(
        "alarm", HalvingRounds(), whole_sums(alarm.budget), Watch(alarm),
        recipe={**recipe_of(0), "alarm": alarm.to_dict()}, stopping=Reached(),
        recommendation=ShownBetter(),
    )  # fmt: skip


def played_alarm_from(recipe: Mapping[str, Any]) -> Watching:
    """The policy that a stored recipe names."""
    return played_alarm(Alarm.from_dict(recipe["alarm"]))
