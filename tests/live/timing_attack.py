"""An attack on what can be timed: the joint law of every duration of a trial's life and its value.

Two neighbouring trials, in which one outcome is 0 or 1. An onlooker sees what is released and how
long every call took, in time of day and in processor time (which a fellow tenant of the machine may
see, and which the system's scheduler disturbs less). Half of the trials teach where the two sides
differ: cells of (value, duration) with the largest ratio of counts, for every kind of duration. The
other half tests one event for each kind, by Clopper and Pearson's limits: P(event) on the one side
is at least `low`, on the other at most `high`, so ε >= log(low/high), with a stated confidence.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from scipy.stats import beta

CLOCKS = (time.perf_counter_ns, time.thread_time_ns)
Timed = Callable[[float], tuple[float, list[int]]]
"""An outcome -> what was released, and every duration."""


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, list[int]]:
    """What a call returns, and how long it took by every clock; the first looks closest."""
    begun = [clock() for clock in reversed(CLOCKS)]
    result = call(*arguments)
    ended = [clock() for clock in CLOCKS]
    return result, [end - start for end, start in zip(ended, reversed(begun), strict=True)]


def timed_units(trial: Any) -> Timed:
    """Units of one trial that releases the outcome of every unit by itself."""
    units = count()

    def play(outcome: float) -> tuple[float, list[int]]:
        durations: list[int] = []
        unit = next(units)
        steps = ((trial.assign, (unit,)), (trial.record, (unit, outcome)), (repr, (trial,)))
        before = shown(trial)
        for step, arguments in steps:
            durations += timed(step, *arguments)[1]
        after = shown(trial)
        return released(after) - remembered(before, after), durations

    return play


def timed_firsts(trial: Any) -> Timed:
    """The first unit of a trial that begins anew each time."""
    beginning, play = trial._document(trial._plan.run), timed_units(trial)

    def afresh(outcome: float) -> tuple[float, list[int]]:
        begin_anew(trial, beginning)
        return play(outcome)

    return afresh


def begin_anew(trial: Any, beginning: Any) -> None:
    """As if nobody had come yet; a store in use is not made for that."""
    trial._store._now = {}, {}
    trial._store.create(beginning, len(trial._arms), None)
    trial._stale = True


def shown(trial: Any) -> dict[str, Any]:
    """What a report would show of the first arm, without its intervals: they take long."""
    view = trial._run.view
    return {"mean": view.value[0] if view.size[0] > 0 else None, "size": view.size[0]}


def released(row: dict[str, Any]) -> float:
    """The sum that a report speaks of."""
    return 0.0 if row["mean"] is None else float(row["mean"] * row["size"])


def remembered(before: dict[str, Any], after: dict[str, Any]) -> float:
    """What of it was released before, if the release goes on adding up."""
    return released(before) if after["size"] > 1 else 0.0


def sampled(play: Timed, size: int) -> tuple[Any, Any]:
    """Transcripts of both sides, in turns, so that the machine treats them alike: an array of
    (value, durations...) each."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for number in range(2 * size):
        value, durations = play(float(number % 2))
        sides[number % 2].append([value, *durations])
    return np.array(sides[0], float), np.array(sides[1], float)


def epsilon_lower(sides: tuple[Any, Any], confidence: float) -> float:
    """A lower bound on ε that is wrong with probability at most 1 - confidence."""
    half = len(sides[0]) // 2
    teach, test = [side[:half] for side in sides], [side[half:] for side in sides]
    kinds = sides[0].shape[1] - 1
    alpha = (1.0 - confidence) / (4 * kinds)
    best = 0.0
    for kind in range(1, kinds + 1):
        for side in (0, 1):
            event = learnt(teach[side], teach[1 - side], kind)
            hits, others = (int(event(rows).sum()) for rows in (test[side], test[1 - side]))
            n = len(test[side])
            low = float(beta.ppf(alpha, hits, n - hits + 1)) if hits else 0.0
            high = float(beta.ppf(1.0 - alpha, others + 1, n - others)) if others < n else 1.0
            if low > 0.0:
                best = max(best, math.log(low / high))
    return best


def learnt(these: Any, those: Any, kind: int) -> Callable[[Any], Any]:
    """The event of a value and one duration that proves most on what it was learnt from."""
    both = np.vstack([these, those])
    cells = round(len(both) ** (1 / 3))  # along either axis, by quantiles
    edges = [
        np.unique(np.quantile(both[:, column], np.linspace(0, 1, cells + 1)[1:-1]))
        for column in (0, kind)
    ]

    def cell(rows: Any) -> Any:
        across, up = np.searchsorted(edges[0], rows[:, 0]), np.searchsorted(edges[1], rows[:, kind])
        return across * cells + up

    size = cells * cells
    mine, theirs = (np.bincount(cell(rows), minlength=size) for rows in (these, those))
    order = np.argsort(-(mine + 0.5) / (theirs + 0.5), kind="stable")
    hits, others = np.cumsum(mine[order]), np.cumsum(theirs[order])
    # what the limits would be worth at a confidence near enough to that of the test
    least = np.maximum(hits - 4.5 * np.sqrt(hits) - 9.0, 0.1)
    worth = np.log(least / (others + 4.5 * np.sqrt(others) + 12.0))
    chosen = np.zeros(size, bool)
    chosen[order[: int(np.argmax(worth)) + 1]] = True

    def event(rows: Any) -> Any:
        return chosen[cell(rows)]

    return event
