"""The trail of a trial: what is in it, what is not, and that nobody changes it unseen."""

from __future__ import annotations

import csv
import io
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock, damaged

import discreet
from discreet.errors import DamagedFile
from discreet.live import Assignment, Trial
from discreet.live._rights import as_table
from discreet.live.stores import MemoryStore
from discreet.live.stores._people import chained

pytestmark = pytest.mark.usefixtures("no_sync")


def made(clock: Clock, path: Any = None) -> Trial:
    row = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5, first=1)
    return Trial(
        row, ["A", "B"], deadline=10.0, missing=0.0, clock=clock, path=path,
        assignment=Assignment(window=2),
    )  # fmt: skip


def lived(clock: Clock, path: Path) -> None:
    """A few weeks of a trial."""
    with made(clock, path) as trial:
        for unit in range(12):
            trial.assign(unit)
            trial.record(unit, 1.0)
            clock.now += 2.0
        trial.withdraw(11, by="nurse", reason="asked")
        trial.add("C", by="board", reason="amendment 2")
        trial.drop("B", by="board")
        trial.backup(path.with_name("b.db"), by="operator")
        trial.stop("public", by="sponsor", reason="money")
        clock.now += 20.0
        trial.settle()


@pytest.mark.parametrize("where", ["memory", "file"])
def test_decisions_and_releases_are_in_the_trail_and_no_single_person(
    where: str, tmp_path: Path
) -> None:
    clock = Clock()
    path = None if where == "memory" else tmp_path / "trial.db"
    with made(clock, path) as trial:
        for unit in ("anna", "bert", "carl", "dora"):
            trial.assign(unit)
            trial.record(unit, 0.5)
        trial.withdraw("anna", by="nurse", reason="asked")
        trial.drop("B", by="Dr. Weber", reason="protocol, section 7")
        clock.now += 10.0
        trial.finish(by="sponsor")
        clock.now += 10.0
        trial.settle()
        found = trial.log(verify=True)
        assert [entry["what"] for entry in found[:2]] == ["planned", "arm dropped"]
        assert found[1]["by"] == "Dr. Weber"
        assert found[1]["arm"] == "B"
        assert [entry["number"] for entry in found] == list(range(1, len(found) + 1))
        releases = [entry for entry in found if entry["what"] == "release"]
        assert len(releases) == trial.report()["releases"]
        assert {entry["at"] for entry in releases} <= {1010.0, 1020.0}
        text = str(found)
        assert not [word for word in ("anna", "withdr", "nurse", "record") if word in text]


def test_a_trail_in_memory_goes_on_in_a_file(tmp_path: Path) -> None:
    clock = Clock()
    with made(clock) as trial:
        trial.assign("p")
        trial.drop("B", by="board")
        before = trial.log(verify=True)
        trial.withdraw("p")
        trial.save(tmp_path / "trial.db")
        assert [e["what"] for e in trial.log(verify=True)] == [e["what"] for e in before]
        clock.now += 10.0
        trial.settle()
        assert trial.log(verify=True)[-1]["what"] == "release"
        assert "p" not in trial


CHAINED = "UPDATE trail SET chain = ? WHERE number = ?"


def forged(path: Path, last: int) -> None:
    """Somebody cuts off the end, knows the key and chains what is left anew."""
    with closing(sqlite3.connect(path)) as file:
        (key,) = file.execute("SELECT trail FROM names").fetchone()
        file.execute("DELETE FROM trail WHERE number > ?", (last,))
        chain = "0" * 64
        for number, text in file.execute("SELECT number, entry FROM trail").fetchall():
            chain = chained(key, chain, text)
            file.execute(CHAINED, (chain, number))
        file.execute("UPDATE names SET number = ?, chain = ?", (last, chain))
        file.commit()


def test_whoever_changes_an_entry_is_found_out(tmp_path: Path) -> None:
    for number in range(1, 200):
        clock, path = Clock(), tmp_path / f"trial-{number}.db"
        if number == 1:
            lived(clock, path)
            (tmp_path / "b.db").unlink()
            original = path.read_bytes()
            with Trial.load(path, clock=clock) as trial:
                many = len(trial.log(verify=True))
            assert many >= 10
        if number > many:
            break
        path = tmp_path / "trial-1.db"
        clock.now += 1000.0
        for statement in (
            "UPDATE trail SET entry = replace(entry, '{', '{\"x\": 1, ') WHERE number = ?",
            "DELETE FROM trail WHERE number = ?",
            "UPDATE trail SET number = number + 1000 WHERE number = ?",
            "UPDATE trail SET chain = '" + "0" * 64 + "' WHERE number = ?",
        ):
            path.write_bytes(original)
            damaged(path, statement, number)
            with Trial.load(path, clock=clock) as trial:
                with pytest.raises(DamagedFile, match="trail"):
                    trial.log(verify=True)
                trial.log()


def test_an_end_that_is_cut_off_is_found_out_up_to_the_last_release(tmp_path: Path) -> None:
    """By the witness, even if what is left was chained anew; what came after the last release can
    be cut off by whoever can write to the file, unless its last entry is kept elsewhere."""
    clock, path = Clock(), tmp_path / "trial.db"
    lived(clock, path)
    with Trial.load(path, clock=clock) as trial:
        found = trial.log(verify=True)
    last = max(entry["number"] for entry in found if entry["what"] == "release")
    original = path.read_bytes()
    for number in range(1, last):
        path.write_bytes(original)
        forged(path, number)
        words = "there at a release, by its witness"
        with Trial.load(path, clock=clock) as trial, pytest.raises(DamagedFile, match=words):
            trial.log(verify=True)
    path.write_bytes(original)
    forged(path, last)
    with Trial.load(path, clock=clock) as trial:
        assert trial.log(verify=True) == found[:last]


def test_a_release_that_is_adopted_is_in_the_trail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.live.stores._database import Database

    class Stop(BaseException):
        pass

    clock, path = Clock(), tmp_path / "trial.db"
    trial = made(clock, path)
    trial.assign("p")
    trial.withdraw("p")
    clock.now += 10.0
    testify = Database.testify

    def died(base: Database, text: str) -> None:
        testify(base, text)
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(Database, "testify", died)
        with pytest.raises(Stop):
            trial.settle()
    trial.close()
    with Trial.load(path, clock=clock) as again:
        entries = again.log(verify=True)
        assert [entry["what"] for entry in entries] == ["planned", "release"]
        assert "p" not in again  # forgotten in the step that adopts it


def test_opening_a_verdict_is_in_the_trail() -> None:
    from discreet.confirm import design

    now = [0.0]
    plan = design(participants=40, looks=2, epsilon=4.0, sides=1)
    with Trial(plan, ["drug", "placebo"], deadline=5.0, missing=0.0, clock=lambda: now[0]) as trial:
        assert trial.verdict(by="monitor") is None
        for unit in range(40):
            trial.assign(unit)
        now[0] += 5.0
        trial.verdict(by="monitor", reason="planned look")
        entry = trial.log(verify=True)[-1]
        assert (entry["what"], entry["by"]) == ("verdict opened", "monitor")


def test_the_trail_as_a_table() -> None:
    clock = Clock()
    with made(clock) as trial:
        trial.drop("B", by="=1+1", reason='said "no", twice')
        rows = list(csv.DictReader(io.StringIO(as_table(trial.log()))))
    assert [row["what"] for row in rows] == ["planned", "arm dropped"]
    assert rows[1]["by"] == "'=1+1"
    assert rows[1]["reason"] == 'said "no", twice'
    assert '"arm": "B"' in rows[1]["more"]


def test_a_step_that_fails_leaves_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    def fails(*arguments: object) -> None:
        raise KeyboardInterrupt

    trial = made(clock)
    with monkeypatch.context() as patched:
        patched.setattr(MemoryStore, "release", fails)
        with pytest.raises(KeyboardInterrupt):
            trial.drop("B")
    trial.add("C")
    assert [entry["what"] for entry in trial.log(verify=True)] == ["planned", "arm added"]
