"""Many identifications: seeds, threads, progress, Ctrl-C, as in the simulator.

>>> import discreet
>>> from discreet.identify import identifier, identify
>>> row = identifier("adap-tt", epsilon=1.0)
>>> result = identify(row, discreet.Bernoulli([0.9, 0.5]), risk=0.05, runs=20, seed=1)
>>> result.recommendations
[20, 0]

Run i draws from the i-th child of one SeedSequence: a seed fixes every number, whatever the number
of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Unpack

import numpy as np

from .._checks import MOST_RUNS, count, rounds
from .._progress import Bar
from ..arms._base import Environment
from ..errors import InvalidArgument
from ..policies._step import FINISHED, STARVED
from ..policies._view import fresh_view
from ..simulator._record import RECORDS, check_record
from ..simulator._results import Result
from ..simulator._runs import (
    MOST_ROUNDS,
    Begun,
    calendar_of,
    check_environment,
    check_is_environment,
    check_kept,
    compare,
)
from ..simulator._work import Player, Work, check_threads, entropy_of
from ..simulator.calendar._runs import MOST_PARTICIPANTS
from ._filling import Batches, scratch_of
from ._identifier import Identifier
from ._loop import compiled_loop, fresh_course
from ._setting import check_risk

if TYPE_CHECKING:
    from .._types import Floats, Ints
    from ..simulator.calendar._setting import Late

MAX_SAMPLES = 10**8
PATIENCE = 5_000_000
"""Rounds between two looks at the stop sign: some tenths of a second at most."""


def lost_in(pulls: Ints, gaps: Floats) -> Floats:
    """Pseudo-regret of every run, to the last bit the same however many are asked about at once
    (a product of matrices would not be)."""
    return np.asarray((pulls * gaps).sum(axis=-1))


class EqualBestArms(UserWarning):
    """Two arms are equally good: a δ-correct rule may never stop."""


def identify(
    row: Identifier,
    environment: Environment,
    *,
    risk: float | None = None,
    participants: int | None = None,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    max_samples: float = MAX_SAMPLES,
    progress: bool | Bar | None = None,
    record: str = RECORDS[0],
    arrivals: float | None = None,
    **late: Unpack[Late],
) -> Result:
    """Find the best arm many times over: at a risk of a wrong answer, or with a fixed number of
    participants.

    A run ends when its evidence is enough, or after `max_samples` without an answer. Ctrl-C
    returns the runs that were done: `result.complete` is then False. `record="regret"` keeps no
    pulls, only what they cost.

    With `arrivals` (participants a day) outcomes come late, and arms are played concurrently:
    `delay`, `missing`, `default`, `drift`, `window` and `share` say how, as in `discreet.simulate`.
    The result then counts days as well. `max_samples` is the horizon there.
    """
    asked = risk
    record = check_record(record)
    if calendar_of(check_is_environment(environment), arrivals, late) is not None:
        check_kept(record)
        row, limit = prepared_late(row, environment, asked, participants, max_samples)
        found = compare(
            [row],
            environment,
            horizon=limit,
            runs=runs,
            seed=seed,
            threads=threads,
            progress=progress,
            arrivals=arrivals,
            **late,
        )[0]
        return found.as_search()
    row, limit = prepared(row, environment, asked, participants, max_samples)
    runs = count("runs", runs, most=MOST_RUNS)
    workers, entropy = check_threads(threads), entropy_of(seed)
    work = Identification(row, environment, limit, runs, entropy)
    work.record = record
    with Bar.of(progress) as bar:
        work.do(workers, bar)
    return work.result()


def asked_for(row: Identifier, risk: float | None, participants: int | None) -> Identifier:
    """The policy for a risk or a number of participants."""
    if not isinstance(row, Identifier):
        raise InvalidArgument(
            "row", "be an Identifier", row, 'use for example identifier("adap-tt", epsilon=1.0)'
        )
    if row.fixed_size:
        row = row if participants is None else row.among(participants)
        return row if risk is None else row.at(risk)  # refused, with the fix
    row = row.at(check_risk(risk))
    return row if participants is None else row.among(participants)  # likewise


def prepared_late(
    row: Identifier,
    environment: Environment,
    risk: float | None,
    participants: int | None,
    max_samples: float,
) -> tuple[Identifier, int]:
    """The policy for outcomes that come late, and its most samples, all checked."""
    row = asked_for(row, risk, participants)
    limit = check_samples(max_samples, environment)
    check_environment(row, environment)
    row.setting(environment.arms)
    if not row.fixed_size and row.xi == 0.0:
        warn_of_equals(environment)
    fix = "use for example max_samples=1e6"
    return row, count("max_samples", limit, most=MOST_PARTICIPANTS, fix=fix)


def prepared(
    row: Identifier,
    environment: Environment,
    risk: float | None,
    participants: int | None,
    max_samples: float,
) -> tuple[Identifier, int]:
    """The policy for a risk or a number of participants, and its most samples, all checked."""
    row = asked_for(row, risk, participants)
    environment = check_is_environment(environment)
    if environment.arms < 2:
        raise InvalidArgument(
            "environment", "have at least 2 arms", environment.arms, "a choice needs two arms"
        )
    if environment.late:
        raise InvalidArgument(
            "environment", f"give rewards at once for {row.name}, which stops by itself",
            type(environment).__name__, "take the environment inside it",
        )  # fmt: skip
    limit = check_samples(max_samples, environment)
    check_environment(row, environment)
    check_endless(environment)
    row.setting(environment.arms)
    if row.fixed_size:
        limit = max(limit, row.participants or 0)
    elif row.xi == 0.0:
        warn_of_equals(environment)
    return row, limit


def check_samples(max_samples: object, environment: Environment) -> int:
    """A whole number of samples, floats like 1e7 included, at least one per arm."""
    whole = rounds(max_samples, argument="max_samples", least=environment.arms)
    return count("max_samples", whole, most=MOST_ROUNDS, fix="use for example max_samples=1e8")


def check_endless(environment: Environment) -> None:
    """Batches of several arms fill concurrently, so rewards must not depend on the round."""
    if environment.limit is not None or not environment.steady:
        raise InvalidArgument(
            "environment", "serve any number of independent rewards", f"the {environment.name} law",
            "resample instead of replaying",
        )  # fmt: skip


def warn_of_equals(environment: Environment) -> None:
    """Say so if no answer can be expected."""
    best = max(environment.means)
    equals = [arm for arm, mean in enumerate(environment.means) if mean == best]
    if len(equals) > 1:
        warnings.warn(
            f"arms {', '.join(map(str, equals))} are equally good ({best:g}): the evidence for one "
            "of them may never be enough, and a run then ends at max_samples without an answer",
            EqualBestArms,
            stacklevel=4,
        )


class IdentifyPlayer(Player):
    """The arrays of one identification."""

    def __init__(self, work: Identification) -> None:
        row, setting = work.row, work.setting
        self.work, self.stream = work, work.stream()
        self.loop: Callable[..., int] | None = None
        self.course = fresh_course()
        self.view = fresh_view(setting.arms)
        self.memory = row.rule.memory(setting)
        self.state = (
            row.release.ledger(setting),
            self.memory,
            self.view,
            Batches(np.zeros(setting.arms, np.int64), np.zeros(setting.arms, np.int64)),
            scratch_of(row, setting.arms),
            self.course,
        )
        super().__init__(*self.state)

    def begin(self, number: int) -> Begun:
        """Set up a run from its own seed."""
        work = self.work
        self.reset()
        rng = self.stream.at(number)
        state = work.environment.start(rng)
        arguments = (state, *work.parameters, *self.state, work.limit)
        every = (*arguments, PATIENCE, rng)
        loop = self.loop = self.loop or work.ready(
            lambda: compiled_loop(work.row, work.environment, every), every
        )
        return Begun(loop, arguments, rng, lambda: work.environment.refill(state, rng))

    def end(self, number: int) -> None:
        """Enter what came out."""
        work, course = self.work, self.course
        work.stopping_time[number] = course.t[0]
        work.stopped[number] = course.stopped[0] == 1
        work.recommendation[number] = course.answer[0]
        pulls = np.array(self.view.pulls, np.int64)
        work.lost[number] = lost_in(pulls, work.gaps)
        if work.pulls.shape[-1]:
            work.pulls[number] = pulls

    def play(self, number: int) -> bool:
        begun = self.begin(number)
        while not self.work.stop.is_set():
            status = begun.loop(*begun.arguments, PATIENCE, begun.rng)
            if status == STARVED:
                begun.refill()
            elif status == FINISHED:
                self.end(number)
                return True
        return False


class Identification(Work):
    """All runs of one policy; `record` is set before the first of them."""

    record: str = RECORDS[0]

    def __init__(
        self, row: Identifier, environment: Environment, limit: int, runs: int, entropy: int
    ) -> None:
        super().__init__(row.name, runs, entropy)
        self.row, self.environment, self.limit = row, environment, limit
        self.setting = row.setting(environment.arms)
        self.parameters = tuple(
            part.parameters(self.setting)
            for part in (row.schedule, row.release, row.rule, row.stopping)
        )
        self.stopping_time = np.zeros(runs, np.int64)
        self.stopped = np.zeros(runs, bool)
        self.recommendation = np.zeros(runs, np.int64)
        self.lost, means = np.zeros(runs), np.array(environment.means)
        self.gaps = means.max() - means

    @cached_property
    def pulls(self) -> Ints:
        """Pulls of every run; of no arm if they are not kept."""
        kept = self.environment.arms if self.record == RECORDS[0] else 0
        return np.zeros((self.runs, kept), np.int64)

    def make_room(self) -> None:
        _ = self.pulls

    def player(self) -> Player:
        return IdentifyPlayer(self)

    def result(self) -> Result:
        """The runs that were finished."""
        done = self.done
        return Result(
            policy=self.row.to_dict(),
            environment=self.environment.to_dict(),
            means=tuple(float(mean) for mean in self.environment.means),
            seed=self.entropy,
            complete=self.complete,
            seconds=self.seconds,
            run=self.finished,
            counted=self.pulls[done][:, None],
            horizon=self.limit,
            t=np.array([self.limit]),
            regret=self.lost[done][:, None],
            more={
                "stopping_time": self.stopping_time[done],
                "stopped": self.stopped[done],
                "recommendation": self.recommendation[done],
            },
        )
