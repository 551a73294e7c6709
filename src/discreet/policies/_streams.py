"""Policies in streams: blocks of all arms fill and wait concurrently.

What counts as evidence meanwhile: live trials (`live.stream_run`) and the protocol ask the same.
Which policies are played so, they say themselves: `Policy.plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .releases._base import CLOSED, FILLED, NEWEST

if TYPE_CHECKING:
    from ._policy import Policy

__all__ = ["ALL", "CLOSED", "FILLED", "NEWEST", "evidence_in"]

ALL = "all"
"""Evidence where every place is a block: places, whether they wait or not."""


def evidence_in(policy: Policy) -> str:
    """Which places stand behind a released mean, those that wait included."""
    evidence = policy.release.evidence
    return ALL if evidence == CLOSED and policy.schedule.each_round else evidence
