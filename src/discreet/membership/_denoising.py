"""What is left of a noisy mean of coins once the noise is averaged out: E[o | o + N(0, s²)].

The likelihood ratio of a column with z = 1 is Σ_k P(k-1; n-1)φ_k(x)/Σ_k P(k; n)φ_k(x), with φ_k
the density of x around k/n. Since P(k-1; n-1) = P(k; n)·k/(np), it is E[o | x]/p: the ratio of the
mean without noise at o = E[o | x]. The conditional mean is tabulated for every different p on a
grid much finer than s, and interpolated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ._sums import BinomialSums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    Matrix = NDArray[float64]

FINENESS = 16
"""Grid points in one standard deviation of the noise."""
REACH = 9.0


class Denoiser:
    """Conditional means, column by column."""

    def __init__(self, p: Matrix, n: int, noise: float) -> None:
        kinds, self.kind = np.unique(p, return_inverse=True)
        first, table = BinomialSums(kinds).table(n)
        mass = np.diff(table, prepend=0.0, axis=1)
        self.tables = [
            _table(mass[place], first[place], n, noise, float(kind))
            for place, kind in enumerate(kinds)
        ]

    def __call__(self, outputs: Matrix) -> Matrix:
        clean = np.empty((outputs.shape[1], outputs.shape[0]))
        for column, kind in enumerate(self.kind):
            grid, means = self.tables[kind]
            clean[column] = np.interp(outputs[:, column], grid, means)
        return clean.T


def _table(mass: Matrix, first: int, n: int, noise: float, p: float) -> tuple[Matrix, Matrix]:
    o = (first + np.arange(len(mass))) / n
    half = REACH * math.hypot(math.sqrt(p * (1.0 - p) / n), noise) + 2.0 / n
    grid = np.linspace(p - half, p + half, math.ceil(2.0 * half * FINENESS / noise) + 1)
    seen = mass > 0.0
    log_weight = np.log(mass[seen]) - ((grid[:, None] - o[seen]) / noise) ** 2 / 2.0
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return grid, weight @ o[seen] / weight.sum(axis=1)
