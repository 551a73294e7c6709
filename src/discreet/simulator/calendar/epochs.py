"""The event loop in epochs: shares are fixed within one, and arms are compared within them alone.

The rule is `policies.epochs`. All cells of an epoch are released at the deadline of its last
participant; the next epoch fills meanwhile. A drift that the arms share cancels in every
difference, so neither the allocation nor the arm named follows it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ...policies.epochs import (
    Cells,
    EpochPlan,
    Room,
    difference,
    epoch_leader,
    epoch_size,
    plan_epoch,
    pooled_mean,
)
from ...privacy.noise import laplace
from .blocks import Book, Design, World, fresh, rate_at

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...types import Floats, Ints


class Epochs(NamedTuple):
    """The rule, least shares, and room for the cells of one trial."""

    plan: EpochPlan
    share: Floats
    cells: Cells
    room: Room
    active: Ints
    least: Ints
    due: Floats


def release_epoch(design: Design, cells: Cells, epoch: int, arms: int, rng: Generator) -> None:
    """Every cell of an epoch, once."""
    for cell in range(epoch * arms, (epoch + 1) * arms):
        if cells.places[cell] > 0:
            cells.total[cell] += laplace(design.scale, rng)
            cells.released[cell] = 1


def in_epochs(
    world: World, design: Design, book: Book, extra: Epochs, rng: Generator
) -> tuple[float, float]:
    """A whole trial; the day of its last assignment, and the share of participants used: 1."""
    fresh(book)
    plan, cells, room = extra.plan, extra.cells, extra.room
    arms, horizon = len(book.places), design.horizon
    length = horizon / world.arrivals
    for cell in range(len(cells.places)):
        cells.places[cell] = 0
        cells.total[cell] = 0.0
        cells.released[cell] = 0
    now, taken, epochs, done = 0.0, 0, 0, 0
    while taken < horizon:
        now += rng.standard_exponential() / world.arrivals
        while done < epochs and extra.due[done] <= now:
            release_epoch(design, cells, done, arms, rng)
            done += 1
        size = min(epoch_size(plan, taken, arms), horizon - taken)
        for arm in range(arms):
            extra.least[arm] = math.ceil(extra.share[arm] * size)
        plan_epoch(plan, cells, epochs, extra.active, extra.least, size, room)
        for arm in range(arms):
            cells.places[epochs * arms + arm] = room.wanted[arm]
            book.places[arm] += room.wanted[arm]
        for left in range(size, 0, -1):
            if left < size:
                now += rng.standard_exponential() / world.arrivals
            place, arm = int(rng.random() * left), 0
            while place >= room.wanted[arm]:
                place -= room.wanted[arm]
                arm += 1
            room.wanted[arm] -= 1
            value = design.default
            if rng.random() < world.answered[arm]:
                value = 1.0 if rng.random() < rate_at(world, arm, now, length) else 0.0
            cells.total[epochs * arms + arm] += value
        taken += size
        extra.due[epochs] = now + world.deadline
        epochs += 1
    for epoch in range(done, epochs):
        release_epoch(design, cells, epoch, arms, rng)
    conclude(book, extra, epochs)
    return now, 1.0


def conclude(book: Book, extra: Epochs, epochs: int) -> None:
    """The means at the end, as if all arms had been compared in one epoch: m_B, and m_B - Δ_Ba."""
    plan, cells, arms = extra.plan, extra.cells, len(book.places)
    leader = epoch_leader(plan, cells, epochs, arms, extra.active)
    mean = pooled_mean(cells, epochs, arms, leader)
    for arm in range(arms):
        ahead, weights = 0.0, 1.0
        if arm != leader:
            ahead, weights = difference(plan, cells, epochs, arms, leader, arm)
        if weights > 0.0:
            book.mean[arm] = mean - ahead
            book.released[arm] = book.places[arm]
        for epoch in range(epochs):
            book.published[arm] += cells.released[epoch * arms + arm]


def fresh_epochs(plan: EpochPlan, share: tuple[float, ...], horizon: int) -> Epochs:
    """Arrays for a trial."""
    import numpy as np

    def whole(length: int) -> Ints:
        return np.zeros(length, np.int64)

    arms = len(share)
    most = horizon // (arms * plan.first) + 2
    cells = Cells(whole(most * arms), np.zeros(most * arms), whole(most * arms))
    room = Room(whole(arms), whole(arms), np.zeros(arms), np.zeros(arms))
    return Epochs(
        plan, np.array(share), cells, room, np.ones(arms, np.int64), whole(arms), np.zeros(most)
    )
