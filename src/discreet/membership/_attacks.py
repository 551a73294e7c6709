"""Scores of an empirical mean: what an adversary computes from the output and the target.

With v = z* - μ, C_γ = k·noise²·I for the mean o of k rows, all high for members:
    likelihood ratio, Bernoulli   Σ_j z_j log(o_j/μ_j) + (1-z_j) log((1-o_j)/(1-μ_j))
    likelihood ratio, Gaussian    log N(o; μ + v/k, ((k-1)C/k + C_γ)/k) - log N(o; μ, (C + C_γ)/k)
    linear                        v'(C + C_γ)⁻¹(o - μ) - ‖v‖²/(2k)
    scalar product                (z* - reference)'o
    empirical                     the linear one with mean and centred covariance of references
Sub-sampling makes the distribution with the target a mixture of vectors, (1-ρ)p_out + ρp_in, so a
ratio ℓ of the drawn records becomes log(1-ρ+ρe^ℓ). `PrintedSubsampling` is the product over
columns of Theorem 6.6, Σ_j log(1-ρ+ρr_j): the same order of outputs to first order, but not a
likelihood ratio.

References: Azize (2024), chapter 6; Sankararaman et al. (2009); Dwork et al. (2015).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidArgument
from ._denoising import Denoiser
from ._laws import Bernoulli, Coordinates, Gaussian, Law, eigen
from ._mechanisms import Mean, Mechanism

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    from ._games import Scorer

    Matrix = NDArray[float64]


class _Ratio:
    """Accuses above 0; `guess` is what a mistaken attacker takes the target for."""

    threshold: float | None = 0.0

    def __init__(self, guess: ArrayLike | None = None) -> None:
        self.guess = guess

    def known(self, law: Law) -> Matrix | None:
        """The guess, checked."""
        return None if self.guess is None else law.check_targets(self.guess, "guess")


class LikelihoodRatio(_Ratio):
    """The exact log-likelihood ratio: most power at every level (Neyman and Pearson).

    Bernoulli columns with noise: given the noisy mean x the ratio of a column is E[o|x]/μ (or
    E[1-o|x]/(1-μ) for z = 0), so that it is enough to take the noise out of each column.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> game = membership.Game(membership.Mean(columns, n=20), columns.easiest())
        >>> game.play(membership.LikelihoodRatio(), rounds=500, seed=1).auc > 0.7
        True
    """

    name = "likelihood ratio"

    def against(self, mechanism: Mechanism) -> Scorer:
        mean = of_mean(mechanism, self.name)
        law, guess = mean.law, self.known(mean.law)
        if isinstance(law, Bernoulli):
            clean = None if not mean.noise else Denoiser(law.mean, mean.rows, mean.noise)

            def bernoulli(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
                seen = outputs if clean is None else clean(outputs)
                return bernoulli_ratio(seen, law.mean, targets if guess is None else guess)

            return _mixed(bernoulli, mean.subsample)
        if isinstance(law, Gaussian):

            def gaussian(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
                return gaussian_ratio(mean, outputs, targets if guess is None else guess)

            return _mixed(gaussian, mean.subsample)
        raise InvalidArgument(
            "adversary", "know the exact distribution of the mean", f"{law.name} columns",
            "use membership.LinearRatio()",
        )  # fmt: skip


class LinearRatio(_Ratio):
    """The likelihood ratio of a mean that is taken as normal with one covariance: (6.4).

    Example:
        >>> from discreet import membership
        >>> columns = membership.Gaussian([0.0] * 50)
        >>> game = membership.Game(membership.Mean(columns, n=20), [1.0] * 50)
        >>> game.play(membership.LinearRatio(), rounds=500, seed=1).auc > 0.7
        True
    """

    name = "linear likelihood ratio"

    def against(self, mechanism: Mechanism) -> Scorer:
        mean = of_mean(mechanism, self.name)
        law, guess = mean.law, self.known(mean.law)
        weights = 1.0 / (law.spectrum + mean.rows * mean.noise**2)

        def score(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
            wanted = targets if guess is None else np.broadcast_to(guess, targets.shape)
            return _linear(law, weights, mean.rows, outputs, wanted)

        return _mixed(score, mean.subsample)


class ScalarProduct:
    """The simplest score: how far an output points towards the target, (z* - reference)'o.

    The reference: none, a fixed vector, "mean", or "drawn" anew each round.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> game = membership.Game(membership.Mean(columns, n=20), columns.easiest())
        >>> game.play(membership.ScalarProduct("mean"), rounds=500, seed=1).auc > 0.7
        True
    """

    threshold = None

    def __init__(self, reference: ArrayLike | str | None = None) -> None:
        if isinstance(reference, str) and reference not in ("mean", "drawn"):
            raise InvalidArgument(
                "reference", 'be None, a vector, "mean" or "drawn"', reference, 'use "mean"'
            )
        self.reference = reference
        self.name = "scalar product" if reference is None else "scalar product, centred"

    def against(self, mechanism: Mechanism) -> Scorer:
        law, reference = of_mean(mechanism, self.name).law, self.reference
        fixed = np.zeros(law.columns)
        if isinstance(reference, str):
            fixed = law.mean if reference == "mean" else fixed
        elif reference is not None:
            fixed = _vector_of("reference", reference, law.columns)

        def score(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
            if isinstance(reference, str) and reference == "drawn":
                return _products(outputs, targets - law.draw(rng, len(targets)))
            if _is_fixed(targets):
                return np.asarray(outputs @ (targets[0] - fixed))
            return _products(outputs, targets - fixed)

        return score


class EmpiricalRatio(Coordinates):
    """The linear score with μ̂ and Ĉ from references, which are neither in the data nor the target.

    Ĉ is centred and unbiased. `diagonal` takes columns as independent, which costs little where
    they are; `ridge` is the variance of noise that the attacker takes for granted. `centred=False`
    is the printed Ĉ = ΣZZ'/n₀, which loses the part of v along μ.

    Example:
        >>> import numpy as np
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> known = columns.draw(np.random.default_rng(1), 100)  # public records
        >>> game = membership.Game(membership.Mean(columns, n=20), columns.easiest())
        >>> game.play(membership.EmpiricalRatio(known), rounds=500, seed=1).auc > 0.7
        True
    """

    name = "empirical likelihood ratio"
    threshold = None

    def __init__(
        self, references: ArrayLike, *, diagonal: bool = False, ridge: float = 0.0,
        centred: bool = True,
    ) -> None:  # fmt: skip
        rows = check_references(references)
        self.mean = rows.mean(axis=0)
        count, columns = rows.shape
        if diagonal:
            second = ((rows - self.mean) ** 2).sum(axis=0) / (count - 1)
            second = second if centred else (rows**2).mean(axis=0)
            self.spectrum = second + ridge
            if not (self.spectrum > 0.0).all():
                raise InvalidArgument(
                    "references", "vary in every column", "a constant column",
                    "add references, drop the column, or give a ridge",
                )  # fmt: skip
            return
        if count <= columns + 1 and not ridge > 0.0:
            raise InvalidArgument(
                "references", f"be more than columns + 1 = {columns + 1}", count,
                "add references, use diagonal=True, or give a ridge",
            )  # fmt: skip
        second = np.cov(rows, rowvar=False) if centred else rows.T @ rows / count
        covariance = np.atleast_2d(second) + ridge * np.eye(columns)
        self.spectrum, self.rotation = eigen("references", covariance, columns)

    def against(self, mechanism: Mechanism) -> Scorer:
        mean = of_mean(mechanism, self.name)
        if mean.law.columns != len(self.mean):
            raise InvalidArgument(
                "references", f"have {mean.law.columns} columns", len(self.mean), "draw them anew"
            )
        weights = 1.0 / (self.spectrum + mean.rows * mean.noise**2)

        def score(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
            return _linear(self, weights, mean.rows, outputs, targets)

        return score


class PlugInRatio:
    """The Bernoulli likelihood ratio with rates that are estimated from references.

    The rate of a column is μ̂ = (hits + ½)/(n₀ + 1), which is never 0 or 1.

    Example:
        >>> import numpy as np
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> known = columns.draw(np.random.default_rng(1), 100)  # public records
        >>> game = membership.Game(membership.Mean(columns, n=20), columns.easiest())
        >>> game.play(membership.PlugInRatio(known), rounds=500, seed=1).auc > 0.7
        True
    """

    name = "plug-in likelihood ratio"
    threshold = None

    def __init__(self, references: ArrayLike) -> None:
        rows = check_references(references)
        self.mean = (rows.sum(axis=0) + 0.5) / (len(rows) + 1.0)

    def against(self, mechanism: Mechanism) -> Scorer:
        mean = of_coins(mechanism, self.name, "EmpiricalRatio(references)")

        def score(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
            return bernoulli_ratio(outputs, self.mean, targets)

        return _mixed(score, mean.subsample)


class PrintedSubsampling:
    """The score that is printed for sub-sampled means: Σ_j log(1-ρ+ρr_j).

    r_j is the ratio of column j, ρ the share that is sampled. Kept to compare with:
    `LikelihoodRatio` is the one with most power.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> mean = membership.Mean(columns, n=20, subsample=0.5)
        >>> game = membership.Game(mean, columns.easiest())
        >>> game.play(membership.PrintedSubsampling(), rounds=500, seed=1).auc > 0.6
        True
    """

    name = "printed sub-sampling score"
    threshold: float | None = 0.0

    def against(self, mechanism: Mechanism) -> Scorer:
        mean = of_coins(mechanism, self.name, "LikelihoodRatio()")
        law, share = mean.law, mean.subsample

        def score(outputs: Matrix, targets: Matrix, rng: Generator) -> Matrix:
            away = 1.0 - targets
            ratio = np.abs(outputs - away) / np.abs(law.mean - away)
            with np.errstate(divide="ignore"):
                return np.asarray(np.log1p(share * (ratio - 1.0)).sum(axis=1))

        return score


def score_targets(mechanism: Mean, output: ArrayLike, targets: ArrayLike) -> Matrix:
    """Many targets against one output, by one matrix product: the likelihood ratio of each.

    That of Bernoulli columns without noise is linear in the target and therefore exact; all others
    are the linear score.

    Args:
        mechanism: The mechanism.
        output: What it released.
        targets: One target per row.

    Returns:
        A score per target.

    Example:
        >>> import numpy as np
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 4)
        >>> released = np.array([0.75, 0.5, 0.25, 0.5])
        >>> targets = [[1, 1, 0, 0], [0, 0, 1, 1]]
        >>> membership.score_targets(membership.Mean(columns, n=4), released, targets).round(2)
        array([ 0.81, -1.39])
    """
    mean, law = of_mean(mechanism, "scores of targets"), mechanism.law
    rows = np.atleast_2d(law.check_targets(targets, "targets"))
    seen = _vector_of("output", output, law.columns)
    if isinstance(law, Bernoulli) and not mean.noise:
        with np.errstate(divide="ignore"):
            one, zero = np.log(seen / law.mean), np.log((1.0 - seen) / (1.0 - law.mean))
        base = np.where(np.isfinite(zero), zero, 0.0)
        ratio = rows @ (np.where(np.isfinite(one), one, 0.0) - base) + base.sum()
        ruled_out = rows @ np.isneginf(one) + (1.0 - rows) @ np.isneginf(zero)
        found = np.where(ruled_out > 0.0, -np.inf, ratio)
    else:
        v = law.rotated(rows - law.mean)
        weights = 1.0 / (law.spectrum + mean.rows * mean.noise**2)
        found = v @ (weights * law.rotated(seen - law.mean))
        found = found - (v * v) @ weights / (2.0 * mean.rows)
    return _mixture(found, mean.subsample)


def bernoulli_ratio(outputs: Matrix, p: Matrix, targets: Matrix) -> Matrix:
    """Σ_j log of the share of records that agree with the target, over its expectation."""
    away = 1.0 - targets
    if targets.ndim == 1 or _is_fixed(targets):
        away = away.reshape(-1, outputs.shape[1])[:1]
    agree = outputs - away
    np.abs(agree, out=agree)
    with np.errstate(divide="ignore"):
        np.log(agree, out=agree)
    return np.asarray(agree.sum(axis=1) - np.log(np.abs(p - away)).sum(axis=1))


def gaussian_ratio(mean: Mean, outputs: Matrix, targets: Matrix) -> Matrix:
    """The quadratic ratio of two normal distributions, in coordinates without correlation."""
    law, k = mean.law, mean.rows
    outside = law.spectrum / k + mean.noise**2
    inside = (k - 1.0) * law.spectrum / k**2 + mean.noise**2
    x = law.rotated(outputs - law.mean)
    shift = law.rotated(targets - law.mean) / k
    quadratic = (x * x) @ (0.5 / outside) - ((x - shift) ** 2) @ (0.5 / inside)
    return np.asarray(quadratic + 0.5 * np.log(outside / inside).sum())


def of_mean(mechanism: Mechanism, name: str) -> Mean:
    """The mechanism, if it is a mean: these scores know no other."""
    if not isinstance(mechanism, Mean):
        raise InvalidArgument(
            "adversary", "be made for this mechanism", f"{name} against {mechanism.name}",
            "write a function of (output, target), high for members",
        )  # fmt: skip
    return mechanism


def of_coins(mechanism: Mechanism, name: str, other: str) -> Mean:
    """A mean of Bernoulli columns without noise; `other` attacks the rest."""
    mean = of_mean(mechanism, name)
    if not isinstance(mean.law, Bernoulli) or mean.noise:
        raise InvalidArgument(
            "adversary", "attack Bernoulli columns without noise", mean.law.name,
            f"use membership.{other}",
        )  # fmt: skip
    return mean


def check_references(references: ArrayLike) -> Matrix:
    """At least two finite rows."""
    rows = np.asarray(references, float)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1] or not np.isfinite(rows).all():
        raise InvalidArgument(
            "references", "be at least 2 finite rows", f"shape {rows.shape}",
            "draw them from the law of the data: law.draw(rng, 1000)",
        )  # fmt: skip
    return rows


def _linear(
    law: Coordinates, weights: Matrix, rows: int, outputs: Matrix, targets: Matrix
) -> Matrix:
    if _is_fixed(targets):
        v = law.rotated(targets[0] - law.mean)
        direction = weights * v
        if law.rotation is not None:
            direction = law.rotation @ direction
        offset = float(direction @ law.mean) + float((v * v) @ weights) / (2.0 * rows)
        return np.asarray(outputs @ direction - offset)
    v = law.rotated(targets - law.mean)
    seen = law.rotated(outputs - law.mean)
    return _products(seen * weights, v) - (v * v) @ weights / (2.0 * rows)


def _products(first: Matrix, second: Matrix) -> Matrix:
    """Row by row."""
    return np.asarray(np.einsum("ij,ij->i", first, second))


def _is_fixed(targets: Matrix) -> bool:
    """Whether all rounds share one target, which is then a view with stride 0."""
    return targets.ndim == 2 and (targets.strides[0] == 0 or len(targets) == 1)


def _mixed(score: Scorer, subsample: float) -> Scorer:
    if subsample == 1.0:
        return score

    def mixed(outputs: Any, targets: Any, rng: Generator) -> Matrix:
        return _mixture(score(outputs, targets, rng), subsample)

    return mixed


def _mixture(ratio: Matrix, subsample: float) -> Matrix:
    """log(1-ρ+ρe^ℓ)."""
    if subsample == 1.0:
        return ratio
    return np.logaddexp(math.log1p(-subsample), math.log(subsample) + ratio)


def _vector_of(argument: str, values: ArrayLike, columns: int) -> Matrix:
    vector = np.asarray(values, float)
    if vector.shape != (columns,) or not np.isfinite(vector).all():
        raise InvalidArgument(
            argument, f"be {columns} finite numbers", f"shape {vector.shape}", "one per column"
        )
    return vector
