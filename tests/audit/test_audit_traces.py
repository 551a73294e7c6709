"""Float traces and timing; false-alarm probabilities at most 1e-6 (confidence 1 - 1e-6)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit import attack, grid_traces, release_timing
from discreet.audit._traces import lowest_bit, releaser
from discreet.privacy._source import SECURE, SIMULATED

SURE = 1.0 - 1e-6
ROW = discreet.policy("adap-ucb", epsilon=1.0)
ADVANTAGE = 0.2
"""The stated bound: seeing the time of one release, a guess gains at most this over chance."""


def test_lowest_bit() -> None:
    values = [1.0, 0.5, 3.0, -0.75, 6.0, 2.0**-40, 0.0, 1.0 + 2.0**-52]
    assert lowest_bit(values).tolist() == [0, -1, 0, -2, 1, -40, 0, -52]


def test_numpy_noise_leaves_a_grid_that_depends_on_the_data() -> None:
    result = attack(
        [grid_traces(ROW, SIMULATED)], ROW.guarantee, transcripts=40_000, confidence=SURE, seed=1
    )
    assert result.is_violation
    assert result.epsilon_lower > 3.0
    assert "lowest bit" in str(result.proof) or "ratio" in str(result.proof)


@pytest.mark.parametrize("name", ["adap-ucb", "dp-ucb-bound", "ldp-ucb-l"])
def test_the_live_source_leaves_none(name: str) -> None:
    row = discreet.policy(name, epsilon=1.0)
    result = attack(
        [grid_traces(row, SECURE)], row.guarantee, transcripts=8_000, confidence=SURE, seed=1
    )
    assert not result.is_violation, result


def test_live_releases_are_whole_units() -> None:
    release = releaser(ROW, SECURE)
    values = np.array([release(1.0, None) for _ in range(200)]) * SECURE.resolution
    assert (values == np.round(values)).all()


def test_the_time_of_a_live_release_tells_nothing_beyond_the_stated_bound() -> None:
    timing = release_timing(ROW, pairs=4000, confidence=SURE, seed=1)
    assert timing.advantage_upper < ADVANTAGE, timing


def test_a_release_whose_time_depends_on_the_data_is_caught() -> None:
    def slow(reward: float, rng: Any) -> float:
        begun = time.perf_counter()
        while time.perf_counter() - begun < (2e-5 if reward else 1e-5):
            pass
        return reward

    timing = release_timing(ROW, pairs=1000, confidence=SURE, release=slow, seed=1)
    assert timing.advantage > ADVANTAGE
