"""What stands in the files of a trial: lines of logs, and the snapshot with its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..._checks import Name
from ...errors import DamagedFile, InvalidArgument
from .._rules import Action, Place
from . import _disk as disk
from ._base import Block, Json

FORMAT, VERSION = "discreet trial", 3
BODY = {
    1: ("trial", "generation", "assignments", "state"),
    2: ("trial", "generation", "assignments", "blocks", "state"),
    3: ("trial", "generation", "assignments", "blocks", "state"),  # blocks may open in between
}
"""What the digest of a snapshot covers, by version of the format."""
NUMBER, ROOM = 8, 24
"""Characters of an outcome, and of a feature, a count of assignments or a number of the ledger."""


class Line(NamedTuple):
    """A line of the assignments, as it is written; one that was read is checked before its use."""

    unit: Name
    arm: int
    slot: int | None
    """None for a visitor"""
    used: int
    due: float | None = None
    action: Action | None = None
    """with public contexts"""
    block: str | None = None
    """of version 1 the only one there was"""
    at: float | None = None
    number: int | None = None
    left: Sequence[int] | None = None
    """of streams: when, which place of all, and what is left of the window"""


def check_name(path: Path) -> None:
    """Refuse a name that a file of another trial may have: that one would remove it."""
    if path.name.endswith((".new", ".lock", ".assignments")) or ".outcomes-" in path.name:
        raise InvalidArgument(
            "path", "not end like the files that lie beside a trial", str(path),
            'use for example "trial.json"',
        )  # fmt: skip


def line_of(key: str, slot: int, place: Place, used: int) -> Line:
    action = None if place.private else place.action
    line = Line(place.unit, place.arm, slot, used, place.due, action, key)
    return line._replace(at=place.at, number=place.number, left=place.left)


def secret_lines(block: Block) -> bytes:
    features = [
        secret(slot, place.action) for slot, place in enumerate(block.places) if place.private
    ]
    return b"".join([*features, *(secret(*item) for item in block.outcomes.items())])


def secret(slot: int, value: int | Action | None) -> bytes:
    """A line of the same length whatever the number in it is."""
    if type(value) is list:
        return f"[{slot},[{','.join(f'{feature:>{ROOM}}' for feature in value)}]]\n".encode()
    return f"[{slot},{value:>{NUMBER}}]\n".encode()


def room_for(private: Json) -> int:
    """How much shorter the numbers of a ledger are than the longest would be, or counts per arm."""
    fields = [value if type(value) is list else [value] for value in private.values()]
    return sum(max(0, ROOM - len(json.dumps(number))) for field in fields for number in field)


def lines_of(entries: Iterable[Line | Json], arms: int = 1) -> bytes:
    """Lines as long whichever of the arms somebody got: with private contexts that is private."""
    return b"".join(
        json.dumps(_short(entry), separators=(",", ":")).encode("ascii") + _room(entry, arms)
        for entry in entries
    )


def mark_of(trial: str) -> bytes:
    """What the logs of a trial begin with."""
    return lines_of([{"trial": trial}])[:-2]  # without "}" and the end: more entries may follow


def _room(entry: Line | Json, arms: int) -> bytes:
    missing = len(str(arms - 1)) - len(str(entry.arm)) if isinstance(entry, Line) else 0
    return b" " * missing + b"\n"


def _short(entry: Line | Json) -> tuple[object, ...] | Json:
    """A line without what it does not say; those of single batches are as they were."""
    return entry[:7] if isinstance(entry, Line) and entry.number is None else entry


def parsed(raw: bytes) -> Any:
    """A line, or None. An error of the parser would hold the whole text, outcomes and all."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def counts_in(assigned: list[object]) -> list[int]:
    """The saved counts of assignments, by arm."""
    found = [count for count in assigned if type(count) is int and count >= 0]
    if len(found) < len(assigned):
        raise DamagedFile("the counts of assignments are damaged")
    return found


def digest_of(body: Json) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("ascii")).hexdigest()


def read_snapshot(folder: disk.Folder, path: Path) -> Json:
    data = parsed(folder.read(path.name))
    if data is None:
        raise DamagedFile(f"{path} is not JSON: foreign or truncated")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise DamagedFile(f"{path} is not the file of a trial")
    if data.get("version") not in BODY:
        raise DamagedFile(
            f"{path} has version {data.get('version')!r} of the format, this library reads up to "
            f"{VERSION}; use a later version of discreet"
        )
    body = {key: data.get(key) for key in BODY[data["version"]]}
    if digest_of(body) != data.get("digest"):
        raise DamagedFile(f"{path} was changed after it was written: its digest does not fit")
    if type(body["generation"]) is not int or type(body["assignments"]) is not int:
        raise DamagedFile(f"{path} has no generation or no length of its assignments")
    blocks = body.get("blocks", [])
    if type(blocks) is not list or not all(type(key) is str and key for key in blocks):
        raise DamagedFile(f"{path} does not say which blocks are open")
    return {**body, "digest": data["digest"]}
