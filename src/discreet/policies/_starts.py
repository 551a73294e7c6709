"""Start phases of perturbed leaders: pulls N of every arm before its draws keep (ε, δ).

Gauss. N(R/N, 2/N) with R moved by 1 is 1/sqrt(2N)-Gaussian DP, exactly, and that only shrinks as N
grows: the smallest N on the exact curve is sound for every later one.

Beta. The distribution of an arm is Q = Beta(a, b), a = R+1+k, b = N-R+1+k, k = floor(N/8)+1, and
one reward more makes it P = Beta(a+1, b-1) (or the other way round, by the symmetry x -> 1-x).
- dP/dQ = ((b-1)/a) x/(1-x) grows with x, so for one N and R the exact δ at ε is
  P(X > x*) - e^ε Q(X > x*), x*/(1-x*) = e^ε a/(b-1).
- For every integer α >= 2, E_Q[(dP/dQ)^α] = Π_{i<α} (1 + i/a) / Π_{i<α} (1 - i/(b-1)), hence
  D_α(P||Q) <= (α/2)(1/a + 1/(b-α)): use log(1+x) <= x above and -log(1-x) <= x/(1-x) below, with
  b-1-i >= b-α. Over R this is largest at an end (it is convex in R with a+b fixed), where
  {a, b} = {k+1, N+1+k}, up to the move of the one reward; both ends grow with N, so a bound at N
  holds for every larger N.
The proved phase is the smallest N whose Rényi bound, converted, is at most δ. Below it, N counts as
sound only if the exact δ was checked for every R; the start is the smallest N from which on all
are. So soundness holds for every N, by proof above and by exhaustion below, and not on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from .._checks import one_of
from ..errors import InvalidArgument
from ..privacy.budgets import Approximate, GaussianDP, Renyi

MOST_CHECKED = 1500
"""Beyond this many pulls the proved phase is taken as it is: checking every (N, R) costs N²."""


def check_start(budget: Approximate, calibration: str) -> None:
    """Both distributions need δ > 0: their likelihood ratios are unbounded."""
    one_of("calibration", calibration, "exact", "paper")
    if budget.delta <= 0.0:
        raise InvalidArgument(
            "delta", "be above 0 for Gaussian and Beta leaders", budget.delta,
            "use dp-ftpl-new, which serves delta = 0",
        )  # fmt: skip


@lru_cache(maxsize=256)
def gauss_start(budget: Approximate, calibration: str) -> int:
    """N_G: exact, or min{1/(4πδ²), log(e/(4πδ²))/ε²} as printed."""
    check_start(budget, calibration)
    epsilon, delta = budget.epsilon, budget.delta
    if calibration == "paper":
        wide = 1.0 / (4.0 * math.pi * delta**2)
        if epsilon == 0.0:
            return math.ceil(wide)
        return max(1, math.ceil(min(wide, math.log(math.e * wide) / epsilon**2)))
    return smallest(lambda n: GaussianDP(1.0 / math.sqrt(2.0 * n)).delta_at(epsilon) <= delta, 1)


def smallest(keeps: Callable[[int], bool], first: int) -> int:
    """The smallest number of pulls with a property that larger ones have too, tried from `first`
    on."""
    low, high = 0, first
    while not keeps(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


@lru_cache(maxsize=256)
def beta_start(budget: Approximate, calibration: str) -> int:
    """N_B: exact, or max{min{40e/(9πδ²), 8000 log(e/(2πδ²))/(81ε²)}, 1000e/(9π)} as printed."""
    check_start(budget, calibration)
    epsilon, delta = budget.epsilon, budget.delta
    if calibration == "paper":
        wide = 40.0 * math.e / (9.0 * math.pi * delta**2)
        if epsilon > 0.0:
            reach = math.log(math.e / (2.0 * math.pi * delta**2))
            wide = min(wide, 8000.0 * reach / (81.0 * epsilon**2))
        return math.ceil(max(wide, 1000.0 * math.e / (9.0 * math.pi)))
    proved = proved_beta_start(epsilon, delta)
    if proved > MOST_CHECKED:
        return proved
    start = proved
    while start > 1 and exact_beta_delta(start - 1, epsilon) <= delta:
        start -= 1
    return start


def proved_beta_start(epsilon: float, delta: float) -> int:
    """The smallest N whose Rényi bound keeps (ε, δ), and with it every larger N."""

    def keeps(pulls: int) -> bool:
        if pulls > 1 << 60:
            raise InvalidArgument(
                "budget", "allow a start phase for dp-ftpl-beta", f"ε = {epsilon}, δ = {delta}",
                "raise epsilon or delta, or use dp-ftpl-new",
            )  # fmt: skip
        return renyi_bound_keeps(pulls, epsilon, delta)

    return smallest(keeps, 8)


def renyi_bound_keeps(pulls: int, epsilon: float, delta: float) -> bool:
    """Whether D_α <= (α/2)(1/a + 1/(b-α)) gives (ε, δ) for some integer α, at the worst R."""
    small, large = pulls // 8 + 2, pulls + pulls // 8 + 1  # a, b with one reward moved
    alpha = 2
    while alpha < small:
        for a, b in ((small, large), (large, small)):
            bound = 0.5 * alpha * (1.0 / a + 1.0 / (b - alpha))
            if Renyi(alpha, bound).delta_at(epsilon) > delta:
                break
        else:
            return True
        alpha = alpha + 1 if alpha < 16 else alpha + alpha // 8
    return False


def exact_beta_delta(pulls: int, epsilon: float) -> float:
    """The largest exact δ at ε over all R, and over both directions, by symmetry."""
    import numpy as np
    from scipy.special import betainc

    epsilon = min(epsilon, 700.0)  # δ falls with ε, so that this is on the safe side
    k = pulls // 8 + 1
    rewards = np.arange(pulls)  # one of them becomes a success
    a, b = rewards + 1.0 + k, pulls - rewards + 1.0 + k
    edge = 1.0 / (1.0 + math.exp(-epsilon) * (b - 1.0) / a)
    above = betainc(b - 1.0, a + 1.0, 1.0 - edge) - math.exp(epsilon) * betainc(b, a, 1.0 - edge)
    # the mirror image, R -> N-R-1 with failures for successes, runs over the same pairs
    return float(above.max())
