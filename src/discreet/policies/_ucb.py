"""UCB1 and asymptotic UCB: the non-private twins of the optimistic policies.

UCB1:        mean + sqrt(2 log t / N).
Asymptotic:  mean + sqrt(2 σ² log f(t) / N), f(t) = 1 + t log² t, σ = 1/2 on [0, 1].

No noise, no privacy. Auer, Cesa-Bianchi & Fischer (2002); Lattimore & Szepesvári (2020), ch. 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import positive
from .._compiled import Function, Kernel
from ._ceilings import under_ceilings
from ._rules import Rule, choose_highest
from ._view import Setting, View

if TYPE_CHECKING:
    from numpy.random import Generator


class Width(NamedTuple):
    """The factor c of a confidence width sqrt(c L / N)."""

    factor: float


def choose_ucb1(rule: Width, memory: object, view: View, t: int, rng: Generator) -> int:
    """argmax of mean + sqrt(c log t / N), the logarithm taken once a round."""
    level = rule.factor * math.log(t + 1.0)
    best, largest = 0, -1e300
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
        value = view.value[arm] + math.sqrt(level / view.size[arm])
        if value > largest:
            best, largest = arm, value
    return best


def ucb1_level(rule: Width, t: int) -> float:
    """c log t."""
    return rule.factor * math.log(t + 1.0)


def ucb_bound(rule: object, view: View, arm: int, level: float) -> float:
    """mean + sqrt(level / N)."""
    return view.value[arm] + math.sqrt(level / view.size[arm])


@dataclass(frozen=True)
class UCB1(Rule):
    """mean + sqrt(2 log t / N)."""

    name: ClassVar[str] = "UCB1 index"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_ucb1)
    noted: ClassVar[Kernel | None] = under_ceilings(ucb1_level, ucb_bound)
    bounds: ClassVar[tuple[float, float] | None] = None

    def parameters(self, setting: Setting) -> Width:
        return Width(2.0)


def log_f(t: int) -> float:
    """log f(t + 1), f(t) = 1 + t log² t."""
    return math.log(1.0 + (t + 1.0) * math.log(t + 1.0) ** 2)


def asymptotic_level(rule: Width, t: int) -> float:
    """2 σ² log f(t)."""
    return rule.factor * log_f(t)


@dataclass(frozen=True)
class AsymptoticUCB(Rule):
    """mean + sqrt(2 σ² log f(t) / N)."""

    sigma: float = 0.5
    name: ClassVar[str] = "UCB index"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_highest, level=asymptotic_level, bound=ucb_bound
    )
    noted: ClassVar[Kernel | None] = under_ceilings(asymptotic_level, ucb_bound)
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        positive("sigma", self.sigma, "use sigma=0.5 on [0, 1]")

    def parameters(self, setting: Setting) -> Width:
        return Width(2.0 * self.sigma**2)
