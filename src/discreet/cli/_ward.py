"""`discreet trial` on a ward: lists as CSV, the rights of people, the trail, rehearsals.

A CSV has a header with the same names as the JSON objects. In it units are texts; what stands
between quotes in JSON stands as it is.
"""

from __future__ import annotations

import csv
import io
import json as parser
import sys
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidArgument
from ._output import print_text

Entry = dict[str, Any]
REHEARSED = 200
"""Participants of a rehearsal without a horizon."""
LEFT_OUT = ("deadline", "missing", "retention", "kits", "beyond")
"""Settings that a rehearsal has in other words, or not at all."""


def settings_of(path: Path | None) -> Any:
    """Settings from a file, TOML or JSON; None to read standard input."""
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else parser.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        why = type(error).__name__
        if isinstance(error, tomllib.TOMLDecodeError | parser.JSONDecodeError):
            why = str(error)
        raise InvalidArgument(
            "settings", f"be a file in TOML (ending .toml) or JSON: {why}", str(path),
            'a TOML file has lines such as policy = "dp-imed", epsilon = 1.0, arms = ["A", "B"]',
        ) from None  # fmt: skip
    if not isinstance(found, dict):
        raise InvalidArgument(
            "settings", "be an object of names and values", str(path), "see discreet trial --help"
        )
    return found


def rows_of(names: Sequence[str], may: Sequence[str] = ()) -> list[Entry]:
    """A CSV on standard input. What cannot be read is not shown: it may be outcomes."""
    reader = csv.DictReader(io.StringIO(sys.stdin.read()))
    found, head = [], [name.strip() for name in reader.fieldnames or ()]
    reader.fieldnames = head
    fits = set(names) <= set(head) <= {*names, *may} and len(set(head)) == len(head)
    try:
        found = list(reader) if fits else []
    except csv.Error:
        fits = False
    if not fits or any(None in row or None in row.values() for row in found):
        raise InvalidArgument(
            "standard input", f"be CSV with the columns {', '.join(names)} in every line",
            "something else", "its first line names the columns",
        )  # fmt: skip
    return found


def number_in(text: str) -> float | str:
    """An outcome of a CSV; what is no number is refused by the trial, which does not show it."""
    try:
        return float(text)
    except ValueError:
        return ""


def print_rows(rows: Sequence[Entry]) -> None:
    """As CSV."""
    from ..live._tables import as_cell

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(rows[0]) if rows else []
    writer.writerow(names)
    writer.writerows([as_cell(row[name]) for name in names] for row in rows)
    print_text(text.getvalue().rstrip("\n"))


def wrapped(text: str, width: int) -> str:
    """Lines of at most so many columns; 0 for any."""
    if width <= 0:
        return text
    lines: list[str] = []
    for line in text.splitlines():
        indent = "  " if width > 10 else ""
        lines += textwrap.wrap(line, width, subsequent_indent=indent) or [""]
    return "\n".join(lines)


def rehearse(
    row: Any, arms: Any, options: Entry, rates: Sequence[float], arrivals: float, seed: int,
    strata: Sequence[Any] | None = None,
) -> tuple[Entry, str]:  # fmt: skip
    """The report of a trial with these settings and made-up people, and in words; days pass at
    once."""
    from .. import Bernoulli, Rehearsal
    from ..live._arguments import grouped
    from ..policies._policy import BasePolicy

    if options.get("deadline") is None:
        raise InvalidArgument(
            "deadline", "be given for a rehearsal, whose answers take time", None,
            'for example "deadline": "14 days"',
        )  # fmt: skip
    more = {name: value for name, value in options.items() if name not in LEFT_OUT}
    horizon = more.pop("horizon", None)
    if horizon is None and isinstance(row, BasePolicy):  # a design has its own
        horizon = REHEARSED
    made = Rehearsal(
        row, arms, horizon=horizon, seed=seed, arrivals=arrivals, delay=options["deadline"],
        missing=0.1, default=options.get("missing"), strata=strata, **grouped(more),
    )  # fmt: skip
    return made.play(Bernoulli(list(rates))), str(made.trial)
