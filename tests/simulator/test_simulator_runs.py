"""Runs: seeds, threads, grids, cut batches, starving laws, Ctrl-C, and what is refused."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import discreet
from discreet.errors import InvalidArgument
from discreet.policies import Policy
from discreet.simulator import _runs as runs_module
from discreet.simulator._runs import log_grid
from discreet.testing import Walk

ENVIRONMENT = discreet.Bernoulli([0.75, 0.625, 0.5])
ROWS = {
    "ucb1": discreet.policy("ucb1"),
    "thompson": discreet.policy("thompson"),
    "adap-klucb": discreet.policy("adap-klucb", epsilon=1.0),
    "dp-imed": discreet.policy("dp-imed", epsilon=1.0),
    "ldp-ucb-b": discreet.policy("ldp-ucb-b", epsilon=1.0),
}


def simulate(row: Policy, environment: Any = ENVIRONMENT, **options: Any) -> discreet.Result:
    return discreet.simulate(
        row, environment, **({"horizon": 2000, "runs": 6, "seed": 1} | options)
    )


def same(one: discreet.Result, other: discreet.Result) -> bool:
    return np.array_equal(one.regret, other.regret, equal_nan=True) and np.array_equal(
        one.pulls, other.pulls
    )


# --- seeds and threads ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_the_number_of_threads_changes_nothing(name: str) -> None:
    alone = simulate(ROWS[name], runs=12, threads=1)
    for threads in (2, 4):
        assert same(alone, simulate(ROWS[name], runs=12, threads=threads))
    assert not same(alone, simulate(ROWS[name], runs=12, threads=1, seed=2))


def test_the_first_runs_of_a_longer_study_are_those_of_a_shorter_one() -> None:
    short, long = (simulate(ROWS["adap-klucb"], runs=n) for n in (4, 11))
    assert np.array_equal(long.regret[:4], short.regret)
    assert np.array_equal(long.pulls[:4], short.pulls)
    assert len({tuple(run) for run in long.regret.tolist()}) > 5


def test_policies_of_a_comparison_share_their_seeds() -> None:
    both = discreet.compare(
        [ROWS["ucb1"], ROWS["dp-imed"]], ENVIRONMENT, horizon=2000, runs=6, seed=1
    )
    assert same(both[0], simulate(ROWS["ucb1"], shuffle=True))
    assert same(both[1], simulate(ROWS["dp-imed"], shuffle=True))
    assert [result.name for result in both] == ["ucb1", "dp-imed"]


def test_a_study_without_seed_can_be_repeated_from_its_result() -> None:
    first = simulate(ROWS["ucb1"], seed=None)
    assert same(first, simulate(ROWS["ucb1"], seed=first.seed))


# --- what is recorded -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adap-klucb", "dp-imed", "ucb1"])
def test_regret_and_pulls_are_those_of_a_count_round_by_round(name: str) -> None:
    """Inside a batch the curve is interpolated: exactly, for pseudo-regret."""
    environment = discreet.Bernoulli([0.75, 0.5, 0.25])  # gaps that add up without rounding
    result = simulate(ROWS[name], environment, horizon=5000, points=60)
    for number in range(result.runs):
        arms = Walk(ROWS[name], environment, 5000, seed=1, number=number).played()
        regret = np.cumsum(np.array([0.0, 0.25, 0.5])[arms])
        assert np.array_equal(result.regret[number], regret[result.t - 1])
        for arm in range(3):
            pulls = np.cumsum(arms == arm)[result.t - 1]
            assert np.array_equal(result.pulls[number, :, arm], pulls)


@given(st.integers(2, 10**15), st.integers(2, 300))
def test_the_grid_grows_from_one_to_the_horizon(horizon: int, points: int) -> None:
    grid = log_grid(horizon, points)
    assert grid[-1] == horizon
    assert (np.diff(grid) > 0).all()
    assert grid[0] >= 1
    assert len(grid) <= points
    assert len(grid) >= min(points, 2) - 1


def test_a_fine_grid_has_every_round() -> None:
    assert (log_grid(300, 4000) == np.arange(1, 301)).all()
    steps = np.diff(np.log(log_grid(10**9, 50)[20:]))
    assert steps == pytest.approx(np.full(len(steps), math.log(10**9) / 49), rel=1e-3)


def test_a_batch_that_the_horizon_cuts_off_is_played_and_not_released() -> None:
    row = discreet.policy("adap-ucb", epsilon=1.0)
    walk = Walk(row, ENVIRONMENT, 1000, seed=3)
    while not walk.go(1):
        before = walk.view.value.tolist(), walk.view.size.tolist()
    assert walk.course.rounds[0] == 0  # this run ends within a batch
    assert (walk.view.value.tolist(), walk.view.size.tolist()) == before
    assert walk.view.pulls.sum() == 1000
    assert walk.view.size.max() <= 1000 / 2


def test_a_cut_batch_draws_nothing() -> None:
    """So the regret up to a horizon is that of a longer study wherever no row depends on it."""
    row = discreet.policy("adap-ucb", epsilon=1.0)
    short, long = (Walk(row, ENVIRONMENT, horizon, seed=3).played() for horizon in (777, 3000))
    assert np.array_equal(short, long[:777])


# --- laws that run out of rewards -------------------------------------------------------------


@pytest.mark.parametrize("name", ["adap-klucb", "ucb1", "ldp-ucb-b"])
def test_a_starving_law_gives_the_same_law_of_regret(name: str) -> None:
    """A buffer of 7 rewards starves in mid-batch again and again. Kolmogorov-Smirnov at 1e-8."""
    samplers = [
        lambda rng, size, p=p: (rng.random(size) < p).astype(float) for p in ENVIRONMENT.means
    ]
    starving = discreet.Sampler(samplers, ENVIRONMENT.means, (0.0, 1.0), buffer=7)
    options: dict[str, Any] = {"horizon": 500, "runs": 300}
    one = simulate(ROWS[name], starving, **options)
    other = simulate(ROWS[name], ENVIRONMENT, seed=2, **options)
    assert (one.pulls.sum(axis=2) == one.t).all()
    assert stats.ks_2samp(one.final_regret, other.final_regret).pvalue > 1e-8


def test_how_often_a_law_starves_changes_nothing() -> None:
    """One buffer for the whole run, or one reward at a time: rewards in the order of each arm."""

    def ramp(rng: Any, size: int) -> Any:
        return np.full(size, 0.5)

    results = [
        simulate(
            ROWS["ucb1"], discreet.Sampler([ramp, ramp], [0.5, 0.5], (0.0, 1.0), buffer=buffer)
        )
        for buffer in (1, 13, 5000)
    ]
    assert same(results[0], results[1])
    assert same(results[0], results[2])


def test_a_table_serves_its_rounds_and_no_more() -> None:
    table = np.random.default_rng(1).random((50, 3))
    result = simulate(ROWS["adap-klucb"], discreet.RewardTable(table), horizon=50)
    assert np.isfinite(result.regret).all()
    with pytest.raises(InvalidArgument, match="horizon must be at most 50"):
        simulate(ROWS["adap-klucb"], discreet.RewardTable(table), horizon=51)


class Exhausted(discreet.Sampler):
    """A law that is out of rewards after one buffer, like a replayed log."""

    def refill(self, state: Any, rng: Any) -> bool:
        return bool(state.used.min() == self.buffer) and super().refill(state, rng)


def test_a_run_that_its_law_cannot_serve_ends_early() -> None:
    environment = Exhausted([stats.bernoulli(p) for p in (0.7, 0.4)], buffer=100)
    result = simulate(ROWS["adap-klucb"], environment, horizon=1000)
    assert result.complete
    assert result.runs == 6
    for regret, final in zip(result.regret, result.final_regret, strict=True):
        reached = np.isfinite(regret)
        assert 0 < reached.sum() < len(reached)
        assert not np.diff(reached.astype(int)).max() > 0  # once over, over
        assert final == regret[reached][-1]


# --- Ctrl-C -----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_leaves_the_finished_runs(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = simulate(ROWS["adap-klucb"], runs=50)
    calls = 0
    lock = threading.Lock()
    play = runs_module.FinitePlayer.play

    def interrupted(player: Any, number: int) -> bool:
        nonlocal calls
        with lock:
            calls += 1
            if calls == 20:
                raise KeyboardInterrupt
        return play(player, number)

    monkeypatch.setattr(runs_module.FinitePlayer, "play", interrupted)
    part = simulate(ROWS["adap-klucb"], runs=50, threads=threads)
    assert not part.complete
    assert 10 <= part.runs < 50
    assert np.array_equal(part.regret, whole.regret[part.run])
    assert np.array_equal(part.pulls, whole.pulls[part.run])


def test_another_error_in_a_worker_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(player: Any, number: int) -> bool:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(runs_module.FinitePlayer, "play", broken)
    for threads in (1, 2):
        with pytest.raises(ZeroDivisionError, match="a bug"):
            simulate(ROWS["ucb1"], threads=threads)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_real_ctrl_c_leaves_the_finished_runs() -> None:
    """The comparison would take hours; the signal comes as soon as a run is finished."""
    program = textwrap.dedent(
        """
        import os, signal, discreet
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
        from discreet.simulator import _runs as runs
        play = runs.FinitePlayer.play
        def told(player, number):
            done = play(player, number)
            os.write(1, b"run\\n")  # whole, whichever thread writes
            return done
        runs.FinitePlayer.play = told
        result = discreet.compare(
            [discreet.policy("ucb1"), discreet.policy("imed")],
            discreet.Bernoulli([0.7, 0.5]), horizon=2e5, runs=10**6, seed=1, threads=2,
        )
        print("after", len(result), result[0].runs, result.complete, flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "run\n"
            os.kill(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, err
    last = out.strip().splitlines()[-1].split()
    assert last[0] == "after"
    assert last[1] == "1"  # the second policy was not begun
    assert 1 <= int(last[2]) < 10**6
    assert last[3] == "False"


# --- bad input --------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "policy": ROWS["adap-klucb"],
    "environment": ENVIRONMENT,
    "horizon": 1000,
    "runs": 2,
}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "horizon below arms": ({"horizon": 2}, r"horizon must be at least the number of arms \(3\)"),
    "horizon not whole": ({"horizon": 10.5}, "horizon must be a whole number from 1, got 10.5"),
    "horizon infinite": ({"horizon": math.inf}, "horizon must be a whole number from 1, got inf"),
    "horizon NaN": ({"horizon": math.nan}, "horizon must be a whole number from 1, got nan"),
    "horizon text": ({"horizon": "1e6"}, "horizon must be a whole number from 1, got '1e6'"),
    "horizon truth": ({"horizon": True}, "horizon must be a whole number from 1, got True"),
    "horizon too long": ({"horizon": 1e16}, "horizon must be at most 1e15"),
    "horizon beyond floats": ({"horizon": 10**400}, "horizon must be at most 1e15"),
    "no runs": ({"runs": 0}, "runs must be a whole number from 1 to 100,000,000, got 0"),
    "half a run": ({"runs": 1.5}, "runs must be a whole number from 1 to 100,000,000, got 1.5"),
    "runs truth": ({"runs": True}, "runs must be a whole number from 1 to 100,000,000, got True"),
    "one point": ({"points": 1}, "points must be a whole number from 2 to 100,000,000, got 1"),
    "no threads": ({"threads": 0}, "threads must be a whole number from 1 to 1,024, got 0"),
    "negative seed": ({"seed": -1}, "seed must be a whole number from 0, got -1"),
    "seed text": ({"seed": "x"}, "seed must be a whole number from 0, got 'x'"),
    "policy by name": (
        {"policy": "ucb1"},
        r"policy must be a finite-armed row for simulate, got 'ucb1'; .*policy\(",
    ),
    "law as means": (
        {"environment": [0.7, 0.5]},
        r"environment must be an environment with finite arms, got 'a list'; .*Bernoulli",
    ),
    "unbounded law": (
        {"environment": discreet.Gaussian([0.5, 0.2, 0.1], 1.0)},
        r"environment must keep rewards in \[0, 1\] for adap-klucb, got 'unbounded rewards'; "
        r".*Clipped",
    ),
    "wide law": (
        {"environment": discreet.Uniform([0.0, 0.0], [2.0, 1.0])},
        r"environment must keep rewards in \[0, 1\] for adap-klucb, got 'rewards in \[0, 2\]'",
    ),
    "one arm": (
        {"environment": discreet.Bernoulli([0.5])},
        "arms must be a whole number from 2, got 1",
    ),
}


@pytest.mark.parametrize("label", BAD)
def test_bad_input_is_refused_with_its_name_its_rule_and_a_fix(label: str) -> None:
    change, message = BAD[label]
    options = {**GOOD, **change}
    with pytest.raises(InvalidArgument, match=message) as caught:
        discreet.simulate(options.pop("policy"), options.pop("environment"), **options)
    assert caught.value.fix
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "means", [[0.5, 1.2], [-0.1, 0.5], [0.5, math.nan], [0.5, math.inf], [], ["a"], [None]]
)
def test_bad_means_are_refused(means: Any) -> None:
    with pytest.raises(InvalidArgument, match="means"):
        discreet.Bernoulli(means)


def test_no_policies_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="policies must name at least one policy"):
        discreet.compare([], ENVIRONMENT, horizon=100)


def test_numbers_of_numpy_are_numbers() -> None:
    plain = simulate(ROWS["ucb1"], horizon=1000, runs=3)
    for options in (
        {"horizon": np.int64(1000), "runs": np.int64(3)},
        {"horizon": np.float64(1e3), "runs": 3, "seed": np.int64(1)},
    ):
        assert same(plain, simulate(ROWS["ucb1"], **options))


def test_any_rewards_serve_a_policy_that_takes_any() -> None:
    result = simulate(ROWS["ucb1"], discreet.Gaussian([0.5, -0.2], 1.0))
    assert np.isfinite(result.regret).all()


def test_a_relative_path_of_no_folder_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(discreet.errors.DamagedFile, match="no such file"):
        discreet.load(tmp_path / "nothing.parquet")
