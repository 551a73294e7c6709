"""Privacy curves δ(ε) in plain `math`: every function returns a proved upper bound, rounded up.

Rounding up is a relative 1e-12, far above the rounding of the formulas and far below anything that
matters; a δ that is positive in exact arithmetic is never reported as 0.

References: Balle & Wang 2018 (Gaussian); Canonne, Kamath & Steinke 2020 (Rényi to approximate,
discrete Gaussian); Kairouz, Oh & Viswanath 2015 (the pure trade-off); Dong, Roth & Su 2022.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_TINY = math.ulp(0.0)
_SLACK = 1e-12
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def up(delta: float) -> float:
    """A positive probability rounded up, at most 1."""
    return min(1.0, max(_TINY, delta * (1.0 + _SLACK)))


def minimise(f: Callable[[float], float], low: float, high: float) -> float:
    """The least value seen by a golden section search; callers need any value, not the argument."""
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    fa, fb = f(a), f(b)
    best = min(fa, fb)
    for _ in range(90):
        if fa <= fb:
            high, b, fb = b, a, fa
            a = high - _GOLDEN * (high - low)
            fa = f(a)
        else:
            low, a, fa = a, b, fb
            b = low + _GOLDEN * (high - low)
            fb = f(b)
        best = min(best, fa, fb)
    return best


def pure_delta(epsilon: float, at: float) -> float:
    """Smallest δ with which ε-DP is (at, δ)-DP: (e^ε - e^at)/(1 + e^ε) below ε, 0 from ε on."""
    return 0.0 if at >= epsilon else -math.expm1(at - epsilon) / (1.0 + math.exp(-epsilon))


def renyi_log_delta(x: float, divergence: float, at: float) -> float:
    """log δ of one order α = 1 + e^x with Rényi divergence d:

    (α-1)(d - ε) + (α-1) log(1 - 1/α) - log α,
    which is convex in α when d is constant or proportional to α, hence unimodal in x.
    """
    over = math.exp(x)
    log_order = math.log1p(over)
    return over * (divergence - at) + over * (x - log_order) - log_order


def renyi_delta(order: float, divergence: float, at: float) -> float:
    """δ at ε for (α, d)-Rényi DP. A divergence of d at α is one at every lower order too; the best
    order solves log(1 - 1/α) = ε - d when that lies below α, and is α itself otherwise."""
    if divergence == 0:
        return 0.0
    if divergence > at:
        order = min(order, -1.0 / math.expm1(at - divergence))
    if order <= 1.0:
        return 1.0
    return up(math.exp(min(0.0, renyi_log_delta(math.log(order - 1.0), divergence, at))))


def zcdp_delta(rho: float, at: float) -> float:
    """δ at ε for ρ-zCDP: the least Rényi bound over all orders, with divergence αρ."""
    if rho == 0:
        return 0.0
    best = minimise(lambda x: renyi_log_delta(x, rho * (1.0 + math.exp(x)), at), -40.0, 80.0)
    return up(math.exp(min(0.0, best)))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """ε at δ for ρ-zCDP: min over α of αρ + (log(1/δ) + (α-1)log(1-1/α) - log α)/(α-1)."""
    if rho == 0:
        return 0.0

    def epsilon(x: float) -> float:
        over = math.exp(x)
        return rho * (1.0 + over) + (renyi_log_delta(x, 0.0, 0.0) - math.log(delta)) / over

    return max(0.0, minimise(epsilon, -40.0, 80.0))


def mills(x: float) -> float:
    """(1 - Φ(x))/φ(x), by a continued fraction in the far tail."""
    if x < 8.0:
        return 0.5 * math.erfc(x / math.sqrt(2.0)) * math.sqrt(2.0 * math.pi) * math.exp(x * x / 2)
    tail = x
    for k in range(80, 0, -1):
        tail = x + k / tail
    return 1.0 / tail


def gaussian_delta(mu: float, at: float) -> float:
    """δ at ε for μ-Gaussian DP: Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ).

    With a = ε/μ - μ/2 and b = a + μ it is φ(a)[R(a) - R(b)], R the Mills ratio, because
    e^ε φ(b) = φ(a): nothing overflows, and the common factor loses no relative accuracy.
    """
    if mu == 0 or math.isinf(at):
        return 0.0
    if math.isinf(mu):
        return 1.0
    a = at / mu - mu / 2.0
    b = at / mu + mu / 2.0
    density = math.exp(-a * a / 2.0) / math.sqrt(2.0 * math.pi)
    first = density * mills(a) if a >= 0 else 0.5 * math.erfc(a / math.sqrt(2.0))
    second = density * mills(b)
    # the difference cancels when μ is small: pay for the rounding of both terms
    return up(max(0.0, first - second) + 1e-15 * first)


def largest(fits: Callable[[float], bool], low: float, high: float) -> float:
    """Largest x in [low, high] found with fits(x), for a condition that holds below a threshold.

    Bisection on log x; the answer always fits, whatever the rounding, provided that low does."""
    if fits(high):
        return high
    low, high = math.log(low), math.log(high)
    for _ in range(200):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        if fits(math.exp(middle)):
            low = middle
        else:
            high = middle
    return math.exp(low)


def least(fits: Callable[[float], bool], low: float, high: float, halvings: int = 200) -> float:
    """Smallest x in [low, high] found with fits(x), for a condition that holds above a threshold,
    by bisection; `high` fits, and so does the answer."""
    for _ in range(halvings):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest μ whose Gaussian DP implies (ε, δ)-DP: the analytic Gaussian mechanism."""
    return largest(lambda mu: gaussian_delta(mu, epsilon) <= delta, 1e-150, 1e9)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Smallest ε with δ(ε) <= δ for μ-Gaussian DP."""
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = mu * mu / 2.0 + mu * math.sqrt(2.0 * math.log(1.0 / delta)) + 1e-300
    while gaussian_delta(mu, high) > delta:
        high *= 2.0
    return least(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, 0.0, high)


def lattice_delta(sigma: float, sensitivity: int, at: float) -> float:
    """An upper bound on δ at ε for discrete Gaussian noise on the integers.

    Canonne, Kamath & Steinke 2020, Theorem 7: with f(k) = exp(-k²/2σ²), Z its sum over the
    integers, M the sensitivity and a = εσ²/M - M/2,
        δ = (1/Z) Σ_{k > a} g(k),   g(x) = f(x) - e^ε f(x + M) = f(x)(1 - e^{-(x-a)M/σ²}).
    1. Z >= σ sqrt(2π), by Poisson summation: Z = σ sqrt(2π) Σ_n exp(-2π²σ²n²), all terms positive.
    2. On x > a, g is a product of log-concave functions, so it rises and then falls, and the sum of
       such a function over integers is at most its integral plus its maximum (compare each term
       with the cell next to it on the mode's side; one of the two at the mode is left over).
    3. The integral over σ sqrt(2π) is the continuous curve at μ = M/σ.
    So δ <= δ_continuous(M/σ, ε) + max g/(σ sqrt(2π)); a smaller shift than M leaks less, since
    δ = sup_t P[Y > t] - e^ε P[Y > t + M] grows with M.
    """
    c = sensitivity / (sigma * sigma)
    a = at / c - sensitivity / 2.0
    # (log g)' = -x/σ² + c/(e^{c(x-a)} - 1) falls through 0 once on (a, ∞): bracket it
    low, high = 0.0, 1.0 / c
    for grow in (True, False):
        for _ in range(200):
            y = high if grow else (low + high) / 2.0
            slope = c / math.expm1(min(700.0, c * y)) - (a + y) / (sigma * sigma) if y else 1.0
            if grow:
                if slope <= 0:
                    break
                high *= 2.0
            elif slope > 0:
                low = y
            else:
                high = y
    nearest = max(0.0, a + low) if a + high > 0 else -(a + high)
    peak = math.exp(-0.5 * (nearest / sigma) ** 2) * -math.expm1(-c * high)
    return up(gaussian_delta(sensitivity / sigma, at) + peak / (sigma * math.sqrt(2.0 * math.pi)))
