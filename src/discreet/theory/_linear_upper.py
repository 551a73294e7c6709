"""Upper bounds on the regret of linear bandits under ρ-zCDP, with the constants of their proofs.

Both hold with probability 1 - risk, for rewards in [-1, 1] with noise of sd 1 and |θ| <= 1. The
theorems end in O(·) and in "universal constants"; what their proofs add up is solved here instead.
Azize (2024, thesis), Theorems 5.12 and 5.17 with C.3.2 and C.4.2.

>>> round(adac_gope(3, 10, horizon=1e7, rho=1.0, risk=1e-3))
965464
"""

from __future__ import annotations

import math
from itertools import count as counted

from .._checks import count, horizon_of, positive, share
from ..errors import InvalidArgument
from ._bound import ROUNDS, bound


@bound(
    "upper", "regret", ROUNDS,
    domain="AdaC-GOPE, with probability 1 - risk; K actions in R^d, rewards in [-1, 1]; ρ > 0",
    reference="azize2024thesis", statement="Theorem 5.12, with the constants of its proof, C.3.2",
)  # fmt: skip
def adac_gope(dimension: int, actions: int, horizon: float, rho: float, risk: float) -> float:
    """min over L of Σ_{l <= L} 8β T_l + 4T/2^L, β = 2^-l, T_l the longest that a phase can be.

    An upper bound on the regret of AdaC-GOPE after T rounds, with probability 1 - risk.

    T_l = d(d+1)/2 + (8d/β²) log(4/δ_l) + (2d/β) sqrt((2/ρ) f(d, δ_l)), δ_l = risk/(Kl(l+1)) and
    f(d, δ) = d + 2 sqrt(d log(2/δ)) + 2 log(2/δ). Phases that do not fit into T are not played.

    Args:
        dimension: The number of features d.
        actions: The number of actions.
        horizon: The number of rounds T.
        rho: The budget ρ of zero-concentrated privacy.
        risk: The probability of a wrong answer, or that the bound fails.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adac_gope(3, 20, 1e6, 0.5, 0.05))
        251112
    """
    d = count("dimension", dimension, fix="use for example dimension=3")
    actions = count("actions", actions, fix="a choice needs two actions", least=2)
    rounds, rho = horizon_of(horizon), positive("rho", rho, infinite=True)
    risk = share("risk", risk)
    played, lost, least = 0.0, 0.0, 2.0 * rounds
    for phase in counted(1):
        width, failure = 0.5**phase, risk / (actions * phase * (phase + 1))
        noise = math.sqrt(2.0 / rho * _chi_square(d, 0.5 * failure))
        shortest = 8.0 * d / width**2 * math.log(4.0 / failure) + 2.0 * d / width * noise
        lost += 8.0 * width * (0.5 * d * (d + 1) + shortest)
        played += shortest
        if played >= rounds:  # no later phase begins
            return min(least, lost)
        least = min(least, lost + 4.0 * rounds * width)
    raise AssertionError


@bound(
    "upper", "regret", ROUNDS,
    domain="AdaC-OFUL, with probability 1 - risk; stochastic contexts of length 1 whose E[aa'] has "
    "least eigenvalue λ0 (Assumption 5.15), rewards in [-1, 1]; ρ > 0",
    reference="azize2024thesis", statement="Theorem 5.17, with the constants of its proof, C.4.2",
)  # fmt: skip
def adac_oful(
    dimension: int,
    horizon: float,
    rho: float,
    risk: float,
    eigenvalue: float,
    *,
    ridge: float = 1.0,
    growth: float = 1.0,
) -> float:
    """2 sqrt(2(1+C) d log(1+T/(λd))) (β sqrt T + γ sqrt((1+C)(1+λ)l/min(1, λ))), step 6 of C.4.2.

    An upper bound on the regret of AdaC-OFUL after T rounds, with probability 1 - risk.

    δ = risk/3, l = d log(1+T/(λd))/log(1+C) episodes at most,
    β = sqrt(2 log(1/δ) + d log(1+T/(λd))) + sqrt(λ), and γ² is 2l f(d, δ/T)/ρ times the largest
    t/(λ + λ_min(t)), λ_min(t) from `least_eigenvalue`. The print has γ_T, which it takes to grow
    with t; it falls once the eigenvalue does grow. For λ < 1 the lengths of episodes grow by
    (1+C)(1+λ)/λ at most, where the print asks for λ >= 1.

    Args:
        dimension: The number of features d.
        horizon: The number of rounds T.
        rho: The budget ρ of zero-concentrated privacy.
        risk: The probability of a wrong answer, or that the bound fails.
        eigenvalue: The least eigenvalue λ0 of E[aa'] of the contexts.
        ridge: The regulariser λ.
        growth: By which factor 1 + C the determinant grows in an episode.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adac_oful(3, 1e10, 0.5, 0.05, 0.3))
        43649194
    """
    d = count("dimension", dimension, fix="use for example dimension=3")
    rounds, rho = horizon_of(horizon), positive("rho", rho, infinite=True)
    ridge, growth = positive("ridge", ridge), positive("growth", growth)
    failure = share("risk", risk) / 3.0
    potential = d * math.log1p(rounds / (ridge * d))
    episodes = potential / math.log1p(growth)
    width = math.sqrt(2.0 * math.log(1.0 / failure) + potential) + math.sqrt(ridge)
    start = _informed(d, rounds, failure, _eigenvalue(eigenvalue, d))
    # λ_min(t) is convex and at most -8 log(3d/δ) at t = 0, so the ratio is largest where it is 0,
    # unless the ridge is larger than that
    ratio = min(start, rounds) / min(ridge, 8.0 * math.log(3.0 * d / failure))
    noise = math.sqrt(2.0 * episodes / rho * _chi_square(d, failure / (2.0 * rounds)) * ratio)
    longer = (1.0 + growth) * (1.0 + ridge) / min(1.0, ridge)
    scale = 2.0 * math.sqrt(2.0 * (1.0 + growth) * potential)
    found = scale * (width * math.sqrt(rounds) + noise * math.sqrt(longer * episodes))
    return min(found, 2.0 * rounds)


def least_eigenvalue(t: float, dimension: int, risk: float, eigenvalue: float) -> float:
    """λ0 t/4 - 8 log((t+3)d/δ) - 2 sqrt(t log((t+3)d/δ)): below the least eigenvalue of Σ aa' at
    every t with probability 1 - δ, for stochastic contexts (Assumption 5.15).

    Thesis, Lemma 5.16. Negative, and so of no use, until t exceeds 64 log(td/δ)/λ0².

    Args:
        t: The number of rounds t.
        dimension: The number of features d.
        risk: The probability of a wrong answer, or that the bound fails.
        eigenvalue: The least eigenvalue λ0 of E[aa'] of the contexts.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.least_eigenvalue(100_000, 3, 0.05, 0.3))
        4877
    """
    d = count("dimension", dimension, fix="use for example dimension=3")
    t, risk = positive("t", t), share("risk", risk)
    return _least_eigenvalue(t, d, risk, _eigenvalue(eigenvalue, d))


def _least_eigenvalue(t: float, d: int, failure: float, eigenvalue: float) -> float:
    log = math.log((t + 3.0) * d / failure)
    return eigenvalue * t / 4.0 - 8.0 * log - 2.0 * math.sqrt(t * log)


def _informed(d: int, rounds: int, failure: float, eigenvalue: float) -> float:
    """The t from which on Lemma 5.16 says something; T if not before."""
    low, high = 0.0, float(rounds)
    if _least_eigenvalue(high, d, failure, eigenvalue) <= 0.0:
        return high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        # convex and negative at 0: one change of sign
        if _least_eigenvalue(middle, d, failure, eigenvalue) > 0.0:
            high = middle
        else:
            low = middle
    return high


def _eigenvalue(eigenvalue: float, d: int) -> float:
    eigenvalue = positive("eigenvalue", eigenvalue)
    if eigenvalue > 1.0 / d:
        raise InvalidArgument(
            "eigenvalue", f"be at most 1/d = {1.0 / d:.4g}, as contexts have length 1", eigenvalue,
            "give the least eigenvalue of E[aa']",
        )  # fmt: skip
    return eigenvalue


def _chi_square(d: int, failure: float) -> float:
    """d + 2 sqrt(d log(1/δ)) + 2 log(1/δ) (Lemma C.28)."""
    log = math.log(1.0 / failure)
    return d + 2.0 * math.sqrt(d * log) + 2.0 * log
