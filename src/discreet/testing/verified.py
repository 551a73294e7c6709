"""Verified: what a row's kernels spend, computed on symbols, is at most what it claims.

Simulated noise, and the whole-numbered noise of live trials where the release has it.
"""

from __future__ import annotations

from typing import Any

from ..policies.policy import Policy
from .case import Case

MOST_ROUNDS = 120
"""Rounds of a walk: long enough for every level that a reward can be in to be closed."""
MOST_ARMS = 3


def check_verified(row: Any, case: Case) -> None:
    """Every row that can verify itself: finite-armed, identifying and linear ones."""
    arms, horizon = min(case.arms, MOST_ARMS), min(case.horizon, MOST_ROUNDS)
    noises = (False, True) if _has_live_noise(row) else (False,)
    for live in noises:
        found = row.verify(arms=arms, horizon=horizon, live=live)
        if found.holds is False:
            raise AssertionError(
                f"the row's own kernels spend more than it claims, with {found.source} noise:\n"
                f"{found}"
            )


def _has_live_noise(row: Any) -> bool:
    release = row.release
    if isinstance(row, Policy):
        return bool(release.is_live and release.guarantee(row.schedule).is_private)
    return bool(getattr(row, "is_live", False))
