"""The compiled loop of linear policies: offer, choose, pay, collect; release when it is due.

    while t < T:  offer actions;  arm = choose(view);  reward = <θ, a> + …;  curator collects it;
                  follow(action) -> due?;  publish -> view;  update -> θ~, β~

A round costs O(K d²): the design matrix and its inverse are updated by rank one, and factored
afresh, against drift, with the first release after a thousand rounds. θ comes as a tuple where d is
small: the compiler then knows d and unrolls. Trees release a whole noisy matrix every round, which
has to be factored: O(d³).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ..compiled import Kernel
from ..privacy.source import SIMULATED
from ..simulator.loop import FINISHED, PAUSED, STARVED
from .algebra import dot
from .row import LinearPolicy
from .view import View


class Course(NamedTuple):
    """Where a run stands, in arrays of one entry, and how often each action was taken."""

    t: Any
    recorded: Any
    regret: Any
    pulls: Any
    actions: Any
    """the actions on offer, flat"""


class Curve(NamedTuple):
    """What is recorded: pseudo-regret and pulls on a grid of rounds."""

    grid: Any
    regret: Any
    pulls: Any


def offer(contexts: Any, actions: Any, rng: Any) -> bool:
    """Filled in by the contexts."""
    raise RuntimeError("no contexts were filled in")


def pay(rewards: Any, mean: float, rng: Any) -> float:
    """Filled in by the rewards."""
    raise RuntimeError("no rewards were filled in")


def choose(rule: Any, view: View, actions: Any, arms: int, dimension: int, rng: Any) -> int:
    """Filled in by the rule."""
    raise RuntimeError("no rule was filled in")


def update(rule: Any, view: View, dimension: int) -> None:
    """Filled in by the rule."""
    raise RuntimeError("no rule was filled in")


def follow(schedule: Any, view: View, actions: Any, start: int, dimension: int) -> bool:
    """Filled in by the schedule."""
    raise RuntimeError("no schedule was filled in")


def collect(
    release: Any, ledger: Any, actions: Any, start: int, reward: float, dimension: int
) -> None:
    """Filled in by the release."""
    raise RuntimeError("no release was filled in")


def publish(release: Any, ledger: Any, view: View, dimension: int, rng: Any) -> None:
    """Filled in by the release."""
    raise RuntimeError("no release was filled in")


def run(
    contexts: Any,
    rewards: Any,
    schedule: Any,
    release: Any,
    rule: Any,
    ledger: Any,
    view: View,
    course: Course,
    curve: Curve,
    theta: Any,
    horizon: int,
    decisions: int,
    rng: Any,
) -> int:
    """Play until the horizon, for at most so many rounds, or until contexts run out."""
    t, recorded, regret = course.t[0], course.recorded[0], course.regret[0]
    actions = course.actions
    points = len(curve.grid)
    arms = len(course.pulls)
    dimension = len(theta)
    until = min(horizon, t + decisions)
    status = FINISHED if until == horizon else PAUSED
    while t < until:
        if not offer(contexts, actions, rng):
            status = STARVED
            break
        arm = choose(rule, view, actions, arms, dimension, rng)
        start = arm * dimension
        mean = dot(actions, start, theta, dimension)
        best = mean
        for other in range(arms):
            best = max(best, dot(actions, other * dimension, theta, dimension))
        reward = pay(rewards, mean, rng)
        collect(release, ledger, actions, start, reward, dimension)
        if follow(schedule, view, actions, start, dimension):
            publish(release, ledger, view, dimension, rng)
            update(rule, view, dimension)
        t += 1
        regret += best - mean
        course.pulls[arm] += 1
        if recorded < points and curve.grid[recorded] == t:
            curve.regret[recorded] = regret
            for other in range(arms):
                curve.pulls[recorded, other] = course.pulls[other]
            recorded += 1
    course.t[0], course.recorded[0], course.regret[0] = t, recorded, regret
    return status


def fresh_course(arms: int, dimension: int) -> Course:
    """A run that has not begun."""
    import numpy as np

    return Course(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1), np.zeros(arms, np.int64),
        np.zeros(arms * dimension),
    )  # fmt: skip


@lru_cache(maxsize=64)
def loop_kernel(policy: LinearPolicy, offer: Any, pay: Any) -> Kernel:
    """The loop with a policy and a problem filled in."""
    release = policy.release
    return Kernel(
        run,
        offer=offer,
        pay=pay,
        choose=policy.rule.choose,
        update=policy.rule.update,
        follow=policy.schedule.follow,
        collect=release.kernel(release.collect, SIMULATED),
        publish=release.kernel(release.publish, SIMULATED),
    )
