"""A crash between any two steps: kill the process, or pull the plug, at every operation on files.

Three worlds after a crash: "kill" keeps all that was written, "plug" only what was synced, names of
files included, and "mixed" that and the last renamings, for a disk may reorder what was not synced.
In all of them, whatever a call has acknowledged must still be there, no release may be
drawn twice, and no outcome of a released batch may be on disk once the trial is loaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_cases import CountedNoise, batch_trial, open_block, units_in
from live_disk import THOROUGH, WORLDS, Crash, Disk

from discreet.errors import ConflictingOutcome
from discreet.live import Trial
from discreet.live.stores import FileStore, MemoryStore
from discreet.live.stores import _disk as disk_module
from discreet.policies import policy
from discreet.privacy._source import SECURE


class Witness:
    """Goes through a trial call by call, remembers what was acknowledged and shown."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.arm_of: dict[str, Any] = {}
        self.outcome_of: dict[str, float] = {}
        self.shown: dict[tuple[Any, int], float] = {}
        self.began = False
        self.last_assigned = 0

    units = tuple(f"unit-{number}" for number in range(9))

    def outcome(self, unit: str) -> float:
        return 0.1 + 0.0123 * self.units.index(unit)

    def run(self) -> None:
        """From wherever the trial stands to its end; calls that were cut short are repeated."""
        if self.path.exists():
            trial = Trial.load(self.path)
            self.check(trial)
        else:
            assert not self.began, "the trial is gone"
            trial = batch_trial(policy("adap-klucb", epsilon=1.0), ["A", "B"], path=self.path)
        self.began = True
        with trial:
            for first, second in zip(self.units, [*self.units[1:], None], strict=True):
                for unit in (first, second):  # the second arrives early, perhaps while one settles
                    if unit is not None:
                        arm = trial.assign(unit)
                        assert self.arm_of.setdefault(unit, arm) == arm
                        self.look(trial)
                trial.record(first, self.outcome(first))
                self.outcome_of[first] = self.outcome(first)
                self.look(trial)

    def look(self, trial: Trial) -> None:
        """What is shown once must never be shown otherwise."""
        report = trial.report()
        for row in report["arms"]:
            if row["releases"]:
                seen = self.shown.setdefault((row["arm"], row["releases"]), row["mean"])
                assert seen == row["mean"], "a batch was released twice"
            earlier = [number for arm, number in self.shown if arm == row["arm"]]
            assert row["releases"] == max(earlier, default=0), "a release was forgotten"

    def check(self, trial: Trial) -> None:
        """Just loaded: everything acknowledged is there, and nothing that must not be."""
        for unit, arm in self.arm_of.items():
            member = trial._store.member(unit)
            assert member is not None, "an assignment was lost"
            assert trial.arms[member.arm] == arm, "an assignment was lost"
        block, full = open_block(trial), trial._run.is_full(len(units_in(trial)))
        for unit, outcome in self.outcome_of.items():
            if unit in units_in(trial):
                slot = units_in(trial).index(unit)
                assert block.outcomes.get(slot) == round(outcome * SECURE.resolution)
                if not full or len(block.outcomes) < len(block.places):
                    with pytest.raises(ConflictingOutcome):
                        trial.record(unit, 1.0 - outcome)
        self.check_disk(trial)
        self.look(trial)
        self.check_disk(trial)

    def check_disk(self, trial: Trial) -> None:
        members = units_in(trial)
        raw = {round(self.outcome(unit) * SECURE.resolution): unit for unit in self.units}
        logs = 0
        for path in self.path.parent.iterdir():
            if path.name.endswith((".lock", ".assignments")):
                continue
            if ".outcomes-" in path.name:
                logs += 1
                for line in map(json.loads, path.read_text().splitlines()[1:]):
                    if isinstance(line, dict):
                        continue  # how the block was begun
                    slot, value = line
                    assert members[slot : slot + 1] == [raw[value]], "it was released long ago"
            else:
                assert path == self.path, f"{path.name} was left behind"
        assert logs == 1


def crash_once(witness: Witness, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run on that disk; whether it crashed."""
    monkeypatch.setattr(disk_module, "os", disk)
    try:
        witness.run()
    except Crash:
        pass
    finally:
        monkeypatch.setattr(disk_module, "os", os)
    return disk.crashed


def run_to_the_end(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without a crash (and without waiting for the real disk)."""
    assert not crash_once(witness, Disk(witness.path.parent), monkeypatch)


@pytest.mark.parametrize("world", WORLDS)
def test_a_crash_at_any_operation_breaks_no_promise(
    world: str, tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at, counts = 0, []
    while True:
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        witness = Witness(folder / "trial.json")
        disk = Disk(folder, crash_at)
        crashed = crash_once(witness, disk, monkeypatch)
        if crashed:
            disk.after_crash(world)
        run_to_the_end(witness, monkeypatch)
        assert sorted(witness.arm_of) == sorted(witness.units)
        counts.append(len(witness.shown))
        if not crashed:
            break
        crash_at += 1
    assert crash_at > 60, "the scenario has too few operations to be a test"
    assert min(counts) >= 4, "the scenario has too few releases to be a test"


@pytest.mark.parametrize(
    ("first", "second", "every"), [("kill", "kill", 5), ("plug", "plug", 5), ("kill", "plug", 1)]
)
def test_a_crash_while_loading_after_a_crash_breaks_no_promise(
    first: str,
    second: str,
    every: int,
    tmp_path: Path,
    noise: CountedNoise,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for crash_at in range(20, 76, 1 if THOROUGH else every):
        for again_at in range(0, 13, 1 if THOROUGH or every > 1 else 4):
            folder = tmp_path / f"{crash_at}-{again_at}"
            folder.mkdir()
            witness = Witness(folder / "trial.json")
            disk = Disk(folder, crash_at)
            assert crash_once(witness, disk, monkeypatch)
            disk.after_crash(first)
            disk = Disk(folder, again_at, disk if first == "kill" else None)
            assert crash_once(witness, disk, monkeypatch)
            disk.after_crash(second)
            run_to_the_end(witness, monkeypatch)


def in_place(folder: disk_module.Folder, name: str, data: bytes) -> None:
    (folder.path / name).write_bytes(data[:200])


def all_but_outcomes(folder: disk_module.Folder, names: list[str], mark: bytes = b"") -> None:
    for name in names:
        if ".outcomes-" not in name or not (folder.path / "trial.json").exists():
            disk_module.os.unlink(name, dir_fd=folder.descriptor)


SABOTAGE: dict[str, tuple[Any, str, Callable[..., None]]] = {
    "lines are not synced": (disk_module, "append", disk_module.write),
    "names are not synced": (disk_module.Folder, "sync", lambda folder: None),
    "old outcomes stay": (disk_module.Folder, "remove", all_but_outcomes),
    "snapshots are written in place": (disk_module.Folder, "replace", in_place),
}


@pytest.mark.parametrize("case", SABOTAGE)
def test_sabotage_is_noticed(
    case: str, tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness can fail: leave one precaution out, and some crash breaks a promise."""
    monkeypatch.setattr(*SABOTAGE[case])
    noticed = 0
    for crash_at in range(15, 60, 3):
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        witness = Witness(folder / "trial.json")
        disk = Disk(folder, crash_at)
        try:
            crash_once(witness, disk, monkeypatch)
            disk.after_crash("plug")
            run_to_the_end(witness, monkeypatch)
        except (AssertionError, ValueError):
            noticed += 1
    assert noticed >= 3


def test_a_second_draw_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness can fail: a release that is shown before it is stored is drawn again."""
    noise = CountedNoise()
    monkeypatch.setattr("discreet.privacy._secure.laplace", noise)
    monkeypatch.setattr(FileStore, "release", MemoryStore.release)
    monkeypatch.setattr(FileStore, "begin", MemoryStore.begin)
    monkeypatch.setattr(FileStore, "record", MemoryStore.record)
    witness = Witness(tmp_path / "trial.json")
    witness.run()
    with pytest.raises((AssertionError, ValueError)):
        witness.run()


@pytest.mark.parametrize("world", WORLDS)
def test_saving_midway_is_all_or_nothing(
    world: str, tmp_path: Path, noise: CountedNoise, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at = 0
    while True:
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        trial = batch_trial(policy("adap-klucb", epsilon=1.0), ["A", "B"], contributions=2)
        for unit in range(6):
            trial.assign(unit)
            if unit < 5:
                trial.record(unit, 0.5)
        assert trial.status == "collecting"
        expected, outcomes = trial.report(), dict(open_block(trial).outcomes)
        disk = Disk(folder, crash_at)
        monkeypatch.setattr(disk_module, "os", disk)
        try:
            trial.save(folder / "trial.json")
        except Crash:
            pass
        finally:
            monkeypatch.setattr(disk_module, "os", os)
        trial.close()
        if disk.crashed:
            disk.after_crash(world)
        if (folder / "trial.json").exists():
            with Trial.load(folder / "trial.json") as loaded:
                assert loaded.report() == expected
                assert open_block(loaded).outcomes == outcomes
                for unit in range(6):
                    one, other = loaded._store.member(unit), trial._store.member(unit)
                    assert one is not None
                    assert other is not None
                    assert one[:2] == other[:2]
                    if other.block in trial._store.blocks:
                        assert one == other
        else:
            assert disk.crashed
        if not disk.crashed:
            break
        crash_at += 1
    assert crash_at >= 8


def test_after_a_failed_write_the_trial_refuses_and_can_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trial.json"
    trial = batch_trial(policy("adap-klucb", epsilon=1.0), 2, path=path)
    trial.assign("x")

    def full(descriptor: int, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_module, "append", full)
    with pytest.raises(OSError, match="No space"):
        trial.record("x", 1.0)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="load it again"):
        trial.record("x", 1.0)
    trial.close()
    with Trial.load(path) as trial:
        assert trial.status == "settling"
        trial.record("x", 1.0)
        assert trial.report()["releases"] == 1
