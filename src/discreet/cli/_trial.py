"""`discreet trial`: a live trial in a file or a database, for scripts and for other languages.

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
from ._options import Json, argument, flag, numbers, switch
from ._output import or_refused, print_json, print_text, width_of_output
from ._places import Place, in_a_file, place_of
from ._ward import number_in, print_rows, rehearse, rows_of, settings_of, wrapped

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from .._plans import Planned
    from ..live import Ledger, Strata, Trial
    from ..live._documents import Report

T = TypeVar("T")
Entry = dict[str, Any]

NAME = "trial"
SUMMARY = "Run a live trial in a file or a database: JSON in, JSON out."

File = Annotated[
    str, argument("The file of the trial, or postgresql://host/database#name.", "FILE")
]
To = Annotated[str, argument("The new file.", "TO")]
Arm = Annotated[str, argument("The name of the arm.", "ARM")]
By = Annotated[str, flag("Who decides, for the trail.", "NAME")]
Reason = Annotated[str, flag("Why, for the trail.", "TEXT")]
Csv = Annotated[bool, switch("--csv", "CSV in and out, with a header, in place of JSON.")]
NARROWEST = 20
FORMATS = ("text", "json", "csv", "html")


def new(
    file: File,
    witness: Annotated[
        Path | None,
        flag("Note releases there; default: FILE.witness.", "PLACE", readable=False),
    ] = None,
    settings: Annotated[
        Path | None, flag("Read the settings there; default: standard input.", "FILE.toml|json")
    ] = None,
    check: Annotated[bool, switch("--check", "Say what was planned, and start nothing.")] = False,
    rehearsed: Annotated[
        bool, switch("--rehearse", "Show such a trial with made-up people; start nothing.")
    ] = False,
    rates: Annotated[
        str | None, flag("With --rehearse: the mean outcome of every arm, in [0, 1].", "M,M,...")
    ] = None,
    arrivals: Annotated[
        float, flag("With --rehearse: how many participants come a day.", "NUMBER")
    ] = 10.0,
    seed: Annotated[int, flag("With --rehearse: the seed.", "COUNT")] = 1,
    json: Json = False,
) -> None:
    """Start a trial, with its settings in a file or on standard input.

    An object with `policy` (a name), its budget and options (`epsilon`, `rho`, ...), `arms` (a
    list), and what `Trial` takes: `deadline` with its unit ("28 days", "30 min", "PT12H"), with it
    `missing` (0 if silence means that outcome, "estimate" if silence means that it is unknown),
    `horizon`, `window`, ... A test has a `design` in place of a policy: an object with what
    `discreet.confirm.design` takes. With `strata` (a list), every stratum has a copy of the
    policy; `horizon` is that of all strata together, or an object with one for each. `ledger` has
    the `path` of a ledger of budgets, and its cap where it is new (`epsilon`, `rho`). What was
    planned is repeated in words before the trial starts.
    """
    from .._plans import planned

    place = place_of(file)
    asked = _read("settings", dict) if settings is None else settings_of(settings)
    ledger = asked.pop("ledger", None)
    plan = planned(asked)
    if place.is_taken and not (check or rehearsed):
        raise InvalidArgument(
            "FILE", "be new", str(place), "go on with it by discreet trial assign, or take another"
        )
    if rehearsed:
        _rehearse(plan, rates, arrivals, seed, json)
        return
    strata = plan.strata
    with plan.start(None) as trial:  # what is refused is refused here, and leaves nothing
        shown = trial.report()
        one = shown.get("strata", [shown])[0]
        made: Entry = {"file": str(place), "policy": shown["policy"]}
        if strata is not None:
            made["strata"] = strata
        made |= {"settings": one["settings"]} if json else one["settings"]
        made |= {key: shown[key] for key in ("guarantee", "status")}
    if not json or check:
        _print(made | ({"status": "planned, not started"} if check else {}), json)
    if check:
        return
    more = {} if ledger is None else {"ledger": _ledger_of(ledger)}
    plan.start(place.store(witness), **more).close()
    if json:
        _print(made, json)


def _ledger_of(asked: object) -> Ledger:
    """The ledger that the settings describe."""
    from ..live import Ledger
    from ..privacy.budgets import ZCDP, Pure

    kinds: dict[str, Any] = {"epsilon": Pure, "rho": ZCDP}
    if not isinstance(asked, dict) or not isinstance(asked.get("path"), str) or (
        set(asked) - {"path", *kinds}
    ):  # fmt: skip
        raise InvalidArgument(
            "ledger", "have a path, and a cap where it is new", asked,
            'for example "ledger": {"path": "budgets.db", "epsilon": 2}',
        )  # fmt: skip
    caps = [kind(asked[name]) for name, kind in kinds.items() if name in asked]
    return Ledger(asked["path"], caps or None)


def _rehearse(plan: Planned, rates: str | None, arrivals: float, seed: int, json: bool) -> None:
    """What such a trial would look like."""
    from .._checks import check_arms

    many = len(check_arms(plan.arms))
    made_up = [0.3 + 0.2 * arm / max(1, many - 1) for arm in range(many)]
    means = made_up if rates is None else numbers("rates", rates)
    shown, words_of = rehearse(
        plan.policy, plan.arms, dict(plan.options), means, arrivals, seed, plan.strata
    )
    if json:
        print_json(shown)
        return
    words = ["A rehearsal with made-up people: it protects no one, and nothing was started.",
             f"mean outcomes: {', '.join(f'{mean:g}' for mean in means)}; "
             f"{arrivals:g} participants a day; one in ten does not answer",
             words_of]  # fmt: skip
    print_text(wrapped("\n".join(words), width_of_output(0)))


def assign(
    file: File,
    unit: Annotated[
        str | None, argument("The unit; without it, read from standard input.", "[UNIT]")
    ] = None,
    stratum: Annotated[str | None, flag("The unit's stratum, if there are any.", "NAME")] = None,
    table: Csv = False,
    json: Json = False,
) -> None:
    """The arm of a unit, or of each of a list of units on standard input.

    Asking again gives the same arm. A list has its arms by one commit, or nobody has, if one is
    refused; by stratum one after the other. On standard input `{"unit": "p1"}`, or a list of such
    objects: there, whole numbers are units too, and 1 and "1" are different ones. In a trial by
    stratum each object has a `stratum` as well, and with contexts `actions`, the features of every
    arm.
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
    asked: list[dict[str, Any]] = [given]
    if unit is None:
        asked = rows_of(names) if table else _entries(*names, may="actions")
    said = "those before it have their arms: asking again gives the same"
    with _opened(file) as trial:

        def place(one: Entry) -> Entry:
            known = {name: one[name] for name in names}
            given = [*known.values(), one.get("actions")]
            return {**known, "arm": trial.assign(*given)}

        found = _one_by_one(asked, place, said) if by_stratum else _all_at_once(trial, asked)
    if table:
        print_rows(found)
    else:
        _print(found[0] if len(found) == 1 else found, json)


def _all_at_once(trial: Any, asked: list[Entry]) -> list[Entry]:
    """Arms of a list of units, by one commit."""
    units = [one["unit"] for one in asked]
    offers = [one.get("actions") for one in asked]
    given = offers if any(offer is not None for offer in offers) else ()
    try:
        arms = trial.assign_many(units, given)
    except DiscreetError as error:
        if len(units) == 1:
            raise
        said = "; ".join(getattr(error, "__notes__", ()))
        raise TrialError(f"{said}: {error} (none of them is assigned)") from None
    return [{"unit": unit, "arm": arm} for unit, arm in zip(units, arms, strict=True)]


def record(
    file: File,
    table: Csv = False,
    each: Annotated[
        bool, switch("--each", "Record what can be, and list what was refused.")
    ] = False,
    json: Json = False,
) -> None:
    """Hand in outcomes, read from standard input.

    `{"unit": "p1", "outcome": 1.0}`, or a list of such objects: all of them are recorded, or none
    if one is refused. Late, repeated and unused outcomes are accepted alike, so the reply is the
    same for all.
    """
    entries = _outcomes(table)
    with _opened(file) as trial:
        refused = _recorded(trial, entries, each)
    done = len(entries) - len(refused)
    if table and each:
        print_rows([{"unit": one["unit"], "refused": one["refused"]} for one in refused])
    else:
        _print({"recorded": done, **({"refused": refused} if each else {})}, json)


def _outcomes(table: bool) -> list[Entry]:
    """Units with outcomes on standard input."""
    if not table:
        return _entries("unit", "outcome")
    rows = rows_of(("unit", "outcome"))
    return [{"unit": row["unit"], "outcome": number_in(row["outcome"])} for row in rows]


def _recorded(trial: Any, entries: list[Entry], each: bool) -> list[Entry]:
    """What was refused, if that is asked for; else nothing is recorded then."""
    from ..live import Strata

    refused: list[Entry] = []
    if not each and not isinstance(trial, Strata):
        if len(entries) == 1:
            trial.record(entries[0]["unit"], entries[0]["outcome"])
        else:
            trial.record_many([(one["unit"], one["outcome"]) for one in entries])
        return refused
    if not each:
        said = "those before it are recorded, and may be handed in again with the others"
        _one_by_one(entries, lambda one: trial.record(one["unit"], one["outcome"]), said)
        return refused
    for number, one in enumerate(entries, 1):
        try:
            trial.record(one["unit"], one["outcome"])
        except DiscreetError as error:
            refused.append({"entry": number, "unit": one["unit"], "refused": str(error)})
    return refused


def correct(
    file: File, table: Csv = False, by: By = "", reason: Reason = "", json: Json = False
) -> None:
    """Put other outcomes in place of those that were recorded, read from standard input.

    As for `record`. For trials with `"corrections": "deadline"`: the last one counts that comes
    before the outcome would be late. The reply is the same for all.
    """
    entries = _outcomes(table)
    said = "those before it are corrected"
    with _opened(file) as trial:
        _one_by_one(
            entries,
            lambda one: trial.correct(one["unit"], one["outcome"], by=by, reason=reason), said,
        )  # fmt: skip
    _print({"corrected": len(entries)}, json)


def withdraw(
    file: File,
    unit: Annotated[
        str | None, argument("The unit; without it, read from standard input.", "[UNIT]")
    ] = None,
    table: Csv = False,
    by: By = "",
    reason: Reason = "",
    json: Json = False,
) -> None:
    """A unit takes its outcome back; says what remains.

    Before the release of its block nothing of an outcome remains, and nobody else can see it;
    afterwards the noisy sum stands. The name is overwritten at the release. Who, when and why are
    not in the trail: keep them in your own records.
    """
    asked: list[Entry] = [{"unit": unit}]
    if unit is None:
        asked = rows_of(("unit",)) if table else _entries("unit")
    said = "those before it have withdrawn"
    with _opened(file) as trial:

        def gone(one: Entry) -> Entry:
            remains = trial.withdraw(one["unit"], by=by, reason=reason)
            return {"unit": one["unit"], "remains": str(remains)}

        found = _one_by_one(asked, gone, said)
    if table:
        print_rows(found)
    else:
        _print(found[0] if len(found) == 1 else found, json)


def erase(file: File, by: By = "", reason: Reason = "", json: Json = False) -> None:
    """Overwrite the names of all participants, once the trial is finished.

    Releases, public counts and the trail stay.
    """
    with _opened(file) as trial:
        trial.erase(by=by, reason=reason)
    _print({"erased": "all names"}, json)


def log(
    file: File,
    verify: Annotated[
        bool, switch("--verify", "Check that no entry was changed or taken out.")
    ] = False,
    export: Annotated[
        Path | None, flag("Write it there, as CSV.", "OUT.csv", readable=False)
    ] = None,
    json: Json = False,
) -> None:
    """The trail: what was planned, decided, released, copied and opened, by whom and why.

    It says nothing of single participants. With --verify, exit code 2 if an entry was changed or
    taken out, or if the trail lacks entries that were there at a release.
    """
    from ..live._rights import as_table

    with _opened(file) as trial:
        found = trial.log(verify=verify)
    if export is not None:
        if place_of(file).owns(export):
            raise InvalidArgument(
                "export", "be no file of the trial", str(export), "use for example trail.csv"
            )
        write_whole(export, as_table(found))
    if json:
        print_json(found)
    elif export is None:
        lines = [" ".join(_said(entry)) for entry in found]
        print_text(wrapped("\n".join(lines), width_of_output(0)))
    if verify and not json:
        print_text(f"verified: {len(found)} entries; the last is chained as {found[-1]['chain']}")


def _said(entry: Entry) -> list[str]:
    """An entry of the trail in words."""
    from datetime import UTC, datetime

    named = ("number", "at", "what", "chain", "stratum")
    more = [f"{name}={value}" for name, value in entry.items() if name not in named]
    at = entry.get("at")
    when = "-" if at is None else f"{at:g}"
    if at is not None and at > 1e8:  # a clock that counts seconds since 1970
        when = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    of = [f"[{entry['stratum']}]"] if "stratum" in entry else []
    return [f"{entry['number']}", *of, when, f"{entry['what']};", *more]


def unblind(
    file: File,
    unit: Annotated[str, argument("The unit.", "UNIT")],
    by: By = "",
    reason: Reason = "",
    json: Json = False,
) -> None:
    """The arm behind the kit of a unit. --by and --reason are needed, and stand in the trail."""
    from ..live import Strata

    with _opened(file) as trial:
        if isinstance(trial, Strata):
            raise InvalidArgument(
                "FILE", "be a trial with kits", str(place_of(file)), "this one has strata"
            )
        arm = trial.unblind(unit, by=by, reason=reason)
    _print({"unit": unit, "arm": arm}, json)


def restock(file: File, by: By = "", reason: Reason = "", json: Json = False) -> None:
    """More kits, on standard input: `{"drug": ["K301"], "placebo": ["K302"]}`."""
    from ..live import Strata

    kits = _read("kits", dict)
    with _opened(file) as trial:
        if isinstance(trial, Strata):
            raise InvalidArgument(
                "FILE", "be a trial with kits", str(place_of(file)), "this one has strata"
            )
        trial.restock({_arm_of(trial, arm): codes for arm, codes in kits.items()},
                      by=by, reason=reason)  # fmt: skip
    _print({"kits": sum(map(len, kits.values()))}, json)


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
    zone: Annotated[
        str | None, flag("Show times there, with their offset; default: UTC.", "Europe/Paris")
    ] = None,
    width: Annotated[
        int | None, flag("Columns of the text. Default: those of the terminal.", "COUNT")
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
        if place_of(file).owns(output):
            raise InvalidArgument(
                "output", "be no file of the trial", str(output), "use for example report.html"
            )
    from ..report._live_page import zone_named

    local = None if zone is None else zone_named(zone)
    columns = width
    if width is None:
        columns = width_of_output(0) if output is None else 0
    elif width < NARROWEST:
        raise InvalidArgument(
            "width", f"be at least {NARROWEST} columns", width, "use for example --width 40"
        )
    with _opened(file) as trial:
        shown = trial.report()
        words = trial.as_text(columns or 0)
    text = _formed(kind, shown, words, table, local)
    if kind == "text":
        text = wrapped(text, columns or 0)
    if output is None:
        print_text(text.rstrip("\n"))
    else:
        write_whole(output, text)


def verdict(file: File, by: By = "", reason: Reason = "", json: Json = False) -> None:
    """What a test says: "go on", or its decision with estimate, interval and p-value.

    Read off the releases, so asking costs no privacy. Before the test has decided nothing else is
    shown. That it was opened is in the trail.
    """
    with _opened(file) as trial:
        trial.verdict(by=by, reason=reason)  # which refuses a trial that does not test
        test = trial.report()["test"]
    if json:
        print_json(test)
    else:
        print_text(test["sentence"])


def _formed(kind: str, shown: Report, words: str, table: str, zone: ZoneInfo | None) -> str:
    """The report in one of its forms; each ends with a line's end."""
    if kind == "json":
        return parser.dumps(shown, allow_nan=False) + "\n"
    if kind == "csv":
        from ..live._tables import as_csv

        return as_csv(shown, table) if "strata" not in shown else _by_stratum(shown, table)
    from ..report._live_page import Times, next_steps, trial_report

    if kind == "html":
        return trial_report(shown, zone=zone).html()
    lines = [words, "", "What happens next:"]
    for one in shown.get("strata", [shown]):
        of = f"{one['stratum']}: " if "stratum" in one else ""
        lines += [f"- {of}{step}" for step in next_steps(one, Times("utc", one, zone))]
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


def add(file: File, arm: Arm, by: By = "", reason: Reason = "", json: Json = False) -> None:
    """A new arm, which gets one in K of the places until its first release.

    For policies with an index; decided by what the report shows, it costs no privacy.
    """
    from ..live import Strata

    with _opened(file) as trial:
        if isinstance(trial, Strata):
            raise InvalidArgument(
                "FILE", "be a single trial: the strata have the arms that were planned",
                str(place_of(file)),
                "start a trial of its own for the new arm",
            )  # fmt: skip
        trial.add(arm, by=by, reason=reason)
        _print({"arms": list(trial.arms)}, json)


def drop(
    file: File,
    arm: Arm,
    stratum: Annotated[str | None, flag("In this stratum alone; default: all.", "NAME")] = None,
    by: By = "",
    reason: Reason = "",
    json: Json = False,
) -> None:
    """No more places for an arm. Its open block closes now, and is released when it is due.

    Decided by what the report shows, it costs no privacy.
    """
    from ..live import Strata

    with _opened(file) as trial:
        known = _arm_of(trial, arm)
        if isinstance(trial, Strata):
            trial.drop(known, stratum, by=by, reason=reason)
        elif stratum is None:
            trial.drop(known, by=by, reason=reason)
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
    because: Annotated[
        str, flag("releases, public or board: who has seen raw outcomes is not covered.", "WHAT")
    ] = "releases",
    by: By = "",
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Take no more units, and say why. What is open is released when it is due."""
    _ended(file, lambda trial: trial.stop(because, by=by, reason=reason), json)


def finish(
    file: File,
    discard: Annotated[bool, switch("--discard", "Erase blocks that are not full yet.")] = False,
    by: By = "",
    reason: Reason = "",
    json: Json = False,
) -> None:
    """Take no more units. What is open is released when it is due, or erased."""
    _ended(file, lambda trial: trial.finish(discard, by=by, reason=reason), json)


def confirm_clock(file: File, by: By = "", reason: Reason = "", json: Json = False) -> None:
    """Go on although the clock has jumped, because it is right.

    A trial releases nothing, and refuses every call, if the clock went further since the last one
    than the deadline, or a day if that is longer: blocks would be released before anybody could
    answer. If the clock is wrong, set it right instead.
    """
    with _opened(file) as trial:
        _print({"confirmed": trial.confirm_clock(by=by, reason=reason)}, json)


def backup(file: File, to: To, by: By = "", reason: Reason = "", json: Json = False) -> None:
    """All that is public, in another file: who has which arm, and the releases.

    Outcomes that are not released yet, exact sums and keys are left out. So a backup can be read,
    but never goes on: it is fenced.
    """
    path = in_a_file("TO", to, "a backup is a file: use for example backup.db")
    with _opened(file) as trial, or_refused("the backup could not be written"):
        trial.backup(path, by=by, reason=reason)
    _print({"file": to}, json)


def restore(
    file: Annotated[str, argument("The backup.", "FILE")], to: To, json: Json = False
) -> None:
    """A backup as the file of a trial, to be read or to be ended.

    What was assigned or released after the backup is unknown there, so it is fenced.
    """
    from ..live import Trial

    backup, path = in_a_file("FILE", file, PUT_BACK), in_a_file("TO", to, PUT_BACK)
    _check_started(place_of(backup))
    with or_refused("the backup could not be restored"):
        Trial.restore(backup, path)
    with _opened(to) as trial:
        _print({"file": to, "status": trial.status}, json)


def move(file: File, to: To, json: Json = False) -> None:
    """Move a trial with its witness; close it everywhere first.

    A file that was moved or copied by hand is fenced. If this is cut short, run it again.
    """
    from ..live import Trial

    old, path = in_a_file("FILE", file, MOVED), in_a_file("TO", to, MOVED)
    _check_started(place_of(old))
    with or_refused("the trial could not be moved"):
        Trial.move(old, path)
    _print({"file": to}, json)


def fence(
    file: File,
    stop: Annotated[bool, switch("--stop", "End it with what this file has released.")] = False,
    charge: Annotated[
        bool, switch("--charge", "Continue without open blocks, and multiply the guarantee.")
    ] = False,
    by: By = "",
    reason: Reason = "",
    json: Json = False,
) -> None:
    """What to do about a trial that is fenced: an old copy, or one without its witness.

    Put the newest file and its witness back where they were; then it goes on. If they are lost, end
    it with --stop: outcomes that wait are erased, and nothing is released any more. Or continue
    with --charge, if the file is an old copy and its witness is there: open blocks are void, and
    the guarantee is multiplied by one plus the number of fences that were passed so. Without either
    this says whether, and why, it is fenced.
    """
    from ..live import Strata

    if stop and charge:
        raise InvalidArgument("charge", "be given without --stop", charge, "choose one of them")
    with _opened(file) as trial:
        if charge and not isinstance(trial, Strata):
            trial.fence(charge=True, by=by, reason=reason)
        elif charge:
            raise InvalidArgument("charge", "be left out by stratum", charge, "use --stop")
        elif stop:
            trial.fence(by=by, reason=reason)
        shown = trial.report()
    one = shown.get("strata", [shown])[0]
    _print(
        {
            "status": shown["status"], "fence": one.get("fence", ""),
            "guarantee": shown["guarantee"],
        },
        json,
    )  # fmt: skip


PUT_BACK = (
    "a database is dumped by pg_dump and put back by pg_restore, with all its trials, which are "
    "fenced then: discreet trial fence FILE says what to do"
)
MOVED = (
    "a database is moved by pg_dump and pg_restore, with all its trials: they continue if their "
    "witness is elsewhere, as new --witness FILE puts it, else they are fenced"
)
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
    "correct": 'echo \'{"unit": "patient-1", "outcome": 0}\' | discreet trial correct trial.db',
    "withdraw": "discreet trial withdraw trial.db patient-1",
    "erase": "discreet trial erase trial.db --by 'data office'",
    "log": "discreet trial log trial.db --verify",
    "unblind": "discreet trial unblind trial.db patient-1 --by 'Dr. Weber' --reason allergy",
    "restock": 'echo \'{"A": ["K301"], "B": ["K302"]}\' | discreet trial restock trial.db',
    "stop": "discreet trial stop trial.db --because releases",
    "finish": "discreet trial finish trial.db",
    "confirm-clock": "discreet trial confirm-clock trial.db",
    "backup": "discreet trial backup trial.db backup.db",
    "restore": "discreet trial restore backup.db restored.db",
    "move": "discreet trial move trial.db elsewhere.db",
    "fence": "discreet trial fence trial.db --stop",
}
COMMANDS: dict[str, Callable[..., None]] = {
    "new": new, "assign": assign, "record": record, "report": report, "verdict": verdict,
    "correct": correct, "withdraw": withdraw, "erase": erase, "log": log, "unblind": unblind,
    "restock": restock, "add": add, "drop": drop, "stop": stop, "finish": finish,
    "confirm-clock": confirm_clock,
    "backup": backup, "restore": restore, "move": move, "fence": fence,
}  # fmt: skip


@contextmanager
def _opened(file: str | Path) -> Iterator[Trial | Strata]:
    from ..live._strata import opened

    place = place_of(file)
    _check_started(place)
    with opened(place.store()) as trial:
        yield trial


def _check_started(place: Place) -> None:
    if place.file is not None and not place.is_taken:
        raise InvalidArgument(
            "FILE", "be a trial that was started", str(place), f"start one: {EXAMPLES['new']}"
        )


def _is_by_stratum(file: str) -> bool:
    from ..live._strata import is_by_stratum

    place = place_of(file)
    _check_started(place)
    return is_by_stratum(place.store())


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
    from ..simulator._files import written_whole

    with or_refused("the report could not be written"), written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _ended(file: str, end: Callable[[Trial | Strata], None], json: bool) -> None:
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
