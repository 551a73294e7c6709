"""One SQLite file, and a connection to it.

The file is made exclusively, is never reached through a link, and no one but its owner can read it,
whatever the umask. Its log (`-wal`) and index (`-shm`) lie beside it. Commits are synced; the log
is emptied after every release, for it holds what was erased.

Its witness (`_witness`) tells whether the file is an old copy of itself; then it is fenced.

A transaction takes the file at its beginning, so that anyone who reads decides on what stays true
until it writes. Others wait for it, up to `PATIENCE` seconds.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar, NoReturn

from ...errors import AlreadyOpen, DamagedFile, DiscreetError, InvalidArgument, TrialError
from .._rules import is_void
from . import _seal as seal
from ._transactions import NO_FILE, Transactions, migrations
from ._witness import ENDING, Line, Witness, is_new

OWNER_ONLY = 0o600
PATIENCE = 10.0
"""Seconds to wait while another process has the trial in its hands: a call takes milliseconds."""
APPLICATION, VERSION = 0x64697363, 3
"""What a file says that it is ("disc"), and in which version of the schema."""
SYNCHRONOUS = "FULL"
"""Every commit is on disk when it returns."""
MAGIC = b"SQLite format 3\0"
SEAT = "WHERE trial = ? AND block = ? AND slot = ?"
BESIDE = ("-wal", "-shm", "-journal")


class Database(Transactions):
    """A file of one trial, or of the trials of all strata."""

    WORDS: ClassVar[Mapping[str, str]] = {"SERIAL": "INTEGER"}
    DIALECT = "sqlite"
    AND_HOLD = ""
    AMONG = AMONG_NUMBERS = "IN (SELECT value FROM json_each(?))"

    def __init__(self, path: Path, witness: Path | None = None) -> None:
        super().__init__()
        self.path = path
        self.place = "" if witness is None else str(witness)
        """of the witness of a new file, if it is not to lie beside it"""
        self._made: list[Path] = []
        """a witness that goes if the trial is not finished"""
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._identity: tuple[int, int] | None = None
        """which file it is, whatever has its name later"""

    @property
    def name(self) -> str:
        return str(self.path)

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
            self._migrate()
            self.run(f"PRAGMA application_id = {APPLICATION}")
            self.run(f"PRAGMA user_version = {VERSION}")
            if witnessed:
                self._make_witness()
        except BaseException:
            self._close() if taken else self.discard()
            raise

    def _migrate(self) -> None:
        """Apply the numbered files that the file lacks; it is held."""
        self.run("CREATE TABLE IF NOT EXISTS meta(number INTEGER PRIMARY KEY)")
        done = {number for (number,) in self.run("SELECT number FROM meta")}
        for number, text, _ in migrations(self.DIALECT):
            if number not in done:
                for statement in text.split(";\n"):
                    self.run(self.in_words(statement))
                self.run("INSERT INTO meta VALUES (?)", (number,))

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
            "INSERT INTO witness VALUES (0, '', ?, ?, ?, ?, ?, '', '')",
            (self.witness.trial, self.place, self.witness.file, line.end, line.chain),
        )

    def _witness_at(self, place: str) -> Path:
        return Path(place or f"{self.path}{ENDING}")

    def _check_unfinished(self) -> None:
        """Refuse a file that holds anything. One that a crash left when it was made is taken over:
        no one was assigned."""
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
            if self.one("SELECT max(number) FROM meta") != (migrations(self.DIALECT)[-1][0],):
                self.begin()
                self._migrate()
                self.run("COMMIT")
            self.soiled = True  # a crash may have left anything in the log
        except BaseException:
            self._close()
            raise

    @staticmethod
    def _check_file(name: str) -> None:
        """A plain file of this user, with one name: what else has its name may be anyone's."""
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

    def run_many(self, insert: str, rows: Sequence[tuple[object, ...]]) -> None:
        self._several(f"{insert} ({', '.join('?' * len(rows[0]))})", rows)

    def set_outcomes(self, values: Sequence[tuple[object, ...]]) -> int:
        return self._several(
            "UPDATE pending SET outcome = ?4 WHERE trial = ?1 AND block = ?2 AND slot = ?3", values
        )

    def _several(self, statement: str, rows: Sequence[tuple[object, ...]]) -> int:
        if len(rows) == 1:
            return self.run(statement, rows[0]).rowcount
        connection = self._connection
        if connection is None:
            raise TrialError("the trial is closed; go on with Trial.load(path)")
        try:
            return connection.executemany(statement, rows).rowcount
        except sqlite3.Error as error:
            refusal = self._refusal(error)
        del rows
        raise refusal

    def several(self, values: Sequence[object]) -> object:
        return json.dumps(values)

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
        return self._connection is not None and self._connection.in_transaction

    def begin(self, alone: bool = True) -> None:
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

    def let_go(self) -> None:
        """Forget what was not committed."""
        if self._process == os.getpid() and self.in_transaction:
            self.run("ROLLBACK")

    def moment(self) -> float:
        return time.time()

    def clean(self) -> None:
        """While someone reads the log it cannot be emptied, and is emptied later."""
        if self.soiled and self.is_open and not self.in_transaction:
            found = self.one("PRAGMA wal_checkpoint(TRUNCATE)")
            self.soiled = found is None or found[0] != 0

    def rewrite(self) -> None:
        """Write the whole file anew."""
        if self.is_open and not self.in_transaction:
            self.run("VACUUM")
            self.soiled = True
            self.clean()

    # --- the witness ------------------------------------------------------------------------------

    def look(self) -> Line | None:
        trial, place, file, size, chain = self.known()
        if file == NO_FILE:
            self.fence = "it is a backup, without outcomes and exact sums"
            return None
        path, known = self._witness_at(place), self.witness
        if not isinstance(known, Witness) or (known.path, known.trial, known.file) != (
            path, trial, file,
        ):  # fmt: skip
            self._check_file(str(path))
            self.witness = known = Witness(path, trial, file)
        return self.compared(known, size, chain)

    # --- keys and outcomes ------------------------------------------------------------------------

    def add_key(self, key: bytes) -> int:
        found = self.one("SELECT id FROM free LIMIT 1")
        if found is None:
            found = self.one("INSERT INTO keys(key) VALUES (?) RETURNING id", (key,))
            assert found is not None
            return int(found[0])
        self.run("DELETE FROM free WHERE id = ?", found)
        self.run("UPDATE keys SET key = ? WHERE id = ?", (key, *found))
        return int(found[0])

    def forget_key(self, number: int) -> None:
        """Where it is: rows of `keys` never move."""
        self.run("UPDATE keys SET key = ? WHERE id = ?", (seal.NO_KEY, number))
        self.run("INSERT INTO free VALUES (?)", (number,))

    def hand_in(
        self, place: tuple[int, str, int], key: bytes, sealed: bytes, corrects: bool
    ) -> bool:
        found = self.one(f"SELECT outcome FROM pending {SEAT}", place)
        if found is not None:
            known = seal.outcome_in(seal.opened(key, found[0]))
            stands = known is not None and (not corrects or is_void(known))
            self._put(place, found[0] if stands else sealed)
        return True

    def _put(self, place: tuple[int, str, int], sealed: bytes) -> None:
        self.run(f"UPDATE pending SET outcome = ? {SEAT}", (sealed, *place))

    def take_back(self, place: tuple[int, str, int], old: bytes, key: bytes, sealed: bytes) -> None:
        trial, block, _ = place
        for slot, outcome, action, private in self.run(
            "SELECT slot, outcome, action, private FROM pending WHERE trial = ? AND block = ?",
            (trial, block),
        ).fetchall():
            hidden = seal.sealed(key, seal.opened(old, action)) if private else action
            self.run(
                f"UPDATE pending SET outcome = ?, action = ? {SEAT}",
                (seal.sealed(key, seal.opened(old, outcome)), hidden, trial, block, slot),
            )
        self._put(place, sealed)
        found = self.one(
            "SELECT answered, key FROM open_blocks WHERE trial = ? AND block = ?", (trial, block)
        )
        assert found is not None
        self.run(
            "UPDATE open_blocks SET answered = ? WHERE trial = ? AND block = ?",
            (seal.sealed(key, seal.opened(old, found[0])), trial, block),
        )
        self.run("UPDATE keys SET key = ? WHERE id = ?", (key, found[1]))

    def go_with(
        self, place: tuple[int, str, int], other: tuple[str, int], old: bytes, sealed: bytes
    ) -> None:
        former = self.one(f"SELECT outcome FROM pending {SEAT}", (place[0], *other))
        found = self.one(f"SELECT outcome FROM pending {SEAT}", place)
        assert former is not None
        assert found is not None
        gone = is_void(seal.outcome_in(seal.opened(old, former[0])))
        self._put(place, sealed if gone else found[0])

    # --- the end ----------------------------------------------------------------------------------

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
