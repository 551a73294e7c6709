"""What an audit tries if nobody tells it where to look: lengths, arms, values, decisions."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit import Runs, Steady, candidates, lists
from discreet.audit._adversaries import IN_TURN, OWN_CHOICE, Tables
from discreet.audit._transcripts import ABSENT
from discreet.errors import InvalidArgument


def tables(name: str, **options: Any) -> list[Tables]:
    row = discreet.policy(name, epsilon=1.0)
    return [pair for pair in candidates(row, **options) if isinstance(pair, Tables)]


def changes(pair: Tables) -> set[float]:
    """By how much rewards differ."""
    apart = np.abs(np.array(pair.first.table) - np.array(pair.second.table))
    return set(apart[apart > 0.0].tolist())


@pytest.mark.parametrize(
    ("name", "lengths"),
    [("adap-ucb", {4, 64, 256}), ("dp-ucb", {4, 32}), ("dp-imed", {4, 64, 256})],
)
def test_lengths_arms_and_values_vary(name: str, lengths: set[int]) -> None:
    found = tables(name)
    assert lengths <= {pair.horizon for pair in found}
    assert {pair.arms for pair in found} == {2, 3, 5}
    for some in (found, [pair for pair in found if pair.horizon == 4]):
        assert {0.5, 1.0} == set().union(*map(changes, some))


def test_what_is_asked_for_is_fixed() -> None:
    found = tables("dp-ucb", arms=3, horizon=12, decisions=5)
    assert {(pair.arms, pair.horizon, pair.decisions) for pair in found} == {(3, 12, 5)}
    row = discreet.policy("dp-ucb", epsilon=1.0)
    pair = lists([0.0] * 12, [1.0] + [0.0] * 11, 3)
    assert Runs(row, pair, decisions=5).played == 5
    assert Runs(row, pair).played == pair.decisions
    assert Runs(row, pair, decisions=50).played == 12


def test_a_column_for_every_release_of_every_arm() -> None:
    """The third release of an arm is one number, whichever arms were played in between."""
    row = discreet.policy("adap-ucb", epsilon=1.0)
    names = Runs(row, lists([0.0] * 4, [1.0] + [0.0] * 3, 2), decisions=4).names
    assert names == tuple(f"release {k} of arm {a}" for a in (0, 1) for k in (1, 2, 3, 4))


@pytest.mark.parametrize(("name", "latest"), [("adap-ucb", 2**38), ("dp-ucb", 2**15)])
def test_long_runs_are_looked_at_late_and_take_no_room(name: str, latest: int) -> None:
    row = discreet.policy(name, epsilon=1.0)
    found = candidates(row, horizon=10**12)
    assert not any(isinstance(pair, Tables) for pair in found)
    late = [pair for pair in found if isinstance(pair, Steady) and pair.since]
    assert max(pair.since for pair in late) > latest
    for plan in (OWN_CHOICE, 0):
        places = sorted(pair.place for pair in late if pair.plan == plan)
        assert places[0] < 256
        assert all(b < 5 * a for a, b in pairwise(places))
    assert all(pair.since == pair.place + 1 for pair in late)


@pytest.mark.parametrize("plan", [OWN_CHOICE, 0, IN_TURN])
def test_steady_rewards_are_the_lists_that_they_stand_for(plan: int) -> None:
    row = discreet.policy("dp-ucb", epsilon=1.0)
    first = [0.25] * 40
    second = [*first[:20], 1.0, 1.0, *first[22:]]
    first[20:22] = [0.0, 0.0]
    forced = {OWN_CHOICE: (), 0: (0,) * 40, IN_TURN: (0, 1, 2) * 13 + (0,)}
    written = Runs(row, lists(first, second, 3, forced[plan], decisions=40))
    steady = Runs(row, Steady((0.25,) * 3, 20, 40, unit=2, plan=plan, decisions=40))
    assert written.adversary.unit == steady.adversary.unit == 2
    for side in (0, 1):
        seen = [runs.sample(side, 50, np.random.default_rng(5)) for runs in (written, steady)]
        assert np.array_equal(seen[0].codes, seen[1].codes)
        assert np.allclose(seen[0].numbers, seen[1].numbers, rtol=1e-12)


def test_a_late_look_sees_the_end_of_the_same_transcripts() -> None:
    """And the last number of every arm before."""
    row = discreet.policy("dp-ucb", epsilon=1.0)
    pair = Steady((0.0, 0.0), 60, 100, plan=IN_TURN, decisions=100)
    runs = Runs(row, replace(pair, since=61, decisions=8))
    assert runs.names[:2] == ("last release of arm 0 before", "release 1 of arm 0 from round 61 on")
    for seed in range(10):
        early = Runs(row, pair).sample(1, 1, np.random.default_rng(seed))
        late = runs.sample(1, 1, np.random.default_rng(seed))
        before, after = early.numbers.reshape(2, 100), late.numbers.reshape(2, 9)
        # each arm has thirty releases before round 61, and four of the eight from there on
        assert np.array_equal(before[:, 29:34], after[:, :5])
        assert (after[:, 5:] == ABSENT).all()


def test_what_steady_rewards_refuse() -> None:
    with pytest.raises(InvalidArgument, match="place must be a round from 0 to 9"):
        Steady((0.0, 0.0), 10, 10)
    with pytest.raises(InvalidArgument, match="plan must be an arm"):
        Steady((0.0, 0.0), 0, 10, plan=2)
