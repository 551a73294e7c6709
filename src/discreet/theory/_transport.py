"""What a private policy can tell of two instances: the inequalities behind the lower bounds.

A run on arms P and one on arms P' differ, in the law of what an observer sees, by at most
    ε-view DP:           ε E Σ_a N_a TV_a      (6ε in the first print)
    ρ-interactive zCDP:  ρ E[(Σ_a N_a TV_a)² + Σ_a N_a TV_a(1 - TV_a)]
in KL, N_a the pulls of an arm and TV_a the total variation of its two laws. A δ-correct procedure
needs kl(1-δ, δ) of it between an instance and any other with another best arm, which is what bounds
regret and samples from below.

>>> round(run_divergence([100, 50], [0.0, 0.2], epsilon=0.5), 3), round(evidence_needed(0.05), 3)
(5.0, 2.65)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._checks import count, horizon_of, one_of, positive, probability, share
from ..errors import InvalidArgument
from ..policies._divergences import kl
from ..privacy.budgets import Approximate, Pure
from ._regret_lower import VERSIONS, check_version

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def run_divergence(
    pulls: ArrayLike,
    distances: Sequence[float],
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    version: str = "2024",
) -> float:
    """The largest KL divergence of private runs on two instances, by `distances` TV_a of the arms.

    `pulls` are those of every arm on the first instance, one row per run, whose mean is taken; for
    a pure budget one row of expected pulls will do. With a random stopping time, the pulls until
    then. Thesis, Theorems 4.9 and 4.14 and Remark 4.11; "2022": Azize & Basu (2022), Theorem 10.

    Args:
        pulls: Pulls of every arm.
        distances: The total variation between the two instances, by arm.
        epsilon: The privacy budget ε.
        rho: The budget ρ of zero-concentrated privacy.
        version: Which printed version of the theorem.

    Returns:
        The divergence.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.run_divergence([100, 50], [0.1, 0.2], epsilon=1.0), 3)
        20.0
    """
    import numpy as np

    moved = np.array([probability("distances", x, fix="give TV_a in [0, 1]") for x in distances])
    counts = np.atleast_2d(np.asarray(pulls, float))
    if counts.shape[1:] != moved.shape or not np.isfinite(counts).all() or (counts < 0.0).any():
        raise InvalidArgument(
            "pulls", f"be counts of {len(moved)} arms", f"shape {np.shape(pulls)}",
            "give one number per arm, or one row of them per run",
        )  # fmt: skip
    if (epsilon is None) == (rho is None):
        raise InvalidArgument("epsilon or rho", "be given, one of them", epsilon, "use epsilon=1.0")
    changed = counts @ moved
    if epsilon is not None:
        factor = VERSIONS[check_version(version)][0] * positive("epsilon", epsilon)
        return factor * float(changed.mean())
    assert rho is not None
    return positive("rho", rho) * float((changed**2 + counts @ (moved * (1.0 - moved))).mean())


def evidence_needed(risk: float) -> float:
    """kl(1-δ, δ): below it no δ-correct procedure stops, on average.

    Every ε-private one has `run_divergence(pulls, distances, epsilon=ε)` of at least this for every
    instance with another best arm: the transportation lemma (thesis, Lemma 4.23).

    Args:
        risk: The probability of a wrong answer, or that the bound fails.

    Returns:
        The evidence that a correct answer needs.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.evidence_needed(0.05), 3)
        2.65
    """
    risk = share("risk", risk, below=0.5)
    return kl(1.0 - risk, risk)


def output_budget(epsilon: float, delta: float, distances: Sequence[float]) -> Pure | Approximate:
    """What an (ε, δ)-DP mechanism keeps of which laws its records came from: ε' = 6ε Σ TV_i and
    δ' = 4 e^ε' δ Σ TV_i.

    Karwa & Vadhan (2017), Lemma 6.1, as Theorem 9 of Azize & Basu (2022) quotes it, and for laws
    that differ from record to record (their Lemma 2).

    Args:
        epsilon: The privacy budget ε.
        delta: The δ of an (ε, δ) budget.
        distances: Total variation distances TV_i of the distributions of the records.

    Returns:
        The budget, (ε', δ').

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.output_budget(0.1, 1e-6, [0.1, 0.2]).epsilon, 3)
        0.18
    """
    epsilon = positive("epsilon", epsilon)
    delta = probability("delta", delta, fix="use for example delta=1e-6")
    total = math.fsum(probability("distances", x, fix="give TV_i in [0, 1]") for x in distances)
    larger = 6.0 * epsilon * total
    leak = 4.0 * math.exp(min(larger, 700.0)) * delta * total
    return Approximate(larger, min(1.0, leak)) if leak else Pure(larger)


def doubling_pulls(episode: int, horizon: float, failure: float, alpha: float = 3.1) -> float:
    """2^(l+1) + P T + α/(α-3): how often an index policy with doubling and forgetting plays a worse
    arm, if l = `episode` and P = `failure` is the probability that the arm's index, made of 2^l
    rewards, is not below the best mean at the end.

    For indices that are below their arm's mean with probability 1.5 t^-α at most.
    Azize & Basu (2022), Theorem 11; thesis, Theorem C.4.

    Args:
        episode: The number l of the episode.
        horizon: The number of rounds T.
        failure: The probability P that the index is below the best mean.
        alpha: The exponent α of the index; above 3.

    Returns:
        The bound on the expected pulls.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.doubling_pulls(3, 1e6, 0.01))
        10047
    """
    episode = count("episode", episode, fix="use for example episode=10", least=0)
    rounds, failure = horizon_of(horizon), probability("failure", failure, fix="use failure=0.0")
    alpha = positive("alpha", alpha)
    if alpha <= 3.0:
        raise InvalidArgument("alpha", "be above 3 for this theorem", alpha, "use alpha=3.1")
    if 2.0**episode >= rounds:
        raise InvalidArgument(
            "episode", "have 2^episode below the horizon", episode, "lengthen the horizon"
        )
    return 2.0 ** (episode + 1) + failure * rounds + alpha / (alpha - 3.0)


def adaptivity_rounds(arms: int, samples: float) -> float:
    """K(1 + log2(n/K)): how often a policy of doubling batches decides anew within n samples.

    An arm that was played N times has had 1 + log2 N batches at most, and the sum over the arms is
    largest where all N are equal. Thesis, Remark 5.24, which prints O(K log2 n).

    Args:
        arms: The number of arms.
        samples: The number of samples n.

    Returns:
        The bound on the number of decisions.

    Example:
        >>> from discreet import theory
        >>> round(theory.adaptivity_rounds(5, 1000), 3)
        43.219
    """
    arms = count("arms", arms, fix="a choice needs two arms", least=2)
    rounds = horizon_of(samples, arms, "samples")
    return arms * (1.0 + math.log2(rounds / arms))


def gap_estimation_rounds(
    gap: float, arms: int, horizon: float, epsilon: float, calibration: str = "tight"
) -> float:
    """2304 K log2 T/(εΔ²): how long private Thompson sampling estimates the gap Δ, at most, with
    probability 1 - T^-4; "paper": K times that.

    The estimation halts with Δ̂ = 2^-i >= Δ/3, after batches of 192 log2 T 4^j/ε, j <= i, which add
    up to at most (4/3) 4^i <= 12/Δ² times 192 log2 T/ε. The print sums 2^-j for the 4^j that its
    batches have, and so loses 1/Δ². The noise of a batch is below Δ̂/4 for ε <= 49/32, or 9K/8.
    Mishra & Thakurta (2015), Lemma 9 and C.1.

    Args:
        gap: The gap Δ of the arm.
        arms: The number of arms.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        calibration: "tight" or as the "paper" prints it.

    Returns:
        The bound on the number of rounds.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.gap_estimation_rounds(0.25, 5, 1e6, 1.0))
        3673787
    """
    gap = share("gap", gap)
    arms = count("arms", arms, fix="a choice needs two arms", least=2)
    rounds, epsilon = horizon_of(horizon, arms), positive("epsilon", epsilon)
    paper = one_of("calibration", calibration, "tight", "paper") == "paper"
    factor, most = (arms, 1.125 * arms) if paper else (1, 49.0 / 32.0)
    if epsilon > most:
        raise InvalidArgument(
            "epsilon", f"be at most {most:g} for this lemma", epsilon,
            "the batches are too short for more: use a smaller epsilon",
        )  # fmt: skip
    return 12.0 * 192.0 * factor * arms * math.log2(rounds) / (epsilon * gap**2)
