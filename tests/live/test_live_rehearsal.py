"""Rehearsals: the simulator's law one reward at a time, refusals, state, and speed."""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_cases import ROWS, batch_trial, klucb_trial

import discreet
import discreet.linear
from discreet.errors import DamagedFile, InvalidArgument, TrialError
from discreet.live import Rehearsal
from discreet.policies import CATALOGUE, ForgetLaplace, Geometric, Policy, policy
from discreet.policies._thompson import Thompson

MEANS = (0.3, 0.7, 0.5)


def play(rehearsal: Rehearsal, rounds: int, seed: int) -> list[Any]:
    """Bernoulli rewards, one at a time; the arms that were played."""
    rng = np.random.default_rng(seed)
    rewards = (rng.random((rounds, 3)) < MEANS).astype(float)
    arms = []
    for row in rewards.tolist():
        arms.append(rehearsal.select())
        rehearsal.update(arms[-1], row[arms[-1]])
    return arms


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_seed_fixes_everything_and_state_round_trips(name: str, tmp_path: Path) -> None:
    row = CATALOGUE[name].example()
    whole = Rehearsal(row, 3, horizon=400, seed=5)
    arms = play(whole, 237, 1)
    again = Rehearsal(row, 3, horizon=400, seed=5)
    assert play(again, 237, 1) == arms
    data = json.loads(json.dumps(again.to_dict()))
    again.save(tmp_path / "rehearsal.json")
    rest = play(whole, 163, 2)
    assert play(again, 163, 2) == rest
    for loaded in (Rehearsal.from_dict(data), Rehearsal.load(tmp_path / "rehearsal.json")):
        assert play(loaded, 163, 2) == rest
        assert loaded.report() == whole.report()


@pytest.mark.parametrize("name", ["ucb1", "ldp-ucb-b"])
def test_the_record_of_running_totals_is_up_to_date_whenever_it_is_asked_for(name: str) -> None:
    rehearsal = Rehearsal(CATALOGUE[name].example(), 3, seed=5)
    for seed in range(4):
        play(rehearsal, 20, seed)
        rehearsal = Rehearsal.from_dict(json.loads(json.dumps(rehearsal.to_dict())))
        for _ in range(2):
            record, rows = rehearsal.public_record(), rehearsal.report()["arms"]
            assert record is not None
            assert record.history == tuple(((row["size"], row["value"]),) for row in rows)
        play(rehearsal, 1, seed)


def test_seeds_differ() -> None:
    def values(seed: int | None) -> list[Any]:
        rehearsal = Rehearsal(policy("adap-klucb", epsilon=1.0), 3, seed=seed)
        play(rehearsal, 50, 1)
        return [row["value"] for row in rehearsal.report()["arms"]]

    assert values(1) == values(1) != values(2)
    assert values(None) != values(None)


@pytest.mark.parametrize(
    "name", ["adap-klucb", "adac-ucb", "dp-imed", "dp-ucb", "ldp-ucb-b", "ucb1"]
)
def test_a_rehearsal_has_the_law_of_the_simulator(name: str) -> None:
    """Mean regret of 600 runs each, |z| < 5.5: false alarms below 4e-8 each, 3e-7 in all."""
    runs, horizon, row = 600, 150, CATALOGUE[name].example()
    environment = discreet.Bernoulli(MEANS)
    simulated = discreet.simulate(row, environment, horizon=horizon, runs=runs, seed=3, threads=1)
    rng = np.random.default_rng(4)
    regret = np.zeros(runs)
    for run in range(runs):
        rehearsal = Rehearsal(row, 3, horizon=horizon, seed=1000 + run)
        while rehearsal.rounds < horizon:
            arm = int(rehearsal.select())
            regret[run] += (0.7 - MEANS[arm]) * rehearsal.remaining
            rehearsal.update_many(arm, rng.random(rehearsal.remaining) < MEANS[arm])
    other = simulated.final_regret
    error = math.sqrt((regret.var(ddof=1) + other.var(ddof=1)) / runs)
    assert error > 0.0
    assert abs(regret.mean() - other.mean()) < 5.5 * error
    assert abs(regret.mean() - other.mean() - 3.0) > 5.5 * error, "too few runs to tell a bias"


def test_with_an_enormous_budget_trial_rehearsal_and_simulator_agree() -> None:
    """Without noise all three are the same deterministic policy, so they play the same arms."""
    rewards, rounds = (0.2, 0.8, 0.5), 300
    for name in ("adap-klucb", "dp-imed"):
        row = policy(name, epsilon=1e9)
        trial = batch_trial(row, 3, horizon=rounds)
        rehearsal = Rehearsal(row, 3, horizon=rounds, seed=1)
        arms = []
        for unit in range(rounds):
            arm = rehearsal.select()
            assert trial.assign(unit) == arm
            trial.record(unit, rewards[int(arm)])
            rehearsal.update(arm, rewards[int(arm)])
            arms.append(arm)
        environment = discreet.RewardTable([rewards] * rounds)
        result = discreet.simulate(row, environment, horizon=rounds, runs=1, seed=1, threads=1)
        assert [arms.count(arm) for arm in range(3)] == result.pulls[0, -1].tolist()
        assert len(set(arms)) == 3
        assert trial.report()["most_played"] == 1


def test_many_updates_are_as_many_single_ones() -> None:
    for name in ("dp-imed", "ldp-ucb-l", "dp-ucb", "ucb1"):
        single = Rehearsal(CATALOGUE[name].example(), 2, horizon=500, seed=1)
        many = Rehearsal(CATALOGUE[name].example(), 2, horizon=500, seed=1)
        rng = np.random.default_rng(2)
        while many.rounds < 500:
            arm = many.select()
            rewards = rng.random(max(1, many.remaining // 2))
            many.update_many(arm, rewards)
            for reward in rewards:
                assert single.select() == arm
                single.update(arm, float(reward))
        assert single.to_dict() == many.to_dict()


def test_many_updates_are_all_or_nothing() -> None:
    rehearsal = Rehearsal(policy("dp-imed", epsilon=1.0), 2, seed=1)
    assert rehearsal.remaining == 20
    before = rehearsal.to_dict()
    for rewards in ([0.5] * 21, [0.5, math.nan], [0.5, 2.0], [0.5, "1"]):
        with pytest.raises(InvalidArgument, match="reward"):
            rehearsal.update_many(0, rewards)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="arm"):
        rehearsal.update_many(1, [0.5])
    rehearsal.update_many(0, [])
    assert rehearsal.to_dict() == before
    rehearsal.update_many(0, [0.5] * 20)
    assert rehearsal.remaining == 20
    assert rehearsal.select() == 1


@pytest.mark.parametrize("reward", [math.nan, math.inf, -0.1, 1.1, "1", None, 1j])
def test_a_bad_reward_changes_nothing(reward: Any) -> None:
    rehearsal = Rehearsal(policy("adap-klucb", epsilon=1.0), ["A", "B"], seed=1)
    before = rehearsal.to_dict()
    with pytest.raises(InvalidArgument, match="reward must be a number from 0 to 1"):
        rehearsal.update("A", reward)
    assert rehearsal.to_dict() == before


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, "1", None])
def test_rows_without_bounds_take_any_finite_reward(reward: Any) -> None:
    rehearsal = Rehearsal(policy("ucb1"), 2)
    with pytest.raises(InvalidArgument, match="reward must be a finite number"):
        rehearsal.update(0, reward)
    rehearsal.update(0, -1e9)
    rehearsal.update(1, True)
    assert [row["value"] for row in rehearsal.report()["arms"]] == [-1e9, 1.0]


def test_only_the_selected_arm_may_be_updated() -> None:
    rehearsal = Rehearsal(policy("adap-klucb", epsilon=1.0), ["A", "B"], seed=1)
    assert rehearsal.select() == rehearsal.select() == "A"
    for arm in ("B", 0, "C", None):
        with pytest.raises(InvalidArgument, match="be the selected one, 'A'"):
            rehearsal.update(arm, 1.0)  # type: ignore[arg-type]


def test_the_horizon_ends_a_rehearsal_and_cuts_its_last_batch_off() -> None:
    rehearsal = Rehearsal(policy("adap-klucb", epsilon=1.0), 2, horizon=5, seed=1)
    while rehearsal.rounds < 5:
        assert rehearsal.remaining <= 5 - rehearsal.rounds
        rehearsal.update(rehearsal.select(), 1.0)
    report = rehearsal.report()
    assert sum(row["played"] for row in report["arms"]) == 5
    assert sum(row["size"] for row in report["arms"]) < 5
    for call in (rehearsal.select, lambda: rehearsal.update(0, 1.0)):
        with pytest.raises(TrialError, match="horizon of 5"):
            call()
    assert rehearsal.report() == report
    assert Rehearsal.from_dict(rehearsal.to_dict()).report() == report


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True])
def test_seeds_are_whole_numbers(seed: Any) -> None:
    with pytest.raises(InvalidArgument, match="seed"):
        Rehearsal(policy("ucb1"), 2, seed=seed)


def test_it_says_that_it_protects_nobody() -> None:
    rehearsal = Rehearsal(policy("adap-klucb", epsilon=1.0), 2)
    assert "protects nobody" in repr(rehearsal)
    assert rehearsal.report()["protects"].startswith("nobody")
    json.dumps(rehearsal.report())
    promised = policy("adap-klucb", epsilon=1.0).guarantee
    assert rehearsal.guarantee.budget == promised.budget
    assert rehearsal.guarantee.conditions[:-1] == promised.conditions
    assert "protects nobody" in str(rehearsal.guarantee)


def test_linear_rows_are_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match=r"adac-oful.*discreet\.linear\.Rehearsal"):
        Rehearsal(discreet.linear.policy("adac-oful", rho=0.5), 2)  # type: ignore[arg-type]


def test_composed_rows_are_passed_again() -> None:
    row = Policy("mine", Geometric(1.5), ForgetLaplace(1.0), Thompson())
    rehearsal = Rehearsal(row, 3, seed=1)
    play(rehearsal, 100, 1)
    data = rehearsal.to_dict()
    with pytest.raises(InvalidArgument, match="composed"):
        Rehearsal.from_dict(data)
    assert play(Rehearsal.from_dict(data, row), 50, 2) == play(rehearsal, 50, 2)


def test_damaged_rehearsals_are_refused(tmp_path: Path) -> None:
    data = Rehearsal(policy("adap-klucb", epsilon=1.0), 2, seed=1).to_dict()
    changes: tuple[dict[str, object], ...] = (
        {"format": "other"}, {"version": 2}, {"policy": None}, {"arms": 1}, {"left": 99},
        {"protocol": {}}, {"generator": {}}, {"total": "x"},
    )  # fmt: skip
    for change in changes:
        with pytest.raises(DamagedFile):
            Rehearsal.from_dict({**data, **change})
    path = tmp_path / "rehearsal.json"
    path.write_text(json.dumps(data)[:-20])
    with pytest.raises(DamagedFile, match="JSON"):
        Rehearsal.load(path)


@pytest.mark.parametrize(("name", "options"), [("ucb1", {}), ("adap-klucb", {"epsilon": 1.0})])
def test_rehearsals_take_150_000_pairs_a_second(name: str, options: dict[str, float]) -> None:
    """The best of several stretches of processor time, so that a busy machine does not count."""
    rehearsal = Rehearsal(policy(name, **options), 10, seed=1)
    rewards = (np.random.default_rng(1).random(10_000) < 0.5).astype(float).tolist()
    fastest = math.inf
    for _ in range(8):
        started = time.process_time()
        for reward in rewards:
            rehearsal.update(rehearsal.select(), reward)
        fastest = min(fastest, time.process_time() - started)
    assert len(rewards) / fastest > 150_000


def test_trials_in_memory_take_10_000_pairs_a_second() -> None:
    trial = klucb_trial(arms=5)
    fastest, number = math.inf, 0
    for _ in range(4):
        started = time.process_time()
        for unit in range(number, number + 5_000):
            trial.assign(unit)
            trial.record(unit, 1.0)
        fastest = min(fastest, time.process_time() - started)
        number += 5_000
    assert 5_000 / fastest > 10_000


def test_every_row_that_serves_a_trial_can_be_rehearsed() -> None:
    assert set(ROWS) <= set(CATALOGUE)
    for name in ROWS:
        assert Rehearsal(CATALOGUE[name].example(), 2, horizon=50).guarantee.is_private
