"""Two steps of a round laid out for compiled code: the same numbers, sooner.

Gaussian contexts draw all features first, and move them to their mean afterwards.

Optimism works out all indices before it looks for the largest, so that the compiler can take eight
actions into one register: every index is made of the same sums in the same order as in
`choose_optimistic`, and the choice is the same to the last bit. Places are unsigned, which tells
the compiler that none is counted from the end.

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
    from ..draws import Draws
    from .contexts import Normal
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


def offer_normal_wide(state: Normal, actions: Floats, rng: Draws) -> bool:
    """N(mean, sd² I) for every action, scaled into the unit ball if asked."""
    rng.normals(actions)
    dimension = len(state.mean)
    for start in range(0, len(actions), dimension):
        square = 0.0
        for i in range(dimension):
            value = state.mean[i] + state.sd * actions[start + i]
            actions[start + i] = value
            square += value * value
        if state.ball and square > 1.0:
            scale = 1.0 / math.sqrt(square)
            for i in range(dimension):
                actions[start + i] *= scale
    return True
