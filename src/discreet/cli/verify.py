"""`discreet verify`: compute what a policy's own kernels spend, beside what it claims."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InvalidArgument
from .options import Asked, Json, Option, Study, argument, flag, spread, switch, whole
from .output import print_found, print_json, print_table
from .study import policies_of

NAME = "verify"
EXAMPLE = "discreet verify dp-ucb --epsilon 1 --horizon 300 --arms 2"


@spread
def command(
    name: Annotated[
        str | None,
        argument("A policy of `discreet policies`. Default: all, with example budgets.", "[NAME]"),
    ] = None,
    *,
    asked: Asked,
    option: Option = None,
    arms: Annotated[int, flag("Number of arms.", "COUNT")] = 2,
    horizon: Annotated[
        str, flag("Rounds of a path; costs grow with the releases.", "COUNT")
    ] = "300",
    live: Annotated[bool, switch("--live", "Verify the noise of live trials instead.")] = False,
    json: Json = False,
) -> None:
    """Compute what a policy spends by running its own code on symbols.

    Prints what is claimed, what is computed, who pays most, and which public paths that covers.
    Exit code 1 if the claim is exceeded. Without a name, a table of all private policies: what is
    left over of each budget, and why.
    """
    study = Study(asked=asked, option=option)
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
    print_found(found, json)
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
