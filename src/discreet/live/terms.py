"""What a trial is planned with: arguments checked, and read back from what was stored."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ..checks import count, number_of, positive
from ..errors import InvalidArgument
from ..identify import Identifier
from ..privacy.guarantees import Guarantee
from .rules import Terms
from .setup import Plan

if TYPE_CHECKING:
    from .stores.base import Json

CHECKED = "rewards lie in [0, 1]"
"""A condition of the policies that a trial sees to: it scales outcomes and refuses others."""
EVERYBODY_RESPONDS = "every participant responds, or it is public who responded"
BOARD = (
    "nothing is read into the fact that the trial stopped, or into when: both may depend on raw "
    "outcomes, and neither is covered"
)
CONFLICTS = ("refuse", "ignore")


def terms_of(plan: Plan, deadline: float | None, contributions: int, conflicts: str) -> Terms:
    """What was fixed when the trial was planned."""
    if conflicts not in CONFLICTS:
        raise InvalidArgument(
            "conflicts", "be 'refuse' or 'ignore'", conflicts, "leave it out for 'refuse'"
        )
    fix = "use for example deadline=86_400 for a day, or None to wait for everybody"
    return Terms(
        None if deadline is None else positive("deadline", deadline, fix),
        count(
            "contributions", contributions, fix="use 1, or the most outcomes that a unit may give"
        ),
        plan.run.horizon,
        conflicts == CONFLICTS[0],
        plan.run.is_local,
    )


def missing_as(
    missing: str | float | None, default: float | None, deadline: float | None
) -> tuple[bool | None, float]:
    """Whether missing outcomes are estimated, None for where the policy can, and else what they
    count as."""
    if missing is not None and default is not None:
        raise InvalidArgument("default", "be left out beside missing", default, "give missing")
    if missing == "estimate":
        if deadline is None:
            raise InvalidArgument(
                "missing", "be left out where a block waits for everybody", missing,
                "give a deadline",
            )  # fmt: skip
        return True, 0.0
    if isinstance(missing, str):
        raise InvalidArgument(
            "missing", 'be "estimate", or the value that a missing outcome counts as', missing,
            'use missing="estimate"',
        )  # fmt: skip
    given = default if missing is None else missing
    if given is None:
        return None if deadline is not None else False, 0.0
    return False, given


def check_default(argument: str, default: float, plan: Plan, terms: Terms) -> float:
    """What a missing outcome counts as."""
    number = number_of(default)
    if number is None or not math.isfinite(number):
        raise InvalidArgument(argument, "be a finite number", default, "use an outcome")
    if terms.deadline is not None and plan.steps(number) is None:
        raise InvalidArgument(
            argument, f"be {plan.outcomes}, like every outcome", default,
            f"use for example {argument}={plan.outcome_range[0]:g} if silence means that",
        )  # fmt: skip
    return number


def covering(plan: Plan, terms: Terms) -> Guarantee:
    """The guarantee in the budget that the secure noise is calibrated to, for all outcomes that
    one unit may contribute, under the conditions of a trial."""
    guarantee, asked = plan.guarantee, getattr(plan.policy.release, "budget", None)
    if asked is not None and guarantee.budget.implies(asked):
        guarantee = replace(guarantee, budget=asked)
    conditions = [text for text in guarantee.conditions if text != CHECKED]
    if terms.deadline is None:
        conditions.append(EVERYBODY_RESPONDS)
    guarantee = replace(guarantee, conditions=tuple(conditions))
    return guarantee.for_user(terms.contributions)


def stopped_by_a_board(guarantee: Guarantee) -> Guarantee:
    """The guarantee, which now says what it does not cover."""
    if BOARD in guarantee.conditions:
        return guarantee
    return replace(guarantee, conditions=(*guarantee.conditions, BOARD))


def settings_in(state: Json, row: object) -> Json:
    """The arguments that a stored trial was made with."""
    contexts = ("dimension", "longest", "batch") if "dimension" in state else ("outcome_range",)
    names = ("horizon", "deadline", "default", "contributions", *contexts)
    options = {name: state[name] for name in names}
    options |= {"_planned": len(state["arms"]), "_stratum": state.get("stratum")}
    if state.get("missing") is not None:
        options = {**options, "missing": state["missing"], "default": None}
    later = {"conflicts": CONFLICTS[0], "intervals": "auto", "binary": False}  # than version 1
    options |= {name: state.get(name, usual) for name, usual in later.items()}
    options |= {"streams": bool(state.get("streams", False))}  # before, there were none
    if options["streams"]:
        named = zip(state["arms"], state["shares"], strict=True)
        options |= {
            "window": state["window"], "share": dict(named), "_planned": state["planned"],
            "trend": bool(state.get("trend", False)),
        }  # fmt: skip
    elif "dimension" in state:
        del options["streams"]
    if not isinstance(row, Identifier):
        return options
    return {**options, "goal": "identify", "risk": row.risk}
