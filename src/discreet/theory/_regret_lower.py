"""Lower bounds on regret: what no policy of a kind can beat.

Per log T, for policies whose regret is below every power of T on all instances (consistent ones):
- without privacy              Σ Δ/KLinf
- ε-DP (view and stronger)     Σ Δ/min(KLinf, ε TVinf), or 6ε in the first print
- ε-DP, Bernoulli              Σ Δ/d_ε(μ_a, μ*), the sharpest: d_ε <= min(kl, εΔ)
- ε-local DP, Bernoulli        Σ 1/(Δ (e^ε-e^-ε)²)
At a horizon T, for the worst instance: minimax bounds for ε-DP, ρ-zCDP and (ε, δ)-global DP.

>>> round(private_bernoulli([0.75, 0.5], epsilon=0.1), 2)
10.4
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._checks import count, horizon_of, means_of, one_of, positive, probability, share
from ..errors import InvalidArgument
from ._bound import LOG, ROUNDS, bound
from ._distances import FiniteLaw, compared, d_epsilon

if TYPE_CHECKING:
    from ..arms import Environment

VERSIONS = {"2024": (1.0, 22.0), "2022": (6.0, 131.0)}
"""Factor of ε TVinf and divisor of (K-1)/ε: in the thesis, and in the paper before it."""


@bound(
    "lower", "regret", LOG,
    domain="consistent policies; Bernoulli, Gaussian or finitely supported arms",
    reference="lattimore2020", statement="Theorem 16.2",
)  # fmt: skip
def lai_robbins(arms: Sequence[float] | Sequence[FiniteLaw] | Environment) -> float:
    """Σ Δ/KLinf: regret per log T without privacy.

    No consistent policy has less regret, per log T, as T grows.

    Args:
        arms: Bernoulli means, distributions on [0, 1], or an environment.

    Returns:
        The lower bound.

    Example:
        >>> from discreet import theory
        >>> round(theory.lai_robbins([0.75, 0.5]), 3)
        1.738
    """
    return math.fsum(arm.gap / arm.kl for arm in compared(arms))


@bound(
    "lower", "regret", LOG,
    domain="consistent policies with ε-view DP or stronger; ε > 0",
    reference="azize2022", statement="Theorem 3, with the constant of the thesis of 2024",
)  # fmt: skip
def view_private(
    arms: Sequence[float] | Sequence[FiniteLaw] | Environment, epsilon: float, version: str = "2024"
) -> float:
    """Σ Δ/min(KLinf, ε TVinf): regret per log T under ε-DP; version "2022" has 6ε.

    No consistent policy that keeps ε-DP has less regret, per log T, as T grows.

    Args:
        arms: Bernoulli means, distributions on [0, 1], or an environment.
        epsilon: The privacy budget ε.
        version: Which printed version of the theorem.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.view_private([0.75, 0.5], 1.0), 3)
        1.738
    """
    epsilon = positive("epsilon", epsilon, infinite=True)
    factor = VERSIONS[check_version(version)][0] * epsilon
    return math.fsum(arm.gap / min(arm.kl, factor * arm.tv) for arm in compared(arms))


@bound(
    "lower", "regret", LOG,
    domain="consistent policies with ε-DP; Bernoulli arms; ε > 0",
    reference="azize2025", statement="the lower bound for Bernoulli arms",
)  # fmt: skip
def private_bernoulli(means: Sequence[float], epsilon: float) -> float:
    """Σ Δ/d_ε(μ_a, μ*): regret per log T under ε-DP, the sharpest.

    No consistent policy that keeps ε-DP has less regret on Bernoulli arms, per log T, as T grows.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.

    Returns:
        The lower bound.

    Example:
        >>> from discreet import theory
        >>> round(theory.private_bernoulli([0.75, 0.5], 1.0), 3)
        1.753
    """
    means = means_of(means)
    best = max(means)
    return math.fsum((best - m) / d_epsilon(m, best, epsilon) for m in means if m < best)


@bound(
    "lower", "regret", LOG,
    domain="consistent policies with ε-local DP; Bernoulli arms; ε > 0",
    reference="ren2020", statement="Theorem 1",
)  # fmt: skip
def local_private(means: Sequence[float], epsilon: float) -> float:
    """Σ 1/(Δ (e^ε-e^-ε)²): regret per log T under ε-local DP; of use for small ε.

    No consistent policy that keeps ε-local DP has less regret, per log T, as T grows.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.local_private([0.75, 0.5], 1.0), 3)
        0.724
    """
    means = means_of(means)
    epsilon = positive("epsilon", epsilon, infinite=True)
    spread = 2.0 * math.sinh(epsilon) if epsilon < 300.0 else math.inf
    best = max(means)
    return math.fsum(1.0 / ((best - m) * spread**2) for m in means if m < best)


@bound(
    "lower", "regret", ROUNDS,
    domain="the worst instance of K Gaussian arms of sd 1; ε-view DP; K >= 2, T >= K-1",
    reference="azize2022", statement="Theorem 2, with the constant of the thesis of 2024",
)  # fmt: skip
def minimax_pure(arms: int, horizon: float, epsilon: float, version: str = "2024") -> float:
    """max(sqrt(T(K-1))/27, (K-1)/(22ε)); version "2022" has 131 for 22.

    On some instance of K Gaussian arms every ε-DP policy has at least this regret after T rounds.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        version: Which printed version of the theorem.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.minimax_pure(5, 1e6, 1.0), 3)
        74.074
    """
    others = count("arms", arms, fix="a choice needs two arms", least=2) - 1
    rounds = horizon_of(horizon, others)
    epsilon = positive("epsilon", epsilon, infinite=True)
    return max(
        _minimax_open(others, rounds), others / (VERSIONS[check_version(version)][1] * epsilon)
    )


@bound(
    "lower", "regret", ROUNDS,
    domain="the worst instance of K Gaussian arms of sd 1; ρ-interactive zCDP, ρ <= 1; T >= K-1",
    reference="azize2024thesis", statement="Theorem 4.20",
)  # fmt: skip
def minimax_zcdp(arms: int, horizon: float, rho: float) -> float:
    """max(sqrt(T(K-1))/27, sqrt((K-1)/ρ)/124).

    On some instance of K Gaussian arms every ρ-zCDP policy has at least this regret after T rounds.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        rho: The budget ρ of zero-concentrated privacy.

    Returns:
        The lower bound.

    Example:
        >>> from discreet import theory
        >>> round(theory.minimax_zcdp(5, 1e6, 0.5), 3)
        74.074
    """
    others = count("arms", arms, fix="a choice needs two arms", least=2) - 1
    rounds = horizon_of(horizon, others)
    rho = _rho(rho)
    return max(_minimax_open(others, rounds), math.sqrt(others / rho) / 124.0)


@bound(
    "lower", "regret", ROUNDS,
    domain="the worst instance of K Bernoulli arms; (ε, δ)-global DP; policies whose regret is at "
    "most c T^a on every instance; T >= (3/ε) log[...]",
    reference="wang2024", statement="Theorem 4, and Remark 6 with the constants of its proof",
)  # fmt: skip
def minimax_global(
    horizon: float,
    epsilon: float,
    delta: float = 0.0,
    *,
    arms: int = 2,
    c: float = 1.0,
    a: float = 0.5,
) -> float:
    """((K-1)/(16ε)) log[((e^ε-1)T^(1-a) + 5δT^(1-a)) / (40c(e^ε-1) + 5δT^(1-a))]; limit at ε = 0.

    On some instance of K Bernoulli arms every such (ε, δ)-DP policy has at least this regret after
    T rounds.

    The theorem has two arms. Remark 6 states Ω(K/ε ...) for more: its proof, read with arms 2 to K
    at 1/4 below the best and one of them raised to 1/4 above it, bounds the pulls of each alike.

    Args:
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        delta: The δ of an (ε, δ) budget.
        arms: The number of arms.
        c: The constant c of the theorem.
        a: The exponent a of the theorem.

    Returns:
        The lower bound.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.minimax_global(1e6, 1.0, 1e-6), 3)
        0.201
    """
    rounds = horizon_of(horizon)
    others = count("arms", arms, least=2, fix="use arms=2 or more") - 1
    delta = probability("delta", delta, fix="use for example delta=1e-6")
    c, a = positive("c", c), share("a", a)
    power = float(rounds) ** (1.0 - a)
    if epsilon == 0.0 and delta > 0.0:
        rate: float = (1.0 - 40.0 * c / power) / (5.0 * delta)
    else:
        epsilon = positive("epsilon", epsilon)
        # divided by e^ε-1, so that a large ε does not overflow
        leak = 5.0 * delta * power / math.expm1(epsilon) if epsilon < 700.0 else 0.0
        rate = math.log((power + leak) / (40.0 * c + leak)) / epsilon
    if rate <= 0.0 or rounds < 3.0 * rate:
        raise InvalidArgument(
            "horizon", "make the bound positive and be at least (3/ε) log[...]", rounds,
            "the theorem is silent here: lengthen the horizon, or take minimax_pure",
        )  # fmt: skip
    return others * rate / 16.0


def _minimax_open(others: int, rounds: int) -> float:
    return math.sqrt(rounds * others) / 27.0


def check_version(version: str) -> str:
    """A year that bounds were published in."""
    return one_of("version", version, *VERSIONS)


def _rho(rho: float) -> float:
    rho = positive("rho", rho)
    if rho > 1.0:
        raise InvalidArgument("rho", "be at most 1", rho, "the theorem stops there: use rho=1")
    return rho
