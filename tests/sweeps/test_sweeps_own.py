"""Objects of one's own in sweeps: the runs of `compare`, whatever the pieces."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidArgument

ENVIRONMENTS = [discreet.Bernoulli([0.8, 0.3]), discreet.Bernoulli([0.6, 0.5])]


class Greedy:
    """Takes the better mean, and an arm at random every tenth round."""

    def __init__(self, rng: Any) -> None:
        self.rng, self.totals, self.counts = rng, [0.0, 0.0], [1e-9, 1e-9]

    def select(self) -> int:
        if self.rng.random() < 0.1:
            return int(self.rng.integers(2))
        return int(np.argmax(np.divide(self.totals, self.counts)))

    def update(self, arm: int, reward: float) -> None:
        self.totals[arm] += reward
        self.counts[arm] += 1.0


def test_the_runs_are_those_of_compare() -> None:
    found = discreet.sweep(
        [Greedy, "dp-imed"],
        ENVIRONMENTS,
        epsilon=[0.5, 1.0],
        horizon=[50, 100],
        runs=5,
        seed=3,
        piece=2,
        progress=False,
    )
    assert found.labels == ["Greedy", "dp-imed ε=0.5", "dp-imed ε=1"]
    assert len(found) == 3 * 2 * 2
    mine = [result for result in found if result.label == "Greedy"]
    wanted = discreet.compare(
        [Greedy], ENVIRONMENTS[1], horizon=100, runs=5, seed=3, progress=False
    )
    np.testing.assert_array_equal(mine[-1].final_regret, wanted[0].final_regret)  # type: ignore[union-attr]
    np.testing.assert_array_equal(mine[-1].pulls[:, -1], wanted[0].pulls[:, -1])
    assert not mine[0].guarantee.is_private


def test_a_single_one(tmp_path: Path) -> None:
    found = discreet.sweep(Greedy, ENVIRONMENTS[0], horizon=30, runs=3, seed=1, progress=False)
    assert (len(found), found[0].runs) == (1, 3)
    again = discreet.load(found.save(tmp_path / "mine.parquet"))
    assert again.labels == ["Greedy"]


def test_what_a_later_process_would_not_recognise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="folder must be left out for objects of your own"):
        discreet.sweep(Greedy, ENVIRONMENTS[0], horizon=30, runs=3, folder=tmp_path)
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(InvalidArgument, match="executor must be threads for Greedy"),
    ):
        discreet.sweep(
            Greedy(np.random.default_rng(1)), ENVIRONMENTS[0], horizon=30, runs=3, executor=executor
        )
    with pytest.raises(InvalidArgument, match="policies must be names or policies"):
        discreet.sweep([3], ENVIRONMENTS[0], horizon=30)  # type: ignore[list-item]
    problem = discreet.linear.LinearProblem.random(arms=3, dimension=2, seed=1)
    with pytest.raises(InvalidArgument, match="linear policies need"):
        discreet.sweep(Greedy, problem, horizon=30)
