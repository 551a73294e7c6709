"""Where the trial of a command is: in a file, or one of many in a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from ..live.stores._sql import SqlStore

SCHEMES = ("postgresql://", "postgres://")
EXAMPLE = "postgresql://localhost/trials#sleep"


class Place(NamedTuple):
    """A file, or the address of a database and a name in it."""

    file: Path | None
    url: str = ""
    name: str = ""

    def __str__(self) -> str:
        """For messages: an address may hold a password."""
        return f"{self.name!r} in PostgreSQL" if self.file is None else str(self.file)

    @property
    def is_taken(self) -> bool:
        """Whether there is a file; a database is asked when it is opened."""
        return self.file is not None and self.file.exists()

    def store(self, witness: Path | None = None) -> SqlStore:
        """The store of its trial."""
        from ..live.stores import PostgresStore, SqliteStore

        if self.file is None:
            return PostgresStore(self.url, self.name, witness=witness)
        return SqliteStore(self.file, witness=witness)

    def owns(self, path: Path) -> bool:
        """Whether a file is, or could be, one of the trial's own: beside it by its name."""
        if self.file is None:
            return False
        mine, path = self.file.resolve(), path.resolve()
        beside = path.name[len(mine.name) :]
        return (
            path.parent == mine.parent
            and path.name.startswith(mine.name)
            and (not beside or beside[0] in ".-")
        )


def place_of(text: str | Path) -> Place:
    """What FILE says."""
    if isinstance(text, Path) or not text.startswith(SCHEMES):
        return Place(Path(text))
    url, _, name = text.partition("#")
    if not name:
        raise InvalidArgument(
            "FILE", "have the name of the trial behind the address of its database", "none",
            f"use for example {EXAMPLE}",
        )  # fmt: skip
    return Place(None, url, name)


def in_a_file(argument: str, text: str, instead: str) -> Path:
    """A path, where a database does not do."""
    if text.startswith(SCHEMES):
        raise InvalidArgument(argument, "be a file", "a database", instead)
    return Path(text)
