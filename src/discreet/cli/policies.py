"""`discreet policies`: the catalogue."""

from __future__ import annotations

from typing import Any

from .options import Json
from .output import print_json, print_table

NAME = "policies"
EXAMPLE = "discreet policies"


def command(json: Json = False) -> None:
    """List the published policies: schedule × release × rule.

    Guarantees are derived for an example budget, which every row names. Numbers after options are
    their defaults.
    """
    entries = [describe(name) for name in _names()]
    if json:
        print_json(entries)
        return
    columns = ("name", "schedule", "release", "rule", "guarantee (example)", "budgets",
               "reference", "options")  # fmt: skip
    rows = [
        (
            entry["name"],
            entry["schedule"],
            entry["release"],
            entry["rule"],
            entry["guarantee"]["short"],
            "; ".join(entry["arguments"]) or "none",
            entry["reference"]["short"],
            ", ".join(_option(*item) for item in entry["options"].items()) or "none",
        )
        for entry in entries
    ]
    print_table(columns, rows)


def describe(name: str) -> dict[str, Any]:
    """A row of the catalogue with its example budget, ready for JSON."""
    from ..policies.catalogue import ARGUMENTS, CATALOGUE
    from ..references import REFERENCES

    row = CATALOGUE[name]
    example = row.example()
    guarantee = example.guarantee
    return {
        "name": name,
        "title": row.title,
        "schedule": str(example.schedule),
        "release": str(example.release),
        "rule": str(example.rule),
        "private": bool(row.budgets),
        "budgets": [kind.kind for kind in row.budgets],
        "arguments": [ARGUMENTS[kind] for kind in row.budgets],
        "example": example.recipe["budget"],
        "guarantee": guarantee.to_dict() | {"short": guarantee.short(), "sentence": str(guarantee)},
        "bounds": None if example.bounds is None else list(example.bounds),
        "reference": {"key": row.reference, "short": REFERENCES[row.reference].short()},
        "options": row.options,
    }


def _names() -> list[str]:
    from ..policies.catalogue import CATALOGUE

    return list(CATALOGUE)


def _option(name: str, default: object) -> str:
    return name if default is None else f"{name} = {default}"
