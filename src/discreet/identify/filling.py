"""Filling batches: what is played until the next batch is full.

A batch belongs to an arm; it is full when the arm's pulls reach the mark that the schedule set when
the batch was opened, and only then are its rewards drawn, summed and released. Three ways:

- `fill_whole`: one decision, and the arm is played until its batch is full.
- `fill_mixed`: a decision every round; the batches of several arms fill side by side.
- `fill_ahead`: the same for the private top two, in strides. Between two releases leader and
  gains stand still; the l-th round of a leader brings its own plays to floor(βl) + 1, and the
  challenger C stays the same until N_C makes its cost exceed another's, which is bounded from
  below in closed form. So a stride is exact, and a run costs few steps however many the samples.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..policies.view import View
from .costs import evidence, gain
from .sampling import TopTwoScale, Tracking, find_leader, first_unreleased

SHORTEST = 8
"""Strides that are not longer are walked."""
ROUNDING = 1e-12
"""Relative slack for the rounding of a bound; a hundredth of it can occur."""


class Batches(NamedTuple):
    """Pulls of every arm when its open batch began, and when it will be full."""

    start: Any
    full: Any


def choose(rule: Any, memory: Any, view: View, t: int, rng: Any) -> int:
    """Filled in by the sampling rule."""
    raise RuntimeError("no rule was filled in")


def length(schedule: Any, memory: Any, view: View, arm: int) -> int:
    """Filled in by the schedule."""
    raise RuntimeError("no schedule was filled in")


def fill_whole(
    schedule: Any, rule: Any, memory: Any, view: View, batches: Batches, gains: Any, t: int,
    limit: int, pause: int, rng: Any,
) -> tuple[int, int]:  # fmt: skip
    """The arm whose batch is full, and the rounds so far; arm -1 if the limit cuts it off."""
    arm = choose(rule, memory, view, t, rng)
    rounds = length(schedule, memory, view, arm)
    if rounds > limit - t:
        view.pulls[arm] += limit - t
        return -1, limit
    batches.full[arm] = view.pulls[arm] + rounds
    view.pulls[arm] += rounds
    return arm, t + rounds


def open_batches(schedule: Any, memory: Any, view: View, batches: Batches) -> None:
    """Open a batch for every arm that has none."""
    for arm in range(len(view.pulls)):
        if batches.full[arm] <= view.pulls[arm]:
            batches.full[arm] = view.pulls[arm] + length(schedule, memory, view, arm)


def fill_mixed(
    schedule: Any, rule: Any, memory: Any, view: View, batches: Batches, gains: Any, t: int,
    limit: int, pause: int, rng: Any,
) -> tuple[int, int]:  # fmt: skip
    """Likewise; -1 also at the next pause."""
    open_batches(schedule, memory, view, batches)
    last = min(limit, pause)
    while t < last:
        arm = choose(rule, memory, view, t, rng)
        view.pulls[arm] += 1
        t += 1
        if view.pulls[arm] == batches.full[arm]:
            return arm, t
    return -1, t


def fill_ahead(
    schedule: Any, rule: TopTwoScale, memory: Tracking, view: View, batches: Batches, gains: Any,
    t: int, limit: int, pause: int, rng: Any,
) -> tuple[int, int]:  # fmt: skip
    """Likewise, in strides."""
    open_batches(schedule, memory, view, batches)
    last = min(limit, pause)
    arm = first_unreleased(view)
    if arm >= 0:
        rounds = min(batches.full[arm] - view.pulls[arm], last - t)
        view.pulls[arm] += rounds
        return (arm if view.pulls[arm] == batches.full[arm] else -1), t + rounds
    leader = find_leader(rule, view, t)
    for arm in range(len(view.value)):
        gains[arm] = gain(rule.cost, view.value[leader] - view.value[arm])
    before = -1
    while t < last:
        memory.led[leader] += 1
        t += 1
        if memory.own[leader] <= rule.beta * memory.led[leader]:
            memory.own[leader] += 1
            arm = leader
        else:
            arm = cheapest(view, gains, leader)
        view.pulls[arm] += 1
        if view.pulls[arm] == batches.full[arm]:
            return arm, t
        if arm != leader:
            if arm == before:  # twice in a row: it may go on for long
                t += stride(rule, memory, view, batches, gains, leader, arm, last - t)
            before = arm
    return -1, t


def cheapest(view: View, gains: Any, leader: int) -> int:
    """The challenger, from the gains."""
    best, least = -1, math.inf
    weight = float(view.pulls[leader])
    for arm in range(len(view.pulls)):
        if arm != leader:
            cost = evidence(gains[arm], weight, float(view.pulls[arm]))
            if best < 0 or cost < least:
                best, least = arm, cost
    return best


def stride(
    rule: TopTwoScale, memory: Tracking, view: View, batches: Batches, gains: Any, leader: int,
    challenger: int, most: int,
) -> int:  # fmt: skip
    """Play leader and challenger in turns as long as nobody else can come in and no batch fills.

    Of m rounds the leader gets at most βm + 1 and the challenger at most (1-β)m + 1.
    """
    alone = min(
        batches.full[challenger] - view.pulls[challenger],
        surely_challenged(view, batches, gains, leader, challenger),
    )
    room = batches.full[leader] - view.pulls[leader]
    rounds = min(
        math.floor((room - 2.0) / rule.beta), math.floor((alone - 2.0) / (1.0 - rule.beta)), most
    )
    if rounds <= SHORTEST:
        return 0
    memory.led[leader] += rounds
    own = math.floor(rule.beta * memory.led[leader]) + 1
    played = own - memory.own[leader]
    memory.own[leader] = own
    view.pulls[leader] += played
    view.pulls[challenger] += rounds - played
    return rounds


def surely_challenged(
    view: View, batches: Batches, gains: Any, leader: int, challenger: int
) -> int:
    """How many more pulls the challenger C surely gets before another arm b could take its place.

    W_C < W_b  <=>  1/N_C > (g_C/N_b + (g_C - g_b)/N_B) / g_b. The right side is largest at the
    least N_B, that of now, if g_C > g_b, else at the largest, that of the leader's full batch.
    """
    own, pulls = gains[challenger], view.pulls[challenger]
    more = batches.full[challenger] - pulls
    if own == 0.0:  # no evidence at all: the first such arm stays the challenger
        return int(more)
    for arm in range(len(view.pulls)):
        if arm not in (leader, challenger):
            weight = view.pulls[leader] if own > gains[arm] else batches.full[leader]
            least = (own / view.pulls[arm] + (own - gains[arm]) / weight) / gains[arm]
            if least * (pulls + more) > 1.0 - ROUNDING:
                more = max(0, math.floor((1.0 - ROUNDING) / least) - 1 - pulls)
    return int(more)
