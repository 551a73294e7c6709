"""The two regimes of privacy: where an ε costs nothing, and where it costs.

For Bernoulli arms d_ε(μ_a, μ*) = kl(μ_a, μ*) exactly when ε is at least the log odds ratio of the
two arms, log[μ*(1-μ_a) / (μ_a(1-μ*))]: from there on the private lower bound is the classical one.
Far below it d_ε is about εΔ, and regret grows like 1/ε. The older bound min(kl, εΔ) turns at
ε = kl/Δ, below the log odds ratio. For identification privacy costs below T*_TV/T*_KL, and may
cost somewhat above it: it is free once no arm's total variation binds at the shares of T*_KL.

>>> round(free_epsilon([0.75, 0.5]), 3)  # odds 3 against odds 1
1.099
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._checks import means_of, one_best, positive
from ..policies._divergences import kl
from ._identification import characteristic_time
from ._regret_lower import lai_robbins, private_bernoulli

HIGH, LOW, BETWEEN = "high privacy", "low privacy", "between"


def log_odds_ratio(mean: float, best: float) -> float:
    """log[μ*(1-μ) / (μ(1-μ*))]; infinite where a rate is 0 or 1.

    Args:
        mean: The mean of the arm.
        best: The mean of the best arm.

    Returns:
        The log odds ratio.

    Example:
        >>> from discreet import theory
        >>> round(theory.log_odds_ratio(0.5, 0.75), 3)
        1.099
    """
    mean, best = means_of([mean, best])
    if mean >= best:
        return 0.0
    if mean == 0.0 or best == 1.0:
        return math.inf
    return math.log(best / mean) + math.log1p(-mean) - math.log1p(-best)


def free_epsilon(means: Sequence[float], tolerance: float = 0.0) -> float:
    """The ε from which the lower bound on regret is the one without privacy.

    Exactly: the largest log odds ratio of the best arm and another. With a tolerance, the ε from
    which the bound is at most (1 + tolerance) times as large.

    Args:
        means: The mean reward of every arm.
        tolerance: By which share the bound may exceed the one without privacy.

    Returns:
        The budget ε.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.free_epsilon([0.75, 0.5]), 3)
        1.099
    """
    means = means_of(means)
    best = max(means)
    exact = max(log_odds_ratio(m, best) for m in means)
    if tolerance == 0.0:
        return exact
    aim = (1.0 + positive("tolerance", tolerance)) * lai_robbins(means)
    if aim == 0.0:
        return exact
    return _falling_root(lambda e: private_bernoulli(means, e) - aim, exact)


def turning_epsilon(mean: float, best: float) -> float:
    """kl/Δ: where min(kl, εΔ) turns; 0 for an arm that is no worse.

    Args:
        mean: The mean of the arm.
        best: The mean of the best arm.

    Returns:
        The budget ε.

    Example:
        >>> from discreet import theory
        >>> round(theory.turning_epsilon(0.5, 0.75), 3)
        0.575
    """
    mean, best = means_of([mean, best])
    return kl(mean, best) / (best - mean) if mean < best else 0.0


def free_epsilon_identification(means: Sequence[float]) -> float:
    """The ε from which T*(ε) = T*_KL: max over a of 1/(T*_KL Δ_a min(ω_1, ω_a)), ω those of T*_KL.

    The shares of T*_KL are unique, so below it identification needs more samples than without
    privacy. It is at least T*_TV/T*_KL, and often well above it.

    Args:
        means: The mean reward of every arm.

    Returns:
        The budget ε.

    Example:
        >>> from discreet import theory
        >>> round(theory.free_epsilon_identification([0.75, 0.5]), 3)
        0.277
    """
    open_time = characteristic_time(means)
    best, gaps = one_best(means_of(means))
    first = open_time.shares[best]
    pairs = [(g, s) for g, s in zip(gaps, open_time.shares, strict=True) if g > 0.0]
    return max(1.0 / (open_time.samples * gap * min(first, share)) for gap, share in pairs)


@dataclass(frozen=True)
class Regime:
    """Where one pair of arms stands at one ε, and by which factor privacy raises its bound.

    Example:
        >>> from discreet import theory
        >>> found = theory.regime(0.5, 0.75, epsilon=0.1)
        >>> found.name, round(found.factor, 2)
        ('high privacy', 5.98)
    """

    name: str
    factor: float
    threshold: float


def regime(mean: float, best: float, epsilon: float) -> Regime:
    """High privacy where the bound is at least doubled, low where it is not raised at all.

    Args:
        mean: The mean of the arm.
        best: The mean of the best arm.
        epsilon: The privacy budget ε.

    Returns:
        The regime: its name, the factor and the threshold.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> theory.regime(0.5, 0.75, 1.0).name
        'between'
    """
    mean, best = means_of([mean, best])
    factor = _factor(mean, best, positive("epsilon", epsilon, infinite=True))
    threshold = log_odds_ratio(mean, best)
    name = LOW if epsilon >= threshold else HIGH if factor >= 2.0 else BETWEEN
    return Regime(name, factor, threshold)


def _factor(mean: float, best: float, epsilon: float) -> float:
    if mean >= best:
        return 1.0
    free = lai_robbins([mean, best])
    return private_bernoulli([mean, best], epsilon) / free if free > 0.0 else math.inf


def _falling_root(function: Callable[[float], float], top: float) -> float:
    """Where a falling function crosses 0, below `top`, on a log scale."""
    from scipy.optimize import brentq

    high = math.log(top) if math.isfinite(top) else 20.0
    low = high
    while function(math.exp(low)) < 0.0:
        low -= 1.0
    if low == high:
        return top
    root = brentq(lambda x: function(math.exp(x)), low, high)
    return float(math.exp(root))
