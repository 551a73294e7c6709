"""Optimism as `choose_optimistic` has it, laid out for compiled code: several actions at a time.

All indices are worked out before the largest is looked for, so that the compiler can take eight
actions into one register: every index is made of the same sums in the same order, and the choice is
the same to the last bit. Places are unsigned, which tells it that none is counted from the end.
Imports numpy, so nothing imports this before a run is played.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from ..compiled import Floats
    from .view import LinearView

unsigned = cast("Callable[[int], int]", np.uint64)


def choose_wide(
    rule: object, view: LinearView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """argmax <θ~, a> + β~ ||a||_{V_τ^-1}, the first if several; `view.work` has room for K."""
    estimate, inverse, width, index = view.estimate, view.inverse, view.width[0], view.work
    d = unsigned(dimension)
    for arm in range(unsigned(arms)):
        start = arm * d
        square, value = 0.0, 0.0
        for i in range(d):
            row = 0.0
            for j in range(i):
                row += inverse[i * d + j] * actions[start + j]
            x = actions[start + i]
            square += x * (2.0 * row + inverse[i * d + i] * x)
            value += x * estimate[i]
        index[arm] = value + width * math.sqrt(max(square, 0.0))
    best, highest = 0, -math.inf
    for arm in range(arms):
        if index[arm] > highest:
            best, highest = arm, index[arm]
    return best
