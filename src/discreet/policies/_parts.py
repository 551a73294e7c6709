"""What the parts of all policies have in common, whether their actions are arms or vectors.

A part is a frozen object that describes itself, kernels as class attributes, and the parameters
that its kernels get as their first argument. `S` is the setting in which it is put to work.
"""

from __future__ import annotations

from typing import ClassVar, Generic, NamedTuple, TypeVar

from .._compiled import Function, Kernel
from ..privacy._source import Source
from ._view import Empty

S = TypeVar("S", contravariant=True)
"""What serves in every setting serves in one; so `Part[Never]` is a part of any kind."""


class Part(Generic[S]):
    """Base of schedules, releases and rules."""

    name: ClassVar[str]

    def parameters(self, setting: S) -> NamedTuple:
        """What the kernels get as their first argument."""
        return Empty()

    def __str__(self) -> str:
        return self.name


class SchedulePart(Part[S]):
    """Base of all schedules: when the next release is made."""


class ReleasePart(Part[S]):
    """Base of all releases: the curator, and the only part that is handed rewards."""

    noise: ClassVar[str] = ""
    """Which noise of the source fills in `noise` in the kernels."""

    def ledger(self, setting: S) -> NamedTuple:
        """The curator's private memory, empty."""
        return Empty()

    def kernel(self, function: Function | Kernel, source: Source) -> Kernel:
        """A kernel with the noise of a source filled in."""
        filled = dict(source.kernels)
        if self.noise:
            filled["noise"] = source.kernels[self.noise]
        return Kernel(function, **filled)


class RulePart(Part[S]):
    """Base of all rules: from what is public to the next action."""

    def memory(self, setting: S) -> NamedTuple:
        """The rule's own notes, made from public numbers only."""
        return Empty()

    def first_view(self, setting: S) -> NamedTuple:
        """What is public before the first round."""
        raise NotImplementedError


def says_itself(part: object, word: str, *deeds: str) -> bool:
    """Whether the class that defines `word` knows the `deeds`: none is redefined below it."""
    kinds = type(part).__mro__

    def place(name: str) -> int:
        return next((n for n, kind in enumerate(kinds) if name in vars(kind)), len(kinds))

    return place(word) <= min(map(place, deeds))
