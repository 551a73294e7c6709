"""`discreet reproduce`: published figures, run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .._checks import count
from ..errors import InvalidArgument
from ._options import Json, Threads, argument, flag, switch
from ._output import print_json, print_table, print_text

if TYPE_CHECKING:
    from ..studies import Figure, Reproduction

NAME = "reproduce"
EXAMPLE = "discreet reproduce azize2022 2 --scale quick --output results"
ALL = "all"
PIECES = "pieces"


def command(
    study: Annotated[
        str | None, argument('A study such as azize2022, or "all".', "[STUDY]")
    ] = None,
    figure: Annotated[
        str | None, argument("One of its figures, as printed. Default: all.", "[FIGURE]")
    ] = None,
    listing: Annotated[bool, switch("--list", "List studies and figures.")] = False,
    scale: Annotated[
        str, flag("full: the paper's horizon and runs; quick: a small version.", "NAME")
    ] = "quick",
    seed: Annotated[int, flag("Random seed, for reproducible results.", "COUNT")] = 1,
    threads: Threads = None,
    output: Annotated[Path, flag("Where the results go.", "FOLDER", readable=False)] = Path(
        "out/studies"
    ),
    json: Json = False,
) -> None:
    """Run published figures again and say how every published statement fared.

    Each figure leaves a folder STUDY/figureNUMBER with figure.png, figure.svg, data.parquet and
    findings.json, whole or not at all. Runs are kept as pieces in the folder "pieces" as soon as
    they are finished, so that the same command after Ctrl-C, or after a crash, plays only what is
    missing; that folder may be deleted at any time.
    """
    if listing:
        _list(json)
        return
    chosen = _chosen(study, figure)
    _check(chosen, scale, seed, threads)

    from ..studies._files import check_folder, save

    check_folder(output)
    done: list[dict[str, object]] = []
    stopped = False
    for place, entry in enumerate(chosen):
        if sys.stderr.isatty():
            typer.echo(f"{entry.name}: {entry.title} ({place + 1} of {len(chosen)})", err=True)
        try:
            reproduction = entry.run(scale, seed=seed, threads=threads, pieces=output / PIECES)
            folder = save(reproduction, output)
        except KeyboardInterrupt:
            stopped = True
            break
        done.append(reproduction.to_dict() | {"folder": str(folder)})
        if not json:
            _print(reproduction, folder)
    if json:
        print_json(done)
    if stopped:
        typer.echo(f"interrupted: finished {len(done)} of {len(chosen)} figures", err=True)
        raise typer.Exit(130)


def _chosen(study: str | None, figure: str | None) -> list[Figure]:
    from ..studies import STUDIES, all_figures
    from ..studies import figure as figure_of

    if study is None:
        known = f"one of {', '.join(STUDIES)}, or all"
        raise InvalidArgument("study", "be given", None, f"name {known}; see --list")
    if study.lower() != ALL:
        return all_figures([study]) if figure is None else [figure_of(study, figure)]
    if figure is not None:
        raise InvalidArgument("figure", "be left out with all", figure, "name its study instead")
    return all_figures()


def _check(figures: list[Figure], scale: str, seed: int, threads: int | None) -> None:
    """What the runs would refuse later on is refused now."""
    for entry in figures:
        entry.size(scale)
    count("seed", seed, least=0, fix="use --seed 1")
    if threads is not None:
        count("threads", threads, fix="use --threads 2")


def _list(json: bool) -> None:
    from ..studies import all_figures

    figures = all_figures()
    if json:
        print_json(
            [
                {
                    "study": entry.study,
                    "figure": entry.number,
                    "title": entry.title,
                    "reference": entry.reference,
                    "full": entry.full.to_dict(),
                    "quick": entry.quick.to_dict(),
                }
                for entry in figures
            ]
        )
        return
    columns = ("study", "figure", "title", "horizon", "runs")
    rows = [
        (e.study, e.number, e.title, f"{e.full.horizon:.0e}", f"{e.full.runs}") for e in figures
    ]
    print_table(columns, rows, right=("horizon", "runs"))


def _print(done: Reproduction, folder: Path) -> None:
    size = done.size
    print_text(
        f"{done.figure.name}: {done.figure.title}\n"
        f"  {size.horizon:,} rounds, {size.runs} runs, {done.seconds:.1f} s, in {folder}"
    )
    for finding in done.findings:
        measured = "; ".join(f"{name} {number}" for name, number in finding.measured.items())
        print_text(f"  {finding.verdict.value.upper()}: {finding.statement.claim}\n    {measured}")
