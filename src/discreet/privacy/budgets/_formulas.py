"""Formulas between kinds of budget in plain `math`; those of the curves δ(ε) are in `curves`.

Each returns a proved upper bound for finite positive budgets. Where rounding could undo that, the
value is raised by a relative 1e-12, or the caller makes sure of it afterwards.

>>> round(pure_divergence(1.0, 2.0), 4)
0.7353
"""

from __future__ import annotations

import math

from .. import _curves as curves


def pure_epsilon(epsilon: float, delta: float) -> float:
    """Smallest ε' at which ε-DP is (ε', δ)-DP: e^ε' = e^ε - δ(1 + e^ε)."""
    left = 1.0 - delta * (1.0 + math.exp(-epsilon))
    return max(0.0, epsilon + math.log(left)) if left > 0 else 0.0


def pure_rho(epsilon: float) -> float:
    """ρ with which ε-DP is ρ-zCDP: ε tanh(ε/2), proved at `Pure.to_zcdp`."""
    half = epsilon / 2.0
    return min(epsilon * half, epsilon * math.tanh(half) * (1.0 + 1e-12))


def gaussian_pure(mu: float) -> float:
    """The largest ε for which ε-DP implies μ-Gaussian DP: log(Φ(μ/2)/Φ(-μ/2)), rounded down.

    The trade-off curve of ε-DP consists of two chords, which meet at the point
    (1/(1+e^ε), 1/(1+e^ε)) on the diagonal; G_μ is convex and ends where they end, so it lies below
    them if and only if it does at that point, where it is Φ(-μ/2).
    """
    x = mu / (2.0 * math.sqrt(2.0))
    if x < 1.0:
        exact = 2.0 * math.atanh(math.erf(x))
    else:
        tail = 0.5 * math.erfc(x)
        exact = math.log1p(-tail) - math.log(tail) if tail > 0.0 else math.inf
    return exact * (1.0 - 1e-12) if math.isfinite(exact) else _gaussian_far(x)


def _gaussian_far(x: float) -> float:
    """The same where erfc(x) underflows: erfc(x) <= e^(-x²)/(x sqrt(π))."""
    return (x * x + math.log(2.0 * x * math.sqrt(math.pi))) * (1.0 - 1e-12)


def pure_divergence(epsilon: float, alpha: float) -> float:
    """Rényi divergence of randomised response, the worst ε-DP mechanism at every order."""
    # log(p^α q^(1-α) + q^α p^(1-α)) with p = 1/(1+e^-ε), q = p e^-ε: ratio of the terms first
    log_sum = (alpha - 1.0) * epsilon + math.log1p(math.exp((1.0 - 2.0 * alpha) * epsilon))
    divergence = (log_sum - math.log1p(math.exp(-epsilon))) / (alpha - 1.0)
    return min(epsilon, alpha * epsilon * epsilon / 2.0, max(0.0, divergence * (1.0 + 1e-12)))


def renyi_epsilon(alpha: float, divergence: float, delta: float) -> float:
    """ε' at δ for (α, d)-Rényi DP, at α itself or at the best lower order."""
    x = math.log(alpha - 1.0)
    at_order = divergence + (curves.renyi_log_delta(x, 0.0, 0.0) - math.log(delta)) * math.exp(-x)
    # at a lower order with log(1 - 1/α') = ε' - d the formula reduces to δ = 1/α'
    at_lower = divergence + math.log1p(-delta) if 1.0 / delta <= alpha else math.inf
    return max(0.0, min(at_order, at_lower))


def log_group_delta(epsilon: float, delta: float, m: int) -> float:
    """log of δ(1 + e^ε + ... + e^((m-1)ε)) = δ expm1(mε)/expm1(ε), without overflow."""
    if epsilon * m < 1e-15:
        return math.log(delta) + math.log(m)
    growth = math.log(-math.expm1(-m * epsilon)) - math.log(-math.expm1(-epsilon))
    return math.log(delta) + ((m - 1) * epsilon + growth)
