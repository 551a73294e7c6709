"""Epochs: an index whose comparisons a shared trend cannot bend (`policies.epochs`).

Shares are fixed within an epoch, its order is random, and the places of one arm in one epoch are a
*cell*: a block, released once. The cells of an epoch are released at one public moment, when the
last of them is due; the next epoch fills meanwhile, planned on what is released, with the places of
epochs in flight counted. An epoch that is cut off at the end has the cells it has.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ..._compiled import Floats, Function, Integers
from ...policies._epochs import (
    Cells,
    EpochPlan,
    Room,
    difference,
    epoch_leader,
    epoch_size,
    plan_epoch,
    pooled_mean,
)
from .._state import LEFT, NEVER, TAKEN, Design, Head
from .._steps import own_due
from ._batch import BATCH
from ._index import spread

if TYPE_CHECKING:
    from numpy.random import Generator


class EpochRoom(NamedTuple):
    """Where an epoch is reckoned."""

    room: Room
    share: Floats
    least: Integers


class Epochs(NamedTuple):
    """Every epoch that was planned: its cells, how many there are, and the first that is not
    released whole."""

    cells: Cells
    many: Integers
    oldest: Integers


def plan_cells(design: Design, head: Head, most: int, rng: Generator) -> None:
    """An epoch begins: a cell for every arm that has places in it."""
    arms, own, notes, on = len(head.places), design.room, head.notes, 0
    for arm in range(arms):
        on += head.active[arm]
    size = min(epoch_size(design.plan, head.at[TAKEN], on), design.horizon - head.at[TAKEN])
    for arm in range(arms):
        own.share[arm] = size * design.share[arm] * head.active[arm]
    spread(1.0, own.share, own.least, rng.random())
    epoch = notes.many[0]
    plan_epoch(design.plan, notes.cells, epoch, head.active, own.least, size, own.room)
    for arm in range(arms):
        cell = epoch * arms + arm
        notes.cells.places[cell] = head.left[arm] = own.room.wanted[arm]
        notes.cells.total[cell], notes.cells.released[cell] = 0.0, 0
        head.mark[arm] = head.closed[arm] + head.left[arm]
        head.at[LEFT] += head.left[arm]
    notes.many[0] = epoch + 1


def by_its_epoch(design: Design, head: Head, arm: int) -> int:
    """None: a cell is opened by its epoch."""
    return 0


def waits(head: Head, arm: int, epoch: int) -> bool:
    """Whether the cell of an arm in an epoch has places, and is not released."""
    cell = epoch * len(head.places) + arm
    return bool(head.notes.cells.places[cell] > 0 and head.notes.cells.released[cell] == 0)


def epoch_due(design: Design, head: Head, arm: int) -> float:
    """The cells of an epoch are due together, and epochs in their order."""
    oldest, latest = head.notes.oldest[0], -NEVER
    if oldest == head.notes.many[0] or not waits(head, arm, oldest):
        return NEVER
    if oldest == head.notes.many[0] - 1 and head.at[LEFT] > 0:
        return NEVER  # the epoch is still open
    for other in range(len(head.places)):
        if waits(head, other, oldest):
            latest = max(latest, own_due(design, head, other))
    return latest


def enter_cell(
    design: Design, head: Head, arm: int, size: int, fully: bool, value: float, before: int
) -> None:
    """The noisy sum of the cell: what the running sum has grown by."""
    notes, arms = head.notes, len(head.places)
    cell = notes.oldest[0] * arms + arm
    notes.cells.total[cell] = head.value[arm] * head.size[arm] - value * before
    notes.cells.places[cell], notes.cells.released[cell] = size, 1
    pass_released(head)


def pass_released(head: Head) -> None:
    """Find the first epoch that is not released whole."""
    notes = head.notes
    while notes.oldest[0] < notes.many[0]:
        for arm in range(len(head.places)):
            if waits(head, arm, notes.oldest[0]):
                return
        notes.oldest[0] += 1


def is_cell(design: Design, head: Head, arm: int, size: int) -> bool:
    """A cell that was not cut short."""
    cell = head.notes.oldest[0] * len(head.places) + arm
    return bool(size == head.notes.cells.places[cell])


def compared(design: Design, head: Head, means: Floats) -> None:
    """The means at the end, as if all arms had been compared in one epoch: m_B, and m_B - Δ_Ba."""
    cells, epochs, arms = head.notes.cells, head.notes.many[0], len(head.places)
    leader = epoch_leader(design.plan, cells, epochs, arms, head.active)
    for arm in range(arms):
        ahead, weights = 0.0, 1.0
        if arm != leader:
            ahead, weights = difference(design.plan, cells, epochs, arms, leader, arm)
        means[arm] = pooled_mean(cells, epochs, arms, leader) - ahead if weights > 0.0 else math.nan


EPOCHS: dict[str, Function] = {
    **BATCH, "plan": plan_cells, "mark": by_its_epoch, "due_of": epoch_due, "whole": is_cell,
    "entered": enter_cell, "conclude": compared,
}  # fmt: skip
__all__ = ["EPOCHS", "EpochPlan", "EpochRoom", "Epochs", "pass_released", "waits"]
