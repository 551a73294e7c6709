"""What a person can ask of a trial, and what stays of them: withdrawal, and the trail of decisions.

A withdrawal before the release of its block makes a place count as one whose outcome did not come:
whether someone answers is protected like what they answer, so no one else sees it. Afterwards the
released sum stands, noise and all.
"""

from __future__ import annotations

import csv
import hmac
import io
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DamagedFile, InvalidArgument
from .stores._people import START, chained

if TYPE_CHECKING:
    from .._checks import Name
    from ._ledger import Ledger
    from .stores._base import Json
    from .stores._people import Trail

MOST = 500
"""Characters of a reason."""
EXAMPLES = {"by": "Dr. Weber", "reason": "protocol, section 7"}
SAVED = ("ledger", "beyond", "kits")
PUBLIC = {"noisy", "unused", "longest"}
"""Columns of a ledger that hold no exact sum."""
COLUMNS = ("number", "at", "what", "by", "reason", "more", "chain")


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of someone who has withdrawn. It is the same whether an outcome had come.

    - `released`: a place of this unit is part of a released noisy sum, which stands.
    - `exact`: the policy continues with exact sums of what was released, until the trial is over.
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


class Care(NamedTuple):
    """What a trial was planned with for its people, beside `Terms`."""

    ledger: Ledger | None = None
    """of budgets; None if there is none, or if its file is not there"""
    charged: str = ""
    """the name of this trial in its ledger; empty if there is none"""
    beyond: int | None = None
    """the arm of anyone who has no budget left"""
    kits: bool = False
    """whether arms are hidden behind the codes of kits"""
    saved: Json | None = None
    """what is stored of it"""
    stock: Mapping[int, Sequence[str]] = MappingProxyType({})
    """kits of a new trial"""


def care_of(
    arms: Sequence[Name], ledger: object, beyond: Name | None, kits: object, own: str | None,
) -> Care:  # fmt: skip
    """As it was planned."""
    from ._ledger import Ledger

    if ledger is not None and not isinstance(ledger, Ledger):
        raise InvalidArgument(
            "ledger", "be a discreet.Ledger", ledger,
            'use for example ledger=discreet.Ledger("budgets.db", cap=discreet.Pure(2.0))',
        )  # fmt: skip
    if beyond is not None and (ledger is None or beyond not in arms):
        raise InvalidArgument(
            "beyond", f"be an arm of the trial, {list(arms)}, where there is a ledger", beyond,
            "leave it out",
        )  # fmt: skip
    stock = {} if kits is None else check_kits(kits, arms)
    saved: Json = {}
    charged = ""
    if ledger is not None:
        charged = own or secrets.token_hex(16)
        saved["ledger"] = {"id": ledger.id, "path": str(ledger.path), "trial": charged}
    number = None if beyond is None else list(arms).index(beyond)
    if number is not None:
        saved["beyond"] = number
    if stock:
        saved["kits"] = True
    return Care(ledger, charged, number, bool(stock), saved, stock)


def care_in(state: Json, ledger: object) -> Care:
    """As it was stored. The ledger is where it was, or is handed in."""
    from ._ledger import Ledger

    known = state.get("ledger")
    found: Ledger | None = None
    if known is not None:
        if isinstance(ledger, Ledger):
            found = ledger
        elif Path(known["path"]).exists():
            found = Ledger(known["path"])
        if found is not None and found.id != known["id"]:
            raise InvalidArgument(
                "ledger", "be the one that the trial was planned with", str(found.path),
                f"it was in {known['path']}",
            )  # fmt: skip
    saved: Json = {name: state[name] for name in SAVED if name in state}
    charged = "" if known is None else str(known["trial"])
    return Care(found, charged, state.get("beyond"), bool(state.get("kits")), saved)


def check_kits(kits: object, arms: Sequence[Name]) -> dict[int, list[str]]:
    """Codes by the number of their arm."""
    fix = 'use for example kits={"A": ["K101", "K103"], "B": ["K102", "K104"]}'
    if not isinstance(kits, Mapping) or not set(kits) <= set(arms):
        raise InvalidArgument("kits", f"have codes for arms of {list(arms)}", sorted(kits, key=str)
                              if isinstance(kits, Mapping) else kits, fix)  # fmt: skip
    found: dict[int, list[str]] = {}
    seen: set[str] = set()
    for number, arm in enumerate(arms):
        codes = kits.get(arm, [])
        if not isinstance(codes, list | tuple) or not all(isinstance(c, str) and c for c in codes):
            raise InvalidArgument("kits", "be lists of texts", codes, fix)
        for code in codes:
            if code in seen:
                raise InvalidArgument("kits", "have every code once", code, fix)
            seen.add(code)
        found[number] = list(codes)
    return found


def check_words(by: str, reason: str) -> dict[str, str]:
    """Who decides, and why, for the trail."""
    found = {"by": by, "reason": reason}
    for name, value in found.items():
        if not isinstance(value, str) or len(value) > MOST:
            raise InvalidArgument(
                name, f"be a text of at most {MOST} characters", value,
                f"use for example {name}={EXAMPLES[name]!r}",
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
