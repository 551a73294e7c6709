"""Trade-off curves: the power of a test at every level of false alarms.

A curve is a list of vertices (level, power) from (0, 0) to (1, 1). Levels between two of them are
reached by a coin at the threshold, so that vertices are joined by straight lines. Of a best test
    advantage = max (power - level),   AUC = the area,
    ε(δ) = max over vertices of log((power - δ)/level) and log((1 - level - δ)/(1 - power)), or 0.

>>> coin = Curve.of([0.25, 1.0], [0.75, 1.0])  # randomised response with ε = log 3
>>> coin.advantage, round(coin.epsilon(0.0), 4), round(coin.power_at(0.1), 4)
(0.5, 1.0986, 0.3)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._checks import number, probability

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import ArrayLike, NDArray

LEVELS = (0.001, 0.01, 0.05, 0.1)
"""False-alarm rates that summaries report the power at."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The trade-off curve of an attack: its power at every level of false alarms.

    Example:
        >>> from discreet import membership
        >>> curve = membership.Curve.of([0.1, 0.5], [0.4, 0.9])
        >>> round(curve.power_at(0.1), 2), round(curve.advantage, 2), round(curve.auc, 3)
        (0.4, 0.4, 0.755)
        >>> round(curve.epsilon(delta=0.01), 3)
        1.589
    """

    level: NDArray[float64]
    power: NDArray[float64]

    @classmethod
    def of(cls, level: ArrayLike, power: ArrayLike) -> Curve:
        """The curve through these points, its two ends added."""
        levels = np.concatenate([[0.0], np.asarray(level, float), [1.0]])
        powers = np.concatenate([[0.0], np.asarray(power, float), [1.0]])
        return cls(np.clip(levels, 0.0, 1.0), np.clip(powers, 0.0, 1.0))

    def power_at(self, level: float) -> float:
        """The power at a level, with a coin at the threshold where one is needed."""
        level = check_level(level)
        after = int(np.searchsorted(self.level, level, side="right"))
        if after == len(self.level):
            return float(self.power[-1])
        low, high = self.level[after - 1], self.level[after]
        share = (level - low) / (high - low)
        return float((1.0 - share) * self.power[after - 1] + share * self.power[after])

    @property
    def advantage(self) -> float:
        """The largest power - level."""
        return float(np.max(self.power - self.level))

    @property
    def auc(self) -> float:
        """The area below the curve."""
        return float(np.trapezoid(self.power, self.level))

    def epsilon(self, delta: float = 0.0) -> float:
        """The least ε whose (ε, δ) trade-off lies nowhere below this curve."""
        from ..audit._limits import epsilon_bound

        delta = probability("delta", delta, fix="choose a small number such as 1e-5")
        return float(np.max(epsilon_bound(self.power, self.level, delta)))

    def delta(self, epsilon: float) -> float:
        """The least δ with the same property: the larger hockey stick of both directions."""
        factor = math.exp(epsilon)
        forth = self.power - factor * self.level
        back = (1.0 - self.level) - factor * (1.0 - self.power)
        return max(0.0, float(np.max(forth)), float(np.max(back)))


def check_level(level: object) -> float:
    """A false-alarm rate in [0, 1]."""
    return number("level", level, low=0.0, high=1.0, fix="use for example 0.01")
