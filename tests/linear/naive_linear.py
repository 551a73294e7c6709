"""Naive twins of the linear policies, in NumPy, written from the formulas and not from the code.

A twin sees a table of offered actions one round at a time and keeps all it has seen in lists.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def f(d: int, delta: float) -> float:
    return d + 2 * math.sqrt(d * math.log(2 / delta)) + 2 * math.log(2 / delta)


class OFUL:
    """θ^ = V^-1 Σ a r after every round; β = sqrt(λ)S + sqrt(2 log(1/δ) + log(det V/λ^d))."""

    def __init__(self, d: int, T: int, rng: Any, lam: float = 0.1, delta: float = 0.001) -> None:
        self.d, self.T, self.rng, self.lam, self.delta = d, T, rng, lam, delta
        self.V = lam * np.eye(d)
        self.b = np.zeros(d)
        self.theta: np.ndarray = np.zeros(d)
        self.V_tau, self.beta = self.V.copy(), self.radius(self.V)

    def radius(self, V: np.ndarray) -> float:
        ratio = np.linalg.slogdet(V)[1] - self.d * math.log(self.lam)
        return math.sqrt(self.lam) + math.sqrt(2 * math.log(1 / self.delta) + ratio)

    def choose(self, actions: np.ndarray) -> int:
        inverse = np.linalg.inv(self.V_tau)
        index = [a @ self.theta + self.beta * math.sqrt(a @ inverse @ a) for a in actions]
        return int(np.argmax(index))

    def record(self, a: np.ndarray, r: float) -> None:
        self.V = self.V + np.outer(a, a)
        self.b = self.b + a * r
        self.V_tau, self.theta = self.V, np.linalg.solve(self.V, self.b)
        self.beta = self.radius(self.V)


class RSOFUL(OFUL):
    """The same, but a new estimate only when det V > (1 + C) det V_τ."""

    def __init__(self, *args: Any, C: float = 1.0, **more: Any) -> None:
        super().__init__(*args, **more)
        self.C = C

    def record(self, a: np.ndarray, r: float) -> None:
        self.V = self.V + np.outer(a, a)
        self.b = self.b + a * r
        if np.linalg.det(self.V) > (1 + self.C) * np.linalg.det(self.V_tau):
            self.V_tau, self.theta = self.V, np.linalg.solve(self.V, self.b)
            self.beta = self.radius(self.V)


class AdaCOFUL(OFUL):
    """Each episode's Σ a r gets N(0, (2/ρ) m² I), m the longest action of it (1 if printed)."""

    def __init__(
        self, *args: Any, rho: float, C: float = 1.0, printed: bool = False, **more: Any
    ) -> None:
        super().__init__(*args, **more)
        self.rho, self.C, self.printed = rho, C, printed
        self.episode: list[tuple[np.ndarray, float]] = []
        self.noisy, self.variance = np.zeros(self.d), 0.0

    def record(self, a: np.ndarray, r: float) -> None:
        self.V = self.V + np.outer(a, a)
        self.episode.append((a, r if self.printed else min(max(r, -1), 1)))
        if np.linalg.det(self.V) > (1 + self.C) * np.linalg.det(self.V_tau):
            longest = 1.0 if self.printed else max(np.linalg.norm(a) for a, _ in self.episode)
            sd = math.sqrt(2 / self.rho) * longest
            drawn = np.array([sd * self.rng.standard_normal() for _ in range(self.d)])
            self.noisy = self.noisy + sum(a * r for a, r in self.episode) + drawn
            self.variance += float(sd**2)
            self.episode = []
            self.V_tau, self.theta = self.V, np.linalg.solve(self.V, self.noisy)
            least = np.linalg.eigvalsh(self.V)[0]
            extra = math.sqrt(self.variance * f(self.d, self.delta / self.T)) / math.sqrt(least)
            self.beta = self.radius(self.V) + extra


class NaiveTree:
    """A binary tree of noisy nodes for one stream: a prefix is the sum of the nodes of its bits."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.noise: dict[tuple[int, int], float] = {}

    def add(self, x: float, drawn: float) -> float:
        self.values.append(x)
        t = len(self.values)
        low = t & -t
        self.noise[t - low, t] = drawn
        total, end = 0.0, t
        while end:
            start = end - (end & -end)
            total += sum(self.values[start:end]) + self.noise[start, end]
            end = start
        return total


class TreeLinUCB:
    """z'A~^-1 b~ + α sqrt(z'A~^-1 z), A~ = I + trees; with A~ = I unless positive definite."""

    def __init__(
        self, d: int, T: int, rng: Any, scale: float, alpha: float = 1.0, kind: str = "laplace"
    ) -> None:
        self.d, self.T, self.rng, self.scale, self.alpha = d, T, rng, scale, alpha
        self.trees = [NaiveTree() for _ in range(d * (d + 3) // 2)]
        self.A, self.b = np.eye(d), np.zeros(d)

    def node_noise(self, i: int, j: int) -> float:
        # Lap(b) as the difference of two exponentials
        drawn = self.rng.standard_exponential() - self.rng.standard_exponential()
        return float(self.scale * drawn)

    def choose(self, actions: np.ndarray) -> int:
        inverse = np.linalg.inv(self.A)
        mean = inverse @ self.b
        return int(np.argmax([z @ mean + self.alpha * math.sqrt(z @ inverse @ z) for z in actions]))

    def noisy(self, z: np.ndarray, r: float) -> tuple[np.ndarray, np.ndarray]:
        shrink = min(1.0, 1.0 / float(np.linalg.norm(z)))
        z, r = z * shrink, min(max(r * shrink, -1), 1)
        trees = iter(self.trees)
        A, b = np.zeros((self.d, self.d)), np.zeros(self.d)
        for i in range(self.d):
            for j in range(i, self.d):
                A[i, j] = A[j, i] = next(trees).add(z[i] * z[j], self.node_noise(i, j))
        for i in range(self.d):
            b[i] = next(trees).add(z[i] * r, self.node_noise(i, self.d))
        return A, b

    def record(self, z: np.ndarray, r: float) -> None:
        A, self.b = self.noisy(z, r)
        A = A + np.eye(self.d)
        self.A = A if np.linalg.eigvalsh(A)[0] > 0 else np.eye(self.d)


class TreeLinTS(TreeLinUCB):
    """argmax z'θ, θ ~ N(A~^-1 b~, α A~^-1): θ = mean + sqrt(α) L^-T x, L L' = A~."""

    def choose(self, actions: np.ndarray) -> int:
        x = np.array([self.rng.standard_normal() for _ in range(self.d)])
        root = np.linalg.inv(np.linalg.cholesky(self.A)).T
        theta = np.linalg.solve(self.A, self.b) + math.sqrt(self.alpha) * root @ x
        return int(np.argmax(actions @ theta))


class JointLinUCB(TreeLinUCB):
    """Shariff & Sheffet: Gaussian nodes, the total shifted by 2ΥI."""

    def __init__(self, d: int, T: int, rng: Any, sigma: float, failure: float = 0.001) -> None:
        super().__init__(d, T, rng, sigma)
        m = 1 + math.floor(math.log2(T))
        log = math.log(2 * T / failure)
        self.upsilon = sigma * math.sqrt(2 * m) * (4 * math.sqrt(d) + 2 * log)
        self.gamma = sigma * math.sqrt(m / self.upsilon) * (math.sqrt(d) + math.sqrt(2 * log))
        self.failure, self.beta = failure, 1.0
        self.theta = np.zeros(d)

    def node_noise(self, i: int, j: int) -> float:
        return float((math.sqrt(2) if i == j else 1.0) * self.scale * self.rng.standard_normal())

    def choose(self, actions: np.ndarray) -> int:
        inverse = np.linalg.inv(self.A)
        return int(
            np.argmax([z @ self.theta + self.beta * math.sqrt(z @ inverse @ z) for z in actions])
        )

    def record(self, z: np.ndarray, r: float) -> None:
        A, b = self.noisy(z, r)
        self.A = A + 2 * self.upsilon * np.eye(self.d)
        self.theta = np.linalg.solve(self.A, b)
        inner = 2 * math.log(2 / self.failure) + np.linalg.slogdet(self.A)[1]
        inner -= self.d * math.log(self.upsilon)
        self.beta = math.sqrt(inner) + math.sqrt(3 * self.upsilon) + self.gamma
