"""DP-TT: top two on running sums of doubling batches, a baseline of identification.

With S the sum of an arm's k releases, n the rewards behind them, N all pulls, m = clip01(S/n):
- leader B = argmax m; challenger argmin over a of C(B, a; m, N) + log N_a,
  C(B, a; m, ω) = min over u of ω_B d⁻(m_B, u) + ω_a d⁺(m_a, u), d as in `evidence_top_two`
- play B if its plays as leader <= β (times that it led, this one included), β = 1/2
- stop when for all a, with x = C(B, a; m, n) and the k of the two arms,
      min over 0 < s < 1 of (1-s²)^-(k+k') (1 + sx) e^-sx (K-1) k(k+1) k'(k'+1) <= δ.

Risk. d⁺(m, μ) is the supremum over 0 <= l <= ε of a concave function of l that is 0 at 0, so at sl
it is at least s times as large; n d⁺ at sl exceeds sx only if an exponential moment does, which
costs e^-sx for the rewards and (1 - s²l²/ε²)^-1 <= (1-s²)^-1 for each Lap(1/ε): so P(n d⁺ >= x) <=
(1-s²)^-k e^-sx. Sums of two arms at fixed phases are independent; two variables with tails C e^-sx
and C' e^-sx add up to one with tail C C'(1 + sx) e^-sx. The union over phases has weights
1/(k(k+1)), and over the K-1 arms that can be wrongly beaten. The threshold that is in print is
known to its order alone; this one is proved and smaller.

It starves: a best arm with a bad start can keep below 1 % of the pulls in 7 to 10 % of runs, and at
a small ε some runs do not stop for millions of rounds. Evidence-TT is the default.

Reference: Jourdan & Azize 2025, algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import share
from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..policies import Release, Rule, Schedule, Setting
from ..policies._divergences import private_divergence
from ..policies._noisy_imed import batches_in
from ..policies._rules import clip01
from ..policies._schedules import growth_of
from ..policies._view import View
from ._sampling import Tracking, first_unreleased
from ._setting import risk_of
from ._stopping import Stopping

if TYPE_CHECKING:
    from numpy.random import Generator


STEPS = 64
"""The s that are tried are multiples of 1/64: each of them is sound."""
NO_NOISE = 1e-30
"""An e^-ε below which floats know one branch alone."""


class Share(NamedTuple):
    """ε of the costs, and the leader's share."""

    epsilon: float
    beta: float


def leader_of(view: View) -> int:
    """argmax of clip01(m), the first of equals."""
    best = 0
    for arm in range(1, len(view.value)):
        if clip01(view.value[arm]) > clip01(view.value[best]):
            best = arm
    return best


def smaller_root(share: float, n: float, m: float, b: float) -> float:
    """The u in [0, b] where m·r/(1-ru) = n(b-u)/(u(1-u)), for r = `share`."""
    linear = m * share + n * (1.0 + b * share)
    room = linear * linear - 4.0 * share * (m + n) * n * b
    return 2.0 * n * b / (linear + math.sqrt(max(room, 0.0)))


def meeting(best: float, n: float, other: float, m: float, epsilon: float) -> float:
    """The u in [x, b] that minimises n d⁻(b, u) + m d⁺(x, u), b = `best` and x = `other`.

    With r = 1 - e^-ε, the slope of d⁺(x, u) is (u-x)/(u(1-u)), and r/(1-ru) for u > x/(1-r+rx);
    that of d⁻ mirrors it. Slopes rise, so those at the two places where the branches meet say on
    which branches the minimum lies, and there it is the root of a linear or quadratic equation.
    """
    if other >= best:
        return best
    share = -math.expm1(-epsilon)
    kept = math.exp(-epsilon)
    if kept < NO_NOISE:
        return (m * other + n * best) / (m + n)
    from_here = other / (other + (1.0 - other) * kept)
    to_here = best * kept / (1.0 - best + best * kept)
    above = from_here < best
    if above:
        fall = share / (kept + share * from_here)
        if from_here >= to_here:
            fall = (best - from_here) / max(from_here * (1.0 - from_here), 1e-300)
        above = m * share / (kept + share * (1.0 - from_here)) < n * fall
    below = to_here > other
    if below:
        rise = share / (kept + share * (1.0 - to_here))
        if to_here <= from_here:
            rise = (to_here - other) / max(to_here * (1.0 - to_here), 1e-300)
        below = n * share / (kept + share * to_here) < m * rise
    if above and below:
        u = (n - m * kept) / (share * (m + n))
    elif above:
        u = smaller_root(share, n, m, best)
    elif below:
        u = 1.0 - smaller_root(share, m, n, 1.0 - other)
    elif other <= 0.0:
        u = 0.0
    elif best >= 1.0:
        u = 1.0
    else:
        u = (m * other + n * best) / (m + n)
    return min(max(u, other), best)


def distances(best: float, n: float, other: float, m: float, epsilon: float) -> tuple[float, float]:
    """d⁻(b, u) and d⁺(x, u) at the u of `meeting`."""
    u = meeting(best, n, other, m, epsilon)
    fall = private_divergence(1.0 - best, 1.0 - u, epsilon)
    return fall, private_divergence(other, u, epsilon)


def cost(best: float, n: float, other: float, m: float, epsilon: float) -> float:
    """min over u of n d⁻(b, u) + m d⁺(x, u)."""
    fall, rise = distances(best, n, other, m, epsilon)
    return n * fall + m * rise


def cost_of(epsilon: float, view: View, leader: int, arm: int, n: float, m: float) -> float:
    """C(B, a; m, ω) for weights n and m."""
    return cost(clip01(view.value[leader]), n, clip01(view.value[arm]), m, epsilon)


def tangent_of(
    epsilon: float, view: View, leader: int, arm: int, n: float, m: float
) -> tuple[float, float]:
    """d⁻ and d⁺ where C(B, a; m, ω) is reached: n d⁻ + m d⁺ is at least C for other weights too."""
    return distances(clip01(view.value[leader]), n, clip01(view.value[arm]), m, epsilon)


def choose_plain(rule: Share, memory: Tracking, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then the leader, or argmin C + log N."""
    arm = first_unreleased(view)
    if arm >= 0:
        return arm
    leader = leader_of(view)
    memory.led[leader] += 1
    if memory.own[leader] <= rule.beta * memory.led[leader]:
        memory.own[leader] += 1
        return leader
    return challenger_of(rule, view, leader)


def challenger_of(rule: Share, view: View, leader: int) -> int:
    """argmin C + log N."""
    least, challenger = math.inf, -1
    weight = float(view.pulls[leader])
    for other in range(len(view.value)):
        if other != leader:
            pulls = float(view.pulls[other])
            score = cost_of(rule.epsilon, view, leader, other, weight, pulls) + math.log(pulls)
            if score < least:
                least, challenger = score, other
    return challenger


def plain_pair(rule: Share, memory: Tracking, view: View, t: int) -> tuple[int, int]:
    """Leader and challenger; every arm has a release."""
    leader = leader_of(view)
    return leader, challenger_of(rule, view, leader)


@dataclass(frozen=True)
class PlainTopTwo(Rule):
    """Leader by mean, challenger by cost, and a share of the leader."""

    beta: float = 0.5
    name: ClassVar[str] = "top two by private cost"
    compares: ClassVar[str] = "top two"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_plain)

    def __post_init__(self) -> None:
        share("beta", self.beta, fix="use beta=0.5")

    def parameters(self, setting: Setting) -> Share:
        return Share(setting.pure_epsilon(self.name), float(self.beta))

    def memory(self, setting: Setting) -> NamedTuple:
        import numpy as np

        return Tracking(np.zeros(setting.arms, np.int64), np.zeros(setting.arms, np.int64))

    @property
    def pair(self) -> Kernel:
        """(rule, memory, view, t) -> leader and challenger, for runs in which both are played."""
        return Kernel(plain_pair)


class Level(NamedTuple):
    """ε of the costs, log(δ/(K-1)), and how batches grow."""

    epsilon: float
    log_risk: float
    first: int
    ratio: float


def log_tail(x: float, k: int, other: int) -> float:
    """log of min over s of (1-s²)^-(k+k') (1 + sx) e^-sx k(k+1) k'(k'+1)."""
    least = 0.0
    for step in range(1, STEPS):
        s = step / STEPS
        log = -(k + other) * math.log1p(-s * s) + math.log1p(s * x) - s * x
        least = min(least, log)
    return least + math.log(float(k) * (k + 1.0) * other * (other + 1.0))


def enough_cost(
    stopping: Level, rule: object, memory: object, view: View, best: int, t: int
) -> bool:
    """Every other arm is beaten by more than chance and the noise of its phases explain."""
    leader = leader_of(view)
    k = batches_in(view.size[leader], stopping.first, stopping.ratio)
    for arm in range(len(view.size)):
        if arm != leader:
            n, m = float(view.size[leader]), float(view.size[arm])
            x = cost_of(stopping.epsilon, view, leader, arm, n, m)
            if x < -stopping.log_risk:
                return False
            other = batches_in(view.size[arm], stopping.first, stopping.ratio)
            if log_tail(x, k, other) > stopping.log_risk:
                return False
    return True


@dataclass(frozen=True)
class EnoughCost(Stopping):
    """Stop when the costs exceed what the phases allow."""

    name: ClassVar[str] = "private cost >= level of the phases"
    enough = Kernel(enough_cost)

    def parameters(self, setting: Setting) -> Level:
        growth = growth_of(setting.schedule, setting)
        if growth is None:
            raise InvalidArgument(
                "schedule", "be Doubling or Geometric for this stopping rule",
                str(setting.schedule), "use Doubling()",
            )  # fmt: skip
        log_risk = math.log(risk_of(setting, self.name) / (setting.arms - 1))
        return Level(setting.pure_epsilon(self.name), log_risk, growth.first, growth.ratio)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return schedule.grows and release.releases_cells
