"""Phases: θ~ is an affine function of the sums and of the noise of the phase.

It is read off by executing `estimate` on unit vectors, and checked on random ones; each reward is
in the sums of one phase. Walked are optimal designs on random actions of length 1 and on subsets.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from ...privacy.verification import Loss, NotAffine, Verification, Worst, spent
from ...privacy.verification._result import main_number
from .._design import optimal_design
from .._phases import Elimination, NoisyPhase, PhaseRelease
from .._row import LinearPolicy
from .._view import LinearSetting

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Floats, Ints


class _Normals:
    """A generator of given numbers."""

    def __init__(self, given: Callable[[int], Floats]) -> None:
        self.given, self.size = given, 0

    def standard_normal(self, size: int) -> Floats:
        self.size = size
        return self.given(size)


def affine_map(
    estimate: Callable[[Floats, _Normals], Floats], sums: int, seed: int
) -> tuple[Floats, Floats]:
    """A and B of an affine estimate(totals, rng) = A totals + B z + constant, by execution."""
    still = _Normals(np.zeros)
    constant = estimate(np.zeros(sums), still)

    def noisy(totals: Floats, z: Floats) -> Floats:
        return np.asarray(estimate(totals, _Normals(lambda size: z)) - constant)

    nothing = np.zeros(still.size)
    a = np.array([noisy(row, nothing) for row in np.eye(sums)]).T
    b = np.array([noisy(np.zeros(sums), row) for row in np.eye(still.size)]).T
    b = b.reshape(len(constant), still.size)
    rng = np.random.default_rng(seed)
    totals, z = rng.normal(size=sums), rng.normal(size=still.size)
    expected = a @ totals + b @ z
    if not np.allclose(noisy(totals, z), expected, rtol=1e-8, atol=1e-10):
        raise NotAffine("its estimate is no sum of rewards and noise")
    return a, b


def verify_phases(
    policy: LinearPolicy, setting: LinearSetting, result: Verification, seed: int
) -> Verification:
    release, rule = cast("NoisyPhase", policy.release), cast("Elimination", policy.rule)
    points = np.random.default_rng(seed).normal(size=(setting.arms, setting.dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    best, worst = spent(Loss(), result.claimed), None
    walked = numbers = 0
    for phase, active in enumerate(_subsets(setting.arms, setting.dimension, seed), 1):
        design = optimal_design(points[active], rule.tolerance)
        c = rule.rounds(phase, setting.arms, design.rank, release.reward_variance)
        plays = np.ceil(c * design.weights[design.support])
        support = (points[active] @ design.basis)[design.support]
        a, b = affine_map(partial(_estimate, release, support, plays, c), len(plays), seed)
        walked, numbers = walked + 1, numbers + len(a)
        for k in range(a.shape[1]):
            shift = np.linalg.lstsq(b, a[:, k], rcond=None)[0] if b.size else np.zeros(0)
            hidden = b.size and np.allclose(b @ shift, a[:, k], rtol=1e-8, atol=1e-12)
            move = (release.high - release.low) * float(np.linalg.norm(shift))
            loss = Loss(gaussian=move * move / 2.0 if hidden else math.inf, numbers=len(shift))
            budget = spent(loss, result.claimed)
            if main_number(budget) > main_number(best):
                best = budget
                worst = Worst(int(active[design.support][k]), 1, int(plays[k]), len(shift),
                              f"phase {phase}")  # fmt: skip
    return replace(
        result, computed=best, exact=True, worst=worst, paths=walked, numbers=numbers,
        scope="the phases walked: optimal designs on random actions of length 1 and on subsets",
        covered=0,
    )  # fmt: skip


def _estimate(
    release: PhaseRelease, support: Floats, plays: Floats, c: float, totals: Floats, rng: _Normals
) -> Floats:
    drawn = cast("Generator", rng)  # all that a release asks of it
    return release.estimate(support, plays, totals, c, drawn)


def _subsets(arms: int, dimension: int, seed: int) -> Iterator[Ints]:
    """All actions, then ever fewer."""
    rng = random.Random(seed)
    left = list(range(arms))
    while len(left) > 1:
        yield np.array(left)
        rng.shuffle(left)
        left = sorted(left[: max(1, len(left) * 2 // 3)])
