"""`discreet choose`: which policy to take for a budget, and why."""

from __future__ import annotations

from typing import Annotated

from ._options import Asked, Json, flag, spread, switch, whole
from ._output import print_found, print_text

NAME = "choose"
EXAMPLE = "discreet choose --epsilon 1 --delta 1e-6"


@spread
def command(
    asked: Asked,
    trust: Annotated[
        str, flag("Who may see outcomes: server, sums (secure aggregation alone) or none.", "NAME")
    ] = "server",
    contexts: Annotated[
        str, flag("Features of participants: none, public or private.", "NAME")
    ] = "none",
    participants: Annotated[
        str | None, flag("How many there will be, such as 1e5.", "COUNT")
    ] = None,
    arms: Annotated[int | None, flag("With --gain: the number of arms.", "COUNT")] = None,
    features: Annotated[
        int | None, flag("With --gain: how many features there are.", "COUNT")
    ] = None,
    gain: Annotated[
        float | None,
        flag(
            "With --contexts: by how much the best arm for each participant beats the best for "
            "all, in mean outcomes.",
            "NUMBER",
        ),
    ] = None,
    goal: Annotated[str, flag("regret, or identify: find the best arm.", "NAME")] = "regret",
    turning: Annotated[
        bool, switch("--turning", "Rewards may be turned against the policy.")
    ] = False,
    json: Json = False,
) -> None:
    """Name the policy to take for a budget, and say why.

    The answers are those of the page "Which policy should I take?". `discreet plan` simulates the
    policies on rates that you expect.
    """
    from ..theory._choosing import choose

    budget = asked.needed()
    size = None if participants is None else whole("participants", participants)
    found = choose(
        budget,
        trust=trust,
        contexts=contexts,
        participants=size,
        arms=arms,
        features=features,
        gain=gain,
        goal=goal,
        turning=turning,
    )
    print_found(found, json)
    if not json:
        print_text(f"- {found.policy.guarantee}")
