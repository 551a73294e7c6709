"""The row being stepped: `publish` releases a block, `begin` makes of it what comes next.

The two are apart on purpose: `publish` hands outcomes and noise to the release, `begin` hands what
was released to the rule. A trial stores the one before it calls the other, so that nothing that a
rule does, or that goes wrong in it, can have a block drawn twice.

It says which block is due (`next_due`), who gets which place (`seated`) and what becomes of an
outcome (`accept`), by the `rules` and by the steps of the protocol; the trial does what it says: it
draws, stores and erases. A block is there as soon as someone has a place in it.

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
from ._lists import Lists
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
    """Base of the runs: what is public, and the curator's ledger.

    Noise draws on `noise`, the choices of sampling rules on `random`: both the seeded generator in
    a rehearsal, None and the system's randomness in a trial.
    """

    horizon: int | None
    begun: bool
    """whether the rule has seen the last release"""
    private: bool
    """whether contexts are to be erased with the outcomes"""
    random: Draws
    noise: Draws | None
    rest: int = 0
    """all who come, where those after the verdict of a test get the winner; 0 where no one does"""
    rule: Any
    """the parameters of the rule, a NamedTuple of its own kind"""
    view: Any
    """what is released, by the names of the policy's view, in lists"""
    releases: list[int]
    """how many there were: of every arm, or in all"""
    ledger: Lists

    no_propensity: ClassVar[str] = "its window was not planned here"
    """why the probability of an arm is not known, where it is not"""

    @property
    def answer(self) -> int | None:
        """The recommended arm, once a policy that identifies has stopped."""
        return None

    def turn_to(self, key: str, now: float) -> None:  # noqa: B027 - there may be no other
        """The block that is released next, and when."""

    @abstractmethod
    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        """Release that block: draw its noise. Nothing else looks at outcomes."""

    @abstractmethod
    def begin(self) -> None:
        """Hand the last release to the rule, and open the next block."""

    # --- by the rules: what is due, who gets which place, what becomes of an outcome --------------

    @abstractmethod
    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        """The block to be released now, if there is one."""

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

    @property
    @abstractmethod
    def has_ended(self) -> bool:
        """Whether no more places are given."""

    @abstractmethod
    def ended(self) -> Self:
        """This run without more places; what is open is released as at its horizon, or is `cut`."""

    @property
    def cut(self) -> bool:
        """Whether the horizon cuts off the open block, which is to be erased: see `abandon`."""
        return False

    def abandon(self) -> None:
        """Leave that block unreleased."""
        raise NotImplementedError

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
        other.ledger = self.ledger.copy()
        return other

    @abstractmethod
    def public(self) -> dict[str, object]:
        """Where the run stands, ready for JSON, but for the ledger; no random state."""

    @abstractmethod
    def moved(self) -> dict[str, object]:
        """What places may have changed of `public` since the last release: with it a run that is
        restored stands where this one does."""

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

    @abstractmethod
    def _restore(self, data: Json) -> None:
        """From what is a mapping."""
