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
from typing import Any, ClassVar, NamedTuple, Self

from ..errors import DamagedFile, InvalidArgument, TrialError
from ..identify import Identifier
from ..inference.record import recording
from ..policies import (
    EachRound,
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    Geometric,
    Policy,
    Regular,
    RunningGaussian,
    ShrinkingLaplace,
)
from ..policies.schedules import LONGEST
from ..policies.view import Empty, Setting, View
from .run import FiniteRun, Run

FORGETTING = (ForgetLaplace, ForgetGaussian, ForgetExact)


def serves_streams(policy: Policy, setting: Setting) -> bool:
    """Whether a row can be played in streams: marks that are fixed beforehand, and a rule without
    a memory, which is told of single batches in their order. The noise of `ShrinkingLaplace` is
    paid for by full blocks alone."""
    return (
        not isinstance(policy, Identifier)
        and isinstance(policy.schedule, EachRound | Geometric | Regular)
        and policy.release.any_lengths
        and not isinstance(policy.release, ShrinkingLaplace)
        and type(policy.rule.memory(setting)) is Empty
    )


def key_of(arm: int, block: int) -> str:
    """The name of a block."""
    return f"{arm}-{block}"


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

    def taken(self, arm: int, length: Callable[[int, int], int]) -> Streams:
        """One more place; `length(arm, N)` is that of the block which begins after N places."""
        places = _set(self.places, arm, self.places[arm] + 1)
        left = _set(self.left, arm, max(0, self.left[arm] - 1))
        after = self._replace(places=places, left=left)
        if places[arm] < self.marks[arm]:
            return after
        return after.cut(arm)._replace(
            marks=_set(self.marks, arm, places[arm] + length(arm, places[arm]))
        )

    def cut(self, arm: int) -> Streams:
        """The open block of an arm closes as it is; one that nobody is in stays."""
        size = self.places[arm] - self.closed[arm]
        if size == 0 or self.erased[arm]:
            return self
        return self._replace(
            closed=_set(self.closed, arm, self.places[arm]),
            newest=_set(self.newest, arm, size),
            block=_set(self.block, arm, self.block[arm] + 1),
        )

    def ended(self) -> Streams:
        """No more places; every open block closes."""
        after = self
        for arm in range(len(self.places)):
            after = after.cut(arm)
        return after._replace(over=True, left=(0,) * len(self.places))

    def without(self, arm: int) -> Streams:
        """The open block of an arm is thrown away."""
        return self._replace(erased=_set(self.erased, arm, True))

    def waiting(self, arm: int) -> bool:
        """Whether a closed block of that arm is not released yet."""
        return self.released[arm] + 1 < self.block[arm]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        fields = self._asdict()
        return {name: list(v) if type(v) is tuple else v for name, v in fields.items()}

    @classmethod
    def from_dict(cls, data: Any, arms: int) -> Streams:
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


def _set(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])


class StreamRun(FiniteRun):
    """A run of a finite-armed row whose blocks fill and wait side by side."""

    __slots__ = ("evidence", "shares", "streams", "window")
    BEGUN: ClassVar[tuple[str, ...]] = ()

    streams: Streams
    window: int
    """places that are planned at once, and drawn in a random order"""
    shares: tuple[float, ...]
    """the least share of every arm"""

    def __init__(
        self, policy: Policy, setting: Setting, random: Any, noise: Any, window: int,
        shares: Sequence[float],
    ) -> None:  # fmt: skip
        super().__init__(policy, setting, random, noise)
        self.window, self.shares = window, tuple(shares)
        self.evidence = _evidence_of(policy)
        self.streams = Streams.fresh([self.length_after(arm, 0) for arm in range(setting.arms)])

    def plan_as(self, policy: Policy, first: Setting) -> None:
        """Play by what was fixed for the arms of the beginning, whatever was added since."""
        self.schedule = policy.schedule.parameters(first)
        self.rule = policy.rule.parameters(first)
        self.recorded = recording(policy, first)
        lengths = [self.length_after(arm, 0) for arm in range(len(self.releases))]
        self.streams = Streams.fresh(lengths)

    def _open(self) -> None:
        """There is no block of all: choices are made when somebody comes."""

    # --- what is released -------------------------------------------------------------------------

    def publish_block(self, arm: int, outcomes: Sequence[Any]) -> None:
        """Release the oldest closed block of an arm. Nothing else looks at outcomes.

        One that was cut off before its mark stays out of the record: its size may depend on
        releases, and intervals count on sizes that do not.
        """
        rounds = len(outcomes)
        full = rounds == self.length_after(arm, int(self.view.pulls[arm]))
        before = self._counted(arm, rounds)
        self.kernels.publish(
            self.release, self.ledger, self.view, arm, rounds, sum(outcomes), self.noise
        )
        self._noted(arm, before, full)
        self._released(arm)

    def _released(self, arm: int) -> None:
        streams = self.streams
        self.streams = streams._replace(
            released=_set(streams.released, arm, streams.released[arm] + 1)
        )

    # --- what comes next: made of counts and releases ---------------------------------------------

    def length_after(self, arm: int, places: int) -> int:
        """Places of the block of an arm that begins after so many: the schedule's, on counts."""
        none = [0] * len(self.releases)
        pulls = none.copy()
        pulls[arm] = places
        view = View([0.0] * len(none), none, pulls)
        length: int = self.kernels.length(self.schedule, self.memory, view, arm)
        return min(length, LONGEST)

    def taken(self, before: Streams, arm: int, now: float) -> Streams:
        """The streams with one more place; the horizon closes all blocks."""
        after = before.taken(arm, self.length_after)._replace(latest=now)
        if self.horizon is not None and after.total >= self.horizon:
            return after.ended()
        return after

    def evidence_of(self, streams: Streams, arm: int) -> float:
        """C: how many outcomes stand behind m, those that wait included."""
        if self.evidence == "all":
            return streams.places[arm]
        if self.evidence == "newest":
            return streams.newest[arm]
        if self.evidence == "filled":  # doubling batches of single places: 1, 2, 4, ...
            return 1 << ((streams.closed[arm] + 1).bit_length() - 2)
        return streams.closed[arm]

    def planned(self, random: Any = None) -> tuple[int, ...]:
        """How many places of the next window every arm gets.

        By the rule, place by place; an arm without a release gets one in K of the places (before
        any has one, all get the same), and no arm less than its share.
        """
        random = self.random if random is None else random
        streams, arms = self.streams, range(len(self.releases))
        left = [0] * len(self.releases)
        active = [arm for arm in arms if streams.active[arm]]
        blind = [arm for arm in active if self.view.size[arm] == 0]
        seen = [arm for arm in active if self.view.size[arm] > 0]
        if not seen:
            for _ in range(self.window):
                arm = min(blind, key=lambda arm: (streams.places[arm] + left[arm], arm))
                left[arm] += 1
            self._keep_shares(left, active, random)
            return tuple(left)
        for arm, places in zip(
            blind, spread([self.window / len(active)] * len(blind), random.random()), strict=True
        ):
            left[arm] = places
        for arm in arms:
            for _ in range(left[arm]):
                streams = streams.taken(arm, self.length_after)
        for _ in range(self.window - sum(left)):
            arm = seen[0] if len(seen) == 1 else self._best(seen, streams)
            left[arm] += 1
            streams = streams.taken(arm, self.length_after)
        self._keep_shares(left, active, random)
        return tuple(left)

    def _best(self, seen: list[int], streams: Streams) -> int:
        """The rule's choice among the arms that have a release."""
        evidence: Any = [self.evidence_of(streams, arm) for arm in seen]  # whole but for pairs
        view = View(
            [self.view.value[arm] for arm in seen], evidence, [streams.places[arm] for arm in seen]
        )
        choice = self.kernels.choose(self.rule, self.memory, view, streams.total, self.random)
        return seen[choice]

    def _keep_shares(self, left: list[int], active: list[int], random: Any) -> None:
        """Move places to arms that have less than their share, from those with most to spare."""
        wanted = spread([self.window * self.shares[arm] for arm in active], random.random())
        least = dict(zip(active, wanted, strict=True))
        for arm in active:
            while left[arm] < least[arm]:
                giver = max(active, key=lambda other: left[other] - least[other])
                if left[giver] <= least[giver]:
                    return  # shares that sum to more than 1 by rounding
                left[giver] -= 1
                left[arm] += 1

    # --- changes ----------------------------------------------------------------------------------

    def replayed(self, arm: int, number: int, at: Any, left: Any) -> Streams:
        """The streams with a place that was stored since the last release."""
        streams, arms = self.streams, len(self.releases)
        fits = (
            number == streams.total and 0 <= arm < arms and type(at) in (int, float)
            and type(left) is tuple and len(left) == arms
            and all(type(places) is int and places >= 0 for places in left)
        )  # fmt: skip
        if not fits or streams.over:
            raise DamagedFile("the assignments since the last release are out of order")
        return self.taken(streams, arm, at)._replace(left=left)

    def check_blocks(self, filled: Mapping[str, int]) -> None:
        """The blocks of the store are those that are open or wait, with as many places."""
        streams, known = self.streams, 0
        for arm, places in enumerate(streams.places):
            numbers = range(streams.released[arm] + 1, streams.block[arm] + 1)
            found = [filled.get(key_of(arm, number), 0) for number in numbers]
            known += sum(count > 0 for count in found)
            last = 0 if streams.erased[arm] else places - streams.closed[arm]
            if found[-1] != last or not all(found[:-1]):
                raise DamagedFile("the blocks of the trial do not fit its streams")
        if known != len(filled):
            raise DamagedFile("there are blocks that no stream has")

    def grown(self, fresh: Run) -> StreamRun:
        """This run with the arms of `fresh`, which has more."""
        assert isinstance(fresh, StreamRun)
        other, arms = fresh.copy(), len(self.releases)
        for name in self.PARTS:
            old, new = getattr(self, name), getattr(other, name)
            for field in old.__slots__:
                values = getattr(old, field)
                if type(values) is not list:
                    continue
                if len(values) != arms:
                    raise TrialError(
                        "add() is for policies that release blocks of one arm; this one counts "
                        "in trees, whose noise is shared out beforehand"
                    )
                setattr(new, field, values + getattr(new, field)[arms:])
        other.t, other.releases = self.t, self.releases + other.releases[arms:]
        other.history = None
        if self.history is not None:
            other.history = [*self.history, *([] for _ in other.releases[arms:])]
        old_streams, more = self.streams.to_dict(), other.streams.to_dict()
        joined = {
            name: value + more[name][arms:] if type(value) is list else value
            for name, value in old_streams.items()
        }
        joined["left"] = [0] * len(other.releases)
        other.streams = Streams.from_dict(joined, len(other.releases))
        return other

    # --- as JSON ----------------------------------------------------------------------------------

    def public(self) -> dict[str, Any]:
        return super().public() | {"streams": self.streams.to_dict()}

    def restore(self, data: Any) -> None:
        super().restore(data)
        self.streams = Streams.from_dict(data.get("streams"), len(self.releases))

    def copy(self) -> Self:
        other = super().copy()
        other.streams = self.streams
        return other


def _evidence_of(policy: Policy) -> str:
    release = policy.release
    if isinstance(release, FillingLaplace):
        return "filled"
    if isinstance(release, FORGETTING) and not isinstance(release, RunningGaussian):
        return "newest"
    return "all" if isinstance(policy.schedule, EachRound) else "closed"


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
    from ..checks import count

    fix = "use for example a day's arrivals, or 1 for none"
    return 2 * arms if window is None else count("window", window, fix=fix)


def check_shares(share: Mapping[Any, float] | None, arms: Sequence[Any]) -> tuple[float, ...]:
    """The least share of every arm."""
    fix = 'use for example share={"control": 0.2}'
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
