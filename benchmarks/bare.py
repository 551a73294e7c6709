"""The same policies as bare numba loops: what a compiled round costs without anything around it.

The arithmetic and the draws are ours, number for number, with NumPy's own SFC64 generator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _ucb1(means: Any, horizon: int, rng: Any) -> float:
    arms, best = len(means), means.max()
    total, pulls, value = np.zeros(arms), np.zeros(arms, np.int64), np.zeros(arms)
    regret = 0.0
    for t in range(horizon):
        arm = t
        if t >= arms:
            level = 2.0 * math.log(t + 1.0)
            arm, largest = 0, -1e300
            for each in range(arms):
                index = value[each] + math.sqrt(level / pulls[each])
                if index > largest:
                    arm, largest = each, index
        total[arm] += 1.0 if rng.random() < means[arm] else 0.0
        pulls[arm] += 1
        value[arm] = total[arm] / pulls[arm]
        regret += best - means[arm]
    return regret


def ucb1(means: Sequence[float], horizon: int, seed: int, compiled_draws: bool = False) -> float:
    """UCB1 on Bernoulli arms, as run 0 of a simulation with this seed; the pseudo-regret.

    The draws are made by NumPy, as numba does it, or compiled into the loop as ours are.
    """
    child = np.random.SeedSequence(seed, spawn_key=(0,))
    if compiled_draws:
        from discreet._draws import draws
    rng = draws(child) if compiled_draws else np.random.Generator(np.random.SFC64(child))
    return float(_ucb1(np.array(means), horizon, rng))


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _uniforms(rng: Any, many: int) -> float:
    total = 0.0
    for _ in range(many):
        total += rng.random()
    return total


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _normals(rng: Any, many: int) -> float:
    total = 0.0
    for _ in range(many):
        total += rng.standard_normal()
    return total


@njit(nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _exponentials(rng: Any, many: int) -> float:
    total = 0.0
    for _ in range(many):
        total += rng.standard_exponential()
    return total


ENVIRONMENTS: dict[str, Any] = {
    "uniform": _uniforms,
    "normal": _normals,
    "exponential": _exponentials,
}


def draw(environment: str, many: int) -> float:
    """So many draws, summed, and nothing else."""
    from discreet._draws import draws

    return float(ENVIRONMENTS[environment](draws(np.random.SeedSequence(1)), many))


def steps(rng: np.random.Generator) -> int:
    """Words of 64 bits that a generator has given: SFC64 counts them."""
    state: Any = rng.bit_generator.state
    return int(state["state"]["state"][3])
