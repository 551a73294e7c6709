"""Strides: as many steps as the allocation changes its mind, and the same distribution.

Between a release and the next nothing moves but the score of the arm that is chosen, so it stays
for a number of participants (`plans.index.stay_smallest`). k ~ Poisson(λ (due - t)) arrive before
the next release; the j-th of them comes at t + (due - t) Beta(j, k - j + 1), and is asked only when
a block closes. A block's sum is one draw, made when it is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._compiled import Function
from ...policies._schedules import LONGEST
from .._state import NEVER, SOON, Design, Head
from ._base import World
from ._calendar import BLOCKS

if TYPE_CHECKING:
    from numpy.random import Generator


def in_strides(world: World, design: Design, head: Head, rng: Generator) -> int:
    """Those who arrive before the next release."""
    if head.when[SOON] == NEVER:
        return LONGEST
    if world.drawn[0] < 0:
        world.drawn[0] = poisson(world.arrivals * (head.when[SOON] - world.now[0]), rng)
    if world.drawn[0] == 0:
        world.now[0], world.now[1], world.drawn[0] = head.when[SOON], 0.0, -1
        return 0
    return world.drawn[0]


def by_strides(world: World, head: Head, many: int, closes: bool, rng: Generator) -> float:
    """The moment of the last of them, if a block closes."""
    world.now[1] += many
    if world.drawn[0] >= 0:
        world.drawn[0] -= many
    if closes:
        before, since = rng.standard_gamma(world.now[1]), world.now[0]
        if world.drawn[0] < 0:
            world.now[0] += before / world.arrivals
        else:
            after = rng.standard_gamma(world.drawn[0] + 1.0)
            world.now[0] += (head.when[SOON] - since) * before / (before + after)
        world.now[1] = 0.0
    return world.now[0]


def poisson(mean: float, rng: Generator) -> int:
    """By gammas (Ahrens & Dieter 1974): numba's own makes arrays, and whatever it is compiled into
    then counts references at every step, ten times slower."""
    count = 0
    while mean > 12.0:
        many = int(0.875 * mean)
        reached = rng.standard_gamma(float(many))
        if reached > mean:
            return count + rng.binomial(many - 1, mean / reached)
        count, mean = count + many, mean - reached
    mean -= rng.standard_exponential()
    while mean >= 0.0:
        mean -= rng.standard_exponential()
        count += 1
    return count


STRIDES: dict[str, Function] = {**BLOCKS, "coming": in_strides, "passed": by_strides}
