"""What the commands print, and the files they write."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from .._plain import records, spelled
from ..errors import DiscreetError, InvalidArgument

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..simulator import Comparison, Result

WIDE = 240
"""Columns of a table that is piped elsewhere, where folded cells would be a nuisance."""
ROOM = 12
"""Characters that a column needs on average, or a table is shown as records."""


PICTURES = (".png", ".svg", ".pdf")
"""Endings of pictures."""


class Found(Protocol):
    """What a command has found."""

    def to_dict(self) -> dict[str, object]: ...


def print_found(found: Found, json: bool) -> None:
    """For programs, or for people."""
    if json:
        print_json(found.to_dict())
    else:
        print_text(str(found))


def print_json(data: object) -> None:
    """One line of JSON."""
    import json

    print_text(json.dumps(data, allow_nan=False))


def print_text(text: str) -> None:
    """Text as it is, to standard output."""
    sys.stdout.write(text + "\n")


def suit_encoding(stream: io.TextIOWrapper) -> None:
    """Where the encoding has no Greek, ε is written as its name instead of failing."""

    def spell(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        return spelled(error.object[error.start : error.end]), error.end

    codecs.register_error("discreet", spell)
    stream.reconfigure(errors="discreet")


def only_ascii() -> bool:
    """Whether standard output has no Greek."""
    try:
        "ε×±–─".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return True
    return False


def width_of_output(wide: int) -> int:
    """The columns of a terminal, or those that COLUMNS says; `wide` elsewhere."""
    if "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty()):
        return max(20, shutil.get_terminal_size((wide, 24)).columns)
    return wide


def one_line(message: str) -> str:
    """A message without line breaks and control characters, which a value may have brought."""
    printable = "".join(c if c.isprintable() else " " for c in message)
    return " ".join(printable.split())


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """A table, the columns in `right` numbers; records where the terminal is too narrow for it."""
    if only_ascii():
        columns, right = [spelled(c) for c in columns], [spelled(c) for c in right]
        rows = [[spelled(cell) for cell in row] for row in rows]
    room = width_of_output(WIDE)
    if room < ROOM * len(columns):
        print_text("\n".join(records(columns, rows, room)))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # brackets in a cell are an interval, not markup
    console = Console(markup=False, highlight=False, emoji=False, width=room)
    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    table.columns[0].no_wrap = True
    for column in table.columns:
        column.overflow = "fold"  # in a narrow terminal a word breaks rather than disappears
        if column.header in right:
            column.justify = "right"
    for row in rows:
        table.add_row(*row)
    console.print(table)


def print_comparison(comparison: Comparison) -> None:
    """Regret, pulls, guarantee and speed of every policy."""
    first = comparison[0]
    means = ", ".join(f"{mean:.4g}" for mean in first.means)
    days = _calendar_text(first)
    print_text(
        f"{first.environment['environment']} rewards with means {means}; {first.horizon:,} "
        f"{'rounds' if days is None else days}; "
        f"seed {first.seed}{'; arms in random order' if first.shuffle else ''}"
    )
    columns = ["policy", "runs", "regret", "guarantee", "pulls", "seconds", "rounds/s"]
    rows = [
        [
            result.label,
            f"{result.runs}",
            regret_text(result),
            result.guarantee.short(),
            "  ".join(f"{pulls:,.0f}" for pulls in result.mean_pulls),
            f"{result.seconds:.2f}",
            f"{result.stopping_time.sum() / max(result.seconds, 1e-9):.3g}",
        ]
        for result in comparison
    ]
    against = baselines(comparison)
    if against:
        names = {baseline.name for baseline in against.values()}
        heading = f"regret / {names.pop()}" if len(names) == 1 else "regret / baseline"
        columns.insert(3, heading)
        for row, result in zip(rows, comparison, strict=True):
            row.insert(
                3, ratio_text(result, against.get(result.name), heading.endswith("baseline"))
            )
        print_table(columns, rows, right=("runs", "regret", heading, "seconds", "rounds/s"))
        print_text(f"{heading}: a multiple of the regret of {_twins_in_words(against)}")
    else:
        print_table(columns, rows, right=("runs", "regret", "seconds", "rounds/s"))
    if days is not None:
        print_trials(comparison)
    for result in comparison:
        print_text(f"{result.label}: {result.guarantee}{clipping_text(result)}")


def _calendar_text(result: Result) -> str | None:
    """How outcomes come late; None where they do not."""
    known = result.calendar
    if known is None:
        return None
    missing = "" if max(known.missing) == 0.0 else f", {max(known.missing):.3g} missing"
    deadline = f"outcomes within {known.delay.deadline:g} days"
    return f"participants, {known.arrivals:g} a day, {deadline}{missing}"


def print_trials(comparison: Comparison) -> None:
    """Days, and what only trials have."""
    rows = [
        (
            trial.label, trial.plan, f"{trial.participants.mean():,.0f}",
            f"{trial.days.mean():,.1f}", f"{trial.used.mean():.3g}", f"{trial.best_named:.3g}",
            "–" if trial.risk is None else f"{trial.declared:.3g}",
            "–" if trial.risk is None else f"{trial.error_rate:.3g}",
        )
        for trial in comparison
        if trial.calendar is not None and trial.runs
    ]  # fmt: skip
    columns = ("policy", "plan", "participants", "days", "used", "best named", "answered", "wrong")
    print_table(columns, rows, right=columns[2:])


def clipping_text(result: Result) -> str:
    """The range that a linear policy clips rewards to."""
    recipe = result.policy["recipe"]
    if "low" not in recipe or "high" not in recipe:
        return ""
    return f" It clips rewards to [{recipe['low']:.4g}, {recipe['high']:.4g}]."


def with_bounds(
    comparison: Comparison, summary: list[dict[str, object]]
) -> list[dict[str, object]]:
    """The summaries with the bounds that speak about each result."""
    from ..theory import bounds_of

    return [
        one | {"bounds": [line.to_dict() for line in bounds_of(result)]}
        for one, result in zip(summary, comparison, strict=True)
    ]


def print_bounds(comparison: Comparison) -> None:
    """Lower and upper bounds beside the simulated regret, at the horizon."""
    from ..theory import bounds_of

    rows = [
        [
            result.label,
            line.side,
            "–" if line.value is None else f"{line.value:,.4g}",
            line.summary if not line.silent else f"silent: {line.silent}",
            line.source,
        ]
        for result in comparison
        for line in bounds_of(result)
    ]
    print_table(["policy", "bound", "at the horizon", "formula", "source"], rows,
                right=("at the horizon",))  # fmt: skip


def baselines(comparison: Comparison) -> dict[str, Result]:
    """What the regret of every private policy is held against.

    That is its own twin without privacy if it was run too, else the best policy without privacy.
    """
    from ..policies._registry import every_entry

    rows = every_entry()
    finished = [result for result in comparison if result.runs]
    opened = {r.name: r for r in finished if not r.guarantee.is_private}
    if not opened:
        return {}
    best = min(opened.values(), key=lambda result: float(result.final_regret.mean()))
    return {
        result.name: opened.get(rows[result.name].twin if result.name in rows else "", best)
        for result in finished
        if result.guarantee.is_private
    }


def _twins_in_words(against: dict[str, Result]) -> str:
    from ..policies._registry import every_entry

    rows = every_entry()
    own = [name for name, base in against.items() if name in rows and rows[name].twin == base.name]
    if len(own) == len(against):
        return "the same policy without privacy"
    if not own:
        return "a policy of another family, which is not private"
    return f"the same policy without privacy for {', '.join(own)}, of another family for the others"


def ratio_text(result: Result, baseline: Result | None, named: bool) -> str:
    """Mean regret as a multiple of the baseline's."""
    if baseline is None or not result.runs:
        return "–"
    least = float(baseline.final_regret.mean())
    if least <= 0:
        return "–"
    ratio = f"{result.final_regret.mean() / least:.3g}"
    return f"{ratio} ({baseline.name})" if named else ratio


def regret_text(result: Result) -> str:
    """Mean and its standard error, to the digits that the error leaves."""
    if not result.runs:
        return "–"
    mean = float(result.final_regret.mean())
    if result.runs == 1:
        return f"{mean:,.1f}"
    error = float(result.final_regret.std(ddof=1)) / result.runs**0.5
    return f"{mean:,.1f} ± {error:,.1f}"


def check_path(argument: str, path: Path | None, endings: Sequence[str]) -> None:
    """Refuse a file that could not be written, before any work is done."""
    if path is None:
        return
    text = str(path)
    if path.suffix.lower() not in endings:
        known = " or ".join(endings)
        raise InvalidArgument(argument, f"end in {known}", text, f"write for example x{endings[0]}")
    from ..report._page import check_path as check_place

    check_place(path, argument)


class Deferred:
    """An error that waits until everything else is done."""

    error: DiscreetError | None = None

    def raise_now(self) -> None:
        """Raise it, if there is one."""
        if self.error is not None:
            raise self.error


@contextmanager
def deferred_errors() -> Iterator[Deferred]:
    """Keeps an error of what is done inside for later."""
    kept = Deferred()
    try:
        yield kept
    except DiscreetError as error:
        kept.error = error


@contextmanager
def or_refused(said: str) -> Iterator[None]:
    """What the system refuses inside is an error of ours, in one line."""
    try:
        yield
    except OSError as error:
        raise DiscreetError(f"{said}: {error}") from None


def save(
    comparison: Comparison, output: Path | None, plot: Path | None, bounds: bool = False
) -> None:
    """Write what was asked for, each file whole or not at all."""
    curves = None
    if bounds and plot is not None:
        from ..theory import overlay

        curves = overlay(comparison)
    if output is not None:
        with or_refused("the results could not be saved"):
            comparison.save(output)
    if plot is not None:
        save_picture(comparison.plot(bounds=curves), plot, what="results")


def save_picture(figure: Figure, path: Path, dpi: int = 150, what: str = "picture") -> None:
    """Write a picture, whole or not at all; its kind is that of the ending."""
    from ..simulator._files import written_whole

    with or_refused(f"the {what} could not be saved"), written_whole(path) as temporary:
        figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=dpi)


class Written(Protocol):
    """What has a page, a text and JSON."""

    def write(self, path: Path) -> object: ...
    def text(self, width: int) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...


def print_with_page(found: Written, page: Path | None, json: bool, failed: str) -> None:
    """Write the page of a result, if asked for, and print it; an error of the page comes last."""
    with deferred_errors() as saving:
        if page is not None:
            with or_refused(failed):
                found.write(page)
    if json:
        print_json(found.to_dict())
    else:
        print_text(found.text(width_of_output(100)))
    saving.raise_now()
