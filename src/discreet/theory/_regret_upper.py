"""Upper bounds on regret, where the papers print their constants.

Each holds for rewards in [0, 1] and for its policy's own options: AdaP-UCB and AdaC-UCB with α > 3
(their published 3.1 is fine, the better 1 is not covered), FTPL-New and GDP-Elim-New with their
(ε, δ), DP-UCB with trees and δ' = t^-4, the local policies as they are. Sums are over the arms with
Δ > 0, N counts all arms.

Gap-free bounds (`..._minimax`) hold for every instance: the arms with Δ <= x lose xT at most, the
others what their theorem says, and x is chosen. Where a theorem ends in O(·), the constants are
those of its proof.

Two of them are not as printed. An arm is no longer played once twice the width of its index is
below Δ, which is a quadratic in the root of its pulls. For AdaP-UCB the print solves it and then
takes 1/(2Δ) + 1/ε <= 1/min(2Δ, ε): too small by up to 1.31 near Δ = ε. For DP-UCB the printed
4 log T/Δ belongs to a narrower index: at large ε the row regrets more. Both are solved here.

>>> round(ldp_ucb_b([0.75, 0.5], horizon=1e6, epsilon=1.0))
2071
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .._checks import count, horizon_of, means_of, one_of, positive, probability
from ..errors import InvalidArgument
from ..policies._divergences import kl
from ..policies._starts import gauss_start
from ..privacy.budgets import Approximate
from ._bound import LOG, ROUNDS, bound

REWARDS = "rewards in [0, 1]"


@bound(
    "upper", "regret", ROUNDS, domain=f"AdaP-UCB with α > 3; {REWARDS}; ε > 0",
    reference="azize2022", statement="Theorem 7, but for the last step of its proof",
    row="adap-ucb",
)  # fmt: skip
def adap_ucb(means: Sequence[float], horizon: float, epsilon: float, alpha: float = 3.1) -> float:
    """Σ (2α log T/Δ)(1 + sqrt(1 + 4Δ/ε))² + 3α/(α-3).

    An upper bound on the expected regret of AdaP-UCB after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        alpha: The exponent α of the index; above 3.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adap_ucb([0.75, 0.5], 1e6, 1.0))
        2090
    """
    gaps, log = _gaps(means, horizon)
    epsilon, alpha = positive("epsilon", epsilon, infinite=True), _alpha(alpha)
    tail = 3.0 * alpha / (alpha - 3.0)
    # the last batch n has 2 sqrt(L/(2n)) + 2L/(εn) > Δ; doubling and forgetting cost a factor 4
    return math.fsum(
        4.0 * gap * _pulls(gap, 0.5 * alpha * log, alpha * log / epsilon) + tail for gap in gaps
    )


@bound(
    "upper", "regret", ROUNDS, domain=f"AdaP-UCB with α > 3; every instance with {REWARDS}; ε > 0",
    reference="azize2022", statement="Theorem 12", row="adap-ucb", gap_free=True,
)  # fmt: skip
def adap_ucb_minimax(
    arms: int, horizon: float, epsilon: float, alpha: float = 3.1, gaps: float | None = None
) -> float:
    """3α/(α-3) ΣΔ + 8 sqrt(αKT log T) + 16αK log T/ε; ΣΔ is at most K-1.

    An upper bound on the expected regret of AdaP-UCB after T rounds, whatever the means.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        alpha: The exponent α of the index; above 3.
        gaps: The sum of the gaps Δ; default: its largest value.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adap_ucb_minimax(5, 1e6, 1.0))
        120867
    """
    arms, rounds, total = _every(arms, horizon, gaps)
    epsilon, alpha = positive("epsilon", epsilon, infinite=True), _alpha(alpha)
    log = math.log(rounds)
    wide = 8.0 * math.sqrt(alpha * arms * rounds * log)
    return 3.0 * alpha / (alpha - 3.0) * total + wide + 16.0 * alpha * arms * log / epsilon


@bound(
    "upper", "regret", ROUNDS, domain="AdaP-KLUCB with α > 3; Bernoulli arms; ε > 0",
    reference="azize2022", statement="Theorem 8, with the constants of its proof, (34) to (36)",
    row="adap-klucb",
)  # fmt: skip
def adap_klucb(means: Sequence[float], horizon: float, epsilon: float, alpha: float = 3.1) -> float:
    """Σ Δ(4n + 3α/(α-3)), n the least with (c - γ)εΔn >= (1+α) log T.

    An upper bound on the expected regret of AdaP-KLUCB after T rounds, on these Bernoulli arms.

    c and γ move with n: kl(μ + cΔ, μ*) = α log T/n and kl(μ + γΔ, μ) = log T/n. The print hides n
    in C1(α) and C2; doubling and forgetting cost the factor 4.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        alpha: The exponent α of the index; above 3.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adap_klucb([0.75, 0.5], 1e6, 1.0))
        1174
    """
    clean = means_of(means)
    _, log = _gaps(clean, horizon)
    epsilon, alpha = positive("epsilon", epsilon, infinite=True), _alpha(alpha)
    best, tail = max(clean), 3.0 * alpha / (alpha - 3.0)
    return math.fsum(
        (best - m) * (4.0 * _enough(m, best, epsilon, alpha, log) + tail) for m in clean if m < best
    )


@bound(
    "upper", "regret", ROUNDS, domain=f"AdaC-UCB with α > 3 (its β); {REWARDS}; ρ-zCDP, ρ > 0",
    reference="azize2024thesis", statement="Theorem 5.6",
    row="adac-ucb",
)  # fmt: skip
def adac_ucb(means: Sequence[float], horizon: float, rho: float, alpha: float = 3.1) -> float:
    """Σ 8α log T/Δ + 8 sqrt(α log T/ρ) + 2α/(α-3).

    An upper bound on the expected regret of AdaC-UCB after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        rho: The budget ρ of zero-concentrated privacy.
        alpha: The exponent α of the index; above 3.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adac_ucb([0.75, 0.5], 1e6, 0.5))
        1507
    """
    gaps, log = _gaps(means, horizon)
    rho, alpha = positive("rho", rho, infinite=True), _alpha(alpha)
    extra = 8.0 * math.sqrt(alpha * log / rho) + 2.0 * alpha / (alpha - 3.0)
    return math.fsum(8.0 * alpha * log / gap + extra for gap in gaps)


@bound(
    "upper", "regret", ROUNDS,
    domain=f"AdaC-UCB with α > 3 (its β); every instance with {REWARDS}; ρ-zCDP, ρ > 0",
    reference="azize2024thesis", statement="Theorem 5.6, with the constants of its proof, C.2.6",
    row="adac-ucb", gap_free=True,
)  # fmt: skip
def adac_ucb_minimax(
    arms: int, horizon: float, rho: float, alpha: float = 3.1, gaps: float | None = None
) -> float:
    """4 sqrt(2αKT log T) + 8K sqrt(α log T/ρ) + 3α/(α-3) ΣΔ; ΣΔ is at most K-1.

    An upper bound on the expected regret of AdaC-UCB after T rounds, whatever the means.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        rho: The budget ρ of zero-concentrated privacy.
        alpha: The exponent α of the index; above 3.
        gaps: The sum of the gaps Δ; default: its largest value.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.adac_ucb_minimax(5, 1e6, 0.5))
        83522
    """
    arms, rounds, total = _every(arms, horizon, gaps)
    rho, alpha = positive("rho", rho, infinite=True), _alpha(alpha)
    log = alpha * math.log(rounds)
    wide = 4.0 * math.sqrt(2.0 * arms * rounds * log) + 8.0 * arms * math.sqrt(log / rho)
    return wide + 3.0 * alpha / (alpha - 3.0) * total


@bound(
    "upper", "regret", ROUNDS, domain=f"LDP-UCB-L; {REWARDS}; ε > 0",
    reference="ren2020", statement="Theorem 4",
    row="ldp-ucb-l",
)  # fmt: skip
def ldp_ucb_l(means: Sequence[float], horizon: float, epsilon: float) -> float:
    """Σ 8(1+4/ε)² log T/Δ + (1+2π²/3)Δ.

    An upper bound on the expected regret of LDP-UCB-L after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.ldp_ucb_l([0.75, 0.5], 1e6, 1.0))
        11054
    """
    gaps, log = _gaps(means, horizon)
    factor = 8.0 * (1.0 + 4.0 / positive("epsilon", epsilon, infinite=True)) ** 2
    return math.fsum(factor * log / gap + (1.0 + 2.0 * math.pi**2 / 3.0) * gap for gap in gaps)


@bound(
    "upper", "regret", ROUNDS, domain=f"LDP-UCB-B; {REWARDS}; ε > 0",
    reference="ren2020", statement="Theorem 6",
    row="ldp-ucb-b",
)  # fmt: skip
def ldp_ucb_b(means: Sequence[float], horizon: float, epsilon: float) -> float:
    """Σ (8/Δ)((e^ε+1)/(e^ε-1))² log T + (1+π²/3)Δ.

    An upper bound on the expected regret of LDP-UCB-B after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.ldp_ucb_b([0.75, 0.5], 1e6, 1.0))
        2071
    """
    gaps, log = _gaps(means, horizon)
    factor = 8.0 / math.tanh(0.5 * positive("epsilon", epsilon, infinite=True)) ** 2
    return math.fsum(factor * log / gap + (1.0 + math.pi**2 / 3.0) * gap for gap in gaps)


@bound(
    "upper", "regret", ROUNDS, domain=f"LDP-UCB-L; every instance with {REWARDS}; ε > 0",
    reference="ren2020", statement="Theorem 4, with the constants of its proof, A.2",
    row="ldp-ucb-l", gap_free=True,
)  # fmt: skip
def ldp_ucb_l_minimax(arms: int, horizon: float, epsilon: float) -> float:
    """4(1+4/ε) sqrt(2KT log T) + (1+2π²/3)K.

    An upper bound on the expected regret of LDP-UCB-L after T rounds, whatever the means.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.ldp_ucb_l_minimax(5, 1e6, 1.0))
        235117
    """
    arms, rounds, _ = _every(arms, horizon)
    factor = 1.0 + 4.0 / positive("epsilon", epsilon, infinite=True)
    wide = 4.0 * factor * math.sqrt(2.0 * arms * rounds * math.log(rounds))
    return wide + (1.0 + 2.0 * math.pi**2 / 3.0) * arms


@bound(
    "upper", "regret", ROUNDS, domain=f"LDP-UCB-B; every instance with {REWARDS}; ε > 0",
    reference="ren2020", statement="Theorem 6, with the constants of its proof, A.4",
    row="ldp-ucb-b", gap_free=True,
)  # fmt: skip
def ldp_ucb_b_minimax(arms: int, horizon: float, epsilon: float) -> float:
    """4((e^ε+1)/(e^ε-1)) sqrt(2KT log T) + (1+π²/3)K.

    An upper bound on the expected regret of LDP-UCB-B after T rounds, whatever the means.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.ldp_ucb_b_minimax(5, 1e6, 1.0))
        101761
    """
    arms, rounds, _ = _every(arms, horizon)
    factor = 1.0 / math.tanh(0.5 * positive("epsilon", epsilon, infinite=True))
    wide = 4.0 * factor * math.sqrt(2.0 * arms * rounds * math.log(rounds))
    return wide + (1.0 + math.pi**2 / 3.0) * arms


def sigmoid_slope(sd: float = 1.0, noise: str = "normal") -> float:
    """c_s: sigmoids of rewards with means in [0, 1] differ by at least c_s times what means do.

    "normal", rewards N(μ, sd²): c_s = E[s'(1 + sd Z)], s(x) = 1/(1+e^-x). The slope E s'(μ + sd Z)
    falls in |μ|, so the least one on [0, 1] is at 1. (The print stops at E[s'(Z)]/e = 0.2066/e.)
    "subgaussian", rewards μ + Z with P(|Z| > x) <= 2 exp(-x²/(2sd²)): the largest
    s'(v)(1 - 2 exp(-v²/(2sd²)))/e over v, which is 0.0765/e at sd = 1.

    The bounds of LDP-UCB-LS and LDP-UCB-BS are those of LDP-UCB-L and LDP-UCB-B over c_s². Ren et
    al. (2020), Lemma 7, its proof A.5, and Corollaries 10 and 11.

    Args:
        sd: The standard deviation of rewards.
        noise: "normal" or "subgaussian".

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.sigmoid_slope(), 3)
        0.178
    """
    import numpy as np

    sd = positive("sd", sd)
    if one_of("noise", noise, "normal", "subgaussian") == "normal":
        nodes, weights = np.polynomial.hermite_e.hermegauss(128)
        slope = 0.25 / np.cosh(0.5 * (1.0 + sd * nodes)) ** 2
        return float(weights @ slope / weights.sum())
    # below v = sd sqrt(2 log 2) the bound on tails says nothing; far above it s' falls as e^-v
    start = sd * math.sqrt(2.0 * math.log(2.0))
    low, high = start, start + 10.0 * max(sd, 1.0)
    for _ in range(6):
        places = np.linspace(low, high, 1001)
        inside = -np.expm1(math.log(2.0) - 0.5 * (places / sd) ** 2)
        values = np.exp(-places) / (1.0 + np.exp(-places)) ** 2 * inside
        best = int(values.argmax())
        low, high = places[max(best - 1, 0)], places[min(best + 1, 1000)]
    return max(0.0, float(values[best]) / math.e)


@bound(
    "upper", "regret", ROUNDS, domain=f"DP-UCB with trees, δ' = t^-4 or less; {REWARDS}; ε > 0",
    reference="azize2024thesis", statement="section 5.1, with constants that hold for its index",
    row="dp-ucb", tuned=True,
)  # fmt: skip
def dp_ucb(means: Sequence[float], horizon: float, epsilon: float, power: float = 4.0) -> float:
    """Σ Δ(n + 4), 2 sqrt(2L/n) + 2 sqrt8 L log^1.5 T/(εn) = Δ, L = log(2T⁴).

    An upper bound on the expected regret of DP-UCB with trees after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        power: The power of T in the union bound.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.dp_ucb([0.75, 0.5], 1e6, 1.0))
        22619
    """
    gaps, log = _gaps(means, horizon)
    epsilon, power = positive("epsilon", epsilon, infinite=True), positive("power", power)
    if power < 4.0:
        raise InvalidArgument(
            "power", "be at least 4 for this bound", power, "use power=4, as the row does"
        )
    level = math.log(2.0) + power * log
    noise = math.sqrt(8.0) * log**1.5 * level / epsilon
    # 4: one pull for rounding up, and at most 3 rounds in which an index is on the wrong side
    return math.fsum(gap * (_pulls(gap, 2.0 * level, noise) + 4.0) for gap in gaps)


@bound(
    "upper", "regret", ROUNDS, domain=f"DP-FTPL-Gauss; {REWARDS}; ε >= 0, δ > 0",
    reference="wang2024", statement="Theorem 11, with constants that hold for its draws",
    row="dp-ftpl-gauss",
)  # fmt: skip
def dp_ftpl_gauss(
    means: Sequence[float],
    horizon: float,
    epsilon: float,
    delta: float,
    calibration: str = "exact",
) -> float:
    """Σ Δ(max{4 log T/(Δ-2λ)², N} + 1 + A + C), N the start phase, λ the best below Δ/2.

    An upper bound on the expected regret of DP-FTPL-Gauss after T rounds, on these arms.

    A = Σ_{n >= N} e^(-2nλ²) for means that are too high, and C, for draws of the best arm that are
    too low, Σ_{n >= N} e^(-nλ²/16) + e^(-nλ²/2) + 4.23 e^(-2nλ²): with the mean of n rewards x
    below its arm's, a draw N(·, 2/n) is less than λ below with probability 1/2 or more for x <= λ,
    and by Birnbaum's inequality with 1/(sqrt(2π)(z+1)e^(z²/2)) or more, z = (x-λ)sqrt(n/2), beyond;
    P(x > u) <= e^(-2nu²). The print has 2 log T, from a tail (its Fact 6) that draws of variance
    1/n have and draws of variance 2/n have not; its O(1/λ⁴) is O(1/λ²) here.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        delta: The δ of an (ε, δ) budget.
        calibration: How the noise is calibrated: "exact" or as the "paper" does.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.dp_ftpl_gauss([0.75, 0.5], 1e6, 1.0, 0.01))
        2172
    """
    gaps, log = _gaps(means, horizon)
    start = gauss_start(Approximate(epsilon, delta), calibration)

    def tail(rate: float) -> float:
        """Σ_{n >= N} e^(-n rate)."""
        return math.exp(-start * rate) / -math.expm1(-rate)

    def pulls(gap: float, lam: float) -> float:
        early = max(4.0 * log / (gap - 2.0 * lam) ** 2, start)
        late = tail(lam**2 / 16.0) + tail(lam**2 / 2.0) + 5.23 * tail(2.0 * lam**2)
        return early + 1.0 + late

    shares = [step / 1000.0 for step in range(1, 500)]
    most = float(horizon_of(horizon))
    return math.fsum(
        gap * min(most, min(pulls(gap, gap * share) for share in shares)) for gap in gaps
    )


@bound(
    "upper", "regret", ROUNDS, domain=f"DP-FTPL-New; {REWARDS}; ε >= 0, δ >= 0, not both 0",
    reference="wang2024", statement="Theorem 16",
    row="dp-ftpl-new", tuned=True,
)  # fmt: skip
def dp_ftpl_new(
    means: Sequence[float], horizon: float, epsilon: float, delta: float = 0.0
) -> float:
    """Σ max{16 log T/Δ, (4/ε) log[(T(e^ε-1)+2Tδ)/(2(e^ε-1)+2Tδ)]} + 4N.

    An upper bound on the expected regret of DP-FTPL-New after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        delta: The δ of an (ε, δ) budget.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.dp_ftpl_new([0.75, 0.5], 1e6, 1.0))
        892
    """
    gaps, log = _gaps(means, horizon)
    rounds = horizon_of(horizon)
    private = 4.0 * _private_log(rounds, 2.0 * rounds, epsilon, delta)
    return math.fsum(max(16.0 * log / gap, private) for gap in gaps) + 4.0 * len(means_of(means))


@bound(
    "upper", "regret", ROUNDS, domain=f"GDP-Elim-New; {REWARDS}; ε >= 0, δ >= 0, not both 0",
    reference="wang2024", statement="Theorem 18",
    row="gdp-elim-new", tuned=True,
)  # fmt: skip
def gdp_elim_new(
    means: Sequence[float], horizon: float, epsilon: float, delta: float = 0.0
) -> float:
    """Σ 1024Δ log T/Δmin² + (32Δ/(εΔmin)) log[(T²(e^ε-1)+T²δ)/(2(e^ε-1)+T²δ)] + 4N.

    An upper bound on the expected regret of GDP-Elim-New after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.
        epsilon: The privacy budget ε.
        delta: The δ of an (ε, δ) budget.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.gdp_elim_new([0.75, 0.5], 1e6, 1.0))
        57458
    """
    gaps, log = _gaps(means, horizon)
    square = float(horizon_of(horizon)) ** 2
    private = 32.0 * _private_log(square, square, epsilon, delta)
    least = min(gaps, default=1.0)
    total = math.fsum(1024.0 * g * log / least**2 + private * g / least for g in gaps)
    return total + 4.0 * len(means_of(means))


@bound(
    "upper", "regret", ROUNDS,
    domain="UCB with the index mean + sqrt(4 log T/N), no privacy; 1-sub-Gaussian rewards",
    reference="lattimore2020", statement="Theorem 7.1",
)  # fmt: skip
def ucb(means: Sequence[float], horizon: float) -> float:
    """3ΣΔ + Σ 16 log T/Δ.

    An upper bound on the expected regret of UCB without privacy after T rounds, on these arms.

    Args:
        means: The mean reward of every arm.
        horizon: The number of rounds T.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.ucb([0.75, 0.5], 1e6))
        885
    """
    gaps, log = _gaps(means, horizon)
    return math.fsum(3.0 * gap + 16.0 * log / gap for gap in gaps)


@bound(
    "upper", "regret", ROUNDS,
    domain="UCB with the index mean + sqrt(4 log T/N), no privacy; every instance of "
    "1-sub-Gaussian rewards with Δ <= 1",
    reference="lattimore2020", statement="Theorem 7.2",
)  # fmt: skip
def ucb_minimax(arms: int, horizon: float, gaps: float | None = None) -> float:
    """8 sqrt(KT log T) + 3ΣΔ; ΣΔ is at most K-1.

    An upper bound on the expected regret of UCB without privacy after T rounds, for any means with
    Δ <= 1.

    Args:
        arms: The number of arms.
        horizon: The number of rounds T.
        gaps: The sum of the gaps Δ; default: its largest value.

    Returns:
        The bound on the regret.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet import theory
        >>> round(theory.ucb_minimax(5, 1e6))
        66502
    """
    arms, rounds, total = _every(arms, horizon, gaps)
    return 8.0 * math.sqrt(arms * rounds * math.log(rounds)) + 3.0 * total


@bound(
    "upper", "regret", LOG,
    domain="UCB with the index mean + sqrt(2 log(1 + t log² t)/N), no privacy; 1-sub-Gaussian",
    reference="lattimore2020", statement="Theorem 8.1",
)  # fmt: skip
def ucb_asymptotic(means: Sequence[float]) -> float:
    """Σ 2/Δ: regret per log T.

    An upper bound on the regret of UCB without privacy, per log T, as T grows.

    Args:
        means: The mean reward of every arm.

    Returns:
        The regret per log T.

    Example:
        >>> from discreet import theory
        >>> round(theory.ucb_asymptotic([0.75, 0.5]), 3)
        8.0
    """
    clean = means_of(means)
    return math.fsum(2.0 / (max(clean) - m) for m in clean if m < max(clean))


@bound(
    "upper", "regret", LOG,
    domain="KL-UCB with log(1 + t log² t)/N, no privacy; Bernoulli arms",
    reference="lattimore2020", statement="Theorem 10.6",
)  # fmt: skip
def kl_ucb(means: Sequence[float]) -> float:
    """Σ Δ/kl(μ, μ*): regret per log T, that of Lai & Robbins.

    An upper bound on the regret of KL-UCB without privacy, per log T, as T grows.

    Args:
        means: The mean reward of every arm.

    Returns:
        The regret per log T.

    Example:
        >>> from discreet import theory
        >>> round(theory.kl_ucb([0.75, 0.5]), 3)
        1.738
    """
    clean = means_of(means)
    best = max(clean)
    return math.fsum((best - m) / kl(m, best) for m in clean if m < best)


def _pulls(gap: float, square: float, linear: float) -> float:
    """The n with 2 sqrt(square/n) + 2 linear/n = Δ."""
    root = (math.sqrt(square) + math.sqrt(square + 2.0 * linear * gap)) / gap
    return root * root


def _enough(mean: float, best: float, epsilon: float, alpha: float, log: float) -> float:
    """The least n with (c - γ)εΔn >= (1+α) log T; what is left falls as n grows."""

    def settled(n: float) -> bool:
        high = _where(lambda q: kl(q, best) <= alpha * log / n, mean, best)
        low = _where(lambda q: kl(q, mean) > log / n, mean, best)
        # both lie above the mean: high - low = (c - γ)Δ
        return (
            kl(mean, best) > alpha * log / n and (high - low) * n >= (1.0 + alpha) * log / epsilon
        )

    high = 1.0
    while not settled(high):
        high *= 2.0
    low = 0.5 * high
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if settled(middle) else (middle, high)
    return high


def _where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least x in [low, high] from which on something holds; high if nowhere."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _every(arms: int, horizon: float, gaps: float | None = None) -> tuple[int, int, float]:
    """K, T and ΣΔ of a bound for every instance."""
    arms = count("arms", arms, fix="a choice needs two arms", least=2)
    total = float(arms - 1) if gaps is None else positive("gaps", gaps)
    return arms, horizon_of(horizon, arms), total


def _private_log(first: float, leak: float, epsilon: float, delta: float) -> float:
    """(1/ε) log[(first (e^ε-1) + leak δ)/(2(e^ε-1) + leak δ)]; its limit at ε = 0."""
    delta = probability("delta", delta, fix="use for example delta=1e-6")
    if epsilon == 0.0 and delta > 0.0:
        return (first - 2.0) / (leak * delta)
    epsilon = positive("epsilon", epsilon)
    lost = leak * delta / math.expm1(epsilon) if epsilon < 700.0 else 0.0
    return math.log((first + lost) / (2.0 + lost)) / epsilon


def _gaps(means: Sequence[float], horizon: float) -> tuple[list[float], float]:
    """The gaps above 0, and log T."""
    clean = means_of(means)
    best = max(clean)
    return [best - m for m in clean if m < best], math.log(horizon_of(horizon, len(clean)))


def _alpha(alpha: float) -> float:
    alpha = positive("alpha", alpha)
    if alpha <= 3.0:
        raise InvalidArgument(
            "alpha", "be above 3 for this theorem", alpha,
            "use alpha=3.1; a smaller one plays better, but no constant is proved for it",
        )  # fmt: skip
    return alpha
