"""Rows in streams: blocks of all arms fill and wait side by side.

What a row must be for that, what counts as evidence meanwhile, and the pair that a block releases
where missing outcomes are estimated. Live trials (`live.stream_run`, `live.pairs`, with the proofs)
and trials on a calendar (`simulator.calendar.rows`) ask the same functions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ..privacy.budgets import Approximate
from .releases import (
    FillingLaplace,
    ForgetExact,
    ForgetGaussian,
    ForgetLaplace,
    RunningGaussian,
    RunningLaplace,
    ShrinkingLaplace,
)
from .releases.base import noise
from .schedules import EachRound, Geometric, Regular
from .view import Empty, Setting

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..privacy.source import Source
    from .policy import Policy

KINDS = (RunningLaplace, RunningGaussian, ForgetLaplace, ForgetGaussian)
"""Releases of sums of blocks with Laplace or Gaussian noise, which may be pairs."""
FORGETTING = (ForgetLaplace, ForgetGaussian, ForgetExact)
WIDER = 2.0 / math.sqrt(3.0) * (1.0 + 1e-12)
"""How much more Gaussian noise the count has; rounded up."""
CLOSED, NEWEST, FILLED, ALL = "closed", "newest", "filled", "all"
"""Which places count as evidence."""


def fits_streams(policy: Policy, setting: Setting) -> bool:
    """Whether a row can be played in streams: marks that are fixed beforehand, and a rule without
    a memory, which is told of single batches in their order."""
    return (
        isinstance(policy.schedule, EachRound | Geometric | Regular)
        and takes_any_block(policy)
        and type(policy.rule.memory(setting)) is Empty
    )


def takes_any_block(policy: Policy) -> bool:
    """Whether the noise of a block is paid for whatever its length; that of `ShrinkingLaplace` is
    by full blocks alone."""
    return policy.release.any_lengths and not isinstance(policy.release, ShrinkingLaplace)


def evidence_in(policy: Policy) -> str:
    """Which places stand behind a released mean, those that wait included."""
    release = policy.release
    if isinstance(release, FillingLaplace):
        return FILLED
    if isinstance(release, FORGETTING) and not isinstance(release, RunningGaussian):
        return NEWEST
    return ALL if isinstance(policy.schedule, EachRound) else CLOSED


# --- missing outcomes, estimated ------------------------------------------------------------------


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


def serves_pairs(policy: Policy) -> bool:
    """Whether a row releases sums of blocks with Laplace or Gaussian noise."""
    return type(policy.release) in KINDS


def pair_scale(policy: Policy, source: Source) -> PairScale:
    """The noise that keeps the row's budget."""
    release = policy.release
    kept = int(isinstance(release, RunningLaplace | RunningGaussian))
    if isinstance(release, RunningLaplace | ForgetLaplace):
        scale = source.laplace_scale(release.epsilon)
        return PairScale(scale, 2.0 * scale, source.resolution, kept)
    assert isinstance(release, ForgetGaussian)
    scale = source.gaussian_scale(release.budget, release.calibration)
    if source.secure and isinstance(release.budget, Approximate):
        from ..privacy.secure import vector_gaussian_scale

        scale = max(scale, vector_gaussian_scale(release.budget, source.resolution))
    return PairScale(scale, WIDER * scale, source.resolution, kept)
