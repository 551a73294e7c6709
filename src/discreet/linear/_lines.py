"""A problem of real participants whose mean outcomes are a line in their features for every arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._contexts import IIDContexts
from ._problem import BitRewards, LinearProblem

if TYPE_CHECKING:
    from .._types import Floats, Json


def room(rates: Floats, deviation: Floats) -> Floats:
    """For each participant the share of the way from the rates along the deviation that stays in
    [0, 1], at most 1."""
    left = np.where(deviation > 0.0, 1.0 - rates, rates)
    beyond = np.abs(deviation) > left
    shares = np.divide(left, np.abs(deviation), out=np.ones_like(deviation), where=beyond)
    return np.asarray(shares.min(axis=1))


def problem_of_lines(
    points: Floats, rates: Floats, effects: Floats, label: Json | None = None
) -> LinearProblem:
    """Everybody's features and a 1 in a block per arm, in the unit ball; means in [0, 1]. Whoever a
    line leaves [0, 1] for is moved towards the average participant until it does not."""
    inside = points * room(rates, points @ effects)[:, None]
    rows = np.column_stack([np.ones(len(points)), inside])
    length = float(np.linalg.norm(rows, axis=1).max())
    theta = length * np.vstack([rates, effects])
    arms = len(rates)
    sets = np.einsum("kl,pi->pkli", np.eye(arms), rows / length).reshape(len(rows), arms, -1)
    return LinearProblem(IIDContexts(sets), theta.T.ravel(), BitRewards(), label)
