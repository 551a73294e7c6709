"""What a world is: who comes when, and what they answer. The slots that it fills in:

coming(world, design, head, rng) -> most       arrivals before the next release; 0 to settle
passed(world, head, many, closes, rng) -> now  the moment of the last of them
asked(world, head, slot, arm, now)             an outcome is owed
reply(world, design, head, vault, rng) -> ok   what was owed is answered; False: out of rewards
collect(design, vault, slot, arm, size, t, rng)  the sum of a block, and how many answered
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._compiled import Floats, Integers, open_slot
from .._state import Design, Head, Vault

if TYPE_CHECKING:
    from numpy.random import Generator

FIXED, UNIFORM, EXPONENTIAL = range(3)
"""How late answers are."""
STEADY, LINEAR, SEASON = range(3)
"""How rates drift."""


class World(NamedTuple):
    """What is true of a trial, and where its calendar stands."""

    arrivals: float
    """a day"""
    answered: Floats
    """P(an outcome counts), per arm"""
    delay: int
    """how late answers are: FIXED, UNIFORM, EXPONENTIAL ..."""
    mean: float
    """... with this mean ..."""
    latest: float
    """... and at most so late"""
    drift: int
    """STEADY, LINEAR, SEASON"""
    size: float
    period: float
    length: float
    """days from the first participant to the last, about"""
    now: Floats
    """the present moment, and that of the next arrival"""
    drawn: Integers
    """arrivals that are drawn already; -1 if none are"""
    owed: Integers
    """the slot of the outcome that is owed, -1 for none; the arm and the number of the latest
    participant"""
    low: float = 0.0
    """no reward is below it, whatever the drift ..."""
    high: float = 1.0
    """... or above it; infinite where rewards have no bounds"""


class Truth(NamedTuple):
    """What a simulation draws outcomes from: the state of an environment, and P(an outcome counts)
    per arm. Stands in the vault."""

    environment: Any
    answered: Floats


coming: Callable[[World, Design, Head, Generator], int] = open_slot("coming")
passed: Callable[[World, Head, int, bool, Generator], float] = open_slot("passed")
asked: Callable[[World, Head, int, int, float], None] = open_slot("asked")
reply: Callable[[World, Design, Head, Vault, Generator], bool] = open_slot("reply")
