"""`discreet choose`: which policy to take for a budget, and why."""

from __future__ import annotations

from typing import Annotated

import typer

from ..errors import InvalidArgument
from .options import Delta, Epsilon, Json, Mu, RenyiAlpha, Rho, whole
from .output import print_json, print_text

NAME = "choose"
EXAMPLE = "discreet choose --epsilon 1 --delta 1e-6"


def command(
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    renyi_alpha: RenyiAlpha = None,
    mu: Mu = None,
    trust: Annotated[
        str,
        typer.Option(
            help="Who may see outcomes: server, sums (secure aggregation alone) or none.",
            metavar="NAME",
        ),
    ] = "server",
    contexts: Annotated[
        str,
        typer.Option(help="Features of participants: none, public or private.", metavar="NAME"),
    ] = "none",
    participants: Annotated[
        str | None, typer.Option(help="How many there will be, such as 1e5.", metavar="COUNT")
    ] = None,
    goal: Annotated[
        str, typer.Option(help="regret, or identify: find the best arm.", metavar="NAME")
    ] = "regret",
    turning: Annotated[
        bool, typer.Option("--turning", help="Rewards may be turned against the policy.")
    ] = False,
    json: Json = False,
) -> None:
    """Name the policy to take for a budget, and say why.

    The answers are those of the page "Which policy should I take?". `discreet plan` simulates the
    policies on rates that you expect.
    """
    from ..privacy import budget_from
    from ..theory.choosing import choose

    budget = budget_from(epsilon, delta, rho, renyi_alpha, mu)
    if budget is None:
        raise InvalidArgument("budget", "be given", None, "use for example --epsilon 1")
    size = None if participants is None else whole("participants", participants)
    found = choose(
        budget, trust=trust, contexts=contexts, participants=size, goal=goal, turning=turning
    )
    if json:
        print_json(found.to_dict())
    else:
        print_text(str(found))
        print_text(f"- {found.policy.guarantee}")
