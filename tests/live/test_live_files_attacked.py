"""Files under attack: planted links, swapped locks, second owners, wide modes, old versions."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock, klucb_trial

import discreet
import discreet.linear as linear
from discreet.errors import (
    ConflictingOutcome,
    DamagedFile,
    InvalidArgument,
    TrialError,
    UnknownUnit,
)
from discreet.live import Trial
from discreet.live.stores import disk, files

pytestmark = pytest.mark.usefixtures("no_sync")
DATA = Path(__file__).parent / "data" / "version1"


def settled(trial: Trial, units: int, start: int = 0) -> None:
    for unit in range(start, start + units):
        trial.assign(unit)
        trial.record(unit, 0.5)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
@pytest.mark.parametrize("name", ["outcomes-1", "outcomes-2", "assignments", "new"])
def test_planted_links_are_never_written_through(kind: str, name: str, tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "trial.db"
    victim.write_bytes(b"one\ntwo\n")
    planted = tmp_path / f"trial.db.{name}"
    planted.symlink_to(victim) if kind == "symbolic" else os.link(victim, planted)
    try:
        with klucb_trial(path=path) as trial:
            settled(trial, 5)
    except (OSError, InvalidArgument, DamagedFile):
        pass
    assert victim.read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("crash", [False, True])
def test_an_erased_outcome_is_gone_by_its_other_names_too(
    crash: bool, tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup by hard links, or a program that has the file open, would go on having it."""
    path, kept = tmp_path / "trial.db", tmp_path / "kept"
    victim, planted = tmp_path / "victim", tmp_path / "trial.db.outcomes-99"
    trial = klucb_trial(path=path, deadline=5.0, clock=clock)
    trial.assign("x")
    trial.record("x", 0.7)
    os.link(tmp_path / "trial.db.outcomes-1", kept)
    opened = os.open(kept, os.O_RDONLY)
    assert str(round(0.7 * 2**20)).encode() in os.pread(opened, 1000, 0)
    clock.now += 5.0
    if crash:  # between the new snapshot and the end of the old outcomes
        with monkeypatch.context() as crashing:
            crashing.setattr(disk.Folder, "remove", lambda *arguments: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                trial.settle()
        trial.close()
        victim.write_bytes(b"one\n")  # what else has such a name is removed, but not emptied
        victim.chmod(0o644)
        os.link(victim, planted)
        trial = Trial.load(path, clock=clock)
        assert not planted.exists()
        assert victim.read_bytes() == b"one\n"
        assert stat.S_IMODE(victim.stat().st_mode) == 0o644
    else:
        assert trial.settle()
    assert trial.report()["releases"] == 1
    assert os.pread(opened, 1000, 0) == kept.read_bytes() == b""
    os.close(opened)
    trial.close()


@pytest.mark.parametrize("ending", ["new", "lock", "assignments", "outcomes-2"])
def test_a_trial_is_not_stored_under_a_name_that_another_removes(
    ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"trial.db.{ending}"
    with pytest.raises(InvalidArgument, match="like the files that lie beside a trial"):
        klucb_trial(path=path)
    with klucb_trial() as trial, pytest.raises(InvalidArgument, match="lie beside a trial"):
        trial.save(path)
    assert not list(tmp_path.iterdir())


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "trial.db", tmp_path / "elsewhere"
    with klucb_trial(path=path) as trial:
        settled(trial, 3)
    for name in ("trial.db", "trial.db.assignments"):
        file = tmp_path / name
        file.rename(elsewhere)
        file.symlink_to(elsewhere)
        with pytest.raises(DamagedFile, match="link"):
            Trial.load(path)
        file.unlink()
        elsewhere.rename(file)
    Trial.load(path).close()


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


# --- one owner ------------------------------------------------------------------------------------


def test_a_linked_folder_is_the_same_folder(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    with klucb_trial(path=real / "trial.db"), pytest.raises(TrialError, match="already open"):
        Trial.load(link / "trial.db")
    with Trial.load(link / "trial.db"), pytest.raises(TrialError, match="already open"):
        Trial.load(real / "trial.db")


def test_there_is_no_lock_to_remove(tmp_path: Path) -> None:
    path = tmp_path / "trial.db"
    with klucb_trial(path=path) as trial:
        settled(trial, 3)
        for file in tmp_path.iterdir():
            if "lock" in file.name:
                file.unlink()
        with pytest.raises(TrialError, match="already open"):
            Trial.load(path)


def test_of_two_owners_after_a_swap_only_one_releases(tmp_path: Path) -> None:
    """The locked file is replaced by a copy, so that a second process finds no lock."""
    path, log = tmp_path / "trial.db", tmp_path / "trial.db.assignments"
    first = klucb_trial(path=path)
    first.assign("x")
    shutil.copy(log, tmp_path / "copy")
    os.replace(tmp_path / "copy", log)
    with Trial.load(path) as second:
        with pytest.raises(TrialError, match="replaced"):
            first.record("x", 1.0)
        with pytest.raises(TrialError):
            first.report()
        second.record("x", 0.0)
        assert second.report()["releases"] == 1
    first.close()


def test_a_snapshot_that_was_put_back_is_not_replaced(tmp_path: Path) -> None:
    """The generation is checked before a release: in place, or as another file."""
    for in_place in (True, False):
        folder = tmp_path / str(in_place)
        folder.mkdir()
        path = folder / "trial.db"
        trial = klucb_trial(path=path)
        trial.assign(0)
        old = path.read_bytes()
        trial.record(0, 0.5)
        trial.assign(1)
        if in_place:
            path.write_bytes(old)
        else:
            (folder / "old").write_bytes(old)
            os.replace(folder / "old", path)
        with pytest.raises(TrialError, match="another snapshot"):
            trial.record(1, 0.5)
        assert path.read_bytes() == old
        trial.close()


def test_a_folder_that_is_renamed_is_still_the_same(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with klucb_trial(path=tmp_path / "a" / "trial.db") as trial:
        (tmp_path / "a").rename(tmp_path / "b")
        (tmp_path / "a").mkdir()
        settled(trial, 5)
        assert not list((tmp_path / "a").iterdir())
    Trial.load(tmp_path / "b" / "trial.db").close()


def test_a_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows, which has neither the lock nor folders that can be opened; memory will do."""
    path = tmp_path / "trial.db"
    klucb_trial(path=path).close()
    before = sorted((file.name, file.read_bytes()) for file in tmp_path.iterdir())
    monkeypatch.setattr(files, "fcntl", None)
    for name in ("O_DIRECTORY", "O_CLOEXEC", "O_NOFOLLOW", "geteuid", "fchmod"):
        monkeypatch.delattr(os, name)
    with pytest.raises(TrialError, match="need a lock"):
        klucb_trial(path=tmp_path / "other.json")
    with pytest.raises(TrialError, match="need a lock"):
        Trial.load(path)
    trial = klucb_trial()
    trial.assign("x")
    with pytest.raises(TrialError, match="need a lock"):
        trial.save(tmp_path / "other.json")
    trial.record("x", 1.0)
    assert trial.report()["releases"] == 1
    monkeypatch.undo()
    assert sorted((file.name, file.read_bytes()) for file in tmp_path.iterdir()) == before
    Trial.load(path).close()


# --- files of version 1 ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(p.name for p in DATA.iterdir()))
def test_files_of_version_1_load_and_go_on(name: str, tmp_path: Path, clock: Clock) -> None:
    shutil.copytree(DATA / name, tmp_path, dirs_exist_ok=True)
    (tmp_path / "trial.db.lock").write_bytes(b"")
    path = tmp_path / "trial.db"
    saved = json.loads((tmp_path / "expected.json").read_text())
    expected: dict[str, Any] = saved["report"]
    with Trial.load(path, clock=clock) as trial:
        report: Any = trial.report()
        for key in set(expected) - {"guarantee", "budget", "recommendation"}:
            assert report[key] == expected[key], key
        if expected.get("recommendation"):
            assert report["recommendation"]["arm"] == expected["recommendation"]["arm"]
        for unit, arm in saved["arms"].items():
            assert trial.assign(int(unit)) == arm
        assert not (tmp_path / "trial.db.lock").exists()
    for turn in range(3):
        with Trial.load(path, clock=clock) as trial:
            if trial.status == "finished":
                assert name == "stopped"
                return
            for number in range(8):
                unit = f"new {turn} {number}"
                actions = [[0.6, 0.1, 0.2], [0.1, 0.7, 0.3]] if "estimate" in expected else None
                trial.assign(unit, actions)
                for waiting in ("no answer yet", "open", 5, unit):
                    with suppress(UnknownUnit, ConflictingOutcome):
                        trial.record(waiting, 0.5)
                clock.now += 60.0
            later = trial.report()
    assert later["releases"] > expected["releases"]
    assert json.loads(path.read_text())["version"] == files.VERSION
    assert len(list(tmp_path.glob("*.outcomes-*"))) == 1


def test_public_names_of_today_still_work(tmp_path: Path) -> None:
    trial = linear.Trial(linear.policy("adac-oful", rho=0.5), 2, dimension=2, horizon=20)
    trial.save(tmp_path / "t.db")
    trial.close()
    with linear.Trial.load(tmp_path / "t.db") as again:
        assert isinstance(again, discreet.Trial)
