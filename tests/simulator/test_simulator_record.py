"""Results that keep regret alone: the same numbers without the pulls, which are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import linear
from discreet.errors import InvalidArgument
from discreet.identify import identifier, identify
from discreet.inference import intervals
from discreet.simulator._exports import parts

ENVIRONMENT = discreet.Bernoulli([0.8, 0.5, 0.4])
PRIVATE = discreet.policy("dp-imed", epsilon=1.0)
SIZE: dict[str, Any] = {"horizon": 500, "runs": 6, "seed": 4, "points": 20, "progress": False}


class Turns:
    """Every arm in turn."""

    def __init__(self, rng: object) -> None:
        self.t = -1

    def select(self) -> int:
        self.t += 1
        return self.t % 3

    def update(self, arm: int, reward: float) -> None:
        pass


def check_same(lean: discreet.simulator.Result, full: discreet.simulator.Result) -> None:
    assert np.array_equal(lean.regret, full.regret, equal_nan=True)
    assert (lean.run == full.run).all()
    assert (lean.stopping_time == full.stopping_time).all()
    assert (lean.kept, full.kept) == ("regret", "pulls")
    assert lean.counted.nbytes == 0
    assert lean.final_regret.tolist() == full.final_regret.tolist()


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("row", [PRIVATE, Turns], ids=["dp-imed", "own"])
def test_regret_is_the_same_without_pulls(row: Any, shuffle: bool) -> None:
    full = discreet.simulate(row, ENVIRONMENT, shuffle=shuffle, **SIZE)
    lean = discreet.simulate(row, ENVIRONMENT, shuffle=shuffle, record="regret", **SIZE)
    check_same(lean, full)


@pytest.mark.parametrize("name", ["adac-gope", "rs-oful", "adac-oful"])
@pytest.mark.parametrize("contexts", ["fixed", "gaussian"])
def test_linear_rows_keep_regret_alone(name: str, contexts: Any) -> None:
    if name == "adac-gope" and contexts != "fixed":
        pytest.skip("phased rows need the same actions in every round")
    problem = linear.LinearProblem.random(arms=4, dimension=2, contexts=contexts, seed=1)
    row = linear.policy(name, **({} if name == "rs-oful" else {"rho": 1.0}))
    full = discreet.simulate(row, problem, **SIZE)
    lean = discreet.simulate(row, problem, record="regret", **SIZE)
    check_same(lean, full)


def test_a_log_that_runs_out_ends_where_it_did() -> None:
    """Curves that end before the horizon say how many rounds there were."""
    law = discreet.arms.RewardTable(np.tile([[1.0, 0.0], [0.0, 1.0]], (30, 1)))
    full, lean = (
        discreet.simulate(
            discreet.policy("ucb1"), law, horizon=60, runs=3, seed=1, points=9, record=record
        )
        for record in ("pulls", "regret")
    )
    check_same(lean, full)


def test_pulls_are_refused_with_a_fix_that_runs() -> None:
    lean = discreet.simulate(PRIVATE, ENVIRONMENT, record="regret", **SIZE)
    for asked in ("pulls", "mean_pulls"):
        with pytest.raises(InvalidArgument, match='run it again with record="pulls"') as raised:
            getattr(lean, asked)
        assert raised.value.argument == "record"
    again = discreet.simulate(PRIVATE, ENVIRONMENT, record="pulls", **SIZE)
    assert (again.regret == lean.regret).all()
    assert again.pulls.sum() > 0


def test_files_tables_and_figures_work_without_pulls(tmp_path: Path) -> None:
    """Beside results that have them too: theirs are kept, and null where there are none."""
    lean = discreet.simulate(PRIVATE, ENVIRONMENT, record="regret", **SIZE)
    back = discreet.load(lean.save(tmp_path / "lean.parquet"))[0]
    check_same(back, discreet.simulate(PRIVATE, ENVIRONMENT, **SIZE))
    assert lean.table().column_names[-3:] == ["run", "t", "regret"]
    assert lean.summary()["pulls"] is None
    assert "pulls" not in parts([lean]).variables
    assert "dp-imed" in lean.to_latex()
    assert "dp-imed" in lean._repr_html_()
    lean.plot().savefig(tmp_path / "lean.png")
    full = discreet.simulate(discreet.policy("ucb1"), ENVIRONMENT, **SIZE)
    both = discreet.simulator.Comparison((lean, full))
    first, second = discreet.load(both.save(tmp_path / "both.parquet"))
    assert (first.kept, second.kept) == ("regret", "pulls")
    assert (second.pulls == full.pulls).all()
    assert both.table()["pulls_0"].null_count == lean.regret.size


def test_intervals_replay_a_run_whose_pulls_were_not_kept() -> None:
    found = [
        intervals(discreet.simulate(PRIVATE, ENVIRONMENT, record=record, **SIZE))
        for record in ("pulls", "regret")
    ]
    assert str(found[0]) == str(found[1])


def test_identification_keeps_what_the_search_cost(tmp_path: Path) -> None:
    row = identifier("adap-tt", epsilon=1.0)
    size: dict[str, Any] = {"risk": 0.1, "runs": 4, "seed": 2, "progress": False}
    full = identify(row, ENVIRONMENT, **size)
    lean = identify(row, ENVIRONMENT, record="regret", **size)
    assert np.array_equal(lean.regret, full.regret)
    assert (lean.stopping_time == full.stopping_time).all()
    assert lean.summary()["pulls"] is None
    with pytest.raises(InvalidArgument, match="record"):
        _ = lean.pulls
    back = discreet.load(lean.save(tmp_path / "lean.parquet"))[0]
    assert np.array_equal(back.regret, full.regret)
    assert "regret" in parts([back]).variables
    assert "pulls" not in parts([back]).variables
    lean.plot().savefig(tmp_path / "lean.png")


@pytest.mark.parametrize("policies", [["dp-imed"], ["adap-tt"]])
def test_sweeps_keep_regret_alone_and_go_on(policies: list[str], tmp_path: Path) -> None:
    """A folder knows what was kept: pieces with pulls do not stand for those without."""
    size: dict[str, Any] = {"epsilon": 1.0, "runs": 5, "seed": 1, "piece": 2, "progress": False}
    size |= {"risk": 0.1} if policies == ["adap-tt"] else {"horizon": 300}
    full = discreet.sweep(policies, ENVIRONMENT, folder=tmp_path, **size)
    lean = discreet.sweep(policies, ENVIRONMENT, folder=tmp_path, record="regret", **size)
    again = discreet.sweep(policies, ENVIRONMENT, folder=tmp_path, record="regret", **size)
    assert len(list(tmp_path.iterdir())) == 6
    for one in (lean, again):
        assert one[0].kept == "regret"
        assert np.array_equal(one[0].regret, full[0].regret)


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(InvalidArgument, match='"pulls" or "regret"'):
        discreet.simulate(PRIVATE, ENVIRONMENT, record="all", **SIZE)
    with pytest.raises(InvalidArgument, match="with arrivals"):
        discreet.compare(
            [PRIVATE], ENVIRONMENT, horizon=100, runs=2, record="regret", arrivals=10, delay=2
        )
    many = discreet.Bernoulli([0.5] * 10_000)
    with pytest.raises(InvalidArgument, match='record="regret"'):
        discreet.simulate(PRIVATE, many, horizon=1e5, runs=1000)
