"""The protocol beside the loops that are shortcuts of it: CPU time of one thread, by turns.

    python benchmarks/protocol.py        # also part of `make benchmark`

Both play the same runs from the same coins, bit by bit (tests/simulator/test_protocol.py,
tests/identify/test_identify_protocol.py). A ratio above 1.05 is why a loop stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import discreet
from discreet import linear
from discreet._compiled import compile_for, machine_code
from discreet._draws import Draws
from discreet.identify import identifier
from discreet.identify._runs import PATIENCE, Identification
from discreet.linear._algebra import of_known_length
from discreet.linear._late import context_slots
from discreet.linear._loop import fresh_course, loop_kernel, simulated_state
from discreet.linear._runs import fitted
from discreet.linear._view import LinearSetting
from discreet.policies._step import fresh_state, parts_of
from discreet.privacy._source import SIMULATED
from discreet.protocol import Playing, Track, Truth, World, begin, play_kernel, slots
from discreet.protocol.plans._contexts import ContextDesign, ContextHead, ContextVault
from discreet.protocol.worlds._contexts import (
    ContextTrack,
    ContextTruth,
    context_kernel,
    play_contexts,
)
from discreet.simulator._loop import Curve
from discreet.simulator._runs import DECISIONS, Simulation, log_grid
from discreet.simulator.calendar import calendar
from discreet.simulator.calendar._runs import world_of

FIVE = [0.75, 0.625, 0.5, 0.375, 0.25]
SEARCH = [0.95, 0.9, 0.9, 0.9, 0.5]
REPEATS = 7


class Line(NamedTuple):
    """A policy, and how long it is played."""

    name: str
    horizon: int
    runs: int
    budget: dict[str, float]


REGRET = (
    Line("ucb1", 200_000, 1, {}),
    Line("kl-ucb", 200_000, 1, {}),
    Line("thompson", 200_000, 1, {}),
    Line("dp-imed", 10**6, 200, {"epsilon": 1.0}),
    Line("adap-klucb", 10**6, 200, {"epsilon": 1.0}),
    Line("dp-se", 10**6, 200, {"epsilon": 1.0}),
    Line("ldp-ucb-b", 100_000, 1, {"epsilon": 1.0}),
)
ANSWERS = (
    Line("evidence-tt", 10**7, 200, {"epsilon": 1.0}),
    Line("race", 10**7, 200, {"epsilon": 1.0}),
    Line("dp-se", 10**7, 200, {"epsilon": 1.0}),
    Line("ttucb", 10**7, 20, {}),
    Line("adap-tt", 10**7, 2, {"epsilon": 1.0}),
)


CONTEXTS = (
    Line("adac-oful", 50_000, 1, {"rho": 0.5}),
    Line("oful", 50_000, 1, {}),
    Line("private-linucb", 5_000, 1, {"epsilon": 1.0, "delta": 1e-6}),
    Line("jdp-ts", 50_000, 1, {"rho": 0.5}),
)


def at_once(
    policy: Any, environment: discreet.Environment, horizon: int, plan: str
) -> Callable[[int], None]:
    """Plays runs by the protocol, in the world where nobody waits."""
    terms, arms = Playing(plan, cuts=True), environment.arms
    filled = slots(policy, terms, SIMULATED, "at once", environment.draw) | {
        "lost": environment.lost
    }
    ready: list[Any] = []

    def run(number: int) -> None:
        rng = Draws(np.random.SFC64(np.random.SeedSequence(1, spawn_key=(number,))))
        stops = policy.kind == "identify"
        started = begin(policy, policy.setting(arms, None if stops else horizon), terms)
        design = started.design._replace(horizon=horizon)
        truth = Truth(environment.start(rng), np.ones(arms))
        world = World(
            1.0, np.ones(arms), 0, 0.0, 0.0, 0, 0.0, 1.0, 1.0, np.zeros(2), np.full(1, -1),
            np.full(3, -1),
        )  # fmt: skip
        grid = np.unique(np.geomspace(1.0, horizon, 100).round().astype(np.int64))
        track = Track(
            grid,
            np.zeros(len(grid)),
            np.zeros((len(grid), arms), np.int64),
            environment.standard(horizon),
            np.zeros(1),
            np.zeros(2, np.int64),
            np.array([-1.0, 0.0]),
            np.zeros(arms),
        )
        arguments = (
            world,
            design,
            started.head,
            started.vault._replace(environment=truth),
            track,
            rng,
        )
        if not ready:
            kernel = play_kernel(filled)
            compiled = compile_for(policy.name, partial(kernel.cached, *arguments), arguments)
            ready.append(machine_code(compiled, arguments))
        before = time.process_time()
        ready[0](*arguments)
        spent[0] += time.process_time() - before

    spent = [0.0]
    run.spent = spent  # type: ignore[attr-defined]
    return run


def loop_of(
    row: Any, environment: discreet.Environment, horizon: int, runs: int
) -> Callable[[int], None]:
    """Plays runs by the loop."""
    work: Any
    if row.kind == "identify":
        work = Identification(row, environment, horizon, runs, 1)
    else:
        work = Simulation(row, environment, horizon, runs, 1, log_grid(horizon, 100))
    player, patience = work.player(), PATIENCE if row.kind == "identify" else DECISIONS

    def run(number: int) -> None:
        begun = player.begin(number)
        before = time.process_time()
        while begun.loop(*begun.arguments, patience, begun.rng):
            pass
        spent[0] += time.process_time() - before

    spent = [0.0]
    run.spent = spent  # type: ignore[attr-defined]
    return run


def seconds(run: Any, runs: int) -> float:
    """CPU seconds inside the compiled code alone: to set up a run is another matter."""
    run.spent[0] = 0.0
    for number in range(runs):
        run(number)
    return float(run.spent[0])


def measured(line: Line, stops: bool) -> tuple[float, float]:
    """Seconds of the loop and of the protocol, the best of several turns."""
    environment = discreet.Bernoulli(SEARCH if stops else FIVE)
    row: Any = discreet.policy(line.name, **line.budget)
    if stops:
        row = identifier(line.name, **line.budget).at(0.01)
    plan = "mixed" if getattr(row, "mixed", False) else "one batch"
    run = at_once(row, environment, line.horizon, plan)
    loop = loop_of(row, environment, line.horizon, line.runs)
    loop(0)
    run(0)
    pairs = [(seconds(loop, line.runs), seconds(run, line.runs)) for _ in range(REPEATS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def with_contexts(line: Line) -> tuple[float, float]:
    """The same for linear policies in Gaussian contexts, d = 5, K = 10."""
    problem = linear.LinearProblem.random(arms=10, dimension=5, seed=1)
    row: Any = fitted(linear.policy(line.name, **line.budget), problem)
    setting = LinearSetting(10, 5, line.horizon)
    parts, grid = parts_of(row, setting), log_grid(line.horizon, 100)
    rewards, theta = problem.rewards.parameters(), of_known_length(problem.theta)
    offer, pay = problem.contexts.offer, problem.rewards.pay
    loops: list[Any] = []

    def coins() -> Draws:
        return Draws(np.random.SFC64(np.random.SeedSequence(1)))

    def record() -> tuple[Any, Any]:
        return np.zeros(len(grid)), np.zeros((len(grid), 10), np.int64)

    def timed(kernel: Any, arguments: tuple[Any, ...]) -> float:
        key = 0 if kernel.function is not play_contexts else 1
        if len(loops) <= key:
            loops.append(compile_for(row.name, partial(kernel.cached, *arguments), arguments))
        before = time.process_time()
        while loops[key](*arguments) not in (0,):
            pass
        return time.process_time() - before

    def loop() -> float:
        rng, state = coins(), simulated_state(row, setting)
        return timed(
            loop_kernel(row, offer, pay),
            (problem.contexts.start(rng), rewards, *parts, *state, fresh_course(10, 5), theta,
             line.horizon, Curve(grid, *record()), DECISIONS, rng),
        )  # fmt: skip

    def own() -> float:
        rng, (ledger, _, seen) = coins(), fresh_state(row, setting)
        design = ContextDesign(*parts, 5, line.horizon, 0.0, 1, int(row.release.each_alone), 0.0)
        head = ContextHead(seen, np.zeros(10, np.int64), np.zeros(6, np.int64), np.full(1, np.inf))
        truth = ContextTruth(problem.contexts.start(rng), rewards, theta, np.zeros(50))
        world = world_of(calendar(10, arrivals=1), line.horizon, problem)
        track = ContextTrack(grid, *record(), np.zeros(1), np.zeros(1, np.int64))
        vault = ContextVault(ledger, np.zeros(5), np.zeros(1))
        kernel = context_kernel(context_slots(row, problem), "at once")
        return timed(kernel, (world, truth, design, head, vault, track, rng))

    loop()
    own()
    pairs = [(loop(), own()) for _ in range(REPEATS)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def main(say: Callable[[str, str, str], None] | None = None) -> None:
    """A line a policy."""
    kinds: tuple[tuple[tuple[Line, ...], str, Callable[[Line], tuple[float, float]]], ...] = (
        (REGRET, "", partial(measured, stops=False)),
        (ANSWERS, ", a search", partial(measured, stops=True)),
        (CONTEXTS, ", contexts", with_contexts),
    )
    for lines, kind, measure in kinds:
        for line in lines:
            loop, own = measure(line)
            what = f"{line.name}{kind}: protocol at once / its loop"
            each = 1e3 / line.runs
            found = f"{own / loop:.2f} ({each * own:.4f}, {each * loop:.4f} ms)"
            if say is None:
                print(f"{what:58s} {found:>34s}", flush=True)
            else:
                say(what, found, "at most 1.05, or the loop stays")


if __name__ == "__main__":
    main()
