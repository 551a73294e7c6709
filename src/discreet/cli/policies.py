"""`discreet policies`: the catalogue."""

from __future__ import annotations

from inspect import getdoc
from typing import Annotated, Any

import typer

from ..errors import UnknownPolicy
from .linear import everything
from .options import Json
from .output import print_json, print_table, print_text

NAME = "policies"
EXAMPLE = "discreet policies"
PARTS = ("schedule", "release", "rule")


def command(
    name: Annotated[
        str | None, typer.Argument(help="One policy, in detail.", metavar="[NAME]")
    ] = None,
    json: Json = False,
) -> None:
    """List the published policies: schedule × release × rule.

    Guarantees are derived for an example budget. With a name: the formulas, budgets and options of
    that policy.
    """
    if name is not None:
        show(name.lower(), json)
        return
    entries = [describe(name) for name in _names()]
    if json:
        print_json(entries)
        return
    columns = ("name", "schedule", "release", "rule", "guarantee (example)", "reference")
    rows = [
        (
            entry["name"],
            entry["schedule"],
            entry["release"],
            entry["rule"],
            entry["guarantee"]["short"],
            entry["reference"]["short"],
        )
        for entry in entries
    ]
    print_table(columns, rows)


def show(name: str, json: bool) -> None:
    """One policy in detail."""
    if name not in _names():
        raise UnknownPolicy.near(name, _names())
    entry = describe(name)
    if json:
        print_json(entry)
        return
    options = ", ".join(_option(*item) for item in entry["options"].items()) or "none"
    lines = {
        "policy": f"{name} ({entry['title']})",
        **{part: f"{entry[part]}: {entry['formulas'][part]}" for part in PARTS},
        "budget": " or ".join(entry["arguments"]) or "none: not private",
        "options": options,
        "guarantee": f"{entry['guarantee']['sentence']} (for the example budget)",
        "reference": f"{entry['reference']['short']}; see `discreet cite {name}`",
    }
    for heading, text in lines.items():
        print_text(f"{heading:10s} {text}")


def describe(name: str) -> dict[str, Any]:
    """A row of the catalogue with its example budget, ready for JSON."""
    from ..policies.catalogue import ARGUMENTS
    from ..references import REFERENCES

    row = everything()[name]
    example = row.example()
    guarantee = example.guarantee
    return {
        "name": name,
        "title": row.title,
        "schedule": str(example.schedule),
        "release": str(example.release),
        "rule": str(example.rule),
        "formulas": {part: _formula(getattr(example, part)) for part in PARTS},
        "private": bool(row.budgets),
        "budgets": [kind.kind for kind in row.budgets],
        "arguments": [ARGUMENTS[kind] for kind in row.budgets],
        "example": example.recipe["budget"],
        "guarantee": guarantee.to_dict() | {"short": guarantee.short(), "sentence": str(guarantee)},
        "bounds": None if example.bounds is None else list(example.bounds),
        "reference": {"key": row.reference, "short": REFERENCES[row.reference].short()},
        "options": row.options,
    }


def _formula(part: object) -> str:
    return " ".join((getdoc(type(part)) or "").split())


def _names() -> list[str]:
    return list(everything())


def _option(name: str, default: object) -> str:
    return name if default is None else f"{name} = {default}"
