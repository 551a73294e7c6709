"""The report of a trial as tables, for pandas, R and spreadsheets: one row per arm, or per release.

A cell that has no value is empty. Everything is taken from `Trial.report()`, so it is public.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._checks import one_of
from ..errors import TrialError

if TYPE_CHECKING:
    from ._documents import ArmReport, Report

Rows = list[dict[str, object]]
ARM_COLUMNS = (
    "arm", "assigned", "used", "waiting", "releases", "size", "mean", "low", "high", "low_of_all",
    "high_of_all", "answered", "worst", "best", "active",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@")
RELEASE_COLUMNS = ("release", "time", "arm", "size", "mean", "assigned", "assigned_total")


def arm_rows(report: Report) -> Rows:
    """What is known of every arm: `low` to `high` is its interval, where there is one, of those who
    answered if missing outcomes are estimated, and `low_of_all` to `high_of_all` of everyone then;
    `worst` to `best` its mean with the least and the largest outcome in place of missing ones."""
    rows = []
    for arm in _arms(report):
        low, high = arm.get("interval") or (None, None)
        least, most = arm.get("interval_of_all") or (None, None)
        worst, best = arm.get("bounds") or (None, None)
        row = {name: arm.get(name) for name in ARM_COLUMNS} | {"low": low, "high": high}
        row |= {"low_of_all": least, "high_of_all": most, "worst": worst, "best": best}
        rows.append(row)
    return rows


def release_rows(report: Report) -> Rows:
    """What was public at every release, in the order of time."""
    if "course" not in report:
        raise TrialError(
            "this trial plays single batches and keeps no course of its releases; "
            "take its table of arms"
        )
    return [
        {
            "release": number,
            **{name: entry[name] for name in ("time", "arm", "size", "mean")},
            "assigned": entry["assigned"][str(entry["arm"])],
            "assigned_total": sum(entry["assigned"].values()),
        }
        for number, entry in enumerate(report["course"], start=1)
    ]


TABLES: dict[str, tuple[Callable[[Report], Rows], tuple[str, ...]]] = {
    "arms": (arm_rows, ARM_COLUMNS),
    "releases": (release_rows, RELEASE_COLUMNS),
}


def as_csv(report: Report, table: str = "arms") -> str:
    """A table as comma-separated values, with a header."""
    make, columns = TABLES[one_of("table", table, *TABLES)]
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in make(report):
        writer.writerow({name: as_cell(value) for name, value in row.items()})
    return text.getvalue()


def as_cell(value: object) -> object:
    """ "true" and not "True", for R reads the former as logical; and behind an apostrophe what a
    spreadsheet would take for a formula."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _arms(report: Report) -> list[ArmReport]:
    arms = report.get("arms")
    if arms is None:
        raise TrialError(
            "this trial shows no counts of its arms: they would give away who got which; "
            "take its report as text or JSON"
        )
    return arms
