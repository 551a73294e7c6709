"""A trial with late outcomes, participant by participant, in obvious Python; and a plain race."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def bernoulli_kl(p: float, q: float) -> float:
    total = 0.0
    if p > 0:
        total += math.inf if q == 0 else p * math.log(p / q)
    if p < 1:
        total += math.inf if q == 1 else (1 - p) * math.log((1 - p) / (1 - q))
    return total


def d_epsilon(x: float, y: float, epsilon: float) -> float:
    """inf over z in [x, y] of ε(z - x) + kl(z, y), on the closed form of its minimum."""
    if x >= y:
        return 0.0
    z = y * math.exp(-epsilon) / (1 - y + y * math.exp(-epsilon))
    z = min(max(z, x), y)
    return epsilon * (z - x) + bernoulli_kl(z, y)


def naive_trial(
    rates: list[float], answered: list[float], horizon: int, arrivals: float, deadline: float,
    epsilon: float, first: int, ratio: float, default: float | None, rng: Any,
) -> tuple[list[int], float, int]:  # fmt: skip
    """Places of every arm, the day of the last assignment, the arm named."""
    arms = range(len(rates))
    outcomes: list[list[float | None]] = [[] for _ in rates]  # of all places, None if missing
    mark = [first for _ in rates]
    closed = [0 for _ in rates]
    blocks: list[tuple[float, int, int, int]] = []  # due, arm, from place, to place
    total, answers, places = [0.0 for _ in rates], [0.0 for _ in rates], [0 for _ in rates]

    def release(arm: int, start: int, stop: int) -> None:
        block = outcomes[arm][start:stop]
        heard = [y for y in block if y is not None]
        if default is None:
            total[arm] += sum(y - 0.5 for y in heard) + rng.laplace(0.0, 1 / epsilon)
            answers[arm] += len(heard) + rng.laplace(0.0, 2 / epsilon)
        else:
            filled = sum(default if y is None else y for y in block)
            total[arm] += filled + rng.laplace(0.0, 1 / epsilon)
        places[arm] += len(block)

    def believed(arm: int) -> float:
        if default is None:
            return 0.5 + total[arm] / min(max(answers[arm], 1), places[arm])
        return total[arm] / places[arm]

    def score(arm: int) -> float:
        means = [min(max(believed(other), 0.0), 1.0) for other in arms]
        evidence = float(closed[arm])
        if default is None:
            evidence *= min(max(answers[arm], 1), places[arm]) / places[arm]
        return evidence * d_epsilon(means[arm], max(means), epsilon) + math.log(len(outcomes[arm]))

    now = 0.0
    for _ in range(horizon):
        now += rng.exponential(1 / arrivals)
        while blocks and min(blocks)[0] <= now:
            block = min(blocks)
            blocks.remove(block)
            release(*block[1:])
        blind = [arm for arm in arms if places[arm] == 0]
        arm = min(blind, key=lambda a: len(outcomes[a])) if blind else min(arms, key=score)
        answer = float(rng.random() < rates[arm]) if rng.random() < answered[arm] else None
        outcomes[arm].append(answer)
        if len(outcomes[arm]) == mark[arm]:
            blocks.append((now + deadline, arm, closed[arm], mark[arm]))
            closed[arm] = mark[arm]
            mark[arm] += max(1, math.ceil((ratio - 1) * mark[arm]))
    for _, arm, start, stop in sorted(blocks):
        release(arm, start, stop)
    for arm in arms:
        if len(outcomes[arm]) > closed[arm]:
            release(arm, closed[arm], len(outcomes[arm]))
    named = max((arm for arm in arms if places[arm]), key=believed)
    return [len(own) for own in outcomes], now, named


def ks_distance(a: Any, b: Any) -> float:
    """The largest difference of two empirical distribution functions."""
    a, b = np.sort(np.asarray(a, float)), np.sort(np.asarray(b, float))
    points = np.concatenate([a, b])
    below = np.searchsorted(a, points, "right") / len(a)
    return float(np.abs(below - np.searchsorted(b, points, "right") / len(b)).max())


def ks_limit(n: int, m: int, alarm: float = 1e-7) -> float:
    """The Dvoretzky-Kiefer-Wolfowitz bound for each sample at half the alarm: exact for all n."""
    return math.sqrt(math.log(4 / alarm) / (2 * n)) + math.sqrt(math.log(4 / alarm) / (2 * m))
