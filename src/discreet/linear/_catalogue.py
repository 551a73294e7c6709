"""The linear policies of the catalogue.

>>> from discreet.linear import policy
>>> print(policy("jdp-linucb", epsilon=1.0, delta=1e-6).guarantee.short())
ε = 1, δ = 1e-06 (joint)

Policies with public contexts protect rewards (interactive DP); `private-linucb`, `private-lints`
and those whose names begin with `jdp` protect contexts and rewards (joint DP).
"""

from __future__ import annotations

import math
from typing import ClassVar

from .._checks import one_of
from ..policies._registry import PolicyEntry
from ..privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from ._batches import BatchMatrices, LaplaceBlocks, PrivateBatches, PublicBatches
from ._design import TOLERANCE
from ._phases import Elimination, NoisyEstimate, NoisySums, PhaseExact
from ._releases import ExactSum, LinearRelease, NoisySum
from ._row import LinearPolicy
from ._rules import LinearRule, Optimism, TreeOptimism, TreeSampling
from ._schedules import (
    DesignPhases,
    Determinant,
    EachRoundPrivately,
    EachRoundPublicly,
    LinearSchedule,
)
from ._thompson import BatchThompson, BlockThompson, NoisyThompson, PublicBlockThompson
from ._trees import GaussianTrees, LaplaceTrees, ShiftedOptimism

Parts = tuple[LinearSchedule, LinearRelease, LinearRule]
FAILURE = 0.001
"""δ of the confidence sets in the thesis' runs."""
RIDGE = 0.1
"""λ in the thesis' runs."""


class LinearRow(PolicyEntry[LinearPolicy]):
    """A line of the catalogue."""

    kind: ClassVar[str] = "linear"
    catalogue: ClassVar[dict[str, LinearRow]] = {}

    def composed(self, parts: Parts, recipe: dict[str, object]) -> LinearPolicy:
        return LinearPolicy(self.name, *parts, self.reference, recipe)


CATALOGUE = LinearRow.catalogue
"""All linear policies by name, in the order of the table."""
row = LinearRow.enter

GAUSSIAN = (ZCDP, Approximate, Renyi, GaussianDP)
"""The kinds of budget that Gaussian noise serves."""


def policy(name: str, *, budget: Budget | None = None, **options: object) -> LinearPolicy:
    """A published linear policy by name; `discreet.policy` knows all kinds.

    >>> policy("adac-gope", rho=0.1, noise="sums").release.name
    'phase sums + Gaussian'
    """
    return LinearRow.named(name).asked(budget=budget, **options)


@row("gope", reference="lattimore2020")
def _gope(failure: float = FAILURE, sd: float = 1.0, tolerance: float = TOLERANCE) -> Parts:
    """GOPE: phased elimination by optimal designs"""
    return DesignPhases(), PhaseExact(), Elimination(failure, sd, tolerance)


@row("adac-gope", *GAUSSIAN, reference="azize2024", twin="gope")
def _adac_gope(
    budget: Budget,
    noise: str = "estimate",
    failure: float = FAILURE,
    sd: float = 1.0,
    tolerance: float = TOLERANCE,
    low: float = -1.0,
    high: float = 1.0,
    setting: str = "sound",
) -> Parts:
    """AdaC-GOPE"""
    kinds = {"estimate": NoisyEstimate, "sums": NoisySums}
    release = kinds[one_of("noise", noise, *kinds)](budget, low, high, setting)
    return DesignPhases(), release, Elimination(failure, sd, tolerance)


@row("oful", reference="abbasi2011")
def _oful(
    ridge: float = RIDGE, failure: float = FAILURE, norm: float = 1.0, sd: float = 1.0
) -> Parts:
    """OFUL"""
    return EachRoundPublicly(), ExactSum(), Optimism(ridge, failure, norm, sd)


@row("rs-oful", reference="abbasi2011")
def _rs_oful(
    growth: float = 1.0,
    ridge: float = RIDGE,
    failure: float = FAILURE,
    norm: float = 1.0,
    sd: float = 1.0,
) -> Parts:
    """Rarely switching OFUL"""
    return Determinant(growth), ExactSum(), Optimism(ridge, failure, norm, sd)


@row("adac-oful", *GAUSSIAN, reference="azize2024", twin="rs-oful")
def _adac_oful(
    budget: Budget,
    growth: float = 1.0,
    ridge: float = RIDGE,
    failure: float = FAILURE,
    norm: float = 1.0,
    sd: float = 1.0,
    low: float = -1.0,
    high: float = 1.0,
    setting: str = "sound",
) -> Parts:
    """AdaC-OFUL"""
    release = NoisySum(budget, low, high, setting)
    return Determinant(growth), release, Optimism(ridge, failure, norm, sd)


@row("adac-ts", *GAUSSIAN, reference="azize2024")
def _adac_ts(
    budget: Budget,
    growth: float = 1.0,
    ridge: float = RIDGE,
    width: float = 1.0,
    low: float = -1.0,
    high: float = 1.0,
) -> Parts:
    """AdaC-TS"""
    return Determinant(growth), NoisySum(budget, low, high), NoisyThompson(ridge, width)


@row("private-linucb", Pure, reference="mishra2015", twin="oful")
def _private_linucb(
    budget: Pure, alpha: float = 1.0, ridge: float = 1.0, calibration: str = "joint"
) -> Parts:
    """Private contextual UCB"""
    release = LaplaceTrees(budget.epsilon, calibration)
    return EachRoundPrivately(), release, TreeOptimism(alpha, ridge)


@row("private-lints", Pure, reference="mishra2015")
def _private_lints(
    budget: Pure, alpha: float = 1.0, ridge: float = 1.0, calibration: str = "joint"
) -> Parts:
    """Private contextual Thompson sampling"""
    release = LaplaceTrees(budget.epsilon, calibration)
    return EachRoundPrivately(), release, TreeSampling(alpha, ridge)


@row("jdp-linucb", Approximate, ZCDP, GaussianDP, reference="shariff2018", twin="oful")
def _jdp_linucb(
    budget: Budget,
    failure: float = FAILURE,
    norm: float = 1.0,
    sd: float = 1.0,
    calibration: str = "exact",
) -> Parts:
    """LinUCB under joint DP"""
    release = GaussianTrees(budget, calibration)
    return EachRoundPrivately(), release, ShiftedOptimism(release, failure, norm, sd)


WEIGHT = 0.3
"""ω, by which releases of little information count for less; 0 for plain sums."""


@row("jdp-ts", *GAUSSIAN, reference="riyazat2026")
def _jdp_ts(
    budget: Budget,
    ratio: float = 1.5,
    first: int = 0,
    ridge: float = RIDGE,
    width: float = 1.0,
    norm: float = 1.0,
    weight: float = WEIGHT,
    low: float = -1.0,
    high: float = 1.0,
) -> Parts:
    """Thompson sampling under joint DP"""
    release = BatchMatrices(budget, low, high)
    rule = BatchThompson(release, ridge, width, norm, weight=weight)
    return PrivateBatches(first, ratio), release, rule


BLOCK_START = 50
"""Participants per arm who are assigned at random, without noise."""
START_BY_NOISE = 35.0
"""And for each standard deviation of the noise on Σ x r, per range of the rewards."""
BLOCK_PRIOR = 0.3
"""Standard deviation of an arm's parameters before anything is known, per range of the rewards."""


def block_start(sd: float) -> int:
    """Participants per arm in the first batch; no trial is as long as the limit."""
    return math.ceil(min(BLOCK_START + START_BY_NOISE * sd, 1e9))


@row("blocks-ts", Pure, reference="riyazat2026")
def _blocks_ts(
    budget: Pure,
    first: int = 0,
    ratio: float = 2.0,
    ridge: float = RIDGE,
    width: float = 0.4,
    prior: float = BLOCK_PRIOR,
    weight: float = WEIGHT,
    low: float = 0.0,
    high: float = 1.0,
) -> Parts:
    """Thompson sampling, a block of features per arm"""
    release = LaplaceBlocks(budget.epsilon, low, high)
    rule = PublicBlockThompson(
        release, ridge, width, lift=0.0, sd=(high - low) / 2, prior=prior * (high - low),
        weight=weight,
    )  # fmt: skip
    # of four features in the unit ball, whose 1-norm is at most 2
    each = block_start(2.0 * math.sqrt(2.0) / budget.epsilon)
    return PublicBatches(first, ratio, "disjoint", each), release, rule


@row("jdp-blocks-ts", *GAUSSIAN, reference="riyazat2026")
def _jdp_blocks_ts(
    budget: Budget,
    first: int = 0,
    ratio: float = 2.0,
    ridge: float = 1.0,
    width: float = 0.4,
    prior: float = BLOCK_PRIOR,
    norm: float = 0.5,
    noise_ratio: float = 4.0,
    weight: float = WEIGHT,
    low: float = 0.0,
    high: float = 1.0,
) -> Parts:
    """Thompson sampling under joint DP, a block of features per arm"""
    span = high - low
    ratio_here = noise_ratio / span**2 if span > 0 else noise_ratio  # refused with the range
    release = BatchMatrices(budget, low, high, ratio_here, "disjoint")
    rule = BlockThompson(
        release, ridge, width, norm * span, lift=0.0, sd=span / 2, prior=prior * span,
        weight=weight,
    )  # fmt: skip
    each = block_start(release.vector_sd / span)
    return PrivateBatches(first, ratio, "disjoint", each), release, rule
