"""Schedules: how long the chosen arm is played before the next release.

A schedule cuts an arm's rounds into batches that never overlap, which is what parallel
composition rests on. Its kernel `length(schedule, memory, view, arm)` is asked right after the
arm was chosen and sees counts only.

>>> from discreet.policies import Doubling
>>> Doubling().releases(horizon=1000)
11
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..compiled import Function
from ..errors import InvalidArgument
from .view import Empty, Setting, View

UNTIL_THE_END = 1 << 62
"""A batch length that every horizon cuts off."""


STEEPEST = 1000.0
"""The largest growth: after 1e15 rounds the next batch must still be a 64-bit whole number."""


class Schedule:
    """Base of all schedules."""

    name: ClassVar[str]
    length: ClassVar[Function]

    def parameters(self, setting: Setting) -> NamedTuple:
        """What the kernel gets as its first argument."""
        return Empty()

    def releases(self, horizon: int) -> int:
        """The most releases that one arm can see within the horizon."""
        return horizon

    def __str__(self) -> str:
        return self.name


def one_round(schedule: Any, memory: Any, view: View, arm: int) -> int:
    """n = 1."""
    return 1


@dataclass(frozen=True)
class EachRound(Schedule):
    """A release after every round."""

    name: ClassVar[str] = "each round"
    length: ClassVar[Function] = staticmethod(one_round)


class Growth(NamedTuple):
    """Parameters of growing batches."""

    first: int
    ratio: float


def growing(schedule: Growth, memory: Any, view: View, arm: int) -> int:
    """n = first, then ceil((r - 1) N): an arm's pulls N grow by the factor r with every batch."""
    pulls = view.pulls[arm]
    if pulls == 0:
        return schedule.first
    following: int = math.ceil((schedule.ratio - 1.0) * pulls)
    return following


@dataclass(frozen=True)
class Geometric(Schedule):
    """Batches that multiply an arm's pulls by `ratio`, after a first one of `first` rounds.

    A long first batch is cut down to a `1 / (10 K)` share of the horizon, so that trying every
    arm once takes at most a tenth of a short experiment.
    """

    ratio: float = 2.0
    first: int = 1
    name: ClassVar[str] = "geometric"
    length: ClassVar[Function] = staticmethod(growing)

    def __post_init__(self) -> None:
        if not 1.0 < self.ratio <= STEEPEST:
            rule = f"be a number above 1 and at most {STEEPEST:g}"
            raise InvalidArgument("ratio", rule, self.ratio, "use for example ratio=2.0")
        if not isinstance(self.first, int) or self.first < 1:
            raise InvalidArgument("first", "be a whole number from 1", self.first, "use first=1")

    def parameters(self, setting: Setting) -> Growth:
        cap = self.first if setting.horizon is None else setting.horizon // (10 * setting.arms)
        return Growth(max(1, min(self.first, cap)), float(self.ratio))

    def releases(self, horizon: int) -> int:
        # from 1 and not from `first`, which `parameters` may cut down: a smaller first batch leaves
        # room for more releases, and what pays for them must not count too few
        pulls, releases = 1, 1
        while pulls < horizon:
            pulls += math.ceil((self.ratio - 1.0) * pulls)
            releases += 1
        return releases


@dataclass(frozen=True)
class Doubling(Geometric):
    """Play each arm once, then as often as it was ever played: its pulls double."""

    name: ClassVar[str] = "doubling"

    def __init__(self) -> None:
        super().__init__(ratio=2.0, first=1)


class Interval(NamedTuple):
    """Rounds between two releases."""

    every: int


def every_so_often(schedule: Interval, memory: Any, view: View, arm: int) -> int:
    """n = f."""
    return schedule.every


@dataclass(frozen=True)
class Regular(Schedule):
    """A release after every f rounds of an arm."""

    every: int
    name: ClassVar[str] = "every f rounds"
    length: ClassVar[Function] = staticmethod(every_so_often)

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InvalidArgument("every", "be at least 1", self.every, "use every=1")

    def parameters(self, setting: Setting) -> Interval:
        return Interval(self.every)

    def releases(self, horizon: int) -> int:
        return -(-horizon // self.every)


def as_the_rule_says(schedule: Any, memory: Any, view: View, arm: int) -> int:
    """n = the phase length that the rule wrote down."""
    return int(memory.length[0])


@dataclass(frozen=True)
class Phases(Schedule):
    """Phases whose length an eliminating rule sets from public quantities."""

    name: ClassVar[str] = "phases"
    length: ClassVar[Function] = staticmethod(as_the_rule_says)
