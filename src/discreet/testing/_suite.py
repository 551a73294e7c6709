"""The whole contract: every check by name, in the order in which they run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ..policies._policy import Policy
from ._case import Case, Check
from ._claims import check_documented, check_guarantee
from ._leaks import check_noisy_first, check_worth
from ._means import check_means
from ._repeats import check_compiled, check_saved_state, check_seeded, check_threads
from ._steps import check_steps
from ._twins import check_twin
from ._verified import check_verified

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "steps": check_steps,
        "documented": check_documented,
        "guarantee": check_guarantee,
        "noisy first reward": check_noisy_first,
        "worth its budget": check_worth,
        "verified": check_verified,
        "means": check_means,
        "compiled": check_compiled,
        "seeded": check_seeded,
        "threads": check_threads,
        "saved state": check_saved_state,
        "twin": check_twin,
    }
)
"""All checks by name, in the order in which they run."""


def check_policy(
    row: Policy, *, arms: int = 4, horizon: int = 2000, twin: Policy | None = None
) -> None:
    """Run the whole contract on a policy; raises `AssertionError` at the first broken clause.

    `twin` is the policy that `row` must equal when its budget is huge: the same schedule with the
    release `Exact()`, and the rule without privacy. A forgetting release has no such twin.

    Args:
        row: The policy.
        arms: Number of arms that it is played with.
        horizon: Number of rounds.
        twin: The policy without privacy that it must equal at a huge budget.

    Raises:
        AssertionError: If a clause is broken; the message names it.
    """
    if not isinstance(row, Policy):
        raise AssertionError(f"check_policy takes a Policy, got {row!r}")
    case = Case(arms, horizon, twin)
    for name, check in CHECKS.items():
        try:
            check(row, case)
        except AssertionError as error:
            raise AssertionError(f"{row.name} breaks the contract at {name!r}: {error}") from error
