"""`discreet verify`: compute what a policy's own kernels spend, beside what it claims."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Delta, Epsilon, Json, Mu, Option, RenyiAlpha, Rho, Study, whole
from .output import print_json, print_text
from .study import policies_of

NAME = "verify"
EXAMPLE = "discreet verify dp-ucb --epsilon 1 --horizon 300 --arms 2"


def command(
    name: Annotated[str, typer.Argument(help="A policy of `discreet policies`.", metavar="NAME")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    renyi_alpha: RenyiAlpha = None,
    mu: Mu = None,
    option: Option = None,
    arms: Annotated[int, typer.Option(help="Number of arms.", metavar="COUNT")] = 2,
    horizon: Annotated[
        str, typer.Option(help="Rounds of a path; costs grow with the releases.", metavar="COUNT")
    ] = "300",
    live: Annotated[
        bool, typer.Option("--live", help="Verify the noise of live trials instead.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute what a policy spends by running its own code on symbols.

    Prints what is claimed, what is computed, who pays most, and which public paths that covers.
    Exit code 1 if the claim is exceeded.
    """
    study = Study(
        epsilon=epsilon, delta=delta, rho=rho, renyi_alpha=renyi_alpha, mu=mu, option=option
    )
    (policy,) = policies_of([name.lower()], study)
    found = policy.verify(arms=arms, horizon=whole("horizon", horizon), live=live)
    if json:
        print_json(found.to_dict())
    else:
        print_text(str(found))
    if found.holds is False:
        raise typer.Exit(1)
