"""Thompson sampling: argmax of a draw from Beta(R+1, N-R+1) of every arm, R its sum of rewards.

No noise on the rewards, no privacy. Thompson (1933); Agrawal & Goyal (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..compiled import Function, Kernel
from .rules import Rule, choose_sampled, clip01
from .view import View


def beta_sample(rule: Any, view: View, arm: int, t: int, rng: Any) -> float:
    """Beta(R+1, N-R+1)."""
    size = view.size[arm]
    reward = clip01(view.value[arm]) * size
    return float(rng.beta(reward + 1.0, size - reward + 1.0))


@dataclass(frozen=True)
class Thompson(Rule):
    """A sample of Beta(R+1, N-R+1)."""

    name: ClassVar[str] = "Beta sample"
    choose: ClassVar[Function | Kernel] = Kernel(choose_sampled, sample=beta_sample)
