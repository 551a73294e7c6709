"""Rows in streams: blocks of all arms fill and wait side by side.

What a row must be for that, and what counts as evidence meanwhile. Live trials (`live.stream_run`,
with the proofs) and trials on a calendar (`simulator.calendar.rows`) ask the same functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .releases.base import CLOSED, FILLED, NEWEST
from .schedules import EachRound, Geometric, Regular
from .view import Empty, Setting

if TYPE_CHECKING:
    from .policy import Policy

__all__ = ["ALL", "CLOSED", "FILLED", "NEWEST", "evidence_in", "fits_streams"]

ALL = "all"
"""Evidence where every place is a block: places, whether they wait or not."""


def fits_streams(policy: Policy, setting: Setting) -> bool:
    """Whether a row can be played in streams: marks that are fixed beforehand, and a rule without
    a memory, which is told of single batches in their order."""
    return (
        isinstance(policy.schedule, EachRound | Geometric | Regular)
        and policy.release.takes_any_block
        and type(policy.rule.memory(setting)) is Empty
    )


def evidence_in(policy: Policy) -> str:
    """Which places stand behind a released mean, those that wait included."""
    evidence = policy.release.evidence
    return ALL if evidence == CLOSED and isinstance(policy.schedule, EachRound) else evidence
