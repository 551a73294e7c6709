"""The curator of a trial: it alone holds outcomes, and only until their block is released.

All that it shows is built from releases and public counts. A *run* says what is to be done, by the
`rules`; a `Store` holds everything; this class has the order of things, from top to bottom: a unit
is assigned, its outcome recorded; when a block is due its release is **drawn, stored** and its
outcomes **erased**; the rule thinks; and only then is anything **shown**. A block in flight or
several, index, race or contexts: this is the one path from an outcome to the noise.

With a deadline it is private who responds, and when. So `record` only stores: a release happens in
the first other call after its moment, and neither its duration nor what `settle` answers depends on
who has called `record` meanwhile.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar
from weakref import WeakValueDictionary

from .._checks import Name, Unshown, check_clock, check_unit, read_clock
from .._durations import DAY, in_words
from ..errors import (
    ClockJumped,
    ConflictingOutcome,
    DiscreetError,
    Fenced,
    InvalidArgument,
    OverBudget,
    TrialBusy,
    TrialError,
    UnknownUnit,
    Withdrawn,
)
from ..privacy._guarantees import Guarantee
from ..protocol._state import TAKEN
from ._course import public_moment
from ._report import Shown
from ._rights import Care, Remains, check_words, keeps_sums
from ._rows import row_to_dict
from ._rules import Member, Place, Terms, is_void
from ._setup import Plan
from ._stream_run import RuleFailed, StreamRun
from ._terms import CONFLICTS, covering, settings_in_words, stopped_by_a_board
from ._weights import Weights, check_weights, new_key, parts_of, seated_on, standing_of
from ._weights import exposures as exposures_of
from .stores import Block, Store
from .stores._base import Json, bare, unheld
from .stores._memory import HeldBlock, MemoryStore
from .stores._sql import NOT_HERE, SqlStore

if TYPE_CHECKING:
    from ._contexts import Features
    from ._documents import BlockReport
    from ._run import Run


T = TypeVar("T")
PATIENCE, PAUSE = 2.0, 0.01
"""How long a newcomer waits for a release that others make, and how often is looked, in seconds."""


class Due(Exception):
    """A newcomer must wait for a release that is not made here."""


class Assigning(NamedTuple):
    """A step of a batch: `assign`."""

    unit: Name
    actions: Features = None


class Looking(NamedTuple):
    """A step of a batch: the arm that a unit has, None if it has none; no place is taken."""

    unit: Name


class Recording(NamedTuple):
    """A step of a batch: `record`."""

    unit: Name
    outcome: float


class Made(NamedTuple):
    """A step of a batch: what the device of a unit has built from its outcome, for policies in the
    local model. It is stored as it is: nothing is drawn again."""

    unit: Name
    bit: int


Answer = Name | DiscreetError | Due | None
"""What comes of a step: an arm, a refusal, that it must wait, or nothing for an outcome."""


def too_late() -> TrialBusy:
    """Why a newcomer that has waited gets no arm."""
    return TrialBusy(
        f"newcomers wait while a block is due, and no process has released it for {PATIENCE:g} "
        "seconds; nothing changed: try again, and see that a process runs which releases, by "
        "discreet.live.curate"
    )


def turn_of(lock: threading.RLock) -> AbstractContextManager[bool]:
    """The lock, unless this thread holds it already: a call from within a call, by a signal
    handler, a clock or a store, would find the trial between two steps."""
    if is_inside(lock):
        raise TrialError(
            "the trial is in the middle of another call, from which this one comes; call it "
            "when that one has returned, for example by a flag that a signal handler sets"
        )
    return lock


def is_inside(lock: threading.RLock) -> bool:
    """Whether this thread holds a lock; as `threading.Condition` asks."""
    return bool(lock._is_owned())  # type: ignore[attr-defined]


def without_void(block: Block) -> Block:
    """A block as it is released: anyone who has withdrawn has no outcome in it."""
    found = HeldBlock()
    found.places = list(block.places)
    found.outcomes = {slot: y for slot, y in block.outcomes.items() if not is_void(y)}
    return found


_owners: WeakValueDictionary[int, Curator] = WeakValueDictionary()
"""Who continues with a store, by its `id`: of two, each could release the same block."""


class Curator:
    """Assigns, records, releases; see `Trial` for the class to use."""

    _care: Care
    """what it was planned with for its people; there before all else"""

    def __init__(
        self, arms: Sequence[Name], plan: Plan, terms: Terms, default: float,
        guarantee: Guarantee, store: Store, clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._arms = tuple(arms)
        self._plan, self.policy, self._terms = plan, plan.policy, terms
        self._run: Run = plan.run
        self._first_stands = terms._replace(corrects=False)
        self.guarantee = guarantee
        self._default, self._missing = default, plan.steps(default) or 0
        self._clock = check_clock(clock)
        self._lock = store.lock
        self._process = os.getpid()
        self._store = store
        self._closed, self._failure = False, ""
        self._ended: dict[str, str] = {}
        self._stale = False
        """whether the run must be brought to where the store is"""
        self._drawing: tuple[str, int | None] | None = None
        """the block, or the place of a local release, whose noise is being drawn"""
        self._saving: SqlStore | None = None
        """a file that is to take the place of the store"""
        self._owns = True
        """whether no other object has taken the store over"""
        self._fixed = self._settings()
        self._seen = -inf
        """the latest time that a call has gone by; `record` leaves it, for that is private"""
        self._store = store
        self._note_seen()
        self._note("planned", policy=str(self.policy), guarantee=str(self.guarantee))
        store.people.supply(self._care.stock)
        store.create(self._document(self._run), len(self._arms), None)
        self._own(store)
        self._check_worker()

    # --- the two calls of every day ---------------------------------------------------------------

    @unheld
    def assign(self, unit: Name, actions: Features = None) -> Name:
        """The arm of a unit; asking again gives the same one.

        With contexts, given the features of every arm for this unit; anyone who asks again need not
        give them.
        """
        return self._patiently(lambda: self._assign(unit, actions))

    def _assign(self, unit: Name, actions: Features) -> Name:
        with self._turn(), self._store.held():
            arm, stands = self._placed(unit, actions, self._settle())
            self._stale = not stands
            return self._told(unit, arm)

    @unheld
    def assign_many(self, units: Sequence[Name], actions: Sequence[Features] = ()) -> list[Name]:
        """The arms of several units, in their order, stored by one commit: all of them have their
        arms then, or none has, if one is refused. With contexts, `actions` has features for each.
        """
        given: Sequence[Features] = actions or [None] * len(units)
        if isinstance(units, str) or len(given) != len(units):
            raise InvalidArgument(
                "units", "be a list, and actions as long if there are any", units,
                'use for example ["p1", "p2"]',
            )  # fmt: skip
        return self._patiently(lambda: self._assign_many(units, given))

    def _assign_many(self, units: Sequence[Name], given: Sequence[Features]) -> list[Name]:
        with self._turn(), self._store.held():
            now, found = self._settle(), list[int]()
            self._stale = True  # whatever is raised, the store has none of them
            with self._store.together():
                self._expect(units)
                for number, (unit, features) in enumerate(zip(units, given, strict=True), 1):
                    try:
                        arm, stands = self._placed(unit, features, now)
                    except DiscreetError as error:
                        error.add_note(f"entry {number} of {len(units)}")
                        raise
                    found.append(arm)
                    if not stands:
                        self._rebuild()
                        self._stale = True
            self._stale = False
            return [self._told(*each) for each in zip(units, found, strict=True)]

    def _told(self, unit: Name, arm: int) -> Name:
        """The name of an arm; where arms are hidden, the code of the unit's kit."""
        if not self._care.kits:
            return self._arms[arm]
        return self._store.people.kit_of(check_unit(unit)) or ""

    def _expect(self, units: Sequence[Name]) -> None:
        """The store may read at once what is known of them."""
        if isinstance(self._store, SqlStore):
            self._store.expect([unit for unit in units if type(unit) in (str, int)])

    def _patiently(self, call: Callable[[], T]) -> T:
        """A call that may have to wait for a release which someone else makes. Known units and
        outcomes continue meanwhile."""
        if self._releases_here:
            return call()
        until = time.monotonic() + PATIENCE
        while True:
            with suppress(Due):
                return call()
            if time.monotonic() >= until:
                raise too_late()
            time.sleep(PAUSE)

    @property
    def _releases_here(self) -> bool:
        return self._store.releases_here

    def _check_worker(self) -> None:
        """Anyone who does not release cannot know whether everyone has answered."""
        if not self._releases_here and self._terms.deadline is None:
            raise InvalidArgument(
                "releases_here", "be True for a trial without a deadline", False,
                "plan the trial with a deadline, or let every process release",
            )  # fmt: skip

    def _is_due(self, now: float) -> bool:
        """Whether something is to be done first by those who release."""
        due = self._run.next_due(self._store.blocks, self._terms, now)
        return due is not None or not self._run.begun

    def _placed(self, unit: Name, actions: Features, now: float) -> tuple[int, bool]:
        """The arm of a unit, by its number; whether this object stands where the store does."""
        unit = check_unit(unit)
        member, run = self._store.member(unit), self._run
        blocks = self._store.blocks
        follows = member is not None and member.block in blocks
        admission = run.admit(member, blocks, self._terms, now)
        if self._terms.shared and admission in ("place", "visitor") and self._is_full:
            admission = "over" if member is None else "same"
        if member is not None and admission == "same":
            return member.arm, True
        if member is None and self._store.people.is_forgotten(unit):
            self._refuse_forgotten(unit)
        if self._is_over or self._fence:
            self._refuse_fenced()
        if (admission == "over" or run.answer is not None) and not self._has_rest():
            self._refuse_newcomers()
        if not self._releases_here and self._is_due(now):
            raise Due
        if not run.begun:
            self._refuse_newcomers()
        if self._care.kits:
            self._check_stock()
        if self._care.charged and admission == "place" and not self._charged(unit, member):
            if member is not None:
                return member.arm, True
            return self._turned_away(unit), True
        context, has_left = self._plan.context(actions), self._has_left(member)
        try:
            entry, place, run = run.seated(unit, member, context, blocks, self._terms, now)
        except RuleFailed as failure:
            self._failure = str(failure)
            self._refuse_newcomers()
        self._failure = ""
        self._stale = True  # until the store and the run agree again
        if run.cut and self._releases_here:
            with self._store.together():
                self._store.assign(unit, entry, place, run.moved)
                if self._care.kits:
                    self._store.people.hand_out(unit, entry.arm)
                self._abandon(run, entry.block)
            return entry.arm, False
        kits = self._care.kits
        blind = follows and not self._releases_here and place is not None
        with self._store.together() if has_left or blind or kits else nullcontext():
            self._store.assign(unit, entry, place, run.moved)
            if has_left:
                self._store.void(entry.block, entry.slot)
            if blind and member is not None:
                self._in_a_file("assign").go_with(
                    entry.block, entry.slot, (member.block, member.slot)
                )
            if kits:
                self._store.people.hand_out(unit, entry.arm)
        self._run = run
        return entry.arm, True

    def _charged(self, unit: Name, member: Member | None) -> bool:
        """Whether the price of this trial is paid: before the first place, so that whatever happens
        in between no one has a place for nothing. What was paid is never given back."""
        if member is not None and member.used > 0:
            return True
        ledger = self._care.ledger
        if ledger is None:
            raise TrialError(
                "the ledger of this trial is not where it was, so nobody new can be charged; put "
                "it back, or hand it in: Trial.load(path, ledger=discreet.Ledger(...))"
            )
        if ledger.charge(unit, self._care.charged, self.guarantee.budget):
            return True
        if self._care.beyond is None:
            raise OverBudget(
                f"the budget of unit {unit!r} does not allow this trial, {self.guarantee.budget}, "
                f"beside others, with a cap of {ledger.caps}; nothing was charged: leave it out"
            )
        return False

    def _turned_away(self, unit: Name) -> int:
        """The arm of anyone who has no budget left; no place."""
        arm = self._care.beyond or 0
        self._stale = True
        with self._store.together() if self._care.kits else nullcontext():
            self._store.assign(unit, Member(arm), None, self._run.moved)
            if self._care.kits:
                self._store.people.hand_out(unit, arm)
        return arm

    def _check_stock(self) -> None:
        """Refuse newcomers while any arm that they could get has no kit: were only the arm that is
        drawn looked at, asking again would draw another one."""
        run, people = self._run, self._store.people
        active = run.head.active if isinstance(run, StreamRun) else [1] * len(self._arms)
        if isinstance(run, StreamRun) and run.rest and run.has_ended:
            active = [int(arm == run.visited) for arm in range(len(self._arms))]
        for arm, name in enumerate(self._labels):
            if active[arm] and people.left(arm) == 0:
                raise TrialError(
                    f"there is no kit left for {name!r}, so nobody new can be assigned; nothing "
                    "changed: hand in more by restock({...})"
                )

    def _has_rest(self) -> bool:
        """Whether a test has ended by itself, and more who come are to get its winner."""
        run = self._run
        ends = isinstance(run, StreamRun) and run.has_ended and not self._ended
        return ends and sum(self._store.assigned) < run.rest

    @property
    def _is_done(self) -> bool:
        """Whether no one comes any more, and nothing waits."""
        return self._run.is_over and not self._has_rest()

    @property
    def _labels(self) -> tuple[Name, ...]:
        """What arms are called in all that is shown."""
        if not self._care.kits:
            return self._arms
        return tuple(f"arm {number}" for number in self._fixed["labels"][: len(self._arms)])

    def _has_left(self, member: Member | None) -> bool:
        """Whether a unit that takes one more place has withdrawn: it does not count either. Who
        reads no outcomes cannot know; there the store does it (`go_with`)."""
        block = None if member is None else self._store.blocks.get(member.block)
        if member is None or block is None:
            return False
        return is_void(block.outcomes.get(member.slot, 0))

    @unheld
    def record(self, unit: Name, outcome: float) -> None:
        """The outcome of a unit.

        Held until its block is released. With a deadline this call releases nothing: it is private
        that it came, and when, so it moves nothing that others see. A late one is dropped, and so
        is one that is not used. The same outcome again changes nothing, another one is refused (or
        ignored, if the trial was planned so); of a policy in the local model the first stands, for
        it was randomised at once and cannot be compared.
        """
        with self._turn(), self._store.held():
            now = self._ready(alone=self._releases_here)
            found = self._accepted(unit, outcome, now)
            if found is None:
                return
            self._noted(*found)
            if self._terms.deadline is None:
                self._release(now)

    @unheld
    def record_many(self, outcomes: Sequence[tuple[Name, float]]) -> None:
        """The outcomes of several units, as pairs, stored by one commit. If `record` would refuse
        one of them, none is stored, and the error says which one it was."""
        with self._turn(), self._store.held():
            now = self._ready(alone=self._releases_here)
            kept: dict[tuple[str, int], tuple[Member, int]] = {}
            with self._store.together():
                self._expect([unit for unit, _ in outcomes])
                for number, (unit, outcome) in enumerate(outcomes, 1):
                    refusal: TrialError | None = None
                    try:
                        found = self._accepted(unit, outcome, now)
                        if found is not None:
                            member, value = found
                            first = kept.setdefault((member.block, member.slot), found)
                            if first[1] != value and self._compares:
                                self._refuse_conflict(unit)
                    except DiscreetError as error:
                        refusal = TrialError(
                            f"entry {number} of {len(outcomes)}: {error} (none of them is recorded)"
                        )
                    if refusal is not None:
                        raise refusal
                for member, value in kept.values():
                    self._noted(member, value)
                    if self._terms.local:  # drawn, and not stored before all of them are
                        self._drawing = member.block, member.slot
            self._drawing = None
            if self._terms.deadline is None:
                self._release(now)

    @unheld
    def batch(
        self, steps: Sequence[Assigning | Looking | Recording | Made], settle: bool = True
    ) -> list[Answer]:
        """Steps of several users, stored by one commit, which writes even if there are none. Each
        has its own answer: an arm, None for an outcome, the refusal, or `Due` for a newcomer that
        must wait. If they cannot be stored, none is.

        `settle=False` releases nothing: for batches that come because outcomes came, and not at
        moments that are fixed."""
        with self._turn(), self._store.held():
            now = self._settle() if settle else self._ready()
            found: list[Answer] = []
            with self._store.together():
                self._expect([step.unit for step in steps])
                for step in steps:
                    found.append(self._stepped(step, now))
                if isinstance(self._store, SqlStore):
                    self._store.touch()
            self._stale, self._drawing = False, None
            if self._terms.deadline is None:
                self._release(now)
            return found

    def _stepped(self, step: Assigning | Looking | Recording | Made, now: float) -> Answer:
        """One of them; what it refuses before it has written anything."""
        self._stale = False
        try:
            if isinstance(step, Assigning):
                arm, stands = self._placed(step.unit, step.actions, now)
                if not stands:
                    self._rebuild()
                return self._told(step.unit, arm)
            if isinstance(step, Looking):
                member = self._store.member(step.unit)
                return None if member is None else self._told(step.unit, member.arm)
            if isinstance(step, Made):
                kept = self._accepted(step.unit, self._plan.outcome_range[step.bit], now)
                if kept is not None:
                    self._stale = True
                    self._store.record(kept[0].block, kept[0].slot, kept[1])
                return None
            kept = self._accepted(step.unit, step.outcome, now)
            if kept is not None:
                self._stale = True
                self._noted(*kept)
                if self._terms.local:  # drawn, and not stored before all of them are
                    self._drawing = kept[0].block, kept[0].slot
            return None
        except (DiscreetError, Due) as error:
            if self._stale:  # the store was being written: the whole batch is undone
                raise
            bare(error)
            return error
        finally:
            self._stale = True  # until all of them are stored

    @unheld
    def correct(self, unit: Name, outcome: float, *, by: str = "", reason: str = "") -> None:
        """Another outcome in place of the one that was recorded, or of none: the last one counts
        that comes before the outcome would be late; after that nothing changes.

        For trials that were planned so, with `Outcomes(corrections="deadline")`. A place has one
        outcome whatever comes, so this costs no privacy. `by` and `reason` are for the records of
        anyone who calls: an entry in the trail would tell that someone has answered, and when.
        """
        check_words(by, reason)
        with self._turn(), self._store.held():
            now = self._ready(alone=self._releases_here)
            if not self._terms.corrects:
                raise TrialError(
                    "this trial takes no corrections: the first outcome of a participant stands; "
                    'plan one with outcomes=discreet.Outcomes(corrections="deadline")'
                )
            found = self._accepted(unit, outcome, now, self._terms)
            if found is not None and self._releases_here:
                self._noted(*found)
            elif found is not None:
                self._in_a_file("correct").correct(found[0].block, found[0].slot, found[1])

    @unheld
    def withdraw(self, unit: Name, *, by: str = "", reason: str = "") -> Remains:
        """A unit takes its outcome back; says what remains.

        As long as the block of its place is not released, the place counts from now on as one
        whose outcome did not come, whatever came or comes; no one else can see it, and the unit
        keeps its arm, until the release overwrites its name. After the release the noisy sum
        stands, and the name is overwritten at once. The place, what it contributes and the budget
        stay: someone who is forgotten is not assigned anew.

        The answer does not depend on whether an outcome had come. `by` and `reason` are for the
        records of anyone who calls: an entry in the trail would tell who has withdrawn, and when.
        """
        check_words(by, reason)
        with self._turn(), self._store.held():
            now, unit = self._ready(), check_unit(unit)
            people, member = self._store.people, self._store.member(unit)
            exact = not self._run.is_over and keeps_sums(
                tuple(self._run.ledger.to_dict()), self._terms.local
            )
            if member is None:
                if people.is_forgotten(unit):
                    return Remains(True, exact, forgotten=True)
                raise UnknownUnit(f"unit must have been assigned before it withdraws, got {unit!r}")
            seats = people.seats(unit) if member.used > 1 else [(member.block, member.slot)]
            seats = [(block, slot) for block, slot in seats if block in self._store.blocks]
            with self._store.together():
                for block, slot in seats:
                    self._store.void(block, slot)
                if not seats:
                    people.forget(unit)
                    self._store.noted()
            if self._terms.deadline is None:
                self._release(now)
            return Remains(member.used > len(seats), exact, forgotten=not seats)

    def erase(self, *, by: str = "", reason: str = "") -> None:
        """Overwrite the names of all participants, once the trial is finished. Releases, public
        counts and the trail stay; no one is known by name any more. If it is cut short, or the file
        is in use elsewhere, call it again."""
        words = check_words(by, reason)
        self._check_releases()
        with self._turn(), self._store.held():
            self._settle()
            if not (self._is_done or self._is_over):
                raise TrialError(
                    "names are erased once the trial is finished: until then they show that nobody "
                    "takes part twice; end it by finish(), and wait until all is released"
                )
            self._erase(words)

    def _erase(self, words: dict[str, str]) -> None:
        if "erased" not in self._fixed:
            self._stand()
            self._note("names erased", **words)
            self._stale = True
            fixed = {**self._fixed, "erased": True}
            with self._store.together():
                self._store.people.erase()
                self._store.release(None, {**fixed, "protocol": self._run.to_dict()}, None)
            self._fixed, self._stale = fixed, False
        self._store.forget_copies()

    def _retain(self) -> None:
        """Names that have been kept long enough after the end are erased, by the next call."""
        terms = self._terms
        if terms.retention is None or "erased" in self._fixed or not self._is_done:
            return
        now = self._time()
        if "finished" not in self._fixed:
            self._stand()
            self._stale = True
            fixed = {**self._fixed, "finished": now}
            self._store.release(None, {**fixed, "protocol": self._run.to_dict()}, None)
            self._fixed, self._stale = fixed, False
        elif now >= self._fixed["finished"] + terms.retention:
            self._erase({"reason": "retention as planned"})

    # --- the trail: decisions and releases, never who has answered --------------------------------

    def _note(self, what: str, **more: object) -> None:
        """An entry that is stored with the next step."""
        self._store.people.note({"what": what, "at": self._time(), **more})

    @property
    def _compares(self) -> bool:
        """Whether a second, different outcome is refused."""
        return self._terms.refuses_conflicts and not self._terms.local

    def _accepted(
        self, unit: Name, outcome: float, now: float, terms: Terms | None = None
    ) -> tuple[Member, int] | None:
        """Where an outcome belongs, in whole steps; None if it is dropped."""
        unit = check_unit(unit)
        member = self._store.member(unit)
        forgotten = member is None and self._store.people.is_forgotten(unit)
        if member is None and not forgotten:
            # record(outcome, unit), the wrong way round, must not show the outcome
            shown = unit if self._plan.steps(outcome) is not None else Unshown(type(unit).__name__)
            raise UnknownUnit(
                f"unit must have been assigned before an outcome is recorded, got {shown!r}; "
                "call assign(unit) first, and note that 1 and '1' are different participants"
            )
        value = self._plan.steps(outcome)
        if value is None:
            self._refuse_outcome(type(outcome).__name__)
        if member is None:
            return None  # of someone who has withdrawn
        effect = self._run.accept(
            member, value, self._store.blocks, terms or self._first_stands, now
        )
        if effect == "conflict":
            self._refuse_conflict(unit)
        return (member, value) if effect == "kept" else None

    def _noted(self, member: Member, value: int) -> None:
        """Store an outcome; of a local release, what is built from it."""
        if self._terms.local:
            self._drawing = member.block, member.slot
            value = self._run.respond(value)
        self._store.record(member.block, member.slot, value)
        self._drawing = None

    # --- arms without a call for every visitor ----------------------------------------------------

    def weights(self) -> Weights:
        """The public shares of the arms until the next release, for many workers: `pick(visitor)`
        tells an arm without a call, and `exposed` hands in whom it was shown. For policies with an
        index, in streams; others are refused."""
        self._check_releases()
        with self._turn(), self._store.held():
            self._settle()
            self._stand()
            run = self._check_weighted()
            if self._is_over or self._fence:
                self._refuse_fenced()
            if run.has_ended or not run.begun:
                self._refuse_newcomers()
            people, standing = self._store.people, standing_of(run)
            found = people.issued(0)
            if found is None or found["standing"] != standing:
                try:
                    parts = parts_of(run)
                except Exception as error:
                    self._failure = f"{type(error).__name__}: {error}"
                    self._refuse_newcomers()
                people.issue(
                    {
                        "standing": standing, "arms": list(self._arms), "parts": parts,
                        "key": new_key(),
                    }
                )  # fmt: skip
                self._store.noted()
                found = people.issued(0)
                assert found is not None
            return Weights.from_dict(found)

    @unheld
    def exposed(
        self, exposures: Sequence[tuple[Name, Name, int]],
        known_as: Callable[[Name], Name] | None = None,
    ) -> int:  # fmt: skip
        """Visitors that were shown an arm, as (visitor, arm, version): they take places in the
        stream of that arm, all of them in one commit; how many did. Anyone who is known keeps the
        first arm that was handed in, and so nothing changes if a list comes twice. An outcome
        counts until the deadline after this call. Who has a dropped arm, or comes after the end,
        has an arm but no place.

        Hand in everyone who was shown an arm, at moments that are fixed in advance, whatever they
        did: a list that depends on outcomes tells of them. `known_as`: by what name a visitor is
        stored, where `pick` was given another one.
        """
        given = exposures_of(exposures)
        self._check_releases()
        with self._turn(), self._store.held():
            now = self._settle()
            self._stand()
            run, weights = self._check_weighted(), dict[int, Weights]()
            if self._is_over or self._fence:
                self._refuse_fenced()
            for visitor, arm, version in given:
                if version not in weights:
                    known = self._store.people.issued(version) if version > 0 else None
                    if known is None:
                        raise InvalidArgument(
                            "version", "be one that weights() has given", version,
                            "hand in weights.version",
                        )  # fmt: skip
                    weights[version] = Weights.from_dict(known)
                if weights[version].pick(visitor) != arm:
                    raise InvalidArgument(
                        "arm", f"be what weights.pick({visitor!r}) says under version {version}",
                        arm, "hand in what pick said; arms that were chosen otherwise do not count",
                    )  # fmt: skip
            people, many = self._store.people, 0
            self._stale = True  # whatever is raised, the store has none of them
            with self._store.together():
                for picked, arm, version in given:
                    visitor = picked if known_as is None else known_as(picked)
                    if self._store.member(visitor) is not None or people.is_forgotten(visitor):
                        continue
                    number = self._arms.index(arm)
                    if run.has_ended or not run.head.active[number]:
                        self._store.assign(visitor, Member(number), None, run.moved)
                        continue
                    before = run.head.at[TAKEN]
                    run, key, slot = seated_on(run, number, now)
                    place = Place(visitor, number, None, None, False, now, before)
                    share = weights[version].shares[arm]
                    member = Member(number, 1, key, slot, share)
                    self._store.assign(visitor, member, place, run.moved)
                    many += 1
            self._run, self._stale = run, False
            return many

    def _check_weighted(self) -> StreamRun:
        run = check_weights(self._run)
        if self._care.kits or self._care.charged:
            raise TrialError(
                "weights are for trials without kits and without a ledger: a kit is handed out, "
                "and a budget charged, before an arm is shown; use assign()"
            )
        return run

    def settle(self) -> bool:
        """Release what is due, as every other call does first (but for `record`, where there is a
        deadline); whether there was anything."""
        with self._turn(), self._store.held():
            return self._release(self._seen_now())

    # --- a release: draw, store, erase, and only then think ---------------------------------------

    def _turn(self) -> AbstractContextManager[bool]:
        """The lock. Other threads wait for their turn; a call from within a call is refused: it
        could have a block drawn that is being drawn."""
        return turn_of(self._lock)

    @property
    def _is_inside(self) -> bool:
        """Whether this thread is in a call already."""
        return is_inside(self._lock)

    def _own(self, store: Store) -> None:
        """Take a store over, in between two calls of anyone who had it."""
        other = _owners.get(id(store))
        with nullcontext() if other is None else other._turn():
            if other is not None and other._store is store:
                other._owns = False
            _owners.pop(id(self._store), None)  # another object may get that number
            _owners[id(store)] = self
            self._owns = True

    def _stand(self, alone: bool = True) -> None:
        """Hold the store, and stand where it is."""
        self._usable(alone)
        while self._stale:
            self._rebuild()

    def _ready(self, alone: bool = True) -> float:
        """Stand where the store is; the time, which never goes back. It is read while the store is
        held: of two users the one that comes later reads a later time. Not `alone` for what others
        need not wait for."""
        self._stand(alone)
        if self._terms.deadline is None:
            return 0.0  # nothing is decided by the time
        now = max(self._time(), self._run.latest)
        jump, limit = now - self._last_seen(), self._longest_jump()
        if jump > limit:
            self._refuse_jump(now, jump, limit)
        return now

    def _time(self) -> float:
        """By the clock of the trial: that of its database, if it was given none."""
        store = self._store
        if self._clock is time.time and isinstance(store, SqlStore):
            return read_clock(store.moment)
        return read_clock(self._clock)

    def _settle(self) -> float:
        """Stand where the store is, and release what is due; the time."""
        now = self._seen_now()
        self._release(now)
        if self._releases_here:
            self._retain()
        return max(now, self._run.latest)

    def _seen_now(self) -> float:
        """The time, which is seen."""
        now = self._ready()
        if self._terms.deadline is not None:
            self._seen = max(self._seen, now)
        return now

    # --- a clock that jumps: a wrong reading would release what no one has answered yet -----------

    def confirm_clock(self, *, by: str = "", reason: str = "") -> str:
        """Continue although the clock has jumped, because it is right; says how far it went."""
        words = check_words(by, reason)
        with self._turn(), self._store.held():
            self._stand()
            self._check_releases()
            if self._terms.deadline is None:
                return "this trial has no deadline, and goes by no clock"
            before = self._last_seen()
            self._note_seen()
            self._note("clock confirmed", **words)
            self._stale = True
            self._store.release(None, {**self._store.state, "seen": self._seen}, None)
            self._stale = False
            went = "for the first time" if before == -inf else self._lapse(self._seen - before)
            return f"the clock is taken to be right: {self._moment(self._seen)}, {went}"

    def _note_seen(self) -> None:
        """The present time is seen, and is stored with whatever is stored next. A clock of one's
        own is taken at its word, so of that nothing is kept."""
        if self._terms.deadline is not None and self._clock is time.time:
            self._seen = max(self._time(), self._run.latest)
            self._fixed = {**self._fixed, "seen": self._seen}

    def _last_seen(self) -> float:
        """The latest moment that is known: of a call, of a release, or of an assignment."""
        deadline = self._terms.deadline or 0.0
        dues = [block.due - deadline for block in self._store.blocks.values() if block.due]
        latest = self._run.latest
        return max([self._seen, latest if latest > 0.0 else -inf, *dues])

    def _longest_jump(self) -> float:
        """How far the system's clock may go between two calls before someone must say that it is
        right: the deadline, and a day at least. If the trial was planned with its own clock,
        in a unit that no one knows, the deadline alone."""
        if self._clock is not time.time or self._last_seen() == -inf:
            return inf
        deadline = self._terms.deadline or 0.0
        return deadline if self._terms.own_clock else max(deadline, DAY)

    def _refuse_jump(self, now: float, jump: float, limit: float) -> NoReturn:
        raise ClockJumped(
            f"the clock reads {self._moment(now)}, {self._lapse(jump)} the last moment that the "
            f"trial saw, and more than {in_words(limit)}: blocks would be released before anybody "
            "could answer. Nothing was released, and nothing changed. If the clock is wrong, set "
            "it right; if it is right, call confirm_clock(), or run: discreet trial confirm-clock "
            "FILE"
        )

    @staticmethod
    def _moment(moment: float) -> str:
        try:
            return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
        except (OverflowError, ValueError, OSError):
            return f"{moment:g}"

    @staticmethod
    def _lapse(lapse: float) -> str:
        return f"{in_words(round(lapse))} after"

    def _release(self, now: float) -> bool:
        """Release what is due, one block after the other, and hand each release to the rule before
        the next; whether there was anything. Every release is stored by itself, and lets go of the
        store: someone else may continue before this call does.

        The release of a block is drawn on a copy of the run; storing it and erasing the outcomes
        are one step of the store. If anything goes wrong before that step is done, this object
        refuses to continue: it never draws a block a second time.
        """
        found = False
        while True:
            self._stand()
            if self._is_over or self._fence or not self._releases_here:
                return found
            if self._terms.shared and self._is_full and not self._run.has_ended:
                self._write(self._run.ended())
                self._stand()
            cut_off = self._cut_off()
            if cut_off is not None:
                with self._store.together():
                    self._abandon(self._run, cut_off)
                self._stand()
            if not self._run.begun:
                self._begin()
                self._stand()
            now = max(now, self._run.latest)
            due = self._run.next_due(self._store.blocks, self._terms, now)
            if due is None:
                return found
            found = True
            self._drawing = due.key, None
            block, run = without_void(self._store.whole(due.key)), self._run.copy()
            missing = None if self._terms.deadline is None else self._missing
            if missing is None and len(block.outcomes) < len(block.places):
                missing = self._missing  # without a deadline it is public who has withdrawn
            run.turn_to(due.key, now)
            try:
                run.publish(  # the noise is drawn here, on a copy of the run
                    [place.action for place in block.places], run.completed(block, missing)
                )
                run.forget()
                seen = due._replace(at=public_moment(due.at, self._store.blocks))
                course, fixed = run.course_after(self._fixed.get("course"), seen), self._fixed
                if course is not None:
                    fixed = {**fixed, "course": course}
                if "seen" in fixed:
                    fixed = {**fixed, "seen": now}
                self._stale = True
                public = None if self._terms.deadline is None else seen.at
                self._store.people.note({"what": "release", "at": public, "block": due.key})
                self._store.release(due.key, {**fixed, "protocol": run.to_dict()}, None)
                self._run, self._fixed = run, fixed
                self._stale, self._drawing = False, None
            except BaseException as error:
                del run, block
                raise bare(error)  # noqa: B904 - the same error

    def _begin(self) -> None:
        """Hand what was released to the rule; what it makes of it is stored before it is shown.

        A rule that fails leaves a trial that says so: the release stands, and no one gets an arm.
        """
        run = self._run.copy()
        try:
            run.begin()
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
            return
        run.forget()
        self._stale = True
        self._store.release(None, self._document(run), None)
        self._run, self._failure, self._stale = run, "", False

    @property
    def _is_full(self) -> bool:
        """Whether the strata have taken, together, all the places that there are."""
        terms, store = self._terms, self._store
        if not terms.shared or not isinstance(store, SqlStore | MemoryStore):
            return False
        assert terms.horizon is not None
        return store.taken_in_all >= terms.horizon

    def _cut_off(self) -> str | None:
        """A block that someone else has filled, who does not erase what is cut off."""
        if not self._run.cut:
            return None
        return next(iter(self._store.blocks), None)

    def _abandon(self, run: Run, key: str) -> None:
        """Erase what is known of a block of which it turns out that the horizon cuts it off."""
        run = run.copy()
        run.abandon()
        run.forget()
        self._stale = True
        self._store.release(key, self._document(run), None)

    # --- decisions of others, stored like releases ------------------------------------------------

    def _change(
        self, run: StreamRun, ended: dict[str, str] | None = None, block: str | None = None
    ) -> None:
        """Store where the streams stand now, that they have ended, and erase a block."""
        self._write(run, ended, block)
        self._took(run)

    def _write(
        self, run: Run, ended: dict[str, str] | None = None, block: str | None = None
    ) -> None:
        """The same, but that this object does not stand there yet."""
        run.forget()
        self._stale = True
        if ended is not None:
            self._fixed = {**self._fixed, "ended": ended}
        self._store.release(block, self._document(run), None)

    def _took(self, run: StreamRun) -> None:
        """What was written is stored."""
        self._run = run
        self._note_end(self._fixed.get("ended"))
        self._stale = False

    def _note_end(self, ended: dict[str, str] | None) -> None:
        self._ended = ended or {}
        if self._ended.get("by") == "board":
            self.guarantee = stopped_by_a_board(self.guarantee)

    # --- what is shown: whatever is due is released first -----------------------------------------

    def _shown(self) -> Shown:
        self._settle()
        standing = self._run.standing(self._store.blocks, self._terms, self._failure)
        if self._has_rest():
            standing = standing._replace(status="collecting")
        if self._is_over or self._fence:  # whatever waits is never released here
            standing = standing._replace(
                status="finished" if self._is_over else "fenced", due=None,
                blocks=None if standing.blocks is None else [],
            )  # fmt: skip
        if standing.blocks is not None:
            named: list[BlockReport] = [
                {**block, "arm": self._labels[int(block["arm"])]} for block in standing.blocks
            ]
            standing = standing._replace(blocks=named)
        return Shown(
            self.policy, self.guarantee, self._labels, self._plan.outcome_range, standing,
            list(self._store.assigned), self._failure, ended=self._ended,
            course=self._fixed.get("course"), fence="" if self._is_over else self._fence,
            settings=settings_in_words(self._plan, self._terms, self._default, self._labels),
        )  # fmt: skip

    # --- where it stands --------------------------------------------------------------------------

    def _rebuild(self) -> None:
        """Bring this object to where the store is."""
        state = self._store.state
        arms = tuple(state.get("arms", self._arms))
        if arms != self._arms:  # of one that was added, nothing more is known here
            self._plan, self._arms = self._plan.with_arms(len(arms)), arms
        run = self._plan.run.copy()
        protocol = state["protocol"]
        if not self._releases_here:  # who does not release never sees the ledger
            protocol = {**protocol, "ledger": run.secret()}
        run.restore(protocol)
        self._run = run
        if "policy" in state:
            self._fixed = {k: v for k, v in state.items() if k not in ("protocol", "assigned")}
        if state.get("fences"):
            self.guarantee = self._fenced_guarantee(state["fences"])
        self._note_end(state.get("ended"))
        self._seen = max(self._seen, state.get("seen", -inf))
        self._stale = False

    def _fenced_guarantee(self, fences: int) -> Guarantee:
        """What is promised once so many old copies have continued: in each of them one person may
        have contributed anew."""
        terms = self._terms
        times = terms.contributions * (1 + fences)
        return covering(self._plan, terms._replace(contributions=times))

    def _usable(self, alone: bool = True) -> None:
        if self._closed:
            self._let_go()
            raise TrialError("the trial is closed; go on with Trial.load(path)")
        if self._process != os.getpid():
            raise TrialError(
                "the trial belongs to the process that opened it, and this is a fork of it: both "
                "could release the same block; open the trial in every process, after the fork"
            )
        if self._saving is not None and self._saving is not self._store and self._saving.is_whole:
            raise TrialError(
                f"the trial was interrupted when it had been saved in {self._saving.place}; close "
                "this object and load that one: of two copies each could release the same block"
            )
        if not self._owns:
            raise TrialError(
                "another object goes on with the store of this trial, and of two each could "
                "release the same block; use the one that Trial.load(store) gave"
            )
        if self._store.ready() if alone else self._store.ready(alone=False):
            self._stale = True  # someone else continued
        if self._drawing is not None:
            key, slot = self._drawing
            block = self._store.blocks.get(key)
            if block is not None and (slot is None or slot not in block.outcomes):
                raise TrialError(
                    "the trial was interrupted between drawing noise and storing what it hides, "
                    "and noise is never drawn twice; a trial that has a path can be closed and "
                    "loaded again, where nothing of that draw is known"
                )
            self._drawing = None

    def _let_go(self) -> None:
        """Of the store; never in the middle of a call, whose files must not be another's."""
        self._run = self._plan.run  # as before the first outcome
        if self._owns:
            self._store.close()
        if self._saving is not None:
            self._saving.close()

    def _settings(self) -> Json:
        return {
            "policy": row_to_dict(self.policy),
            "guarantee": str(self.guarantee),
            "arms": list(self._arms),
            "horizon": self._terms.horizon,
            **({"shared": True} if self._terms.shared else {}),
            "deadline": self._terms.deadline,
            "default": self._default,
            **({"clock": "own"} if self._terms.own_clock else {}),
            "contributions": self._terms.contributions,
            "conflicts": CONFLICTS[not self._terms.refuses_conflicts],
            **({"corrections": "deadline"} if self._terms.corrects else {}),
            **(self._care.saved or {}),
            **({} if self._terms.retention is None else {"retention": self._terms.retention}),
            **self._plan.settings,
        }

    def _document(self, run: Run) -> Json:
        return {**self._fixed, "protocol": run.to_dict()}

    # --- a file that is not known to be the newest ------------------------------------------------

    @property
    def _fence(self) -> str:
        """Why nothing must be released, if so."""
        return self._store.fenced if isinstance(self._store, SqlStore) else ""

    @property
    def _is_over(self) -> bool:
        """Whether the trial was ended behind a fence."""
        return self._ended.get("by") == "fence"

    def _refuse_fenced(self) -> NoReturn:
        if self._is_over:
            raise TrialError(
                "the trial was ended because its file was an old copy, or had lost its witness; "
                "decide for further units by what report() shows"
            )
        raise Fenced(
            f"{self._store.place} is fenced: {self._fence}. Nothing is released and nobody new is "
            "assigned, for the same outcomes could be released twice. Put the newest file and its "
            "witness back where they were, or end the trial with what this file has released: "
            "discreet trial fence FILE --stop"
        )

    def _in_a_file(self, what: str) -> SqlStore:
        if not isinstance(self._store, SqlStore):
            raise TrialError(f"{what}() is for trials in a file; store this one: save(path)")
        return self._store

    def _check_releases(self) -> None:
        if not self._releases_here:
            raise TrialError(NOT_HERE)

    # --- refusals ---------------------------------------------------------------------------------

    def _refuse_newcomers(self) -> NoReturn:
        decide = "decide for further units by what report() shows"
        if self._run.answer is not None:
            raise TrialError(
                f"the trial has stopped and recommends {self._labels[self._run.answer]!r}; "
                "give further units that arm"
            )
        if self._failure:
            raise TrialError(
                f"the rule of the policy fails on what was released ({self._failure}), so there is "
                "no arm for further units; what was released stands, see report(), and nothing is "
                "drawn again"
            )
        horizon = self._terms.horizon
        standing = self._run.standing(self._store.blocks, self._terms, "")
        if horizon is not None and (standing.rounds >= horizon or self._is_full):
            among = ", in all strata together," if self._terms.shared else ""
            raise TrialError(f"the horizon of {horizon} assignments{among} is reached; {decide}")
        raise TrialError(f"the trial has ended; {decide}")

    def _refuse_forgotten(self, unit: Name) -> NoReturn:
        raise Withdrawn(
            f"unit {unit!r} has withdrawn and was forgotten, so there is no arm to be told; it is "
            "not assigned anew, for one person would contribute twice"
        )

    def _refuse_conflict(self, unit: Name) -> NoReturn:
        raise ConflictingOutcome(
            "outcome must stay the same once it is recorded, got another one for unit "
            f"{unit!r} (neither is shown: outcomes are private); the first one stands"
        )

    def _refuse_outcome(self, kind: str) -> NoReturn:
        raise InvalidArgument(
            "outcome", f"be {self._plan.outcomes}", Unshown(kind), self._plan.range_fix
        )
