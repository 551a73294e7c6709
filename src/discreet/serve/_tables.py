"""Where the register lies: a SQLite file, or a schema of a PostgreSQL database.

Both have the same tables, made by the numbered files in `sql`. What an earlier version has made is
brought up to date when it is opened: the files that it lacks are applied, in one transaction.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

from ..errors import DamagedFile
from ..live.stores._server import driver, with_placeholders
from ._beat import NotStored
from ._secrets import OWNER_ONLY

APPLICATION = 0x64697376
SCHEMA = "discreet_service"
LOCK = 1684632438
"""Who makes the tables has this lock."""
PATIENCE = 10
"""Seconds to wait for a server, or for another process that writes."""


class Tables(Protocol):
    """A place of the register. Each call of `step` is one transaction; no two of them overlap,
    whichever processes make them."""

    place: str
    lock: threading.RLock

    def run(self, statement: str, values: Sequence[object] = ()) -> Any:
        """A statement; what it finds."""

    def step(self) -> Any:
        """One transaction, as a context."""

    def changes(self) -> int:
        """A number that changes when another process has written."""

    def check(self) -> None:
        """Refuse to continue if the place is not where it was."""

    def close(self) -> None:
        """End the use of this object."""


def schema() -> list[tuple[int, str]]:
    """The numbered files, in their order."""
    files = resources.files(__package__).joinpath("sql").iterdir()
    found = {file.name: file.read_text(encoding="utf-8") for file in files}
    return [(int(name[:3]), found[name]) for name in sorted(found) if name.endswith(".sql")]


def statements(text: str) -> list[str]:
    """Those of a file, without its comments."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    return [one for one in "\n".join(lines).split(";\n") if one.strip()]


class File:
    """A SQLite file, for one process; others may write to it too."""

    def __init__(self, path: Path) -> None:
        self.place, self._path = str(path), path
        self.lock = threading.RLock()
        if not path.exists():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        self._connection = sqlite3.connect(
            path, isolation_level=None, check_same_thread=False, timeout=float(PATIENCE)
        )
        found = os.stat(path)
        self._identity = found.st_dev, found.st_ino
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self.run(f"PRAGMA {setting}")
        self._migrate()

    def _mark(self, name: str) -> int:
        return int(self.run(f"PRAGMA {name}").fetchone()[0])

    def _migrate(self) -> None:
        """Apply the files that are lacking, by a process that is alone with it."""
        files = schema()
        with self.step():
            new = self.run("SELECT 1 FROM sqlite_master").fetchone() is None
            version, mark = self._mark("user_version"), self._mark("application_id")
            if version > files[-1][0] or (not new and mark != APPLICATION):
                raise DamagedFile(
                    f"{self.place} is not the register of a service, or of a later version; "
                    "use the version of discreet that wrote it"
                )
            for number, text in files:
                if number > version:
                    for statement in statements(text):
                        self.run(statement)
                    self.run(f"PRAGMA user_version = {number}")
            if new:
                self.run(f"PRAGMA application_id = {APPLICATION}")

    def run(self, statement: str, values: Sequence[object] = ()) -> Any:
        """A statement; what it finds."""
        return self._connection.execute(statement, values)

    @contextmanager
    def step(self) -> Iterator[None]:
        """One transaction, in a file that is still where it was."""
        with self.lock:
            self.check()
            try:
                self.run("BEGIN IMMEDIATE")
                yield
                self.run("COMMIT")
            except sqlite3.Error as error:
                refusal = NotStored(f"{self.place} could not be written: {type(error).__name__}")
            else:
                return
            finally:
                if self._connection.in_transaction:
                    self.run("ROLLBACK")
            raise refusal

    def changes(self) -> int:
        """A number that changes when another process has written."""
        return self._mark("data_version")

    def check(self) -> None:
        """Refuse a file that was moved, removed or replaced: others may use another."""
        try:
            found = os.stat(self._path)
        except OSError:
            found = None
        if found is None or (found.st_dev, found.st_ino) != self._identity:
            raise NotStored(f"{self.place} was moved, removed or replaced; put it back")

    def close(self) -> None:
        """End the use of this object."""
        with self.lock:
            self._connection.close()


class Database:
    """A schema of a PostgreSQL database, for many processes on several hosts."""

    def __init__(self, url: str) -> None:
        self.place, self._url = "the register in PostgreSQL", url
        self.lock = threading.RLock()
        self._connection: Any = None
        self._migrate()

    def _migrate(self) -> None:
        files = schema()
        with self.lock, self._connected().transaction():
            self.run(f"SELECT pg_advisory_xact_lock({LOCK})")
            self.run(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            self.run("CREATE TABLE IF NOT EXISTS changed(version BIGINT, number BIGINT)")
            found = self.run("SELECT version FROM changed").fetchone()
            version = 0 if found is None else int(found[0])
            if version > files[-1][0]:
                raise DamagedFile(
                    f"{self.place} is of a later version of discreet; use that version"
                )
            for number, text in files:
                if number > version:
                    for statement in statements(text):
                        self.run(_in_words(statement))
            if found is None:
                self.run("INSERT INTO changed VALUES (?, 0)", (files[-1][0],))
            elif version < files[-1][0]:
                self.run("UPDATE changed SET version = ?", (files[-1][0],))

    def _connected(self) -> Any:
        psycopg = driver()
        if self._connection is not None and not self._connection.closed:
            return self._connection
        why = ""
        try:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=PATIENCE,
                options=f"-c search_path={SCHEMA} -c lock_timeout={1000 * PATIENCE} "
                f"-c idle_in_transaction_session_timeout={1000 * PATIENCE}",
            )  # fmt: skip
        except psycopg.Error as error:  # whose text may show the address
            self._connection, why = None, type(error).__name__
        if self._connection is None:
            raise NotStored(
                f"the server of {self.place} cannot be reached ({why}): see whether it runs and "
                "whether its address is right, and try again"
            )
        return self._connection

    def run(self, statement: str, values: Sequence[object] = ()) -> Any:
        """A statement; what it finds."""
        psycopg = driver()
        with self.lock:
            connection = self._connected()
            try:
                return connection.execute(with_placeholders(statement), values or None)
            except psycopg.Error as error:  # whose text may quote values
                why = f"{type(error).__name__}, {error.sqlstate or 'no code'}"
        raise NotStored(f"{self.place} could not be read or written: {why}")

    @contextmanager
    def step(self) -> Iterator[None]:
        """One transaction; others wait for its end."""
        psycopg, why = driver(), ""
        with self.lock:
            try:
                with self._connected().transaction():
                    self.run("UPDATE changed SET number = number + 1")
                    yield
            except psycopg.Error as error:
                why = type(error).__name__
        if why:
            raise NotStored(f"{self.place} could not be written: {why}")

    def changes(self) -> int:
        """A number that changes when another process has written."""
        return int(self.run("SELECT number FROM changed").fetchone()[0])

    def check(self) -> None:
        """Refuse to continue without the server."""
        self.run("SELECT 1")

    def close(self) -> None:
        """End the use of this object."""
        with self.lock, suppress(Exception):
            if self._connection is not None:
                self._connection.close()


def _in_words(statement: str) -> str:
    """As PostgreSQL has its kinds of columns."""
    for ours, theirs in (("REAL", "DOUBLE PRECISION"), ("BLOB", "BYTEA"), ("INTEGER", "BIGINT")):
        statement = statement.replace(f" {ours}", f" {theirs}")
    return statement
