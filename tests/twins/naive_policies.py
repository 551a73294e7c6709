"""Every row of the catalogue as a slow and obvious class that keeps all rewards it ever saw.

A twin is asked for the scores of all arms in round t (from 1; largest wins, first of equals), for
the length of the batch, and is then told the rewards of the batch one by one. It draws its noise
from the generator it is given, so with the generator of a simulated run it must make the choices
of that run. `tilt` multiplies the exploration, `noise_tilt` the noise: both 1, except where a test
shows that a wrong constant would be noticed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import naive_formulas as naive

TIE = 1e-9
"""Scores closer than this count as equal: rounding may decide between them."""


class Twin:
    """Base: an arm that was never released comes first, in the order of the arms."""

    tilt = 1.0
    noise_tilt = 1.0

    def __init__(self, arms: int, horizon: int, rng: Any, **options: Any) -> None:
        self.arms, self.horizon, self.rng = arms, horizon, rng
        self.__dict__.update(options)
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.mean = [0.0] * arms
        self.n = [0] * arms
        self.begin()

    def begin(self) -> None:
        """Set up what the row needs beyond means and counts."""

    def laplace(self, scale: float) -> float:
        """Lap(b) as the difference of two exponentials of mean b; none at b = 0."""
        if scale == 0.0:
            return 0.0
        plus, minus = self.rng.standard_exponential(), self.rng.standard_exponential()
        return float(self.noise_tilt * scale * (plus - minus))

    def gaussian(self, variance: float) -> float:
        if variance == 0.0:
            return 0.0
        return float(self.noise_tilt * math.sqrt(variance) * self.rng.standard_normal())

    def forced(self, t: int) -> int | None:
        """An arm that must be played whatever the scores."""
        return next((arm for arm in range(self.arms) if self.n[arm] == 0), None)

    def scores(self, t: int) -> list[float]:
        return [self.score(arm, t) for arm in range(self.arms)]

    def score(self, arm: int, t: int) -> float:
        raise NotImplementedError

    def tilted(self, index: float, mean: float) -> float:
        return mean + self.tilt * (index - mean)

    def length(self, arm: int) -> int:
        return 1

    def response(self, reward: float) -> float:
        """What a user hands over."""
        return reward

    def learn(self, arm: int, rewards: Sequence[float]) -> None:
        """The mean of all that the users of an arm ever handed over."""
        self.rewards[arm] += [self.response(reward) for reward in rewards]
        self.n[arm] = len(self.rewards[arm])
        self.mean[arm] = math.fsum(self.rewards[arm]) / self.n[arm]


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


class DPFTPLNew(Twin):
    epsilon = 1.0
    delta = 0.0

    def response(self, reward: float) -> float:
        if reward in (0.0, 1.0):
            return reward
        return 1.0 if self.rng.random() < reward else 0.0

    def scores(self, t: int) -> list[float]:
        """The arm with most rewards is drawn first."""
        first = self.n.index(max(self.n))
        drawn = {arm: self.score(arm, t) for arm in sorted(range(self.arms), key=first.__ne__)}
        return [drawn[arm] for arm in range(self.arms)]

    def score(self, arm: int, t: int) -> float:
        mean, n = self.mean[arm], self.n[arm]
        if math.isinf(self.epsilon):
            return mean + self.tilt * math.sqrt(math.log(self.horizon) / n)
        centre = naive.leader_centre(mean, n, self.epsilon, self.delta, self.horizon)
        noise = naive.truncated_laplace(self.rng.random(), self.epsilon, self.delta, n)
        return self.tilted(centre, mean) + self.noise_tilt * noise


TWINS: dict[str, type[Twin]] = {
    "ucb1": UCB1,
    "kl-ucb": KLUCB,
    "imed": IMED,
    "episodic-ucb": EpisodicUCB,
    "adap-ucb": AdaPUCB,
    "adap-klucb": AdaPKLUCB,
    "adac-ucb": AdaCUCB,
    "dp-klucb": DPKLUCB,
    "dp-imed": DPIMED,
    "dp-ucb": DPUCB,
    "dp-ucb-td": DPUCBIdle,
    "dp-ucb-bound": DPUCBBound,
    "private-ucb": PrivateUCB,
    "ldp-ucb-b": LDPUCBB,
    "ldp-ucb-l": LDPUCBL,
    "ldp-ucb-bs": LDPUCBBS,
    "ldp-ucb-ls": LDPUCBLS,
    "dp-se": DPSE,
    "dp-ftpl-new": DPFTPLNew,
}


class Mismatch(AssertionError):
    """A run made another choice than its twin."""


def replay(twin: Twin, table: Any, played: Sequence[int], tie: float = TIE) -> int:
    """Check every decision of a run against its twin; the number of decisions between ties."""
    t, horizon, ties = 0, len(played), 0
    while t < horizon:
        arm = int(played[t])
        must = twin.forced(t + 1)
        if must is not None:
            if arm != must:
                raise Mismatch(f"round {t + 1}: arm {arm} was played, the twin plays {must}")
        else:
            scores = twin.scores(t + 1)
            best = max(scores)
            if scores[arm] < best - tie:
                raise Mismatch(f"round {t + 1}: arm {arm} was played, scores are {scores}")
            ties += sum(score >= best - tie for score in scores) > 1
        rounds = twin.length(arm)
        batch = played[t : t + rounds]
        if any(int(other) != arm for other in batch):
            raise Mismatch(f"round {t + 1}: arm {arm} was not played for {rounds} rounds")
        if t + rounds <= horizon:
            twin.learn(arm, [float(table[s][arm]) for s in range(t, t + rounds)])
        t += rounds
    return ties
