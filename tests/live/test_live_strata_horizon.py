"""A horizon of all strata together: whoever comes first has the places, whatever was answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock

import discreet
from discreet.errors import TrialError
from discreet.live._arguments import grouped
from discreet.live.stores import PostgresStore, SqliteStore

NAMES = ["men", "women"]
PLACES = 30
ROWS = {"index": "dp-imed", "looks": "dp-se", "one batch": "adap-klucb"}


def made(name: str, path: Any, clock: Clock, **options: Any) -> discreet.Strata:
    settings: dict[str, Any] = {"missing": 0.0, "deadline": 5.0, "horizon": PLACES} | options
    row = discreet.policy(name, epsilon=1.0)
    return discreet.Strata(row, NAMES, ["A", "B"], path=path, clock=clock, **grouped(settings))


REACHED = f"the horizon of {PLACES} assignments, in all strata together, is reached"


def come(trial: discreet.Strata, clock: Clock, outcome: float, wait: float) -> None:
    """Two men for every woman, until all places are taken."""
    for unit in range(PLACES):
        trial.assign(unit, NAMES[unit % 3 == 0])
        trial.record(unit, outcome)
        clock.now += wait
    for stratum in NAMES:
        with pytest.raises(TrialError, match=REACHED):
            trial.assign("late", stratum)


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.parametrize("plan", ROWS)
def test_who_gets_the_last_places_does_not_depend_on_outcomes(
    plan: str, where: str, tmp_path: Path, no_sync: None
) -> None:
    seen = []
    for outcome in (0.0, 1.0):
        clock, path = Clock(), None if where == "memory" else tmp_path / f"{outcome}.db"
        with made(ROWS[plan], path, clock) as trial:
            come(trial, clock, outcome, 6.0 if plan == "one batch" else 1.0)
            report = trial.report()
            assert (report["horizon"], report["rounds"]) == (PLACES, PLACES)
            assert {one["horizon"] for one in report["strata"]} == {None}
            clock.now += 1000.0
            trial.settle()
            assert trial.status == "finished"
            assert all(one["releases"] > 0 for one in trial.report()["strata"])
            for each in trial._trials.values():
                assert not each._store.blocks  # what is cut off is erased
            seen.append([one["rounds"] for one in report["strata"]])
        if path is not None:
            with discreet.Strata.load(path, clock=clock) as again:
                words = again.report()["strata"][0]["settings"]["horizon"]
                assert words == f"{PLACES} assignments, in all strata together"
                assert again.assign(0, "women") in ("A", "B")  # who has an arm keeps it
                with pytest.raises(TrialError, match="is reached"):
                    again.assign("late", "men")
    assert seen == [[20, 10], [20, 10]]


def test_with_contexts_what_is_cut_off_is_erased(tmp_path: Path, no_sync: None) -> None:
    row, clock = discreet.policy("private-linucb", epsilon=1.0), Clock()
    features = [[0.1, 0.2], [0.2, 0.1]]
    trial = discreet.Strata(
        row, NAMES, 2, horizon=11, path=tmp_path / "t.db", missing=0.0, deadline=5.0,
        clock=clock, **grouped({"dimension": 2, "batch": 4}),
    )  # fmt: skip
    with trial:
        for unit in range(11):
            trial.assign(unit, NAMES[unit >= 6], features)
            clock.now += 6.0
        with pytest.raises(TrialError, match="is reached"):
            trial.assign("late", "men", features)
        report = trial.report()
        assert report["rounds"] == 11
        assert [one["rounds"] for one in report["strata"]] == [6, 5]
        assert [one["releases"] for one in report["strata"]] == [1, 1]
        assert report["status"] == "finished"
        for each in trial._trials.values():
            assert not each._store.blocks


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_processes_share_the_places(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of two that work side by side neither knows what the other has given, but for the store."""
    clock = Clock()
    if kind == "postgres":
        url = request.getfixturevalue("url")

        def store(releases_here: bool = True) -> Any:
            return PostgresStore(url, "strata", releases_here=releases_here)
    else:

        def store(releases_here: bool = True) -> Any:
            return SqliteStore(tmp_path / "t.db", releases_here=releases_here)

    with made("dp-imed", store(), clock, horizon=7) as one:
        with discreet.Strata.load(store(releases_here=False), clock=clock) as other:
            users = [one, other]
            for unit in range(7):
                users[unit % 2].assign(unit, NAMES[unit // 2 % 2])
            for user in users:
                with pytest.raises(TrialError, match="is reached"):
                    user.assign("late", "men")
                assert user.assign(3, NAMES[1]) in ("A", "B")
        clock.now += 100.0
        assert one.settle()
        assert (one.status, one.rounds) == ("finished", 7)


def test_a_batch_that_is_undone_takes_no_places(tmp_path: Path, no_sync: None) -> None:
    for path in (None, tmp_path / "t.db"):
        with made("dp-imed", path, Clock(), horizon=4) as trial:
            men = trial._trials["men"]
            with pytest.raises(TrialError, match="is reached"):
                men.assign_many(["a", "b", "c", "d", "e"])
            assert trial.report()["rounds"] == 0
            men.assign_many(["a", "b", "c", "d"])
            assert trial.report()["rounds"] == 4


def test_by_name_strata_end_one_by_one() -> None:
    trial = made("dp-imed", None, Clock(), horizon={"men": 2, "women": 3})
    trial.assign("a", "men")
    trial.assign("b", "men")
    with pytest.raises(TrialError, match="is reached"):
        trial.assign("c", "men")
    trial.assign("d", "women")
    report = trial.report()
    assert "horizon" not in report
    assert [one["horizon"] for one in report["strata"]] == [2, 3]
