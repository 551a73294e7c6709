"""Every row of the catalogue as a naive twin: here those that maximise an index.

Rows that go in phases are in `naive_phases`, those that draw at random in `naive_leaders`, those
for rewards that move in `naive_moving`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import naive_formulas as naive
import naive_leaders as leaders
import naive_moving as moving
import naive_phases as phases
from naive_twin import Twin


class UCB1(Twin):
    def score(self, arm: int, t: int) -> float:
        return self.tilted(naive.ucb1(self.mean[arm], self.n[arm], t), self.mean[arm])


class AsymptoticUCB(Twin):
    sigma = 0.5

    def score(self, arm: int, t: int) -> float:
        index = naive.asymptotic_ucb(self.mean[arm], self.n[arm], t, self.sigma)
        return self.tilted(index, self.mean[arm])


class KLUCB(Twin):
    def score(self, arm: int, t: int) -> float:
        mean = naive.clip01(self.mean[arm])
        return naive.kl_upper(mean, self.tilt * naive.log_f(t) / self.n[arm])


class IMED(Twin):
    def score(self, arm: int, t: int) -> float:
        mean, best = naive.clip01(self.mean[arm]), naive.clip01(max(self.mean))
        n = self.n[arm]
        return -self.tilt * (naive.imed(mean, n, best) - math.log(n)) - math.log(n)


class Doubling(Twin):
    """One round, then as many as the arm ever had; the mean is that of the last batch."""

    def noise(self) -> float:
        raise NotImplementedError

    def length(self, arm: int) -> int:
        return max(1, len(self.rewards[arm]))

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        self.rewards[arm] += rewards
        self.n[arm] = len(rewards)
        self.mean[arm] = (math.fsum(rewards) + self.noise()) / len(rewards)


class AdaPUCB(Doubling):
    epsilon = 1.0
    alpha = 3.1

    def noise(self) -> float:
        return self.laplace(1.0 / self.epsilon)

    def score(self, arm: int, t: int) -> float:
        index = naive.adap_ucb(self.mean[arm], self.n[arm], t, self.epsilon, self.alpha)
        return self.tilted(index, self.mean[arm])


class EpisodicUCB(AdaPUCB):
    epsilon = math.inf


class AdaPKLUCB(AdaPUCB):
    def score(self, arm: int, t: int) -> float:
        alpha = self.alpha * self.tilt
        return naive.adap_klucb(self.mean[arm], self.n[arm], t, self.epsilon, alpha)


class AdaCUCB(Doubling):
    variance = 1.0
    """b of the noise N(0, b) on a sum"""
    alpha = 3.1

    def noise(self) -> float:
        return self.gaussian(self.variance)

    def score(self, arm: int, t: int) -> float:
        index = naive.adac_ucb(self.mean[arm], self.n[arm], t, self.variance, self.alpha)
        return self.tilted(index, self.mean[arm])


class Running(Twin):
    """Geometric batches; the mean of all noisy batch totals."""

    epsilon = 1.0
    ratio = 2.0
    first: int | None = None

    def begin(self) -> None:
        self.noisy: list[list[float]] = [[] for _ in range(self.arms)]

    def length(self, arm: int) -> int:
        pulls = len(self.rewards[arm])
        if pulls > 0:
            return math.ceil((self.ratio - 1.0) * pulls)
        first = math.ceil(20.0 / self.epsilon) if self.first is None else self.first
        return max(1, min(first, self.horizon // (10 * self.arms)))

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        self.rewards[arm] += rewards
        self.noisy[arm].append(math.fsum(rewards) + self.laplace(1.0 / self.epsilon))
        self.n[arm] = len(self.rewards[arm])
        self.mean[arm] = math.fsum(self.noisy[arm]) / self.n[arm]


class DPKLUCB(Running):
    def score(self, arm: int, t: int) -> float:
        level = self.tilt * math.log(t) / self.n[arm]
        return naive.private_upper(naive.clip01(self.mean[arm]), level, self.epsilon)


class DPIMED(Running):
    def score(self, arm: int, t: int) -> float:
        n = self.n[arm]
        score = naive.dp_imed(self.mean[arm], n, max(self.mean), self.epsilon)
        return -self.tilt * (score - math.log(n)) - math.log(n)


class GaussIMED(Running):
    """Gaussian noise of variance b on every batch, counted in the cost of what is seen."""

    variance = 1.0
    ratio = 1.5
    first = 20
    caution = 0.0

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        self.rewards[arm] += rewards
        self.noisy[arm].append(math.fsum(rewards) + self.gaussian(self.variance))
        self.n[arm] = len(self.rewards[arm])
        self.mean[arm] = math.fsum(self.noisy[arm]) / self.n[arm]

    def score(self, arm: int, t: int) -> float:
        n, k = self.n[arm], len(self.noisy[arm])
        mean, best = naive.clip01(self.mean[arm]), naive.clip01(max(self.mean))
        cost = naive.gaussian_cost(mean, best, n, k, self.variance) / (1.0 + self.caution)
        return -self.tilt * cost - math.log(n)


class LaplaceIMED(Running):
    """The same with Laplace noise."""

    ratio = 1.5
    caution = 0.0

    def length(self, arm: int) -> int:
        self.first = math.ceil(40.0 / self.epsilon) if self.first is None else self.first
        return super().length(arm)

    def score(self, arm: int, t: int) -> float:
        n, k = self.n[arm], len(self.noisy[arm])
        mean, best = naive.clip01(self.mean[arm]), naive.clip01(max(self.mean))
        epsilon = math.inf if self.epsilon >= 1e12 else self.epsilon
        cost = naive.laplace_cost(mean, best, n, k, epsilon) / (1.0 + self.caution)
        return -self.tilt * cost - math.log(n)


class DPUCB(Twin):
    epsilon = 1.0

    def begin(self) -> None:
        scale = naive.tree_height(self.horizon) / self.epsilon
        self.trees = [naive.NaiveTree(lambda: self.laplace(scale)) for _ in range(self.arms)]

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        (reward,) = rewards
        total = self.trees[arm].add(reward)
        self.n[arm] += 1
        self.mean[arm] = total / self.n[arm]

    def score(self, arm: int, t: int) -> float:
        index = naive.dp_ucb(self.mean[arm], self.n[arm], t, self.epsilon, self.horizon)
        return self.tilted(index, self.mean[arm])


class DPUCBBound(Twin):
    """A hybrid counter an arm."""

    epsilon = 1.0

    def begin(self) -> None:
        self.counters = [naive.NaiveHybrid(self.laplace, self.epsilon) for _ in range(self.arms)]

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        (reward,) = rewards
        self.n[arm] += 1
        self.mean[arm] = self.counters[arm].add(reward) / self.n[arm]

    def score(self, arm: int, t: int) -> float:
        index = naive.dp_ucb_bound(self.mean[arm], self.n[arm], t, self.epsilon)
        return self.tilted(index, self.mean[arm])


class DPUCBIdle(DPUCBBound):
    """Every arm's counter goes on in every round, with a 0 if another arm was played."""

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        (reward,) = rewards
        self.n[arm] += 1
        for other in range(self.arms):
            total = self.counters[other].add(reward if other == arm else 0.0)
            if self.n[other]:
                self.mean[other] = total / self.n[other]

    def score(self, arm: int, t: int) -> float:
        return self.tilted(naive.ucb1(self.mean[arm], self.n[arm], t), self.mean[arm])


class DPUCBInt(Twin):
    """Batches of `every` rounds; the index of an arm is computed at its release and kept."""

    every = 1
    v = 1.1

    def begin(self) -> None:
        self.index = [0.0] * self.arms

    def length(self, arm: int) -> int:
        return self.every

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        super().learn(arm, rewards)
        n = self.n[arm]
        self.mean[arm] += self.laplace(n ** -(1.0 - self.v / 2.0))
        t = sum(self.n) + 1
        self.index[arm] = self.tilted(naive.ucb1(self.mean[arm], n, t), self.mean[arm])

    def score(self, arm: int, t: int) -> float:
        return self.index[arm]


class PrivateUCB(DPUCB):
    """`divided` is the printed version, with ε/K for every arm's tree."""

    gamma = 0.1
    divided = False
    experiment = False

    def begin(self) -> None:
        self.share = self.arms if self.divided else 1
        scale = naive.tree_height(self.horizon) * self.share / self.epsilon
        self.trees = [naive.NaiveTree(lambda: self.laplace(scale)) for _ in range(self.arms)]

    def score(self, arm: int, t: int) -> float:
        mean, n, T = self.mean[arm], self.n[arm], self.horizon
        if self.experiment:
            width = math.sqrt(max(mean * n, 0.0) * math.log(t)) / n + math.log(t) / n
            return mean + self.tilt * width
        slack = self.share * math.log(T) ** 2 / self.epsilon
        slack *= math.log(self.arms * T * math.log(T) / self.gamma)
        return self.tilted(naive.ucb1(mean, n, t) + slack / n, mean)


class LDPUCBB(UCB1):
    epsilon = 1.0

    def response(self, reward: float) -> float:
        if math.isinf(self.epsilon):
            return reward
        chance = naive.response_probability(reward, self.epsilon)
        return 1.0 if self.rng.random() < 0.5 + self.noise_tilt * (chance - 0.5) else 0.0


class LDPUCBL(Twin):
    epsilon = 1.0

    def forced(self, t: int) -> int | None:
        rare = 4.0 * math.log(t + 1)
        return next((arm for arm in range(self.arms) if self.n[arm] <= rare), None)

    def response(self, reward: float) -> float:
        return reward + self.laplace(1.0 / self.epsilon)

    def score(self, arm: int, t: int) -> float:
        index = naive.ldp_ucb_l(self.mean[arm], self.n[arm], t, self.epsilon)
        return self.tilted(index, self.mean[arm])


class LDPUCBBS(LDPUCBB):
    def response(self, reward: float) -> float:
        return super().response(1.0 / (1.0 + math.exp(-reward)))


class LDPUCBLS(LDPUCBL):
    def response(self, reward: float) -> float:
        return super().response(1.0 / (1.0 + math.exp(-reward)))


TWINS: dict[str, type[Twin]] = {
    "ucb1": UCB1,
    "kl-ucb": KLUCB,
    "imed": IMED,
    "thompson": leaders.Thompson,
    "episodic-ucb": EpisodicUCB,
    "adap-ucb": AdaPUCB,
    "adap-klucb": AdaPKLUCB,
    "adac-ucb": AdaCUCB,
    "dp-klucb": DPKLUCB,
    "dp-imed": DPIMED,
    "gauss-imed": GaussIMED,
    "laplace-imed": LaplaceIMED,
    "dp-ucb": DPUCB,
    "dp-ucb-td": DPUCBIdle,
    "dp-ucb-bound": DPUCBBound,
    "dp-ucb-int": DPUCBInt,
    "private-ucb": PrivateUCB,
    "ldp-ucb-b": LDPUCBB,
    "ldp-ucb-l": LDPUCBL,
    "ldp-ucb-bs": LDPUCBBS,
    "ldp-ucb-ls": LDPUCBLS,
    "lazy-dp-ts": leaders.LazyDPTS,
    "dp-ts": leaders.DPTS,
    "private-thompson": phases.PrivateThompson,
    "dp-se": phases.DPSE,
    "gdp-elim-new": phases.GDPElimNew,
    "dp-ftpl-gauss": leaders.DPFTPLGauss,
    "dp-ftpl-beta": leaders.DPFTPLBeta,
    "dp-ftpl-new": leaders.DPFTPLNew,
    "dp-tsallis": leaders.DPTsallis,
    "exp3": moving.Exp3,
    "sw-ucb": moving.SWUCB,
    "d-ucb": moving.DUCB,
    "m-ucb": moving.MUCB,
    "dp-sw-ucb": moving.DPSWUCB,
    "dp-d-ucb": moving.DPDUCB,
    "dp-m-ucb": moving.DPMUCB,
}
