"""What an audit tries if nobody tells it where to look: lengths, arms, values, decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit import Runs, candidates, lists
from discreet.audit.adversaries import Tables


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
