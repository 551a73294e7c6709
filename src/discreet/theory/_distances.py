"""How far an arm is from being the best: KLinf, TVinf and d_ε.

KLinf(P, μ*) = inf{KL(P, Q) : mean of Q >= μ*} and TVinf(P, μ*) = inf{TV(P, Q) : mean of Q >= μ*},
Q in the family of P:
- Bernoulli: kl(μ, μ*) and μ* - μ.
- Gaussian of known sd: Δ²/(2 sd²) and 2Φ(Δ/(2 sd)) - 1.
- any law on [0, 1], given by its finite support: the convex program has the dual
  KLinf = max over λ in [0, 1] of E log(1 - λ (X-μ*)/(1-μ*)) (Honda & Takemura), and the linear
  one for TVinf is solved by moving mass from the lowest values up to 1.
d_ε(x, y) = inf over z in [x, y] of ε|z-x| + kl(z, y), Bernoulli: what an ε-private release leaves.

>>> klinf(FiniteLaw([0.0, 0.5, 1.0], [0.3, 0.4, 0.3]), 0.6) > klinf(0.5, 0.6)
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .._checks import means_of, positive
from ..errors import InvalidArgument
from ..policies._divergences import kl, private_divergence

if TYPE_CHECKING:
    from ..arms import Environment

SUM_ERROR = 1e-9
"""Probabilities may miss 1 by so much."""


@dataclass(frozen=True, init=False)
class FiniteLaw:
    """A reward distribution on finitely many values in [0, 1].

    Example:
        >>> from discreet import theory
        >>> rewards = theory.FiniteLaw([0.0, 0.5, 1.0], [0.2, 0.5, 0.3])
        >>> round(rewards.mean, 2)
        0.55
        >>> round(theory.klinf(rewards, 0.7), 4)
        0.0968
    """

    values: tuple[float, ...]
    probabilities: tuple[float, ...]

    def __init__(self, values: Sequence[float], probabilities: Sequence[float]) -> None:
        values = means_of([*values, 0.0])[:-1]  # the same rules, for one value or more
        weights = means_of([*probabilities, 0.0])[:-1]
        if len(values) != len(weights):
            raise InvalidArgument(
                "probabilities", f"match the {len(values)} values", list(weights), "give one each"
            )
        if abs(math.fsum(weights) - 1.0) > SUM_ERROR:
            raise InvalidArgument("probabilities", "add up to 1", list(weights), "rescale them")
        total = math.fsum(weights)
        pairs = sorted((v, w / total) for v, w in zip(values, weights, strict=True) if w > 0.0)
        object.__setattr__(self, "values", tuple(v for v, _ in pairs))
        object.__setattr__(self, "probabilities", tuple(w for _, w in pairs))

    @property
    def mean(self) -> float:
        """E X."""
        return math.fsum(v * w for v, w in zip(self.values, self.probabilities, strict=True))


class Arm(NamedTuple):
    """One arm against the best: its gap, KLinf and TVinf."""

    gap: float
    kl: float
    tv: float


def klinf(arm: float | FiniteLaw, best: float) -> float:
    """KLinf of a Bernoulli mean or of a law on [0, 1]; 0 if the arm is no worse.

    Args:
        arm: A Bernoulli mean, or a distribution on [0, 1].
        best: The mean of the best arm.

    Returns:
        The divergence KLinf.

    Example:
        >>> from discreet import theory
        >>> round(theory.klinf(0.5, 0.75), 3)
        0.144
    """
    if not isinstance(arm, FiniteLaw):
        mean, best = means_of([arm, best])
        return kl(mean, best) if mean < best else 0.0
    best = means_of([0.0, best])[1]
    if arm.mean >= best:
        return 0.0
    if best == 1.0:
        return math.inf
    return _dual(arm, best)


def _dual(arm: FiniteLaw, best: float) -> float:
    """max over λ in [0, 1] of E log(1 - λu), u = (X-μ*)/(1-μ*): its derivative only falls."""
    from scipy.optimize import brentq

    lifts = [(v - best) / (1.0 - best) for v in arm.values]
    pairs = list(zip(lifts, arm.probabilities, strict=True))

    def slope(x: float) -> float:
        return math.fsum(-p * u / (1.0 - x * u) for u, p in pairs)

    top = 1.0
    if lifts[-1] >= 1.0:  # mass at 1 keeps λ below 1
        top = 1.0 - 1e-15
    x = top if slope(top) >= 0.0 else float(brentq(slope, 0.0, top, xtol=1e-15))
    return max(0.0, math.fsum(p * math.log1p(-x * u) for u, p in pairs))


def tvinf(arm: float | FiniteLaw, best: float) -> float:
    """TVinf of a Bernoulli mean or of a law on [0, 1]; 0 if the arm is no worse.

    Args:
        arm: A Bernoulli mean, or a distribution on [0, 1].
        best: The mean of the best arm.

    Returns:
        The distance TVinf.

    Example:
        >>> from discreet import theory
        >>> round(theory.tvinf(0.5, 0.75), 3)
        0.25
    """
    if not isinstance(arm, FiniteLaw):
        mean, best = means_of([arm, best])
        return max(0.0, best - mean)
    best = means_of([0.0, best])[1]
    missing, moved = best - arm.mean, 0.0
    for value, mass in zip(arm.values, arm.probabilities, strict=True):
        if missing <= 0.0:
            break
        part = min(mass, missing / (1.0 - value)) if value < 1.0 else mass
        moved += part
        missing -= part * (1.0 - value)
    return moved


def gaussian_klinf(gap: float, sd: float = 1.0) -> float:
    """The Kullback-Leibler divergence between two Gaussian distributions whose means differ by Δ.

    It is Δ²/(2 sd²).

    Args:
        gap: The gap Δ of the arm.
        sd: The standard deviation of rewards.

    Returns:
        The divergence.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.gaussian_klinf(0.25), 3)
        0.031
    """
    return 0.5 * (gap / positive("sd", sd)) ** 2


def gaussian_tvinf(gap: float, sd: float = 1.0) -> float:
    """The total variation between two Gaussian distributions whose means differ by Δ.

    It is 2Φ(Δ/(2 sd)) - 1 = erf(Δ/(2 sqrt2 sd)).

    Args:
        gap: The gap Δ of the arm.
        sd: The standard deviation of rewards.

    Returns:
        The distance.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.gaussian_tvinf(0.25), 3)
        0.099
    """
    return math.erf(gap / (2.0 * math.sqrt(2.0) * positive("sd", sd)))


def d_epsilon(mean: float, best: float, epsilon: float) -> float:
    """d_ε(μ, μ*), Bernoulli; kl(μ, μ*) where ε is infinite.

    Args:
        mean: The mean of the arm.
        best: The mean of the best arm.
        epsilon: The privacy budget ε.

    Returns:
        The divergence d_ε.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.d_epsilon(0.5, 0.75, 1.0), 3)
        0.143
    """
    mean, best = means_of([mean, best])
    epsilon = positive("epsilon", epsilon, infinite=True)
    if math.isinf(epsilon):
        return kl(mean, best) if mean < best else 0.0
    return private_divergence(mean, best, epsilon)


def compared(arms: Sequence[float] | Sequence[FiniteLaw] | Environment) -> list[Arm]:
    """Every worse arm against the best one: Bernoulli means, laws on [0, 1], or a reward law."""
    from ..arms import Bernoulli, Environment, Gaussian, TwoPoint

    if isinstance(arms, Gaussian):
        best = max(arms.means)
        return [
            Arm(best - m, gaussian_klinf(best - m, s), gaussian_tvinf(best - m, s))
            for m, s in zip(arms.means, arms.sd, strict=True)
            if m < best
        ]
    if isinstance(arms, TwoPoint):
        ends = zip(arms.low, arms.high, arms.probability, strict=True)
        return compared([FiniteLaw((x, y), (1.0 - p, p)) for x, y, p in ends])
    if isinstance(arms, Bernoulli):
        return compared(arms.means)
    if isinstance(arms, Environment):
        raise InvalidArgument(
            "arms", "be Bernoulli, Gaussian, two-point or finite laws", arms.name,
            "give the support of every arm as a FiniteLaw",
        )  # fmt: skip
    laws = [law for law in arms if isinstance(law, FiniteLaw)] if hasattr(arms, "__iter__") else []
    if laws:
        if len(laws) < 2 or len(laws) < len(arms):
            raise InvalidArgument("arms", "be two or more, all FiniteLaw", arms, "add an arm")
        means = [law.mean for law in laws]
        best = max(means)
        pairs = zip(laws, means, strict=True)
        return [Arm(best - m, klinf(p, best), tvinf(p, best)) for p, m in pairs if m < best]
    bernoulli = means_of(arms)
    best = max(bernoulli)
    return [Arm(best - m, kl(m, best), best - m) for m in bernoulli if m < best]
