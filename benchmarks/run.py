"""Speeds as ratios measured in one run: `make benchmark`.

    python benchmarks/run.py                 # everything
    python benchmarks/run.py --goals         # the goals of kernels alone, and what a round draws
    python benchmarks/run.py --beside SRC    # beside the package in another folder, by turns

Every line names what was measured, what it is compared with, the ratio, and the ratio to reach.
Loops are measured in CPU seconds of one core, the best of several repeats, so that other work on
the machine matters less; threads and processes by the clock.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import bare
import others
import plain

import discreet
from discreet.live._arguments import grouped

FIVE = [0.75, 0.625, 0.5, 0.375, 0.25]
TEN = [0.3 + 0.05 * arm for arm in range(10)]
NINE = TEN[:9]
SAMPLING: dict[str, dict[str, float]] = {
    "thompson": {},
    "lazy-dp-ts": {"epsilon": 1.0},
    "dp-ts": {"epsilon": 1.0},
    "dp-ftpl-gauss": {"epsilon": 1.0, "delta": 0.01},
    "dp-ftpl-beta": {"epsilon": 1.0, "delta": 0.01},
    "dp-ftpl-new": {"epsilon": 1.0},
}
"""Rows that draw for every arm."""


def seconds(
    work: Callable[[], object],
    repeats: int = 3,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """The shortest time of several repeats, in CPU seconds unless a clock is given."""
    times = []
    for _ in range(repeats):
        started = clock()
        work()
        times.append(clock() - started)
    return min(times)


def runner(name: str, means: list[float], horizon: float, runs: int, **budget: float) -> Callable:
    """A simulation on one core, compiled beforehand."""
    policy, environment = discreet.policy(name, **budget), discreet.Bernoulli(means)
    discreet.simulate(policy, environment, horizon=len(means) * 10, runs=1, seed=1, threads=1)
    return lambda: discreet.simulate(
        policy, environment, horizon=horizon, runs=runs, seed=1, threads=1
    )


def say(what: str, measured: str, reach: str) -> None:
    """One line."""
    print(f"{what:58s} {measured:>40s}   to reach: {reach}", flush=True)


def long_horizons() -> None:
    """T = 1e12 against T = 1e6, and a thousand runs at 1e7."""
    for name in ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed"):
        short = seconds(runner(name, FIVE, 1e6, 300, epsilon=1.0))
        long = seconds(runner(name, FIVE, 1e12, 300, epsilon=1.0))
        say(f"{name}: time for T = 1e12 / T = 1e6", f"{long / short:.2f}", "at most 3")


def goals() -> None:
    """What kernels have to reach, and how much of a round its draws are."""
    horizon = 3_000_000
    loop = runner("ucb1", TEN, horizon, 1)
    for draws in ("NumPy's", "our"):
        rival = partial(bare.ucb1, TEN, seed=1, compiled_draws=draws == "our")
        rival(horizon=100)
        pairs = [  # one after the other, so that both meet the same neighbours
            (seconds(partial(rival, horizon=horizon), 1), seconds(loop, 1)) for _ in range(5)
        ]
        alone, within = (min(times) for times in zip(*pairs, strict=True))
        rate = f"{alone / within:.2f} ({horizon / within / 1e6:.1f}, {horizon / alone / 1e6:.1f} M)"
        say(f"ucb1 / bare numba loop, same arithmetic, {draws} draws", rate, "0.9")
    for name, means, rounds, least, budget in (
        ("kl-ucb", TEN, horizon, 6, {}),
        ("dp-ucb", TEN, horizon, 10, {"epsilon": 1.0}),
        ("dp-ts", NINE, 1_000_000, 3, {"epsilon": 1.0}),
    ):
        rate = rounds / seconds(runner(name, means, rounds, 1, **budget)) / 1e6
        say(f"{name}, {len(means)} arms", f"{rate:.1f} M rounds/s", f"{least} M rounds/s")
    play = runner("adap-klucb", FIVE, 1e7, 1000, epsilon=1.0)
    cpu, wall = seconds(play, 5), seconds(play, 5, time.perf_counter)
    took = f"{wall:.3f} s, {cpu:.3f} s CPU"
    say("adap-klucb: 1000 runs, 5 arms, T = 1e7, one thread", took, "0.06 s")
    contextual()
    share_of_draws()


def contextual() -> None:
    """adac-oful in Gaussian contexts beside pymab's LinUCB."""
    import linear

    try:
        rates = [
            (linear.ours("adac-oful", 5, 10, 400_000, rho=linear.RHO),
             linear.pymab_rounds("rust", 5, 10, 50_000))
            for _ in range(2)
        ]  # fmt: skip
    except ImportError:
        say("adac-oful / pymab's LinUCB (Rust)", "not installed", "60 (benchmark extra)")
        return
    ours, theirs = (max(rate) for rate in zip(*rates, strict=True))
    rate = f"{ours / theirs:.0f} ({ours / 1e6:.2f}, {theirs / 1e6:.3f} M)"
    say("adac-oful / pymab's LinUCB (Rust), d = 5, K = 10", rate, "60")


def share_of_draws() -> None:
    """Words of 64 random bits a round, counted, and what they cost by themselves."""
    from discreet.simulator._runs import DECISIONS, Simulation, log_grid

    cost = {
        environment: seconds(partial(bare.draw, environment, 5_000_000)) / 5_000_000
        for environment in bare.ENVIRONMENTS
    }
    print(
        "ns a draw, bare: "
        + ", ".join(f"{environment} {1e9 * s:.2f}" for environment, s in cost.items())
    )
    for name, means, rounds, budget in (
        ("ucb1", TEN, 1_000_000, {}),
        ("kl-ucb", TEN, 1_000_000, {}),
        ("dp-ucb", TEN, 1_000_000, {"epsilon": 1.0}),
        ("dp-ts", NINE, 1_000_000, {"epsilon": 1.0}),
    ):
        row, environment = discreet.policy(name, **budget), discreet.Bernoulli(means)
        player = Simulation(row, environment, rounds, 1, 1, log_grid(rounds, 100)).player()
        begun = player.begin(0)
        before = bare.steps(begun.rng)
        while begun.loop(*begun.arguments, DECISIONS, begun.rng):
            pass
        words = (bare.steps(begun.rng) - before) / rounds
        took = seconds(runner(name, means, rounds, 1, **budget)) / rounds
        share = words * cost["uniform"] / took
        known = f"{words:.2f}, at least {share:.0%} of {1e9 * took:.0f} ns"
        say(f"{name}: words of 64 bits a round", known, "-")
    import linear

    took = 1 / linear.ours("adac-oful", 5, 10, 400_000, rho=linear.RHO)
    share = 51 * cost["normal"] / took
    say("adac-oful, d = 5, K = 10: normals a round", f"51, {share:.0%} of {1e9 * took:.0f} ns", "-")


def each_round() -> None:
    """Policies that decide every round, beside loops in Python and other libraries."""
    horizon = 3_000_000
    ours = horizon / seconds(runner("ucb1", TEN, horizon, 1))
    python = 100_000 / seconds(lambda: plain.ucb1(TEN, 100_000, 1))
    say("ucb1", f"{ours / 1e6:.1f} M rounds/s", "-")
    say("ucb1 / plain Python loop", f"{ours / python:.0f} ({python / 1e6:.2f} M)", "20")
    rivals = {
        "river": lambda: others.river_ucb(TEN, 20_000, 1),
        "pymab (Python)": lambda: others.pymab_ucb(TEN, 20_000, 1, "python"),
        "pymab (Rust)": lambda: others.pymab_ucb(TEN, 20_000, 1, "rust"),
    }
    for name, rival in rivals.items():
        try:
            rate = 20_000 / seconds(rival, 2)
        except ImportError:
            say(f"ucb1 / {name}", "not installed", "50 (benchmark extra)")
            continue
        say(f"ucb1 / {name}", f"{ours / rate:.0f} ({rate / 1e6:.4f} M)", "50")
    ours = horizon / seconds(runner("dp-ucb", TEN, horizon, 1, epsilon=1.0))
    python = 100_000 / seconds(lambda: plain.dp_ucb(TEN, 100_000, 1.0, 1))
    say("dp-ucb / plain Python twin", f"{ours / python:.0f} ({python / 1e6:.3f} M)", "20")
    for name, budget in SAMPLING.items():
        if name != "dp-ts":  # a goal of its own
            rate = 1e6 / seconds(runner(name, NINE, 1e6, 1, **budget), 2)
            say(f"{name}, 9 arms", f"{rate / 1e6:.1f} M rounds/s", "1 M rounds/s")


def rehearse(name: str, arms: int, **budget: float) -> None:
    """100,000 rounds, a call each."""
    rehearsal = discreet.Rehearsal(discreet.policy(name, **budget), arms, seed=1)
    select, update = rehearsal.select, rehearsal.update
    for _ in range(100_000):
        update(select(), 1.0)


def live(**options: bool) -> None:
    """20,000 participants of a live trial in memory."""
    trial = discreet.Trial(discreet.policy("adap-klucb", epsilon=1.0), 5, **grouped(options))
    for unit in range(20_000):
        trial.assign(unit)
        trial.record(unit, 1.0)


def step_by_step() -> None:
    """Rehearsals and live trials, a call a round."""
    for work, what in (
        (partial(rehearse, "ucb1", 10), "ucb1, 10 arms"),
        (partial(rehearse, "adap-klucb", 5, epsilon=1.0), "adap-klucb, 5 arms"),
    ):
        rate = 100_000 / seconds(work)
        say(f"Rehearsal of {what}: select + update", f"{rate:,.0f} /s", "150,000 /s")
    say("Trial of adap-klucb: assign + record", f"{20_000 / seconds(live):,.0f} /s", "10,000 /s")


def second_process() -> None:
    """From nothing to the first number, with machine code from an earlier process."""
    code = (
        "import discreet; discreet.simulate(discreet.policy('adap-klucb', epsilon=1.0), "
        "discreet.Bernoulli([.6, .4]), horizon=1e6, runs=10, seed=1)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {"DISCREET_CACHE": folder, "PATH": str(Path(sys.executable).parent)}

        def start() -> None:
            subprocess.run([sys.executable, "-c", code], env=environment, check=True)

        wall = time.perf_counter
        first, second = seconds(start, 1, wall), seconds(start, 2, wall)
    say("process start to result, nothing cached", f"{first:.1f} s", "-")
    say("process start to result, second process", f"{second:.1f} s", "3 s")


def threads() -> None:
    """Two threads against one."""
    policy, environment = discreet.policy("ucb1"), discreet.Bernoulli(TEN)
    times = [
        seconds(
            lambda count=count: discreet.simulate(
                policy, environment, horizon=1e6, runs=8, seed=1, threads=count
            ),
            clock=time.perf_counter,
        )
        for count in (1, 2)
    ]
    say("ucb1, 8 runs: one thread / two threads", f"{times[0] / times[1]:.2f}", "2 on two cores")


def steps() -> None:
    """The protocol beside the loops that are shortcuts of it."""
    import protocol

    protocol.main(say)


def many() -> None:
    """Many arms, features and participants: the table of `researchers`."""
    import researchers

    researchers.main(say)


def works() -> dict[str, Callable[[], Callable[[], object]]]:
    """What is measured beside another version: what makes every loop of this file, by name."""
    found: dict[str, Callable[[], Callable[[], object]]] = {}

    def add(what: str, *arguments: Any, **budget: float) -> None:
        found[what] = partial(runner, *arguments, **budget)

    for name in ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed"):
        for horizon in (1e6, 1e12):
            add(f"{name}, 300 runs, T = {horizon:.0e}", name, FIVE, horizon, 300, epsilon=1.0)
    add("adap-klucb, 1000 runs, T = 1e7", "adap-klucb", FIVE, 1e7, 1000, epsilon=1.0)
    for name in ("ucb1", "kl-ucb"):
        add(f"{name}, 10 arms", name, TEN, 1e6, 1)
    add("dp-ucb, 10 arms", "dp-ucb", TEN, 1e6, 1, epsilon=1.0)
    for name, budget in SAMPLING.items():
        add(f"{name}, 9 arms", name, NINE, 3e5, 1, **budget)
    found["Rehearsal of ucb1"] = lambda: partial(rehearse, "ucb1", 10)
    found["Rehearsal of adap-klucb"] = lambda: partial(rehearse, "adap-klucb", 5, epsilon=1.0)
    found["Trial of adap-klucb"] = lambda: live
    takes_streams = "streams" in signature(discreet.Trial).parameters  # earlier ones had none
    single = {"streams": False} if takes_streams else {}
    found["Trial of adap-klucb, single batches"] = lambda: partial(live, **single)
    return found


def answer() -> None:
    """Measure what is asked for on standard input, a line each: the other side of `beside`."""
    known, made = works(), {}
    for line in sys.stdin:
        name = line.strip()
        if name not in made:
            made[name] = known[name]()
        print(seconds(made[name], 1), flush=True)


def beside(source: str, only: str, repeats: int = 5) -> int:
    """Every loop by turns in two processes: this version, and the package in another folder."""

    def started(*folder: str) -> Any:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*folder, *sys.path[1:]])}
        command, pipe = [sys.executable, __file__, "--answer"], subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    slower = 0
    with started() as new, started(source) as old:
        for name in works():
            if only not in name:
                continue
            times: dict[Any, list[float]] = {new: [], old: []}
            for _ in range(repeats):
                for process, found in times.items():
                    process.stdin.write(f"{name}\n")
                    process.stdin.flush()
                    found.append(float(process.stdout.readline()))
            ours, theirs = min(times[new]), min(times[old])
            slower += ours > 1.05 * theirs
            took = f"{ours / theirs:.2f} ({ours:.3f}, {theirs:.3f} s)"
            say(f"{name}: CPU time / the other's", took, "at most 1.05")
        new.stdin.close()
        old.stdin.close()
    return int(slower > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description="Speeds as ratios measured in one run.")
    parser.add_argument("--goals", action="store_true", help="the goals of kernels alone")
    parser.add_argument("--beside", metavar="SRC", help="a folder with another version")
    parser.add_argument("--only", metavar="TEXT", default="", help="loops whose names have it")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.answer:
        answer()
        return 0
    if asked.beside:
        return beside(asked.beside, asked.only)
    everything = (
        long_horizons, goals, each_round, steps, threads, step_by_step, second_process, many,
    )  # fmt: skip
    for part in (goals,) if asked.goals else everything:
        part()
    return 0


if __name__ == "__main__":
    sys.exit(main())
