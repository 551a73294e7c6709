"""One SQLite file, and a connection to it.

The file is made exclusively, is never reached through a link, and nobody but its owner can read it,
whatever the umask. Its log (`-wal`) and index (`-shm`) lie beside it. Commits are synced; the log
is emptied after every release, for it holds what was erased.

Its witness (`_witness`) tells whether the file is an old copy of itself; then it is fenced.

A transaction takes the file at its beginning, so that whoever reads decides on what stays true
until it writes. Others wait for it, up to `PATIENCE` seconds.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from ...errors import AlreadyOpen, DamagedFile, DiscreetError, Fenced, InvalidArgument, TrialError
from . import _people as people
from ._witness import ENDING, Line, Witness, is_new

OWNER_ONLY = 0o600
PATIENCE = 10.0
"""Seconds to wait while another process has the trial in its hands: a call takes milliseconds."""
APPLICATION, VERSION = 0x64697363, 3
"""What a file says that it is ("disc"), and in which version of the schema."""
SYNCHRONOUS = "FULL"
"""Every commit is on disk when it returns."""
MAGIC = b"SQLite format 3\0"
BESIDE = ("-wal", "-shm", "-journal")
SCHEMA = """
CREATE TABLE witness(
    id TEXT NOT NULL, place TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL,
    chain TEXT NOT NULL);
CREATE TABLE trials(
    trial INTEGER PRIMARY KEY, settings TEXT NOT NULL, public TEXT NOT NULL, secret BLOB NOT NULL,
    key INTEGER NOT NULL);
CREATE TABLE heads(
    trial INTEGER PRIMARY KEY REFERENCES trials(trial), version INTEGER NOT NULL,
    generation INTEGER NOT NULL, moved TEXT NOT NULL, assigned TEXT NOT NULL);
CREATE TABLE places(
    unit TEXT NOT NULL, turn INTEGER NOT NULL, trial INTEGER NOT NULL REFERENCES trials(trial),
    arm BLOB NOT NULL, block TEXT, slot INTEGER, at REAL, number INTEGER, due REAL,
    PRIMARY KEY(unit, turn, trial)) WITHOUT ROWID;
CREATE UNIQUE INDEX seats ON places(trial, block, slot) WHERE block IS NOT NULL;
CREATE TABLE keys(id INTEGER PRIMARY KEY, key BLOB NOT NULL);
CREATE TABLE free(id INTEGER PRIMARY KEY);
CREATE TABLE open_blocks(
    trial INTEGER NOT NULL REFERENCES trials(trial), block TEXT NOT NULL, key INTEGER NOT NULL,
    filled INTEGER NOT NULL, at REAL, due REAL, answered BLOB NOT NULL,
    PRIMARY KEY(trial, block)) WITHOUT ROWID;
CREATE TABLE pending(
    trial INTEGER NOT NULL, block TEXT NOT NULL, slot INTEGER NOT NULL, outcome BLOB NOT NULL,
    action BLOB, private INTEGER NOT NULL, PRIMARY KEY(trial, block, slot),
    FOREIGN KEY(trial, block) REFERENCES open_blocks(trial, block) ON DELETE CASCADE) WITHOUT ROWID;
"""
"""A place and its row of `pending` come together; an outcome changes that row where it is. A
release deletes its open block: the foreign key erases all that is pending in it, and refuses what
comes later. `witness` is one row: the random name of the trial, where its witness lies ('' for
beside it), which file that is, and how far it is known; of a backup no file."""
NO_FILE = ""
"""In place of the witness of a backup."""


class Database:
    """A file of one trial, or of the trials of all strata."""

    def __init__(self, path: Path, witness: Path | None = None) -> None:
        self.path = path
        self.place = "" if witness is None else str(witness)
        """of the witness of a new file, if it is not to lie beside it"""
        self.witness: Witness | None = None
        self.fence = ""
        """why nothing must be released, if so"""
        self._made: list[Path] = []
        """a witness that goes if the trial is not finished"""
        self.lock = threading.RLock()
        self.users = 0
        """stores that use it; the last one closes it"""
        self.soiled = False
        """whether the log may hold what was erased"""
        self._gathering = False
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._identity: tuple[int, int] | None = None
        """which file it is, whatever has its name later"""

    # --- the file ---------------------------------------------------------------------------------

    def make(self, witnessed: bool = True) -> None:
        """A new file, with empty tables that are stored with the first commit, and its witness."""
        if not self.path.parent.is_dir():
            raise InvalidArgument(
                "path", "lie in an existing folder", str(self.path), "create it first"
            )
        if self.path.name.endswith((*BESIDE, ENDING)):
            raise InvalidArgument(
                "path", "not end like the files that lie beside a trial", str(self.path),
                'use for example "trial.db"',
            )  # fmt: skip
        if os.path.lexists(self.path):
            self._check_unfinished()
        else:
            for ending in (*BESIDE, ENDING):
                if os.path.lexists(f"{self.path}{ending}"):
                    raise InvalidArgument(
                        "path", "have no log of another trial beside it", f"{self.path}{ending}",
                        "put its trial back, or choose another path",
                    )  # fmt: skip
            self._create()
        taken = False
        try:
            self._connect()
            self.begin()
            taken = self.has_tables
            if taken:
                self._refuse_taken()
            for statement in (*SCHEMA.split(";\n"), *people.SCHEMA.split(";\n")):
                self.run(statement)
            self.run(f"PRAGMA application_id = {APPLICATION}")
            self.run(f"PRAGMA user_version = {VERSION}")
            if witnessed:
                self._make_witness()
        except BaseException:
            self._close() if taken else self.discard()
            raise

    def _make_witness(self) -> None:
        path = self._witness_at(self.place)
        self._check_file(str(path))
        if path.is_file() and is_new(path):
            path.unlink()  # left when this trial, or another, was being made
        if os.path.lexists(path) or not path.parent.is_dir():
            raise InvalidArgument(
                "witness", "be a new file in an existing folder", str(path),
                'use for example witness="elsewhere/trial.witness"',
            )  # fmt: skip
        self._made = [path]
        self.witness, line = Witness.make(path, secrets.token_hex(16))
        sync_folder(path.parent)
        self.run(
            "INSERT INTO witness VALUES (?, ?, ?, ?, ?)",
            (self.witness.trial, self.place, self.witness.file, line.end, line.chain),
        )

    def _witness_at(self, place: str) -> Path:
        return Path(place or f"{self.path}{ENDING}")

    def _check_unfinished(self) -> None:
        """Refuse a file that holds anything. One that a crash left when it was made is taken over:
        nobody was assigned."""
        if not self.path.is_file() or self._start() not in (b"", MAGIC):
            self._refuse_taken()
        for ending in ("", *BESIDE):
            self._check_file(f"{self.path}{ending}")

    def _refuse_taken(self) -> NoReturn:
        raise InvalidArgument(
            "path", "be a new file", str(self.path), "go on with it by Trial.load(path)"
        )

    def _start(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(len(MAGIC))

    @property
    def has_tables(self) -> bool:
        """Whether it was finished."""
        return self.one("SELECT 1 FROM sqlite_master LIMIT 1") is not None

    def _create(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(self.path, flags, OWNER_ONLY)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, OWNER_ONLY)  # the umask may have taken away more
        finally:
            os.close(descriptor)
        sync_folder(self.path.parent)

    def discard(self) -> None:
        """Close a file that was not finished, and leave nothing of it."""
        self._close()
        for ending in ("", *BESIDE):
            with suppress(OSError):
                os.unlink(f"{self.path}{ending}")
        for path in self._made:
            with suppress(OSError):
                os.unlink(path)

    def open(self) -> None:
        """The file of a saved trial."""
        if not self.path.is_file():
            raise InvalidArgument(
                "path", "be the file of a saved trial", str(self.path),
                "start one with Trial(path=...)",
            )  # fmt: skip
        for ending in ("", *BESIDE):
            self._check_file(f"{self.path}{ending}")
        start = self._start()
        if start[:1] == b"{":
            raise DamagedFile(
                f"{self.path} is JSON, as the files of trials were before there was a database; go "
                "on with it in the version of discreet that wrote it"
            )
        if start and start != MAGIC:
            raise DamagedFile(f"{self.path} is not the file of a trial: foreign or truncated")
        try:
            self._connect()
            if not self.has_tables:
                raise InvalidArgument(
                    "path", "be the file of a trial that was begun", str(self.path),
                    "its creation was cut short and nobody was assigned: start it with "
                    "Trial(path=...)",
                )  # fmt: skip
            found = self.one("PRAGMA application_id")
            version = self.one("PRAGMA user_version")
            if found != (APPLICATION,) or version is None:
                raise DamagedFile(f"{self.path} is not the file of a trial")
            if version[0] != VERSION:
                other = "a later" if version[0] > VERSION else "the earlier"
                raise DamagedFile(
                    f"{self.path} has version {version[0]} of the format, this library reads "
                    f"{VERSION}; use {other} version of discreet"
                )
            self.soiled = True  # a crash may have left anything in the log
        except BaseException:
            self._close()
            raise

    @staticmethod
    def _check_file(name: str) -> None:
        """A plain file of this user, with one name: what else has its name may be anybody's."""
        try:
            found = os.lstat(name)
        except FileNotFoundError:
            return
        mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISREG(found.st_mode) or not mine or found.st_nlink > 1:
            raise DamagedFile(f"{name} is not a plain file of this user, but a link, or of another")
        if hasattr(os, "geteuid") and stat.S_IMODE(found.st_mode) != OWNER_ONLY:
            os.chmod(name, OWNER_ONLY)

    def _connect(self) -> None:
        """Durable and forgetful: every commit is synced, and deleted rows are overwritten."""
        try:
            self._identity = self._found()
            self._connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw", uri=True, isolation_level=None,
                check_same_thread=False, timeout=PATIENCE, cached_statements=256,
            )  # fmt: skip
        except sqlite3.Error as error:
            refusal = self._refusal(error)
        else:
            for setting in ("journal_mode=WAL", f"synchronous={SYNCHRONOUS}", "foreign_keys=ON",
                            "secure_delete=ON", "temp_store=MEMORY"):  # fmt: skip
                self.run(f"PRAGMA {setting}")
            return
        raise refusal

    def _found(self) -> tuple[int, int] | None:
        """The file that has the name now."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    # --- statements -------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    def run(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """One statement. What it refuses says nothing of the values."""
        connection = self._connection
        if connection is None:
            raise TrialError("the trial is closed; go on with Trial.load(path)")
        try:
            return connection.execute(statement, values)
        except sqlite3.Error as error:
            refusal = self._refusal(error)
        del values
        raise refusal

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of an answer."""
        found: tuple[Any, ...] | None = self.run(statement, values).fetchone()
        return found

    def _refusal(self, error: sqlite3.Error) -> DiscreetError:
        text = str(error)
        if "locked" in text or "busy" in text:
            return AlreadyOpen(
                f"another process, or another object of this one, has held {self.path} for "
                f"{PATIENCE:g} seconds, and a call takes milliseconds; nothing changed: try again, "
                "or end the process that hangs"
            )
        if isinstance(error, sqlite3.OperationalError | sqlite3.IntegrityError):
            return TrialError(
                f"{self.path} could not be written or read: {text}; nothing changed: make room or "
                "mend the disk, and try again"
            )
        return DamagedFile(f"{self.path} is damaged: {text}")

    # --- transactions -----------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        """Whether the file is held."""
        return self._connection is not None and self._connection.in_transaction

    def begin(self) -> None:
        """Hold the file, if it is not held already."""
        if self._process != os.getpid():
            raise TrialError(
                f"{self.path} was opened by another process, of which this is a fork; open the "
                "trial in every process, after the fork"
            )
        if self.in_transaction:
            return
        if self.is_open and self._found() != self._identity:
            raise TrialError(
                f"{self.path} is not the file that this trial has opened: it was moved, removed or "
                "replaced, and others may go on with another one; put it back, close the trial and "
                "load it again"
            )
        self.run("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Store what was written, unless it is gathered; the file is let go."""
        if not self._gathering:
            self.run("COMMIT")

    def let_go(self) -> None:
        """Forget what was not committed."""
        if self._process == os.getpid() and self.in_transaction:
            self.run("ROLLBACK")

    @property
    def is_gathering(self) -> bool:
        """Whether writes wait for others, to be stored with them."""
        return self._gathering

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """One commit for all that is written meanwhile; none if anything is raised."""
        if self._gathering:
            yield
            return
        self._gathering = True
        try:
            yield
            self._gathering = False
            if self.in_transaction:
                self.commit()
        finally:
            self._gathering = False

    def clean(self) -> None:
        """Empty the log, if it may hold what was erased. While somebody reads it that cannot be
        done, and is done later."""
        if self.soiled and self.is_open and not self.in_transaction:
            found = self.one("PRAGMA wal_checkpoint(TRUNCATE)")
            self.soiled = found is None or found[0] != 0

    def rewrite(self) -> None:
        """Write the whole file anew, so that nothing is left in bytes that are not in use."""
        if self.is_open and not self.in_transaction:
            self.run("VACUUM")
            self.soiled = True
            self.clean()

    # --- the witness ------------------------------------------------------------------------------

    def look(self) -> Line | None:
        """Compare the file with its witness. Fences it, or gives the one line that the file does
        not know; whether that fits, the store must say."""
        found = self.one("SELECT id, place, file, size, chain FROM witness")
        if found is None:
            raise DamagedFile(f"{self.path}: the name of its witness is lost")
        trial, place, file, size, chain = found
        if file == NO_FILE:
            self.fence = "it is a backup, without outcomes and exact sums"
            return None
        path = self._witness_at(place)
        known = self.witness
        if known is None or (known.path, known.trial, known.file) != (path, trial, file):
            self._check_file(str(path))
            self.witness = known = Witness(path, trial, file)
        self.fence, lines = known.look(size, chain)
        if len(lines) > 1:
            self.fence_off(len(lines))
        return lines[0] if len(lines) == 1 else None

    def fence_off(self, ahead: int) -> None:
        """The witness knows of releases that this file cannot have drawn."""
        self.fence = (
            f"its witness knows of {ahead} release{'s' * (ahead > 1)} that the file does not, so "
            "it is an old copy"
        )

    @property
    def is_watched(self) -> bool:
        """Whether it was compared with its witness, and nobody has touched that since."""
        return self.witness is not None and not self.witness.has_changed and not self.fence

    def testify(self, text: str) -> None:
        """A release is in the witness before it is stored here."""
        found = self.one("SELECT size, chain FROM witness")
        if self.fence or self.witness is None or found is None:
            raise Fenced(f"{self.path} is fenced: {self.fence}; nothing was released")
        self.note(self.witness.append(text, *found))

    def note(self, line: Line) -> None:
        """The file knows its witness up to there."""
        self.run("UPDATE witness SET size = ?, chain = ?", (line.end, line.chain))

    def witnessed(self) -> list[str] | None:
        """What the witness says of every release that is known here; None where it cannot say."""
        if self.witness is None or self.fence:
            return None
        return self.witness.texts()

    # --- the end ----------------------------------------------------------------------------------

    def leave(self) -> None:
        """A store needs it no more."""
        self.users -= 1
        if self.users <= 0:
            self._close()

    def close(self) -> None:
        """End its use, whoever uses it; what was not committed is forgotten."""
        self.let_go()
        self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            with suppress(sqlite3.Error):
                connection.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._close()


def sync_folder(folder: Path) -> None:
    """The names of new files in it."""
    if hasattr(os, "O_DIRECTORY"):
        found = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(found)
        finally:
            os.close(found)
