"""Results as Parquet files: tidy columns, and all settings as one entry of metadata in JSON.

    table = stamped({"run": runs, "regret": regret}, {"format": 1, "seed": 7})
    save_table(table, "study.parquet")
    with damage_named("study.parquet", "result"):
        table, settings = open_table("study.parquet", "result", newest=1)

A file is written whole or not at all, and one that is damaged, foreign or of a later format is
refused with `DamagedFile`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DamagedFile, InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy import generic
    from numpy.typing import NDArray

    from .._types import Json

METADATA = b"discreet"
"""The entry's key."""


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A temporary neighbour of `path` that takes its place if nothing fails meanwhile."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def stamped(columns: dict[str, object] | pa.Table, entry: Json) -> pa.Table:
    """The columns as a table, the entry inside."""
    import pyarrow as pa

    table = pa.table(columns) if isinstance(columns, dict) else columns
    return table.replace_schema_metadata({METADATA: json.dumps(entry).encode()})


def settings_in(table: pa.Table) -> dict[str, Any]:
    """The entry of a table."""
    entry: dict[str, Any] = json.loads(table.schema.metadata[METADATA])
    return entry


def save_table(table: pa.Table, path: str | Path) -> Path:
    """Write a Parquet file, whole or not at all."""
    import pyarrow.parquet as pq

    path = Path(path)
    if not path.parent.is_dir():
        raise InvalidArgument(
            "path", "lie in a folder that exists", str(path), f"make the folder {path.parent}"
        )
    with written_whole(path) as temporary:
        pq.write_table(table, temporary)
    return path


def open_table(path: str | Path, what: str, newest: int) -> tuple[pa.Table, dict[str, Any]]:
    """Table and entry of a file, if its format is not later than `newest`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    if not path.is_file():
        raise DamagedFile(f"path must name a saved {what}, got {str(path)!r}; no such file")
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DamagedFile(
            f"path must name a readable Parquet file, got {str(path)!r}; "
            f"it is damaged or something else, save the {what} again ({error})"
        ) from None
    metadata = table.schema.metadata or {}
    if METADATA not in metadata:
        raise DamagedFile(
            f"path must name a saved {what} of discreet, got {str(path)!r}; "
            "it is a Parquet file of another program"
        )
    entry = settings_in(table)
    number = entry["format"]
    if number > newest:
        raise DamagedFile(
            f"path must hold format {newest} or older, got format {number} of "
            f"discreet {entry['version']} in {str(path)!r}; upgrade discreet"
        )
    return table, entry


@contextlib.contextmanager
def damage_named(path: str | Path, what: str) -> Iterator[None]:
    """Whatever goes wrong while a file is unpacked is the file's fault, and said so."""
    try:
        yield
    except DamagedFile:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"path must hold a whole {what}, got {str(path)!r} with settings that do not fit its "
            f"columns ({error}); save the {what} again"
        ) from None


def numbers(table: pa.Table, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Columns of numbers: those named, else all but the first, which holds the policies' names.

    What is null in a table, such as pulls of arms that a problem does not have, is 0 here.
    """
    import pyarrow as pa

    found = {}
    for name in table.column_names[1:] if names is None else names:
        column = table.column(name)
        none = pa.scalar(0).cast(column.type)
        found[name] = (column.fill_null(none) if column.null_count else column).to_numpy()
    return found


def digest(entry: Json, columns: Mapping[str, NDArray[generic]]) -> str:
    """A checksum against damage: Parquet would not notice a flipped bit."""
    import numpy as np

    seen = hashlib.sha256(json.dumps(entry, sort_keys=True).encode())
    for name, column in columns.items():
        if name != "policy":
            seen.update(f"{name} {column.dtype}".encode())
            seen.update(np.ascontiguousarray(column).tobytes())
    return seen.hexdigest()
