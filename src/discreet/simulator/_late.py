"""The loop where rewards arrive later (`discreet.Delayed`): decisions rest on what has come.

    while t < T:   deliver what is due;  choose -> arm;  collect -> reward;  send it on its way

For policies that release after every round and whose rule looks at releases and counts alone: an
outcome is a batch of one, released when it arrives. A policy with longer batches would have to say
what is played while a batch is on its way, as `simulator.calendar` does; a rule with notes of its
own is told of releases in the order of the rounds. Both are refused by name.

What is private stays so: a reward enters the same releases, once each, in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .._compiled import Floats, Function, Integers, Kernel
from ..arms._base import Environment, lost_steadily
from ..errors import InvalidArgument
from ..policies import CATALOGUE, Policy
from ..policies._parts import RulePart
from ..policies._step import (
    FINISHED,
    PAUSED,
    STARVED,
    close_batch,
    collect,
    collecting,
    open_batch,
    slots_of,
)
from ..privacy._source import SIMULATED
from ._loop import Course, Study

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..arms._delayed import Delayed
    from ..policies._view import View

lost: Callable[..., float] = lost_steadily


class Post(NamedTuple):
    """Rewards on their way. A round has place t modulo the longest way, at both ends of it."""

    least: int
    most: int
    every: int
    arm: Integers
    """of the reward that was sent in a round"""
    total: Floats
    """the reward, or a device's answer"""
    following: Integers
    """the next of those that arrive together; -1 after the last"""
    first: Integers
    """of those that arrive in a round; -1 for none"""
    last: Integers


def empty_post(environment: Delayed) -> Post:
    """Nothing is on its way."""
    import numpy as np

    (least, most), every = environment.rounds, environment.every
    places = most + every + 1
    return Post(
        least, most, every, np.zeros(places, np.int64), np.zeros(places),
        *(np.full(places, -1, np.int64) for _ in range(3)),
    )  # fmt: skip


def send(post: Post, arm: int, total: float, t: int, rng: Generator) -> None:
    """The reward of the t-th round, which arrives `least` to `most` rounds later, at the end of a
    block."""
    due = t + post.least
    if post.most > post.least:
        due += int(rng.random() * (post.most - post.least + 1))
    due = (due + post.every - 1) // post.every * post.every
    places = len(post.first)
    here, there = t % places, due % places
    post.arm[here], post.total[here], post.following[here] = arm, total, -1
    if post.first[there] < 0:
        post.first[there] = here
    else:
        post.following[post.last[there]] = here
    post.last[there] = here


def deliver(
    post: Post, release: object, ledger: object, view: View, t: int, rng: Generator
) -> None:
    """Release what has come after t rounds, in the order in which it was sent."""
    there = t % len(post.first)
    place = post.first[there]
    while place >= 0:
        close_batch(release, ledger, view, post.arm[place], 1, post.total[place], rng)
        place = post.following[place]
    post.first[there] = -1


def run_late(
    environment: object, schedule: object, release: object, rule: object, ledger: object,
    memory: object, view: View, post: Post, course: Course, study: Study, decisions: int,
    rng: Generator,
) -> int:  # fmt: skip
    """Play until the horizon, for at most so many decisions, or until the environment is out of
    rewards."""
    t, arm, left = course.t[0], course.arm[0], course.left[0]
    recorded, regret = course.recorded[0], course.regret[0]
    horizon, gaps, curve = study
    points = len(curve.grid)
    status = FINISHED
    while t < horizon:
        if left == 0:
            deliver(post, release, ledger, view, t, rng)
            if decisions == 0:
                status = PAUSED
                break
            decisions -= 1
            arm, left, _ = open_batch(schedule, rule, memory, view, t, horizon, rng)
        total, served = collect(environment, release, arm, 1, t, rng)
        if served == 0:
            status = STARVED
            break
        regret += lost(gaps, arm, t, 1)
        t += 1
        left = 0
        view.pulls[arm] += 1
        send(post, arm, total, t, rng)
        if recorded < points and curve.grid[recorded] == t:
            curve.regret[recorded] = regret
            for other in range(len(view.pulls)):
                curve.pulls[recorded, other] = view.pulls[other]
            recorded += 1
    course.t[0], course.arm[0], course.left[0] = t, arm, left
    course.recorded[0], course.regret[0] = recorded, regret
    return status


@lru_cache(maxsize=256)
def late_kernel(policy: Policy, draw: Function, lost: Function = lost_steadily) -> Kernel:
    """The loop with a policy and an environment filled in."""
    gather = collecting(policy, draw, SIMULATED)
    slots = {name: part.inlined() for name, part in slots_of(policy, SIMULATED).items()}
    return Kernel(run_late, collect=gather.inlined(), lost=lost, **slots)


def bears_delay(policy: Policy) -> bool:
    """Whether a policy can use rewards that arrive later."""
    plain = type(policy.rule).memory is RulePart.memory
    return plain and policy.schedule.each_round


def check_late(policy: Policy, environment: Environment) -> None:
    """Refuse an environment whose rewards are late for a policy that cannot use them so."""
    if not environment.late or bears_delay(policy):
        return
    why = (
        "which is told of releases in the order of the rounds"
        if policy.schedule.each_round
        else f"whose batches last longer than a round ({policy.schedule})"
    )
    raise InvalidArgument(
        "environment", f"give rewards at once for {policy.name}, {why}", type(environment).__name__,
        "simulate(..., arrivals=...) plays arms concurrently while outcomes are on their way; "
        f"policies you can use: {', '.join(late_rows())}",
    )  # fmt: skip


def late_rows() -> list[str]:
    """The policies of the catalogue that can."""
    return [entry.name for entry in CATALOGUE.values() if bears_delay(entry.example())]
