"""Twins of the rows that go in phases: every arm in turn for many rounds, then a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

import naive_formulas as naive
from naive_leaders import Thompson
from naive_twin import Twin


class DPSE(Twin):
    """Epochs: every active arm R times in the order of the arms, then some are dropped."""

    epsilon = 1.0
    beta: float | None = None

    def begin(self) -> None:
        self.error = 1.0 / self.horizon if self.beta is None else self.beta
        self.active = list(range(self.arms))
        self.epoch, self.todo = 0, list[int]()
        self.fresh: dict[int, float] = {}

    def forced(self, t: int) -> int | None:
        if len(self.active) > 1 and not self.todo:
            if self.fresh:
                self.drop()
            self.epoch += 1
            self.todo, self.fresh = list(self.active), {}
        return self.active[0] if len(self.active) == 1 else self.todo[0]

    def pulls(self) -> int:
        return naive.se_pulls(len(self.active), self.epoch, self.epsilon, self.error)

    def drop(self) -> None:
        size = len(self.active)
        width = naive.se_width(size, self.epoch, self.epsilon, self.error, self.pulls())
        best = max(self.fresh.values())
        self.active = [j for j in self.active if best - self.fresh[j] <= self.tilt * width]

    def length(self, arm: int) -> int:
        return self.horizon if len(self.active) == 1 else self.pulls()

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        if self.todo:
            self.todo.pop(0)
        self.fresh[arm] = (math.fsum(rewards) + self.laplace(1.0 / self.epsilon)) / len(rewards)
        self.mean[arm] = self.fresh[arm]


class GDPElimNew(Twin):
    """Phases: every arm N(k) times, until one leads by Δ; that one for ever."""

    epsilon = 1.0
    delta = 0.0

    def begin(self) -> None:
        self.phase, self.todo = 0, list[int]()
        self.winner: int | None = None

    def forced(self, t: int) -> int | None:
        if self.winner is None and not self.todo:
            if self.phase:
                self.verdict()
            self.phase += 1
            self.todo = list(range(self.arms))
        return self.todo[0] if self.winner is None else self.winner

    def verdict(self) -> None:
        for arm in range(self.arms):
            others = max(self.mean[:arm] + self.mean[arm + 1 :])
            if self.mean[arm] >= others + self.tilt * 2.0**-self.phase:
                self.winner = arm

    def length(self, arm: int) -> int:
        if self.winner is not None:
            return self.horizon
        return naive.lead_pulls(self.phase, self.epsilon, self.delta, self.horizon)

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        self.todo.pop(0)
        n = len(rewards)
        self.n[arm], self.mean[arm] = n, math.fsum(rewards) / n + self.noise_tilt * self.noise(n)

    def noise(self, n: int) -> float:
        """Two uniforms: how far from the middle, and on which side."""
        if math.isinf(self.epsilon):
            return 0.0
        near = 0.5 * (1.0 - self.rng.random())
        u = 1.0 - near if self.rng.random() < 0.5 else near
        return naive.truncated_laplace(u, self.epsilon, self.delta / 2.0, n)


class PrivateThompson(Thompson):
    """Estimate the gap, fill a tree per arm, then Beta draws. `divided`: ε/(2K) as printed.

    A tree is filled in as few blocks as the binary digits of its size have ones: what lies within
    a block is never asked for.
    """

    epsilon = 1.0
    gap_estimation = True
    fill: int | None = None
    divided = False

    def begin(self) -> None:
        share = 2 * self.arms if self.divided else 1
        self.batch_scale = share / self.epsilon
        scale = naive.tree_height(self.horizon) * share / self.epsilon
        self.trees = [naive.NaiveTree(lambda: self.laplace(scale)) for _ in range(self.arms)]
        self.gap, self.todo = 1.0, list[tuple[int, int]]()
        self.filling = not self.gap_estimation
        self.plan()

    def plan(self) -> None:
        """The arms and lengths of the next batches."""
        epsilon, T = self.epsilon, self.horizon
        if not self.filling:
            factor = self.arms if self.divided else 1
            pulls = naive.gap_pulls(self.gap, epsilon, T, factor)
            self.todo = [(arm, pulls) for arm in range(self.arms)]
            return
        pulls = naive.fill_pulls(self.gap, epsilon, T) if self.fill is None else self.fill
        blocks = [1 << j for j in reversed(range(pulls.bit_length())) if pulls >> j & 1]
        self.todo = [(arm, block) for arm in range(self.arms) for block in blocks]

    def forced(self, t: int) -> int | None:
        return self.todo[0][0] if self.todo else None

    def length(self, arm: int) -> int:
        return self.todo[0][1] if self.todo else 1

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        self.rewards[arm] += rewards
        if self.todo:
            self.todo.pop(0)
        if self.filling:
            self.mean[arm] = self.trees[arm].add(*rewards)
            self.n[arm] = len(self.trees[arm].rewards)
            self.mean[arm] /= self.n[arm]
            return
        self.mean[arm] = (math.fsum(rewards) + self.laplace(self.batch_scale)) / len(rewards)
        if not self.todo:
            best, second = sorted(self.mean, reverse=True)[:2]
            self.filling = best - second > self.tilt * self.gap
            if not self.filling:
                self.gap /= 2.0
            self.plan()
