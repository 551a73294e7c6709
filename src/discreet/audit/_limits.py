"""What counts prove about a budget: lower bounds with a stated confidence.

Let an event have probability p on one input and q on its neighbour. Then
    (ε, δ)-DP:   p <= e^ε q + δ  and  1 - q <= e^ε (1 - p) + δ,
    μ-Gaussian:  Φ⁻¹(p) - Φ⁻¹(q) <= μ,
    (α, d)-Rényi and ρ-zCDP, over a partition:  Σ p_i^α q_i^(1-α) <= e^((α-1) d),  d <= αρ.
Every left side grows with p and falls with q, so it may be evaluated at a lower confidence limit of
p and an upper one of q. The limits are Clopper and Pearson's (1934), exact for every count. Of an
event and of its complement both are bounded by the same two limits: neither costs confidence.

Every attack of the package, on transcripts or by membership inference, proves its bound here.

>>> low = clopper_pearson_lower(500, 1000, 0.005)
>>> high = clopper_pearson_upper(100, 1000, 0.005)
>>> round(float(epsilon_bound(low, high, 0.0)), 3)
1.285
>>> round(epsilon_lower((500, 100), (1000, 1000), 0.01), 3)  # the same in one call
1.285
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidArgument
from ..privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from .._types import Floats, Ints

ORDERS = (1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0)
"""Rényi orders at which a zCDP claim is tested."""
LEVELS = tuple(0.05 * i for i in range(21)) + tuple(1.0 * 1.15**i for i in range(1, 40))
"""The ε at which a curve of (ε, δ) is looked at: from 0 to about 230."""

DEFAULT_DELTA = 1e-3
"""The δ at which claims without one, such as zCDP, are shown as an ε."""


def clopper_pearson_lower(hits: int | Ints, trials: int, error: float) -> NDArray[float64]:
    """The p at which so many hits or more have probability `error`; 0 for no hits.

    P(p < lower) <= error for every p. Arrays are taken element by element.
    """
    from scipy.special import betaincinv

    hits = np.asarray(hits, float)
    inside = betaincinv(np.maximum(hits, 1.0), trials - np.maximum(hits, 1.0) + 1.0, error)
    return np.where(hits > 0, inside, 0.0)


def clopper_pearson_upper(hits: int | Ints, trials: int, error: float) -> NDArray[float64]:
    """The p at which so many hits or fewer have probability `error`; 1 for nothing but hits."""
    return 1.0 - clopper_pearson_lower(trials - hits, trials, error)


def epsilon_lower(
    hits: tuple[int, int], trials: tuple[int, int], error: float, delta: float = 0.0
) -> float:
    """The largest ε that the counts of one event on two neighbouring inputs rule out at δ.

    `hits` of `trials` on the input on which the event is taken to be likelier, then on the other;
    which is which must be settled before counting. Two limits at error/2 each bound the event and
    its complement, so the bound exceeds the truth with probability at most `error`.
    """
    p = clopper_pearson_lower(hits[0], trials[0], error / 2.0)
    q = clopper_pearson_upper(hits[1], trials[1], error / 2.0)
    return float(epsilon_bound(p, q, delta))


def epsilon_bound(p: float | Floats, q: float | Floats, delta: float) -> Floats:
    """The largest ε that is ruled out: max{log((p-δ)/q), log((1-q-δ)/(1-p)), 0}."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.log(np.maximum(p - delta, 0.0) / q)
        outside = np.log(np.maximum(1.0 - q - delta, 0.0) / (1.0 - p))
    # of a NaN, 0/0, and a number the number counts
    bound: Floats = np.fmax(np.fmax(inside, outside), 0.0)
    return bound


def mu_bound(p: float | Floats, q: float | Floats) -> Floats:
    """Φ⁻¹(p) - Φ⁻¹(q), at least 0."""
    from scipy.special import ndtri

    with np.errstate(invalid="ignore"):
        return np.fmax(ndtri(p) - ndtri(q), 0.0)


def renyi_bound(p: NDArray[float64], q: NDArray[float64], order: float) -> float:
    """log(Σ p^α q^(1-α))/(α-1) over the parts of a partition, at least 0."""
    seen = p > 0.0
    if not seen.any():
        return 0.0
    terms = order * np.log(p[seen]) + (1.0 - order) * np.log(q[seen])
    return max(0.0, float(np.logaddexp.reduce(terms)) / (order - 1.0))


def rho_bound(p: NDArray[float64], q: NDArray[float64]) -> float:
    """The largest ρ that is ruled out: max over orders of the Rényi bound / α."""
    return max(renyi_bound(p, q, order) / order for order in ORDERS)


def allowed(budget: Budget, q: Floats) -> Floats:
    """The largest p that a budget allows where the neighbour has q: never too small."""
    from scipy.special import ndtr, ndtri

    if isinstance(budget, GaussianDP):
        return ndtr(ndtri(q) + budget.mu)
    q = np.asarray(q, float)[..., None]
    levels, deltas = _curve(budget)
    inside = np.exp(levels) * q + deltas
    outside = 1.0 - np.exp(-levels) * (1.0 - q - deltas)
    least: Floats = np.minimum(np.minimum(inside, outside).min(axis=-1), 1.0)
    return least


@lru_cache(maxsize=64)
def _curve(budget: Budget) -> tuple[Floats, Floats]:
    own = (budget.epsilon,) if isinstance(budget, Pure | Approximate) else ()
    levels = np.array(own + LEVELS)
    return levels, np.array([budget.delta_at(float(level)) for level in levels])


def delta_of(budget: Budget, delta: float | None = None) -> float:
    """The δ to bound ε at: the one given, else the claim's own, else 0 or `DEFAULT_DELTA`."""
    if delta is None:
        match budget:
            case Pure():
                return 0.0
            case Approximate(delta=own):
                return own
            case _:
                return DEFAULT_DELTA
    if not 0.0 <= delta < 1.0 or (delta == 0.0 and not isinstance(budget, Pure)):
        raise InvalidArgument(
            "delta", "lie in (0, 1), or be 0 for a pure claim", delta, "leave it out"
        )
    if isinstance(budget, Approximate) and delta < budget.delta:
        raise InvalidArgument(
            "delta", f"be at least the claim's own {budget.delta:g}", delta, "leave it out"
        )
    return float(delta)


def claimed_epsilon(budget: Budget, delta: float) -> float:
    """What a budget promises at δ, to hold against a bound."""
    return budget.epsilon if isinstance(budget, Pure) else budget.to_approximate(delta).epsilon


def own_parameter(budget: Budget) -> tuple[str, float]:
    """The number that a budget is stated by."""
    match budget:
        case ZCDP(rho=rho):
            return "rho", rho
        case GaussianDP(mu=mu):
            return "mu", mu
        case Renyi(epsilon=epsilon):
            return "renyi epsilon", epsilon
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon):
            return "epsilon", epsilon
        case _:
            return "epsilon", math.inf
