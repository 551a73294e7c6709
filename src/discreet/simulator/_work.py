"""Many runs of one kind: seeds, threads, progress, Ctrl-C.

Run i draws from the i-th child of one SeedSequence, so a seed fixes every number, whatever the
number of threads. A `Work` says what there is to do; each thread has a `Player` of its own. Ctrl-C
ends the work; `done` marks the runs that were finished.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from .._checks import check_seed, count
from .._compiled import Function, compile_for
from .._progress import Bar
from ..errors import InvalidArgument
from ._record import RECORDS
from ._results import Result

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Ints
    from ._seeds import Stream


class Named(Protocol):
    """What a result says of a policy."""

    @property
    def name(self) -> str: ...
    def to_dict(self) -> dict[str, object]: ...


class Place(Protocol):
    """What a policy is run on: a reward distribution, or a linear problem."""

    @property
    def arms(self) -> int: ...
    @property
    def limit(self) -> int | None: ...
    @property
    def means(self) -> Sequence[float]: ...
    def to_dict(self) -> dict[str, object]: ...


class Player:
    """Plays one run after the other, for one thread: its arrays are made once and then reset."""

    def __init__(self, *states: Iterable[object]) -> None:
        import numpy as np

        self.initial = [
            (array, array.copy())
            for state in states
            for array in state
            if isinstance(array, np.ndarray | list)
        ]

    def reset(self) -> None:
        """All arrays as they were at first."""
        for array, copy in self.initial:
            array[:] = copy

    def play(self, number: int) -> bool:
        """One run, from its own seed; False if it was stopped."""
        raise NotImplementedError


class Work:
    """All runs of one policy."""

    def __init__(self, name: str, runs: int, entropy: int) -> None:
        import numpy as np

        self.name, self.runs, self.entropy = name, runs, entropy
        self.first = 0
        """The number of the first run: a piece of a study begins in its middle."""
        self.done = np.zeros(runs, bool)
        self.stop = threading.Event()
        self.seconds = 0.0
        """Time that the runs took, without compiling."""
        self.compiling = 0.0
        """Time that compiling took, or loading what was compiled before."""
        self.one_compiles = threading.Lock()
        self.bar = Bar(False)

    def make_room(self) -> None:
        """What all threads share and was not made before, made before they begin."""

    def player(self) -> Player:
        """A new player, for one thread."""
        raise NotImplementedError

    def generator(self, number: int, *more: int) -> Generator:
        """The random numbers of one run; `more` names others of the same run."""
        import numpy as np

        from .._draws import draws

        return draws(np.random.SeedSequence(self.entropy, spawn_key=(self.first + number, *more)))

    def stream(self) -> Stream:
        """The random numbers of one run after the other, for one thread: cheaper, where a run is
        over before the next one begins."""
        from ._seeds import Stream

        return Stream(self.entropy, self.first, self.runs)

    def ready(self, link: Callable[[], Function], arguments: tuple[object, ...]) -> Function:
        """A kernel linked and compiled for such arguments, while the other threads wait.

        What numba cannot compile is a mistake in one of the functions that the policy is built
        from.
        """
        with self.one_compiles, self.bar.compiling(self.name):
            started = time.perf_counter()
            try:
                return compile_for(self.name, link, arguments)
            finally:
                self.compiling += time.perf_counter() - started

    def do(self, workers: int, bar: Bar, before: int = 0, total: int | None = None) -> None:
        """Do all runs, in order, a thread taking the next one whenever it is free.

        `before` runs of `total` were done by other work that shares the bar.
        """
        from .._draws import draws  # noqa: F401 - loading numba is no part of the runs

        self.make_room()
        started, self.bar = time.perf_counter(), bar
        upcoming = iter(range(self.runs))
        taking = threading.Lock()

        def worker() -> None:
            player = self.player()
            while not self.stop.is_set():
                with taking:
                    number = next(upcoming, None)
                if number is None:
                    return
                self.done[number] = player.play(number)

        def show() -> None:
            done = before + int(self.done.sum())
            doing = "compiling" if self.one_compiles.locked() else "runs"
            bar.show(f"{self.name}: {doing}", done, total or self.runs)

        try:
            if workers == 1 and not bar.wanted:
                worker()
            else:
                self._in_threads(worker, min(workers, self.runs), show)
        except KeyboardInterrupt:
            self.stop.set()
        self.seconds = max(time.perf_counter() - started - self.compiling, 0.0)

    @property
    def complete(self) -> bool:
        """Whether all runs were finished."""
        return bool(self.done.all())

    @property
    def finished(self) -> Ints:
        """The numbers of the runs that were."""
        finished: Ints = self.first + self.done.nonzero()[0]
        return finished

    def _in_threads(
        self, worker: Callable[[], None], workers: int, show: Callable[[], None]
    ) -> None:
        with ThreadPoolExecutor(workers) as pool:
            pending: set[Future[None]] = {pool.submit(worker) for _ in range(workers)}
            try:
                while pending:
                    finished, pending = wait(pending, 0.1, return_when=FIRST_COMPLETED)
                    for future in finished:
                        future.result()
                    show()
            except BaseException:
                self.stop.set()
                raise


P = TypeVar("P", bound=Named)
L = TypeVar("L", bound=Place)


class RegretWork(Work, Generic[P, L]):
    """All runs of one policy to a horizon: regret and pulls at the rounds of a grid.

    With `record` "regret" pulls are not kept: a run notes them where the next one of its thread
    notes its own, so that thousands of runs take no more room for them than one. It is set before
    the first run.
    """

    record: str = RECORDS[0]

    def __init__(
        self, policy: P, place: L, horizon: int, runs: int, entropy: int, grid: Ints,
        *, shuffle: bool = False,
    ) -> None:  # fmt: skip
        import numpy as np

        super().__init__(policy.name, runs, entropy)
        self.horizon, self.grid, self.shuffle = horizon, grid, shuffle
        self.policy, self.place, self.described = policy, place, policy.to_dict()
        self.regret = np.full((runs, len(grid)), np.nan)
        self.scratch = threading.local()

    @cached_property
    def pulls(self) -> Ints:
        """Pulls of every run at every point; of no arm if they are not kept."""
        import numpy as np

        kept = self.place.arms if self.record == RECORDS[0] else 0
        return np.zeros((self.runs, len(self.grid), kept), np.int64)

    def make_room(self) -> None:
        _ = self.pulls

    def noted(self, number: int) -> Ints:
        """Where a run notes its pulls."""
        import numpy as np

        if self.pulls.shape[-1]:
            kept: Ints = self.pulls[number]
            return kept
        if not hasattr(self.scratch, "pulls"):
            self.scratch.pulls = np.zeros((len(self.grid), self.place.arms), np.int64)
        found: Ints = self.scratch.pulls
        found[:] = 0
        return found

    def order(self, number: int, rng: Generator) -> Ints:
        """The order in which a run meets the arms: random, but for the first, for which the arms
        take turns from run to run. A policy that never leaves its first arm then regrets what it
        should, and not what the luck of the draw says."""
        import numpy as np

        order = rng.permutation(self.place.arms)
        turn = (self.entropy + self.first + number) % self.place.arms
        return np.roll(order, -int(np.flatnonzero(order == turn)[0]))

    def result(self) -> Result:
        """The runs that were finished."""
        done = slice(None) if self.complete else self.done  # a slice copies nothing
        return Result(
            policy=self.described,
            environment=self.place.to_dict(),
            means=tuple(float(mean) for mean in self.place.means),
            horizon=self.horizon,
            shuffle=self.shuffle,
            seed=self.entropy,
            complete=self.complete,
            seconds=self.seconds,
            run=self.finished,
            t=self.grid,
            regret=self.regret[done],
            counted=self.pulls[done],
        )


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


MOST_THREADS = 1024
MOST_NUMBERS = 5 * 10**8
"""Numbers that the results of one policy may hold: four gigabytes."""


def check_room(runs: int, points: int, arms: int, record: str = RECORDS[0]) -> None:
    """Results that fit into memory: regret and the pulls of every arm, at every point."""
    if record != RECORDS[0]:
        if runs * points + points * arms > MOST_NUMBERS:
            raise InvalidArgument(
                "runs", f"leave at most {MOST_NUMBERS:,} numbers (points × (runs + arms))",
                f"{points:,} × ({runs:,} + {arms:,})", "ask for fewer runs, or for points=2",
            )  # fmt: skip
    elif runs * points * (arms + 1) > MOST_NUMBERS:
        raise InvalidArgument(
            "runs", f"leave at most {MOST_NUMBERS:,} numbers (runs × points × (arms + 1))",
            f"{runs:,} × {points:,} × {arms + 1}",
            'keep no pulls (record="regret"), or ask for fewer runs, or for points=2',
        )  # fmt: skip


def check_threads(threads: int | None) -> int:
    """How many threads; default: all cores."""
    return available_cores() if threads is None else count("threads", threads, most=MOST_THREADS)


def entropy_of(seed: object) -> int:
    """The number that fixes everything: the seed, or one drawn for the occasion."""
    import numpy as np

    entropy = np.random.SeedSequence(check_seed(seed)).entropy
    assert isinstance(entropy, int)
    return entropy
