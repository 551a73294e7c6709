"""A database that holds trials, and a connection to it: what SQLite and PostgreSQL have in common.

A *home* is what one trial has for itself, or the trials of all strata together: a SQLite file, or
one name among many in a PostgreSQL database. Anyone who begins a transaction has the home for
itself: it decides on what stays true until it writes.

Statements are written once, for both: `?` stands for a value. What tables there are is said by the
numbered files in `sql`; `meta` has the numbers of those that were applied.

Its witness (`_witness`, `_lines`) tells whether the database is an old copy of itself; then the
home is fenced.
"""

from __future__ import annotations

import json
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import resources
from typing import Any, ClassVar, Protocol

from ...errors import DamagedFile, Fenced
from ._witness import Line

ROOM_FOR_TRIALS = 1 << 16
"""Numbers of trials that a home has."""
NO_FILE = ""
"""In place of the witness of a backup."""


class Rows(Protocol):
    """What a statement answers."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class AnyWitness(Protocol):
    """A file, or a table of another database."""

    trial: str
    file: str

    @property
    def has_changed(self) -> bool: ...
    def look(self, size: int, chain: str) -> tuple[str, list[Line]]: ...
    def append(self, text: str, size: int, chain: str) -> Line: ...
    def texts(self) -> list[str]: ...


class Transactions(ABC):
    """The home of one trial, or of the trials of all strata."""

    WORDS: ClassVar[Mapping[str, str]]
    """how this database calls what the numbered files say"""
    DIALECT: ClassVar[str]
    AND_HOLD: ClassVar[str]
    """at the end of a statement that reads a row which it will write"""
    AMONG: ClassVar[str]
    AMONG_NUMBERS: ClassVar[str]
    """that a text, or a number, is one of `several`"""

    def __init__(self) -> None:
        self.witness: AnyWitness | None = None
        self.fence = ""
        """why nothing must be released, if so"""
        self.lock = threading.RLock()
        self.users = 0
        """stores that use it; the last one closes it"""
        self.soiled = False
        """whether the log may hold what was erased"""
        self.releases_here = True
        """whether blocks are released by this process; else nothing private is read"""
        self.home = 0
        self._gathering = False

    # --- what databases do in ways of their own ---------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """Where it is, for messages."""

    @abstractmethod
    def make(self, witnessed: bool = True) -> None:
        """A new home, stored with the first commit, and its witness."""

    @abstractmethod
    def open(self) -> None:
        """The home of a saved trial."""

    @abstractmethod
    def discard(self) -> None:
        """Close a home that was not finished, and leave nothing of it."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether it was made or opened."""

    @property
    @abstractmethod
    def has_tables(self) -> bool:
        """Whether it was finished."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[object] = ()) -> Rows:
        """One statement. What it refuses says nothing of the values."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether the home is held."""

    @property
    def is_alone(self) -> bool:
        """Whether no one else continues meanwhile."""
        return self.in_transaction

    @abstractmethod
    def begin(self, alone: bool = True) -> None:
        """Hold the home, if it is not held already. Without `alone` others continue meanwhile,
        where the database can do that."""

    @abstractmethod
    def moment(self) -> float:
        """The time, by the clock of the database."""

    @abstractmethod
    def clean(self) -> None:
        """Empty the log, if it may hold what was erased and if that can be done."""

    @abstractmethod
    def rewrite(self) -> None:
        """Leave nothing in bytes that are not in use, as far as the database can do that."""

    def witnessed(self) -> list[str] | None:
        """What the witness says of every release that is known here; None where it cannot say."""
        if self.witness is None or self.fence:
            return None
        kept: list[str] = []
        for text in self.witness.texts():
            lost = json.loads(text).get("lost", 0)
            kept = [*kept[: len(kept) - lost], text]
        return kept

    @abstractmethod
    def look(self) -> Line | None:
        """Compare the home with its witness. Fences it, or gives the one line that the home does
        not know; whether that fits, the store must say."""

    @abstractmethod
    def add_key(self, key: bytes) -> int:
        """Store a key, under a number that no one else uses."""

    @abstractmethod
    def forget_key(self, number: int) -> None:
        """Overwrite a key."""

    @abstractmethod
    def hand_in(
        self, place: tuple[int, str, int], key: bytes, sealed: bytes, corrects: bool
    ) -> bool:
        """An outcome, by a user that reads none: the first one stands, or the last one if it
        corrects others, unless it was withdrawn; a place in a block that is not there takes none.
        The row is written in any case. False if `key` is that of the block no more."""

    @abstractmethod
    def take_back(self, place: tuple[int, str, int], old: bytes, key: bytes, sealed: bytes) -> None:
        """`sealed` in place of an outcome, and all that is private of its block under another key.
        A database may have left copies of what it moved: no one can read them from then on."""

    @abstractmethod
    def go_with(
        self, place: tuple[int, str, int], other: tuple[str, int], old: bytes, sealed: bytes
    ) -> None:
        """By a user that reads no outcomes: `sealed` in place of an outcome, if that of another
        place, in a block with the key `old`, was withdrawn. The row is written in any case."""

    def lock_block(self, trial: int, block: str) -> None:  # noqa: B027 - the home may be held
        """Before the outcomes of a block are read for its release: anyone who hands one in has done
        so, or comes too late."""

    @abstractmethod
    def _close(self) -> None: ...

    # --- statements -------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The trials of the home have numbers from here on, without it."""
        return self.home * ROOM_FOR_TRIALS

    @property
    def trials(self) -> tuple[int, int]:
        """The first and the last number that its trials can have."""
        return self.first, self.first + ROOM_FOR_TRIALS - 1

    @abstractmethod
    def run_many(self, insert: str, rows: Sequence[tuple[object, ...]]) -> None:
        """An INSERT of several rows."""

    @abstractmethod
    def set_outcomes(self, values: Sequence[tuple[object, ...]]) -> int:
        """Outcomes where they belong: trial, block, slot, and the sealed text of each. How many
        places there were."""

    @abstractmethod
    def several(self, values: Sequence[object]) -> object:
        """Names or numbers as one value, for `AMONG`."""

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of an answer."""
        found: tuple[Any, ...] | None = self.run(statement, values).fetchone()
        return found

    def in_words(self, text: str) -> str:
        """A numbered file, as this database reads it."""
        return re.sub(r"[A-Z]+(?: ROWID)?", lambda found: self.WORDS.get(found[0], found[0]), text)

    # --- transactions -----------------------------------------------------------------------------

    def commit(self) -> None:
        """Store what was written, unless it is gathered; the home is let go."""
        if not self._gathering:
            self.run("COMMIT")

    @abstractmethod
    def let_go(self) -> None:
        """Forget what was not committed."""

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

    # --- the witness ------------------------------------------------------------------------------

    def compared(self, known: AnyWitness, size: int, chain: str) -> Line | None:
        """What a witness knows that this home does not."""
        self.fence, lines = known.look(size, chain)
        if len(lines) > 1:
            self.fence_off(len(lines))
        return lines[0] if len(lines) == 1 else None

    def fence_off(self, ahead: int) -> None:
        """The witness knows of releases that this home cannot have drawn."""
        self.fence = (
            f"its witness knows of {ahead} release{'s' * (ahead > 1)} that the file does not, so "
            "it is an old copy"
        )

    def tell(self) -> bool:
        """Whether those who cannot see the witness had to be told of a fence, or of its end: then
        the home was let go."""
        return False

    def hear(self, fence: str) -> None:  # noqa: B027 - who sees the witness need not be told
        """What they were told."""

    @property
    def is_watched(self) -> bool:
        """Whether it was compared with its witness, and no one has touched that since."""
        return self.witness is not None and not self.witness.has_changed and not self.fence

    def testify(self, text: str) -> None:
        """A release is in the witness before it is stored here."""
        found = self.one("SELECT size, chain FROM witness WHERE home = ?", (self.home,))
        if self.fence or self.witness is None or found is None:
            raise Fenced(f"{self.name} is fenced: {self.fence}; nothing was released")
        self.note(self.witness.append(text, *found))

    def overtake(self, more: dict[str, Any]) -> None:
        """Continue from an old copy, whatever its witness knows: that notes how many releases are
        lost here, and no other copy continues."""
        found = self.one("SELECT size, chain FROM witness WHERE home = ?", (self.home,))
        assert found is not None
        ahead = self.releases_ahead()
        if self.witness is None or not ahead:
            raise Fenced(f"{self.name} is fenced: {self.fence}; nothing changed")
        text = json.dumps({**more, "lost": len(ahead)})
        self.note(self.witness.append(text, ahead[-1].end, ahead[-1].chain))
        self.fence = ""

    def releases_ahead(self) -> list[Line]:
        """What the witness of an old copy knows beyond it; nothing if it is not the right one."""
        found = self.one("SELECT size, chain FROM witness WHERE home = ?", (self.home,))
        if self.witness is None or found is None:
            return []
        why, lines = self.witness.look(*found)
        return [] if why else lines

    def fences(self) -> int:
        """How often copies have gone on, by the witness."""
        said = [line.text for line in self.releases_ahead()]
        said += self.witness.texts() if self.witness is not None else []
        return max((json.loads(text).get("fences", 0) for text in said), default=0)

    def note(self, line: Line) -> None:
        """The home knows its witness up to there."""
        self.run(
            "UPDATE witness SET size = ?, chain = ? WHERE home = ?",
            (line.end, line.chain, self.home),
        )

    def known(self) -> tuple[Any, ...]:
        """What the home knows of its witness."""
        found = self.one(
            "SELECT id, place, file, size, chain FROM witness WHERE home = ?", (self.home,)
        )
        if found is None:
            raise DamagedFile(f"{self.name}: the name of its witness is lost")
        return found

    # --- the end ----------------------------------------------------------------------------------

    def leave(self) -> None:
        """A store needs it no more."""
        self.users -= 1
        if self.users <= 0:
            self._close()

    def close(self) -> None:
        """End its use for all who use it; what was not committed is forgotten."""
        self.let_go()
        self._close()


@lru_cache(maxsize=2)
def migrations(dialect: str) -> tuple[tuple[int, str, str], ...]:
    """The numbered files: number, what all databases read, and what this one alone does."""
    found = {
        file.name: file.read_text(encoding="utf-8")
        for file in resources.files(__package__).joinpath("sql").iterdir()
        if file.name.endswith(".sql")
    }
    common = sorted(name for name in found if name.count(".") == 1)
    return tuple(
        (int(name[:3]), found[name], found.get(name.replace(".sql", f".{dialect}.sql"), ""))
        for name in common
    )
