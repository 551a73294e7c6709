"""The numbers of a race, all fixed in advance: its marks, and how far an arm may fall behind.

See `identify.race` for the rule and its proof, `simulator.calendar.races` for races on a calendar.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def race_marks(arms: int, horizon: int, first: int, ratio: float = 1.5) -> tuple[int, ...]:
    """Marks that grow by `ratio`, and by one at least, T/K among them, from at least `first` to
    T/2."""
    marks = [max(1, horizon // arms)]
    while marks[-1] / ratio >= first:
        marks.append(math.floor(marks[-1] / ratio))
    marks = sorted(set(marks))
    while max(marks[-1] * ratio, marks[-1] + 1) <= horizon / 2:
        # two arms that are left have more places than T/K
        marks.append(max(math.floor(marks[-1] * ratio), marks[-1] + 1))
    return tuple(marks)


def threshold(mark: int, look: int, arms: int, epsilon: float, alpha: float) -> float:
    """x_j, by golden section: what is minimised has one minimum in θ."""
    risk = math.log(arms * (arms - 1) * look * (look + 1) / alpha)

    def bound(theta: float) -> float:
        noise = 0.0
        if math.isfinite(epsilon):
            noise = -2.0 * look * math.log1p(-((theta / epsilon) ** 2))
        return (theta * theta * mark / 4.0 + noise + risk) / theta

    return smallest(bound, epsilon, math.sqrt(4.0 * risk / mark))


def half_width(mark: int, look: int, arms: int, epsilon: float, alpha: float) -> float:
    """c_j: the mean of an arm is within c_j of its released mean, at all looks with 1 - α.

    c_j = min over θ < ε of [θ² b/8 - j log(1 - θ²/ε²) + log(2K j (j+1)/α)] / (θ b).
    """
    risk = math.log(2 * arms * look * (look + 1) / alpha)

    def bound(theta: float) -> float:
        noise = 0.0
        if math.isfinite(epsilon):
            noise = -look * math.log1p(-((theta / epsilon) ** 2))
        return (theta * theta * mark / 8.0 + noise + risk) / (theta * mark)

    return smallest(bound, epsilon, math.sqrt(8.0 * risk / mark))


def smallest(bound: Callable[[float], float], epsilon: float, open_minimum: float) -> float:
    """The minimum over 0 < θ < ε, which lies at or below the one without noise."""
    low, high = 0.0, open_minimum
    if math.isfinite(epsilon):
        high = min(high, epsilon * (1.0 - 1e-12))
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return float(bound(0.5 * (low + high)))
