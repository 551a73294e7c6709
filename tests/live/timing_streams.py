"""Trials in streams whose blocks wait side by side, for the attack of `timing_attack`.

A transcript is of two units that are treated before the first of them is due, so that two blocks
are in flight; the first is attacked, by the durations of all calls and by what its block releases:
a noisy sum, or, where missing outcomes are estimated, a noisy sum and a noisy count. Of a pair the
time of one release covers two draws: an onlooker who sees the count and knows the sampler takes
away what the count must have taken if the unit answered, and is left with the time of the sum. That
tells |noise|, and so how far the sum is from what it would be if the outcome were 1.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import timing_attack
from live_cases import Clock
from timing_attack import Timed
from timing_cases import First

from discreet.live import Trial
from discreet.policies import Policy
from discreet.policies._schedules import EachRound
from discreet.policies.releases import RunningLaplace
from discreet.privacy._source import SECURE

DEADLINE = 1.0
BEFORE = 100
"""Transcripts of one trial: long records take their time."""
BLOCKS: dict[str, tuple[Any, float | None]] = {
    "sum": (0.0, 0.0),
    "pair, another answer": ("estimate", 0.0),
    "pair, no answer": ("estimate", None),
}
"""What becomes of missing outcomes, and the outcome that is told from 1. All claim 1."""


class Sampler(NamedTuple):
    """What an onlooker knows of it, in nanoseconds: for noise of one scale, for a draw, for a look
    at the clock."""

    slowness: float
    draw: int
    look: int


def trial_of_blocks(name: str, clock: Clock) -> Trial:
    row = Policy("attacked", EachRound(), RunningLaplace(1.0), First())
    return Trial(row, 2, deadline=DEADLINE, missing=BLOCKS[name][0], clock=clock)


def released(trial: Trial, arm: int) -> tuple[int, int]:
    """The noisy sum and the noisy count of an arm; a count of 0 where there is none."""
    run: Any = trial._run
    if hasattr(run, "pairs"):
        return run.pairs.total[arm], run.pairs.count[arm]
    return run.ledger.noisy[arm], 0


def distance(trial: Trial, total: int, answers: int, duration: int, sampler: Sampler) -> int:
    """How far a released sum less its noise, as the duration tells it, is from that of a 1."""
    run: Any = trial._run
    left = duration - sampler.look - sampler.draw
    target, scale = SECURE.resolution, run.release.scale
    if answers:
        of_the_count = abs(answers - SECURE.resolution) / run.pair.answers
        left -= sampler.draw + round(sampler.slowness * of_the_count)
        target, scale = SECURE.resolution // 2, run.pair.total
    noise = round(scale * left / sampler.slowness)
    return int(min(abs(total - noise - target), abs(total + noise - target)))


def timed_blocks(name: str, sampler: Sampler) -> Timed:
    """Transcripts."""
    clock, units, other = Clock(), count(), BLOCKS[name][1]
    trial = trial_of_blocks(name, clock)

    def play(side: float) -> tuple[float, list[int]]:
        nonlocal trial
        first, second = next(units), next(units)
        if first % BEFORE == 0:
            trial = trial_of_blocks(name, clock)
        durations: list[int] = []

        def timed(call: Callable[..., Any], *arguments: Any) -> Any:
            result, taken = timing_attack.timed(call, *arguments)
            durations.extend(taken)
            return result

        clock.now += 10.0
        arm = timed(trial.assign, first)
        clock.now += 0.25
        timed(trial.assign, second)
        if other is not None:
            timed(trial.record, first, 1.0 if side else other)
        elif side:  # whether somebody answers is private; that a call is made can be hidden
            trial.record(first, 1.0)
        timed(trial.record, second, 0.5)
        assert len(trial._store.blocks) == 2, "both blocks are in flight"
        before = released(trial, arm)
        clock.now += DEADLINE - 0.25
        timed(trial.settle)
        after = released(trial, arm)
        total, answers = after[0] - before[0], after[1] - before[1]
        durations += [answers, distance(trial, total, answers, durations[-1], sampler)]
        clock.now += 0.25
        timed(trial.settle)
        timed(repr, trial)
        return float(total), durations

    return play
