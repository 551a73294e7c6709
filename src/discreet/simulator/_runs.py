"""Many runs of a policy: seeds, threads, progress, Ctrl-C.

>>> import discreet
>>> result = discreet.simulate(
...     discreet.policy("adap-klucb", epsilon=1.0), discreet.Bernoulli([0.7, 0.5, 0.3]),
...     horizon=1e6, runs=50, seed=1,
... )
>>> result.final_regret.shape
(50,)

Run i draws from the i-th child of one SeedSequence, so a seed fixes every number, whatever the
number of threads, and the first runs of a longer study are those of a shorter one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict, TypeVar, Unpack

from .._checks import MOST_RUNS, check_flag, count, rounds
from .._compiled import kinds_of, machine_code
from .._progress import Bar
from ..arms._base import Environment
from ..arms._delayed import Delayed
from ..errors import InvalidArgument
from ..policies import CATALOGUE, Policy
from ..policies._policy import BasePolicy, served
from ..policies._ranks import is_ranked
from ..policies._step import FINISHED, STARVED, fresh_state, parts_of
from ._comparison import Comparison
from ._late import check_late, empty_post, late_kernel
from ._loop import Curve, Study, fresh_course, loop_kernel, simulated_state
from ._own import OwnPolicy, OwnWork, Row, own
from ._record import RECORDS, check_record
from ._results import Result
from ._work import (
    Place,
    Player,
    RegretWork,
    check_room,
    check_threads,
    entropy_of,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Ints
    from .calendar import Calendar
    from .calendar._setting import Late

DECISIONS = 100_000
"""Decisions between two looks at the stop sign: at most some tenths of a second."""
MOST_ROUNDS = 10**15
"""Beyond it, sums of rewards would no longer be exact in double precision."""


P = TypeVar("P")
S = TypeVar("S", bound=Place)


class Finishing(Protocol):
    """Work that ends in a result."""

    record: str

    @property
    def complete(self) -> bool: ...
    def do(self, workers: int, bar: Bar, before: int, total: int) -> None: ...
    def result(self) -> Result: ...


class Runs(TypedDict, total=False):
    """The size of a study beside its horizon: arguments of `compare`."""

    runs: int
    seed: int | None
    threads: int | None
    points: int
    progress: bool | Bar | None
    record: str


class Size(Runs):
    """The size of a study."""

    horizon: float


class Asked(NamedTuple):
    """The size of a study, as it was asked for."""

    horizon: float
    runs: int
    seed: int | None
    threads: int | None
    points: int
    progress: bool | Bar | None
    record: str = RECORDS[0]


def simulate(
    policy: Row,
    environment: Place,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    shuffle: bool = False,
    progress: bool | Bar | None = None,
    record: str = RECORDS[0],
    arrivals: float | None = None,
    **late: Unpack[Late],
) -> Result:
    """Play a policy many times in an environment, and record its regret and pulls.

    The same seed gives the same numbers, whatever the number of threads. Noise is fast and seeded:
    a simulation protects no one. With `arrivals` outcomes come late, and arms run concurrently.

    Args:
        policy: The policy, or an object with `select()` and `update(arm, reward)`.
        environment: What draws the rewards; for linear policies, a linear problem.
        horizon: The number of rounds of each run.
        runs: The number of runs.
        seed: Random seed, for reproducible results. Default: random.
        threads: The number of threads. Default: all cores.
        points: Points of the regret curve, on a logarithmic grid.
        shuffle: Whether every run meets the arms in a random order. Each arm is first in equally
            many runs, and pulls are reported under the arms' own numbers.
        progress: Whether to show a bar. Default: on a terminal, after a second.
        record: "regret" keeps no pulls, which take gigabytes with many arms and runs.
        arrivals: Participants a day; outcomes then come late, and the result has
            `days`, `used` and `recommendation`.
        **late: With arrivals: `delay` (a deadline in days, or a `Delay`), `missing` (the share that
            never answers, or one per arm), `default` (what a missing outcome counts as; default:
            the mean of those who answered), `drift`, `window` (assignments that are shuffled),
            `share` (the least of every arm) and `trend` (compare arms within epochs alone).

    Returns:
        The result. After Ctrl-C it has the finished runs, and `complete` is False.

    Raises:
        InvalidArgument: If an argument breaks its rule, or policy and environment do not fit.

    Example:
        >>> import discreet
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> row = discreet.policy("dp-imed", epsilon=1.0)
        >>> discreet.simulate(row, arms, horizon=1_000, runs=5, seed=1).final_regret.shape
        (5,)
    """
    if arrivals is not None and check_flag("shuffle", shuffle):
        raise InvalidArgument(
            "shuffle", "be False with arrivals", shuffle,
            "arms are played concurrently: leave it out",
        )  # fmt: skip
    return compare(
        [policy],
        environment,
        horizon=horizon,
        runs=runs,
        seed=seed,
        threads=threads,
        points=points,
        shuffle=shuffle,
        progress=progress,
        record=record,
        arrivals=arrivals,
        **late,
    )[0]


LATE = ("delay", "missing", "default", "drift", "window", "share", "trend")


def _known(late: Iterable[str]) -> None:
    for name in late:
        if name not in ("arrivals", *LATE):
            raise TypeError(f"got an unexpected keyword argument {name!r}")


def calendar_of(environment: Place, arrivals: float | None, late: Late) -> Calendar | None:
    """The calendar that was asked for; None where outcomes are known at once."""
    from .calendar import calendar

    _known(late)
    if arrivals is None:
        if late:
            raise InvalidArgument(
                "arrivals", f"be given with {', '.join(late)}", None, "use for example arrivals=12"
            )
        return None
    if isinstance(environment, Environment) and environment.late:
        raise InvalidArgument(
            "environment", "give rewards at once with arrivals", type(environment).__name__,
            "say with delay= how late outcomes are, in days",
        )  # fmt: skip
    return calendar(environment.arms, arrivals=arrivals, **late)


def compare(
    policies: Iterable[Row],
    environment: Place,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    shuffle: bool | None = None,
    progress: bool | Bar | None = None,
    record: str = RECORDS[0],
    arrivals: float | None = None,
    **late: Unpack[Late],
) -> Comparison:
    """Play several policies of one kind in the same environment, with the same seeds.

    Args:
        policies: Policies, or objects with `select()` and `update(arm, reward)`, copied for every
            run, or a class or function that makes one from a generator. Objects are slow.
        environment: What draws the rewards.
        horizon: The number of rounds of each run.
        runs: The number of runs of each policy.
        seed: Random seed, for reproducible results. Default: random.
        threads: The number of threads. Default: all cores.
        points: Points of the regret curves.
        shuffle: Whether every run has a random order of the arms, the same for all policies.
            Default: yes; with arrivals there is none.
        progress: Whether to show a bar. Default: on a terminal.
        record: "regret" keeps no pulls, which take gigabytes with many arms and runs.
        arrivals: Participants a day; outcomes then come late. Policies that identify are played
            until they stop.
        **late: With arrivals, as in `simulate`.

    Returns:
        The results in the order of the policies: `table()`, `plot()`, `save(path)`.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the policies are of several kinds.

    Example:
        >>> import discreet
        >>> rows = [discreet.policy("imed"), discreet.policy("dp-imed", epsilon=1.0)]
        >>> arms = discreet.Bernoulli([0.7, 0.5])
        >>> found = discreet.compare(rows, arms, horizon=500, runs=5, seed=1)
        >>> [result.name for result in found]
        ['imed', 'dp-imed']
    """
    rows = listed(policies)
    record = check_record(record)
    linear = [row for row in rows if isinstance(row, BasePolicy) and row.kind == "linear"]
    if (arrivals is not None or late) and not linear:
        environment = check_is_environment(environment)
        asked_for = calendar_of(environment, arrivals, late)
        assert asked_for is not None
        if shuffle:
            raise InvalidArgument(
                "shuffle", "be left out with arrivals", shuffle, "arms are played concurrently"
            )
        check_kept(record)
        size = Asked(horizon, runs, seed, threads, points, progress)
        return _on_calendar(rows, environment, asked_for, size)
    for row in rows:
        if isinstance(row, BasePolicy) and row.kind != "finite":
            other = row.compared(
                rows,
                environment,
                horizon=horizon,
                runs=runs,
                seed=seed,
                threads=threads,
                points=points,
                progress=progress,
                **({} if record == RECORDS[0] else {"record": record}),
                **({} if arrivals is None else {"arrivals": arrivals}),
                **late,
            )
            assert isinstance(other, Comparison)
            return other
    fix = 'build it: discreet.policy("ucb1"), or give an object with select() and update()'
    finite = [own(row) or served(row, "simulate", Policy, "finite", fix=fix) for row in rows]
    environment = check_is_environment(environment)
    ordered = True if shuffle is None else check_flag("shuffle", shuffle)
    work = partial(_work, shuffle=ordered)
    asked = Asked(horizon, runs, seed, threads, points, progress, record)
    return compared(finite, environment, check_environment, work, asked)


def check_kept(record: str) -> None:
    """Trials keep the pulls: who was on a worse arm is read from them."""
    if record != RECORDS[0]:
        raise InvalidArgument(
            "record", 'be "pulls" with arrivals: results of trials are read from them', record,
            "leave it out",
        )  # fmt: skip


def _on_calendar(
    rows: list[Row], environment: Environment, asked_for: Calendar, size: Asked
) -> Comparison:
    """Trials whose outcomes come late."""
    from .calendar._own import OwnTrialWork
    from .calendar._runs import TrialWork, checked_size

    fix = 'use for example discreet.policy("dp-imed", epsilon=1.0)'
    finite = [
        own(row) or served(row, "outcomes that come late", Policy, "finite", "identify", fix=fix)
        for row in rows
    ]
    checked_size(size.horizon, environment.arms)

    def work(
        policy: Policy | OwnPolicy, place: Environment, horizon: int, runs: int, entropy: int,
        grid: Ints,
    ) -> TrialWork | OwnTrialWork:  # fmt: skip
        given = (place, horizon, runs, entropy, grid)
        if isinstance(policy, OwnPolicy):
            return OwnTrialWork(policy, *given, calendar=asked_for)
        return TrialWork(policy, *given, calendar=asked_for)

    return compared(finite, environment, check_environment, work, size)


def _work(
    policy: Policy | OwnPolicy,
    environment: Environment,
    horizon: int,
    runs: int,
    entropy: int,
    grid: Ints,
    *,
    shuffle: bool,
) -> Simulation | OwnWork:
    if isinstance(policy, OwnPolicy):
        return OwnWork(policy, environment, horizon, runs, entropy, grid, shuffle=shuffle)
    return Simulation(policy, environment, horizon, runs, entropy, grid, shuffle=shuffle)


def compared(
    policies: Iterable[P],
    place: S,
    check: Callable[[P, S], None],
    work: Callable[[P, S, int, int, int, Ints], Finishing],
    asked: Asked,
) -> Comparison:
    """Check everything, then run every policy on an environment or problem, each as `work` of its
    own."""
    policies = listed(policies)
    for policy in policies:
        check(policy, place)
    horizon = check_horizon(asked.horizon, place)
    runs = count("runs", asked.runs, most=MOST_RUNS)
    points = count("points", asked.points, least=2, most=MOST_RUNS)
    workers, entropy = check_threads(asked.threads), entropy_of(asked.seed)
    check_room(runs, points, place.arms, asked.record)
    grid = log_grid(horizon, points)
    works = [work(policy, place, horizon, runs, entropy, grid) for policy in policies]
    for each in works:
        each.record = asked.record
    return do_all(works, runs, workers, asked.progress)


def listed(policies: Iterable[P]) -> list[P]:
    """At least one policy; a single one must come in a list, as several would."""
    given: object = policies
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidArgument(
            "policies", "be a list of policies", policies,
            "put it into a list: compare([policy], environment, ...), or use simulate(policy, "
            "environment, ...)",
        )  # fmt: skip
    found = list(policies)
    if not found:
        raise InvalidArgument("policies", "name at least one policy", found, "add one")
    return found


def check_horizon(horizon: object, environment: Place) -> int:
    """A whole number of rounds, floats like 1e7 included, that the environment can serve."""
    whole = rounds(horizon)
    if whole < environment.arms:
        raise InvalidArgument(
            "horizon", f"be at least the number of arms ({environment.arms})", whole,
            "every arm must be played once",
        )  # fmt: skip
    if whole > MOST_ROUNDS:
        raise InvalidArgument("horizon", "be at most 1e15", whole, "shorten the study")
    if environment.limit is not None and whole > environment.limit:
        raise InvalidArgument(
            "horizon", f"be at most {environment.limit}, all that the environment can serve", whole,
            "shorten the study, or resample instead of replaying",
        )  # fmt: skip
    return whole


def check_is_environment(environment: object) -> Environment:
    """An environment, and no linear problem."""
    if not isinstance(environment, Environment):
        raise InvalidArgument(
            "environment", "be an environment with finite arms", f"a {type(environment).__name__}",
            "build it: discreet.Bernoulli([0.7, 0.5]); linear problems take linear policies",
        )  # fmt: skip
    return environment


def check_environment(policy: Policy | OwnPolicy, environment: Environment) -> None:
    """Rewards must lie in the range that the policy's guarantee or formula rests on."""
    if isinstance(policy, OwnPolicy):
        return
    if not isinstance(policy, Policy):
        raise InvalidArgument("policy", "be a Policy", policy, 'build it: discreet.policy("ucb1")')
    check_late(policy, environment)
    need, have = policy.bounds, environment.bounds
    if need is None:
        return
    if have is None or have[0] < need[0] or have[1] > need[1]:
        got = "unbounded rewards" if have is None else f"rewards in [{have[0]:g}, {have[1]:g}]"
        raise InvalidArgument(
            "environment", f"keep rewards in [{need[0]:g}, {need[1]:g}] for {policy.name}", got,
            f"wrap it: discreet.Clipped(environment); or take one for any rewards: {any_rewards()}",
        )  # fmt: skip


def any_rewards() -> str:
    """The policies for rewards of any size, private ones first."""
    rows = [entry for entry in CATALOGUE.values() if entry.example().bounds is None]
    return ", ".join(entry.name for entry in sorted(rows, key=lambda entry: not entry.budgets))


def log_grid(horizon: int, points: int) -> Ints:
    """About `points` rounds from 1 to the horizon, equally spaced in their logarithm."""
    import numpy as np

    grid = np.unique(np.geomspace(1.0, float(horizon), points).round().astype(np.int64))
    grid[-1] = horizon
    return grid


class Begun(NamedTuple):
    """A run that is under way: call `loop(*arguments, pace, rng)` until it is finished."""

    loop: Callable[..., int]
    arguments: tuple[object, ...]
    rng: Generator
    refill: Callable[[], bool]
    """more rewards of an environment that has run out of them; False if there are none"""
    order: Ints | None = None
    """the arms in the order in which the run meets them; None for their own"""


class FinitePlayer(Player):
    """The arrays of one run of a policy."""

    def __init__(self, work: Simulation) -> None:
        policy, setting = work.policy, work.setting
        self.work, self.stream = work, work.stream()
        self.loops: dict[object, Callable[..., int]] = {}
        late = work.environment.late
        self.state = fresh_state(policy, setting) if late else simulated_state(policy, setting)
        self.post = (empty_post(work.environment),) if isinstance(work.environment, Delayed) else ()
        self.course = fresh_course()
        super().__init__(*self.state, *self.post, self.course)

    def begin(self, number: int) -> Begun:
        """Set up a run from its own seed."""
        work = self.work
        self.reset()
        rng = self.stream.at(number)
        environment, gaps, order = work.environment, work.gaps, None
        if work.shuffle:  # drawn first: the same for every policy that is compared
            order = work.order(number, rng)
            environment = environment.arranged(order.tolist())
            gaps = gaps[order] if environment.steady else environment.standard(work.horizon)
        state = environment.start(rng)
        pulls = work.noted(number)
        study = Study(work.horizon, gaps, Curve(work.grid, work.regret[number], pulls))
        arguments = (state, *work.parts, *self.state, *self.post, self.course, study)
        kinds = kinds_of((state, gaps, rng))  # all else is the same in every run
        loop = self.loops.get(kinds) or self.loops.setdefault(
            kinds, self._loop(environment, (*arguments, DECISIONS, rng))
        )
        return Begun(loop, arguments, rng, lambda: environment.refill(state, rng), order)

    def _loop(self, environment: Environment, every: tuple[object, ...]) -> Callable[..., int]:
        policy, ranked = self.work.policy, is_ranked(self.work.policy, self.work.setting)
        if environment.late:
            linked = late_kernel(policy, environment.draw, environment.lost)
        else:
            linked = loop_kernel(policy, environment.draw, environment.lost, ranked)
        return machine_code(self.work.ready(lambda: linked.cached(*every), every), every)

    def end(self, begun: Begun, number: int = 0) -> None:
        """Enter what came out."""
        if begun.order is not None and self.work.pulls.shape[-1]:
            pulls = self.work.pulls[number]
            pulls[:, begun.order] = pulls.copy()  # back to the arms' own numbers

    def play(self, number: int) -> bool:
        begun = self.begin(number)
        while not self.work.stop.is_set():
            status = begun.loop(*begun.arguments, DECISIONS, begun.rng)
            if status == FINISHED or (status == STARVED and not begun.refill()):
                self.end(begun, number)
                return True
        return False


class Simulation(RegretWork[Policy, Environment]):
    """All runs of one policy on one environment."""

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        horizon: int,
        runs: int,
        entropy: int,
        grid: Ints,
        *,
        shuffle: bool = False,
    ) -> None:
        super().__init__(policy, environment, horizon, runs, entropy, grid, shuffle=shuffle)
        self.environment = environment
        self.setting = policy.setting(environment.arms, horizon)
        self.parts = parts_of(policy, self.setting)
        self.gaps = environment.standard(horizon)

    def player(self) -> Player:
        return FinitePlayer(self)


def do_all(
    works: Sequence[Finishing], runs: int, threads: int, progress: bool | Bar | None
) -> Comparison:
    """One work after the other, until Ctrl-C."""
    results = []
    with Bar.of(progress) as bar:
        for number, work in enumerate(works):
            work.do(threads, bar, before=number * runs, total=len(works) * runs)
            results.append(work.result())
            if not work.complete:
                break
    return Comparison(tuple(results))
