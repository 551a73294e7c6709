"""Gauss-IMED: DP-IMED for concentrated, Gaussian and Rényi budgets.

With S the running sum of k noisy batches of an arm, σ² the variance of the noise of one of them,
N all of its rewards and m = S/N:  argmin n kl(clip01(m), clip01(max m)) + log N, where
n = N (N/4)/(N/4 + kσ²) is how many rewards without noise would be as informative as N with it
(a reward in [0, 1] has variance at most 1/4).

Every reward is in one batch, a batch is released once with N(0, σ²), adding up releases is free: so
σ = 1/μ is μ-Gaussian DP and μ²/2-zCDP. No bound on its regret is proved. The first batch has
ceil(20σ) rounds and batches grow by 1.5: with a first batch of 5σ the regret is up to 35 % higher.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ..compiled import Function, Kernel
from ..errors import InvalidArgument
from ..privacy.budgets import Budget
from ..privacy.source import SIMULATED
from .divergences import kl
from .imed import best_mean
from .releases import RunningGaussian, SkellamSum
from .rules import Rule, choose_smallest, clip01
from .schedules import LONGEST, Geometric
from .view import Setting, View

FIRST_BATCH = 20.0
"""Rounds of the first batch, in standard deviations of the noise."""
MOST = 0.25
"""The largest variance of a reward in [0, 1]."""


class Batches(NamedTuple):
    """The variance of a batch's noise, and how batches grow."""

    variance: float
    first: int
    ratio: float


def batches_in(pulls: int, first: int, ratio: float) -> int:
    """How many batches make up so many rewards of an arm."""
    batches, reached = 1, first
    while reached < pulls:
        reached += math.ceil((ratio - 1.0) * reached)
        batches += 1
    return batches


def gauss_imed_score(rule: Batches, view: View, arm: int, t: int, best: float) -> float:
    """n kl(clip01(m), best) + log N, n = N (N/4)/(N/4 + kσ²)."""
    mean, size = clip01(view.value[arm]), view.size[arm]
    cost = 0.0
    if mean < best:
        spread = MOST * size
        noise = batches_in(size, rule.first, rule.ratio) * rule.variance
        cost = size * spread / (spread + noise) * kl(mean, best)
    return float(cost + math.log(view.pulls[arm]))


@dataclass(frozen=True)
class GaussIMED(Rule):
    """argmin n kl(clip01(m), clip01(max m)) + log N, n = N (N/4)/(N/4 + kσ²)."""

    name: ClassVar[str] = "IMED index, noise discounted"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_smallest, prepare=best_mean, score=gauss_imed_score
    )

    def parameters(self, setting: Setting) -> Batches:
        release, schedule = setting.release, setting.schedule
        served = isinstance(release, RunningGaussian | SkellamSum)
        if not served or not isinstance(schedule, Geometric):
            raise InvalidArgument(
                "rule", "go with geometric batches and the running sum + Gaussian or Skellam noise",
                f"{schedule} × {release}",
                "compose it with Geometric and RunningGaussian or SkellamSum",
            )  # fmt: skip
        growth = schedule.parameters(setting)
        return Batches(noise_variance(release), growth.first, growth.ratio)


def noise_variance(release: object) -> float:
    """Of the noise of one batch: σ²; shares are counted in steps of 1/g."""
    if isinstance(release, SkellamSum):
        return release.variance / release.levels**2
    assert isinstance(release, RunningGaussian)
    return float(SIMULATED.gaussian_scale(release.budget, release.calibration) ** 2)


def first_gaussian_batch(budget: Budget, calibration: str = "exact") -> int:
    """ceil(20σ)."""
    scale = SIMULATED.gaussian_scale(budget, calibration)
    return max(1, math.ceil(min(FIRST_BATCH * scale, LONGEST)))
