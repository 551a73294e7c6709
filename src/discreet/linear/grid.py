"""Fixed point for live trials: features and rewards as whole numbers, so that sums are exact.

    feature = longest/2^20 units,   reward = max(|low|, |high|)/2^20 units

A float grid betrays the value under the noise (Mironov 2012). On whole numbers a sum Σ a r is
exact, its sensitivity is computed exactly, and discrete noise hides it.

>>> grid = Grid(longest=2.0, low=0.0, high=1.0)
>>> grid.features([1.0, -2.0]), grid.reward(0.5)
([524288, -1048576], 524288)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..privacy.source import RESOLUTION

if TYPE_CHECKING:
    from ..privacy.budgets import Budget

ROOM = 1.0 + 1e-12
"""Makes up for the rounding of a product of a noise scale and a length, or a root."""


@dataclass(frozen=True)
class Grid:
    """Units for actions up to a length, and for rewards in a range."""

    longest: float = 1.0
    low: float = -1.0
    high: float = 1.0

    @property
    def feature_step(self) -> float:
        """A unit of features."""
        return self.longest / RESOLUTION

    @property
    def reward_step(self) -> float:
        """A unit of rewards."""
        return max(abs(self.low), abs(self.high)) / RESOLUTION

    @property
    def unit(self) -> float:
        """Units of a product of a feature of 1 and a reward of 1."""
        return 1.0 / (self.feature_step * self.reward_step)

    def features(self, values: Iterable[float]) -> list[int]:
        """Features in whole units."""
        step = self.feature_step
        return [round(value / step) for value in values]

    def plain(self, features: Iterable[int]) -> list[float]:
        """Features again as numbers."""
        step = self.feature_step
        return [feature * step for feature in features]

    def reward(self, value: float) -> int:
        """A reward in whole units."""
        return round(value / self.reward_step)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest reward, in units."""
        return self.reward(self.low), self.reward(self.high)

    def scale_per_length(self, budget: Budget) -> float:
        """σ, in units, of noise on Σ a r, for an action whose length is one unit of features.

        One reward moves the sum by (r - r') a, at most the span of the rewards times ||a||.
        """
        from ..privacy import secure

        low, high = self.ends
        # for an action of length `longest`, then divided by a power of two, which is exact
        scale = secure.vector_gaussian_scale(budget, (high - low) * RESOLUTION)
        return scale / RESOLUTION * ROOM
