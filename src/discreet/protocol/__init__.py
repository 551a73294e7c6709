"""The protocol of a trial: one text, run compiled, interpreted and on symbols.

    turn(design, head, most, rng) -> arm, many     who is next, and for how many arrivals at once
    seat(design, head, arm, many, now) -> slot     they take their places; their block may close
    answer(vault, slot, value)                     the one line that is handed an outcome
    settle(design, head, vault, now, rng)          release what is due, in the order (due, arm)

A *head* is public: all that an arrival reads or writes. A *vault* is secret: sums of outcomes that
are not released, and the curator's ledger. `turn` and `seat` take no argument that holds an
outcome, so anyone who assigns needs no vault.

A policy fills in `choose`, `length` and `publish`; its *plan* (one batch, index, looks, top two,
epochs) says who gets which place, where blocks end, and when they are due; a *world* says who comes
when, and what they answer. Simulations play all of it compiled (`play`); live trials step it
interpreted, with a store between the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import lazily
from ._begin import Playing, Started, as_lists, begin, grown, slots
from ._play import FINISHED, GROW, STARVED, Track, play, play_kernel
from ._state import (
    ANSWER,
    LATEST,
    LEFT,
    LOOKED,
    OVER,
    SOON,
    TAKEN,
    WAITING,
    Design,
    Head,
    Vault,
)
from ._steps import answer, close, end, follow, hasten, leave, release, seat, settle, turn
from .plans import PLANS
from .worlds import WORLDS, Truth, World

if TYPE_CHECKING:
    from ._symbols import costs

__all__ = [
    "ANSWER",
    "FINISHED",
    "GROW",
    "LATEST",
    "LEFT",
    "LOOKED",
    "OVER",
    "PLANS",
    "SOON",
    "STARVED",
    "TAKEN",
    "WAITING",
    "WORLDS",
    "Design",
    "Head",
    "Playing",
    "Started",
    "Track",
    "Truth",
    "Vault",
    "World",
    "answer",
    "as_lists",
    "begin",
    "close",
    "costs",
    "end",
    "follow",
    "grown",
    "hasten",
    "leave",
    "play",
    "play_kernel",
    "release",
    "seat",
    "settle",
    "slots",
    "turn",
]
__getattr__, __dir__ = lazily(__name__, {"_symbols": ("costs",)}, *__all__)
