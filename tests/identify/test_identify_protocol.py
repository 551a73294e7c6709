"""The loop of identification is a shortcut of the protocol: nobody waits, one text decides.

The protocol draws the same coins in the same order, so every run is the same bit by bit: stopping
time, answer, places, and the released means behind them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet._draws import Draws
from discreet.identify import IDENTIFIERS, Identifier, identify
from discreet.identify._filling import Batches, scratch_of
from discreet.identify._loop import fresh_course, loop_kernel
from discreet.policies._view import fresh_view
from discreet.privacy._source import SIMULATED
from discreet.protocol import FINISHED, Playing, Track, Truth, World, begin, play_kernel, slots
from discreet.protocol._state import ANSWER, TAKEN

ENVIRONMENT = discreet.Bernoulli([0.95, 0.5, 0.3])
ARMS = ENVIRONMENT.arms


def at(name: str, limit: int) -> Identifier:
    row = IDENTIFIERS[name].example()
    return row.among(limit) if row.fixed_size else row.at(0.2)


def coins(seed: int) -> Draws:
    return Draws(np.random.SFC64(np.random.SeedSequence(seed)))


def by_loop(row: Identifier, limit: int, rng: Draws) -> dict[str, Any]:
    """Interpreted, as `identify` plays it."""
    setting = row.setting(ARMS)
    parts = tuple(
        part.parameters(setting) for part in (row.schedule, row.release, row.rule, row.stopping)
    )
    course, view = fresh_course(), fresh_view(ARMS)
    whole = np.zeros(ARMS, np.int64)
    loop = loop_kernel(row, ENVIRONMENT.draw).interpreted()
    loop(
        ENVIRONMENT.start(rng), *parts, row.release.ledger(setting), row.rule.memory(setting), view,
        Batches(whole, whole.copy()), scratch_of(row, ARMS), course, limit,
        10**9, rng,
    )  # fmt: skip
    answer = int(course.answer[0]) if course.stopped[0] else -1
    return {
        "time": int(course.t[0]), "answer": answer, "pulls": list(view.pulls),
        "value": list(view.value),
    }  # fmt: skip


def by_protocol(row: Identifier, limit: int, rng: Draws) -> dict[str, Any]:
    terms = Playing("mixed" if row.mixed else "one batch", cuts=True)
    started = begin(row, row.setting(ARMS, None, SIMULATED), terms)
    design = started.design._replace(horizon=limit)
    head, environment = started.head, ENVIRONMENT.start(rng)
    vault = started.vault._replace(environment=Truth(environment, np.ones(ARMS)))
    world = World(
        1.0, np.ones(ARMS), 0, 0.0, 0.0, 0, 0.0, 1.0, 1.0, np.zeros(2), np.full(1, -1),
        np.full(3, -1),
    )  # fmt: skip
    track = Track(
        np.array([limit]), np.zeros(1), np.zeros((1, ARMS), np.int64), ENVIRONMENT.standard(limit),
        np.zeros(1), np.zeros(2, np.int64), np.array([-1.0, 0.0]), np.zeros(ARMS),
    )  # fmt: skip
    play = play_kernel(slots(row, terms, SIMULATED, "at once", ENVIRONMENT.draw)).interpreted()
    assert play(world, design, head, vault, track, rng) == FINISHED
    return {
        "time": int(head.at[TAKEN]), "answer": int(head.at[ANSWER]), "pulls": list(head.places),
        "value": list(head.value),
    }  # fmt: skip


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize("limit", [60, 3000])
def test_it_is_the_protocol_bit_by_bit(name: str, limit: int) -> None:
    """Every policy of the catalogue, with a limit that cuts it off and one that does not."""
    row, answers = at(name, limit), []
    for seed in range(2):
        own, other = by_loop(row, limit, coins(seed)), by_protocol(row, limit, coins(seed))
        assert own == other
        answers.append(own["answer"])
    if limit == 3000 and name != "adap-tt-star":  # which needs more
        assert answers == [0, 0]


def test_what_is_compared_is_what_identify_plays() -> None:
    """Compiled, from the same seed."""
    row = at("uniform", 60)
    found = identify(row, ENVIRONMENT, runs=1, seed=3, threads=1, max_samples=60)
    rng = Draws(np.random.SFC64(np.random.SeedSequence(3, spawn_key=(0,))))
    own = by_loop(row, 60, rng)
    assert own["pulls"] == found.final_pulls[0].tolist()
    assert own["answer"] == found.recommendation[0]
