"""A trial in PostgreSQL, one of many in a database, and the roles that may use it."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import InvalidArgument
from ._server import SCHEMA, Server, driver
from ._sql import SqlStore

URLS = ("postgresql://", "postgres://")


class PostgresStore(SqlStore):
    """A trial in a PostgreSQL database (extra `postgres`), by its name there.

    - `url`: as psycopg takes it, `"postgresql://user@host/database"`.
    - `witness`: where every release is noted before it is stored: the path of a file, or the
      address of another PostgreSQL database. Without it that is a table of the same database, which
      a dump that is put back into the same server takes back as well: only a witness elsewhere
      notices that. Anyone who releases gives an address again when the trial is loaded.
    - `releases_here=False`: for workers that assign and record, while another process releases.
      They need no right to read an outcome (`grant_roles`).
    """

    _base: Server

    def __init__(
        self,
        url: str | Server,
        name: str = "",
        trial: int = 1,
        witness: str | os.PathLike[str] | None = None,
        releases_here: bool = True,
    ) -> None:
        if isinstance(url, Server):
            base = url
        else:
            base = Server(_address("url", url), _title(name), _place(witness))
        super().__init__(base, trial, releases_here)

    def beside(self, trial: int) -> PostgresStore:
        return PostgresStore(self._base, trial=trial, releases_here=self.releases_here)

    def again(self) -> PostgresStore:
        base = self._base
        return PostgresStore(
            Server(base.url, base.title, base.asked), trial=self._number,
            releases_here=self.releases_here,
        )  # fmt: skip


def _address(argument: str, url: object) -> str:
    if not isinstance(url, str) or not url:
        raise InvalidArgument(
            argument, "be the address of a PostgreSQL database", url,
            'use for example "postgresql://localhost/trials"',
        )  # fmt: skip
    return url


def _title(name: object) -> str:
    if not isinstance(name, str) or not name or "\0" in name or not name.isprintable():
        raise InvalidArgument(
            "name", "be a text by which the trial is found again", name, 'use for example "sleep"'
        )
    return name


def _place(witness: object) -> str | Path | None:
    if witness is None or (isinstance(witness, str) and witness.startswith(URLS)):
        return witness
    if not isinstance(witness, str | os.PathLike):
        raise InvalidArgument(
            "witness", "be a path, or the address of another PostgreSQL database", witness,
            'use "elsewhere/trial.witness"',
        )  # fmt: skip
    return Path(witness).absolute()


WEB = """
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT SELECT ON meta, heads, places, block_keys, forgotten, issued, kits TO {role};
GRANT SELECT (trial, secret) ON names TO {role};
GRANT UPDATE (unit) ON kits TO {role};
GRANT SELECT, UPDATE (number) ON beats TO {role};
GRANT SELECT (home, name, place, fence) ON witness TO {role};
GRANT SELECT (trial, settings, public) ON trials TO {role};
GRANT UPDATE (version, moved, assigned, taken) ON heads TO {role};
GRANT INSERT ON places, open_blocks, forgotten TO {role};
GRANT UPDATE (unit) ON places TO {role};
GRANT INSERT (key), SELECT (id) ON keys TO {role};
GRANT USAGE ON SEQUENCE keys_id_seq TO {role};
GRANT SELECT (trial, block), UPDATE (filled, at, due) ON open_blocks TO {role};
GRANT INSERT ON pending TO {role};
GRANT EXECUTE ON FUNCTION {functions} TO {role}
"""
CURATOR = """
GRANT USAGE ON SCHEMA {schema}, discreet_witness TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role};
GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA discreet_witness TO {role};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role};
GRANT EXECUTE ON FUNCTION {functions} TO {role}
"""


FUNCTIONS = (
    "hand_in(BIGINT, TEXT, BIGINT, BYTEA, BYTEA, BOOLEAN)",
    "take_back(BIGINT, TEXT, BIGINT, BYTEA, BYTEA)",
    "go_with(BIGINT, TEXT, BIGINT, TEXT, BIGINT, BYTEA)",
)


def grant_roles(url: str, *, web: str | None = None, curator: str | None = None) -> None:
    """Let two roles of a PostgreSQL server use the trials of a database; they must exist. Call it
    as the owner of its tables, once a first trial was made.

    - `web`: assigns, hands outcomes in, and takes them back for anyone who withdraws. It reads who
      has which arm, what was released and the keys of open blocks; no outcome, no exact sum. It
      deletes nothing and releases nothing. For stores with `releases_here=False`.
    - `curator`: all that a trial does.
    """
    psycopg = driver()
    with psycopg.connect(_address("url", url)) as connection:
        connection.execute(f"SET LOCAL search_path = {SCHEMA}, pg_temp")
        for text, role in ((WEB, web), (CURATOR, curator)):
            if role is not None:
                connection.execute(
                    psycopg.sql.SQL(text).format(
                        role=psycopg.sql.Identifier(role),
                        schema=psycopg.sql.Identifier(SCHEMA),
                        functions=psycopg.sql.SQL(", ".join(FUNCTIONS)),
                    )
                )
