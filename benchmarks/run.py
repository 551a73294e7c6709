"""Speeds as ratios measured in one run: `make benchmark`.

Every line names what was measured, what it is compared with, the ratio, and the ratio to reach.
Loops are measured in CPU seconds of one core, the best of several repeats, so that other work on
the machine matters less; threads and processes by the clock.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import bare
import others
import plain

import discreet

FIVE = [0.75, 0.625, 0.5, 0.375, 0.25]
TEN = [0.3 + 0.05 * arm for arm in range(10)]


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
    policy, law = discreet.policy(name, **budget), discreet.Bernoulli(means)
    discreet.simulate(policy, law, horizon=len(means) * 10, runs=1, seed=1, threads=1)
    return lambda: discreet.simulate(policy, law, horizon=horizon, runs=runs, seed=1, threads=1)


def say(what: str, measured: str, reach: str) -> None:
    """One line."""
    print(f"{what:58s} {measured:>34s}   to reach: {reach}", flush=True)


def long_horizons() -> None:
    """T = 1e12 against T = 1e6, and a thousand runs at 1e7."""
    for name in ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed"):
        short = seconds(runner(name, FIVE, 1e6, 300, epsilon=1.0))
        long = seconds(runner(name, FIVE, 1e12, 300, epsilon=1.0))
        say(f"{name}: time for T = 1e12 / T = 1e6", f"{long / short:.2f}", "at most 3")
    thousand = seconds(runner("adap-klucb", FIVE, 1e7, 1000, epsilon=1.0), 5)
    say("adap-klucb: 1000 runs, 5 arms, T = 1e7", f"{thousand:.3f} s", "0.06 s")


def each_round() -> None:
    """Policies that decide every round, 10 arms."""
    horizon = 3_000_000
    ours = horizon / seconds(runner("ucb1", TEN, horizon, 1))
    python = 100_000 / seconds(lambda: plain.ucb1(TEN, 100_000, 1))
    say("ucb1", f"{ours / 1e6:.1f} M rounds/s", "-")
    bare.ucb1(TEN, 100, 1)
    loop = runner("ucb1", TEN, horizon, 1)
    pairs = [  # one after the other, so that both meet the same neighbours
        (seconds(lambda: bare.ucb1(TEN, horizon, 1), 1), seconds(loop, 1)) for _ in range(5)
    ]
    alone, within = (min(times) for times in zip(*pairs, strict=True))
    rate = f"{alone / within:.2f} ({horizon / alone / 1e6:.1f} M)"
    say("ucb1 / bare numba loop, same arithmetic and draws", rate, "0.9")
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
    rate = horizon / seconds(runner("kl-ucb", TEN, horizon, 1))
    say("kl-ucb", f"{rate / 1e6:.1f} M rounds/s", "6 M rounds/s")
    ours = horizon / seconds(runner("dp-ucb", TEN, horizon, 1, epsilon=1.0))
    python = 100_000 / seconds(lambda: plain.dp_ucb(TEN, 100_000, 1.0, 1))
    say("dp-ucb", f"{ours / 1e6:.1f} M rounds/s", "10 M rounds/s")
    say("dp-ucb / plain Python twin", f"{ours / python:.0f} ({python / 1e6:.3f} M)", "20")
    nine = [0.3 + 0.05 * arm for arm in range(9)]
    for name, budget in {
        "thompson": {},
        "lazy-dp-ts": {"epsilon": 1.0},
        "dp-ts": {"epsilon": 1.0},
        "dp-ftpl-gauss": {"epsilon": 1.0, "delta": 0.01},
        "dp-ftpl-beta": {"epsilon": 1.0, "delta": 0.01},
        "dp-ftpl-new": {"epsilon": 1.0},
    }.items():
        rate = 1e6 / seconds(runner(name, nine, 1e6, 1, **budget), 2)
        reach = "3 M rounds/s" if name == "dp-ts" else "1 M rounds/s"
        say(f"{name}, 9 arms", f"{rate / 1e6:.1f} M rounds/s", reach)


def step_by_step() -> None:
    """Rehearsals and live trials, a call a round."""
    for name, arms in (("ucb1", 10), ("adap-klucb", 5)):
        budget = {} if name == "ucb1" else {"epsilon": 1.0}

        def rehearse(name: str = name, arms: int = arms, budget: dict = budget) -> None:
            rehearsal = discreet.Rehearsal(discreet.policy(name, **budget), arms, seed=1)
            select, update = rehearsal.select, rehearsal.update
            for _ in range(100_000):
                update(select(), 1.0)

        rate = 100_000 / seconds(rehearse)
        say(f"Rehearsal of {name}, {arms} arms: select + update", f"{rate:,.0f} /s", "150,000 /s")

    def trial() -> None:
        live = discreet.Trial(discreet.policy("adap-klucb", epsilon=1.0), 5)
        for unit in range(20_000):
            live.assign(unit)
            live.record(unit, 1.0)

    say("Trial of adap-klucb: assign + record", f"{20_000 / seconds(trial):,.0f} /s", "10,000 /s")


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
    policy, law = discreet.policy("ucb1"), discreet.Bernoulli(TEN)
    times = [
        seconds(
            lambda count=count: discreet.simulate(
                policy, law, horizon=1e6, runs=8, seed=1, threads=count
            ),
            clock=time.perf_counter,
        )
        for count in (1, 2)
    ]
    say("ucb1, 8 runs: one thread / two threads", f"{times[0] / times[1]:.2f}", "2 on two cores")


if __name__ == "__main__":
    for part in (long_horizons, each_round, threads, step_by_step, second_process):
        part()
