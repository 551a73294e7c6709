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

import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from numbers import Integral
from typing import TYPE_CHECKING, Any

from ..arms.base import Law
from ..errors import InvalidArgument
from ..policies import CATALOGUE, Policy
from ..policies.view import fresh_view
from .loop import FINISHED, STARVED, Curve, compiled_loop, fresh_course
from .results import Comparison, Result

if TYPE_CHECKING:
    from numpy.random import SeedSequence

DECISIONS = 100_000
"""Decisions between two looks at the stop sign: at most some tenths of a second."""
PATIENCE = 1.0
"""Seconds after which a bar shows progress."""
MOST_ROUNDS = 10**15
"""Beyond it, sums of rewards would no longer be exact in double precision."""


def simulate(
    policy: Policy,
    law: Law,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | None = None,
) -> Result:
    """Run a policy on a law of rewards; regret and pulls are recorded on a log grid of `points`.

    `progress=None` shows a bar on a terminal once the work has taken a second. Ctrl-C ends the
    work early and returns the runs that were finished: `result.complete` is then False.
    """
    return compare(
        [policy], law, horizon=horizon, runs=runs, seed=seed, threads=threads, points=points,
        progress=progress,
    )[0]  # fmt: skip


def compare(
    policies: Iterable[Policy],
    law: Law,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | None = None,
) -> Comparison:
    """Run several policies on the same law with the same seeds."""
    import numpy as np

    policies = list(policies)
    if not policies:
        raise InvalidArgument("policies", "name at least one policy", policies, "add one")
    for policy in policies:
        if not isinstance(policy, Policy):
            raise InvalidArgument(
                "policy", "be a Policy", policy, 'build it: discreet.policy("ucb1")'
            )
    if not isinstance(law, Law):
        raise InvalidArgument("law", "be a Law", law, "build it: discreet.Bernoulli([0.7, 0.5])")
    rounds = check_horizon(horizon, law)
    runs = check_count("runs", runs)
    points = check_count("points", points, least=2)
    workers = check_count("threads", threads) if threads is not None else available_cores()
    if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
        raise InvalidArgument("seed", "be a whole number from 0", seed, "use for example seed=1")
    for policy in policies:
        check_law(policy, law)
        policy.setting(law.arms, rounds)
    entropy = np.random.SeedSequence(None if seed is None else int(seed)).entropy
    assert isinstance(entropy, int)
    grid = log_grid(rounds, points)
    results = []
    with _Bar(len(policies) * runs, progress) as bar:
        for policy in policies:
            result = _Work(policy, law, rounds, runs, entropy, grid).do(workers, bar)
            results.append(result)
            if not result.complete:
                break
    return Comparison(tuple(results))


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_count(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidArgument(name, f"be a whole number from {least}", value, f"use {name}=100")
    return int(value)


def check_horizon(horizon: Any, law: Law) -> int:
    """A whole number of rounds, floats like 1e7 included, that the law can serve."""
    import numpy as np

    kinds = int | float | np.integer | np.floating
    if isinstance(horizon, bool) or not isinstance(horizon, kinds):
        raise InvalidArgument("horizon", "be a number", horizon, "use for example horizon=1e6")
    # an int may be more than a float can hold
    if not isinstance(horizon, int) and (not math.isfinite(horizon) or horizon != int(horizon)):
        raise InvalidArgument("horizon", "be a whole number", horizon, "use for example 1e6")
    rounds = int(horizon)
    if rounds < law.arms:
        raise InvalidArgument(
            "horizon", f"be at least the number of arms ({law.arms})", rounds,
            "every arm must be played once",
        )  # fmt: skip
    if rounds > MOST_ROUNDS:
        raise InvalidArgument("horizon", "be at most 1e15", rounds, "shorten the study")
    if law.limit is not None and rounds > law.limit:
        raise InvalidArgument(
            "horizon", f"be at most {law.limit}, all that the {law.name} law can serve", rounds,
            "shorten the study, or resample instead of replaying",
        )  # fmt: skip
    return rounds


def check_law(policy: Policy, law: Law) -> None:
    """Rewards must lie in the range that the policy's guarantee or formula rests on."""
    need, have = policy.bounds, law.bounds
    if need is None:
        return
    if have is None or have[0] < need[0] or have[1] > need[1]:
        got = "unbounded rewards" if have is None else f"rewards in [{have[0]:g}, {have[1]:g}]"
        raise InvalidArgument(
            "law", f"keep rewards in [{need[0]:g}, {need[1]:g}] for {policy.name}", got,
            f"wrap it: discreet.Clipped(law); or take one for any rewards: {any_rewards()}",
        )  # fmt: skip


def any_rewards() -> str:
    """The rows that serve rewards of any size, private ones first."""
    rows = [entry for entry in CATALOGUE.values() if entry.example().bounds is None]
    return ", ".join(entry.name for entry in sorted(rows, key=lambda entry: not entry.budgets))


def log_grid(horizon: int, points: int) -> Any:
    """About `points` rounds from 1 to the horizon, equally spaced in their logarithm."""
    import numpy as np

    grid = np.unique(np.geomspace(1.0, float(horizon), points).round().astype(np.int64))
    grid[-1] = horizon
    return grid


class _Stage:
    """Where a thread plays one run after the other: its arrays are made once and swept clean."""

    def __init__(self, work: _Work) -> None:
        policy, setting = work.policy, work.setting
        self.work = work
        self.loop: Callable[..., int] | None = None
        self.course = fresh_course()
        self.props = (
            policy.release.ledger(setting),
            policy.rule.memory(setting),
            fresh_view(setting.arms),
            self.course,
        )
        arrays = [array for prop in self.props for array in prop if hasattr(array, "copy")]
        self.clean = [(array, array.copy()) for array in arrays]

    def play(self, number: int) -> bool:
        """One run, from its own seed; False if it was stopped."""
        import numpy as np

        work = self.work
        for array, copy in self.clean:
            array[:] = copy
        rng = np.random.Generator(np.random.SFC64(work.child(number)))
        state = work.law.start(rng)
        curve = Curve(work.grid, work.regret[number], work.pulls[number])
        arguments = (
            state, *work.parameters, *self.props, curve, work.gaps, work.horizon, DECISIONS, rng,
        )  # fmt: skip
        loop = self.loop = self.loop or compiled_loop(work.policy, work.law, arguments)
        while not work.stop.is_set():
            status = loop(*arguments)
            if status == FINISHED:
                return True
            if status == STARVED and not work.law.refill(state, rng):
                return True
        return False


class _Work:
    """All runs of one policy."""

    def __init__(
        self, policy: Policy, law: Law, horizon: int, runs: int, entropy: int, grid: Any
    ) -> None:
        import numpy as np

        self.policy, self.law, self.horizon, self.runs = policy, law, horizon, runs
        self.entropy, self.grid = entropy, grid
        self.setting = policy.setting(law.arms, horizon)
        self.parameters = (
            policy.schedule.parameters(self.setting),
            policy.release.parameters(self.setting),
            policy.rule.parameters(self.setting),
        )
        means = np.array(law.means)
        self.gaps = means.max() - means
        self.regret = np.full((runs, len(grid)), np.nan)
        self.pulls = np.zeros((runs, len(grid), law.arms), np.int64)
        self.done = np.zeros(runs, bool)
        self.stop = threading.Event()

    def child(self, number: int) -> SeedSequence:
        """The seeds of one run."""
        import numpy as np

        return np.random.SeedSequence(self.entropy, spawn_key=(number,))

    def do(self, workers: int, bar: _Bar) -> Result:
        """Do all runs, in order, a thread taking the next one whenever it is free."""
        started = time.perf_counter()
        upcoming = iter(range(self.runs))
        taking = threading.Lock()

        def worker() -> None:
            stage = _Stage(self)
            while not self.stop.is_set():
                with taking:
                    number = next(upcoming, None)
                if number is None:
                    return
                self.done[number] = stage.play(number)

        bar.begin(self.policy.name, self.done)
        if workers == 1 and not bar.wanted:
            self._alone(worker)
        else:
            self._in_threads(worker, min(workers, self.runs), bar)
        return self._result(time.perf_counter() - started)

    def _alone(self, worker: Callable[[], None]) -> None:
        try:
            worker()
        except KeyboardInterrupt:
            self.stop.set()

    def _in_threads(self, worker: Callable[[], None], workers: int, bar: _Bar) -> None:
        with ThreadPoolExecutor(workers) as pool:
            pending: set[Future[None]] = {pool.submit(worker) for _ in range(workers)}
            try:
                while pending:
                    finished, pending = wait(pending, 0.1, return_when=FIRST_COMPLETED)
                    for future in finished:
                        future.result()
                    bar.show()
            except KeyboardInterrupt:
                self.stop.set()
            except BaseException:
                self.stop.set()
                raise

    def _result(self, seconds: float) -> Result:
        complete = bool(self.done.all())
        return Result(
            policy=self.policy.to_dict(),
            law=self.law.to_dict(),
            means=tuple(float(mean) for mean in self.law.means),
            horizon=self.horizon,
            seed=self.entropy,
            complete=complete,
            seconds=seconds,
            run=self.done.nonzero()[0],
            t=self.grid,
            regret=self.regret[self.done],
            pulls=self.pulls[self.done],
        )


class _Bar:
    """A progress bar that appears only if the work takes longer than a second."""

    def __init__(self, total: int, wanted: bool | None) -> None:
        import sys

        self.wanted = sys.stderr.isatty() if wanted is None else wanted
        self.total, self.before, self.name = total, 0, ""
        self.done: Sequence[bool] = ()
        self.started = time.perf_counter()
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.show()
            self.bar.stop()

    def begin(self, name: str, done: Any) -> None:
        """A new policy starts; `done` marks its finished runs."""
        self.before += int(sum(self.done))
        self.name, self.done = name, done

    def show(self) -> None:
        """Bring the bar up to date."""
        if not self.wanted or time.perf_counter() - self.started < PATIENCE:
            return
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

            self.bar = Progress(
                "{task.description}", BarColumn(), MofNCompleteColumn(), "runs",
                TimeRemainingColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.task = self.bar.add_task(self.name, total=self.total)
            self.bar.start()
        completed = self.before + int(sum(self.done))
        self.bar.update(self.task, completed=completed, description=self.name)
