"""DP-UCB: UCB on the prefix sums of a binary tree.

r/N + sqrt(2 log(2/δ')/N) + sqrt(8) log^1.5 T log(2/δ') / (εN), r the tree sum, δ' = t^-4.

ε-DP: each arm has its own tree over its own rewards; a reward is under h = ceil(log2 T) + 1 nodes
with noise Lap(h/ε). Tossou & Dimitrakakis (2016), as run by Azize (2024), section 5.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..compiled import Function, Kernel
from ..errors import InvalidArgument
from .rules import Rule
from .view import Setting, View


class TreeWidth(NamedTuple):
    """The power of t in δ', and sqrt(8) log^1.5 T / ε."""

    power: float
    noise: float


def choose_dp_ucb(rule: TreeWidth, memory: Any, view: View, t: int, rng: Any) -> int:
    """argmax of the DP-UCB index, the logarithm taken once a round."""
    level = math.log(2.0) + rule.power * math.log(t + 1.0)  # log(2/δ')
    noise = rule.noise * level
    best, largest = 0, -1e300
    for arm in range(len(view.size)):
        size = view.size[arm]
        if size == 0:
            return arm
        value = view.value[arm] + math.sqrt(2.0 * level / size) + noise / size
        if value > largest:
            best, largest = arm, value
    return best


@dataclass(frozen=True)
class DPUCB(Rule):
    """r/N + sqrt(2 log(2/δ')/N) + sqrt(8) log^1.5 T log(2/δ')/(εN), δ' = t^-power."""

    power: float = 4.0
    name: ClassVar[str] = "UCB index + tree width"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_dp_ucb)

    def __post_init__(self) -> None:
        if not 0.0 < self.power < math.inf:
            raise InvalidArgument("power", "be above 0", self.power, "use power=4 as published")

    def parameters(self, setting: Setting) -> TreeWidth:
        horizon = setting.needs_horizon(self.name)
        epsilon = setting.pure_epsilon(self.name)
        return TreeWidth(self.power, math.sqrt(8.0) * math.log(horizon) ** 1.5 / epsilon)
