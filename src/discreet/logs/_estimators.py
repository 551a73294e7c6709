"""What a policy would have earned, from a log of another: one score per participant.

With w = π(a|x) / p the weight of what was done and q(x, a) a model of mean rewards,

    IPW        w r                                   Horvitz & Thompson (1952)
    SNIPS      Σ w r / Σ w                           Swaminathan & Joachims (2015)
    DM         Σ_a π(a|x) q(x, a)
    DR         the same + w (r - q(x, a))            Dudík, Langford & Li (2011)
    Switch-DR  the same, corrected where w <= τ      Wang, Agarwal & Dudík (2017)

The estimate is the mean of the scores, and their spread gives its standard error. For SNIPS the
scores are those of its linear expansion, V + w (r - V) / mean w. DM depends on the log through the
model too: for lines fitted by least squares the expansion adds g_a' A_a^-1 x (r - q) for the arm a
that was taken, g_a the mean of π(a|x) x, A_a the mean of 1{a} xx'.

A model that is fitted to the log is fitted for each half on the other (cross-fitting), so that the
errors of q and the rewards that correct it are independent; DM takes all for both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from .._types import Flags, Floats
    from ._log import Log

RIDGE = 1e-8
"""Per participant: keeps arms apart that few were given, and moves no digit that counts."""
Model = Callable[["Floats"], "Floats"]
"""From features to mean rewards, one column per arm."""


class Terms(NamedTuple):
    """What all estimators are built from."""

    shares: Floats
    """π(a|x), a row per participant"""
    weights: Floats
    """w"""
    reward: Floats


def terms(log: Log, shares: Floats) -> Terms:
    """π and w on a log."""
    import numpy as np

    weights = shares[np.arange(len(log)), log.action] / log.propensity
    return Terms(shares, weights, log.reward)


def ipw(given: Terms) -> Floats:
    """w r."""
    return given.weights * given.reward


def snips(given: Terms) -> Floats:
    """V + w (r - V) / mean w, V = Σ w r / Σ w."""
    import numpy as np

    mean = float(given.weights.mean())
    if mean == 0.0:
        raise InvalidArgument(
            "policy", "do something that was done in the log", "weights of 0", 'use method="dm"'
        )
    value = float((given.weights * given.reward).mean()) / mean
    return np.asarray(value + given.weights * (given.reward - value) / mean)


def expected(given: Terms, model: Floats) -> Floats:
    """Σ_a π(a|x) q(x, a)."""
    import numpy as np

    return np.asarray((given.shares * model).sum(axis=1))


def doubly_robust(given: Terms, model: Floats, own: Floats, threshold: float) -> Floats:
    """Σ_a π q + w (r - q) where w <= τ; `own` is q of what was done."""
    import numpy as np

    kept = given.weights * (given.weights <= threshold)
    return np.asarray(expected(given, model) + kept * (given.reward - own))


def design_of(context: Floats) -> Floats:
    """A 1, and the features."""
    import numpy as np

    return np.column_stack([np.ones(len(context)), context])


def lines(log: Log, who: Flags) -> Floats:
    """Intercept and slopes of the rewards of every arm, by least squares; a column per arm."""
    import numpy as np

    design, columns = design_of(log.context), []
    for arm in range(len(log.arms)):
        rows = who & (log.action == arm)
        inside = design[rows]
        square = inside.T @ inside + RIDGE * len(log) * np.eye(design.shape[1])
        columns.append(np.linalg.solve(square, inside.T @ log.reward[rows]))
    return np.array(columns).T


def fitted(log: Log) -> Floats:
    """q for everyone, by lines that were fitted to the other half."""
    import numpy as np

    half = np.random.default_rng(0).permutation(len(log)) % 2 == 0
    design = design_of(log.context)
    model = np.empty((len(log), len(log.arms)))
    model[half], model[~half] = design[half] @ lines(log, ~half), design[~half] @ lines(log, half)
    return model


def direct(log: Log, given: Terms) -> Floats:
    """The scores of DM with lines fitted to all, the error of the fit included."""
    import numpy as np

    everyone = np.ones(len(log), bool)
    design, coefficients = design_of(log.context), lines(log, everyone)
    scores = expected(given, design @ coefficients)
    for arm in range(len(log.arms)):
        rows = log.action == arm
        target = (given.shares[:, arm : arm + 1] * design).mean(axis=0)
        square = design[rows].T @ design[rows] / len(log) + RIDGE * np.eye(design.shape[1])
        residual = log.reward[rows] - design[rows] @ coefficients[:, arm]
        scores[rows] += (design[rows] @ np.linalg.solve(square, target)) * residual
    return scores
