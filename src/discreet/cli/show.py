"""`discreet show`: one policy in detail."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import UnknownPolicy
from .options import Json
from .output import print_json, print_text
from .policies import PARTS, describe, known

NAME = "show"
EXAMPLE = "discreet show adap-klucb"


def command(
    name: Annotated[str, typer.Argument(help="A policy.", metavar="NAME")], json: Json = False
) -> None:
    """Show the formulas, budgets, options and guarantee of one policy."""
    name = name.lower()
    if name not in known():
        raise UnknownPolicy.near(name, known())
    entry = describe(name)
    if json:
        print_json(entry)
        return
    options = ", ".join(_option(*item) for item in entry["options"].items()) or "none"
    lines = {
        "policy": f"{name} ({entry['title']})",
        **{part: f"{entry[part]}: {entry['formulas'][part]}" for part in PARTS if part in entry},
        "budget": " or ".join(entry["arguments"]) or "none: not private",
        "options": options,
        "guarantee": f"{entry['guarantee']['sentence']} (for the example budget)",
        "reference": f"{entry['reference']['short']}; see `discreet cite {name}`",
    }
    for heading, text in lines.items():
        print_text(f"{heading:10s} {text}")


def _option(name: str, default: object) -> str:
    return name if default is None else f"{name} = {default}"
