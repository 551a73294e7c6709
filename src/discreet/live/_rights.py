"""What a person can ask of a trial, and what stays of them: withdrawal, and the trail of decisions.

A withdrawal before the release of its block makes a place count as one whose outcome did not come:
whether somebody answers is protected like what they answer, so nobody else sees it. Afterwards the
released sum stands, noise and all.
"""

from __future__ import annotations

import csv
import hmac
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import DamagedFile, InvalidArgument
from .stores._people import START, chained

if TYPE_CHECKING:
    from .stores._people import Trail

MOST = 500
"""Characters of a reason."""
PUBLIC = {"noisy", "unused", "longest"}
"""Columns of a ledger that hold no exact sum."""
COLUMNS = ("number", "at", "what", "by", "reason", "more", "chain")


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of somebody who has withdrawn. It is the same whether an outcome had come.

    - `released`: a place of this unit is part of a released noisy sum, which stands.
    - `exact`: the policy goes on with exact sums of what was released, until the trial is over.
    - `forgotten`: the name was overwritten, as happens at the release.

    >>> from discreet.live import Remains
    >>> print(Remains(released=False, exact=False, forgotten=False))
    Nothing of an outcome is left; the name is overwritten when the block of the place is released.
    """

    released: bool
    exact: bool
    forgotten: bool

    def __str__(self) -> str:
        if not self.released:
            name = "is overwritten when the block of the place is released"
            if self.forgotten:
                name = "was overwritten"
            return f"Nothing of an outcome is left; the name {name}."
        kept = "An outcome that had come in time is part of a noisy sum that was released, which "
        kept += "stands; the outcome itself was erased at the release"
        if self.exact:
            kept += ", and is part of an exact sum that the policy keeps until the trial is over"
        return f"{kept}. The name was overwritten." if self.forgotten else f"{kept}."


def keeps_sums(columns: Sequence[str], local: bool) -> bool:
    """Whether a ledger with such columns may hold exact sums of raw outcomes."""
    return not local and not set(columns) <= PUBLIC


def check_words(by: str, reason: str) -> dict[str, str]:
    """Who decides, and why, for the trail."""
    found = {"by": by, "reason": reason}
    for name, value in found.items():
        if not isinstance(value, str) or len(value) > MOST:
            raise InvalidArgument(
                name, f"be a text of at most {MOST} characters", value,
                f'use for example {name}="{"Dr. Weber" if name == "by" else "protocol, section 7"}"',
            )  # fmt: skip
    return {name: value for name, value in found.items() if value}


def entries_of(trail: Trail) -> list[dict[str, Any]]:
    """The trail, ready for JSON."""
    return [
        {"number": entry.number, **json.loads(entry.text), "chain": entry.chain}
        for entry in trail.entries
    ]


def verify(trail: Trail, witnessed: Sequence[str] | None, place: str) -> None:
    """Raise `DamagedFile` if an entry was changed, taken out or put in, or the end was cut off."""
    before, chains = START, [START]
    for number, entry in enumerate(trail.entries, 1):
        right = chained(trail.key, before, entry.text)
        if entry.number != number or not hmac.compare_digest(entry.chain, right):
            raise DamagedFile(
                f"{place}: entry {number} of the trail was changed, or one before it is missing"
            )
        before = entry.chain
        chains.append(before)
    if (len(trail.entries), before) != (trail.number, trail.chain):
        raise DamagedFile(f"{place}: the trail lacks its last entries")
    at = 0
    for chain in witnessed or ():
        if chain not in chains[at:]:
            raise DamagedFile(
                f"{place}: the trail lacks entries that were there at a release, by its witness"
            )
        at = chains.index(chain, at)


def as_table(entries: Sequence[dict[str, Any]]) -> str:
    """The trail as CSV; what only some entries have is JSON, in one column."""
    from ._tables import as_cell

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        more = {name: value for name, value in entry.items() if name not in COLUMNS}
        row = {**entry, "more": json.dumps(more) if more else ""}
        writer.writerow([as_cell(row.get(name, "")) for name in COLUMNS])
    return text.getvalue()
