"""What a trial in streams does at every call: settle, assign, record, and the turns of its life.

`Trial` is the class to use; this is the part of it that speaks of streams (`streams`), with the
same order of things: draw, store, erase, show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from ..checks import Name, check_arms, check_unit, one_of, read_clock
from ..errors import InvalidArgument, TrialError
from . import rules
from .course import longer
from .report import Shown
from .rules import Effect, Member, Place, Standing, Terms
from .setup import Plan, grown_plan
from .stores.base import bare
from .streams import StreamRun, key_of

if TYPE_CHECKING:
    from ..privacy.guarantees import Guarantee
    from .run import Run
    from .stores import Block, Store

REASONS = ("releases", "public", "board")
BOARD = "that and when the trial stopped may depend on raw outcomes, and is not covered"


class Streaming:
    """The part of `Trial` for streams."""

    policy: Any
    guarantee: Guarantee
    _arms: tuple[Name, ...]
    _clock: Callable[[], float]
    _plan: Plan
    _run: Run
    _store: Store
    _terms: Terms
    _missing: int
    _drawing: tuple[str, int | None] | None
    _fixed: dict[str, Any]
    _failure: str
    _lock: Any
    _stale: bool
    _ended: dict[str, Any]
    """how it was ended, if it was"""

    def _usable(self) -> None:
        raise NotImplementedError

    def _document(self, run: Run) -> dict[str, Any]:
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        raise NotImplementedError

    def _all_outcomes(self, block: Block) -> list[Any]:
        raise NotImplementedError

    @property
    def _streams(self) -> StreamRun:
        """The run; what it knows of the streams is what the store knows."""
        assert isinstance(self._run, StreamRun)
        return self._run

    # --- every call begins with this --------------------------------------------------------------

    def _settle_streams(self) -> float:
        """Release what is due, in the order (due, arm); the time, which never goes back."""
        self._usable()
        if self._stale:
            self._rebuild()
        now = self._later()
        while (found := self._next_due(now)) is not None:
            self._release_block(*found, now)
        return now

    def _later(self) -> float:
        latest = self._streams.streams.latest
        return latest if self._terms.deadline is None else max(latest, read_clock(self._clock))

    def _next_due(self, now: float) -> tuple[float, int] | None:
        """When the block was due that is to be released next, if any is, and its arm."""
        found: tuple[float, int] | None = None
        for arm in range(len(self._arms)):
            due = self._due(arm, now)
            if due is not None and due <= now and (found is None or (due, arm) < found):
                found = due, arm
        return found

    def _due(self, arm: int, now: float) -> float | None:
        """When the oldest closed block of an arm is due. An arm's blocks are released in order."""
        streams = self._streams.streams
        if not streams.waiting(arm):
            return None
        block = self._store.blocks[key_of(arm, streams.released[arm] + 1)]
        last = block.places[-1].at or 0.0
        return rules.due_at(len(block.places), last, len(block.outcomes), self._terms, now)

    def _release_block(self, due: float, arm: int, now: float) -> None:
        """Draw on a copy, then store and erase in one step; never draw a second time."""
        streams = self._streams.streams
        number = streams.released[arm] + 1
        key = key_of(arm, number)
        self._drawing = key, None
        run = self._streams.copy()
        try:
            run.publish_block(arm, self._all_outcomes(self._store.blocks[key]))
            run.streams = run.streams._replace(latest=now)
            fixed = {**self._fixed, "course": self._course_with(run, arm, due)}
            self._stale = True
            self._store.release(key, {**fixed, "protocol": run.to_dict()}, None)
            self._run, self._fixed = run, fixed
            self._stale, self._drawing = False, None
        except BaseException as error:
            del run
            raise bare(error)  # noqa: B904 - the same error

    def _course_with(self, run: StreamRun, arm: int, due: float) -> list[list[Any]]:
        view = run.view
        size, value, places = int(view.size[arm]), float(view.value[arm]), run.streams.places
        return longer(self._fixed.get("course"), due, arm, size, value, places)

    def _rebuild(self) -> None:
        """Bring this object to where the store is."""
        state = self._store.state
        if state.get("arms", list(self._arms)) != list(self._arms):
            arms = tuple(state["arms"])
            self._plan = grown_plan(self._plan, arms)
            self._arms = arms
        run = self._plan.run.copy()
        assert isinstance(run, StreamRun)
        run.restore(state["protocol"])
        counted = run.streams.total
        places = [place for block in self._store.blocks.values() for place in block.places]
        for place in sorted(places, key=lambda place: place.number or 0):
            if place.number is not None and place.number >= counted:
                run.streams = run.replayed(place.arm, place.number, place.at, place.left)
        run.check_blocks({key: len(block.places) for key, block in self._store.blocks.items()})
        self._run, self._fixed = run, {k: v for k, v in state.items() if k != "protocol"}
        self._fixed.pop("assigned", None)
        self._note_end(state.get("ended"))
        self._stale = False

    # --- the two calls of every day ---------------------------------------------------------------

    def _assign_place(self, unit: Name) -> Name:
        now = self._settle_streams()
        unit = check_unit(unit)
        member, run = self._store.member(unit), self._streams
        if member is not None and (run.streams.over or not self._returns(member, now)):
            return self._arms[member.arm]
        if run.streams.over:
            self._refuse_after_the_end()
        left = run.streams.left if any(run.streams.left) else self._window()
        arm = _drawn(left, run.random)
        before = run.streams._replace(left=left)
        key, slot = key_of(arm, before.block[arm]), before.places[arm] - before.closed[arm]
        after = run.taken(before, arm, now)
        used = 1 if member is None else member.used + 1
        place = Place(unit, arm, at=now, number=before.total, left=after.left)
        self._stale = True  # until the store and the run agree again
        self._store.assign(unit, Member(arm, used, key, slot), place)
        run.streams = after
        self._stale = False
        return self._arms[arm]

    def _returns(self, member: Member, now: float) -> bool:
        block, settled = self._store.blocks.get(member.block), True
        if block is not None:
            at = block.places[member.slot].at or 0.0
            settled = rules.is_settled(member, at, self._terms, block.outcomes, now)
        return rules.readmits(member, settled, self._terms)

    def _window(self) -> tuple[int, ...]:
        """The next window; a rule that fails leaves a trial that says so."""
        try:
            left = self._streams.planned()
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"
            raise TrialError(
                f"the rule of the policy fails on what was released ({self._failure}), so there is "
                "no arm for further units; what was released stands, see report(), and nothing is "
                "drawn again"
            ) from None
        self._failure = ""
        return left

    def _effect_of(self, member: Member, value: int, now: float) -> Effect:
        """What happens to an outcome of a unit that has an arm."""
        block = self._store.blocks.get(member.block)
        if block is None:
            return Effect.DROPPED
        at = block.places[member.slot].at or 0.0
        return rules.accept_place(member, at, self._terms, block.outcomes, value, now)

    # --- the life of a trial ----------------------------------------------------------------------

    def drop(self, arm: Name) -> None:
        """No more places for an arm. Its open block closes now and is released when it is due.

        Decide by `report()`, or by what is public: that is free.
        """
        with self._lock:
            self._settle_for_change("drop")
            streams, number = self._streams.streams, self._number_of(arm)
            if not streams.active[number]:
                return
            if sum(streams.active) == 1:
                raise TrialError(f"{arm!r} is the last arm that takes units; use stop()")
            active = tuple(on and i != number for i, on in enumerate(streams.active))
            none = (0,) * len(self._arms)
            self._change(streams.cut(number)._replace(active=active, left=none))

    def add(self, arm: Name) -> None:
        """A new arm, with an empty stream: one in K of the places until its first release."""
        with self._lock:
            self._settle_for_change("add")
            if arm in self._arms:
                raise InvalidArgument("arm", "be new", arm, "choose another name")
            arms = check_arms((*self._arms, arm))
            run = self._streams
            plan = grown_plan(self._plan, arms)
            grown = run.grown(plan.run)
            self._stale = True
            fixed = {**self._fixed, **plan.settings, "arms": list(arms)}
            self._store.release(None, {**fixed, "protocol": grown.to_dict()}, None)
            self._plan, self._arms, self._run, self._fixed = plan, arms, grown, fixed
            self._stale = False

    def stop(self, by: str = "releases") -> None:
        """No more units, as `finish`; and a word on why.

        - "releases": a rule on what `report()` shows. Free, like all that is made of it.
        - "public": reasons that have nothing to do with outcomes: money, season, law.
        - "board": somebody who has seen raw outcomes. That is not covered: the guarantee says so.
        """
        reason = one_of("by", by, *REASONS)
        with self._lock:
            self._settle_for_change("stop")
            if reason == "board" or not self._streams.streams.over:
                self._end({"by": reason})

    def finish(self, discard: bool = False) -> None:
        """No more units. Open blocks close now, each is released when its last member is due: they
        are disjoint, so this costs nothing. `discard`: they are erased instead."""
        with self._lock:
            self._settle_for_change("finish")
            if not self._streams.streams.over:
                if discard:
                    self._discard()
                self._end({"by": "public"})

    def _discard(self) -> None:
        """Erase the open blocks; closed ones wait for their release."""
        for arm in range(len(self._arms)):
            streams = self._streams.streams
            key = key_of(arm, streams.block[arm])
            if key in self._store.blocks:
                run = self._streams.copy()
                run.streams = streams.without(arm)
                self._stale = True
                self._store.release(key, self._document(run), None)
                self._run, self._stale = run, False

    def _end(self, ended: dict[str, Any]) -> None:
        self._stale = True  # until the store and this object agree again
        self._fixed = {**self._fixed, "ended": ended}
        self._change(self._streams.streams.ended(), ended)

    def _note_end(self, ended: Any) -> None:
        self._ended = ended or {}
        if self._ended.get("by") == "board" and BOARD not in self.guarantee.conditions:
            conditions = (*self.guarantee.conditions, BOARD)
            self.guarantee = replace(self.guarantee, conditions=conditions)

    def _change(self, streams: Any, ended: dict[str, Any] | None = None) -> None:
        """Store where the streams stand now, and that they have ended."""
        run = self._streams.copy()
        run.streams = streams
        self._stale = True
        self._store.release(None, self._document(run), None)
        self._run = run
        if ended is not None:
            self._note_end(ended)
        self._stale = False

    def _settle_for_change(self, what: str) -> None:
        if not isinstance(self._run, StreamRun):
            raise TrialError(
                f"{what}() is for trials in streams; this one plays single batches, with an end "
                "that its horizon or its rule sets"
            )
        self._settle_streams()
        if what in ("drop", "add") and self._streams.streams.over:
            self._refuse_after_the_end()

    def _number_of(self, arm: Name) -> int:
        if arm not in self._arms:
            raise InvalidArgument("arm", "be an arm of the trial", arm, f"one of {self._arms}")
        return self._arms.index(arm)

    def _refuse_after_the_end(self) -> NoReturn:
        horizon, total = self._terms.horizon, self._streams.streams.total
        if horizon is not None and total >= horizon:
            raise TrialError(
                f"the horizon of {horizon} assignments is reached; "
                "decide for further units by what report() shows"
            )
        raise TrialError("the trial has ended; decide for further units by what report() shows")

    # --- what may be shown ------------------------------------------------------------------------

    def _shown_streams(self) -> Shown:
        self._settle_streams()
        streams = self._streams.streams
        blocks: list[dict[str, Any]] = []
        for arm, name in enumerate(self._arms):
            for number in range(streams.released[arm] + 1, streams.block[arm] + 1):
                block = self._store.blocks.get(key_of(arm, number))
                if block is None:
                    continue
                closed, last = number < streams.block[arm], block.places[-1].at or 0.0
                filled = len(block.places)
                size = filled if closed else streams.marks[arm] - streams.closed[arm]
                due = last + self._terms.deadline if closed and self._terms.deadline else None
                blocks.append(
                    {"arm": name, "block": number, "size": size, "filled": filled, "due": due}
                )
        waiting = any(streams.waiting(arm) for arm in range(len(self._arms)))
        status = "collecting"
        if streams.over:
            status = "settling" if waiting else "finished"
        elif self._failure:
            status = "stuck"
        due_times = [entry["due"] for entry in blocks if entry["due"] is not None]
        standing = Standing(
            "", 0, streams.over, False, 0, min(due_times, default=None), streams.total
        )
        return Shown(
            self.policy, self.guarantee, self._arms, self._plan.outcome_range, standing,
            list(self._store.assigned), status, self._failure, blocks=blocks,
            ended=self._ended, course=self._fixed.get("course"),
        )  # fmt: skip


def _drawn(left: tuple[int, ...], random: Any) -> int:
    """An arm with probability left/Σ left: a random order of the window, never written down."""
    number = random.below(sum(left))
    for arm, places in enumerate(left):
        if number < places:
            return arm
        number -= places
    raise AssertionError("the window is empty")
