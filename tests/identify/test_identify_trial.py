"""Live trials that stop with a recommendation."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.errors import InvalidArgument, TrialError, UnsupportedBudget
from discreet.identify import identifier
from discreet.live._batches import BatchRun
from discreet.live._randomness import SystemRandomness
from discreet.policies._races import race_marks
from discreet.privacy._source import SECURE
from discreet.protocol._state import ANSWER

CHANCES = {"A": 0.95, "B": 0.05}


def play(trial: discreet.Trial, seed: int, first: int = 0, most: int = 5000) -> int:
    """Units one by one, until the trial stops; how many there were."""
    chance = random.Random(seed)
    unit = first
    while trial.recommendation is None and unit < most:
        arm = trial.assign(unit)
        trial.record(unit, float(chance.random() < CHANCES[str(arm)]))
        unit += 1
    return unit


@pytest.mark.parametrize(
    "name",
    [
        "adap-tt",
        "adap-tt-star",
        "ctb-tt",
        "dp-se",
        "evidence-tt",
        "chernoff-tt",
        "local-evidence-tt",
    ],
)
def test_a_trial_stops_with_an_answer(name: str) -> None:
    """The answer is wrong with probability at most δ = 1e-6: that is the false-alarm rate."""
    row = identifier(name, epsilon=3.0)
    with discreet.Trial(row, ["A", "B"], risk=1e-6) as trial:
        assert trial.recommendation is None
        assert trial.report()["recommendation"] is None
        used = play(trial, 1)
        assert trial.recommendation == "A"
        assert trial.status == "finished"
        report = trial.report()
        assert report["recommendation"] == {"arm": "A", "confidence": 1 - 1e-6}
        assert report["rounds"] == used
        assert "recommends A, with confidence 0.999999" in str(trial)
        json.dumps(report)
        with pytest.raises(TrialError, match="recommends 'A'"):
            trial.assign(used)
        assert trial.assign(0) in CHANCES  # who was assigned keeps the arm
        trial.record(0, 1.0)  # late: dropped
        assert trial.guarantee.budget == discreet.Pure(3.0)


def test_a_trial_outlives_its_process(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    row = identifier("adap-tt", epsilon=3.0)
    trial = discreet.Trial(row, ["A", "B"], risk=1e-6, path=path)
    unit = play(trial, 2, most=45)
    before = trial.report()
    trial.close()
    trial = discreet.Trial.load(path)
    assert trial.report() == before
    assert trial.policy == row.at(1e-6).batched()
    play(trial, 3, first=unit)
    trial.close()
    with discreet.Trial.load(path) as again:
        assert again.recommendation == "A"
        assert again.status == "finished"
        with pytest.raises(TrialError, match="has stopped"):
            again.assign("somebody")


def test_a_damaged_answer_is_refused() -> None:
    row = identifier("adap-tt", epsilon=3.0).at(0.05).batched()
    setting = row.setting(2, None, SECURE)
    run = BatchRun(row, setting, SystemRandomness(), None, 1, ())
    for answer in (2, -2, 0.5, "A"):
        damaged: Any = run.to_dict()
        damaged["head"]["at"][ANSWER] = answer
        with pytest.raises(discreet.errors.DamagedFile, match=r"counts|shape|damaged at"):
            run.restore(damaged)
    run.restore(run.to_dict())
    assert run.answer is None


def test_no_answer_before_every_arm_has_a_release() -> None:
    with discreet.Trial(identifier("adap-tt", epsilon=1e3), 3, risk=0.9) as trial:
        for unit in range(2):
            trial.record(unit, 1.0) if trial.assign(unit) is not None else None
            assert trial.recommendation is None


def test_what_a_trial_refuses() -> None:
    row = identifier("adap-tt", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="risk must be a finite number"):
        discreet.Trial(row, 2)
    with pytest.raises(InvalidArgument, match="risk must be left out"):
        discreet.Trial(discreet.policy("adap-klucb", epsilon=1.0), 2, risk=0.1)
    with pytest.raises(UnsupportedBudget, match="be private over the whole run"):
        discreet.Trial(identifier("ttucb"), 2, risk=0.1)
    with pytest.raises(InvalidArgument, match="keep the risk that a trial states"):
        discreet.Trial(identifier("adap-tt", epsilon=1.0, threshold="heuristic"), 2, risk=0.1)


@pytest.mark.parametrize("name", ["race", "dp-se", "evidence-tt", "adap-tt", "ctb-tt"])
def test_fewer_participants_than_arms_are_refused(name: str) -> None:
    row = identifier(name, epsilon=1.0)
    with pytest.raises(InvalidArgument, match=r"horizon must be at least the number of arms \(4\)"):
        discreet.Trial(row, 4, risk=0.05, horizon=3)
    with pytest.raises(InvalidArgument, match=r"horizon must be at least the number of arms \(4\)"):
        discreet.Rehearsal(row.at(0.05), 4, horizon=3)


def test_marks_of_a_race_grow_by_one_at_least() -> None:
    for arms in range(2, 9):
        for horizon in range(1, 8 * arms):
            marks = race_marks(arms, horizon, 1)
            assert list(marks) == sorted(set(marks))
            assert marks[0] >= 1
    assert race_marks(2, 3, 1) == (1,)
    assert race_marks(4, 4, 1) == (1, 2)
    assert race_marks(3, 600, 20) == (25, 38, 58, 88, 133, 200, 300)


@pytest.mark.parametrize("horizon", [4, 5, 7])
def test_a_race_of_one_participant_an_arm_comes_to_its_end(horizon: int) -> None:
    with discreet.Trial(
        discreet.policy("race", epsilon=1.0), 4, risk=0.05, horizon=horizon
    ) as trial:
        for unit in range(horizon):
            trial.assign(unit)
            trial.record(unit, 1.0)
        assert trial.status == "finished"
        with pytest.raises(TrialError, match="horizon"):
            trial.assign("one more")
