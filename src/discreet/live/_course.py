"""The course of a trial: what was public when each block was released.

An entry is built from the public moment at which a block was due, of counts of assignments, and of
the released mean. It is not the moment of the call that released it: that may have been a
`record`, and when someone responds is private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._checks import Name
    from ._documents import CourseEntry
    from .stores import Block

Course = list[list[Any]]
"""[due, arm, size, value, places] of every release, as it is stored."""
MOST = 400
"""Entries that are kept; then every other one goes, so that a file stays small however many
releases there are."""


def public_moment(due: float, blocks: Mapping[str, Block]) -> float:
    """When a block that was due then was released: then, or later if it was closed by hand, which
    was not before the latest assignment. That one is in a block which is not released yet."""
    return max([due, *(block.latest or 0.0 for block in blocks.values())])


def longer(
    course: object, due: float, arm: int, size: int, value: float, places: Sequence[int]
) -> Course:
    """The course with one more release; what it was built from stays as it is."""
    known = list(course) if isinstance(course, list) else []
    if len(known) >= MOST:
        known = known[::2]
    return [*known, [due, arm, size, float(value), list(places)]]


def entries(
    course: Course | None, arms: Sequence[Name], low: float, high: float,
    mean_of: Callable[[float], float | None],
) -> list[CourseEntry]:  # fmt: skip
    """What the report shows of it: one entry per release, means in the units of the outcomes."""
    found: list[CourseEntry] = []
    for at, arm, size, value, places in course or ():
        mean = mean_of(value) if size > 0 else None
        found.append(
            {
                "time": at,
                "arm": arms[arm],
                "size": size,
                "mean": None if mean is None else low + (high - low) * mean,
                "assigned": {str(arms[number]): count for number, count in enumerate(places)},
            }
        )
    return found
