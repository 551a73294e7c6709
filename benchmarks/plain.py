"""The same policies as plain Python loops: what one would write in an afternoon.

No arrays, no tricks, but nothing slow on purpose either: local names, one logarithm a round.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence


def ucb1(means: Sequence[float], horizon: int, seed: int) -> float:
    """UCB1 on Bernoulli arms; returns the pseudo-regret."""
    rng = random.Random(seed)
    arms, best = len(means), max(means)
    total, pulls, regret = [0.0] * arms, [0] * arms, 0.0
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = t - 1
        else:
            level = 2.0 * math.log(t)
            arm, largest = 0, -1.0
            for a in range(arms):
                value = total[a] / pulls[a] + math.sqrt(level / pulls[a])
                if value > largest:
                    arm, largest = a, value
        total[arm] += 1.0 if rng.random() < means[arm] else 0.0
        pulls[arm] += 1
        regret += best - means[arm]
    return regret


class BinaryCounter:
    """A tree of noisy partial sums, one node closed a step."""

    def __init__(self, levels: int, epsilon: float, rng: random.Random) -> None:
        self.scale, self.rng, self.step = levels / epsilon, rng, 0
        self.exact, self.noisy = [0.0] * (levels + 1), [0.0] * (levels + 1)

    def add(self, x: float) -> float:
        """Count x; the noisy sum so far."""
        self.step += 1
        level = (self.step & -self.step).bit_length() - 1
        self.exact[level] = sum(self.exact[:level]) + x
        noise = self.rng.expovariate(1.0) - self.rng.expovariate(1.0)
        self.noisy[level] = self.exact[level] + self.scale * noise
        for lower in range(level):
            self.exact[lower] = self.noisy[lower] = 0.0
        return sum(self.noisy[j] for j in range(len(self.noisy)) if self.step >> j & 1)


def dp_ucb(means: Sequence[float], horizon: int, epsilon: float, seed: int) -> float:
    """DP-UCB with trees on Bernoulli arms; returns the pseudo-regret."""
    rng = random.Random(seed)
    arms, best = len(means), max(means)
    levels = math.ceil(math.log2(horizon)) + 1
    trees = [BinaryCounter(levels, epsilon, rng) for _ in range(arms)]
    total, pulls, regret = [0.0] * arms, [0] * arms, 0.0
    factor = math.sqrt(8.0) * math.log(horizon) ** 1.5 / epsilon
    for t in range(1, horizon + 1):
        if t <= arms:
            arm = t - 1
        else:
            level = math.log(2.0) + 4.0 * math.log(t)
            arm, largest = 0, -math.inf
            for a in range(arms):
                n = pulls[a]
                value = total[a] / n + math.sqrt(2.0 * level / n) + factor * level / n
                if value > largest:
                    arm, largest = a, value
        total[arm] = trees[arm].add(1.0 if rng.random() < means[arm] else 0.0)
        pulls[arm] += 1
        regret += best - means[arm]
    return regret
