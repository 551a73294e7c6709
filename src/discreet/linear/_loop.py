"""The compiled loop of linear policies: offer, choose, pay, collect; release when it is due.

    while t < T:  offer actions;  arm = choose(view);  reward = <θ, a> + …;  curator collects it;
                  follow(action) -> due?;  publish -> view;  update -> θ~, β~

A round costs O(K d²): the design matrix and its inverse are updated by rank one, and factored
afresh, against drift, with the first release after a thousand rounds. θ comes as a tuple where d is
small: the compiler then knows d and unrolls. Trees release a whole noisy matrix every round, which
has to be factored: O(d³).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from .._compiled import Floats, Function, Integers, Kernel, open_slot
from ..policies._step import FINISHED, PAUSED, STARVED, State, fresh_state
from ..policies._view import counts
from ..privacy._source import SIMULATED
from ..simulator._loop import Curve
from ._algebra import dot
from ._contexts import offer_normal
from ._row import RoundPolicy
from ._rules import choose_optimistic
from ._view import LinearSetting, LinearView

if TYPE_CHECKING:
    from numpy.random import Generator

offer: Callable[[object, Floats, Generator], bool] = open_slot("offer")
pay: Callable[[object, float, Generator], float] = open_slot("pay")
choose: Callable[[object, LinearView, Floats, int, int, Generator], int] = open_slot("choose")
update: Callable[[object, LinearView, int], None] = open_slot("update")
follow: Callable[[object, LinearView, Floats, int, int], bool] = open_slot("follow")
collect: Callable[[object, object, Floats, int, float, int], None] = open_slot("collect")
publish: Callable[[object, object, LinearView, int, Generator], None] = open_slot("publish")


class Course(NamedTuple):
    """Where a run stands, in arrays of one entry, and how often each action was taken."""

    t: Integers
    recorded: Integers
    regret: Floats
    pulls: Integers
    actions: Floats
    """the actions on offer, flat"""


def run(
    contexts: object, rewards: object, schedule: object, release: object, rule: object,
    ledger: object, memory: object, view: LinearView, course: Course,
    theta: Floats | tuple[float, ...], horizon: int, curve: Curve, decisions: int,
    rng: Generator,
) -> int:  # fmt: skip
    """Play until the horizon, for at most so many rounds, or until contexts run out."""
    t, recorded, regret = course.t[0], course.recorded[0], course.regret[0]
    actions, pulls = course.actions, course.pulls
    points = len(curve.grid)
    arms = len(pulls)
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
        pulls[arm] += 1
        if recorded < points and curve.grid[recorded] == t:
            curve.regret[recorded] = regret
            for other in range(arms):
                curve.pulls[recorded, other] = pulls[other]
            recorded += 1
    course.t[0], course.recorded[0], course.regret[0] = t, recorded, regret
    return status


def fresh_course(arms: int, dimension: int) -> Course:
    """A run that has not begun."""
    return Course(counts(), counts(), np.zeros(1), counts(arms), np.zeros(arms * dimension))


def simulated_state(policy: RoundPolicy, setting: LinearSetting) -> State:
    """A run that has not begun, for `loop_kernel`: with room for the indices of all actions."""
    state = fresh_state(policy, setting)
    if policy.rule.choose is not choose_optimistic:
        return state
    view = cast("LinearView", state.public)
    room = np.zeros(max(len(view.work), setting.arms))
    return state._replace(public=view._replace(work=room))


def slots_of(policy: RoundPolicy) -> dict[str, Function | Kernel]:
    """What a policy fills in beside its choice."""
    release = policy.release
    return {
        "update": policy.rule.update,
        "follow": policy.schedule.follow,
        "collect": release.kernel(release.collect, SIMULATED),
        "publish": release.kernel(release.publish, SIMULATED),
    }


@lru_cache(maxsize=64)
def loop_kernel(policy: RoundPolicy, offer: Function, pay: Function) -> Kernel:
    """The loop with a policy and a problem filled in."""
    from .._draws import is_known
    from ._wide import choose_wide, grow_wide, offer_normal_wide

    choose = policy.rule.choose
    offer = offer_normal_wide if offer is offer_normal and is_known() else offer
    slots = slots_of(policy) | {
        "choose": Kernel(choose_wide).inlined() if choose is choose_optimistic else choose,
        "follow": Kernel(policy.schedule.follow, grow=grow_wide).inlined(),
    }
    return Kernel(run, offer=offer, pay=pay, **slots)
