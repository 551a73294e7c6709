"""Recommendation rules: the arm that would be named if the trial stopped now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .._compiled import Floats, Function, Integers
from ..policies._elimination import Race
from ..policies._view import View


class Recommendation:
    """Base of all; `recommend(memory, view)` sees releases, counts and the rule's notes."""

    name: ClassVar[str]
    counts_arms: ClassVar[bool] = False
    """Whether it asks which arms are left, so that the rule must eliminate them."""
    recommend: ClassVar[Function]

    def __str__(self) -> str:
        return self.name


def first_largest(values: Floats | Integers) -> int:
    """argmax, the first of equals."""
    best = 0
    for arm in range(1, len(values)):
        if values[arm] > values[best]:
            best = arm
    return best


def recommend_best(memory: object, view: View) -> int:
    """argmax of the released means."""
    return first_largest(view.value)


@dataclass(frozen=True)
class BestMean(Recommendation):
    """The arm with the highest released mean."""

    name: ClassVar[str] = "best mean"
    recommend: ClassVar[Function] = staticmethod(recommend_best)


def recommend_most_pulled(memory: object, view: View) -> int:
    """argmax of the pulls."""
    return first_largest(view.pulls)


@dataclass(frozen=True)
class MostPulled(Recommendation):
    """The arm that was played most."""

    name: ClassVar[str] = "most pulled"
    recommend: ClassVar[Function] = staticmethod(recommend_most_pulled)


def recommend_active(memory: Race, view: View) -> int:
    """argmax of the released means of the arms that are still in."""
    best = -1
    for arm in range(len(view.value)):
        if memory.active[arm] == 1 and (best < 0 or view.value[arm] > view.value[best]):
            best = arm
    return best


@dataclass(frozen=True)
class BestActive(Recommendation):
    """Of the arms that an eliminating rule has left, the one with the highest released mean."""

    name: ClassVar[str] = "best of the active"
    counts_arms: ClassVar[bool] = True
    recommend: ClassVar[Function] = staticmethod(recommend_active)
