"""`discreet verify`: compute what a policy's own kernels spend, beside what it claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidArgument
from ._options import Asked, Json, Option, Study, argument, flag, spread, switch, whole
from ._output import print_found, print_json, print_table
from ._study import policies_of

if TYPE_CHECKING:
    from ..live._lives import Lives

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
    arms: Annotated[int, flag("Number of arms.", "COUNT")] = 3,
    horizon: Annotated[
        str, flag("Rounds of a path; costs grow with the releases.", "COUNT")
    ] = "300",
    live: Annotated[
        bool, switch("--live", "Verify live trials: their noise, and pairs of whole lives.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute what a policy spends by running its own code on symbols.

    Prints what is claimed, what is computed, who pays most, and which public paths that covers.
    Exit code 1 if the claim is exceeded. Without a name, a table of all private policies: what is
    left over of each budget, and why.
    """
    from .._front import verify

    study = Study(asked=asked, option=option)
    if name is None:
        if study != Study() or live or arms != 3:
            raise InvalidArgument(
                "name", "be given with a budget, options, arms or --live", name,
                "name a policy, or give --horizon alone",
            )  # fmt: skip
        _all(whole("horizon", horizon), json)
        return
    (policy,) = policies_of([name.lower()], study)
    found = verify(policy, arms=arms, horizon=whole("horizon", horizon), live=live)
    lives = _lives(policy) if live else None
    if lives is None:
        print_found(found, json)
    elif json:
        print_json({**found.to_dict(), "lives": lives.to_dict()})
    else:
        typer.echo(f"{found}\n{lives}")
    if found.holds is False or (lives is not None and not lives.holds):
        raise typer.Exit(1)


def _lives(policy: object) -> Lives | None:
    """Pairs of whole trials, of policies whose curator releases sums."""
    from ..live._lives import verify_lives
    from ..live._rows import protects_whole_run
    from ..policies import Policy

    if not isinstance(policy, Policy) or policy.release.respond is not None:
        return None
    if not protects_whole_run(policy) or not policy.release.is_live:
        return None
    return verify_lives(policy)


def _all(horizon: int, json: bool) -> None:
    """The table of all rows."""
    from ._verify_all import every_row

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
