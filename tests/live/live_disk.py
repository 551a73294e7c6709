"""A database that crashes when it is told to, and what is left of its files then.

Operations are the statements of a connection that change anything, commits and checkpoints among
them: the process dies before one of them is run, which is after the one before. SQLite syncs its
log at the end of a commit if `synchronous` is FULL, and the file at a checkpoint, so that is what a
pulled plug leaves. The witness is synced by itself: an operation before, and one after.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.live.stores import _database as database
from discreet.live.stores import _witness as witness

WORLDS = ["kill", "plug", "mixed"]
THOROUGH = os.environ.get("DISCREET_CRASHES") == "all"
"""Crash at every operation, where a test leaves some out: `make crashes`."""
SYNC = "PRAGMA synchronous="


class Crash(BaseException):
    """The process ends here."""


class Disk:
    """A folder whose database crashes at the k-th operation, and what was safe by then."""

    def __init__(
        self, folder: Path, crash_at: int | None = None, before: Disk | None = None
    ) -> None:
        self.folder, self.crash_at, self.operations = folder, crash_at, 0
        self.crashed = False
        self.connections: list[sqlite3.Connection] = []
        self.left: dict[str, bytes] = {}
        self.safe = self.files()
        if before is not None:  # only the process died: what was not safe still is not
            self.safe = before.safe

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def module(self) -> Any:
        """In place of `sqlite3`."""
        names = {name: getattr(sqlite3, name) for name in dir(sqlite3) if name[0] != "_"}
        return SimpleNamespace(**{**names, "connect": self.connect})

    def connect(self, *arguments: Any, **options: Any) -> Any:
        self.step()
        connection = sqlite3.connect(*arguments, **options)
        self.connections.append(connection)
        return Crashing(self, connection)

    def step(self) -> None:
        if not self.crashed and self.operations == self.crash_at:
            self.crashed = True
            self.left = self.files()
        if self.crashed:
            raise Crash
        self.operations += 1

    def sync(self, descriptor: int) -> None:
        """In place of `witness.sync`: one of the files, whichever it is."""
        self.step()
        number = os.fstat(descriptor).st_ino
        for path in self.folder.iterdir():
            if path.stat().st_ino == number:
                self.safe = {**self.safe, path.name: path.read_bytes()}
        self.step()

    def after_crash(self, world: str) -> None:
        """What is left on the disk; a file stays the file that it was."""
        for connection in self.connections:
            connection.close()
        left = self.left
        if world != "kill":
            left = dict.fromkeys(self.left, b"") | self.safe  # names are synced when they are made
            left = {name: data for name, data in left.items() if not name.endswith("-shm")}
        if world == "mixed":  # a part of what was written to the log since
            for name, data in self.left.items():
                if name.endswith("-wal"):
                    safe = len(left.get(name, b""))
                    left[name] = data[: safe + (len(data) - safe) // 2]
        for path in self.folder.iterdir():
            if path.name not in left:
                path.unlink()
        for name, data in left.items():
            (self.folder / name).write_bytes(data)
            (self.folder / name).chmod(0o600)


class Crashing:
    """A connection on such a disk."""

    def __init__(self, disk: Disk, connection: sqlite3.Connection) -> None:
        self.disk, self.connection, self.synced = disk, connection, False

    @property
    def in_transaction(self) -> bool:
        return self.connection.in_transaction

    def execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        if not statement.lstrip().startswith(("SELECT", "ROLLBACK", "BEGIN")):
            self.disk.step()
        if self.disk.crashed:
            raise Crash
        if statement.startswith(SYNC):  # the test does not wait for the real disk
            self.synced, statement = statement == f"{SYNC}FULL", f"{SYNC}OFF"
        cursor = self.connection.execute(statement, values)
        if self.synced and (statement == "COMMIT" or "wal_checkpoint" in statement):
            self.disk.safe = self.disk.files()
        return cursor

    def close(self) -> None:
        if not self.disk.crashed:
            self.connection.close()
            self.disk.safe = self.disk.files()


def on_disk(monkeypatch: pytest.MonkeyPatch, disk: Disk) -> None:
    """Databases are opened on that disk from here on."""
    monkeypatch.setattr(database, "sqlite3", disk.module())
    monkeypatch.setattr(witness, "sync", disk.sync)


def off_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """And on the real one again."""
    monkeypatch.setattr(database, "sqlite3", sqlite3)
    monkeypatch.setattr(witness, "sync", os.fsync)
