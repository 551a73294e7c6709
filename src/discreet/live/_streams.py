"""Streams: the places of every arm, in the order of assignment, cut into blocks beforehand.

A unit takes the next *place* in the stream of its arm. The marks at which a stream is cut follow
from the row's schedule alone: b' = b + ceil((r - 1) b), or every place for itself. A block is open
until its last place is taken, then *closed*, and released once at a public moment. The blocks of
all arms fill and wait side by side, so nobody is treated for nothing while a block waits.

**Why this is private.** By induction over the calls, the arm, place, block, size and due moment of
every unit are functions of arrivals, of the clock, of coins, and of *earlier releases*: `Streams`
holds counts and nothing else, `planned` reads `Streams` and the released means. An outcome is in
one block, a block in one release. If one outcome differs, everything before the release of its
block has the same law; that release costs what its noise buys; everything after is made of the
transcript. So the whole costs one release (adaptive parallel composition).

**What the rule is shown** at an assignment, all of it public:

    value    the released mean m
    size     the evidence C: places in closed blocks, released or waiting, as if those that wait
             were going to look like m; of a row that forgets, those of the newest closed block
    pulls    N: all places
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from .._checks import Name, count
from ..errors import DamagedFile, InvalidArgument

T = TypeVar("T")


def key_of(arm: int, block: int) -> str:
    """The name of a block."""
    return f"{arm}-{block}"


def arm_of(key: str) -> int:
    """The arm of the block of that name."""
    return int(key.partition("-")[0])


class Streams(NamedTuple):
    """Where the streams stand: counts per arm, all public. A step makes another one of it."""

    places: tuple[int, ...]
    """N: places that are taken"""
    closed: tuple[int, ...]
    """C: those in closed blocks; the open block begins there"""
    marks: tuple[int, ...]
    """where the open block ends"""
    newest: tuple[int, ...]
    """places of the newest closed block"""
    block: tuple[int, ...]
    """the number of the open block, from 1"""
    released: tuple[int, ...]
    """blocks that are released, or erased"""
    left: tuple[int, ...]
    """places of the window that is being drawn"""
    active: tuple[bool, ...]
    """whether the arm takes more places"""
    erased: tuple[bool, ...]
    """whether the open block was thrown away"""
    over: bool = False
    """whether no arm does"""
    latest: float = 0.0
    """the latest time that was read: clocks may be set back"""

    @classmethod
    def fresh(cls, lengths: Sequence[int]) -> Streams:
        """Nobody has come yet; `lengths` are those of the first blocks."""
        none = (0,) * len(lengths)
        return cls(
            none, none, tuple(lengths), none, (1,) * len(lengths), none, none,
            (True,) * len(lengths), (False,) * len(lengths),
        )  # fmt: skip

    @property
    def total(self) -> int:
        """Places of all arms."""
        return sum(self.places)

    @property
    def used(self) -> tuple[int, ...]:
        """Places of every arm but those of an open block that was thrown away."""
        each = zip(self.places, self.closed, self.erased, strict=True)
        return tuple(closed if erased else places for places, closed, erased in each)

    def taken(self, arm: int, length: Callable[[int, int], int], now: float) -> Streams:
        """One more place of the window is taken."""
        places, closed, marks, newest, block, released, left, active, erased, over, _ = self
        number = places[arm] + 1
        after = Streams(  # quicker than _replace
            put(places, arm, number), closed, marks, newest, block, released,
            put(left, arm, left[arm] - 1), active, erased, over, now,
        )  # fmt: skip
        return after if number < marks[arm] else after.reached(arm, number, length)

    def reached(self, arm: int, places: int, length: Callable[[int, int], int]) -> Streams:
        """An arm has so many places: its block closes, and `length(arm, N)` is that of the one
        which begins after N."""
        after = self._replace(places=put(self.places, arm, places)).cut(arm)
        return after._replace(marks=put(self.marks, arm, places + length(arm, places)))

    def cut(self, arm: int) -> Streams:
        """The open block of an arm closes as it is; one that nobody is in stays."""
        size = self.places[arm] - self.closed[arm]
        if size == 0 or self.erased[arm]:
            return self
        return self._replace(
            closed=put(self.closed, arm, self.places[arm]),
            newest=put(self.newest, arm, size),
            block=put(self.block, arm, self.block[arm] + 1),
        )

    def ended(self) -> Streams:
        """No more places; every open block closes."""
        after = self
        for arm in range(len(self.places)):
            after = after.cut(arm)
        return after._replace(over=True, left=(0,) * len(self.places))

    def without(self, arm: int) -> Streams:
        """The open block of an arm is thrown away."""
        return self._replace(erased=put(self.erased, arm, True))

    def released_one(self, arm: int) -> Streams:
        """The oldest closed block of an arm is released."""
        return self._replace(released=put(self.released, arm, self.released[arm] + 1))

    def without_arm(self, arm: int) -> Streams:
        """No more places for an arm: its open block closes, and nobody gets what the window has
        left for it."""
        return self.cut(arm)._replace(
            active=put(self.active, arm, False), left=put(self.left, arm, 0)
        )

    def marked(self, arm: int, length: Callable[[int, int], int]) -> Streams:
        """The length of an arm's open block is set anew; if it has as many places, it closes."""
        before, places = self.closed[arm], self.places[arm]
        mark = before + length(arm, before)
        if before < places and mark <= places:
            after, mark = self.cut(arm), places + length(arm, places)
            return after._replace(marks=put(self.marks, arm, mark))
        return self._replace(marks=put(self.marks, arm, mark))

    @property
    def waits(self) -> bool:
        """Whether any closed block is not released yet: else the open one follows in every arm."""
        return sum(self.block) > sum(self.released) + len(self.block)

    def waiting(self, arm: int) -> bool:
        """Whether a closed block of that arm is not released yet."""
        return self.released[arm] + 1 < self.block[arm]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        fields = self._asdict()
        return {name: list(v) if type(v) is tuple else v for name, v in fields.items()}

    @classmethod
    def from_dict(cls, data: object, arms: int) -> Streams:
        """The inverse of `to_dict`."""
        if not isinstance(data, Mapping) or set(data) != set(cls._fields):
            raise DamagedFile("the state of the run lacks its streams")
        counts = cls._fields[:7]
        for name in (*counts, "active", "erased"):
            kind = int if name in counts else bool
            found = data[name]
            if type(found) is not list or len(found) != arms:
                raise DamagedFile(f"the streams of the run have {name} of another shape")
            if not all(type(value) is kind and value >= 0 for value in found):
                raise DamagedFile(f"the streams of the run have damaged {name}")
        if type(data["over"]) is not bool or type(data["latest"]) not in (int, float):
            raise DamagedFile("the streams of the run are damaged")
        values: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in data.items()}
        streams = cls(**values)
        if not streams.is_sound():
            raise DamagedFile("the counts of the streams contradict each other")
        return streams

    def is_sound(self) -> bool:
        """Whether the counts fit together."""
        return all(
            closed <= places <= max(mark, closed) and released < block
            for places, closed, mark, released, block in zip(
                self.places, self.closed, self.marks, self.released, self.block, strict=True
            )
        )


def put(values: tuple[T, ...], place: int, value: T) -> tuple[T, ...]:
    changed = list(values)
    changed[place] = value
    return tuple(changed)


def spread(wanted: Sequence[float], start: float) -> list[int]:
    """Whole numbers that are `wanted` on average over `start` uniform on [0, 1), each rounded up
    or down, and their sum as well (systematic sampling)."""
    found, reached, before = [], start, 0
    for each in wanted:
        reached += each
        upto = int(reached)
        found.append(upto - before)
        before = upto
    return found


def check_window(window: int | None, arms: int) -> int:
    """Places that are planned at once; two for each arm by default."""
    fix = "use for example a day's arrivals, or 1 for none"
    return 2 * arms if window is None else count("window", window, fix=fix)


def check_shares(share: Mapping[Name, float] | None, arms: Sequence[Name]) -> tuple[float, ...]:
    """The least share of every arm."""
    fix = 'use for example share={"control": 0.2}'
    if share is not None and not isinstance(share, Mapping):
        raise InvalidArgument("share", "name arms and their shares", share, fix)
    given = dict(share or {})
    for name in given:
        if name not in arms:
            raise InvalidArgument("share", "name arms of the trial", name, fix)
    shares = [given.get(name, 0.0) for name in arms]
    for value in shares:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            raise InvalidArgument("share", "be from 0 to 1 for every arm", value, fix)
    if sum(shares) > 1.0 + 1e-12:
        raise InvalidArgument("share", "sum to at most 1", sum(shares), fix)
    return tuple(float(value) for value in shares)
