"""Files under attack: planted links, swapped files, wide modes, and what is left of outcomes."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from live_cases import Clock, Keys, keys_in_use, keys_on_disk, klucb_trial

from discreet.errors import DamagedFile, InvalidArgument, TrialError
from discreet.live import Trial
from discreet.live._rules import Member, Place
from discreet.live.stores import SqliteStore
from discreet.testing._stores import STATE, assign, call, release

pytestmark = pytest.mark.usefixtures("no_sync")


def settled(trial: Trial, units: int, start: int = 0) -> None:
    for unit in range(start, start + units):
        trial.assign(unit)
        trial.record(unit, 0.5)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
@pytest.mark.parametrize("name", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("when", ["new", "again"])
def test_planted_links_are_never_written_through(
    when: str, kind: str, name: str, tmp_path: Path
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "trial.db"
    victim.write_bytes(b"one\ntwo\n")
    planted = tmp_path / f"trial.db{name}"
    if when == "again":
        klucb_trial(path=path).close()
        planted.unlink(missing_ok=True)
    planted.symlink_to(victim) if kind == "symbolic" else os.link(victim, planted)
    with pytest.raises((InvalidArgument, DamagedFile)):
        (klucb_trial(path=path) if when == "new" else Trial.load(path)).close()
    assert victim.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
def test_a_trial_is_not_stored_under_a_name_that_another_uses(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"trial.db{ending}"
    with pytest.raises(InvalidArgument, match="like the files that lie beside a trial"):
        klucb_trial(path=path)
    with klucb_trial() as trial, pytest.raises(InvalidArgument, match="lie beside a trial"):
        trial.save(path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("umask", [0o000, 0o777, 0o022])
def test_files_are_the_owners_alone_whatever_the_umask(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        with klucb_trial(path=tmp_path / "trial.db") as trial:
            settled(trial, 5)
            modes = {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o600}


def test_wider_modes_are_tightened(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        settled(trial, 3)
    for file in tmp_path.iterdir():
        file.chmod(0o666)
    with Trial.load(path):
        assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()} == {0o600}


# --- one file -------------------------------------------------------------------------------------


def test_a_linked_folder_is_the_same_folder(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    with klucb_trial(path=real / "trial.db") as one, Trial.load(link / "trial.db") as other:
        one.assign("x")
        other.record("x", 1.0)
        assert one.report() == other.report()


@pytest.mark.parametrize("how", ["copy", "moved", "removed", "folder"])
def test_of_two_files_after_a_swap_only_one_releases(how: str, tmp_path: Path) -> None:
    """The file is replaced by a copy: whoever has the old one open goes no further."""
    folder = tmp_path / "a"
    folder.mkdir()
    path = folder / "trial.db"
    first = klucb_trial(path=path)
    first.assign("x")
    if how == "copy":
        shutil.copy(path, tmp_path / "copy")
        os.replace(tmp_path / "copy", path)
    elif how == "moved":
        path.rename(folder / "elsewhere")
    elif how == "removed":
        path.unlink()
    else:
        folder.rename(tmp_path / "b")
    for refused in (first.report, lambda: first.record("x", 1.0), lambda: first.assign("y")):
        with pytest.raises(TrialError, match="moved, removed or replaced"):
            refused()
    first.close()


# --- what is left of outcomes ---------------------------------------------------------------------


def test_no_outcome_ever_stands_in_the_file_as_it_is(tmp_path: Path, clock: Clock) -> None:
    """Neither before its release nor after, by any of the forms that it has had."""
    with klucb_trial(path=tmp_path / "t.db", deadline=9.0, clock=clock) as trial:
        trial.assign("x")
        trial.record("x", 0.123456)
        steps = round(0.123456 * 2**20)
        forms = (
            str(steps).encode(), steps.to_bytes(8, "big"), steps.to_bytes(4, "big"), b"0.123456",
        )  # fmt: skip
        for _ in range(2):
            data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
            assert not any(form in data for form in forms)
            clock.now += 9.0
            trial.settle()


def test_another_name_of_the_file_holds_no_key_of_a_released_block(
    tmp_path: Path, clock: Clock, keys: Keys
) -> None:
    """A backup by hard links, or a program that has the file open, sees the keys overwritten."""
    path = tmp_path / "t.db"
    with klucb_trial(path=path, deadline=5.0, clock=clock) as trial:
        trial.assign("x")
        trial.record("x", 0.7)
        before = list(keys.made)
        opened = os.open(path, os.O_RDONLY)
        clock.now += 5.0
        assert trial.settle()
        used = keys_in_use(path)
        assert [key for key in before if key not in used]
        data = os.pread(opened, 1 << 24, 0)
        assert not [key for key in before if key in data and key not in used]
        os.close(opened)


def test_keys_are_overwritten_wherever_rows_have_moved(tmp_path: Path, keys: Keys) -> None:
    """Hundreds of blocks open side by side and are released in any order: pages are split, joined
    and written anew, and deleted rows leave copies behind. Of the keys none is left."""
    store = SqliteStore(tmp_path / "t.db")
    store.create(dict(STATE), 2, None)
    order, gone = [f"{7 * n % 400:03}" for n in range(400)], 0
    for number, block in enumerate(order):
        with call(store), store.together():
            for slot in range(1 + number % 5):
                unit = f"{block}-{slot}"
                store.assign(unit, Member(0, 1, block, slot), Place(unit, 0), dict)
                store.record(block, slot, 7)
        if number % 3 == 2:
            release(store, order[number // 2], dict(STATE), None)
            gone += 1
    used = keys_in_use(tmp_path / "t.db")
    assert len(used) == 400 - gone + 1
    assert set(keys_on_disk(tmp_path, keys.made)) == used
    assert len(keys.made) > 400
    store.close()


def test_a_copy_that_a_reader_holds_up_is_erased_later(
    tmp_path: Path, clock: Clock, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the log keeps it from being emptied; the next call does it."""
    import sqlite3

    monkeypatch.setattr("discreet.live.stores._database.PATIENCE", 0.01)
    path = tmp_path / "t.db"
    with klucb_trial(path=path, deadline=5.0, clock=clock) as trial:
        trial.assign("x")
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM places").fetchone()
        clock.now += 5.0
        with suppress(TrialError):
            trial.settle()
        assert set(keys_on_disk(tmp_path, keys.made)) - keys_in_use(path)
        reader.execute("COMMIT")
        reader.close()
        assert trial.report()["releases"] == 1
        assert set(keys_on_disk(tmp_path, keys.made)) == keys_in_use(path)


def test_the_schema_refuses_an_outcome_of_a_released_block(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "t.db")
    store.create(dict(STATE), 2, "1")
    assign(store, "x", Member(0, 1, "1", 0), Place("x", 0))
    release(store, "1", dict(STATE), None)
    with call(store), pytest.raises(TrialError, match="FOREIGN KEY"):
        store._base.run("INSERT INTO pending VALUES (1, '1', 0, x'00', NULL, 0)")
    store.close()
