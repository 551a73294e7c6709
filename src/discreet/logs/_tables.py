"""Columns of a table, whatever it is: arrays, a frame of pandas or polars, Arrow, CSV or ARFF.

Nothing is imported for a frame: all that is used of one is its `columns` and `frame[name]`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from .._types import Array, Floats

FIX = "pass a data frame, a dictionary of columns, or the path of a CSV or ARFF file"


def columns_of(table: object) -> dict[str, Array]:
    """All columns by name, in order."""
    if isinstance(table, str | Path):
        return _file(Path(table))
    if isinstance(table, Mapping):
        return {str(name): _column(values) for name, values in table.items()}
    names = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is None or not hasattr(table, "__getitem__"):
        raise InvalidArgument("frame", "have columns", type(table).__name__, FIX)
    frame = cast("Any", table)
    return {str(name): _column(frame[name]) for name in names}


def picked(columns: Mapping[str, Array], argument: str, name: object) -> Array:
    """One column by its name."""
    if not isinstance(name, str) or name not in columns:
        raise InvalidArgument(
            argument, "be the name of a column", name, f"columns: {', '.join(columns)}"
        )
    return columns[name]


def features_of(table: object, names: Sequence[str] | None = None) -> Floats:
    """Numbers, one row per participant. A column of words becomes a column for each but the first
    of its words, 1 where it stands."""
    import numpy as np

    if names is None and (isinstance(table, list | tuple) or hasattr(table, "dtype")):
        return finite("X", np.asarray(table))
    columns = columns_of(table)
    chosen = list(columns) if names is None else list(names)
    parts: list[Floats] = []
    for name in chosen:
        values = picked(columns, "context", name)
        if values.dtype.kind in "biuf":
            parts.append(np.asarray(values, float))
        else:
            words = np.unique(values.astype(str))
            parts.extend((values.astype(str) == word).astype(float) for word in words[1:])
    if not parts:
        raise InvalidArgument("context", "name at least one column", chosen, FIX)
    return finite("context", np.column_stack(parts))


def finite(argument: str, values: Array) -> Floats:
    """Numbers without gaps, one row per participant."""
    import numpy as np

    rows = np.asarray(values)
    rows = rows.reshape(len(rows), -1) if rows.ndim else rows
    if rows.dtype.kind not in "biuf" or rows.ndim != 2 or not rows.size:
        raise InvalidArgument(argument, "be numbers, one row per participant", rows.shape, FIX)
    rows = rows.astype(float)
    if not np.isfinite(rows).all():
        raise InvalidArgument(
            argument, "be finite", "a gap or an infinity", "drop or fill in these participants"
        )
    return np.asarray(rows)


def _column(values: Any) -> Array:
    import numpy as np

    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    column = np.asarray(values)
    if column.dtype == object and all(isinstance(x, int | float) for x in column.tolist()):
        column = column.astype(float)
    if column.ndim != 1:
        raise InvalidArgument("frame", "have columns of one value per row", column.shape, FIX)
    return column


def _file(path: Path) -> dict[str, Array]:
    """A file on disk: CSV with a line of names, or ARFF as OpenML has it."""
    if not path.is_file():
        raise InvalidArgument("frame", "be a file that is there", str(path), "check the path")
    if path.suffix.lower() == ".arff":
        return _arff(path)
    with path.open(newline="", encoding="utf-8-sig") as lines:
        reader = csv.reader(lines)
        names = next(reader, [])
        rows = [row for row in reader if row]
    if not names or not rows or any(len(row) != len(names) for row in rows):
        raise InvalidArgument(
            "frame", "be a table with a line of names", path.name, "check the file"
        )
    return {name: _numbers([row[i] for row in rows]) for i, name in enumerate(names)}


def _numbers(words: list[str]) -> Array:
    """Numbers if all of them are, else words."""
    import numpy as np

    try:
        return np.array([float(word) for word in words])
    except ValueError:
        return np.array(words)


def _arff(path: Path) -> dict[str, Array]:
    import numpy as np
    from scipy.io import arff

    try:
        data, meta = arff.loadarff(str(path))
    except (arff.ParseArffError, NotImplementedError, ValueError, StopIteration) as error:
        raise InvalidArgument(
            "frame", "be an ARFF file of numbers and words", path.name, f"correct this: {error}"
        ) from None
    found: dict[str, Array] = {}
    for name in meta.names():
        values = data[name]
        found[name] = np.char.decode(values) if values.dtype.kind == "S" else np.asarray(values)
    return found
