"""Broken policies, built from the library's own parts; each still claims what the intact one does.

The claims are derived from the parts, so every mutant lies about its noise in one place: what
`parameters` hands to the kernels, or what `publish` does with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

import discreet
from discreet._compiled import Kernel
from discreet.identify import Identifier, Stopping, identifier
from discreet.live import Assignment, Trial
from discreet.live.stores import MemoryStore
from discreet.policies import (
    Doubling,
    ForgetGaussian,
    ForgetLaplace,
    GapThenTree,
    GaussianLeader,
    LocalBernoulli,
    Policy,
    SquashedLaplace,
    Tree,
)
from discreet.policies._rules import Rule
from discreet.policies._thompson import Start
from discreet.policies._view import Setting, View
from discreet.policies.releases._base import Scale, noise, zeros
from discreet.policies.releases._counting import TreeScale
from discreet.policies.releases._exact import Sums
from discreet.policies.releases._local import respond_laplace
from discreet.policies.releases._remembering import publish_again
from discreet.privacy._counters import TreeLedger, tree_add
from discreet.privacy._source import Source
from discreet.privacy.budgets import Approximate, Budget


@dataclass(frozen=True)
class QuietLaplace(ForgetLaplace):
    """Noise at a fraction of its scale."""

    factor: float = 0.8

    def parameters(self, setting: Setting) -> Any:
        tight: Any = super().parameters(setting)
        return tight._replace(scale=self.factor * tight.scale)


@dataclass(frozen=True)
class QuietGaussian(ForgetGaussian):
    """The same for Gaussian noise."""

    factor: float = 0.8

    def parameters(self, setting: Setting) -> Scale:
        tight = super().parameters(setting)
        return tight._replace(scale=self.factor * tight.scale)


@dataclass(frozen=True)
class Unforgetting(ForgetLaplace):
    """Old rewards are released again with every batch, with fresh noise that pays for one."""

    publish: ClassVar[Any] = staticmethod(publish_again)

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))


def publish_first_raw(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = noise(release.scale, rng) if view.size[arm] > 0 else 0.0
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class FirstRaw(ForgetLaplace):
    """The first reward of an arm is released as it is."""

    publish: ClassVar[Any] = staticmethod(publish_first_raw)


def publish_third_raw(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = 0.0 if arm == 2 else noise(release.scale, rng)
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class ThirdRaw(ForgetLaplace):
    """The noise of a third arm is missing."""

    publish: ClassVar[Any] = staticmethod(publish_third_raw)


def publish_whole(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    view.value[arm] = (total + round(noise(release.scale, rng))) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class WholeNoise(ForgetLaplace):
    """Noise of whole numbers, under rewards that need not be whole."""

    publish: ClassVar[Any] = staticmethod(publish_whole)


def publish_long_raw(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = 0.0 if rounds >= 64 else noise(release.scale, rng)
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class LongRaw(ForgetLaplace):
    """Batches of 64 and more are released as they are."""

    publish: ClassVar[Any] = staticmethod(publish_long_raw)


class Unchecked(Policy):
    """A composition that `Policy` may refuse."""

    def __post_init__(self) -> None:
        """Nothing is checked."""


def doubling_trees(epsilon: float, rule: Rule) -> Policy:
    """Trees fed by doubling batches: a reward would be under more nodes than their noise pays for,
    and beside the ledger, if the tree did not refuse what does not fit."""
    release = GapThenTree(epsilon, gap_estimation=False)
    return Unchecked("doubling trees", Doubling(), release, rule)


class OneNoise(NamedTuple):
    """The noise of the k-th release of whatever arm, and how many releases each arm had."""

    drawn: Any
    releases: Any


def publish_shared(
    release: Scale, ledger: OneNoise, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    place = min(ledger.releases[arm], len(ledger.drawn) - 1)
    if ledger.drawn[place] == 0.0:
        ledger.drawn[place] = noise(release.scale, rng)
    ledger.releases[arm] += 1
    view.value[arm] = (total + ledger.drawn[place]) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class SharedNoise(ForgetLaplace):
    """One noise for all arms."""

    publish: ClassVar[Any] = staticmethod(publish_shared)

    def ledger(self, setting: Setting) -> OneNoise:
        return OneNoise(np.zeros(64), np.zeros(setting.arms, np.int64))


def publish_leaky_tree(
    release: TreeScale, ledger: TreeLedger, view: View, arm: int, rounds: int, total: float,
    rng: Any,
) -> None:  # fmt: skip
    view.size[arm] += rounds
    scale = 0.0 if (ledger.count[arm] + 1) % 4 == 2 else release.scale
    prefix = tree_add(ledger, release.levels, scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class LeakyTree(Tree):
    """Nodes of level 1 have no noise."""

    publish: ClassVar[Any] = staticmethod(publish_leaky_tree)


def publish_late_raw_tree(
    release: TreeScale, ledger: TreeLedger, view: View, arm: int, rounds: int, total: float,
    rng: Any,
) -> None:  # fmt: skip
    view.size[arm] += rounds
    scale = 0.0 if view.pulls[arm] > 2000 else release.scale
    prefix = tree_add(ledger, release.levels, scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class LateRawTree(Tree):
    """Nodes after pull 2,000 of an arm have no noise."""

    publish: ClassVar[Any] = staticmethod(publish_late_raw_tree)


def publish_late_raw(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = noise(release.scale, rng) * (0.001 if view.pulls[arm] > 2000 else 1.0)
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class LateRaw(ForgetLaplace):
    """A thousandth of the noise is left after pull 2,000 of an arm."""

    publish: ClassVar[Any] = staticmethod(publish_late_raw)


class OnceDrawn(NamedTuple):
    """The nodes of a tree, and the noise that all nodes of an arm have."""

    total_at: Any
    prefix_at: Any
    total: Any
    count: Any
    drawn: Any


def publish_one_noise_tree(
    release: TreeScale, ledger: OnceDrawn, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    if ledger.drawn[arm] == 0.0:
        ledger.drawn[arm] = noise(release.scale, rng)
    view.size[arm] += rounds
    ledger.total[arm] += total
    nodes, left = 0, view.size[arm]
    while left > 0:  # as many nodes as the count has bits
        nodes += left % 2
        left //= 2
    prefix = ledger.total[arm] + nodes * ledger.drawn[arm]
    view.value[arm] = prefix / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class OneNoiseTree(Tree):
    """All nodes of an arm share one noise."""

    publish: ClassVar[Any] = staticmethod(publish_one_noise_tree)

    def ledger(self, setting: Setting) -> OnceDrawn:  # type: ignore[override]
        return OnceDrawn(*super().ledger(setting), np.zeros(setting.arms))


def half_laplace(scale: float, rng: Any) -> float:
    return float(0.5 * scale * (rng.standard_exponential() - rng.standard_exponential()))


@dataclass(frozen=True)
class HalfSampler(ForgetLaplace):
    """A sampler that takes half of the scale that it is handed."""

    def kernel(self, function: Any, source: Source) -> Kernel:
        return Kernel(super().kernel(function, source), noise=half_laplace)


def one_sided(scale: float, rng: Any) -> float:
    return float(scale * rng.standard_exponential())


@dataclass(frozen=True)
class OneSided(ForgetLaplace):
    """Noise that only adds."""

    def kernel(self, function: Any, source: Source) -> Kernel:
        return Kernel(super().kernel(function, source), noise=one_sided)


def evenly(scale: float, rng: Any) -> float:
    return float(scale * 2.449489742783178 * (2.0 * rng.random() - 1.0))


@dataclass(frozen=True)
class Evenly(ForgetLaplace):
    """Noise of the same variance that is spread evenly: beyond its ends there is none."""

    def kernel(self, function: Any, source: Source) -> Kernel:
        return Kernel(super().kernel(function, source), noise=evenly)


def publish_divided_twice(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    view.value[arm] = (total + noise(release.scale, rng) / rounds) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class DividedTwice(ForgetLaplace):
    """The noise of a mean, under a sum."""

    publish: ClassVar[Any] = staticmethod(publish_divided_twice)


def publish_nothing_to_hide(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = noise(release.scale, rng) if total > 0 else 0.0
    view.value[arm] = (total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class NothingToHide(ForgetLaplace):
    """No noise where no reward was paid."""

    publish: ClassVar[Any] = staticmethod(publish_nothing_to_hide)


def publish_floored(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    drawn = noise(release.scale, rng)
    view.value[arm] = max(0.5 * total, total + drawn) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class Floored(ForgetLaplace):
    """Never less than half of the sum: an end that is no constant."""

    publish: ClassVar[Any] = staticmethod(publish_floored)


@dataclass(frozen=True)
class TooSure(LocalBernoulli):
    """Devices tell the truth as if the budget were half as large again."""

    def parameters(self, setting: Setting) -> Any:
        local = super().parameters(setting)
        return local._replace(epsilon=1.5 * local.epsilon)


@dataclass(frozen=True)
class Unsquashed(SquashedLaplace):
    """Rewards of any size, under noise for those in [0, 1]."""

    respond: ClassVar[Any] = staticmethod(respond_laplace)


@dataclass(frozen=True)
class HastyLeader(GaussianLeader):
    """A start phase of one pull, whatever the budget needs."""

    def parameters(self, setting: Setting) -> Start:
        return Start(1)


EXACT = np.zeros(2)
"""Where the leaking release leaves the exact means for the stopping rule that reads them."""


class LeakingScale(NamedTuple):
    scale: float
    resolution: int
    exact: Any


def publish_leaking(
    release: LeakingScale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    release.exact[arm] = total / rounds
    view.value[arm] = (total + noise(release.scale, rng)) / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class LeakingLaplace(ForgetLaplace):
    """Publishes noisy means, and hands exact ones to whoever knows where to look."""

    publish: ClassVar[Any] = staticmethod(publish_leaking)

    def parameters(self, setting: Setting) -> LeakingScale:
        tight: Any = super().parameters(setting)
        return LeakingScale(tight.scale, tight.resolution, EXACT)


class ExactBar(NamedTuple):
    exact: Any
    gap: float


def enough_exact(stopping: ExactBar, rule: Any, memory: Any, view: View, best: int, t: int) -> bool:
    gap = abs(stopping.exact[0] - stopping.exact[1])
    return bool(gap >= stopping.gap)


@dataclass(frozen=True)
class ExactStopping(Stopping):
    """Stops once the exact means are far enough apart."""

    gap: float = 1.0
    name: ClassVar[str] = "exact gap"

    @property
    def enough(self) -> Kernel:
        return Kernel(enough_exact)

    def parameters(self, setting: Setting) -> ExactBar:
        return ExactBar(EXACT, self.gap)


def peeking_identifier(epsilon: float) -> Identifier:
    """AdaP-TT with a stopping rule that reads exact means."""
    row = identifier("adap-tt", epsilon=epsilon, sampling="batched")
    return replace(
        row, name="peeking", release=LeakingLaplace(epsilon), stopping=ExactStopping(), recipe={}
    )


class RedrawingTrial(Trial):
    """Shows a release without having stored it, so that after a reload it is drawn again."""

    stored: Any = None

    def _release(self, now: float) -> bool:
        if self._run.next_due(self._store.blocks, self._terms, 0.0) is not None:
            self.stored = store = self._store
            self._store = copy = MemoryStore()
            copy._now = store.state, dict(store.blocks)
            copy._assigned = list(store.assigned)
        return super()._release(now)


def with_release(name: str, release: Any, **budget: Any) -> Policy:
    """A row of the catalogue with another release in it."""
    row: Policy = discreet.policy(name, **budget)
    return replace(row, name=type(release).__name__, release=release, recipe={})


def quiet_gaussian(budget: Budget, factor: float) -> Policy:
    return with_release("adac-ucb", QuietGaussian(budget, factor=factor), budget=budget)


def hasty_leader(epsilon: float, delta: float) -> Policy:
    row = discreet.policy("dp-ftpl-gauss", epsilon=epsilon, delta=delta)
    return replace(row, name="hasty", rule=HastyLeader(Approximate(epsilon, delta)), recipe={})


class Reloaded:
    """Makes trials that can be loaded again, as `Trial.load` does."""

    def __init__(self, kind: type[Trial]) -> None:
        self.kind = kind

    def make(self, policy: Policy, arms: int, **options: Any) -> Trial:
        return self.kind(policy, arms, assignment=Assignment(streams=False), **options)

    def reload(self, trial: Trial) -> Trial:
        """What `Trial.load` does, on the same object: a new one costs 2 ms."""
        store: Any = getattr(trial, "stored", None) or trial._store
        store._now = json.loads(json.dumps(store.state)), dict(store.blocks)
        trial._store, trial._stale = store, True
        return trial
