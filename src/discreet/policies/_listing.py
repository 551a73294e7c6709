"""All published policies at a glance: `discreet.policies()`.

>>> import discreet
>>> discreet.policies(kind="linear", private=False).names
('gope', 'oful', 'rs-oful')
>>> len(discreet.policies()) > 50
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Never

from .._checks import check_flag, one_of
from ._registry import ARGUMENTS, KINDS, Entry, catalogue

if TYPE_CHECKING:
    from ._policy import BasePolicy

Kind = Literal["finite", "identify", "linear"]


class Listing(tuple["Entry[BasePolicy[Never]]", ...]):
    """Lines of the catalogue, in its order; printed as a table."""

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What `discreet.policy` takes."""
        return tuple(line.name for line in self)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each, ready for a data frame or JSON."""
        return [
            {
                "name": line.name, "kind": line.kind, "title": line.title,
                "private": line.private, "budget": _budget(line), "reference": line.reference,
            }
            for line in self
        ]  # fmt: skip

    def __repr__(self) -> str:
        columns = ("name", "kind", "title", "budget", "reference")
        rows = [columns, *(tuple(str(row[c]) for c in columns) for row in self.to_dicts())]
        widths = [max(len(row[place]) for row in rows) for place in range(len(columns))]
        lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
        return "\n".join(lines)


def _budget(line: Entry[BasePolicy[Never]]) -> str:
    """How its budget is asked for."""
    asked = [ARGUMENTS[kind] for kind in line.budgets]
    return " | ".join([*asked, "none"] if line.optional or not asked else asked)


def listed(kind: Kind | None = None, private: bool | None = None) -> Listing:
    """The published policies: of one kind, or all; those that take a budget, those that do without,
    or both. A policy that does with and without is in either."""
    kinds = list(KINDS) if kind is None else [one_of("kind", kind, *KINDS)]
    lines = [line for each in kinds for line in catalogue(each).values()]
    if private is not None and check_flag("private", private):
        lines = [line for line in lines if line.private]
    elif private is not None:
        lines = [line for line in lines if not line.private or line.optional]
    return Listing(lines)
