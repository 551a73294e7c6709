"""Privacy budgets: what they mean, which implies which, how they add up.

    Budget
    ├── Pure(epsilon)                  ε-DP
    ├── Approximate(epsilon, delta)    (ε, δ)-DP
    ├── ZCDP(rho)                      ρ-zero-concentrated DP
    ├── Renyi(alpha, epsilon)          (α, ε)-Rényi DP
    └── GaussianDP(mu)                 μ-Gaussian DP

`a <= b` means "a is at least as strong as b", that is a.implies(b): whatever satisfies a is proved
to satisfy b. This is a partial order up to equivalence (Pure(1) and Approximate(1, 0) imply each
other), not a total one: both `a <= b` and `b <= a` can be False. An infinite parameter means no
privacy; zero means perfect privacy.

References: Dwork & Roth 2014; Bun & Steinke 2016; Mironov 2017; Kairouz, Oh & Viswanath 2015;
Canonne, Kamath & Steinke 2020; Dong, Roth & Su 2022.
"""

from ._composition import compose, parallel
from ._gaussian import GaussianDP
from ._kinds import ZCDP, Approximate, Budget, Pure, Renyi
from ._requests import budget_from, budget_from_dict
from ._serving import equivalent_pure

__all__ = [
    "ZCDP",
    "Approximate",
    "Budget",
    "GaussianDP",
    "Pure",
    "Renyi",
    "budget_from",
    "budget_from_dict",
    "compose",
    "equivalent_pure",
    "parallel",
]
