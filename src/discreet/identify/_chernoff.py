"""Chernoff-TT: the simpler twin of Evidence-TT, for batches of fixed sizes.

With s the sum of k released batches of an arm, n its pulls, κ the log-moment of a batch's noise:

    J⁺(u) = sup over l >= 0 of  l s - n log(1 - u + u e^l)  - k κ(l)    against mean <= u
    J⁻(u) = sup over l >= 0 of -l s - n log(1 - u + u e^-l) - k κ(l)    against mean >= u

At a fixed phase {J⁺(u) >= x} is a half-line of s, so Chernoff's bound gives P(J⁺(μ) >= x) <= e^-x.
The sums of two arms at fixed phases are independent, and the sum of two such J is then below
Gamma(2, 1): P(J⁺ + J⁻ >= c) <= (1 + c) e^-c. Stop with leader L when for all a

    min over u of J⁺_L(u - ξ) + J⁻_a(u) >= c,   (1 + c) e^-c = δ w(p) w(q) / (K-1),

p and q the phases of L and a, w(p) = 1/(p(p+1)): a union over phases, so that the answer is wrong
with probability at most δ. Needs more than Evidence-TT: sizes that are fixed functions of the
phase, independent rewards. Both J are convex in u, as suprema of convex functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._compiled import Function, Kernel
from ..policies import Geometric, Release, Rule, Schedule, Setting
from ..policies._schedules import Growth
from ..policies.releases._entries import GAUSSIAN, LAPLACE, Noise
from ._evidence import Books, fresh_books
from ._evidence_top_two import (
    EnoughEvidence,
    EvidenceTopTwo,
    Plan,
    choose_by_evidence,
    enough_evidence,
    plan_for,
)
from ._noises import has_running_sums

LARGEST_TILT = 30.0
HALVINGS = 45


class Law(NamedTuple):
    """The noise of a batch: its variance if Gaussian, its squared scale if Laplace."""

    gaussian: float
    laplace: float
    each: int
    """1 if every reward has noise of its own"""
    most: float
    """the largest tilt"""
    level: float
    """log((K-1)/δ)"""


def law_of(noise: Noise, level: float) -> Law:
    """The numbers of a noise."""
    laplace = noise.scale**2 if noise.kind == LAPLACE else 0.0
    gaussian = noise.scale**2 if noise.kind == GAUSSIAN else 0.0
    most = LARGEST_TILT
    if laplace > 0.0:
        most = min(most, (1.0 - 1e-9) / noise.scale)
    return Law(gaussian, laplace, int(noise.each), most, level)


def log_moment(law: Law, tilt: float) -> float:
    """κ(l)."""
    return 0.5 * law.gaussian * tilt * tilt - math.log1p(-law.laplace * tilt * tilt)


def moment_slope(law: Law, tilt: float) -> float:
    """κ'(l)."""
    return law.gaussian * tilt + 2.0 * law.laplace * tilt / (1.0 - law.laplace * tilt * tilt)


def deviation(law: Law, s: float, n: float, k: float, u: float) -> tuple[float, float]:
    """J⁺(u) and its slope in u: the objective is concave in l, so its slope is bisected."""
    low, high = 0.0, law.most
    if s <= n * u:
        return 0.0, 0.0
    for _ in range(HALVINGS):
        tilt = 0.5 * (low + high)
        grown = u * math.exp(tilt)
        if s - n * grown / (1.0 - u + grown) > k * moment_slope(law, tilt):
            low = tilt
        else:
            high = tilt
    growth = math.expm1(low)
    mean = 1.0 + u * growth
    return low * s - n * math.log(mean) - k * log_moment(law, low), -n * growth / mean


def times_noisy(law: Law, books: Books, arm: int) -> float:
    """How many draws of noise are in the sum."""
    return float(books.size[arm] if law.each == 1 else books.batches[arm])


def chernoff_pair(
    law: Law, books: Books, better: int, worse: int, u: float, shift: float
) -> tuple[float, float]:
    """J⁺_a(u + d) + J⁻_c(u) less what c exceeds log((K-1)/δ) by; and the slope in u."""
    n, m = float(books.size[better]), float(books.size[worse])
    up, up_slope = deviation(
        law, books.total[better], n, times_noisy(law, books, better), u + shift
    )
    # against mean >= u is against mean <= 1 - u of the rewards turned round
    turned = m - books.total[worse]
    down, down_slope = deviation(law, turned, m, times_noisy(law, books, worse), 1.0 - u)
    p, q = float(books.batches[better]), float(books.batches[worse])
    union = law.level + math.log(p * (p + 1.0) * q * (q + 1.0))
    return up + down - (gamma_level(union) - law.level), up_slope - down_slope


def gamma_level(y: float) -> float:
    """The c > 0 with c - log(1 + c) = y, by Newton's method from the right."""
    c = y + math.log1p(y) + 1.0 + math.sqrt(2.0 * y)
    for _ in range(60):
        step = (c - math.log1p(c) - y) * (1.0 + c) / c
        c -= step
        if step <= 1e-13 * c:
            break
    return c


def note_sum(law: Law, books: Books, arm: int, size: int, x: float) -> None:
    """A batch of b rewards, released as x."""
    books.size[arm] += size
    books.total[arm] += x
    books.batches[arm] += 1


PARTS: dict[str, Function | Kernel] = {"enter": note_sum, "log_pair": chernoff_pair}


@dataclass(frozen=True)
class FixedBatches(Geometric):
    """Batches that multiply an arm's pulls by `ratio`, the first as long as the noise asks."""

    ratio: float = 1.5
    name: ClassVar[str] = "geometric, first by noise and risk"

    def parameters(self, setting: Setting) -> Growth:
        return Growth(plan_for(setting, 0.0, None).first, float(self.ratio))


@dataclass(frozen=True)
class ChernoffTopTwo(EvidenceTopTwo):
    """The same leader and challenger, with Chernoff bounds for evidence."""

    name: ClassVar[str] = "top two by Chernoff bounds"
    choose: ClassVar[Function | Kernel] = Kernel(choose_by_evidence, **PARTS)

    def parameters(self, setting: Setting) -> Plan:
        return plan_for(setting, self.xi, law_of)

    def memory(self, setting: Setting) -> Books:
        return fresh_books(setting.arms, 0, 0)


@dataclass(frozen=True)
class EnoughChernoff(EnoughEvidence):
    """Stop when the Chernoff bounds add up to the level of their phases."""

    name: ClassVar[str] = "Chernoff bounds >= level of the phases"
    rule: ClassVar[type[Rule]] = ChernoffTopTwo
    enough = Kernel(enough_evidence, **PARTS)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        # the sums of a phase must be sums of a fixed number of rewards
        return schedule.grows and has_running_sums(release)
