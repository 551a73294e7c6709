"""A safety alarm as a live trial of one arm, and beside another trial."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet
from discreet import confirm
from discreet.confirm._played_alarm import played_alarm
from discreet.errors import InvalidArgument, TrialError, UnknownUnit
from discreet.live import Watched
from discreet.live._lives import verify_lives
from discreet.live._randomness import SystemRandomness
from discreet.privacy import _secure as secure
from discreet.report import papers, trial_report

ALARM = confirm.alarm(40, 0.05, looks=4, epsilon=2.0)
TEST = confirm.design(120, looks=2, epsilon=1.0)


def watch(clock: list[float], plan: confirm.Alarm = ALARM, **options: Any) -> discreet.Trial:
    return discreet.Trial(
        plan, ["drug"], deadline=5.0, missing=0.0, clock=lambda: clock[0], **options
    )


def come(trial: discreet.Trial, clock: list[float], harms: list[float]) -> int:
    for number, harm in enumerate(harms):
        clock[0] += 1.0
        try:
            trial.assign(number)
        except TrialError:
            return number
        trial.record(number, harm)
    clock[0] += 10.0
    return len(harms)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.3, 0.6])
def test_it_goes_off_where_its_thresholds_say(rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a sum by hand, without noise."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    harms = (np.random.default_rng(4).random(40) < rate).astype(float).tolist()
    sums = [sum(harms[10 * k : 10 * k + 10]) for k in range(4)]
    totals = np.cumsum(sums)
    over = [k + 1 for k in range(4) if totals[k] >= ALARM.thresholds[k]]
    clock = [0.0]
    with watch(clock) as trial:
        came = come(trial, clock, harms)
        clock[0] += 10.0
        found = trial.verdict()
        assert isinstance(found, confirm.AlarmState)
        if over:
            assert (found.decision, found.look) == ("alarm", over[0])
            assert found.total == totals[over[0] - 1]
            assert came == min(10 * over[0] + 4, 40)  # who comes while a look is awaited
        else:
            assert (found.decision, found.look, came) == ("no alarm", 4, 40)
        assert trial.recommendation is None
        assert trial.status == "finished"
        assert str(found) in trial.report()["test"]["sentence"]
        assert str(found).capitalize()[:12] in trial_report(trial.report()).html()


def test_nothing_is_shown_before_it_goes_off(tmp_path: Path) -> None:
    clock = [0.0]
    with watch(clock, path=tmp_path / "alarm.db") as trial:
        come(trial, clock, [0.0] * 12)
        shown = trial.report()
        assert shown["test"]["decision"] in ("go on", "alarm")
        before = trial.verdict()
    with discreet.Trial.load(tmp_path / "alarm.db", clock=lambda: clock[0]) as trial:
        assert trial.verdict() == before
        assert trial.policy == played_alarm(ALARM)
        if shown["test"]["decision"] == "go on":
            assert [row["mean"] for row in shown["arms"] or ()] == [None]
            assert all("sums" not in look for look in shown["test"]["looks"])
            assert str(before) == "look 1: go on"
        with pytest.raises(InvalidArgument, match="that an alarm watches"):
            papers(trial)


def test_the_guarantee_is_derived_and_holds() -> None:
    for budget in ({"epsilon": 2.0}, {"rho": 0.5}):
        small = confirm.alarm(16, 0.05, looks=2, **budget)
        row = played_alarm(small)
        assert row.guarantee.budget == small.budget
        assert row.proved(arms=1, horizon=16, live=True).holds
        found = verify_lives(row, 1)
        assert found.holds
        assert found.blocks > 0


def test_rehearsed_alarms_go_off_as_often_as_computed() -> None:
    """60 trials at a rate of .1: beside the exact probability, false alarm below 1e-6."""
    plan, gone_off = confirm.alarm(60, 0.02, looks=3, epsilon=2.0), 0
    for seed in range(60):
        rehearsal = discreet.Rehearsal(
            plan, ["drug"], arrivals=20, delay=1.0, default=0.0, seed=seed
        )
        rng = np.random.default_rng(1000 + seed)
        shown = rehearsal.play(lambda _, draw=rng.random: float(draw() < 0.1))  # type: ignore[misc]
        gone_off += shown["test"]["decision"] == "alarm"
    p = plan.power(0.1)
    assert binom.ppf(5e-7, 60, p) <= gone_off <= binom.isf(5e-7, 60, p)


def test_a_watched_trial_has_two_outcomes_and_one_guarantee(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    clock = [0.0]
    asked: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "clock": lambda: clock[0]}
    trial = Watched(discreet.Trial(TEST, ["drug", "placebo"], **asked), watch(clock))
    assert trial.guarantee.budget == discreet.Pure(3.0)
    assert trial.alarm() is None
    arms: list[str] = []
    while trial.trial.status == "collecting" and len(arms) < 100:
        number = len(arms)
        clock[0] += 1.0
        try:
            arms.append(str(trial.assign(number)))
        except TrialError:
            break
        assert trial.assign(number) == arms[-1]
        trial.record(number, float(number % 2))
        trial.harm(number, 1.0)
    with pytest.raises(TrialError, match="ended"):
        trial.assign("late")
    drugs = [number for number, arm in enumerate(arms) if arm == "drug"]
    assert trial.watch.report()["assigned"] == len(drugs)
    state = trial.alarm()
    assert state is not None
    assert (state.decision, state.look) == ("alarm", 1)
    assert drugs[9] < len(arms) <= drugs[9] + 6  # the tenth, and the deadline after it
    stopped = [entry["by"] for entry in trial.trial.log() if entry["what"] == "stopped"]
    assert stopped == ["alarm"]
    assert trial.report()["alarm"]["test"]["decision"] == "alarm"  # type: ignore[index]
    with pytest.raises(UnknownUnit, match="assigned"):
        trial.harm("nobody", 1.0)
    trial.close()


def test_what_cannot_be_watched_is_refused() -> None:
    clock = [0.0]
    asked: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "clock": lambda: clock[0]}
    test = discreet.Trial(TEST, ["A", "B"], **asked)
    with pytest.raises(InvalidArgument, match="arm of the trial"):
        Watched(test, watch(clock))
    with pytest.raises(InvalidArgument, match="trial of an alarm"):
        Watched(test, test)
    with pytest.raises(InvalidArgument, match="not an alarm"):
        Watched(watch(clock), watch(clock))
    with pytest.raises(InvalidArgument, match="at least 2"):
        discreet.Trial(TEST, ["A"], **asked)
    with pytest.raises(InvalidArgument, match="private"):
        watch(clock, confirm.alarm(40, 0.05, looks=4, epsilon=math.inf))


def test_harms_move_the_alarm_alone_and_outcomes_the_trial_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Paired worlds, without noise and with assignments that are fixed: what is shown and stored in
    public of the one never reacts to the outcomes of the other, while the alarm is silent."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    monkeypatch.setattr(SystemRandomness, "below", lambda self, number: 0)

    def world(outcome: float, harm: float) -> tuple[Any, Any]:
        clock = [0.0]
        asked: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "clock": lambda: clock[0]}
        pair = Watched(discreet.Trial(TEST, ["drug", "placebo"], **asked), watch(clock))
        for number in range(80):
            clock[0] += 1.0
            pair.assign(number)
            pair.record(number, outcome if number == 3 else 0.0)
            pair.harm(number, harm if number in (1, 3) else 0.0)
        both = pair.report()
        shown = [(both[key], each._run.public()) for key, each in (
            ("trial", pair.trial), ("alarm", pair.watch)
        )]  # fmt: skip
        pair.close()
        return shown[0], shown[1]

    plain, other, harmed = world(0.0, 0.0), world(1.0, 0.0), world(0.0, 1.0)
    assert plain[1] == other[1]
    assert plain[0] == harmed[0]
    assert plain[0] != other[0]  # the released sums of the trial did react, and those of the alarm
    assert plain[1] != harmed[1]


def test_documents_describe_alarms() -> None:
    from discreet._plans import planned

    design = {"participants": 40, "rate": 0.05, "looks": 4, "epsilon": 2.0}
    found = planned({"design": design, "arms": ["drug"], "deadline": "28 days", "missing": 0})
    assert found.policy == ALARM
    with found.start(None) as trial:
        assert isinstance(trial, discreet.Trial)
        assert trial.assign("patient-1") == "drug"
