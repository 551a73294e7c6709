"""Tournaments choose what a walk over all arms chooses: the same arm every time, ties included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet._compiled import Kernel
from discreet.policies import AdaPUCB, ForgetExact, ForgetLaplace, Geometric, RememberLaplace
from discreet.policies._imed import IMED
from discreet.policies._policy import Policy
from discreet.policies._ranks import MANY, fresh_ranks, is_ranked
from discreet.policies._step import fresh_state, interpreted_steps, parts_of
from discreet.policies._view import View
from discreet.privacy._source import SIMULATED
from discreet.testing._case import generator

ARMS, HORIZON = 53, 3000


def ranked_rows() -> dict[str, Policy]:
    found = {}
    for entry in discreet.policies.CATALOGUE.values():
        row = entry.example()
        if isinstance(row, Policy) and is_ranked(row, row.setting(MANY, HORIZON)):
            found[entry.name] = row
    return found


def decisions(row: Policy, means: list[float], seed: int) -> int:
    """Play a run by the walk over all arms; the tournaments are asked beside it every time."""
    setting = row.setting(len(means), HORIZON)
    assert row.rule.ranked is not None
    parts, state, memory = parts_of(row, setting), fresh_state(row, setting), fresh_ranks(setting)
    walk, ranked = row.choose_kernel.interpreted(), Kernel(row.rule.ranked).interpreted()
    steps, rng, view = interpreted_steps(row, SIMULATED), generator(seed, 0), state.public
    assert isinstance(view, View)
    t = chosen = 0
    while t < HORIZON:
        arm = walk(parts.rule, state.memory, view, t, rng)
        assert ranked(parts.rule, memory, view, t, rng) == arm
        rounds = row.length_kernel.interpreted()(parts.schedule, state.memory, view, arm)
        total = float(rng.binomial(rounds, means[arm]))
        view.pulls[arm] += rounds
        if t + rounds <= HORIZON:
            steps.close_batch(parts.release, state.ledger, view, arm, rounds, total, rng)
        t, chosen = t + rounds, chosen + 1
    return chosen


MEANS = {
    "apart": [round(0.1 + 0.8 * arm / ARMS, 3) for arm in range(ARMS)],
    "all alike": [0.5] * ARMS,
    "all or nothing": [1.0, 0.0] * (ARMS // 2) + [1.0],
}
"""Without noise the last two are full of ties; with it means far outside of [0, 1] tie as well."""


@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("name", ranked_rows())
def test_the_same_arm_in_every_decision(name: str, means: str) -> None:
    assert decisions(ranked_rows()[name], MEANS[means], seed=1) > ARMS


@pytest.mark.parametrize(
    "row",
    [
        Policy("noise without end", Geometric(1.5, 3), ForgetLaplace(0.02), AdaPUCB(1.0)),
        Policy("remembering", Geometric(1.3), RememberLaplace(5.0), AdaPUCB(0.1)),
        Policy("IMED in batches", Geometric(1.2, 2), ForgetExact(), IMED()),
        discreet.policy("dp-imed", epsilon=0.05, first=2),
        discreet.policy("dp-klucb", epsilon=100.0, ratio=1.25, first=1),
        discreet.policy("adap-klucb", epsilon=0.3, alpha=1.0),
    ],
    ids=lambda row: row.name,
)
def test_compositions_choose_the_same(row: Policy) -> None:
    assert is_ranked(row, row.setting(ARMS, HORIZON))
    for means in MEANS.values():
        assert decisions(row, means, seed=2) > ARMS


def test_index_policies_with_batches_that_grow_are_ranked() -> None:
    assert set(ranked_rows()) == {
        "episodic-ucb", "adap-ucb", "adap-klucb", "adac-ucb", "dp-klucb", "dp-imed",
        "laplace-imed", "gauss-imed",
    }  # fmt: skip


def test_who_is_not_ranked() -> None:
    """Few arms; batches that do not grow; sizes that outnumber the room; parts of one's own."""
    row = discreet.policy("adap-ucb", epsilon=1.0)
    assert not is_ranked(row, row.setting(MANY - 1, HORIZON))
    assert not is_ranked(discreet.policy("ucb1"), discreet.policy("ucb1").setting(MANY, HORIZON))
    slow = Policy("slow", Geometric(1.0001), row.release, row.rule)
    assert not is_ranked(slow, slow.setting(5000, 10**9))

    class Own(AdaPUCB):
        choose = staticmethod(lambda rule, memory, view, t, rng: 0)

    class Elsewhere(ForgetLaplace):
        publish = staticmethod(lambda release, ledger, view, arm, rounds, total, rng: None)

    for mine in (
        Policy("own rule", row.schedule, row.release, Own()),
        Policy("own release", row.schedule, Elsewhere(1.0), row.rule),
    ):
        assert not is_ranked(mine, mine.setting(MANY, HORIZON))


def test_a_simulation_in_tournaments_is_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled, to the last bit of every number."""
    row, environment = discreet.policy("dp-imed", epsilon=1.0), discreet.Bernoulli(MEANS["apart"])
    study: dict[str, Any] = {"horizon": 20_000, "runs": 3, "seed": 1, "threads": 1}
    ranked = discreet.simulate(row, environment, **study)
    for module in ("loop", "runs"):
        monkeypatch.setattr(f"discreet.simulator._{module}.is_ranked", lambda *_: False)
    walked = discreet.simulate(row, environment, **study)
    assert np.array_equal(ranked.regret, walked.regret)
    assert np.array_equal(ranked.pulls, walked.pulls)
