"""The steps of vectors and rewards, and the noise that hides their products.

A live trial counts in whole numbers, so that sums are exact:
    a step of features is longest/2^20,   one of rewards max(|low|, |high|)/2^20.
A float grid betrays the value under the noise (Mironov 2012). On whole numbers a sum Σ a r is
exact, its sensitivity is computed exactly, and discrete noise hides it. Simulations count in
floats, where a step is 1 (`FLOATS`). The grid's source says which of the two it is.

>>> grid = Grid(longest=2.0, low=0.0, high=1.0)
>>> grid.features([1.0, -2.0]), grid.reward(0.5)
([524288, -1048576], 524288)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..policies.releases._base import zeros
from ..privacy._mechanisms import Gaussian, Laplace
from ..privacy._source import RESOLUTION, SECURE, SIMULATED, Source
from ..privacy.budgets import Budget, Pure

if TYPE_CHECKING:
    from .._types import Floats

ROOM = 1.0 + 1e-12
"""Makes up for the rounding of a product of a noise scale and a length, or a root."""
ENTRY = RESOLUTION * RESOLUTION
"""Steps of a product of 1 of two numbers in [-1, 1], in a live trial."""


@dataclass(frozen=True)
class Grid:
    """Steps for actions up to a length, and for rewards in a range."""

    longest: float = 1.0
    low: float = -1.0
    high: float = 1.0
    source: Source = SECURE

    @property
    def feature_step(self) -> float:
        """A step of features."""
        return self.longest / RESOLUTION if self.source.secure else 1.0

    @property
    def reward_step(self) -> float:
        """A step of rewards."""
        return max(abs(self.low), abs(self.high)) / RESOLUTION if self.source.secure else 1.0

    @property
    def resolution(self) -> float:
        """Steps of a product of a feature of 1 and a reward of 1."""
        return 1.0 / (self.feature_step * self.reward_step)

    @property
    def entry(self) -> float:
        """Steps of a product of 1 inside the unit ball."""
        return float(ENTRY) if self.source.secure else 1.0

    @property
    def room(self) -> float:
        """Makes up for the rounding of a product with a noise scale, where noise must be proved."""
        return ROOM if self.source.secure else 1.0

    def features(self, values: Iterable[float]) -> list[int]:
        """Features in steps."""
        if not self.source.secure:
            return list(values)  # type: ignore[arg-type]  # floats, in simulations
        step = self.feature_step
        return [round(value / step) for value in values]

    def plain(self, features: Iterable[int]) -> list[float]:
        """Features again as numbers."""
        step = self.feature_step
        return [feature * step for feature in features]

    def reward(self, value: float) -> int:
        """A reward in steps."""
        if not self.source.secure:
            return value  # type: ignore[return-value]  # a float, in simulations
        return round(value / self.reward_step)

    def zeros(self, size: int) -> Floats:
        """Sums at zero: floats in simulation, exact integers on the secure path."""
        return zeros(size, self.source)

    def scale_per_length(self, budget: Budget, low: float, high: float) -> float:
        """σ, in steps, of noise on Σ a r, for an action whose length is one step of features.

        One reward moves the sum by (r - r') a, at most the span of the rewards times ||a||.
        """
        if not self.source.secure:
            return Gaussian.calibrated(budget, high - low).scale
        from ..privacy import _secure as secure

        # for an action of length `longest`, then divided by a power of two, which is exact
        span = self.reward(high) - self.reward(low)
        return secure.vector_gaussian_scale(budget, span * RESOLUTION) / RESOLUTION * ROOM

    def laplace_scale_per_length(self, epsilon: float, low: float, high: float) -> float:
        """Scale, in steps, of Laplace noise on Σ a r, for an action whose features add up, without
        signs, to one step: one reward moves the sum by the span of the rewards times ||a||_1."""
        if not self.source.secure:
            return Laplace.calibrated(Pure(epsilon), high - low).scale
        from ..privacy import _secure as secure

        span = self.reward(high) - self.reward(low)
        return secure.laplace_scale(epsilon, span * RESOLUTION) / RESOLUTION * ROOM

    def laplace_scale(self, epsilon: float, moved: float, levels: int) -> float:
        """Scale, in steps of an entry, of Laplace noise on `levels` sums, each of which one
        participant moves by at most `moved`."""
        if not self.source.secure:
            return levels * Laplace.calibrated(Pure(epsilon), moved).scale
        from ..privacy import _secure as secure

        room = 1.0 if float(moved).is_integer() else ROOM
        return secure.laplace_scale(epsilon, levels * math.ceil(moved * ENTRY * room))

    def gaussian_scale(self, budget: Budget, moved: float, levels: int) -> float:
        """The same for Gaussian noise, in the 2-norm, as a multiple of an entry of 1."""
        if not self.source.secure:
            return math.sqrt(levels) * Gaussian.calibrated(budget, moved).scale
        from ..privacy import _secure as secure

        whole = math.ceil(math.sqrt(levels) * moved * ENTRY * ROOM)
        return secure.vector_gaussian_scale(budget, whole) / ENTRY

    def drawn(self, scale: float) -> float:
        """A scale, in steps; if live noise cannot be drawn with it, that is said when a trial is
        planned, and not at its first release."""
        if self.source.secure:
            from ..privacy import _secure as secure

            secure.check_scale(scale)
        return scale


FLOATS = Grid(source=SIMULATED)
"""The steps of simulations."""
