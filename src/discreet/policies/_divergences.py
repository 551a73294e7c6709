"""Divergences between Bernoulli distributions and the upper confidence bounds that they define.

- kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), with its limits at 0 and 1.
- kl_upper(p, c) = max{q in [p, 1] : kl(p, q) <= c}.
- d_ε(x, y) = inf over z in [x, y] of ε|z-x| + kl(z, y), the information that an ε-private release
  leaves (Azize et al. 2025); 0 for x > y.
- private_upper(x, c, ε) = max{q in [x, 1] : d_ε(x, q) <= c}.
- noisy_divergence(x, y, w, κ) = sup over l >= 0 of -log(1-y+y e^-l) - lx - w κ(l), Chernoff's
  exponent of a mean of at most x from rewards of mean y, with w draws of noise for each reward and
  κ the log-moment of one; 0 for x >= y. With N(0, σ²) it is inf_z (z-x)²/(2wσ²) + kl(z, y).

Plain functions for kernels: see `discreet._compiled`.
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
    leave (p, 1) goes half the way instead. Close to 1 floats are 1e-16 apart, and a step that is
    shorter leads nowhere.
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
        if abs(step) <= 1e-5 * min(q - p, rest) or (rest < 1e-9 and abs(step) <= 1e-16):
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


def noisy_divergence(x: float, y: float, draws: float, variance: float, scale: float) -> float:
    """sup over l >= 0 of -log(1-y+y e^-l) - lx - w κ(l), by Newton's method; 0 if x >= y.

    κ(l) = l²σ²/2 - log(1 - l²b²) for noise N(0, σ²) + Lap(b), of which one is usually 0; w `draws`
    for each reward. The slope z(l) - x - w κ'(l), z(l) = y e^-l/(1-y+y e^-l), falls with l, from
    y - x at 0 to below 0 at wσ²l = y - x or before 1/b. Newton's method takes it times 1 - l²b²,
    which has no pole; where a step would leave what is left of the bracket, or not be half as long
    as the last one, the bracket is halved instead. After a step of 1e-3 l is off by some 1e-6, and
    the value, which is stationary there, by some 1e-12.
    """
    if x >= y:
        return 0.0
    if variance + scale <= 0.0:
        return kl(x, y)
    most = 1.0 / scale if scale > 0.0 else math.inf
    low, high = 0.0, most if scale > 0.0 else (y - x) / (draws * variance)
    tilt = first_tilt(x, y, draws, variance, scale)
    moved = math.inf
    for _ in range(STEPS):
        z = 1.0
        if y < 1.0:
            kept = y * math.exp(-tilt)
            z = kept / (1.0 - y + kept)
        bent = scale * tilt
        room = 1.0 - bent * bent
        drift = z - x - draws * variance * tilt
        value = drift * room - 2.0 * draws * scale * bent
        if value > 0.0:
            low = tilt
        else:
            high = tilt
        fall = (z * (1.0 - z) + draws * variance) * room
        fall += 2.0 * scale * (bent * drift + draws * scale)
        new = tilt + value / fall if fall > 0.0 else low
        if not low <= new <= high or abs(new - tilt) > 0.5 * moved:
            new = 0.5 * (low + high)
        moved = abs(new - tilt)
        tilt = new
        if moved <= 1e-3 * min(tilt, most - tilt):
            break
    return noisy_exponent(x, y, draws, variance, scale, tilt)


def noisy_floor(x: float, y: float, draws: float, variance: float, scale: float) -> float:
    """At most `noisy_divergence`: its value where Newton's method starts; 0 if x >= y."""
    if x >= y or variance + scale <= 0.0:
        return 0.0
    tilt = first_tilt(x, y, draws, variance, scale)
    return noisy_exponent(x, y, draws, variance, scale, tilt)


def first_tilt(x: float, y: float, draws: float, variance: float, scale: float) -> float:
    """The step of Newton's method from l = 0, if it is within the bracket."""
    tilt = (y - x) / (y * (1.0 - y) + draws * (variance + 2.0 * scale * scale))
    if scale * tilt >= 1.0:
        tilt = 0.5 / scale
    return tilt


def noisy_exponent(
    x: float, y: float, draws: float, variance: float, scale: float, tilt: float
) -> float:
    """-log(1-y+y e^-l) - lx - w κ(l), and at least 0."""
    noise = 0.5 * variance * tilt * tilt
    if scale > 0.0:
        noise -= math.log1p(-((scale * tilt) ** 2))
    if y >= 1.0:
        fall = tilt
    elif tilt < 1.0:
        fall = -math.log1p(y * math.expm1(-tilt))
    else:
        fall = -math.log(1.0 - y + y * math.exp(-tilt))
    return max(fall - tilt * x - draws * noise, 0.0)
