"""Evidence where outcomes are missing: blocks that release a pair of noisy numbers.

With r = 1 for who answered and y their outcome in [0, 1], a block releases

    S = Σ r (y - 1/2) + Y_S   and   R = Σ r + Y_R,   Y independent, log-moments κ_S and κ_R.

**The mean among those who answer**, u = E[y | r = 1]. For a tilt l let

    c_u(l) = log((1-u) e^-l/2 + u e^l/2),
    up_j(u)   = Σ over blocks   l S - c_u(l) R - κ_S(l) - κ_R(c_u(l)),    l = l_j(b)
    down_j(u) = the same with -l for l

and U, D and E of them as in `discreet.identify._evidence`.

Theorem. If sizes and tilts are functions of earlier releases and every participant of an arm has
E[y | r = 1, the past] = m, then U(u) for m <= u, D(u) for m >= u and E_{a,c}(u; d) for m_a <= u + d
and m_c >= u are non-negative supermartingales over the releases that start at 1.
Proof. e^{l(y-1/2)} <= (1-y) e^-l/2 + y e^l/2 on [0, 1], for the left side is convex in y. So for
l > 0 and m <= u the mean of e^{l(y-1/2)} among those who answer is at most e^{c_u(l)}, and
E e^{r (l(y-1/2) - c)} <= P(r=0) + P(r=1) e^c e^-c = 1, whatever the probability of an answer, also
if it differs from one participant to the next. A block multiplies b such factors, and its noise,
which is independent, has the mean e^{κ_S(l) + κ_R(c)}. The rest is as there. ∎

Nothing is assumed of who answers, and the count costs little: at u = 1/2, c = log cosh(l/2), about
l²/8, so that the noise of R hardly enters; |c| <= l/2 always, so l < ε keeps κ_R finite for
Lap(2/ε). The mean among those who answer is that of all only if answers are missing at random.

**The mean over all, whatever the missing outcomes were**, lies between E[ry] and 1 - E[r(1-y)].
S + R/2 = Σ ry + Y_S + Y_R/2 and R/2 - S = Σ r(1-y) - Y_S + Y_R/2 are noisy sums of b numbers in
[0, 1]: the ordinary evidence bounds both from below.

**Ends.** U need not be monotone in u where R is noisy, so an end is where the first u is accepted,
coming from outside. With a fixed tilt, c_u(l) is monotone in u and -cR - κ_R(c) is concave in c:
its minimum on an interval of u is at one of the two ends. That bounds the evidence on whole
intervals of u from below, and an end is reached by steps that are refused as a whole.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..identify._evidence import Tilts, class_of, tilts_for
from ..policies.releases._entries import GAUSSIAN, LAPLACE, Noise
from ._record import Batch, PairBlock, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._types import Floats

FINEST, FINEST_GAP = 1e-6, 2e-5
"""Steps of u, and of a difference, that are not halved any more."""
DEEPEST = 24
"""Halvings of an interval of u, where one d is looked at."""
TOLERANCE = 1e-3
CELLS = 32


class Side:
    """What the blocks of an arm say against means that are too small (or, turned, too large)."""

    def __init__(self, record: Record, arm: int, tilts: Tilts, turned: bool) -> None:
        import numpy as np

        noise, count = record.recorded.noise, record.recorded.count
        assert count is not None
        sums: dict[int, list[float]] = {}
        for block in record.pairs(arm):
            number = class_of(tilts, max(1, block.size // block.draws))
            found = sums.setdefault(number, [0.0, 0.0, 0.0])
            for place, value in enumerate((block.total, block.answers, block.draws)):
                found[place] += value
        effects = tilts.effects
        self.count = count
        self.tilt = np.array(
            [tilts.tilt[n * effects : (n + 1) * effects] for n in sums] or np.zeros((0, effects))
        )
        total, self.answers, self.draws = (
            np.array([each[place] for each in sums.values()])[:, None] for place in range(3)
        )
        if turned:
            self.tilt = -self.tilt
        # what does not depend on u
        self.base = (self.tilt * total - self.draws * _moments(noise, self.tilt)).sum(axis=0)

    def least(self, low: Floats, high: Floats) -> Floats:
        """By interval [low, high] of u and effect: at most the evidence of every u in it."""
        import numpy as np

        counted = np.minimum(self._counted(low), self._counted(high)).sum(axis=1)
        return np.asarray(self.base + counted)

    def _counted(self, u: Floats) -> Floats:
        """-cR - κ_R(c), by u, class and effect."""
        import numpy as np

        half = 0.5 * self.tilt
        at = u[:, None, None]
        c = np.logaddexp(np.log1p(-at) - half, np.log(at) + half)
        return np.asarray(-c * self.answers - self.draws * _moments(self.count, c))


def _moments(noise: Noise, tilt: Floats) -> Floats:
    import numpy as np

    if noise.kind == GAUSSIAN:
        return np.asarray(0.5 * (tilt * noise.scale) ** 2)
    # |c| <= l/2 < 1/scale, but for rounding: an infinite moment is no evidence at all
    square = np.minimum((tilt * noise.scale) ** 2, 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-square))


def _log_sum(logs: Floats, weights: Floats) -> Floats:
    """log Σ_j w_j e^{logs_j}, by policy."""
    import numpy as np

    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(logs - top) @ weights))


def responder_limits(record: Record, arm: int, alpha: float) -> tuple[float, float]:
    """{u : U(u) < 2/α and D(u) < 2/α} of those who answer, from the first to the last of them."""
    import numpy as np

    if not record.history[arm]:
        return 0.0, 1.0
    tilts = tilts_for(record.recorded.noise, interpreted=True)
    weights, level = np.array(tilts.single), math.log(2.0 / alpha)

    def refused(side: Side) -> Callable[[float, float], bool]:
        def whole(low: float, high: float) -> bool:
            with np.errstate(divide="ignore"):  # u = 0 and 1
                logs = side.least(np.array([low]), np.array([high]))
            return bool(_log_sum(logs, weights)[0] >= level)

        return whole

    low = reach(refused(Side(record, arm, tilts, False)), 0.0, 1.0)
    high = reach(refused(Side(record, arm, tilts, True)), 1.0, 0.0)
    # evidence both ways at once (drift, say) leaves no u: show the range that it speaks against
    return min(low, high), max(low, high)


def reach(
    refused: Callable[[float, float], bool], start: float, end: float, finest: float = FINEST
) -> float:
    """How far from `start` towards `end` everything is refused, in steps refused as a whole."""
    at, step, sign = start, 1.0 / CELLS, math.copysign(1.0, end - start)
    while at != end and step >= finest:
        to = at + sign * step
        to = min(to, end) if sign > 0 else max(to, end)
        if refused(min(at, to), max(at, to)):
            at, step = to, 2.0 * step
        else:
            step *= 0.5
    return at


class PairOfArms:
    """E_{a,c}(u; d): the blocks of two arms against m_a <= u + d and m_c >= u."""

    def __init__(self, record: Record, better: int, worse: int) -> None:
        import numpy as np

        tilts = tilts_for(record.recorded.noise, interpreted=True)
        self.up, self.down = (
            Side(record, better, tilts, False),
            Side(record, worse, tilts, True),
        )
        self.joint = np.array(tilts.joint).reshape(tilts.effects, tilts.effects)

    def least_log(self, low: Floats, high: Floats, first: float, last: float) -> Floats:
        """At most log E(u; d) for u in [low, high], by interval, and all d in [first, last]."""
        import numpy as np

        with np.errstate(divide="ignore"):
            ups = self.up.least(np.clip(low + first, 0.0, 1.0), np.clip(high + last, 0.0, 1.0))
            downs = self.down.least(low, high)
        top, top_down = ups.max(axis=1, keepdims=True), downs.max(axis=1, keepdims=True)
        sums = ((np.exp(ups - top) @ self.joint) * np.exp(downs - top_down)).sum(axis=1)
        return np.asarray(top[:, 0] + top_down[:, 0] + np.log(sums))

    def least(self, first: float, last: float, level: float = math.inf) -> float:
        """A lower bound of the minimum over u and d in [first, last], within TOLERANCE if one d;
        returns early once the minimum is known to be below `level`, or nowhere below it."""
        import numpy as np

        start, end = max(0.0, -last), min(1.0, 1.0 - first)
        edges = np.linspace(start, end, CELLS + 1)
        low, high = edges[:-1], edges[1:]
        reached, pruned = math.inf, math.inf
        for _ in range(DEEPEST):
            bounds = self.least_log(low, high, first, last)
            middle = 0.5 * (low + high)
            fits = (middle >= max(0.0, -last)) & (middle <= min(1.0, 1.0 - last))
            if fits.any():
                points = self.least_log(middle[fits], middle[fits], last, last)
                reached = min(reached, float(points.min()))
            enough = min(level, reached - TOLERANCE)
            kept = bounds < enough
            if not kept.all():
                pruned = min(pruned, float(bounds[~kept].min()))
            if reached < level < math.inf:
                return min(reached, float(bounds.min()))
            if not kept.any():
                return pruned
            low, high, middle = low[kept], high[kept], middle[kept]
            # intervals of u that are narrower than that of d would not help
            if len(low) > 50 * CELLS or high[0] - low[0] < 0.1 * (last - first):
                break
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        return min(pruned, float(self.least_log(low, high, first, last).min()))

    def least_gap(self, level: float) -> float:
        """The d up to which all differences are refused."""

        def refused(first: float, last: float) -> bool:
            return self.least(first, last, level) >= level

        return reach(refused, -1.0, 1.0, FINEST_GAP)


def bounded_batches(block: PairBlock, noise: Noise, worst: bool) -> Batch:
    """Σ ry (or with `worst` False Σ r(1-y)) as an ordinary batch."""
    total = 0.5 * block.answers + (block.total if worst else -block.total)
    times = 2 if noise.kind == LAPLACE else 1
    return Batch(block.size, total, times * block.draws, max(1, block.size // block.draws))


def bounded_noise(record: Record) -> Noise:
    """Of Y_S + Y_R/2: two Laplace noises of one scale, or one Gaussian."""
    noise, count = record.recorded.noise, record.recorded.count
    assert count is not None
    if noise.kind == LAPLACE:
        return noise._replace(scale=max(noise.scale, 0.5 * count.scale))
    return noise._replace(scale=math.hypot(noise.scale, 0.5 * count.scale))
