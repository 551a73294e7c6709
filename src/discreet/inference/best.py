"""The probability of being best: a posterior on what was released. Not error control.

For Bernoulli rewards a batch of b with noise Lap(1/ε), released as x, has the likelihood

    ℓ(u) = e^-εx (1-u+ue^ε)^b F(⌊x⌋; b, u⁺) + e^εx (1-u+ue^-ε)^b (1 - F(⌊x⌋; b, u⁻)),
    u± = ue^±ε/(1-u+ue^±ε), F the binomial distribution function (times ε/2),

for Σ_y C(b,y) u^y (1-u)^(b-y) e^{-ε|x-y|} splits at x, and e^{±εy} tilts the binomial. Other noise,
and large ε²b, where the two halves are far tails: the sum over y itself, near x. The posterior is
∝ prior · Πℓ on a grid of u = sin² θ, uniform in θ (Jeffreys' prior) or in u; P(a is best) =
Σ p_a Π_{c≠a} F_c. It answers "how likely" under the prior and says nothing about how often a rule
that acts on it errs: for that take evidence or intervals.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from ..identify.evidence import GAUSSIAN, NONE, Noise
from .record import AGAIN, Batch, Record, record_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRID = 400
FAR = 400.0
"""ε²b from which on the sum is taken near x."""
PRIORS = ("uniform", "jeffreys")


def probability_of_best(
    source: Any, *, prior: str = "uniform", grid: int = GRID
) -> dict[Any, float]:
    """P(arm has the highest mean | releases), by arm, for binary outcomes."""
    import numpy as np

    record = record_of(source)
    if prior not in PRIORS:
        raise InvalidArgument("prior", "be 'uniform' or 'jeffreys'", prior, "use 'uniform'")
    posteriors = np.array([posterior(record, arm, prior, grid) for arm in range(len(record.arms))])
    # cells of a grid: an arm is best in a cell if no other lies above; equals share
    below = np.cumsum(posteriors, axis=1) - 0.5 * posteriors
    best = []
    for arm in range(len(record.arms)):
        others = np.prod(np.delete(below, arm, axis=0), axis=0)
        best.append(float(posteriors[arm] @ others))
    whole = math.fsum(best)
    return {name: value / whole for name, value in zip(record.arms, best, strict=True)}


def posterior(record: Record, arm: int, prior: str, grid: int) -> NDArray[Any]:
    """The posterior of an arm's mean on the cells of the grid."""
    import numpy as np

    theta = (np.arange(grid) + 0.5) * (0.5 * math.pi / grid)
    mean = np.sin(theta) ** 2
    logs = np.log(np.sin(2.0 * theta)) if prior == "uniform" else np.zeros(grid)
    seen = 0.5 + (mean - 0.5) * record.recorded.factor
    if record.recorded.kind == AGAIN:
        size, total, _ = record.sums(arm)
        batches, noise = ([Batch(size, total)] if size else []), record.noise(arm)
    else:
        batches, noise = record.batches(arm), record.recorded.noise
    for batch in batches:
        logs = logs + log_likelihood(seen, batch, noise)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def log_likelihood(u: NDArray[Any], batch: Batch, noise: Noise) -> NDArray[Any]:
    """log ℓ(u) up to a constant."""
    import numpy as np

    b, x = batch.size, batch.total
    if noise.kind == NONE or noise.scale == 0.0:
        return np.asarray(x * np.log(u) + (b - x) * np.log1p(-u))
    if noise.each:  # many small noises: their sum is nearly normal
        spread = math.sqrt(2.0 * b) * noise.scale
        return _near(u, b, x, lambda y: -0.5 * ((x - y) / spread) ** 2, 10.0 * spread)
    if noise.kind == GAUSSIAN:
        return _near(u, b, x, lambda y: -0.5 * ((x - y) / noise.scale) ** 2, 10.0 * noise.scale)
    epsilon = 1.0 / noise.scale
    if epsilon * epsilon * b > FAR:
        return _near(u, b, x, lambda y: -epsilon * np.abs(x - y), 45.0 / epsilon)
    return _split(u, b, x, epsilon)


def _split(u: NDArray[Any], b: int, x: float, epsilon: float) -> NDArray[Any]:
    """The closed form for Laplace noise, in logs."""
    import numpy as np
    from scipy.stats import binom

    whole = math.floor(x)
    rise, fall = 1.0 + u * math.expm1(epsilon), 1.0 + u * math.expm1(-epsilon)
    below = -epsilon * x + b * np.log(rise)
    above = epsilon * x + b * np.log(fall)
    with np.errstate(divide="ignore"):
        below = below + binom.logcdf(whole, b, u * math.exp(epsilon) / rise)
        above = above + binom.logsf(whole, b, u * math.exp(-epsilon) / fall)
    return np.asarray(np.logaddexp(below, above))


def _near(u: NDArray[Any], b: int, x: float, log_noise: Any, reach: float) -> NDArray[Any]:
    """log Σ_y C(b,y) u^y (1-u)^(b-y) g(x - y) over the y within reach of x, or nearest to it."""
    import numpy as np
    from scipy.special import gammaln, logsumexp

    centre = min(max(x, 0.0), float(b))
    low, high = max(0, math.floor(centre - reach)), min(b, math.ceil(centre + reach))
    step = max(1, (high - low) // 4000)  # the terms are smooth on this scale
    y = np.arange(low, high + 1, step)
    terms = gammaln(b + 1.0) - gammaln(y + 1.0) - gammaln(b - y + 1.0) + log_noise(y)
    table = terms[:, None] + y[:, None] * np.log(u) + (b - y)[:, None] * np.log1p(-u)
    return np.asarray(logsumexp(table, axis=0))
