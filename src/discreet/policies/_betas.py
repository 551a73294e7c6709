"""Upper tails of Beta distributions, for rules that take the largest of many Beta draws.

Of many draws only the largest matters. An arm whose mean is below the largest draw so far can
only win if one uniform falls into its upper tail, and a cheap bound of the tail rules that out
almost always: Beta(a, b) is sub-Gaussian with variance proxy 1/(4(a+b+1)) (Marchal & Arbel 2017).
A sharper bound, `tail_bound`, leaves about one tail too many in five. What is not ruled out is
decided exactly, by the incomplete Beta function: the same distribution as drawing every arm, at a
fraction of the cost.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator


TINY = 1e-300
TWO_PI = 2.0 * math.pi
SIXTH = 1.0 / 6.0
CLOSE = 2.0
"""Below this exponent of the tail bound an arm is drawn outright: it wins too often to wait."""


def beta_tail(a: float, b: float, x: float) -> float:
    """P(Beta(a, b) > x), by Lentz's continued fraction of the incomplete Beta function."""
    if x <= 0.0:
        return 1.0
    if x >= 1.0:
        return 0.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(front + a * math.log(x) + b * math.log1p(-x))
    if x > (a + 1.0) / (a + b + 2.0):
        return min(front * continued(b, a, 1.0 - x) / b, 1.0)
    return max(1.0 - front * continued(a, b, x) / a, 0.0)


def tail_bound(a: float, b: float, x: float) -> float:
    """A number above P(Beta(a, b) > x), for a, b >= 1 and x in (0, 1) above the mean; 1 if the
    bound says nothing.

    The density is log-concave, so beyond x it falls at least as fast as there: the tail is at most
    f(x)/((b-1)/(1-x) - (a-1)/x). Stirling's formula bounds f: with n = a+b and m = a/n,
    x(1-x) f(x) <= sqrt(ab/(2πn)) exp(1/(12n) - n kl(m, x)).
    """
    n = a + b
    fall = (n - 2.0) * x - (a - 1.0)  # x(1-x) times how fast the logarithm of f falls
    if fall <= 0.0:
        return 1.0
    exponent = 1.0 / (12.0 * n) - a * math.log(a / (n * x)) - b * math.log(b / (n * (1.0 - x)))
    return math.sqrt(a * b / (TWO_PI * n)) * math.exp(exponent) / fall


def continued(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete Beta function I_x(a, b), without its front."""
    c = 1.0
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > TINY else TINY)
    h = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        d = 1.0 + even * d
        c = 1.0 + even / c
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = c if abs(c) > TINY else TINY
        h *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        d = 1.0 + odd * d
        c = 1.0 + odd / c
        d = 1.0 / (d if abs(d) > TINY else TINY)
        c = c if abs(c) > TINY else TINY
        h *= d * c
        if abs(d * c - 1.0) < 1e-14:
            break
    return h


def beta_upper_quantile(a: float, b: float, probability: float, above: float) -> float:
    """The x > above with P(Beta(a, b) > x) = probability, by Newton's method kept in brackets."""
    low, high, x = above, 1.0, above
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(100):
        excess = beta_tail(a, b, x) - probability
        if excess > 0.0:
            low = x
        else:
            high = x
        density = math.exp(front + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x))
        following = x + excess / density if density > 0.0 else high
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 1e-12:
            return following
        x = following
    return x


def beta_beyond(a: float, b: float, level: float, rng: Generator) -> float:
    """A draw of Beta(a, b) if it is above the level; else something that is not."""
    gap = level - a / (a + b)
    exponent = 2.0 * (a + b + 1.0) * gap * gap
    if gap <= 0.0 or exponent < CLOSE:
        return float(rng.beta(a, b))
    u = rng.random()
    # e^x >= 1+x+x²/2+x³/6 settles nearly all cases without an exponential
    growth = 1.0 + exponent * (1.0 + exponent * (0.5 + SIXTH * exponent))
    if u * growth >= 1.0 or u >= math.exp(-exponent) or level >= 1.0:
        return -1.0
    # not by a hair, so that rounding decides nothing
    if u >= tail_bound(a, b, level) * (1.0 + 1e-6) or u >= beta_tail(a, b, level):
        return -1.0
    return beta_upper_quantile(a, b, u, level)
