"""Every private row with its example budget: what is claimed, what is spent, what is left over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from ..policies._registry import Entry

LONGER = (1200, 3000)
"""Rounds for rows that release nothing earlier: long first batches, an estimate of the gap."""
RISK = 0.05
"""Of rows that identify: it is no part of what they spend."""


class Line(TypedDict):
    """What one row spends of its budget."""

    name: str
    kind: str
    claimed: str
    computed: str | None
    unspent: float | None
    exact: bool
    holds: bool | None
    why: str


def every_row(horizon: int) -> list[Line]:
    """A line for each private row of every kind."""
    from ..policies._registry import KINDS, catalogue

    return [
        line_of(entry, horizon)
        for kind in KINDS
        for entry in catalogue(kind).values()
        if entry.private
    ]


def line_of(entry: Entry[Any], horizon: int) -> Line:
    """One row: the share of the budget that no reward costs, and why there is one."""
    row = entry.example()
    if entry.kind == "identify":
        row = row.among(horizon) if row.fixed_size else row.at(RISK)
    found = row.proved(horizon=horizon)
    for longer in LONGER:
        if found.unspent == 1.0:
            found = row.proved(horizon=max(longer, horizon))
    why = found.reason
    if found.unspent:
        why = f"claimed for every horizon, and {found.horizon:,} rounds do not spend all of it"
    return {
        "name": entry.name, "kind": entry.kind, "claimed": str(found.claimed),
        "computed": None if found.computed is None else str(found.computed),
        "unspent": found.unspent, "exact": found.exact, "holds": found.holds, "why": why,
    }  # fmt: skip
