"""The engine: from the name of an experiment to its trial, open and ready.

Everything else in this package speaks of experiments by tenant and id. Here alone it is known that
each is a SQLite file in the data folder (`Files`), or a name in a PostgreSQL database (`Rows`). All
calls come from one thread, the writer's: trials are never asked at once.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._plans import Planned
from ..errors import DiscreetError
from ..live import Strata, Trial
from ..live._strata import opened
from ..live.stores import PostgresStore, SqliteStore
from ..live.stores._sql import SqlStore
from ._beat import Ask, NotStored, Step, play

MOST_OPEN = 256
"""Trials that are kept open; the one that was used longest ago is closed."""
MOST_CONNECTED = 24
"""The same in a database, where each has a connection, or two with its witness."""
SHARED = 0.2
"""Seconds after which a trial is looked at again that others use too."""
AGAIN = 5.0
"""Seconds after which a trial is looked at again in which nothing was released when due."""
HOUR = 3600.0

Id = tuple[str, str]
"""A tenant, and the id of an experiment."""


class Standing(NamedTuple):
    """What is public of an experiment, in memory."""

    generation: int = 0
    """releases so far"""
    due: float | None = None
    """when it is to be looked at again"""


class Files:
    """One file each, in a data folder; this process alone uses them."""

    releases = True
    is_shared = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "trials"

    def path(self, name: Id) -> Path:
        """The file of an experiment."""
        tenant, experiment = name
        return self._folder / tenant / f"{experiment}.db"

    def has(self, name: Id) -> bool:
        """Whether a new experiment of that name would meet an old file."""
        return self.path(name).exists()

    def room(self, name: Id) -> None:
        """The folder of a new experiment."""
        self.path(name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def store(self, name: Id) -> SqlStore:
        """The store of an experiment."""
        return SqliteStore(self.path(name))


class Rows:
    """A name each, in a database that other processes use too."""

    is_shared = True

    def __init__(self, url: str, witness: str | None, releases: bool) -> None:
        self._url, self._witness, self.releases = url, witness, releases

    def has(self, name: Id) -> bool:
        """Whoever makes a trial is told by the database."""
        return False

    def room(self, name: Id) -> None:
        """Tables are made with the first trial."""

    def store(self, name: Id) -> SqlStore:
        """The store of an experiment."""
        return PostgresStore(self._url, "/".join(name), 1, self._witness, self.releases)


class Engine:
    """Opens, keeps and closes trials."""

    def __init__(self, home: Files | Rows, most: int = MOST_OPEN) -> None:
        self.home, self._most = home, most
        self._open: OrderedDict[Id, Trial | Strata] = OrderedDict()
        self.standings: dict[Id, Standing] = {}
        self._noted: dict[Id, float] = {}
        """when the present time was last stored"""

    def has(self, name: Id) -> bool:
        """Whether there is something where a new experiment of that name would be."""
        return self.home.has(name)

    def make(self, name: Id, plan: Planned) -> None:
        """A new trial; nothing is left if it cannot be made."""
        self.home.room(name)
        self._keep(name, plan.start(self.home.store(name)))
        self._stand(name)

    def play(self, name: Id, steps: Sequence[Step]) -> list[Any]:
        """What comes of every step: a value, or the error that it is refused with."""
        try:
            trial = self._trial(name)
        except (DiscreetError, OSError):
            return [NotStored("the trial cannot be opened")] * len(steps)
        try:
            answers = play(trial, steps)
        except BaseException:
            self.forget(name)
            raise
        if any(_is_failure(answer) for answer in answers):
            self.forget(name)  # loaded again, it stands where its file does
        else:
            self._stand(name)
        return answers

    def settle(self, name: Id) -> None:
        """Release what is due, and look at the clock, so that it does not seem to jump. Who does
        not release looks whether others have."""

        def do(trial: Trial | Strata) -> object:
            if not self.home.releases:
                return trial.report()["releases"]
            found = trial.settle()
            if time.time() - self._noted.get(name, 0.0) > HOUR:
                trial.confirm_clock()  # `settle` has just found that it did not jump
                self._noted[name] = time.time()
            return found

        found = self.play(name, [Ask(do)])[0]
        standing, now = self.standings.get(name, Standing()), time.time()
        if self.home.is_shared:  # others seat newcomers, so that it is due earlier
            self.standings[name] = standing._replace(due=now + SHARED)
        elif found is not True and (standing.due is None or standing.due <= now):
            wait = HOUR if standing.due is None else AGAIN
            self.standings[name] = standing._replace(due=now + wait)

    def _trial(self, name: Id) -> Trial | Strata:
        trial = self._open.get(name)
        if trial is None:
            trial = self._load(name)
            self._keep(name, trial)
        self._open.move_to_end(name)
        return trial

    def _load(self, name: Id) -> Trial | Strata:
        return opened(self.home.store(name))

    def _keep(self, name: Id, trial: Trial | Strata) -> None:
        self._open[name] = trial
        while len(self._open) > self._most:
            _, oldest = self._open.popitem(last=False)
            oldest.close()

    def _stand(self, name: Id) -> None:
        """Note where a trial stands, from what this thread has in memory."""
        trial = self._open[name]
        each = list(trial._trials.values()) if isinstance(trial, Strata) else [trial]
        dues = [due for one in each if (due := _due(one)) is not None]
        releases = sum(sum(one._run.releases) for one in each)
        self.standings[name] = Standing(releases, min(dues, default=None))

    def forget(self, name: Id) -> None:
        """Close a trial whose file is in doubt; the next step loads it again."""
        trial = self._open.pop(name, None)
        if trial is not None:
            trial.close()

    def close(self) -> None:
        """Close all trials."""
        for name in list(self._open):
            self.forget(name)


def _due(trial: Trial) -> float | None:
    """When the next block of a trial is due, as far as that is fixed."""
    return trial._run.standing(trial._store.blocks, trial._terms, "").due


def _is_failure(answer: object) -> bool:
    """Whether a trial may not stand where its file does."""
    refused = isinstance(answer, DiscreetError) and not isinstance(answer, NotStored)
    return isinstance(answer, BaseException) and not refused
