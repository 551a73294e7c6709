"""A run in streams: blocks of all arms fill and wait concurrently.

The protocol plays it (`discreet.protocol`): its head is all that is public here, and what a
participant, a release and a look do to it are the protocol's steps, interpreted. This class keeps
what only a live trial has: keys of blocks, the record for intervals, moments by the trial's clock,
and arms that come and go. Plans that compare arms at looks (`looks`), by top two (`top_two`) or
within epochs (`epochs`) differ in a few words; `pairs` releases two numbers a block.

Steps write in place, so every one of them is taken on a copy, and adopted once it is stored.
Moments in the head are those at which last places were taken; a block is due a deadline later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

from .._checks import Name
from .._compiled import Function, Kernel
from ..errors import DamagedFile, TrialError
from ..inference._record import recording
from ..policies import Policy
from ..policies._schedules import LONGEST
from ..policies._view import Setting, View
from ..protocol import (
    Design,
    Head,
    Playing,
    Started,
    Vault,
    as_lists,
    begin,
    close,
    end,
    hasten,
    leave,
    release,
    seat,
    slots,
    turn,
)
from ..protocol import grown as roomier
from ..protocol._missing import release_whole
from ..protocol._state import ANSWER, LATEST, LEFT, LOOKED, NEVER, OVER, SOON, TAKEN, WAITING
from ..protocol._steps import first_due
from . import _rules as rules
from ._course import longer
from ._lists import as_lists as ledger_lists
from ._lists import copied_history, is_like, is_number, restored
from ._recorded import Recorded
from ._rules import Admission, Effect, Member, Place, Terms
from ._run import Blocks, Due, Run, Standing
from ._streams import arm_of, key_of

if TYPE_CHECKING:
    from .._types import Json
    from ..privacy._source import Source
    from ._course import Course
    from ._documents import BlockReport
    from ._randomness import Draws, Randomness
    from ._rules import Action
    from ._run import Context, Outcomes

T = TypeVar("T")

COUNTS = (
    "places", "closed", "mark", "newest", "block", "released", "full", "left", "active", "erased",
    "pulls",
)  # fmt: skip
"""Entries of a head that are whole and not negative, one for every arm."""
BY_ARM = (*COUNTS, "last", "value", "size")
BY_SLOT = ("due", "many")
DEPTH = 2
"""Blocks of an arm for which there is room in the beginning."""


class RuleFailed(Exception):
    """The rule of the policy fails on what was released."""


class Steps(NamedTuple):
    """Steps of the protocol with the functions of a policy, interpreted."""

    plan: Function
    turn: Function
    seat: Function
    release: Function
    owes: Function
    follow: Function
    due_of: Function
    first_due: Function
    hasten: Function
    close: Function
    leave: Function
    end: Function
    mark: Function


STEPS = {
    "turn": turn, "seat": seat, "release": release, "first_due": first_due, "hasten": hasten,
    "close": close, "leave": leave, "end": end,
}  # fmt: skip


def below(random: Randomness, number: int) -> int:
    """A whole number below another, by the randomness of the trial."""
    return random.below(number)


@lru_cache(maxsize=256)
def steps_of(policy: Policy, terms: Playing, source: Source) -> Steps:
    """Who gets which place, what a release does, and what comes of it."""
    filled: dict[str, Any] = {**slots(policy, terms, source, "calendar"), "below": below}
    if not terms.estimate:  # who is missing was counted as declared before
        filled["release_block"] = release_whole
    linked = {**filled, **STEPS}
    return Steps(*(Kernel(linked[name], **filled).interpreted() for name in Steps._fields))


@lru_cache(maxsize=256)
def device_of(policy: Policy, source: Source) -> Function | None:
    """What local releases make of one reward; None where a curator is trusted."""
    respond = policy.release.respond_kernel(source)
    return None if respond is None else respond.interpreted()


class StreamRun(Recorded, Run):
    """A run of a finite-armed policy whose blocks fill and wait concurrently: by its index."""

    PLAN: ClassVar[str] = "index"
    """who gets which place: a key of `discreet.protocol.PLANS`"""
    CUTS: ClassVar[bool] = False
    """whether a block that the horizon cuts off is never released"""
    CHANGES: ClassVar[bool] = True
    """whether arms may be dropped and added, and the trial ended, by the user"""
    ESTIMATES: ClassVar[bool] = False
    """whether missing outcomes are estimated"""
    NO_NEWCOMERS: ClassVar[str] = ""
    """why no arm can be added; empty if one can"""
    FEWEST: ClassVar[int] = 1
    """arms that cannot be dropped"""
    NO_ESTIMATE: ClassVar[str] = "it does not release sums of blocks with Laplace or Gaussian noise"
    """why missing outcomes cannot be estimated, where they cannot"""

    device: Function | None
    """what local releases make of one reward; None where a curator is trusted"""
    release: Any
    """the parameters of the release"""
    random: Randomness
    head: Head
    """all that is public, in lists"""
    design: Design
    steps: Steps
    setting: Setting
    window: int
    """places that are planned at once, and drawn in a random order"""
    shares: tuple[float, ...]
    """the least share of every arm"""
    rounded: bool = False
    """whether outcomes are rounded at random before they are summed, for sums that are whole"""
    planned: list[int]
    """places of every arm in the window that is open, those that were drawn included; empty before
    the first"""

    def __init__(
        self, policy: Policy, setting: Setting, random: Randomness, noise: Draws | None,
        window: int, shares: Sequence[float],
    ) -> None:  # fmt: skip
        self.device = device_of(policy, setting.source)
        self.random, self.noise, self.horizon = random, noise, setting.horizon
        self.window, self.shares, self.setting = window, tuple(shares), setting
        self.rest = getattr(policy, "rest", 0)
        self.planned = []
        self.ledger = ledger_lists(policy.release.ledger(setting))
        self.releases, self.history = [0] * setting.arms, [[] for _ in range(setting.arms)]
        self.arm, self.begun, self.private = 0, True, False
        self.plan_as(policy, setting)

    def plan_as(self, policy: Policy, first: Setting) -> None:
        """Play by what was fixed for the arms of the beginning, whatever was added since."""
        terms = Playing(
            self.PLAN, self.window, self.shares, estimate=self.ESTIMATES, longest=self.window,
            cuts=self.CUTS,
        )  # fmt: skip
        started = begin(policy, self.setting, terms, DEPTH, epochs=1, first=first)
        self.design, self.head = as_lists(started.design), as_lists(started.head)
        self.steps = steps_of(policy, terms, self.setting.source)
        self.rule, self.release = self.design.rule, self.design.release
        self.recorded = recording(policy, first)

    # --- what is public ---------------------------------------------------------------------------

    @property
    def view(self) -> View:
        """What is released."""
        return View(self.head.value, self.head.size, self.head.pulls)

    @property
    def memory(self) -> Any:
        """The rule's own notes."""
        return self.head.memory

    @property
    def answer(self) -> int | None:
        """The recommended arm, once there is one."""
        return None if self.head.at[ANSWER] < 0 else self.head.at[ANSWER]

    @property
    def looked(self) -> int:
        """Looks that the rule has had."""
        return self.head.at[LOOKED]

    @property
    def latest(self) -> float:
        return self.head.when[LATEST]

    @property
    def has_ended(self) -> bool:
        """Whether no one gets a place any more."""
        return self.head.at[OVER] == 1

    @property
    def is_over(self) -> bool:
        return self.has_ended and self.head.at[WAITING] == 0

    @property
    def used(self) -> list[int]:
        """Places of every arm but those of an open block that was thrown away."""
        head = self.head
        each = zip(head.places, head.closed, head.erased, strict=True)
        return [closed if erased else places for places, closed, erased in each]

    @property
    def open_arms(self) -> list[int]:
        """Arms that have someone in their open block."""
        places = enumerate(self.head.places)
        return [arm for arm, number in places if number > self.head.closed[arm]]

    def open_key(self, arm: int) -> str:
        """The name of an arm's open block."""
        return key_of(arm, self.head.block[arm] + 1)

    # --- what is released -------------------------------------------------------------------------

    def turn_to(self, key: str, now: float) -> None:
        self.arm = arm_of(key)
        self.head.when[LATEST] = now

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        """Release the oldest closed block of the arm. Nothing else looks at outcomes."""
        head, arm, design = self.head, self.arm, self.design
        if not self.begun:
            self.miss()
        before, full = (head.value[arm], head.size[arm]), head.full[arm]
        known = self.known(arm)
        slot = arm * design.depth + head.released[arm] % design.depth
        none: Any = [0] * len(head.due)
        vault = Vault(none, none.copy(), self.ledger, None)
        vault.total[slot], vault.answers[slot] = outcomes
        self.steps.release(design, head, vault, arm, self.noise)
        self.steps.hasten(design, head)
        # some releases continue collecting, and show nothing yet
        if self.ESTIMATES or (head.value[arm], head.size[arm]) != before:
            self.releases[arm] += 1
            if head.full[arm] > full:
                self.enter(arm, known)
        self.begun = not self.owes

    @property
    def owes(self) -> bool:
        """Whether the rule is to look at the last release before anything else happens."""
        return bool(self.steps.owes(self.design, self.head))

    def completed(self, block: Any, default: int | None) -> Outcomes:
        """The sum of a block's outcomes, and how many they are: missing ones count as declared."""
        values = super().completed(block, default)
        if self.rounded:
            values = [self._rounded(value) for value in values]
        return sum(values), len(block.places)

    def _rounded(self, steps: int) -> int:
        """One with the probability that the outcome is of one, else nothing. There is a draw for
        every place, whatever came."""
        whole = self.setting.source.resolution
        return whole if self.random.below(whole) < steps else 0

    @property
    def is_local(self) -> bool:
        return self.device is not None

    def respond(self, reward: int) -> int:
        assert self.device is not None
        response: int = self.device(self.release, reward, self.noise)
        return response

    def largest_scale(self, policy: Policy, setting: Setting) -> float:
        """The largest scale, in steps, that noise can have up to the horizon."""
        return policy.release.largest_scale(setting)

    def miss(self) -> None:
        """A release comes although the rule has not looked at the one before."""

    def known(self, arm: int) -> object:
        """What `enter` compares with."""
        return None

    def enter(self, arm: int, before: object) -> None:
        """A whole block enters the record. One that was cut off before its mark does not: its size
        may depend on releases, and intervals count on sizes that do not."""
        self.note(arm)

    def begin(self) -> None:
        """What comes of the last release: dropped arms, the verdict, the length of open blocks."""
        self.steps.follow(self.design, self.head, self.arm, self.latest, self.random)
        self.steps.hasten(self.design, self.head)
        self._make_room()
        self.begun = True

    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        """Of the blocks that are due, the first in the order (due, arm)."""
        head, wait = self.head, terms.deadline
        if head.at[WAITING] == 0:
            return None
        if wait is None:
            head, wait = self._answered(blocks, terms), 0.0
        if head.when[SOON] + wait > now:
            return None
        arm = self.steps.first_due(self.design, head)
        return Due(key_of(arm, head.released[arm] + 1), head.when[SOON] + wait)

    def _answered(self, blocks: Blocks, terms: Terms) -> Head:
        """The head of a trial without a deadline: a block is due, now, when all have answered."""
        head, depth = self.head, self.design.depth
        shown = head._replace(due=[NEVER] * len(head.due), when=list(head.when))
        for arm in range(len(head.places)):
            for number in range(head.released[arm], head.block[arm]):
                block = blocks[key_of(arm, number + 1)]
                if rules.due_at(len(block.places), block.outcomes, None, terms, 0.0) is not None:
                    shown.due[arm * depth + number % depth] = 0.0
        self.steps.hasten(self.design, shown)
        return shown

    def shown_due(self, arm: int, number: int, terms: Terms) -> float | None:
        """When a closed block is due, if that is known: without a deadline no one is told who
        has responded."""
        if terms.deadline is None:
            return None
        ahead = list(self.head.released)
        ahead[arm] = number
        due: float = self.steps.due_of(self.design, self.head._replace(released=ahead), arm)
        return None if due == NEVER else due + terms.deadline

    def course_after(self, course: object, due: Due) -> Course | None:
        arm, head = self.arm, self.head
        return longer(course, due.at, arm, head.size[arm], head.value[arm], tuple(head.places))

    # --- who gets which place, and what becomes of an outcome -------------------------------------

    def admit(self, member: Member | None, blocks: Blocks, terms: Terms, now: float) -> Admission:
        # a block that was thrown away: the end was asked for, and perhaps a crash cut that short
        over = self.has_ended or any(self.head.erased)
        settled = member is None or _is_settled(member, blocks, terms, now)
        return rules.admit(member, not over and not self.waits, settled, over, terms)

    @property
    def waits(self) -> bool:
        """Whether no one gets a place before the next release."""
        return False

    @property
    def visited(self) -> int:
        """The arm of anyone who comes then, or after a test: the winner; the control if there is
        none."""
        return len(self.releases) - 1 if self.answer is None else self.answer

    def seated(
        self, unit: Name, member: Member | None, context: Context, blocks: Blocks, terms: Terms,
        now: float,
    ) -> tuple[Member, Place | None, Run]:  # fmt: skip
        if self.waits or (self.rest and self.has_ended):
            return Member(self.visited), None, self
        run = self._stepped()
        head, before, fresh = run.head, self.head.at[TAKEN], self.head.at[LEFT] == 0
        try:
            arm, _ = self.steps.turn(run.design, head, 1, self.random)
        except Exception as error:
            raise RuleFailed(f"{type(error).__name__}: {error}") from None
        if fresh:
            run.planned = list(head.left)
            run.planned[arm] += 1
        key, slot = run.open_key(arm), head.places[arm] - head.closed[arm]
        waiting = head.at[WAITING]
        self.steps.seat(run.design, head, arm, 1, now)
        if head.at[WAITING] > waiting:
            run._make_room()
        used = 1 if member is None else member.used + 1
        place = Place(unit, arm, None, None, False, now, before)
        return Member(arm, used, key, slot, run.share_of(arm)), place, run

    def share_of(self, arm: int) -> float | None:
        """The probability of an arm for each participant of the open window: its order is random,
        so it is the share of the arm's places."""
        return self.planned[arm] / sum(self.planned) if self.planned else None

    def _stepped(self) -> Self:
        """A copy for one more place. The rule's notes and the plan's are written when a window is
        planned; else they are shared."""
        run, head = self._shallow(), self.head
        if head.at[LEFT] == 0:
            run.head = copied(head)
            run.make_notes()
        else:
            parts: list[Any] = [part.copy() if type(part) is list else part for part in head]
            run.head = Head(*parts)
        return run

    def make_notes(self) -> None:
        """Room for what the plan writes down when a window is planned."""

    def _make_room(self, depth: int = 0) -> None:
        """Room for one more block of every arm, and for as many as `depth`."""
        head = self.head
        each = zip(head.block, head.released, strict=True)
        wanted = max(depth, 1 + max(block - done for block, done in each))
        while self.design.depth < wanted:
            none: Any = [0] * len(head.due)
            empty = Vault(none, none, None, None)
            design, head, _ = roomier(Started(self.design, head, empty), 2 * self.design.depth)
            self.design, self.head = as_lists(design), as_lists(head)

    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        block = blocks.get(member.block)
        if block is None:
            return "dropped"
        due = rules.closes(terms, block.places[member.slot].at or 0.0)
        return rules.accept(member, due, terms, block.outcomes, value, now)

    # --- the life of a trial ----------------------------------------------------------------------

    def copy(self) -> Self:
        other = super().copy()
        other.releases = self.releases.copy()
        other.head, other.history = copied(self.head), copied_history(self.history)
        return other

    def dropped(self, arm: int) -> Self:
        """No more places for an arm, from the next window on, which is planned anew."""
        other = self.copy()
        other.leave_window()
        self.steps.leave(other.design, other.head, arm)
        return other.changed()

    def ended(self) -> Self:
        """No more units: open blocks close, and are released when they are due."""
        other = self.copy()
        other.leave_window()
        self.steps.end(other.design, other.head)
        return other.changed()

    def voided(self) -> Self:
        """This run without the places of blocks that are not released: they are free again."""
        other = self.copy()
        other.leave_window()
        head = other.head
        for arm in range(len(head.places)):
            head.places[arm] = head.closed[arm] = head.pulls[arm]
            head.block[arm] = head.released[arm]
            head.mark[arm] = head.places[arm] + self.steps.mark(other.design, head, arm)
        head.at[WAITING], head.at[TAKEN] = 0, sum(head.places)
        none: Any = [NEVER] * len(head.due), [0] * len(head.many)
        other.head = head._replace(due=none[0], many=none[1])
        return other.changed()

    def without(self, arm: int) -> Self:
        """The open block of an arm is thrown away."""
        other = self.copy()
        other.head.erased[arm] = 1
        return other

    def leave_window(self) -> None:
        """No one gets the places that the window has left."""
        head = self.head
        head.at[LEFT] = 0
        for arm in range(len(head.left)):
            head.left[arm] = 0

    def changed(self) -> Self:
        """After a change by hand."""
        self.steps.hasten(self.design, self.head)
        self._make_room()
        return self

    def grown(self, fresh: Run) -> StreamRun:
        """This run with the arms of `fresh`, which has more."""
        assert isinstance(fresh, StreamRun)
        if self.NO_NEWCOMERS:
            raise TrialError(self.NO_NEWCOMERS)
        old, other, arms = self.copy(), fresh.copy(), len(self.releases)
        old.leave_window()
        depth = max(old.design.depth, other.design.depth)
        old._make_room(depth)
        other._make_room(depth)
        joined: dict[str, Any] = {"at": old.head.at, "when": old.head.when}
        for name in BY_ARM:
            joined[name] = getattr(old.head, name) + getattr(other.head, name)[arms:]
        for name in BY_SLOT:
            joined[name] = getattr(old.head, name) + getattr(other.head, name)[arms * depth :]
        for name in ("memory", "pairs"):
            was, new = getattr(old.head, name), getattr(other.head, name)
            joined[name] = type(new)(
                *(_with_more(a, b, arms) for a, b in zip(was, new, strict=True))
            )
        joined["notes"] = old.more_notes(len(other.releases))
        columns: tuple[str, ...] = self.ledger.__slots__
        for field in columns:
            values = _with_more(getattr(old.ledger, field), getattr(other.ledger, field), arms)
            setattr(other.ledger, field, values)
        other.head, other.begun = Head(**joined), old.begun
        other.releases, other.history = old.releases + other.releases[arms:], None
        if old.history is not None:
            other.history = [*old.history, *([] for _ in other.releases[arms:])]
        return other.changed()

    def more_notes(self, arms: int) -> Any:
        """The plan's notes, with more arms."""
        return self.head.notes

    def standing(self, blocks: Blocks, terms: Terms, failure: str) -> Standing:
        head = self.head
        found: list[BlockReport] = []
        for arm in range(len(self.releases)):
            earlier: float | None = -NEVER  # blocks of an arm are released in their order
            for number in range(head.released[arm], head.block[arm] + 1):
                block = blocks.get(key_of(arm, number + 1))
                if block is None:
                    continue
                closed, filled = number < head.block[arm], len(block.places)
                size = filled if closed else head.mark[arm] - head.closed[arm]
                due = self.shown_due(arm, number, terms) if closed and earlier is not None else None
                earlier = due = None if due is None or earlier is None else max(due, earlier)
                found.append(
                    {
                        "arm": arm, "block": number + 1, "size": None if size >= LONGEST else size,
                        "filled": filled, "due": due,
                    }
                )  # fmt: skip
        status = "collecting"
        if self.has_ended:
            status = "settling" if head.at[WAITING] > 0 else "finished"
        elif failure or not self.begun:
            status = "stuck"
        due = min((entry["due"] for entry in found if entry["due"] is not None), default=None)
        return Standing(status, sum(self.used), due, blocks=found)

    # --- as JSON, and back ------------------------------------------------------------------------

    def public(self) -> dict[str, object]:
        return {
            "begun": self.begun, "arm": self.arm, "releases": self.releases.copy(),
            "history": self.saved_history(), "head": head_to_dict(self.head),
            "planned": self.planned.copy(),
        }  # fmt: skip

    def moved(self) -> dict[str, object]:
        """What a place changes."""
        return {"head": head_to_dict(self.head), "planned": self.planned.copy()}

    def _restore(self, data: Json) -> None:
        ledger = restored("ledger", self.ledger, data)
        releases, begun = data.get("releases"), data.get("begun")
        if type(releases) is not list or not is_like(releases, self.releases):
            raise DamagedFile("the state of the run lacks its counts of releases")
        if type(begun) is not bool:
            raise DamagedFile("the state of the run does not say whether its rule has looked")
        self.restore_record(data)
        self.ledger, self.releases, self.begun = ledger, releases.copy(), begun
        self.design, self.head = head_from_dict(data.get("head"), self.design, self.head)
        planned = data.get("planned")
        whole = isinstance(planned, list) and all(type(many) is int for many in planned)
        if not isinstance(planned, list) or not whole or not _holds(planned, list(self.head.left)):
            raise DamagedFile("the state of the run does not say how its window was planned")
        self.planned = planned.copy()
        self.steps.hasten(self.design, self.head)


def copied(state: T) -> T:
    """The same lists again."""
    kind: Any = type(state)
    if isinstance(state, list):
        return state.copy()  # type: ignore[return-value]
    return kind(*map(copied, state)) if isinstance(state, tuple) else state


def _with_more(old: object, new: object, arms: int) -> object:
    if type(old) is not list or type(new) is not list:
        return old
    if len(old) != arms:
        raise TrialError(
            "add() is for policies that release blocks of one arm; this one counts "
            "in trees, whose noise is shared out beforehand"
        )
    return old + new[arms:]


def head_to_dict(head: Head) -> dict[str, Any]:
    """JSON-ready. When the next block is due follows from the rest."""
    found: dict[str, Any] = {
        name: value.copy() if type(value) is list else _saved(value)
        for name, value in head._asdict().items()
    }
    return found | {"when": head.when[LATEST]}


def _saved(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _saved(each) for name, each in value._asdict().items()}
    return value.copy() if type(value) is list else value


def head_from_dict(data: object, design: Design, fresh: Head) -> tuple[Design, Head]:
    """The inverse, with the design that has room for it; `fresh` is a head of the same kind."""
    if not isinstance(data, Mapping) or set(data) != set(Head._fields):
        raise DamagedFile("the state of the run lacks its streams")
    arms = len(fresh.places)
    for name in BY_ARM:
        _check_list(name, data[name], arms, whole=name in COUNTS)
    _check_list("at", data["at"], len(fresh.at), whole=False)
    if not all(type(value) is int for value in data["at"]):
        raise DamagedFile("the streams of the run have damaged counts")
    due = data["due"]
    depth = len(due) // arms if type(due) is list else 0
    if depth < 1 or len(due) != arms * depth:
        raise DamagedFile("the streams of the run have no room for their blocks")
    _check_list("due", due, arms * depth, whole=False)
    _check_list("many", data["many"], arms * depth, whole=True)
    if not is_number(data["when"]) or not isfinite(data["when"]):
        raise DamagedFile("the streams of the run do not say when they were read")
    own = {
        name: _restored(name, data[name], getattr(fresh, name))
        for name in ("memory", "pairs", "notes")
    }
    lists = {name: data[name].copy() for name in (*BY_ARM, *BY_SLOT, "at")}
    head = Head(**lists, when=[NEVER, float(data["when"])], **own)
    if not _is_sound(head, depth):
        raise DamagedFile("the counts of the streams contradict each other")
    return design._replace(depth=depth), head


def _check_list(name: str, found: object, length: int, whole: bool) -> None:
    if type(found) is not list or len(found) != length:
        raise DamagedFile(f"the streams of the run have {name} of another shape")
    sound = all(type(x) is int and x >= 0 if whole else is_number(x) for x in found)
    if not sound:
        raise DamagedFile(f"the streams of the run have damaged {name}")


def _restored(name: str, data: object, fresh: Any) -> Any:
    """A part of the head, of the fields that a fresh one has; lists of notes may be longer."""
    if not hasattr(fresh, "_fields"):
        if type(fresh) is list:
            if type(data) is not list or not all(map(is_number, data)):
                raise DamagedFile(f"the {name} of the run is damaged")
            if name != "notes" and len(data) != len(fresh):
                raise DamagedFile(f"the {name} of the run is of another shape")
            return data.copy()
        return data
    if not isinstance(data, Mapping) or set(data) != set(fresh._fields):
        raise DamagedFile(f"the state of the run lacks its {name}")
    return type(fresh)(
        *(_restored(name, data[field], getattr(fresh, field)) for field in fresh._fields)
    )


def _is_sound(head: Head, depth: int) -> bool:
    """Whether the counts fit together."""
    arms, waiting = len(head.places), 0
    for arm in range(arms):
        flight = head.block[arm] - head.released[arm]
        waiting += flight
        if not 0 <= flight < depth or head.active[arm] > 1 or head.erased[arm] > 1:
            return False
        if not head.closed[arm] <= head.places[arm] <= max(head.mark[arm], head.closed[arm]):
            return False
        if not 0 <= head.pulls[arm] <= head.closed[arm] or head.full[arm] > head.released[arm]:
            return False
    at = head.at
    return (
        at[TAKEN] == sum(head.places) and at[LEFT] == sum(head.left) and at[WAITING] == waiting
        and at[LOOKED] >= 0 and -1 <= at[ANSWER] < arms and at[OVER] in (0, 1)
    )  # fmt: skip


def _holds(planned: Sequence[int], left: Sequence[int]) -> bool:
    """Whether what is left of a window can be left of what was planned."""
    if not planned:  # none was, or by coins of the policy
        return True
    if len(planned) != len(left):  # an arm has come since, and the window is over
        return sum(left) == 0
    return all(many >= rest for many, rest in zip(planned, left, strict=True))


def _is_settled(member: Member, blocks: Blocks, terms: Terms, now: float) -> bool:
    """Whether a unit's place needs no more waiting: with a deadline its own has passed, whether it
    responded or not; without one, it is public that it has responded."""
    block = blocks.get(member.block)
    if block is None:
        return True
    due = rules.closes(terms, block.places[member.slot].at or 0.0)
    return member.slot in block.outcomes if due is None else now >= due
