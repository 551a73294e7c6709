"""`discreet audit`: attack the claim of a policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidArgument
from ._options import Asked, Json, Option, Study, argument, flag, spread, switch, whole
from ._output import print_found
from ._study import DEFAULT_RISK, policies_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..privacy.budgets import Budget

NAME = "audit"
EXAMPLE = "discreet audit adap-ucb --epsilon 1 --seconds 30 --json"


@spread
def command(
    name: Annotated[
        str,
        argument(
            "A policy of `discreet policies`, or MODULE:FUNCTION for a mechanism of your own.",
            "NAME",
        ),
    ],
    asked: Asked,
    option: Option = None,
    risk: Annotated[
        float | None,
        flag("Identifying policies: the risk that they stop at. Default: 0.05.", "NUMBER"),
    ] = None,
    seconds: Annotated[
        float | None, flag("How long to attack, not counting compilation; default: 30.", "NUMBER")
    ] = None,
    transcripts: Annotated[
        str | None, flag("How many transcripts, instead of a time.", "COUNT")
    ] = None,
    confidence: Annotated[float, flag("Probability that the bound holds.", "NUMBER")] = 0.99,
    at_delta: Annotated[
        float | None, flag("The δ to bound ε at; default: that of the claim.", "NUMBER")
    ] = None,
    live: Annotated[
        bool, switch("--live", "Attack whole live trials, by all that they report.")
    ] = False,
    sees: Annotated[
        str | None, flag("What the attacker sees: releases (default) or actions.", "NAME")
    ] = None,
    contributions: Annotated[int, flag("Outcomes of one user that change together.", "COUNT")] = 1,
    arms: Annotated[
        int | None, flag("Number of arms; default: 2, 3 and 5, or 2 with --live.", "COUNT")
    ] = None,
    horizon: Annotated[
        str | None,
        flag("Rounds of a transcript; default: several lengths, or 8 with --live.", "COUNT"),
    ] = None,
    decisions: Annotated[
        int | None, flag("Decisions played in a transcript; default: 32 at most.", "COUNT")
    ] = None,
    late: Annotated[
        int | None,
        flag("Play as trials do: release a block that many participants after its last.", "COUNT"),
    ] = None,
    seed: Annotated[int | None, flag("Random seed, for reproducible results.", "COUNT")] = None,
    fail: Annotated[bool, switch("--fail", "Exit with code 1 if a violation was found.")] = False,
    json: Json = False,
) -> None:
    """Attack the privacy that a policy claims, and report what was proved.

    Looks for the worst neighbouring inputs, learns what tells them apart, and tests that on fresh
    transcripts: a lower bound on the budget really spent. A pass is no proof of the claim.

    With --live, real trials are played, with real noise, in every kind of life that they may have:
    some never answer, blocks are cut off, an arm is dropped or added, a board stops it, it is
    finished early. One participant answers otherwise, or not at all, and every number of the whole
    report may tell.

    MODULE:FUNCTION is a function of (side, rng) that runs your mechanism once on one of two
    neighbouring inputs, side 0 or 1, and returns what is published; or a class whose objects,
    made with a random generator, have select() and update(arm, reward). The budget is its claim.
    """
    rounds = None if horizon is None else whole("horizon", horizon)
    limits: dict[str, Any] = {
        "delta": at_delta, "confidence": confidence, "seconds": seconds, "seed": seed,
        "transcripts": None if transcripts is None else whole("transcripts", transcripts),
    }  # fmt: skip
    if ":" in name:
        from ..audit import attack

        given = {
            "live": live or None, "sees": sees, "arms": arms, "decisions": decisions,
            "late": late, "option": option, "risk": risk,
            "contributions": None if contributions == 1 else contributions,
        }  # fmt: skip
        subjects = own_mechanism(name, given, rounds)
        result = attack(subjects, claimed_by(name, asked), name=name, **limits)
    else:
        from ..audit import audit

        (policy,) = policies_of([name.lower()], Study(asked=asked, option=option))
        result = audit(
            at_risk(policy, risk), live=live, sees=sees, contributions=contributions, arms=arms,
            horizon=rounds, decisions=decisions, late=late, **limits,
        )  # fmt: skip
    print_found(result, json)
    if not result.complete:
        typer.echo("interrupted: the bound rests on what was tested so far", err=True)
        raise typer.Exit(130)
    if fail and result.is_violation:
        raise typer.Exit(1)


def at_risk(policy: Any, risk: float | None) -> Any:
    """An identifying policy for the risk that it stops at; the others as they are."""
    if policy.kind == "identify" and not policy.fixed_size:
        return policy.at(DEFAULT_RISK if risk is None else risk)
    if risk is not None:
        raise InvalidArgument(
            "risk", f"be left out for {policy.name}, which does not stop at one", risk,
            "leave it out",
        )  # fmt: skip
    return policy


def claimed_by(name: str, asked: Asked) -> Budget:
    """The claim of one's own mechanism: the budget that was given."""
    budget = asked.budget()
    if budget is None:
        raise InvalidArgument(
            "epsilon", f"be given: it is what {name} claims", None, "add --epsilon 1, or --rho .5"
        )
    return budget


def own_mechanism(name: str, given: Mapping[str, object], horizon: int | None) -> list[Any]:
    """What MODULE:FUNCTION names, as subjects of an attack."""
    import inspect

    from ..audit._own import Each, agents

    for option, value in given.items():
        if value not in (None, []):
            raise InvalidArgument(
                option, "be left out for a mechanism of your own", value, "the function decides"
            )
    found = load(name)
    if isinstance(found, type) and all(hasattr(found, part) for part in ("select", "update")):
        return list(agents(found, 8 if horizon is None else horizon))
    if horizon is not None:
        raise InvalidArgument(
            "horizon", "be left out for a function, which runs as long as it likes", horizon,
            "leave it out, or name a class with select and update",
        )  # fmt: skip
    if all(hasattr(found, part) for part in ("sample", "names", "codes", "inputs")):
        return [found]
    if isinstance(found, list | tuple) and found:
        return list(found)
    try:
        inspect.signature(found).bind(0, None)
    except TypeError:
        raise InvalidArgument(
            "name", "name a function of (side, rng), or a class with select and update", name,
            "write def mechanism(side, rng): return what is published",
        ) from None  # fmt: skip
    return [Each(found)]


def load(name: str) -> Any:
    """The object that MODULE:FUNCTION names; modules of the current folder come first."""
    import importlib
    import sys

    module, _, path = name.partition(":")
    if not module or not path:
        raise InvalidArgument("name", "be MODULE:FUNCTION", name, "write for example mine:release")
    sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise InvalidArgument(
            "name", "name a module that can be imported", name,
            f"run it in the module's folder ({error})",
        ) from None  # fmt: skip
    finally:
        sys.path.remove("")
    for part in path.split("."):
        if not hasattr(found, part):
            raise InvalidArgument("name", f"name something in {module}", name, f"no {part} there")
        found = getattr(found, part)
    return found
