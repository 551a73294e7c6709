"""Best-arm identification: the compiled loop against the naive twin, and what each shortcut gains.

    python benchmarks/identify.py            speed
    python benchmarks/identify.py --bound    stopping times of every row against the lower bound

Processor seconds, one thread. The naive twin is the one of the tests: plain Python, one pull at a
time. The shortcuts are taken away one by one: strides (then every round is decided by itself) and
sums of batches (then every reward is drawn by itself).
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import discreet
from discreet.identify import GaussianCost, Identifier, SharedTopTwo, identifier, identify

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "identify"))

MEANS = [0.95, 0.9, 0.9, 0.9, 0.5]
INSTANCES = (MEANS, [0.75, 0.7, 0.7, 0.7, 0.7])
DELTA = 0.01
SEED = 1


class Walked(SharedTopTwo):
    """The same rule without strides: the loop knows how to stride with its own kinds only."""


def draw_singly(state: Any, arm: int, rounds: int, t: int, rng: Any) -> tuple[float, int]:
    """A batch, reward by reward."""
    total = 0.0
    for _ in range(rounds):
        if rng.random() < state.p[arm]:
            total += 1.0
    return total, rounds


class Singly(discreet.Bernoulli):
    """Bernoulli rewards without the binomial shortcut."""

    draw = staticmethod(draw_singly)


def measured(row: Identifier, law: discreet.Law, runs: int) -> tuple[float, float]:
    """Processor seconds a run and samples a second, compilation apart."""
    options: dict[str, Any] = {"delta": DELTA, "seed": SEED, "threads": 1, "progress": False}
    identify(row, law, runs=1, **options)
    started = time.process_time()
    result = identify(row, law, runs=runs, **options)
    seconds = time.process_time() - started
    return seconds / runs, float(result.stopping_time.sum()) / seconds


def naive(epsilon: float) -> tuple[float, float]:
    """The same for the naive twin, one run."""
    from naive_identify import NaiveTopTwo, generator

    started = time.process_time()
    samples, _, _ = NaiveTopTwo(MEANS, DELTA, epsilon, generator(SEED, 0)).run(10**8)
    seconds = time.process_time() - started
    return seconds, samples / seconds


def against_the_bound(runs: int = 100) -> None:
    """Mean stopping times of every row as multiples of the lower bound, T*(ε) log(1/(3δ))."""
    from discreet.theory import identification_samples

    print(f"{'stopping time (× lower bound), δ = 0.01':<30}{'ε':>6}{'instance 1':>24}"
          f"{'instance 2':>24}{'wrong':>8}")  # fmt: skip
    for epsilon in (None, 1.0, 0.1):
        names = ["ttucb"] if epsilon is None else ["adap-tt", "adap-tt-star", "dp-se", "ctb-tt"]
        rows = [(name, identifier(name, epsilon=epsilon)) for name in names]
        if epsilon is not None:
            rows += [
                (f"{name}, batched", identifier(name, epsilon=epsilon, sampling="batched"))
                for name in ("adap-tt", "adap-tt-star")
            ]
        for label, row in rows:
            some = max(2, runs // 25) if label == "ctb-tt" and epsilon == 0.1 else runs
            cells, wrong = [], 0
            for means in INSTANCES:
                least = identification_samples(means, DELTA, epsilon or math.inf)
                result = identify(
                    row, discreet.Bernoulli(means), delta=DELTA, runs=some, seed=SEED,
                    progress=False,
                )  # fmt: skip
                cells.append(f"{result.mean:,.0f} (× {result.mean / least:.1f})")
                wrong += result.wrong
            shown = "–" if epsilon is None else f"{epsilon:g}"
            print(f"{label:<30}{shown:>6}{cells[0]:>24}{cells[1]:>24}{f'{wrong}/{2 * some}':>8}")


def main() -> None:
    """Print the tables."""
    if "--bound" in sys.argv:
        against_the_bound()
        return
    law = discreet.Bernoulli(MEANS)
    slow, slow_rate = naive(1.0)
    print(f"{'adap-tt, first instance':<44}{'ms a run':>10}{'samples/s':>12}{'naive/this':>12}")
    print(f"{'ε = 1: naive twin':<44}{slow * 1e3:>10.1f}{slow_rate:>12.3g}{1:>12.0f}")
    for epsilon, runs in ((1.0, 200), (0.01, 30)):
        row = identifier("adap-tt", epsilon=epsilon)
        walked = replace(row, rule=Walked(GaussianCost()))
        for label, candidate, rewards in (
            ("compiled", row, law),
            ("without strides", walked, law),
            ("without strides and sums of batches", walked, Singly(MEANS)),
        ):
            seconds, rate = measured(candidate, rewards, runs)
            # per sample, so that one naive run serves for every ε
            print(f"{f'ε = {epsilon:g}: {label}':<44}{seconds * 1e3:>10.2f}{rate:>12.3g}"
                  f"{rate / slow_rate:>12.0f}")  # fmt: skip
    print(f"\n{'others, first instance, ε = 1':<44}{'ms a run':>10}{'samples/s':>12}")
    others = {
        "ttucb": identifier("ttucb"),
        "adap-tt, batched": identifier("adap-tt", epsilon=1.0, sampling="batched"),
        "adap-tt-star": identifier("adap-tt-star", epsilon=1.0),
        "ctb-tt": identifier("ctb-tt", epsilon=1.0),
        "dp-se": identifier("dp-se", epsilon=1.0),
    }
    for label, row in others.items():
        seconds, rate = measured(row, law, 50)
        print(f"{label:<44}{seconds * 1e3:>10.2f}{rate:>12.3g}")


if __name__ == "__main__":
    main()
