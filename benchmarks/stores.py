"""What a store costs: processor time of steps by 64 a commit, as ratios of one run; opening a trial
that is long; how late releases are under load.

    python benchmarks/stores.py [--assignments 1000000] [--seconds 10]

Processor time is that of the client. PostgreSQL is the server of the tests, with synced commits.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import discreet
from discreet import Outcomes
from discreet.errors import TrialBusy
from discreet.live import Beat, Trial
from discreet.live._curator import Assigning
from discreet.live.stores import PostgresStore, SqliteStore
from discreet.live.stores._sql import SqlStore
from postgres import running

BATCH, ROUNDS, REPEATS = 64, 40, 3
Make = Callable[..., SqlStore]


def planned(store: SqlStore | None, deadline: str = "100 days") -> Trial:
    """A trial such as a service has."""
    row = discreet.policy("dp-imed", epsilon=1.0, first=1000)
    return Trial(
        row, ["A", "B"], path=store, deadline=deadline, missing=0.0,
        outcomes=Outcomes(conflicts="ignore"),
    )  # fmt: skip


def step_of(trial: Trial) -> float:
    """Processor seconds of one assignment with its outcome, at best."""
    found, number = [], 0
    for _ in range(REPEATS):
        started = time.process_time()
        for _ in range(ROUNDS):
            units = [f"u{number + n}" for n in range(BATCH)]
            number += BATCH
            trial.assign_many(units)
            trial.record_many([(unit, 1.0) for unit in units])
        found.append((time.process_time() - started) / (ROUNDS * BATCH))
    trial.close()
    return min(found)


def single_step_of(trial: Trial) -> float:
    """The same, one call each."""
    found, number = [], 0
    for _ in range(REPEATS):
        started = time.process_time()
        for _ in range(ROUNDS * BATCH):
            number += 1
            trial.assign(f"u{number}")
            trial.record(f"u{number}", 1.0)
        found.append((time.process_time() - started) / (ROUNDS * BATCH))
    trial.close()
    return min(found)


def opening_of(make: Make, assignments: int) -> float:
    """Seconds to load a trial that has that many."""
    with planned(make("long")) as trial:
        for start in range(0, assignments, 1000):
            trial.assign_many([f"u{start + n}" for n in range(min(1000, assignments - start))])
    found = []
    for _ in range(5):
        started = time.perf_counter()
        trial = Trial.load(make("long"))
        trial.assign("u7")
        found.append(time.perf_counter() - started)
        trial.close()
    return sorted(found)[2]


def worked(make: Make, seconds: float, number: int) -> int:
    """Newcomers of one process, 16 at once, as many as it can seat."""
    until, unit, seated = time.monotonic() + seconds, 0, 0
    with Trial.load(make("load", releases_here=False)) as trial, Beat(trial, 0.01) as beat:
        while time.monotonic() < until:
            waits = [beat.ask(Assigning(f"{number}-{unit + n}")) for n in range(16)]
            unit += 16
            for wait in waits:
                with suppress(TrialBusy):
                    wait.result()
                    seated += 1
    return seated


def lag_of(make: Make, seconds: float) -> tuple[int, float, int]:
    """Under full load by two workers: releases, the 99th percentile of how late they were, and
    assignments."""
    planned_store = make("load")
    row = discreet.policy("dp-imed", epsilon=1.0, first=20, ratio=1.1)
    curator = Trial(
        row, ["A", "B"], path=planned_store, deadline="1 s", missing=0.0,
        outcomes=Outcomes(conflicts="ignore"),
    )  # fmt: skip
    curator.close()
    lags, started = list[float](), time.monotonic()
    workers = multiprocessing.get_context("spawn").Pool(2)
    asked = workers.map_async(partial(worked, make, seconds), range(2))
    curator = Trial.load(make("load"))
    while time.monotonic() < started + seconds:
        with curator._turn(), curator._store.held():
            curator._stand()
            due = curator._run.next_due(curator._store.blocks, curator._terms, curator._time())
        if curator.settle() and due is not None:
            lags.append(time.time() - due.at)
        time.sleep(0.02)
    seated = asked.get()
    workers.close()
    workers.join()
    curator.close()
    lags.sort()
    return len(lags), lags[int(0.99 * len(lags))] if lags else float("nan"), sum(seated)


def in_a_file(folder: str, name: str, **options: bool) -> SqliteStore:
    """A store in that folder."""
    return SqliteStore(f"{folder}/{name}.db", **options)  # type: ignore[arg-type]


@contextmanager
def stores() -> Iterator[dict[str, Make]]:
    """Makers of stores by name, in a folder and on a server."""
    with tempfile.TemporaryDirectory() as folder, running("max_connections = 40\n") as server:
        url = server.database()
        yield {
            "SQLite": partial(in_a_file, folder),
            "PostgreSQL": partial(PostgresStore, url),
        }


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--assignments", type=int, default=1_000_000)
    asked.add_argument("--seconds", type=float, default=10.0)
    options = asked.parse_args()
    with stores() as makers:
        single, memory = single_step_of(planned(None)), step_of(planned(None))
        print(f"memory: {1e6 * single:.0f} µs of processor a step, {1e6 * memory:.0f} by {BATCH}")
        for name, make in makers.items():
            step = step_of(planned(make("steps")))
            print(
                f"{name}, {BATCH} a commit: {1e6 * step:.0f} µs, {step / single:.2f} x a trial in "
                f"memory, {step / memory:.2f} x one by {BATCH}"
            )
        for name, make in makers.items():
            many, lag, seated = lag_of(make, options.seconds)
            print(f"{name}: {many} releases, 99 % less than {lag:.3f} s late, {seated} assigned")
        for name, make in makers.items():
            seconds = opening_of(make, options.assignments)
            print(f"{name}: opened after {options.assignments} in {1000 * seconds:.1f} ms")


if __name__ == "__main__":
    main()
