"""What the steps of one beat do to one experiment: one commit, whatever came.

Somebody who asks again and again for an arm must not see, by waiting, that another participant has
just answered. So all steps of a beat are stored by one transaction, which always writes the head of
the trial: an outcome adds no commit, and a beat without one has no fewer. What is refused is
refused step by step; the others stand. If a write fails, nothing of the beat is stored.

An outcome moves nothing that others see, so a beat of outcomes alone does not even settle: releases
are made by assignments, by looks and by the curator's own rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._checks import Name
from ..errors import (
    AlreadyOpen,
    ClockJumped,
    ConflictingOutcome,
    DiscreetError,
    Fenced,
    InvalidArgument,
    TrialError,
    UnknownUnit,
)
from ..live import Strata, Trial
from ..live.stores._base import bare
from ..live.stores._sqlite import SqliteStore


class Assign(NamedTuple):
    """The arm of a participant, who takes a place if there is none yet."""

    unit: str
    actions: Any = None
    stratum: Name | None = None


class Lookup(NamedTuple):
    """The arm that a participant has; None without a place, and none is taken."""

    unit: str


class Outcome(NamedTuple):
    """The outcome of a participant. Whatever becomes of it, the answer is None."""

    unit: str
    outcome: float


class Bit(NamedTuple):
    """What a participant's own device made of the outcome: one bit, randomised there."""

    unit: str
    bit: int


class Quiet(NamedTuple):
    """Another call about one participant, of which nobody hears what became of it."""

    name: str
    arguments: tuple[Any, ...]


class Ask(NamedTuple):
    """Anything else: a report, a public decision."""

    do: Callable[[Trial | Strata], object]


Step = Assign | Lookup | Outcome | Bit | Quiet | Ask


class Missing(DiscreetError):
    """This version of the library has no such method for the trial."""


class NotStored(DiscreetError):
    """The store failed; nothing of the beat is stored."""


def play(trial: Trial | Strata, steps: Sequence[Step]) -> list[Any]:
    """What comes of every step: a value, or an error that it is refused with."""
    try:
        return _play(trial, steps)
    except (ClockJumped, AlreadyOpen, Fenced) as error:
        return [_clean(error)] * len(steps)
    except DiscreetError:
        pass  # raised anew, it has no frames with outcomes in them
    return [NotStored("the store failed")] * len(steps)


def _play(trial: Trial | Strata, steps: Sequence[Step]) -> list[Any]:
    answers: list[Any] = [None] * len(steps)
    quick = [i for i, step in enumerate(steps) if isinstance(step, Assign | Lookup | Outcome | Bit)]
    if quick:
        gather = _by_stratum if isinstance(trial, Strata) else _gathered
        found = gather(trial, [steps[i] for i in quick])  # type: ignore[arg-type]
        for i, answer in zip(quick, found, strict=True):
            answers[i] = answer
    for i, step in enumerate(steps):
        if isinstance(step, Quiet):
            answers[i] = _quietly(trial, step)
        elif isinstance(step, Ask):
            answers[i] = _asked(trial, step)
    return answers


def _gathered(trial: Trial, steps: Sequence[Step]) -> list[Any]:
    """Assignments and outcomes of one trial, in their order, by one commit."""
    answers: list[Any] = []
    with trial._turn(), trial._store.held():
        seen = any(not isinstance(step, Outcome | Bit) for step in steps)
        now = trial._settle() if seen else trial._ready()
        drawn: tuple[str, int] | None = None
        with trial._store.together():
            _touch(trial)
            for step in steps:
                trial._stale = False
                answer, place = _one(trial, step, now)
                drawn = place or drawn
                if drawn is not None and trial._terms.local:  # drawn, and stored with the others
                    trial._drawing = drawn
                answers.append(answer)
            trial._stale = True  # until they are stored
        trial._stale = False
        trial._drawing = None
        if trial._terms.deadline is None:
            trial._release(now)
    return answers


def _one(trial: Trial, step: Step, now: float) -> tuple[Any, tuple[str, int] | None]:
    """What comes of a step; where an outcome was put."""
    try:
        if isinstance(step, Lookup):
            member = trial._store.member(step.unit)
            return (None if member is None else trial._arms[member.arm]), None
        if isinstance(step, Assign):
            if step.stratum is not None:
                raise _no_stratum(step.stratum)
            arm, stands = trial._placed(step.unit, step.actions, now)
            if not stands:
                trial._rebuild()
            return trial._arms[arm], None
        if isinstance(step, Bit):
            low, high = trial._plan.outcome_range
            kept = trial._accepted(step.unit, high if step.bit else low, now)
            if kept is not None:  # stored as it is: nothing is drawn again
                trial._store.record(kept[0].block, kept[0].slot, kept[1])
            return None, None
        assert isinstance(step, Outcome)
        if trial._plan.steps(step.outcome) is None:
            trial._refuse_outcome("number")
        found = trial._accepted(step.unit, step.outcome, now)
        if found is not None:
            trial._noted(*found)
            return None, (found[0].block, found[0].slot)
    except (UnknownUnit, ConflictingOutcome):
        pass
    except DiscreetError as error:
        if trial._stale or _is_of_store(trial, error):  # a write was cut short: nothing stands
            raise
        return _clean(error), None
    return None, None


def _by_stratum(trials: Strata, steps: Sequence[Step]) -> list[Any]:
    """The same over strata: every one of them has a commit in every beat."""
    answers: list[Any] = [None] * len(steps)
    with trials._lock:
        if any(not isinstance(step, Outcome | Bit) for step in steps):
            trials._conclude()
        homes = {step.unit: trials._home(step.unit) for step in steps}  # type: ignore[union-attr]
        places: dict[Any, list[int]] = {name: [] for name in trials._trials}
        for i, step in enumerate(steps):
            home = homes[step.unit]  # type: ignore[union-attr]
            if isinstance(step, Assign):
                if step.stratum not in places:
                    answers[i] = _no_stratum(step.stratum)
                    continue
                if home is None:  # two that differ may come in one beat: the first counts
                    home = homes[step.unit] = step.stratum
                if home != step.stratum:
                    answers[i] = InvalidArgument(
                        "stratum", "be the one that the participant was assigned in", step.stratum,
                        "everybody belongs to one stratum",
                    )  # fmt: skip
                    continue
            elif isinstance(step, Outcome):
                plan = next(iter(trials._trials.values()))._plan
                if plan.steps(step.outcome) is None:
                    answers[i] = InvalidArgument(
                        "outcome", f"be {plan.outcomes}", None, plan.range_fix
                    )
                    continue
            if home is not None:
                places[home].append(i)
        for name, chosen in places.items():
            played = [_within(steps[i]) for i in chosen]
            for i, answer in zip(chosen, _gathered(trials._trials[name], played), strict=True):
                answers[i] = answer
    return answers


def _within(step: Step) -> Step:
    """A step of the trial of a stratum."""
    return step._replace(stratum=None) if isinstance(step, Assign) else step


def _no_stratum(stratum: object) -> InvalidArgument:
    return InvalidArgument(
        "stratum", "be a stratum of the experiment, and left out where there are none", stratum,
        "see the strata in the report",
    )  # fmt: skip


def _touch(trial: Trial) -> None:
    """Write the head in any case: a transaction that writes nothing is not synced, and shorter."""
    store = trial._store
    if isinstance(store, SqliteStore):
        with store._step():
            pass


def _quietly(trial: Trial | Strata, step: Quiet) -> Any:
    """A call whose refusals are not told: they say what is known of a participant."""
    method = getattr(trial, step.name, None)
    if method is None:
        return Missing(step.name)
    try:
        method(*step.arguments)
    except InvalidArgument as error:
        if error.argument == "outcome":  # its range is public
            return _clean(error)
    except (ClockJumped, AlreadyOpen) as error:
        return _clean(error)
    except TrialError as error:
        if _is_of_store(trial, error):
            return NotStored("the store failed")
    return None


def _asked(trial: Trial | Strata, step: Ask) -> Any:
    try:
        return step.do(trial)
    except DiscreetError as error:
        if _is_of_store(trial, error):
            return NotStored("the store failed")
        return _clean(error)
    except Exception as error:  # a bug; the other steps of the beat have their answers
        return bare(error)


def _is_of_store(trial: Trial | Strata, error: DiscreetError) -> bool:
    """Whether it is the file that failed. Its messages begin with its place."""
    if isinstance(error, InvalidArgument):
        return False
    one = next(iter(trial._trials.values())) if isinstance(trial, Strata) else trial
    return not isinstance(error, Fenced) and str(error).startswith(one._store.place)


def _clean(error: DiscreetError) -> DiscreetError:
    """An error without the frames that it came through: they hold outcomes."""
    bare(error)
    return error
