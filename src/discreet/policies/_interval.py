"""How often DP-UCB-INT releases: the interval f that keeps a budget.

The k-th release of an arm costs (kf)^(-v/2), all of them ρ = f^-v ζ(v)/2 of zCDP: the smallest f
that keeps ρ is ceil((ζ(v)/(2ρ))^(1/v)). As printed f = ceil(1/ε), which does not keep (ε, δ): the
guarantee then says what it does keep. Tossou & Dimitrakakis (2016), Algorithm 3.
"""

from __future__ import annotations

import math

from .._checks import one_of
from ..errors import InvalidArgument
from ..privacy.budgets import ZCDP, Approximate, Budget
from .releases._remembering import shrinking_rho, zeta


def release_interval(budget: Budget, power: float, calibration: str) -> int:
    """f for a budget."""
    if isinstance(budget, Approximate) and budget.epsilon == 0.0:
        raise InvalidArgument(
            "epsilon", "be above 0 for dp-ucb-int, which would never release", 0.0,
            "use dp-ftpl-new or gdp-elim-new, which take epsilon=0",
        )  # fmt: skip
    if one_of("calibration", calibration, "exact", "paper") == "paper":
        if not isinstance(budget, Approximate):
            raise InvalidArgument(
                "calibration", "be 'exact' for a zCDP budget", calibration,
                "the paper's f = ceil(1/ε) needs epsilon and delta",
            )  # fmt: skip
        return math.ceil(1.0 / budget.epsilon)
    rho = budget.rho if isinstance(budget, ZCDP) else largest_rho(budget)
    every = max(1, math.ceil(math.pow(zeta(power) / (2.0 * rho), 1.0 / power)))
    while shrinking_rho(power, every) > rho:  # rounding
        every += 1
    return every


def largest_rho(budget: Budget) -> float:
    """The largest ρ whose tight conversion keeps (ε, δ)."""
    if not isinstance(budget, Approximate) or budget.delta == 0.0:
        raise InvalidArgument(
            "budget", "be zCDP or approximate with delta above 0 for dp-ucb-int", budget,
            "give rho, or epsilon and delta",
        )  # fmt: skip
    low, high = 0.0, max(1.0, budget.epsilon)
    for _ in range(100):
        middle = 0.5 * (low + high)
        if ZCDP(middle).to_approximate(budget.delta).epsilon <= budget.epsilon:
            low = middle
        else:
            high = middle
    return low
