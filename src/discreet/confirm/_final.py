"""Tests of two arms from the cells of a trial in epochs: statistics that adaptive shares and shared
trends leave valid.

Epoch e has n₁, n₀ places whose order is random, and noisy sums X₁, X₀; d = X₁/n₁ - X₀/n₀ and
s(m, n) = Σ_a m_a(1-m_a)/n_a + v/n_a², v the noise's variance.

    W  D = Σωd/Σω, 1/ω = ¼(1/n₁+1/n₀) + v(1/n₁²+1/n₀²), variance Σω²s/(Σω)²
    B  Z = Σ√N d/√s / √ΣN, N = n₁+n₀ *fixed in advance* (batched: Zhang, Janson & Murphy 2020);
       D = ΣUd/ΣU, standard error √ΣN/ΣU, U = √(N/s)

In s, m is over all cells so far, shrunk by κ: pooled for Z, by arm for the standard error. Given
the past, d/√s is near N(0, 1) whatever the shares, so B is near normal as cells grow, without a
best arm too, and over epochs it has independent increments: the clock is ΣN. W needs Σω near a
number that is fixed, which least shares bring. In both a trend that the arms share cancels.

    anytime  D of W ± √((V+r) log((V+r)/(rα²)))/V, V = Σω: at all epochs at once (Robbins 1970;
             asymptotic: Waudby-Smith et al. 2024), r such that it is narrowest at V* planned
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from ._noises import Noise

if TYPE_CHECKING:
    from .._types import Array, Floats


@dataclass(frozen=True)
class Cells:
    """Places and noisy sums of treatment and control, by epoch (first axis) and trial."""

    n1: Array
    n0: Array
    x1: Array
    x0: Array

    @property
    def differences(self) -> Floats:
        """d, epoch by epoch."""
        return np.asarray(self.x1 / self.n1 - self.x0 / self.n0)

    def until(self, epochs: int) -> Cells:
        """The first so many epochs."""
        return Cells(*(part[:epochs] for part in (self.n1, self.n0, self.x1, self.x0)))


@dataclass(frozen=True)
class Final:
    """What the cells of a trial say: Z, the difference and its standard error.

    Example:
        >>> import discreet
        >>> plan = discreet.confirm.epochs(150, epsilon=2.0, runs=1_000)
        >>> found = plan.verdict([(25, 25, 22, 5), (35, 15, 30, 3)]).final
        >>> round(found.difference, 3), round(found.se, 3)
        (0.68, 0.115)
    """

    z: float
    difference: float
    se: float


def _rate(total: Floats, n: Floats, shrink: float) -> Floats:
    """m, shrunk by κ."""
    return np.clip((total + shrink) / (n + 2.0 * shrink), 0.0, 1.0)


def pooled_spread(cells: Cells, noise: Noise) -> Floats:
    """s, with one rate for both arms."""
    total = (cells.x1 + cells.x0).sum(0)
    m = _rate(total, (cells.n1 + cells.n0).sum(0), noise.shrinkage)
    return _spread(cells, m, m, noise)


def spread_by_arm(cells: Cells, noise: Noise) -> Floats:
    """s, each arm with its rate."""
    shrink = max(noise.shrinkage, 0.5)  # without noise too no arm is taken to be sure
    m1 = _rate(cells.x1.sum(0), cells.n1.sum(0), shrink)
    m0 = _rate(cells.x0.sum(0), cells.n0.sum(0), shrink)
    return _spread(cells, m1, m0, noise)


def _spread(cells: Cells, m1: Floats, m0: Floats, noise: Noise) -> Floats:
    v = noise.variance
    first = m1 * (1.0 - m1) / cells.n1 + v / cells.n1**2
    second = m0 * (1.0 - m0) / cells.n0 + v / cells.n0**2
    return np.maximum(first + second, 1e-12)  # no noise and no outcome but 0: d is 0 too


def weights(cells: Cells, noise: Noise) -> Floats:
    """ω: one over the largest variance of d."""
    noisy = noise.variance * (1.0 / cells.n1**2 + 1.0 / cells.n0**2)
    return np.asarray(1.0 / (0.25 * (1.0 / cells.n1 + 1.0 / cells.n0) + noisy))


def weighted_z(cells: Cells, noise: Noise) -> Floats:
    """Z of W."""
    w = weights(cells, noise)
    spread = (w**2 * pooled_spread(cells, noise)).sum(0)
    return np.asarray((w * cells.differences).sum(0) / np.sqrt(spread))


def batched_z(cells: Cells, noise: Noise) -> Floats:
    """Z of B."""
    size = cells.n1 + cells.n0
    steps = np.sqrt(size / pooled_spread(cells, noise)) * cells.differences
    return np.asarray(steps.sum(0) / np.sqrt(size.sum(0)))


def weighted(cells: Cells, noise: Noise) -> Final:
    """W, of one trial."""
    w = weights(cells, noise)
    se = np.sqrt((w**2 * spread_by_arm(cells, noise)).sum(0)) / w.sum(0)
    gap = (w * cells.differences).sum(0) / w.sum(0)
    return Final(_one(weighted_z(cells, noise)), _one(gap), _one(se))


def batched(cells: Cells, noise: Noise) -> Final:
    """B, of one trial."""
    size = cells.n1 + cells.n0
    u = np.sqrt(size / spread_by_arm(cells, noise))
    gap, se = (u * cells.differences).sum(0) / u.sum(0), np.sqrt(size.sum(0)) / u.sum(0)
    return Final(_one(batched_z(cells, noise)), _one(gap), _one(se))


def _one(value: Floats) -> float:
    return float(np.asarray(value).reshape(-1)[0])


@lru_cache(maxsize=32)
def mixing(risk: float) -> float:
    """V*/r that makes the anytime interval narrowest at V*: 8.21 at risk .05."""
    found = minimize_scalar(
        lambda x: (1.0 + 1.0 / x) * (2.0 * math.log(1.0 / risk) + math.log1p(x)),
        bounds=(1e-3, 1e4), method="bounded", options={"xatol": 1e-9},
    )  # fmt: skip
    return float(found.x)


def anytime(cells: Cells, noise: Noise, planned: float, risk: float) -> tuple[float, float]:
    """An interval for the difference that holds at all epochs at once; `planned` is V*."""
    v, r = _one(weights(cells, noise).sum(0)), planned / mixing(risk)
    half = math.sqrt((v + r) * (2.0 * math.log(1.0 / risk) + math.log((v + r) / r))) / v
    middle = weighted(cells, noise).difference
    return max(middle - half, -1.0), min(middle + half, 1.0)
