"""Scores of a canary against the steps of a training run; high for members.

A step shows o = g_batch. With w = Ĉ⁻¹(g* - μ̂), n := B and Δ = w'(g* - μ̂)/B, the covariance score
    is s = w'(o - μ̂) - Δ/2,        mean -Δ/2 without the canary and +Δ/2 with it,
the likelihood ratio of the empirical mean (thesis, Algorithm 13). The scalar product is g*'o.
Three corrections to the printed attack:
1. g_batch = (θ_t - θ_{t+1})/η: the print has the opposite sign.
2. The sum over steps is the likelihood ratio only if the canary is in every step. In an epoch it is
   in one of T, unknown which, so the ratio is log (1/T) Σ e^{s_t}; under Poisson sampling
   Σ log(1 - q + q e^{s_t}). To first order in small Δ both grow with the *centred* sum,
   Σ (s_t - E_0 s_t). The printed one also holds -½ Σ Δ_t, T/2 times the shift to be found: the
   canary's gradient follows θ_t, so this term differs from run to run and hides that shift. The
   *frozen* sum keeps the direction of θ_0, Σ w_0'(o_t - μ̂_t): the printed sum, but for a constant,
   if the canary's gradient is computed once as mean and covariance are.
3. μ̂ of θ_0 is stale at θ_t and shifts s_t differently in every step: it is estimated again at
   θ_t on a few hundred references. Stale Ĉ and heavy tails make Var_0 s = V > Δ, so before
   anything is exponentiated, ℓ = (Δ/V)(s - e_0) - Δ²/(2V).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..._checks import count
from ...errors import InvalidArgument
from .models._base import softmax

if TYPE_CHECKING:
    from ..._types import Array
    from ._references import References
    from ._trainers import Trace
    from .models._base import Model

COMBINATIONS = ("sum", "centred sum", "log-mean-exp", "empirical", "max", "poisson")
"""Also "frozen sum", "frozen log-mean-exp" and so on: along the first direction throughout."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The scores of T steps, and what is known of them without the canary.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, covariance_steps
        >>> rng = np.random.default_rng(1)
        >>> known = References.of(rng.normal(size=(200, 2)))
        >>> steps = covariance_steps(known, np.array([1.0, 1.0]), rng.normal(size=(5, 2)), batch=4)
        >>> len(steps.scores), steps.shift.shape
        (5, (5,))
    """

    scores: Array
    """(T,): s_t"""
    shift: Array
    """(T,): Δ_t, by how much the canary moves the score"""
    variance: Array | None = None
    """(T,): Var_0 s_t from references; None: unknown"""
    centre: Array | None = None
    """(T,): E_0 s_t from references; None: -Δ/2"""
    frozen: Steps | None = None
    """the same along the direction of θ_0 throughout; None: unknown"""

    def centred(self) -> Array:
        """s_t - E_0 s_t."""
        return self.scores - (-self.shift / 2.0 if self.centre is None else self.centre)

    def recalibrated(self) -> Array:
        """ℓ_t = (Δ/V)(s_t - e_0) - Δ²/(2V); the scores as they are where V is unknown."""
        if self.variance is None:
            return self.scores
        ratio = self.shift / np.maximum(self.variance, 1e-300)
        return ratio * self.centred() - ratio * self.shift / 2.0

    def standardised(self) -> tuple[Array, Array]:
        """(s_t - E_0 s_t) and Δ_t in standard deviations: Var_0's, or where it is unknown that of
        the run's own scores."""
        centred = self.centred()
        known = centred.var() if self.variance is None else self.variance
        spread = np.sqrt(np.maximum(known, 1e-300))
        return centred / spread, self.shift / spread

    def empirical(self) -> Array:
        """ℓ_t = log f(z_t - κ_t) - log f(z_t), f the distribution of the run's own standardised
        scores.

        All steps of an epoch but one are without the canary, so their scores show f, tails and
        all, where `recalibrated` takes it to be normal: one step far out then outweighs all others.
        f is smoothed by normal kernels of Silverman's width; no ratio exceeds about log T.
        """
        z, moved = self.standardised()
        low, high = np.quantile(z, (0.25, 0.75))
        spread = min(float(z.std()), float(high - low) / 1.349) or float(z.std()) or 1.0
        width = 1.06 * spread * len(z) ** -0.2

        def log_density(at: Array) -> Array:
            steps = (at[:, None] - z[None, :]) / width
            return np.asarray(np.logaddexp.reduce(-0.5 * steps**2, axis=1))

        return log_density(z - moved) - log_density(z)

    def combined(
        self, how: str, *, sampling: float | None = None, recalibrate: bool = True
    ) -> float:
        """One score of the whole run.

        "sum" is the thesis' (of the scores as they are); "centred sum" that of s_t - E_0 s_t;
        "log-mean-exp" the likelihood ratio of an epoch for normal scores, "empirical" that for the
        distribution of the run's own; "max" nearly as good; "poisson" that of Poisson batches of
        rate `sampling`. "frozen" before any of them keeps the first direction; "frozen sum" is
        centred.
        """
        if how.startswith("frozen "):
            if self.frozen is None:
                raise InvalidArgument(
                    "frozen", "be known for a frozen score", None, "make steps by covariance_steps"
                )
            kind = {"sum": "centred sum"}.get(how[7:], how[7:])
            return self.frozen.combined(kind, sampling=sampling, recalibrate=recalibrate)
        if how == "sum":
            return float(self.scores.sum())
        if how == "centred sum":
            return float(self.centred().sum())
        single = self.recalibrated() if recalibrate else self.scores
        match how:
            case "log-mean-exp":
                return _log_mean_exp(single)
            case "empirical":
                return _log_mean_exp(self.empirical())
            case "max":
                return float(single.max())
            case "poisson":
                if sampling is None or not 0.0 < sampling <= 1.0:
                    raise InvalidArgument(
                        "sampling", "be the rate of the Poisson batches", sampling, "use 0.01"
                    )
                return float(np.sum(poisson_ratio(single, sampling)))
        raise InvalidArgument(
            "how", f"be one of {', '.join(COMBINATIONS)}", how, "use log-mean-exp for an epoch"
        )


def _log_mean_exp(ratios: Array) -> float:
    return float(np.logaddexp.reduce(ratios)) - math.log(len(ratios))


def poisson_ratio(ratios: Array, sampling: float) -> Array:
    """log(1 - q + q e^ℓ), the log ratio of a step that the canary enters with probability q."""
    if sampling == 1.0:
        return ratios
    return np.logaddexp(math.log1p(-sampling), math.log(sampling) + ratios)


def covariance_steps(
    references: References, canary: Array, updates: Array, batch: int, means: Array | None = None
) -> Steps:
    """The covariance attack on arrays of gradients, from whatever framework: one score per step.

    Args:
        references: The ordinary gradients.
        canary: The canary's gradient g*, one for all steps (d,) or one per step (T, d).
        updates: The observed gradient of every step (T, d).
        batch: Points in a batch.
        means: Means of references estimated again at every step (T, d), if there are any.

    Returns:
        The scores, and what is known of them without the canary.

    Raises:
        InvalidArgument: If shapes do not match.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, covariance_steps
        >>> rng = np.random.default_rng(1)
        >>> known = References.of(rng.normal(size=(200, 2)))
        >>> canary = np.array([3.0, 3.0])
        >>> steps = covariance_steps(known, canary, np.array([[0.0, 0.0], [3.0, 3.0]]), batch=1)
        >>> bool(steps.scores[1] > steps.scores[0])  # the second step held the canary
        True
    """
    canary, updates = _checked(references.size, canary, updates)
    batch = count("batch", batch, fix="use batch=64")
    direction = references.solve(np.atleast_2d(canary) - references.mean)
    mean = references.mean if means is None else np.asarray(means, float)
    if mean.shape not in ((references.size,), updates.shape) or not np.isfinite(mean).all():
        raise InvalidArgument(
            "means", f"be {references.size} finite numbers per step", f"shape {mean.shape}",
            "give one mean for each update",
        )  # fmt: skip
    each, centred = np.broadcast_to(canary, updates.shape) - mean, updates - mean

    def along(direction: Array) -> Steps:
        direction = np.broadcast_to(direction, updates.shape)
        shift = np.einsum("ij,ij->i", direction, each) / batch
        return Steps(np.einsum("ij,ij->i", direction, centred) - shift / 2.0, shift)

    return replace(along(direction), frozen=along(direction[:1]))


def scalar_steps(canary: Array, updates: Array) -> Array:
    """The scalar product attack, g*_t'g_batch (Dwork et al. 2015): one score per step.

    Args:
        canary: The canary's gradient, one for all steps or one per step.
        updates: The gradient of every step.

    Returns:
        The scores; high for members.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import scalar_steps
        >>> scalar_steps(np.array([1.0, 0.0]), np.array([[0.5, 9.0], [-0.5, 9.0]])).tolist()
        [0.5, -0.5]
    """
    canary, updates = _checked(np.shape(updates)[-1], canary, updates)
    return np.asarray(np.einsum("ij,ij->i", np.broadcast_to(canary, updates.shape), updates))


def glir_steps(references: References, canary: Array, updates: Array, batch: int) -> Array:
    """GLiR (Leemann et al. 2023): one score per step, high for members.

    It is -log F(S), F the distribution of S for a non-member.

    S = B |g_batch - g*|²_{Ĉ⁻¹} is noncentral χ² with d degrees and noncentrality B |μ̂ - g*|²_{Ĉ⁻¹}
    without the canary. S falls as the Gaussian likelihood ratio rises, affinely: the same test for
    a fixed target. The print takes F⁻¹ for F, an unsquared norm, and B - 1 for B.

    Args:
        references: The ordinary gradients.
        canary: The canary's gradient g*, one for all steps (d,) or one per step (T, d).
        updates: The observed gradient of every step (T, d).
        batch: Points in a batch.

    Returns:
        The scores.

    Args:
        references: The ordinary gradients.
        canary: The canary's gradient g*, one for all steps (d,) or one per step (T, d).
        updates: The observed gradient of every step (T, d).
        batch: Points in a batch.

    Returns:
        The scores.

    Args:
        references: The ordinary gradients.
        canary: The canary's gradient g*, one for all steps (d,) or one per step (T, d).
        updates: The observed gradient of every step (T, d).
        batch: Points in a batch.

    Returns:
        The scores.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import References, glir_steps
        >>> rng = np.random.default_rng(1)
        >>> known = References.of(rng.normal(size=(200, 2)))
        >>> scores = glir_steps(known, np.array([3.0, 3.0]), np.array([[0.0, 0.0], [3.0, 3.0]]), 1)
        >>> bool(scores[1] > scores[0])
        True
    """
    canary, updates = _checked(references.size, canary, updates)
    centre = batch * references.distances(np.atleast_2d(canary) - references.mean)
    observed = batch * references.distances(updates - canary)
    return -log_noncentral_chi2(observed, len(references.factor), centre)


def log_noncentral_chi2(x: Array, degrees: int, centre: Array) -> Array:
    """log P(χ'²_d(λ) <= x), also where the probability underflows.

    The exact distribution down to e^-200; beyond, Lugannani & Rice's (1980) saddle point with its
    term of second order, whose error in the log is below 1e-6 from 50 degrees on. With t = 1 - 2s
    the cumulants are K = λs/t - (d/2) log t, and K'(s) = x is a quadratic in t.
    """
    from scipy.special import chndtr, log_ndtr

    x, centre = np.broadcast_arrays(np.asarray(x, float), np.asarray(centre, float))
    with np.errstate(divide="ignore"):
        exact = np.log(chndtr(x, degrees, centre))
    far = ~(exact > -200.0) & (x > 0.0)
    if not far.any():
        return np.asarray(exact)
    x, c = x[far], centre[far]
    t = (degrees + np.sqrt(degrees**2 + 4.0 * x * c)) / (2.0 * x)
    s = (1.0 - t) / 2.0
    second = 2.0 * degrees / t**2 + 4.0 * c / t**3
    skew = (8.0 * degrees / t**3 + 24.0 * c / t**4) / second**1.5
    kurtosis = (48.0 * degrees / t**4 + 192.0 * c / t**5) / second**2
    w = -np.sqrt(2.0 * (s * x - c * s / t + 0.5 * degrees * np.log(t)))
    u = s * np.sqrt(second)
    term = 1.0 / u - 1.0 / w + (kurtosis / 8.0 - 5.0 * skew**2 / 24.0) / u
    term += 1.0 / w**3 - 1.0 / u**3 - skew / (2.0 * u**2)
    mills = np.exp(-0.5 * w**2 - 0.5 * math.log(2.0 * math.pi) - log_ndtr(w))
    out = np.array(exact)
    out[far] = log_ndtr(w) + np.log1p(-mills * term)
    return out


class SoftmaxTarget:
    """The covariance attack on softmax regression for one fixed target, quick enough for an epoch.

    g*_t = Σ_k r_k (e_k ⊗ x̃*): Ĉ⁻¹ is applied to the `classes` vectors e_k ⊗ x̃* once, and a step
    then costs classes · d. The direction keeps the mean of θ_0, whose solution is known; what is
    observed is centred with the mean at θ_t, estimated on `fresh` points. These must not be among
    the references: on those the variance of a score comes out too small, by about 1 - d/n.

    Example:
        >>> import numpy as np
        >>> from discreet.membership import gradients
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = gradients.SoftmaxRegression(3, 2), rng.random((40, 3)), np.arange(40) % 2
        >>> known = gradients.references_at(model, model.start(rng), x, y)
        >>> gradients.SoftmaxTarget(known, model, np.ones(3), 0, batch=4).batch
        4
    """

    def __init__(
        self,
        references: References,
        model: Model,
        x: Array,
        y: int,
        batch: int,
        fresh: tuple[Array, Array] | None = None,
    ) -> None:
        if model.head != model.size or references.size != model.size:
            raise InvalidArgument(
                "model", f"be a softmax regression with {references.size} parameters", model.size,
                "use covariance_steps for other models",
            )  # fmt: skip
        self.model, self.batch, self.fresh = model, batch, fresh
        self.x, self.y = np.asarray(x, np.float32).reshape(1, -1), np.array([int(y)])
        classes = model.classes
        basis = np.kron(np.eye(classes), np.append(self.x, 1.0)[None])
        solved = references.solve(np.concatenate([basis, references.mean[None]]))
        self.vectors = solved.astype(np.float32)
        """(classes + 1, d): Ĉ⁻¹(e_k ⊗ x̃*), and last Ĉ⁻¹μ̂_0"""
        cells = solved.reshape(classes + 1, classes, -1)
        self._self = cells[:, :, :-1] @ self.x[0] + cells[:, :, -1]
        self._mean = solved @ references.mean
        self._along = None if fresh is None else self._vectors_along(fresh[0])

    def residuals(self, parameters: Array) -> Array:
        """r*_t at every step: (T, classes)."""
        return _residuals(self.model, parameters, self.x, self.y)[:, 0]

    def steps(self, trace: Trace) -> Steps:
        """The scores of every step of a run."""
        parameters = trace.parameters[:-1]
        own, weights = self._weights(parameters)
        along = trace.updates @ self.vectors.T
        each = None if self.fresh is None else _residuals(self.model, parameters, *self.fresh)

        def by(weights: Array) -> Steps:
            seen = np.einsum("tk,tk->t", along, weights, dtype=float)
            itself = np.einsum("tk,kl,tl->t", weights, self._self, own, dtype=float, optimize=True)
            if each is None or self._along is None:
                mean, variance = weights @ self._mean, None
            else:
                projected = _projected(each, weights, self._along)
                mean = projected.mean(axis=1, dtype=float)
                variance = projected.var(axis=1, ddof=1, dtype=float) / self.batch
            shift = (itself - mean) / self.batch
            return Steps(seen - mean - shift / 2.0, shift, variance)

        return replace(by(weights), frozen=by(_first(weights)))

    def scalar(self, trace: Trace) -> Array:
        """g*_t'g_batch at every step."""
        own = self.residuals(trace.parameters[:-1])
        cells = trace.updates.reshape(len(own), self.model.classes, -1)
        seen = cells[:, :, :-1] @ self.x[0] + cells[:, :, -1]
        return np.asarray(np.einsum("tk,tk->t", own, seen, dtype=float))

    def both(self, trace: Trace) -> tuple[Steps, Array]:
        """The covariance scores and the scalar products of every step."""
        return self.steps(trace), self.scalar(trace)

    def projections(
        self, parameters: Array, x: Array, y: Array, frozen: bool = False
    ) -> tuple[Array, Array]:
        """w_t'g_i(θ_t) of the points given, (T, n), and w_t'g*_t of the canary itself, (T,)."""
        own, weights = self._weights(parameters)
        if frozen:
            weights = _first(weights)
        itself = np.einsum("tk,kl,tl->t", weights, self._self, own, dtype=float, optimize=True)
        each = _residuals(self.model, parameters, x, y)
        return _projected(each, weights, self._vectors_along(x)), itself

    def _weights(self, parameters: Array) -> tuple[Array, Array]:
        """r*_t, and with a last -1 for the mean: the weights of `vectors` in w_t."""
        own = self.residuals(parameters)
        return own, np.concatenate([own, np.full((len(own), 1), -1.0, own.dtype)], axis=1)

    def _vectors_along(self, x: Array) -> Array:
        """What `vectors` give for every class of every point: (n, classes + 1, classes)."""
        cells = self.vectors.reshape(len(self.vectors), self.model.classes, -1)
        return np.tensordot(x, cells[:, :, :-1], (1, 2)) + cells[:, :, -1]


def _residuals(model: Model, parameters: Array, x: Array, y: Array) -> Array:
    """Residuals of softmax regression at many parameters: (T, n, classes), one matrix product."""
    steps, classes = len(parameters), model.classes
    cells = parameters.reshape(steps, classes, -1)
    logits = np.matmul(x, cells[:, :, :-1].transpose(0, 2, 1))
    logits += cells[:, None, :, -1]
    p = softmax(logits)
    p[:, np.arange(len(y)), y] -= 1
    return p


def _first(rows: Array) -> Array:
    """The first row in place of all."""
    return np.repeat(rows[:1], len(rows), axis=0)


def _projected(residuals: Array, weights: Array, along: Array) -> Array:
    """w_t'g_i(θ_t) of every point, from its residuals at θ_t: (T, n)."""
    n, rows, classes = along.shape
    turned = along.transpose(1, 0, 2).reshape(rows, n * classes)
    found = (weights.astype(np.float32) @ turned).reshape(len(weights), n, classes)
    return np.asarray(np.einsum("tnl,tnl->tn", residuals, found))


def _checked(size: int, canary: Array, updates: Array) -> tuple[Array, Array]:
    canary, updates = np.asarray(canary, float), np.asarray(updates, float)
    if updates.ndim != 2 or updates.shape[1] != size or not np.isfinite(updates).all():
        raise InvalidArgument(
            "updates", f"be one row of {size} finite numbers per step", f"shape {updates.shape}",
            "flatten the gradient of each step",
        )  # fmt: skip
    if canary.shape not in ((size,), updates.shape) or not np.isfinite(canary).all():
        raise InvalidArgument(
            "canary", f"be {size} finite numbers, or so many per step", f"shape {canary.shape}",
            "flatten the gradient of the canary",
        )  # fmt: skip
    return canary, updates
