"""A run in streams: blocks of all arms fill and wait side by side (`streams`).

This class plays rows with an index: the rule is asked for every place of a *window*, which is then
given out in a random order. Runs that compare arms at looks (`looks`), by top two (`top_two`) or
within epochs (`epochs`) plan otherwise, and share everything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

from .._checks import Name
from .._compiled import Function, Kernel
from ..errors import DamagedFile, TrialError
from ..inference._record import recording
from ..policies import Policy
from ..policies._schedules import LONGEST
from ..policies._view import Setting, View, shown
from ..protocol import Design, Head, Playing, as_lists, begin, slots
from ..protocol._state import ANSWER, LEFT, LOOKED, OVER
from . import _rules as rules
from ._course import longer
from ._finite_run import FiniteRun
from ._rules import Action, Admission, Effect, Member, Place, Terms
from ._run import Blocks, Due, Run, Standing
from ._streams import Streams, arm_of, key_of

if TYPE_CHECKING:
    from .._types import Json
    from ..privacy._source import Source
    from ._course import Course
    from ._documents import BlockReport
    from ._randomness import Draws, Randomness
    from ._run import Context, Outcomes


class RuleFailed(Exception):
    """The rule of the policy fails on what was released."""


class Steps(NamedTuple):
    """Steps of the protocol with the functions of a policy, interpreted."""

    plan: Function
    follow: Function


@lru_cache(maxsize=256)
def steps_of(policy: Policy, terms: Playing, source: Source) -> Steps:
    """Who gets which place, and what comes of a release."""
    filled = slots(policy, terms, source)
    return Steps(*(Kernel(filled[name], **filled).interpreted() for name in Steps._fields))


class StreamRun(FiniteRun):
    """A run of a finite-armed row whose blocks fill and wait side by side."""

    PLAN: ClassVar[str] = "index"
    """who gets which place: a key of `discreet.protocol.PLANS`"""
    ESTIMATES: ClassVar[bool] = False
    """whether missing outcomes are estimated"""
    looked: int = 0
    """looks that the rule has had"""

    BEGUN: ClassVar[tuple[str, ...]] = ()
    FIRST: ClassVar[str | None] = None
    NO_NEWCOMERS: ClassVar[str] = ""
    """why no arm can be added; empty if one can"""
    FEWEST: ClassVar[int] = 1
    """arms that cannot be dropped"""
    NO_ESTIMATE: ClassVar[str] = "it does not release sums of blocks with Laplace or Gaussian noise"
    """why missing outcomes cannot be estimated, where they cannot"""

    random: Randomness
    streams: Streams
    window: int
    """places that are planned at once, and drawn in a random order"""
    shares: tuple[float, ...]
    """the least share of every arm"""
    setting: Setting
    design: Design
    steps: Steps

    def __init__(
        self, policy: Policy, setting: Setting, random: Randomness, noise: Draws | None,
        window: int, shares: Sequence[float],
    ) -> None:  # fmt: skip
        super().__init__(policy, setting, random, noise)
        self.window, self.shares = window, tuple(shares)
        self._design(policy, setting, setting)
        self.streams = Streams.fresh([self.length_after(arm, 0) for arm in range(setting.arms)])

    def plan_as(self, policy: Policy, first: Setting) -> None:
        """Play by what was fixed for the arms of the beginning, whatever was added since."""
        self.schedule = policy.schedule.parameters(first)
        self.rule = policy.rule.parameters(first)
        self.recorded = recording(policy, first)
        self._design(policy, self.setting, first)
        lengths = [self.length_after(arm, 0) for arm in range(len(self.releases))]
        self.streams = Streams.fresh(lengths)

    def _design(self, policy: Policy, setting: Setting, first: Setting) -> None:
        """The design of the protocol's plan: who gets which place is decided there."""
        self.setting = setting
        terms = Playing(
            self.PLAN, self.window, self.shares, estimate=self.ESTIMATES, longest=self.window
        )
        design = begin(policy, setting, terms, depth=1).design
        if first is not setting:
            design = begin(policy, first, terms._replace(shares=()), depth=1).design._replace(
                share=design.share, room=design.room
            )
        self.design = as_lists(design)
        self.steps = steps_of(policy, terms, setting.source)

    def head(self) -> Head:
        """Where the streams stand, as the protocol has it: public, and a copy."""
        streams, view, arms = self.streams, self.view, len(self.releases)
        return Head(
            places=list(streams.places), closed=list(streams.closed), mark=list(streams.marks),
            newest=list(streams.newest), block=[number - 1 for number in streams.block],
            released=list(streams.released), full=[0] * arms, left=[0] * arms,
            active=[int(on) for on in streams.active], erased=[int(on) for on in streams.erased],
            last=[0.0] * arms, value=list(view.value), size=list(view.size),
            pulls=list(view.pulls), due=[0.0] * arms, many=[0] * arms,
            at=[streams.total, 0, 0, self.looked, -1 if self.answer is None else self.answer,
                int(streams.over)],
            when=[inf, streams.latest],
            memory=self.memory.copy(), pairs=self.paired(), notes=self.noted_cells(),
        )  # fmt: skip

    def think(self) -> None:
        """What comes of the last release: dropped arms, the verdict, the length of open blocks."""
        head = self.head()._replace(left=list(self.streams.left))
        head.at[LEFT] = sum(head.left)
        self.steps.follow(self.design, head, self.arm, self.latest, self.random)
        self.memory, self.looked = head.memory, head.at[LOOKED]
        self.answer = None if head.at[ANSWER] < 0 else head.at[ANSWER]
        self.streams = self.streams._replace(
            closed=tuple(head.closed), marks=tuple(head.mark), newest=tuple(head.newest),
            block=tuple(number + 1 for number in head.block), left=tuple(head.left),
            active=tuple(map(bool, head.active)), over=bool(head.at[OVER]),
        )  # fmt: skip

    def paired(self) -> object:
        """Sums and counts of those who answered, where they are released."""
        return None

    def noted_cells(self) -> object:
        """Of a plan that keeps notes."""
        return None

    def begin(self) -> None:
        """An index is asked when somebody comes, not when something was released."""
        self.begun = True

    # --- what is released -------------------------------------------------------------------------

    def turn_to(self, key: str, now: float) -> None:
        self.arm, self.streams = arm_of(key), self.streams._replace(latest=now)

    def publish(self, actions: Sequence[Action | None], outcomes: Outcomes) -> None:
        """Release the oldest closed block of the arm. Nothing else looks at outcomes."""
        arm, rounds, view = self.arm, len(actions), self.view
        whole, before = self.is_whole(arm, rounds), (view.value[arm], view.size[arm])
        self.t += rounds
        view.pulls[arm] += rounds
        self.kernels.publish(self.release, self.ledger, view, arm, rounds, outcomes, self.noise)
        self.follow(rounds, whole, before)

    def follow(self, rounds: int, whole: bool, before: tuple[float, int]) -> None:
        """Count the release of a block, of so many places; `before` are mean and size that were
        public. Some releases go on collecting and show nothing yet."""
        arm, view = self.arm, self.view
        if (view.value[arm], view.size[arm]) != before:
            self.releases[arm] += 1
            if whole:
                self._note(arm)
        self.streams = self.streams.released_one(arm)

    def is_whole(self, arm: int, rounds: int) -> bool:
        """Whether the oldest closed block of an arm belongs in the record. One that was cut off
        before its mark does not: its size may depend on releases, and intervals count on sizes
        that do not."""
        return rounds == self.length_after(arm, int(self.view.pulls[arm]))

    @property
    def latest(self) -> float:
        return self.streams.latest

    def next_due(self, blocks: Blocks, terms: Terms, now: float) -> Due | None:
        """Of the blocks that are due, the first in the order (due, arm)."""
        if not self.streams.waits:
            return None
        found: tuple[float, int] | None = None
        for arm in range(len(self.releases)):
            due = self.due_of(arm, blocks, terms, now)
            if due is not None and due <= now and (found is None or (due, arm) < found):
                found = due, arm
        if found is None:
            return None
        at, arm = found
        return Due(key_of(arm, self.streams.released[arm] + 1), at)

    def due_of(self, arm: int, blocks: Blocks, terms: Terms, now: float) -> float | None:
        """When the oldest closed block of an arm is due. An arm's blocks are released in order."""
        if not self.streams.waiting(arm):
            return None
        return self.own_due(arm, self.streams.released[arm] + 1, blocks, terms, now)

    def own_due(
        self, arm: int, number: int, blocks: Blocks, terms: Terms, now: float
    ) -> float | None:
        """When a closed block of an arm is due, by itself."""
        block = blocks[key_of(arm, number)]
        fixed = rules.closes(terms, block.places[-1].at or 0.0)
        return rules.due_at(len(block.places), len(block.outcomes), fixed, terms, now)

    def next_block(self, key: str) -> str | None:
        return None

    def course_after(self, course: object, due: Due) -> Course | None:
        arm, view = self.arm, self.view
        size, value = int(view.size[arm]), float(view.value[arm])
        return longer(course, due.at, arm, size, value, self.streams.places)

    def noted_in(self, blocks: Blocks) -> str | None:
        return None

    @property
    def is_over(self) -> bool:
        return self.streams.over and not self.streams.waits

    # --- who gets which place, and what becomes of an outcome -------------------------------------

    def admit(self, member: Member | None, blocks: Blocks, terms: Terms, now: float) -> Admission:
        # a block that was thrown away: the end was asked for, and perhaps a crash cut that short
        over = self.streams.over or any(self.streams.erased)
        settled = member is None or _is_settled(member, blocks, terms, now)
        return rules.admit(member, not over, settled, over, terms)

    def seated(
        self, unit: Name, member: Member | None, context: Context, blocks: Blocks, terms: Terms,
        now: float,
    ) -> tuple[Member, Place, Run]:  # fmt: skip
        run = self
        if not any(self.streams.left):
            try:
                run = self.opened(self.planned())
            except Exception as error:
                raise RuleFailed(f"{type(error).__name__}: {error}") from None
        before = run.streams
        arm = _drawn(before.left, self.random)
        key, slot = key_of(arm, before.block[arm]), before.places[arm] - before.closed[arm]
        after = run.at(run.taken(before, arm, now))
        used = 1 if member is None else member.used + 1
        place = Place(unit, arm, None, None, False, now, before.total, after.streams.left)
        return Member(arm, used, key, slot), place, after

    def accept(
        self, member: Member, value: int, blocks: Blocks, terms: Terms, now: float
    ) -> Effect:
        block = blocks.get(member.block)
        if block is None:
            return "dropped"
        due = rules.closes(terms, block.places[member.slot].at or 0.0)
        return rules.accept(member, due, terms, block.outcomes, value, now)

    def at(self, streams: Streams) -> Self:
        """The run with other streams; it shares the rest, which no step changes in place but on
        a `copy`."""
        other = self._shallow()
        other.streams = streams
        return other

    # --- what comes next: made of counts and releases ---------------------------------------------

    def length_after(self, arm: int, places: int) -> int:
        """Places of the block of an arm that begins after so many: the schedule's, on counts."""
        pulls = [0] * len(self.releases)
        pulls[arm] = places
        view = shown(View([0.0] * len(pulls), [0] * len(pulls), pulls))
        length: int = self.kernels.length(self.schedule, self.memory, view, arm)
        return min(length, LONGEST)

    def opened(self, left: tuple[int, ...]) -> Self:
        """The run with a window that was planned."""
        return self.at(self.streams._replace(left=left))

    def taken(self, before: Streams, arm: int, now: float) -> Streams:
        """The streams with one more place; the horizon closes all blocks."""
        after = before.taken(arm, self.length_after, now)
        if self.horizon is not None and after.total >= self.horizon:
            return after.ended()
        return after

    def planned(self, random: Randomness | None = None) -> tuple[int, ...]:
        """How many places of the next window every arm gets: by the protocol's plan."""
        head = self.head()
        self.steps.plan(self.design, head, 1, self.random if random is None else random)
        return tuple(head.left)

    # --- the life of a trial ----------------------------------------------------------------------

    def dropped(self, arm: int) -> Self:
        """No more places for an arm, from the next window on."""
        other = self.copy()
        none = (0,) * len(self.releases)
        other.streams = self.streams.without_arm(arm)._replace(left=none)
        return other

    def ended(self) -> Self:
        """No more units: open blocks close, and are released when they are due."""
        other = self.copy()
        other.streams = self.streams.ended()
        return other

    def without(self, arm: int) -> Self:
        """The open block of an arm is thrown away."""
        other = self.copy()
        other.streams = self.streams.without(arm)
        return other

    def grown(self, fresh: Run) -> StreamRun:
        """This run with the arms of `fresh`, which has more."""
        assert isinstance(fresh, StreamRun)
        if self.NO_NEWCOMERS:
            raise TrialError(self.NO_NEWCOMERS)
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

    def standing(self, blocks: Blocks, terms: Terms, failure: str) -> Standing:
        streams = self.streams
        found: list[BlockReport] = []
        for arm in range(len(self.releases)):
            for number in range(streams.released[arm] + 1, streams.block[arm] + 1):
                block = blocks.get(key_of(arm, number))
                if block is None:
                    continue
                closed, filled = number < streams.block[arm], len(block.places)
                size = filled if closed else streams.marks[arm] - streams.closed[arm]
                due = self.shown_due(arm, number, blocks, terms) if closed else None
                found.append(
                    {
                        "arm": arm, "block": number, "size": None if size >= LONGEST else size,
                        "filled": filled, "due": due,
                    }
                )  # fmt: skip
        status = "collecting"
        if streams.over:
            status = "settling" if any(map(streams.waiting, range(len(self.releases)))) else ""
            status = status or "finished"
        elif failure or not self.begun:
            status = "stuck"
        due = min((entry["due"] for entry in found if entry["due"] is not None), default=None)
        return Standing(status, sum(streams.used), due, blocks=found)

    def shown_due(self, arm: int, number: int, blocks: Blocks, terms: Terms) -> float | None:
        """When a closed block is due, if that is known: without a deadline nobody is told who
        has responded."""
        if terms.deadline is None:
            return None
        return self.own_due(arm, number, blocks, terms, self.latest)

    # --- as JSON, and back ------------------------------------------------------------------------

    def replayed(self, blocks: Blocks) -> Self:
        run, counted = self, self.streams.total
        places = [place for block in blocks.values() for place in block.places]
        for place in sorted(places, key=lambda place: place.number or 0):
            if place.number is not None and place.number >= counted:
                run = run.again(place)
        run.check_blocks({key: len(block.places) for key, block in blocks.items()})
        return run

    def again(self, place: Place) -> Self:
        """The run with a place that was stored since the last release."""
        streams, arms, arm, left = self.streams, len(self.releases), place.arm, place.left
        fits = (
            place.number == streams.total and 0 <= arm < arms and type(place.at) in (int, float)
            and type(left) is tuple and len(left) == arms
            and all(type(places) is int and places >= 0 for places in left)
        )  # fmt: skip
        if not fits or streams.over or left is None or place.at is None:
            raise DamagedFile("the assignments since the last release are out of order")
        run = self
        if not any(streams.left):
            run = self.opened(tuple(n + (i == arm) for i, n in enumerate(left)))
        return run.at(run.taken(run.streams, arm, place.at)._replace(left=left))

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

    def public(self) -> dict[str, object]:
        return super().public() | {"streams": self.streams.to_dict()}

    def _restore(self, data: Json) -> None:
        super()._restore(data)
        self.streams = Streams.from_dict(data.get("streams"), len(self.releases))


def _is_settled(member: Member, blocks: Blocks, terms: Terms, now: float) -> bool:
    """Whether a unit's place needs no more waiting: with a deadline its own has passed, whether it
    responded or not; without one, it is public that it has responded."""
    block = blocks.get(member.block)
    if block is None:
        return True
    due = rules.closes(terms, block.places[member.slot].at or 0.0)
    return member.slot in block.outcomes if due is None else now >= due


def _drawn(left: tuple[int, ...], random: Randomness) -> int:
    """An arm with probability left/Σ left: a random order of the window, never written down."""
    number = random.below(sum(left))
    for arm, places in enumerate(left):
        if number < places:
            return arm
        number -= places
    raise AssertionError("the window is empty")
