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
from typing import Any, Literal, NamedTuple

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
from ..live._curator import Assigning, Looking, Made, Recording
from ..live.stores._base import bare
from ..live.stores._server import Lost


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

    name: Literal["withdraw", "correct"]
    arguments: tuple[Any, ...]


class Ask(NamedTuple):
    """Anything else: a report, a public decision."""

    do: Callable[[Trial | Strata], object]


Step = Assign | Lookup | Outcome | Bit | Quiet | Ask


class NotStored(DiscreetError):
    """The store failed; nothing of the beat is stored."""


def play(trial: Trial | Strata, steps: Sequence[Step]) -> list[Any]:
    """What comes of every step: a value, or an error that it is refused with. `Due` for a newcomer
    that has to wait until others have released."""
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
    refused = [_refusal(trial, step) for step in steps]
    taken = [i for i, refusal in enumerate(refused) if refusal is None]
    seen = any(not isinstance(steps[i], Outcome | Bit) for i in taken)
    answers: list[Any] = list(refused)
    found = trial.batch([_as_asked(steps[i]) for i in taken], settle=seen)
    for i, answer in zip(taken, found, strict=True):
        if isinstance(answer, DiscreetError) and _is_of_store(trial, answer):
            raise answer
        answers[i] = answer
        if isinstance(steps[i], Outcome | Bit) and isinstance(
            answer, UnknownUnit | ConflictingOutcome
        ):
            answers[i] = None
    return answers


def _refusal(trial: Trial, step: Step) -> DiscreetError | None:
    """Of what is wrong in itself, whoever it is about."""
    if isinstance(step, Assign) and step.stratum is not None:
        return _no_stratum(step.stratum)
    if isinstance(step, Outcome) and trial._plan.steps(step.outcome) is None:
        plan = trial._plan
        return InvalidArgument("outcome", f"be {plan.outcomes}", None, plan.range_fix)
    return None


def _as_asked(step: Step) -> Assigning | Looking | Recording | Made:
    """As the trial calls it."""
    if isinstance(step, Assign):
        return Assigning(step.unit, step.actions)
    if isinstance(step, Lookup):
        return Looking(step.unit)
    if isinstance(step, Bit):
        return Made(step.unit, step.bit)
    assert isinstance(step, Outcome)
    return Recording(step.unit, step.outcome)


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


def _quietly(trial: Trial | Strata, step: Quiet) -> Any:
    """A call whose refusals are not told: they say what is known of a participant."""
    try:
        getattr(trial, step.name)(*step.arguments)
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
    if isinstance(error, Fenced):
        return False
    return isinstance(error, Lost) or str(error).startswith(one._store.place)


def _clean(error: DiscreetError) -> DiscreetError:
    """An error without the frames that it came through: they hold outcomes."""
    bare(error)
    return error
