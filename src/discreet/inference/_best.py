"""The probability of being best: a posterior on what was released. Not error control.

For Bernoulli rewards a batch of b with noise Lap(1/ε), released as x, has the likelihood

    ℓ(u) = e^-εx (1-u+ue^ε)^b F(⌊x⌋; b, u⁺) + e^εx (1-u+ue^-ε)^b (1 - F(⌊x⌋; b, u⁻)),
    u± = ue^±ε/(1-u+ue^±ε), F the binomial distribution function (times ε/2),

for Σ_y C(b,y) u^y (1-u)^(b-y) e^{-ε|x-y|} splits at x, and e^{±εy} tilts the binomial. Other noise,
and large ε²b, where the two halves are far tails: the sum over y itself, near x. The posterior is
∝ prior · Πℓ on a grid of u = sin² θ, uniform in θ (Jeffreys' prior) or in u; P(a is best) =
Σ p_a Π_{c≠a} F_c. Discrete noise on a grid that holds the counts has the same likelihoods up to a
constant. Of a pair with missing outcomes, R = m + noise answers of n and S = y - m/2 + noise,

    ℓ(u, q) = Σ_m Bin(m; n, q) g_R(R - m) ℓ_m(u; x = S + m/2),

q the probability of an answer, one for all blocks of an arm, uniform and integrated out.

It answers "how likely" under the prior and says nothing about how often a rule
that acts on it errs: for that take evidence or intervals.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..errors import InvalidArgument
from ..policies.releases._entries import AGAIN, GAUSSIAN, NONE, PAIR, Noise
from ._record import Batch, PairBlock, Record, record_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._checks import Name
    from .._types import Floats

GRID = 400
FAR = 400.0
"""ε²b from which on the sum is taken near x."""
SHARES = 60
"""Values of q."""
ANSWERS = 100
"""Values of m, at about so many of which the sum is taken: its terms are smooth on that scale."""
PRIORS = ("uniform", "jeffreys")


def probability_of_best(
    source: object, *, prior: str = "uniform", grid: int = GRID, run: int = 0
) -> dict[Name, float]:
    """The probability that each arm has the highest mean, given the releases; for binary outcomes.

    A posterior under the same prior for each arm, with the noise taken into account. It promises
    nothing about how often it is wrong: for that, take `differences` or `evidence`.

    Args:
        source: A trial, a rehearsal, a report, a `Record`, or a result of `simulate` or `identify`.
        prior: "uniform" or "jeffreys".
        grid: Cells of the grid on which it is computed.
        run: Which run of a result, from 0.

    Returns:
        The probabilities, by arm; their sum is 1.

    Raises:
        InvalidArgument: If an argument breaks its rule, or the releases do not speak of means.

    Example:
        >>> import discreet
        >>> from discreet.inference import Record, probability_of_best, recording
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> recorded = recording(policy, policy.setting(2, 300))
        >>> history = (((15, 0.7), (30, 0.6)), ((15, 0.5), (30, 0.4)))  # pulls, released mean
        >>> record = Record(recorded, ("drug", "placebo"), history, binary=True)
        >>> {arm: round(p, 2) for arm, p in probability_of_best(record).items()}
        {'drug': 0.9, 'placebo': 0.1}
    """
    import numpy as np

    record = record_of(source, run)
    if record.recorded.sigmoid:
        raise InvalidArgument(
            "source", "release outcomes and not their sigmoids", "a policy for rewards of any size",
            "take intervals or differences, which hold for sigmoids too",
        )  # fmt: skip
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


def posterior(record: Record, arm: int, prior: str, grid: int) -> Floats:
    """The posterior of an arm's mean on the cells of the grid."""
    import numpy as np

    theta = (np.arange(grid) + 0.5) * (0.5 * math.pi / grid)
    mean = np.sin(theta) ** 2
    logs = np.log(np.sin(2.0 * theta)) if prior == "uniform" else np.zeros(grid)
    seen = 0.5 + (mean - 0.5) * record.recorded.factor
    if record.recorded.kind == PAIR:
        return _normal(logs + pair_logs(seen, record, arm))
    if record.recorded.kind == AGAIN:
        size, total, _ = record.sums(arm)
        batches, noise = ([Batch(size, total)] if size else []), record.noise(arm)
    else:
        batches, noise = record.batches(arm), record.recorded.noise
    for batch in batches:
        logs = logs + log_likelihood(seen, batch, noise)
    return _normal(logs)


def _normal(logs: Floats) -> Floats:
    import numpy as np

    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def pair_logs(u: Floats, record: Record, arm: int) -> Floats:
    """log ∫ Π ℓ(u, q) dq of an arm's blocks, up to a constant."""
    import numpy as np
    from scipy.special import logsumexp

    noise, count = record.recorded.noise, record.recorded.count
    assert count is not None
    share = (np.arange(SHARES) + 0.5) / SHARES
    logs = np.zeros((SHARES, len(u)))
    for block in record.pairs(arm):
        logs = logs + _block_logs(u, share, block, noise, count)
    return np.asarray(logsumexp(logs, axis=0))


def _block_logs(u: Floats, share: Floats, block: PairBlock, noise: Noise, count: Noise) -> Floats:
    """log ℓ(u, q), by q and u."""
    import numpy as np
    from scipy.special import gammaln

    n = block.size
    reach = 45.0 * count.scale if count.kind != GAUSSIAN else 10.0 * count.scale
    centre = min(max(block.answers, 0.0), float(n))
    low, high = max(0, math.floor(centre - reach)), min(n, math.ceil(centre + reach))
    answers = np.arange(low, high + 1, max(1, (high - low) // ANSWERS))
    off = (block.answers - answers) / count.scale
    drawn = -0.5 * off**2 if count.kind == GAUSSIAN else -np.abs(off)
    drawn = drawn + gammaln(n + 1.0) - gammaln(answers + 1.0) - gammaln(n - answers + 1.0)
    # whole sums: the constants of the likelihoods differ with m, so they are kept
    given = np.array([_given(u, int(m), block.total + 0.5 * m, noise) for m in answers.tolist()])
    of_share = answers * np.log(share)[:, None] + (n - answers) * np.log1p(-share)[:, None] + drawn
    top, best = of_share.max(axis=1, keepdims=True), given.max()
    with np.errstate(divide="ignore"):
        return np.asarray(top + best + np.log(np.exp(of_share - top) @ np.exp(given - best)))


def _given(u: Floats, answers: int, x: float, noise: Noise) -> Floats:
    """log of Σ_y Bin(y; m, u) g(x - y), with the constants of g left out: the same for every m."""
    import numpy as np

    if answers == 0:
        off = x / noise.scale
        return np.full(len(u), -0.5 * off**2 if noise.kind == GAUSSIAN else -abs(off))
    return log_likelihood(u, Batch(answers, x), noise)


def log_likelihood(u: Floats, batch: Batch, noise: Noise) -> Floats:
    """log ℓ(u) up to a constant."""
    import numpy as np

    b, x = batch.size, batch.total
    if b == 0:
        return np.zeros(len(u))
    if noise.kind == NONE or noise.scale == 0.0:
        return np.asarray(x * np.log(u) + (b - x) * np.log1p(-u))
    draws = b if noise.each else batch.draws
    if draws > 1:  # many small noises: their sum is nearly normal
        spread = math.sqrt((1.0 if noise.kind == GAUSSIAN else 2.0) * draws) * noise.scale
        return _near(u, b, x, lambda y: -0.5 * ((x - y) / spread) ** 2, 10.0 * spread)
    if noise.kind == GAUSSIAN:
        return _near(u, b, x, lambda y: -0.5 * ((x - y) / noise.scale) ** 2, 10.0 * noise.scale)
    epsilon = 1.0 / noise.scale
    if epsilon * epsilon * b > FAR:
        return _near(u, b, x, lambda y: -epsilon * np.abs(x - y), 45.0 / epsilon)
    return _split(u, b, x, epsilon)


def _split(u: Floats, b: int, x: float, epsilon: float) -> Floats:
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


def _near(
    u: Floats, b: int, x: float, log_noise: Callable[[Floats], Floats], reach: float
) -> Floats:
    """log Σ_y C(b,y) u^y (1-u)^(b-y) g(x - y) over the y within reach of x, or nearest to it."""
    import numpy as np
    from scipy.special import gammaln, logsumexp

    centre = min(max(x, 0.0), float(b))
    low, high = max(0, math.floor(centre - reach)), min(b, math.ceil(centre + reach))
    step = max(1, (high - low) // 4000)  # the terms are smooth on this scale
    y = np.arange(low, high + 1, step, dtype=np.float64)
    terms = gammaln(b + 1.0) - gammaln(y + 1.0) - gammaln(b - y + 1.0) + log_noise(y)
    table = terms[:, None] + y[:, None] * np.log(u) + (b - y)[:, None] * np.log1p(-u)
    return np.asarray(logsumexp(table, axis=0))
