"""A trial in one SQLite file."""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import InvalidArgument
from ._database import Database
from ._sql import SqlStore


class SqliteStore(SqlStore):
    """A trial in a file, with its witness beside it or at another path.

    `releases_here=False` is for workers that only assign and record, while another process releases
    (`discreet.live.curate`): no one who comes waits for a release that is being drawn.
    """

    _base: Database

    def __init__(
        self,
        path: str | os.PathLike[str] | Database,
        trial: int = 1,
        witness: str | os.PathLike[str] | None = None,
        releases_here: bool = True,
    ) -> None:
        if not isinstance(path, str | os.PathLike | Database):
            raise InvalidArgument("path", "be a path", path, 'use for example "trial.db"')
        base = path if isinstance(path, Database) else database_at(path, witness)
        super().__init__(base, trial, releases_here)

    def beside(self, trial: int) -> SqliteStore:
        return SqliteStore(self._base, trial, releases_here=self.releases_here)

    def again(self) -> SqliteStore:
        return SqliteStore(self.path, self._number, releases_here=self.releases_here)

    @property
    def path(self) -> Path:
        """The file."""
        return self._base.path


def database_at(
    path: str | os.PathLike[str], witness: str | os.PathLike[str] | None = None
) -> Database:
    """The file of that name, with its witness beside it or in another place."""
    if witness is not None and not isinstance(witness, str | os.PathLike):
        raise InvalidArgument("witness", "be a path", witness, 'use "elsewhere/trial.witness"')
    place = None if witness is None else Path(witness).absolute()
    return Database(Path(path).absolute(), place)
