"""Privacy curves against scipy, fine grids, dp-accounting and direct summation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from discreet.privacy import ZCDP, Approximate, Gaussian, GaussianDP, Renyi
from discreet.privacy import _curves as curves

RHOS = [1e-6, 1e-3, 0.1, 1.0, 30.0]
DELTAS = [1e-12, 1e-6, 1e-2, 0.3]


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_zcdp_conversion_is_the_minimum_over_a_fine_grid(rho: float, delta: float) -> None:
    over = np.logspace(-14, 14, 400_001)
    alpha = 1 + over
    grid = (
        alpha * rho
        + (np.log(1 / delta) + over * (np.log(over) - np.log1p(over)) - np.log1p(over)) / over
    )
    found = ZCDP(rho).to_approximate(delta).epsilon
    assert found == pytest.approx(max(0.0, grid.min()), rel=1e-6, abs=1e-9)
    if found > 0:
        assert ZCDP(rho).delta_at(found) == pytest.approx(delta, rel=1e-6)


@pytest.mark.parametrize("rho", [1e-3, 0.1, 1.0])
def test_zcdp_conversion_agrees_with_dp_accounting(rho: float) -> None:
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = 1 + np.logspace(-2, 4, 4000)
    theirs, _ = rdp.compute_epsilon(orders, rho * orders, 1e-6)
    assert ZCDP(rho).to_approximate(1e-6).epsilon == pytest.approx(theirs, rel=1e-4)


def test_renyi_conversion_uses_the_best_order_up_to_its_own() -> None:
    for alpha, divergence in ((2.0, 1.0), (8.0, 0.5), (50.0, 3.0)):
        for at in (0.0, 0.2, 0.9, 2.5, 5.0):
            below = np.linspace(1 + 1e-9, alpha, 200_001)
            log_delta = (below - 1) * (divergence - at + np.log1p(-1 / below)) - np.log(below)
            assert Renyi(alpha, divergence).delta_at(at) == pytest.approx(
                math.exp(min(0.0, log_delta.min())), rel=1e-6
            )


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("x", [0.0, 0.3, 1.0, 4.0, 8.0])
def test_gaussian_curve_by_another_integral(mu: float, x: float) -> None:
    """dδ/dμ at fixed ε is φ(ε/μ - μ/2): integrate that instead."""
    at = mu * mu / 2 + (x - 1) * mu
    if at < 0:
        return
    points = np.linspace(0, mu, 60)
    total = sum(
        quad(lambda m: norm.pdf(at / m - m / 2) if m > 0 else 0.0, a, b, epsabs=0, epsrel=1e-10)[0]
        for a, b in itertools.pairwise(points)
    )
    found = curves.gaussian_delta(mu, at)
    assert found == pytest.approx(total, rel=1e-7)


def test_gaussian_curve_is_stable_far_out() -> None:
    assert curves.gaussian_delta(1.0, 1000.0) < 1e-300
    assert curves.gaussian_delta(1.0, 1000.0) > 0
    assert curves.gaussian_delta(100.0, 5000.0) == pytest.approx(0.5, abs=0.01)
    assert curves.gaussian_delta(1e4, 0.0) == 1.0
    epsilons = np.linspace(0, 60, 400)
    values = [curves.gaussian_delta(3.0, float(e)) for e in epsilons]
    assert all(a > b for a, b in itertools.pairwise(values))


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), [(1.0, 1e-6, 4.224678889326822)])
def test_analytic_calibration_known_value(epsilon: float, delta: float, sigma: float) -> None:
    """Value of dp_accounting.get_sigma_gaussian(1, 1e-6)."""
    assert Gaussian.calibrated(Approximate(epsilon, delta)).scale == pytest.approx(sigma, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 1.0, 5.0, 50.0, 500.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_analytic_calibration_is_safe_and_tight(epsilon: float, delta: float) -> None:
    noise = Gaussian.calibrated(Approximate(epsilon, delta), 3.0)
    assert noise.budget.delta_at(epsilon) <= delta
    assert GaussianDP(noise.budget.mu * (1 + 1e-6)).delta_at(epsilon) > delta


def lattice_sum(sigma: float, shift: int, epsilon: float) -> float:
    """δ of discrete Gaussian noise by direct summation over the integers."""
    k = np.arange(-60 * int(sigma + shift + 1), 60 * int(sigma + shift + 1) + 1, dtype=float)
    p = np.exp(-0.5 * (k / sigma) ** 2)
    q = np.exp(-0.5 * ((k + shift) / sigma) ** 2)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() / p.sum())


@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.5, 7.3, 40.0])
@pytest.mark.parametrize("shift", [1, 2, 5, 30])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 4.0])
def test_lattice_bound_covers_the_direct_sum(sigma: float, shift: int, epsilon: float) -> None:
    exact = lattice_sum(sigma, shift, epsilon)
    bound = curves.lattice_delta(sigma, shift, epsilon)
    assert exact <= bound * (1 + 1e-12) + 1e-15
    assert lattice_sum(sigma, max(1, shift // 2), epsilon) <= bound * (1 + 1e-12) + 1e-15
    # not vacuous: at most one lattice mass above the continuous curve
    assert bound <= curves.gaussian_delta(shift / sigma, epsilon) + 0.4 / sigma + 1e-12


def test_the_ends_of_the_gaussian_curve() -> None:
    assert curves.gaussian_delta(0.0, 0.0) == curves.gaussian_delta(0.0, 0.5) == 0.0
    assert curves.gaussian_delta(1.0, math.inf) == 0.0
    assert curves.gaussian_delta(math.inf, 1.0) == 1.0


def test_the_continuous_curve_alone_would_not_cover_the_lattice() -> None:
    """Why the extra term is needed: discrete noise can leak more than continuous noise."""
    worse = [
        lattice_sum(sigma, 1, e) > curves.gaussian_delta(1 / sigma, e)
        for sigma in (0.5, 1.0, 2.0)
        for e in (0.1, 0.5, 1.0, 2.0)
    ]
    assert any(worse)


@pytest.mark.parametrize("units", [1, 16, 1 << 20])
def test_lattice_calibration(units: int) -> None:
    budget = Approximate(1.0, 1e-6)
    sigma = Gaussian.calibrated(budget, lattice=units).scale
    assert curves.lattice_delta(sigma, units, 1.0) <= 1e-6
    if units < 100:
        assert lattice_sum(sigma, units, 1.0) <= 1e-6
    ratio = sigma / units / Gaussian.calibrated(budget).scale
    assert 1 <= ratio < 1 + 0.1 / units
