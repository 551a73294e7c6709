"""Filling batches: what is played until the next batch is full.

A batch belongs to an arm; it is full when the arm's pulls reach the mark that the schedule set when
the batch was opened, and only then are its rewards drawn, summed and released. Four ways:

- `fill_whole`: one decision, and the arm is played until its batch is full.
- `fill_mixed`: a decision every round; the batches of several arms fill side by side.
- `fill_ahead`: the same for the private top two, in strides. Between two releases leader and
  gains stand still; the l-th round of a leader brings its own plays to floor(βl) + 1, and the
  challenger C stays the same until N_C makes its cost exceed another's, which is bounded from
  below in closed form. So a stride is exact, and a run costs few steps however many the samples.
- `fill_between`: the same for DP-TT, round by round. A cost is concave in the two numbers of pulls,
  so on a patch of them it lies above what its corners give and below a tangent. A challenger
  that is least by these bounds is least; only where they leave it open are costs reckoned.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from .._compiled import Floats, Integers
from ..policies._step import choose, length, open_batch
from ..policies._view import View, shown
from ._costs import resistance
from ._dp_tt import PlainTopTwo, Share, challenger_of, cost_of, leader_of, tangent_of
from ._sampling import TopTwoScale, Tracking, find_leader, first_unreleased

if TYPE_CHECKING:
    from numpy.random import Generator

    from ._identifier import Identifier


SHORTEST = 8
"""Strides that are not longer are walked."""
ROUNDING = 1e-12
"""Relative slack for the rounding of a bound; a hundredth of it can occur."""
BREADTH = 128
"""A patch is this part of an arm's pulls wide, or of the leader's."""
SLACK = 1e-9
"""How much of a cost, and of 1, its rounding is sure to stay below."""


class Batches(NamedTuple):
    """Pulls of every arm when its open batch began, and when it will be full."""

    start: Integers
    full: Integers


class Ease(NamedTuple):
    """Of every arm against the leader, so that 1/W = resists/N_B + own: scratch of `fill_ahead`."""

    resists: Floats
    """1 / gain"""
    own: Floats
    """1 / (gain N)"""


class Patch(NamedTuple):
    """Of every arm against the leader: bounds of its cost at pulls near those of now."""

    corners: Floats
    """four an arm: the cost at (n, m), (n', m), (n, m'), (n', m'), n of the leader and m its own"""
    ends: Integers
    """four an arm: n, n', m, m'"""
    start: Floats
    """score at no pulls of the leader, on the line that bounds it from below at its pulls of now"""
    slope: Floats
    """of that line"""
    room: Floats
    """how much larger than the line's the score may be"""


def scratch_of(row: Identifier, arms: int) -> Ease | Patch:
    """What the policy's `fill` keeps between two rounds."""
    import numpy as np

    if type(row.rule) is not PlainTopTwo:
        return Ease(np.zeros(arms), np.zeros(arms))
    whole = np.zeros(4 * arms, np.int64)
    return Patch(np.zeros(4 * arms), whole, np.zeros(arms), np.zeros(arms), np.zeros(arms))


def fill_whole(
    schedule: object, rule: object, memory: object, view: View, batches: Batches, ease: Ease,
    t: int, limit: int, pause: int, rng: Generator,
) -> tuple[int, int]:  # fmt: skip
    """The arm whose batch is full, and the rounds so far; arm -1 if the limit cuts it off."""
    arm, played, rounds = open_batch(schedule, rule, memory, view, t, limit, rng)
    view.pulls[arm] += played
    if rounds == 0:
        return -1, limit
    batches.full[arm] = view.pulls[arm]
    return arm, t + rounds


def open_batches(schedule: object, memory: object, view: View, batches: Batches) -> None:
    """Open a batch for every arm that has none."""
    seen = shown(view)
    for arm in range(len(view.pulls)):
        if batches.full[arm] <= view.pulls[arm]:
            batches.full[arm] = view.pulls[arm] + length(schedule, memory, seen, arm)


def fill_mixed(
    schedule: object, rule: object, memory: object, view: View, batches: Batches, ease: Ease,
    t: int, limit: int, pause: int, rng: Generator,
) -> tuple[int, int]:  # fmt: skip
    """Likewise; -1 also at the next pause."""
    open_batches(schedule, memory, view, batches)
    last, seen = min(limit, pause), shown(view)
    while t < last:
        arm = choose(rule, memory, seen, t, rng)
        view.pulls[arm] += 1
        t += 1
        if view.pulls[arm] == batches.full[arm]:
            return arm, t
    return -1, t


def fill_first(view: View, batches: Batches, arm: int, t: int, last: int) -> tuple[int, int]:
    """Play an arm without release to the end of its batch."""
    rounds = min(batches.full[arm] - view.pulls[arm], last - t)
    view.pulls[arm] += rounds
    return (arm if view.pulls[arm] == batches.full[arm] else -1), t + rounds


def fill_ahead(
    schedule: object, rule: TopTwoScale, memory: Tracking, view: View, batches: Batches, ease: Ease,
    t: int, limit: int, pause: int, rng: Generator,
) -> tuple[int, int]:  # fmt: skip
    """Likewise, in strides."""
    open_batches(schedule, memory, view, batches)
    last = min(limit, pause)
    arm = first_unreleased(view)
    if arm >= 0:
        return fill_first(view, batches, arm, t, last)
    leader = find_leader(rule, view, t)
    for arm in range(len(view.value)):
        ease.resists[arm] = resistance(rule.cost, view.value[leader] - view.value[arm])
        ease.own[arm] = ease.resists[arm] * (1.0 / view.pulls[arm])
    before = -1
    while t < last:
        memory.led[leader] += 1
        t += 1
        if memory.own[leader] <= rule.beta * memory.led[leader]:
            memory.own[leader] += 1
            arm = leader
        else:
            arm = easiest(view, ease, leader)
        view.pulls[arm] += 1
        if view.pulls[arm] == batches.full[arm]:
            return arm, t
        if arm != leader:
            if arm == before:  # twice in a row: it may go on for long
                t += stride(rule, memory, view, batches, ease, leader, arm, last - t)
            ease.own[arm] = ease.resists[arm] * (1.0 / view.pulls[arm])
            before = arm
    return -1, t


def easiest(view: View, ease: Ease, leader: int) -> int:
    """The challenger, as `find_challenger` finds it."""
    best, largest = -1, 0.0
    share = 1.0 / view.pulls[leader]
    for arm in range(len(view.pulls)):
        if arm != leader:
            value = ease.resists[arm] * share + ease.own[arm]
            if value > largest:
                best, largest = arm, value
    return best


def stride(
    rule: TopTwoScale, memory: Tracking, view: View, batches: Batches, ease: Ease, leader: int,
    challenger: int, most: int,
) -> int:  # fmt: skip
    """Play leader and challenger in turns as long as no one else can come in and no batch fills.

    Of m rounds the leader gets at most βm + 1 and the challenger at most (1-β)m + 1.
    """
    alone = surely_challenged(view, batches, ease, leader, challenger)
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
    return int(rounds)


def surely_challenged(
    view: View, batches: Batches, ease: Ease, leader: int, challenger: int
) -> int:
    """How many more pulls the challenger C surely gets before another arm b could take its place.

    With r = 1/gain: 1/W_C > 1/W_b  <=>  1/N_C > (r_b/N_b + (r_b - r_C)/N_B) / r_C. The right side
    is largest at the least N_B, that of now, if r_b > r_C, else at the largest, that of the
    leader's full batch.
    """
    own, pulls = ease.resists[challenger], view.pulls[challenger]
    more = batches.full[challenger] - pulls
    if own == math.inf:  # no evidence at all: the first such arm stays the challenger
        return int(more)
    for arm in range(len(view.pulls)):
        if arm != leader and arm != challenger:
            other = ease.resists[arm]
            weight = view.pulls[leader] if other > own else batches.full[leader]
            least = (other / view.pulls[arm] + (other - own) / weight) / own
            if least * (pulls + more) > 1.0 - ROUNDING:
                more = max(0, math.floor((1.0 - ROUNDING) / least) - 1 - pulls)
    return int(more)


def fill_between(
    schedule: object, rule: Share, memory: Tracking, view: View, batches: Batches, patch: Patch,
    t: int, limit: int, pause: int, rng: Generator,
) -> tuple[int, int]:  # fmt: skip
    """Likewise, by bounds of the costs."""
    open_batches(schedule, memory, view, batches)
    last = min(limit, pause)
    arm = first_unreleased(view)
    if arm >= 0:
        return fill_first(view, batches, arm, t, last)
    leader = leader_of(view)
    for arm in range(len(view.pulls)):
        if arm != leader:
            lay(rule, view, patch, leader, arm)
    while t < last:
        memory.led[leader] += 1
        t += 1
        if memory.own[leader] <= rule.beta * memory.led[leader]:
            memory.own[leader] += 1
            arm = leader
        else:
            arm = cheapest(rule, view, patch, leader)
        view.pulls[arm] += 1
        if view.pulls[arm] == batches.full[arm]:
            return arm, t
        if arm != leader:
            if view.pulls[arm] > patch.ends[4 * arm + 3]:
                lay(rule, view, patch, leader, arm)
            else:
                cut(view, patch, arm)
    return -1, t


def cheapest(rule: Share, view: View, patch: Patch, leader: int) -> int:
    """The challenger: the arm that is least by its bounds, or else by its cost."""
    weight, best = view.pulls[leader], -1
    least = second = math.inf
    for arm in range(len(view.pulls)):
        if arm != leader:
            if weight > patch.ends[4 * arm + 1]:
                lay(rule, view, patch, leader, arm)
            score = patch.start[arm] + patch.slope[arm] * weight
            if score < least:
                least, second, best = score, least, arm
            elif score < second:
                second = score
    if best >= 0 and least + patch.room[best] < second:
        return best
    return challenger_of(rule, view, leader)


def lay(rule: Share, view: View, patch: Patch, leader: int, arm: int) -> None:
    """A patch that begins at the pulls of now: its corners, and how far a tangent is above them."""
    n, m = view.pulls[leader], view.pulls[arm]
    far, high = n + max(4, n // BREADTH), m + max(4, m // BREADTH)
    rise, climb = tangent_of(rule.epsilon, view, leader, arm, 0.5 * (n + far), 0.5 * (m + high))
    room = largest = 0.0
    for corner in range(4):
        across, along = (far if corner % 2 else n), (high if corner >= 2 else m)
        cost = cost_of(rule.epsilon, view, leader, arm, float(across), float(along))
        patch.corners[4 * arm + corner] = cost
        room = max(room, rise * across + climb * along - cost)
        largest = max(largest, cost)
    ends = patch.ends
    ends[4 * arm], ends[4 * arm + 1], ends[4 * arm + 2], ends[4 * arm + 3] = n, far, m, high
    patch.room[arm] = room + SLACK * (1.0 + largest)
    cut(view, patch, arm)


def cut(view: View, patch: Patch, arm: int) -> None:
    """Cut a patch at the pulls of an arm: a line over those of the leader.

    What corners give at a point between them, each weighed by how near it is, a concave function
    is not below.
    """
    corners, ends, first = patch.corners, patch.ends, 4 * arm
    pulls = view.pulls[arm]
    near = (ends[first + 3] - pulls) / (ends[first + 3] - ends[first + 2])
    left = near * corners[first] + (1.0 - near) * corners[first + 2]
    right = near * corners[first + 1] + (1.0 - near) * corners[first + 3]
    slope = (right - left) / (ends[first + 1] - ends[first])
    patch.slope[arm] = slope
    patch.start[arm] = left - slope * ends[first] + math.log(float(pulls))
