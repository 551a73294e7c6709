"""`discreet cost`: what would I lose, in people, outcomes and money."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._options import Json, Threads, flag, numbers, whole
from ._output import (
    check_path,
    print_with_page,
)

NAME = "cost"
EXAMPLE = "discreet cost --means .6,.5 --horizon 1e4 --epsilon 1 --value 12.5 --unit euro --runs 50"


def command(
    means: Annotated[str, flag("Expected rate of every arm.", "M,M,...")],
    horizon: Annotated[str, flag("Number of participants, such as 1e5.", "COUNT")],
    epsilon: Annotated[float, flag("Budget of the private bandit.", "NUMBER")] = 1.0,
    policy: Annotated[str, flag("The private policy.", "NAME")] = "dp-imed",
    value: Annotated[float | None, flag("What one outcome is worth.", "NUMBER")] = None,
    unit: Annotated[str, flag("What --value counts, such as euro.", "NAME")] = "",
    outcome: Annotated[str, flag("What outcomes are called, such as clicks.", "NAME")] = "outcomes",
    runs: Annotated[str, flag("Simulated trials of each policy.", "COUNT")] = "200",
    seed: Annotated[int, flag("Random seed, for reproducible results.", "COUNT")] = 1,
    threads: Threads = None,
    json: Json = False,
    output: Annotated[
        Path | None, flag("Also write a page.", "FILE.html|FILE.md", readable=False)
    ] = None,
) -> None:
    """Show what an experiment loses: with an equal split, a bandit, and a private bandit.

    In participants on a worse arm, in outcomes, and with --value in money. Each number has its
    standard error. The page has a picture and the guarantee.
    """
    check_path("output", output, (".html", ".htm", ".md"))
    from ..theory import cost

    try:
        found = cost(
            numbers("means", means), horizon=whole("horizon", horizon), epsilon=epsilon,
            private=policy, value=value, unit=unit, outcome=outcome, runs=whole("runs", runs),
            seed=seed, threads=threads,
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was finished", err=True)
        raise typer.Exit(130) from None
    print_with_page(found, output, json, "the page could not be written")
    if not found.complete:
        typer.echo("interrupted: fewer trials are counted", err=True)
        raise typer.Exit(130)
