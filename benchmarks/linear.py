"""Speed of the linear loop, beside a naive NumPy twin and pymab's LinUCB, in one run.

- adac-oful at d = 3, K = 10 against the same algorithm written plainly in NumPy, both with
  Gaussian contexts drawn inside the loop; wanted: at least 20 times as many rounds a second.
- adac-oful at d = 5, K = 10 against pymab's LinUCB (the extra `benchmark`), whose two backends are
  both shown: wanted, at least 30 times its Python backend. Its Rust backend is compiled, as we are.
- how a round grows with d, and how long an optimal design takes for K = 1000, d = 20.

    python benchmarks/linear.py

CPU seconds of one thread, after a warm-up that leaves compilation out. Exits with 1 if a wanted
ratio is missed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import discreet.linear as linear

WANTED_NAIVE, WANTED_PYMAB = 20.0, 30.0
RHO = 0.1


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds of a piece of work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def ours(name: str, dimension: int, arms: int, rounds: int, **options: Any) -> float:
    """Rounds a second of a row on the thesis' contexts."""
    problem = linear.LinearProblem.random(arms=arms, dimension=dimension, seed=1)
    row = linear.policy(name, **options)
    linear.simulate(row, problem, horizon=arms, runs=1, seed=1, threads=1)
    spent = seconds(
        lambda: linear.simulate(row, problem, horizon=rounds, runs=1, seed=1, threads=1)
    )
    return rounds / spent


def naive(dimension: int, arms: int, rounds: int) -> float:
    """Rounds a second of AdaC-OFUL in plain NumPy, vectorised over actions."""
    rng = np.random.default_rng(1)
    theta = rng.standard_normal(dimension)
    theta /= np.linalg.norm(theta)

    def play() -> None:
        ridge, failure = 0.1, 0.001
        V = ridge * np.eye(dimension)
        inverse, running = np.eye(dimension) / ridge, np.eye(dimension) / ridge
        noisy, episode, estimate = (np.zeros(dimension) for _ in range(3))
        longest, variance, regret = 0.0, 0.0, 0.0
        width, log_det, log_used = 4.0, dimension * math.log(ridge), dimension * math.log(ridge)
        for _ in range(rounds):
            actions = 1 / math.sqrt(dimension) + math.sqrt(0.1) * rng.standard_normal(
                (arms, dimension)
            )
            norms = np.sqrt(np.einsum("ki,ij,kj->k", actions, inverse, actions))
            a = actions[int(np.argmax(actions @ estimate + width * norms))]
            means = actions @ theta
            regret += means.max() - a @ theta
            episode += a * np.clip(a @ theta + rng.standard_normal(), -1, 1)
            longest = max(longest, float(a @ a))
            V += np.outer(a, a)
            along = running @ a
            grown = 1.0 + a @ along
            running -= np.outer(along, along) / grown
            log_det += math.log(grown)
            if log_det > log_used + math.log(2.0):
                sd = math.sqrt(2 / RHO * longest)
                noisy += episode + sd * rng.standard_normal(dimension)
                variance += sd * sd
                episode, longest, log_used = np.zeros(dimension), 0.0, log_det
                inverse = np.linalg.inv(V)
                estimate = inverse @ noisy
                log = math.log(2 * rounds / failure)
                bound = dimension + 2 * math.sqrt(dimension * log) + 2 * log
                width = math.sqrt(ridge) + math.sqrt(
                    2 * math.log(1 / failure) + log_det - dimension * math.log(ridge)
                )
                width += math.sqrt(variance * bound / np.linalg.eigvalsh(V)[0])

    return rounds / seconds(play)


def pymab_rounds(backend: str, dimension: int, arms: int, rounds: int) -> float:
    """Rounds a second of pymab's LinUCB on the same contexts."""
    import pymab
    from pymab.policies import LinUCBPolicy

    theta = np.random.default_rng(1).standard_normal(dimension)
    theta /= np.linalg.norm(theta)
    contexts = pymab.GaussianContextProvider(
        arms, dimension, 1 / math.sqrt(dimension), math.sqrt(0.1)
    )
    environment = pymab.LinearContextualEnvironment(np.tile(theta, (arms, 1)), contexts)

    def play(horizon: int) -> None:
        config = pymab.ExperimentConfig(horizon, 1, 1, backend=backend)
        policies = {"linucb": LinUCBPolicy(n_arms=arms, n_features=dimension)}
        pymab.Experiment(environment=environment, policies=policies, config=config).run()

    play(10)
    return rounds / seconds(lambda: play(rounds))


def compare_naive() -> bool:
    """d = 3, K = 10."""
    fast, slow = ours("adac-oful", 3, 10, 400_000, rho=RHO), naive(3, 10, 10_000)
    ratio = fast / slow
    print(f"adac-oful, d = 3, K = 10: {fast:,.0f} rounds/s; NumPy twin {slow:,.0f}: × {ratio:.1f}")
    return ratio >= WANTED_NAIVE


def compare_pymab() -> bool:
    """d = 5, K = 10."""
    fast = ours("adac-oful", 5, 10, 400_000, rho=RHO)
    print(f"adac-oful, d = 5, K = 10: {fast:,.0f} rounds/s")
    try:
        import pymab
    except ImportError:
        print("pymab is not installed: pip install 'discreet[benchmark]'")
        return True
    ratios = {}
    for backend, rounds in (("python", 2_000), ("rust", 100_000)):
        slow = pymab_rounds(backend, 5, 10, rounds)
        ratios[backend] = fast / slow
        label = f"pymab {pymab.__version__} LinUCB, {backend} backend"
        print(f"  {label}: {slow:,.0f} rounds/s: × {ratios[backend]:.1f}")
    return ratios["python"] >= WANTED_PYMAB


def growth() -> None:
    """Rounds a second against d, for an each-round, a rarely switching and a tree policy."""
    print("rounds/s, K = 10:     oful   adac-oful   private-linucb")
    for d in (2, 3, 5, 10, 20):
        speeds = [
            ours("oful", d, 10, 100_000),
            ours("adac-oful", d, 10, 100_000, rho=RHO),
            ours("private-linucb", d, 10, 20_000, epsilon=1.0),
        ]
        print(f"  d = {d:2d}  " + "".join(f"{speed:14,.0f}" for speed in speeds))


def designs() -> None:
    """Seconds of an optimal design."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((1000, 20))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    spent = seconds(lambda: linear.optimal_design(points))
    design = linear.optimal_design(points)
    print(f"optimal design, K = 1000, d = 20: {spent:.2f} s, duality gap {design.gap:.2g}")


def main() -> int:
    good = [compare_naive(), compare_pymab()]
    growth()
    designs()
    print("wanted ratios reached" if all(good) else "a wanted ratio was missed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
