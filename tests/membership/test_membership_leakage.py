"""Leakage without sampling: closed forms and exact curves against naive twins and references."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet import membership
from discreet.errors import InvalidArgument
from discreet.membership import leakage

COLUMNS = membership.Bernoulli(np.repeat(np.arange(1, 10) / 10, 50))


@pytest.mark.parametrize(
    ("which", "advantage", "power", "auc"),
    [("easiest", 0.96624, 0.97220, 0.99866), ("hardest", 0.51745, 0.17668, 0.83966)],
)
def test_exact_bernoulli_references(which: str, advantage: float, power: float, auc: float) -> None:
    """n = 100, d = 450. The easiest target's P(ℓ > 0) is confirmed by inverting the characteristic
    function below; a printed reference has .96614, .97196 and .99856, within 2.5e-4."""
    leak = leakage(COLUMNS, n=100, target=getattr(COLUMNS, which)(), exact=True)
    assert leak.advantage == pytest.approx(advantage, abs=1e-5)
    assert leak.power(0.01) == pytest.approx(power, abs=1e-5)
    assert leak.auc == pytest.approx(auc, abs=1e-5)


def test_exact_law_against_the_characteristic_function() -> None:
    """P(ℓ > 0) by Gil-Pelaez: half of the mass plus ∫ Im φ(t)/t dt/π."""
    p, counts, n = np.array([0.2, 0.4]), np.array([20, 30]), 40
    columns = membership.Bernoulli(np.repeat(p, counts))
    t = np.linspace(1e-7, 40.0, 40_001)
    tails = []
    for inside in (False, True):
        log_phi, mass = np.zeros(len(t), complex), 1.0
        for share, count in zip(p, counts, strict=True):
            k = np.arange(1, n + 1)
            weights = binom.pmf(k - 1, n - 1, share) if inside else binom.pmf(k, n, share)
            phi = sum(
                w * np.exp(1j * t * math.log(j / (n * share)))
                for w, j in zip(weights, k, strict=True)
                if w > 1e-17
            )
            log_phi += count * np.log(phi)
            mass *= float(weights.sum()) ** count
        tails.append(mass / 2.0 + float(np.trapezoid(np.exp(log_phi).imag / t, t)) / math.pi)
    leak = leakage(columns, n, np.ones(50), exact=True)
    # the first cell of the integral is left out: E ℓ·1e-7
    assert leak.advantage == pytest.approx(tails[1] - tails[0], abs=5e-5)


def test_exact_law_by_enumeration() -> None:
    """Three columns, four rows: every output, its two probabilities, Neyman and Pearson's test."""
    p, target, n = np.array([0.3, 0.6, 0.6]), np.array([1.0, 0.0, 1.0]), 4
    pairs = []
    for counts in product(range(n + 1), repeat=3):
        outside = math.prod(binom.pmf(k, n, q) for k, q in zip(counts, p, strict=True))
        inside = math.prod(
            binom.pmf(k - z, n - 1, q) for k, q, z in zip(counts, p, target, strict=True)
        )
        pairs.append((outside, inside))
    pairs.sort(key=lambda pair: -(pair[1] / pair[0]))
    leak = leakage(membership.Bernoulli(p), n, target, exact=True)
    assert leak.advantage == pytest.approx(sum(max(b - a, 0.0) for a, b in pairs), abs=1e-6)
    for level in (0.01, 0.1, 0.4):
        spent = found = 0.0
        for outside, inside in pairs:
            share = min(1.0, (level - spent) / outside)
            spent, found = spent + share * outside, found + share * inside
            if share < 1.0:
                break
        assert leak.power(level) == pytest.approx(found, abs=2e-5)
    for epsilon in (0.1, 0.7):
        forth = sum(max(b - math.exp(epsilon) * a, 0.0) for a, b in pairs)
        back = sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in pairs)
        assert leak.delta(epsilon) == pytest.approx(max(forth, back), abs=1e-6)
        # with sub-sampling p_in is a mixture; n = 8 rows of which 4 are drawn
        half = leakage(membership.Bernoulli(p), 8, target, subsample=0.5, exact=True)
        mixed = [(a, (a + b) / 2.0) for a, b in pairs]
        forth = sum(max(b - math.exp(epsilon) * a, 0.0) for a, b in mixed)
        back = sum(max(a - math.exp(epsilon) * b, 0.0) for a, b in mixed)
        assert half.delta(epsilon) == pytest.approx(max(forth, back), abs=1e-6)


def test_closed_forms() -> None:
    leak = leakage(COLUMNS, n=100, target=COLUMNS.hardest())
    score = sum((COLUMNS.hardest() - COLUMNS.mean) ** 2 / COLUMNS.spectrum) / 100
    root = math.sqrt(score)
    assert leak.score == pytest.approx(score)
    assert leak.advantage == pytest.approx(2 * norm.cdf(root / 2) - 1)
    assert leak.power(0.01) == pytest.approx(norm.cdf(norm.ppf(0.01) + root))
    assert leak.auc == pytest.approx(norm.cdf(root / math.sqrt(2)))
    epsilon = leak.epsilon(1e-5)
    delta = norm.cdf(-epsilon / root + root / 2)
    delta -= math.exp(epsilon) * norm.cdf(-epsilon / root - root / 2)
    assert delta == pytest.approx(1e-5, rel=1e-6)
    assert math.isinf(leak.epsilon(0.0))
    curve = leak.curve()
    assert curve.advantage == pytest.approx(leak.advantage, abs=1e-4)
    assert curve.auc == pytest.approx(leak.auc, abs=1e-5)


def test_subsampling_is_corrected_and_never_above_its_share() -> None:
    """m* = 5, ρ = .1, α = .01: .109, where Theorem 6.6 prints .053."""
    law = membership.Gaussian([0.0])
    leak = leakage(law, n=100, target=[math.sqrt(500.0)], subsample=0.1)
    assert leak.score == pytest.approx(5.0)
    assert leak.power(0.01) == pytest.approx(0.109, abs=5e-4)
    printed = membership.printed_subsampling(leak)
    assert printed.power(0.01) == pytest.approx(0.053, abs=5e-4)
    assert leak.advantage < 0.1 < printed.advantage
    assert leak.auc == pytest.approx(0.45 + 0.1 * norm.cdf(math.sqrt(25.0)))


def test_noise_is_on_the_mean() -> None:
    noisy = leakage(COLUMNS, 100, COLUMNS.easiest(), noise=0.05)
    weights = 1.0 / (COLUMNS.spectrum + 100 * 0.05**2)
    assert noisy.score == pytest.approx(
        float(((COLUMNS.easiest() - COLUMNS.mean) ** 2 * weights).sum()) / 100
    )


@pytest.mark.parametrize("form", [{"exact": True}, {"finite": True}])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_delta_and_epsilon_are_of_the_curve_that_power_is_of(
    form: dict[str, bool], share: float
) -> None:
    """Where the law with the target is narrower, κ alone does not say it: δ(0) is the advantage,
    and δ(ε(δ)) is δ."""
    columns = membership.Gaussian(np.zeros(3))
    leak = leakage(columns, 6, np.ones(3), subsample=share, **form)
    assert leak.delta(0.0) == pytest.approx(leak.advantage, rel=1e-9)
    for delta in (1e-5, 0.01):
        assert leak.delta(leak.epsilon(delta)) == pytest.approx(delta, rel=1e-6)
        assert leak.epsilon(delta) == pytest.approx(leak.curve().epsilon(delta), rel=1e-6)
    level, epsilon = 0.99, 2.0
    missed = (1.0 - level) - math.exp(epsilon) * (1.0 - leak.power(level))
    assert leak.delta(epsilon) >= missed - 1e-4


def test_a_curve_that_leaves_the_axis_has_no_finite_epsilon() -> None:
    curve = membership.Curve.of([0.0, 1.0], [0.5, 1.0])
    assert curve.epsilon(0.0) == math.inf
    assert curve.epsilon(0.5) == 0.0
    assert curve.delta(3.0) == 0.5


def test_wrong_target() -> None:
    """κ = sqrt(m*) cos θ; at the midpoint threshold and at zero."""
    law = membership.Gaussian([0.0, 0.0], sd=[1.0, 2.0])
    target, guess = np.array([3.0, 4.0]), np.array([3.0, 0.0])
    leak = leakage(law, 9, target, guess=guess)
    m_scal, m_targ, m_star = 9 / 9, 9 / 9, (9 + 4) / 9
    assert leak.kappa == pytest.approx(m_scal / math.sqrt(m_targ))
    cosine = 9 / (3 * math.sqrt(13))
    assert leak.score == pytest.approx(m_star * cosine**2)
    plain = membership.plain_advantage(law, 9, target, guess)
    assert plain == pytest.approx(norm.cdf(0.5) - norm.cdf(-0.5))
    opposite = leakage(law, 9, target, guess=-guess)
    assert opposite.kappa == pytest.approx(-leak.kappa)
    assert opposite.auc == pytest.approx(1.0 - leak.auc)


@pytest.mark.parametrize("share", [0.5, 1.0, 4.0])
def test_a_mean_that_is_estimated_costs_samples(share: float) -> None:
    """Thesis, section 2.3.4: with n0 = λn references the attacker needs (1+λ)/λ times the samples,
    and so many he has: m/(1 + 1/λ). Against 4000 games; four standard errors of a score's law."""
    n, d, games = 40, 40, 4000
    n0, rng = int(share * n), np.random.default_rng(8)
    law, target = membership.Gaussian(np.zeros(d), sd=np.ones(d)), np.full(d, 1.5)
    leak = leakage(law, n, target, references=n0)
    assert leak.score == pytest.approx(leakage(law, n, target).score * share / (1 + share))
    fewer = leakage(law, round(n * (1 + share) / share), target)
    assert leak.score == pytest.approx(fewer.score, rel=1e-12)
    mean, guess = rng.normal(size=(2, 2, games, d)) / math.sqrt(n)
    reference = guess * math.sqrt(n / n0)
    mean[1] += target / n
    scores = (mean - reference) @ target
    shift = float(scores[1].mean() - scores[0].mean())
    kappa = shift / float(np.concatenate([s - s.mean() for s in scores]).std())
    assert kappa == pytest.approx(leak.kappa, abs=4 * math.sqrt(2 / games) + 0.01 * leak.kappa)
    with pytest.raises(InvalidArgument, match="references must be a whole number"):
        leakage(law, n, target, references=0)
    with pytest.raises(InvalidArgument, match="exact must be left out"):
        leakage(law, n, target, references=n0, exact=True)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("finite", [False, True])
def test_the_advantage_of_a_mistaken_attacker_has_both_signs(sign: float, finite: bool) -> None:
    """Theorem 6.7: Φ(|m_scal|/(2 sqrt(m_targ))) - Φ(-|m_scal|/(2 sqrt(m_targ)))."""
    rng = np.random.default_rng(4)
    n, sd = 40, rng.uniform(0.5, 2.0, 60)
    law = membership.Gaussian(np.zeros(60), sd=sd)
    target, guess = rng.normal(size=(2, 60)) * sd
    guess = sign * (guess + 0.7 * target)
    scal = float(np.sum(guess * target / sd**2)) / n
    targ = float(np.sum(guess**2 / sd**2)) / n
    printed = norm.cdf(abs(scal) / 2 / math.sqrt(targ)) - norm.cdf(-abs(scal) / 2 / math.sqrt(targ))
    found = leakage(law, n, target, guess=guess, finite=finite).advantage
    assert math.copysign(1.0, scal) == sign
    assert found == pytest.approx(printed, rel=1e-12 if not finite else 0.03)


def test_gaussian_covariance_is_mahalanobis() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=(5, 5))
    covariance = a @ a.T + np.eye(5)
    law = membership.Gaussian(np.arange(5.0), covariance=covariance)
    target = rng.normal(size=5)
    v = target - law.mean
    expected = v @ np.linalg.solve(covariance, v) / 20
    assert leakage(law, 20, target).score == pytest.approx(expected)
    s = 0.3
    noisy = v @ np.linalg.solve(covariance + 20 * s**2 * np.eye(5), v) / 20
    assert leakage(law, 20, target, noise=s).score == pytest.approx(noisy)


def test_ranking_and_onion() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(200, 10))
    rows[:5] *= 6.0
    ranking = leakage(membership.fitted(rows), 200, rows)
    assert sorted(ranking.easiest(5)) == [0, 1, 2, 3, 4]
    assert ranking[0].score == pytest.approx(float(ranking.scores[0]))
    assert set(ranking.hardest(3)).isdisjoint(range(5))
    before, after = membership.onion(rows, drop=5)
    assert len(before) == len(after) == 195
    assert after.mean() > before.mean()
    assert np.mean(after > before) > 0.9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: membership.Bernoulli([0.0, 0.5]), "p must lie strictly between 0 and 1"),
        (lambda: membership.Bernoulli([1.0]), "p must lie strictly between 0 and 1"),
        (lambda: membership.Bernoulli([]), "p must be finite numbers"),
        (lambda: membership.Gaussian([0.0], sd=0.0), "sd must be above 0"),
        (lambda: membership.Gaussian([0, 0], covariance=np.ones((2, 2))), "positive definite"),
        (lambda: leakage(COLUMNS, 100, np.full(450, 0.5)), "hold nothing but 0 and 1"),
        (lambda: leakage(COLUMNS, 100, np.ones(3)), "one entry for each of 450 columns"),
        (lambda: leakage(COLUMNS, 100, np.full(450, np.nan)), "target must be finite"),
        (lambda: leakage(COLUMNS, 1, COLUMNS.easiest()), "n must be a whole number from 2"),
        (lambda: leakage(COLUMNS, 100, COLUMNS.easiest(), subsample=0.0), "share in (0, 1]"),
        (lambda: leakage(COLUMNS, 100, COLUMNS.easiest(), subsample=0.123), "whole number of 100"),
        (lambda: leakage(COLUMNS, 100, COLUMNS.easiest(), noise=-1.0), "noise must be"),
        (lambda: leakage(COLUMNS, 100, COLUMNS.easiest()).epsilon(1.0), "delta must be"),
        (lambda: leakage(COLUMNS, 100, COLUMNS.easiest()).epsilon(-0.1), "delta must be"),
        (lambda: leakage(COLUMNS, 100, COLUMNS.easiest()).power(1.5), "level must be"),
        (lambda: leakage(COLUMNS, 9, COLUMNS.easiest(), noise=1.0, exact=True), "exact must be"),
        (lambda: membership.Gaussian([0.0]).easiest(), "no easiest target"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call: object, message: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        call()  # type: ignore[operator]
    assert message in str(error.value)


def test_independent_columns_have_a_support() -> None:
    law = membership.Independent(
        lambda rng, rows: rng.uniform(0.0, 1.0, (rows, 3)), [0.5] * 3, 1 / 12, (0.0, 1.0)
    )
    assert law.easiest().tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(InvalidArgument, match="lie in the support"):
        leakage(law, 10, [2.0, 0.0, 0.0])
    with pytest.raises(InvalidArgument, match="return an array"):
        membership.Independent(lambda rng, rows: np.zeros(3), [0.0] * 3, 1.0).draw(
            np.random.default_rng(1), 2
        )
