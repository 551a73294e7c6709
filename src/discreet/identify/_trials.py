"""What a live trial with the goal "identify" needs: its row, and the verdict of a release.

A trial decides when it hears of releases, not every round (`Identifier.batched`). After every
release the verdict is the recommended arm if the evidence is enough: a function of releases
and counts, so it may be acted upon and shown.
"""

from __future__ import annotations

from collections.abc import Callable

from .._checks import one_of
from ..errors import InvalidArgument
from ..policies import Policy, Setting
from ..policies._view import View
from ._identifier import Identifier
from ._sampling import first_unreleased

GOALS = ("regret", "identify", "test")

Verdict = Callable[[object, object, View, int], int | None]
"""(rule, memory, view, t) -> the recommended arm, or None to go on."""


def row_for_goal(policy: Policy, goal: str, risk: float | None) -> Policy:
    """The row as a trial plays it."""
    if one_of("goal", goal, *GOALS) == "regret":
        if risk is not None:
            raise InvalidArgument(
                "risk", "be left out unless the goal is to identify", risk,
                "add goal='identify', or give the budget's δ to the policy",
            )  # fmt: skip
        if isinstance(policy, Identifier):
            raise InvalidArgument(
                "goal", f"be 'identify' for {policy.name}, which stops with an answer", goal,
                "add goal='identify'" + ("" if policy.fixed_size else ", risk=0.05"),
            )  # fmt: skip
        return policy
    if goal == "test" or getattr(policy, "goal", goal) == "test":
        return _row_for_test(policy, goal, risk)
    if not isinstance(policy, Identifier):
        raise InvalidArgument(
            "policy", "be an identifier if the goal is to identify", str(policy),
            'use for example discreet.identify.identifier("evidence-tt", epsilon=1.0)',
        )  # fmt: skip
    if policy.fixed_size and risk is None:
        return policy.batched()
    row = policy.at(risk).batched()  # type: ignore[arg-type]  # None is refused, with the fix
    if not row.delta_correct:
        raise InvalidArgument(
            "policy", "keep the risk that a trial states with its answer", str(row),
            "take a row whose delta_correct is True, such as evidence-tt",
        )  # fmt: skip
    return row


def _row_for_test(policy: Policy, goal: str, risk: float | None) -> Policy:
    """A design has its risk, and no other goal."""
    if getattr(policy, "goal", "") != "test":
        raise InvalidArgument(
            "policy", "be a design if the goal is to test", str(policy),
            "use for example discreet.confirm.design(800, epsilon=1.0)",
        )  # fmt: skip
    if goal != "test":
        raise InvalidArgument("goal", "be 'test' for a design", goal, "leave it out")
    if risk is not None:
        raise InvalidArgument(
            "risk", "be left out: the design has its own", risk,
            "use for example discreet.confirm.design(800, epsilon=1.0, risk=0.05)",
        )  # fmt: skip
    return policy


def verdict_of(policy: Policy, setting: Setting) -> Verdict | None:
    """The verdict of a row that identifies; None for the others."""
    if not isinstance(policy, Identifier):
        return None
    stopping = policy.stopping.parameters(setting)
    enough, recommend = policy.stopping.enough.interpreted(), policy.recommendation.recommend

    def verdict(rule: object, memory: object, view: View, t: int) -> int | None:
        if first_unreleased(view) >= 0:
            return None
        if not enough(stopping, rule, memory, view, recommend(memory, view), t):
            return None
        arm: int = recommend(memory, view)
        return arm

    return verdict
