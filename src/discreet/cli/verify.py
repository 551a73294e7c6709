"""`discreet verify`: compute what a policy's own kernels spend, beside what it claims."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InvalidArgument
from .options import Delta, Epsilon, Json, Mu, Option, RenyiAlpha, Rho, Study, whole
from .output import print_json, print_table, print_text
from .study import policies_of

NAME = "verify"
EXAMPLE = "discreet verify dp-ucb --epsilon 1 --horizon 300 --arms 2"


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A policy of `discreet policies`. Default: all, with example budgets.",
            metavar="[NAME]",
        ),
    ] = None,
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
    Exit code 1 if the claim is exceeded. Without a name, a table of all private policies: what is
    left over of each budget, and why.
    """
    study = Study(
        epsilon=epsilon, delta=delta, rho=rho, renyi_alpha=renyi_alpha, mu=mu, option=option
    )
    if name is None:
        if study != Study() or live or arms != 2:
            raise InvalidArgument(
                "name", "be given with a budget, options, arms or --live", name,
                "name a policy, or give --horizon alone",
            )  # fmt: skip
        _all(whole("horizon", horizon), json)
        return
    (policy,) = policies_of([name.lower()], study)
    found = policy.verify(arms=arms, horizon=whole("horizon", horizon), live=live)
    if json:
        print_json(found.to_dict())
    else:
        print_text(str(found))
    if found.holds is False:
        raise typer.Exit(1)


def _all(horizon: int, json: bool) -> None:
    """The table of all rows."""
    from .verify_all import every_row

    lines = every_row(horizon)
    if json:
        print_json(lines)
    else:
        print_table(
            ["policy", "claimed", "computed", "left over", "why"],
            [
                [
                    line["name"], line["claimed"], line["computed"] or "–",
                    "–" if line["unspent"] is None else f"{100.0 * line['unspent']:.3g} %",
                    line["why"],
                ]
                for line in lines
            ],
            right=("left over",),
        )  # fmt: skip
    if any(line["holds"] is False for line in lines):
        raise typer.Exit(1)
