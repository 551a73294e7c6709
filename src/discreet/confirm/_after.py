"""Estimates, intervals and p-values after a trial has stopped, by the normal law.

With D = S₁/n₁ - S₀/n₀, unpooled se_j² = Σ_a m̃_a(1-m̃_a)/n_a + jv/n_a² at look j (m̃_a: the last
look's rate, shrunk by κ) and z = D/se at look l, order outcomes by stage (Jennison & Turnbull 2000
[JT], ch. 8):

    P(δ) = P_δ(cross above before look l, or be at z or beyond at look l)

P grows in δ. P = α, ½, 1-α (α the risk of one side) give interval and median-unbiased estimate, and
p = P(0) for one side, 2 min(P(0), 1-P(0)) for two. The repeated interval D ± c·b_l·se [JT ch. 9]
holds at all looks at once, also where the rule was overruled. Futility is not binding, so it does
not enter. Unlike the decision, these rest on the normal distribution.

The score √V Z is a random walk, so its clock is V_j = (w_j se_j)², w = n₁n₀/(n₁+n₀): with equal
looks it runs like n, else noise makes it run ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq

from ._lattice import Rule, Sizes
from ._noises import Noise
from ._normal import crossing

if TYPE_CHECKING:
    from .._types import Floats

REACH = 20.0
"""Limits are looked for within so many standard errors."""


@dataclass(frozen=True)
class Estimate:
    """The difference treatment - control, median-unbiased, with its stage-wise interval.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.design(200, looks=2, epsilon=1.0)
        >>> found = plan.verdict([(33, 14), (30, 18)]).estimate
        >>> round(found.difference, 3), round(found.p_value, 5)
        (0.38, 0.00016)
    """

    difference: float
    interval: tuple[float, float]
    p_value: float


def standard_errors(
    sizes: Sizes, noise: Noise, treatment: float, control: float, look: int
) -> Floats:
    """se of D at looks 1, ..., look, from the sums at the last of them."""
    shrink = max(noise.shrinkage, 1.0)  # without noise too no arm is taken to be sure
    n1, n0 = sizes[look - 1]
    spreads = []
    for total, n in ((treatment, n1), (control, n0)):
        rate = min(max((total + 0.5 * shrink) / (n + shrink), 0.0), 1.0)
        spreads.append(rate * (1.0 - rate))
    size = np.array(sizes[:look], float)
    known = np.arange(1, look + 1) * noise.variance
    return np.asarray(np.sqrt((np.array(spreads) / size + known[:, None] / size**2).sum(1)))


@dataclass(frozen=True)
class Stop:
    """A stop at look len(se), with difference D."""

    sizes: Sizes
    rule: Rule
    se: Floats
    difference: float

    def beyond(self, effect: float) -> float:
        """P(δ): what lies at least as far above, if the effect is δ."""
        look = len(self.se)
        size = np.array(self.sizes[:look], float)
        clock = (size.prod(1) / size.sum(1) * self.se) ** 2
        lower = [*self.rule.lower[: look - 1], -math.inf]
        upper = [*self.rule.upper[: look - 1], self.difference / float(self.se[-1])]
        above, _ = crossing(lower, upper, clock.tolist(), (effect / self.se).tolist())
        return float(above.sum())

    def effect(self, level: float) -> float:
        """The δ with P(δ) = level, within [-1, 1]."""
        reach = REACH * float(self.se[-1])
        low, high = self.difference - reach, self.difference + reach
        if self.beyond(low) >= level:
            return -1.0
        if self.beyond(high) <= level:
            return 1.0
        found = brentq(lambda effect: self.beyond(effect) - level, low, high, xtol=1e-9)
        return float(np.clip(found, -1.0, 1.0))


def stagewise(stop: Stop, risk: float) -> Estimate:
    """Estimate, interval and p-value; `risk` is that of one side."""
    tail = stop.beyond(0.0)
    if math.isfinite(stop.rule.lower[0]):
        tail = 2.0 * min(tail, 1.0 - tail)
    interval = stop.effect(risk), stop.effect(1.0 - risk)
    return Estimate(stop.effect(0.5), interval, min(max(tail, 0.0), 1.0))
