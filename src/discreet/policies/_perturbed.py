"""Follow the perturbed leader: DP-FTPL-Gauss, -Beta and -New.

The means R/N are exact and the choice is noisy: draw θ of every arm, play argmax θ.
- Gauss:  θ ~ N(R/N, 2/N), after a start phase of N_G pulls of every arm.
- Beta:   θ ~ Beta(R+1+k, N-R+1+k), k = floor(N/8) + 1, after N_B pulls.
- New:    θ = R/N + sqrt(log T/N) + (1/(Nε)) log[(T(e^ε-1)+2Tδ)/(2(e^ε-1)+2Tδ)] + Z/N, Z from the
          truncated Laplace distribution of (ε,δ) and sensitivity 1. No start phase.

One reward moves one R/N by at most 1/N, so each round's choice is (ε,δ)-DP given the history:
*instantaneous* DP (the start phases, see `starts`, see to it). The run as a whole costs the
composition over its rounds. Rewards in (0, 1) become bits. Wang & Zhu (2024), Algorithms 1 to 3,
Theorems 11, 13 and 16.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..privacy._mechanisms import TruncatedLaplace
from ..privacy.budgets import Approximate, Budget
from ._rules import Rule, choose_sampled, epsilon_delta
from ._starts import beta_start, check_start, gauss_start
from ._thompson import Start, choose_beta
from ._view import Setting, View
from .releases._entries import Entries, Silence
from .releases._exact import Exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from .releases import Release
    from .releases._noise_of_mean import MeanNoise

SIXTH = 1.0 / 6.0
SMALLEST = 2.0**-54
"""Half the step of a uniform draw: what a draw of 0 stands for."""


class Leader(NamedTuple):
    """Pulls before an arm takes part, (ε,δ), log T, and the shift for the noise, times N."""

    start: int
    epsilon: float
    delta: float
    log_horizon: float
    shift: float


def choose_perturbed(rule: Leader, memory: object, view: View, t: int, rng: Generator) -> int:
    """An arm without rewards first; then argmax of R/N + sqrt(log T/N) + (shift + Z)/N.

    The arm with most pulls is drawn first: it usually wins. To beat a level, another needs Z > z.
    Noise is at most -log(2m)/ε, so it cannot if 2m e^(εz) >= 1, and e^x >= 1+x+x²/2+x³/6: most
    arms are ruled out by their uniform alone. The distribution is that of drawing all of them.
    """
    leader = 0
    for arm in range(len(view.size)):
        if view.size[arm] < rule.start:
            return arm
        if view.size[arm] > view.size[leader]:
            leader = arm
    best = leader
    level = centre_of(rule, view, leader)
    level += noise_at(rule, rng.random()) / view.size[leader]
    for arm in range(len(view.size)):
        if arm == leader:
            continue
        u = rng.random()
        centre = centre_of(rule, view, arm)
        needed = (level - centre) * view.size[arm]
        x = rule.epsilon * needed
        # one branch that is nearly always taken: 2 stands for the 2m of a draw below the centre
        reach = 2.0 * (1.0 - u if u > 0.5 else 1.0) * (1.0 + x * (1.0 + x * (0.5 + SIXTH * x)))
        if reach >= 1.0 and needed >= 0.0:
            continue
        value = centre + noise_at(rule, u) / view.size[arm]
        if value > level:
            best, level = arm, value
    return best


def centre_of(rule: Leader, view: View, arm: int) -> float:
    """x0 = R/N + sqrt(log T/N) + shift/N."""
    inverse = 1.0 / view.size[arm]
    return float(view.value[arm] + math.sqrt(rule.log_horizon * inverse) + rule.shift * inverse)


def noise_at(rule: Leader, u: float) -> float:
    """Truncated Laplace noise Z from a uniform u: s [log1p(c/2) - log1p(cm)]/ε, c = (e^ε-1)/δ.

    That is s log1p(g (1/2-m)/(d + g m))/ε with g = 1 - e^-ε and d = δe^-ε, which neither overflows
    nor cancels, and holds for δ = 0.
    """
    m = max(min(u, 1.0 - u), SMALLEST)
    if rule.epsilon == 0.0:
        noise = (0.5 - m) / rule.delta
    else:
        grown = -math.expm1(-rule.epsilon)
        slack = rule.delta * math.exp(-rule.epsilon)
        noise = math.log1p(grown * (0.5 - m) / (slack + grown * m)) / rule.epsilon
    return noise if u > 0.5 else -noise


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
    choose: ClassVar[Function | Kernel] = staticmethod(choose_perturbed)

    def __post_init__(self) -> None:
        epsilon_delta(self.asked)

    @property
    def budget(self) -> Budget:
        return TruncatedLaplace.calibrated(self.asked).budget

    def parameters(self, setting: Setting) -> Leader:
        horizon = setting.needs_horizon(self.name)
        epsilon, delta = epsilon_delta(self.asked)
        shift = leader_shift(epsilon, delta, horizon)
        return Leader(1, epsilon, delta, math.log(horizon), shift)


def gaussian_mean(rule: Start, view: View, arm: int, t: int, rng: Generator) -> float:
    """N(R/N, 2/N)."""
    return float(view.value[arm] + math.sqrt(2.0 / view.size[arm]) * rng.standard_normal())


@dataclass(frozen=True)
class StartedLeader(Rule):
    """Base of the leaders of sampled means: a start phase keeps (ε, δ)."""

    asked: Approximate
    calibration: str = "exact"

    def __post_init__(self) -> None:
        check_start(self.asked, self.calibration)

    @property
    def budget(self) -> Budget:
        return self.asked


@dataclass(frozen=True)
class GaussianLeader(StartedLeader):
    """argmax of N(R/N, 2/N), after a start phase that keeps (ε, δ)."""

    name: ClassVar[str] = "Gaussian leader"
    choose: ClassVar[Function | Kernel] = Kernel(choose_sampled, sample=gaussian_mean)

    def parameters(self, setting: Setting) -> Start:
        return Start(gauss_start(self.asked, self.calibration))


def padded_belief(rule: Start, memory: object, view: View, arm: int, t: int) -> tuple[float, float]:
    """k zeros and k ones more: mean (R+k)/(N+2k) of N+2k."""
    size = view.size[arm]
    padding = size // 8 + 1
    total = float(size + 2 * padding)
    return (view.value[arm] * size + padding) / total, total


@dataclass(frozen=True)
class BetaLeader(StartedLeader):
    """argmax of Beta(R+1+k, N-R+1+k), k = floor(N/8)+1, after a start phase that keeps (ε, δ)."""

    name: ClassVar[str] = "Beta leader"
    choose: ClassVar[Function | Kernel] = Kernel(choose_beta, belief=padded_belief)

    def check_release(self, release: Release) -> None:
        """Its start phase is proved for whole numbers of successes, and a Beta distribution has no
        other."""
        if not release.rounds_to_bits:
            raise InvalidArgument(
                "release", f"be ExactBits for the rule {self.name!r}", str(release),
                "its proof counts bits; GaussianLeader takes exact means of any rewards",
            )  # fmt: skip

    def parameters(self, setting: Setting) -> Start:
        return Start(beta_start(self.asked, self.calibration))


def respond_rounded(release: object, reward: float, rng: Generator) -> float:
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
    secure_noise: ClassVar[bool] = False
    rounds_to_bits: ClassVar[bool] = True

    def estimated_mean(self, value: float) -> float | None:
        """A bit has the mean of its reward."""
        return value

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """Rounding a reward to a bit moves it by at most 1/2 in standard deviation."""
        from .releases._noise_of_mean import MeanNoise, Part

        return MeanNoise((Part("response", 0.5 / sum(sizes), sum(sizes)),))

    def entries(self, setting: Setting) -> Entries | Silence:
        """None: its sums are exact and stay private, choices are all that is public."""
        return Silence(
            f"{self.name!r} keeps exact sums to itself: a perturbed leader shows its choices only"
        )
