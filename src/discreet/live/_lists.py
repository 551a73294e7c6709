"""States of kernels as objects of lists, and back from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeGuard

from ..errors import DamagedFile
from ..inference._record import History

if TYPE_CHECKING:
    from .._types import Json


class Lists:
    """A NamedTuple of arrays as an object of lists: the kernels read it twice as fast."""

    __slots__ = ()

    if TYPE_CHECKING:  # the fields are those of the NamedTuple

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **fields: object) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def to_dict(self) -> dict[str, object]:
        """A copy, by field."""
        fields: tuple[str, ...] = self.__slots__
        return {name: _copied(getattr(self, name)) for name in fields}

    def copy(self) -> Self:
        """The same lists again."""
        return type(self)(**self.to_dict())

    def cleared(self) -> Self:
        """Zeros in their place."""
        fields = self.to_dict().items()
        return type(self)(**{k: [0] * len(v) if type(v) is list else 0 for k, v in fields})


@lru_cache(maxsize=256)
def _lists_of(kind: type) -> type[Lists]:
    fields: tuple[str, ...] = getattr(kind, "_fields")  # noqa: B009 - a NamedTuple of some kind
    return type(kind.__name__, (Lists,), {"__slots__": fields})


def as_lists(state: NamedTuple) -> Lists:
    """The arrays of a NamedTuple as lists; single numbers stay."""
    fields = {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in state._asdict().items()
    }
    kind: type = type(state)
    return _lists_of(kind)(**fields)


def _copied(value: object) -> object:
    return value.copy() if type(value) is list else value


def restored(name: str, fresh: Lists, data: Json) -> Lists:
    """The saved part of that name, if it has the shape of a fresh one."""
    fields: tuple[str, ...] = fresh.__slots__
    saved = data.get(name)
    if not isinstance(saved, Mapping) or set(saved) != set(fields):
        raise DamagedFile(f"the state of the run lacks its {name}")
    for field in fields:
        if not is_like(saved[field], getattr(fresh, field)):
            raise DamagedFile(f"the {name} of the run has a {field} of another shape")
    return type(fresh)(**{field: _copied(value) for field, value in saved.items()})


def is_like(saved: object, fresh: object) -> bool:
    if type(fresh) is not list:
        return is_number(saved)
    if type(saved) is not list or len(saved) != len(fresh):
        return False
    return all(is_number(value) for value in saved)


def is_number(value: object) -> TypeGuard[float]:
    return type(value) is int or type(value) is float


def count_in(data: Json, name: str) -> int:
    """A count of a saved run."""
    count = data.get(name)
    if type(count) is not int or count < 0:
        raise DamagedFile(f"the state of the run lacks its {name}")
    return count


def copied_history(history: History | None) -> History | None:
    """Entries are never changed, so that copies can share them."""
    return None if history is None else [arm.copy() for arm in history]


def history_in(data: Json, arms: int, numbers: int = 1) -> History | None:
    """The saved record, of so many numbers a release; None where it was not kept."""
    history = data.get("history")
    if history is None:
        return None
    if (
        type(history) is not list
        or len(history) != arms
        or not all(
            type(arm) is list and all(_is_entry(entry, numbers) for entry in arm) for arm in history
        )
    ):
        raise DamagedFile("the state of the run has a damaged record of releases")
    return [[entry.copy() for entry in arm] for arm in history]


def _is_entry(entry: object, numbers: int) -> bool:
    """[size, number, ...], and how many noises are in it where that is not one."""
    if type(entry) is not list or len(entry) - numbers not in (1, 2):
        return False
    counts = entry[:1] + entry[1 + numbers :]
    return all(is_number(value) and math.isfinite(value) for value in entry) and all(
        type(value) is int and value >= 0 for value in counts
    )
