"""Bounds whose theorems end in O(·), by the constants of their proofs, against slow twins written
from the papers; and the inequalities on runs that the lower bounds rest on."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import discreet
from discreet import theory
from discreet.errors import InvalidArgument
from discreet.identify import identify

C2 = [0.75, 0.625, 0.5, 0.375, 0.25]
"""The second environment of Azize & Basu (2022)."""


def kl(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def klucb_by_grid(means: list[float], horizon: float, epsilon: float, alpha: float) -> float:
    """(34) and (35) as they stand: for every 2^l of a fine grid, the best β of a grid is tried."""
    log, best, total = math.log(horizon), max(means), 0.0
    for mean in means:
        if mean == best:
            continue
        gap = best - mean
        c = np.linspace(1e-6, 1 - 1e-6, 10_001)  # c(β), which says β
        one_plus_beta = kl(mean, best) / np.array([kl(mean + x * gap, best) for x in c])
        cs = np.linspace(1e-6, 1 - 1e-6, 10_001)
        inverse = np.array([kl(mean + x * gap, mean) for x in cs])
        for n in np.exp(np.linspace(math.log(10), math.log(1e7), 2_000)):
            gamma = float(np.interp(log / n, inverse, cs, right=1.0))
            allowed = c > gamma
            with np.errstate(divide="ignore"):
                needs = np.maximum(
                    one_plus_beta * alpha / kl(mean, best),
                    (1 + alpha) / (np.where(allowed, c - gamma, np.nan) * epsilon * gap),
                )
            if allowed.any() and np.nanmin(needs) * log <= n:
                break
        total += gap * (4 * n + 3 * alpha / (alpha - 3))
    return total


@pytest.mark.parametrize(("epsilon", "published"), [(0.1, 15_855), (1.0, 4_736), (10.0, 3_328)])
def test_adap_klucb_by_its_proof(epsilon: float, published: float) -> None:
    found = theory.adap_klucb(C2, 1e6, epsilon)
    assert found == pytest.approx(published, abs=0.6)
    assert found == pytest.approx(klucb_by_grid(C2, 1e6, epsilon, 3.1), rel=1e-2)


def test_adap_klucb_at_the_ends() -> None:
    """A best mean of 1, a worst of 0, and no privacy at all, where c = γ alone decides."""
    assert math.isfinite(theory.adap_klucb([1.0, 0.0, 0.3], 1e6, 1.0))
    assert theory.adap_klucb(C2, 1e6, math.inf) < theory.adap_klucb(C2, 1e6, 10.0)
    runs = discreet.simulate(
        discreet.policy("adap-klucb", epsilon=0.5), discreet.Bernoulli(C2), horizon=20_000, runs=20,
        seed=1,
    )  # fmt: skip
    assert runs.final_regret.max() < theory.adap_klucb(C2, 20_000, 0.5)


def least_over_gaps(horizon: float, leading: float, rest: float) -> float:
    """min over x of Tx + leading/x, by a grid, plus the rest."""
    x = np.exp(np.linspace(math.log(1e-7), math.log(1e3), 400_001))
    return float((horizon * x + leading / x).min()) + rest


@pytest.mark.parametrize("arms", [2, 7])
def test_gap_free_bounds_by_their_proofs(arms: int) -> None:
    """Tx for gaps up to x, the theorem for the others, x chosen: C.2.6, A.2 and A.4."""
    horizon, alpha = 1e5, 3.5
    log, tail = math.log(horizon), 3 * 3.5 / 0.5 * (arms - 1)
    for rho in (0.01, 2.0):
        noise = 8 * arms * math.sqrt(alpha * log / rho)
        expected = least_over_gaps(horizon, 8 * alpha * arms * log, noise + tail)
        found = theory.adac_ucb_minimax(arms, horizon, rho, alpha)
        assert found == pytest.approx(expected, rel=1e-8)
    for epsilon in (0.2, 3.0):
        each = 8 * (1 + 4 / epsilon) ** 2 * log
        expected = least_over_gaps(horizon, arms * each, arms * (1 + 2 * math.pi**2 / 3))
        assert theory.ldp_ucb_l_minimax(arms, horizon, epsilon) == pytest.approx(expected, rel=1e-8)
        each = 8 * ((math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)) ** 2 * log
        expected = least_over_gaps(horizon, arms * each, arms * (1 + math.pi**2 / 3))
        assert theory.ldp_ucb_b_minimax(arms, horizon, epsilon) == pytest.approx(expected, rel=1e-8)


def test_gap_free_bounds_are_in_the_table() -> None:
    names = {line.name for line in theory.bounds(C2, horizon=1e6, epsilon=0.5)}
    assert {"adap_ucb_minimax", "adap_klucb", "ldp_ucb_l_minimax", "ldp_ucb_b_minimax"} <= names
    assert "adac_ucb_minimax" in {line.name for line in theory.bounds(C2, horizon=1e6, rho=0.5)}
    assert {"ucb", "kl_ucb"} <= {line.name for line in theory.bounds(C2, horizon=1e6)}
    # a result is about given arms: its line is that of the gaps
    run = discreet.simulate(
        discreet.policy("ldp-ucb-b", epsilon=1.0), discreet.Bernoulli([0.7, 0.5]), horizon=500,
        runs=2, seed=1,
    )  # fmt: skip
    upper = [line.name for line in theory.bounds_of(run) if line.side == "upper"]
    assert upper == ["ldp_ucb_b"]


def gope_as_printed(d: int, k: int, horizon: float, rho: float, risk: float) -> float:
    """Steps 3 and 4 of C.3.2 for every Δ of a grid: Σ_{l <= l_Δ ∧ l(T)} 4β_{l-1} T_l + TΔ."""

    def length(phase: int) -> tuple[float, float]:
        beta, delta = 2.0**-phase, risk / (k * phase * (phase + 1))
        log = math.log(2 / delta)
        f = d + 2 * math.sqrt(d * log) + 2 * log
        inner = 8 * d / beta**2 * math.log(4 / delta) + 2 * d / beta * math.sqrt(2 / rho * f)
        return inner, inner + d * (d + 1) / 2

    last, begun = 0, 0.0
    while begun < horizon:
        last += 1
        begun += length(last)[0]
    sums = [0.0]
    for phase in range(1, last + 1):
        sums.append(sums[-1] + 4 * 2.0 ** -(phase - 1) * length(phase)[1])
    found = [sums[-1]]
    for gap in np.exp(np.linspace(math.log(1e-6), math.log(2.0), 200_001)):
        first = math.floor(math.log2(4 / gap)) + 1  # min{l: 4 2^-l < Δ}
        if first < last:
            found.append(sums[first] + horizon * gap)
    return min(2 * horizon, *found)


@pytest.mark.parametrize(("d", "k", "horizon", "rho"), [(3, 10, 1e7, 1.0), (5, 40, 1e6, 1e-4)])
def test_adac_gope_by_its_proof(d: int, k: int, horizon: float, rho: float) -> None:
    found = theory.adac_gope(d, k, horizon, rho, 0.01)
    assert found == pytest.approx(gope_as_printed(d, k, horizon, rho, 0.01), rel=2e-4)
    assert found <= theory.adac_gope(d, k, horizon, rho / 10, 0.01)


def too_low(n: int, mean: float, lam: float) -> float:
    """E[1/p - 1], p = P(draw > mean - λ) for N(S/n, 2/n), S binomial: summed up."""
    from scipy.stats import binom, norm

    successes = np.arange(n + 1)
    logs = binom.logpmf(successes, n, mean)
    z = (mean - lam - successes / n) * math.sqrt(n / 2)
    return float((np.exp(logs - norm.logsf(z)) - np.exp(logs)).sum())


@pytest.mark.parametrize("mean", [0.5, 0.9])
@pytest.mark.parametrize("lam", [0.05, 0.2, 0.4])
def test_draws_of_the_best_gaussian_leader_are_seldom_too_low(mean: float, lam: float) -> None:
    """What the bound on DP-FTPL-Gauss rests on: Theorem 11 of Wang & Zhu (2024), third term."""
    for n in (1, 2, 5, 20, 100, 400):
        square = n * lam**2
        allowed = math.exp(-square / 16) + math.exp(-square / 2) + 4.23 * math.exp(-2 * square)
        assert too_low(n, mean, lam) <= allowed


def test_dp_ftpl_gauss_by_its_proof() -> None:
    """Against the sums themselves, for λ of a coarse grid; and the tail of Fact 6, which is 1/T
    only for draws of variance 1/n: with 2/n it is more than 1/T at the printed distance."""
    from scipy.stats import norm

    from discreet.policies._starts import gauss_start
    from discreet.privacy import Approximate

    means, horizon, epsilon, delta = [0.9, 0.7, 0.5], 10**6, 1.0, 0.01
    for calibration in ("exact", "paper"):
        start = gauss_start(Approximate(epsilon, delta), calibration)
        whole = 0.0
        for gap in (0.2, 0.4):
            n = np.arange(start, 200_000)
            best = math.inf
            for share in np.arange(0.14, 0.3, 0.02):
                square = n * (share * gap) ** 2
                late = np.exp(-square / 16) + np.exp(-square / 2) + 5.23 * np.exp(-2 * square)
                early = max(4 * math.log(horizon) / (gap * (1 - 2 * share)) ** 2, start)
                best = min(best, early + 1 + float(late.sum()))
            whole += gap * best
        found = theory.dp_ftpl_gauss(means, horizon, epsilon, delta, calibration)
        assert found <= whole <= 1.01 * found
    log = math.log(horizon)
    assert norm.sf(math.sqrt(4 * log) / math.sqrt(2)) <= 1 / horizon < norm.sf(math.sqrt(log))
    table = {line.name for line in theory.bounds(means, horizon=horizon, epsilon=1.0, delta=0.01)}
    assert "dp_ftpl_gauss" in table
    assert "dp_ftpl_gauss" not in {x.name for x in theory.bounds(means, horizon=1e6, epsilon=1.0)}


def oful_as_printed(d: int, horizon: int, rho: float, risk: float, least: float) -> float:
    """C.4.1 and C.4.2 with λ = C = 1 and |θ| = 1; γ the largest γ_t, all t up to T tried."""
    delta = risk / 3
    t = np.arange(1, horizon + 1, dtype=float)
    log = np.log((t + 3) * d / delta)
    eigenvalue = np.maximum(least * t / 4 - 8 * log - 2 * np.sqrt(t * log), 0.0)
    episodes = d / math.log(2) * math.log(1 + horizon / d)
    tail = math.log(2 * horizon / delta)
    f = d + 2 * math.sqrt(d * tail) + 2 * tail
    gamma = math.sqrt(float((t * 2 * episodes / rho * f / (1 + eigenvalue)).max()))
    beta = math.sqrt(2 * math.log(1 / delta) + d * math.log(1 + horizon / d)) + 1
    scale = 2 * math.sqrt(2) * math.sqrt(2 * d * math.log(1 + horizon / d))
    return scale * (beta * math.sqrt(horizon) + gamma * math.sqrt(2 * 2 * episodes))


@pytest.mark.parametrize("rho", [1e3, 1e6])
def test_adac_oful_by_its_proof(rho: float) -> None:
    for d, horizon, least in ((2, 200_000, 0.4), (4, 3_000_000, 0.2)):
        found = theory.adac_oful(d, horizon, rho, 0.01, least)
        printed = min(oful_as_printed(d, horizon, rho, 0.01, least), 2.0 * horizon)
        assert printed <= found * (1 + 1e-9)  # solved between whole rounds, so a little larger
        assert found == pytest.approx(printed, rel=2e-3)
    thin = theory.adac_oful(3, 10**6, rho, 0.01, 0.3, ridge=0.1)
    assert thin > theory.adac_oful(3, 10**6, rho, 0.01, 0.3)


def test_the_least_eigenvalue_of_random_contexts() -> None:
    """Lemma 5.16: 50 streams of contexts on a circle, none below the bound, which is above 0 in
    the end. At risk 2e-8 a stream, a false alarm has probability 1e-6."""
    rng, risk, steps = np.random.default_rng(3), 2e-8, 16_000
    angles = rng.uniform(0.0, 2.0 * math.pi, (50, steps))
    contexts = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    sums = np.cumsum(contexts[..., :, None] * contexts[..., None, :], axis=1)
    at = np.array([10, 100, 1000, 3000, 16_000])
    found = np.linalg.eigvalsh(sums[:, at - 1])[..., 0].min(axis=0)
    bounds = [theory.least_eigenvalue(t, 2, risk, 0.5) for t in at]
    assert (found >= bounds).all()
    log = math.log(16_003 * 2 / risk)
    assert bounds[-1] == pytest.approx(0.5 * 16_000 / 4 - 8 * log - 2 * math.sqrt(16_000 * log))
    assert bounds[-1] > 0.0


def test_linear_bounds_of_2022_and_of_2024() -> None:
    """Theorems 4 and 5 as first printed: exp(-6εd sqrt T), and 3ε where the thesis has ε/2."""
    for d, horizon, epsilon in ((3, 100, 1e-4), (2, 10**6, 0.1)):
        root = d * math.sqrt(horizon)
        expected = max(math.exp(-2), math.exp(-6 * epsilon * root)) * root / 8
        assert theory.linear_minimax_pure(d, horizon, epsilon, "2022") == pytest.approx(expected)
        assert theory.linear_minimax_pure(d, horizon, epsilon) == pytest.approx(
            max(math.exp(-2) * root / 8, math.exp(-1) * d / (4 * epsilon))
        )
    actions, theta = [[1.0, 0.0], [0.6, 0.6], [0.0, 1.0]], [0.8, 0.1]
    for epsilon in (0.01, 0.1):
        early = theory.linear_private(actions, theta, epsilon, "2022")
        assert early == pytest.approx(theory.linear_private(actions, theta, 6 * epsilon), rel=1e-6)


def test_the_linear_bound_under_zcdp_beyond_one() -> None:
    """Theorem 4.21: e^-2.25 d/(4 sqrt ρ) as printed up to ρ = 1, from T = 3 on the first term."""
    for rho in (1e-6, 0.3, 1.0):
        printed = max(
            math.exp(-2) * 3 * math.sqrt(2) / 8, math.exp(-2.25) * 3 / (4 * math.sqrt(rho))
        )
        assert theory.linear_minimax_zcdp(3, 2, rho) == pytest.approx(printed)
    for rho in (1.5, 40.0):
        assert theory.linear_minimax_zcdp(3, 3, rho) == pytest.approx(
            max(math.exp(-2) * 3 * math.sqrt(3) / 8, math.exp(-2.25) * 3 / (4 * math.sqrt(rho)))
        )


def laws_of_two_rounds(means: tuple[float, float], flip: float) -> dict[tuple[int, int], float]:
    """A policy that plays arm 0, hears its bit through randomised response, and plays arm 0 again
    if it hears 1: the law of its actions."""
    hears = means[0] * (1 - flip) + (1 - means[0]) * flip
    return {(0, 0): hears, (0, 1): 1 - hears}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_runs_on_two_instances(epsilon: float) -> None:
    """Theorems 9, 10, 4.9 and 4.14 against a policy whose runs have a known law."""
    flip = 1 / (1 + math.exp(epsilon))  # ε-view DP, and ε tanh(ε/2)-zCDP
    rho = discreet.Pure(epsilon).to_zcdp().rho
    for a, b in itertools.product((0.1, 0.4, 0.9), repeat=2):
        p, q = laws_of_two_rounds((a, 0.5), flip), laws_of_two_rounds((b, 0.5), flip)
        divergence = sum(x * math.log(x / q[key]) for key, x in p.items())
        pulls = [1 + p[0, 0], p[0, 1]]
        distances = [abs(a - b), 0.0]
        found = theory.run_divergence(pulls, distances, epsilon=epsilon)
        assert divergence <= found + 1e-12
        assert found == pytest.approx(epsilon * pulls[0] * abs(a - b))
        early = theory.run_divergence(pulls, distances, epsilon=epsilon, version="2022")
        assert early == pytest.approx(6 * found)
        # each run is one of two: (2, 0) pulls or (1, 1)
        runs = [[2, 0]] * 1000 + [[1, 1]] * 1000
        squares = [(n * abs(a - b)) ** 2 + n * abs(a - b) * (1 - abs(a - b)) for n in (2, 1)]
        assert theory.run_divergence(runs, distances, rho=rho) == pytest.approx(
            rho * sum(squares) / 2
        )
        single = theory.run_divergence([[1, 1]], distances, rho=rho)
        assert divergence <= single + 1e-12  # the last action was not answered
        budget = theory.output_budget(epsilon, 0.0, [abs(a - b)])
        assert all(x <= math.exp(budget.epsilon) * q[key] + 1e-12 for key, x in p.items())
    leaky = theory.output_budget(0.1, 1e-6, [0.5, 0.25])
    assert isinstance(leaky, discreet.Approximate)
    assert leaky.epsilon == pytest.approx(6 * 0.1 * 0.75)
    assert leaky.delta == pytest.approx(4 * math.exp(0.45) * 1e-6 * 0.75)


def test_the_transportation_lemma() -> None:
    """Lemma 4.23: runs of AdaP-TT have the evidence against every alternative; and 4.24 from it."""
    risk, epsilon, means = 0.05, 0.5, (0.8, 0.4)
    assert theory.evidence_needed(risk) == pytest.approx(kl(1 - risk, risk))
    assert theory.evidence_needed(risk) >= math.log(1 / (3 * risk))
    found = identify(
        discreet.policy("adap-tt", epsilon=epsilon, goal="identify"), discreet.Bernoulli(means),
        risk=risk, runs=20, seed=1,
    )  # fmt: skip
    pulls = found.final_pulls
    for moved in (0.4 + 1e-9, 0.6):  # the worse arm becomes the better one
        evidence = theory.run_divergence(pulls, [0.0, moved], epsilon=epsilon)
        assert evidence >= theory.evidence_needed(risk)


def test_pulls_under_doubling_and_their_rounds_of_adaptivity() -> None:
    assert theory.doubling_pulls(10, 1e6, 1e-6, 4.0) == pytest.approx(2048 + 1.0 + 4.0)
    with pytest.raises(InvalidArgument, match="episode must have 2"):
        theory.doubling_pulls(20, 1e6, 0.0)
    with pytest.raises(InvalidArgument, match="alpha must be above 3"):
        theory.doubling_pulls(3, 1e6, 0.0, 3.0)
    for arms, samples in ((2, 1000), (5, 10**6)):
        most = theory.adaptivity_rounds(arms, samples)
        for split in ([samples - arms + 1, *[1] * (arms - 1)], [samples // arms] * arms):
            batches = 0
            for pulls in split:  # one pull, then as many as before
                done = 1
                batches += 1
                while 2 * done <= pulls:
                    done *= 2
                    batches += 1
            assert batches <= most + 1e-9


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_the_length_of_gap_estimation(calibration: str) -> None:
    """Lemma 9: the batches that are played until Δ̂ < 2Δ/3, after which it halts, added up."""
    arms, horizon, epsilon = 3, 10**9, 0.5
    factor = arms if calibration == "paper" else 1
    for gap in (0.9, 0.5, 0.1, 0.013):
        played, estimate = 0.0, 1.0
        while True:
            played += arms * 192 * factor * math.log2(horizon) / (epsilon * estimate**2)
            if estimate / 2 < gap / 3:  # it could go on only with a smaller estimate than Δ/3
                break
            estimate /= 2
        found = theory.gap_estimation_rounds(gap, arms, horizon, epsilon, calibration)
        assert played <= found <= 4.1 * played
    with pytest.raises(InvalidArgument, match="epsilon must be at most"):
        theory.gap_estimation_rounds(0.1, arms, horizon, 4.0, calibration)


def test_bounds_without_privacy() -> None:
    """Theorems 2.23, 2.24 and 2.26 of the thesis."""
    gaps = [0.75 - m for m in C2[1:]]
    log = math.log(1e6)
    assert theory.ucb(C2, 1e6) == pytest.approx(3 * sum(gaps) + sum(16 * log / g for g in gaps))
    assert theory.ucb_minimax(5, 1e6) == pytest.approx(8 * math.sqrt(5e6 * log) + 12)
    assert theory.ucb_minimax(5, 1e6, sum(gaps)) == pytest.approx(
        8 * math.sqrt(5e6 * log) + 3 * sum(gaps)
    )
    assert theory.ucb_asymptotic(C2) == pytest.approx(sum(2 / g for g in gaps))
    assert theory.kl_ucb(C2) == pytest.approx(sum((0.75 - m) / kl(m, 0.75) for m in C2[1:]))
