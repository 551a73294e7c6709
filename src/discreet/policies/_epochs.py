"""The rule of epochs: an index policy whose comparisons a shared trend cannot bend.

Participants come in epochs of ceil((r - 1) t) after t of them, at least `first` for each arm and at
most `most`. Within an epoch the shares of the arms are fixed, and the order is random; each *cell*,
the places of one arm in one epoch, is released once. Whatever moves all arms alike moves both cells
of a difference alike, so arms are compared within epochs alone. With n places and the released mean
m of a cell, B the leader:

    Δ_Ba = Σ_e ω_e (m_Be - m_ae) / Σ_e ω_e,  1/ω_e = ¼ (1/n_B + 1/n_a) + (2/ε²) (1/n_B² + 1/n_a²)
    index of a:  (E_a + v) d_ε(m_B - Δ_Ba, m_B) + log(N_a + v),  E_a = Σ_e n_a n_B / (n_a + n_B)
    index of B:  log(N_B + v)

v are the places planned in this epoch, E_a and N_a count epochs whose outcomes are still to come.
Place after place goes to the smallest index; then a challenger with fewer than first/2 gets none,
and any other from `first` to one in K of them; the leader has the rest. An arm that was never
compared with the leader gets one in K. The leader is the arm whose smallest difference to another
is largest: with two arms, the one that is ahead.

Private like any other blocks: who is in which cell follows from arrivals, coins and earlier
releases, and an outcome is in one cell. The variance of an outcome is taken as ¼, its bound.
Cells are flat: cell (e, a) is at place e K + a.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .._compiled import Floats, Integers
from ._divergences import private_divergence
from ._rules import clip01


class EpochPlan(NamedTuple):
    """What is fixed in advance: ε of a cell, and how epochs grow."""

    epsilon: float
    first: int
    ratio: float
    most: int
    """places of an epoch; best as many as arrive within the deadline"""


class Cells(NamedTuple):
    """Where every epoch that was planned stands, by epoch and arm."""

    places: Integers
    total: Floats
    """the noisy sum of outcomes in [0, 1], once it is released"""
    released: Integers
    """1 if it is"""


class Room(NamedTuple):
    """Where a plan is written and reckoned, one entry per arm."""

    wanted: Integers
    """places of the epoch"""
    taken: Integers
    score: Floats
    cost: Floats


def epoch_size(plan: EpochPlan, taken: int, arms: int) -> int:
    """How many places the epoch has that begins after `taken` of them."""
    grown: int = math.ceil(min((plan.ratio - 1.0) * taken, 4e18))
    return max(arms * plan.first, min(grown, plan.most))


def cell_weight(n: float, other: float, epsilon: float) -> float:
    """ω: one over the variance of the difference of two cells."""
    noise = 2.0 / (epsilon * epsilon) * (1.0 / (n * n) + 1.0 / (other * other))
    return 1.0 / (0.25 * (1.0 / n + 1.0 / other) + noise)


def difference(
    plan: EpochPlan, cells: Cells, epochs: int, arms: int, leader: int, arm: int
) -> tuple[float, float]:
    """Δ of two arms, and the sum of its weights: 0 if they were never released concurrently."""
    weights, total = 0.0, 0.0
    for epoch in range(epochs):
        one, two = epoch * arms + leader, epoch * arms + arm
        if cells.released[one] == 1 and cells.released[two] == 1:
            n, m = float(cells.places[one]), float(cells.places[two])
            weight = cell_weight(n, m, plan.epsilon)
            weights += weight
            total += weight * (cells.total[one] / n - cells.total[two] / m)
    return (total / weights if weights > 0.0 else 0.0), weights


def overlap(cells: Cells, epochs: int, arms: int, leader: int, arm: int) -> float:
    """E: what two arms' places in common epochs are worth, released or not."""
    worth = 0.0
    for epoch in range(epochs):
        n, m = cells.places[epoch * arms + leader], cells.places[epoch * arms + arm]
        if n > 0 and m > 0:
            worth += float(n) * m / (n + m)
    return worth


def taken_by(cells: Cells, epochs: int, arms: int, arm: int) -> int:
    """N: the places of an arm in all epochs."""
    places = 0
    for epoch in range(epochs):
        places += cells.places[epoch * arms + arm]
    return places


def pooled_mean(cells: Cells, epochs: int, arms: int, arm: int) -> float:
    """m: the mean of an arm over its released cells; below 0 if there is none."""
    places, total = 0, 0.0
    for epoch in range(epochs):
        cell = epoch * arms + arm
        if cells.released[cell] == 1:
            places += cells.places[cell]
            total += cells.total[cell]
    return total / places if places > 0 else -1e300


def epoch_leader(plan: EpochPlan, cells: Cells, epochs: int, arms: int, active: Integers) -> int:
    """The arm whose smallest difference to any other is largest; -1 before any release."""
    best, level = -1, -1e300
    for arm in range(arms):
        if active[arm] == 0 or pooled_mean(cells, epochs, arms, arm) == -1e300:
            continue
        least = 1e300
        for other in range(arms):
            if other != arm and active[other] == 1:
                ahead, weights = difference(plan, cells, epochs, arms, arm, other)
                if weights > 0.0:
                    least = min(least, ahead)
        if least == 1e300:
            least = -1e299  # compared with no one: it leads if there is no one else
        if best < 0 or least > level:
            best, level = arm, least
    return best


def plan_epoch(
    plan: EpochPlan, cells: Cells, epochs: int, active: Integers, least: Integers, size: int,
    room: Room,
) -> int:  # fmt: skip
    """Fill `room.wanted` with the places of every arm in an epoch of `size`; the leader, or -1.

    `active` arms take places, and each gets `least` of them whatever its index says.
    """
    arms, wanted, score, cost = len(room.wanted), room.wanted, room.score, room.cost
    many = 0
    for arm in range(arms):
        many += active[arm]
    share_equally(active, many, size, wanted)
    leader = epoch_leader(plan, cells, epochs, arms, active)
    if leader >= 0:
        mean, left = clip01(pooled_mean(cells, epochs, arms, leader)), size
        for arm in range(arms):
            score[arm], cost[arm] = 1e300, 0.0
            room.taken[arm] = max(taken_by(cells, epochs, arms, arm), 1)
            ahead, weights = 0.0, 1.0
            if arm != leader:
                ahead, weights = difference(plan, cells, epochs, arms, leader, arm)
            if active[arm] == 1 and weights > 0.0:
                cost[arm] = private_divergence(clip01(mean - ahead), mean, plan.epsilon)
                worth = overlap(cells, epochs, arms, leader, arm)
                score[arm] = worth * cost[arm] + math.log(room.taken[arm])
                wanted[arm] = 0
            left -= wanted[arm]  # an arm that cannot be compared keeps one in K
        for _ in range(left):
            arm = 0
            for other in range(1, arms):
                if score[other] < score[arm]:
                    arm = other
            score[arm] += cost[arm] + math.log1p(1.0 / (room.taken[arm] + wanted[arm]))
            wanted[arm] += 1
        wanted[leader] = size
        for arm in range(arms):
            if arm != leader:
                wanted[arm] = challenging(plan, wanted[arm], size // many)
                wanted[leader] -= wanted[arm]
    keep_least(wanted, least)
    return leader


def challenging(plan: EpochPlan, places: int, most: int) -> int:
    """What a challenger gets in place of so many: none, or from `first` to `most`."""
    if 2 * places < plan.first:
        return 0
    return min(max(places, plan.first), most)


def share_equally(active: Integers, many: int, size: int, wanted: Integers) -> None:
    """The same for every arm; the first ones have what does not divide."""
    more = size % many
    for arm in range(len(wanted)):
        wanted[arm] = 0
        if active[arm] == 1:
            wanted[arm] = size // many
            if more > 0:
                wanted[arm] += 1
                more -= 1


def keep_least(wanted: Integers, least: Integers) -> None:
    """Move places to arms that have less than their least, from those with most to spare."""
    for arm in range(len(wanted)):
        while wanted[arm] < least[arm]:
            giver = 0
            for other in range(1, len(wanted)):
                if wanted[other] - least[other] > wanted[giver] - least[giver]:
                    giver = other
            if wanted[giver] <= least[giver]:
                return  # they sum to more than there is
            wanted[giver] -= 1
            wanted[arm] += 1
