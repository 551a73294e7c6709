"""Thompson sampling on noisy sums: every round a fresh θ, and the action that is best for it.

With b~ = Σ x r + noise of variance q in every entry and V = Σ x x' + λI (public contexts),
    θ ~ N(V^-1 b~, v²(σ² V^-1 + q V^-2)):
the posterior of rewards of variance σ², with what the noise adds to the error of V^-1 b~. With a
prior N(0, τ² I) on θ, mean and variance shrink by τ²/(τ² + variance), eigenvector by eigenvector.

With private contexts V~ carries noise as well, a symmetric matrix E of variance w on the diagonal
and w/2 elsewhere, whose largest eigenvalue is about sqrt(2wd): V = V~ + (λ + ζ sqrt(wd))I, with
eigenvalues below λ lifted to λ. (Eθ)_i has a variance of at most w ||θ||², so q grows by w S² for
||θ|| <= S. All of it is post-processing of releases. No bound on the regret is proved.

**Weights.** The noise of a release is the same for a batch of ten and of ten thousand, so in plain
sums batches in which an arm was hardly played drown those in which it was. Release i of a block
counts with g_i = σ²t/(σ²t + ω(q_i + w_i S²)), t the mean eigenvalue of its Σ x x' (by the noisy
trace): Σ g x x', Σ g x r, variances Σ g²q and Σ g²w, divided by the mean weight Σ g²t/Σ gt and its
square. ω = 0 is plain sums, ω = 1 estimates best. The policies have ω = 0.3: with 1 an arm that
begins with bad luck and is then left alone keeps its first estimate, and bad runs become more
frequent.

- `jdp-ts`: contexts private, ours; after AdaPrivate-TS (Riyazat & Ukwatta 2026), whose contexts are
  public. σ = v = S = 1, λ = 0.1, ζ = 2, no prior.
- `adac-ts`: the same on the release of AdaC-OFUL (Azize 2024).
- `blocks-ts`, `jdp-blocks-ts`: a block of features for every arm, the ordinary case of K treatments
  that share nothing; rewards are centred, σ is half their range, ζ = 0. Everyone of the first
  batch is assigned at random, with equal shares, so its Σ x x' are the same for all blocks but for
  chance, and their mean has less noise. The batch grows with the noise: what is learned from it
  decides which arms are played at all. v, τ, κ, ω and the size of the first batch were chosen on
  ACTG175 and on random blocks (3 to 6 arms, 2 to 5 features).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._checks import amount, positive
from .._compiled import Function
from ._algebra import cholesky, eigen
from ._batch_view import BatchView
from ._batches import RangedRelease, integers, size_of
from ._propensity import highest, of_two
from ._releases import LinearRelease
from ._rules import RoundRule, best_along
from ._view import LinearSetting, LinearView, refresh, take

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats


class Sampling(NamedTuple):
    """λ, v, ζ, S², variance of a reward, precision of the prior, ω, whether contexts are public and
    whether blocks share the matrix of the first batch, blocks and features of each."""

    ridge: float
    width: float
    lift: float
    square_norm: float
    reward: float
    precision: float
    weight: float
    public: bool
    shares_first: bool
    blocks: int
    size: int


def choose_thompson(
    rule: Sampling, view: BatchView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """argmax <θ, a> for one sample θ = θ~ + R z, z standard normal."""
    along, estimate, root = view.along, view.estimate, view.root
    for i in range(dimension):
        along[i] = estimate[i]
    for j in range(dimension):
        z = rng.standard_normal()
        for i in range(dimension):
            along[i] += root[i * dimension + j] * z
    return best_along(actions, arms, along, dimension)


def choose_block(
    rule: Sampling, view: BatchView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """Before the first release any arm; then argmax <θ_k, x>, one sample for every block.

    Of θ_k no more is asked than <θ_k, x>, which is N(<θ~_k, x>, |R_k' x|²): one normal variable.
    """
    if view.releases[0] == 0:
        return min(int(rng.random() * arms), arms - 1)
    size, estimate, root = rule.size, view.estimate, view.root
    best, highest = 0, -math.inf
    for arm in range(arms):
        first = arm * size
        start, place = arm * dimension + first, first * size
        index, square = 0.0, 0.0
        for j in range(size):
            index += actions[start + j] * estimate[first + j]
            side = 0.0
            for i in range(size):
                side += actions[start + i] * root[place + i * size + j]
            square += side * side
        index += math.sqrt(square) * rng.standard_normal()
        if index > highest:
            best, highest = arm, index
    return best


def entry_of(view: BatchView, place: int, blocks: int, entries: int, shared: bool) -> float:
    """An entry of a block's matrix, or the mean of all blocks'."""
    total = 0.0
    if not shared:
        return total + view.matrix[place]
    for block in range(blocks):
        total += view.matrix[block * entries + place % entries]
    return total / blocks


def take_release(rule: Sampling, view: BatchView) -> None:
    """The last release, with the weight of each block, into the sums over batches; once."""
    if view.taken[0] == view.releases[0]:
        return
    view.taken[0] = view.releases[0]
    size, entries = rule.size, rule.size * rule.size
    shared = rule.shares_first and view.taken[0] == 1
    spread = view.spread[0] / rule.blocks if shared else view.spread[0]
    error = view.variance[0] + rule.square_norm * spread
    for block in range(rule.blocks):
        first, place = block * size, block * entries
        trace = 0.0
        for i in range(size):
            trace += entry_of(view, place + i * size + i, rule.blocks, entries, shared)
        trace = max(trace, rule.ridge)  # noise may be greater than what it hides
        known = rule.reward * trace / size
        weight = known / (known + rule.weight * error)
        for i in range(size):
            view.moment[first + i] += weight * view.noisy[first + i]
        for i in range(entries):
            entry = entry_of(view, place + i, rule.blocks, entries, shared)
            view.gram[place + i] += weight * entry
        view.error[block] += weight * weight * view.variance[0]
        view.blur[block] += weight * weight * spread
        view.mass[block] += weight * trace
        view.square[block] += weight * weight * trace
    if rule.public:  # the next batch begins
        for i in range(rule.blocks * entries):
            view.matrix[i] = 0.0


def update_batches(rule: Sampling, view: BatchView, dimension: int) -> None:
    """θ~ and R of every block, by the eigenvalues of V."""
    take_release(rule, view)
    if view.taken[0] == 0:
        return
    size, work, vectors, along = rule.size, view.work, view.vectors, view.along
    for block in range(rule.blocks):
        first = block * size
        place = first * size
        # sums are divided by the mean weight: if weights are equal, these are plain sums
        mean = view.square[block] / view.mass[block]
        spread = view.blur[block] / (mean * mean)
        error = view.error[block] / (mean * mean) + rule.square_norm * spread
        shift = rule.ridge + rule.lift * math.sqrt(spread * size)
        for i in range(size * size):
            work[i] = view.gram[place + i] / mean
        for i in range(size):
            work[i * size + i] += shift
        eigen(work, vectors, size)
        for k in range(size):
            value = max(work[k * size + k], rule.ridge)
            variance = rule.reward / value + error / (value * value)
            shrunk = 1.0 / (1.0 + rule.precision * variance)
            along[k] = 0.0
            for i in range(size):
                along[k] += shrunk * vectors[i * size + k] * view.moment[first + i] / mean / value
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
    """R R' of one block, for anyone who asks how sure an estimate is."""
    for i in range(size):
        for j in range(size):
            total = 0.0
            for k in range(size):
                total += view.root[place + i * size + k] * view.root[place + j * size + k]
            view.inverse[(first + i) * dimension + first + j] = total


def sampled_by(
    root: Sequence[float], view: Any, actions: Sequence[float], arms: int
) -> list[float] | None:
    """The probabilities of two arms, whose difference is one normal variable."""
    if arms != 2:
        return None
    d = len(view.estimate)
    first = of_two([actions[i] - actions[d + i] for i in range(d)], view.estimate, root)
    return [first, 1.0 - first]


@dataclass(frozen=True)
class BatchThompson(RoundRule):
    """θ ~ N(V^-1 b~, v²(σ²V^-1 + (q + wS²)V^-2)), V = V~ + (λ + ζ sqrt(wd))I, eigenvalues >= λ.

    `width` is v, `norm` S, `lift` ζ, `sd` σ, `prior` τ and `weight` ω; see the head of this file.
    """

    release: RangedRelease
    ridge: float = 0.1
    width: float = 1.0
    norm: float = 1.0
    lift: float = 2.0
    sd: float = 1.0
    prior: float = math.inf
    weight: float = 0.0
    name: ClassVar[str] = "posterior sample, noise included"
    update: ClassVar[Function] = staticmethod(update_batches)
    choose: ClassVar[Function] = staticmethod(choose_thompson)
    private_contexts: ClassVar[bool] = True
    shares_first: ClassVar[bool] = False

    def __post_init__(self) -> None:
        positive("ridge", self.ridge, "use for example ridge=0.1")
        positive("width", self.width, "use for example width=1.0")
        amount("norm", self.norm, infinite=False, fix="use norm=1.0")
        amount("lift", self.lift, infinite=False, fix="use lift=2.0")
        positive("sd", self.sd, "use for example sd=1.0")
        if self.prior != math.inf:
            positive("prior", self.prior, "use for example prior=0.3, or math.inf for none")
        amount("weight", self.weight, infinite=False, fix="use weight=0.3, or 0 for plain sums")

    def suits(self, release: LinearRelease) -> bool:
        return release == self.release

    def propensities(self, view: Any, actions: Sequence[float], arms: int) -> list[float] | None:
        return sampled_by(view.root, view, actions, arms)

    def parameters(self, setting: LinearSetting) -> Sampling:
        return Sampling(
            float(self.ridge), float(self.width), float(self.lift), float(self.norm) ** 2,
            float(self.sd) ** 2, float(self.prior) ** -2, float(self.weight),
            not self.private_contexts, self.shares_first, *size_of(self.release.blocks, setting),
        )  # fmt: skip

    def first_view(self, setting: LinearSetting) -> BatchView:
        import numpy as np

        blocks, size = size_of(self.release.blocks, setting)
        d, sd = setting.dimension, self.width / math.sqrt(self.ridge)
        zeros, eye = np.zeros, np.tile(np.eye(size).ravel(), blocks)
        entries = size * size
        return BatchView(
            zeros(blocks * entries), zeros(d), zeros(blocks * entries), zeros(d), zeros(blocks),
            zeros(blocks), zeros(blocks), zeros(blocks), zeros(d), eye * sd,
            np.eye(d).ravel() * sd**2, zeros(d), zeros(entries), zeros(entries), zeros(1), zeros(1),
            np.ones(1), integers(1), integers(1), integers(1), integers(1),
        )  # fmt: skip


@dataclass(frozen=True)
class BlockThompson(BatchThompson):
    """The same for every arm's block, contexts private; the first batch is assigned at random."""

    name: ClassVar[str] = "posterior sample of every block"
    choose: ClassVar[Function] = staticmethod(choose_block)
    shares_first: ClassVar[bool] = True

    def propensities(self, view: Any, actions: Sequence[float], arms: int) -> list[float] | None:
        """Indices of arms are independent: N(<θ~_k, x>, |R_k' x|²)."""
        if view.releases[0] == 0:
            return [1.0 / arms] * arms
        dimension = len(view.estimate)
        size = dimension // arms
        means, sds = [], []
        for arm in range(arms):
            first = arm * size
            own = [actions[arm * dimension + first + i] for i in range(size)]
            root = [view.root[first * size + i] for i in range(size * size)]
            means.append(sum(x * view.estimate[first + i] for i, x in enumerate(own)))
            sides = (sum(own[i] * root[i * size + j] for i in range(size)) for j in range(size))
            sds.append(math.hypot(*sides))
        return [highest(means, sds, arm) for arm in range(arms)]


@dataclass(frozen=True)
class PublicBlockThompson(BlockThompson):
    """The same with public contexts, whose matrices are known."""

    private_contexts: ClassVar[bool] = False
    shares_first: ClassVar[bool] = False


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
    return best_along(actions, arms, along, dimension)


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

    def propensities(self, view: Any, actions: Sequence[float], arms: int) -> list[float] | None:
        return sampled_by(view.lower, view, actions, arms)

    def first_width(self, setting: LinearSetting) -> float:
        return float(self.width)

    def first_view(self, setting: LinearSetting) -> LinearView:
        view = super().first_view(setting)
        assert isinstance(view, LinearView)
        for i in range(len(view.lower)):
            view.lower[i] *= self.width  # L of v²(λI)^-1
        return view
