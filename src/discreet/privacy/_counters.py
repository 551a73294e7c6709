"""Private counters: noisy prefix sums of a stream, one noise draw a step (Chan, Shi & Song 2011).

The kernels use indexing only, on flat sequences with index `arm * levels + level`: numpy arrays of
floats or integers in numba, plain lists of integers when interpreted. `noise(scale, rng)` is filled
in by anyone who links the kernel; noise must be an integer where the ledger is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from discreet.errors import InvalidArgument

from .._checks import amount, count, number
from .._compiled import Floats, Integers
from ._noise import laplace as noise
from .budgets import Pure

if TYPE_CHECKING:
    from numpy.random import Generator

HYBRID_LEVELS = 62
"""Enough levels for any count that fits in 64 bits."""


class Nodes(Protocol):
    """What the kernel of a tree takes: a TreeLedger, or what has its fields."""

    @property
    def total_at(self) -> Floats: ...
    @property
    def prefix_at(self) -> Floats: ...
    @property
    def total(self) -> Floats: ...
    @property
    def count(self) -> Integers: ...


class TreeLedger(NamedTuple):
    """What a tree counter remembers of every arm (private: it holds exact sums)."""

    total_at: Floats
    """Exact sum when level j was last the lowest set bit of the count; arms * levels."""
    prefix_at: Floats
    """Noisy prefix sum at the same moment; arms * levels."""
    total: Floats
    """Exact sum; arms."""
    count: Any  # not Integers: tuples have a method of that name
    """Leaves so far; arms."""


class HybridLedger(NamedTuple):
    """A tree ledger for the current block, and the noisy sum of all earlier blocks."""

    total_at: Floats
    prefix_at: Floats
    total: Floats
    """Exact sum since the last power of two; arms."""
    count: Any  # not Integers: tuples have a method of that name
    """Rewards so far; arms."""
    base: Floats
    """Noisy sum up to the last power of two; arms."""
    power: Integers
    """The last power of two P, 0 before the first reward; arms."""
    depth: Integers
    """log2 P; arms."""


class TogetherLedger(NamedTuple):
    """Hybrid counters of all arms that advance in the same steps, so that they share one count."""

    error_at: Floats
    """Noise in the prefix sum when level j was last the lowest set bit; levels * arms, a level's
    arms concurrently."""
    total: Floats
    """Exact sum since the last power of two; arms."""
    base: Floats
    """Noisy sum up to the last power of two; arms."""
    prefix: Floats
    """Noisy prefix sum; arms."""
    count: Any  # not Integers: tuples have a method of that name
    """Steps so far; one entry, as the next two."""
    power: Integers
    """The last power of two P, 0 before the first step."""
    depth: Integers
    """log2 P."""


def tree_levels(leaves: int) -> int:
    """h = ceil(log2(leaves + 1)) levels: a prefix of n leaves is built from the nodes that the
    binary digits of n name, so the nodes that are ever read have as many levels as n has digits."""
    return count("leaves", leaves, fix="give the length of the stream").bit_length()


def check_leaves(levels: int, leaves: int) -> None:
    """Refuse a stream longer than 2^h - 1, which would need a level more."""
    if count("leaves", leaves, fix="give the length of the stream") >= 1 << levels:
        raise InvalidArgument(
            "leaves", f"be at most {(1 << levels) - 1}", leaves, "use tree_levels(leaves) levels"
        )


def tree_ledger(arms: int, levels: int, exact: bool = False) -> TreeLedger:
    """An empty ledger: float arrays, or with `exact` integer ones."""
    import numpy as np

    arms = count("arms", arms, fix="give the number of arms")
    levels = count("levels", levels, fix="use tree_levels(leaves)")
    kind = np.int64 if exact else np.float64
    return TreeLedger(
        np.zeros(arms * levels, kind),
        np.zeros(arms * levels, kind),
        np.zeros(arms, kind),
        np.zeros(arms, np.int64),
    )


def hybrid_ledger(arms: int, levels: int = HYBRID_LEVELS, exact: bool = False) -> HybridLedger:
    """An empty ledger: float arrays, or with `exact` integer ones."""
    import numpy as np

    tree = tree_ledger(arms, levels, exact)
    return HybridLedger(
        *tree,
        np.zeros(arms, np.int64 if exact else np.float64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
    )


def together_ledger(arms: int, levels: int = HYBRID_LEVELS, exact: bool = False) -> TogetherLedger:
    """An empty ledger: float arrays, or with `exact` integer ones."""
    import numpy as np

    tree = tree_ledger(arms, levels, exact)
    return TogetherLedger(
        tree.total_at,
        tree.total,
        np.zeros_like(tree.total),
        np.zeros_like(tree.total),
        *(np.zeros(1, np.int64) for _ in range(3)),
    )


def tree_add(
    ledger: Nodes, levels: int, scale: float, arm: int, reward: float, rng: Generator
) -> float:
    """Count one reward and return the noisy prefix sum; node noise `scale` = h/ε.

    The ledger is a TreeLedger, or has its fields.

    With j the lowest set bit of the new count i, the node that closes is the last 2^j rewards:
        prefix(i) = prefix(i - 2^j) + (S_i - S_{i-2^j} + noise).
    A node of level j holds 2^j rewards and no two of one level overlap, so a reward enters at most
    one node a level, h in all: ε in total. A leaf more than 2^h - 1 is refused.
    """
    step = ledger.count[arm] + 1
    if step >> levels != 0:  # its nodes would be those of the next arm
        raise IndexError("a tree has as many leaves as its levels hold")
    ledger.count[arm] = step
    ledger.total[arm] += reward
    return _close_node(ledger, arm * levels, step, ledger.total[arm], noise(scale, rng))


def hybrid_add(
    ledger: HybridLedger, levels: int, scale: float, arm: int, reward: float, rng: Generator
) -> float:
    """Count one reward of a stream of unknown length; `scale` = 1/ε.

    At a power of two the block that ends there is released with Lap(2/ε) and added to the base.
    Between P and 2P a binary counter restarts over the counts 1..P-1, node noise Lap(2 log2(P)/ε).
    Those counts have log2 P bits, so log2 P levels suffice; the reward that makes the count 2P is
    left to the block. One reward thus enters one block, ε/2, and at most log2 P nodes, each
    ε/(2 log2 P), ε/2 in all; the sums of releases are post-processing: ε in total.
    """
    ledger.count[arm] += 1
    ledger.total[arm] += reward
    step = ledger.count[arm]
    power = ledger.power[arm]
    if step == 1 or step == 2 * power:
        ledger.base[arm] += ledger.total[arm] + noise(2 * scale, rng)
        ledger.total[arm] = 0
        ledger.power[arm] = step
        if step > 1:
            ledger.depth[arm] += 1
        return ledger.base[arm]
    drawn = noise(2 * ledger.depth[arm] * scale, rng)
    return ledger.base[arm] + _close_node(
        ledger, arm * levels, step - power, ledger.total[arm], drawn
    )


def together_add(
    ledger: TogetherLedger, scale: float, arm: int, reward: float, rng: Generator
) -> None:
    """`hybrid_add` for all arms at once, a 0 for all but one; the sums are in `ledger.prefix`.

    The same releases with the same noise, an arm after the other: only what they share, the count
    and the levels that follow from it, is worked out once a step. A prefix sum is S_i plus noise,
    and the exact parts cancel in prefix(i - 2^j) - S_{i-2^j}: noise is all that a level keeps.
    """
    # named once: looked up inside the loops, compiled code counts a reference at every draw
    error_at, total, base, prefix = ledger.error_at, ledger.total, ledger.base, ledger.prefix
    arms = len(total)
    ledger.count[0] += 1
    total[arm] += reward
    step = ledger.count[0]
    power = ledger.power[0]
    if step == 1 or step == 2 * power:
        for each in range(arms):
            base[each] += total[each] + noise(2 * scale, rng)
            total[each] = 0
            prefix[each] = base[each]
        ledger.power[0] = step
        if step > 1:
            ledger.depth[0] += 1
        return
    width = 2 * ledger.depth[0] * scale
    level, before = _node_levels(step - power)
    here, there = level * arms, before * arms
    for each in range(arms):
        error = noise(width, rng)
        if before > 0:
            error += error_at[there + each]
        error_at[here + each] = error
        prefix[each] = base[each] + total[each] + error


def _close_node(ledger: Nodes, start: int, step: int, total: float, drawn: float) -> float:
    """The noisy prefix sum at `step`, kept at the level of its lowest set bit."""
    level, before = _node_levels(step)
    prefix = total + drawn
    if before > 0:
        prefix += ledger.prefix_at[start + before] - ledger.total_at[start + before]
    ledger.total_at[start + level] = total
    ledger.prefix_at[start + level] = prefix
    return prefix


def is_node(count: int, leaves: int) -> bool:
    """Whether a node of so many leaves, a power of two, begins after so many others."""
    level = 0
    while leaves & 1 == 0:
        leaves >>= 1
        level += 1
    if leaves != 1:
        return False
    for _ in range(level):
        if count & 1 == 1:
            return False
        count >>= 1
    return True


def _node_levels(step: int) -> tuple[int, int]:
    """The lowest set bit j of a count i, and that of i - 2^j, which is 0 if nothing is left.

    The next count with the lowest bit of i - 2^j lies after i, so what that level holds is of it.
    """
    level = 0
    rest = step
    while rest & 1 == 0:
        rest >>= 1
        level += 1
    rest -= 1
    if rest == 0:
        return level, 0
    before = level
    while rest & 1 == 0:
        rest >>= 1
        before += 1
    return level, before


class _Counter:
    """Base of the two: ε, where noise comes from, and what a stream costs."""

    def __init__(self, epsilon: float, rng: Generator) -> None:
        self._epsilon = amount("epsilon", epsilon, zero=False, fix="use a value such as 1.0")
        self._rng = rng

    @property
    def budget(self) -> Pure:
        """Cost of the whole stream of sums."""
        return Pure(self._epsilon)


class BinaryCounter(_Counter):
    """A simulated tree counter of one stream of numbers in [0, 1] of known length; ε-DP in
    distribution."""

    def __init__(self, leaves: int, epsilon: float, rng: Generator) -> None:
        super().__init__(epsilon, rng)
        self.leaves, self.levels = leaves, tree_levels(leaves)
        self._ledger = tree_ledger(1, self.levels)

    def add(self, x: float) -> float:
        """Count x and return the noisy sum so far."""
        x = _unit_interval(x)
        if self._ledger.count[0] >= self.leaves:
            raise InvalidArgument(
                "stream", "end after its leaves", self.leaves, "use a longer tree or HybridCounter"
            )
        scale = self.levels / self._epsilon
        return float(tree_add(self._ledger, self.levels, scale, 0, x, self._rng))


class HybridCounter(_Counter):
    """A simulated hybrid counter of one stream of numbers in [0, 1]; ε-DP in distribution."""

    def __init__(self, epsilon: float, rng: Generator) -> None:
        super().__init__(epsilon, rng)
        self._ledger = hybrid_ledger(1)

    def add(self, x: float) -> float:
        """Count x and return the noisy sum so far."""
        x = _unit_interval(x)
        return float(hybrid_add(self._ledger, HYBRID_LEVELS, 1.0 / self._epsilon, 0, x, self._rng))


def _unit_interval(x: float) -> float:
    return number("x", x, low=0.0, high=1.0, fix="the noise is calibrated to that range")
