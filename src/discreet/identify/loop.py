"""The loop of an identification: fill a batch, release it, see whether it is enough.

    while t < limit:   arm = fill(counts);  publish(sum of its batch);  if enough(view): stop

Stopping is looked at after a release, for nothing else changes what it depends on. Rewards are
drawn as the sum of a batch when the batch is released; those of batches that never are, not at all.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..arms.base import Law
from ..compiled import Function, Kernel
from ..policies.view import View
from ..privacy.source import SIMULATED
from ..simulator.loop import FINISHED, PAUSED, STARVED, collect_batch, collect_each
from .filling import Batches, Ease, fill_ahead, fill_mixed, fill_whole
from .identifier import Identifier
from .sampling import PrivateTopTwo, SharedTopTwo, first_unreleased


class Course(NamedTuple):
    """Where a run stands: arrays of one entry, so that the loop can write them back."""

    t: Any
    """rounds played"""
    arm: Any
    """arm whose batch is being drawn"""
    left: Any
    """rewards that it still lacks"""
    total: Any
    """sum of those that were drawn"""
    stopped: Any
    """1 once the evidence is enough"""
    answer: Any
    """the arm that is recommended"""
    releases: Any
    """releases so far"""


def fresh_course() -> Course:
    """A run that has not begun."""
    import numpy as np

    def zero() -> Any:
        return np.zeros(1, np.int64)

    return Course(zero(), zero(), zero(), np.zeros(1), zero(), zero(), zero())


def fill(
    schedule: Any, rule: Any, memory: Any, view: View, batches: Batches, ease: Ease, t: int,
    limit: int, pause: int, rng: Any,
) -> tuple[int, int]:  # fmt: skip
    """One of the three of `filling`."""
    raise RuntimeError("no filling was filled in")


def collect(law: Any, release: Any, arm: int, rounds: int, t: int, rng: Any) -> tuple[float, int]:
    """Filled in by release and law."""
    raise RuntimeError("no collection was filled in")


def publish(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    """Filled in by the release."""
    raise RuntimeError("no release was filled in")


def recommend(memory: Any, view: View) -> int:
    """Filled in by the recommendation."""
    raise RuntimeError("no recommendation was filled in")


def enough(stopping: Any, rule: Any, memory: Any, view: View, best: int, t: int) -> bool:
    """Filled in by the stopping rule."""
    raise RuntimeError("no stopping rule was filled in")


def run(
    law: Any,
    schedule: Any,
    release: Any,
    rule: Any,
    stopping: Any,
    ledger: Any,
    memory: Any,
    view: View,
    batches: Batches,
    ease: Ease,
    course: Course,
    limit: int,
    patience: int,
    rng: Any,
) -> int:
    """Play until the evidence is enough, the limit, a pause, or the law is out of rewards."""
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
        part, served = collect(law, release, arm, left, t, rng)
        total += part
        left -= served
        if left > 0:
            status = STARVED
            break
        rounds = batches.full[arm] - batches.start[arm]
        publish(release, ledger, view, arm, rounds, total, rng)
        batches.start[arm] = batches.full[arm]
        course.releases[0] += 1
        if first_unreleased(view) < 0:
            best = recommend(memory, view)
            if enough(stopping, rule, memory, view, best, t):
                course.stopped[0] = 1
                break
    course.t[0], course.arm[0], course.left[0], course.total[0] = t, arm, left, total
    course.answer[0] = recommend(memory, view)
    return status


def fill_kernel(row: Identifier) -> Kernel:
    """How the row fills its batches."""
    parts = {"choose": row.choose_kernel, "length": row.length_kernel}
    if not row.mixed:
        return Kernel(fill_whole, **parts)
    # strides rest on a leader that stands still between releases
    if type(row.rule) in (PrivateTopTwo, SharedTopTwo):
        kernel = Kernel(row.rule.choose)
        return Kernel(fill_ahead, length=row.length_kernel, **kernel.parts)
    return Kernel(fill_mixed, **parts)


@lru_cache(maxsize=256)
def loop_kernel(row: Identifier, draw: Function) -> Kernel:
    """The loop with a row and a law filled in."""
    answer = row.release.respond_kernel(SIMULATED)
    gather = (
        Kernel(collect_batch, draw=draw)
        if answer is None
        else Kernel(collect_each, draw=draw, respond=answer)
    )
    return Kernel(
        run,
        fill=fill_kernel(row),
        collect=gather,
        publish=row.release.publish_kernel(SIMULATED),
        recommend=row.recommendation.recommend,
        enough=row.stopping.enough,
    )


def compiled_loop(row: Identifier, law: Law, arguments: tuple[Any, ...]) -> Function:
    """The loop for a row and a law, compiled for such arguments, cached on disk."""
    return loop_kernel(row, law.draw).cached(*arguments)
