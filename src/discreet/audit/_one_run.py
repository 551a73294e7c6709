"""Audits from one run: M canaries, each in the data with a fair coin, r of them guessed, v right.

(ε, δ) [Steinke, Nasr & Jagielski 2023, Theorem 5.2]. With q = 1/(1 + e^-ε) and B ~ Bin(r, q),
    P(at least v right) <= P(B >= v) + 2Mδ · max_{1<=i<=v} P(v - i <= B < v)/i,
which grows with ε; the bound is the ε at which the right side is 1 - confidence.

f-DP [Mahloujifar, Melis & Chaudhuri 2025, algorithm 3]. For a trade-off curve f let g be the
inverse of 1 - f, g(x) = Φ(Φ⁻¹(x) - μ) for μ-Gaussian DP. With R = γv/M, H = γ(r - v)/M at first,
    for i = v-1, …, 0:   H' = max(H, g(R)),   R += i/(r - i) · (H' - H),   H = H',
and reject μ if R + H > r/M. As an ε(δ) of a
Gaussian mechanism it proves more than the first at small δ.

Canaries are added or left out, so both bound add-or-remove privacy. How many are guessed, r, is
fixed before the run, and canaries must not crowd each other out (take them orthogonal).

>>> round(one_run(1000, 100, 95, confidence=0.95).epsilon_lower, 4)
2.1724
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._checks import count
from ..privacy._curves import gaussian_epsilon, largest
from ._counts import Claim, audited, check_confidence, settled_delta
from ._result import Audit

MOST_EPSILON, MOST_MU = 60.0, 30.0
NEIGHBOURS = "canaries that are added or left out, each by a fair coin"


def one_run(
    canaries: int, guesses: int, right: int, *, delta: float = 0.0, confidence: float = 0.95,
    claimed: Claim = None,
) -> Audit:  # fmt: skip
    """ε(δ) from so many right guesses about canaries of one run.

    Args:
        canaries: How many canaries.
        guesses: How many of them were guessed about.
        right: How many guesses were right.
        delta: The δ at which ε is bounded.
        confidence: Probability with which the bound holds.
        claimed: The budget that is claimed, if any.

    Returns:
        The audit.

    Example:
        >>> from discreet.membership import one_run
        >>> round(one_run(1000, 200, 150).epsilon_lower, 2)
        0.82
    """
    _check(canaries, guesses, right)
    delta, error = settled_delta(delta, claimed), 1.0 - check_confidence(confidence)
    bound = _largest(
        lambda epsilon: tail(canaries, guesses, right, epsilon, delta) <= error, MOST_EPSILON
    )
    return audited(
        "one run", bound, claimed=claimed, delta=delta, confidence=confidence, runs=canaries,
        tested=guesses, inputs=f"{canaries:,} {NEIGHBOURS}; {right:,} of {guesses:,} guessed right",
        counted="canaries",
    )  # fmt: skip


def one_run_gaussian(
    canaries: int, guesses: int, right: int, *, delta: float = 1e-5, confidence: float = 0.95,
    claimed: Claim = None,
) -> Audit:  # fmt: skip
    """μ of Gaussian DP from one run, and the ε(δ) of that curve.

    Other curves with the same ε(δ) may allow for more: only a Gaussian claim is ever refuted.

    Args:
        canaries: How many canaries.
        guesses: How many of them were guessed about.
        right: How many guesses were right.
        delta: The δ at which ε is bounded.
        confidence: Probability with which the bound holds.
        claimed: The budget that is claimed, if any.

    Returns:
        The audit.

    Example:
        >>> from discreet.membership import one_run_gaussian
        >>> round(one_run_gaussian(1000, 200, 150).epsilon_lower, 1)
        1.3
    """
    _check(canaries, guesses, right)
    delta, error = settled_delta(delta, claimed), 1.0 - check_confidence(confidence)
    mu = _largest(lambda mu: rejected(canaries, guesses, right, mu, error), MOST_MU)
    epsilon = gaussian_epsilon(mu, delta) if mu and delta else 0.0
    found = audited(
        "one run, Gaussian", epsilon, mu=mu, claimed=claimed, delta=delta, confidence=confidence,
        runs=canaries, tested=guesses, counted="canaries",
        inputs=f"{canaries:,} {NEIGHBOURS}; {right:,} of {guesses:,} guessed right; "
        "ε on the Gaussian curve of μ",
    )  # fmt: skip
    return replace(found, is_violation=mu > found.parameter[1])


def tail(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The largest probability of so many right guesses under (ε, δ)."""
    from scipy.special import expit
    from scipy.stats import binom

    q = expit(epsilon)
    exact = float(binom.sf(right - 1, guesses, q))
    if not delta or not right:
        return exact
    first = np.arange(right - 1, -1, -1)
    below = binom.cdf(right - 1, guesses, q) - binom.cdf(first - 1, guesses, q)
    slack = float(np.max(below / np.arange(1, right + 1)))
    return exact + 2.0 * canaries * delta * slack


def rejected(canaries: int, guesses: int, right: int, mu: float, error: float) -> bool:
    """Whether μ-Gaussian DP allows so many right guesses with probability below `error`."""
    from statistics import NormalDist

    normal = NormalDist()

    def miss(x: float) -> float:
        """Φ(Φ⁻¹(x) - μ)."""
        if x <= 0.0:
            return 0.0
        return 1.0 if x >= 1.0 else normal.cdf(normal.inv_cdf(x) - mu)

    hit = error * right / canaries
    wrong = error * (guesses - right) / canaries
    for i in range(right - 1, -1, -1):
        more = max(wrong, miss(hit))
        hit = min(1.0, hit + i / (guesses - i) * (more - wrong))
        wrong = more
    return hit + wrong > guesses / canaries


def _largest(ruled_out: Callable[[float], bool], most: float) -> float:
    """The largest value that is ruled out, 0 if none is."""
    if not ruled_out(0.0):
        return 0.0
    low = 1e-12
    return largest(ruled_out, low, most) if ruled_out(low) else 0.0


def _check(canaries: int, guesses: int, right: int) -> None:
    canaries = count("canaries", canaries, fix="use for example 1000")
    guesses = count("guesses", guesses, most=canaries, fix="abstain from the other canaries")
    count("right", right, least=0, most=guesses, fix="count again")
