"""A slow and obvious policy that keeps all rewards it ever saw, and the replay of a run with it.

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
