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
"""More steps than any p and c need: the iteration stops by itself after two to five."""


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
    """max{q : kl(p, q) <= c}, by Halley's method from the right.

    Two bounds lie right of the root: kl(p, x) >= (x-p)²/(2v) with v the largest x(1-x) on [p, 1],
    and kl(p, x) >= -H(p) - (1-p) log(1-x), H the binary entropy.
    """
    if c <= 0.0:
        return p
    if p >= 1.0:
        return 1.0
    if p <= 0.0:
        return -math.expm1(-c)
    reach = c - p * math.log(p) - (1.0 - p) * math.log1p(-p)  # c + H(p)
    variance = p * (1.0 - p) if p > 0.5 else 0.25
    start = p + math.sqrt(2.0 * c * variance)
    if start > 0.9:
        start = min(start, 1.0 - math.exp(-reach / (1.0 - p)))
    return solve_upper(p, reach, start)


def solve_upper(p: float, reach: float, q: float) -> float:
    """The q > p with -p log q - (1-p) log(1-q) = reach, from a start q > p; 0 < p < 1.

    Halley's method: with f the excess of the left side, f' = (q-p)/(q(1-q)) and
    f'' = p/q² + (1-p)/(1-q)², the step 2ff'/(2f'² - ff'') converges cubically. A step that would
    leave (p, 1) goes half the way instead.
    """
    for _ in range(STEPS):
        if q >= 1.0:
            return 1.0
        excess = -p * math.log(q) - (1.0 - p) * math.log1p(-q) - reach
        rest = 1.0 - q
        slope = (q - p) / (q * rest)
        bend = p / (q * q) + (1.0 - p) / (rest * rest)
        denominator = 2.0 * slope * slope - excess * bend
        step = 2.0 * excess * slope / denominator if denominator > 0.0 else excess / slope
        if step >= q - p:
            step = 0.5 * (q - p)
        elif step <= -rest:
            step = -0.5 * rest
        q -= step
        if abs(step) <= 1e-5 * min(q - p, rest):
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
    tilt = epsilon * x if x > 0.0 else 0.0  # ε may be infinite
    return min(-math.expm1(-(tilt + c)) / -math.expm1(-epsilon), 1.0)
