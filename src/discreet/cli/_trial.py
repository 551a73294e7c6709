"""`discreet trial`: a live trial in a file, for scripts and for other languages.

JSON goes in on standard input and comes out on standard output. Outcomes are read from there and
from nowhere else: what stands on a command line is seen by every process of the machine, and ends
up in the history of shells.
"""

from __future__ import annotations

import csv
import io
import json as parser
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from .._checks import Name, one_of
from ..errors import DiscreetError, InvalidArgument, TrialError
from ._options import Json, argument, flag, switch
from ._output import or_refused, print_json, print_text

if TYPE_CHECKING:
    from ..live import Strata, Trial
    from ..live._documents import Report

T = TypeVar("T")
Entry = dict[str, Any]

NAME = "trial"
SUMMARY = "Run a live trial in a file: JSON in, JSON out."

File = Annotated[Path, argument("The file of the trial.", "FILE")]
To = Annotated[Path, argument("The new file.", "TO")]
Arm = Annotated[str, argument("The name of the arm.", "ARM")]
FORMATS = ("text", "json", "csv", "html")


def new(
    file: File,
    witness: Annotated[
        Path | None,
        flag("Note releases there; default: FILE.witness.", "PLACE", readable=False),
    ] = None,
    json: Json = False,
) -> None:
    """Start a trial, with its settings on standard input.

    An object with `policy` (a name), its budget and options (`epsilon`, `rho`, ...), `arms` (a
    list), and what `Trial` takes: `deadline` with its unit ("28 days", "30 min", "PT12H"), with it
    `missing` (0 if silence means that outcome, "estimate" if silence means that it is unknown),
    `horizon`, `window`, ... A test has a `design` in place of a policy: an object with what
    `discreet.confirm.design` takes. With `strata` (a list), every stratum has a copy of the
    policy. What was planned is repeated in words.
    """
    from .._plans import planned
    from ..live.stores import SqliteStore

    settings = _read("settings", dict)
    plan = planned(settings)
    strata = plan.strata
    if file.exists():
        raise InvalidArgument(
            "FILE", "be new", str(file), "go on with it by discreet trial assign, or take another"
        )
    opened = plan.start(SqliteStore(file, witness=witness))
    with opened as trial:
        shown = trial.report()
        one = shown.get("strata", [shown])[0]
        made: Entry = {"file": str(file), "policy": shown["policy"]}
        if strata is not None:
            made["strata"] = strata
        made |= {"settings": one["settings"]} if json else one["settings"]
        _print(made | {key: shown[key] for key in ("guarantee", "status")}, json)


def assign(
    file: File,
    unit: Annotated[
        str | None, argument("The unit; without it, read from standard input.", "[UNIT]")
    ] = None,
    stratum: Annotated[str | None, flag("The unit's stratum, if there are any.", "NAME")] = None,
    json: Json = False,
) -> None:
    """The arm of a unit, or of each of a list of units on standard input.

    Asking again gives the same arm. On standard input `{"unit": "p1"}`, or a list of such objects:
    there, whole numbers are units too, and 1 and "1" are different ones. In a trial by stratum each
    object has a `stratum` as well, and with contexts `actions`, the features of every arm.
    """
    by_stratum = _is_by_stratum(file)
    names = ("unit", "stratum") if by_stratum else ("unit",)
    given: dict[str, Any] = (
        {"unit": unit} if stratum is None else {"unit": unit, "stratum": stratum}
    )
    if (unit is not None and set(given) != set(names)) or (unit is None and stratum is not None):
        raise InvalidArgument(
            "stratum", "come with a unit in a trial by stratum, and in no other", stratum,
            "use for example --stratum women, or name it on standard input",
        )  # fmt: skip
    asked: list[dict[str, Any]] = [given] if unit is not None else _entries(*names, may="actions")
    said = "those before it have their arms: asking again gives the same"
    with _opened(file) as trial:

        def place(one: Entry) -> Entry:
            known = {name: one[name] for name in names}
            given = [*known.values(), one.get("actions")]
            return {**known, "arm": trial.assign(*given)}

        found = _one_by_one(asked, place, said)
    _print(found[0] if len(found) == 1 else found, json)


def record(file: File, json: Json = False) -> None:
    """Hand in outcomes, read from standard input.

    `{"unit": "p1", "outcome": 1.0}`, or a list of such objects. Late, repeated and unused outcomes
    are accepted alike, so the reply is the same for all.
    """
    entries = _entries("unit", "outcome")
    said = "those before it are recorded, and may be handed in again with the others"
    with _opened(file) as trial:
        _one_by_one(entries, lambda one: trial.record(one["unit"], one["outcome"]), said)
    _print({"recorded": len(entries)}, json)


def report(
    file: File,
    form: Annotated[
        str | None, flag("text (default), json, csv, or html: a page.", "NAME", "--format")
    ] = None,
    table: Annotated[
        str, flag("With csv: one line per arm, or per release.", "arms|releases")
    ] = "arms",
    output: Annotated[
        Path | None, flag("Write it there, whole or not at all.", "FILE", readable=False)
    ] = None,
    json: Json = False,
) -> None:
    """What the trial shows: releases and public counts, as text, JSON, CSV or a page.

    Without --format the ending of --output decides. Looking costs no privacy, however often.
    """
    from ..live._tables import TABLES
    from ..report._page import check_path

    endings = {".json": "json", ".csv": "csv", ".html": "html", ".htm": "html"}
    usual = "text" if output is None else endings.get(output.suffix.lower(), "text")
    kind = one_of("format", "json" if json and form is None else form or usual, *FORMATS)
    one_of("table", table, *TABLES)
    if table != "arms" and kind != "csv":
        raise InvalidArgument("table", "come with csv", table, "add --format csv")
    if output is not None:
        check_path(output)
        if _is_of(file.resolve(), output.resolve()):
            raise InvalidArgument(
                "output", "be no file of the trial", str(output), "use for example report.html"
            )
    with _opened(file) as trial:
        shown, words = trial.report(), str(trial)
    text = _formed(kind, shown, words, table)
    if output is None:
        print_text(text.rstrip("\n"))
    else:
        write_whole(output, text)


def verdict(file: File, json: Json = False) -> None:
    """What a test says: "go on", or its decision with estimate, interval and p-value.

    Read off the releases, so asking costs no privacy. Before the test has decided nothing else is
    shown.
    """
    with _opened(file) as trial:
        trial.verdict()  # which refuses a trial that does not test
        test = trial.report()["test"]
    if json:
        print_json(test)
    else:
        print_text(test["sentence"])


def _is_of(trial: Path, path: Path) -> bool:
    """Whether a file is, or could be, one of the trial's own: beside it by its name."""
    beside = path.name[len(trial.name) :]
    return (
        path.parent == trial.parent
        and path.name.startswith(trial.name)
        and (not beside or beside[0] in ".-")
    )


def _formed(kind: str, shown: Report, words: str, table: str) -> str:
    """The report in one of its forms; each ends with a line's end."""
    if kind == "json":
        return parser.dumps(shown, allow_nan=False) + "\n"
    if kind == "csv":
        from ..live._tables import as_csv

        return as_csv(shown, table) if "strata" not in shown else _by_stratum(shown, table)
    from ..report._live_page import Times, next_steps, trial_report

    if kind == "html":
        return trial_report(shown).html()
    lines = [words, "", "What happens next:"]
    for one in shown.get("strata", [shown]):
        of = f"{one['stratum']}: " if "stratum" in one else ""
        lines += [f"- {of}{step}" for step in next_steps(one, Times("utc", one))]
    return "\n".join(lines) + "\n"


def _by_stratum(shown: Report, table: str) -> str:
    """The tables of all strata in one, with a column for the stratum."""
    from ..live._tables import as_cell, as_csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for number, one in enumerate(shown["strata"]):
        head, *rows = csv.reader(io.StringIO(as_csv(one, table)))
        if number == 0:
            writer.writerow(["stratum", *head])
        writer.writerows([as_cell(one["stratum"]), *row] for row in rows)
    return text.getvalue()


def add(file: File, arm: Arm, json: Json = False) -> None:
    """A new arm, which gets one in K of the places until its first release.

    For policies with an index; decided by what the report shows, it costs no privacy.
    """
    from ..live import Strata

    with _opened(file) as trial:
        if isinstance(trial, Strata):
            raise InvalidArgument(
                "FILE", "be a single trial: the strata have the arms that were planned", str(file),
                "start a trial of its own for the new arm",
            )  # fmt: skip
        trial.add(arm)
        _print({"arms": list(trial.arms)}, json)


def drop(
    file: File,
    arm: Arm,
    stratum: Annotated[str | None, flag("In this stratum alone; default: all.", "NAME")] = None,
    json: Json = False,
) -> None:
    """No more places for an arm. Its open block closes now, and is released when it is due.

    Decided by what the report shows, it costs no privacy.
    """
    from ..live import Strata

    with _opened(file) as trial:
        known = _arm_of(trial, arm)
        if isinstance(trial, Strata):
            trial.drop(known, stratum)
        elif stratum is None:
            trial.drop(known)
        else:
            raise InvalidArgument(
                "stratum", "be left out: this trial has none", stratum, "leave out --stratum"
            )
        _print({"dropped": known}, json)


def _arm_of(trial: Trial | Strata, arm: str) -> Name:
    """The arm that is written so: on a command line 1 and "1" look the same."""
    found = [name for name in trial.arms if str(name) == arm]
    if len(found) > 1:
        raise InvalidArgument("arm", f"be one of {found}, which look alike here", arm, "use Python")
    return found[0] if found else arm


def stop(
    file: File,
    by: Annotated[
        str, flag("releases, public or board: who has seen raw outcomes is not covered.", "REASON")
    ] = "releases",
    json: Json = False,
) -> None:
    """Take no more units, and say why. What is open is released when it is due."""
    _ended(file, lambda trial: trial.stop(by), json)


def finish(
    file: File,
    discard: Annotated[bool, switch("--discard", "Erase blocks that are not full yet.")] = False,
    json: Json = False,
) -> None:
    """Take no more units. What is open is released when it is due, or erased."""
    _ended(file, lambda trial: trial.finish(discard), json)


def confirm_clock(file: File, json: Json = False) -> None:
    """Go on although the clock has jumped, because it is right.

    A trial releases nothing, and refuses every call, if the clock went further since the last one
    than the deadline, or a day if that is longer: blocks would be released before anybody could
    answer. If the clock is wrong, set it right instead.
    """
    with _opened(file) as trial:
        _print({"confirmed": trial.confirm_clock()}, json)


def backup(file: File, to: To, json: Json = False) -> None:
    """All that is public, in another file: who has which arm, and the releases.

    Outcomes that are not released yet, exact sums and keys are left out. So a backup can be read,
    but never goes on: it is fenced.
    """
    with _opened(file) as trial, or_refused("the backup could not be written"):
        trial.backup(to)
    _print({"file": str(to)}, json)


def restore(
    file: Annotated[Path, argument("The backup.", "FILE")], to: To, json: Json = False
) -> None:
    """A backup as the file of a trial, to be read or to be ended.

    What was assigned or released after the backup is unknown there, so it is fenced.
    """
    from ..live import Trial

    _check_started(file)
    with or_refused("the backup could not be restored"):
        Trial.restore(file, to)
    with _opened(to) as trial:
        _print({"file": str(to), "status": trial.status}, json)


def move(file: File, to: To, json: Json = False) -> None:
    """Move a trial with its witness; close it everywhere first.

    A file that was moved or copied by hand is fenced. If this is cut short, run it again.
    """
    from ..live import Trial

    _check_started(file)
    with or_refused("the trial could not be moved"):
        Trial.move(file, to)
    _print({"file": str(to)}, json)


def fence(
    file: File,
    stop: Annotated[bool, switch("--stop", "End it with what this file has released.")] = False,
    json: Json = False,
) -> None:
    """What to do about a trial that is fenced: an old copy, or one without its witness.

    Put the newest file and its witness back where they were; then it goes on. If they are lost, end
    it with --stop: outcomes that wait are erased, and nothing is released any more. Without --stop
    this says whether, and why, it is fenced.
    """
    with _opened(file) as trial:
        if stop:
            trial.fence()
        shown = trial.report()
    one = shown.get("strata", [shown])[0]
    _print({"status": shown["status"], "fence": one.get("fence", "")}, json)


EXAMPLES = {
    "new": 'echo \'{"policy": "dp-imed", "epsilon": 1, "arms": ["A", "B"], "deadline": "28 days", '
    '"missing": 0}\''
    " | discreet trial new trial.db",
    "assign": "discreet trial assign trial.db patient-1",
    "record": 'echo \'{"unit": "patient-1", "outcome": 1}\' | discreet trial record trial.db',
    "report": "discreet trial report trial.db --output report.html",
    "verdict": "discreet trial verdict trial.db",
    "add": "discreet trial add trial.db C",
    "drop": "discreet trial drop trial.db B",
    "stop": "discreet trial stop trial.db --by releases",
    "finish": "discreet trial finish trial.db",
    "confirm-clock": "discreet trial confirm-clock trial.db",
    "backup": "discreet trial backup trial.db backup.db",
    "restore": "discreet trial restore backup.db restored.db",
    "move": "discreet trial move trial.db elsewhere.db",
    "fence": "discreet trial fence trial.db --stop",
}
COMMANDS: dict[str, Callable[..., None]] = {
    "new": new, "assign": assign, "record": record, "report": report, "verdict": verdict,
    "add": add, "drop": drop, "stop": stop, "finish": finish, "confirm-clock": confirm_clock,
    "backup": backup, "restore": restore, "move": move, "fence": fence,
}  # fmt: skip


@contextmanager
def _opened(file: Path) -> Iterator[Trial | Strata]:
    from ..live._strata import opened

    _check_started(file)
    with opened(file) as trial:
        yield trial


def _check_started(file: Path) -> None:
    if not file.exists():
        raise InvalidArgument(
            "FILE", "be a trial that was started", str(file), f"start one: {EXAMPLES['new']}"
        )


def _is_by_stratum(file: Path) -> bool:
    from ..live._strata import is_by_stratum

    _check_started(file)
    return is_by_stratum(file)


def _one_by_one(entries: list[Entry], act: Callable[[Entry], T], said: str) -> list[T]:
    """What comes of every entry. Each is a step that stands by itself, so an error says which one
    was refused, and what became of those before it."""
    done: list[T] = []
    for number, entry in enumerate(entries, 1):
        try:
            done.append(act(entry))
        except DiscreetError as error:
            if len(entries) == 1:
                raise
            raise TrialError(f"entry {number} of {len(entries)}: {error} ({said})") from None
    return done


def write_whole(path: Path, text: str) -> None:
    """A file with that text, or none at all."""
    from ..simulator._results import written_whole

    with or_refused("the report could not be written"), written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _ended(file: Path, end: Callable[[Trial | Strata], None], json: bool) -> None:
    with _opened(file) as trial:
        end(trial)
        shown = trial.report()
    found: Entry = {key: shown[key] for key in ("status", "next_release", "guarantee")}
    if not json:
        from ..report._live_page import Times

        found["next_release"] = Times("utc", shown)(shown["next_release"])
    _print(found, json)


def _read(what: str, kind: type) -> Any:
    """One JSON value from standard input. What cannot be read is not shown: it may be outcomes."""
    try:
        found = parser.loads(sys.stdin.read())
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, kind):
        raise InvalidArgument(
            "standard input", f"be JSON with the {what}", "something else",
            "see discreet trial --help",
        )  # fmt: skip
    return found


def _entries(*names: str, may: str | None = None) -> list[Entry]:
    """Objects with these entries, and perhaps one more, one or a list."""
    found = _read(" and ".join(names), (dict, list))  # type: ignore[arg-type]
    entries = found if isinstance(found, list) else [found]
    for entry in entries:
        if not isinstance(entry, dict) or set(entry) - {may} != set(names):
            raise InvalidArgument(
                "standard input", f"have {' and '.join(names)} in every object", "something else",
                "see discreet trial --help",
            )  # fmt: skip
    return entries


def _print(data: list[dict[str, object]] | dict[str, object], json: bool) -> None:
    if json or isinstance(data, list):
        print_json(data)
    else:
        print_text("\n".join(f"{key}: {value}" for key, value in data.items()))
