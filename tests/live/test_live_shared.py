"""One trial, several users: what a place moves is stored with it, and nothing is replayed."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from golden import LIVES
from live_cases import Clock, CountedNoise
from live_disk import THOROUGH
from test_live_interruptions import Injector

import discreet
import discreet.linear as linear
from discreet import Assignment, Features, Outcomes
from discreet.errors import TrialError
from discreet.live import Trial
from discreet.live._arguments import grouped
from discreet.live.stores._database import Database
from discreet.policies import policy

pytestmark = pytest.mark.usefixtures("no_sync")


def restored(trial: Trial) -> dict[str, object]:
    """Where a fresh run stands that is given what the store has."""
    run = trial._plan.run.copy()
    with trial._store.held():
        trial._store.ready()
        run.restore(json.loads(json.dumps(trial._store.state["protocol"])))
    return run.to_dict()


KINDS = [
    "index", "index, window 24, shares", "index, twice", "index that forgets", "index, tree",
    "index, sampled", "index, local bits", "pairs", "epochs", "epochs, horizon", "looks, race",
    "looks, elimination", "top two, evidence", "top two, doubling", "top two, local", "one batch",
]  # fmt: skip
"""Of the scripted lives, one or more for every kind of run."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_restored_from_what_moved_after_every_place(kind: str, clock: Clock) -> None:
    life = LIVES[kind]
    options: dict[str, Any] = {**life.options, "deadline": 3.0}
    options.setdefault("missing", 0.0)
    options.pop("share", None)
    trial = Trial(
        discreet.policy(life.policy, **life.budget), life.arms, clock=clock, **grouped(options)
    )
    for unit in range(60):
        clock.now += 0.11
        try:
            trial.assign(unit)
        except TrialError:
            break
        assert restored(trial) == trial._run.to_dict(), unit
        if unit % 3:
            trial.record(unit, 0.5)
    assert trial.rounds > 20


@pytest.mark.parametrize("name", ["adac-oful", "private-linucb", "jdp-linucb"])
def test_a_run_with_contexts_is_restored_after_every_place(name: str, clock: Clock) -> None:
    budget = {"epsilon": 1.0} if name == "private-linucb" else {"rho": 0.5}
    row = linear.policy(name, **budget)
    batch = {} if name == "adac-oful" else {"batch": 3}
    trial = linear.Trial(
        row,
        2,
        horizon=20,
        deadline=1.0,
        missing=0.0,
        clock=clock,
        **grouped(dict(dimension=2, **batch)),
    )
    for unit in range(20):
        clock.now += 0.6
        trial.assign(unit, [[0.1 * (unit % 7), 0.5], [0.4, 0.04 * unit]])
        assert restored(trial) == trial._run.to_dict(), unit
    assert trial.report()["releases"] > 2


def test_opening_a_trial_reads_neither_places_nor_outcomes(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, run, read = tmp_path / "t.db", Database.run, list[str]()
    options: dict[str, Any] = {"deadline": 9.0, "missing": 0.0, "clock": clock, "path": path}
    with Trial(policy("dp-imed", epsilon=1.0), 2, **grouped(options)) as trial:
        for unit in range(40):
            trial.assign(unit)

    def watched(base: Database, statement: str, values: Any = ()) -> Any:
        read.append(statement)
        return run(base, statement, values)

    monkeypatch.setattr(Database, "run", watched)
    Trial.load(path, clock=clock).close()
    assert read
    assert not any("places" in statement or "pending" in statement for statement in read)


WORKER = """
import sys
import discreet

path, name, units = sys.argv[1], sys.argv[2], int(sys.argv[3])
with discreet.Trial.load(path) as trial:
    for number in range(units):
        both = f"both {number}"
        print(both, trial.assign(both))
        own = f"{name} {number}"
        print(own, trial.assign(own))
        trial.record(own, 0.5)
        trial.record(both, 0.25)
"""


def test_processes_share_a_trial(tmp_path: Path) -> None:
    """Three at once, each with people of its own and with people whom all of them meet: nobody has
    two arms, nobody is lost, and every block is released once."""
    path, units = tmp_path / "t.db", 12
    row = policy("dp-imed", epsilon=1.0, first=2)
    Trial(
        row,
        ["A", "B"],
        path=path,
        assignment=Assignment(window=2),
        outcomes=Outcomes(conflicts="ignore"),
    ).close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), name, str(units)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for name in "abc"
    ]  # fmt: skip
    arms: dict[str, str] = {}
    for worker in workers:
        out, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        for line in out.splitlines():
            unit, arm = line.rsplit(" ", 1)
            assert arms.setdefault(unit, arm) == arm, "a participant has two arms"
    assert len(arms) == 4 * units
    with Trial.load(path) as trial:
        report = trial.report()
        assert report["assigned"] == report["rounds"] == 4 * units
        for row_ in report["arms"] or ():
            assert row_["assigned"] == sum(arm == row_["arm"] for arm in arms.values())
        sizes = {row_["arm"]: 0 for row_ in report["arms"] or ()}
        for entry in report["course"]:
            assert entry["size"] > sizes[entry["arm"]], "a block was released twice"
            sizes[entry["arm"]] = entry["size"]


def test_an_arm_that_somebody_else_added_is_known(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with (
        Trial(policy("dp-imed", epsilon=1.0), ["A", "C"], path=path) as one,
        Trial.load(path) as other,
    ):
        one.add("B")
        assert other.arms == ("A", "C", "B")
        other.drop("A")
        other.drop("C")
        assert one.assign("x") == "B"


def test_an_interrupt_in_add_leaves_no_object_without_the_arm(tmp_path: Path) -> None:
    at = 0
    while True:
        path = tmp_path / f"{at}.db"
        trial = Trial(policy("dp-imed", epsilon=1.0), ["A", "C"], path=path)
        injector = Injector(at)
        interrupted = injector.run(partial(trial.add, "B"))
        with Trial.load(path) as stored:
            assert trial.arms == stored.arms, injector.where
            assert trial.report() == stored.report(), injector.where
        trial.close()
        if not interrupted:
            break
        at += 17 if THOROUGH else 53
    assert at > 100


def test_a_release_of_another_process_is_not_drawn_again(
    tmp_path: Path, clock: Clock, noise: CountedNoise
) -> None:
    path = tmp_path / "t.db"
    options: dict[str, Any] = {"deadline": 5.0, "missing": 0.0, "clock": clock, "window": 1}
    row = policy("dp-imed", epsilon=1.0, first=1)
    with (
        Trial(row, 2, path=path, **grouped(options)) as one,
        Trial.load(path, clock=clock) as other,
    ):
        one.assign("x")
        other.record("x", 1.0)
        clock.now += 5.0
        assert one.settle()
        assert not other.settle()
        assert other.report() == one.report()
        assert len(noise.drawn) == 1


# --- several at once ------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", ["memory", "file"])
@pytest.mark.parametrize("refused", ["", "assign", "record", "conflict"])
def test_many_are_stored_by_one_commit_or_not_at_all(
    stored: str, refused: str, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, commits = Database.commit, [0]

    def counted(base: Database) -> None:
        commits[0] += not base.is_gathering
        commit(base)

    monkeypatch.setattr(Database, "commit", counted)
    path = {"path": tmp_path / "t.db"} if stored == "file" else {}
    trial = Trial(
        policy("dp-imed", epsilon=1.0),
        2,
        deadline=9.0,
        missing=0.0,
        clock=clock,
        horizon=9,
        **grouped(path),
    )
    trial.assign("known")
    commits[0] = 0
    units = ["known", *(f"u{n}" for n in range(9 if refused == "assign" else 6))]
    before = trial.report()
    if refused == "assign":
        with pytest.raises(TrialError, match="horizon"):
            trial.assign_many(units)
        assert trial.report() == before
        assert "u0" not in trial
        trial.close()
        return
    arms = trial.assign_many(units)
    assert commits[0] == (stored == "file")
    assert [trial.assign(unit) for unit in units] == arms
    wrong: dict[str, list[Any]] = {
        "": [], "record": [("nobody", 0.5)], "conflict": [("u1", 0.25), ("u1", 0.75)],
    }  # fmt: skip
    outcomes = [("known", 0.5), ("u0", 0.5), *wrong[refused]]
    if refused:
        with pytest.raises(
            TrialError, match=r"entry \d of \d: .*none of them is recorded"
        ) as error:
            trial.record_many(outcomes)
        assert "0.25" not in str(error.value)
        trial.record("known", 1.0)  # no other outcome stands
    else:
        trial.record_many(outcomes)
        assert commits[0] == 2 * (stored == "file")
        with pytest.raises(TrialError, match="the first one stands"):
            trial.record("known", 1.0)
    trial.close()


def test_a_batch_that_is_interrupted_leaves_nothing(tmp_path: Path) -> None:
    at = 0
    while True:
        trial = Trial(policy("dp-imed", epsilon=1.0), 2, path=tmp_path / f"{at}.db")
        injector = Injector(at)
        interrupted = injector.run(partial(trial.assign_many, ["x", "y", "z"]))
        assigned = trial.report()["assigned"]
        assert assigned in (0, 3), injector.where
        with Trial.load(tmp_path / f"{at}.db") as stored:
            assert stored.report() == trial.report(), injector.where
        trial.close()
        if not interrupted:
            break
        at += 37
    assert at > 200


def test_many_contexts_up_to_the_horizon(clock: Clock) -> None:
    row = linear.policy("private-linucb", epsilon=1.0)
    trial = linear.Trial(row, 2, horizon=5, clock=clock, features=Features(dimension=1, batch=4))
    arms = trial.assign_many(range(4), [[[0.5], [0.1]]] * 4)
    assert len(arms) == 4
    trial.record_many([(unit, 0.5) for unit in range(4)])
    assert trial.report()["releases"] == 1
    trial.assign_many([4], [[[0.5], [0.1]]])
    assert trial.status == "finished"


def test_local_noise_of_a_batch_that_was_not_stored_is_not_drawn_again(
    tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(policy("ldp-ucb-l", epsilon=1.0), 2, path=tmp_path / "t.db")
    trial.assign_many(["x", "y"])

    def fails(base: Database) -> None:
        if not base.is_gathering:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "commit", fails)
        with pytest.raises(OSError, match="space"):
            trial.record_many([("x", 0.5), ("y", 0.5)])
    assert len(noise.drawn) == 2
    with pytest.raises(TrialError, match="never drawn twice"):
        trial.record_many([("x", 0.5), ("y", 0.5)])
    assert len(noise.drawn) == 2
    trial.close()
