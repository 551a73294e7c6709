"""Schedules: when the next estimate is released. They see actions and determinants, no rewards.

The kernel `follow(schedule, view, actions, start, dimension)` is told the action that was played
and says whether a release is due. Where the same action would be played until then, some schedules
know how often in advance: `length(schedule, view, actions, start, dimension)`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._checks import positive
from .._compiled import Floats, Function
from ..policies._parts import SchedulePart
from ._algebra import grow, squared_norm
from ._view import LinearSetting, LinearView

TIE = 1e-9
"""A determinant has grown by 1 + C if it has by (1 + C)(1 + TIE). With actions of simple lengths
the two sides are often equal, and then it must not be rounding that decides when to release."""
ENDLESS = 1 << 62
"""The length of an episode that no horizon outlasts."""


class LinearSchedule(SchedulePart[LinearSetting]):
    """Base of all schedules of linear policies."""

    private_contexts: ClassVar[bool] = False
    """Whether it leaves the actions to the curator; others keep their design matrix, in public."""
    every_round: ClassVar[bool] = False
    """Whether a release is due after everyone."""
    phased: ClassVar[bool] = False
    """Whether phases of fixed actions are planned, so that no round is looked at by itself."""
    known_ends: ClassVar[bool] = False
    """Whether batches end at rounds that are known in advance."""


class RoundSchedule(LinearSchedule):
    """Base of those that look at every action played."""

    follow: ClassVar[Function]
    length: ClassVar[Function | None] = None
    """How often one action is played until a release is due; None where no one knows."""


def follow_each(
    schedule: object, view: LinearView, actions: Floats, start: int, dimension: int
) -> bool:
    """Always due; the design matrix is public."""
    matrix, running, along = view.matrix, view.running, view.along
    log_now, updates = view.log_now, view.updates
    log_now[0] += math.log(grow(matrix, running, along, actions, start, 1.0, dimension))
    updates[0] += 1
    return True


@dataclass(frozen=True)
class EachRoundPublicly(RoundSchedule):
    """A release after every round; the policy keeps the design matrix, in public."""

    name: ClassVar[str] = "each round"
    every_round: ClassVar[bool] = True
    follow: ClassVar[Function] = staticmethod(follow_each)


def follow_nothing(
    schedule: object, view: LinearView, actions: Floats, start: int, dimension: int
) -> bool:
    """Always due; the design matrix is private and not the policy's to keep."""
    return True


@dataclass(frozen=True)
class EachRoundPrivately(RoundSchedule):
    """A release after every round, by a curator who keeps the design matrix as well."""

    name: ClassVar[str] = "each round"
    private_contexts: ClassVar[bool] = True
    every_round: ClassVar[bool] = True
    follow: ClassVar[Function] = staticmethod(follow_nothing)


class Threshold(NamedTuple):
    """C, and log(1 + C), either with the allowance for ties."""

    growth: float
    log_growth: float


def follow_determinant(
    schedule: Threshold, view: LinearView, actions: Floats, start: int, dimension: int
) -> bool:
    """Due when det V > (1 + C) det V_τ."""
    # arrays are taken out of the view once: handing on all of it costs more than the update
    matrix, running, along = view.matrix, view.running, view.along
    log_now, log_used, updates = view.log_now, view.log_used, view.updates
    log_now[0] += math.log(grow(matrix, running, along, actions, start, 1.0, dimension))
    updates[0] += 1
    due: bool = log_now[0] > log_used[0] + schedule.log_growth
    return due


def length_determinant(
    schedule: Threshold, view: LinearView, actions: Floats, start: int, dimension: int
) -> int:
    """The least n with det(V_τ + n a a') = det V_τ (1 + n a'V_τ^-1 a) > (1 + C) det V_τ."""
    gain = squared_norm(actions, start, view.inverse, dimension)
    if not gain * ENDLESS > schedule.growth:
        return ENDLESS
    return int(schedule.growth / gain) + 1


@dataclass(frozen=True)
class Determinant(RoundSchedule):
    """A release whenever det V has grown by more than the factor 1 + C (rarely switching)."""

    growth: float = 1.0
    name: ClassVar[str] = "determinant grown"
    follow: ClassVar[Function] = staticmethod(follow_determinant)
    length: ClassVar[Function | None] = staticmethod(length_determinant)

    def __post_init__(self) -> None:
        positive("growth", self.growth, "use for example growth=1.0")

    def parameters(self, setting: LinearSetting) -> Threshold:
        growth = self.growth + (1.0 + self.growth) * TIE
        return Threshold(growth, math.log1p(growth))


@dataclass(frozen=True)
class DesignPhases(LinearSchedule):
    """A release at the end of a phase whose plays were fixed in advance; fixed actions only."""

    phased: ClassVar[bool] = True
    name: ClassVar[str] = "phases"
