"""Where a trial is kept, so that a crash at any moment loses nothing that was promised.

    trial.json               snapshot of the public state and the curator's ledger, after a release
    trial.json.assignments   who got which arm, a line each: only ever grows
    trial.json.outcomes-7    outcomes of the open batch, a line each: belongs to snapshot 7
    trial.json.lock          held by the process that runs the trial

Every assignment and outcome is on disk before its call returns. A release writes snapshot g + 1 in
place of snapshot g, and with that single step outcomes-g are void; they are removed at once, or
when the trial is loaded after a crash. A line that a crash tore was never acknowledged, so it is
dropped. No file holds random state.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DamagedFile, InvalidArgument, TrialError
from . import files

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]

FORMAT, VERSION = "discreet trial", 1


class Saved(NamedTuple):
    """What was found on disk."""

    state: Any
    """the last snapshot"""
    before: list[Any]
    """assignments that it already takes into account"""
    since: list[Any]
    """assignments since"""
    outcomes: list[Any]
    """outcomes since"""


class Storage:
    """The files of one trial, locked. After a failed write nothing more is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failed = False
        self._lock = self._assignments = self._outcomes = -1
        self._name, self._generation = "", 0
        self._lock = _locked(path)

    @classmethod
    def create(
        cls, path: Path, state: Any, before: Iterable[Any], since: Iterable[Any],
        outcomes: Iterable[Any],
    ) -> Storage:  # fmt: skip
        """New files for a trial that stands where `state` and the lines after it say."""
        if not path.parent.is_dir():
            raise InvalidArgument("path", "lie in an existing folder", str(path), "create it first")
        storage = cls(path)
        try:
            storage._refuse_existing()
            storage._name = secrets.token_hex(8)
            log = files.open_log(storage._assignments_path, new=True)
            storage._assignments = log
            head = _lines([{"trial": storage._name}, *before])
            files.append(log, head + _lines(since))
            storage._turn(state, len(head), outcomes)
        except BaseException:
            storage.close()
            raise
        return storage

    @classmethod
    def open(cls, path: Path) -> tuple[Storage, Saved]:
        """The files of a trial, and what they hold."""
        if not path.is_file():
            raise InvalidArgument(
                "path", "be the file of a saved trial", str(path), "start one with Trial(path=...)"
            )
        storage = cls(path)
        try:
            return storage, storage._read()
        except BaseException:
            storage.close()
            raise

    def add_assignment(self, line: Any) -> None:
        """Keep one more assignment."""
        self._append(self._assignments, line)

    def add_outcome(self, line: Any) -> None:
        """Keep one more outcome, until the next snapshot."""
        self._append(self._outcomes, line)

    def turn(self, state: Any) -> None:
        """Put a new snapshot in place of the last one and forget the outcomes before it."""
        try:
            self._turn(state, os.fstat(self._assignments).st_size)
        except BaseException:
            self.failed = True
            raise

    def close(self) -> None:
        """Let go of the files; the trial may then be loaded elsewhere."""
        for name in ("_assignments", "_outcomes", "_lock"):
            descriptor = getattr(self, name)
            if descriptor >= 0:
                setattr(self, name, -1)
                os.close(descriptor)

    def __del__(self) -> None:
        self.close()

    @property
    def _assignments_path(self) -> Path:
        return self.path.with_name(self.path.name + ".assignments")

    def _outcomes_path(self, generation: int) -> Path:
        return self.path.with_name(f"{self.path.name}.outcomes-{generation}")

    def _append(self, descriptor: int, line: Any) -> None:
        try:
            files.append(descriptor, _lines([line]))
        except BaseException:
            self.failed = True  # half a line may be in the file: nothing may follow it
            raise

    def _turn(self, state: Any, mark: int, lines: Iterable[Any] = ()) -> None:
        generation, old = self._generation + 1, self._outcomes
        outcomes = files.open_log(self._outcomes_path(generation), new=True)
        try:
            header = {"trial": self._name, "generation": generation}
            files.append(outcomes, _lines([header, *lines]))
            files.sync_folder(self.path.parent)
            body = {
                "trial": self._name,
                "generation": generation,
                "assignments": mark,
                "state": state,
            }
            files.replace(self.path, _snapshot(body))
        except BaseException:
            os.close(outcomes)
            raise
        self._generation, self._outcomes = generation, outcomes
        if old >= 0:
            os.close(old)
            files.remove([self._outcomes_path(generation - 1)])

    def _refuse_existing(self) -> None:
        if self.path.exists():
            raise InvalidArgument(
                "path", "be a new file", str(self.path), "go on with it by Trial.load(path)"
            )
        log = self._assignments_path
        if log.exists() and log.read_bytes().count(b"\n") > 1:
            raise InvalidArgument(
                "path", "have no assignments of another trial beside it", str(log),
                "put its trial back, or choose another path",
            )  # fmt: skip

    def _read(self) -> Saved:
        body = _read_snapshot(self.path)
        self._name, self._generation = body["trial"], body["generation"]
        self._assignments = self._open_existing(self._assignments_path)
        self._outcomes = self._open_existing(self._outcomes_path(self._generation))
        # a crash may have left any of this in memory only; what is shown from here on must stay
        files.sync_file(self.path)
        files.sync_folder(self.path.parent)
        self._remove_leftovers()
        header: dict[str, Any] = {"trial": self._name}
        mark = body["assignments"]
        before = self._read_log(self._assignments, self._assignments_path, header, mark)
        both = self._read_log(self._assignments, self._assignments_path, header)
        header["generation"] = self._generation
        outcomes = self._read_log(self._outcomes, self._outcomes_path(self._generation), header)
        return Saved(body["state"], before, both[len(before) :], outcomes)

    def _open_existing(self, path: Path) -> int:
        try:
            return files.open_log(path, new=False)
        except FileNotFoundError:
            raise DamagedFile(
                f"{path} is missing; the files of a trial belong together, put it back"
            ) from None

    def _remove_leftovers(self) -> None:
        """Whatever a crash left behind: above all, outcomes that were already released."""
        kept = self._outcomes_path(self._generation).name
        start = f"{self.path.name}.outcomes-"
        old = [
            path
            for path in self.path.parent.iterdir()
            if path.name.startswith(start) and path.name != kept
        ]
        fresh = files.temporary(self.path)
        files.remove(old + ([fresh] if fresh.exists() else []))

    def _read_log(
        self, descriptor: int, path: Path, header: Any, length: int | None = None
    ) -> list[Any]:
        """The lines of a log up to a length; without one, a torn last line is cut off."""
        data = path.read_bytes()
        if length is not None:
            if len(data) < length:
                raise DamagedFile(f"{path} is shorter than when it was last written; truncated")
            data = data[:length]
        whole = data[: data.rfind(b"\n") + 1]
        lines: list[Any] = []
        read = 0
        for raw in whole.splitlines(keepends=True):
            try:
                lines.append(json.loads(raw))
            except ValueError:
                if length is None and read + len(raw) == len(whole):
                    break  # written by a call that never returned
                raise DamagedFile(f"{path}: line {len(lines) + 1} is damaged") from None
            read += len(raw)
        if not lines or lines[0] != header:
            raise DamagedFile(f"{path} does not belong to {self.path.name}: its first line differs")
        if length is not None:
            if read != length:
                raise DamagedFile(f"{path}: line {len(lines) + 1} is damaged")
        elif read < len(data):
            files.shorten(descriptor, read)
        else:
            files.sync(descriptor)
        return lines[1:]


def _lines(entries: Iterable[Any]) -> bytes:
    return b"".join(_json(entry) + b"\n" for entry in entries)


def _json(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode("ascii")


def _snapshot(body: dict[str, Any]) -> bytes:
    whole = {"format": FORMAT, "version": VERSION, "digest": _digest(body), **body}
    return json.dumps(whole, indent=1).encode("ascii") + b"\n"


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("ascii")).hexdigest()


def _read_snapshot(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise DamagedFile(f"{path} is not JSON: foreign or truncated") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DamagedFile(f"{path} is not the file of a trial")
    if data.get("version") != VERSION:
        raise DamagedFile(
            f"{path} has version {data.get('version')!r} of the format, this library reads "
            f"{VERSION}; use a later version of discreet"
        )
    body = {key: data.get(key) for key in ("trial", "generation", "assignments", "state")}
    if _digest(body) != data.get("digest"):
        raise DamagedFile(f"{path} was changed after it was written: its digest does not fit")
    if type(body["generation"]) is not int or type(body["assignments"]) is not int:
        raise DamagedFile(f"{path} has no generation or no length of its assignments")
    return body


def _locked(path: Path) -> int:
    """A lock that ends with this process, so that no two ever run the same trial."""
    lock = path.with_name(path.name + ".lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, files.OWNER_ONLY)
    if fcntl is not None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise TrialError(
                f"{path} is already open, here or in another process; close that trial first"
            ) from None
    return descriptor
