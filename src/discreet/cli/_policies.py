"""`discreet policies`: the catalogue."""

from __future__ import annotations

from inspect import getdoc
from typing import Any

from ._options import Json
from ._output import print_json, print_table

NAME = "policies"
EXAMPLE = "discreet policies"
PARTS = ("schedule", "release", "rule", "stopping", "recommendation")


def command(json: Json = False) -> None:
    """List the published policies: schedule × release × rule.

    Guarantees are derived for an example budget. `discreet show NAME` shows one in detail.
    """
    from ..policies._registry import every_entry

    entries = [describe(name) for name in every_entry()]
    if json:
        print_json(entries)
        return
    columns = ("name", "schedule", "release", "rule", "guarantee (example)", "reference")
    rows = [
        (
            *(entry[column] for column in columns[:4]), entry["guarantee"]["short"],
            entry["reference"]["short"],
        )
        for entry in entries
    ]  # fmt: skip
    print_table(columns, rows)


def describe(name: str) -> dict[str, Any]:
    """A row of the catalogue with its example budget, ready for JSON."""
    from ..policies._registry import ARGUMENTS, every_entry
    from ..references import REFERENCES

    row = every_entry()[name]
    example = row.example()
    guarantee = example.guarantee
    parts = [part for part in PARTS if hasattr(example, part)]
    return {
        "name": name,
        "title": row.title,
        "kind": row.kind,
        **{part: str(getattr(example, part)) for part in parts},
        "formulas": {part: _formula(getattr(example, part)) for part in parts},
        "private": bool(row.budgets),
        "budgets": [kind.kind for kind in row.budgets],
        "arguments": [ARGUMENTS[kind] for kind in row.budgets],
        "example": None if row.example_budget is None else row.example_budget.to_dict(),
        "guarantee": guarantee.to_dict() | {"short": guarantee.short(), "sentence": str(guarantee)},
        "bounds": None if example.bounds is None else list(example.bounds),
        "reference": {"key": row.reference, "short": REFERENCES[row.reference].short()},
        "options": row.options,
    }


def _formula(part: object) -> str:
    return " ".join((getdoc(type(part)) or "").split())
