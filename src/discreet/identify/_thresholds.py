"""Stopping thresholds: how much evidence is enough for an answer that is wrong with risk δ.

    k(n) = log2 n + 2, s = 2, σ = 1/2, Σ over c in {a, b}
    Gaussian   c(ω, δ) = 2 C_G(log((K-1)/δ)/2) + 2 Σ log(4 + log ω_c)
    private    2 c(ω, δ/(2ζ(s)² k(ω_a)^s k(ω_b)^s)) + (1/(εσ)²) Σ log²(2Kζ(s)k(ω_c)^s/δ)/ω_c
    starred    gap < cε:  private(ω, 2δ/3)/2 + (√2/(εσ)) Σ sqrt(h(ω_c)/ω_c) log(3Kζ(s)k(ω_c)^s/δ)
               else:      (c/σ²) log(3Kζ(s) max k(ω_c)^s/δ) + (cε/(√2σ)) Σ sqrt(ω_c h(ω_c))
               h(x) = Wbar(2 log(3Kζ(s)k(x)^s/δ) + 4 log(4 + log x) + 1/2)/2
    public     log(1/δ) + Σ log(1 + log ω_c) + log²(1/δ)/ε² Σ 1/ω_c: AdaP-TT's in the authors'
               public code, there with σ = 1 in the cost and a randomised leader. NOT δ-correct.
    heuristic  log((1 + log n)/δ), n all pulls: TTUCB's in that code. NOT δ-correct, nor with the
               noise term of the private one added.

The starred threshold belongs to the private cost and shares its c. In its second branch the print
has k where the union bound over phases needs k^s; k^s is used. A threshold is δ-correct for the
releases that it was proved for, whatever the sampling: `covers` says which.

Azize, Jourdan, Al Marjani & Basu (2026); Azize (2024, thesis), eq. 5.10, 5.11, 5.14, Lemmas 5.18
and 5.21; the Gaussian one after Kaufmann & Koolen (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._compiled import Function
from ..policies import Doubling, Exact, ForgetLaplace, LocalBernoulli, Release, Schedule, Setting
from ._costs import SIGMA, VERSIONS, PrivateCost
from ._setting import risk_of
from ._special import calibration, lambert_bar

ZETA_2 = math.pi**2 / 6.0
"""ζ(s), s = 2."""


class Threshold:
    """Base of all thresholds; `value(level, gap, weight, other_weight, t)` is the kernel."""

    name: ClassVar[str]
    value: ClassVar[Function]
    delta_correct: ClassVar[bool] = True

    def level(self, setting: Setting) -> NamedTuple:
        """What the kernel gets as its first argument."""
        raise NotImplementedError

    def least(self, setting: Setting) -> float:
        """No value is below it: so much evidence must be there before one is reckoned."""
        return 0.0

    def covers(self, schedule: Schedule, release: Release) -> bool:
        """Whether it was proved δ-correct for such releases."""
        return False

    def __str__(self) -> str:
        return self.name


class GaussianLevel(NamedTuple):
    """2 C_G(log((K-1)/δ)/2)."""

    constant: float


def gaussian_threshold(
    level: GaussianLevel, gap: float, weight: float, other_weight: float, t: int
) -> float:
    """2 C_G(log((K-1)/δ)/2) + 2 log(4 + log ω_a) + 2 log(4 + log ω_b)."""
    return level.constant + growth(weight) + growth(other_weight)


def growth(weight: float) -> float:
    """2 log(4 + log ω): what looking after every reward costs."""
    return 2.0 * math.log(4.0 + math.log(weight))


@dataclass(frozen=True)
class GaussianThreshold(Threshold):
    """For means of all rewards so far, exact or of random bits."""

    name: ClassVar[str] = "Gaussian threshold"
    value: ClassVar[Function] = staticmethod(gaussian_threshold)

    def level(self, setting: Setting) -> GaussianLevel:
        risk = risk_of(setting, self.name)
        return GaussianLevel(2.0 * calibration(0.5 * math.log((setting.arms - 1) / risk)))

    def least(self, setting: Setting) -> float:
        return gaussian_threshold(self.level(setting), 0.0, 1.0, 1.0, 1)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return type(release) in (Exact, LocalBernoulli)


class PrivateLevel(NamedTuple):
    """K, δ, ε, and c of the starred threshold."""

    arms: int
    risk: float
    epsilon: float
    factor: float


def phase(weight: float) -> float:
    """k(n) = log2 n + 2."""
    return math.log2(weight) + 2.0


def private_threshold(
    level: PrivateLevel, gap: float, weight: float, other_weight: float, t: int
) -> float:
    """2 c(ω, δ/(2ζ²k_a²k_b²)) + (1/(εσ)²) Σ log²(2Kζk²/δ)/ω."""
    return shared_threshold(level, level.risk, weight, other_weight)


def shared_threshold(level: PrivateLevel, risk: float, weight: float, other_weight: float) -> float:
    """The private threshold at its own risk."""
    phases = phase(weight) * phase(other_weight)
    split = risk / (2.0 * ZETA_2 * ZETA_2 * phases * phases)
    counts = 2.0 * calibration(0.5 * math.log((level.arms - 1) / split))
    counts += growth(weight) + growth(other_weight)
    noise = noise_term(level, risk, weight) + noise_term(level, risk, other_weight)
    return 2.0 * counts + noise / (level.epsilon * SIGMA) ** 2


def noise_term(level: PrivateLevel, risk: float, weight: float) -> float:
    """log²(2Kζk²/δ)/ω."""
    log = math.log(2.0 * level.arms * ZETA_2 * phase(weight) ** 2 / risk)
    return log * log / weight


@dataclass(frozen=True)
class PrivateThreshold(Threshold):
    """For means of doubling batches with Laplace noise: that of AdaP-TT."""

    name: ClassVar[str] = "private threshold"
    value: ClassVar[Function] = staticmethod(private_threshold)

    def level(self, setting: Setting) -> PrivateLevel:
        epsilon = setting.pure_epsilon(self.name)
        return PrivateLevel(setting.arms, risk_of(setting, self.name), epsilon, 0.0)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        # the union over phases gives the n-th batch 1/(ζ(s) k^s), k = log2 of its size + 2: batches
        # that grow by another factor would use up more than δ
        return type(schedule) is Doubling and type(release) is ForgetLaplace


def starred_threshold(
    level: PrivateLevel, gap: float, weight: float, other_weight: float, t: int
) -> float:
    """That of AdaP-TT*, on either side of gap = cε."""
    union = 3.0 * level.arms * ZETA_2 / level.risk
    log = math.log(union * phase(weight) ** 2)
    other_log = math.log(union * phase(other_weight) ** 2)
    width = deviation(log, weight)
    other_width = deviation(other_log, other_weight)
    cut = level.factor * level.epsilon
    if gap < cut:
        shared = 0.5 * shared_threshold(level, 2.0 * level.risk / 3.0, weight, other_weight)
        mixed = math.sqrt(width / weight) * log + math.sqrt(other_width / other_weight) * other_log
        return shared + math.sqrt(2.0) / (level.epsilon * SIGMA) * mixed
    spread = math.sqrt(weight * width) + math.sqrt(other_weight * other_width)
    noise = level.factor / SIGMA**2 * max(log, other_log)
    return noise + cut / (math.sqrt(2.0) * SIGMA) * spread


def deviation(log: float, weight: float) -> float:
    """h(x) = Wbar(2 log(3Kζk²/δ) + 4 log(4 + log x) + 1/2)/2."""
    return 0.5 * lambert_bar(2.0 * log + 2.0 * growth(weight) + 0.5)


@dataclass(frozen=True)
class StarredThreshold(PrivateThreshold):
    """For the same releases, to be met by the private cost: that of AdaP-TT*."""

    version: str = "jmlr"
    name: ClassVar[str] = "starred threshold"
    value: ClassVar[Function] = staticmethod(starred_threshold)

    def __post_init__(self) -> None:
        PrivateCost(self.version)

    def level(self, setting: Setting) -> PrivateLevel:
        return super().level(setting)._replace(factor=VERSIONS[self.version])


def public_threshold(
    level: PrivateLevel, gap: float, weight: float, other_weight: float, t: int
) -> float:
    """log(1/δ) + Σ log(1 + log ω) + log²(1/δ)/ε² Σ 1/ω."""
    log = -math.log(level.risk)
    looks = math.log(1.0 + math.log(weight)) + math.log(1.0 + math.log(other_weight))
    noise = (log / level.epsilon) ** 2 * (1.0 / weight + 1.0 / other_weight)
    return log + looks + noise


@dataclass(frozen=True)
class PublicThreshold(PrivateThreshold):
    """AdaP-TT's in public code, for `UnitCost`: no union over arms or phases, NOT δ-correct."""

    name: ClassVar[str] = "public code's threshold (not δ-correct)"
    value: ClassVar[Function] = staticmethod(public_threshold)
    delta_correct: ClassVar[bool] = False


class HeuristicLevel(NamedTuple):
    """δ."""

    risk: float


def heuristic_threshold(
    level: HeuristicLevel, gap: float, weight: float, other_weight: float, t: int
) -> float:
    """log((1 + log n)/δ)."""
    return math.log((1.0 + math.log(t)) / level.risk)


@dataclass(frozen=True)
class HeuristicThreshold(Threshold):
    """TTUCB's in public code: earlier, and NOT δ-correct."""

    name: ClassVar[str] = "heuristic threshold (not δ-correct)"
    value: ClassVar[Function] = staticmethod(heuristic_threshold)
    delta_correct: ClassVar[bool] = False

    def level(self, setting: Setting) -> HeuristicLevel:
        return HeuristicLevel(risk_of(setting, self.name))

    def least(self, setting: Setting) -> float:
        return -math.log(risk_of(setting, self.name))


def noisy_heuristic_threshold(
    level: PrivateLevel, gap: float, weight: float, other_weight: float, t: int
) -> float:
    """log((1 + log n)/δ) + (1/(εσ)²) Σ log²(2Kζk²/δ)/ω."""
    noise = noise_term(level, level.risk, weight) + noise_term(level, level.risk, other_weight)
    return math.log((1.0 + math.log(t)) / level.risk) + noise / (level.epsilon * SIGMA) ** 2


@dataclass(frozen=True)
class NoisyHeuristicThreshold(PrivateThreshold):
    """The heuristic, with what the private threshold adds for the noise: NOT δ-correct either."""

    name: ClassVar[str] = "heuristic threshold + noise (not δ-correct)"
    value: ClassVar[Function] = staticmethod(noisy_heuristic_threshold)
    delta_correct: ClassVar[bool] = False
