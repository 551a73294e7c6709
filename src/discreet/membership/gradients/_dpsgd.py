"""Many runs of DP-SGD at once on one data set, with canaries that are sent or not.

The strongest pair of neighbours is fixed: the attacker knows every point but the canary. A step
shows the sum S of what was sent, plus noise. Let the others' sum have mean E_t, known at θ_t, and
covariance K = q(1-q) Σ g_i g_i' (Poisson coins; 0 for full batches) at θ_0. Sent or not, the shift
of S is g* itself, not g* - μ, and with w = (K + γ²c²I)⁻¹g*
    s = w'(S - E_t) - ½ w'g*
is the log-likelihood ratio of a step with the canary against one without, for near-normal sums.
A run's is Σ s if every step has the canary, Σ log(1 - q + q e^s) for Poisson batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._checks import positive
from ...errors import InvalidArgument
from ._accounting import ADD_OR_REMOVE, check_run, claim
from ._attacks import poisson_ratio
from .models._base import Factors, clip_factors, clipped, softmax
from .models._softmax import SoftmaxRegression

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..._types import Array
    from ...privacy.budgets import Budget
    from .models._base import Model


class Runs(NamedTuple):
    """Scores of every run (rows) and canary (columns); high for canaries that were sent."""

    trace: Array
    """of an attacker who sees every step"""
    last: Array
    """of one who sees the last parameters alone"""


@dataclass(frozen=True, eq=False)
class GradientCanaries:
    """Gradients that are sent as they are, whatever the parameters; clipped like all others.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import DPSGD, GradientCanaries, SoftmaxRegression
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((8, 3)), np.arange(8) % 2
        >>> mechanism = DPSGD(model, x, y, model.start(rng), clip=1.0)
        >>> canaries = GradientCanaries(2.0 * np.eye(8)[:2])
        >>> float(canaries.sent(mechanism, model.start(rng)[None]).max())  # clipped
        1.0
    """

    gradients: Array
    """(M, d)"""

    def sent(self, mechanism: DPSGD, thetas: Array) -> Array:
        """(1, M, d): the same at all parameters."""
        rows = np.atleast_2d(np.asarray(self.gradients, float))
        if rows.shape[1] != mechanism.model.size or not np.isfinite(rows).all():
            raise InvalidArgument(
                "canary", f"be rows of {mechanism.model.size} finite numbers",
                f"shape {rows.shape}", "flatten the gradient",
            )  # fmt: skip
        return clipped(rows, mechanism.clip)[None]


@dataclass(frozen=True, eq=False)
class PointCanary:
    """A point (x, y) whose gradient at the current parameters is sent.

    With `instead`, another point takes part where the canary does not: neighbours that differ by
    replacing one point. The shift is then the difference of their gradients.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import DPSGD, PointCanary, SoftmaxRegression
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((8, 3)), np.arange(8) % 2
        >>> mechanism = DPSGD(model, x, y, model.start(rng))
        >>> PointCanary(np.zeros(3), 0).sent(mechanism, model.start(rng)[None]).shape
        (1, 1, 8)
    """

    x: Array
    y: int
    instead: tuple[Array, int] | None = None

    def sent(self, mechanism: DPSGD, thetas: Array) -> Array:
        """(R, 1, d): the clipped gradient at the parameters of every run."""
        return mechanism.point_gradients(self.x, self.y, thetas)[:, None]

    def otherwise(self, mechanism: DPSGD, thetas: Array) -> Array | None:
        """What is sent where the canary is not."""
        if self.instead is None:
            return None
        return mechanism.point_gradients(*self.instead, thetas)[:, None]


@dataclass(frozen=True, eq=False)
class DPSGD:
    """DP-SGD on one data set: clip c, multiplier γ, T steps on Poisson batches (rate 1: all).

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import DPSGD, SoftmaxRegression
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((8, 3)), np.arange(8) % 2
        >>> mechanism = DPSGD(model, x, y, model.start(rng), noise=4.0, steps=16)
        >>> mechanism.steps, mechanism.noise
        (16, 4.0)
    """

    model: Model
    x: Array
    y: Array
    start: Array
    clip: float = 1.0
    noise: float = 1.0
    steps: int = 10
    sampling: float = 1.0
    rate: float = 0.1

    def __post_init__(self) -> None:
        positive("clip", self.clip, "use clip=0.1")
        positive("rate", self.rate, "use rate=0.1")
        if self.noise == 0.0:
            raise InvalidArgument("noise", "be above 0: nothing is claimed", 0.0, "use noise=1.0")
        check_run(self.noise, self.steps, self.sampling)
        if len(self.x) != len(self.y) or not len(self.x):
            raise InvalidArgument(
                "x", f"have one row for each of the {len(self.y)} labels", len(self.x), "match them"
            )

    def claim(self, delta: float, neighbours: str = ADD_OR_REMOVE) -> Budget:
        """The accountant's budget."""
        return claim(
            self.noise, self.steps, sampling=self.sampling, delta=delta, neighbours=neighbours
        )

    def with_noise(self, noise: float) -> DPSGD:
        """The same with another multiplier: to audit a claim that the code does not keep."""
        return replace(self, noise=noise)

    def run(self, canaries: GradientCanaries | PointCanary, sent: Array, rng: Generator) -> Runs:
        """One training run per row of `sent` (R, M), which says what canaries take part."""
        sent = np.atleast_2d(np.asarray(sent, bool))
        runs = len(sent)
        thetas = np.repeat(self.start[None].astype(np.float32), runs, axis=0)
        divisor = len(self.x) * self.sampling
        known = _Others(self)
        here, there = self._pair(canaries, thetas[:1])
        directions = known.solve((here - there)[0])
        trace = np.zeros(sent.shape)
        seen = np.zeros((runs, self.model.size))
        expected = self._expected(thetas)
        first = expected[:1]
        for _ in range(self.steps):
            here, there = self._pair(canaries, thetas)
            takes_part = sent & self._coins(sent.shape, rng)
            total = self._others(thetas, expected, rng)
            total = total + _mixed(takes_part, here)
            if there.any():
                total += _mixed(~sent & self._coins(sent.shape, rng), there)
            total += rng.normal(0.0, self.noise * self.clip, total.shape)
            middle = _along(directions, here + there) / 2.0
            scores = (total - expected) @ directions.T - middle
            trace += poisson_ratio(scores, self.sampling)
            seen += total
            thetas -= (self.rate / divisor * total).astype(np.float32)
            expected = self._expected(thetas)
        # from the last parameters alone: the others' sum lay between its values at both ends
        last = (seen - self.steps * (first + expected) / 2.0) @ directions.T
        return Runs(trace, last)

    def point_gradients(self, x: Array, y: int, thetas: Array) -> Array:
        """(R, d): the clipped gradient of one point at the parameters of every run."""
        found = [
            self.model.total(theta, np.asarray(x)[None], np.array([y]), self.clip)
            for theta in thetas
        ]
        return np.asarray(found, float)

    def _pair(self, canaries: GradientCanaries | PointCanary, thetas: Array) -> tuple[Array, Array]:
        """What is sent with and without the canary, each (R or 1, M, d)."""
        here = canaries.sent(self, thetas)
        there = canaries.otherwise(self, thetas) if isinstance(canaries, PointCanary) else None
        return here, np.zeros_like(here[:1]) if there is None else there

    def _coins(self, shape: tuple[int, ...], rng: Generator) -> Array:
        return np.ones(shape, bool) if self.sampling == 1.0 else rng.random(shape) < self.sampling

    def _expected(self, thetas: Array) -> Array:
        """(R, d): the mean of the others' sum at the parameters of every run."""
        return self.sampling * totals(self.model, thetas, self.x, self.y, self.clip)

    def _others(self, thetas: Array, expected: Array, rng: Generator) -> Array:
        if self.sampling == 1.0:
            return expected
        coins = self._coins((len(thetas), len(self.x)), rng)
        return totals(self.model, thetas, self.x, self.y, self.clip, coins)


class _Others:
    """(K + γ²c²I)⁻¹ by Woodbury's identity: a system of as many equations as there are points."""

    def __init__(self, mechanism: DPSGD) -> None:
        from scipy.linalg import cho_factor

        self.variance = (mechanism.noise * mechanism.clip) ** 2
        q = mechanism.sampling
        self.rows: Array | None = None
        if q < 1.0:
            model, start = mechanism.model, mechanism.start
            each = np.asarray(model.gradients(start, mechanism.x, mechanism.y), float)
            self.rows = clipped(each, mechanism.clip)
            gram = self.rows @ self.rows.T
            gram[np.diag_indices(len(gram))] += self.variance / (q * (1.0 - q))
            self.factor = cho_factor(gram, lower=True)

    def solve(self, vectors: Array) -> Array:
        """For every row."""
        from scipy.linalg import cho_solve

        if self.rows is None:
            return np.asarray(vectors / self.variance)
        inner = cho_solve(self.factor, self.rows @ vectors.T)
        return np.asarray((vectors - inner.T @ self.rows) / self.variance)


def totals(
    model: Model, thetas: Array, x: Array, y: Array, clip: float, coins: Array | None = None
) -> Array:
    """Σ clip_c(g_i) at many parameters: (R, d); `coins` (R, n) say who takes part.

    Softmax regression takes two matrix products for all runs together.
    """
    if not isinstance(model, SoftmaxRegression):
        everyone = np.ones((len(thetas), len(x)), bool) if coins is None else coins
        found = [
            model.total(theta, x[who], y[who], clip)
            for theta, who in zip(thetas, everyone, strict=True)
        ]
        return np.asarray(found, float)
    runs, classes = len(thetas), model.classes
    cells = thetas.reshape(runs * classes, -1)
    left = softmax((x @ cells[:, :-1].T + cells[:, -1]).reshape(len(x), runs, classes))
    left[np.arange(len(y)), :, y] -= 1
    inputs = np.einsum("ij,ij->i", x, x) + 1.0
    factors = clip_factors(np.sqrt(np.einsum("irk,irk->ir", left, left) * inputs[:, None]), clip)
    if coins is not None:
        factors = factors * coins.T
    left *= factors[:, :, None]
    return Factors(left.reshape(len(x), -1), x).total().reshape(runs, -1).astype(float)


def _mixed(who: Array, gradients: Array) -> Array:
    """Σ over the canaries that take part: (R, d)."""
    if len(gradients) == 1:
        return np.asarray(who.astype(float) @ gradients[0])
    return np.asarray(np.einsum("rm,rmd->rd", who.astype(float), gradients))


def _along(directions: Array, gradients: Array) -> Array:
    """w_m'g_m of every run: (R or 1, M)."""
    return np.asarray(np.einsum("md,rmd->rm", directions, gradients))
