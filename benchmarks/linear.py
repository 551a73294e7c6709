"""Speed of the linear loop, beside a naive NumPy twin and pymab's LinUCB, in one run.

- adac-oful at d = 3, K = 10 against the same algorithm written plainly in NumPy, both with
  Gaussian contexts drawn inside the loop; wanted: at least 20 times as many rounds a second.
- adac-oful at d = 5, K = 10 against both backends of pymab's LinUCB (the extra `benchmark`), once
  with Gaussian contexts and once with fixed actions; wanted: at least 30 times the Python backend,
  and with fixed actions the Rust backend too. With contexts a round of ours is mostly its 51 normal
  draws, and the ratio to the Rust backend, which is compiled as we are, is printed as it comes out.
- how a round grows with d, how long a run in episodes takes whatever its horizon, and how long an
  optimal design takes for K = 1000, d = 20.

    python benchmarks/linear.py

CPU seconds of one thread, the best of three after a warm-up that leaves compilation out. Exits with
1 if a wanted ratio is missed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from functools import partial
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


def best_of_three(work: Callable[[], Any]) -> float:
    """CPU seconds of a piece of work where nothing disturbs it."""
    return min(seconds(work) for _ in range(3))


def ours(
    name: str, dimension: int, arms: int, rounds: int, contexts: str = "gaussian", **options: Any
) -> float:
    """Rounds a second of a row on the thesis' contexts, or on fixed actions."""
    problem = linear.LinearProblem.random(arms=arms, dimension=dimension, contexts=contexts, seed=1)
    row = linear.policy(name, **options)

    def play(horizon: int) -> None:
        linear.simulate(row, problem, horizon=horizon, runs=1, seed=1, threads=1)

    play(arms)
    return rounds / best_of_three(lambda: play(rounds))


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

    return rounds / best_of_three(play)


def pymab_rounds(
    backend: str, dimension: int, arms: int, rounds: int, contexts: str = "gaussian"
) -> float:
    """Rounds a second of pymab's LinUCB on the same kind of actions."""
    import pymab
    from pymab.policies import LinUCBPolicy

    theta = np.random.default_rng(1).standard_normal(dimension)
    theta /= np.linalg.norm(theta)
    if contexts == "gaussian":
        provider: Any = pymab.GaussianContextProvider(
            arms, dimension, 1 / math.sqrt(dimension), math.sqrt(0.1)
        )
    else:
        problem = linear.LinearProblem.random(
            arms=arms, dimension=dimension, contexts=contexts, seed=1
        )
        provider = pymab.FixedContextProvider(np.array(problem.contexts.average))
    environment = pymab.LinearContextualEnvironment(np.tile(theta, (arms, 1)), provider)

    def play(horizon: int) -> None:
        config = pymab.ExperimentConfig(horizon, 1, 1, backend=backend)
        policies = {"linucb": LinUCBPolicy(n_arms=arms, n_features=dimension)}
        pymab.Experiment(environment=environment, policies=policies, config=config).run()

    play(10)
    return rounds / best_of_three(lambda: play(rounds))


def compare_naive() -> bool:
    """d = 3, K = 10."""
    fast, slow = ours("adac-oful", 3, 10, 400_000, rho=RHO), naive(3, 10, 10_000)
    ratio = fast / slow
    print(f"adac-oful, d = 3, K = 10: {fast:,.0f} rounds/s; NumPy twin {slow:,.0f}: × {ratio:.1f}")
    return ratio >= WANTED_NAIVE


def compare_pymab() -> bool:
    """d = 5, K = 10, contexts that change and actions that do not."""
    speeds = {}
    for contexts, rounds in (("gaussian", 400_000), ("fixed", 10_000_000)):
        fast = ours("adac-oful", 5, 10, rounds, contexts, rho=RHO)
        each = ours("oful", 5, 10, 400_000, contexts)
        speeds[contexts] = fast
        print(f"d = 5, K = 10, {contexts}: adac-oful {fast:,.0f} rounds/s, oful {each:,.0f}")
    try:
        import pymab
    except ImportError:
        print("pymab is not installed: pip install 'discreet[benchmark]'")
        return True
    good = True
    for contexts, fast in speeds.items():
        for backend, rounds in (("python", 2_000), ("rust", 100_000)):
            slow = pymab_rounds(backend, 5, 10, rounds, contexts)
            wanted = backend == "python" or contexts == "fixed"
            reached = fast / slow >= WANTED_PYMAB
            good &= reached or not wanted
            verdict = f"{'at least' if reached else 'below'} × {WANTED_PYMAB:.0f}"
            label = f"pymab {pymab.__version__} LinUCB, {backend} backend, {contexts}"
            print(f"  {label}: {slow:,.0f} rounds/s: × {fast / slow:.1f}, {verdict}")
    return good


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


def wide() -> None:
    """Microseconds a round in many dimensions, where releases are most frequent: at the start."""
    print("us a round, T = 2000, K = 10:   rs-oful   adac-oful   ratio")
    for d in (20, 50, 70):
        plain = 1e6 / ours("rs-oful", d, 10, 2000)
        private = 1e6 / ours("adac-oful", d, 10, 2000, rho=RHO)
        print(f"  d = {d:2d}{plain:31.1f}{private:12.1f}{private / plain:8.2f}")


def episodes() -> None:
    """Milliseconds of a run on fixed actions, d = 5, K = 10, against its horizon."""
    print("ms a run, fixed actions, sign rewards:   rs-oful   adac-oful")
    problem = linear.LinearProblem.random(dimension=5, contexts="fixed", rewards="sign", seed=1)
    rows = [linear.policy("rs-oful"), linear.policy("adac-oful", rho=RHO)]
    for horizon in (10**4, 10**8, 10**12):
        spent = []
        for row in rows:
            options: dict[str, Any] = {"horizon": horizon, "seed": 1, "threads": 1}
            linear.simulate(row, problem, runs=1, **options)
            work = partial(linear.simulate, row, problem, runs=20, **options)
            spent.append(best_of_three(work) / 20 * 1e3)
        print(f"  T = {horizon:.0e}{spent[0]:31.2f}{spent[1]:12.2f}")


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
    wide()
    episodes()
    designs()
    print("wanted ratios reached" if all(good) else "a wanted ratio was missed")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
