"""AdaC-UCB: doubling and forgetting with Gaussian noise, for concentrated budgets.

m + sqrt((1/(2n) + 2b/n²) L), L = α log t, where m is the released mean of a batch of n, with
noise N(0, b/n²): b = 1/(2ρ) for ρ-zCDP, α/(2ε) for (α,ε)-Rényi DP, the exact Gaussian calibration
for (ε,δ)-DP (or (2/ε²) log(1.25/δ) with calibration="paper").

Every reward is in one batch, a batch is released once. Azize (2024), Theorems 5.5 and 5.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ._exploration import Exploring
from ._ranks import ranked_indices
from ._rules import choose_largest
from ._view import Setting, View


class Spread(NamedTuple):
    """α and the variance b of the noise on a sum."""

    alpha: float
    variance: float


def adac_ucb_index(rule: Spread, view: View, arm: int, t: int) -> float:
    """m + sqrt((1/(2n) + 2b/n²) L)."""
    L, size = rule.alpha * math.log(t + 1.0), view.size[arm]
    square = (0.5 + 2.0 * rule.variance / size) / size
    return float(view.value[arm] + math.sqrt(square * L))


@dataclass(frozen=True)
class AdaCUCB(Exploring):
    """m + sqrt((1/(2n) + 2b/n²) L), L = α log t."""

    name: ClassVar[str] = "UCB index + Gaussian width"
    choose: ClassVar[Function | Kernel] = Kernel(choose_largest, index=adac_ucb_index)
    ranked: ClassVar[Kernel | None] = ranked_indices(adac_ucb_index)

    def parameters(self, setting: Setting) -> Spread:
        release = setting.release
        noise = release.batch_noise
        if noise is None or release.noise != "gaussian":
            raise InvalidArgument(
                "release", f"add Gaussian noise for the rule {self.name!r}", release.name,
                "compose it with ForgetGaussian",
            )  # fmt: skip
        return Spread(self.alpha, noise.variance)
