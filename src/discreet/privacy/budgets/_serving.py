"""The pure budget with which a policy keeps a budget of another kind, exactly.

- μ-Gaussian DP: ε = log(Φ(μ/2)/Φ(-μ/2)), see `formulas.gaussian_pure`.
- (ε, δ): ε'-DP implies it if and only if δ >= (e^ε' - e^ε)/(1 + e^ε'), which is the δ of randomised
  response: e^ε' = (e^ε + δ)/(1 - δ). Laplace noise alone would allow ε' = ε - 2 log(1 - δ), 2δ more
  instead of (1 + e^-ε)δ; other noises would not.
- ρ-zCDP: ε tanh(ε/2) = ρ, see `Pure.to_zcdp`.
- (α, ε')-Rényi DP: the divergence of randomised response at α is ε'.

Each is the largest ε there is: randomised response with a larger one breaks the budget.
"""

from __future__ import annotations

import math

from ...errors import UnsupportedBudget
from .. import _curves as curves
from ._formulas import gaussian_pure
from ._gaussian import GaussianDP
from ._kinds import ZCDP, Approximate, Budget, Pure, Renyi


def equivalent_pure(budget: Budget) -> Pure:
    """The largest ε that keeps a budget; rounding never makes it larger.

    >>> round(equivalent_pure(GaussianDP(1.0)).epsilon, 3)
    0.807

    Args:
        budget: The budget to keep.

    Returns:
        The pure budget.

    Raises:
        InvalidArgument: If an argument breaks its rule.
    """
    if isinstance(budget, Pure):
        return budget
    if not budget.is_finite:
        return Pure(math.inf)
    if budget.is_perfect:
        return Pure(0.0)
    if isinstance(budget, GaussianDP):
        return Pure(gaussian_pure(budget.mu))
    if isinstance(budget, Approximate):
        # log(e^ε + δ) = ε + log(1 + δ e^-ε)
        gained = math.log1p(budget.delta * math.exp(-budget.epsilon)) - math.log1p(-budget.delta)
        return _rounded_down(budget.epsilon + gained, budget)
    if not isinstance(budget, ZCDP | Renyi):
        raise UnsupportedBudget(
            "budget", "be a budget that pure ones are compared with", budget, "see Budget"
        )
    # ε tanh(ε/2) <= D_α <= min(ε, αε²/2), and ε tanh(ε/2) >= ε - 2 and >= ε²/(ε + 2)
    order, most = (1.0, budget.rho) if isinstance(budget, ZCDP) else (budget.alpha, budget.epsilon)
    least = math.sqrt(2.0 * most / order)
    if isinstance(budget, Renyi):
        least = max(least, most)
    high = most + math.sqrt(2.0 * most) + 2.0
    fits = curves.largest(lambda e: Pure(e).implies(budget), least * (1.0 - 1e-9), high)
    return _rounded_down(fits, budget)


def _rounded_down(epsilon: float, budget: Budget) -> Pure:
    """The next ε below that is proved to keep the budget: what is computed may be an ulp above."""
    step = math.ulp(epsilon)
    while epsilon > 0.0 and not Pure(epsilon).implies(budget):
        epsilon, step = max(0.0, epsilon - step), 2.0 * step
    return Pure(epsilon)
