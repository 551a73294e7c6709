"""What a trial is planned with: arguments checked, and read back from what was stored."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from .._checks import Name, check_range, count, number_of, positive
from .._durations import in_words, seconds
from ..errors import InvalidArgument
from ..identify import Identifier
from ..policies.releases._whole import BINARY
from ..privacy._guarantees import Guarantee
from ._arguments import FLAT
from ._rights import Care
from ._rules import Terms
from ._setup import Plan
from ._verdicts import is_test

if TYPE_CHECKING:
    from .stores._base import Json

CHECKED = "rewards lie in [0, 1]"
"""A condition of the policies that a trial sees to: it scales outcomes and refuses others; as those
of a test that are neither of two."""
EVERYBODY_RESPONDS = "every participant responds, or it is public who responded"
BOARD = (
    "nothing is read into the fact that the trial stopped, or into when: both may depend on raw "
    "outcomes, and neither is covered"
)
CONFLICTS = ("refuse", "ignore")
UNKNOWN = 'missing="estimate"'
UNSAID = (
    "be said with a deadline: a value such as 0 if silence means that outcome (no click), "
    '"estimate" if silence means that the outcome is unknown'
)


def terms_of(
    plan: Plan, deadline: float | None, contributions: int, conflicts: str, own_clock: bool,
    corrections: str | None = None, retention: float | None = None,
) -> Terms:  # fmt: skip
    """What was fixed when the trial was planned."""
    if corrections is not None:
        check_corrections(corrections, deadline, plan.run.is_local)
    if conflicts not in CONFLICTS:
        raise InvalidArgument(
            "conflicts", "be 'refuse' or 'ignore'", conflicts, "leave it out for 'refuse'"
        )
    if is_test(plan.policy) and contributions != 1:
        raise InvalidArgument(
            "contributions", "be 1 for a test, which counts on independent outcomes", contributions,
            "leave it out",
        )  # fmt: skip
    return Terms(
        deadline,
        count(
            "contributions", contributions, fix="use 1, or the most outcomes that a unit may give"
        ),
        plan.run.horizon,
        False,
        conflicts == CONFLICTS[0],
        plan.run.is_local,
        own_clock,
        corrections is not None,
        retention,
    )


def check_corrections(corrections: object, deadline: float | None, local: bool) -> None:
    """Until when an outcome may be corrected."""
    rule, fix = "", "leave it out: the first outcome of a place stands"
    if corrections != "deadline":
        rule, fix = 'be "deadline"', f'use corrections="deadline", or {fix}'
    elif deadline is None:
        rule = "be left out without a deadline, where an outcome may be released when it comes"
    elif local:
        rule = "be left out for a local policy, which randomises every outcome when it comes: a "
        rule += "second one would cost its budget again"
    if rule:
        raise InvalidArgument("corrections", rule, corrections, fix)


def retention_of(retention: object, own_clock: bool) -> float | None:
    """In seconds, or in the unit of the clock, like `deadline_of`; 0 is soon enough."""
    if retention is None:
        return None
    if not own_clock:
        return seconds("retention", retention)
    if isinstance(retention, str | timedelta):
        raise InvalidArgument(
            "retention", "be a number, in the unit of the clock of your own", retention,
            "leave out clock, or use for example retention=90.0",
        )  # fmt: skip
    return positive("retention", retention, "use for example retention=90.0")


def deadline_of(deadline: object, own_clock: bool) -> float | None:
    """In seconds; a number in the unit of the clock where that is one's own."""
    if deadline is None:
        return None
    if not own_clock:
        return seconds("deadline", deadline)
    if isinstance(deadline, str | timedelta):
        raise InvalidArgument(
            "deadline", "be a number, in the unit of the clock of your own", deadline,
            "leave out clock, or use for example deadline=14.0",
        )  # fmt: skip
    return positive("deadline", deadline, "use for example deadline=14.0, in the clock's unit")


def missing_as(
    missing: str | float | None, deadline: float | None, outcome_range: Sequence[float] | None
) -> tuple[bool, float]:
    """Whether missing outcomes are estimated, and else what they count as."""
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
    if missing is not None:
        return False, missing
    if deadline is not None:
        low = 0.0 if outcome_range is None else check_range(outcome_range)[0]
        raise InvalidArgument("missing", UNSAID, None, f"use missing={low:g}, or {UNKNOWN}")
    return False, 0.0


def check_default(default: float, plan: Plan, terms: Terms) -> float:
    """What a missing outcome counts as."""
    number = number_of(default)
    if number is None or not math.isfinite(number):
        raise InvalidArgument("missing", "be a finite number", default, "use an outcome")
    if terms.deadline is not None and plan.steps(number) is None:
        raise InvalidArgument(
            "missing", f"be {plan.outcomes}, like every outcome", default,
            f"use for example missing={plan.outcome_range[0]:g} if silence means that",
        )  # fmt: skip
    return number


def covering(plan: Plan, terms: Terms) -> Guarantee:
    """The guarantee in the budget that the secure noise is calibrated to, for all outcomes that
    one unit may contribute, under the conditions of a trial."""
    guarantee, asked = plan.guarantee, getattr(plan.policy.release, "budget", None)
    if asked is not None and guarantee.budget.implies(asked):
        guarantee = replace(guarantee, budget=asked)
    conditions = [text for text in guarantee.conditions if text not in (CHECKED, BINARY)]
    if terms.deadline is None:
        conditions.append(EVERYBODY_RESPONDS)
    guarantee = replace(guarantee, conditions=tuple(conditions))
    return guarantee.for_user(terms.contributions)


def stopped_by_a_board(guarantee: Guarantee) -> Guarantee:
    """The guarantee, which now says what it does not cover."""
    if BOARD in guarantee.conditions:
        return guarantee
    return replace(guarantee, conditions=(*guarantee.conditions, BOARD))


def settings_in_words(plan: Plan, terms: Terms, default: float, arms: Sequence[Name]) -> Json:
    """The settings of a trial for people, all of them public."""
    settings, deadline = plan.settings, terms.deadline
    found: Json = {"arms": list(arms), "outcomes": plan.outcomes}
    if is_test(plan.policy):
        found["design"] = str(plan.policy.design)
        if plan.policy.rest:
            found["rest"] = f"the winner, or the control, up to {plan.policy.rest} participants"
    if settings.get("rounded"):
        found["rounded"] = "each outcome to an end of its range, with a probability that keeps it"
    if deadline is None:
        found["deadline"] = "none: a block waits until everybody has responded"
    else:
        length = f"{deadline:g} of the trial's own clock" if terms.own_clock else in_words(deadline)
        found["deadline"] = f"{length} after the assignment"
        estimated = settings.get("missing") == "estimate"
        means = "that the outcome is unknown" if estimated else f"an outcome of {default:g}"
        found["missing"] = f"silence means {means}"
    found["horizon"] = "none" if terms.horizon is None else f"{terms.horizon} assignments"
    if terms.shared:
        found["horizon"] += ", in all strata together"
    found["contributions"] = f"at most {terms.contributions} per participant"
    found["conflicts"] = "refused" if terms.refuses_conflicts else "ignored"
    if terms.corrects:
        found["corrections"] = "until the outcome would be late"
    if terms.retention is not None:
        own = f"{terms.retention:g} of the trial's own clock"
        length = own if terms.own_clock else in_words(terms.retention)
        found["retention"] = f"names are erased {length} after the end"
    if settings.get("streams"):
        found["window"] = f"{settings['window']} assignments in a random order"
        named = zip(arms, settings["shares"], strict=False)
        found["share"] = {str(arm): share for arm, share in named if share} or "none"
    for name in ("trend", "intervals", "dimension", "longest", "batch"):
        if name in settings:
            found[name] = settings[name]
    return found


class Stored(NamedTuple):
    """Of a trial that continues."""

    arms: int
    """that it began with"""
    own_clock: bool
    conditions: tuple[str, ...] = ()
    """what was not verified of its policy"""
    care: Care = Care()
    """what it was planned with for its people"""


def settings_in(state: Json, policy: object) -> tuple[Json, Stored]:
    """What a stored trial was asked for, by flat names; and what else is known of it."""
    names = ("horizon", "deadline", "contributions", "conflicts")
    contexts = "dimension" in state
    streams = bool(state.get("streams"))
    options: Json = dict.fromkeys(FLAT) | {name: state[name] for name in names}
    options |= {"missing": None, "risk": None, "intervals": "auto"}
    options |= {"binary": False, "trend": False, "truncate": False}
    options["rounded"] = bool(state.get("rounded", False))
    options |= {name: state.get(name) for name in ("corrections", "retention")}
    options["shared"] = state.get("shared", False)
    options |= dict.fromkeys(("kits", "ledger", "beyond"))  # `care_in` reads them
    if options["deadline"] is not None:
        options["missing"] = state.get("missing", state["default"])
    if contexts:
        options |= {name: state[name] for name in ("dimension", "longest", "batch")}
    else:
        options |= {name: state[name] for name in ("outcome_range", "intervals", "binary")}
        options["truncate"] = bool(state.get("truncate", False))
        options["streams"] = streams
    if streams:
        named = zip(state["arms"], state["shares"], strict=True)
        options |= {
            "window": state["window"], "share": dict(named),
            "trend": bool(state.get("trend", False)),
        }  # fmt: skip
    if isinstance(policy, Identifier):
        options["risk"] = policy.risk
    arms = state["planned"] if streams else len(state["arms"])
    conditions = tuple(state.get("conditions", ()))
    return options, Stored(arms, state.get("clock") == "own", conditions)
