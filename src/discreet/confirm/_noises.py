"""The noise on a block's sum: whole numbers, discrete Laplace or discrete Gaussian.

    Laplace   P(Y = y) = (1-a)/(1+a) a^|y|, a = e^(-1/b):  variance 2a/(1-a)²
    Gaussian  P(Y = y) ∝ exp(-y²/(2σ²)):  variance at most σ², summed here

One outcome is in one block and moves its sum by at most 1, so one scale serves all blocks, and all
of them together cost the budget once (parallel composition). Ghosh, Roughgarden & Sundararajan
2012; Canonne, Kamath & Steinke 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..privacy._mechanisms import Gaussian, Laplace
from ..privacy.budgets import Budget, Pure

if TYPE_CHECKING:
    from .._types import Floats

TAIL = 1e-12
"""Mass of a noise beyond its table, which the lattice counts as a rejection."""


@dataclass(frozen=True)
class Noise:
    """The noise on a released sum: `kind` is laplace, gaussian or none; `scale` is b or σ.

    Example:
        >>> import discreet
        >>> discreet.confirm.design(60, looks=1, epsilon=1.0).noise
        Noise(kind='laplace', scale=1.0)
        >>> round(discreet.confirm.Noise("laplace", 1.0).variance, 3)
        1.841
    """

    kind: str
    scale: float

    @cached_property
    def masses(self) -> Floats:
        """P(Y = y) for y from -r to r; what lies beyond is at most `TAIL`."""
        if self.kind == "none":
            return np.ones(1)
        if self.kind == "laplace":
            a = math.exp(-1.0 / self.scale)
            reach = math.ceil(-self.scale * math.log(TAIL))
            y = np.abs(np.arange(-reach, reach + 1))
            return np.asarray((1.0 - a) / (1.0 + a) * a**y)
        reach = math.ceil(self.scale * math.sqrt(-2.0 * math.log(TAIL))) + 1
        y = np.arange(-reach, reach + 1)
        weights = np.exp(-0.5 * (y / self.scale) ** 2)
        return np.asarray(weights / weights.sum())

    @property
    def variance(self) -> float:
        """Of one draw."""
        if self.kind == "laplace":
            a = math.exp(-1.0 / self.scale)
            return 2.0 * a / (1.0 - a) ** 2
        reach = len(self.masses) // 2
        return float(np.arange(-reach, reach + 1) ** 2 @ self.masses)

    @property
    def shrinkage(self) -> float:
        """κ, which holds rates off 0 and 1: 2b or √2σ."""
        return {"laplace": 2.0, "gaussian": math.sqrt(2.0), "none": 0.0}[self.kind] * self.scale


def noise_of(budget: Budget) -> Noise:
    """The least noise that keeps the budget: Laplace for ε alone, else Gaussian."""
    if not budget.is_finite:
        return Noise("none", 0.0)
    if isinstance(budget, Pure):
        return Noise("laplace", Laplace.calibrated(budget).scale)
    return Noise("gaussian", Gaussian.calibrated(budget, lattice=1).scale)
