"""What a trial is built from: a public head, a secret vault, and a design that is fixed in advance.

All three are NamedTuples of flat arrays, or of lists when they are interpreted, so they are stored
as plain JSON. Blocks of an arm are numbered from 0. A closed block that is not released yet is *in
flight* and has a slot: block `n` of arm `a` is at `a · depth + n % depth`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from .._compiled import Floats, Integers

NEVER = math.inf

TAKEN, LEFT, WAITING, LOOKED, ANSWER, OVER = range(6)
"""Entries of `Head.at`: places that are taken; those left of the window; blocks in flight; looks
that were had; the arm that is recommended, or -1; whether no one gets a place any more."""
SOON, LATEST = range(2)
"""Entries of `Head.when`: when the next release is due; the latest moment that was read."""

EVIDENCE = ("closed", "newest", "filled", "all")
"""Which places stand behind a released mean: the entry of `Design.evidence`."""


class Head(NamedTuple):
    """Public, one entry per arm unless it says otherwise."""

    places: Integers
    """N: places that are taken"""
    closed: Integers
    """those in closed blocks; the open block begins there"""
    mark: Integers
    """where the open block ends"""
    newest: Integers
    """places of the newest closed block"""
    block: Integers
    """blocks that are closed: the number of the open one"""
    released: Integers
    """blocks that are released"""
    full: Integers
    """those of them that were as long as planned"""
    left: Integers
    """places of the window that are not drawn yet"""
    active: Integers
    """whether the arm takes more places"""
    erased: Integers
    """whether its open block was thrown away"""
    last: Floats
    """when its latest place was taken"""
    value: Floats
    """the released mean"""
    size: Integers
    """how many outcomes stand behind it; 0 before the first release"""
    pulls: Integers
    """places in released blocks"""
    due: Floats
    """by slot: when the block is due"""
    many: Integers
    """by slot: its places"""
    at: Integers
    """counts of the whole trial: `TAKEN`, `LEFT`, ..."""
    when: Floats
    """moments of the whole trial: `SOON`, `LATEST`"""
    memory: Any
    """the rule's own notes, built from public numbers"""
    pairs: Any
    """noisy sums and counts of those who answered, where missing outcomes are estimated"""
    notes: Any
    """the plan's own, built from public numbers: cells of epochs, whether a verdict is covered"""


class Vault(NamedTuple):
    """Secret. By slot: sums of the outcomes of blocks that are not released, and how many
    answered; then what the curator remembers, and in simulations what rewards are drawn from."""

    total: Floats
    answers: Integers
    ledger: Any
    environment: Any


class Design(NamedTuple):
    """What is fixed before the first participant comes."""

    schedule: Any
    release: Any
    rule: Any
    stopping: Any
    plan: Any
    """parameters of the plan"""
    room: Any
    """where a plan is reckoned: nothing in it is read that was not written in the same step"""
    share: Floats
    """the least share of every arm in a window"""
    window: int
    """places that are planned at once, and given out in a random order"""
    horizon: int
    deadline: float
    """from the last place of a block to its release; never, if it waits for all outcomes"""
    default: float
    """what a missing outcome counts as"""
    half: float
    """the middle of the range of outcomes"""
    pair: Any
    """the noise of sums and counts, where missing outcomes are estimated"""
    evidence: int
    """which places stand behind a released mean: the entry of `EVIDENCE`"""
    depth: int
    """blocks of an arm that can be in flight"""
    cuts: int
    """whether a block that the horizon cuts off is never released"""
