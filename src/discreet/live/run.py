"""Where a run stands, as plain lists: what finite and contextual runs have in common.

A run collects the members of a batch, releases it, and chooses anew. It is stepped on a copy, so
that nothing is half-done if a step fails, and it is kept as JSON, without any random state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from ..errors import DamagedFile


class Run(ABC):
    """Base of the runs: the public view, the curator's ledger, and the open batch.

    Noise draws on `noise`, the choices of sampling rules on `chance`: both the seeded generator in
    a rehearsal, None and the system's randomness in a trial.
    """

    __slots__ = (
        "answer", "chance", "cut", "horizon", "kernels", "ledger", "noise", "release", "releases",
        "rule", "schedule", "t", "view",
    )  # fmt: skip
    PARTS: ClassVar[tuple[str, ...]]
    """what steps change in place; each is `Lists`"""

    t: int
    """rounds before the open batch"""
    horizon: int | None
    cut: bool
    """whether the open batch is never released, because the horizon cuts it off"""
    answer: int | None
    """the recommended arm, once a row that identifies has stopped"""
    releases: list[int]
    """how many there were"""
    kernels: Any
    view: Any
    ledger: Any

    @abstractmethod
    def arm_for(self, context: Any) -> int:
        """The arm of whoever comes next."""

    def action_of(self, context: Any, arm: int) -> list[int] | None:
        """The features of that arm in whole units; None for runs without contexts."""
        return None

    @abstractmethod
    def joined(self, action: list[int] | None, slot: int) -> Self:
        """The run with one more member of the open batch; this one stays as it is."""

    def may_play(self, arm: int) -> bool:
        """Whether a saved assignment of that arm fits the open batch."""
        return True

    @abstractmethod
    def is_full(self, filled: int) -> bool:
        """Whether the open batch takes no more members."""

    @abstractmethod
    def finish_batch(self, actions: Mapping[int, list[int]], outcomes: Sequence[int]) -> None:
        """Release the open batch, its outcomes in order, and open the next one."""

    @property
    def private_contexts(self) -> bool:
        """Whether contexts are to be forgotten with the outcomes."""
        return False

    @property
    def is_local(self) -> bool:
        """Whether every reward is randomised on its own."""
        return False

    def respond(self, reward: Any) -> Any:
        """What a local release makes of one reward."""
        raise NotImplementedError

    def copy(self) -> Self:
        """The same place, to step on from without touching this one."""
        other = object.__new__(type(self))
        for name in _slots_of(type(self)):
            setattr(other, name, getattr(self, name))
        for name in (*self.PARTS, "releases"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def to_dict(self) -> dict[str, Any]:
        """Where the run stands, ready for JSON; no random state."""
        parts = {name: getattr(self, name).to_dict() for name in self.PARTS}
        return {"t": self.t, "cut": self.cut, "releases": self.releases.copy(), **parts}

    def restore(self, data: Any) -> None:
        """Stand where `to_dict` was called."""
        if not isinstance(data, Mapping):
            raise DamagedFile("the state of the run is missing")
        parts = {name: _restored(name, getattr(self, name), data) for name in self.PARTS}
        if not _is_like(data.get("releases"), self.releases):
            raise DamagedFile("the state of the run lacks its counts of releases")
        if type(data.get("cut")) is not bool:
            raise DamagedFile("the state of the run has no open batch")
        self.t, self.cut = count_in(data, "t"), data["cut"]
        self.releases = list(data["releases"])
        for name, value in parts.items():
            setattr(self, name, value)


@lru_cache(maxsize=16)
def _slots_of(kind: type) -> tuple[str, ...]:
    return tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))


def count_in(data: Mapping[str, Any], name: str) -> int:
    """A count of a saved run."""
    count = data.get(name)
    if type(count) is not int or count < 0:
        raise DamagedFile(f"the state of the run lacks its {name}")
    return count


class Lists:
    """A NamedTuple of arrays as an object of lists: the kernels read it twice as fast."""

    __slots__ = ()

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """A copy, by field."""
        fields: tuple[str, ...] = self.__slots__
        return {name: _copied(getattr(self, name)) for name in fields}

    def copy(self) -> Self:
        """The same lists again."""
        return type(self)(**self.to_dict())


@lru_cache(maxsize=256)
def _lists_of(kind: type) -> type[Lists]:
    fields: tuple[str, ...] = getattr(kind, "_fields")  # noqa: B009 - a NamedTuple of some kind
    return type(kind.__name__, (Lists,), {"__slots__": fields})


def as_lists(state: Any) -> Lists:
    """The arrays of a NamedTuple as lists; single numbers stay."""
    fields = {
        name: value.tolist() if hasattr(value, "tolist") else value
        for name, value in state._asdict().items()
    }
    kind: type = type(state)
    return _lists_of(kind)(**fields)


def _copied(value: Any) -> Any:
    return value.copy() if type(value) is list else value


def _restored(name: str, fresh: Lists, data: Mapping[str, Any]) -> Any:
    """The saved part of that name, if it has the shape of a fresh one."""
    fields: tuple[str, ...] = fresh.__slots__
    saved = data.get(name)
    if not isinstance(saved, Mapping) or set(saved) != set(fields):
        raise DamagedFile(f"the state of the run lacks its {name}")
    for field in fields:
        if not _is_like(saved[field], getattr(fresh, field)):
            raise DamagedFile(f"the {name} of the run has a {field} of another shape")
    return type(fresh)(**{field: _copied(value) for field, value in saved.items()})


def _is_like(saved: Any, fresh: Any) -> bool:
    if type(fresh) is not list:
        return _is_number(saved)
    same = type(saved) is list and len(saved) == len(fresh)
    return same and all(_is_number(value) for value in saved)


def _is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float
