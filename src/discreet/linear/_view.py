"""What a linear policy sees, and the setting that it is run in.

The view is public: released sums, counts, and, where contexts are public, the design matrix of the
actions that were played. Rewards appear in it only as a curator has released them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from .._compiled import Floats, Integers
from ..privacy._source import Source
from ._algebra import cholesky, invert, log_determinant, multiply
from ._grid import FLOATS, Grid

REFRESH = 1024
"""Rank-one updates after which a release computes the running inverse afresh."""


class LinearView(NamedTuple):
    """Flat arrays: matrices have d² entries, vectors d, numbers 1."""

    matrix: Floats
    """V of all rounds so far; with private contexts its noisy release"""
    running: Floats
    """V^-1 of all rounds so far, by rank-one updates"""
    inverse: Floats
    """V_τ^-1, behind the current estimate"""
    lower: Floats
    """L^-1 with L L' = V, as of the last factorisation; for sampling"""
    work: Floats
    """scratch, d²"""
    noisy: Floats
    """released Σ a r"""
    estimate: Floats
    """θ~ = V_τ^-1 noisy"""
    along: Floats
    """scratch, d"""
    width: Floats
    """β~: confidence radius of the estimate in the norm of V_τ"""
    variance: Floats
    """variance of the noise in each entry of `noisy`"""
    log_used: Floats
    """log det V_τ"""
    log_now: Floats
    """log det V"""
    releases: Integers
    """releases so far"""
    updates: Integers
    """rank-one updates since the running inverse was computed afresh"""


@dataclass(frozen=True)
class LinearSetting:
    """Where a policy is put to work; the grid says in which steps, with which noise."""

    arms: int
    dimension: int
    horizon: int
    grid: Grid = FLOATS

    @property
    def source(self) -> Source:
        """Where noise comes from."""
        return self.grid.source


Setting = LinearSetting


def fresh_view(dimension: int, ridge: float) -> LinearView:
    """Before the first round: V = λI, no estimate."""
    import numpy as np

    def vector(size: int) -> Floats:
        return np.zeros(size)

    square = dimension * dimension
    eye = np.eye(dimension).ravel()
    log = np.full(1, dimension * math.log(ridge))
    return LinearView(
        eye * ridge, eye / ridge, eye / ridge, eye / math.sqrt(ridge), vector(square),
        vector(dimension), vector(dimension), vector(dimension), vector(1), vector(1),
        log, log.copy(), np.zeros(1, np.int64), np.zeros(1, np.int64),
    )  # fmt: skip


def restore(view: LinearView, dimension: int) -> bool:
    """V^-1 and det V by Cholesky from V itself; False if V is not positive definite."""
    if not cholesky(view.matrix, view.work, dimension):
        return False
    view.log_now[0] = log_determinant(view.work, dimension)
    invert(view.work, view.lower, view.running, dimension)
    view.updates[0] = 0
    return True


def refresh(view: LinearView, dimension: int) -> None:
    """Undo the drift of many rank-one updates."""
    if view.updates[0] >= REFRESH:
        restore(view, dimension)


def take(view: LinearView, dimension: int) -> None:
    """V_τ = V: the running inverse and θ~ = V^-1 noisy."""
    for i in range(dimension * dimension):
        view.inverse[i] = view.running[i]
    view.log_used[0] = view.log_now[0]
    multiply(view.inverse, view.noisy, 0, view.estimate, dimension)
