"""The protocol beside the loop of the simulator, which is an exact shortcut of it."""

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

import discreet
from discreet._compiled import compile_for
from discreet._draws import Draws
from discreet.policies import CATALOGUE
from discreet.privacy._source import SIMULATED
from discreet.protocol import (
    FINISHED,
    Playing,
    Track,
    Truth,
    World,
    as_lists,
    begin,
    play,
    play_kernel,
    slots,
)
from discreet.protocol.worlds._calendar import tossed_in_drift

ARMS, HORIZON, RUNS = 3, 600, 6
ENVIRONMENT = discreet.Bernoulli([0.5, 0.4, 0.3])


def at_once(arms: int) -> World:
    return World(
        1.0, np.ones(arms), 0, 0.0, 0.0, 0, 0.0, 1.0, 1.0, np.zeros(2), np.full(1, -1),
        np.full(3, -1),
    )  # fmt: skip


def coins(seed: int, run: int) -> Draws:
    return Draws(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run,))))


def fresh_track(grid: np.ndarray) -> Track:
    points = len(grid)
    return Track(
        grid, np.zeros(points), np.zeros((points, ARMS), np.int64), ENVIRONMENT.standard(HORIZON),
        np.zeros(1), np.zeros(2, np.int64), np.array([-1.0, 0.0]), np.zeros(ARMS),
    )  # fmt: skip


COMPILED: tuple[str, ...] = ("dp-imed", "adap-klucb", "ldp-ucb-b", "dp-se")
if os.environ.get("DISCREET_COMPILED") != "all":  # each takes five seconds to compile
    COMPILED = COMPILED[:1]


@pytest.mark.parametrize("name", CATALOGUE)
def test_at_once_it_is_the_loop_bit_by_bit(name: str) -> None:
    """Every finite policy of the catalogue: interpreted, or compiled (with DISCREET_COMPILED=all
    some more of them)."""
    policy = CATALOGUE[name].example()
    if policy.kind != "finite":
        pytest.skip("played by the machinery of its own kind")
    today = discreet.simulate(policy, ENVIRONMENT, horizon=HORIZON, runs=RUNS, seed=1, points=20)
    terms = Playing(cuts=True)
    filled = slots(policy, terms, SIMULATED, "at once", ENVIRONMENT.draw)
    for run in range(RUNS if name in COMPILED else 1):
        started = begin(policy, policy.setting(ARMS, HORIZON, SIMULATED), terms)
        vault = started.vault._replace(
            environment=Truth(ENVIRONMENT.start(np.random.default_rng(0)), np.ones(3))
        )
        track = fresh_track(today.t)
        arguments = (at_once(ARMS), started.design, started.head, vault, track, coins(1, run))
        if name in COMPILED:
            kernel = play_kernel(filled)
            loop = compile_for(name, partial(kernel.cached, *arguments), arguments)
        else:
            loop = play_kernel(filled).interpreted()
        assert loop(*arguments) == FINISHED
        assert (track.pulls == today.pulls[run]).all()
        assert np.allclose(track.regret, today.regret[run], rtol=1e-12)
    assert play.__name__ == "play"
    assert as_lists(started.head).places == track.pulls[-1].tolist()


LIVES = [
    ("dp-imed", "index", "calendar", {"window": 6}),
    (
        "adap-klucb", "index", "calendar",
        {"window": 6, "shares": (0.1, 0.0, 0.2), "estimate": True},
    ),
    ("dp-se", "looks", "calendar", {"window": 6}),
    ("dp-imed", "epochs", "calendar", {"longest": 40}),
    ("imed", "index", "answers", {"deadline": 0.0}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "plan", "world", "how"), LIVES)
def test_compiled_and_interpreted_lives_are_the_same(
    name: str, plan: str, world: str, how: dict[str, object]
) -> None:
    """On arrays and on lists, bit by bit: what a participant gets, what is released, and what is
    left in the vault, which is nothing."""
    policy = CATALOGUE[name].example()
    terms = Playing(plan, deadline=3.0, default=0.25)._replace(**how)  # type: ignore[arg-type]
    filled = slots(policy, terms, SIMULATED, world, ENVIRONMENT.draw)
    filled |= {"lost": ENVIRONMENT.lost}  # as the simulator fills it, whose kernels these are then
    if name == "dp-imed":
        filled |= {"earn": tossed_in_drift}
    heads = []
    for compiled in (True, False):
        started = begin(policy, policy.setting(ARMS, HORIZON, SIMULATED), terms, 80)
        calendar = at_once(ARMS)._replace(
            arrivals=12.0, answered=np.full(ARMS, 0.8), delay=2, mean=2.0, latest=3.0
        )
        vault = started.vault._replace(
            environment=Truth(ENVIRONMENT.start(np.random.default_rng(0)), np.full(ARMS, 0.8))
        )
        track = fresh_track(np.array([HORIZON]))
        state = (calendar, started.design, started.head, vault, track)
        rng = coins(5, 1)
        if compiled:
            kernel = play_kernel(filled)
            loop = compile_for(name, partial(kernel.cached, *state, rng), (*state, rng))
        else:
            state = (*map(as_lists, state[:4]), track)  # type: ignore[assignment]
            loop = play_kernel(filled).interpreted()
        assert loop(*state, rng) == FINISHED
        heads.append(as_lists(state[2]))
        assert not any(as_lists(state[3]).total)
    assert heads[0] == heads[1]
    assert sum(heads[0].places) == HORIZON
