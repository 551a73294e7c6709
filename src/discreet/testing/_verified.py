"""Verified: what a policy's kernels spend, computed on symbols, is at most what it claims.

Simulated noise, and the whole-numbered noise of live trials where the release has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InvalidArgument
from ..policies._policy import Policy
from ._case import Case

if TYPE_CHECKING:
    from ..linear import LinearPolicy

MOST_ROUNDS = 100
"""Rounds of a walk: long enough for every level that a reward can be in to be closed."""
MOST_ARMS = 4


def check_verified(row: Policy | LinearPolicy, case: Case) -> None:
    """Check that a policy's own kernels spend at most what it claims, computed on symbols.

    For finite-armed, identifying and linear policies.

    Args:
        row: The policy.
        case: Size, seeds and twin of the checks.

    Raises:
        AssertionError: If more is spent than claimed.

    Example:
        >>> import discreet
        >>> from discreet.testing import Case, check_verified
        >>> check_verified(discreet.policy("dp-imed", epsilon=1.0), Case(arms=2, horizon=60))
    """
    arms, horizon = min(case.arms, MOST_ARMS), min(case.horizon, MOST_ROUNDS)
    for live in (False, True):
        try:
            found = row.proved(arms=arms, horizon=horizon, live=live)
        except InvalidArgument:
            if not live or _is_live(row):
                raise
            continue  # no secure noise, and none is said to be there
        if found.holds is False:
            raise AssertionError(
                f"the policy's own kernels spend more than it claims, with {found.source} noise:\n"
                f"{found}"
            )


def _is_live(row: object) -> bool:
    return isinstance(row, Policy) and row.release.is_live
