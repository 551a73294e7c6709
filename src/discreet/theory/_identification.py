"""Lower bounds on the samples that identify the best arm with error at most δ.

E τ >= T*(ε) log(1/(3δ)), with ω the shares of the samples, arm 1 the best and
1/T*(ε) = sup_ω min_a min{ inf_x ω_1 KL(μ_1, x) + ω_a KL(μ_a, x),  ε tv_a min(ω_1, ω_a) },
tv_a = TV of arms 1 and a (Δ_a for Bernoulli arms). ε = inf gives T*_KL; the second term alone gives
T*_TV/ε, T*_TV = 1/tv_min + Σ 1/tv_a. A β-version fixes ω_1 = β.

With ω_a = x_a ω_1 the inner value of arm a is ω_1 h_a(x_a), h_a growing and concave, so for a level
y = h_a(x_a) the shares follow, and T* = min over y of (1 + Σ x_a(y))/y: one variable.
Garivier & Kaufmann 2016; Azize 2024, Theorem 4.24 and Proposition 4.26; Azize et al. 2026.

Sharper, for Bernoulli arms: E τ >= T*_d(ε) log(1/(2.4δ)), 1/T*_d(ε) = sup_ω min_a inf_u
ω_1 d⁻(μ_1, u) + ω_a d⁺(μ_a, u), with d⁺(x, y) = inf_z ε|z-x| + kl(z, y) for x <= y and
d⁻(x, y) = d⁺(1-x, 1-y); the same one variable (Jourdan & Azize 2025).

>>> round(characteristic_time([0.75, 0.5], epsilon=0.1).samples), 2 / 0.25 / 0.1
(80, 80.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._checks import means_of, one_best, positive, share
from ..errors import InvalidArgument
from ..policies._divergences import kl, private_divergence
from ._bound import RISK, SAMPLES, bound
from ._distances import gaussian_tvinf

FAMILIES = ("bernoulli", "gaussian")
SD = 0.5
"""Rewards in [0, 1] are no wider than a Gaussian of this sd."""


class Allocation(NamedTuple):
    """T* (samples per log 1/(3δ)) and the shares of the samples that attain it.

    Example:
        >>> from discreet import theory
        >>> found = theory.characteristic_time([0.75, 0.5])
        >>> round(found.samples, 1), [round(share, 2) for share in found.shares]
        (29.6, [0.51, 0.49])
    """

    samples: float
    shares: tuple[float, ...]


class _Pair(NamedTuple):
    """The best arm against another: largest information, total variation, and the means."""

    best: float
    other: float
    most: float
    tv: float
    sd: float

    def information(self, x: float) -> float:
        """inf over m of KL(best, m) + x KL(other, m)."""
        if self.sd > 0.0:
            return self.most * x / (1.0 + x)
        if x == 0.0:
            return 0.0
        middle = (self.best + x * self.other) / (1.0 + x)
        return kl(self.best, middle) + x * kl(self.other, middle)

    def ratio(self, level: float, epsilon: float) -> float:
        """The least x with min(information(x), ε tv min(1, x)) >= level; infinite if none."""
        if level > self.limit(epsilon):
            return math.inf
        private = level / (epsilon * self.tv)
        if level >= self.most:
            return math.inf
        if self.sd > 0.0:
            return max(private, level / (self.most - level))
        return max(private, _inverse(self.information, level))

    def limit(self, epsilon: float) -> float:
        """What no x exceeds."""
        return min(self.most, epsilon * self.tv)


@bound(
    "lower", "samples", RISK,
    domain="ε-view DP, δ-correct; Bernoulli or Gaussian arms, one of them best",
    reference="azize2026", statement="the lower bound for private best-arm identification",
)  # fmt: skip
def characteristic_time(
    means: Sequence[float],
    epsilon: float = math.inf,
    *,
    beta: float | None = None,
    family: str = "bernoulli",
    sd: float = 1.0,
) -> Allocation:
    """T*(ε) with its allocation; ε = inf gives T*_KL; `beta` fixes the share of the best arm.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.
        beta: The share of the best arm; default: the best share.
        family: "bernoulli" or "gaussian" rewards.
        sd: The standard deviation of rewards.

    Returns:
        The characteristic time, and the shares that attain it.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.characteristic_time([0.75, 0.5]).samples, 3)
        29.551
    """
    best, pairs = _pairs(means, family, sd)
    return _allocated(best, pairs, positive("epsilon", epsilon, infinite=True), beta)


def _allocated(
    best: int, pairs: Sequence[_Pair | _PrivatePair], epsilon: float, beta: float | None
) -> Allocation:
    top = min(pair.limit(epsilon) for pair in pairs)

    def total(level: float) -> float:
        return math.fsum(pair.ratio(level, epsilon) for pair in pairs)

    if beta is None:
        level = _least(lambda y: (1.0 + total(y)) / y, top)
        ratios = [pair.ratio(level, epsilon) for pair in pairs]
        first = 1.0 / (1.0 + math.fsum(ratios))
    else:
        first = share("beta", beta)
        room = (1.0 - first) / first
        level = top if total(top) <= room else _root(total, room, top)
        ratios = [pair.ratio(level, epsilon) for pair in pairs]
        # room that no level needs is spread evenly: it costs nothing and gains nothing
        stretch = room / math.fsum(ratios)
        ratios = [ratio * stretch for ratio in ratios]
    shares = [first * ratio for ratio in ratios]
    shares.insert(best, first)
    return Allocation(1.0 / (first * level), tuple(shares))


class _PrivatePair(NamedTuple):
    """The best arm against another, in d_ε."""

    best: float
    other: float

    def information(self, x: float, epsilon: float) -> float:
        """inf over u of d⁻(best, u) + x d⁺(other, u): convex in u, so its slope is bisected."""
        from ..identify._evidence_top_two import rising_slope

        low, high, kept = self.other, self.best, math.exp(-epsilon)
        for _ in range(45):
            u = 0.5 * (low + high)
            fall = rising_slope(1.0 - self.best, 1.0 - u, kept)
            if x * rising_slope(self.other, u, kept) < fall:
                low = u
            else:
                high = u
        rise = x * private_divergence(self.other, u, epsilon)
        return rise + private_divergence(1.0 - self.best, 1.0 - u, epsilon)

    def ratio(self, level: float, epsilon: float) -> float:
        """The least x with information(x) >= level; infinite if none."""
        if level >= self.limit(epsilon):
            return math.inf
        return _inverse(lambda x: self.information(x, epsilon), level)

    def limit(self, epsilon: float) -> float:
        """What no x exceeds: u at the other arm's mean."""
        return private_divergence(1.0 - self.best, 1.0 - self.other, epsilon)


@bound(
    "lower", "samples", RISK,
    domain="ε-DP, δ-correct; Bernoulli arms, one of them best",
    reference="jourdan2025", statement="the lower bound in d_ε",
)  # fmt: skip
def private_characteristic_time(
    means: Sequence[float], epsilon: float = math.inf, *, beta: float | None = None
) -> Allocation:
    """T*_d(ε) with its allocation: samples per log(1/(2.4δ)) of every δ-correct ε-DP procedure.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.
        beta: The share of the best arm; default: the best share.

    Returns:
        The characteristic time, and the shares that attain it.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.private_characteristic_time([0.75, 0.5]).samples, 3)
        29.551
    """
    clean = means_of(means)
    best, _ = one_best(clean)
    pairs = [_PrivatePair(clean[best], m) for a, m in enumerate(clean) if a != best]
    return _allocated(best, pairs, positive("epsilon", epsilon, infinite=True), beta)


@bound(
    "lower", "samples", RISK,
    domain="ε = 1 of pure view DP alone; Bernoulli or Gaussian arms, one of them best",
    reference="azize2026", statement="the closed form of T*_TV",
)  # fmt: skip
def total_variation_time(
    means: Sequence[float], *, family: str = "bernoulli", sd: float = 1.0
) -> float:
    """T*_TV = 1/tv_min + Σ 1/tv_a: the high-privacy regime needs T*_TV/ε per log(1/(3δ)).

    Args:
        means: The mean reward of every arm.
        family: "bernoulli" or "gaussian" rewards.
        sd: The standard deviation of rewards.

    Returns:
        The characteristic time T*_TV.

    Example:
        >>> from discreet import theory
        >>> round(theory.total_variation_time([0.75, 0.5]), 3)
        8.0
    """
    tvs = [pair.tv for pair in _pairs(means, family, sd)[1]]
    return 1.0 / min(tvs) + math.fsum(1.0 / tv for tv in tvs)


@bound(
    "lower", "samples", SAMPLES,
    domain="ε-view DP, δ-correct, δ < 1/3; Bernoulli or Gaussian arms, one of them best",
    reference="azize2026", statement="the lower bound for private best-arm identification",
)  # fmt: skip
def identification_samples(
    means: Sequence[float],
    risk: float | None = None,
    epsilon: float = math.inf,
    *,
    family: str = "bernoulli",
    sd: float = 1.0,
) -> float:
    """T*(ε) log(1/(3δ)): samples that any ε-DP procedure needs on average whose risk of a wrong
    answer is δ.

    Args:
        means: The mean reward of every arm.
        risk: The risk δ of a wrong answer; default: per log(1/(3δ)).
        epsilon: The privacy budget ε.
        family: "bernoulli" or "gaussian" rewards.
        sd: The standard deviation of rewards.

    Returns:
        The bound on the expected number of samples.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.identification_samples([0.75, 0.5], 0.05, 1.0), 3)
        56.061
    """
    risk = share("risk", risk, below=1.0 / 3.0)
    return characteristic_time(means, epsilon, family=family, sd=sd).samples * math.log(
        1.0 / (3.0 * risk)
    )


@bound(
    "upper", "samples", RISK,
    domain="AdaP-TT; rewards in [0, 1]; means all different; 0 < β < 1; as δ falls to 0",
    reference="azize2026", statement="the sample complexity of AdaP-TT",
)  # fmt: skip
def adap_tt_samples(means: Sequence[float], epsilon: float, beta: float = 0.5) -> float:
    """4 T*_KL,β (1 + sqrt(1 + Δmax²/(2σ⁴ε²))), σ = 1/2, T*_KL,β that of Gaussian arms of sd σ.

    An upper bound on the samples that AdaP-TT needs, per log 1/δ, as δ falls to 0.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.
        beta: The share of the best arm; default: the best share.

    Returns:
        The bound on the expected number of samples.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adap_tt_samples([0.75, 0.5], 1.0))
        285
    """
    means = _different(means)
    epsilon = positive("epsilon", epsilon, infinite=True)
    time = characteristic_time(means, beta=beta, family="gaussian", sd=SD).samples
    widest = max(means) - min(means)
    return 4.0 * time * (1.0 + math.sqrt(1.0 + widest**2 / (2.0 * SD**4 * epsilon**2)))


@bound(
    "upper", "samples", RISK,
    domain="AdaP-TT*; rewards in [0, 1]; means all different; 0 < β < 1; as δ falls to 0",
    reference="azize2024thesis", statement="Theorem 5.23, with 3 replaced by the version's c",
)  # fmt: skip
def adap_tt_star_samples(
    means: Sequence[float], epsilon: float, beta: float = 0.5, version: str = "jmlr"
) -> float:
    """4 T*_KL,β g1(Δmax/(σ²ε)) if Δmax < cε, else (4c/σ²) T*_c,β g2(c ε² T*_c,β max(β, 1-β)/2).

    An upper bound on the samples that AdaP-TT* needs, per log 1/δ, as δ falls to 0.

    1/T*_c,β = sup over ω with ω_1 = β of min_a Δ_a min(cε, Δ_a)/(2σ²(1/β + 1/ω_a)), σ = 1/2;
    c = 1/2 in the journal and 3 in the thesis. g1(y) is the largest x with
    x² = x + y sqrt(2x) + y²/4, and g2(y) = 1 + 2/(sqrt(1 + 1/y) - 1).

    As printed it is not monotone in ε: the second branch grows with g2 until Δmax = cε, where it
    gives way to the first, a small fraction of it.

    Args:
        means: The mean reward of every arm.
        epsilon: The privacy budget ε.
        beta: The share of the best arm; default: the best share.
        version: Which printed version of the theorem.

    Returns:
        The bound on the expected number of samples.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adap_tt_star_samples([0.75, 0.5], 1.0))
        268
    """
    from ..identify._costs import VERSIONS

    means, epsilon = _different(means), positive("epsilon", epsilon, infinite=True)
    if version not in VERSIONS:
        known = " or ".join(map(repr, VERSIONS))
        raise InvalidArgument("version", f"be {known}", version, "use 'jmlr'")
    c = VERSIONS[version]
    widest = max(means) - min(means)
    if widest < c * epsilon:
        time = characteristic_time(means, beta=beta, family="gaussian", sd=SD).samples
        return 4.0 * time * _g1(widest / (SD**2 * epsilon))
    best, pairs = _pairs(means, "gaussian", SD)
    capped = [
        pair._replace(most=pair.most * min(1.0, c * epsilon / (pair.best - pair.other)))
        for pair in pairs
    ]
    time = _allocated(best, capped, math.inf, beta).samples
    y = 0.5 * c * epsilon**2 * time * max(beta, 1.0 - beta)
    return 4.0 * c / SD**2 * time * (1.0 + 2.0 / (math.sqrt(1.0 + 1.0 / y) - 1.0))


def _g1(y: float) -> float:
    """The largest x with x² = x + y sqrt(2x) + y²/4; 1 at y = 0."""
    from scipy.optimize import brentq

    def rest(x: float) -> float:
        return x * x - x - y * math.sqrt(2.0 * x) - 0.25 * y * y

    high = 2.0
    while rest(high) <= 0.0:
        high *= 2.0
    return float(brentq(rest, 1.0, high, xtol=1e-13))


def _different(means: Sequence[float]) -> tuple[float, ...]:
    clean = means_of(means)
    if len(set(clean)) < len(clean):
        raise InvalidArgument("means", "be all different", list(clean), "move one of the equals")
    return clean


def _pairs(means: Sequence[float], family: str, sd: float) -> tuple[int, list[_Pair]]:
    if family not in FAMILIES:
        raise InvalidArgument("family", f"be {' or '.join(FAMILIES)}", family, "use 'bernoulli'")
    if family == "gaussian":
        sd = positive("sd", sd)
        clean = means_of(means, -math.inf, math.inf)
        best, gaps = one_best(clean)
        return best, [
            _Pair(clean[best], clean[a], 0.5 * (gap / sd) ** 2, gaussian_tvinf(gap, sd), sd)
            for a, gap in enumerate(gaps)
            if a != best
        ]
    clean = means_of(means)
    best, gaps = one_best(clean)
    top = clean[best]
    others = [m for a, m in enumerate(clean) if a != best]
    return best, [_Pair(top, m, kl(top, m), top - m, 0.0) for m in others]


def _inverse(growing: Callable[[float], float], level: float) -> float:
    """The x >= 0 where a growing function reaches a level that it does reach."""
    from scipy.optimize import brentq

    high = 1.0
    while growing(high) < level:
        high *= 4.0
        if high > 1e30:
            return math.inf
    return float(brentq(lambda x: growing(x) - level, 0.0, high, xtol=1e-14, rtol=1e-13))


def _least(function: Callable[[float], float], top: float) -> float:
    """Where a quasi-convex function on (0, top] is least: golden section, then the end itself."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    low, high = 0.0, top
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > 1e-10 * top:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    middle = 0.5 * (low + high)
    return top if function(top) <= function(middle) else middle


def _root(growing: Callable[[float], float], level: float, top: float) -> float:
    """The y in (0, top) where a growing function, maybe infinite near top, reaches a level."""
    low, high = 0.0, top
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if growing(middle) < level:
            low = middle
        else:
            high = middle
    return low
