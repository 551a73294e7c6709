"""DP-KLUCB and DP-IMED: no forgetting, and regret near the lower bound.

With m = S/N the mean of all noisy batches of an arm and d_ε the divergence that an ε-private
release leaves (`divergences.private_divergence`):
DP-KLUCB:  max{q : d_ε(clip01(m), q) <= log t / N}.
DP-IMED:   argmin N d_ε(clip01(m), clip01(max m)) + log N.

ε-DP: every reward is in one batch sum, released once with Lap(1/ε); adding up releases is free.
Azize, Wu, Honda, Orabona, Ito & Basu (2025). The first batch has ceil(20/ε) rounds: shorter ones
leave DP-IMED a heavy tail (a best arm that noise makes look bad is not tried again for long).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ._divergences import private_divergence, private_upper
from ._imed import best_mean
from ._ranks import ranked_indices, ranked_scores
from ._rules import Rule, choose_exceeding, choose_smallest, clip01
from ._schedules import LONGEST
from ._view import Setting, View

FIRST_BATCH = 20.0
"""Rounds of the first batch, times ε."""


class Epsilon(NamedTuple):
    """The ε of the release."""

    epsilon: float


class Calibrated(Rule):
    """Base of the rules whose formula knows the ε of the release."""

    def parameters(self, setting: Setting) -> Epsilon:
        return Epsilon(setting.pure_epsilon(self.name))


def dp_klucb_index(rule: Epsilon, view: View, arm: int, t: int) -> float:
    """max{q : d_ε(clip01(m), q) <= log t / N}."""
    budget = math.log(t + 1.0) / view.size[arm]
    return private_upper(clip01(view.value[arm]), budget, rule.epsilon)


def dp_klucb_exceeds(rule: Epsilon, view: View, arm: int, t: int, level: float) -> bool:
    """Whether that index is above a level."""
    if level >= 1.0:
        return False
    mean = clip01(view.value[arm])
    cost = view.size[arm] * private_divergence(mean, level, rule.epsilon)
    return bool(mean > level or cost < math.log(t + 1.0))


def dp_klucb_hopeless(
    rule: Epsilon, view: View, arm: int, t: int, shared: float, least: float
) -> bool:
    """Whether that index is below -least: by more than rounding, and below 1 if that is 1."""
    mean, level = clip01(view.value[arm]), min(-least, 1.0 - 1e-12)
    cost = view.size[arm] * private_divergence(mean, level, rule.epsilon)
    return bool(mean < level and cost > math.log(t + 1.0) * (1.0 + 1e-9) + 1e-9)


@dataclass(frozen=True)
class DPKLUCB(Calibrated):
    """max{q : d_ε(clip01(m), q) <= log t / N}."""

    name: ClassVar[str] = "private KL-UCB index"
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_exceeding, index=dp_klucb_index, exceeds=dp_klucb_exceeds
    )
    ranked: ClassVar[Kernel | None] = ranked_indices(dp_klucb_index, dp_klucb_hopeless)


def dp_imed_score(rule: Epsilon, view: View, arm: int, t: int, best: float) -> float:
    """N d_ε(clip01(m), best) + log N. The second N counts all pulls: where some outcomes are still
    to come, as in live trials, those of the first are fewer."""
    cost = view.size[arm] * private_divergence(clip01(view.value[arm]), best, rule.epsilon)
    return float(cost + math.log(view.pulls[arm]))


@dataclass(frozen=True)
class DPIMED(Calibrated):
    """argmin N d_ε(clip01(m), clip01(max m)) + log N."""

    name: ClassVar[str] = "private IMED index"
    still: ClassVar[bool] = True
    within_epochs: ClassVar[bool] = True
    choose: ClassVar[Function | Kernel] = Kernel(
        choose_smallest, prepare=best_mean, score=dp_imed_score
    )
    ranked: ClassVar[Kernel | None] = ranked_scores(dp_imed_score, clip01)


def first_batch(epsilon: float) -> int:
    """ceil(20/ε), the first batch of both."""
    return max(1, math.ceil(min(FIRST_BATCH / epsilon, LONGEST)))
