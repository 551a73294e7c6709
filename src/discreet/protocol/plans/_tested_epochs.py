"""Epochs of sizes that are fixed in advance, for an adaptive trial of two arms that ends with a
test (`discreet.confirm.epochs`).

A window is a whole epoch: its order is random, and the places of one arm in it are one block. The
two blocks of an epoch are released at one public moment, when the last of both is due; then the
rule is asked for its verdict. How an epoch is split is the rule's word on the epochs that its
design lets it see (`split`). Until these are released no one gets a place: who comes then is not
in the trial.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..._compiled import Function, open_slot
from .._state import ANSWER, LEFT, LOOKED, NEVER, OVER, Design, Head
from .._steps import end, own_due
from .._verdicts import verdict
from ._batch import BATCH
from ._epochs import by_its_epoch

if TYPE_CHECKING:
    from numpy.random import Generator

split: Callable[[object, object, int], int] = open_slot("split")
"""Places of the first arm in an epoch (0, 1, ...), from the rule's notes of the epochs before."""


def plan_split(design: Design, head: Head, most: int, rng: Generator) -> None:
    """An epoch begins."""
    epoch = head.block[0]
    head.left[0] = split(design.rule, head.memory, epoch)
    head.left[1] = design.rule.sizes[epoch] - head.left[0]
    for arm in range(2):
        head.mark[arm] = head.places[arm] + head.left[arm]
        head.at[LEFT] += head.left[arm]


def both_due(design: Design, head: Head, arm: int) -> float:
    """The blocks of an epoch are due together, once both are closed."""
    number, latest = head.released[arm], -NEVER
    if number == head.block[arm]:
        return NEVER
    for other in range(2):
        if head.block[other] <= number:
            if head.at[OVER] == 0:
                return NEVER  # still open
            continue  # the epoch was cut short, and no one was in that cell
        if head.released[other] <= number:
            slot = other * design.depth + number % design.depth
            latest = max(latest, head.due[slot])
    return latest if latest > -NEVER else own_due(design, head, arm)


def is_planned(design: Design, head: Head, arm: int, size: int) -> bool:
    """Whether the cell is as large as its epoch was split, and was not cut short by hand."""
    epoch = head.released[arm]
    first = split(design.rule, head.memory, epoch)
    return bool(size == (first if arm == 0 else design.rule.sizes[epoch] - first))


def epoch_is_complete(design: Design, head: Head) -> bool:
    """Whether both cells of the next epoch are released whole."""
    return bool(head.full[0] > head.at[LOOKED] and head.full[1] > head.at[LOOKED])


def look_at_epoch(design: Design, head: Head, arm: int, now: float, rng: Generator) -> None:
    """The verdict on all epochs so far."""
    head.at[LOOKED] += 1
    if head.at[ANSWER] < 0:
        head.at[ANSWER] = verdict(design, head)
        if head.at[ANSWER] >= 0 and head.at[OVER] == 0:
            end(design, head)


def is_last_epoch(design: Design, head: Head) -> bool:
    """Whether no epoch is left."""
    return bool(head.block[0] >= len(design.rule.sizes))


TESTED_EPOCHS: dict[str, Function] = {
    **BATCH, "plan": plan_split, "mark": by_its_epoch, "due_of": both_due, "whole": is_planned,
    "owes": epoch_is_complete, "follow": look_at_epoch, "filled": is_last_epoch,
}  # fmt: skip
