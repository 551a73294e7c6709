"""The one loop: choose an arm, play a batch, release it, until the horizon.

    while t < T:   arm, rounds = ask(view, t);  total = draw(arm, rounds);  release(...) -> view

A batch is one draw of its sum, so a run costs as many steps as it has releases, not rounds. The
loop can pause: after a number of decisions (so that progress shows and Ctrl-C is heard), or when
a law has run out of rewards and Python must refill it. Everything it needs to go on is in `Course`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..arms.base import Law
from ..compiled import Function, Kernel
from ..policies import Policy
from ..policies.view import View
from ..privacy.source import SIMULATED

FINISHED, PAUSED, STARVED = 0, 1, 2


class Course(NamedTuple):
    """Where a run stands: arrays of one entry, so that the loop can write them back."""

    t: Any
    """rounds played"""
    arm: Any
    """arm of the batch under way"""
    left: Any
    """rounds that it still lacks"""
    rounds: Any
    """its length; 0 if the horizon cuts it off, for then it is never released"""
    recorded: Any
    """points of the grid that are filled"""
    total: Any
    """rewards of the batch so far"""
    regret: Any
    """pseudo-regret so far"""


class Curve(NamedTuple):
    """What is recorded: pseudo-regret and pulls on a grid of rounds."""

    grid: Any
    regret: Any
    pulls: Any


def choose(rule: Any, memory: Any, view: View, t: int, rng: Any) -> int:
    """Filled in by the rule."""
    raise RuntimeError("no rule was filled in")


def length(schedule: Any, memory: Any, view: View, arm: int) -> int:
    """Filled in by the schedule."""
    raise RuntimeError("no schedule was filled in")


def publish(
    release: Any, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    """Filled in by the release."""
    raise RuntimeError("no release was filled in")


def draw(law: Any, arm: int, rounds: int, t: int, rng: Any) -> tuple[float, int]:
    """Filled in by the law of the rewards."""
    raise RuntimeError("no law was filled in")


def respond(release: Any, reward: float, rng: Any) -> float:
    """Filled in by a local release."""
    raise RuntimeError("no local release was filled in")


def collect_batch(
    law: Any, release: Any, arm: int, rounds: int, t: int, rng: Any
) -> tuple[float, int]:
    """A trusted curator is handed the sum of the batch."""
    return draw(law, arm, rounds, t, rng)


def collect_each(
    law: Any, release: Any, arm: int, rounds: int, t: int, rng: Any
) -> tuple[float, int]:
    """Every user's device answers for one reward; the curator sums the answers."""
    total = 0.0
    for played in range(rounds):
        reward, served = draw(law, arm, 1, t + played, rng)
        if served == 0:
            return total, played
        total += respond(release, reward, rng)
    return total, rounds


def collect(law: Any, release: Any, arm: int, rounds: int, t: int, rng: Any) -> tuple[float, int]:
    """One of the two above."""
    raise RuntimeError("no collection was filled in")


def run(
    law: Any,
    schedule: Any,
    release: Any,
    rule: Any,
    ledger: Any,
    memory: Any,
    view: View,
    course: Course,
    curve: Curve,
    gaps: Any,
    horizon: int,
    decisions: int,
    rng: Any,
) -> int:
    """Play until the horizon, for at most so many decisions, or until the law is out of rewards."""
    t, arm, left = course.t[0], course.arm[0], course.left[0]
    rounds, recorded = course.rounds[0], course.recorded[0]
    total, regret = course.total[0], course.regret[0]
    points = len(curve.grid)
    arms = len(view.pulls)
    status = FINISHED
    while t < horizon:
        if left == 0:
            if decisions == 0:
                status = PAUSED
                break
            decisions -= 1
            arm = choose(rule, memory, view, t, rng)
            rounds = length(schedule, memory, view, arm)
            total = 0.0
            left = rounds
            if rounds > horizon - t:
                left = horizon - t
                rounds = 0
        if rounds == 0:
            served = left
        else:
            part, served = collect(law, release, arm, left, t, rng)
            total += part
        while recorded < points and curve.grid[recorded] <= t + served:
            inside = curve.grid[recorded] - t
            curve.regret[recorded] = regret + gaps[arm] * inside
            for other in range(arms):
                curve.pulls[recorded, other] = view.pulls[other]
            curve.pulls[recorded, arm] += inside
            recorded += 1
        t += served
        left -= served
        regret += gaps[arm] * served
        view.pulls[arm] += served
        if left > 0:
            status = STARVED
            break
        if rounds > 0:
            publish(release, ledger, view, arm, rounds, total, rng)
    course.t[0], course.arm[0], course.left[0] = t, arm, left
    course.rounds[0], course.recorded[0] = rounds, recorded
    course.total[0], course.regret[0] = total, regret
    return status


def fresh_course() -> Course:
    """A run that has not begun."""
    import numpy as np

    def zero() -> Any:
        return np.zeros(1, np.int64)

    return Course(zero(), zero(), zero(), zero(), zero(), np.zeros(1), np.zeros(1))


@lru_cache(maxsize=256)
def loop_kernel(policy: Policy, draw: Function) -> Kernel:
    """The loop with a policy and a law filled in."""
    answer = policy.release.respond_kernel(SIMULATED)
    gather = (
        Kernel(collect_batch, draw=draw)
        if answer is None
        else Kernel(collect_each, draw=draw, respond=answer)
    )
    return Kernel(
        run,
        choose=policy.choose_kernel,
        length=policy.length_kernel,
        publish=policy.release.publish_kernel(SIMULATED),
        collect=gather,
    )


def compiled_loop(policy: Policy, law: Law, arguments: tuple[Any, ...]) -> Function:
    """The loop for a policy and a law, compiled for such arguments, cached on disk."""
    return loop_kernel(policy, law.draw).cached(*arguments)
