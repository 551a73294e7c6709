"""IMED: argmin over arms of N kl(mean, best mean) + log N. No noise, no privacy.

Honda & Takemura (2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from .._compiled import Function, Kernel
from ._divergences import kl
from ._ranks import ranked_scores
from ._rules import Rule, choose_smallest, clip01, largest_value
from ._view import View


def best_mean(rule: object, view: View, t: int) -> float:
    """The largest mean, in [0, 1]."""
    return clip01(largest_value(view))


def imed_score(rule: object, view: View, arm: int, t: int, best: float) -> float:
    """N kl(mean, best) + log N."""
    mean, size = clip01(view.value[arm]), view.size[arm]
    cost = size * kl(mean, best) if mean < best else 0.0
    return float(cost + math.log(size))


@dataclass(frozen=True)
class IMED(Rule):
    """argmin N kl(mean, best mean) + log N."""

    name: ClassVar[str] = "IMED index"
    still: ClassVar[bool] = True
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_smallest, prepare=best_mean, score=imed_score
    )
    ranked: ClassVar[Kernel | None] = ranked_scores(imed_score, clip01)
