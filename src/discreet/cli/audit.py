"""`discreet audit`: attack the claim of a policy."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Json, Study, whole
from .output import print_json, print_text
from .study import policies_of

NAME = "audit"
EXAMPLE = "discreet audit adap-ucb --epsilon 1 --seconds 30 --json"


def command(
    name: Annotated[str, typer.Argument(help="A policy of `discreet policies`.", metavar="NAME")],
    epsilon: Annotated[
        float | None, typer.Option(help="Budget ε; alone it is pure.", metavar="NUMBER")
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="With --epsilon: an (ε, δ) budget.", metavar="NUMBER")
    ] = None,
    rho: Annotated[
        float | None, typer.Option(help="A zero-concentrated (zCDP) budget.", metavar="NUMBER")
    ] = None,
    renyi_alpha: Annotated[
        float | None,
        typer.Option(help="With --epsilon: a Rényi budget of this order.", metavar="NUMBER"),
    ] = None,
    mu: Annotated[
        float | None, typer.Option(help="A Gaussian DP budget.", metavar="NUMBER")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(help="Any option of the policy; repeatable.", metavar="NAME=VALUE"),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            help="How long to attack, not counting compilation; 30 unless told.", metavar="NUMBER"
        ),
    ] = None,
    transcripts: Annotated[
        str | None,
        typer.Option(help="How many transcripts, instead of a time.", metavar="COUNT"),
    ] = None,
    confidence: Annotated[
        float, typer.Option(help="Probability that the bound holds.", metavar="NUMBER")
    ] = 0.99,
    at_delta: Annotated[
        float | None,
        typer.Option(help="The δ to bound ε at; that of the claim unless told.", metavar="NUMBER"),
    ] = None,
    sees: Annotated[
        str | None,
        typer.Option(
            help="What the attacker sees: releases (unless told) or actions.", metavar="NAME"
        ),
    ] = None,
    contributions: Annotated[
        int, typer.Option(help="Outcomes of one user that change together.", metavar="COUNT")
    ] = 1,
    arms: Annotated[int, typer.Option(help="Number of arms.", metavar="COUNT")] = 2,
    horizon: Annotated[
        str | None,
        typer.Option(help="Rounds of a transcript; a few batches unless told.", metavar="COUNT"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Fixes every number; random unless told.", metavar="COUNT")
    ] = None,
    json: Json = False,
) -> None:
    """Attack the privacy that a policy claims, and report what was proved.

    Looks for the worst neighbouring inputs, learns what tells them apart, and tests that on fresh
    transcripts: a lower bound on the budget really spent. A pass is no proof of the claim.
    """
    study = Study(
        epsilon=epsilon, delta=delta, rho=rho, renyi_alpha=renyi_alpha, mu=mu, option=option
    )
    (policy,) = policies_of([name], study)

    from ..audit import audit

    result = audit(
        policy, sees=sees, contributions=contributions, arms=arms,
        horizon=None if horizon is None else whole("horizon", horizon),
        delta=at_delta, confidence=confidence,
        transcripts=None if transcripts is None else whole("transcripts", transcripts),
        seconds=seconds, seed=seed,
    )  # fmt: skip
    if json:
        print_json(result.to_dict())
    else:
        print_text(str(result))
    if not result.complete:
        typer.echo("interrupted: the bound rests on what was tested so far", err=True)
        raise typer.Exit(130)
    if result.is_violation:
        raise typer.Exit(1)
