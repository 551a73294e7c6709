"""A witness in a table: of another PostgreSQL database, or of the same one.

Anyone who appends a line inserts the next number; that there is one line of a number is the primary
key of the table, so of two servers that both take themselves for the only one, one releases.

A table of the same database is written by its own connection before the release is stored. So
it knows of a release whose commit was lost. It goes back with its database: that a database was
restored or promoted is noticed by its identity (`_server`) alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import Fenced, TrialError
from ._witness import START, Line, chained

SETUP = """
BEGIN;
SELECT pg_advisory_xact_lock(1684632420);
CREATE SCHEMA IF NOT EXISTS discreet_witness;
CREATE TABLE IF NOT EXISTS discreet_witness.lines(
    id TEXT NOT NULL, number BIGINT NOT NULL, chain TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY(id, number));
COMMIT
"""
IDENTITY = """
SELECT system_identifier::TEXT || '/' || current_database() FROM pg_control_system()
"""
LINES = """
SELECT number, chain, text FROM discreet_witness.lines WHERE id = %s AND number >= %s
ORDER BY number
"""


class TableWitness:
    """The lines of one trial. `connect` opens a connection where every statement is a transaction
    of its own."""

    def __init__(self, connect: Callable[[], Any], trial: str, file: str = "") -> None:
        self._connect = connect
        self.trial, self.file = trial, file
        self._connection: Any = None
        self._agrees = False

    def make(self) -> Line:
        """The table, if it is not there; the end of no lines."""
        if self._run("SELECT to_regclass('discreet_witness.lines')").fetchone() == (None,):
            self._run(SETUP)
        self.file = self._found()
        return Line("", 0, START)

    def _found(self) -> str:
        return str(self._run(IDENTITY).fetchone()[0])

    def _run(self, statement: str, values: tuple[object, ...] | None = None) -> Any:
        failed, known = "", self._connection is not None
        for _ in range(1 + known):  # a connection that was lost since is opened again
            try:
                if self._connection is None:
                    self._connection = self._connect()
                return self._connection.execute(statement, values, prepare=False)
            except Exception as error:
                failed = f"{type(error).__name__} {getattr(error, 'sqlstate', None) or ''}".strip()
            lost = self._connection is None or self._connection.closed
            self.close()
            if not lost:
                break
        raise TrialError(
            f"the witness of the trial, a table in PostgreSQL, could not be read or written: "
            f"{failed}; nothing was released here: try again when it can be reached"
        )

    @property
    def has_changed(self) -> bool:
        """No one is asked at every call: the next line has one number, no matter who writes it."""
        return not self._agrees

    def look(self, size: int, chain: str) -> tuple[str, list[Line]]:
        """As of a file: why not to continue, and what it says after that."""
        self._agrees = False
        if self._found() != self.file:
            return "its witness is in another database than the one that it was written in", []
        rows = self._run(LINES, (self.trial, size)).fetchall()
        last = rows.pop(0)[1] if rows and rows[0][0] == size else START if size == 0 else ""
        if last != chain:
            return "its witness lacks releases of the trial: it was put back, or is another's", []
        found: list[Line] = []
        for number, known, text in rows:
            if number != size + len(found) + 1 or known != chained(last, text):
                return "its witness is damaged: a line was changed or removed", []
            found.append(Line(text, number, known))
            last = known
        self._agrees = True
        return "", found

    def texts(self) -> list[str]:
        """What all releases have written."""
        return [text for _, _, text in self._run(LINES, (self.trial, 1)).fetchall()]

    def append(self, text: str, size: int, chain: str) -> Line:
        """One line more; refused if there is one of that number."""
        why, lines = self.look(size, chain)
        line = chained(chain, text)
        if not why and not lines:
            added = self._run(
                "INSERT INTO discreet_witness.lines VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
                (self.trial, size + 1, line, text),
            ).rowcount
            if added == 1:
                return Line(text, size + 1, line)
        self._agrees = False
        raise Fenced(
            f"{why or 'its witness knows of another release'}; nothing was released: load the "
            "trial again"
        )

    def forget(self) -> None:
        """Of a trial that was not finished."""
        self._run("DELETE FROM discreet_witness.lines WHERE id = %s", (self.trial,))

    def close(self) -> None:
        """Its connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()
