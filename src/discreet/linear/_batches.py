"""Batches of participants: noisy sums of each, for Thompson sampling with contexts.

Each participant is in one batch, a batch is released once, and adding up releases is free: a run
costs what one release costs, without a tree. Batches end when public counts say so. What a release
counts for is the rule's business (`linear.thompson`): it sees noisy numbers alone.

**Blocks.** Σ x x' and Σ x r are kept for the whole parameter (one block of d features), or, with K
treatments that share nothing, for each arm: K blocks of m features, where arm k's action has the
participant's features in block k and zeros elsewhere (`linear.blocks`).

**Private contexts** (`BatchMatrices`). The curator clips r to [low, high], centres it at the middle
and scales longer contexts, with their rewards, into the unit ball: ||x|| <= 1, |r| <= h with
h = (high - low)/2. It adds N(0, s²) to Σ x r and a symmetric matrix to Σ x x', of variance κs² on
the diagonal and κs²/2 elsewhere. One participant (x, r) in place of (y, r') then costs, for Δ = xx'
- yy' in the Frobenius norm and c = |<x, y>|,

    (||Δ||²/κ + |xr - yr'|²)/s² <= ((2 - 2c²)/κ + 2h² + 2h²c)/s² <= S²/s²,
    S² = (2/κ)(1 + κh²/2)² if κh² <= 2, else 4h²,

in squared Gaussian DP. Proof: ||Δ||² = |x|⁴ + |y|⁴ - 2c²; |xr - yr'|² is convex in (r, r'), so it
is largest at r = ±h, r' = ±h, where it is h²(|x|² + |y|² + 2c). At a given c both grow with |x| and
|y|, so take |x| = |y| = 1, and c = min(1, κh²/2). If the two are treated differently their blocks
differ, Δ and the vectors are orthogonal, and the cost is that of c = 0. For κ = 1, h = 1 this
is S² = 4.5; for κ = 2 it is S = 1 + h²: 1.25 for rewards in [0, 1].

**Public contexts** (`LaplaceBlocks`). Only r is private. Its replacement moves Σ x r by (r - r')x
in the block of an arm that is public, at most (high - low) ||x||_1 in the 1-norm. The largest
||x||_1 of the batch is public too, and Laplace noise of (high - low) max ||x||_1 / ε keeps ε.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from .._checks import amount, positive
from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..policies._schedules import check_length
from ..policies.releases._base import check_gaussian, in_kind, noise
from ..privacy._guarantees import Definition, Guarantee
from ..privacy._mechanisms import Gaussian
from ..privacy._source import Source
from ..privacy.budgets import Budget, Pure
from ._batch_view import BatchView
from ._grid import Grid
from ._releases import PUBLIC, Need, RoundRelease, check_ends, clipped
from ._schedules import RoundSchedule
from ._trees import into_whole_ball
from ._view import LinearSetting

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers


def block_of(actions: Floats, start: int, blocks: int, size: int) -> int:
    """The first block of an action that is not all zero; an action of zeros adds nothing."""
    if blocks > 1:
        for block in range(blocks):
            for i in range(size):
                if actions[start + block * size + i] != 0:
                    return block
    return 0


def size_of(blocks: str, setting: LinearSetting) -> tuple[int, int]:
    """How many blocks, and the features of each."""
    if blocks == "shared":
        return 1, setting.dimension
    if setting.dimension % setting.arms:
        raise InvalidArgument(
            "dimension", f"be a multiple of {setting.arms}, the features of every arm in a block",
            setting.dimension, "make actions with linear.blocks, or take jdp-ts or adac-ts",
        )  # fmt: skip
    return setting.arms, setting.dimension // setting.arms


# --- schedule -----------------------------------------------------------------------------------


class Batches(NamedTuple):
    """The end of the first batch, the growth of all rounds, and the blocks."""

    first: int
    ratio: float
    blocks: int
    size: int


def follow_count(
    schedule: Batches, view: BatchView, actions: Floats, start: int, dimension: int
) -> bool:
    """Due after `first` rounds, then whenever all rounds have grown by the ratio."""
    until, rounds = view.until, view.rounds
    if until[0] == 0:
        until[0] = schedule.first
    rounds[0] += 1
    if rounds[0] < until[0]:
        return False
    until[0] = math.ceil(min(schedule.ratio * until[0], 4e18))
    return True


def follow_public(
    schedule: Batches, view: BatchView, actions: Floats, start: int, dimension: int
) -> bool:
    """The same, and Σ x x', which public contexts make public."""
    size, matrix = schedule.size, view.matrix
    block = block_of(actions, start, schedule.blocks, size)
    first, place = start + block * size, block * size * size
    for i in range(size):
        for j in range(size):
            matrix[place + i * size + j] += actions[first + i] * actions[first + j]
    return follow_count(schedule, view, actions, start, dimension)


@dataclass(frozen=True)
class PrivateBatches(RoundSchedule):
    """Batches that end at t₁ = `first`, t₂ = ceil(ratio t₁), …

    `first` = 0 stands for `each` participants per arm, at most half of all, or without that for 8d.
    """

    first: int = 0
    ratio: float = 1.5
    blocks: str = "shared"
    each: int = 0
    private_contexts: ClassVar[bool] = True
    known_ends: ClassVar[bool] = True
    name: ClassVar[str] = "growing batches"
    follow: ClassVar[Function] = staticmethod(follow_count)

    def __post_init__(self) -> None:
        if self.first != 0:
            check_length("first", self.first, "use for example first=500")
        if self.each != 0:
            check_length("each", self.each, "use for example each=200")
        ratio = amount("ratio", self.ratio, infinite=False, fix="use ratio=1.5")
        if not 1.0 < ratio <= 1000.0:
            raise InvalidArgument("ratio", "be above 1 and at most 1000", self.ratio, "use 1.5")

    def parameters(self, setting: LinearSetting) -> Batches:
        first = self.first or FIRST_ROUNDS * setting.dimension
        if self.each and not self.first:
            first = self.each * setting.arms
            if setting.horizon is not None:
                first = min(first, max(1, setting.horizon // 2))
        return Batches(first, float(self.ratio), *size_of(self.blocks, setting))


FIRST_ROUNDS = 8
"""Rounds of the first batch per feature."""


@dataclass(frozen=True)
class PublicBatches(PrivateBatches):
    """The same, and the policy keeps Σ x x', in public."""

    private_contexts: ClassVar[bool] = False
    follow: ClassVar[Function] = staticmethod(follow_public)


# --- releases -----------------------------------------------------------------------------------


class Totals(NamedTuple):
    """The sums of the batch under way: private."""

    matrix: Floats
    """upper triangle of Σ x x', entry (i, j) at i m + j, of every block"""
    vector: Floats
    """Σ x r of every block"""
    row: Floats
    """x, then r, of one participant"""
    block: Integers
    """the block of that participant"""


class MatrixNoise(NamedTuple):
    """Range of rewards and its middle, blocks, noise on diagonal, elsewhere and vector; steps."""

    low: float
    high: float
    centre: float
    blocks: int
    size: int
    diagonal: float
    other: float
    vector: float
    matrix_resolution: float
    vector_resolution: float


def into_unit_ball(row: Floats, dimension: int) -> None:
    """(x, r) scaled by min(1, 1/||x||), which keeps r = <θ, x> + noise true."""
    square = 0.0
    for i in range(dimension):
        square += row[i] * row[i]
    if square > 1.0:
        scale = 1.0 / math.sqrt(square)
        for i in range(dimension + 1):
            row[i] *= scale


def take_row(
    release: MatrixNoise, ledger: Totals, actions: Floats, start: int, reward: float
) -> None:
    """One participant's (x, r) inside the ball, and the block that it belongs to."""
    size = release.size
    block = block_of(actions, start, release.blocks, size)
    first = start + block * size
    for i in range(size):
        ledger.row[i] = actions[first + i]
    ledger.row[size] = clipped(reward, release.low, release.high) - release.centre
    into_unit_ball(ledger.row, size)
    ledger.block[0] = block


def add_row(ledger: Totals, size: int) -> None:
    """Σ x x' and Σ x r; the row itself is forgotten."""
    block, row = ledger.block[0], ledger.row
    matrix, vector = ledger.matrix, ledger.vector
    place = block * size * size
    for i in range(size):
        for j in range(i, size):
            matrix[place + i * size + j] += row[i] * row[j]
        vector[block * size + i] += row[i] * row[size]
    for i in range(size + 1):
        row[i] = 0


def collect_matrices(
    release: MatrixNoise, ledger: Totals, actions: Floats, start: int, reward: float, dimension: int
) -> None:
    """The curator adds one participant to the sums of the participant's block."""
    take_row(release, ledger, actions, start, reward)
    add_row(ledger, release.size)


def publish_matrices(
    release: MatrixNoise, ledger: Totals, view: BatchView, dimension: int, rng: Generator
) -> None:
    """The sums of the batch with noise."""
    size = release.size
    for block in range(release.blocks):
        place = block * size * size
        for i in range(size):
            for j in range(i, size):
                scale = release.diagonal if i == j else release.other
                here = place + i * size + j
                noisy = (ledger.matrix[here] + noise(scale, rng)) / release.matrix_resolution
                view.matrix[here] = noisy
                if i != j:
                    view.matrix[place + j * size + i] = noisy
                ledger.matrix[here] = 0
            here = block * size + i
            view.noisy[here] = (
                ledger.vector[here] + noise(release.vector, rng)
            ) / release.vector_resolution
            ledger.vector[here] = 0
    view.variance[0] = (release.vector / release.vector_resolution) ** 2
    view.spread[0] = (release.diagonal / release.matrix_resolution) ** 2
    view.releases[0] += 1


def batch_sensitivity(half: float, ratio: float) -> float:
    """S: sqrt(2/κ) (1 + κh²/2), or 2h where κh² > 2; see the head of this file."""
    if ratio * half * half > 2.0:
        return 2.0 * half
    return math.sqrt(2.0 / ratio) * (1.0 + ratio * half * half / 2.0)


class RangedRelease(RoundRelease):
    """Base of the two: rewards in [low, high], and the blocks."""

    low: float
    high: float
    blocks: str
    printed: ClassVar[bool] = False

    @property
    def is_live(self) -> bool:
        return True

    @property
    def own_blocks(self) -> bool:
        return self.blocks == "disjoint"

    @property
    def clip(self) -> tuple[float, float] | None:
        return (float(self.low), float(self.high))

    def centre(self, grid: Grid) -> float:
        """The middle of the range, in steps; on whole numbers the one below it."""
        low, high = grid.reward(float(self.low)), grid.reward(float(self.high))
        return (low + high) // 2 if grid.source.secure else (low + high) / 2


@dataclass(frozen=True)
class BatchMatrices(RangedRelease):
    """Σ x x' and Σ x r of every batch with Gaussian noise: joint privacy of contexts and rewards.

    `ratio` is κ: the variance of the noise on the diagonal of Σ x x' over that on Σ x r.
    """

    shape: ClassVar[str] = "batches"
    budget: Budget
    low: float = -1.0
    high: float = 1.0
    ratio: float = 1.0
    blocks: str = "shared"
    name: ClassVar[str] = "batch matrices + Gaussian"
    noise: ClassVar[str] = "gaussian"
    private_contexts: ClassVar[bool] = True
    collect: ClassVar[Function] = staticmethod(collect_matrices)
    publish: ClassVar[Function] = staticmethod(publish_matrices)

    def __post_init__(self) -> None:
        check_gaussian(self.budget)
        check_ends(self.low, self.high)
        positive("ratio", self.ratio, "use ratio=1.0")

    @property
    def half(self) -> float:
        """h: rewards lie within h of the middle of their range."""
        return (float(self.high) - float(self.low)) / 2.0

    @property
    def vector_sd(self) -> float:
        """Standard deviation of the noise on every entry of Σ x r."""
        return Gaussian.calibrated(self.budget, batch_sensitivity(self.half, self.ratio)).scale

    def grid(self, longest: float) -> Grid:
        """Whole numbers for a live trial; contexts are scaled into the unit ball."""
        return Grid(1.0, float(self.low), float(self.high))

    def kernel(self, function: Function | Kernel, source: Source) -> Kernel:
        ball = into_whole_ball if source.secure else into_unit_ball
        return Kernel(super().kernel(function, source), into_unit_ball=ball)

    def parameters(self, setting: LinearSetting) -> MatrixNoise:
        grid = setting.grid
        low, high, centre = grid.reward(self.low), grid.reward(self.high), self.centre(grid)
        half = max(high - centre, centre - low) * grid.reward_step
        sensitivity = batch_sensitivity(half, self.ratio)
        vector = grid.gaussian_scale(self.budget, sensitivity, 1) * grid.room
        diagonal = math.sqrt(self.ratio) * vector * grid.room
        return MatrixNoise(
            low, high, centre, *size_of(self.blocks, setting), grid.drawn(diagonal * grid.entry),
            diagonal * grid.room / math.sqrt(2.0) * grid.entry,
            grid.drawn(vector * grid.resolution), grid.entry, grid.resolution,
        )  # fmt: skip

    def needs(self, parameters: object, ledger: object, dimension: int) -> list[Need]:
        found = cast("MatrixNoise", parameters)
        blocks, size = found.blocks, found.size
        others = blocks * size * (size - 1) // 2
        scales = (found.diagonal, blocks * size), (found.other, others)
        needs = [(self.noise, scale, number) for scale, number in scales]
        return [*needs, (self.noise, found.vector, blocks * size)]

    def ledger(self, setting: LinearSetting) -> Totals:
        blocks, size = size_of(self.blocks, setting)
        zeros = setting.grid.zeros
        return Totals(
            zeros(blocks * size * size), zeros(blocks * size), zeros(size + 1), integers(1)
        )

    def guarantee(self, dimension: int | None = None) -> Guarantee:
        """Each participant is in one batch: a run costs what one release costs."""
        sensitivity = batch_sensitivity(self.half, self.ratio)
        scale = Gaussian.calibrated(self.budget, sensitivity).scale
        spent = Gaussian(scale, sensitivity).budget
        return Guarantee(in_kind(spent, self.budget), Definition.JOINT)


def integers(size: int) -> Integers:
    """Counts at zero."""
    import numpy as np

    return np.zeros(size, np.int64)


class Vectors(NamedTuple):
    """Σ x r of every block, and the longest x of the batch in the 1-norm, which is public."""

    vector: Floats
    longest: Floats


class VectorNoise(NamedTuple):
    """Range of rewards and its middle, blocks, noise per length in the 1-norm, steps of 1."""

    low: float
    high: float
    centre: float
    blocks: int
    size: int
    scale: float
    resolution: float


def collect_vectors(
    release: VectorNoise,
    ledger: Vectors,
    actions: Floats,
    start: int,
    reward: float,
    dimension: int,
) -> None:
    """Σ x r with the reward clipped and centred, and max ||x||_1."""
    size = release.size
    block = block_of(actions, start, release.blocks, size)
    inside = clipped(reward, release.low, release.high) - release.centre
    length: float = 0
    for i in range(size):
        feature = actions[start + block * size + i]
        ledger.vector[block * size + i] += feature * inside
        length += abs(feature)
    ledger.longest[0] = max(ledger.longest[0], length)


def scale_of_vectors(release: VectorNoise, ledger: Vectors) -> float:
    """The scale of the next release, by the longest features of the batch."""
    return release.scale * (ledger.longest[0] if ledger.longest[0] > 0 else 1)


def publish_vectors(
    release: VectorNoise, ledger: Vectors, view: BatchView, dimension: int, rng: Generator
) -> None:
    """The sums of the batch with Laplace noise. Of features that are all 0 the sums are 0 whatever
    the rewards: any noise hides them, but none would be refused."""
    scale = scale_of_vectors(release, ledger)
    for i in range(release.blocks * release.size):
        view.noisy[i] = (ledger.vector[i] + noise(scale, rng)) / release.resolution
        ledger.vector[i] = 0
    view.variance[0] = 2.0 * (scale / release.resolution) ** 2
    ledger.longest[0] = 0
    view.releases[0] += 1


@dataclass(frozen=True)
class LaplaceBlocks(RangedRelease):
    """Σ x r of every batch and block with Laplace noise: pure ε for rewards, contexts public."""

    shape: ClassVar[str] = "blocks"
    epsilon: float
    low: float = 0.0
    high: float = 1.0
    blocks: str = "disjoint"
    name: ClassVar[str] = "batch sums + Laplace"
    noise: ClassVar[str] = "laplace"
    collect: ClassVar[Function] = staticmethod(collect_vectors)
    publish: ClassVar[Function] = staticmethod(publish_vectors)

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, "use for example epsilon=1.0")
        check_ends(self.low, self.high)

    def grid(self, longest: float) -> Grid:
        """Whole numbers for a live trial of actions up to a length."""
        return Grid(longest, float(self.low), float(self.high))

    def parameters(self, setting: LinearSetting) -> VectorNoise:
        grid = setting.grid
        low, high = grid.reward(self.low), grid.reward(self.high)
        scale = grid.laplace_scale_per_length(self.epsilon, self.low, self.high)
        return VectorNoise(
            low, high, self.centre(grid), *size_of(self.blocks, setting), scale, grid.resolution
        )

    def needs(self, parameters: object, ledger: object, dimension: int) -> list[Need]:
        found = cast("VectorNoise", parameters)
        scale = scale_of_vectors(found, cast("Vectors", ledger))
        return [(self.noise, scale, found.blocks * found.size)]

    def ledger(self, setting: LinearSetting) -> Vectors:
        zeros = setting.grid.zeros
        return Vectors(zeros(setting.dimension), zeros(1))

    def guarantee(self, dimension: int | None = None) -> Guarantee:
        """Noise and sensitivity are both proportional to max ||x||_1: one release costs ε."""
        return Guarantee(Pure(float(self.epsilon)), Definition.INTERACTIVE, conditions=(PUBLIC,))
