"""What a storm must catch, what a paused curator must not do, a full disk, and a real replica."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import storm
from live_cases import Clock, CountedNoise
from storm import Storm

from discreet import Assignment
from discreet.errors import TrialError
from discreet.live import Trial
from discreet.live.stores import PostgresStore, SqliteStore, _database, _server
from discreet.live.stores._sql import SqlStore
from discreet.live.stores._transactions import Transactions
from discreet.live.stores._witness import Line
from discreet.policies import policy
from postgres import Postgres, needed, running

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that are killed")


# --- bugs that the checker of histories must find -------------------------------------------------


def forgotten(store: SqlStore, block: str, slot: int, value: int) -> None:
    """Acknowledged, and not stored."""
    store._base.commit()


def redrawn(store: SqlStore, line: Line) -> None:
    """A release that was drawn is passed over, and its block drawn again."""
    store._base.note(line)
    store._base.run("COMMIT")
    store._base.begin()
    store._read()


@pytest.mark.usefixtures("own_noise", "no_sync")
@pytest.mark.parametrize(
    ("name", "bug", "dies", "said"),
    [
        ("record", forgotten, 0.0, "an outcome is lost"),
        ("_adopt", redrawn, 0.9, "a block was drawn twice"),
    ],
)
def test_a_planted_bug_is_found_by_the_histories(
    name: str, bug: Any, dies: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqlStore, name, bug)
    path, diaries = tmp_path / "trial.db", tmp_path / "diaries"
    diaries.mkdir()

    def open_store(releases_here: bool) -> SqlStore:
        return SqliteStore(path, releases_here=releases_here)

    def lines() -> list[str]:
        text = Path(f"{path}.witness").read_text()
        return [line.partition(" ")[2] for line in text.splitlines()[1:]]

    storm.new_trial(open_store(True))
    Storm(open_store, diaries, 3, dies).blow(12)
    assert len(lines()) >= 2
    with pytest.raises(AssertionError, match=said):
        storm.check(open_store, diaries, lines)


# --- a curator that is paused between witness and commit ------------------------------------------


def planned(store: SqlStore, clock: Any = None, **options: Any) -> Trial:
    """Blocks of one participant, in a random order."""
    row = policy("dp-imed", epsilon=1.0, first=1)
    options = {"missing": 0.0, "assignment": Assignment(window=1), **options}
    options.setdefault("deadline", 5.0)
    return Trial(row, ["A", "B"], path=store, clock=clock, **options)


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], SqlStore]:
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "t.db")
    url = request.getfixturevalue("url")
    return lambda: PostgresStore(url, "t")


def test_a_paused_curator_draws_nothing_twice(
    make: Callable[[], SqlStore], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops after it has noted a release in the witness; others go on, or wait, and adopt that
    release; then it goes on too."""
    monkeypatch.setattr(_server, "PATIENCE", 1.0)
    monkeypatch.setattr(_database, "PATIENCE", 0.5)
    trial = planned(make(), clock)
    trial.assign("x")
    trial.record("x", 1.0)
    trial.close()
    clock.now += 5.0
    testify = Transactions.testify
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # the curator that is paused
        with suppress(BaseException):
            os.close(reading)

            def paused(base: Any, text: str) -> None:
                testify(base, text)
                os.kill(os.getpid(), signal.SIGSTOP)

            Transactions.testify = paused  # type: ignore[method-assign, assignment]
            other = Trial.load(make(), clock=clock)
            with suppress(TrialError):
                other.settle()
            other.close()
            with Trial.load(make(), clock=clock) as again:
                os.write(writing, repr(again.report()["course"]).encode())
        os._exit(0)
    os.close(writing)
    try:
        assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
        shown = ""
        # a file is held by whoever is paused
        with suppress(TrialError), Trial.load(make(), clock=clock) as other:
            shown = repr(other.report()["course"])
        os.kill(child, signal.SIGCONT)
        told = os.read(reading, 1 << 16).decode()
        os.waitpid(child, 0)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.close(reading)
    with Trial.load(make(), clock=clock) as last:
        found = repr(last.report()["course"])
        assert last.report()["releases"] == 1
        assert last.status == "collecting"
        assert last._store._base.witnessed() is not None  # type: ignore[attr-defined]
        assert len(last._store._base.witnessed()) == 1  # type: ignore[attr-defined]
    assert told == found
    assert shown in ("", found)


# --- a full disk ----------------------------------------------------------------------------------


def test_on_a_full_disk_nothing_is_half_done_and_the_trial_goes_on_when_there_is_room(
    tmp_path: Path, clock: Clock, noise: CountedNoise, no_sync: None
) -> None:
    path = tmp_path / "t.db"
    row = policy("dp-imed", epsilon=1.0, first=1000)
    with Trial(row, 2, path=path, deadline=5.0, missing=0.0, clock=clock) as trial:
        base: Any = trial._store._base  # type: ignore[attr-defined]
        (pages,) = base.one("PRAGMA page_count")
        base.run(f"PRAGMA max_page_count = {pages + 6}")
        arms: dict[str, Any] = {}

        def come() -> None:
            for number in range(2000):
                unit = f"participant-{number:06}"
                arms[unit] = trial.assign(unit)

        with pytest.raises(TrialError, match=r"is full; nothing changed: make room"):
            come()
        many = len(arms)
        assert 5 < many < 2000
        with pytest.raises(TrialError, match="is full"):
            trial.assign_many([f"late-{number:06}" for number in range(500)])
        for unit in list(arms)[:5]:  # what needs no room goes on
            trial.record(unit, 1.0)
        assert trial.report()["assigned"] == many
        assert f"participant-{many:06}" not in trial
        base.run(f"PRAGMA max_page_count = {1 << 20}")
        trial.assign_many([f"late-{number:06}" for number in range(500)])
        clock.now += 5.0
        trial.finish()
        clock.now += 5.0
        assert trial.status == "finished"
    with Trial.load(path, clock=clock) as again:
        assert again.report()["assigned"] == many + 500
        assert {unit: again.assign(unit) for unit in arms} == arms
        sums = [arm["mean"] * arm["size"] for arm in again.report()["arms"] or () if arm["mean"]]
        assert sum(sums) - sum(noise.drawn) / 2**20 == pytest.approx(5.0, abs=1e-6)


# --- a replica that is promoted -------------------------------------------------------------------


def come(trial: Trial, names: str) -> None:
    """People, until a block waits for its release."""
    for number in range(100):
        trial.assign(f"{names}-{number}")
        trial.record(f"{names}-{number}", 1.0)
        if trial.report()["next_release"] is not None:
            return
    raise AssertionError("no block is full")


@pytest.fixture
def primary() -> Iterator[Postgres]:
    """A server of its own, which is killed."""
    needed()
    with running() as own:
        yield own


def test_a_promoted_replica_is_fenced_unless_its_witness_says_that_it_lacks_nothing(
    primary: Postgres, clock: Clock, noise: CountedNoise, tmp_path: Path
) -> None:
    """Streaming replication by PostgreSQL itself; the last releases never reach the replica."""
    url = primary.database()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    places = {"here": None, "whole": elsewhere / "whole", "stale": elsewhere / "stale"}
    trials = {
        name: planned(PostgresStore(url, name, witness=place), clock)
        for name, place in places.items()
    }

    def released(names: list[str], unit: str) -> None:
        for name in names:
            come(trials[name], unit)
        clock.now += 5.0
        for name in names:
            assert trials[name].settle()

    folder = primary.folder.parent / "replica"
    folder.mkdir(mode=0o700)
    shutil.chown(folder, primary.folder.owner(), primary.folder.group())
    released(list(trials), "x")
    primary.run("pg_basebackup", "-d", url, "-D", str(folder), "-R", "-X", "stream", "-c", "fast")
    for socket in folder.glob(".*"):  # they lie in the folder of the server, and were copied
        socket.unlink()
    replica = Postgres(folder, "")
    try:
        released(["here", "whole"], "y")
        with replica.connected() as other:
            other.execute("SELECT 1")
        primary.caught_up()
        replica.stop("fast")
        released(["stale"], "y")
        released(["stale"], "z")
        for trial in trials.values():
            trial.close()
        primary.stop("kill")
        replica.start()
        replica.run("pg_ctl", "-w", "-D", str(folder), "promote")
        promoted = replica.address(url)
        drawn = len(noise.drawn)
        for name, fence in (("here", "promoted"), ("stale", "old copy"), ("whole", "")):
            with Trial.load(PostgresStore(promoted, name), clock=clock) as trial:
                report = trial.report()
                assert fence in report.get("fence", "none")
                assert (report["status"] == "fenced") is bool(fence)
                if fence:
                    with pytest.raises(TrialError, match="fenced"):
                        trial.assign("new")
                else:
                    come(trial, "new")
                    clock.now += 5.0
                    assert trial.settle()
        assert len(noise.drawn) == drawn + 1
    finally:
        replica._server.cleanup_mode = "stop"
        with suppress(Exception):
            replica.stop("immediate")
