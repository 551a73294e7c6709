"""Divergences between Bernoulli laws and the upper confidence bounds that they define.

- kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with its limits at 0 and 1.
- kl_upper(p, c) = max{q in [p, 1] : kl(p, q) <= c}.
- d_ε(x, y) = inf over z in [x, y] of ε|z-x| + kl(z, y), the information that an ε-private release
  leaves (Azize et al. 2025); 0 for x > y.
- private_upper(x, c, ε) = max{q in [x, 1] : d_ε(x, q) <= c}.

Plain functions for kernels: see `discreet.compiled`.
"""

from __future__ import annotations

import math

STEPS = 60
"""More Newton steps than any p and c need: the iteration is monotone and stops by itself."""


def kl(p: float, q: float) -> float:
    """Relative entropy of Bernoulli(p) from Bernoulli(q)."""
    total = 0.0
    if p > 0.0:
        if q <= 0.0:
            return math.inf
        total += p * math.log(p / q)
    if p < 1.0:
        if q >= 1.0:
            return math.inf
        total += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return max(total, 0.0)


def kl_upper(p: float, c: float) -> float:
    """max{q : kl(p, q) <= c}, by Newton's method from the right.

    kl(p, ·) is convex and increasing on [p, 1), so from a q above the root every step stays above
    it and shrinks. Two starts are above it: kl(p, x) >= (x-p)²/(2v) with v the largest x(1-x) on
    [p, 1], and kl(p, x) >= -H(p) - (1-p) log(1-x), H the binary entropy.
    """
    if c <= 0.0:
        return p
    if p >= 1.0:
        return 1.0
    if p <= 0.0:
        return -math.expm1(-c)
    variance = p * (1.0 - p) if p > 0.5 else 0.25
    entropy = -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)
    gap = math.exp(-(c + entropy) / (1.0 - p))  # 1 - q from the second bound
    q = min(p + math.sqrt(2.0 * c * variance), 1.0 - gap)
    return newton_upper(p, c, q)


def newton_upper(p: float, c: float, q: float) -> float:
    """The root of kl(p, ·) = c above p, 0 < p < 1, from a start q > p near or above the root.

    From below, the first step jumps above the root (convexity); from there it is monotone.
    """
    constant = c + p * math.log(1.0 / p) + (1.0 - p) * math.log(1.0 / (1.0 - p))
    for taken in range(STEPS):
        if q >= 1.0:
            return 1.0
        # kl(p, q) - c = -constant - p log q - (1-p) log(1-q); slope (q-p) / (q (1-q))
        excess = -constant - p * math.log(q) - (1.0 - p) * math.log1p(-q)
        step = excess * q * (1.0 - q) / (q - p)
        q -= step
        # right of the root the steps are positive: a negative one later on is rounding
        if abs(step) <= 1e-12 or (taken > 0 and step < 0.0):
            break
    return q


def private_divergence(x: float, y: float, epsilon: float) -> float:
    """d_ε(x, y): with z° = y e^-ε / (1-y+y e^-ε), kl(x, y) if z° <= x, else the tilted branch."""
    if x >= y:
        return 0.0
    rest = 1.0 - y + y * math.exp(-epsilon)
    if y * math.exp(-epsilon) <= x * rest:
        return kl(x, y)
    return -math.log(rest) - epsilon * x


def private_upper(x: float, c: float, epsilon: float) -> float:
    """max{q : d_ε(x, q) <= c}: Newton on the kl branch, closed form on the tilted one.

    The branches meet at y = x / (x + (1-x) e^-ε), where z° = x.
    """
    if c <= 0.0:
        return x
    if x >= 1.0:
        return 1.0
    shrink = math.exp(-epsilon)
    meet = x / (x + (1.0 - x) * shrink) if x > 0.0 else 0.0
    if meet > x and c <= kl(x, meet):
        return kl_upper(x, c)
    return min(-math.expm1(-(epsilon * x + c)) / -math.expm1(-epsilon), 1.0)
