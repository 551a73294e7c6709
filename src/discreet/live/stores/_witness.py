"""What a database cannot know of itself: that it went back.

A copy of a file that is put back knows nothing of the releases since, and would draw them again. So
every release is written to a second file before it is stored, the witness: one line a release, each
with a hash over it and the line before. The database remembers how far it knows its witness, and
which file that is. Before every draw the two are compared:

    no line more               continue
    one more, drawn from just  its commit was lost: that release is adopted, with the same values
    this state
    anything else              the trial is fenced: nothing is released, no one new is assigned

A line holds what the release changed of the public state, and the ledger, sealed under the key of
the released block: the commit overwrites that key, and then no one can read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import weakref
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import AlreadyOpen, DamagedFile, Fenced, TrialError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ENDING = ".witness"
OWNER_ONLY = 0o600
START = "0" * 64
"""What stands in place of the hash before the first line."""
TRIES, PAUSE = 1000, 0.01
"""How often, and every how many seconds, a witness is asked for that another process holds."""
FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


def sync(descriptor: int) -> None:
    """Wait until a file is on disk."""
    os.fsync(descriptor)


class Line(NamedTuple):
    """One line, where it ends, and the hash of all up to there."""

    text: str
    end: int
    chain: str


def chained(before: str, text: str) -> str:
    """The hash of a line."""
    return hashlib.sha256(f"{before} {text}".encode()).hexdigest()


class Witness:
    """The file beside a database, or in another place."""

    def __init__(self, path: Path, trial: str, file: str) -> None:
        self.path, self.trial, self.file = path, trial, file
        self._name = str(path)
        self._seen: tuple[int, int] | None = None
        self._size, self._chain = 0, START
        """how far it was read and found whole"""

    @classmethod
    def make(cls, path: Path, trial: str) -> tuple[Witness, Line]:
        """A new one, that knows of no release."""
        text = json.dumps({"witness": 1, "trial": trial})
        chain = chained(START, text)
        data = f"{chain} {text}\n".encode()
        return cls.written(path, trial, data), Line(text, len(data), chain)

    @classmethod
    def written(cls, path: Path, trial: str, data: bytes) -> Witness:
        """A file with that, which was not there before."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FLAGS, OWNER_ONLY)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, OWNER_ONLY)
            _write(descriptor, data)
            sync(descriptor)
            found = str(os.fstat(descriptor).st_ino)
        finally:
            os.close(descriptor)
        return cls(path, trial, found)

    @property
    def has_changed(self) -> bool:
        """Whether anyone has touched it since it was read here."""
        return self._seen is None or self._now() != self._seen

    def _now(self) -> tuple[int, int] | None:
        """Which file it is, and how long; asked in every call of a trial."""
        try:
            found = os.lstat(self._name)
        except OSError:
            return None
        return found.st_ino, found.st_size

    def look(self, size: int, chain: str) -> tuple[str, list[Line]]:
        """Why a database that knows it up to there must not continue, if so; and what it says after
        that. A last line without its end was never finished, so nothing came of it."""
        self._seen = None
        now = self._now()
        if now is None:
            return f"its witness {self.path} is not there", []
        if str(now[0]) != self.file:
            return (
                f"its witness {self.path} is not the file that this trial has written: the folder "
                "or the witness was copied, or put back"
            ), []
        if size < self._size:
            self._size, self._chain = 0, START
        try:
            lines = self._lines()
        except OSError as error:
            return f"its witness {self.path} cannot be read: {error.strerror}", []
        except ValueError:
            return f"its witness {self.path} is damaged: a line was changed", []
        if (size, chain) not in [(self._size, self._chain), *(line[1:] for line in lines)]:
            return f"its witness {self.path} lacks releases of the trial: cut short or put back", []
        self._size, self._chain, self._seen = size, chain, now
        return "", [line for line in lines if line.end > size]

    def _lines(self) -> list[Line]:
        """The whole lines after what is known; `ValueError` if the chain is broken."""
        with closing(_Opened(self.path, os.O_RDONLY)) as file:
            data = _read(file.number, self._size)
        found: list[Line] = []
        end, before = self._size, self._chain
        for raw in data.split(b"\n")[:-1]:  # the last one has no end
            chain, _, text = raw.decode().partition(" ")
            end += len(raw) + 1
            if chain != chained(before, text):
                raise ValueError("a line was changed")
            if before == START and json.loads(text).get("trial") != self.trial:
                raise ValueError("of another trial")
            found.append(Line(text, end, chain))
            before = chain
        return found

    def texts(self) -> list[str]:
        """What all releases have written, up to where it was read."""
        with closing(_Opened(self.path, os.O_RDONLY)) as file:
            data = _read(file.number, 0)[: self._size]
        return [raw.decode().partition(" ")[2] for raw in data.split(b"\n")[1:-1]]

    def append(self, text: str, size: int, chain: str) -> Line:
        """One line more, synced; refused if it knows more than anyone who appends it."""
        line = chained(chain, text)
        data = f"{line} {text}\n".encode()
        try:
            with closing(_Opened(self.path, os.O_RDWR)) as file:
                _lock(file.number)
                why, lines = self.look(size, chain)
                if why or lines or str(os.fstat(file.number).st_ino) != self.file:
                    raise Fenced(
                        f"{why or f'its witness {self.path} knows of another release'}; nothing "
                        "was released: load the trial again"
                    )
                os.ftruncate(file.number, size)  # a line that was never finished
                os.lseek(file.number, size, os.SEEK_SET)
                _write(file.number, data)
                sync(file.number)
        except OSError as error:
            failed = error.strerror
        else:
            self._size, self._chain = size + len(data), line
            self._seen = self._now()
            return Line(text, self._size, line)
        raise TrialError(
            f"the witness {self.path} could not be written: {failed}; nothing was released: mend "
            "the disk, and try again"
        )


class _Opened:
    """An open file, never through a link. Whatever interrupts its use, it is closed with this
    object: a lock on it must not outlive the call."""

    def __init__(self, path: Path, flags: int) -> None:
        self.number = os.open(path, flags | FLAGS)
        self.close = weakref.finalize(self, os.close, self.number)


def _lock(number: int) -> None:
    """Hold a file until it is closed. Where there are no such locks, on Windows, two copies of a
    trial that share a witness are told apart by what it holds alone."""
    for _ in range(TRIES if fcntl is not None else 0):
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE)
        else:
            return
    if fcntl is not None:
        raise AlreadyOpen(
            "another process writes to the witness of this trial, and does not end; nothing was "
            "released: end the process that hangs, and try again"
        )


def _read(descriptor: int, start: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    parts = list(iter(lambda: os.read(descriptor, 1 << 20), b""))
    return b"".join(parts)


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def is_new(path: Path) -> bool:
    """Whether a witness knows of no release: one that was left when a trial was being made."""
    with path.open("rb") as file:
        return file.read().count(b"\n") <= 1


# --- what a release changes -----------------------------------------------------------------------


def changes(before: Any, after: Any) -> Any:
    """What makes one JSON document of another: a state grows with every release, a line must not.
    Numbers are compared as they are written: 0.0 is neither 0 nor -0.0."""
    if type(before) is dict and type(after) is dict:
        changed = {
            key: changes(before[key], value) if key in before else {"is": value}
            for key, value in after.items()
            if key not in before or _text(before[key]) != _text(value)
        }
        return {"in": changed, "out": [key for key in before if key not in after]}
    if type(before) is list and type(after) is list and len(after) >= len(before):
        pairs = enumerate(zip(before, after, strict=False))
        at = {str(i): changes(a, b) for i, (a, b) in pairs if _text(a) != _text(b)}
        return {"at": at, "on": after[len(before) :]}
    return {"is": after}


def changed(before: Any, how: Any) -> Any:
    """The document after it; `DamagedFile` if that does not fit."""
    try:
        return _changed(before, how)
    except (AttributeError, KeyError, TypeError, IndexError, ValueError):
        pass
    raise DamagedFile("the last line of the witness does not fit the trial")


def _changed(before: Any, how: Any) -> Any:
    if "is" in how:
        return how["is"]
    if "in" in how:
        kept = {key: value for key, value in before.items() if key not in how["out"]}
        return kept | {key: _changed(before.get(key), part) for key, part in how["in"].items()}
    found = list(before)
    for index, part in how["at"].items():
        found[int(index)] = _changed(found[int(index)], part)
    return found + how["on"]


def _text(data: Any) -> str:
    return json.dumps(data)
