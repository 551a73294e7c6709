"""What the commands print, and the files they write."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DiscreetError, InvalidArgument

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..simulator import Comparison, Result

WIDE = 240
"""Columns of a table that is piped elsewhere, where folded cells would be a nuisance."""


def print_json(data: Any) -> None:
    """One line of JSON."""
    import json

    print_text(json.dumps(data, allow_nan=False))


def print_text(text: str) -> None:
    """Text as it is, to standard output."""
    sys.stdout.write(text + "\n")


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()
) -> None:
    """A table; the columns in `right` are numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    wide = None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE
    # brackets in a cell are an interval, not markup
    console = Console(markup=False, highlight=False, emoji=False, width=wide)
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
    print_text(
        f"{first.law['law']} rewards with means {means}; {first.horizon:,} rounds; "
        f"seed {first.seed}"
    )
    best = best_open(comparison)
    columns = ["policy", "runs", "regret", "guarantee", "pulls", "seconds", "rounds/s"]
    rows = [
        [
            result.name,
            f"{result.runs}",
            regret_text(result),
            result.guarantee.short(),
            "  ".join(f"{pulls:,.0f}" for pulls in result.mean_pulls),
            f"{result.seconds:.2f}",
            f"{result.mean_pulls.sum() * result.runs / max(result.seconds, 1e-9):.3g}",
        ]
        for result in comparison
    ]
    if best is not None:
        columns.insert(3, "price")
        for row, result in zip(rows, comparison, strict=True):
            row.insert(3, price_text(result, best))
    print_table(columns, rows, right=("runs", "regret", "price", "seconds", "rounds/s"))
    if best is not None:
        print_text(f"price: the regret as a multiple of that of {best.name}, which is not private")
    for result in comparison:
        print_text(f"{result.name}: {result.guarantee}")


def with_bounds(comparison: Comparison, summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
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
            result.name,
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


def best_open(comparison: Comparison) -> Result | None:
    """The policy without privacy that regrets least, if there is anything to hold against it."""
    finished = [result for result in comparison if result.runs]
    opened = [result for result in finished if not result.guarantee.is_private]
    if len(finished) < 2 or not opened:
        return None
    return min(opened, key=lambda result: float(result.final_regret.mean()))


def price_text(result: Result, best: Result) -> str:
    """Mean regret as a multiple of the best open policy's."""
    least = float(best.final_regret.mean())
    if not result.runs or least <= 0:
        return "–"
    return f"× {result.final_regret.mean() / least:.3g}"


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
    if path.is_dir():
        raise InvalidArgument(argument, "be a file", text, "that is a folder, add a name")
    folder = path.parent
    if not folder.is_dir():
        raise InvalidArgument(argument, "lie in a folder that exists", text, "create it first")
    if not os.access(path if path.exists() else folder, os.W_OK) or not os.access(folder, os.W_OK):
        raise InvalidArgument(argument, "be writable", text, "choose another place")


def save(
    comparison: Comparison, output: Path | None, plot: Path | None, bounds: bool = False
) -> None:
    """Write what was asked for, each file whole or not at all."""
    from ..simulator.results import written_whole

    curves = None
    if bounds and plot is not None:
        from ..theory import overlay

        curves = overlay(comparison)
    try:
        if output is not None:
            comparison.save(output)
        if plot is not None:
            figure = comparison.plot(bounds=curves)
            with written_whole(plot) as temporary:
                figure.savefig(temporary, format=plot.suffix[1:].lower(), dpi=150)
    except OSError as error:
        raise DiscreetError(f"the results could not be saved: {error}") from None


def save_picture(figure: Figure, path: Path) -> None:
    """Write a picture, whole or not at all; its kind is that of the ending."""
    from ..simulator.files import written_whole

    try:
        with written_whole(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:].lower(), dpi=150)
    except OSError as error:
        raise DiscreetError(f"the picture could not be saved: {error}") from None
