"""Group-sequential tests under the normal law: boundaries, and where a trial stops.

Statistics Z_1, ..., Z_L are jointly normal with variance 1, means μ_l and the correlations of a
Brownian motion read at a clock V_1 < ... < V_L: corr(Z_i, Z_j) = sqrt(V_i/V_j). The density of
those that go on is handed from look to look (Armitage, McPherson & Rowe 1969; Jennison & Turnbull
2000 [JT], §19.2), here by Gauss-Legendre nodes inside the boundaries.

    O'Brien-Fleming b_l = C/√t_l, Pocock b_l = C     [JT ch. 2], t_l = V_l/V_L
    Lan-DeMets      P(cross at look l) = f(t_l) - f(t_{l-1}), a side (1983) [JT ch. 7]:
                    f(t) = 2 - 2Φ(z_{α/2}/√t), or α log(1 + (e-1)t), α the risk of one side
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

if TYPE_CHECKING:
    from .._types import Floats

NODES = 300
FAR = 9.0
"""Beyond so many standard deviations nothing is counted: 2e-19."""


def obrien_fleming(t: float) -> float:
    return 1.0 / math.sqrt(t)


def pocock(t: float) -> float:
    return 1.0


def like_obrien_fleming(risk: float, t: float) -> float:
    return float(2.0 * ndtr(ndtri(risk / 2.0) / math.sqrt(t)))


def like_pocock(risk: float, t: float) -> float:
    return risk * math.log1p((math.e - 1.0) * t)


SHAPES = {"obrien-fleming": obrien_fleming, "pocock": pocock}
SPENDING = {"lan-demets": like_obrien_fleming, "lan-demets-pocock": like_pocock}


@cache
def _nodes() -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return x, w


def crossing(
    lower: Sequence[float], upper: Sequence[float], clock: Sequence[float], means: Sequence[float]
) -> tuple[Floats, Floats]:
    """P(first leaves above at look l) and P(first leaves below at look l), for each look."""
    above, below = np.zeros(len(clock)), np.zeros(len(clock))
    x, w = _nodes()
    before, density = np.zeros(1), np.ones(1)  # nodes in units of sqrt(V), and their masses
    passed, drift = 0.0, 0.0  # the clock, and the mean of the score √V Z
    for look, (low, high, now, mean) in enumerate(zip(lower, upper, clock, means, strict=True)):
        root, spread = math.sqrt(now), math.sqrt(now - passed)
        centres = before + (mean * root - drift)
        above[look] = density @ ndtr((centres - high * root) / spread)
        below[look] = density @ ndtr((low * root - centres) / spread)
        start, end = max(low, mean - FAR), min(high, mean + FAR)
        if start >= end:  # nobody goes on, but for 2e-19
            break
        after = root * (0.5 * (end - start) * x + 0.5 * (end + start))
        kernel = np.exp(-0.5 * ((after[:, None] - centres) / spread) ** 2)
        kernel /= spread * math.sqrt(2.0 * math.pi)
        density = (kernel @ density) * w * (0.5 * (end - start) * root)
        before, passed, drift = after, now, mean * root
    return above, below


def error(bounds: Sequence[float], clock: Sequence[float], sides: int) -> float:
    """P(cross) if there is no effect."""
    lower = [-b if sides == 2 else -math.inf for b in bounds]
    above, below = crossing(lower, bounds, clock, [0.0] * len(bounds))
    return float(above.sum() + below.sum())


@lru_cache(maxsize=64)
def boundaries(kind: str, clock: tuple[float, ...], risk: float, sides: int) -> tuple[float, ...]:
    """The boundaries of a kind at looks of that clock, for Z."""
    times = [now / clock[-1] for now in clock]
    if kind in SHAPES:
        shape = [SHAPES[kind](t) for t in times]
        scale = _root(lambda c: error([c * b for b in shape], clock, sides) - risk)
        return tuple(scale * b for b in shape)
    spent = 0.0
    bounds: list[float] = []
    for look, t in enumerate(times, 1):
        target = sides * SPENDING[kind](risk / sides, t)
        bounds.append(next_bound(bounds, clock[:look], sides, target, target - spent))
        spent = error(bounds, clock[:look], sides)
    return tuple(bounds)


def next_bound(
    bounds: list[float], clock: tuple[float, ...], sides: int, target: float, rest: float
) -> float:
    """The least next boundary at which P(cross) is the target, `rest` of it unspent."""
    if rest < 1e-15:
        return FAR
    return _root(lambda b: error([*bounds, b], clock, sides) - target)


def _root(falling: Callable[[float], float]) -> float:
    if falling(FAR) >= 0.0:
        return FAR
    return float(brentq(falling, 0.0, FAR, xtol=1e-10))
