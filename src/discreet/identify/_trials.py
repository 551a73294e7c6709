"""What a live trial of a policy that identifies needs: the policy, and the verdict of a release.

A trial decides when it hears of releases, not every round (`Identifier.batched`). After every
release the verdict is the recommended arm if the evidence is enough: a function of releases
and counts, so it may be acted upon and shown.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import InvalidArgument
from ..policies import Policy, Setting
from ..policies._view import View
from ._identifier import Identifier
from ._sampling import first_unreleased

Verdict = Callable[[object, object, View, int], int | None]
"""(rule, memory, view, t) -> the recommended arm, or None to continue."""


def row_for_trial(policy: Policy, risk: float | None) -> Policy:
    """The policy as a trial plays it. What it is for follows from what it is: an identifier stops
    with an answer, a design with a verdict."""
    if isinstance(policy, Identifier) and getattr(policy, "goal", "") != "test":
        if policy.fixed_size and risk is None:
            return policy.batched()
        row = policy.at(risk).batched()  # type: ignore[arg-type]  # None is refused, with the fix
        if not row.delta_correct:
            raise InvalidArgument(
                "policy", "keep the risk that a trial states with its answer", str(row),
                "take a policy whose delta_correct is True, such as evidence-tt",
            )  # fmt: skip
        return row
    if risk is None:
        return policy
    if getattr(policy, "goal", "") == "test":
        raise InvalidArgument(
            "risk", "be left out: the design has its own", risk,
            "use for example discreet.confirm.design(800, epsilon=1.0, risk=0.05)",
        )  # fmt: skip
    raise InvalidArgument(
        "risk", f"be left out for {policy.name}, which stops with no answer", risk,
        'use for example discreet.policy("evidence-tt", epsilon=1.0), or give the budget\'s δ to '
        "the policy",
    )  # fmt: skip


def verdict_of(policy: Policy, setting: Setting) -> Verdict | None:
    """The verdict of a policy that identifies; None for the others."""
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
