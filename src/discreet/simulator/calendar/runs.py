"""Many trials on a calendar: which loop serves, seeds, threads.

Trials are played fifty at a time, each fifty from a child of one SeedSequence, so a seed fixes
every number, whatever the number of threads.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...arms.bernoulli import Bernoulli
from ...checks import MOST_RUNS, count, horizon_of, one_of, positive, share
from ...compiled import Function, Kernel, compile_for, open_slot
from ...errors import InvalidArgument
from ...policies import Policy, imed
from ...policies.epochs import EpochPlan
from ...policies.private_kl import DPIMED
from ...policies.releases import RunningLaplace
from ...policies.schedules import Geometric
from ...policies.view import Empty
from ..work import check_threads, entropy_of
from .blocks import Book, Design, World, fresh_book, marks_of, named
from .epochs import fresh_epochs, in_epochs
from .events import Answers, Windows, not_private, unit_by_unit
from .races import race, race_marks, threshold
from .results import RaceResult, TrialResult
from .rows import Row, estimated_means, row_kernel, row_parts
from .setting import DRIFTS, LAWS, Calendar
from .strides import in_strides, one_batch

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...types import Floats, Ints

CHUNK = 50
"""Trials from one generator."""
T = TypeVar("T")

COUNTED = ("closed", "released", "all")
FLOWS = ("streams", "one batch")
MOST_PARTICIPANTS = 10**9
FIRST_LOOK = 20.0
"""Places per arm at the first look of a race, times ε."""


class Trials(NamedTuple):
    """What is recorded of every trial."""

    pulls: Ints
    estimates: Floats
    looks: Ints
    days: Floats
    named: Ints
    used: Floats


trial: Callable[..., tuple[float, float]] = open_slot("trial")


def many_trials(
    world: World, design: Design, book: Book, extra: NamedTuple, record: Trials, first: int,
    last: int, rng: Generator,
) -> None:  # fmt: skip
    """Trials `first` to `last`."""
    for number in range(first, last):
        day, used = trial(world, design, book, extra, rng)
        record.days[number] = day + world.deadline
        record.used[number] = used
        record.named[number] = named(book)
        for arm in range(len(book.places)):
            record.pulls[number, arm] = book.places[arm]
            record.estimates[number, arm] = book.mean[arm]
            record.looks[number, arm] = book.published[arm]


class Races(NamedTuple):
    """What is recorded of every race."""

    pulls: Ints
    days: Floats
    winner: Ints
    looks: Ints


class Looks(NamedTuple):
    """How far an arm may be behind at every look, and room for the sums of looks to come."""

    thresholds: Floats
    sums: Floats


def many_races(
    world: World, design: Design, book: Book, extra: Looks, record: Races, first: int, last: int,
    rng: Generator,
) -> None:  # fmt: skip
    """Races `first` to `last`."""
    for number in range(first, last):
        day, _, looks, winner = race(world, design, book, extra.thresholds, extra.sums, rng)
        record.days[number] = day
        record.winner[number] = winner
        record.looks[number] = looks
        for arm in range(len(book.places)):
            record.pulls[number, arm] = book.places[arm]


@lru_cache(maxsize=64)
def _trial_kernel(loop: Function | Kernel) -> Kernel:
    part = Kernel(loop)
    # every participant is a step: calls that hand on the book would cost as much as the step
    by_steps = isinstance(loop, Kernel) or loop in (unit_by_unit, in_epochs)
    return Kernel(many_trials, trial=part.inlined() if by_steps else part)


@lru_cache(maxsize=1)
def _race_kernel() -> Kernel:
    return Kernel(many_races)


def simulate_trials(
    policy: Policy,
    law: Bernoulli,
    calendar: Calendar,
    *,
    horizon: float,
    runs: int = 1000,
    seed: int | None = None,
    threads: int | None = None,
    counted: str = "closed",
    flow: str = "streams",
) -> TrialResult:
    """Trials whose outcomes come late. In strides where that is exact, else unit by unit.

    `flow`: "streams", or "one batch" at a time, who arrives meanwhile being thrown away.
    """
    import numpy as np

    if not isinstance(policy, Policy):
        raise InvalidArgument("policy", "be a Policy", policy, 'discreet.policy("dp-imed", ...)')
    if not isinstance(law, Bernoulli):
        raise InvalidArgument(
            "law", "be Bernoulli on a calendar", law, "build it: discreet.Bernoulli([0.5, 0.3])"
        )
    size = checked_size(horizon, law.arms)
    runs = count("runs", runs, most=MOST_RUNS)
    evidence = COUNTED.index(one_of("counted", counted, *COUNTED))
    one_of("flow", flow, *FLOWS)
    policy.setting(law.arms, size)
    world = world_of(law.means, calendar)
    loop, extra, design = _loop_of(policy, law.arms, calendar, size, evidence, flow)
    record = Trials(
        np.zeros((runs, law.arms), np.int64), np.zeros((runs, law.arms)),
        np.zeros((runs, law.arms), np.int64), np.zeros(runs), np.zeros(runs, np.int64),
        np.zeros(runs),
    )  # fmt: skip
    entropy, workers = entropy_of(seed), check_threads(threads)
    seconds = _play(
        _trial_kernel(loop), policy.name, world, design, extra, record, entropy, workers
    )
    marks = tuple(int(mark) for mark in design.marks)
    if isinstance(extra, Row):  # whose releases may be of another kind than widths are known for
        marks = ()
        record.estimates[:] = estimated_means(policy, record.estimates)
    return TrialResult(
        policy.to_dict(), law.to_dict(), law.means, calendar, size, entropy, seconds, flow,
        _epsilon(design), marks, *record,
    )  # fmt: skip


def simulate_races(
    law: Bernoulli,
    calendar: Calendar,
    *,
    horizon: float,
    epsilon: float = math.inf,
    risk: float = 0.05,
    runs: int = 1000,
    seed: int | None = None,
    threads: int | None = None,
) -> RaceResult:
    """Races in permuted blocks until one arm is left: see `races`.

    A missing outcome counts as the declared default, or as ½ where means are estimated: sums of
    answers alone do not compare.
    """
    import numpy as np

    budget = positive("epsilon", epsilon, infinite=True)
    wrong = share("risk", risk)
    size = checked_size(horizon, law.arms)
    runs = count("runs", runs, most=MOST_RUNS)
    first = math.ceil(FIRST_LOOK / min(budget, 1.0))
    marks = race_marks(law.arms, size, max(1, min(first, size // (10 * law.arms))))
    limits = [threshold(mark, look + 1, law.arms, budget, wrong) for look, mark in enumerate(marks)]
    default = 0.5 if calendar.default is None else calendar.default
    scale = 0.0 if math.isinf(budget) else 1.0 / budget
    design = Design(np.array(marks, np.int64), scale, budget, default, 0, size)
    looks = Looks(np.array(limits), np.zeros((len(marks), law.arms)))
    record = Races(
        np.zeros((runs, law.arms), np.int64), np.zeros(runs), np.zeros(runs, np.int64),
        np.zeros(runs, np.int64),
    )  # fmt: skip
    entropy, workers = entropy_of(seed), check_threads(threads)
    world = world_of(law.means, calendar)
    seconds = _play(_race_kernel(), "race", world, design, looks, record, entropy, workers)
    return RaceResult(law.means, calendar, size, budget, wrong, entropy, seconds, *record)


def checked_size(horizon: object, arms: int) -> int:
    """A number of participants that a simulation can follow."""
    size = horizon_of(horizon, arms)
    if size > MOST_PARTICIPANTS:
        raise InvalidArgument("horizon", "be at most 1e9 on a calendar", horizon, "shorten it")
    return size


def world_of(means: tuple[float, ...], calendar: Calendar) -> World:
    """What is true of the trial, for the loops."""
    import numpy as np

    drift = calendar.drift
    kind, size, period = (
        (0, 0.0, 1.0) if drift is None else (DRIFTS.index(drift.kind), drift.size, drift.period)
    )
    return World(
        np.array(means), np.array(calendar.answered), calendar.arrivals, calendar.delay.deadline,
        kind, size, period,
    )  # fmt: skip


def _loop_of(
    policy: Policy, arms: int, calendar: Calendar, size: int, evidence: int, flow: str
) -> tuple[Function | Kernel, NamedTuple, Design]:
    """The loop that serves a row, what it needs beside, and the design."""
    import numpy as np

    shares = calendar.share or (0.0,) * arms
    windows = Windows(calendar.window, np.array(shares), np.zeros(arms, np.int64))
    if isinstance(policy.rule, imed.IMED) and not policy.is_private:
        if calendar.trend:
            raise InvalidArgument(
                "trend", f"be left out for {policy.name}", True,
                'take discreet.policy("dp-imed", epsilon=math.inf, first=20): epochs without noise',
            )  # fmt: skip
        mean = calendar.delay.mean
        late = Answers(
            LAWS.index(calendar.delay.law), 0.0 if mean is None else mean, np.zeros(size),
            np.zeros(size, np.int64), windows,
        )  # fmt: skip
        marks = np.array([size], np.int64)
        return not_private, late, Design(marks, 0.0, math.inf, 0.0, evidence, size)
    release, schedule = policy.release, policy.schedule
    if not (
        isinstance(policy.rule, DPIMED)
        and isinstance(release, RunningLaplace)
        and isinstance(schedule, Geometric)
    ):
        for name, value, usual in (
            ("trend", calendar.trend, False), ("flow", flow, FLOWS[0]), ("counted", evidence, 0),
        ):  # fmt: skip
            if value != usual:
                raise InvalidArgument(
                    name, f"be left out for {policy.name}", value, "take dp-imed, or leave it out"
                )
        setting = policy.setting(arms, size)
        row, design, estimated = row_parts(policy, setting, calendar, size)
        return row_kernel(policy, estimated), row, design
    growth = schedule.parameters(policy.setting(arms, size))
    epsilon = release.epsilon
    default = math.nan if calendar.default is None else calendar.default
    scale = 0.0 if math.isinf(epsilon) else 1.0 / epsilon
    marks = marks_of(growth.first, growth.ratio, size)
    design = Design(marks, scale, epsilon, default, evidence, size)
    if calendar.trend:
        if flow != "streams":
            raise InvalidArgument(
                "trend", "be left out for one batch at a time", True, "use streams"
            )
        most = calendar.window
        if most == 1:
            most = math.ceil(calendar.arrivals * calendar.delay.deadline)
        plan = EpochPlan(epsilon, growth.first, growth.ratio, most)
        assert calendar.counts is not None
        design = design._replace(default=calendar.counts)
        return in_epochs, fresh_epochs(plan, shares, size), design
    if flow == "one batch":
        if calendar.drift is not None or calendar.window > 1 or any(shares):
            raise InvalidArgument(
                "flow", "be streams for drift and windows", flow, 'use flow="streams"'
            )
        return one_batch, Empty(), design
    if calendar.drift is not None or calendar.window > 1 or any(shares):
        return unit_by_unit, windows, design
    return in_strides, Empty(), design


def _own(extra: T) -> T:
    """The same with arrays of its own: every thread writes into them."""
    if isinstance(extra, tuple):
        return type(extra)(*(_own(entry) for entry in extra))
    return copy(extra) if hasattr(extra, "copy") else extra


def _epsilon(design: Design) -> float:
    return math.inf if design.scale == 0.0 else design.epsilon


def _play(
    kernel: Kernel, name: str, world: World, design: Design, extra: NamedTuple,
    record: Trials | Races, entropy: int, workers: int,
) -> float:  # fmt: skip
    """All trials, fifty at a time; the seconds they took, without compiling."""
    import numpy as np

    from ...draws import draws

    runs = len(record.days)
    arms, blocks = len(world.rates), len(design.marks) + 1

    def arguments(chunk: int) -> tuple[Any, ...]:
        child = np.random.SeedSequence(entropy, spawn_key=(chunk,))
        rng = draws(child)
        own = _own(extra)
        first = chunk * CHUNK
        last = min(first + CHUNK, runs)
        return world, design, fresh_book(arms, blocks), own, record, first, last, rng

    given = arguments(0)
    function = compile_for(name, lambda: kernel.cached(*given), given)
    started = time.perf_counter()
    stop = threading.Event()

    def play(chunk: int) -> None:
        if stop.is_set():
            return
        *given, first, last, rng = arguments(chunk)
        if not isinstance(extra, Row):
            function(*given, first, last, rng)
            return
        for number in range(first, last):  # every trial begins with the row's own empty ledger
            given[3] = _own(extra)
            function(*given, number, number + 1, rng)

    chunks = range(-(-runs // CHUNK))
    if workers == 1 or len(chunks) == 1:
        for chunk in chunks:
            play(chunk)
    else:
        with ThreadPoolExecutor(min(workers, len(chunks))) as pool:
            try:
                for _ in pool.map(play, chunks):
                    pass
            except BaseException:
                stop.set()
                raise
    return time.perf_counter() - started
