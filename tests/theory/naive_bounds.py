"""Slow and obvious twins of the bounds, written from their definitions: grids and solvers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize


def kl(p: float, q: float) -> float:
    """Σ p log(p/q) over two outcomes."""
    return kl_laws([p, 1.0 - p], [q, 1.0 - q])


def kl_laws(p: Sequence[float], q: Sequence[float]) -> float:
    """Σ p log(p/q)."""
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0.0:
            total += math.inf if b <= 0.0 else a * math.log(a / b)
    return total


def d_epsilon(x: float, y: float, epsilon: float) -> float:
    """The least ε|z-x| + kl(z, y) on a grid of z in [x, y]."""
    if x >= y:
        return 0.0
    return float(min(epsilon * (z - x) + kl(z, y) for z in np.linspace(x, y, 4_001)))


def klinf(values: Sequence[float], weights: Sequence[float], best: float) -> float:
    """The primal program: the least KL(P, Q) over Q on the same values and 1, mean >= best."""
    points = np.array([*values, 1.0])
    p = np.array([*weights, 0.0])

    def distance(q: np.ndarray) -> float:
        return kl_laws(list(p), list(q))

    lift = (best - float(p @ points)) / (1.0 - float(p @ points))
    start = (1.0 - lift - 0.01) * p + 0.005 / len(p)
    start[-1] += 1.0 - start.sum()
    solve: Any = minimize  # its stubs know no such constraints
    found = solve(
        distance, start, method="SLSQP", bounds=[(1e-12, 1.0)] * len(p),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
            {"type": "ineq", "fun": lambda q: q @ points - best},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    return float(found.fun)


def tvinf(values: Sequence[float], weights: Sequence[float], best: float) -> float:
    """The linear program: least Σ |p-q|/2 over Q on the same values and 1, mean >= best."""
    points = np.array([*values, 1.0])
    p = np.array([*weights, 0.0])
    n = len(p)
    # variables: q, then s >= |p - q|
    found = linprog(
        np.concatenate([np.zeros(n), 0.5 * np.ones(n)]),
        A_ub=np.vstack([
            np.hstack([np.eye(n), -np.eye(n)]),
            np.hstack([-np.eye(n), -np.eye(n)]),
            np.hstack([-points, np.zeros(n)]),
        ]),
        b_ub=np.concatenate([p, -p, [-best]]),
        A_eq=[np.concatenate([np.ones(n), np.zeros(n)])],
        b_eq=[1.0],
        bounds=[(0.0, None)] * (2 * n),
    )  # fmt: skip
    return float(found.fun)


def enough(gap: float, width: Callable[[float], float]) -> float:
    """The pulls after which twice the width of an index is the gap, by bisection."""
    low, high = 1e-6, 1e15
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if 2.0 * width(middle) > gap else (low, middle)
    return low


def characteristic_time(
    means: Sequence[float],
    epsilon: float,
    divergence: Callable[[float, float], float],
    variation: Callable[[float, float], float],
    steps: int = 60,
    beta: float | None = None,
) -> float:
    """T*(ε) by trying every allocation on a grid of the simplex; the alternatives too."""
    arms = len(means)
    best = max(range(arms), key=lambda a: means[a])
    least = math.inf
    for counts in itertools.product(range(1, steps), repeat=arms - 1):
        if sum(counts) >= steps and beta is None:
            continue
        if beta is None:
            shares = [count / steps for count in counts]
            shares.insert(best, 1.0 - sum(shares))
        else:
            shares = [(1.0 - beta) * count / sum(counts) for count in counts]
            shares.insert(best, beta)
        value = worth_of(means, shares, epsilon, divergence, variation, 41)
        if value > 0.0:
            least = min(least, 1.0 / value)
    return least


def worth_of(
    means: Sequence[float],
    shares: Sequence[float],
    epsilon: float,
    divergence: Callable[[float, float], float],
    variation: Callable[[float, float], float],
    points: int = 2001,
) -> float:
    """What an allocation is worth: the least over the other arms."""
    best = max(range(len(means)), key=lambda a: means[a])
    others = [a for a in range(len(means)) if a != best]
    return min(
        worth(
            (means[best], means[a]), (shares[best], shares[a]), epsilon, divergence, variation,
            points,
        )
        for a in others
    )  # fmt: skip


def worth(
    pair: tuple[float, float],
    shares: tuple[float, float],
    epsilon: float,
    divergence: Callable[[float, float], float],
    variation: Callable[[float, float], float],
    points: int,
) -> float:
    """inf over alternatives in which both arms have mean x of min(Σ ω KL, ε Σ ω TV)."""
    (top, low), (first, other) = pair, shares
    grid = np.linspace(low, top, points)
    return min(
        min(
            first * divergence(top, x) + other * divergence(low, x),
            epsilon * (first * variation(top, x) + other * variation(low, x)),
        )
        for x in grid
    )
