"""Optimal designs: how often to play each action so that every action is known equally well.

A design is a probability π on actions; V(π) = Σ π(a) a a'. Maximising log det V(π) (D-optimal)
minimises max_a ||a||²_{V(π)^-1} (G-optimal), whose optimum is d (Kiefer & Wolfowitz 1960). So any
design carries its own certificate: with g² its largest ||a||², log det is within d log(g²/d) of the
best.

>>> design = optimal_design([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
>>> [round(weight, 6) for weight in design.weights.tolist()]
[0.5, 0.5, 0.0]

The solver moves weight along one action at a time, towards the action of largest norm or away from
the played one of smallest norm, by exact line search (Frank & Wolfe with away steps; Atwood 1973;
Todd & Yıldırım 2007). It works in the span of the actions, in coordinates in which their second
moments are the identity: a D-optimal design does not depend on coordinates, and rounding does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._checks import action_array, positive
from ..errors import DiscreetError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._types import Floats, Ints

TOLERANCE = 1e-3
"""Default excess of the largest ||a||² over its optimum: a thousandth of the rounds of a phase."""
RANK_TOLERANCE = 1e-9
"""Singular values below this share of the largest do not count towards the span."""
MOST_STEPS = 200_000
REFRESH = 200
"""Steps between two recomputations of the inverse, against the drift of rank-one updates."""


class NoDesign(DiscreetError, RuntimeError):
    """The solver did not reach the tolerance that was asked for."""


@dataclass(frozen=True, eq=False)
class Design:
    """A design with its certificate."""

    weights: Floats
    """π, one entry an action"""
    basis: Floats
    """an orthonormal basis of the span, dimension × rank"""
    leverage: float
    """max over all actions of ||a||²_{V(π)^-1} in the span; the optimum is the rank"""
    steps: int
    """steps that the solver took"""

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return int(self.basis.shape[1])

    @property
    def support(self) -> Ints:
        """The actions that are played."""
        import numpy as np

        return self.weights.nonzero()[0].astype(np.int64, copy=False)

    @property
    def gap(self) -> float:
        """By how much log det V(π) can be below the best: rank · log(leverage / rank)."""
        return self.rank * math.log(max(self.leverage / self.rank, 1.0)) if self.rank else 0.0


def optimal_design(actions: ArrayLike, tolerance: float = TOLERANCE) -> Design:
    """A design whose largest ||a||² is at most (1 + tolerance) × the optimum, or an error.

    At most r(r+1)/2 actions are played, r the dimension of the span.
    """
    import numpy as np

    points = action_array("actions", actions)
    tolerance = positive("tolerance", tolerance, "use for example 1e-3")
    left, singular, right = np.linalg.svd(points, full_matrices=False)
    rank = int((singular > RANK_TOLERANCE * singular[0]).sum()) if singular[0] > 0.0 else 0
    basis = right[:rank].T
    if rank == 0:  # only zero actions: nothing can be learnt, one of them is as good as all
        weights = np.zeros(len(points))
        weights[0] = 1.0
        return Design(weights, basis, 0.0, 0)
    whitened = left[:, :rank]
    # half of the tolerance is left for what thinning and rounding change afterwards
    weights, steps = _ascend(whitened, tolerance / 2)
    weights = _thinned(whitened, weights)
    leverage = float(leverages(whitened, weights).max())
    if leverage > rank * (1.0 + tolerance):
        raise NoDesign(
            f"tolerance must be reachable, got {tolerance!r} but only {leverage / rank - 1.0:.3g} "
            f"after {steps} steps; use a larger tolerance"
        )
    return Design(weights, basis, leverage, steps)


def leverages(points: Floats, weights: Floats) -> Floats:
    """||a||²_{V^-1} of every action, for V = Σ weights · a a', which must have full rank."""
    import numpy as np

    factor = np.linalg.cholesky((points * weights[:, None]).T @ points)
    halves = np.linalg.solve(factor, points.T)
    return np.asarray((halves * halves).sum(axis=0))


def _ascend(points: Floats, tolerance: float) -> tuple[Floats, int]:
    """Weights with max ||a||² <= r(1 + tolerance) and ||a||² >= r(1 - tolerance) where played."""
    import numpy as np

    rank = points.shape[1]
    weights = _start(points)
    if rank == 1:  # on a line the longest action says most
        return (np.arange(len(points)) == np.abs(points[:, 0]).argmax()).astype(float), 0
    for step in range(MOST_STEPS):
        if step % REFRESH == 0:
            inverse = np.linalg.inv((points * weights[:, None]).T @ points)
            norms = ((points @ inverse) * points).sum(axis=1)
        ahead = int(norms.argmax())
        played = np.where(weights > 0.0, norms, np.inf)
        behind = int(played.argmin())
        if norms[ahead] - rank >= rank - norms[behind]:
            chosen, excess = ahead, norms[ahead] / rank - 1.0
        else:
            chosen, excess = behind, 1.0 - norms[behind] / rank
        if excess <= tolerance:
            if step % REFRESH == 0:
                break
            inverse = np.linalg.inv((points * weights[:, None]).T @ points)
            norms = ((points @ inverse) * points).sum(axis=1)
            if max(norms.max() / rank - 1.0, 1.0 - norms[weights > 0.0].min() / rank) <= tolerance:
                break
            continue
        norm = norms[chosen]
        # exact line search along π -> (1 - s) π + s e_chosen; away steps (s < 0) stop at weight 0
        least = -weights[chosen] / (1.0 - weights[chosen])
        best = (norm - rank) / (rank * (norm - 1.0)) if norm > 1.0 else least
        dropped = best <= least
        share = max(best, least)
        weights *= 1.0 - share
        weights[chosen] = 0.0 if dropped else weights[chosen] + share
        # Sherman & Morrison for V -> (1 - s) V + s a a'
        along = inverse @ points[chosen]
        factor = share / (1.0 - share + share * norm)
        cross = points @ along
        inverse = (inverse - factor * np.outer(along, along)) / (1.0 - share)
        norms = (norms - factor * cross * cross) / (1.0 - share)
    return weights / weights.sum(), step


def _start(points: Floats) -> Floats:
    """Equal weight on r or more actions that span (after Kumar & Yıldırım 2005).

    For r directions, each orthogonal to what was found before, the two actions that reach furthest.
    """
    import numpy as np

    count, rank = points.shape
    residual = points.copy()
    chosen: set[int] = set()
    for _ in range(rank):
        longest = int((residual * residual).sum(axis=1).argmax())
        direction = residual[longest] / np.linalg.norm(residual[longest])
        reach = points @ direction
        chosen |= {longest, int(reach.argmax()), int(reach.argmin())}
        for _ in range(2):  # twice, so that rounding leaves nothing along the direction
            residual -= np.outer(residual @ direction, direction)
    weights = np.zeros(count)
    weights[list(chosen)] = 1.0 / len(chosen)
    return weights


def _thinned(points: Floats, weights: Floats) -> Floats:
    """The same V(π) from at most r(r+1)/2 actions (Carathéodory).

    The changes of weights that leave V alone are a null space: walk along one of them until a
    weight is 0, take that action out of all others, continue with the next.
    """
    import numpy as np

    rows, columns = np.triu_indices(points.shape[1])
    played = weights.nonzero()[0]
    if len(played) <= len(rows):
        return weights
    moments = points[played][:, rows] * points[played][:, columns]
    full = np.linalg.qr(moments, mode="complete")[0]
    changes = full[:, len(rows) :].T.copy()
    product = np.empty_like(changes)  # one buffer: a fresh one a step would cost more than the sum
    left = weights[played].copy()
    while len(changes):
        change, changes = changes[-1], changes[:-1]
        if change.max() <= -change.min():
            change = -change
        shares = np.full(len(left), np.inf)
        np.divide(left, change, out=shares, where=change > RANK_TOLERANCE * change.max())
        out = int(shares.argmin())
        left = np.maximum(left - shares[out] * change, 0.0)
        left[out] = 0.0
        multiples = changes[:, out] / change[out]
        changes -= np.multiply(multiples[:, None], change, out=product[: len(changes)])
        changes[:, out] = 0.0
    thinned = np.zeros_like(weights)
    thinned[played] = left
    return np.asarray(thinned / thinned.sum())
