"""Naive twins of Evidence-TT and Chernoff-TT: plain Python, batch by batch, from the formulas.

The only thing taken from the library's way of doing it is that tilts are those of the middle of a
size class half an octave wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy.optimize import brentq, minimize_scalar

EFFECTS = [2 * 1.5**-j for j in range(20)]
V = 0.2


class NaiveNoise:
    """κ and its slope: kind "none", "laplace" (scale b) or "gaussian" (scale σ)."""

    def __init__(self, kind: str, scale: float) -> None:
        self.kind, self.scale = kind, scale

    def kappa(self, tilt: float) -> float:
        if self.kind == "laplace":
            return -math.log(1 - (tilt * self.scale) ** 2)
        return (tilt * self.scale) ** 2 / 2 if self.kind == "gaussian" else 0.0

    def slope(self, tilt: float) -> float:
        if self.kind == "laplace":
            return 2 * tilt / (1 / self.scale**2 - tilt**2)
        return tilt * self.scale**2 if self.kind == "gaussian" else 0.0

    def top(self, effect: float) -> float:
        return min(effect, (1 - 1e-12) / self.scale) if self.kind == "laplace" else effect


def naive_tilt(noise: NaiveNoise, effect: float, size: int) -> float:
    if noise.kind == "none":
        return effect
    middle = 2 ** ((math.floor(2 * math.log2(size)) + 0.5) / 2)

    def excess(tilt: float) -> float:
        return noise.slope(tilt) - middle * V * (effect - tilt)

    top = noise.top(effect)
    return top if excess(top) < 0 else float(brentq(excess, 0.0, top, xtol=1e-15))


Batches = list[tuple[int, float]]


def naive_side(noise: NaiveNoise, batches: Batches, effect: float, u: float, sign: int) -> float:
    """up_j(u) for sign 1, down_j(u) for -1."""
    total = 0.0
    for size, x in batches:
        tilt = naive_tilt(noise, effect, size)
        total += sign * tilt * x - noise.kappa(tilt)
        total -= size * math.log(1 - u + u * math.exp(sign * tilt))
    return total


def log_sum(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(sum(math.exp(term - top) for term in terms))


def naive_single(noise: NaiveNoise, batches: Batches, u: float, sign: int) -> float:
    """log U(u), or log D(u)."""
    whole = sum(1 / (j + 4) for j in range(20))
    sides = [naive_side(noise, batches, effect, u, sign) for effect in EFFECTS]
    return log_sum([side - math.log((j + 4) * whole) for j, side in enumerate(sides)])


def naive_pair(noise: NaiveNoise, a: Batches, c: Batches, u: float, d: float) -> float:
    """log E_{a,c}(u; d)."""
    ups = [naive_side(noise, a, effect, u + d, 1) for effect in EFFECTS]
    downs = [naive_side(noise, c, effect, u, -1) for effect in EFFECTS]
    weights = {
        (i, j): 1 / (((i + j) / 2 + 4) * (1 + abs(i - j)) ** 2)
        for i in range(20)
        for j in range(20)
    }
    whole = sum(weights.values())
    return log_sum([math.log(w / whole) + ups[i] + downs[j] for (i, j), w in weights.items()])


def least(function: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a convex function."""
    inside = minimize_scalar(
        function, bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    ).fun
    return float(min(inside, function(low), function(high)))


def kl(x: float, y: float) -> float:
    total = x * math.log(x / y) if x > 0 else 0.0
    return total + ((1 - x) * math.log((1 - x) / (1 - y)) if x < 1 else 0.0)


def d_plus(x: float, y: float, epsilon: float) -> float:
    if x >= y:
        return 0.0
    if math.isinf(epsilon):
        return kl(x, y)
    kept = math.exp(-epsilon)
    if x >= y * kept / (1 - y + y * kept):
        return kl(x, y)
    return -math.log(1 - y + y * kept) - epsilon * x


class NaiveEvidenceTT:
    """Plays by itself: `choose()` gives arm and size, `add(x)` takes the release."""

    def __init__(
        self, arms: int, risk: float, noise: NaiveNoise, *, xi: float = 0.0, ratio: float = 0.0
    ) -> None:
        self.arms, self.noise, self.xi, self.ratio = arms, noise, xi, ratio
        self.x0 = math.log((arms - 1) / risk)
        self.batches: list[Batches] = [[] for _ in range(arms)]
        self.epsilon = 1 / noise.scale if noise.kind == "laplace" else math.inf
        first = 16.0
        if noise.kind == "laplace":
            first = max(first, (8 + 4 * self.x0) * noise.scale)
        elif noise.kind == "gaussian":
            first = max(first, 8 * noise.scale * math.sqrt(self.x0))
        self.first = math.ceil(first)
        quiet = noise.kind == "none" or (noise.kind == "laplace" and self.epsilon >= 3)
        self.stretch, self.least = (0.5, 0.05) if quiet else (1.2, 0.3)
        self.arm, self.size = 0, self.first

    def n(self, a: int) -> int:
        return sum(size for size, _ in self.batches[a])

    def s(self, a: int) -> float:
        return sum(x for _, x in self.batches[a])

    def clipped(self, a: int) -> float:
        return min(max(self.s(a) / self.n(a), 0.0), 1.0)

    def weight(self, a: int) -> float:
        n = self.n(a)
        if self.noise.kind != "gaussian":
            return n
        return n * n * V / (n * V + len(self.batches[a]) * self.noise.scale**2)

    def cost(self, leader: int, a: int) -> float:
        def at(u: float) -> float:
            down = d_plus(1 - self.clipped(leader), 1 - (u - self.xi), self.epsilon)
            return self.weight(leader) * down + self.weight(a) * d_plus(
                self.clipped(a), u, self.epsilon
            )

        low, high = max(self.clipped(a), self.xi), min(1.0, self.clipped(leader) + self.xi)
        if low >= high:  # within ξ of an end of the range, say: means of 0 or 1
            return at(low)
        return float(minimize_scalar(at, bounds=(low, high), method="bounded").fun)

    def log(self, leader: int, a: int) -> float:
        """Evidence that the leader is at least as good, up to ξ."""
        better, worse = self.batches[leader], self.batches[a]
        return least(lambda u: naive_pair(self.noise, better, worse, u, -self.xi), self.xi, 1.0)

    @property
    def leader(self) -> int:
        return max(range(self.arms), key=lambda a: self.s(a) / self.n(a))

    def stopped(self) -> bool:
        if not all(self.batches):
            return False
        lead = self.leader
        return all(self.log(lead, a) >= self.x0 for a in range(self.arms) if a != lead)

    def choose(self) -> tuple[int, int]:
        for a in range(self.arms):
            if not self.batches[a]:
                self.arm, self.size = a, self.first
                return a, self.first
        lead = self.leader
        others = [a for a in range(self.arms) if a != lead]
        costs = {a: self.cost(lead, a) for a in others}
        rival = min(others, key=lambda a: costs[a] + 2 * math.log(self.n(a)))
        self.arm = lead if self.n(lead) <= self.n(rival) else rival
        if self.ratio:
            self.size = math.ceil((self.ratio - 1) * self.n(self.arm))
        else:
            missing = self.stretch * (self.x0 - self.log(lead, rival))
            grown = missing / costs[rival] if costs[rival] > 0 else 2.0
            self.size = math.ceil(self.n(self.arm) * min(max(grown, self.least), 2.0))
        return self.arm, self.size

    def add(self, x: float) -> None:
        self.batches[self.arm].append((self.size, x))


def naive_deviation(noise: NaiveNoise, s: float, n: int, k: int, u: float) -> float:
    """J⁺(u) = sup over l of l s - n log(1-u+ue^l) - k κ(l)."""
    top = (1 - 1e-9) / noise.scale if noise.kind == "laplace" else 30.0

    def minus(tilt: float) -> float:
        return -(tilt * s - n * math.log(1 - u + u * math.exp(tilt)) - k * noise.kappa(tilt))

    found = minimize_scalar(minus, bounds=(0.0, min(top, 30.0)), method="bounded")
    return max(0.0, -float(found.fun))


class NaiveChernoffTT(NaiveEvidenceTT):
    """The same with J, Gamma(2, 1) and w(p) = 1/(p(p+1))."""

    def log(self, leader: int, a: int) -> float:
        p, q = len(self.batches[leader]), len(self.batches[a])

        def both(u: float) -> float:
            up = naive_deviation(self.noise, self.s(leader), self.n(leader), p, u - self.xi)
            turned = self.n(a) - self.s(a)
            return up + naive_deviation(self.noise, turned, self.n(a), q, 1 - u)

        share = math.exp(-self.x0) / (p * (p + 1) * q * (q + 1))
        c = float(brentq(lambda c: math.log(1 + c) - c - math.log(share), 1e-9, 1e3))
        return least(both, self.xi, 1.0) - c + self.x0


def draws(noise: NaiveNoise, rng: Any) -> float:
    """One draw, in the order of the simulator's kernels."""
    if noise.kind == "laplace":
        return noise.scale * float(rng.standard_exponential() - rng.standard_exponential())
    return noise.scale * float(rng.standard_normal()) if noise.kind == "gaussian" else 0.0
