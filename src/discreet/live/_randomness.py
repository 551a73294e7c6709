"""Randomness for the choices of sampling rules in live trials: the system's own, without a seed.

Such choices are built from public numbers, so no privacy rests on them; yet anyone who could
replay them could foretell assignments, so a trial never draws on a generator that has a seed.
"""

from __future__ import annotations

from random import SystemRandom
from typing import Any, Protocol


class Draws(Protocol):
    """What rules draw on: NumPy's generators serve as well."""

    def random(self) -> float: ...
    def beta(self, a: float, b: float, /) -> float: ...
    def standard_normal(self) -> float: ...
    def standard_exponential(self) -> float: ...


class Randomness(Draws, Protocol):
    """What the order of a window is drawn on too."""

    def below(self, number: int, /) -> int: ...


class SeenDraws:
    """Others' draws, and whether any was made."""

    __slots__ = ("_inside", "drawn")

    def __init__(self, inside: object) -> None:
        self._inside, self.drawn = inside, False

    def __getattr__(self, name: str) -> Any:
        self.drawn = True
        return getattr(self._inside, name)


class SystemRandomness:
    """The draws that rules make, under the names of numpy's generators."""

    __slots__ = ("_system",)

    def __init__(self) -> None:
        self._system = SystemRandom()

    def random(self) -> float:
        """Uniform on [0, 1)."""
        return self._system.random()

    def beta(self, a: float, b: float) -> float:
        """Beta(a, b)."""
        return self._system.betavariate(a, b)

    def standard_normal(self) -> float:
        """N(0, 1)."""
        return self._system.normalvariate(0.0, 1.0)

    def standard_exponential(self) -> float:
        """Exponential of mean 1."""
        return self._system.expovariate(1.0)

    def below(self, number: int) -> int:
        """Uniform on 0, ..., number - 1."""
        return self._system.randrange(number)
