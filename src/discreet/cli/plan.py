"""`discreet plan`: what privacy will cost, and which policy to take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import DiscreetError
from .options import Json, numbers, whole
from .output import check_path, deferred_errors, print_json, print_text, width_of_output

NAME = "plan"
EXAMPLE = "discreet plan --means .6,.5,.5 --horizon 1e4 --epsilon 1 --epsilons .5,2"


def command(
    means: Annotated[
        str | None, typer.Option(help="Expected rate of every arm.", metavar="M,M,...")
    ] = None,
    arms: Annotated[
        str | None, typer.Option(help="Number of arms, with --rates or --gap.", metavar="COUNT")
    ] = None,
    rates: Annotated[
        str | None, typer.Option(help="Lowest and highest rate to expect.", metavar="LOW,HIGH")
    ] = None,
    gap: Annotated[
        float | None, typer.Option(help="Smallest gap that matters.", metavar="NUMBER")
    ] = None,
    horizon: Annotated[
        str | None, typer.Option(help="Number of participants, such as 1e5.", metavar="COUNT")
    ] = None,
    goal: Annotated[
        str, typer.Option(help="regret, or identify: find the best arm.", metavar="NAME")
    ] = "regret",
    risk: Annotated[
        float,
        typer.Option(help="Goal identify: the probability of a wrong answer.", metavar="NUMBER"),
    ] = 0.05,
    trust: Annotated[
        str,
        typer.Option(help="server (it sees true outcomes) or none (local noise).", metavar="NAME"),
    ] = "server",
    epsilon: Annotated[
        float, typer.Option(help="The ε to recommend a policy for.", metavar="NUMBER")
    ] = 1.0,
    epsilons: Annotated[
        str | None,
        typer.Option(help="Further ε to show. Default: .1,.25,.5,1,2,4.", metavar="NUMBER,..."),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="The δ of an (ε, δ) budget.", metavar="NUMBER")
    ] = 0.0,
    seed: Annotated[
        int, typer.Option(help="Random seed, for reproducible results.", metavar="COUNT")
    ] = 1,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Number of threads; results do not depend on it. Default: all cores.",
            metavar="COUNT",
        ),
    ] = None,
    json: Json = False,
    html: Annotated[
        Path | None,
        typer.Option(help="Also write the plan as a page.", metavar="FILE.html", readable=False),
    ] = None,
) -> None:
    """Say what privacy will cost before a trial starts, and recommend a policy.

    Give the expected rates, or the number of arms with a range of rates or with the smallest gap
    that matters. Every policy that you can use is simulated, with the arms in random order.
    """
    check_path("html", html, (".html", ".htm"))
    given = None if means is None else numbers("means", means)
    span = None if rates is None else numbers("rates", rates)
    others = None if epsilons is None else numbers("epsilons", epsilons)
    count = None if arms is None else whole("arms", arms)
    rounds = None if horizon is None else whole("horizon", horizon)

    from ..theory import plan

    try:
        found = plan(
            given, arms=count, rates=span, gap=gap, horizon=rounds, goal=goal, risk=risk,
            trust=trust, epsilon=epsilon, epsilons=others, delta=delta, seed=seed, threads=threads,
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was finished", err=True)
        raise typer.Exit(130) from None
    if not found.complete:
        typer.echo("interrupted: only what was finished is shown", err=True)
    with deferred_errors() as saving:
        if html is not None:
            try:
                found.write(html)
            except OSError as error:
                raise DiscreetError(f"the plan could not be written: {error}") from None
    if json:
        print_json(found.to_dict())
    else:
        print_text(found.text(width_of_output(100)))
    saving.raise_now()
    if not found.complete:
        raise typer.Exit(130)
