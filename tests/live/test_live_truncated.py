"""Outcomes without a largest one: truncated where they enter, before anything is summed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import InvalidArgument
from discreet.live import Features, Outcomes, Trial
from discreet.live._setup import steps_of
from discreet.privacy._source import RESOLUTION

ROW = discreet.policy("dp-imed", epsilon=1.0)
HEAVY = Outcomes(range=(0, 50), truncate=True)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_whatever_is_recorded_moves_a_sum_by_the_range_at_most(one: float, other: float) -> None:
    """The sensitivity that all guarantees rest on: a reward of 1, in whole steps."""
    steps = steps_of(-2.0, 50.0, lambda x: round((x + 2.0) / 52.0 * RESOLUTION), truncate=True)
    first, second = steps(one), steps(other)
    assert first is not None
    assert second is not None
    assert 0 <= first <= RESOLUTION
    assert abs(first - second) <= RESOLUTION
    assert steps(math.nan) is None
    assert steps("7") is None
    if -2.0 <= one <= 50.0:
        assert first == round((one + 2.0) / 52.0 * RESOLUTION)


def test_a_trial_truncates_and_remembers_that_it_does(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with Trial(ROW, ["A", "B"], path=path, outcomes=HEAVY) as trial:
        assert trial.guarantee.budget == discreet.Pure(1.0)
        for unit in range(3):
            trial.assign(unit)
        trial.record(0, 1e9)
        trial.record(1, math.inf)
    with Trial.load(path) as trial:
        trial.record(2, -4.0)
        held = [y for block in trial._store.blocks.values() for y in block.outcomes.values()]
        assert sorted(held) == [0, RESOLUTION, RESOLUTION]
        trial.record(0, 60.0)  # the same outcome again, for both count as 50
        with pytest.raises(InvalidArgument, match="truncated to lie from 0 to 50"):
            trial.record(1, math.nan)


def test_where_it_has_no_use_it_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="binary"):
        Outcomes(binary=True, truncate=True)
    with pytest.raises(InvalidArgument, match="truncate"):
        Trial(
            discreet.policy("adac-oful", rho=0.5), 2, 100, outcomes=Outcomes(truncate=True),
            features=Features(2),
        )  # fmt: skip
    with pytest.raises(InvalidArgument, match="truncate"):
        Trial(discreet.confirm.design(200, looks=2, epsilon=1.0),
              ["a", "b"], outcomes=HEAVY)  # fmt: skip
    plain = Trial(ROW, 2, outcomes=Outcomes(range=(0, 50)))
    plain.assign("p")
    with pytest.raises(InvalidArgument, match="from 0 to 50"):
        plain.record("p", 51.0)
