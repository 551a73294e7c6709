"""Trials by stratum: nobody is in two, one guarantee, stored and loaded, intervals by stratum."""

from __future__ import annotations

import csv
import io
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from live_disk import Crash, Disk, off_disk, on_disk
from typer.testing import CliRunner

import discreet
from discreet.cli import app
from discreet.errors import InvalidArgument, TrialError, UnknownUnit
from discreet.live import _strata as module
from discreet.live._arguments import grouped
from discreet.live._terms import BOARD

NAMES = ["men", "women"]


def row(**options: Any) -> discreet.Policy:
    made: discreet.Policy = discreet.policy("dp-imed", epsilon=1.0, first=2, **options)
    return made


def made(path: Path | None = None, **options: Any) -> discreet.Strata:
    settings: dict[str, Any] = {"missing": 0.0, "deadline": 5.0, "clock": Clock()} | options
    return discreet.Strata(row(), NAMES, ["A", "B"], path=path, **grouped(settings))


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def fill(trial: discreet.Strata, clock: Clock, units: int = 40) -> None:
    for unit in range(units):
        trial.assign(unit, NAMES[unit % 2])
        trial.record(unit, float(unit % 3 == 0))
        clock.now += 1.0
    clock.now += 100.0
    trial.settle()


def test_nobody_is_in_two_strata(tmp_path: Path) -> None:
    trial = made(tmp_path / "t.db")
    arm = trial.assign("p1", "men")
    assert trial.assign("p1", "men") == arm
    with pytest.raises(InvalidArgument, match="'men', got 'women'"):
        trial.assign("p1", "women")
    trial.close()
    with discreet.Strata.load(tmp_path / "t.db", clock=Clock()) as again:  # nor after a restart
        assert again.stratum_of("p1") == "men"
        assert again.stratum_of("p2") is None
        with pytest.raises(InvalidArgument, match="stratum"):
            again.assign("p1", "women")
        counts = [one["assigned"] for one in again.report()["strata"]]
        assert counts == [1, 0]


def test_two_threads_cannot_put_one_unit_into_two_strata() -> None:
    trial = made()
    placed: list[str] = []

    def ask(stratum: str) -> None:
        for unit in range(50):
            try:
                trial.assign(unit, stratum)
                placed.append(f"{unit}")
            except InvalidArgument:
                pass

    threads = [threading.Thread(target=ask, args=(name,)) for name in NAMES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(placed) == sorted({f"{unit}" for unit in range(50)})
    assert trial.report()["assigned"] == 50


def test_the_guarantee_is_that_of_one_stratum() -> None:
    trial = made()
    alone = discreet.Trial(row(), ["A", "B"], missing=0.0, deadline="5 s")
    assert trial.guarantee.budget == alone.guarantee.budget
    assert trial.guarantee.unit == 1
    assert trial.guarantee.conditions == (*alone.guarantee.conditions, module.PUBLIC_STRATUM)
    trial.stop("board", "women")  # one stratum's board makes it a condition of all
    assert BOARD in trial.guarantee.conditions


def test_outcomes_go_to_their_own_stratum_alone() -> None:
    """What women's outcomes are changes nothing that is stored or released of men."""
    clock = Clock()
    trial = made(clock=clock)
    fill(trial, clock)
    reports = {one["stratum"]: one for one in trial.report()["strata"]}
    assert {one["assigned"] for one in reports.values()} == {20}
    assert all(one["releases"] > 0 for one in reports.values())
    for name in NAMES:
        sizes = sum(arm["size"] for arm in reports[name]["arms"])
        assert 0 < sizes <= 20  # of its own twenty, and of nobody else
    with pytest.raises(UnknownUnit, match="assign"):
        trial.record("stranger", 1.0)
    with pytest.raises(InvalidArgument, match="outcome"):
        trial.record(1, 7.0)


def test_intervals_share_the_error() -> None:
    from discreet.inference import intervals

    clock = Clock()
    trial = made(clock=clock)
    fill(trial, clock)
    report = trial.report()
    for one in report["strata"]:
        assert one["intervals"]["level"] == pytest.approx(1.0 - 0.05 / 2)
        wide = intervals(one, 0.975)
        for arm, interval in zip(one["arms"], wide, strict=True):
            assert arm["interval"] == [interval.low, interval.high]
            narrow = intervals(one, 0.95).of(arm["arm"])
            assert interval.low <= narrow.low <= narrow.high <= interval.high
    by_stratum = trial.intervals(0.9)
    assert by_stratum["men"].level == pytest.approx(0.95)  # type: ignore[union-attr]
    effects = trial.differences(0.9, against="A")
    assert set(effects) == set(NAMES)
    assert effects["women"].level == pytest.approx(0.95)  # type: ignore[union-attr]
    assert json.loads(json.dumps(report)) == report
    assert "stratum women" in str(trial)


def test_differences_within_epochs_share_the_error() -> None:
    from discreet.inference import differences

    clock = Clock()
    trial = made(clock=clock, trend=True, share={"A": 0.5, "B": 0.5})
    fill(trial, clock, 400)
    effects = trial.differences(0.9, against="A")
    assert trial.intervals() == {"men": None, "women": None}
    for one in trial.report()["strata"]:
        (behind,) = one["trend"]["behind"]
        assert one["trend"]["level"] == pytest.approx(0.975)
        wide, narrow = (differences(one, level, against=behind["arm"]) for level in (0.975, 0.95))
        assert behind["interval"] == pytest.approx([wide[0].low, wide[0].high])
        assert wide[0].width > narrow[0].width
        effect = effects[one["stratum"]]
        assert effect is not None
        assert effect.estimand == "within"
        assert effect.level == pytest.approx(0.95)


def test_the_risk_is_shared_and_horizons_are_by_name() -> None:
    identifier = discreet.policy("evidence-tt", epsilon=1.0)
    trial = discreet.Strata(identifier, NAMES, 2, risk=0.1, horizon={"men": 50, "women": 70})
    assert trial.policy.risk == 0.05
    with pytest.raises(InvalidArgument, match="share"):  # it would hold for each, not for all
        discreet.Strata(identifier.at(0.1), NAMES, 2)
    assert [one["horizon"] for one in trial.report()["strata"]] == [50, 70]
    assert trial.recommendation == {"men": None, "women": None}


def test_stored_and_loaded(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "t.db"
    with made(path, clock=clock, horizon={"men": 100, "women": 200}) as trial:
        fill(trial, clock)
        report = trial.report()
        with discreet.Strata.load(path, clock=clock) as beside:  # several may use it at once
            assert beside.report() == report
        with pytest.raises(TrialError, match="copied or pickled"):
            pickle.dumps(trial)
    for _ in range(2):  # closed and loaded: nothing is drawn again
        with discreet.Strata.load(path, clock=clock) as again:
            assert again.report() == report
            assert repr(again) == "<Strata men, women of dp-imed: ε = 1 (interactive)>"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.db", "t.db.witness"]
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    with pytest.raises(InvalidArgument, match=r"be a new file"):
        made(path)


def test_strata_do_not_open_as_one_trial(tmp_path: Path) -> None:
    """Its people could be assigned again in another stratum, and enter two releases."""
    clock, path = Clock(), tmp_path / "t.db"
    with made(path, clock=clock) as trial:
        trial.assign("p", "women")
        report = trial.report()
    for _ in range(2):  # the mark stays, whatever is released
        with pytest.raises(InvalidArgument, match="not one by stratum") as refused:
            discreet.Trial.load(path)
        assert f"discreet.Strata.load({str(path)!r})" in str(refused.value)
        with discreet.Strata.load(path, clock=clock) as again:
            assert again.report()["assigned"] == report["assigned"]
            again.finish()
            clock.now += 1e6
            again.settle()
    discreet.Trial(row(), 2, path=tmp_path / "one.db").close()
    with pytest.raises(InvalidArgument, match="be a saved trial by stratum"):
        discreet.Strata.load(tmp_path / "one.db")


def test_nobody_gets_into_two_strata_by_two_processes(tmp_path: Path) -> None:
    """Both have looked where somebody is at home before either assigns."""
    path = tmp_path / "t.db"
    with made(path, clock=Clock()) as one, discreet.Strata.load(path, clock=Clock()) as other:
        assert one.stratum_of("p") is None
        assert other.stratum_of("p") is None
        one._trials["men"].assign("p")
        with pytest.raises(TrialError, match="has an arm in another stratum"):
            other._trials["women"].assign("p")
        assert other.stratum_of("p") == "men"
        assert other.report()["assigned"] == 1


def test_a_crash_during_the_creation_leaves_no_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every write: nobody was assigned and it is begun anew, or it is whole."""
    stop = 0
    while True:
        folder = tmp_path / str(stop)
        folder.mkdir()
        disk, path = Disk(folder, stop), folder / "t.db"
        on_disk(monkeypatch, disk)
        try:
            made(path).close()
        except Crash:
            pass
        finally:
            off_disk(monkeypatch)
        if not disk.crashed:
            break
        disk.after_crash("kill")
        try:
            made(path).close()
        except InvalidArgument as error:
            assert "be a new file" in str(error)  # noqa: PT017 - or it is whole
        with discreet.Strata.load(path, clock=Clock()) as whole:
            assert whole.strata == tuple(NAMES)
            assert whole.report()["assigned"] == 0
        stop += 1
    assert stop > 20  # there were as many places to crash at


def test_a_creation_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    for wrong in ({"outcome_range": (1.0, 0.0)}, {"store": object()}, {"horizon": {"men": 5}}):
        with pytest.raises(InvalidArgument):
            made(path, **wrong)
        assert not path.exists()
    for names in ([], ["men", "men"], "men", [1.5], None):
        with pytest.raises(InvalidArgument, match="strata"):
            discreet.Strata(row(), names, 2)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="path"):
        made(tmp_path / "no" / "t.db")
    with pytest.raises(InvalidArgument, match="risk"):
        made(risk=2.0)
    trial = made()
    for stratum in ("children", True, None, ["men"]):
        with pytest.raises(InvalidArgument, match="stratum"):
            trial.assign("p", stratum)  # type: ignore[arg-type]
    assert trial.report()["assigned"] == 0


def test_strata_in_simulation() -> None:
    environments = {"men": discreet.Bernoulli([0.9, 0.1]), "women": discreet.Bernoulli([0.1, 0.9])}
    found = discreet.simulate_strata(
        row(), environments, horizon={"men": 500, "women": 300}, runs=20, seed=1, progress=False
    )
    parts = [result.final_regret for result in found.strata.values()]
    assert (found.final_regret == parts[0] + parts[1]).all()
    assert found.guarantee.conditions[-1] == module.PUBLIC_STRATUM
    assert [result.horizon for result in found.strata.values()] == [500, 300]
    again = discreet.simulate_strata(
        row(), environments, horizon={"men": 500, "women": 300}, runs=20, seed=1, progress=False
    )
    assert (again.final_regret == found.final_regret).all()
    assert "together" in str(found)
    # copies for strata with opposite best arms regret far less than any single arm: 0.8 · 300
    assert found.final_regret.mean() < 120.0
    for wrong in ({"environments": environments["men"]}, {"horizon": {"men": 3}}):
        with pytest.raises(InvalidArgument):
            discreet.simulate_strata(
                row(), **({"environments": environments, "horizon": 500, "runs": 1} | wrong)
            )  # type: ignore[arg-type]


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, given: object = None, code: int = 0) -> Any:
        text = None if given is None else json.dumps(given)
        result = CliRunner().invoke(app, ["trial", *arguments], input=text, prog_name="discreet")
        assert result.exit_code == code, result.stderr
        return result

    settings = {"policy": "dp-imed", "epsilon": 1, "arms": ["A", "B"], "strata": NAMES}
    call("new", "t.db", given=settings)
    call("assign", "t.db", "p1", "--stratum", "men")
    assert "stratum" in call("assign", "t.db", "p1", code=2).stderr
    assert "stratum" in call("assign", "t.db", "p1", "--stratum", "women", code=2).stderr
    many = [{"unit": "p2", "stratum": "women"}, {"unit": "p3", "stratum": "men"}]
    assert len(json.loads(call("assign", "t.db", "--json", given=many).stdout)) == 2
    call("record", "t.db", given={"unit": "p2", "outcome": 1})
    report = json.loads(call("report", "t.db", "--json").stdout)
    assert [one["assigned"] for one in report["strata"]] == [2, 1]
    table = list(csv.DictReader(io.StringIO(call("report", "t.db", "--format", "csv").stdout)))
    assert [(line["stratum"], line["arm"]) for line in table] == [
        ("men", "A"), ("men", "B"), ("women", "A"), ("women", "B"),
    ]  # fmt: skip
    assert "Stratum: women" in call("report", "t.db", "--format", "html").stdout
    call("finish", "t.db", "--discard")
    assert json.loads(call("report", "t.db", "--json").stdout)["status"] == "finished"


def test_intervals_of_all_share_the_error_too() -> None:
    from discreet.inference import intervals

    clock = Clock()
    trial = made(clock=clock, missing="estimate")
    fill(trial, clock)
    for one in trial.report()["strata"]:
        assert one["intervals"]["estimand"] == "responders"
        of_all = zip(intervals(one, 0.975), intervals(one, 0.975, over="all"), strict=True)
        for arm, (narrow, wide) in zip(one["arms"], of_all, strict=True):
            assert arm["interval"] == [narrow.low, narrow.high]
            assert arm["interval_of_all"] == [wide.low, wide.high]
    assert "intervals are for those who answer" in str(trial)


def test_an_arm_is_dropped_in_all_strata_or_in_none() -> None:
    trial = made()
    trial.finish(stratum="women")
    with pytest.raises(TrialError, match="ended"):
        trial.drop("A")
    assert [arm["active"] for arm in trial.report()["strata"][0]["arms"]] == [True, True]
    trial.drop("A", "men")
    assert [arm["active"] for arm in trial.report()["strata"][0]["arms"]] == [False, True]


@pytest.mark.parametrize("discard", [False, True])
def test_open_blocks_are_released_at_the_end_unless_they_are_discarded(discard: bool) -> None:
    clock = Clock()
    trial = made(clock=clock)
    for stratum in NAMES:
        trial.assign(stratum, stratum)
        trial.record(stratum, 1.0)
    trial.finish(discard=True) if discard else trial.finish()
    clock.now += 10.0
    assert trial.settle() is not discard
    assert [one["releases"] for one in trial.report()["strata"]] == [0 if discard else 1] * 2


def test_strata_are_rehearsed_as_they_run() -> None:
    """A test over strata, and a policy in each: who comes in which, and that a seed fixes all."""
    design = discreet.confirm.strata({"a": 120, "b": 60}, looks=2, epsilon=4.0, runs=300)
    asked: dict[str, Any] = {"arrivals": 10, "delay": "7 days", "default": 0.0, "seed": 3}
    law = discreet.Bernoulli([0.9, 0.2])
    first = discreet.Rehearsal(design, ["drug", "placebo"], **asked)
    shown = first.play({"a": law, "b": law})
    verdict = first.verdict()
    assert isinstance(verdict, discreet.confirm.StrataVerdict)
    assert verdict.decision == "better"
    assert shown["test"]["decision"] == "better"
    assert shown["status"] == "finished"
    assert 90 <= shown["assigned"] <= 180
    assert first.trial.horizon == 180
    assert "can be replayed" in str(first.trial.guarantee)
    again = discreet.Rehearsal(design, ["drug", "placebo"], **asked)
    assert again.play(law)["test"] == shown["test"]
    seen: dict[Any, int] = {}
    policy = discreet.policy("dp-imed", epsilon=1.0)
    sizes: Any = {"x": 100, "y": 50}
    each = discreet.Rehearsal(policy, ["A", "B"], horizon=sizes, strata={"x": 3, "y": 1}, **asked)
    for visit in each.participants():
        seen[visit.stratum] = seen.get(visit.stratum, 0) + 1
        each.answer(visit.unit, float(visit.arm == "A"))
    assert seen == sizes  # those of x come three times as often, until it is full
    with pytest.raises(InvalidArgument, match="one for every stratum"):
        each.play({"x": law})
    total = discreet.Rehearsal(policy, ["A", "B"], horizon=90, strata=["x", "y"], **asked)
    assert total.trial.horizon == 90
    assert total.play(law)["assigned"] == 90
    with pytest.raises(InvalidArgument, match="by stratum"):
        discreet.Rehearsal(policy, ["A", "B"], strata=["x", "y"])
