"""A sweep beside bare loops, and on every kind of executor.

    python benchmarks/sweeps.py                 # 48 cells, beside the same loops without a sweep
    python benchmarks/sweeps.py --executors     # threads, processes, loky, Dask: bytes and speed
    python benchmarks/sweeps.py --executors Dask --horizon 2e6    # one kind, on less work
    python benchmarks/sweeps.py --executors Dask quiet-Dask       # and by the settings of the docs

48 cells: three rows, four budgets, four numbers of arms, T = 1e6, 50 runs. The bare loops are the
same compiled runs one cell after the other, with the same threads, nothing kept; wanted: a sweep
takes at most 1.5 times as long, with a folder that keeps every piece. Both are warm, and measured
by turns.
Executors that are not installed are left out and named. "quiet-Dask" is Dask with the settings of
docs/sweeps.md, which monitors itself less often.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import discreet
from discreet._progress import Bar
from discreet.simulator._runs import Simulation, log_grid
from discreet.simulator._work import available_cores

ROWS = ("dp-imed", "adap-klucb", "dp-ucb")
EPSILON = (0.1, 0.3, 1.0, 3.0)
ARMS = (2, 5, 10, 20)
WANTED, WANTED_TWO = 1.5, 1.7


def environments() -> list[Any]:
    """K arms, the best at .75, the others even down to .25."""
    return [
        discreet.Bernoulli([0.75 - 0.5 * arm / (arms - 1) for arm in range(arms)]) for arms in ARMS
    ]


def times(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    started, spent = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - spent


def bare(rows: tuple[str, ...], horizon: int, runs: int, threads: int) -> None:
    """The loops themselves."""
    for name in rows:
        for epsilon in EPSILON:
            for environment in environments():
                row = discreet.policy(name, epsilon=epsilon)
                grid = log_grid(horizon, 100)
                work = Simulation(row, environment, horizon, runs, 1, grid, shuffle=True)
                work.do(threads, Bar(False))
                work.result()


def swept(rows: tuple[str, ...], horizon: int, runs: int, threads: int) -> None:
    """The same as a sweep that keeps its pieces."""
    with tempfile.TemporaryDirectory() as folder:
        discreet.sweep(
            list(rows), environments(), epsilon=list(EPSILON), horizon=horizon, runs=runs, seed=1,
            threads=threads, folder=folder, progress=False,
        )  # fmt: skip


def cells(horizon: int, runs: int, repeats: int) -> None:
    """Print the ratio, per row and for all."""
    threads = available_cores()
    whole = [0.0] * 4

    def say(rows: tuple[str, ...], took: list[float]) -> None:
        print(
            f"{16 * len(rows)} cells ({', '.join(rows)}), T = {horizon:,}, {runs} runs: sweep / "
            f"bare loops {took[2] / took[0]:.2f} by the clock ({took[2]:.2f}, {took[0]:.2f} s), "
            f"{took[3] / took[1]:.2f} in CPU time   to reach: {WANTED}",
            flush=True,
        )

    for row in ROWS:
        for play in (bare, swept):
            play((row,), 1000, 1, threads)
        pairs = [
            (
                *times(partial(bare, (row,), horizon, runs, threads)),
                *times(partial(swept, (row,), horizon, runs, threads)),
            )
            for _ in range(repeats)
        ]
        took = [min(measured) for measured in zip(*pairs, strict=True)]
        whole = [total + one for total, one in zip(whole, took, strict=True)]
        say((row,), took)
    say(ROWS, whole)


@contextmanager
def loky(workers: int) -> Iterator[Executor]:
    """loky's own pool, as joblib brings it."""
    from joblib.externals.loky import ProcessPoolExecutor as Loky

    with Loky(workers) as pool:
        yield pool


@contextmanager
def dask(workers: int) -> Iterator[Executor]:
    """A cluster of Dask on this machine, a process a worker."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client.get_executor()


QUIET = {
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.memory.monitor-interval": "5s",
    "distributed.worker.profile.enabled": False,
}


@contextmanager
def quiet_dask(workers: int) -> Iterator[Executor]:
    """The same, with the settings of docs/sweeps.md."""
    import distributed  # noqa: F401 - its own settings are read when it is imported
    from dask import config

    with config.set(QUIET), dask(workers) as pool:
        yield pool


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """The standard library's."""
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        yield pool


def bytes_of(folder: Path) -> str:
    """A digest of all pieces."""
    seen = hashlib.sha256()
    for file in sorted(folder.glob("*.parquet")):
        seen.update(file.name.encode() + file.read_bytes())
    return seen.hexdigest()[:12]


def executors(horizon: int, runs: int, asked: list[str]) -> None:
    """Print bytes and seconds of every kind, and two workers beside one."""
    study: dict[str, Any] = {
        "epsilon": [0.5, 1.0], "horizon": horizon, "runs": runs, "seed": 1, "piece": 5,
        "progress": False,
    }  # fmt: skip
    took: dict[tuple[str, int], float] = {}
    digests: set[str] = set()
    kinds: dict[str, Any] = {"threads": None, "processes": processes, "loky": loky, "Dask": dask,
                             "quiet-Dask": quiet_dask}  # fmt: skip
    kinds = {kind: make for kind, make in kinds.items() if kind in asked or not asked}
    for kind, make in kinds.items():
        for workers in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    if make is None:
                        started = time.perf_counter()
                        discreet.sweep(
                            "dp-ucb", environments()[:2], folder=folder, threads=workers, **study
                        )
                    else:
                        with make(workers) as pool:
                            discreet.sweep(  # every worker compiles or loads
                                "dp-ucb", environments()[:2], executor=pool,
                                **study | {"horizon": 1000, "runs": 10 * workers},
                            )  # fmt: skip
                            started = time.perf_counter()
                            discreet.sweep(
                                "dp-ucb", environments()[:2], folder=folder, executor=pool, **study
                            )
                except ImportError:
                    print(f"{kind}: not installed", flush=True)
                    break
                took[kind, workers] = time.perf_counter() - started
                digests.add(bytes_of(Path(folder)))
                print(
                    f"{kind}, {workers} workers: {took[kind, workers]:.1f} s, pieces "
                    f"{bytes_of(Path(folder))}", flush=True,
                )  # fmt: skip
    print("bytes equal:", len(digests) == 1)
    for kind in kinds:
        if (kind, 2) in took:
            ratio = took[kind, 1] / took[kind, 2]
            print(f"{kind}: one worker / two {ratio:.2f}   to reach: {WANTED_TWO} (Dask, 60 s)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--executors", nargs="*", metavar="KIND", help="default: all kinds")
    parser.add_argument("--horizon", type=float, default=None)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=2)
    asked = parser.parse_args()
    if asked.executors is not None:
        executors(int(asked.horizon or 5e6), asked.runs, asked.executors)
    else:
        cells(int(asked.horizon or 1e6), asked.runs, asked.repeats)
