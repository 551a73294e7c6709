"""Tails of sums of Bernoulli rewards with noise, and Chernoff's bounds for any rewards in [0, 1].

    Laplace, y >= 0:  P(Y_k >= y) = Σ_{j<k} (2k-2-j)!/((k-1)!(k-1-j)! 2^{2k-1-j}) Q(j+1, y/b)
    P_u(Bin(n, u) + Y_k >= s) = Σ_j P(Bin(n, u) = j) P(Y_k >= s - j)

Q is the regularised upper incomplete gamma function. Discrete noise on a grid of step h is coupled
to the continuous one within h, draw by draw (both |G| <= |X| + h and |X| <= |G| + h), so that a sum
of k draws is shifted by at most k h: the limits give that away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..identify._chernoff import deviation, law_of
from ..policies.releases._entries import GAUSSIAN, Noise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._types import Floats

HALVINGS = 40
NEGLIGIBLE = 45.0
"""e^-45: noise beyond it is left out of no tail, it is counted as if it always were there."""
WIDEST = 400_000
"""Values of a binomial sum that are added up; a wider noise is bounded instead."""


def laplace_tail(y: ArrayLike, scale: float, draws: int) -> Floats:
    """P(Y_k >= y) of the sum of k Laplace draws."""
    import numpy as np
    from scipy.special import gammaincc, gammaln

    y = np.asarray(y, float)
    far = np.abs(y) / scale
    j = np.arange(draws)
    logs = gammaln(2 * draws - 1 - j) - gammaln(draws) - gammaln(draws - j)
    weights = np.exp(logs - (2 * draws - 1 - j) * math.log(2.0))
    upper = sum(w * gammaincc(number + 1, far) for number, w in enumerate(weights))
    return np.asarray(np.where(y >= 0.0, upper, 1.0 - upper))


def noise_tail(noise: Noise, draws: int) -> tuple[Callable[[ArrayLike], Floats], float]:
    """y -> P(Y_k >= y), and a y beyond which that is negligible."""
    import numpy as np
    from scipy.special import ndtr

    if draws == 0 or noise.scale == 0.0:
        return (lambda y: (np.asarray(y) <= 0.0).astype(float)), 0.0
    if noise.kind == GAUSSIAN:
        spread = noise.scale * math.sqrt(draws)
        return (lambda y: ndtr(-np.asarray(y) / spread)), 9.5 * spread
    # Chernoff: P(Y >= y) <= exp(-ly - k log(1 - l²b²)) at l = 0.7/b
    reach = noise.scale * (NEGLIGIBLE + 0.68 * draws) / 0.7
    return (lambda y: laplace_tail(y, noise.scale, draws)), reach


def upper_tail(n: int, s: float, noise: Noise, draws: int) -> Callable[[float], float] | None:
    """u -> P_u(Bin(n, u) + Y_k >= s), a little more than that; None if it would take too long."""
    import numpy as np
    from scipy.special import bdtrc, gammaln, xlog1py, xlogy

    tail, reach = noise_tail(noise, draws)
    low, high = max(0, math.floor(s - reach)), min(n, math.ceil(s + reach))
    if high - low > WIDEST:
        return None
    if low > high:
        certain = 1.0 if s <= 0.0 else math.exp(-NEGLIGIBLE)
        return lambda u: certain
    j = np.arange(low, high + 1)
    weights = tail(s - j)
    choose = gammaln(n + 1.0) - gammaln(j + 1.0) - gammaln(n - j + 1.0)

    def probability(u: float) -> float:
        pmf = np.exp(choose + xlogy(j, u) + xlog1py(n - j, -u))
        above = float(bdtrc(high, n, u)) if high < n else 0.0
        return min(1.0, float(pmf @ weights) + above + math.exp(-NEGLIGIBLE))

    return probability


def exact_limits(
    n: int, s: float, noise: Noise, draws: int, alpha: float, slack: float = 0.0
) -> tuple[float, float] | None:
    """The u in [0, 1] that neither tail refuses at α/2, for Bernoulli rewards."""
    low = upper_tail(n, s - slack, noise, draws)
    high = upper_tail(n, n - s - slack, noise, draws)  # failures, with the noise turned round
    if low is None or high is None:
        return None
    return _first(low, alpha / 2.0), 1.0 - _first(high, alpha / 2.0)


def chernoff_limits(
    n: int, s: float, noise: Noise, draws: int, alpha: float
) -> tuple[float, float]:
    """{u : J⁺(u) <= log(2/α) and J⁻(u) <= log(2/α)}, for any rewards in [0, 1]."""
    level = math.log(2.0 / alpha)
    law = law_of(noise, 0.0)

    def refused(total: float) -> float:
        return _first(
            lambda u: math.exp(level - deviation(law, total, float(n), float(draws), u)[0]), 1.0
        )

    return refused(s), 1.0 - refused(n - s)


def _first(growing: Callable[[float], float], level: float) -> float:
    """The largest u that is refused: a tail grows with u, and is refused below the level."""
    if growing(1.0) < level:
        return 1.0
    return last_refused(lambda u: growing(u) < level, 0.0, 1.0)


def last_refused(
    refused: Callable[[float], bool], low: float, high: float, halvings: int = HALVINGS
) -> float:
    """How far from `low` towards `high` everything is refused: `low` itself if it is not."""
    if not refused(low):
        return low
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        if refused(middle):
            low = middle
        else:
            high = middle
    return low
