"""The row being stepped: `publish` releases a block, `begin` makes of it what comes next.

The two are apart on purpose: `publish` hands outcomes and noise to the release, `begin` hands what
was released to the rule. A trial stores the one before it calls the other, so that nothing that a
rule does, or that goes wrong in it, can have a block drawn twice.

A run has one block in flight, or several (`streams`). It says which block is due (`next_due`), who
gets which place (`seated`) and what becomes of an outcome (`accept`), all of it by the `rules`; the
trial does what it says: it draws, stores and erases.

A run is stepped on a copy, and stored as JSON, without any random state. Rehearsals and trials
differ in nothing but the source of noise: `SIMULATED` and `REHEARSED` are handed a seeded
generator, `SECURE` is handed none, and draws integers from OpenDP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from ..checks import Name
from ..errors import DamagedFile
from . import rules
from .lists import Lists, count_in, is_like, restored
from .rules import Action, Admission, Effect, Member, Place, Standing, Terms

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..types import Json
    from .course import Course
    from .documents import BlockReport
    from .randomness import Draws
    from .stores import Block

Blocks = Mapping[str, "Block"]
"""Those that are not released yet, by key."""
Outcomes = Sequence[Any]
"""Of a block: numbers, and None in those that estimate missing ones (`pairs`)."""
Context = list[float] | None
"""The features of all arms for a unit, flat; None for runs without contexts."""


class Seat(NamedTuple):
    """A unit is about to get an arm: what is then known of it, its place, and the run with it."""

    run: Run
    member: Member
    place: Place | None
    """None for a visitor, whose outcome is not used"""


class Due(NamedTuple):
    """A block to be released, and the public moment at which it was due."""

    key: str
    at: float


class Whereabouts(NamedTuple):
    """Where a run stands, in public counts."""

    standing: Standing
    status: str
    blocks: list[BlockReport] | None = None
    """those that are open or wait, arms as numbers; None where there is one"""


class Run(ABC):
    """Base of the runs: the public view, the curator's ledger, and one block in flight.

    Noise draws on `noise`, the choices of sampling rules on `random`: both the seeded generator in
    a rehearsal, None and the system's randomness in a trial.
    """

    __slots__ = (
        "answer",
        "begun",
        "cut",
        "horizon",
        "kernels",
        "ledger",
        "noise",
        "private",
        "random",
        "release",
        "releases",
        "rule",
        "schedule",
        "t",
        "view",
    )  # fmt: skip
    PARTS: ClassVar[tuple[str, ...]]
    """what steps change in place; each is `Lists`"""
    FIRST: ClassVar[str | None] = "1"
    """the block that a trial begins with; None where blocks open when somebody comes"""
    BEGUN: ClassVar[tuple[str, ...]]
    """what `begin` changes, beside what all runs have"""

    t: int
    """rounds before the open block"""
    horizon: int | None
    begun: bool
    """whether the rule has seen the last release, so that there is an open block"""
    cut: bool
    """whether the open block is never released, because the horizon cuts it off"""
    answer: int | None
    """the recommended arm, once a row that identifies has stopped"""
    private: bool
    """whether contexts are to be erased with the outcomes"""
    releases: list[int]
    """how many there were"""
    random: Draws
    noise: Generator | None
    rule: Any
    """the parameters of the rule, a NamedTuple of its own kind"""
    view: Any
    """what is public, by the names of the row's view, in lists"""
    ledger: Lists

    def turn_to(self, key: str, now: float) -> None:  # noqa: B027 - there may be no other
        """The block that is released next, and when."""

    @abstractmethod
    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        """Release that block: draw its noise. Nothing else looks at outcomes."""

    @abstractmethod
    def begin(self) -> None:
        """Hand the last release to the rule, and open the next block."""

    @abstractmethod
    def abandon(self, filled: int) -> None:
        """Leave a block that is cut off, of so many places, unreleased."""

    @abstractmethod
    def arm_for(self, context: Context) -> int:
        """The arm of whoever comes next."""

    def action_of(self, context: Context, arm: int) -> Action | None:
        """The features of that arm in whole steps; None for runs without contexts."""
        return None

    def joined(self, action: Action | None, slot: int) -> Self:
        """The run with one more place taken; this one stays as it is."""
        return self

    def may_play(self, arm: int) -> bool:
        """Whether a saved assignment of that arm fits the open block."""
        return True

    @abstractmethod
    def is_full(self, filled: int) -> bool:
        """Whether the open block takes no more places."""

    # --- by the rules: what is due, who gets which place, what becomes of an outcome --------------

    @property
    def latest(self) -> float:
        """The latest time that was read, where that matters: clocks may be set back."""
        return -inf

    def replayed(self, blocks: Blocks) -> Self:
        """The run, restored as of its last release, with the places that were taken since."""
        _, block = only(blocks)
        run = self
        for slot, place in enumerate(block.places):
            if run.is_full(slot) or not run.may_play(place.arm):
                raise DamagedFile("the assignments since the last release are out of order")
            run = run.joined(place.action, slot)
        return run

    def standing(self, blocks: Blocks) -> Standing:
        """Where the block stands."""
        key, block = only(blocks)
        filled = len(block.places)
        full, answered = self.is_full(filled), len(block.outcomes)
        return Standing(key, filled, full, self.cut, answered, block.due, self.t + filled)

    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        """The block to be released now, if there is one."""
        standing = self.standing(blocks)
        return Due(standing.block, now) if rules.is_due(standing, terms, now) else None

    def next_block(self, key: str) -> str | None:
        """The block that the release of another opens."""
        return str(int(key) + 1)

    def course_after(self, course: object, due: Due) -> Course | None:
        """What was public at every release so far, this one included; None where nothing is
        kept."""
        return None

    def noted_in(self, blocks: Blocks) -> str | None:
        """The block with which it is stored what `begin` changed; None for the whole state."""
        return only(blocks)[0]

    def admit(self, member: Member | None, blocks: Blocks, terms: Terms, now: float) -> Admission:
        """What a unit gets that asks for an arm."""
        standing = self.standing(blocks)
        return rules.admit(member, standing, terms, blocks[standing.block].outcomes)

    def seated(
        self, unit: Name, member: Member | None, context: Context, blocks: Blocks, terms: Terms,
        now: float,
    ) -> Seat:  # fmt: skip
        """The arm of a unit that is admitted, and its place in the block if that has room."""
        key, block = only(blocks)
        arm, slot = self.arm_for(context), len(block.places)
        if self.is_full(slot):
            return Seat(self, Member(arm), None)
        action = self.action_of(context, arm)
        run = self.joined(action, slot)
        due = rules.closes(run.cut, terms, now) if run.is_full(slot + 1) else None
        used = 1 if member is None else member.used + 1
        place = Place(unit, arm, due, action, run.private)
        return Seat(run, Member(arm, used, key, slot), place)

    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        """What happens to an outcome of a unit that has an arm."""
        standing = self.standing(blocks)
        return rules.accept(member, standing, terms, blocks[standing.block].outcomes, value, now)

    def completed(self, block: Block, default: int | None) -> Outcomes:
        """The outcomes of a block; one that did not come counts as declared, None if all did.

        Where outcomes are randomised the default is as well, for every place and not for the
        missing ones alone: how long that takes would tell how many they are."""
        places, outcomes = range(len(block.places)), block.outcomes
        if default is None:
            return [outcomes[slot] for slot in places]
        spare = [self.respond(default) if self.is_local else default for _ in places]
        return [outcomes.get(slot, spare[slot]) for slot in places]

    def gives_up(self, place: Place | None) -> bool:
        """Whether the place that was taken last shows that the horizon cuts its block off."""
        return self.cut and place is not None and place.action is not None

    def whereabouts(self, blocks: Blocks, terms: Terms, failure: str) -> Whereabouts:
        """For reports."""
        standing, status = self.standing(blocks), "collecting"
        if not self.begun:
            status = "stuck"
        elif standing.full:
            status = "finished" if standing.cut else "settling"
        return Whereabouts(standing, status)

    @property
    def is_local(self) -> bool:
        """Whether every reward is randomised on its own."""
        return False

    def respond(self, reward: int) -> int:
        """What a local release makes of one reward."""
        raise NotImplementedError

    def _shallow(self) -> Self:
        other = object.__new__(type(self))
        for name in _slots_of(type(self)):
            setattr(other, name, getattr(self, name))
        return other

    def copy(self) -> Self:
        """The same place, to step on from without touching this one."""
        other = self._shallow()
        for name in (*self.PARTS, "releases"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def public(self) -> dict[str, object]:
        """Where the run stands, ready for JSON, but for the ledger; no random state."""
        parts = {name: getattr(self, name).to_dict() for name in self.PARTS if name != "ledger"}
        return {
            "t": self.t, "cut": self.cut, "begun": self.begun, "answer": self.answer,
            "releases": self.releases.copy(), **parts,
        }  # fmt: skip

    def opening(self) -> dict[str, object]:
        """What `begin` may have changed of `public`."""
        public = self.public()
        return {name: public[name] for name in ("cut", "begun", "answer", *self.BEGUN)}

    def secret(self) -> dict[str, object]:
        """The ledger: of rows that go on needing exact sums, private for ever."""
        return self.ledger.to_dict()

    def to_dict(self) -> dict[str, object]:
        """Both."""
        return {**self.public(), "ledger": self.secret()}

    def restore(self, data: object) -> None:
        """Stand where `to_dict` was called."""
        if not isinstance(data, Mapping):
            raise DamagedFile("the state of the run is missing")
        self._restore(data)

    def _restore(self, data: Json) -> None:
        parts = {name: restored(name, getattr(self, name), data) for name in self.PARTS}
        releases = data.get("releases")
        if type(releases) is not list or not is_like(releases, self.releases):
            raise DamagedFile("the state of the run lacks its counts of releases")
        begun = data.get("begun", True)  # files of version 1 hold no others
        cut = data.get("cut")
        if type(cut) is not bool or type(begun) is not bool:
            raise DamagedFile("the state of the run has no open block")
        answer, arms = data.get("answer"), len(self.releases)
        if answer is not None and (type(answer) is not int or not 0 <= answer < arms):
            raise DamagedFile("the state of the run recommends no arm that there is")
        self.t, self.cut, self.begun = count_in(data, "t"), cut, begun
        self.releases, self.answer = releases.copy(), answer
        for name, value in parts.items():
            setattr(self, name, value)


def only(blocks: Blocks) -> tuple[str, Block]:
    """The one block of a trial that has one at a time."""
    ((key, block),) = blocks.items()
    return key, block


@lru_cache(maxsize=16)
def _slots_of(kind: type) -> tuple[str, ...]:
    return tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))
