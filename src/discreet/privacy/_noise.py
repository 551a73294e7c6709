"""Simulated noise: seedable floats that protect NO ONE, for simulation only.

A float grid betrays the value under the noise (Mironov 2012), and a seed can be replayed; anything
that touches a real person draws from `secure` instead. The distributions are the same.

Plain functions in numba's nopython subset, left undecorated: they run interpreted, or compiled by
anyone who links them, with the same numbers for the same generator.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.random import Generator


def zero(scale: float, rng: Generator) -> float:
    """No noise at all: the non-private twin."""
    return 0.0


def laplace(scale: float, rng: Generator) -> float:
    """Lap(b), density exp(-|x|/b)/(2b): the difference of two exponentials of mean b."""
    return scale * (rng.standard_exponential() - rng.standard_exponential())


def gaussian(scale: float, rng: Generator) -> float:
    """N(0, σ²)."""
    return scale * rng.standard_normal()


def whole_laplace(scale: float, rng: Generator) -> float:
    """Discrete Laplace noise on whole numbers, P[k] proportional to exp(-|k|/b): the difference of
    two geometric numbers, for the whole part of an exponential number of mean b is geometric."""
    first = math.floor(scale * rng.standard_exponential())
    return float(first - math.floor(scale * rng.standard_exponential()))


def whole_gaussian(scale: float, rng: Generator) -> float:
    """Discrete Gaussian noise on whole numbers, P[k] proportional to exp(-k²/(2σ²)): discrete
    Laplace noise, thinned out (Canonne, Kamath & Steinke 2020, algorithm 3)."""
    wide = math.floor(scale) + 1.0
    while True:
        first = math.floor(wide * rng.standard_exponential())
        drawn = float(first - math.floor(wide * rng.standard_exponential()))
        beyond = (abs(drawn) - scale * scale / wide) / scale
        if rng.random() < math.exp(-0.5 * beyond * beyond):
            return drawn


def truncated_laplace(epsilon: float, delta: float, rng: Generator) -> float:
    """Truncated Laplace noise for sensitivity 1 (Geng, Ding, Guo & Kumar 2020; Wang & Zhu 2024).

    With c = (e^ε - 1)/δ, m uniform on (0, 1/2] and s a fair sign: s[log1p(c/2) - log1p(cm)]/ε;
    δ = 0: -s log(2m)/ε, which is Laplace; ε = 0: s(1/2 - m)/δ, which is uniform. Its density
    is proportional to e^(-ε|x|) on |x| <= log1p(c/2)/ε, and a shift by 1 leaves mass δ uncovered.
    """
    m = 0.5 - 0.5 * rng.random()
    sign = 1.0 if rng.random() < 0.5 else -1.0
    if delta == 0.0:
        return -sign * math.log(2.0 * m) / epsilon
    if epsilon == 0.0:
        return sign * (0.5 - m) / delta
    # (1 + c/2) / (1 + cm) = 1 + (c/2 - cm)/(1 + cm): neither overflows nor cancels
    grown, slack = -math.expm1(-epsilon), delta * math.exp(-epsilon)
    return sign * math.log1p(grown * (0.5 - m) / (slack + grown * m)) / epsilon


def randomised_response(reward: float, epsilon: float, rng: Generator) -> float:
    """CTB (Ren et al. 2020): 1 with probability (r e^ε + 1 - r)/(1 + e^ε), for r in [0, 1]."""
    truth = 1.0 / (1.0 + math.exp(-epsilon))
    return 1.0 if rng.random() < reward * truth + (1.0 - reward) * (1.0 - truth) else 0.0
