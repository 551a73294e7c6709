"""The one loop: choose an arm, play a batch, release it, until the horizon.

    while t < T:   open_batch -> arm, rounds;  collect(arm, rounds) -> total;  close_batch -> view

A batch is one draw of its sum, so a run costs as many steps as it has releases, not rounds. The
loop can pause: after a number of decisions (so that progress shows and Ctrl-C is heard), or when
an environment has run out of rewards and Python must refill it. Everything it needs to continue is
in `Course`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .._compiled import Floats, Function, Integers, Kernel
from ..arms._base import lost_steadily
from ..policies import Policy
from ..policies._ceilings import takes_notes
from ..policies._ranks import fresh_ranks, is_ranked
from ..policies._step import (
    FINISHED,
    PAUSED,
    STARVED,
    State,
    close_batch,
    collect,
    collecting,
    fresh_state,
    open_batch,
    slots_of,
)
from ..policies._view import Setting, View, counts
from ..privacy._source import SIMULATED

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Ints


class Course(NamedTuple):
    """Where a run stands: arrays of one entry, so that the loop can write them back."""

    t: Integers
    """rounds played"""
    arm: Integers
    """arm of the batch under way"""
    left: Integers
    """rounds that it still lacks"""
    rounds: Integers
    """its length; 0 if the horizon cuts it off, for then it is never released"""
    recorded: Integers
    """points of the grid that are filled"""
    total: Floats
    """rewards of the batch so far"""
    regret: Floats
    """pseudo-regret so far"""


class Curve(NamedTuple):
    """What is recorded: pseudo-regret and pulls on a grid of rounds."""

    grid: Integers
    regret: Floats
    pulls: Ints


class Study(NamedTuple):
    """What a run is played for: so many rounds, what its regret is held against (`Law.standard`:
    every arm's gap to the best, unless the means move), and its record."""

    horizon: int
    gaps: Floats | NamedTuple
    curve: Curve


lost: Callable[..., float] = lost_steadily


def run(
    environment: object, schedule: object, release: object, rule: object, ledger: object,
    memory: object, view: View, course: Course, study: Study, decisions: int, rng: Generator,
) -> int:  # fmt: skip
    """Play until the horizon, for at most so many decisions, or until the environment is out of
    rewards."""
    t, arm, left = course.t[0], course.arm[0], course.left[0]
    rounds, recorded = course.rounds[0], course.recorded[0]
    total, regret = course.total[0], course.regret[0]
    horizon, gaps, curve = study
    points = len(curve.grid)
    arms = len(view.pulls)
    status = FINISHED
    while t < horizon:
        if left == 0:
            if decisions == 0:
                status = PAUSED
                break
            decisions -= 1
            arm, left, rounds = open_batch(schedule, rule, memory, view, t, horizon, rng)
            total = 0.0
        if rounds == 0:
            served = left
        else:
            part, served = collect(environment, release, arm, left, t, rng)
            total += part
        while recorded < points and curve.grid[recorded] <= t + served:
            inside = curve.grid[recorded] - t
            curve.regret[recorded] = regret + lost(gaps, arm, t, inside)
            for other in range(arms):
                curve.pulls[recorded, other] = view.pulls[other]
            curve.pulls[recorded, arm] += inside
            recorded += 1
        regret += lost(gaps, arm, t, served)
        t += served
        left -= served
        view.pulls[arm] += served
        if left > 0:
            status = STARVED
            break
        close_batch(release, ledger, view, arm, rounds, total, rng)
    course.t[0], course.arm[0], course.left[0] = t, arm, left
    course.rounds[0], course.recorded[0] = rounds, recorded
    course.total[0], course.regret[0] = total, regret
    return status


def fresh_course() -> Course:
    """A run that has not begun."""
    import numpy as np

    t, arm, left, rounds, recorded = (counts() for _ in range(5))
    return Course(t, arm, left, rounds, recorded, np.zeros(1), np.zeros(1))


def simulated_state(policy: Policy, setting: Setting) -> State:
    """A run that has not begun, for `loop_kernel`."""
    state = fresh_state(policy, setting)
    if is_ranked(policy, setting):
        return state._replace(memory=fresh_ranks(setting))
    return state._replace(memory=policy.rule.notes(setting.arms)) if takes_notes(policy) else state


@lru_cache(maxsize=256)
def loop_kernel(
    policy: Policy, draw: Function, lost: Function = lost_steadily, ranked: bool = False
) -> Kernel:
    """The loop with a policy and an environment filled in, all in one: called functions that take
    the generator count a reference to it in every round. `ranked`: see
    `policies.ranks.is_ranked`."""
    gather = collecting(policy, draw, SIMULATED)
    slots = {name: part.inlined() for name, part in slots_of(policy, SIMULATED).items()}
    noted = policy.rule.ranked if ranked else policy.rule.noted
    if noted is not None and (ranked or takes_notes(policy)):
        slots["choose"] = Kernel(noted).inlined()
    return Kernel(run, collect=gather.inlined(), lost=lost, **slots)
