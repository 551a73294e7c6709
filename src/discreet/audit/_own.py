"""Your own mechanism: a function that runs it once, or an object with `select` and `update`.

>>> def noisy_count(side, rng):
...     return side + rng.laplace(0.0, 0.5)
>>> from discreet.audit import Each, attack
>>> from discreet.privacy import Pure
>>> attack([Each(noisy_count)], Pure(1.0), transcripts=40_000, seed=1).verdict
'violation'

Whatever comes out is seen: numbers, arms, words, how many of them, nothing at all (None), NaN. An
exception is an output too: its class is its own event, for anyone who watches a mechanism fail
learns that it failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from .._checks import count
from ..errors import InvalidArgument
from ._transcripts import ABSENT, MOST_CODES, Transcripts

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats

OTHER = 0
"""The code of all outputs that came after there were too many different ones to tell apart."""


@dataclass(frozen=True)
class Each:
    """Transcripts of `run(side, rng)`, one call each; side 0 and side 1 are the neighbours.

    The output may be a number, a text, None, or a sequence of such. Floats are told apart by size;
    everything else, and the class of an exception, by what it is. `most` numbers are looked at.
    """

    run: Callable[[int, Generator], object]
    inputs: str = "side 0 or side 1"
    most: int = 32
    discrete: str = "the discrete outputs"
    known: dict[tuple[object, ...], int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """The code of every discrete output seen so far."""

    def __post_init__(self) -> None:
        if not callable(self.run):
            raise InvalidArgument(
                "run", "be a function of (side, rng)", self.run, "define run(side, rng)"
            )
        count("most", self.most, fix="use most=32")

    @property
    def codes(self) -> int:
        return MOST_CODES

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"output {place + 1}" for place in range(self.most))

    def sample(self, side: int, count: int, rng: Generator) -> Transcripts:
        codes = np.zeros(count, np.int64)
        numbers = np.full((count, self.most), ABSENT)
        for number in range(len(codes)):
            seen: list[object] = []
            try:
                _add(self.run(side, rng), seen)
            except Exception as error:
                seen = ["raised", type(error).__name__]
            codes[number] = self._written(seen, numbers[number])
        return Transcripts(codes, numbers)

    def _written(self, seen: list[object], numbers: Floats) -> int:
        """Write the numbers down, and return the code of the rest."""
        rest: list[object] = []
        for place, item in enumerate(seen):
            if isinstance(item, float | int) and place < self.most:
                numbers[place] = item
            rest.append(float if isinstance(item, float) else item)
        label = tuple(rest)
        if label not in self.known and len(self.known) < MOST_CODES - 1:
            self.known[label] = len(self.known) + 1
        return self.known.get(label, OTHER)


def _add(output: object, seen: list[object]) -> None:
    """Flatten an output into floats and things that can be told apart."""
    plain: object = output.tolist() if hasattr(output, "tolist") else output
    if isinstance(plain, list | tuple):
        for item in plain:
            _add(item, seen)
    elif isinstance(plain, bool | str | None) or not isinstance(plain, float | int):
        seen.append(plain if isinstance(plain, str) else repr(plain))
    else:
        seen.append(plain)


class Agent(Protocol):
    """Whatever chooses arms and learns from rewards."""

    def select(self) -> int:
        """The arm to play."""

    def update(self, arm: int, reward: float) -> None:
        """Learn what came of it."""


A = TypeVar("A", bound=Agent)


def played(
    make: Callable[[Generator], A],
    first: Sequence[float],
    second: Sequence[float],
    shows: Callable[[A], Iterable[float]] | None = None,
) -> Each:
    """Transcripts of an object with `select()` and `update(arm, reward)` on two lists of rewards.

    `make(rng)` builds a fresh one for every transcript. All arms that it plays are seen, and what
    `shows(agent)` returns after every round, if given; so is an exception, wherever it comes.

    Args:
        make: Makes an agent with `select` and `update` from a generator.
        first: Rewards of every round on side 0.
        second: The same on side 1.
        shows: What an agent publishes after every round; default: its arm alone.

    Returns:
        A subject for `attack`.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.audit import played
        >>> class First:
        ...     def __init__(self, rng): pass
        ...     def select(self): return 0
        ...     def update(self, arm, reward): pass
        >>> print(played(First, [0, 1], [1, 1]).inputs)
        2 rewards that differ in round 1
    """
    if len(first) != len(second) or list(first) == list(second):
        raise InvalidArgument(
            "second", "be another list of rewards of the same length", list(second),
            "change one reward of the first",
        )  # fmt: skip
    sides = tuple(map(float, first)), tuple(map(float, second))

    def run(side: int, rng: Generator) -> list[object]:
        seen: list[object] = []
        try:
            agent = make(rng)
            for reward in sides[side]:
                arm = agent.select()
                seen.append(arm)
                agent.update(arm, reward)
                if shows is not None:
                    seen.append(tuple(shows(agent)))
        except Exception as error:
            seen += ["raised", type(error).__name__]
        return seen

    changed = [t + 1 for t, pair in enumerate(zip(*sides, strict=True)) if pair[0] != pair[1]]
    where = ", ".join(map(str, changed[:5])) + ("…" if len(changed) > 5 else "")
    inputs = f"{len(first)} rewards that differ in round {where}"
    return Each(run, inputs, most=max(32, 4 * len(first)), discrete="the arms played")


def agents(
    make: Callable[[Generator], A], horizon: int = 8,
    shows: Callable[[A], Iterable[float]] | None = None,
) -> list[Each]:  # fmt: skip
    """`played` on lists of rewards in [0, 1] that differ early, in the middle or late.

    Args:
        make: Makes an agent with `select` and `update` from a generator.
        horizon: Rounds.
        shows: What an agent publishes after every round; default: its arm alone.

    Returns:
        Subjects for `attack`.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.audit import agents
        >>> class First:
        ...     def __init__(self, rng): pass
        ...     def select(self): return 0
        ...     def update(self, arm, reward): pass
        >>> len(agents(First, horizon=4))
        6
    """
    horizon = count("horizon", horizon, fix="use horizon=8")
    found = []
    for rest in (0.0, 1.0):
        for place in sorted({0, min(1, horizon - 1), horizon // 2}):
            sides = [[rest] * horizon for _ in (0, 1)]
            for side in (0, 1):
                sides[side][place] = float(side)
            found.append(played(make, sides[0], sides[1], shows))
    return found
