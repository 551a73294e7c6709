"""A crash between any two steps: kill the process, or pull the plug, at any statement.

Three worlds after a crash: "kill" keeps all that was written, "plug" only what was synced, and
"mixed" that and a part of what was written to the log since, torn off anywhere.
In all of them, whatever a call has acknowledged must still be there, no release may be
drawn twice, and no outcome of a released batch may be on disk once the trial is loaded.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_cases import (
    CountedNoise,
    Keys,
    batch_trial,
    keys_in_use,
    keys_on_disk,
    open_block,
    units_in,
)
from live_disk import THOROUGH, WORLDS, Crash, Disk, off_disk, on_disk

from discreet.errors import ConflictingOutcome, InvalidArgument, TrialError
from discreet.live import Trial
from discreet.live.stores import SqliteStore
from discreet.live.stores import _database as database
from discreet.live.stores import _seal as seal
from discreet.policies import policy
from discreet.privacy._source import SECURE


class Witness:
    """Goes through a trial call by call, remembers what was acknowledged and shown."""

    def __init__(self, path: Path, keys: Keys) -> None:
        self.path, self.keys = path, keys
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
        if is_a_trial(self.path):
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
        block, full = open_block(trial), trial._run.waits
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
        """Every key but those in use is gone, and with it all that was sealed under it."""
        used = keys_in_use(self.path)
        assert len(used) == 1 + len(trial._store.blocks), "of every block, and of the ledger"
        assert set(keys_on_disk(self.path.parent, self.keys.made)) <= used, (
            "it was released long ago"
        )
        assert {path.name for path in self.path.parent.iterdir()} <= {
            self.path.name, f"{self.path.name}-wal", f"{self.path.name}-shm",
            f"{self.path.name}.witness",
        }  # fmt: skip


def crash_once(witness: Witness, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run on that disk; whether it crashed."""
    on_disk(monkeypatch, disk)
    try:
        witness.run()
    except Crash:
        pass
    finally:
        off_disk(monkeypatch)
    return disk.crashed


def run_to_the_end(witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run without a crash (and without waiting for the real disk)."""
    assert not crash_once(witness, Disk(witness.path.parent), monkeypatch)


@pytest.mark.parametrize("world", WORLDS)
def test_a_crash_at_any_operation_breaks_no_promise(
    world: str, tmp_path: Path, noise: CountedNoise, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_at, counts = 0 if THOROUGH else WORLDS.index(world), []
    while True:
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        witness = Witness(folder / "trial.db", keys)
        disk = Disk(folder, crash_at)
        crashed = crash_once(witness, disk, monkeypatch)
        if crashed:
            disk.after_crash(world)
        run_to_the_end(witness, monkeypatch)
        assert sorted(witness.arm_of) == sorted(witness.units)
        counts.append(len(witness.shown))
        if not crashed:
            break
        crash_at += 1 if THOROUGH else 2 * len(WORLDS) + 1
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
    keys: Keys,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for crash_at in range(20, 1000, 1 if THOROUGH else 17 * every):
        for again_at in range(0, 13, 1 if THOROUGH else 3 if every > 1 else 4):
            folder = tmp_path / f"{crash_at}-{again_at}"
            folder.mkdir()
            witness = Witness(folder / "trial.db", keys)
            disk = Disk(folder, crash_at)
            if not crash_once(witness, disk, monkeypatch):
                assert crash_at > 60, "the scenario has too few operations to be a test"
                return
            disk.after_crash(first)
            disk = Disk(folder, again_at, disk if first == "kill" else None)
            assert crash_once(witness, disk, monkeypatch)
            disk.after_crash(second)
            run_to_the_end(witness, monkeypatch)


def two_commits(store: SqliteStore, block: str) -> None:
    ERASE(store, block)
    store._base.run("COMMIT")
    store._base.begin()


def keep_the_key(store: SqliteStore, block: str) -> None:
    place = (store._trial, block)
    store._base.run("DELETE FROM open_blocks WHERE trial = ? AND block = ?", place)
    store._rows.pop(block)


ERASE = SqliteStore._erase
SABOTAGE: dict[str, tuple[Any, str, Any]] = {
    "none": (SqliteStore, "_erase", ERASE),
    "commits are not synced": (database, "SYNCHRONOUS", "NORMAL"),
    "outcomes are erased before the state is stored": (SqliteStore, "_erase", two_commits),
    "old keys stay": (SqliteStore, "_erase", keep_the_key),
    "the log is not emptied": (database.Database, "clean", lambda base: None),
    "the ledger keeps its key": (seal, "new_key", lambda: b"k" * seal.KEY),
}


@pytest.mark.parametrize("case", SABOTAGE)
def test_sabotage_is_noticed(
    case: str, tmp_path: Path, noise: CountedNoise, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness can fail: leave one precaution out, and some crash breaks a promise."""
    monkeypatch.setattr(*SABOTAGE[case])
    if case == "the ledger keeps its key":
        keys.made.append(b"k" * seal.KEY)
    noticed = 0
    for crash_at in range(20, 200, 8):
        folder = tmp_path / str(crash_at)
        folder.mkdir()
        witness = Witness(folder / "trial.db", keys)
        disk = Disk(folder, crash_at)
        try:
            crash_once(witness, disk, monkeypatch)
            disk.after_crash("plug")
            run_to_the_end(witness, monkeypatch)
        except (AssertionError, ValueError, TrialError, KeyError):
            noticed += 1
    assert noticed == 0 if case == "none" else noticed >= 3


def test_a_second_draw_would_be_noticed(
    tmp_path: Path, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness can fail: a release that is shown before it is stored is drawn again."""
    noise = CountedNoise()
    monkeypatch.setattr("discreet.privacy._secure.laplace", noise)
    witness, again = (Witness(tmp_path / name / "trial.db", keys) for name in ("one", "other"))
    for each in (witness, again):
        each.path.parent.mkdir()
        run_to_the_end(each, monkeypatch)
    witness.shown = again.shown  # as if it had seen the other's releases
    with pytest.raises(AssertionError, match="released twice"):
        witness.run()


@pytest.mark.parametrize("world", WORLDS)
def test_saving_midway_is_all_or_nothing(
    world: str, tmp_path: Path, noise: CountedNoise, keys: Keys, monkeypatch: pytest.MonkeyPatch
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
        on_disk(monkeypatch, disk)
        try:
            trial.save(folder / "trial.db")
        except Crash:
            pass
        finally:
            off_disk(monkeypatch)
        members = {unit: trial._store.member(unit) for unit in range(6)} if disk.crashed else {}
        open_blocks = set(trial._store.blocks)
        with suppress(Crash):
            trial.close()
        if disk.crashed:
            disk.after_crash(world)
        if is_a_trial(folder / "trial.db"):
            with Trial.load(folder / "trial.db") as loaded:
                assert loaded.report() == expected
                assert open_block(loaded).outcomes == outcomes
                for unit, other in members.items():
                    one = loaded._store.member(unit)
                    assert one is not None
                    assert other is not None
                    assert one[:2] == other[:2]
                    if other.block in open_blocks:
                        assert one == other
        else:
            assert disk.crashed
        if not disk.crashed:
            break
        crash_at += 1
    assert crash_at >= 8


def is_a_trial(path: Path) -> bool:
    """Whether a file is there, and finished: one that was cut short says that it is none."""
    if not path.exists():
        return False
    try:
        Trial.load(path).close()
    except InvalidArgument as error:
        return "nobody was assigned" not in str(error)
    return True


def test_after_a_failed_write_nothing_has_changed_and_the_trial_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trial.db"
    trial = batch_trial(policy("adap-klucb", epsilon=1.0), 2, path=path)
    trial.assign("x")
    run = database.Database.run

    def full(base: database.Database, statement: str, values: Any = ()) -> Any:
        if statement == "COMMIT":
            raise base._refusal(sqlite3.OperationalError("database or disk is full"))
        return run(base, statement, values)

    monkeypatch.setattr(database.Database, "run", full)
    with pytest.raises(TrialError, match="disk is full; nothing changed"):
        trial.record("x", 1.0)
    monkeypatch.undo()
    assert not open_block(trial).outcomes
    assert trial.status == "settling"
    trial.record("x", 1.0)
    assert trial.report()["releases"] == 1
    trial.close()
