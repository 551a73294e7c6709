"""Schedules: when the next estimate is released. They see actions and determinants, no rewards.

The kernel `follow(schedule, view, actions, start, dimension)` is told the action that was played
and says whether a release is due.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..compiled import Function
from ..policies.view import Empty
from .checks import positive
from .view import View, add_action


class Schedule:
    """Base of all schedules."""

    name: ClassVar[str]
    follow: ClassVar[Function]

    def parameters(self) -> NamedTuple:
        """What the kernel gets as its first argument."""
        return Empty()

    def __str__(self) -> str:
        return self.name


def follow_each(schedule: Any, view: View, actions: Any, start: int, dimension: int) -> bool:
    """Always due; the design matrix is public."""
    add_action(view, actions, start, dimension)
    return True


@dataclass(frozen=True)
class EachRound(Schedule):
    """A release after every round."""

    name: ClassVar[str] = "each round"
    follow: ClassVar[Function] = staticmethod(follow_each)


def follow_nothing(schedule: Any, view: View, actions: Any, start: int, dimension: int) -> bool:
    """Always due; the design matrix is private and not the policy's to keep."""
    return True


@dataclass(frozen=True)
class EachRoundPrivately(Schedule):
    """A release after every round, by a curator who keeps the design matrix as well."""

    name: ClassVar[str] = "each round"
    follow: ClassVar[Function] = staticmethod(follow_nothing)


class Threshold(NamedTuple):
    """log(1 + C)."""

    log_growth: float


def follow_determinant(
    schedule: Threshold, view: View, actions: Any, start: int, dimension: int
) -> bool:
    """Due when det V > (1 + C) det V_τ."""
    add_action(view, actions, start, dimension)
    due: bool = view.log_now[0] > view.log_used[0] + schedule.log_growth
    return due


@dataclass(frozen=True)
class Determinant(Schedule):
    """A release whenever det V has grown by the factor 1 + C (rarely switching)."""

    growth: float = 1.0
    name: ClassVar[str] = "determinant grown"
    follow: ClassVar[Function] = staticmethod(follow_determinant)

    def __post_init__(self) -> None:
        positive("growth", self.growth, "use for example growth=1.0")

    def parameters(self) -> Threshold:
        return Threshold(math.log1p(self.growth))


@dataclass(frozen=True)
class Phases(Schedule):
    """A release at the end of a phase whose plays were fixed beforehand; fixed actions only."""

    name: ClassVar[str] = "phases"
    follow: ClassVar[Function] = staticmethod(follow_nothing)
