"""Evidence-TT: top two by evidence, batches sized by the evidence that is still missing.

With S the sum of an arm's releases, N its pulls, m = S/N, x0 = log((K-1)/δ) and E of `evidence`:
- first batch of every arm: ceil max(16, (8 + 4 x0)/ε); Gaussian noise: max(16, 8 σ sqrt(x0))
- leader L = argmax m; W_a = min over u of N_L d⁻(m_L, u) + N_a d⁺(m_a, u), means clipped here only;
  challenger C = argmin W_a + 2 log N_a (a weight of 1 starves a best arm with a bad start)
- play L if N_L <= N_C, else C; batch ceil(N clip(1.2 (x0 - log E_{L,C})/W_C, .3, 2)), with .5 and
  .05 for 1.2 and .3 where there is little noise
- stop when min over u of E_{L,a}(u; -ξ) >= (K-1)/δ for all a ≠ L

d⁺(x, y) = inf_z ε|z-x| + kl(z, y) for x <= y, d⁻(x, y) = d⁺(1-x, 1-y); under Gaussian noise kl, and
N²v/(Nv + kσ²) for N, k the number of batches (N itself starves arms).

Risk. The answer L is wrong if μ_L < μ_* - ξ, * a best arm. Then at u = μ_* the evidence
E_{L,*}(u; -ξ) is a supermartingale, so it ever reaches (K-1)/δ with probability at most δ/(K-1),
and of the K arms at most K-1 are wrong. That holds for any sampling, sizes and ties. Equal best
arms never stop unless ξ > 0. Everything is built from running sums, so it costs no more privacy.

Top two and costs: Jourdan & Azize (2025), Azize et al. (2025).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._checks import probability
from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..policies import Phases, Release, Rule, Schedule, Setting
from ..policies._divergences import private_divergence
from ..policies._rules import clip01
from ..policies._view import View
from ..policies.releases._entries import GAUSSIAN, LAPLACE, NONE, VARIANCE, Noise
from ._evidence import (
    EFFECTS,
    Books,
    Tilts,
    enter,
    fresh_books,
    least_pair,
    tilts_for,
)
from ._noises import batches_of, has_running_sums
from ._recommendation import recommend_best
from ._sampling import first_unreleased
from ._setting import risk_of
from ._stopping import Stopping

if TYPE_CHECKING:
    from numpy.random import Generator


LEAST_BATCH = 16
MOST = 2.0
"""A batch is at most so many times the arm's pulls."""
QUIET = 3.0
"""From this ε on, noise hardly matters to a batch."""
CHALLENGE = 2.0
"""Weight of log N_a in the choice of the challenger."""


class Plan(NamedTuple):
    """The tables of the evidence, and how to sample by it."""

    tilts: Any
    """what evidence is reckoned with, as `enter` and `log_pair` of the policy take it: `Tilts`, or
    the distribution of the noise"""
    level: float
    """x0 = log((K-1)/δ)"""
    margin: float
    """ξ"""
    epsilon: float
    """of the costs; infinite for kl"""
    variance: float
    """σ² of Gaussian noise; 0 for other noise"""
    first: int
    stretch: float
    least: float


def read(rule: Plan, memory: Books, view: View) -> None:
    """Enter what was released since: the running sum of an arm less what is in the books."""
    for arm in range(len(view.size)):
        rounds = view.size[arm] - memory.size[arm]
        if rounds > 0:
            x = view.value[arm] * view.size[arm] - memory.total[arm]
            enter(rule.tilts, memory, arm, rounds, x)
            memory.known[0] = 0


def pass_over(memory: Books, view: View, arm: int) -> None:
    """Count the last release of an arm, but as no evidence: a tilt of 0 brings none."""
    memory.size[arm] = view.size[arm]
    memory.total[arm] = view.value[arm] * view.size[arm]
    memory.known[0] = 0


def counted(rule: Plan, memory: Books, arm: int) -> float:
    """N, or under Gaussian noise what it is worth: N²v/(Nv + kσ²)."""
    pulls = float(memory.size[arm])
    if rule.variance == 0.0:
        return pulls
    informed = pulls * VARIANCE
    return float(pulls * informed / (informed + memory.batches[arm] * rule.variance))


def rising_slope(x: float, y: float, kept: float) -> float:
    """The slope of d⁺(x, y) in y, kept = e^-ε; 0 for y <= x."""
    if y <= x:
        return 0.0
    if y >= 1.0:
        return 1e300
    rest = 1.0 - y + y * kept
    if y * kept > x * rest:
        return (1.0 - kept) / rest
    return (y - x) / (y * (1.0 - y))


def transport(rule: Plan, memory: Books, leader: int, arm: int) -> tuple[float, float]:
    """W_a and the u where it is reached: both distances are convex in u."""
    best = clip01(memory.total[leader] / memory.size[leader])
    other = clip01(memory.total[arm] / memory.size[arm])
    n, m = counted(rule, memory, leader), counted(rule, memory, arm)
    return least_cost(best, n, other, m, rule.epsilon, rule.margin)


def least_cost(
    best: float, n: float, other: float, m: float, epsilon: float, margin: float
) -> tuple[float, float]:
    """min over u of n d⁻(best, u - ξ) + m d⁺(other, u), and the u where it is reached."""
    high, low = min(1.0, best + margin), max(other, margin)
    kept = math.exp(-epsilon)
    for _ in range(48):
        u = 0.5 * (low + high)
        fall = rising_slope(1.0 - best, 1.0 - (u - margin), kept)
        if m * rising_slope(other, u, kept) < n * fall:
            low = u
        else:
            high = u
    u = 0.5 * (low + high)
    cost = n * private_divergence(1.0 - best, 1.0 - (u - margin), epsilon)
    return cost + m * private_divergence(other, u, epsilon), u


def appraise(rule: Plan, memory: Books, leader: int) -> None:
    """Challenger, its cost, and the evidence against it."""
    if memory.known[0] == 1:
        return
    least, challenger, cost, at = math.inf, -1, 0.0, 0.5
    for arm in range(len(memory.size)):
        if arm != leader:
            w, u = transport(rule, memory, leader, arm)
            score = w + CHALLENGE * math.log(memory.size[arm])
            if challenger < 0 or score < least:
                least, challenger, cost, at = score, arm, w, u
    memory.challenger[0], memory.cost[0] = challenger, cost
    memory.log[0] = least_pair(rule.tilts, memory, leader, challenger, -rule.margin, at, -math.inf)
    memory.known[0] = 1


def choose_by_evidence(rule: Plan, memory: Books, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then of leader and challenger the one with fewer pulls."""
    read(rule, memory, view)
    arm = first_unreleased(view)
    if arm >= 0:
        memory.length[0] = rule.first
        return arm
    leader = recommend_best(memory, view)
    appraise(rule, memory, leader)
    arm = memory.challenger[0]
    if memory.size[leader] <= memory.size[arm]:
        arm = leader
    memory.length[0] = math.ceil(growth(rule, memory) * memory.size[arm])
    return int(arm)


def growth(rule: Plan, memory: Books) -> float:
    """By how much of its pulls an arm must grow for the evidence that is still missing."""
    missing: float = rule.stretch * (rule.level - memory.log[0])
    if missing < 0.0:
        return rule.least
    if missing < MOST * memory.cost[0]:
        return float(max(missing / memory.cost[0], rule.least))
    return MOST


def evidence_pair(rule: Plan, memory: Books, view: View, t: int) -> tuple[int, int]:
    """Leader and challenger; every arm has a release, and each was entered by itself."""
    leader = recommend_best(memory, view)
    appraise(rule, memory, leader)
    return leader, int(memory.challenger[0])


def enough_evidence(
    stopping: object, rule: Plan, memory: Books, view: View, best: int, t: int
) -> bool:
    """min_u E_{L,a}(u; -ξ) >= (K-1)/δ for all a: the challenger first. L is the arm that will be
    named: of means that agree but for rounding, what speaks for one need not speak for the other.
    """
    read(rule, memory, view)
    leader = best
    appraise(rule, memory, leader)
    if memory.log[0] < rule.level:
        return False
    for arm in range(len(memory.size)):
        if arm != leader and arm != memory.challenger[0]:
            start = transport(rule, memory, leader, arm)[1]
            log = least_pair(rule.tilts, memory, leader, arm, -rule.margin, start, rule.level)
            if log < rule.level:
                return False
    return True


@dataclass(frozen=True)
class MissingEvidence(Phases):
    """Batches sized by the evidence that is still missing: a function of earlier releases."""

    name: ClassVar[str] = "sized by missing evidence"


@dataclass(frozen=True)
class EvidenceTopTwo(Rule):
    """The leader or its challenger, whichever was played less."""

    xi: float = 0.0
    effects: int = EFFECTS
    name: ClassVar[str] = "top two by evidence"
    compares: ClassVar[str] = "top two"
    missing_growth: ClassVar[Function] = staticmethod(growth)
    pass_over: ClassVar[Function] = staticmethod(pass_over)
    choose: ClassVar[Function | Kernel] = staticmethod(choose_by_evidence)
    sets_phases: ClassVar[bool] = True
    takes_any_schedule: ClassVar[bool] = True

    def __post_init__(self) -> None:
        probability("xi", self.xi, fix="an answer is good within xi: use for example xi=0.02")

    def parameters(self, setting: Setting) -> Plan:
        def tables(noise: Noise, level: float) -> Tilts:
            return tilts_for(noise, self.effects, interpreted=setting.source.secure)

        return plan_for(setting, self.xi, tables)

    @property
    def pair(self) -> Kernel:
        """(rule, memory, view, t) -> leader and challenger, for runs in which both are played."""
        return Kernel(evidence_pair, **Kernel(self.choose).parts)

    @property
    def note(self) -> Kernel:
        """(rule, memory, view): enter a release, each before the next one comes."""
        return Kernel(read, **Kernel(self.choose).parts)

    def memory(self, setting: Setting) -> Books:
        tilts = self.parameters(setting).tilts
        return fresh_books(setting.arms, tilts.effects, tilts.classes)


def plan_for(
    setting: Setting, xi: float, meter: Callable[[Noise, float], NamedTuple] | None
) -> Plan:
    """How to sample in a setting; `meter` makes what evidence is reckoned with."""
    batches = batches_of(setting)
    noise = batches.noise
    level = math.log((setting.arms - 1) / risk_of(setting, "evidence"))
    epsilon = math.inf
    first, quiet = float(LEAST_BATCH), noise.kind == NONE
    if noise.kind == LAPLACE and not noise.each:
        epsilon = 1.0 / noise.scale
        first, quiet = (8.0 + 4.0 * level) / epsilon, epsilon >= QUIET
    elif noise.kind == GAUSSIAN:
        first = 8.0 * noise.scale * math.sqrt(level)
    stretch, least = (0.5, 0.05) if quiet else (1.2, 0.3)
    return Plan(
        None if meter is None else meter(noise, level), level,
        float(xi) * batches.factor, epsilon,
        noise.scale**2 if noise.kind == GAUSSIAN else 0.0,
        max(LEAST_BATCH, math.ceil(first)), stretch, least,
    )  # fmt: skip


@dataclass(frozen=True)
class EnoughEvidence(Stopping):
    """Stop when the mixture evidence against every other arm is (K-1)/δ."""

    name: ClassVar[str] = "evidence >= (K-1)/δ"
    rule: ClassVar[type[Rule]] = EvidenceTopTwo
    enough = Kernel(enough_evidence)

    def check(self, rule: Rule) -> None:
        if type(rule) is not self.rule:
            raise InvalidArgument(
                "rule", "keep the books that the stopping rule reads", str(rule),
                f"use {self.rule.__name__}()",
            )  # fmt: skip

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return has_running_sums(release)
