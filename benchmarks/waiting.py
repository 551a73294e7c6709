"""Can one tell from how long an assignment takes that somebody has just answered?

    python benchmarks/waiting.py [--number 600]

Somebody's outcome comes, or does not, by a coin; a moment later an observer asks for an arm. The
area under the curve (AUC) of that duration is 1/2 if it says nothing. Without a beat the observer
waits for the outcome to be stored; with one (`discreet.live.Beat`) every commit comes at its time.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from stores import planned, stores

from discreet.live import Beat, Trial

BEATS = {"SQLite": 0.025, "PostgreSQL": 0.005}
MOMENT = 0.0002
"""Seconds between the outcome and the observer."""


def auc(with_: list[float], without: list[float]) -> float:
    """How often a duration of the first kind is the longer one."""
    longer = sum((a > b) + 0.5 * (a == b) for a in with_ for b in without)
    return longer / (len(with_) * len(without))


def measured(user: Trial | Beat, number: int, seed: int) -> float:
    """The AUC of durations, by that many coins."""
    coins, found = random.Random(seed), ([], [])  # type: ignore[var-annotated]
    go, done = threading.Semaphore(0), threading.Semaphore(0)
    task: list[Callable[[], None]] = []

    def other() -> None:
        while True:
            go.acquire()
            task.pop()()
            done.release()

    threading.Thread(target=other, daemon=True).start()
    for unit in range(number):
        user.assign(f"victim {unit}")
    for unit in range(number):
        coin = coins.random() < 0.5
        time.sleep(coins.uniform(0.0, 0.03))
        task.append((lambda unit=unit: user.record(f"victim {unit}", 1.0)) if coin else nothing)
        go.release()
        time.sleep(MOMENT)
        started = time.perf_counter()
        user.assign(f"observer {unit}")
        found[coin].append(time.perf_counter() - started)
        done.acquire()
    return auc(found[True], found[False])


def nothing() -> None:
    """Nobody answers."""


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--number", type=int, default=600)
    number = asked.parse_args().number
    with stores() as makers:
        for name, make in makers.items():
            trial = planned(make("direct"))
            print(f"{name}, without a beat: AUC {measured(trial, number, 1):.3f}")
            trial.close()
            trial = planned(make("beat"))
            with Beat(trial, BEATS[name]) as beat:
                found = measured(beat, number, 2)
            print(f"{name}, with a beat of {1000 * BEATS[name]:g} ms: AUC {found:.3f}")
            trial.close()


if __name__ == "__main__":
    main()
