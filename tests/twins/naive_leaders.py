"""Twins of the rows that play the largest of random draws, one per arm.

A Beta draw is the quantile of a uniform: x with P(Beta(a, b) > x) = u. The package does without
most of them, so a run is compared with a generator that draws Beta laws the same way, `Coupled`:
whatever is skipped, an arm takes one uniform, and the choice is that of drawing all arms. That
the generator's own Beta draws have the same law is tested with the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import naive_formulas as naive
from naive_twin import Twin
from scipy.special import betaincinv


def beta_at(a: float, b: float, u: float) -> float:
    """x with P(Beta(a, b) > x) = u, which is P(Beta(b, a) < 1 - x)."""
    return 1.0 - float(betaincinv(b, a, u))


class Coupled:
    """A generator whose Beta draws are quantiles of its uniforms."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng

    def beta(self, a: float, b: float) -> float:
        return beta_at(a, b, self.rng.random())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rng, name)


class Leader(Twin):
    """The arm with most pulls is drawn first, the others in their order."""

    epsilon = math.inf
    delta = 0.0
    start = 1

    def forced(self, t: int) -> int | None:
        return next((arm for arm in range(self.arms) if self.n[arm] < self.start), None)

    def scores(self, t: int) -> list[float]:
        pulls = [len(rewards) for rewards in self.rewards]
        first = pulls.index(max(pulls))
        drawn = {arm: self.score(arm, t) for arm in sorted(range(self.arms), key=first.__ne__)}
        return [drawn[arm] for arm in range(self.arms)]


class Thompson(Leader):
    """Beta(mO+1, (1-m)O+1), m a mean of O rewards."""

    def belief(self, arm: int, t: int) -> float:
        return self.mean[arm]

    def score(self, arm: int, t: int) -> float:
        m, n = naive.clip01(self.belief(arm, t)), self.n[arm]
        return self.tilted(beta_at(m * n + 1.0, (1.0 - m) * n + 1.0, self.rng.random()), m)


class LazyDPTS(Thompson):
    """A batch is released once it has twice the rewards of the last one."""

    def begin(self) -> None:
        self.open: list[list[float]] = [[] for _ in range(self.arms)]

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        self.rewards[arm] += rewards
        self.open[arm] += rewards
        size = len(self.open[arm])
        if size == 1 if self.n[arm] == 0 else size == 2 * self.n[arm]:
            self.n[arm] = size
            self.mean[arm] = (math.fsum(self.open[arm]) + self.laplace(1.0 / self.epsilon)) / size
            self.open[arm] = []

    def belief(self, arm: int, t: int) -> float:
        return self.mean[arm] + 3.0 * math.log(t) / (self.epsilon * self.n[arm])


class DPTS(Thompson):
    def begin(self) -> None:
        self.counters = [naive.NaiveHybrid(self.laplace, self.epsilon) for _ in range(self.arms)]

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        super().learn(arm, rewards)
        (reward,) = rewards
        self.mean[arm] = self.counters[arm].add(reward) / self.n[arm]

    def belief(self, arm: int, t: int) -> float:
        n = self.n[arm]
        lift = 6.0 * math.sqrt(8.0) * math.log(n + 1) * math.log(t) / (self.epsilon * n)
        return self.mean[arm] + lift


class Perturbed(Leader):
    """The draw is the noise; rewards are rounded to bits at random."""

    def response(self, reward: float) -> float:
        if reward in (0.0, 1.0):
            return reward
        return 1.0 if self.rng.random() < reward else 0.0

    def perturbed(self, drawn: float, mean: float) -> float:
        return mean + self.tilt * self.noise_tilt * (drawn - mean)


class DPFTPLGauss(Perturbed):
    """One normal an arm, in the order of the arms."""

    def begin(self) -> None:
        if math.isfinite(self.epsilon):
            self.start = naive.gauss_start(self.epsilon, self.delta)

    def scores(self, t: int) -> list[float]:
        return [self.score(arm, t) for arm in range(self.arms)]

    def score(self, arm: int, t: int) -> float:
        mean = self.mean[arm]
        drawn = mean + math.sqrt(2.0 / self.n[arm]) * float(self.rng.standard_normal())
        return self.perturbed(drawn, mean)


class DPFTPLBeta(Perturbed):
    def begin(self) -> None:
        if math.isfinite(self.epsilon):
            self.start = naive.beta_start(self.epsilon, self.delta)

    def score(self, arm: int, t: int) -> float:
        n, ones = self.n[arm], sum(self.rewards[arm])
        k = n // 8 + 1
        a, b = ones + 1.0 + k, n - ones + 1.0 + k
        return self.perturbed(beta_at(a, b, self.rng.random()), a / (a + b))


class DPFTPLNew(Perturbed):
    epsilon = 1.0

    def score(self, arm: int, t: int) -> float:
        mean, n = self.mean[arm], self.n[arm]
        if math.isinf(self.epsilon):
            return mean + self.tilt * math.sqrt(math.log(self.horizon) / n)
        centre = naive.leader_centre(mean, n, self.epsilon, self.delta, self.horizon)
        noise = naive.truncated_laplace(self.rng.random(), self.epsilon, self.delta, n)
        return self.tilted(centre, mean) + self.noise_tilt * noise


class DPTsallis(Twin):
    """Batches of ceil(1/ε); an arm is drawn with the weights of Tsallis' entropy, by bisection."""

    epsilon = 1.0

    def begin(self) -> None:
        self.losses = [0.0] * self.arms
        self.batch = 0

    def forced(self, t: int) -> int:
        self.batch += 1
        scale = self.tilt * math.sqrt(6.0 * self.batch)
        low = min(self.losses) - scale * math.sqrt(self.arms)
        high = min(self.losses) - scale
        for _ in range(200):
            level = 0.5 * (low + high)
            if sum((scale / (loss - level)) ** 2 for loss in self.losses) > 1.0:
                high = level
            else:
                low = level
        self.x = [(scale / (loss - low)) ** 2 for loss in self.losses]
        draw, reached = self.rng.random() * sum(self.x), 0.0
        for arm, share in enumerate(self.x):
            reached += share
            if draw < reached:
                return arm
        return self.arms - 1

    def length(self, arm: int) -> int:
        return 1 if math.isinf(self.epsilon) else math.ceil(1.0 / self.epsilon)

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        n = self.n[arm] = len(rewards)
        self.mean[arm] = math.fsum(rewards) / n + self.laplace(1.0 / (self.epsilon * n))
        loss, share = 1.0 - self.mean[arm], self.x[arm]
        if abs(loss) <= 0.206 * math.sqrt(6.0) * self.tilt * math.sqrt(self.batch * share):
            self.losses[arm] += loss / share
