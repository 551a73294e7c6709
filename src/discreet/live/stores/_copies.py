"""Copies of the file of a trial that cannot release anything twice.

A *backup* has who got which arm, and all releases; outcomes, private features and exact sums are
left out. It can be read, and is fenced indefinitely. To *move* a trial is to bind it to a copy of
its witness in the new place: from that commit on the old file is fenced, whatever becomes of the
copy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...errors import Fenced, InvalidArgument, TrialError
from . import _people as people
from . import _seal as seal
from ._base import Json
from ._database import BESIDE, Database, sync_folder
from ._transactions import NO_FILE, Transactions
from ._witness import ENDING, Witness, sync

AS_IT_IS = {
    "heads": "trial - ?, version, generation, moved, assigned, taken",
    "places": "unit, trial - ?, turn, arm, block, slot, at, number, due, share",
    "releases": "trial - ?, generation, block",
    "beats": "trial - ?, number",
    **people.TABLES,
}
"""Tables that hold nothing private, and their columns."""
TRIES = 5
"""How often the log of a file is emptied while others write to it."""


def write_backup(base: Transactions, to: Path, ledgers: Mapping[int, Json]) -> None:
    """All that is public of a home that is held, in a new file. `ledgers` are empty ones, to stand
    in place of those of every trial."""
    other = Database(to)
    other.make(witnessed=False)
    try:
        _copy(base, other, ledgers)
        other.commit()
    except BaseException:
        other.discard()
        raise
    other.close()


def _copy(base: Transactions, other: Database, ledgers: Mapping[int, Json]) -> None:
    trial, *_ = base.known()
    other.run("INSERT INTO witness VALUES (0, '', ?, '', ?, 0, '', '', '')", (trial, NO_FILE))
    start, all_of = base.first, "WHERE trial BETWEEN ? AND ?"
    for trial, settings, public, number in base.run(
        f"SELECT trial - ?, settings, public, key FROM trials {all_of}", (start, *base.trials)
    ):
        key = _new_key(other, number)
        secret = seal.sealed(key, seal.padded(ledgers[trial]))
        other.run(
            "INSERT INTO trials VALUES (?, ?, ?, ?, ?)", (trial, settings, public, secret, number)
        )
    for table, columns in AS_IT_IS.items():
        for row in base.run(f"SELECT {columns} FROM {table} {all_of}", (start, *base.trials)):
            other.run(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    for trial, block, number, filled, at, due, old in base.run(
        "SELECT b.trial - ?, b.block, b.key, b.filled, b.at, b.due, k.key FROM open_blocks b "
        f"JOIN keys k ON k.id = b.key {all_of}",
        (start, *base.trials),
    ):
        key = _new_key(other, number)
        other.run(
            "INSERT INTO open_blocks VALUES (?, ?, ?, ?, ?, ?, ?)",
            (trial, block, number, filled, at, due, seal.sealed(key, seal.count_text(0))),
        )
        for slot, action, private in base.run(
            "SELECT slot, action, private FROM pending WHERE trial = ? AND block = ?",
            (start + trial, block),
        ):
            blank = seal.blank_action(old, key, action) if private else action
            silent = seal.sealed(key, seal.outcome_text(None))
            other.run(
                "INSERT INTO pending VALUES (?, ?, ?, ?, ?, ?)",
                (trial, block, slot, silent, blank, private),
            )


def _new_key(other: Database, number: int) -> bytes:
    key = seal.new_key()
    other.run("INSERT INTO keys VALUES (?, ?)", (number, key))
    return key


def restore(backup: Path, to: Path) -> None:
    """A backup in another place."""
    base = Database(backup)
    _check_name(to)
    base.open()
    try:
        if base.one("SELECT file FROM witness") != (NO_FILE,):
            raise InvalidArgument(
                "backup", "be a file that backup() has made", str(backup),
                "make one: discreet trial backup FILE TO",
            )  # fmt: skip
        _write_whole(_held_bytes(base), to)
    finally:
        base.close()


def move(path: Path, to: Path) -> None:
    """A trial from one place to another; nothing of it stays. What was cut short continues when it
    is called again."""
    base, there = Database(path), Path(f"{to}{ENDING}")
    _check_name(to)
    base.open()
    try:
        base.begin()
        ahead = base.look()
        found = base.one("SELECT id, place, file, size FROM witness")
        assert found is not None
        trial, place, file, size = found
        begun = place == "" and _number(there) == file
        if not begun:
            _check_new(to)
            if base.fence:
                raise Fenced(f"{path} is fenced: {base.fence}; it stays where it is")
            if ahead is not None:
                raise TrialError(
                    "a release is not stored yet, for its commit was lost; store it, then try "
                    "again: discreet trial report FILE"
                )
            if place == "":
                data = Path(f"{path}{ENDING}").read_bytes()[:size]
                if there.is_file() and data.startswith(there.read_bytes()):
                    there.unlink()  # of a move that was cut short before its commit
                _check_new(there)
                moved = Witness.written(there, trial, data)
                sync_folder(there.parent)
                base.run("UPDATE witness SET file = ?", (moved.file,))
            # anyone who has it open looks again, and finds it fenced
            base.run("UPDATE heads SET version = version + 1, generation = generation + 1")
            base.commit()
        if not (begun and to.is_file()):
            _write_whole(_held_bytes(base), to)
    finally:
        base.close()
    _remove(path, place)


def _remove(path: Path, place: str) -> None:
    """What is left of a trial that was moved."""
    for ending in ("-wal", "-shm", ENDING, ""):
        if ending != ENDING or place == "":
            Path(f"{path}{ending}").unlink(missing_ok=True)


def _number(path: Path) -> str | None:
    try:
        return str(os.lstat(path).st_ino)
    except OSError:
        return None


def _held_bytes(base: Database) -> bytes:
    """The file as it is, with nothing left in its log, while no one can write to it."""
    base.let_go()
    for _ in range(TRIES):
        base.soiled = True
        base.clean()
        base.begin()
        log = Path(f"{base.path}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return base.path.read_bytes()
        base.let_go()
    raise TrialError(f"others use {base.path}; close it everywhere, and try again")


def _check_name(to: Path) -> None:
    if to.name.endswith((*BESIDE, ENDING)):
        raise InvalidArgument(
            "to", "not end like the files that lie beside a trial", str(to),
            'use for example "trial.db"',
        )  # fmt: skip


def _check_new(path: Path) -> None:
    if os.path.lexists(path) or not path.parent.is_dir():
        raise InvalidArgument(
            "to", "be a new file in an existing folder", str(path), "use for example new/trial.db"
        )


def _write_whole(data: bytes, to: Path) -> None:
    """A new file, synced: under another name until it is whole."""
    _check_new(to)
    part = Path(f"{to}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        sync(descriptor)
    part.rename(to)
    sync_folder(to.parent)
