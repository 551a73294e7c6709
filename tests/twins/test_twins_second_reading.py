"""The library against the second reading of the sources: formulas to 1e-9, by twins from print.

Where the two differed, print was read once more; who was right stands with the assertion.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import second_reading as twin

import discreet
from discreet import membership, theory
from discreet.membership.gradients import References, dirac, glir_steps, rank
from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy._counters import tree_levels
from discreet.privacy._mechanisms import Gaussian, Laplace

C2 = (0.75, 0.625, 0.5, 0.375, 0.25)
T = 10**6


def same(found: float, printed: float) -> None:
    assert found == pytest.approx(printed, rel=1e-9, abs=1e-12)


def test_private_thompson_estimates_the_gap_as_long_as_printed() -> None:
    """Both read base 2 in m. The sum of batches: (9) is damaged, and the 4^i of the library is the
    sum of the m_i that stand above it."""
    for arms, epsilon in ((2, 0.3), (5, 1.0)):
        first = twin.pulls_in_batch(arms, T, epsilon, 1.0)
        for calibration, share in (("paper", 1), ("tight", arms)):  # rewards are disjoint
            row = discreet.policy("private-thompson", epsilon=epsilon, calibration=calibration)
            same(row.rule.parameters(row.setting(arms, T)).estimate, first / share)
        for batches in range(2, 8):
            # the phase halts with a guess of at least Δ/3
            bound = theory.gap_estimation_rounds(3 * 2.0**-batches, arms, T, epsilon, "paper")
            whole = arms * twin.pulls_in_batches(arms, T, epsilon, batches)
            same(bound - whole, arms * first / 3)  # (4/3) 4^i for (4^(i+1) - 1)/3


@pytest.mark.parametrize("horizon", [64, 1025, 10**6, 10**12])
def test_the_noise_of_a_tree_stays_below_its_width(horizon: int) -> None:
    """MT15, lemma 5, natural logarithms in Γ: P(|noise| > Γ), summed over all arms and rounds, is
    below γ = 0.1, by Chernoff's bound on h draws of Lap(h/ε), h the levels of the tree."""
    levels, row = tree_levels(horizon), discreet.policy("private-ucb", epsilon=1.0)
    for arms in (2, 30):
        width = row.rule.parameters(row.setting(arms, horizon)).noise / levels
        tries = (k / 100 for k in range(1, 100))
        tail = min(2 * math.exp(-s * width) * (1 - s * s) ** -levels for s in tries)
        assert arms * horizon * tail <= 0.1


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_adap_klucb(epsilon: float) -> None:
    """The library has the last line of the proof of Theorem 8, the twin had the one before it,
    whose 2^(ℓ+1) is at most 4n. Both are print's; the last line is what the theorem says."""
    found = theory.adap_klucb(C2, T, epsilon)
    same(found, twin.adap_klucb_last_line(C2, T, epsilon, 3.1))
    assert twin.adap_klucb(C2, T, epsilon, 3.1) <= found


def test_bounds_with_the_constants_of_their_proofs() -> None:
    spread = sum(twin.gaps(C2))
    for rho in (1e-4, 0.1, 2.0):
        same(
            theory.adac_ucb_minimax(5, T, rho, gaps=spread),
            twin.adac_ucb_gap_free(C2, T, rho, 3.1),
        )
    for epsilon in (0.1, 1.0, 5.0):
        e = math.exp(epsilon)
        laplace = twin.local_distribution_free(5, T, 1 + 4 / epsilon, 1 + 2 * math.pi**2 / 3)
        bernoulli = twin.local_distribution_free(5, T, (e + 1) / (e - 1), 1 + math.pi**2 / 3)
        same(theory.ldp_ucb_l_minimax(5, T, epsilon), laplace)
        same(theory.ldp_ucb_b_minimax(5, T, epsilon), bernoulli)
    same(theory.ucb(C2, T), twin.ucb(C2, T))
    same(theory.ucb_minimax(5, T, gaps=spread), twin.ucb_gap_free(C2, T))
    same(theory.ucb_asymptotic(C2), twin.ucb_rate(C2))
    same(theory.kl_ucb(C2), twin.klucb_rate(C2))


@pytest.mark.parametrize(("d", "actions", "rho"), [(3, 10, 1.0), (5, 40, 1e-3), (2, 4, 100.0)])
def test_adac_gope(d: int, actions: int, rho: float) -> None:
    """The twin had left out that no phase begins after T: the library was right."""
    for horizon in (1e6, 1e9):
        found = theory.adac_gope(d, actions, horizon, rho, 0.01)
        same(found, min(twin.adac_gope(d, actions, horizon, rho, 0.01), 2 * horizon))


@pytest.mark.parametrize(("d", "horizon", "lambda0"), [(2, 10**8, 0.4), (4, 10**9, 0.2)])
def test_adac_oful(d: int, horizon: int, lambda0: float) -> None:
    """Print has γ_T and log(1/δ). The library is right to take the largest γ_t: γ_t falls where
    λ_min grows, and step 2 of C.4.2 needs γ_τ <= γ_T. Its log(2/δ) is that of the policy's width,
    sound and wider than print's by less than 1 %."""
    risk, rho = 0.03, 1.0
    delta = risk / 3  # E fails with probability 3δ
    found = theory.adac_oful(d, horizon, rho, risk, lambda0)
    most = twin.largest_oful_ratio(horizon, d, delta, lambda0)
    same(found, twin.adac_oful(horizon, d, delta, rho, most, tail=2.0))
    printed = twin.adac_oful(horizon, d, delta, rho, most)
    assert printed < found < 1.01 * printed
    at_the_end = twin.oful_ratio(horizon, d, delta, lambda0)
    assert twin.adac_oful(horizon, d, delta, rho, at_the_end) < printed
    for t in (10, 10**4, horizon):
        same(
            theory.least_eigenvalue(t, d, delta, lambda0),
            twin.least_eigenvalue(t, d, delta, lambda0),
        )


def test_the_advantage_of_a_mistaken_attacker() -> None:
    rng = np.random.default_rng(7)
    sd, mean = rng.uniform(0.5, 2.0, 30), rng.normal(size=30)
    true, wrong = rng.normal(size=(2, 30))
    environment = membership.Gaussian(mean, sd=sd)
    for guess in (wrong, true, 2 * mean - true, 0.3 * wrong - 0.9 * true):
        found = membership.leakage(environment, 20, true, guess=guess).advantage
        same(found, twin.misspecified(guess, true, mean, sd**2, 20))


def test_the_score_of_remark_d1_and_with_references() -> None:
    """(6.4) with what is known and (6.5), covariance about 0, with what references say."""
    rng = np.random.default_rng(8)
    sd, mean = rng.uniform(0.5, 2.0, 5), rng.normal(size=5)
    points = mean + sd * rng.normal(size=(60, 5))
    outputs, targets = rng.normal(size=(2, 4, 5))
    released = membership.Mean(membership.Gaussian(mean, sd=sd), 20)
    about = twin.second_moment(points)
    for attack, centre, inverse in (
        (membership.LinearRatio(), mean, np.diag(sd**-2)),
        (membership.EmpiricalRatio(points, centred=False), about[0], np.linalg.inv(about[1])),
    ):
        found = attack.against(released)(outputs, targets, rng)
        for score, output, target in zip(found, outputs, targets, strict=True):
            same(score, twin.linear_score(output, target, centre, inverse, 20))


def test_what_privacy_leaves_of_the_advantage() -> None:
    for epsilon, delta in ((0.1, 0.0), (1.0, 1e-3), (4.0, 0.2)):
        loose, looser, tight = twin.advantage_bounds(epsilon, delta)
        budget = Approximate(epsilon, delta) if delta else Pure(epsilon)
        same(budget.attacker_advantage(), tight)
        assert tight <= looser
        assert delta > 0.0 or tight <= loose


def made(d: int, centred: bool) -> tuple[References, tuple[twin.Vector, twin.Vector]]:
    points = (
        np.random.default_rng(d).normal(size=(5 * d, d)) @ np.diag(np.linspace(0.5, 2, d)) + 0.3
    )
    mean, about_zero = twin.second_moment(points)
    covariance = np.cov(points, rowvar=False) if centred else about_zero
    return References.of(points, ridge=0.0, centred=centred), (mean, covariance)


@pytest.mark.parametrize("centred", [False, True])
def test_canaries(centred: bool) -> None:
    """Algorithm 14, and the Dirac canary that it would choose."""
    references, (mean, covariance) = made(6, centred)
    candidates = np.random.default_rng(1).normal(size=(40, 6))
    scores = [twin.mahalanobis(g, mean, covariance) for g in candidates]
    found = rank(references, candidates)
    assert np.allclose(found.distances, scores, rtol=1e-9)
    assert found.easiest == int(np.argmax(scores))
    units = 1.7 * np.eye(6)
    best = units[int(np.argmax([twin.mahalanobis(g, mean, covariance) for g in units]))]
    assert np.array_equal(dirac(references, 1.7), best)


@pytest.mark.parametrize("d", [4, 60, 150])
def test_glir(d: int) -> None:
    """The library has |B| where print has |B| - 1: by (7.3) a non-member's Ŝ is noncentral χ² with
    |B|, and so it is right. Both squared K̂ and took the function for its inverse."""
    references, known = made(d, centred=True)
    rng = np.random.default_rng(2)
    target, batches = rng.normal(size=d), rng.normal(size=(3, d)) / 4 + known[0]
    found = glir_steps(references, target, batches, 16)
    for score, batch in zip(found, batches, strict=True):
        assert -score == pytest.approx(twin.glir(batch, target, known, 16, less=0), rel=1e-9)
        assert -score > twin.glir(batch, target, known, 16, less=1)


def test_references_that_estimate_the_mean() -> None:
    environment, target = membership.Gaussian(np.zeros(8), sd=1.0), np.full(8, 1.5)
    for n, references in ((40, 10), (40, 40), (30, 900)):
        factor = twin.references_cost(references / n)
        exact = membership.leakage(environment, n, target).score
        same(
            membership.leakage(environment, n, target, references=references).score, exact / factor
        )


def test_divergences_of_runs() -> None:
    pulls, distances = [100.0, 30.0, 7.0], [0.0, 0.2, 0.45]
    for budget in (0.1, 1.0):
        pure = twin.kl_pure(pulls, distances, budget)
        same(theory.run_divergence(pulls, distances, epsilon=budget), pure)
        same(theory.run_divergence(pulls, distances, epsilon=budget, version="2022"), 6 * pure)
        same(
            theory.run_divergence(pulls, distances, rho=budget),
            twin.kl_zcdp(pulls, distances, budget),
        )
        same(ZCDP(budget).group(7).rho, 49 * budget)  # Theorem 4.12
    found = theory.output_budget(0.05, 1e-6, distances)
    assert isinstance(found, Approximate)
    same(found.epsilon, twin.karwa_vadhan(distances, 0.05, 1e-6)[0])
    same(found.delta, twin.karwa_vadhan(distances, 0.05, 1e-6)[1])
    for risk in (0.01, 0.2):
        needed = theory.evidence_needed(risk)
        same(
            needed / theory.run_divergence([1.0], [0.3], epsilon=0.5),
            twin.transport(0.3, 0.5, risk),
        )
    same(theory.doubling_pulls(7, T, 1e-4, 3.5), twin.generic_pulls(7, 1e-4, T, 3.5))


def test_the_lower_bound_of_wang_and_zhu() -> None:
    """Remark 6 has no constant: that of Theorem 4, once for every arm that is not best."""
    for epsilon, delta, arms in ((0.5, 1e-3, 2), (0.1, 0.0, 2), (1.0, 1e-6, 9)):
        pulls = twin.evidence_against(1e7, epsilon, delta, 1.0, 0.5)
        found = theory.minimax_global(1e7, epsilon, delta, arms=arms)
        same(found, twin.global_lower_bound(arms, pulls))
        in_table = theory.bounds(
            [0.5] * (arms - 1) + [0.7], horizon=1e7, epsilon=epsilon, delta=delta
        )
        assert [line.value for line in in_table if line.name == "minimax_global"] == [found]


@pytest.mark.parametrize("rho", [1e-8, 0.3, 1.0, 7.0])
def test_the_linear_lower_bound_under_zcdp(rho: float) -> None:
    """Beyond ρ = 1 the library weakens the second term, as the proof then needs; from T = 3 on the
    first is the larger."""
    for d, horizon in ((2, 3), (5, 1000)):
        same(theory.linear_minimax_zcdp(d, horizon, rho), twin.linear_minimax_zcdp(d, horizon, rho))


def test_linear_lower_bounds_hold_although_a_step_of_their_proofs_fails() -> None:
    """Theorems 4.17 and 4.21: by Markov's inequality their step 1 gives half of what it says. Both
    hold as printed all the same, by Pinsker's inequality and by Theorem 4.14 without a variance."""
    for d, horizon, epsilon in ((3, 100, 1e-4), (3, 10**6, 1.0)):
        found = theory.linear_minimax_pure(d, horizon, epsilon)
        same(found, twin.linear_minimax_pure(d, horizon, epsilon))
        older = theory.linear_minimax_pure(d, horizon, epsilon, "2022")
        same(older, twin.linear_minimax_2022(d, horizon, epsilon))
    assert twin.linear_lower_by_pinsker(lambda s: s, 1.0) >= math.exp(-1) / 4
    for root in (1e-3, 0.3, 1.0):  # sqrt ρ; the KL divergence is at most s² + s sqrt ρ
        shown = twin.linear_lower_by_pinsker(lambda s: s * s + s * root, root)  # noqa: B023
        assert shown >= math.exp(-2.25) / (4 * root)


def test_small_mechanisms() -> None:
    k, n, epsilon, delta, rho = 6, 80, 0.7, 1e-5, 0.2
    laplace, gauss, concentrated = twin.mean_noise(k, n, epsilon, delta, rho)
    wide, far = k / n, math.sqrt(k) / n
    same(Laplace.calibrated(Pure(epsilon), sensitivity=wide).scale, laplace)
    printed = Gaussian.calibrated(Approximate(epsilon, delta), sensitivity=far, calibration="paper")
    same(printed.scale, gauss)
    same(Gaussian.calibrated(ZCDP(rho), sensitivity=far).scale, concentrated)
    first, second = twin.simple_counters(1000, 300, epsilon)
    each = Laplace.calibrated(Pure(epsilon), sensitivity=1.0).variance
    same(math.sqrt(Laplace.calibrated(Pure(epsilon / 1000), sensitivity=1.0).variance), first)
    same(math.sqrt(300 * each), second)


def test_view_dp_is_weaker_than_table_dp() -> None:
    """Proposition 3.12 (e): as printed at 0.95; the 0.98 of its last line is 0.984, rounded."""
    assert (
        twin.separating_delta(0.95, tables=False) <= 0.17 < twin.separating_delta(0.95, tables=True)
    )
    assert (
        twin.separating_delta(0.98, tables=True) > 0.17 >= twin.separating_delta(0.985, tables=True)
    )


def test_noise_in_the_end_is_not_bounded_by_a_design() -> None:
    """Why C.3.3 has no home: of two equally good designs, one needs a hundred times the noise."""
    short = np.array([[1.0, 0.0], [0.0, 0.01]])
    pulls = np.array([50.0, 50.0])  # the G-optimal design of either set, |a|² in V^-1 is 1/50
    same(
        twin.noise_in_the_end(short, pulls, 0.5), 100 * twin.noise_in_the_end(np.eye(2), pulls, 0.5)
    )


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 1.0])
def test_adap_tt_star_as_printed(epsilon: float) -> None:
    means = (0.9, 0.8, 0.6)
    found = theory.adap_tt_star_samples(means, epsilon, version="thesis-k2")
    same(found, twin.adap_tt_star(means, epsilon, 0.5))


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 1.0, 50.0])
def test_adap_tt_and_its_condition_1(epsilon: float) -> None:
    """Print derives c with Δ²/(2ε²) where Theorem 5.20 has Δ²/(2σ⁴ε²): as its T* is four times that
    for σ = 1/2, the inequality holds all the same."""
    for means in ((0.9, 0.8, 0.6), (0.5, 0.4), (0.8, 0.1, 0.2, 0.79)):
        found = theory.adap_tt_samples(means, epsilon)
        same(found, twin.adap_tt(means, epsilon, 0.5))
        assert found <= twin.condition_1(means, epsilon)


def test_rounds_of_adaptivity() -> None:
    """Print has no constant; the library's count stays below K log2 n."""
    for means in ((0.9, 0.8, 0.6), (0.5, 0.4)):
        for risk in (0.1, 1e-6):
            printed = twin.rounds_of_adaptivity(means, risk)
            samples = int(2 ** (printed / len(means)))
            assert theory.adaptivity_rounds(len(means), samples) <= printed


def test_sigmoids() -> None:
    """Lemma 7: print's constants, 0.0765/e rounded down and 0.2066/e. The library's for normal
    noise is sharper, as it does not bound e^-μ - e^-λ first; that for other noise was not there."""
    general = theory.sigmoid_slope(noise="subgaussian")
    assert twin.SUBGAUSSIAN <= general < twin.SUBGAUSSIAN * 1.002
    assert theory.sigmoid_slope() > twin.GAUSSIAN
    for noise in (np.array([-1.0, 1.0]), np.array([-0.3, 0.3]), np.linspace(-1, 1, 9)):
        # bounded by 1, so sub-Gaussian with sd = 1
        for low, high in ((0.0, 0.1), (0.0, 1.0), (0.9, 1.0)):
            kept = np.mean(1 / (1 + np.exp(-high - noise)) - 1 / (1 + np.exp(-low - noise)))
            assert kept >= general * (high - low)
            bit = kept * math.tanh(0.35)  # what randomised response at ε = 0.7 leaves of it
            assert bit >= twin.sigmoid_gap(high - low, 0.7, general) * (1 - 1e-12)
