"""Gaussian budgets: they convert into concentrated and approximate ones, and pure ones into them.

>>> GaussianDP(1.0).to_zcdp()
ZCDP(rho=0.5)
>>> from discreet.privacy import Pure
>>> Pure(0.806) <= GaussianDP(1.0), Pure(0.807) <= GaussianDP(1.0)
(True, False)

Reference: Dong, Roth & Su 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from .. import _curves as curves
from ._formulas import gaussian_pure
from ._kinds import ZCDP, Budget, positive_delta
from ._parameters import parameter, records, shown, uses


@dataclass(frozen=True, slots=True)
class GaussianDP(Budget):
    """μ-Gaussian DP: no easier to distinguish than N(0, 1) and N(μ, 1).

    Args:
        mu: μ, from 0.

    Raises:
        InvalidArgument: If μ is not such a number.

    Example:
        >>> import discreet
        >>> discreet.GaussianDP(1.0).to_zcdp()
        ZCDP(rho=0.5)
    """

    mu: float
    kind: ClassVar[str] = "gaussian"

    def delta_at(self, epsilon: float) -> float:
        return curves.gaussian_delta(self.mu, parameter("epsilon", epsilon))

    def _epsilon_at(self, delta: float) -> float:
        return curves.gaussian_epsilon(self.mu, positive_delta(self, delta))

    def to_zcdp(self) -> ZCDP:
        return ZCDP(self.mu * self.mu / 2.0)

    def _implies(self, other: Budget) -> bool:
        if isinstance(other, GaussianDP):
            return self.mu <= other.mu
        return Budget._implies(self, other)

    def _implied_by(self, other: Budget) -> bool:
        """Pure budgets alone: `formulas.gaussian_pure`."""
        return other.to_pure().epsilon <= gaussian_pure(self.mu)

    def group(self, m: int) -> GaussianDP:
        return GaussianDP(records(m) * self.mu)

    def times(self, k: int) -> GaussianDP:
        return GaussianDP(math.sqrt(uses(k)) * self.mu)

    def split(self, k: int) -> GaussianDP:
        return GaussianDP(self.mu / math.sqrt(uses(k)))

    def __str__(self) -> str:
        return f"μ = {shown(self.mu)}"
