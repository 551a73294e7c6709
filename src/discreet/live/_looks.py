"""Arms compared at looks: elimination, races, equal shares, side by side.

A rule that sets phases plays every arm of a phase equally often and then looks at all of them.
Here the arms of a phase share *permuted blocks*: of every 2 |active| participants each active arm
gets two, in a random order. So whatever moves all arms alike, a season or a new clinic, moves every
difference between them by next to nothing, and they wait for outcomes once, not one after the
other. Block j of an arm is its part of look j; the blocks of a look are released at one public
moment, when the last of them is due, and then the rule looks. Who arrives meanwhile fills the
blocks of the next look: of fixed length where lengths are fixed beforehand (races), else
(elimination, whose lengths depend on how many arms are left) open until the look says how long they
are. A block that has more places by then closes with all of them: its size is a matter of arrivals,
and a mean of more outcomes is nearer the truth than the rule counts on.

**Private**, as all streams: an outcome is in one block, a block is released once, and sizes, due
moments, looks and drops are made of arrivals, the clock, coins and earlier releases. The open block
of an arm that is dropped closes, and is released when it is due.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, ClassVar, Self

from ..identify import Identifier
from ..policies import Policy
from ..policies._schedules import LONGEST
from ..policies._view import Setting, shown
from ._lists import count_in
from ._rules import Terms
from ._run import Blocks
from ._stream_run import StreamRun
from ._streams import Streams

if TYPE_CHECKING:
    from .._types import Json
    from ._randomness import Draws, Randomness


class LookRun(StreamRun):
    """A run of a row with phases, its arms in permuted blocks."""

    PLAN: ClassVar[str] = "looks"
    NO_NEWCOMERS: ClassVar[str] = (
        "add() is for policies with an index; here arms are compared over the same participants"
    )
    FEWEST: ClassVar[int] = 2
    NO_ESTIMATE: ClassVar[str] = (
        "its limits are proved for sums of equally many outcomes, in which a shared drift cancels; "
        "means over those who answered have denominators of their own, and no such limit"
    )

    marks: tuple[int, ...]
    """places of an arm at every look, where they are fixed beforehand; else empty"""
    fixed_size: bool
    """whether the last mark is the end"""

    def __init__(
        self, policy: Policy, setting: Setting, random: Randomness, noise: Draws | None,
        window: int, shares: Sequence[float],
    ) -> None:  # fmt: skip
        self.looked, self.marks = 0, ()
        super().__init__(policy, setting, random, noise, window, shares)
        lengths = getattr(self.rule, "length", None)
        if lengths is not None:
            self.marks = tuple(int(mark) for mark in accumulate(lengths))
        self.fixed_size = isinstance(policy, Identifier) and policy.fixed_size
        self._ask()
        self.streams = Streams.fresh([self._phase()] * setting.arms)

    # --- what is released, and when ---------------------------------------------------------------

    def follow(self, rounds: int, whole: bool, before: tuple[float, int]) -> None:
        super().follow(rounds, whole, before)
        self.begun = not self._is_complete()

    def is_whole(self, arm: int, rounds: int) -> bool:
        return self._is_of_a_look(arm, self.streams.released[arm] + 1)

    def due_of(self, arm: int, blocks: Blocks, terms: Terms, now: float) -> float | None:
        """The blocks of a look are due together; those that are of no look, on their own."""
        number = self.streams.released[arm] + 1
        if not self._is_of_a_look(arm, number):
            return super().due_of(arm, blocks, terms, now)
        latest = -inf
        for other in self._active():
            if self.streams.block[other] <= number:
                return None  # still open
            if self.streams.released[other] < number:
                due = self.own_due(other, number, blocks, terms, now)
                if due is None:
                    return None
                latest = max(latest, due)
        return latest

    def shown_due(self, arm: int, number: int, blocks: Blocks, terms: Terms) -> float | None:
        if terms.deadline is None or not self._is_of_a_look(arm, number):
            return super().shown_due(arm, number, blocks, terms)
        found = [
            self.own_due(other, number, blocks, terms, self.latest)
            if self.streams.block[other] > number
            else None
            for other in self._active()
            if self.streams.released[other] < number
        ]
        dues = [due for due in found if due is not None]
        return max(dues) if len(dues) == len(found) else None

    def _active(self) -> list[int]:
        return [arm for arm, on in enumerate(self.streams.active) if on]

    @property
    def last(self) -> int:
        """The last look there will be: once no more units come, that of the last full blocks."""
        streams = self.streams
        if self.answer is not None or not streams.over:
            return LONGEST if self.answer is None else self.looked
        if self.marks:
            return min(bisect_right(self.marks, streams.places[arm]) for arm in self._active())
        number = self.looked + 1
        full = all(
            streams.block[arm] > number + 1
            or (streams.block[arm] == number + 1 and streams.newest[arm] >= self._phase())
            for arm in self._active()
        )
        return number if full else self.looked

    def _is_of_a_look(self, arm: int, number: int) -> bool:
        return self.streams.active[arm] and self.looked < number <= self.last

    def _is_complete(self) -> bool:
        """Whether every arm that is still in has released its part of the next look."""
        number, released = self.looked + 1, self.streams.released
        return number <= self.last and all(released[arm] >= number for arm in self._active())

    # --- what comes next: made of counts and releases ---------------------------------------------

    def begin(self) -> None:
        """Look: drop who is behind, and open the next phase."""
        self.think()
        self.begun = not self._is_complete()

    def _ask(self) -> None:
        """Have the rule name all arms of the phase: it looks at nothing in between."""
        asked = 0
        while asked == 0 or asked < sum(self.memory.active):
            self.kernels.choose(self.rule, self.memory, shown(self.view), self.t, self.random)
            asked += 1

    def _phase(self) -> int:
        """How long the phase is that has begun."""
        return min(int(self.memory.length[0]), LONGEST)

    def length_after(self, arm: int, places: int) -> int:
        """Of the phase that has begun, or of one that is fixed beforehand; else open. A last arm
        is played for ever: in blocks that double, so that outcomes do not pile up."""
        if self.marks:
            look = bisect_right(self.marks, places)
            return self.marks[look] - places if look < len(self.marks) else LONGEST
        streams: Streams | None = getattr(self, "streams", None)
        if streams is None or sum(self.memory.active) == 1:
            return max(1, places)
        begun = places == streams.closed[arm] and streams.block[arm] == self.looked + 1
        return self._phase() if begun else LONGEST

    def _room(self, streams: Streams, arm: int) -> int:
        return self.marks[-1] - streams.places[arm] if self.fixed_size else LONGEST

    def taken(self, before: Streams, arm: int, now: float) -> Streams:
        after = super().taken(before, arm, now)
        full = not any(on and self._room(after, a) > 0 for a, on in enumerate(after.active))
        return after.ended() if full else after

    # --- the life of a trial ----------------------------------------------------------------------

    def dropped(self, arm: int) -> Self:
        other = super().dropped(arm)
        other.memory.active[arm] = 0
        other.begun = not other._is_complete()
        return other

    def public(self) -> dict[str, object]:
        return super().public() | {"looked": self.looked}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        self.looked = count_in(data, "looked")
