"""Mechanisms: the claim follows from the noise, and the noise from the budget."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import discreet
from discreet.errors import InvalidArgument, UnsupportedBudget
from discreet.privacy import (
    ZCDP,
    Approximate,
    Budget,
    Gaussian,
    GaussianDP,
    Laplace,
    Pure,
    RandomisedResponse,
    Renyi,
    TruncatedLaplace,
)
from discreet.privacy._counters import tree_levels

fixed = settings(derandomize=True, deadline=None, max_examples=60)
size = st.floats(1e-3, 50.0)


@fixed
@given(size, size)
def test_laplace_keeps_its_budget_and_hardly_more(epsilon: float, sensitivity: float) -> None:
    noise = Laplace.calibrated(Pure(epsilon), sensitivity)
    assert noise.budget <= Pure(epsilon)
    assert noise.scale == pytest.approx(sensitivity / epsilon, rel=1e-14)


@fixed
@given(
    st.one_of(
        size.map(ZCDP),
        size.map(GaussianDP),
        st.builds(Renyi, st.floats(1.1, 50), size),
        st.builds(Approximate, st.floats(0, 20), st.floats(1e-9, 0.4)),
    ),
    size,
)
def test_gaussian_keeps_its_budget_and_hardly_more(budget: Budget, sensitivity: float) -> None:
    noise = Gaussian.calibrated(budget, sensitivity)
    assert noise.budget <= budget
    assert not Gaussian(noise.scale * (1 - 1e-5), sensitivity).budget <= budget


def test_gaussian_formulas() -> None:
    assert Gaussian.calibrated(ZCDP(0.1)).variance == pytest.approx(1 / 0.2)
    assert Gaussian.calibrated(Renyi(4, 0.5), 2.0).variance == pytest.approx(4 * 4 / (2 * 0.5))
    assert Gaussian.calibrated(GaussianDP(0.5), 2.0).scale == pytest.approx(4.0)
    paper = Gaussian.calibrated(Approximate(0.5, 1e-5), calibration="paper")
    assert paper.variance == pytest.approx(2 / 0.25 * math.log(1.25e5))
    assert paper.scale > Gaussian.calibrated(Approximate(0.5, 1e-5)).scale
    lattice = Gaussian.calibrated(Approximate(0.5, 1e-5), calibration="paper", lattice=16)
    assert lattice.scale == pytest.approx(16 * paper.scale)
    assert Gaussian.calibrated(ZCDP(0.1), lattice=16).scale == pytest.approx(16 * math.sqrt(5))


def test_no_privacy_is_no_noise() -> None:
    rng = np.random.default_rng(0)
    for noise in (Laplace.calibrated(Pure(math.inf)), Gaussian.calibrated(ZCDP(math.inf))):
        assert noise.scale == 0
        assert not noise.budget.is_finite
        assert noise.draw(rng) == 0


@pytest.mark.parametrize(
    "build",
    [
        lambda: Laplace.calibrated(ZCDP(1)),
        lambda: Gaussian.calibrated(Pure(1)),
        lambda: Gaussian.calibrated(Pure(math.inf)),
        lambda: Gaussian.calibrated(Approximate(1, 0)),
        lambda: Gaussian.calibrated(ZCDP(0)),
        lambda: Gaussian.calibrated(GaussianDP(1), lattice=4),
        lambda: TruncatedLaplace.calibrated(ZCDP(1)),
        lambda: RandomisedResponse.calibrated(Approximate(1, 0.1)),
    ],
)
def test_budgets_that_a_noise_cannot_serve(build: object) -> None:
    with pytest.raises(UnsupportedBudget, match="budget must be"):
        build()  # type: ignore[operator]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Laplace(-1),
        lambda: Laplace(math.nan),
        lambda: Laplace(math.inf),
        lambda: Laplace(1, 0),
        lambda: Gaussian("1"),  # type: ignore[arg-type]
        lambda: Gaussian(1, math.nan),
        lambda: Laplace.calibrated(Pure(0)),
        lambda: Gaussian.calibrated(ZCDP(1), calibration="odd"),
        lambda: Gaussian.calibrated(Approximate(2, 1e-6), calibration="paper"),
        lambda: Gaussian.calibrated(ZCDP(1), lattice=0),
        lambda: Gaussian.calibrated(ZCDP(1), 2.0, lattice=2),
        lambda: TruncatedLaplace(0, 0),
        lambda: TruncatedLaplace(math.inf, 0.1),
        lambda: RandomisedResponse(math.nan),
        lambda: RandomisedResponse(1).draw(1.5, np.random.default_rng(0)),
    ],
)
def test_bad_values_are_refused(build: object) -> None:
    with pytest.raises(InvalidArgument, match=r"must .*, got .*; "):
        build()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 0.01), (1e-3, 0.3), (0.01, 0.49), (1e-5, 1e-3), (3.0, 1e-9)]
)
def test_truncated_laplace_moments(epsilon: float, delta: float) -> None:
    noise = TruncatedLaplace(epsilon, delta, 2.0)
    bound = noise.bound

    def density(x: float) -> float:
        return math.exp(-epsilon * x / 2.0)

    mass = quad(density, 0, bound, epsrel=1e-12)[0]
    second = quad(lambda x: x * x * density(x), 0, bound, epsrel=1e-12)[0]
    assert noise.variance == pytest.approx(second / mass, rel=1e-6)
    assert noise.budget == Approximate(epsilon, delta)


def test_truncated_laplace_limits() -> None:
    assert TruncatedLaplace.calibrated(Pure(1)).budget == Pure(1)
    assert TruncatedLaplace.calibrated(Pure(1)).bound == math.inf
    assert TruncatedLaplace(0, 0.1).bound == 5.0
    assert TruncatedLaplace(0, 0.1).variance == pytest.approx(100 / 12)
    assert TruncatedLaplace.calibrated(Approximate(1, 0.1)) == TruncatedLaplace(1, 0.1)


def test_variances_are_those_of_the_draws() -> None:
    """Five standard errors of the sample variance: false alarm about 6e-7 each, fixed seed."""
    rng = np.random.default_rng(5)
    for noise in (Laplace(2.0), Gaussian(2.0), TruncatedLaplace(1.0, 0.01, 3.0)):
        drawn = np.array([noise.draw(rng) for _ in range(40_000)]) ** 2
        error = drawn.std() / math.sqrt(len(drawn))
        assert abs(drawn.mean() - noise.variance) < 5 * error


def test_response() -> None:
    response = RandomisedResponse.calibrated(Pure(1))
    assert response.budget == Pure(1)
    assert response.draw(0.5, np.random.default_rng(1)) in (0.0, 1.0)


@pytest.mark.parametrize("k", [1, 7, 100])
def test_the_mean_of_binary_vectors(k: int) -> None:
    """Example 2.15 of the thesis: sensitivities k/n and sqrt(k)/n, errors of order k^1.5/(εn) and
    k/(n sqrt ρ). (The print has Lap(k/ε) for Lap(k/(εn)).)"""
    n, epsilon, rho = 50, 0.5, 0.1
    laplace = Laplace.calibrated(Pure(epsilon), sensitivity=k / n)
    error = math.sqrt(k * laplace.variance)
    assert error == pytest.approx(math.sqrt(2) * k**1.5 / (epsilon * n))
    gaussian = Gaussian.calibrated(ZCDP(rho), sensitivity=math.sqrt(k) / n)
    assert math.sqrt(k * gaussian.variance) == pytest.approx(k / (n * math.sqrt(2 * rho)))
    printed = Gaussian.calibrated(
        Approximate(epsilon, 1e-5), sensitivity=math.sqrt(k) / n, calibration="paper"
    )
    spread = 2 * k / (epsilon * n) ** 2 * math.log(1.25 / 1e-5)
    assert printed.variance == pytest.approx(spread)
    # Σ (x ± sensitivity) over all k entries is what one row can change
    rows = np.ones((n, k))
    changed = rows.copy()
    changed[0] = 0.0
    moved = rows.mean(axis=0) - changed.mean(axis=0)
    assert np.abs(moved).sum() == pytest.approx(k / n)
    assert np.linalg.norm(moved) == pytest.approx(math.sqrt(k) / n)


def test_simple_counters() -> None:
    """Section 2.1.5: fresh noise for each of T sums costs Tε, so Lap(T/ε); noise on every input
    costs ε and adds up to sqrt(2t)/ε. The tree is below both."""
    steps, epsilon = 1024, 1.0
    assert discreet.compose(*[Pure(epsilon / steps)] * steps).epsilon == pytest.approx(epsilon)
    first = math.sqrt(Laplace.calibrated(Pure(epsilon / steps), sensitivity=1.0).variance)
    assert first == pytest.approx(math.sqrt(2) * steps / epsilon)
    each = Laplace.calibrated(Pure(epsilon), sensitivity=1.0).variance
    second = math.sqrt(steps * each)
    assert second == pytest.approx(math.sqrt(2 * steps) / epsilon)
    levels = tree_levels(steps)
    tree = math.sqrt(levels * Laplace.calibrated(Pure(epsilon / levels), sensitivity=1.0).variance)
    assert tree < first
    assert tree == pytest.approx(math.sqrt(2) * levels**1.5 / epsilon)
