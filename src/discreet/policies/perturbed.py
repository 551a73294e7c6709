"""DP-FTPL-New: follow the perturbed leader; the noise is in the choice, not in the means.

θ = R/N + sqrt(log T/N) + (1/(Nε)) log[(T(e^ε-1)+2Tδ)/(2(e^ε-1)+2Tδ)] + Z/N of every arm, Z from the
truncated Laplace law of (ε,δ) and sensitivity 1; play argmax θ. Rewards in (0, 1) become bits.

One reward moves one R/N by at most 1/N, so each round's choice is (ε,δ)-DP given the history:
*instantaneous* DP. The run as a whole costs the composition over its rounds. Wang & Zhu (2024),
Algorithm 3 and Theorem 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..compiled import Function, Kernel
from ..errors import UnsupportedBudget
from ..privacy.budgets import Approximate, Budget, Pure
from ..privacy.mechanisms import TruncatedLaplace
from ..privacy.noise import truncated_laplace
from .releases import Exact
from .rules import Rule, choose_sampled
from .view import Setting, View


class Leader(NamedTuple):
    """(ε,δ), log T, and the shift that makes up for the noise, times N."""

    epsilon: float
    delta: float
    log_horizon: float
    shift: float


def perturbed_mean(rule: Leader, view: View, arm: int, t: int, rng: Any) -> float:
    """R/N + sqrt(log T/N) + (shift + Z)/N."""
    size = view.size[arm]
    noise = rule.shift + truncated_laplace(rule.epsilon, rule.delta, rng)
    return float(view.value[arm] + math.sqrt(rule.log_horizon / size) + noise / size)


def leader_shift(epsilon: float, delta: float, horizon: int) -> float:
    """(1/ε) log[(T(e^ε-1)+2Tδ)/(2(e^ε-1)+2Tδ)], and its limit (T-2)/(2Tδ) at ε = 0."""
    if epsilon == 0.0:
        return (horizon - 2.0) / (2.0 * horizon * delta)
    # e^ε - 1 = e^ε (1 - e^-ε): divided by e^ε above and below, so that no ε overflows
    grown, slack = -math.expm1(-epsilon), 2.0 * horizon * delta * math.exp(-epsilon)
    return math.log((horizon * grown + slack) / (2.0 * grown + slack)) / epsilon


@dataclass(frozen=True)
class PerturbedLeader(Rule):
    """argmax of truncated Laplace draws around optimistic means."""

    asked: Budget
    name: ClassVar[str] = "perturbed leader"
    choose: ClassVar[Function | Kernel] = Kernel(choose_sampled, sample=perturbed_mean)

    def __post_init__(self) -> None:
        if not isinstance(self.asked, Pure | Approximate):
            raise UnsupportedBudget(
                "budget", "be pure or approximate for truncated Laplace noise", self.asked,
                "give epsilon, or epsilon and delta",
            )  # fmt: skip

    @property
    def budget(self) -> Budget:
        return TruncatedLaplace.calibrated(self.asked).budget

    def parameters(self, setting: Setting) -> Leader:
        horizon = setting.needs_horizon(self.name)
        epsilon = float(getattr(self.asked, "epsilon"))  # noqa: B009 - both kinds have it
        delta = float(getattr(self.asked, "delta", 0.0))
        return Leader(epsilon, delta, math.log(horizon), leader_shift(epsilon, delta, horizon))


def respond_rounded(release: Any, reward: float, rng: Any) -> float:
    """A bit with the mean of the reward; bits stay as they are."""
    if reward == 0.0 or reward == 1.0:
        return reward
    return 1.0 if rng.random() < reward else 0.0


@dataclass(frozen=True)
class ExactBits(Exact):
    """Exact means of rewards that were rounded to bits at random."""

    name: ClassVar[str] = "exact bits"
    respond: ClassVar[Function | None] = staticmethod(respond_rounded)
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
