"""A trial in files, so that a crash at any moment loses nothing that was promised.

    trial.json               snapshot of the state, after a release
    trial.json.assignments   who got which arm, a line each: only ever grows, and is the lock
    trial.json.outcomes-7    block 7: how it was begun, and its outcomes, a line each

Every assignment and outcome is on disk before its call returns. A release writes snapshot g + 1 in
place of snapshot g, and with that single step the outcomes of the released block are void; they are
removed at once, or when the trial is loaded after a crash. A line that a crash tore was never
acknowledged, so it is dropped. No file holds random state.

The lock is on the assignments: a file that is never replaced, so that there is nothing to swap, and
whatever name the folder is reached by, it is the same file. Before a snapshot is replaced it is
read again: it must be the one that this object wrote, and the assignments must still be the locked
ones. Numbers that are private take the same room whatever they are: a file's size tells nothing.
"""

from __future__ import annotations

import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..._checks import Name
from ...errors import AlreadyOpen, DamagedFile, DiscreetError, InvalidArgument, TrialError
from .._rules import Action, Member, Place
from . import _disk as disk
from ._base import Block, Json, unheld
from ._format import (
    FORMAT,
    VERSION,
    Line,
    check_name,
    counts_in,
    digest_of,
    line_of,
    lines_of,
    mark_of,
    parsed,
    read_snapshot,
    room_for,
    secret,
    secret_lines,
)
from ._memory import MemoryStore

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

OPEN_AT_ONCE = 64
"""Logs that are kept open; a trial may have more blocks than a process may have open files."""
FIX = "close the trial, make room or mend the disk, and load it again"


class FileStore(MemoryStore):
    """The files of one trial, locked; all of it is held in memory as well. After a failed write
    nothing more is written."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._logs: dict[str, int] = {}
        self._folder: disk.Folder | None = None
        self._assignments, self._unsure = -1, False
        self._name, self._generation, self._digest = "", 0, ""
        self._fresh: list[str] = []
        """what was created of a trial that has no snapshot yet"""
        self._finished = False
        """whether its first snapshot was about to be put in place, or more"""
        if not isinstance(path, str | os.PathLike):
            raise InvalidArgument("path", "be a path", path, 'use for example "trial.json"')
        self.path = Path(path).absolute()

    @property
    def place(self) -> str:
        return str(self.path)

    def ready(self) -> None:
        if self._unsure:
            raise TrialError(
                f"a write to {self.path} failed or was interrupted, so it is unknown what is on "
                f"disk; {FIX}"
            )

    # --- new files --------------------------------------------------------------------------------

    def create(self, state: Json, arms: int, block: str | None) -> None:
        super().create(state, arms, block)
        self._write_all()

    @unheld
    def adopt(self, other: MemoryStore, settings: Json) -> None:
        """Go on in files with what a store in memory holds, and leave nothing there: of two, each
        could release the same block. Should it fail, the other has lost nothing."""
        self._members, self._assigned = other._members.copy(), other._assigned.copy()
        blocks = {key: block.copy() for key, block in other.blocks.items()}
        self._now = {**settings, **other.state}, blocks
        self._write_all()
        other._now, other._members = ({}, {}), {}

    @property
    def is_whole(self) -> bool:
        """Whether the files can be loaded, as far as this object has written them."""
        return self._finished and os.path.lexists(self.path)

    def _write_all(self) -> None:
        if not self.path.parent.is_dir():
            raise InvalidArgument(
                "path", "lie in an existing folder", str(self.path), "create it first"
            )
        try:
            self._create()
        except BaseException:
            self._undo()
            self.close()
            raise

    def _undo(self) -> None:
        """Nothing is left of files that were not finished: they hold outcomes."""
        if self._folder is not None and self._fresh and not self.is_whole:
            for name in [disk.temporary(self.path.name), *reversed(self._fresh)]:
                with suppress(OSError):
                    self._folder.remove([name])

    def _create(self) -> None:
        check_name(self.path)
        self._folder = folder = self._open_folder()
        self._name, log = secrets.token_hex(8), f"{self.path.name}.assignments"
        if folder.has(self.path.name):
            raise InvalidArgument(
                "path", "be a new file", str(self.path), "go on with it by Trial.load(path)"
            )
        if folder.has(log):
            self._remove_unused(log)
        self._assignments = folder.create(log)
        self._fresh.append(log)
        self._lock(log)
        since = [line for key, block in self.blocks.items() for line in self._lines(key, block)]
        since.sort(key=lambda line: line.number or 0)
        assigned = self._assigned.copy()
        for line in since:
            assigned[line.arm] -= 1
        before = [
            Line(unit, member.arm, None, member.used)
            for unit, member in self._members.items()
            if member.block not in self.blocks
        ]
        head = lines_of([{"trial": self._name}, *before], len(assigned))
        disk.append(self._assignments, head + lines_of(since, len(assigned)))
        for key, block in self.blocks.items():
            disk.append(self._new_log(key, 1), secret_lines(block))
        self._write_snapshot({**self.state, "assigned": assigned}, len(head), 1, list(self.blocks))

    def _remove_unused(self, log: str) -> None:
        """What a crash left of a trial that had not begun."""
        assert self._folder is not None
        self._assignments = self._folder.open(log)
        self._lock(log)
        if disk.read(self._assignments).count(b"\n") > 1:
            raise InvalidArgument(
                "path", "have no assignments of another trial beside it",
                str(self.path.with_name(log)), "put its trial back, or choose another path",
            )  # fmt: skip
        start = f"{self.path.name}.outcomes-"
        old = [name for name in self._folder.names() if name.startswith(start)]
        fresh = disk.temporary(self.path.name)
        self._folder.remove([*old, *([fresh] if self._folder.has(fresh) else []), log])
        self._assignments = disk.closed(self._assignments)

    def _lines(self, key: str, block: Block) -> list[Line]:
        found = []
        for slot, place in enumerate(block.places):
            member = self._members[place.unit]
            earlier = (member.block, member.slot) != (key, slot)
            found.append(line_of(key, slot, place, member.used - earlier))
        return found

    def _new_log(self, key: str, generation: int) -> int:
        assert self._folder is not None
        name = f"{self.path.name}.outcomes-{key}"
        descriptor = self._folder.create(name)
        if self._generation == 0:
            self._fresh.append(name)
        log = self._hold(key, descriptor)
        disk.append(log, lines_of([{"trial": self._name, "generation": generation}]))
        return log

    def _log(self, key: str) -> int:
        """The log of a block, opened again if need be."""
        if key not in self._logs:
            if self._assignments < 0:
                return -1
            self._hold(key, self._open_existing(f"{self.path.name}.outcomes-{key}"))
        return self._logs[key]

    def _hold(self, key: str, log: int) -> int:
        while len(self._logs) >= OPEN_AT_ONCE:
            disk.closed(self._logs.pop(next(iter(self._logs))))
        self._logs[key] = log
        return log

    # --- every day --------------------------------------------------------------------------------

    @unheld
    def assign(self, unit: Name, member: Member, place: Place | None) -> None:
        self._unsure = True
        if place is None:
            line = Line(unit, member.arm, None, member.used)
        else:
            line = line_of(member.block, member.slot, place, member.used)
            if member.block not in self.blocks:
                # on disk before anything speaks of it
                self._new_log(member.block, self._generation)
                assert self._folder is not None
                self._folder.sync()
            if place.private:
                self._append(self._log(member.block), secret(member.slot, place.action))
        self._append(self._assignments, lines_of([line], len(self._assigned)))
        super().assign(unit, member, place)
        self._unsure = False

    @unheld
    def record(self, block: str, slot: int, value: int) -> None:
        self._unsure = True
        self._append(self._log(block), secret(slot, value))
        super().record(block, slot, value)
        self._unsure = False

    @unheld
    def release(self, block: str | None, state: Json, opens: str | None) -> None:
        self._unsure = True
        self._check_owner()
        folder, generation = self._folder, self._generation + 1
        assert folder is not None
        keys = [key for key in self.blocks if key != block]
        if opens is not None:
            self._new_log(opens, generation)
            folder.sync()
            keys.append(opens)
        mark = os.fstat(self._assignments).st_size
        self._grow(state)
        self._write_snapshot({**state, "assigned": self._assigned.copy()}, mark, generation, keys)
        super().release(block, state, opens)
        if block is not None:
            disk.closed(self._logs.pop(block, -1))
            folder.remove([f"{self.path.name}.outcomes-{block}"], mark_of(self._name))
        self._unsure = False

    @unheld
    def begin(self, block: str, run: Json) -> None:
        self._unsure = True
        self._append(self._log(block), lines_of([{"run": run}]))
        super().begin(block, run)
        self._unsure = False

    def close(self) -> None:
        super().close()
        while self._logs:
            disk.closed(self._logs.popitem()[1])
        self._assignments = disk.closed(self._assignments)
        if self._folder is not None:
            self._folder.close()

    def __del__(self) -> None:
        if self._logs or self._assignments >= 0:  # a process that ends may have no `disk` any more
            self.close()

    def _append(self, descriptor: int, data: bytes) -> None:
        if descriptor < 0:
            raise TrialError("the trial is closed; go on with Trial.load(path)")
        disk.append(descriptor, data)

    def _write_snapshot(self, state: Json, mark: int, generation: int, blocks: list[str]) -> None:
        assert self._folder is not None
        body = {
            "trial": self._name, "generation": generation, "assignments": mark, "blocks": blocks,
            "state": state,
        }  # fmt: skip
        digest = digest_of(body)
        whole = {"format": FORMAT, "version": VERSION, "digest": digest, **body}
        room = b" " * room_for({**state["protocol"]["ledger"], "assigned": state["assigned"]})
        data = json.dumps(whole, indent=1).encode("ascii") + room + b"\n"
        self._check_lock()
        self._folder.sync()
        self._finished = True
        self._folder.replace(self.path.name, data)
        self._generation, self._digest = generation, digest

    # --- one owner --------------------------------------------------------------------------------

    def _open_folder(self) -> disk.Folder:
        """The folder, on systems that have what is needed of it: before anything is touched."""
        if fcntl is None:
            raise TrialError(
                "trials in files need a lock that this system does not have, and without one two "
                "processes could release the same block; keep the trial in memory, or elsewhere"
            )
        return disk.Folder(self.path.parent)

    def _lock(self, log: str) -> None:
        """A lock that ends with this process, on a file that is still the one of that name."""
        try:
            fcntl.flock(self._assignments, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            locked = False
        else:
            locked = True
        if not locked:
            raise AlreadyOpen(
                f"{self.path} is already open, here or in another process; close that trial first"
            )
        self._check_lock()

    def _check_lock(self) -> None:
        assert self._folder is not None
        mine = os.fstat(self._assignments)
        log = f"{self.path.name}.assignments"
        if self._folder.identity(log) != (mine.st_dev, mine.st_ino):
            raise TrialError(
                f"{self.path.with_name(log)} is not the file that this trial has locked: it was "
                "moved, removed or replaced, and another process may own the trial; put it back, "
                "close the trial and load it again"
            )

    def _check_owner(self) -> None:
        """The snapshot is the one that this object knows: nobody has released anything since."""
        assert self._folder is not None
        self._check_lock()
        found = read_snapshot(self._folder, self.path)
        if found["digest"] != self._digest:
            raise TrialError(
                f"{self.path} was replaced by another snapshot while the trial was open; nothing "
                "is released: put the files back, close the trial and load it again"
            )

    # --- after a crash ----------------------------------------------------------------------------

    @unheld
    def load(self) -> None:
        """Read the files of a saved trial."""
        if not self.path.is_file():
            raise InvalidArgument(
                "path", "be the file of a saved trial", str(self.path),
                "start one with Trial(path=...)",
            )  # fmt: skip
        damage = ""
        try:
            self._load()
        except disk.Refused as refusal:
            damage = str(refusal)
        except DiscreetError:
            self.close()
            raise
        except (KeyError, TypeError, ValueError, IndexError):
            damage = f"{self.path}: the assignments or the outcomes are damaged"
        except BaseException:
            self.close()
            raise
        if damage:
            self.close()
            raise DamagedFile(damage)

    def _load(self) -> None:
        self._folder = folder = self._open_folder()
        log = f"{self.path.name}.assignments"
        self._assignments = self._open_existing(log)
        self._lock(log)
        body = read_snapshot(folder, self.path)
        self._name, self._generation, self._digest = (
            body["trial"], body["generation"], body["digest"],
        )  # fmt: skip
        header: Json = {"trial": self._name}
        before = self._read_log(self._assignments, log, header, body["assignments"])
        both = self._read_log(self._assignments, log, header)
        keys = [str(self._generation)] if body.get("blocks") is None else [*body["blocks"]]
        for entry in both[len(before) :]:
            key = Line(*entry).block
            if key is not None and key not in keys:
                keys.append(key)
        for key in keys:
            self._log(key)
        # a crash may have left any of this in memory only; what is shown from here on must stay
        folder.sync()
        self._remove_leftovers(keys)
        state = body["state"]
        if not isinstance(state, dict) or not isinstance(state.get("assigned"), list):
            raise DamagedFile(f"{self.path} holds no state of a trial")
        self._now = state, {key: Block() for key in keys}
        self._assigned = counts_in(state["assigned"])
        private: dict[tuple[str, int], Action] = {}
        outcomes = []
        for key in keys:
            name = f"{self.path.name}.outcomes-{key}"
            for entry in self._read_log(self._log(key), name, header, generation=True):
                if isinstance(entry, dict):
                    super().begin(key, entry["run"])
                elif type(entry[1]) is list:
                    # of two for the same place the last counts: the first call never returned
                    private[key, entry[0]] = entry[1]
                else:
                    outcomes.append((key, *entry))
        for number, entry in enumerate(both):
            self._replay(Line(*entry), keys, private, counted=number < len(before))
        for key, slot, value in outcomes:
            block = self.blocks[key]
            fits = type(slot) is int and 0 <= slot < len(block.places) and type(value) is int
            if not fits or slot in block.outcomes:
                raise DamagedFile("the outcomes since the last release are damaged")
            block.outcomes[slot] = value

    def _replay(
        self, line: Line, keys: list[str], private: dict[tuple[str, int], Action], counted: bool
    ) -> None:
        """Take in one assignment; `counted` are those that the snapshot takes into account."""
        when = "before" if counted else "since"
        arms = len(self._assigned)
        if type(line.arm) is not int or not 0 <= line.arm < arms or type(line.used) is not int:
            raise DamagedFile(f"the assignments {when} the last release are damaged")
        key = line.block if line.block is not None or counted else keys[-1]
        member, place = Member(line.arm, line.used), None
        if line.slot is not None and key in keys:
            if line.slot != len(self.blocks[key].places):
                raise DamagedFile("the assignments since the last release are out of order")
            member = Member(line.arm, line.used, key, line.slot)
            hidden = private.get((key, line.slot))
            action = line.action if hidden is None else hidden
            place = Place(
                line.unit, line.arm, line.due, action, hidden is not None, line.at, line.number,
                None if line.left is None else tuple(line.left),
            )  # fmt: skip
        elif not counted and line.slot is not None:
            raise DamagedFile("the assignments since the last release are out of order")
        known = self._members.get(line.unit)
        self._enter((line.unit, member, place, self._assigned[line.arm] + (not counted)))
        if known is not None and known.used > line.used:  # whose latest place is released already
            self._members[line.unit] = known

    def _open_existing(self, name: str) -> int:
        assert self._folder is not None
        try:
            return self._folder.open(name)
        except FileNotFoundError:
            found = None
        assert found is None
        raise DamagedFile(
            f"{self.path.with_name(name)} is missing; the files of a trial belong together, put it "
            "back"
        )

    def _remove_leftovers(self, keys: list[str]) -> None:
        """Whatever a crash left behind: above all, outcomes that were already released."""
        assert self._folder is not None
        start = f"{self.path.name}.outcomes-"
        known = {start + key for key in keys}
        unused = {disk.temporary(self.path.name), f"{self.path.name}.lock"}
        left = [
            name for name in self._folder.names()
            if (name.startswith(start) and name not in known) or name in unused
        ]  # fmt: skip
        self._folder.remove(left, mark_of(self._name))

    def _read_log(
        self, descriptor: int, name: str, header: Json, length: int | None = None,
        generation: bool = False,
    ) -> list[Any]:  # fmt: skip
        """The lines of a log up to a length; without one, a torn last line is cut off."""
        path, data = self.path.with_name(name), disk.read(descriptor)
        if length is not None:
            if len(data) < length:
                raise DamagedFile(f"{path} is shorter than when it was last written; truncated")
            data = data[:length]
        whole = data[: data.rfind(b"\n") + 1]
        lines: list[Any] = []
        size = 0
        for raw in whole.splitlines(keepends=True):
            line = parsed(raw)
            if line is None:
                if length is None and size + len(raw) == len(whole):
                    break  # written by a call that never returned
                raise DamagedFile(f"{path}: line {len(lines) + 1} is damaged")
            lines.append(line)
            size += len(raw)
        first = lines[0] if lines and isinstance(lines[0], dict) else {}
        if generation and first.get("generation", 0) <= self._generation:
            first = {key: value for key, value in first.items() if key != "generation"}
        if first != header:
            raise DamagedFile(f"{path} does not belong to {self.path.name}: its first line differs")
        if length is not None:
            if size != length:
                raise DamagedFile(f"{path}: line {len(lines) + 1} is damaged")
        elif size < len(data):
            disk.shorten(descriptor, size)
        else:
            disk.sync(descriptor)
        return lines[1:]
