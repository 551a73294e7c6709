"""The pure budget with which a row keeps a budget of another kind, exactly.

- μ-Gaussian DP: ε-DP implies it if and only if μ >= 2 Φ^-1(e^ε/(1 + e^ε)). The trade-off curve of
  ε-DP consists of two chords, which meet at the point (1/(1+e^ε), 1/(1+e^ε)) on the diagonal; G_μ
  is convex and ends where they end, so it lies below them as soon as it does at that point, where
  it is Φ(-μ/2).
- (ε, δ): ε'-DP implies it if and only if δ >= (e^ε' - e^ε)/(1 + e^ε'), which is the δ of randomised
  response: e^ε' = (e^ε + δ)/(1 - δ).
- ρ-zCDP: ε-DP implies ε²/2-zCDP (Bun & Steinke 2016): ε = sqrt(2ρ), exact up to O(ε⁴).
"""

from __future__ import annotations

import math

from ...errors import UnsupportedBudget
from .gaussian import GaussianDP
from .kinds import ZCDP, Approximate, Budget, Pure


def equivalent_pure(budget: Budget) -> Pure:
    """The largest ε that keeps a budget.

    >>> round(equivalent_pure(GaussianDP(1.0)).epsilon, 3)
    0.807
    """
    if isinstance(budget, Pure):
        return budget
    if isinstance(budget, GaussianDP):
        # log(Φ(μ/2)/Φ(-μ/2)), each tail by the complementary error function
        tail = 0.5 * math.erfc(budget.mu / (2.0 * math.sqrt(2.0)))
        if tail == 0.0:
            return Pure(math.inf)
        return Pure(math.log1p(-tail) - math.log(tail))
    if isinstance(budget, Approximate):
        if budget.delta >= 1.0:
            return Pure(math.inf)
        # log(e^ε + δ) = ε + log(1 + δ e^-ε)
        gained = math.log1p(budget.delta * math.exp(-budget.epsilon)) - math.log1p(-budget.delta)
        return Pure(budget.epsilon + gained)
    if isinstance(budget, ZCDP):
        return Pure(math.sqrt(2.0 * budget.rho))
    raise UnsupportedBudget(
        "budget", "be pure, approximate, zCDP or Gaussian", budget, "give mu, rho, or epsilon"
    )
