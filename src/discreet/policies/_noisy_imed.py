"""Gauss-IMED and Laplace-IMED: IMED that knows how much noise is in a mean.

With S the running sum of k noisy batches of an arm, N all of its rewards, m = S/N and κ the
log-moment of the noise of a batch:

    argmin over arms of  J/(1 + c) + log N,
    J = sup over l >= 0 of  -N log(1 - m* + m* e^-l) - l N m - k κ(l),   m* = clip01(max m),

Chernoff's exponent of a sum of at most Nm if the arm were as good as the best (m is moved into
[0, 1] first). With Gaussian noise J = inf_z [ N²(z - m)²/(2kσ²) + N kl(z, m*) ]: rewards of mean z,
and noise for the rest. With Laplace noise and without the last term it is DP-IMED's N d_ε(m, m*),
which takes the noise of k batches for that of one and its tail for e^-εy: a best arm that looks bad
early is then given up too readily, and some runs never recover.

The caution c is 0 by default. A policy whose regret is as small as can be has a regret above x with
probability of the order 1/x, which 1 + c times as much exploration makes x^-(1+c) (Fan & Glynn,
"The fragility of optimized bandit algorithms", 2021). `benchmarks/hard.py` measures both.

Every reward is in one batch, a batch is released once, adding up releases is free: so Lap(1/ε) is
ε-DP, and σ = 1/μ is μ-Gaussian DP and μ²/2-zCDP. No bound on the regret is proved. The first batch
has ceil(40/ε) or ceil(20σ) rounds and batches grow by 1.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._checks import amount
from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..privacy._source import SIMULATED
from ..privacy.budgets import Budget
from ._divergences import noisy_divergence, noisy_floor
from ._imed import best_mean
from ._ranks import ranked_scores
from ._rules import Rule, choose_above_floor, clip01
from ._schedules import LONGEST, growth_of
from ._view import Setting, View
from .releases._base import CLOSED

FIRST_BATCH = 20.0
"""Rounds of the first batch, in standard deviations of Gaussian noise."""
FIRST_LAPLACE = 40.0
"""Rounds of the first batch, times ε."""


class Batches(NamedTuple):
    """The noise of a batch, N(0, variance) or Lap(scale), and how batches grow."""

    variance: float
    scale: float
    first: int
    ratio: float
    weight: float
    """1/(1 + c)"""


def batches_in(pulls: int, first: int, ratio: float) -> int:
    """How many batches make up so many rewards of an arm."""
    batches, reached = 1, first
    while reached < pulls:
        reached += math.ceil((ratio - 1.0) * reached)
        batches += 1
    return batches


def noisy_imed_score(rule: Batches, view: View, arm: int, t: int, best: float) -> float:
    """J/(1 + c) + log N."""
    mean, size = clip01(view.value[arm]), view.size[arm]
    cost = 0.0
    if mean < best:
        draws = batches_in(size, rule.first, rule.ratio) / size
        cost = rule.weight * size * noisy_divergence(mean, best, draws, rule.variance, rule.scale)
    return float(cost + math.log(view.pulls[arm]))


def noisy_imed_floor(rule: Batches, view: View, arm: int, t: int, best: float) -> float:
    """No more than that, without solving for l or counting batches: k batches end at or above
    first · ratio^(k-1), and more noise is less evidence."""
    mean, size = clip01(view.value[arm]), view.size[arm]
    if mean >= best:
        return math.log(view.pulls[arm])
    steps = math.log(max(size / rule.first, 1.0)) / math.log(rule.ratio)
    draws = math.ceil(1.0 + steps) / size
    cost = rule.weight * size * noisy_floor(mean, best, draws, rule.variance, rule.scale)
    return float(cost + math.log(view.pulls[arm]))


@dataclass(frozen=True)
class NoisyIMED(Rule):
    """argmin J/(1 + c) + log N, J Chernoff's exponent of a mean with this noise."""

    caution: float = 0.0
    """c"""
    name: ClassVar[str] = "IMED index, noise counted"
    still: ClassVar[bool] = True
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_above_floor, prepare=best_mean, floor=noisy_imed_floor, score=noisy_imed_score
    )
    ranked: ClassVar[Kernel | None] = ranked_scores(noisy_imed_score, clip01, noisy_imed_floor)

    def __post_init__(self) -> None:
        amount("caution", self.caution, infinite=False, fix="use caution=0.5")

    def parameters(self, setting: Setting) -> Batches:
        release, schedule = setting.release, setting.schedule
        noise, growth = release.batch_noise, growth_of(schedule, setting)
        if noise is None or growth is None or not noise.variance or release.evidence != CLOSED:
            raise InvalidArgument(
                "rule", "go with geometric batches and a running sum",
                f"{schedule} × {release}",
                "compose it with Geometric and RunningLaplace, RunningGaussian, SecureSum or "
                "SkellamSum",
            )  # fmt: skip
        variance = 0.0 if noise.scale else noise.variance
        caution = 1.0 / (1.0 + self.caution)
        return Batches(variance, noise.scale, growth.first, growth.ratio, caution)


def first_laplace_batch(epsilon: float) -> int:
    """ceil(40/ε)."""
    return max(1, math.ceil(min(FIRST_LAPLACE / epsilon, LONGEST)))


def first_gaussian_batch(budget: Budget, calibration: str = "exact") -> int:
    """ceil(20σ)."""
    scale = SIMULATED.gaussian_scale(budget, calibration)
    return max(1, math.ceil(min(FIRST_BATCH * scale, LONGEST)))
