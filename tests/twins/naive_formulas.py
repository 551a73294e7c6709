"""Slow and obvious formulas, written from the papers' definitions and not from the package.

Indices that are defined by an inequality are found by bisection, infima by search, sums by adding
up. `t` is the papers' t: the number of the round that is about to be played, from 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special


def kl(p: float, q: float) -> float:
    """p log(p/q) + (1-p) log((1-p)/(1-q)); 0 log 0 = 0; infinite where q excludes what p allows."""
    if (q == 0.0 and p > 0.0) or (q == 1.0 and p < 1.0):
        return math.inf
    ones = 0.0 if p == 0.0 else p * (math.log(p) - math.log(q))
    zeros = 0.0 if p == 1.0 else (1.0 - p) * (math.log1p(-p) - math.log1p(-q))
    return ones + zeros


def largest(condition: Callable[[float], bool], low: float, high: float) -> float:
    """The largest x in [low, high] with the condition, which holds below a point and not above."""
    if condition(high):
        return high
    for _ in range(55):
        middle = 0.5 * (low + high)
        if condition(middle):
            low = middle
        else:
            high = middle
    return low


def kl_upper(p: float, c: float) -> float:
    """max{q in [p, 1] : kl(p, q) <= c}."""
    return largest(lambda q: kl(p, q) <= c, p, 1.0)


def infimum(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value of a convex function on [low, high], by ternary search.

    The ends count too: the function may be infinite everywhere else.
    """
    ends = min(function(low), function(high))
    for _ in range(64):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        if function(left) <= function(right):
            high = right
        else:
            low = left
    return min(ends, function(low), function(high))


def private_divergence(x: float, y: float, epsilon: float) -> float:
    """d_ε(x, y) = inf over z in [x, y] of ε|z-x| + kl(z, y); 0 for x > y."""
    if x >= y:
        return 0.0
    if math.isinf(epsilon):
        return kl(x, y)
    return infimum(lambda z: epsilon * abs(z - x) + kl(z, y), x, y)


def gaussian_cost(x: float, y: float, n: int, k: int, variance: float) -> float:
    """inf over z of n²(z-x)²/(2kσ²) + n kl(z, y), as it is printed."""
    if x >= y:
        return 0.0
    if variance == 0.0:
        return n * kl(x, y)
    return infimum(lambda z: (n * (z - x)) ** 2 / (2 * k * variance) + n * kl(z, y), x, y)


def laplace_cost(x: float, y: float, n: int, k: int, epsilon: float) -> float:
    """sup over 0 <= l < ε of -n log(1-y+y e^-l) - l n x + k log(1-l²/ε²)."""
    if x >= y:
        return 0.0
    if math.isinf(epsilon):
        return n * kl(x, y)

    def less(tilt: float) -> float:
        moment = -tilt if y == 1.0 else math.log(1 - y + y * math.exp(-tilt))
        return n * moment + tilt * n * x - k * math.log(1 - (tilt / epsilon) ** 2)

    # below 1 no more than l = 800 is of use: e^-800 is 0
    return -infimum(less, 0.0, (epsilon if y == 1.0 else min(epsilon, 800.0)) * (1 - 1e-12))


def private_upper(x: float, c: float, epsilon: float) -> float:
    """max{q in [x, 1] : d_ε(x, q) <= c}."""
    return largest(lambda q: private_divergence(x, q, epsilon) <= c, x, 1.0)


def clip01(x: float) -> float:
    """x moved into [0, 1]."""
    return 0.0 if x < 0.0 else 1.0 if x > 1.0 else x


def ucb1(mean: float, n: int, t: int) -> float:
    return mean + math.sqrt(2.0 * math.log(t) / n)


def log_f(t: int) -> float:
    return math.log(1.0 + t * math.log(t) ** 2)


def asymptotic_ucb(mean: float, n: int, t: int, sigma: float) -> float:
    return mean + math.sqrt(2.0 * sigma**2 * log_f(t) / n)


def kl_ucb(mean: float, n: int, t: int) -> float:
    return kl_upper(clip01(mean), log_f(t) / n)


def imed(mean: float, n: int, best: float) -> float:
    """To be minimised."""
    return n * kl(mean, best) + math.log(n)


def adap_ucb(mean: float, n: int, t: int, epsilon: float, alpha: float) -> float:
    level = alpha * math.log(t)
    return mean + math.sqrt(level / (2.0 * n)) + level / (epsilon * n)


def adap_klucb(mean: float, n: int, t: int, epsilon: float, alpha: float) -> float:
    level = alpha * math.log(t)
    return kl_upper(clip01(mean + level / (epsilon * n)), level / n)


def adac_ucb(mean: float, n: int, t: int, variance: float, alpha: float) -> float:
    level = alpha * math.log(t)
    return mean + math.sqrt((1.0 / (2.0 * n) + 2.0 * variance / n**2) * level)


def dp_klucb(mean: float, n: int, t: int, epsilon: float) -> float:
    return private_upper(clip01(mean), math.log(t) / n, epsilon)


def dp_imed(mean: float, n: int, best: float, epsilon: float) -> float:
    """To be minimised; `best` is the largest mean, clipped."""
    return n * private_divergence(clip01(mean), clip01(best), epsilon) + math.log(n)


def dp_ucb(mean: float, n: int, t: int, epsilon: float, horizon: int, power: float = 4.0) -> float:
    delta = float(t) ** -power
    level = math.log(2.0 / delta)
    tree = math.sqrt(8.0) * math.log(horizon) ** 1.5 * level / (epsilon * n)
    return float(mean + math.sqrt(2.0 * level / n) + tree)


def dp_ucb_bound(mean: float, n: int, t: int, epsilon: float) -> float:
    power_of_two = n in {2**k for k in range(63)}
    nu = math.sqrt(8.0) / epsilon * math.log(4.0 * t**4)
    nu *= 1.0 if power_of_two else 1.0 + math.log(n)
    return mean + math.sqrt(2.0 * math.log(t) / n) + nu / n


def ldp_ucb_l(mean: float, n: int, t: int, epsilon: float) -> float:
    level = math.log(t)
    return mean + math.sqrt(2.0 * level / n) + math.sqrt(32.0 * level / (epsilon**2 * n))


def se_pulls(active: int, epoch: int, epsilon: float, beta: float) -> int:
    """R of DP-SE, rounded up."""
    gap = 2.0**-epoch
    statistical = 32.0 * math.log(8.0 * active * epoch**2 / beta) / gap**2
    private = 8.0 * math.log(4.0 * active * epoch**2 / beta) / (epsilon * gap)
    return math.ceil(max(statistical, private)) + 1


def se_width(active: int, epoch: int, epsilon: float, beta: float, pulls: int) -> float:
    """2h + 2c of DP-SE."""
    h = math.sqrt(math.log(8.0 * active * epoch**2 / beta) / (2.0 * pulls))
    c = math.log(4.0 * active * epoch**2 / beta) / (pulls * epsilon)
    return 2.0 * h + 2.0 * c


def lead_pulls(phase: int, epsilon: float, delta: float, horizon: int) -> int:
    """N(k) of GDP-Elim-New."""
    gap, T = 2.0**-phase, float(horizon)
    pulls = 32.0 * math.log(T) / gap**2
    if math.isfinite(epsilon):
        grown = math.expm1(epsilon)
        ratio = (T**2 * grown + T**2 * delta) / (2.0 * grown + T**2 * delta)
        pulls = max(pulls, 4.0 / (gap * epsilon) * math.log(ratio))
    return math.ceil(pulls)


def gap_pulls(gap: float, epsilon: float, horizon: int, factor: int = 1) -> int:
    """m of private Thompson sampling's gap estimation, 192 k log2 T/(εΔ̂²) in C.1; `factor` = K as
    printed."""
    return max(1, math.ceil(192.0 * factor * math.log2(horizon) / (epsilon * gap**2)))


def fill_pulls(gap: float, epsilon: float, horizon: int) -> int:
    """Γ/Δ̂², Γ = 192 log³T/ε, whose base the print leaves open: natural."""
    return max(1, math.ceil(192.0 * math.log(horizon) ** 3 / epsilon / gap**2))


def leader_centre(mean: float, n: int, epsilon: float, delta: float, horizon: int) -> float:
    """x0 of DP-FTPL-New."""
    grown = math.expm1(epsilon)
    T = float(horizon)
    ratio = (T * grown + 2.0 * T * delta) / (2.0 * grown + 2.0 * T * delta)
    return mean + math.sqrt(math.log(T) / n) + math.log(ratio) / (n * epsilon)


def truncated_laplace(u: float, epsilon: float, delta: float, n: int) -> float:
    """The truncated Laplace quantile at u, around 0, sensitivity 1/n."""
    m, s = min(u, 1.0 - u), math.copysign(1.0, u - 0.5)
    if delta == 0.0:
        return -s * math.log(2.0 * m) / (n * epsilon)
    if epsilon == 0.0:
        return s * (0.5 - m) / (n * delta)
    c = math.expm1(epsilon) / delta
    return s * (math.log1p(c / 2.0) - math.log1p(c * m)) / (n * epsilon)


def response_probability(reward: float, epsilon: float) -> float:
    """CTB: P(response = 1)."""
    return (reward * math.exp(epsilon) + 1.0 - reward) / (1.0 + math.exp(epsilon))


def gaussian_spent(sigma: float, epsilon: float) -> float:
    """The exact δ at ε of N(0, σ²) and sensitivity 1."""
    a, b = 1.0 / (2.0 * sigma) - epsilon * sigma, -1.0 / (2.0 * sigma) - epsilon * sigma
    tail = normal(b)
    return normal(a) - (math.exp(epsilon) * tail if tail else 0.0)


def gaussian_variance(epsilon: float, delta: float) -> float:
    """The least b with (ε,δ)-DP for N(0, b) and sensitivity 1, by bisection of the exact curve."""
    return largest(lambda sigma: gaussian_spent(sigma, epsilon) > delta, 1e-3, 1e3) ** 2


def gauss_start(epsilon: float, delta: float) -> int:
    """The least N for which N(R/N, 2/N), R moved by 1, keeps (ε, δ), by trying one after another.

    1/N is the sensitivity, so σ is sqrt(2/N)·N in units of it.
    """
    pulls = 1
    while gaussian_spent(math.sqrt(2.0 / pulls) * pulls, epsilon) > delta:
        pulls += 1
    return pulls


def beta_spent(pulls: int, epsilon: float) -> float:
    """The exact δ at ε of Beta(R+1+k, N-R+1+k) when one reward flips: the worst of all R.

    Where the log-likelihood ratio is ε is found by bisection: it grows or falls along [0, 1].
    """
    ones, k = np.arange(pulls), pulls // 8 + 1
    fewer = (ones + 1.0 + k, pulls - ones + 1.0 + k)
    more = (ones + 2.0 + k, pulls - ones + 0.0 + k)
    worst = 0.0
    for p, q, grows in ((more, fewer, True), (fewer, more, False)):
        low, high = np.zeros(pulls), np.ones(pulls)
        for _ in range(50):
            x = 0.5 * (low + high)
            right = (beta_log_density(x, *p) - beta_log_density(x, *q) > epsilon) == grows
            low, high = np.where(right, low, x), np.where(right, x, high)
        mass = special.betaincc if grows else special.betainc
        worst = max(worst, float((mass(*p, low) - math.exp(epsilon) * mass(*q, low)).max()))
    return worst


def beta_log_density(x: Any, a: Any, b: Any) -> Any:
    """log of x^(a-1) (1-x)^(b-1) / B(a, b)."""
    return (a - 1.0) * np.log(x) + (b - 1.0) * np.log1p(-x) - special.betaln(a, b)


@lru_cache
def beta_start(epsilon: float, delta: float, enough: int = 40) -> int:
    """The least N from which on, up to a number that is surely enough, Beta leaders keep (ε, δ)."""
    pulls = enough
    while pulls > 1 and beta_spent(pulls - 1, epsilon) <= delta:
        pulls -= 1
    return pulls


def zcdp_epsilon(rho: float, delta: float) -> float:
    """min over α > 1 of αρ + (log(1/δ) + (α-1) log(1-1/α) - log α)/(α-1)."""

    def at(power: float) -> float:
        alpha = 1.0 + math.exp(power)
        rest = math.log(1.0 / delta) + (alpha - 1.0) * math.log1p(-1.0 / alpha) - math.log(alpha)
        return alpha * rho + rest / (alpha - 1.0)

    return infimum(at, -10.0, 20.0)


def release_interval(v: float, keeps: Callable[[float], bool]) -> int:
    """The least f whose ρ = f^-v ζ(v)/2 keeps the budget."""
    every = 1
    while not keeps(every**-v * float(special.zeta(v)) / 2.0):
        every += 1
    return every


def normal(x: float) -> float:
    """The standard normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def tree_height(leaves: int) -> int:
    """Levels of the nodes that end at one of the leaves: those of 1, 2, 4, … leaves."""
    height = 0
    while 2**height <= leaves:
        height += 1
    return height


class NaiveTree:
    """A binary tree over a stream that stores all its rewards and the noise of all its nodes."""

    def __init__(self, noise: Callable[[], float]) -> None:
        self.noise = noise
        self.rewards: list[float] = []
        self.nodes: dict[tuple[int, int], float] = {}

    def blocks(self) -> list[tuple[int, int]]:
        """The stream so far as blocks of powers of two, largest first."""
        begin, found, left = 0, [], len(self.rewards)
        for level in reversed(range(left.bit_length())):
            if left >= 1 << level:
                found.append((begin, begin + (1 << level)))
                begin, left = begin + (1 << level), left - (1 << level)
        return found

    def add(self, *rewards: float) -> float:
        """The noisy sum of all rewards: a node's noise is drawn once, when it is first needed."""
        self.rewards += rewards
        total = 0.0
        for begin, end in self.blocks():
            if (begin, end) not in self.nodes:
                self.nodes[begin, end] = self.noise()
            total += sum(self.rewards[begin:end]) + self.nodes[begin, end]
        return total


class NaiveHybrid:
    """Blocks that end at powers of two with Lap(2/ε), and a tree of its own between them."""

    def __init__(self, noise: Callable[[float], float], epsilon: float) -> None:
        self.noise, self.epsilon = noise, epsilon
        self.rewards: list[float] = []
        self.done, self.base = 0, 0.0
        self.tree: NaiveTree | None = None

    def add(self, reward: float) -> float:
        self.rewards.append(reward)
        count = len(self.rewards)
        if count & (count - 1) == 0:  # a power of two
            block = sum(self.rewards[self.done : count])
            self.base += block + self.noise(2.0 / self.epsilon)
            self.done = count
            levels = count.bit_length() - 1  # log2 P
            scale = 2.0 * levels / self.epsilon
            self.tree = NaiveTree(lambda: self.noise(scale))
            return self.base
        assert self.tree is not None
        return self.base + self.tree.add(reward)


def argmax(values: Sequence[float]) -> int:
    """The first of the largest."""
    return max(range(len(values)), key=lambda arm: (values[arm], -arm))
