"""A second reading of the sources: formulas from print, by somebody who had not seen the library.

MT15: Mishra & Thakurta (2015), appendix; R20: Ren et al. (2020); AB22: Azize & Basu (2022); WZ24:
Wang & Zhu (2024); A24: Azize (2024). Nothing here imports the library. Where print contradicts
itself, the reading that its own proof supports is taken, and the docstring says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Vector = NDArray[np.float64]
Means = Sequence[float]


def gaps(means: Means) -> list[float]:
    """The gaps of arms that are not best."""
    return [max(means) - mean for mean in means if mean < max(means)]


def kl(p: float, q: float) -> float:
    """AB22, definition 5."""
    terms = ((p, q), (1 - p, 1 - q))
    return sum(math.inf if b == 0 else a * math.log(a / b) for a, b in terms if a > 0)


def halved(f: Callable[[float], float], low: float, high: float) -> float:
    """The zero of an increasing function, by halving."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if f(middle) > 0 else (middle, high)
    return (low + high) / 2


# --- MT15, C.1: the gap estimation of private Thompson sampling


def pulls_in_batch(arms: int, horizon: float, epsilon: float, guess: float) -> float:
    """m_i = 192 k log_2 T / (ε Δ̂²): pulls of each arm in a batch."""
    return 192 * arms * math.log2(horizon) / (epsilon * guess**2)


def pulls_in_batches(arms: int, horizon: float, epsilon: float, batches: int) -> float:
    """Pulls of each arm in the batches 0 to `batches`, whose guesses are 1, 1/2, 1/4, ...

    (9) prints a sum of 1/2^i, with which the phase would not get longer for smaller gaps; the
    choice of m_i that stands above it gives 4^i.
    """
    return sum(pulls_in_batch(arms, horizon, epsilon, 2.0**-i) for i in range(batches + 1))


# --- bounds whose proofs print the constants


def adac_ucb_gap_free(means: Means, horizon: float, rho: float, beta: float) -> float:
    """A24, C.2.6, step 3, last line."""
    log, arms = math.log(horizon), len(means)
    first = 4 * math.sqrt(2 * beta * arms * horizon * log)
    return first + 8 * arms * math.sqrt(beta * log / rho) + 3 * beta / (beta - 3) * sum(gaps(means))


def adap_klucb(means: Means, horizon: float, epsilon: float, alpha: float) -> float:
    """AB22, proof of theorem 8: the smallest ℓ for which some β meets (34) and (35)."""
    return sum(
        (max(means) - mean) * _klucb_pulls(mean, max(means), horizon, epsilon, alpha)
        for mean in means
        if mean < max(means)
    )


def _klucb_pulls(low: float, best: float, horizon: float, epsilon: float, alpha: float) -> float:
    """E N_a <= 2^(ℓ+1) + T · 3/(2T) + α/(α-3)."""
    log, d = math.log(horizon), kl(low, best)
    for level in itertools.count():
        size = 2.0**level
        most = size * d / (alpha * log)  # 1 + β by (34): c grows with β, so the most
        if most <= 1 or log / size > kl(1.0, low):
            continue
        # c(β)Δ and γΔ: d(μ + cΔ, μ*) = d/(1+β), d(μ + γΔ, μ) = log T / 2^ℓ
        c = halved(lambda x: d / most - kl(low + x, best), 0.0, best - low)  # noqa: B023
        gamma = halved(lambda x: kl(low + x, low) - log / size, 0.0, 1.0 - low)  # noqa: B023
        if c > gamma and size >= (1 + alpha) * log / ((c - gamma) * epsilon):
            return 2 * size + 1.5 + alpha / (alpha - 3)
    raise AssertionError


def adap_klucb_last_line(means: Means, horizon: float, epsilon: float, alpha: float) -> float:
    """The same with the line after it, added when the two were compared: 4n + 3α/(α-3) pulls, n the
    least number, whole or not, that meets (34) and (35) in the place of 2^ℓ."""
    log, total = math.log(horizon), 0.0
    for mean in means:
        if mean == max(means):
            continue
        d = kl(mean, max(means))

        def slack(n: float, low: float = mean, d: float = d) -> float:
            best = max(means)
            c = halved(lambda x: alpha * log / n - kl(low + x, best), 0.0, best - low)
            gamma = halved(lambda x: kl(low + x, low) - log / n, 0.0, 1.0 - low)
            return (c - gamma) * epsilon * n - (1 + alpha) * log if alpha * log / n < d else -1.0

        least = halved(slack, 1.0, 1e9)
        total += (max(means) - mean) * (4 * least + 3 * alpha / (alpha - 3))
    return total


def chi_square_radius(dimension: int, delta: float) -> float:
    """f(d, δ) of A24, C.3: with log(2/δ)."""
    log = math.log(2 / delta)
    return dimension + 2 * math.sqrt(dimension * log) + 2 * log


def gope_length(dimension: int, arms: int, level: int, rho: float, delta: float) -> float:
    """A24, C.3.2, step 4: the bound on T_ℓ."""
    share, beta = delta / (arms * level * (level + 1)), 2.0**-level
    radius = math.sqrt(2 / rho * chi_square_radius(dimension, share))
    rounding = dimension * (dimension + 1) / 2
    return rounding + 8 * dimension / beta**2 * math.log(4 / share) + 2 * dimension / beta * radius


def adac_gope(dimension: int, arms: int, horizon: float, rho: float, delta: float) -> float:
    """A24, C.3.2, steps 3 to 5: Σ 4 β_(ℓ-1) T_ℓ + TΔ, ℓ_Δ = ceil(log_2(4/Δ)), for the best Δ.

    With ℓ_Δ = L the best Δ is the smallest one, 4/2^L. The sum ends with the last phase that begins
    before T, phases having c_ℓ rounds at least; this ∧ ℓ(T) was left out at the first reading.
    """
    best, spent, begun, level = math.inf, 0.0, 0.0, 0
    rounding = dimension * (dimension + 1) / 2
    while begun < horizon:
        level += 1
        length = gope_length(dimension, arms, level, rho, delta)
        spent, begun = spent + 4 * 2.0 ** (1 - level) * length, begun + length - rounding
        best = min(best, spent + (horizon * 4 / 2.0**level if begun < horizon else 0.0))
    return best


def oful_beta(t: float, dimension: int, delta: float, ridge: float, norm: float = 1.0) -> float:
    """A24, C.4.1, step 5."""
    inside = 2 * math.log(1 / delta) + dimension * math.log(1 + t / (ridge * dimension))
    return math.sqrt(inside) + math.sqrt(ridge) * norm


def oful_episodes(t: float, dimension: int, ridge: float, growth: float) -> float:
    """A24, C.4.1, step 5: ℓ(t)."""
    return dimension / math.log(1 + growth) * math.log(1 + t / (ridge * dimension))


def least_eigenvalue(t: float, dimension: int, delta: float, lambda0: float) -> float:
    """A24, lemma 5.16."""
    log = math.log((t + 3) * dimension / delta)
    return lambda0 * t / 4 - 8 * log - 2 * math.sqrt(t * log)


def oful_noise(t: float, dimension: int, delta: float, tail: float = 1.0) -> float:
    """A24, C.4.1, event E_3: f(d, δ/T), with log(1/δ); `tail` = 2 has log(2/δ) as AdaC-GOPE has."""
    log = math.log(tail * t / delta)
    return dimension + 2 * math.sqrt(dimension * log) + 2 * log


def oful_ratio(horizon: float, dimension: int, delta: float, lambda0: float) -> float:
    """t/(1 + λ_min(t)) at t = T, as step 4 of C.4.1 has it with λ = 1."""
    return horizon / (1 + least_eigenvalue(horizon, dimension, delta, lambda0))


def largest_oful_ratio(horizon: float, dimension: int, delta: float, lambda0: float) -> float:
    """The same at its largest up to T, where λ_min is 0; step 2 of C.4.2 needs γ_τ <= γ_T."""
    start = halved(lambda t: least_eigenvalue(t, dimension, delta, lambda0), 1.0, horizon)
    tried = (start * 1.1**k for k in range(1000) if start * 1.1**k <= horizon)
    others = max(oful_ratio(t, dimension, delta, lambda0) for t in tried)
    return max(start, others)


def adac_oful(
    horizon: float, dimension: int, delta: float, rho: float, ratio: float, tail: float = 1.0
) -> float:
    """A24, C.4.2, step 6, with λ = C = 1; γ_T² = `ratio` · 2ℓ(T)/ρ · f."""
    episodes = oful_episodes(horizon, dimension, 1.0, 1.0)
    potential = math.sqrt(2 * dimension * math.log(1 + horizon / dimension))
    noise = oful_noise(horizon, dimension, delta, tail)
    gamma = math.sqrt(ratio * 2 * episodes / rho * noise)
    public = oful_beta(horizon, dimension, delta, 1.0) * math.sqrt(horizon)
    return 2 * math.sqrt(2) * potential * (public + gamma * math.sqrt(2 * 2 * episodes))


def local_distribution_free(arms: int, horizon: float, factor: float, constant: float) -> float:
    """R20, end of A.2 and A.4: Tα + n(8 f² log T / α + c) at its least α.

    f = 1 + 4/ε and c = 1 + 2π²/3 for LDP-UCB-L, (e^ε + 1)/(e^ε - 1) and 1 + π²/3 for LDP-UCB-B;
    gaps are at most 1.
    """
    pulls = 8 * arms * factor**2 * math.log(horizon)
    alpha = math.sqrt(pulls / horizon)
    return horizon * alpha + pulls / alpha + arms * constant


def ucb(means: Means, horizon: float) -> float:
    """A24, (2.10)."""
    return 3 * sum(gaps(means)) + sum(16 * math.log(horizon) / gap for gap in gaps(means))


def ucb_gap_free(means: Means, horizon: float) -> float:
    """A24, theorem 2.23, second display."""
    return 8 * math.sqrt(horizon * len(means) * math.log(horizon)) + 3 * sum(gaps(means))


def ucb_rate(means: Means) -> float:
    """A24, theorem 2.24: the limit of regret / log T."""
    return sum(2 / gap for gap in gaps(means))


def klucb_rate(means: Means) -> float:
    """A24, theorem 2.26."""
    return sum((max(means) - mean) / kl(mean, max(means)) for mean in means if mean < max(means))


# --- membership: A24, chapters 2, 6 and 7


def gaussian_advantage(distance: float) -> float:
    """Φ(x/2) - Φ(-x/2)."""
    return math.erf(distance / 2 / math.sqrt(2))


def misspecified(target: Vector, true: Vector, mean: Vector, variance: Vector, n: int) -> float:
    """Theorem 6.7."""
    scalar = float(sum((target - mean) * (true - mean) / variance)) / n
    own = float(sum((target - mean) ** 2 / variance)) / n
    return gaussian_advantage(abs(scalar) / math.sqrt(own))


def linear_score(
    mean_of_data: Vector, target: Vector, mean: Vector, inverse: Vector, n: int
) -> float:
    """(6.4), and (6.5) where mean and covariance are those of references."""
    far = target - mean
    return float(far @ inverse @ (mean_of_data - mean) - far @ inverse @ far / (2 * n))


def advantage_bounds(epsilon: float, delta: float) -> tuple[float, float, float]:
    """2.3.6: [YGFJ18] (for δ = 0), [EMRS19], [HOT+23]."""
    e = math.exp(epsilon)
    return e - 1, 1 - (1 - delta) / e, (e - 1 + 2 * delta) / (e + 1)


def second_moment(points: Vector) -> tuple[Vector, Vector]:
    """Algorithms 13 and 14: the mean, and the covariance about 0."""
    n = len(points)
    return points.mean(axis=0), np.array(sum(np.outer(u, u) for u in points)) / n


def mahalanobis(point: Vector, mean: Vector, covariance: Vector) -> float:
    """Algorithm 14: |g - μ|² in the inverse of C."""
    return float((point - mean) @ np.linalg.inv(covariance) @ (point - mean))


def glir(
    batch: Vector, target: Vector, known: tuple[Vector, Vector], size: int, less: int
) -> float:
    """7.1.2: the log of the noncentral chi-square distribution function, as a Poisson mixture.

    Print has the inverse of that function, whose argument would be a probability and not Ŝ; and K̂
    without a square, where the noncentrality of (7.3) and (7.4) has the squared distance. Ŝ has
    |B| - `less`, 1 in print; by (7.3), the law of a non-member, it is 0. `known`: μ̂ and Ĉ.
    """
    mean, inverse = known[0], np.linalg.inv(known[1])
    s = (size - less) * float((batch - target) @ inverse @ (batch - target))
    half = size * float((mean - target) @ inverse @ (mean - target)) / 2
    terms = np.arange(int(half + 60 * math.sqrt(half) + 500))
    logs = stats.poisson.logpmf(terms, half) + stats.chi2.logcdf(s, len(mean) + 2 * terms)
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum()))


def references_cost(ratio: float) -> float:
    """2.3.4: samples needed with n_0 = λn references, by those of who knows the mean."""
    return (1 + ratio) / ratio


# --- what privacy does to divergences


def karwa_vadhan(distances: Sequence[float], epsilon: float, delta: float) -> tuple[float, float]:
    """AB22, lemma 2; theorem 9 where all distances are equal."""
    total = sum(distances)
    return 6 * epsilon * total, 4 * math.exp(6 * epsilon * total) * delta * total


def kl_pure(pulls: Sequence[float], distances: Sequence[float], epsilon: float) -> float:
    """A24, theorem 4.9; AB22's theorem 10 is six times it."""
    return epsilon * sum(n * t for n, t in zip(pulls, distances, strict=True))


def kl_zcdp(pulls: Sequence[float], distances: Sequence[float], rho: float) -> float:
    """A24, theorem 4.14, for numbers of pulls that are fixed; (4.6) then."""
    total = sum(n * t for n, t in zip(pulls, distances, strict=True))
    return rho * total**2 + rho * sum(
        n * t * (1 - t) for n, t in zip(pulls, distances, strict=True)
    )


def transport(distance: float, epsilon: float, risk: float) -> float:
    """A24, lemma 4.23: the least number of pulls, if one arm differs by `distance`."""
    return kl(1 - risk, risk) / (epsilon * distance)


def generic_pulls(level: int, failure: float, horizon: float, alpha: float) -> float:
    """AB22, theorem 11."""
    return 2.0 ** (level + 1) + failure * horizon + alpha / (alpha - 3)


def linear_minimax_pure(dimension: int, horizon: float, epsilon: float) -> float:
    """A24, theorem 4.17."""
    public = math.exp(-2) / 8 * dimension * math.sqrt(horizon)
    return max(public, math.exp(-1) / 4 * dimension / epsilon)


def linear_minimax_2022(dimension: int, horizon: float, epsilon: float) -> float:
    """AB22, theorem 4."""
    root = math.sqrt(horizon)
    return max(math.exp(-2), math.exp(-6 * epsilon * dimension * root)) * dimension / 8 * root


def linear_lower_by_pinsker(divergence: Callable[[float], float], budget: float) -> float:
    """The private term of 4.17 (ε) or 4.21 (√ρ), per dimension, by another way than print's.

    There, step 1 says P where Markov's inequality gives P/2. With θ = ±y/(Tb), b the budget, the
    distances of rewards add up to s/b at most, s = y√(2/π), as TV(N(0, 1), N(x, 1)) <= x/√(2π);
    p_θ + p_θ' >= 1 - √(KL/2), and the regret is at least y/(2b) times the mean of the two.
    """
    tried = (k / 1000 for k in range(1, 3000))
    return max(
        s / math.sqrt(2 / math.pi) / (4 * budget) * (1 - math.sqrt(divergence(s) / 2))
        for s in tried
    )


def linear_minimax_zcdp(dimension: int, horizon: float, rho: float) -> float:
    """A24, theorem 4.21, for any ρ."""
    public = math.exp(-2) / 8 * dimension * math.sqrt(horizon)
    return max(public, math.exp(-2.25) / 4 * dimension / math.sqrt(rho))


def evidence_against(horizon: float, epsilon: float, delta: float, c: float, power: float) -> float:
    """WZ24, (4) with Δ = 1/4: p = 2Δ/(1/2 + Δ) and c' = 2c/Δ; N_0, the pulls that an arm needs."""
    p, root, grown = 0.5 / 0.75, horizon ** (1 - power), math.exp(epsilon) - 1
    inside = (grown * root + 5 * delta * root) / (5 * 8 * c * grown + 5 * delta * root)
    return math.log(inside) / (epsilon * p)


def global_lower_bound(arms: int, pulls: float) -> float:
    """WZ24, theorem 4 and remark 6: each of the arms that are not best is played N_0/4 times, and
    Δ = 1/4. The last line of the proof bounds 1/2 + Δ by 1/2, by which 3/32 becomes 1/16."""
    return (arms - 1) * pulls / 4 * 0.25 * (0.5 / 0.75)


# --- small mechanisms: A24, chapter 2


def mean_noise(
    width: int, people: int, epsilon: float, delta: float, rho: float
) -> tuple[float, float, float]:
    """Example 2.15: Laplace scale, deviations under (ε, δ) and ρ; the first display lacks n."""
    ell1, ell2 = width / people, math.sqrt(width) / people
    gauss = ell2 / epsilon * math.sqrt(2 * math.log(1.25 / delta))
    return ell1 / epsilon, gauss, ell2 / math.sqrt(2 * rho)


def simple_counters(horizon: int, t: int, epsilon: float) -> tuple[float, float]:
    """Simple Mechanisms I and II: the standard deviation at step t; that of Lap(b) is √2 b."""
    return math.sqrt(2) * horizon / epsilon, math.sqrt(2 * t) / epsilon


SECOND = (1 / 2, 1 / 3, 1 / 4, 1 / 3)
THIRD = (
    1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 2, 2 / 3, 1 / 4, 0,
    1 / 3, 1 / 7, 3 / 4, 2 / 5, 1 / 2, 1, 1 / 4, 2 / 3,
)  # fmt: skip


def separating(arms: Sequence[int], rewards: Sequence[int]) -> float:
    """Proposition 3.12 (e), the policy of its proof: P(three actions given their rewards)."""
    (a, b, c), (r, s, _) = arms, rewards
    zeros = (2 / 3, SECOND[2 * a + r], THIRD[8 * a + 4 * r + 2 * b + s])
    return math.prod(p if arm == 0 else 1 - p for p, arm in zip(zeros, (a, b, c), strict=True))


def separating_delta(epsilon: float, tables: bool) -> float:
    """The least δ of that policy at ε: for lists of rewards (View DP), or for tables (Table DP)."""
    paths = list(itertools.product((0, 1), repeat=3))
    width = 6 if tables else 3

    def environment(data: tuple[int, ...]) -> list[float]:
        seen = [tuple(data[2 * t + a] for t, a in enumerate(p)) if tables else data for p in paths]
        return [separating(p, rewards) for p, rewards in zip(paths, seen, strict=True)]

    def neighbours(data: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        size = width // 3
        for t in range(3):
            for row in itertools.product((0, 1), repeat=size):
                yield data[: size * t] + row + data[size * (t + 1) :]

    return max(
        sum(
            max(p - math.exp(epsilon) * q, 0.0)
            for p, q in zip(environment(data), environment(other), strict=True)
        )
        for data in itertools.product((0, 1), repeat=width)
        for other in neighbours(data)
    )


def noise_in_the_end(actions: Vector, pulls: Vector, rho: float) -> float:
    """C.3.3: the deviation of Gaussian noise on θ̂ itself, by its sensitivity 2 max |V^-1 a|."""
    v = np.array(sum(n * np.outer(a, a) for n, a in zip(pulls, actions, strict=True)))
    longest = max(
        float(np.linalg.norm(np.linalg.solve(v, a)))
        for n, a in zip(pulls, actions, strict=True)
        if n > 0
    )
    return 2 * longest / math.sqrt(2 * rho)


# --- best-arm identification: A24, 5.4


def characteristic_time(means: Means, beta: float, cap: float = math.inf) -> float:
    """T*_(KL, β) of Gaussian arms with σ = 1/2, and with `cap` = 3ε T*_(ε, β) of (5.13)."""
    costs = [2 * gap * min(cap, gap) for gap in gaps(means)]  # 1/(2σ²) = 2

    def left(inverse: float) -> float:
        return sum(1 / (cost * inverse - 1 / beta) for cost in costs) - (1 - beta)

    low = 1 / (beta * min(costs)) * (1 + 1e-15)
    return halved(lambda x: -left(x), low, 1e12)


def adap_tt(means: Means, epsilon: float, beta: float) -> float:
    """Theorem 5.20, σ = 1/2."""
    inside = 1 + 8 * max(gaps(means)) ** 2 / epsilon**2
    return 4 * characteristic_time(means, beta) * (1 + math.sqrt(inside))


def condition_1(means: Means, epsilon: float) -> float:
    """5.4.2, the end: c = 45.26 times the larger of T*_(KL, 1/2), that of Gaussian arms with σ = 1
    (as its H is), and C/ε times T*_TV, C the ratio of the largest gap to the least."""
    ratio, least = max(gaps(means)) / min(gaps(means)), min(gaps(means))
    variation = 1 / least + sum(1 / gap for gap in gaps(means))
    return 45.26 * max(4 * characteristic_time(means, 0.5), ratio / epsilon * variation)


def adap_tt_star(means: Means, epsilon: float, beta: float) -> float:
    """Theorem 5.23, as printed, σ = 1/2."""
    widest = max(gaps(means))
    if widest < 3 * epsilon:
        return 4 * characteristic_time(means, beta) * _g1(4 * widest / epsilon)
    time = characteristic_time(means, beta, 3 * epsilon)
    y = 3 * epsilon**2 * time * max(beta, 1 - beta) / 2
    return 12 * time * (1 + 2 / (math.sqrt(1 + 1 / y) - 1)) * 4


def _g1(y: float) -> float:
    return halved(lambda x: x * x - x - y * math.sqrt(2 * x) - y * y / 4, 0.5, 1e9)


def rounds_of_adaptivity(means: Means, risk: float) -> float:
    """Remark 5.24, without a constant: K log_2(T*_KL log(1/δ)), T*_KL the least of T*_(KL, β)."""
    least = min(characteristic_time(means, beta / 1000) for beta in range(1, 1000))
    return len(means) * math.log2(least * math.log(1 / risk))


# --- R20, lemmas 7 to 9

SUBGAUSSIAN, GAUSSIAN = 0.0765 / math.e, 0.2066 / math.e
"""c_s as A.5 prints it: sub-Gaussian noise of variance at most 1; standard normal noise."""


def sigmoid_gap(gap: float, epsilon: float, constant: float) -> float:
    """Lemma 9: the gap that CTB-S leaves, at least; without ε it is lemma 8, that of CTL-S."""
    return constant * gap * (math.exp(epsilon) - 1) / (math.exp(epsilon) + 1)
