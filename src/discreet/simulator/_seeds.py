"""The random numbers of many runs, seeded together.

Run i draws from the i-th child of one SeedSequence. Making such a child and a generator of it takes
NumPy 25 µs, as long as a whole run of a policy that rarely releases. Here the children of many
runs are worked out at once, as arrays, and one generator per thread is set to one after the other:
NumPy's states, bit for bit. The first of every thousand is compared with NumPy's own; if it
differs, or NumPy lays out its states in another way, NumPy makes them all.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from .._draws import WORDS, Draws, draws

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

TOGETHER = 1024
"""Runs that are seeded together."""
FEW = 16
"""Fewer runs than that are seeded one by one."""
POOL = 4
MIXED = POOL * POOL
"""Words that SeedSequence hashes before it comes to those that its pool has no room for."""
LARGEST = 1 << 32
"""Numbers of runs from here on take two words of entropy."""
INIT_A, MULT_A = 0x43B0D7E5, 0x931E8875
INIT_B, MULT_B = 0x8B51F9DD, 0x58F38DED
MIX_L, MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
HALF = np.uint32(16)


class Stream:
    """The random numbers of one run after the other, for one thread.

    A generator that `at` gave is of no use any more once it is asked for the next run.
    """

    def __init__(self, entropy: int, first: int, runs: int) -> None:
        self.entropy, self.first, self.last = entropy, first, first + runs
        self.start = self.end = 0
        self.states: NDArray[np.uint64] | None = None
        self.rng: Draws | None = None
        self.words: NDArray[np.uint64] | None = None

    def at(self, number: int) -> Generator:
        """The random numbers of one run, the first of them being number 0."""
        number += self.first
        if not self.start <= number < self.end:
            self._turn_to(number)
        if self.states is None or self.rng is None or self.words is None:
            return draws(np.random.SeedSequence(self.entropy, spawn_key=(number,)))
        self.words[:] = self.states[number - self.start]
        return self.rng

    def _turn_to(self, number: int) -> None:
        """Seed the next runs together, from this one on."""
        self.start, self.end = number, min(number + TOGETHER, self.last)
        self.states = None
        if self.end - number < FEW or self.end > LARGEST:
            return
        own = draws(np.random.SeedSequence(self.entropy, spawn_key=(number,)))
        if not isinstance(own, Draws):
            return
        states = sfc64_states(self.entropy, np.arange(number, self.end, dtype=np.uint32))
        words = _memory(own)
        if (words == states[0]).all():
            self.states, self.rng, self.words = states, own, words


def _memory(rng: Draws) -> NDArray[np.uint64]:
    """Where a generator has its state: the words of SFC64, and behind them the half word that it
    keeps for the next draw of 32 bits."""
    place = (ctypes.c_uint64 * (WORDS + 1)).from_address(rng.address)
    return np.ctypeslib.as_array(place)


def sfc64_states(entropy: int, numbers: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """The states of SFC64 seeded with the children of `SeedSequence(entropy)` of such numbers, each
    a policy: a, b, c, the counter, and 0 as nothing is kept.

    The pool of a child is that of its parent with one more word mixed in.
    """
    words = -(-entropy.bit_length() // 32)
    turn = MIXED + POOL * max(words - POOL, 0)
    factor = INIT_A * pow(MULT_A, turn, LARGEST) % LARGEST
    pool = []
    for parent in np.random.SeedSequence(entropy).pool:
        hashed = numbers ^ np.uint32(factor)
        factor = factor * MULT_A % LARGEST
        hashed = _folded(hashed * np.uint32(factor))
        pool.append(_folded(MIX_L * np.full_like(numbers, parent) - MIX_R * hashed))
    factor = INIT_B
    halves = []
    for place in range(2 * (WORDS - 1)):
        hashed = pool[place % POOL] ^ np.uint32(factor)
        factor = factor * MULT_B % LARGEST
        halves.append(_folded(hashed * np.uint32(factor)).astype(np.uint64))
    a, b, c = (
        low | high << np.uint64(32) for low, high in zip(halves[::2], halves[1::2], strict=True)
    )
    for counter in range(1, 13):
        out = a + b + np.uint64(counter)
        a, b = b ^ b >> np.uint64(11), c + (c << np.uint64(3))
        c = (c << np.uint64(24) | c >> np.uint64(40)) + out
    return np.stack([a, b, c, np.full_like(a, 13), np.zeros_like(a)], axis=1)


def _folded(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return x ^ x >> HALF


def quick(rng: Generator) -> Generator:
    """The same coins, drawn inside compiled code where that is possible."""
    from numpy.random import SFC64

    from .._draws import Draws, is_known

    bits = rng.bit_generator
    return Draws(bits) if isinstance(bits, SFC64) and is_known() else rng
