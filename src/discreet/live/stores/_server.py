"""One name in a PostgreSQL database, and a connection to it.

All that is stored lies in the schema `discreet`. A call of a trial is a transaction at READ
COMMITTED that begins by locking the head of its trial: anyone who comes later waits, then reads
what was stored, and reads a later time of the server's clock. Someone who only hands an outcome in
locks no head, but holds its block, which a release takes before it reads what came (`lock_block`).

A connection that is lost is opened again by the next call, which reads where the trial stands: the
database first, then the witness. So an answer to COMMIT that never came makes no difference.

PostgreSQL does not overwrite what it deletes: keys of released blocks stay in dead rows until they
are vacuumed and their pages written over, and in the log of the server as long as that is kept.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from ...errors import AlreadyOpen, DamagedFile, DiscreetError, InvalidArgument, TrialError
from ._lines import TableWitness
from ._transactions import AnyWitness, Rows, Transactions, migrations
from ._witness import Line, Witness

PATIENCE = 10.0
"""Seconds to wait for someone else who has the trial in its hands, and for someone who has it and
does nothing: the server ends that connection."""
SCHEMA = "discreet"
LOCK = 1684632419
"""Who sets up the tables has this lock."""
HERE, TABLE = "", "table"
"""Places of a witness: a table of the same database, of another one; else the path of a file."""
SERVER = """
SELECT (SELECT system_identifier::TEXT FROM pg_control_system()) || '/'
    || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    current_setting('synchronous_commit') = 'off'
"""
"""Which server it is, and on which timeline: a promoted or restored one begins another. And whether
its commits would not be durable."""


def driver() -> Any:
    """psycopg, which comes with an extra."""
    try:
        import psycopg
    except ImportError:
        psycopg = None  # type: ignore[assignment]
    if psycopg is None:
        raise TrialError(
            "trials in PostgreSQL need psycopg, which is not installed: "
            "pip install 'discreet[postgres]'"
        )
    return psycopg


COLUMNS = {
    "places": (
        "TEXT", "BIGINT", "BIGINT", "BYTEA", "TEXT", "BIGINT", "DOUBLE PRECISION", "BIGINT",
        "DOUBLE PRECISION", "DOUBLE PRECISION",
    ),
    "pending": ("BIGINT", "TEXT", "BIGINT", "BYTEA", "BYTEA", "BIGINT"),
}  # fmt: skip
"""Kinds of the columns of tables that take several rows at once."""


class Lost(TrialError):
    """The connection was lost."""


class Server(Transactions):
    """A name in a database."""

    WORDS: ClassVar[Mapping[str, str]] = {
        "SERIAL": "BIGSERIAL", "INTEGER": "BIGINT", "BLOB": "BYTEA", "REAL": "DOUBLE PRECISION",
        "WITHOUT ROWID": "",
    }  # fmt: skip
    DIALECT = "postgres"
    AND_HOLD = " FOR UPDATE"
    AMONG = "IN (SELECT json_array_elements_text(?::JSON))"
    AMONG_NUMBERS = "IN (SELECT json_array_elements_text(?::JSON)::BIGINT)"

    def __init__(self, url: str, title: str, witness: str | Path | None = None) -> None:
        super().__init__()
        self.url, self.title, self.asked = url, title, witness
        self._connection: Any = None
        self._process = os.getpid()
        self._alone = False
        self._server = ""
        self._durable = ""
        self._made: Path | TableWitness | None = None
        """a witness that goes if the trial is not finished"""
        self._told = ""

    @property
    def name(self) -> str:
        return f"{self.title!r} in PostgreSQL"

    # --- the connection ---------------------------------------------------------------------------

    def connect(self, url: str) -> Any:
        """A connection where every statement is a transaction, unless one was begun."""
        psycopg, why = driver(), ""
        try:
            return psycopg.connect(url, autocommit=True, connect_timeout=int(PATIENCE))
        except psycopg.Error as error:  # whose text may show the address, and not the password
            why = type(error).__name__
        raise Lost(
            f"the server of {self.name} cannot be reached ({why}); nothing changed: see whether it "
            "runs and whether its address is right, and try again"
        )

    def _connected(self) -> None:
        if self._connection is not None:
            return
        self._connection = self.connect(self.url)
        self._script(f"SET search_path = {SCHEMA}, pg_temp")
        self._server, lazy = self.run(SERVER).fetchone()
        self._durable = "SET LOCAL synchronous_commit = on; " if lazy else ""

    def run(self, statement: str, values: Sequence[object] = ()) -> Rows:
        if self._connection is None:
            if self.is_open:
                raise self._lost()
            raise TrialError("the trial is closed; go on with Trial.load(store)")
        return self._execute(with_placeholders(statement), values or None, None)

    def run_many(self, insert: str, rows: Sequence[tuple[object, ...]]) -> None:
        """By one statement, all rows as one JSON text: that costs the client least."""
        table = insert.split()[2]
        columns, kinds = _from_json(COLUMNS[table])
        self.run(
            f"INSERT INTO {table} SELECT {columns} FROM json_to_recordset(?::JSON) AS r({kinds})",
            (_as_json(rows),),
        )

    def set_outcomes(self, values: Sequence[tuple[object, ...]]) -> int:
        return self.run(
            "UPDATE pending p SET outcome = decode(r.c3, 'hex') "
            "FROM json_to_recordset(?::JSON) AS r(c0 BIGINT, c1 TEXT, c2 BIGINT, c3 TEXT) "
            "WHERE p.trial = r.c0 AND p.block = r.c1 AND p.slot = r.c2",
            (_as_json(values),),
        ).rowcount

    def several(self, values: Sequence[object]) -> object:
        return json.dumps([str(value) for value in values])

    def _script(self, text: str) -> Rows:
        """Several statements at once, without values."""
        return self._execute(text, None, False)

    def _execute(self, text: str, values: Sequence[object] | None, prepare: bool | None) -> Rows:
        psycopg = driver()
        try:
            found: Rows = self._connection.execute(text, values, prepare=prepare)
        except psycopg.Error as error:
            refusal = self._refusal(error)
        else:
            return found
        del values
        raise refusal

    def _refusal(self, error: Any) -> DiscreetError:
        """In words of our own: the server's may quote values."""
        state = error.sqlstate or ""
        if self._connection.closed or state.startswith(("08", "57P")):
            self._drop()
            return self._lost()
        if state == "55P03":
            return AlreadyOpen(
                f"another process, or another object of this one, has held {self.name} for "
                f"{PATIENCE:g} seconds, and a call takes milliseconds; nothing changed: try again, "
                "or end the process that hangs"
            )
        if state in ("40001", "40P01"):
            return TrialError(
                f"{self.name}: the server undid this step for that of another; nothing changed: "
                "try again"
            )
        what = f"{type(error).__name__}, {state or 'no code'}"
        if state == "42501":
            return TrialError(
                f"{self.name}: the role of this connection must not do that ({what}); nothing "
                "changed: connect as the role that releases, or let the owner call "
                "discreet.live.stores.grant_roles"
            )
        if state.startswith(("42", "XX")):
            return DamagedFile(f"{self.name} is damaged: {what}")
        return TrialError(
            f"{self.name} could not be written or read: {what}; nothing changed: mend the server, "
            "and try again"
        )

    def _lost(self) -> Lost:
        return Lost(
            f"the connection to {self.name} was lost; whether the last step is stored is read when "
            "the trial is asked again: try again"
        )

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._process == os.getpid():
            with suppress(Exception):
                connection.close()

    # --- the home ---------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self.home != 0

    @property
    def has_tables(self) -> bool:
        return self.is_open

    def make(self, witnessed: bool = True) -> None:
        if not self.releases_here:
            raise TrialError(
                "a trial is started where it is released, and this store is for workers "
                "(releases_here=False): start it by PostgresStore(url, name)"
            )
        try:
            self.begin()
            self._migrate()
            found = self.one(
                "INSERT INTO witness(name, id, place, file, size, chain, server, fence) "
                "VALUES (?, ?, '', '', 0, '', ?, '') ON CONFLICT (name) DO NOTHING RETURNING home",
                (self.title, secrets.token_hex(16), self._server),
            )
            if found is None:
                raise InvalidArgument(
                    "name", "be new in that database", self.title,
                    f"go on with it by Trial.load(PostgresStore(url, {self.title!r}))",
                )  # fmt: skip
            self.home = int(found[0])
            self._make_witness()
        except BaseException:
            self.discard()
            raise

    def _migrate(self) -> None:
        """Apply the numbered files that the database lacks, in a transaction."""
        if self._lacks():
            self._script(f"SELECT pg_advisory_xact_lock({LOCK})")
            self._script(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            self.run("CREATE TABLE IF NOT EXISTS meta(number BIGINT PRIMARY KEY)")
            for number, text, own in self._lacks():
                self._script(self.in_words(text))
                if own:
                    self._script(own)
                self.run("INSERT INTO meta VALUES (?)", (number,))

    def _lacks(self) -> list[tuple[int, str, str]]:
        done: set[int] = set()
        if self.one(f"SELECT to_regclass('{SCHEMA}.meta')") != (None,):
            done = {number for (number,) in self.run(f"SELECT number FROM {SCHEMA}.meta")}
        return [file for file in migrations(self.DIALECT) if file[0] not in done]

    def _make_witness(self) -> None:
        trial, *_ = self.known()
        if isinstance(self.asked, Path):
            path = self.asked
            if os.path.lexists(path) or not path.parent.is_dir():
                raise InvalidArgument(
                    "witness", "be a new file in an existing folder", str(path),
                    'use for example witness="elsewhere/trial.witness"',
                )  # fmt: skip
            self._made, place = path, str(path)
            self.witness, line = Witness.make(path, trial)
        else:
            place = HERE if self.asked is None else TABLE
            self._made = self.witness = table = self._table(trial, "")
            line = table.make()
        self.run(
            "UPDATE witness SET place = ?, file = ?, size = ?, chain = ? WHERE home = ?",
            (place, self.witness.file, line.end, line.chain, self.home),
        )

    def _table(self, trial: str, file: str) -> TableWitness:
        url = self.asked if isinstance(self.asked, str) else self.url
        return TableWitness(lambda: self.connect(url), trial, file)

    def discard(self) -> None:
        self.let_go()
        if isinstance(self._made, Path):
            with suppress(OSError):
                os.unlink(self._made)
        elif self._made is not None:
            with suppress(TrialError):
                self._made.forget()
        self._close()
        self.home, self.witness, self._made = 0, None, None

    def open(self) -> None:
        self._connected()
        try:
            self._begin(alone=False)
            lacks = self._lacks()
            if len(lacks) == len(migrations(self.DIALECT)):
                self._refuse_unknown()
            if lacks and not self.releases_here:
                raise TrialError(
                    "the tables of the database are older than this library: let a process that "
                    "releases open a trial first, or take the earlier version of discreet"
                )
            if lacks:
                self._migrate()
                self._script("COMMIT")
                self._begin(alone=False)
            found = self.one("SELECT home, place FROM witness WHERE name = ?", (self.title,))
            if found is None:
                self._refuse_unknown()
            if found[1] == TABLE and self.asked is None and self.releases_here:
                raise InvalidArgument(
                    "witness", "be given, for the witness of this trial is in another database",
                    None, 'use PostgresStore(url, name, witness="postgresql://...")',
                )  # fmt: skip
            self.let_go()
            self.home = int(found[0])
        except BaseException:
            self.let_go()
            self._close()
            raise

    def _refuse_unknown(self) -> NoReturn:
        raise InvalidArgument(
            "name", "be that of a trial in this database", self.title,
            "start one with Trial(path=PostgresStore(url, name))",
        )  # fmt: skip

    # --- transactions -----------------------------------------------------------------------------

    @property
    def in_transaction(self) -> bool:
        connection = self._connection
        return connection is not None and connection.info.transaction_status != 0

    @property
    def is_alone(self) -> bool:
        return self.in_transaction and self._alone

    def begin(self, alone: bool = True) -> None:
        if self._process != os.getpid():
            raise TrialError(
                f"{self.name} was opened by another process, of which this is a fork; open the "
                "trial in every process, after the fork"
            )
        if self.in_transaction:
            return
        known = self._connection is not None
        self._connected()
        try:
            self._begin(alone)
        except Lost:  # since the last call, perhaps; nothing was done in this one
            if not known:
                raise
            self._connected()
            self._begin(alone)

    def _begin(self, alone: bool) -> None:
        wait = round(1000 * PATIENCE)
        head = f"SELECT 1 FROM heads WHERE trial = {self.first + 1} FOR UPDATE"
        lock = head if alone and self.is_open else ""
        try:
            self._script(
                f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = {SCHEMA}, pg_temp; "
                f"SET LOCAL lock_timeout = {wait}; {self._durable}"
                f"SET LOCAL idle_in_transaction_session_timeout = {wait}; {lock}"
            )
        except BaseException:
            self.let_go()
            raise
        self._alone = alone

    def let_go(self) -> None:
        if self._process != os.getpid() or not self.in_transaction:
            return
        with suppress(Lost):
            self.run("ROLLBACK")

    def moment(self) -> float:
        self._connected()
        found = self.one("SELECT extract(epoch FROM clock_timestamp())::DOUBLE PRECISION")
        assert found is not None
        return float(found[0])

    def clean(self) -> None:
        """The server writes over what is deleted when it vacuums."""
        self.soiled = False

    def rewrite(self) -> None:
        """Rewrite the tables that hold names: for their owner. The server's log keeps what it
        keeps."""
        if self.is_open and not self.in_transaction:
            self._connected()
            for table in ("places", "kits", "names", "forgotten"):
                self.run(f"VACUUM FULL {table}")

    # --- the witness ------------------------------------------------------------------------------

    def look(self) -> Line | None:
        if not self.releases_here:
            return None
        trial, place, file, size, chain = self.known()
        found = self.one("SELECT server, fence FROM witness WHERE home = ?", (self.home,))
        assert found is not None
        server, self._told = found
        known = self.witness
        if known is None or (known.trial, known.file) != (trial, file):
            self.witness = known = self._witness_at(place, trial, file)
        line = self.compared(known, size, chain)
        if server != self._server and not self.fence:
            if place == HERE:
                self.fence = (
                    "the server is another one than before, or was restored or promoted, and its "
                    "witness is in the same database: releases may be lost"
                )
            else:  # the witness has seen all releases, whatever became of the server
                self.run("UPDATE witness SET server = ? WHERE home = ?", (self._server, self.home))
        return line

    def _witness_at(self, place: str, trial: str, file: str) -> AnyWitness:
        if place in (HERE, TABLE):
            return self._table(trial, file)
        return Witness(Path(place), trial, file)

    def tell(self) -> bool:
        if self.fence == self._told or not self.releases_here:
            return False
        self.run("UPDATE witness SET fence = ? WHERE home = ?", (self.fence, self.home))
        self.run("COMMIT")
        self._told = self.fence
        return True

    def hear(self, fence: str) -> None:
        if not self.releases_here:
            self.fence = fence

    @property
    def is_watched(self) -> bool:
        """A worker that does not release is told."""
        return not self.releases_here or super().is_watched

    # --- keys and outcomes ------------------------------------------------------------------------

    def add_key(self, key: bytes) -> int:
        found = self.one("INSERT INTO keys(key) VALUES (?) RETURNING id", (key,))
        assert found is not None
        return int(found[0])

    def forget_key(self, number: int) -> None:
        """The row goes; see above for what a server keeps of it."""
        self.run("DELETE FROM keys WHERE id = ?", (number,))

    def hand_in(
        self, place: tuple[int, str, int], key: bytes, sealed: bytes, corrects: bool
    ) -> bool:
        """By a function of the database: anyone who calls it needs no right to the table."""
        found = self.one("SELECT hand_in(?, ?, ?, ?, ?, ?)", (*place, key, sealed, corrects))
        return found == (True,)

    def take_back(self, place: tuple[int, str, int], old: bytes, key: bytes, sealed: bytes) -> None:
        self.run("SELECT take_back(?, ?, ?, ?, ?)", (*place, key, sealed))

    def go_with(
        self, place: tuple[int, str, int], other: tuple[str, int], old: bytes, sealed: bytes
    ) -> None:
        trial, block, slot = place
        self.run("SELECT go_with(?, ?, ?, ?, ?, ?)", (trial, *other, block, slot, sealed))

    def lock_block(self, trial: int, block: str) -> None:
        self.run(
            "SELECT 1 FROM open_blocks WHERE trial = ? AND block = ? FOR UPDATE", (trial, block)
        )

    # --- the end ----------------------------------------------------------------------------------

    def _close(self) -> None:
        self._drop()
        if isinstance(self.witness, TableWitness) and self._process == os.getpid():
            self.witness.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self._close()


@lru_cache(maxsize=512)
def with_placeholders(statement: str) -> str:
    """As psycopg takes it."""
    return statement.replace("%", "%%").replace("?", "%s")


@lru_cache
def _from_json(kinds: tuple[str, ...]) -> tuple[str, str]:
    """Columns of a table that come in JSON, where bytes are hexadecimal; their kinds there."""
    columns = (f"decode(c{n}, 'hex')" if k == "BYTEA" else f"c{n}" for n, k in enumerate(kinds))
    each = (f"c{n} {'TEXT' if kind == 'BYTEA' else kind}" for n, kind in enumerate(kinds))
    return ", ".join(columns), ", ".join(each)


def _as_json(rows: Sequence[tuple[object, ...]]) -> str:
    return json.dumps(
        [{f"c{n}": v.hex() if type(v) is bytes else v for n, v in enumerate(row)} for row in rows]
    )
