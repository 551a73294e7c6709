"""Naive twins of identification: one pull at a time, plain Python, from the formulas in print.

A twin draws from the generator in the same order as the compiled loop (the sum of a batch when the
batch is full, then its noise), so that runs can be compared number by number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import lambertw, zeta

SIGMA = 0.5


def naive_calibration(x: float) -> float:
    def over(lam: float) -> float:
        g = 2 * lam - 2 * lam * math.log(4 * lam) + math.log(zeta(2 * lam)) - math.log(1 - lam) / 2
        return (g + x) / lam

    bounds = (0.5 + 1e-12, 1 - 1e-12)
    return float(minimize_scalar(over, bounds=bounds, method="bounded").fun)


def naive_gaussian(arms: int, delta: float, wa: float, wb: float) -> float:
    start = 2 * naive_calibration(math.log((arms - 1) / delta) / 2)
    return start + 2 * math.log(4 + math.log(wa)) + 2 * math.log(4 + math.log(wb))


def k(n: float) -> float:
    return math.log2(n) + 2


def naive_private(arms: int, delta: float, epsilon: float, wa: float, wb: float) -> float:
    z = zeta(2)
    split = delta / (2 * z**2 * k(wa) ** 2 * k(wb) ** 2)
    noise = sum(math.log(2 * arms * z * k(w) ** 2 / delta) ** 2 / w for w in (wa, wb))
    return 2 * naive_gaussian(arms, split, wa, wb) + noise / (epsilon**2 * SIGMA**2)


def naive_starred(
    arms: int, delta: float, epsilon: float, gap: float, wa: float, wb: float, c: float
) -> float:
    def log(w: float) -> float:
        return math.log(math.pi**2 * arms * k(w) ** 2 / (2 * delta))

    def h(w: float) -> float:
        x = 2 * log(w) + 4 * math.log(4 + math.log(w)) + 0.5
        return float(-lambertw(-math.exp(-x), -1).real) / 2

    both = (wa, wb)
    if gap < c * epsilon:
        shared = naive_private(arms, 2 * delta / 3, epsilon, wa, wb) / 2
        mixed = sum(math.sqrt(h(w) / w) * log(w) for w in both)
        return shared + math.sqrt(2) / (epsilon * SIGMA) * mixed
    largest = math.log(math.pi**2 * arms * max(k(wa), k(wb)) ** 2 / (2 * delta))
    spread = sum(math.sqrt(w * h(w)) for w in both)
    return c / SIGMA**2 * largest + c * epsilon / (math.sqrt(2) * SIGMA) * spread


def naive_cost(gap: float, wa: float, wb: float, cut: float = math.inf) -> float:
    gap = max(gap, 0.0)
    return gap * min(cut, gap) / (2 * SIGMA**2 * (1 / wa + 1 / wb))


def bernoulli_sum(rng: Any, p: float, n: int) -> float:
    if n == 1:
        return 1.0 if rng.random() < p else 0.0
    return float(rng.binomial(n, p))


def one_by_one(rng: Any, p: float, n: int) -> float:
    return float(sum(rng.random() < p for _ in range(n)))


def laplace(rng: Any, scale: float) -> float:
    return scale * float(rng.standard_exponential() - rng.standard_exponential())


class NaiveTopTwo:
    """Algorithm 10, with the first reward of every arm released like any other batch."""

    def __init__(
        self, means: list[float], delta: float, epsilon: float, rng: Any, star: float | None = None,
        shared: bool = True, draw: Any = bernoulli_sum, beta: float = 0.5,
    ) -> None:  # fmt: skip
        self.p, self.delta, self.epsilon, self.rng = means, delta, epsilon, rng
        self.star, self.shared, self.draw, self.beta = star, shared, draw, beta
        arms = len(means)
        self.m, self.n = [0.0] * arms, [0] * arms
        self.pulls, self.at_release = [0] * arms, [0] * arms
        self.led, self.own = [0] * arms, [0] * arms

    def cost(self, gap: float, wa: float, wb: float) -> float:
        cut = math.inf if self.star is None else self.star * self.epsilon
        return naive_cost(gap, wa, wb, cut)

    def threshold(self, gap: float, wa: float, wb: float) -> float:
        arms = len(self.p)
        if self.star is None:
            return naive_private(arms, self.delta, self.epsilon, wa, wb)
        return naive_starred(arms, self.delta, self.epsilon, gap, wa, wb, self.star)

    def pull(self, arm: int) -> bool:
        """True if the pull completes a batch: the arm's pulls have doubled."""
        self.pulls[arm] += 1
        if self.pulls[arm] < 2 * self.at_release[arm]:
            return False
        size = self.pulls[arm] - self.at_release[arm]
        total = self.draw(self.rng, self.p[arm], size)
        self.m[arm] = (total + laplace(self.rng, 1 / self.epsilon)) / size
        self.n[arm] = size
        self.at_release[arm] = self.pulls[arm]
        return True

    def index(self, arm: int) -> float:
        n = self.n[arm]
        phase = k(max(self.n)) if self.shared else k(n)
        return self.m[arm] + math.sqrt(phase / n) + phase / (self.epsilon * n)

    def enough(self, best: int) -> bool:
        for other in range(len(self.p)):
            if other != best:
                gap = self.m[best] - self.m[other]
                seen = self.cost(gap, self.n[best], self.n[other])
                if seen < self.threshold(gap, self.n[best], self.n[other]):
                    return False
        return True

    def choose(self) -> int:
        leader = max(range(len(self.p)), key=self.index)
        self.led[leader] += 1
        if self.own[leader] <= self.beta * self.led[leader]:
            self.own[leader] += 1
            return leader
        others = [arm for arm in range(len(self.p)) if arm != leader]
        return min(
            others,
            key=lambda a: self.cost(self.m[leader] - self.m[a], self.pulls[leader], self.pulls[a]),
        )

    def run(self, most: int) -> tuple[int, int, list[int]]:
        """Stopping time, recommendation, pulls."""
        for arm in range(len(self.p)):
            self.pull(arm)
        fresh = True
        while sum(self.pulls) < most:
            best = max(range(len(self.p)), key=self.m.__getitem__)
            if fresh and self.enough(best):
                break
            fresh = self.pull(self.choose())
        best = max(range(len(self.p)), key=self.m.__getitem__)
        return sum(self.pulls), best, self.pulls


def naive_ttucb(
    means: list[float], delta: float, rng: Any, epsilon: float | None, most: int
) -> tuple[int, int, list[int]]:
    """TTUCB; with an ε, on the random bits of CTB."""
    arms = len(means)
    sums, pulls, led, own = [0.0] * arms, [0] * arms, [0] * arms, [0] * arms

    def pull(arm: int) -> None:
        reward = 1.0 if rng.random() < means[arm] else 0.0
        if epsilon is not None:
            e = math.exp(epsilon)
            reward = 1.0 if rng.random() < (reward * e + 1 - reward) / (1 + e) else 0.0
        sums[arm] += reward
        pulls[arm] += 1

    for arm in range(arms):
        pull(arm)
    while True:
        m = [sums[a] / pulls[a] for a in range(arms)]
        t = sum(pulls)
        best = max(range(arms), key=m.__getitem__)
        others = [a for a in range(arms) if a != best]
        if t >= most or all(
            naive_cost(m[best] - m[a], pulls[best], pulls[a])
            >= naive_gaussian(arms, delta, pulls[best], pulls[a])
            for a in others
        ):
            return t, best, pulls
        width = [math.sqrt(2 * SIGMA**2 * 1.2 * 2.2 * math.log(t) / pulls[a]) for a in range(arms)]
        leader = max(range(arms), key=lambda a: m[a] + width[a])
        led[leader] += 1
        if own[leader] <= 0.5 * led[leader]:
            own[leader] += 1
            pull(leader)
        else:
            rest = [a for a in range(arms) if a != leader]
            pull(min(rest, key=lambda a: naive_cost(m[leader] - m[a], pulls[leader], pulls[a])))


def naive_elimination(
    means: list[float], delta: float, epsilon: float, rng: Any
) -> tuple[int, int, list[int]]:
    """DP-SE with β = δ, stopped at one active arm."""
    active, pulls, e = list(range(len(means))), [0] * len(means), 0
    while len(active) > 1:
        e += 1
        size, gap = len(active), 2.0**-e
        rounds = max(
            32 * math.log(8 * size * e**2 / delta) / gap**2,
            8 * math.log(4 * size * e**2 / delta) / (epsilon * gap),
        )
        rounds = math.ceil(rounds) + 1
        m = {}
        for arm in active:
            pulls[arm] += rounds
            total = bernoulli_sum(rng, means[arm], rounds)
            m[arm] = (total + laplace(rng, 1 / epsilon)) / rounds
        h = math.sqrt(math.log(8 * size * e**2 / delta) / (2 * rounds))
        c = math.log(4 * size * e**2 / delta) / (rounds * epsilon)
        top = max(m.values())
        active = [arm for arm in active if top - m[arm] <= 2 * h + 2 * c]
    return sum(pulls), active[0], pulls


def generator(seed: int, run: int) -> Any:
    """The generator of one run of `identify`."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run,))))
