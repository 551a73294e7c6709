"""Leakage without sampling: what the best attacker on an empirical mean reaches.

With v = z* - μ the leakage score of a target is m*_n = ‖v‖²/n in the metric (C + C_γ)⁻¹. A linear
score w'o has κ = w'v/sqrt(n w'(C + C_γ)w), at most sqrt(m*_n) with equality for w = (C + C_γ)⁻¹v,
    power Φ(Φ⁻¹(α) + κ),   advantage 2Φ(κ/2) - 1,   AUC Φ(κ/√2),   ε(δ) of κ-Gaussian DP.
A target enters a sub-sample of k = ρn records with all of its columns or with none, so then
    power (1-ρ)α + ρΦ(Φ⁻¹(α) + κ),   κ² = m*/ρ,
and not Φ(Φ⁻¹(α) + sqrt(ρm*)) as printed in Theorem 6.6: the total variation is at most ρ.

All of it is what this game shows, not a guarantee. Reference: Azize (2024), chapter 6.

>>> from discreet import membership
>>> columns = membership.Bernoulli([0.1, 0.5, 0.9] * 100)
>>> leak = membership.leakage(columns, n=100, target=columns.easiest())
>>> round(leak.score, 2), round(leak.advantage, 3)
(19.0, 0.971)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._checks import count
from ..audit._counts import check_delta
from ..errors import InvalidArgument
from ..privacy._curves import gaussian_delta, least
from ._curve import LEVELS, Curve, check_level
from ._exact import LossLaw, bernoulli_loss
from ._laws import Bernoulli, Gaussian, Law
from ._mechanisms import Mean

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import ArrayLike, NDArray

    from .._types import Ints

    Matrix = NDArray[float64]

MOST_LOSS = 500.0
"""An ε above this is reported as infinite."""


@dataclass(frozen=True)
class Leakage:
    """What an attacker reaches against one target: closed form with κ and ρ; from `leakage`.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> leak = membership.leakage(columns, n=20, target=columns.easiest())
        >>> round(leak.score, 3), round(leak.advantage, 3), round(leak.power(0.05), 3)
        (2.5, 0.571, 0.475)
    """

    score: float
    """the leakage score: m*_n, with noise m̃_n, with a wrong guess the effective score κ²ρ"""
    kappa: float
    """distance of the two normal distributions of the score in standard deviations, where z* was
    drawn"""
    subsample: float = 1.0
    spread: float = 1.0
    """standard deviation with the target over that without: sqrt(1 - 1/n) where it is kept"""

    def power(self, level: float) -> float:
        """The share of members that is found with this false-alarm rate."""
        from scipy.special import ndtr, ndtri

        level = check_level(level)
        drawn = float(ndtr((ndtri(level) + self.kappa) / self.spread))
        return (1.0 - self.subsample) * level + self.subsample * drawn

    @property
    def advantage(self) -> float:
        """Power - level at the best threshold, the total variation of the score's two
        distributions.

        Where a mistaken guess makes κ negative, low scores mean "in": |κ| counts (Theorem 6.7).
        """
        from scipy.special import ndtr

        if self.spread == 1.0:
            return self.subsample * float(2.0 * ndtr(abs(self.kappa) / 2.0) - 1.0)
        return replace(self, kappa=abs(self.kappa)).curve().advantage

    @property
    def auc(self) -> float:
        """The probability that a member's score is above a non-member's."""
        from scipy.special import ndtr

        drawn = float(ndtr(self.kappa / math.hypot(1.0, self.spread)))
        return (1.0 - self.subsample) / 2.0 + self.subsample * drawn

    def delta(self, epsilon: float) -> float:
        """The δ at which this game shows ε: the larger of both hockey sticks."""
        if self.spread != 1.0:
            return replace(self, kappa=abs(self.kappa)).curve().delta(epsilon)
        return _mixed_delta(abs(self.kappa), self.subsample, epsilon)

    def epsilon(self, delta: float = 1e-5) -> float:
        """The ε(δ) that this game can show; infinite at δ = 0."""
        return _epsilon(self.delta, check_delta(delta))

    def curve(self, points: int = 2001) -> Curve:
        """The whole trade-off curve."""
        from scipy.special import ndtr

        span = np.linspace(-8.5, 8.5 + abs(self.kappa), points)[::-1]
        level = ndtr(-span)
        drawn = ndtr((self.kappa - span) / self.spread)
        return Curve.of(level, (1.0 - self.subsample) * level + self.subsample * drawn)

    def to_dict(self, levels: Sequence[float] = LEVELS, delta: float = 1e-5) -> dict[str, object]:
        """JSON-ready; an infinite ε is null."""
        epsilon = self.epsilon(delta)
        return {
            "score": self.score,
            "advantage": self.advantage,
            "power": {f"{level:g}": self.power(level) for level in levels},
            "auc": self.auc,
            "epsilon": epsilon if math.isfinite(epsilon) else None,
            "delta": delta,
        }


@dataclass(frozen=True, eq=False)
class ByCurve(Leakage):
    """Base of those whose trade-off curve is known as a whole."""

    @cached_property
    def _exact(self) -> Curve:
        raise NotImplementedError

    @property
    def advantage(self) -> float:
        return self._exact.advantage

    @property
    def auc(self) -> float:
        return self._exact.auc

    def delta(self, epsilon: float) -> float:
        return self._exact.delta(epsilon)

    def curve(self, points: int = 2001) -> Curve:
        return self._exact


@dataclass(frozen=True, eq=False)
class ExactLeakage(ByCurve):
    """The same for Bernoulli columns at every n and d, by convolution."""

    law: LossLaw | None = None

    @cached_property
    def _exact(self) -> Curve:
        assert self.law is not None
        return self.law.curve(self.subsample)

    def power(self, level: float) -> float:
        return self._exact.power_at(level)

    def delta(self, epsilon: float) -> float:
        assert self.law is not None
        return self.law.delta(epsilon, self.subsample)


@dataclass(frozen=True, eq=False)
class ExactGaussianLeakage(ByCurve):
    """The same for Gaussian columns without noise at every n and d.

    ℓ falls with S = ‖o - z*‖² in the metric C⁻¹, a scaled non-central χ² under both hypotheses:
        power = F(q n/(n-1); d, (n-1)a),   F(q; d, na) = level,   a = ‖v‖².
    """

    rows: int = 2
    columns: int = 1
    norm: float = 0.0

    def power(self, level: float) -> float:
        level = check_level(level)
        if level in (0.0, 1.0):
            return level
        return float(self._powers(np.array([level]))[0])

    def _powers(self, level: Matrix) -> Matrix:
        from scipy.stats import chi2, ncx2

        k, a = self.rows, self.norm
        if a == 0.0:
            drawn = chi2.cdf(chi2.ppf(level, self.columns) * k / (k - 1), self.columns)
        else:
            quantile = ncx2.ppf(level, self.columns, k * a)
            drawn = ncx2.cdf(quantile * k / (k - 1), self.columns, (k - 1) * a)
        return np.asarray((1.0 - self.subsample) * level + self.subsample * drawn)

    def epsilon(self, delta: float = 1e-5) -> float:
        return self._exact.epsilon(check_delta(delta)) if delta else math.inf

    @cached_property
    def _exact(self) -> Curve:
        from scipy.special import ndtr

        level = ndtr(np.linspace(-6.5, 6.5, 1201))
        return Curve.of(level, self._powers(level))


@dataclass(frozen=True, eq=False)
class Ranking(Sequence[Leakage]):
    """The leakage of many targets: who is easy to find, who is hard.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.1, 0.5])
        >>> found = membership.leakage(columns, n=20, target=[[0, 1], [1, 1], [0, 0]])
        >>> found.easiest(1), len(found)
        (array([1]), 3)
    """

    leakages: tuple[Leakage, ...]

    @overload
    def __getitem__(self, key: int) -> Leakage: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Leakage, ...]: ...
    def __getitem__(self, key: int | slice) -> Leakage | tuple[Leakage, ...]:
        return self.leakages[key]

    def __len__(self) -> int:
        return len(self.leakages)

    @property
    def scores(self) -> Matrix:
        """The leakage score of every target."""
        return np.array([leak.score for leak in self.leakages])

    def easiest(self, count: int = 10) -> Ints:
        """The places of the targets that are easiest to find, easiest first."""
        return np.argsort(-self.scores, kind="stable")[:count]

    def hardest(self, count: int = 10) -> Ints:
        """The places of the targets that are hardest to find, hardest first."""
        return np.argsort(self.scores, kind="stable")[:count]

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "scores": self.scores.tolist(),
            "advantages": [leak.advantage for leak in self.leakages],
            "easiest": self.easiest().tolist(),
            "hardest": self.hardest().tolist(),
        }


def leakage(
    law: Law | Mean,
    n: int | None = None,
    target: ArrayLike | None = None,
    *,
    noise: float = 0.0,
    subsample: float = 1.0,
    guess: ArrayLike | None = None,
    references: int | None = None,
    exact: bool = False,
    finite: bool = False,
) -> Any:
    """The `Leakage` of a target of the mean of n records, or a `Ranking` of many targets.

    `noise` is the standard deviation on the released mean, `subsample` the share of records it is
    taken over, `guess` what a mistaken attacker takes the target for. `references` is the number n0
    of records from which he estimates the mean that he does not know: his score then has the noise
    of both means, so n counts for n(1+λ)/λ, λ = n0/n (thesis, section 2.3.4). `exact` convolves
    Bernoulli columns, and uses the χ² distributions of Gaussian ones; `finite` keeps the factor 1
    - 1/n of the variance. In the place of a distribution a `Mean` may be given, which knows n,
    noise and sub-sample already.

    Args:
        law: The distribution of the data.
        n: How many records.
        target: The target's record.
        noise: Standard deviation of the noise on the mean.
        subsample: The share of the records in the mean.
        guess: The record that a mistaken attacker looks for.
        references: Records that the attacker knows, to estimate the mean.
        exact: Convolve the columns instead of a normal distribution.
        finite: Keep the factor 1 - 1/n of the variance.

    Returns:
        The leakage of the target, or a ranking of many.

    Raises:
        InvalidArgument: If an argument breaks its rule, or there is no target.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> leak = membership.leakage(columns, n=20, target=columns.easiest())
        >>> round(leak.score, 3), round(leak.advantage, 3)
        (2.5, 0.571)
    """
    mean = _mean(law, n, noise, subsample)
    columns, rows = mean.law, mean.rows
    if target is None:
        raise InvalidArgument("target", "be given", None, "use law.easiest()")
    targets = columns.check_targets(target)
    v = columns.rotated(np.atleast_2d(targets) - columns.mean)
    weights = 1.0 / (columns.spectrum + rows * mean.noise**2)
    square = (v * v) @ weights
    if guess is None:
        kappas = np.sqrt(square / rows)
    else:
        taken = columns.rotated(columns.check_targets(guess, "guess") - columns.mean)
        length = float((taken * taken) @ weights)
        if not length:
            raise InvalidArgument("guess", "differ from the mean", "the mean", "give a target")
        kappas = (v @ (weights * taken)) / math.sqrt(rows * length)
    if references is not None:
        known = count("references", references, fix="use for example references=1000")
        kappas = kappas * math.sqrt(known / (known + rows))
    spread = math.sqrt(1.0 - 1.0 / rows) if finite else 1.0
    found = tuple(
        Leakage(float(kappa**2 * mean.subsample), float(kappa), mean.subsample, spread)
        for kappa in kappas
    )
    if exact:
        _check_exact(mean, guess, references)
        found = tuple(
            _exact(mean, leak, row, float(size))
            for leak, row, size in zip(found, np.atleast_2d(targets), square, strict=True)
        )
    return found[0] if targets.ndim == 1 else Ranking(found)


def printed_subsampling(leak: Leakage) -> Leakage:
    """What Theorem 6.6 prints of a sub-sampled mean: m* → ρm*. It is wrong but for small m*.

    Args:
        leak: The leakage of the whole mean.

    Returns:
        The leakage.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> whole = membership.leakage(columns, n=20, target=columns.easiest(), subsample=0.5)
        >>> round(membership.printed_subsampling(whole).score, 3)
        1.25
    """
    score = leak.subsample * leak.score
    return Leakage(score, math.sqrt(score))


def plain_advantage(law: Law, n: int, target: ArrayLike, guess: ArrayLike) -> float:
    """The advantage of a mistaken attacker who does not move the threshold.

    It is that of {ℓ_guess > 0}: Φ((m_scal - m_targ/2)/sqrt(m_targ)) - Φ(-sqrt(m_targ)/2).

    Args:
        law: The distribution of the data.
        n: How many records.
        target: The target's record.
        guess: The record that a mistaken attacker looks for.

    Returns:
        The advantage.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.5] * 50)
        >>> target, wrong = columns.easiest(), [1.0] * 40 + [0.0] * 10
        >>> round(membership.plain_advantage(columns, 20, target, target), 3)
        0.571
        >>> round(membership.plain_advantage(columns, 20, target, wrong), 3)
        0.348
    """
    from scipy.special import ndtr

    taken = leakage(law, n, guess)
    mixed = leakage(law, n, target, guess=guess)
    root = math.sqrt(taken.score)
    scalar = mixed.kappa * root
    return float(ndtr((scalar - taken.score / 2.0) / root) - ndtr(-root / 2.0))


def onion(rows: ArrayLike, drop: int, *, diagonal: bool = True) -> tuple[Matrix, Matrix]:
    """Leakage scores of those who stay, before and after the `drop` easiest targets left.

    Mean and covariance are estimated from the data each time; once the easiest are gone, the next
    layer is easier to find (Carlini et al. 2022).

    Args:
        rows: One record per row.
        drop: How many targets leave.
        diagonal: Whether columns are taken as independent.

    Returns:
        Scores before and after.

    Raises:
        InvalidArgument: If `rows` is not a finite array, or too few would stay.

    Example:
        >>> import numpy as np
        >>> from discreet import membership
        >>> data = np.random.default_rng(1).standard_normal((60, 5))
        >>> before, after = membership.onion(data, drop=10)
        >>> len(after), bool((after > before).mean() > 0.9)
        (50, True)
    """
    data = np.asarray(rows, float)
    if data.ndim != 2 or not np.isfinite(data).all():
        raise InvalidArgument("rows", "be a finite array (n, d)", f"shape {data.shape}", "see docs")
    drop = count("drop", drop)
    if len(data) - drop <= (1 if diagonal else data.shape[1]):
        raise InvalidArgument(
            "drop", "leave more points than columns", drop, "drop fewer, or use diagonal=True"
        )
    before = leakage(fitted(data, diagonal=diagonal), len(data), data).scores
    stay = np.sort(np.argsort(before, kind="stable")[: len(data) - drop])
    after = leakage(fitted(data[stay], diagonal=diagonal), len(stay), data[stay]).scores
    return before[stay], after


def fitted(rows: ArrayLike, *, diagonal: bool = True) -> Gaussian:
    """A Gaussian distribution with the mean and the (centred) covariance of these rows.

    Args:
        rows: One record per row.
        diagonal: Whether columns are taken as independent.

    Returns:
        The distribution.

    Raises:
        InvalidArgument: If there are too few rows.

    Example:
        >>> from discreet.membership import fitted
        >>> fitted([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).columns
        2
    """
    data = np.asarray(rows, float)
    if diagonal:
        return Gaussian(data.mean(axis=0), data.std(axis=0, ddof=1))
    if len(data) <= data.shape[1] + 1:
        raise InvalidArgument(
            "rows", "be more than columns + 1", len(data), "add rows, or use diagonal=True"
        )
    return Gaussian(data.mean(axis=0), covariance=np.cov(data, rowvar=False))


def _mean(law: Law | Mean, n: int | None, noise: float, subsample: float) -> Mean:
    if isinstance(law, Mean):
        if n is not None or noise or subsample != 1.0:
            raise InvalidArgument(
                "n, noise and subsample", "be left out where a Mean is given", n,
                "they are those of the Mean",
            )  # fmt: skip
        return law
    if n is None:
        raise InvalidArgument("n", "be given", None, "use n=100")
    return Mean(law, n, noise=noise, subsample=subsample)


def _check_exact(mean: Mean, guess: ArrayLike | None, references: int | None) -> None:
    mistaken = guess is not None or references is not None
    if mistaken or mean.noise or not isinstance(mean.law, Bernoulli | Gaussian):
        raise InvalidArgument(
            "exact", "be left out but for Bernoulli or Gaussian columns without noise, guess or "
            "references", True, "use exact=False, or play the game",
        )  # fmt: skip


def _exact(mean: Mean, leak: Leakage, target: Matrix, square: float) -> Leakage:
    if isinstance(mean.law, Gaussian):
        return ExactGaussianLeakage(
            leak.score, leak.kappa, mean.subsample, rows=mean.rows, columns=mean.law.columns,
            norm=square,
        )  # fmt: skip
    law = bernoulli_loss(mean.law.mean, target, mean.rows)
    return ExactLeakage(leak.score, leak.kappa, mean.subsample, law=law)


def _mixed_delta(kappa: float, subsample: float, epsilon: float) -> float:
    """δ(ε) of a sub-sampled Gaussian pair: see `LossLaw.delta` for the two directions."""
    a = math.log1p(math.expm1(epsilon) / subsample)
    forth = subsample * gaussian_delta(kappa, a)
    c = 1.0 - (1.0 - subsample) * math.exp(epsilon)
    if c <= 0.0:
        return forth
    return max(forth, c * gaussian_delta(kappa, math.log(subsample) + epsilon - math.log(c)))


def _epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    """The least ε with δ(ε) <= δ, by bisection."""
    if delta_at(0.0) <= delta:
        return 0.0
    if delta == 0.0:
        return math.inf
    low, high = 0.0, 1.0
    while delta_at(high) > delta:
        low, high = high, 2.0 * high
        if high > MOST_LOSS:
            return math.inf
    return least(lambda epsilon: delta_at(epsilon) <= delta, low, high, halvings=100)
