"""LDP-UCB-L and LDP-UCB-B: every user randomises their own reward, UCB runs on the responses.

LDP-UCB-L:  m + sqrt(2 log t/N) + sqrt(32 log t/(ε²N)); an arm with N <= 4 log(t+1) is played first.
LDP-UCB-B:  m + sqrt(2 log t/N) on the random bits.

Local ε-DP: a reward leaves its user once, as r + Lap(1/ε) or as a bit that is 1 with probability
(r e^ε + 1 - r)/(1 + e^ε). Ren, Zhou, Liu & Shroff (2020), Agents 2 and 4, Theorems 4 and 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .._compiled import Function, Kernel
from ._private_kl import Calibrated, Epsilon
from ._view import View

if TYPE_CHECKING:
    from numpy.random import Generator


def choose_ldp_ucb_l(rule: Epsilon, memory: object, view: View, t: int, rng: Generator) -> int:
    """An arm that was played too rarely, else argmax of the widened index."""
    rare = 4.0 * math.log(t + 2.0)
    level = math.log(t + 1.0)
    factor = math.sqrt(2.0 * level) + math.sqrt(32.0 * level) / rule.epsilon
    best, largest = 0, -1e300
    for arm in range(len(view.size)):
        size = view.size[arm]
        if size <= rare:
            return arm
        value = view.value[arm] + factor / math.sqrt(size)
        if value > largest:
            best, largest = arm, value
    return best


@dataclass(frozen=True)
class LDPUCBL(Calibrated):
    """m + sqrt(2 log t/N) + sqrt(32 log t/(ε²N))."""

    name: ClassVar[str] = "UCB index + local width"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_ldp_ucb_l)
    bounds: ClassVar[tuple[float, float] | None] = None
