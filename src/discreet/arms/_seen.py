"""Rewards of any environment, moved into a range one by one before they are summed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from discreet._compiled import Function, Kernel
from discreet.arms._arranged import draw_inside

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats


class Seen(NamedTuple):
    """The state of the environment inside; low, high, and what a reward is multiplied by."""

    inside: NamedTuple
    ends: Floats


def draw_seen(state: Seen, arm: int, rounds: int, t: int, rng: Generator) -> tuple[float, int]:
    """Sum of min(max(reward, low), high) · factor."""
    low, high, factor = state.ends[0], state.ends[1], state.ends[2]
    total = 0.0
    for played in range(rounds):
        reward, served = draw_inside(state.inside, arm, 1, t + played, rng)
        if served == 0:
            return total, played
        total += min(max(reward, low), high) * factor
    return total, rounds


@lru_cache(maxsize=64)
def seen_by(draw: Function) -> Kernel:
    """One kernel for one environment's draw, so that its loop is linked once."""
    return Kernel(draw_seen, draw_inside=draw)


def fresh_seen(inside: NamedTuple, low: float, high: float, factor: float = 1.0) -> Seen:
    """Before the first reward."""
    import numpy as np

    return Seen(inside, np.array([low, high, factor]))
