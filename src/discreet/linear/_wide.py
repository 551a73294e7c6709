"""Steps of a round laid out for compiled code: the same numbers, faster.

Gaussian contexts draw all features in one go.

Optimism works out all indices before it looks for the largest, so that the compiler can take eight
actions into one register: every index is built from the same sums in the same order as in
`choose_optimistic`, and the choice is the same to the last bit. The rank-one update reads four
entries before it writes them, since the compiler must suppose that what is written may be read
next. Places are unsigned, which tells it that none is counted from the end.

Imports numpy, so nothing imports this before a run is played.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from .._compiled import Floats
    from .._draws import Draws
    from ._contexts import Normal
    from ._view import LinearView

unsigned = cast("Callable[[int], int]", np.uint64)
ZERO, ONE, TWO, THREE, FOUR = (unsigned(place) for place in range(5))


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
    rng.normals(actions, state.means, state.sd)
    if state.ball:
        d, size = unsigned(len(state.mean)), unsigned(len(actions))
        for start in range(ZERO, size, d):
            square = 0.0
            for i in range(d):
                square += actions[start + i] * actions[start + i]
            if square > 1.0:
                scale = 1.0 / math.sqrt(square)
                for i in range(d):
                    actions[start + i] *= scale
    return True


def grow_wide(
    matrix: Floats, inverse: Floats, along: Floats, x: Floats, start: int, weight: float,
    dimension: int,
) -> float:  # fmt: skip
    """`grow`: V += w x x' and V^-1 with it; det V grows by the factor returned."""
    d, first = unsigned(dimension), unsigned(start)
    grown = 1.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += inverse[i * d + j] * x[first + j]
        along[i] = total
        grown += weight * x[first + i] * total
    fours = d - d % FOUR
    for i in range(d):
        xi, yi, row = weight * x[first + i], weight * along[i] / grown, i * d
        for j in range(ZERO, fours, FOUR):
            at, to = row + j, first + j
            x0, x1, x2, x3 = x[to], x[to + ONE], x[to + TWO], x[to + THREE]
            y0, y1, y2, y3 = along[j], along[j + ONE], along[j + TWO], along[j + THREE]
            v0, v1 = matrix[at] + xi * x0, matrix[at + ONE] + xi * x1
            v2, v3 = matrix[at + TWO] + xi * x2, matrix[at + THREE] + xi * x3
            w0, w1 = inverse[at] - yi * y0, inverse[at + ONE] - yi * y1
            w2, w3 = inverse[at + TWO] - yi * y2, inverse[at + THREE] - yi * y3
            matrix[at], matrix[at + ONE], matrix[at + TWO], matrix[at + THREE] = v0, v1, v2, v3
            inverse[at], inverse[at + ONE], inverse[at + TWO], inverse[at + THREE] = w0, w1, w2, w3
        for j in range(fours, d):
            matrix[row + j] += xi * x[first + j]
            inverse[row + j] -= yi * along[j]
    return grown
