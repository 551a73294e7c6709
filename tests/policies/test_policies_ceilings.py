"""Choosing with notes is choosing: the same arm in every round, ties included."""

from __future__ import annotations

from typing import Any

import pytest

import discreet
from discreet._compiled import Kernel
from discreet.policies._ceilings import AHEAD, takes_notes
from discreet.policies._policy import Policy
from discreet.policies._step import fresh_state, interpreted_steps, parts_of
from discreet.policies._ucb import UCB1
from discreet.privacy._source import SIMULATED
from discreet.testing._case import generator

ROUNDS = 40 * AHEAD


def rows_with_notes() -> list[str]:
    found = []
    for entry in discreet.policies.CATALOGUE.values():
        row = entry.example()
        if isinstance(row, Policy) and takes_notes(row):
            found.append(entry.name)
    return found


def arms_of(row: Policy, means: list[float], seed: int, notes: bool) -> list[int]:
    """The arms of a run, every kernel interpreted, choosing in the one way or the other."""
    setting = row.setting(len(means), ROUNDS)
    parts, state = parts_of(row, setting), fresh_state(row, setting)
    choose: Any = row.choose_kernel.interpreted()
    memory: Any = state.memory
    if notes:
        assert row.rule.noted is not None
        choose, memory = Kernel(row.rule.noted).interpreted(), row.rule.notes(len(means))
    close, rng, rewards = interpreted_steps(row, SIMULATED).close_batch, generator(seed, 0), []
    arms = []
    for t in range(ROUNDS):
        arm = choose(parts.rule, memory, state.public, t, rng)
        arms.append(arm)
        rewards.append(1.0 if rng.random() < means[arm] else 0.0)
        close(parts.release, state.ledger, state.public, arm, 1, rewards[-1], rng)
    return arms


@pytest.mark.parametrize("name", rows_with_notes())
@pytest.mark.parametrize("means", [[0.9, 0.5, 0.7, 0.7], [1.0, 1.0, 1.0], [0.0] * 5])
def test_the_same_arm_in_every_round(name: str, means: list[float]) -> None:
    entry = discreet.policies.CATALOGUE[name]
    row = entry.example()
    for seed in range(3):
        assert arms_of(row, means, seed, notes=True) == arms_of(row, means, seed, notes=False)


def test_rows_with_notes_are_known() -> None:
    """Among them those that decide every round by an index; a release that changes what is public
    of other arms keeps a row from it."""
    found = rows_with_notes()
    assert {"ucb1", "dp-ucb", "private-ucb", "dp-ucb-bound", "dp-ts"} <= set(found)
    idle = discreet.policy("dp-ucb-td", epsilon=1.0)
    assert not idle.release.settles
    assert not takes_notes(idle)


def test_a_release_that_settles_leaves_other_arms_alone() -> None:
    for entry in discreet.policies.CATALOGUE.values():
        row = entry.example()
        if not row.release.settles or row.release.respond is not None:
            continue
        setting = row.setting(3, 1000)
        parts, state = parts_of(row, setting), fresh_state(row, setting)
        close, rng = interpreted_steps(row, SIMULATED).close_batch, generator(1, 0)
        view = state.public
        for arm in (0, 1, 2, 0, 1, 0, 2, 2, 0):
            others = [(view.value[a], view.size[a]) for a in range(3) if a != arm]
            close(parts.release, state.ledger, view, arm, 1, 1.0, rng)
            assert [(view.value[a], view.size[a]) for a in range(3) if a != arm] == others


def test_a_rule_with_a_choice_of_its_own_inherits_no_notes() -> None:
    def last(rule: Any, memory: Any, view: Any, t: int, rng: Any) -> int:
        return len(view.size) - 1

    class Own(UCB1):
        choose = staticmethod(last)

    plain = discreet.policy("ucb1")
    row = Policy("own", plain.schedule, plain.release, Own())
    assert takes_notes(plain)
    assert not takes_notes(row)
    result = discreet.simulate(row, discreet.Bernoulli([0.9, 0.1]), horizon=50, runs=2, seed=1)
    assert result.mean_pulls.tolist() == [0.0, 50.0]
