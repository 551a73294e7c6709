"""The exact trade-off of Bernoulli columns: the distribution of the log-likelihood ratio by
convolution.

Columns are independent with and without the target, so ℓ = Σ_j ℓ_j and its distribution is a d-fold
convolution. By symmetry a column with z = 0 is one with z = 1 and p replaced by 1 - p. Of those
    ℓ(k) = log(k/(np)),   k ~ Bin(n, p) without the target,   k ~ 1 + Bin(n - 1, p) with it,
and k = 0 rules the target out (ℓ = -∞). The convolution is a product of Fourier transforms on a
grid, each atom split between its two neighbours so that means are kept; the grid is as wide as
Chernoff's bound asks for to lose less than 1e-15.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._curve import Curve

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Vector = NDArray[float64]

FINE, COARSE = 1 << 18, 1 << 16
"""Grid points, and how many where there are very many different columns."""
MANY = 256
LOST = 36.0
"""-log of the probability that may lie outside the grid."""


@dataclass(frozen=True, eq=False)
class LossLaw:
    """The distribution of ℓ on a grid: without the target, with it, and P(ℓ = -∞ without it)."""

    loss: Vector
    outside: Vector
    inside: Vector
    ruled_out: float

    def curve(self, subsample: float = 1.0) -> Curve:
        """The trade-off of the test on ℓ; with sub-sampling p_in is a mixture with p_out."""
        level = np.minimum(np.cumsum(self.outside[::-1]), 1.0)
        power = np.minimum(np.cumsum(self.inside[::-1]), 1.0)
        return Curve.of(level, (1.0 - subsample) * level + subsample * power)

    def delta(self, epsilon: float, subsample: float = 1.0) -> float:
        """The larger hockey stick of the two: with the target against without, and back.

        With p_in = (1-ρ)p_0 + ρp_1:   p_in - e^ε p_0 = ρ(p_1 - e^a p_0),  e^a = 1 + (e^ε - 1)/ρ;
        p_0 - e^ε p_in = c(p_0 - e^b p_1),  c = 1 - (1-ρ)e^ε,  e^b = ρe^ε/c, and nothing if c <= 0.
        """
        a = math.log1p(math.expm1(epsilon) / subsample)
        forth = subsample * float((self.inside * -np.expm1(np.minimum(a - self.loss, 0.0))).sum())
        c = 1.0 - (1.0 - subsample) * math.exp(epsilon)
        if c <= 0.0:
            return forth
        b = math.log(subsample) + epsilon - math.log(c)
        back = float((self.outside * -np.expm1(np.minimum(b + self.loss, 0.0))).sum())
        return max(forth, c * (back + self.ruled_out))


def bernoulli_loss(p: Vector, target: Vector, n: int) -> LossLaw:
    """The distribution of ℓ for a target and n records of Bernoulli columns."""
    agree = np.abs(p - (1.0 - target))  # the probability that a record agrees with the target
    kinds, counts = np.unique(agree, return_counts=True)
    columns = [
        _Column(float(kind), int(count), n) for kind, count in zip(kinds, counts, strict=True)
    ]
    low, high = _range(columns)
    size = FINE if len(columns) <= MANY else COARSE
    step = (high - low) / size
    transforms = [np.ones(size // 2 + 1, complex) for _ in range(2)]
    for column in columns:
        for side, mass in enumerate((column.outside, column.inside)):
            transform = np.fft.rfft(_on_grid(column.loss, mass, step, size))
            transforms[side] *= transform**column.count
    start = int(np.floor(low / step))
    outside, inside = (
        np.maximum(np.roll(np.fft.irfft(transform, size), -start), 0.0) for transform in transforms
    )
    log_kept = sum(column.count * np.log1p(-column.ruled_out) for column in columns)
    loss = np.asarray((start + np.arange(size)) * step, float)
    return LossLaw(loss, outside, inside, float(-np.expm1(log_kept)))


class _Column:
    """The atoms of one column's ℓ, k = 1, …, n, and how many columns are like it."""

    def __init__(self, p: float, count: int, n: int) -> None:
        from scipy.special import gammaln

        k = np.arange(1, n + 1, dtype=float)
        log_choose = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
        self.count = count
        self.loss = np.log(k / (n * p))
        self.outside = np.exp(log_choose + k * np.log(p) + (n - k) * np.log1p(-p))
        self.inside = self.outside * k / (n * p)
        self.ruled_out = float(np.exp(n * np.log1p(-p)))

    def log_moment(self, side: int, power: float) -> float:
        """log E e^(power·ℓ) of all columns of this kind."""
        mass = self.inside if side else self.outside
        with np.errstate(divide="ignore"):
            terms = np.log(mass) + power * self.loss
        return float(self.count * np.logaddexp.reduce(terms))


def _range(columns: list[_Column]) -> tuple[float, float]:
    """Where ℓ lies under both distributions but for e^-LOST: min over t of (log E e^(tℓ) +
    LOST)/t."""
    powers = np.geomspace(1e-2, 60.0, 40)

    def reach(side: int, sign: float) -> float:
        totals = (sum(column.log_moment(side, sign * t) for column in columns) for t in powers)
        return min(float((total + LOST) / t) for total, t in zip(totals, powers, strict=True))

    high = max(reach(0, 1.0), reach(1, 1.0))
    low = -max(reach(0, -1.0), reach(1, -1.0))
    margin = 1e-3 * (high - low) + 1e-6
    return low - margin, high + margin


def _on_grid(loss: Vector, mass: Vector, step: float, size: int) -> Vector:
    """Atoms on multiples of `step`, each split between its neighbours, indices modulo `size`."""
    place = np.floor(loss / step)
    share = loss / step - place
    below = place.astype(np.int64) % size
    grid = np.bincount(below, mass * (1.0 - share), minlength=size)
    grid = grid + np.bincount((below + 1) % size, mass * share, minlength=size)
    return np.asarray(grid, float)
