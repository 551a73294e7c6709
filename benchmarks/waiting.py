"""Can one tell from how long an assignment takes that somebody has just answered?

    python benchmarks/waiting.py [--number 600]

Somebody's outcome comes, or does not, by a coin; a moment later an observer asks for an arm. The
area under the curve (AUC) of that duration is 1/2 if it says nothing. Without a beat the observer
waits for the outcome to be stored; with one (`discreet.live.Beat`) every commit comes at its time.

Processes that release hold the trial while they store an outcome. In PostgreSQL workers that do not
release (`releases_here=False`) hold its block alone: whoever asks for an arm waits for the disk at
most. So both kinds are measured without a beat.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from stores import Make, planned, stores

from discreet.live import Beat, Trial

BEATS = {"SQLite": 0.025, "PostgreSQL": 0.005}
MOMENT = 0.0003
"""Seconds between the outcome and the observer."""


def auc(with_: list[float], without: list[float]) -> float:
    """How often a duration of the first kind is the longer one."""
    longer = sum((a > b) + 0.5 * (a == b) for a in with_ for b in without)
    return longer / (len(with_) * len(without))


def user_of(make: Make, name: str, beat: float, here: bool, until: ExitStack) -> Trial | Beat:
    """A process's own trial, with a beat or without; it releases or not."""
    trial = until.enter_context(Trial.load(make(name, releases_here=here)))
    return until.enter_context(Beat(trial, beat)) if beat else trial


def answering(make: Make, name: str, beat: float, here: bool, told: Connection) -> None:
    """Another process: it hands an outcome in when it is told to."""
    with ExitStack() as until:
        user = user_of(make, name, beat, here, until)
        told.send("ready")
        while (unit := told.recv()) is not None:
            if unit:
                user.record(unit, 1.0)
            told.send("done")


def measured(make: Make, name: str, beat: float, here: bool, number: int, seed: int) -> float:
    """The AUC of durations, by that many random draws."""
    planned(make(name)).close()
    draws, found = random.Random(seed), ([], [])  # type: ignore[var-annotated]
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=answering, args=(make, name, beat, here, there))
    other.start()
    with ExitStack() as until:
        user = user_of(make, name, beat, here, until)
        user.assign("first")
        here.recv()
        for unit in range(number):
            user.assign(f"victim {unit}")
            answers = draws.random() < 0.5
            time.sleep(draws.uniform(0.0, 0.03))
            here.send(f"victim {unit}" if answers else "")
            time.sleep(MOMENT)
            started = time.perf_counter()
            user.assign(f"observer {unit}")
            found[answers].append(time.perf_counter() - started)
            here.recv()
        here.send(None)
    other.join()
    return auc(found[True], found[False])


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--number", type=int, default=600)
    number = asked.parse_args().number
    with stores() as makers:
        for name, make in makers.items():
            for here, who in ((True, "that release"), (False, "that do not")):
                found = measured(make, f"direct {here}", 0.0, here, number, 1)
                print(f"{name}, processes {who}, without a beat: AUC {found:.3f}", flush=True)
            found = measured(make, "beat", BEATS[name], True, number, 2)
            print(f"{name}, with a beat of {1000 * BEATS[name]:g} ms: AUC {found:.3f}", flush=True)


if __name__ == "__main__":
    main()
