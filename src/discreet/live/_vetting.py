"""Policies of one's own, before anyone is assigned by them.

Policies of the catalogue are proved, at every horizon, by the tests. Whatever else a trial is
handed is verified when it is planned, at the trial's own horizon and with live noise: its kernels
and its decisions on symbols (`policy.proved`), and pairs of whole lives (`live.lives`).
What is refuted is refused. What cannot be computed, or not that far, becomes a condition of the
printed guarantee, so that no one takes a claim for a proof.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import InvalidArgument
from ..policies.releases._base import NOMINAL_HORIZON
from ._rows import row_to_dict

if TYPE_CHECKING:
    from ..policies import Policy
    from ..privacy.verification import Verification

MOST_ARMS = 3
"""Arms that are walked."""
FAR = 1 << 50
UNVERIFIED = "the policy keeps its claim, which was not verified: "
FIX = "see what discreet.verify of the policy with live=True says, and mend it"


def is_of_the_catalogue(row: Policy) -> bool:
    """Whether the catalogue builds the same row, part by part."""
    return row_to_dict(row)["recipe"] is not None


def vetted(row: Policy, arms: int, horizon: int | None) -> tuple[str, ...]:
    """What could not be verified of a policy, as conditions; one that is refuted is refused."""
    if horizon is None and row.guarantee.budget != row.guarantee_at(FAR).budget:
        raise InvalidArgument(
            "horizon", f"be given for {row.name}, whose guarantee depends on it", None,
            "use for example horizon=10_000",
        )  # fmt: skip
    if is_of_the_catalogue(row):
        return ()
    return _vetted(row, arms, horizon)


@lru_cache(maxsize=64)
def _vetted(row: Policy, arms: int, horizon: int | None) -> tuple[str, ...]:
    least = arms if horizon is None else horizon
    walked = max(2, min(arms, MOST_ARMS, least))
    found = row.proved(arms=walked, horizon=horizon or NOMINAL_HORIZON, live=True)
    if found.holds is False:
        said = found.breach or f"{found.computed} in place of {found.claimed}"
        raise InvalidArgument("policy", f"keep its guarantee: {said}", row.name, FIX)
    try:
        played = refuse_lives(row, walked)
    except InvalidArgument:
        raise
    except Exception as failure:  # of a rule: such a trial says so, and goes no further
        return (UNVERIFIED + f"its rule fails ({type(failure).__name__})",)
    if not played:
        return (*remaining(found), UNVERIFIED + "no life of a trial could be played")
    return remaining(found)


def refuse_lives(row: Policy, arms: int) -> bool:
    """Refuse a policy that some pair of lives refutes. Whether there was any life to go by."""
    from ._lives import verify_lives

    if row.release.respond is not None:
        return True  # verified by `verify`, response by response
    found = verify_lives(row, arms, participants=8)
    if not found.holds:
        said = f"{found.computed} in place of {found.claimed}, {found.worst}"
        raise InvalidArgument("policy", f"keep its guarantee in a trial: {said}", row.name, FIX)
    return bool(found.kinds)


def remaining(found: Verification) -> tuple[str, ...]:
    """What was not verified, as a condition."""
    if found.holds:
        return ()
    if found.computed is None:
        return (UNVERIFIED + found.reason,)
    if found.holds_for:
        return (
            f"the policy keeps its claim after {found.holds_for:,} participants, up to which it "
            "was verified",
        )
    return ("the policy keeps its claim, which was verified on some paths alone",)
