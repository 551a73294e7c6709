"""`discreet show`: one policy in detail, or what a saved report lets one conclude."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from ..errors import DiscreetError, UnknownPolicy
from ._options import Json, argument
from ._output import print_json, print_text
from ._policies import PARTS, describe

NAME = "show"
EXAMPLE = "discreet show adap-klucb"


def command(
    name: Annotated[str, argument("A policy, or a trial's report saved as JSON.", "NAME")],
    json: Json = False,
) -> None:
    """Show the formulas, budgets, options and guarantee of a policy, or the intervals, differences
    and guarantee of a trial's report."""
    from ..policies._registry import every_entry

    if name.lower().endswith(".json"):
        show_report(Path(name), json)
        return
    name = name.lower()
    if name not in every_entry():
        raise UnknownPolicy.near(name, every_entry())
    entry = describe(name)
    if json:
        print_json(entry)
        return
    options = ", ".join(_option(*item) for item in entry["options"].items()) or "none"
    lines = {
        "policy": f"{name} ({entry['title']})",
        **{part: f"{entry[part]}: {entry['formulas'][part]}" for part in PARTS if part in entry},
        "budget": _budget(entry),
        "options": options,
        "guarantee": f"{entry['guarantee']['sentence']} (for the example budget)",
        "reference": f"{entry['reference']['short']}; see `discreet cite {name}`",
    }
    for heading, text in lines.items():
        print_text(f"{heading:10s} {text}")


def show_report(path: Path, json: bool) -> None:
    """Intervals and differences of a saved report: made of its public record alone. In a trial with
    epochs there are differences only: means of arms are means of nothing fixed there."""
    from json import JSONDecodeError, loads

    from ..errors import DamagedFile
    from ..inference import differences, intervals

    try:
        report = loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, JSONDecodeError) as error:
        raise DamagedFile(f"{path}: not a saved report ({error})") from None
    report = report if isinstance(report, dict) else {}
    within = isinstance(report.get("trend"), dict)
    if not within and not isinstance(report.get("record"), dict):
        why = report.get("silence")
        raise DamagedFile(
            f"{path}: holds no public record{f' ({why})' if isinstance(why, str) else ''}; save "
            "trial.report() of a trial whose releases speak of mean outcomes"
        )
    found = whole = None
    try:
        if not within:
            found = intervals(report)
            if found.estimand == "responders":
                whole = intervals(report, over="all")
        compared = differences(report)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, DiscreetError):
            raise
        raise DamagedFile(f"{path}: its record is damaged ({type(error).__name__})") from None
    if json:
        of_means = None if found is None else found.to_dict()
        of_all = {} if whole is None else {"intervals_of_all": whole.to_dict()}
        print_json({"intervals": of_means, "differences": compared.to_dict(), **of_all})
        return
    for part in (found, whole, compared):
        if part is not None:
            print_text(str(part))
    print_text(str(report.get("guarantee", "")))


def _budget(entry: dict[str, Any]) -> str:
    """How to ask for one; what is pure keeps the other kinds too."""
    from ..policies._registry import ARGUMENTS

    own = " or ".join(entry["arguments"])
    if "pure" in entry["budgets"] and len(entry["budgets"]) < len(ARGUMENTS):
        return f"{own}; budgets of other kinds are kept by a pure one"
    return own or "none: not private"


def _option(name: str, default: object) -> str:
    return name if default is None else f"{name} = {default}"
