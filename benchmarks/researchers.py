"""Speed where arms, features or participants are many: part of `make benchmark`.

    python benchmarks/researchers.py

Each line names what was measured, what stands beside it in the same run, and what to reach. Loops
are measured in CPU seconds of one core; live trials, plans and sweeps by the clock. Beside a line
stand the same work without its shortcut, plain Python, or another library where it has the like:
no library that we know of has private policies for very many arms, searches or live trials.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import live_contexts
import many_arms
import numpy as np

import audit as audits
import discreet
import identify as searches
import linear
import sweeps
from discreet.identify import identifier
from discreet.identify._dp_tt import PlainTopTwo
from discreet.simulator import _loop as loop
from discreet.simulator import _runs as runs

Say = Callable[[str, str, str], None]


class Reckoned(PlainTopTwo):
    """DP-TT's rule; the loop bounds the costs of its own kind alone."""


def arms(say: Say) -> None:
    """Very many arms, beside the walk over all of them, and what 1,000 runs keep."""
    for many, reach in ((1000, "-"), (10_000, "at most 40 ms")):
        means = np.append(np.random.default_rng(1).uniform(0.1, 0.6, many - 1), 0.9)
        environment = discreet.Bernoulli(means.tolist())
        for name in ("dp-imed", "adap-ucb"):
            policy = discreet.policy(name, epsilon=1.0)
            ours, _ = many_arms.milliseconds(policy, environment, 1e6, 5)
            with (
                mock.patch.object(loop, "is_ranked", return_value=False),
                mock.patch.object(runs, "is_ranked", return_value=False),
            ):
                walk, _ = many_arms.milliseconds(policy, environment, 1e6, 1)
            took = f"{ours:.1f} ms a run; the walk {walk:,.0f} ms"
            say(f"{name}, {many:,} arms, T = 1e6", took, reach)
    many_arms.megabytes(10_000, 1e5, 2, 100)  # compiles
    took = f"{many_arms.megabytes(10_000, 1e5, 1000, 100):,.0f} MB"
    say('1,000 runs × 10,000 arms, record="regret"', took, "at most 200 MB")


def features(say: Say) -> None:
    """Wide features: adac-oful beside rs-oful, which is not private."""
    for dimension, rounds in ((20, 60_000), (50, 15_000), (70, 8000)):
        ours = 1e6 / linear.ours("adac-oful", dimension, 10, rounds, rho=linear.RHO)
        other = 1e6 / linear.ours("rs-oful", dimension, 10, rounds)
        took = f"{ours:.1f} µs a round; rs-oful {other:.1f}; {ours / other:.2f}"
        say(f"adac-oful / rs-oful, d = {dimension}, K = 10", took, "at most 3")
    for dimension in (6, 50):
        whole, _, draw, _ = live_contexts.milliseconds("adac-oful", dimension, 40, rho=0.5)
        took = f"{whole:.2f} ms, of which the draw {draw:.2f}"
        say(f"live trial of adac-oful, d = {dimension}: a step", took, "1 ms + the draw")


def search(say: Say) -> None:
    """DP-TT, beside the same loop that reckons every cost; audits, beside plain Python."""
    from dataclasses import replace

    environment = discreet.Bernoulli(searches.MEANS)
    for epsilon in (10.0, 1.0, 0.1):
        row = identifier("dp-tt", epsilon=epsilon)
        _, ours = searches.measured(row, environment, 50)
        _, plain = searches.measured(replace(row, rule=Reckoned()), environment, 4)
        took = f"{ours / 1e6:.1f} M samples/s; every cost {plain / 1e6:.1f} M"
        say(f"dp-tt, ε = {epsilon:g}", took, "20 M samples/s")
    row, pair = discreet.policy("adap-ucb", epsilon=1.0), None
    from discreet.audit import audit, lists

    pair, many = lists(*audits.SIDES, audits.ARMS), 1_000_000
    options: dict[str, Any] = {"inputs": [pair], "seed": 1, "confidence": 0.99}
    audit(row, transcripts=1000, **options)
    ours = audits.speed(many, lambda: audit(row, transcripts=many, **options))
    plain = audits.speed(10_000, lambda: audits.played(1, 10_000))
    took = f"{ours / 1e6:.2f} M transcripts/s; plain Python {plain / 1e6:.3f} M"
    say("audit with search, adap-ucb, T = 8", took, "2 M transcripts/s")


def small_cells(say: Say) -> None:
    """A sweep of 72 cells beside a loop of simulate."""
    names, horizon = ("dp-imed", "adap-klucb"), 20_000
    epsilons = [0.05 * 1.7**step for step in range(9)]
    common: dict[str, Any] = {"horizon": horizon, "runs": 50, "seed": 1, "progress": False}

    def one_by_one() -> None:
        for name in names:
            for epsilon in epsilons:
                for environment in sweeps.environments():
                    row = discreet.policy(name, epsilon=epsilon)
                    discreet.simulate(row, environment, **common, threads=1)

    def swept() -> None:
        discreet.sweep(
            list(names), sweeps.environments(), epsilon=epsilons, **common, threads=1
        )  # fmt: skip

    for work in (one_by_one, swept):
        work()
    pairs = [[sweeps.times(work)[1] for work in (one_by_one, swept)] for _ in range(3)]
    bare, whole = (min(each) for each in zip(*pairs, strict=True))
    took = f"{whole / bare:.2f} ({whole:.2f}, {bare:.2f} s of CPU)"
    say("sweep of 72 small cells / loop of simulate", took, "at most 1.15")


PLANS = {
    "plan, 2 arms, 500 participants": "discreet.plan([.9, .8], horizon=500, epsilon=.1)",
    "plan_trial, 30 a day, 14 days": (
        "discreet.plan_trial([.5, .3], horizon=600, arrivals=30, delay=14, epsilon=1.0)"
    ),
    "plan_trial, 50,000 a day, answers within 30 min": (
        "discreet.plan_trial([.5, .48], horizon=100_000, arrivals=50_000, delay=30 / 1440, "
        "epsilon=1.0)"
    ),
}


def plans(say: Say) -> None:
    """By the clock, on a machine that has compiled nothing, and once it has."""
    for what, call in PLANS.items():
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"DISCREET_CACHE": folder}
            code = f"import discreet; {call}"
            took = []
            for _ in range(2):
                started = time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", code], env=environment, check=True, capture_output=True
                )
                took.append(time.perf_counter() - started)
        say(what, f"{took[0]:.1f} s; compiled before {took[1]:.1f} s", "at most 10 s")


def main(say: Say) -> None:
    """All of them."""
    for part in (arms, features, search, small_cells, plans):
        part(say)


def shown(what: str, measured: str, reach: str) -> None:
    """One line."""
    print(f"{what:50s} {measured:>52s}   to reach: {reach}", flush=True)


if __name__ == "__main__":
    main(shown)
