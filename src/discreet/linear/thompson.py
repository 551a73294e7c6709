"""Thompson sampling on noisy sums: every round a fresh θ, and the action that is best for it.

With b~ = Σ x r + noise of variance q in every entry and V = Σ x x' + λI (public contexts),
    θ ~ N(V^-1 b~, v²(σ² V^-1 + q V^-2)):
the posterior of rewards of variance σ², with what the noise adds to the error of V^-1 b~. With a
prior N(0, τ² I) on θ, mean and variance shrink by τ²/(τ² + variance), eigenvector by eigenvector.

With private contexts V~ carries noise as well, a symmetric matrix E of variance w on the diagonal
and w/2 elsewhere, whose largest eigenvalue is about sqrt(2wd): V = V~ + (λ + ζ sqrt(wd))I, with
eigenvalues below λ lifted to λ. (Eθ)_i has a variance of at most w ||θ||², so q grows by w S² for
||θ|| <= S. All of it is post-processing of releases. No bound on the regret is proved.

- `jdp-ts`: contexts private, ours; after AdaPrivate-TS (Riyazat & Ukwatta 2026), whose contexts are
  public. σ = v = S = 1, λ = 0.1, ζ = 2, no prior.
- `adac-ts`: the same on the release of AdaC-OFUL (Azize 2024).
- `blocks-ts`, `jdp-blocks-ts`: a block of features for every arm, the ordinary case of K treatments
  that share nothing; rewards are centred, σ is half their range, ζ = 0. Everybody of the first
  batch is assigned at random, with equal shares. v, τ and κ were chosen on ACTG175.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..checks import amount, positive
from ..compiled import Function
from .algebra import cholesky, dot, eigen
from .batches import BatchView, RangedRelease, integers, size_of
from .releases import LinearRelease
from .rules import RoundRule
from .view import LinearSetting, LinearView, refresh, take

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..types import Floats


class Sampling(NamedTuple):
    """λ, v, ζ, S², variance of a reward, precision of the prior, blocks and features of each."""

    ridge: float
    width: float
    lift: float
    square_norm: float
    reward: float
    precision: float
    blocks: int
    size: int


def sampled(view: BatchView, place: int, first: int, size: int, rng: Generator) -> None:
    """θ = θ~ + R z for one block, z standard normal, into `along`."""
    along, estimate, root = view.along, view.estimate, view.root
    for i in range(size):
        along[first + i] = estimate[first + i]
    for j in range(size):
        z = rng.standard_normal()
        for i in range(size):
            along[first + i] += root[place + i * size + j] * z


def choose_thompson(
    rule: Sampling, view: BatchView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """argmax <θ, a> for one sample of θ."""
    sampled(view, 0, 0, dimension, rng)
    along = view.along
    best, highest = 0, -math.inf
    for arm in range(arms):
        index = dot(actions, arm * dimension, along, dimension)
        if index > highest:
            best, highest = arm, index
    return best


def choose_block(
    rule: Sampling, view: BatchView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """Before the first release any arm; then argmax <θ_k, x>, one sample for every block."""
    if view.releases[0] == 0:
        return min(int(rng.random() * arms), arms - 1)
    size, along = rule.size, view.along
    best, highest = 0, -math.inf
    for arm in range(arms):
        first = arm * size
        sampled(view, first * size, first, size, rng)
        index = 0.0
        for i in range(size):
            index += actions[arm * dimension + first + i] * along[first + i]
        if index > highest:
            best, highest = arm, index
    return best


def update_batches(rule: Sampling, view: BatchView, dimension: int) -> None:
    """θ~ and R of every block, by the eigenvalues of V."""
    size, work, vectors, along = rule.size, view.work, view.vectors, view.along
    shift = rule.ridge + rule.lift * math.sqrt(view.spread[0] * size)
    error = view.variance[0] + rule.square_norm * view.spread[0]
    for block in range(rule.blocks):
        first = block * size
        place = first * size
        for i in range(size * size):
            work[i] = view.matrix[place + i]
        for i in range(size):
            work[i * size + i] += shift
        eigen(work, vectors, size)
        for k in range(size):
            value = max(work[k * size + k], rule.ridge)
            variance = rule.reward / value + error / (value * value)
            shrunk = 1.0 / (1.0 + rule.precision * variance)
            along[k] = 0.0
            for i in range(size):
                along[k] += shrunk * vectors[i * size + k] * view.noisy[first + i] / value
            work[k] = rule.width * math.sqrt(shrunk * variance)
        for i in range(size):
            total = 0.0
            for k in range(size):
                total += vectors[i * size + k] * along[k]
            view.estimate[first + i] = total
        for i in range(size):
            for k in range(size):
                view.root[place + i * size + k] = vectors[i * size + k] * work[k]
        write_covariance(view, place, first, size, dimension)


def write_covariance(view: BatchView, place: int, first: int, size: int, dimension: int) -> None:
    """R R' of one block, for whoever asks how sure an estimate is."""
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += view.root[place + i * size + k] * view.root[place + j * size + k]
            view.inverse[(first + i) * dimension + first + j] = total


@dataclass(frozen=True)
class BatchThompson(RoundRule):
    """θ ~ N(V^-1 b~, v²(σ²V^-1 + (q + wS²)V^-2)), V = V~ + (λ + ζ sqrt(wd))I, eigenvalues >= λ.

    `width` is v, `norm` S, `lift` ζ, `sd` σ and `prior` τ; see the head of this file.
    """

    release: RangedRelease
    ridge: float = 0.1
    width: float = 1.0
    norm: float = 1.0
    lift: float = 2.0
    sd: float = 1.0
    prior: float = math.inf
    name: ClassVar[str] = "posterior sample, noise included"
    update: ClassVar[Function] = staticmethod(update_batches)
    choose: ClassVar[Function] = staticmethod(choose_thompson)
    private_contexts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("ridge", self.ridge, "use for example ridge=0.1")
        positive("width", self.width, "use for example width=1.0")
        amount("norm", self.norm, infinite=False, fix="use norm=1.0")
        amount("lift", self.lift, infinite=False, fix="use lift=2.0")
        positive("sd", self.sd, "use for example sd=1.0")
        if self.prior != math.inf:
            positive("prior", self.prior, "use for example prior=0.3, or math.inf for none")

    def suits(self, release: LinearRelease) -> bool:
        return release == self.release

    def parameters(self, setting: LinearSetting) -> Sampling:
        return Sampling(
            float(self.ridge), float(self.width), float(self.lift), float(self.norm) ** 2,
            float(self.sd) ** 2, float(self.prior) ** -2,
            *size_of(self.release.blocks, setting),
        )  # fmt: skip

    def first_view(self, setting: LinearSetting) -> BatchView:
        import numpy as np

        blocks, size = size_of(self.release.blocks, setting)
        d, sd = setting.dimension, self.width / math.sqrt(self.ridge)
        zeros, eye = np.zeros, np.tile(np.eye(size).ravel(), blocks)
        return BatchView(
            zeros(blocks * size * size), zeros(d), zeros(d), eye * sd, np.eye(d).ravel() * sd**2,
            zeros(d), zeros(size * size), zeros(size * size), zeros(1), zeros(1), np.ones(1),
            integers(1), integers(1), integers(1),
        )  # fmt: skip


@dataclass(frozen=True)
class BlockThompson(BatchThompson):
    """The same for every arm's block, contexts private; the first batch is assigned at random."""

    name: ClassVar[str] = "posterior sample of every block"
    choose: ClassVar[Function] = staticmethod(choose_block)


@dataclass(frozen=True)
class PublicBlockThompson(BlockThompson):
    """The same with public contexts."""

    private_contexts: ClassVar[bool] = False


class Width(NamedTuple):
    """v."""

    width: float


def update_sampled(rule: Width, view: LinearView, dimension: int) -> None:
    """θ~, and L with L L' = v²(V^-1 + q V^-2) into `lower`."""
    refresh(view, dimension)
    take(view, dimension)
    inverse, work, error, v2 = view.inverse, view.work, view.variance[0], rule.width**2
    for i in range(dimension):
        for j in range(dimension):
            total = inverse[i * dimension + j]
            for k in range(dimension):
                total += error * inverse[i * dimension + k] * inverse[k * dimension + j]
            work[i * dimension + j] = v2 * total
    cholesky(work, view.lower, dimension)


def choose_from_lower(
    rule: Width, view: LinearView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """argmax <θ, a>, θ = θ~ + L z, z standard normal."""
    along, lower = view.along, view.lower
    for i in range(dimension):
        along[i] = view.estimate[i]
    for j in range(dimension):
        z = rng.standard_normal()
        for i in range(j, dimension):
            along[i] += lower[i * dimension + j] * z
    best, highest = 0, -math.inf
    for arm in range(arms):
        index = dot(actions, arm * dimension, along, dimension)
        if index > highest:
            best, highest = arm, index
    return best


@dataclass(frozen=True)
class NoisyThompson(RoundRule):
    """θ ~ N(V^-1 b~, v²(V^-1 + q V^-2)), on the releases of AdaC-OFUL; V is public."""

    ridge: float = 0.1
    width: float = 1.0
    name: ClassVar[str] = "posterior sample, noise included"
    update: ClassVar[Function] = staticmethod(update_sampled)
    choose: ClassVar[Function] = staticmethod(choose_from_lower)

    def __post_init__(self) -> None:
        positive("ridge", self.ridge, "use for example ridge=0.1")
        positive("width", self.width, "use for example width=1.0")

    def parameters(self, setting: LinearSetting) -> Width:
        return Width(float(self.width))

    def first_width(self, setting: LinearSetting) -> float:
        return float(self.width)

    def first_view(self, setting: LinearSetting) -> LinearView:
        view = super().first_view(setting)
        assert isinstance(view, LinearView)
        for i in range(len(view.lower)):
            view.lower[i] *= self.width  # L of v²(λI)^-1
        return view
