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
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from .._checks import Name
from ..errors import DamagedFile
from . import _rules as rules
from ._lists import Lists, count_in, is_like, restored
from ._rules import Action, Admission, Effect, Member, Place, Terms

if TYPE_CHECKING:
    from .._types import Json
    from ._course import Course
    from ._documents import BlockReport
    from ._randomness import Draws
    from .stores import Block

Blocks = Mapping[str, "Block"]
"""Those that are not released yet, by key."""
Outcomes = Any
"""Of a block, as `completed` hands them to `publish`: a list, or their sum where it takes no more;
None stands for those that are missing and estimated (`pairs`)."""
Context = list[float] | None
"""The features of all arms for a unit, flat; None for runs without contexts."""


class Due(NamedTuple):
    """A block to be released, and the public moment at which it was due."""

    key: str
    at: float


class Standing(NamedTuple):
    """Where a run stands, for reports: public counts."""

    status: str
    rounds: int
    """places that were taken so far, in all blocks"""
    due: float | None
    """when the next block is released, if that is known"""
    filled: int = 0
    """places that are taken of the only block"""
    blocks: list[BlockReport] | None = None
    """those that are open or wait, arms as numbers; None where there is one"""


class Run(ABC):
    """Base of the runs: the public view, the curator's ledger, and one block in flight.

    Noise draws on `noise`, the choices of sampling rules on `random`: both the seeded generator in
    a rehearsal, None and the system's randomness in a trial.
    """

    PARTS: ClassVar[tuple[str, ...]]
    """what steps change in place; each is `Lists`"""
    FIRST: ClassVar[str | None] = "1"
    """the block that a trial begins with; None where blocks open when somebody comes"""
    BEGUN: ClassVar[tuple[str, ...]]
    """what `begin` changes, beside what all runs have"""
    MOVED: ClassVar[tuple[str, ...]] = ()
    """what `seated` changes, of the entries of `public`"""

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
    noise: Draws | None
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

    # --- by the rules: what is due, who gets which place, what becomes of an outcome --------------

    @abstractmethod
    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        """The block to be released now, if there is one."""

    @abstractmethod
    def next_block(self, key: str) -> str | None:
        """The block that the release of another opens."""

    @abstractmethod
    def noted_in(self, blocks: Blocks) -> str | None:
        """The block with which it is stored what `begin` changed; None for the whole state."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing is released any more."""

    @abstractmethod
    def admit(self, member: Member | None, blocks: Blocks, terms: Terms, now: float) -> Admission:
        """What a unit gets that asks for an arm."""

    @abstractmethod
    def seated(
        self, unit: Name, member: Member | None, context: Context, blocks: Blocks, terms: Terms,
        now: float,
    ) -> tuple[Member, Place | None, Run]:  # fmt: skip
        """A unit that is admitted gets an arm: what is then known of it, its place, None if the
        block has no room, and the run with it."""

    @abstractmethod
    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        """What happens to an outcome of a unit that has an arm: it is dropped if its block is
        released, or never will be."""

    def gives_up(self, place: Place | None) -> bool:
        """Whether the place that was taken last shows that the horizon cuts its block off."""
        return False

    @abstractmethod
    def standing(self, blocks: Blocks, terms: Terms, failure: str) -> Standing:
        """For reports."""

    @property
    def latest(self) -> float:
        """The latest time that was read, where that matters: clocks may be set back."""
        return -inf

    def course_after(self, course: object, due: Due) -> Course | None:
        """What was public at every release so far, this one included; None where nothing is
        kept."""
        return None

    def forget(self) -> None:
        """Once it is over, empty the ledger: of some rows it holds exact sums."""
        if self.is_over:
            self.ledger = self.ledger.cleared()

    def completed(self, block: Block, default: int | None) -> Outcomes:
        """The outcomes of a block; one that did not come counts as declared, None if all did.

        Where outcomes are randomised the default is as well, for every place and not for the
        missing ones alone: how long that takes would tell how many they are."""
        places, outcomes = range(len(block.places)), block.outcomes
        if default is None:
            return [outcomes[slot] for slot in places]
        spare = [self.respond(default) if self.is_local else default for _ in places]
        return [outcomes.get(slot, spare[slot]) for slot in places]

    @property
    def is_local(self) -> bool:
        """Whether every reward is randomised on its own."""
        return False

    def respond(self, reward: int) -> int:
        """What a local release makes of one reward."""
        raise NotImplementedError

    def _shallow(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__.copy()
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

    def moved(self) -> dict[str, object]:
        """What places may have changed of `public` since the last release: with it a run that is
        restored stands where this one does."""
        if not self.MOVED:
            return {}
        public = self.public()
        return {name: public[name] for name in self.MOVED}

    def secret(self) -> dict[str, object]:
        """The ledger: of some rows it holds exact sums, private as long as they are kept."""
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


class OneBlock(Run):
    """A run with one block in flight: the next opens when it is released."""

    @abstractmethod
    def choice(self, context: Context) -> tuple[int, Action | None]:
        """The arm of whoever comes next, and its features in whole steps; None for runs without
        contexts."""

    def joined(self, action: Action | None, slot: int) -> Self:
        """The run with one more place taken; this one stays as it is."""
        return self

    @abstractmethod
    def is_full(self, filled: int) -> bool:
        """Whether the open block takes no more places."""

    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        """The block to be released now, if there is one. What nobody has a place in is never due:
        so it is between a release and the choice that follows."""
        ((key, block),) = blocks.items()
        filled = len(block.places)
        if not self.is_full(filled) or self.cut or not filled:
            return None
        due = rules.due_at(filled, block.outcomes, block.due, terms, now)
        return None if due is None or now < due else Due(key, now)

    def next_block(self, key: str) -> str | None:
        """The block that the release of another opens."""
        return str(int(key) + 1)

    def noted_in(self, blocks: Blocks) -> str | None:
        """The block with which it is stored what `begin` changed; None for the whole state."""
        (key,) = blocks
        return None if self.is_over else key

    @property
    def is_over(self) -> bool:
        """Whether nothing is released any more."""
        return self.cut

    def admit(self, member: Member | None, blocks: Blocks, terms: Terms, now: float) -> Admission:
        """What a unit gets that asks for an arm. With a deadline its place is settled when its
        block is released, for it is private whether a unit has responded; without one that is
        public, and a response settles it."""
        ((key, block),) = blocks.items()
        filled = len(block.places)
        settled = (
            member is None
            or member.block != key
            or (terms.deadline is None and member.slot in block.outcomes)
        )
        over = terms.horizon is not None and self.t + filled >= terms.horizon
        return rules.admit(member, not self.is_full(filled), settled, over, terms)

    def seated(
        self, unit: Name, member: Member | None, context: Context, blocks: Blocks, terms: Terms,
        now: float,
    ) -> tuple[Member, Place | None, Run]:  # fmt: skip
        """A unit that is admitted gets an arm: what is then known of it, its place, None if the
        block has no room, and the run with it."""
        ((key, block),) = blocks.items()
        (arm, action), slot = self.choice(context), len(block.places)
        if self.is_full(slot):
            return Member(arm), None, self
        run, due = self.joined(action, slot), None
        if terms.deadline is not None and run.is_full(slot + 1) and not run.cut:
            due = rules.closes(terms, now)
        used = 1 if member is None else member.used + 1
        return Member(arm, used, key, slot), Place(unit, arm, due, action, run.private), run

    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        """What happens to an outcome of a unit that has an arm: it is dropped if its block is
        released, or never will be."""
        block = blocks.get(member.block)
        if block is None or self.cut:
            return "dropped"
        due = None if terms.deadline is None else block.due
        return rules.accept(member, due, terms, block.outcomes, value, now)

    def standing(self, blocks: Blocks, terms: Terms, failure: str) -> Standing:
        """For reports."""
        (block,) = blocks.values()
        filled, status = len(block.places), "collecting"
        if not self.begun:
            status = "stuck"
        elif self.is_full(filled):
            status = "finished" if self.cut else "settling"
        return Standing(status, self.t + filled, block.due, filled)

    def gives_up(self, place: Place | None) -> bool:
        """Whether the place that was taken last shows that the horizon cuts its block off."""
        return self.cut and place is not None and place.action is not None
