"""Pairs: sum and count of those who answered, where missing outcomes are estimated.

Why the count costs the sum nothing: `live.pairs`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ...privacy.budgets import Approximate, Budget
from .._parts import says_itself
from ._base import Release, noise

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...privacy._source import Source

WIDER = 2.0 / math.sqrt(3.0) * (1.0 + 1e-12)
"""How much more Gaussian noise the count has; rounded up."""


class PairScale(NamedTuple):
    """The noise of both numbers, the steps of an outcome of 1, and whether sums run on."""

    total: float
    answers: float
    resolution: int
    kept: int


class Pairs(NamedTuple):
    """What was released: noisy sums and counts of every arm, and the places behind them."""

    total: Any
    count: Any
    places: Any


def publish_pair(
    release: PairScale, pairs: Pairs, arm: int, total: float, answered: int, rng: Generator
) -> None:
    """S = Σ r (y - 1/2) + noise and R = Σ r + noise, added to those before unless forgotten."""
    kept = release.kept
    pairs.total[arm] = kept * pairs.total[arm] + total + noise(release.total, rng)
    counted = answered * release.resolution
    pairs.count[arm] = kept * pairs.count[arm] + counted + noise(release.answers, rng)


def pair_scale_of(release: Release, source: Source) -> PairScale | None:
    """The noise of a pair that keeps a release's budget; None if it releases none. A class that
    changes `publish` or `respond` and inherits `pair_scale` has said nothing."""
    if not says_itself(release, "pair_scale", "publish", "respond"):
        return None
    return release.pair_scale(source)


def laplace_pair(epsilon: float, source: Source, kept: int) -> PairScale:
    scale = source.laplace_scale(epsilon)
    return PairScale(scale, 2.0 * scale, source.resolution, kept)


def gaussian_pair(budget: Budget, calibration: str, source: Source, kept: int) -> PairScale:
    scale = source.gaussian_scale(budget, calibration)
    if source.secure and isinstance(budget, Approximate):
        from ...privacy._secure import vector_gaussian_scale

        scale = max(scale, vector_gaussian_scale(budget, source.resolution))
    return PairScale(scale, WIDER * scale, source.resolution, kept)
