"""The loop of an identification: fill a batch, release it, see whether it is enough.

    while t < limit:   arm = fill(counts);  publish(sum of its batch);  if enough(view): stop

Stopping is looked at after a release, for nothing else changes what it depends on. Rewards are
drawn as the sum of a batch when the batch is released; those of batches that never are, not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._compiled import Floats, Function, Integers, Kernel, open_slot
from ..arms._base import Environment
from ..policies._step import (
    FINISHED,
    PAUSED,
    STARVED,
    close_batch,
    collect,
    collecting,
    slots_of,
)
from ..policies._view import View, counts, shown
from ..privacy._source import SIMULATED
from ._dp_tt import PlainTopTwo
from ._filling import Batches, Ease, Patch, fill_ahead, fill_between, fill_mixed, fill_whole
from ._identifier import Identifier
from ._sampling import PrivateTopTwo, SharedTopTwo, first_unreleased

if TYPE_CHECKING:
    from numpy.random import Generator


class Course(NamedTuple):
    """Where a run stands: arrays of one entry, so that the loop can write them back."""

    t: Integers
    """rounds played"""
    arm: Integers
    """arm whose batch is being drawn"""
    left: Integers
    """rewards that it still lacks"""
    total: Floats
    """sum of those that were drawn"""
    stopped: Integers
    """1 once the evidence is enough"""
    answer: Integers
    """the arm that is recommended"""
    releases: Integers
    """releases so far"""


def fresh_course() -> Course:
    """A run that has not begun."""
    return Course(counts(), counts(), counts(), np.zeros(1), counts(), counts(), counts())


fill: Callable[..., tuple[int, int]] = open_slot("fill")
recommend: Callable[[object, View], int] = open_slot("recommend")
enough: Callable[[object, object, object, View, int, int], bool] = open_slot("enough")


def run(
    environment: object, schedule: object, release: object, rule: object, stopping: object,
    ledger: object, memory: object, view: View, batches: Batches, ease: Ease | Patch,
    course: Course, limit: int, patience: int,
    rng: Generator,
) -> int:  # fmt: skip
    """Play until the evidence is enough, the limit, a pause, or the environment is out of
    rewards."""
    t, arm, left, total = course.t[0], course.arm[0], course.left[0], course.total[0]
    pause = t + patience
    status = FINISHED
    while True:
        if left == 0:
            if t >= limit:
                break
            if t >= pause:
                status = PAUSED
                break
            arm, t = fill(schedule, rule, memory, view, batches, ease, t, limit, pause, rng)
            if arm < 0:
                continue
            left = batches.full[arm] - batches.start[arm]
            total = 0.0
        part, served = collect(environment, release, arm, left, t, rng)
        total += part
        left -= served
        if left > 0:
            status = STARVED
            break
        rounds = batches.full[arm] - batches.start[arm]
        close_batch(release, ledger, view, arm, rounds, total, rng)
        batches.start[arm] = batches.full[arm]
        course.releases[0] += 1
        if first_unreleased(view) < 0:
            best = recommend(memory, shown(view))
            if enough(stopping, rule, memory, shown(view), best, t):
                course.stopped[0] = 1
                break
    course.t[0], course.arm[0], course.left[0], course.total[0] = t, arm, left, total
    course.answer[0] = recommend(memory, shown(view))
    return status


def fill_kernel(row: Identifier) -> Kernel:
    """How the policy fills its batches."""
    slots = slots_of(row, SIMULATED)
    if not row.mixed:
        return Kernel(fill_whole, **slots)
    # strides rest on a leader that stands still between releases
    if type(row.rule) in (PrivateTopTwo, SharedTopTwo):
        kernel = Kernel(row.rule.choose)
        return Kernel(fill_ahead, length=row.length_kernel, **kernel.parts)
    if type(row.rule) is PlainTopTwo:
        return Kernel(fill_between, length=row.length_kernel)
    return Kernel(fill_mixed, **slots)


@lru_cache(maxsize=256)
def loop_kernel(row: Identifier, draw: Function) -> Kernel:
    """The loop with a policy and an environment filled in."""
    return Kernel(
        run,
        fill=fill_kernel(row),
        collect=collecting(row, draw, SIMULATED),
        publish=row.release.publish_kernel(SIMULATED),
        recommend=row.recommendation.recommend,
        enough=row.stopping.enough,
    )


def compiled_loop(
    row: Identifier, environment: Environment, arguments: tuple[object, ...]
) -> Function:
    """The loop for a policy and an environment, compiled for such arguments, cached on disk."""
    return loop_kernel(row, environment.draw).cached(*arguments)
