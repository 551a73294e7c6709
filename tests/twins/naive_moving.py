"""Twins of the policies for rewards that move: they keep every batch, and add up anew each time.

Written from Garivier & Moulines (2008), Cao et al. (2019), Bubeck & Cesa-Bianchi (2012), and the
formulas at the top of `discreet.policies._moving`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from naive_twin import Twin


class Moving(Twin):
    """Batches of ceil(10/ε) rounds, each released by itself."""

    epsilon = math.inf
    every: int | None = None

    def begin(self) -> None:
        self.history: list[tuple[int, float]] = []
        """(arm, noisy mean) of every batch"""

    def length(self, arm: int) -> int:
        if self.every is not None:
            return self.every
        return 1 if math.isinf(self.epsilon) else math.ceil(10.0 / self.epsilon)

    @property
    def variance(self) -> float:
        return 2.0 / self.epsilon**2

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        n = self.n[arm] = len(rewards)
        self.mean[arm] = math.fsum(rewards) / n + self.laplace(1.0 / (self.epsilon * n))
        self.history.append((arm, self.mean[arm]))

    def counted(self) -> list[tuple[int, float, float]]:
        """(arm, noisy mean, weight) of the batches that count."""
        raise NotImplementedError

    def forced(self, t: int) -> int | None:
        there = {arm for arm, _, _ in self.counted()}
        return next((arm for arm in range(self.arms) if arm not in there), None)

    def level(self, weight: float) -> float:
        """What the square of the width is, times N² / (N + noise); `weight` of all that counts."""
        raise NotImplementedError

    def scores(self, t: int) -> list[float]:
        every, counted = self.length(0), self.counted()
        level = self.level(every * math.fsum(weight for _, _, weight in counted))
        found = []
        for arm in range(self.arms):
            own = [(mean, weight) for other, mean, weight in counted if other == arm]
            size = every * math.fsum(weight for _, weight in own)
            mean = every * math.fsum(mean * weight for mean, weight in own) / size
            noise = 4.0 * self.variance * math.fsum(weight**2 for _, weight in own)
            found.append(mean + self.tilt * math.sqrt(level * (size + noise)) / size)
        return found


class SWUCB(Moving):
    window = 1000
    xi = 0.6

    def counted(self) -> list[tuple[int, float, float]]:
        kept = max(1, self.window // self.length(0))
        return [(arm, mean, 1.0) for arm, mean in self.history[-kept:]]

    def level(self, weight: float) -> float:
        return self.xi * math.log(weight)


class DPSWUCB(SWUCB):
    window = 4000


class DUCB(Moving):
    discount = 0.999
    xi = 0.6

    def counted(self) -> list[tuple[int, float, float]]:
        kept, last = self.discount ** self.length(0), len(self.history) - 1
        return [(a, mean, kept ** (last - age)) for age, (a, mean) in enumerate(self.history)]

    def level(self, weight: float) -> float:
        return 4.0 * self.xi * math.log(weight)


class DPDUCB(DUCB):
    discount = 0.9995
    xi = 0.15


class MUCB(Moving):
    window = 400
    share = 0.03
    alarm = 0.05

    def begin(self) -> None:
        super().begin()
        self.restart = 0
        self.alarms = 0

    def counted(self) -> list[tuple[int, float, float]]:
        return [(arm, mean, 1.0) for arm, mean in self.history[self.restart :]]

    def level(self, weight: float) -> float:
        return 2.0 * math.log(weight)

    def forced(self, t: int) -> int | None:
        missing = super().forced(t)
        turn = (len(self.history) - self.restart) % math.floor(self.arms / self.share)
        if turn >= self.arms:
            return missing
        return turn if missing is None else min(turn, missing)

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        super().learn(arm, rewards)
        n, half = len(rewards), max(1, max(1, self.window // 2) // len(rewards))
        own = [n * mean for other, mean, _ in self.counted() if other == arm]
        if len(own) < 2 * half:
            return
        moved = math.fsum(own[-half:]) - math.fsum(own[-2 * half : -half])
        if abs(moved) > self.threshold(n, 2 * half):
            self.restart = len(self.history)
            self.alarms += 1

    def threshold(self, n: int, batches: int) -> float:
        m, b = len(self.history), 1.0 / self.epsilon
        level = math.log(2.0 * self.arms * m * (m + 1) / self.alarm)
        spread = batches * n / 4.0 + 4.0 * batches * b * b
        return max(math.sqrt(2.0 * spread * level), 2.0 * b * math.sqrt(2.0) * level)


class DPMUCB(MUCB):
    window = 2000


class Exp3(Twin):
    def begin(self) -> None:
        self.losses = [0.0] * self.arms
        self.round = 0

    def forced(self, t: int) -> int:
        self.round += 1
        rate = self.tilt * math.sqrt(math.log(self.arms) / (self.arms * self.round))
        weights = [math.exp(-rate * (loss - min(self.losses))) for loss in self.losses]
        self.x = [weight / math.fsum(weights) for weight in weights]
        draw, reached = self.rng.random(), 0.0
        for arm, share in enumerate(self.x):
            reached += share
            if draw < reached:
                return arm
        return self.arms - 1

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        (reward,) = rewards
        self.n[arm], self.mean[arm] = 1, reward
        self.losses[arm] += (1.0 - reward) / self.x[arm]
