"""Sums without a trusted server: the shares' exact law, the modulus, drop-outs, and the row."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, skellam

import discreet
from discreet.audit import Runs, Steady
from discreet.errors import DiscreetError, InvalidArgument
from discreet.live._rows import serves_trials
from discreet.policies import UCB1, Geometric, Policy, SecureSum, SkellamSum
from discreet.policies._private_kl import DPIMED
from discreet.policies.releases import _secure_sum as secure_sum
from discreet.privacy import _shares as shares
from discreet.privacy._shares import SecureBatch, skellam_variance
from discreet.privacy._source import SECURE
from discreet.privacy.budgets import Pure, Renyi

ALARM = 6.0
"""Standard errors: a false alarm has a probability of 2e-9."""


def polya_law(shape: float, p: float, k: int) -> float:
    return float(math.exp(
        math.lgamma(shape + k) - math.lgamma(shape) - math.lgamma(k + 1)
    ) * p**k * (1 - p) ** shape)  # fmt: skip


def laplace_law(p: float, size: int) -> np.ndarray:
    k = np.abs(np.arange(-size, size + 1))
    return (1 - p) / (1 + p) * p**k


def test_shares_add_up_to_discrete_laplace() -> None:
    """The law of n differences of Pólya variables, by convolution, is p^|k| (1-p)/(1+p)."""
    n, p, size = 5, math.exp(-0.7), 400
    one = np.array([polya_law(1 / n, p, k) for k in range(size)])
    share = np.convolve(one, one[::-1])
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, share)
    middle = len(total) // 2
    assert np.allclose(total[middle - 50 : middle + 51], laplace_law(p, 50), atol=1e-13)


def test_the_published_scale_would_be_void() -> None:
    """Gamma scale (1-p)/p instead of p/(1-p): variance .17 instead of 355 at ε = .3, g = 4."""
    p = math.exp(-0.3 / 4)
    right, wrong = p / (1 - p), (1 - p) / p
    assert 2 * (right + right**2) == pytest.approx(355.4, abs=0.2)
    assert 2 * (wrong + wrong**2) == pytest.approx(0.168, abs=0.002)
    batch = SecureBatch(Pure(0.3), 4, levels=4)
    drawn = np.array([sum(batch.noise() for _ in range(4)) for _ in range(120)])
    # below 50 with a probability under E[e^(-x²/100)]^120 e^60 < 1e-9 (Chernoff)
    assert np.mean(drawn**2.0) > 50.0


def test_exact_draws_have_their_laws() -> None:
    """Chances of 0, 1 and 2 within 6 standard errors of their exact values."""
    draws, shape, x = 4000, Fraction(1, 4), Fraction(7, 10)
    p = math.exp(-0.7)
    environments: dict[Callable[[], int], Callable[[int], float]] = {
        lambda: shares.polya(shape, x): lambda k: polya_law(0.25, p, k),
        lambda: shares.geometric(x): lambda k: (1 - p) * p**k,
        lambda: shares.poisson(Fraction(13, 10)): lambda k: math.exp(-1.3) * 1.3**k
        / math.factorial(k),
        lambda: shares.bernoulli_exp(Fraction(1, 3)): lambda k: [1 - math.exp(-1 / 3),
                                                                 math.exp(-1 / 3), 0.0][k],
    }  # fmt: skip
    for draw, environment in environments.items():
        seen = [draw() for _ in range(draws)]
        for k in range(3):
            chance = environment(k)
            error = ALARM * math.sqrt(chance * (1 - chance) / draws) + 1e-12
            assert abs(seen.count(k) / draws - chance) <= error


def test_no_seed_and_no_float_near_the_noise() -> None:
    source = inspect.getsource(shares)
    assert "import random" not in source
    assert "numpy" not in source
    for function in (shares.bernoulli, shares.bernoulli_exp, shares.geometric, shares.polya):
        assert "float" not in inspect.getsource(function)
        assert "rng" not in inspect.signature(function).parameters


def test_simulation_has_the_law_of_the_shares() -> None:
    """Frequencies of 0 to 3 of the simulated noise, and its spare part, against the exact law."""
    rng = np.random.default_rng(11)
    draws, scale = 20_000, 2.0
    p = math.exp(-1.0 / scale)
    seen = np.array([secure_sum.discrete_laplace(scale, rng) for _ in range(draws)])
    for k in range(-3, 4):
        chance = (1 - p) / (1 + p) * p ** abs(k)
        error = ALARM * math.sqrt(chance * (1 - chance) / draws)
        assert abs(np.mean(seen == k) - chance) <= error
    spare = np.array([secure_sum.spare_laplace(scale, 0.25, rng) for _ in range(draws)])
    variance = 2 * 0.25 * p / (1 - p) ** 2
    kurtosis = np.mean(spare**4) / variance**2  # of the sample: for the error of a variance
    assert abs(spare.var() / variance - 1.0) <= ALARM * math.sqrt((kurtosis + 1) / draws)
    assert secure_sum.spare_laplace(scale, 0.0, rng) == 0.0


def test_sums_are_decoded() -> None:
    """At ε = 50 noise is nearly always 0: e^-50 an answer, so the sum is exact."""
    batch = SecureBatch(Pure(50.0), members=20, levels=1)
    total = batch.add(batch.share(float(i < 7)) for i in range(20))
    assert batch.decode(total, arrived=20) == 7
    assert batch.decode(batch.modulus - 2, arrived=20) == -2  # negative sums wrap
    assert batch.decode(20 + batch.reach, arrived=20) == 20 + batch.reach
    graded = SecureBatch(Pure(400.0), members=4, levels=8)
    total = graded.add(graded.share(x) for x in (0.25, 0.5, 0.125, 1.0))
    assert graded.decode(total, arrived=4) == Fraction(15, 8)


def test_rounding_is_unbiased() -> None:
    """levels = 1 and outcomes of 0.3: the sum of 2000 is 600 within 6 standard errors."""
    batch = SecureBatch(Pure(50.0), members=2000)
    total = batch.decode(batch.add(batch.share(0.3) for _ in range(2000)), arrived=2000)
    assert abs(total - 600) <= ALARM * math.sqrt(2000 * 0.21)


def test_drop_outs_keep_enough_noise_or_the_batch_is_refused() -> None:
    batch = SecureBatch(Pure(1.0), members=10, dropout=0.3)
    assert batch.fewest == 7
    batch.decode(0, arrived=7)
    with pytest.raises(InvalidArgument, match="too little noise"):
        batch.decode(0, arrived=6)
    with pytest.raises(InvalidArgument):
        batch.decode(batch.modulus, arrived=10)
    # seven shares of shape 1/7 are one discrete Laplace variable
    assert 7 * Fraction(1, batch.fewest) == 1


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("levels", [1, 5])
def test_skellam_noise_stays_within_the_modulus(levels: int, dropout: float) -> None:
    """All shares arrive, and with them more noise than is needed where some may drop out."""
    batch = SecureBatch(Renyi(8.0, 0.5), members=10, levels=levels, dropout=dropout)
    variance = float(skellam_variance(Renyi(8.0, 0.5), levels)) * 10 / batch.fewest
    beyond = 2.0 * float(skellam.sf(batch.reach, variance / 2.0, variance / 2.0))
    assert beyond <= batch.failure
    assert batch.reach < 10.0 * math.sqrt(2.0 * variance) + 50.0
    assert batch.modulus == 10 * levels + 2 * batch.reach + 1


@pytest.mark.parametrize(("dropout", "sums"), [(0.0, 1), (0.1, 2), (0.6, 3)])
def test_the_reach_of_skellam_noise_is_bernsteins(dropout: float, sums: int) -> None:
    """sqrt(2vL) + L for L = log(2/β), of as many sums' worth of noise as may come, and one more."""
    batch = SecureBatch(Renyi(8.0, 0.5), members=10, levels=3, dropout=dropout, failure=1e-4)
    variance = sums * float(skellam_variance(Renyi(8.0, 0.5), 3))
    log = math.log(2.0 * sums / 1e-4)
    assert batch.reach == math.ceil(math.sqrt(2.0 * variance * log) + log) + 1


@pytest.mark.parametrize("levels", [0, -1, 2.5, "3"])
def test_levels_are_whole_numbers(levels: Any) -> None:
    with pytest.raises(InvalidArgument, match="levels must be"):
        SecureBatch(Pure(1.0), members=10, levels=levels)


def test_an_outcome_is_never_shown() -> None:
    batch = SecureBatch(Pure(1.0), members=10)
    wrong: tuple[Any, ...] = (1.5, -0.25, math.nan, "0.25", b"1.5")
    for outcome in wrong:
        with pytest.raises(DiscreetError) as error:
            batch.share(outcome)
        assert "1.5" not in str(error.value)
        assert "0.25" not in str(error.value)


@pytest.mark.parametrize("variance", [0.7, 40.0, 3e4])
@pytest.mark.parametrize("levels", [1, 7])
@pytest.mark.parametrize("alpha", [2.0, 8.0])
def test_the_price_of_skellam_noise_is_that_of_the_theorem(
    alpha: float, levels: int, variance: float
) -> None:
    """αg²/2v + min(((2α - 1)g² + 6g)/4v², 3g/2v) (Agarwal, Kairouz & Liu 2021)."""
    first = alpha * levels**2 / (2 * variance)
    either = ((2 * alpha - 1) * levels**2 + 6 * levels) / (4 * variance**2), 1.5 * levels / variance
    expected = first + min(either)
    assert shares.skellam_epsilon(variance, levels, alpha) == pytest.approx(expected, rel=1e-12)


def test_skellam_keeps_its_rényi_budget() -> None:
    """The divergence of Skellam noise at a shift of g, summed, is below the bound."""
    from scipy.special import ive

    for alpha, epsilon, levels in ((2, 0.5, 1), (8, 1.0, 4)):
        budget = Renyi(alpha, epsilon)
        v = float(shares.skellam_variance(budget, levels))
        assert shares.skellam_epsilon(v, levels, alpha) <= epsilon
        reach = int(60 * math.sqrt(v)) + 60
        k = np.arange(-reach, reach + 1)
        with np.errstate(divide="ignore"):
            log = np.log(ive(np.abs(k), v))
        moved = np.roll(log, levels)
        fine = np.isfinite(log) & np.isfinite(moved)
        terms = alpha * log[fine] - (alpha - 1) * moved[fine] - v * 0.0
        norm = math.log(np.exp(log[np.isfinite(log)]).sum())
        divergence = (np.logaddexp.reduce(terms) - norm) / (alpha - 1)
        assert divergence <= epsilon


def test_a_row_keeps_its_budget_and_says_who_sees_what() -> None:
    row = Policy("mine", Geometric(2.0, 25), SecureSum(1.0, dropout=0.2), DPIMED())
    assert row.guarantee.budget == Pure(1.0)
    assert any("secure aggregation" in condition for condition in row.guarantee.conditions)
    assert any("0.8 of the participants" in each for each in row.guarantee.conditions)
    assert row.proved().holds
    assert not row.release.is_live  # a live trial's server would see outcomes
    skellam = SkellamSum(Renyi(8, 1.0)).guarantee(Geometric(2.0, 25)).budget
    assert skellam.epsilon <= 1.0
    with pytest.raises(DiscreetError):
        SkellamSum(Renyi(2.5, 1.0))
    with pytest.raises(DiscreetError):
        SecureSum(1.0, dropout=1.0)


def test_same_regret_as_with_a_trusted_curator() -> None:
    """300 runs each: the difference of the means within 6 standard errors."""
    environment = discreet.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
    trusted = discreet.policy("dp-imed", epsilon=1.0)
    mine = Policy("mine", trusted.schedule, SecureSum(1.0), DPIMED())
    a, b = (
        discreet.simulate(
            row, environment, horizon=20_000, runs=300, seed=3, progress=False
        ).final_regret
        for row in (trusted, mine)
    )
    error = math.sqrt(a.var() / 300 + b.var() / 300)
    assert abs(a.mean() - b.mean()) <= ALARM * error
    # and the forgetting version runs as well
    forgetful = Policy("mine too", trusted.schedule, SecureSum(1.0, forget=True), DPIMED())
    assert forgetful.proved().holds


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_live_trial_refuses_what_devices_must_do(dropout: float) -> None:
    """It counts outcomes in fixed point: noise in steps of 1/g would hide next to nothing."""
    row = discreet.policy("dp-imed", epsilon=1.0)
    for release in (SecureSum(1.0, dropout=dropout), SkellamSum(Renyi(8.0, 0.5), dropout=dropout)):
        far = Policy("far", row.schedule, release, UCB1())
        with pytest.raises(InvalidArgument, match="SecureBatch"):
            discreet.Trial(far, arms=2, horizon=100)
        with pytest.raises(InvalidArgument, match="SecureBatch"):
            far.setting(2, 100, SECURE)
        assert not serves_trials(far)


def test_gauss_imed_on_skellam_shares() -> None:
    """Any batch row becomes distributed: the rule counts the noise that the shares make."""
    budget = Renyi(2.0, 1.0)
    trusted = discreet.policy("gauss-imed", budget=budget)
    far = replace(trusted, release=SkellamSum(budget, levels=4), recipe={})
    assert far.release.batch_noise == pytest.approx((far.release.variance / 16, 0.0))
    assert trusted.release.batch_noise == pytest.approx((1.0, 0.0))
    assert SecureSum(0.5).batch_noise == (8.0, 2.0)
    environment = discreet.Bernoulli([0.8, 0.3])
    both = [
        discreet.simulate(
            row, environment, horizon=2000, runs=60, seed=3, progress=False
        ).final_regret
        for row in (trusted, far)
    ]
    error = math.hypot(*(float(x.std(ddof=1)) / math.sqrt(60) for x in both))
    assert abs(both[0].mean() - both[1].mean()) < ALARM * error + 0.15 * both[0].mean()


# --- the noise that simulations draw ------------------------------------------------------------

DRAWS = 60_000
UNLIKELY = 1e-6
"""False alarms, each with a fixed seed."""


def simulated_noise(release: Any) -> np.ndarray:
    """In steps of 1/g, as compiled simulations draw it: what is released of rewards that are 0."""
    row = Policy("mine", Geometric(2.0, 3), release, UCB1())
    runs = Runs(row, Steady((0.0, 0.0), 0, 12), decisions=1)
    seen = runs.sample(0, DRAWS, np.random.Generator(np.random.SFC64(11))).numbers
    drawn = seen[:, 0] * release.levels
    assert np.allclose(drawn, np.round(drawn), atol=1e-9)
    steps: np.ndarray = np.round(drawn).astype(int)
    return steps


def fit(drawn: np.ndarray, environment: np.ndarray) -> float:
    """Pearson's p-value; `law` is on -k … k, and values of fewer than 20 draws are pooled."""
    reach = len(environment) // 2
    assert environment.sum() == pytest.approx(1.0, abs=1e-9)
    seen = np.bincount(np.clip(drawn, -reach, reach) + reach, minlength=len(environment))
    often = environment * DRAWS >= 20.0
    observed, wanted = (
        [*seen[often], seen[~often].sum()],
        [*environment[often], environment[~often].sum()],
    )
    return float(chisquare(observed, np.array(wanted) / sum(wanted) * DRAWS).pvalue)


def two_polya(shape: float, p: float, size: int = 400) -> np.ndarray:
    one = np.array([polya_law(shape, p, k) for k in range(size)])
    return np.convolve(one, one[::-1])


@pytest.mark.parametrize("dropout", [0.0, 0.3, 0.75])
@pytest.mark.parametrize("levels", [1, 4])
def test_simulated_secure_sums_have_the_law_of_their_shares(levels: int, dropout: float) -> None:
    """All come: 1/(1-γ) times the shape of discrete Laplace noise, 2 Pólya variables of each."""
    drawn = simulated_noise(SecureSum(1.0, levels=levels, dropout=dropout))
    p, shape = math.exp(-1.0 / levels), 1.0 / (1.0 - dropout)
    assert fit(drawn, two_polya(shape, p)) > UNLIKELY
    # and the test would see a scale that is a tenth off, or spare noise that is missing
    assert fit(drawn, two_polya(shape, math.exp(-1.1 / levels))) < UNLIKELY
    if dropout:
        assert fit(drawn, two_polya(1.0, p)) < UNLIKELY
    else:
        assert np.allclose(two_polya(1.0, p)[349:450], laplace_law(p, 50), atol=1e-13)


def test_the_last_batch_alone_has_the_same_noise() -> None:
    drawn = simulated_noise(SecureSum(0.5, forget=True))
    assert fit(drawn, two_polya(1.0, math.exp(-0.5))) > UNLIKELY


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("levels", [1, 4])
def test_simulated_skellam_sums_have_the_law_of_their_shares(levels: int, dropout: float) -> None:
    release = SkellamSum(Renyi(4.0, 1.0), levels=levels, dropout=dropout)
    drawn, k = simulated_noise(release), np.arange(-300, 301)
    half = 0.5 * release.variance / (1.0 - dropout)
    assert fit(drawn, skellam.pmf(k, half, half)) > UNLIKELY
    assert fit(drawn, skellam.pmf(k, 0.9 * half, 0.9 * half)) < UNLIKELY
