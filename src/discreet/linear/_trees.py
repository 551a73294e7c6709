"""Releases with private contexts: trees over every entry of Σ z z' and Σ z r.

One participant's context z and reward r are one leaf, under h = floor(log2 T) + 1 nodes, and every
node is released with noise. The curator scales long contexts, and their rewards with them, into the
unit ball and clips rewards to [-1, 1], so the sensitivities hold for whatever it is handed.
Replacing (z, r) by (z', r') with ||z|| <= 1, |r| <= 1 moves
- an entry z_i² or z_i z_j of the matrix by at most 1, an entry z_i r by at most 2;
- the upper triangle of zz' and zr together by at most `joint_sensitivity(d)` in the 1-norm;
- [z; r][z; r]' by at most sqrt(2) L² in the Frobenius norm, L² = ||z||² + r² <= 2.
A participant's own assignment uses the participant's own context: joint DP.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from .._checks import one_of, positive, share
from .._compiled import Floats, Function, Kernel
from ..errors import DiscreetError, UnsupportedBudget
from ..policies.releases._base import in_kind
from ..privacy._counters import TreeLedger, tree_add, tree_ledger, tree_levels
from ..privacy._guarantees import Definition, Guarantee
from ..privacy._mechanisms import Gaussian, Laplace
from ..privacy._source import RESOLUTION, Source
from ..privacy.budgets import Approximate, Budget, Pure
from ._grid import ENTRY, FLOATS, Grid
from ._releases import LinearRelease, Need, RoundRelease, clipped
from ._rules import RoundRule, Shifted, choose_optimistic, update_shifted
from ._view import LinearSetting, LinearView

if TYPE_CHECKING:
    from numpy.random import Generator

LENGTH_SQUARED = 2.0
"""L~² = L² + B², for contexts in the unit ball and rewards in [-1, 1]."""


class TreeRows(NamedTuple):
    """One tree an entry (upper triangle of zz', then zr), and the row under way: all private."""

    total_at: Floats
    prefix_at: Floats
    total: Floats
    count: Any  # the tuple has a method of that name
    row: Floats
    """z, then r"""


class TreeNoise(NamedTuple):
    """Levels of a tree; noise of a node on the diagonal of zz', elsewhere in it, and in zr.

    An entry of 1 is `resolution` steps.
    """

    levels: int
    diagonal: float
    other: float
    vector: float
    resolution: float


def into_ball(row: Floats, dimension: int) -> None:
    """(z, r) scaled by min(1, 1/||z||), which keeps r = <θ, z> + noise true, and r clipped."""
    square = 0.0
    for i in range(dimension):
        square += row[i] * row[i]
    scale = 1.0 if square <= 1.0 else 1.0 / math.sqrt(square)
    for i in range(dimension):
        row[i] *= scale
    row[dimension] = clipped(row[dimension] * scale, -1.0, 1.0)


def into_whole_ball(row: list[int], dimension: int) -> None:
    """The same in whole steps, towards zero: the ball is never left, not by rounding either."""
    square = sum(feature * feature for feature in row[:dimension])
    if square > ENTRY:
        above = math.isqrt(square) + 1
        for i in range(dimension + 1):
            size = abs(row[i]) * RESOLUTION // above
            row[i] = size if row[i] > 0 else -size
    row[dimension] = max(-RESOLUTION, min(row[dimension], RESOLUTION))


def collect_row(
    release: object, ledger: TreeRows, actions: Floats, start: int, reward: float, dimension: int
) -> None:
    """The row (z, r), inside the unit ball."""
    for i in range(dimension):
        ledger.row[i] = actions[start + i]
    ledger.row[dimension] = reward
    into_ball(ledger.row, dimension)


def publish_trees(
    release: TreeNoise, ledger: TreeRows, view: LinearView, dimension: int, rng: Generator
) -> None:
    """The noisy prefix sum of every entry; the row itself is forgotten."""
    trees = TreeLedger(ledger.total_at, ledger.prefix_at, ledger.total, ledger.count)
    tree = 0
    for i in range(dimension):
        for j in range(i, dimension):
            scale = release.diagonal if i == j else release.other
            entry = ledger.row[i] * ledger.row[j]
            noisy = tree_add(trees, release.levels, scale, tree, entry, rng) / release.resolution
            view.matrix[i * dimension + j] = noisy
            view.matrix[j * dimension + i] = noisy
            tree += 1
    for i in range(dimension):
        entry = ledger.row[i] * ledger.row[dimension]
        noisy = tree_add(trees, release.levels, release.vector, tree, entry, rng)
        view.noisy[i] = noisy / release.resolution
        tree += 1
    for i in range(dimension + 1):
        ledger.row[i] = 0
    view.releases[0] += 1


@dataclass(frozen=True)
class TreeRelease(RoundRelease):
    """Base of the two."""

    shape: ClassVar[str] = "trees"
    collect: ClassVar[Function] = staticmethod(collect_row)
    publish: ClassVar[Function] = staticmethod(publish_trees)
    private_contexts: ClassVar[bool] = True
    each_alone: ClassVar[bool] = True

    @property
    def is_live(self) -> bool:
        return True

    @property
    def clip(self) -> tuple[float, float] | None:
        return (-1.0, 1.0)

    def needs(self, parameters: object, ledger: object, dimension: int) -> list[Need]:
        """A node of every tree: each participant closes one of each."""
        found = cast("TreeNoise", parameters)
        others = dimension * (dimension - 1) // 2
        scales = (found.diagonal, dimension), (found.other, others), (found.vector, dimension)
        return [(self.noise, scale, number) for scale, number in scales]

    def ledger(self, setting: LinearSetting) -> TreeRows:
        levels = tree_levels(setting.horizon)
        trees = tree_ledger(streams(setting.dimension), levels, setting.source.secure)
        return TreeRows(*trees, setting.grid.zeros(setting.dimension + 1))

    def grid(self, longest: float) -> Grid:
        """Whole numbers for a live trial; rows are scaled into the unit ball."""
        return Grid()

    def kernel(self, function: Function | Kernel, source: Source) -> Kernel:
        ball = into_whole_ball if source.secure else into_ball
        # a round draws noise for every entry
        return Kernel(super().kernel(function, source), into_ball=ball).inlined()


def streams(dimension: int) -> int:
    """d(d+1)/2 entries of the matrix and d of the vector: (d² + 3d)/2."""
    return dimension * (dimension + 3) // 2


def joint_sensitivity(dimension: int) -> float:
    """How far one row moves all entries together, in the 1-norm:

        max over c in [0, 1] of  A sqrt(1 - c²) + sqrt(2d (1 + c)),   A = sqrt(d(d+3)/2).

    Proof, for (z, r) in place of (y, s), Δ = zz' - yy' and c = |<z, y>|.
    Matrix: by Cauchy and Schwarz with weights w = 1 on the diagonal and 2 off it,
    (Σ_{i<=j} |Δ_ij|)² <= Σ_{i<=j} 1/w_ij · Σ_{i<=j} w_ij Δ_ij² = d(d+3)/4 · ||Δ||_F², and
    ||Δ||_F² = |z|⁴ + |y|⁴ - 2c² <= 2 - 2c².
    Vector: ||zr - ys||_1 is convex in (r, s), so take r, s = ±1; there it is at most
    sqrt(d) |z ± y| <= sqrt(d (|z|² + |y|² + 2c)) <= sqrt(d (2 + 2c)).
    Since |z|, |y| <= 1, c is in [0, 1], and the maximum over it holds for every pair of rows.
    With c = cos 2ψ it is that of A sin 2ψ + 2 sqrt(d) cos ψ, where 4A sin²ψ + 2 sqrt(d) sin ψ = 2A.

    4.42, 5.66, 6.80 for d = 2, 3, 4, where moves of 4.37, 5.53, 6.55 exist. For d = 1 the largest
    move is known: with |z| = 1 >= |y| = q it is 1 - q² + 1 + q <= 9/4.
    """
    if dimension == 1:
        return 2.25
    matrix, vector = math.sqrt(dimension * (dimension + 3) / 2.0), 2.0 * math.sqrt(dimension)
    sine = (math.sqrt(vector * vector + 32.0 * matrix * matrix) - vector) / (8.0 * matrix)
    return (2.0 * matrix * sine + vector) * math.sqrt(1.0 - sine * sine)


@dataclass(frozen=True)
class LaplaceTrees(TreeRelease):
    """Laplace noise on every node.

    calibration "joint": Lap(h s/ε) on every node, s = `joint_sensitivity(d)` for whole rows.
    "entry": every entry has ε0 = 2ε/(d² + 3d) and its own sensitivity, Lap(h/ε0) or Lap(2h/ε0).
    "paper": Lap(h/ε0) for all entries, as if none could move by more than 1; the guarantee is then
    what this noise really buys, ε0 times the 1-norm of a row.
    """

    epsilon: float
    calibration: str = "joint"
    name: ClassVar[str] = "trees + Laplace"
    noise: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, "use for example epsilon=1.0")
        one_of("calibration", self.calibration, "joint", "entry", "paper")

    def scales(self, dimension: int, levels: int = 1, grid: Grid = FLOATS) -> tuple[float, float]:
        """Noise of an entry of the matrix and of the vector."""
        if self.calibration == "joint":
            each = grid.laplace_scale(self.epsilon, joint_sensitivity(dimension), levels)
            return each, each
        entry, double = self.epsilon / streams(dimension), self.calibration == "entry"
        matrix = grid.laplace_scale(entry, 1.0, levels)
        return matrix, grid.laplace_scale(entry, 2.0, levels) if double else matrix

    def parameters(self, setting: LinearSetting) -> TreeNoise:
        levels = tree_levels(setting.horizon)
        matrix, vector = self.scales(setting.dimension, levels, setting.grid)
        return TreeNoise(levels, matrix, matrix, vector, setting.grid.entry)

    def guarantee(self, dimension: int | None = None) -> Guarantee:
        """By parallel composition within a level and sequential over levels, a node costs ε/h."""
        if dimension is None and self.calibration != "paper":
            return Guarantee(Pure(self.epsilon), Definition.JOINT)
        d = 1 if dimension is None else dimension  # where the paper's calibration is worst
        matrix, vector = self.scales(d)
        by_row = Laplace(min(matrix, vector), joint_sensitivity(d)).budget.epsilon
        by_entry = d * (d + 1) / 2 / matrix + 2.0 * d / vector
        epsilon = min(by_row, by_entry)
        if self.calibration != "paper":
            epsilon = min(epsilon, self.epsilon)  # the sum of entries rounds upwards
        return Guarantee(Pure(epsilon), Definition.JOINT)


@dataclass(frozen=True)
class GaussianTrees(TreeRelease):
    """One symmetric Gaussian matrix a node: N(0, σ²) off the diagonal, N(0, 2σ²) on it.

    A row moves a node by Δ with ||Δ||_F <= sqrt(2) L², so the node is (L²/σ)-Gaussian DP and h of
    them (sqrt(h) L²/σ). calibration "exact": the least σ that keeps the budget. "paper":
    σ = 4 sqrt(h) L² log(4/δ)/ε, which buys more than was asked for. The entry r² is not released.
    """

    budget: Budget
    calibration: str = "exact"
    name: ClassVar[str] = "tree of matrices + Gaussian"
    noise: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        one_of("calibration", self.calibration, "exact", "paper")
        if self.calibration == "paper" and not isinstance(self.budget, Approximate):
            one_of("calibration", self.calibration, "exact")
        try:
            sound = self.guarantee().budget.implies(self.budget)
        except DiscreetError:
            sound = False
        if not sound:
            # checked before anything runs: for ε in the thousands the printed σ is too small
            raise UnsupportedBudget(
                "budget", f"be kept by the noise of calibration {self.calibration!r}", self.budget,
                'use calibration="exact", or a smaller epsilon',
            )  # fmt: skip

    def unit_scale(self) -> float:
        """σ for a tree of one level; h levels need sqrt(h) times as much."""
        if self.calibration == "paper" and isinstance(self.budget, Approximate):
            log = math.log(4.0 / self.budget.delta)
            return 4.0 * LENGTH_SQUARED * log / self.budget.epsilon
        return Gaussian.calibrated(self.budget, LENGTH_SQUARED).scale

    def scale(self, setting: LinearSetting) -> float:
        """σ; the paper's formula is an upper bound on what is needed: more noise, never less."""
        levels = tree_levels(setting.horizon)
        proved = setting.grid.gaussian_scale(self.budget, LENGTH_SQUARED, levels)
        return max(proved, math.sqrt(levels) * self.unit_scale())

    def parameters(self, setting: LinearSetting) -> TreeNoise:
        sigma = self.scale(setting) * setting.grid.entry
        diagonal = setting.grid.drawn(math.sqrt(2.0) * sigma * setting.grid.room)
        return TreeNoise(tree_levels(setting.horizon), diagonal, sigma, sigma, setting.grid.entry)

    def guarantee(self, dimension: int | None = None) -> Guarantee:
        spent = Gaussian(self.unit_scale(), LENGTH_SQUARED).budget
        return Guarantee(in_kind(spent, self.budget), Definition.JOINT)


@dataclass(frozen=True)
class ShiftedOptimism(RoundRule):
    """Optimism on V = noisy matrix + 2ΥI (Shariff & Sheffet 2018), h = levels, n = rounds:

    Υ = σ sqrt(2h) (4 sqrt d + 2 log(2n/α)), γ = σ sqrt(h/Υ) (sqrt d + sqrt(2 log(2n/α))),
    β = sd · sqrt(2 log(2/α) + log det V - d log Υ) + S sqrt(3Υ) + γ; α is `failure`.
    """

    release: GaussianTrees
    failure: float = 0.001
    norm: float = 1.0
    sd: float = 1.0
    private_contexts: ClassVar[bool] = True
    name: ClassVar[str] = "optimism, shifted"
    update: ClassVar[Function] = staticmethod(update_shifted)
    choose: ClassVar[Function] = staticmethod(choose_optimistic)

    def __post_init__(self) -> None:
        share("failure", self.failure, fix="use for example failure=0.001")
        positive("norm", self.norm, "give a bound on the length of the parameter")
        positive("sd", self.sd, "use for example sd=1.0")

    def suits(self, release: LinearRelease) -> bool:
        return release == self.release

    def shift(self, setting: LinearSetting) -> float:
        """Υ; without noise 1/2, so that 2ΥI is a ridge of 1."""
        levels, sigma = tree_levels(setting.horizon), self.release.scale(setting)
        log = math.log(2.0 * setting.horizon / self.failure)
        upsilon = sigma * math.sqrt(2.0 * levels) * (4.0 * math.sqrt(setting.dimension) + 2.0 * log)
        return upsilon if upsilon > 0.0 else 0.5

    def parameters(self, setting: LinearSetting) -> Shifted:
        d, levels, upsilon = setting.dimension, tree_levels(setting.horizon), self.shift(setting)
        log = math.log(2.0 * setting.horizon / self.failure)
        gamma = self.release.scale(setting) * math.sqrt(levels / upsilon)
        gamma *= math.sqrt(d) + math.sqrt(2.0 * log)
        return Shifted(
            2.0 * upsilon,
            self.norm * math.sqrt(3.0 * upsilon) + gamma,
            float(self.sd),
            2.0 * math.log(2.0 / self.failure) - d * math.log(upsilon),
        )

    def first_width(self, setting: LinearSetting) -> float:
        return self.parameters(setting).constant
