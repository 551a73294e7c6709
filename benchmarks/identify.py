"""Best-arm identification: the compiled loop against the naive twin, and what each shortcut gains.

    python benchmarks/identify.py            speed
    python benchmarks/identify.py --bound    stopping times of every row against the lower bound
    python benchmarks/identify.py --evidence stopping times and errors of the evidence rows
    python benchmarks/identify.py --sizes    errors of searches of a fixed size
    python benchmarks/identify.py --risks    errors at risk 0.1 where they are most likely
    python benchmarks/identify.py --errors   errors at risk 0.01 under zCDP, 10,000 runs a cell

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
SIGMAS = (1, 10, 50, 200)


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


def measured(row: Identifier, environment: discreet.Environment, runs: int) -> tuple[float, float]:
    """Processor seconds a run and samples a second, compilation apart."""
    options: dict[str, Any] = {"risk": DELTA, "seed": SEED, "threads": 1, "progress": False}
    identify(row, environment, runs=1, **options)
    started = time.process_time()
    result = identify(row, environment, runs=runs, **options)
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
                    row, discreet.Bernoulli(means), risk=DELTA, runs=some, seed=SEED,
                    progress=False,
                )  # fmt: skip
                mean = result.stopping_time.mean()
                cells.append(f"{mean:,.0f} (× {mean / least:.1f})")
                wrong += result.wrong
            shown = "–" if epsilon is None else f"{epsilon:g}"
            print(f"{label:<30}{shown:>6}{cells[0]:>24}{cells[1]:>24}{f'{wrong}/{2 * some}':>8}")


NAMED = {
    "A": MEANS,
    "B": [0.75, *[0.7] * 4],
    "C": [0.75, 0.7, 0.4],
    "D": [0.9, 0.6, 0.5],
    "G": [0.55, *[0.5] * 19],
}
EPSILONS = (None, 10.0, 1.0, 0.1, 0.02, 0.005)


def cell(row: Identifier, means: list[float], risk: float, runs: int) -> str:
    """Mean stopping time; wrong and unfinished runs, if any."""
    environment = discreet.Bernoulli(means)
    result = identify(row, environment, risk=risk, runs=runs, seed=SEED, progress=False)
    spoilt = f" ({result.wrong} wrong)" if result.wrong else ""
    return f"{result.stopping_time.mean():,.0f}{spoilt}" + (
        " UNFINISHED" if result.unfinished else ""
    )


def by_evidence(runs: int) -> None:
    """Every instance at every ε and risk; zCDP; local."""
    for risk in (0.01, 1e-6):
        some = runs if risk == 0.01 else max(1, runs // 5)
        print(f"\nevidence-tt, risk {risk:g}, {some} runs; ε = ∞, 10, 1, .1, .02, .005")
        for name, means in NAMED.items():
            rows = [identifier("evidence-tt", epsilon=epsilon) for epsilon in EPSILONS]
            print(name, *(f"{cell(row, means, risk, some):>12}" for row in rows), flush=True)
    print("\nevidence-tt, risk .01, zCDP with σ = 1, 10, 50, 200")
    for name in "ACD":
        rows = [identifier("evidence-tt", rho=0.5 / sigma**2) for sigma in SIGMAS]
        print(name, *(f"{cell(row, NAMED[name], 0.01, runs):>12}" for row in rows), flush=True)
    print("\nA, risk .01: local-evidence-tt at ε = 4, 2, 1, .5; chernoff-tt at ε = 10, 1, .1, .02")
    local = [identifier("local-evidence-tt", epsilon=epsilon) for epsilon in (4.0, 2.0, 1.0, 0.5)]
    print(*(f"{cell(row, MEANS, 0.01, runs):>12}" for row in local), flush=True)
    twins = [identifier("chernoff-tt", epsilon=epsilon) for epsilon in (10.0, 1.0, 0.1, 0.02)]
    print(*(f"{cell(row, MEANS, 0.01, runs):>12}" for row in twins), flush=True)
    row = identifier("evidence-tt", epsilon=1.0)
    seconds, _ = measured(row, discreet.Bernoulli(MEANS), 1000)
    print(f"\nevidence-tt, A, ε = 1: {1000 * seconds:.2f} processor seconds for 1000 runs")


def of_fixed_size(runs: int = 20_000) -> None:
    """Share of wrong answers."""
    falling = [0.7 - 0.02 * place for place in range(16)]
    cases = [
        ("A", MEANS, 2000, 1.0), ("A", MEANS, 8000, 0.1), ("D", NAMED["D"], 600, 0.1),
        ("G", NAMED["G"], 40_000, 1.0), ("G", NAMED["G"], 60_000, 0.1),
        ("falling", falling, 10_000, 1.0), ("falling", falling, 20_000, 0.1),
    ]  # fmt: skip
    for name, means, size, epsilon in cases:
        shares = [
            identify(
                identifier(row, epsilon=epsilon), discreet.Bernoulli(means), participants=size,
                runs=runs, seed=SEED, progress=False,
            ).error_rate
            for row in ("uniform", "classical-halving", "halving")
        ]  # fmt: skip
        print(f"{name:<8}{size:>8}{epsilon:>6}", *(f"{share:>8.4f}" for share in shares))


def at_risk(runs: int = 3000) -> None:
    """Wrong answers at risk .1, Laplace and Gaussian noise."""
    budgets: list[tuple[str, dict[str, Any]]] = [
        *((f"ε = {epsilon}", {"epsilon": epsilon}) for epsilon in (None, 1.0, 0.1)),
        *((f"σ = {sigma}", {"rho": 0.5 / sigma**2}) for sigma in (10, 200)),
    ]
    for means in ([0.6, 0.5, 0.5], [0.9, 0.8, 0.8], [0.5, 0.4999]):
        for label, budget in budgets:
            result = identify(
                identifier("evidence-tt", **budget), discreet.Bernoulli(means), risk=0.1,
                runs=runs, seed=SEED, progress=False,
                max_samples=10**7 if "rho" in budget else 10**6,
            )  # fmt: skip
            print(f"{means}, {label}: {result.wrong} of {runs} wrong", flush=True)


def under_zcdp(runs: int = 10_000) -> None:
    """Wrong answers at risk .01, by instance and σ: other seeds than those of `--evidence`."""
    for name in "ACD":
        for sigma in SIGMAS:
            result = identify(
                identifier("evidence-tt", rho=0.5 / sigma**2), discreet.Bernoulli(NAMED[name]),
                risk=0.01, runs=runs, seed=SEED + 10, progress=False,
            )  # fmt: skip
            print(f"{name}, σ = {sigma}: {result.wrong} of {runs} wrong", flush=True)


def main() -> None:
    """Print the tables."""
    if "--errors" in sys.argv:
        under_zcdp()
        return
    if "--bound" in sys.argv:
        against_the_bound()
        return
    if "--evidence" in sys.argv:
        by_evidence(1000)
        return
    if "--sizes" in sys.argv:
        of_fixed_size()
        return
    if "--risks" in sys.argv:
        at_risk()
        return
    environment = discreet.Bernoulli(MEANS)
    slow, slow_rate = naive(1.0)
    print(f"{'adap-tt, first instance':<44}{'ms a run':>10}{'samples/s':>12}{'naive/this':>12}")
    print(f"{'ε = 1: naive twin':<44}{slow * 1e3:>10.1f}{slow_rate:>12.3g}{1:>12.0f}")
    for epsilon, runs in ((1.0, 200), (0.01, 30)):
        row = identifier("adap-tt", epsilon=epsilon)
        walked = replace(row, rule=Walked(GaussianCost()))
        for label, candidate, rewards in (
            ("compiled", row, environment),
            ("without strides", walked, environment),
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
        **{f"dp-tt, ε = {e:g}": identifier("dp-tt", epsilon=e) for e in (10.0, 1.0, 0.1)},
    }
    for label, row in others.items():
        seconds, rate = measured(row, environment, 50)
        print(f"{label:<44}{seconds * 1e3:>10.2f}{rate:>12.3g}")


if __name__ == "__main__":
    main()
