"""The audit itself, against mechanisms whose budget is known exactly.

Coverage: at confidence 0.9 at most a tenth of 1000 repetitions may exceed the truth. More than 147
would have probability below 1e-6 (binomial with 0.1). Fixed seeds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit import Plain, attack
from discreet.audit import _limits as limits
from discreet.privacy import (
    ZCDP,
    Approximate,
    Gaussian,
    GaussianDP,
    Laplace,
    Pure,
    RandomisedResponse,
    Renyi,
)

MILLION = 1_000_000
NULL = Plain(lambda side, count, rng: rng.standard_normal((count, 1)))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("mechanism", [Laplace, RandomisedResponse])
def test_pure_mechanisms_within_five_percent(mechanism: Any, epsilon: float) -> None:
    subject = Plain.of(mechanism.calibrated(Pure(epsilon)))
    result = attack([subject], Pure(epsilon), transcripts=MILLION, seed=1)
    assert 0.95 * epsilon < result.epsilon_lower <= epsilon
    assert not result.is_violation


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_gaussian_noise_within_five_percent_of_its_curve(mu: float) -> None:
    subject = Plain.of(Gaussian(1.0 / mu))
    result = attack([subject], GaussianDP(mu), transcripts=MILLION, seed=1)
    name, claimed, lower = result.parameter
    assert (name, claimed) == ("mu", mu)
    assert 0.95 * mu < lower <= mu
    assert not result.is_violation


def test_gaussian_noise_within_five_percent_at_a_delta() -> None:
    truth = GaussianDP(1.0).to_approximate(0.05).epsilon
    claim = Approximate(truth, 0.05)
    result = attack([Plain.of(Gaussian(1.0))], claim, transcripts=MILLION, seed=1)
    assert 0.95 * truth < result.epsilon_lower <= truth


@pytest.mark.parametrize(
    ("claim", "truth"), [(ZCDP(0.5), 0.5), (Renyi(2.0, 1.0), 1.0)], ids=["zcdp", "renyi"]
)
def test_concentrated_claims_come_near(claim: Any, truth: float) -> None:
    """Over a partition of 24 parts: within a fifth, and never above."""
    result = attack([Plain.of(Gaussian(1.0))], claim, transcripts=4 * MILLION, seed=1)
    assert 0.8 * truth < result.parameter[2] <= truth
    assert not result.is_violation


def test_curve_is_below_the_exact_one() -> None:
    result = attack([Plain.of(Gaussian(1.0))], GaussianDP(1.0), transcripts=MILLION, seed=1)
    for delta, lower in result.curve.items():
        assert lower <= GaussianDP(1.0).to_approximate(delta).epsilon


@pytest.mark.parametrize(
    ("subject", "claim", "truth"),
    [
        (NULL, Pure(1.0), 0.0),
        (Plain.of(Laplace(1.0)), Pure(1.0), 1.0),
        (Plain.of(RandomisedResponse(1.0)), Pure(1.0), 1.0),
        (Plain.of(Gaussian(1.0)), GaussianDP(1.0), 1.0),
    ],
    ids=["null", "laplace", "randomised response", "gaussian"],
)
def test_coverage_over_a_thousand_repetitions(subject: Plain, claim: Any, truth: float) -> None:
    most = int(binom.isf(1e-6, 1000, 0.1))
    above = 0
    for seed in range(1000):
        result = attack([subject], claim, transcripts=2000, confidence=0.9, seed=seed)
        above += result.parameter[2] > truth
    assert above <= most


def test_confidence_limits_are_exact() -> None:
    """At the limit the observed count, or one further out, has exactly the stated probability."""
    for hits in (1, 7, 50, 99):
        low, high = (
            limits.clopper_pearson_lower(hits, 100, 0.01),
            limits.clopper_pearson_upper(hits, 100, 0.01),
        )
        assert binom.sf(hits - 1, 100, low) == pytest.approx(0.01, rel=1e-6)
        assert binom.cdf(hits, 100, high) == pytest.approx(0.01, rel=1e-6)
        assert limits.epsilon_lower((99, hits), (100, 100), 0.02) == pytest.approx(
            limits.epsilon_bound(limits.clopper_pearson_lower(99, 100, 0.01), high, 0.0)
        )
    assert limits.clopper_pearson_lower(0, 100, 0.01) == 0.0
    assert limits.clopper_pearson_upper(100, 100, 0.01) == 1.0


def test_bounds_of_an_event_are_attained() -> None:
    """Randomised response and the Gaussian trade-off, in exact probabilities."""
    truth = 1.0 / (1.0 + math.exp(-1.5))
    assert limits.epsilon_bound(truth, 1.0 - truth, 0.0) == pytest.approx(1.5)
    assert limits.allowed(Pure(1.5), 1.0 - truth) == pytest.approx(truth)
    p, q = limits.allowed(GaussianDP(1.0), 0.2), 0.2
    assert limits.mu_bound(p, q) == pytest.approx(1.0)
    epsilon = 1.3
    delta = GaussianDP(1.0).delta_at(epsilon)
    assert limits.epsilon_bound(p, q, delta) <= epsilon
    half = np.array([truth, 1.0 - truth])
    assert limits.renyi_bound(half, half[::-1], 3.0) == pytest.approx(
        Pure(1.5).to_renyi(3.0).epsilon
    )


def test_what_was_learned_from_proves_nothing() -> None:
    """Sides that differ only while the audit learns are not told apart when it tests."""
    calls = 0

    def draw(side: int, count: int, rng: Any) -> Any:
        nonlocal calls
        calls += 1
        return rng.standard_normal((count, 1)) + (10.0 * side if calls <= 4 else 0.0)

    result = attack([Plain(draw)], Pure(1.0), transcripts=40_000, confidence=1 - 1e-6, seed=1)
    assert calls > 4
    assert result.epsilon_lower < 0.1
