"""Composition: every number by two independent routes."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from scipy.special import gammaln

from discreet.errors import InvalidArgument
from discreet.privacy import (
    ZCDP,
    Approximate,
    Gaussian,
    GaussianDP,
    Laplace,
    Pure,
    RandomisedResponse,
    Renyi,
    TruncatedLaplace,
)
from discreet.privacy._accounting import composed_delta, composed_epsilon, curve, loss_distribution


def optimal(epsilon: float, delta: float, k: int, at: float) -> float:
    """Kairouz, Oh & Viswanath 2015, summed term by term over the number of truthful answers."""
    b = np.arange(k + 1)
    log_p = gammaln(k + 1) - gammaln(b + 1) - gammaln(k - b + 1) + b * epsilon
    log_p -= k * np.log1p(np.exp(epsilon))
    loss = (2 * b - k) * epsilon
    rest = float((np.exp(log_p) * np.maximum(0, -np.expm1(np.minimum(0, at - loss)))).sum())
    kept = k * math.log1p(-delta)
    return -math.expm1(kept) + math.exp(kept) * rest


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"), [(0.1, 0.0, 100), (1.0, 1e-6, 10), (0.01, 1e-9, 5000)]
)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.9, 1.0])
def test_copies_by_two_routes(epsilon: float, delta: float, k: int, share: float) -> None:
    at = share * k * epsilon
    exact = optimal(epsilon, delta, k, at)
    budget = Approximate(epsilon, delta)
    assert composed_delta([(budget, k)], at) == pytest.approx(exact, rel=1e-7, abs=1e-15)
    by_loss = loss_distribution([(budget, k)])(at)
    assert by_loss >= exact * (1 - 1e-9) - 1e-15
    # rounded up once, by at most a thousandth of the standard deviation of the total loss
    grid = 1e-3 * epsilon * math.sqrt(k)
    assert by_loss <= optimal(epsilon, delta, k, at - grid * 1.001) * (1 + 1e-9) + 1e-13


@pytest.mark.parametrize("at", [0.0, 0.5, 1.0, 3.0, 5.0])
def test_gaussians_by_two_routes(at: float) -> None:
    parts = [(GaussianDP(0.1), 50), (Gaussian(20.0, 2.0), 50)]
    exact = GaussianDP(1.0).delta_at(at)
    assert composed_delta(parts, at) == pytest.approx(exact, rel=1e-9)
    by_loss = loss_distribution(parts)(at)
    assert by_loss >= exact * (1 - 1e-9)
    assert by_loss == pytest.approx(exact, rel=1e-3, abs=1e-13)


@pytest.mark.parametrize("at", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_one_laplace_by_two_routes(at: float) -> None:
    """δ(ε) = 1 - exp((ε - Δ/b)/2) for one use."""
    exact = 1 - math.exp((at - 1.0) / 2)
    found = composed_delta([(Laplace(2.0, 2.0), 1)], at)
    assert found >= exact - 1e-15
    assert found == pytest.approx(exact, abs=2e-3)


def test_two_laplaces_by_two_routes() -> None:
    """The loss of one is ε0 with mass 1/2, -ε0 with mass e^-ε0/2, and uniform-like in between."""
    epsilon, cells = 0.5, 2000
    x = (np.arange(cells) + 0.5) / cells
    loss = np.concatenate([[epsilon], epsilon * (1 - 2 * x), [-epsilon]])
    mass = np.concatenate(
        [[0.5], epsilon / 2 * np.exp(-epsilon * x) / cells, [math.exp(-epsilon) / 2]]
    )
    pairs, weight = np.add.outer(loss, loss), np.multiply.outer(mass, mass)
    for at in (0.0, 0.3, 0.8):
        exact = float((weight * np.maximum(0, -np.expm1(np.minimum(0, at - pairs)))).sum())
        found = composed_delta([(Laplace(2.0), 2)], at)
        assert found == pytest.approx(exact, rel=2e-3)


def test_mechanisms_are_their_budgets() -> None:
    assert composed_delta([(RandomisedResponse(1.0), 3)], 1.5) == composed_delta(
        [(Pure(1.0), 3)], 1.5
    )
    assert composed_delta([(TruncatedLaplace(1.0, 0.01), 3)], 1.5) == composed_delta(
        [(Approximate(1.0, 0.01), 3)], 1.5
    )


def test_a_count_is_never_ignored() -> None:
    one = composed_epsilon([(RandomisedResponse(0.1), 1)], 1e-6)
    many = composed_epsilon([(RandomisedResponse(0.1), 400)], 1e-6)
    assert many > 20 * one


def test_mixtures_lie_between_their_parts_and_basic_composition() -> None:
    parts = [(Pure(0.1), 100), (Laplace(5.0), 20), (Gaussian(10.0), 50)]
    whole = composed_epsilon(parts, 1e-6)
    for left_out in range(3):
        fewer = [part for i, part in enumerate(parts) if i != left_out]
        assert composed_epsilon(fewer, 1e-6) < whole
    zcdp = ZCDP(100 * 0.005 + 20 * 0.02 + 50 * 0.005).to_approximate(1e-6).epsilon
    assert whole < zcdp
    # swapping Laplace for the pure budget it satisfies can only cost more
    assert whole <= composed_epsilon(
        [(Pure(0.1), 100), (Pure(0.2), 20), (Gaussian(10.0), 50)], 1e-6
    )


def test_unequal_pure_parts_by_two_routes() -> None:
    """All sign patterns of 3 + 4 + 2 randomised responses, one by one."""
    parts = [(Pure(0.3), 3), (Pure(0.5), 4), (Approximate(1.0, 1e-4), 2)]
    sizes = [0.3] * 3 + [0.5] * 4 + [1.0] * 2
    loss, mass = np.zeros(1), np.ones(1)
    for e in sizes:
        p = 1 / (1 + math.exp(-e))
        loss = np.concatenate([loss + e, loss - e])
        mass = np.concatenate([mass * p, mass * (1 - p)])
    for at in (0.0, 0.7, 2.0, 4.0):
        rest = float((mass * np.maximum(0, -np.expm1(np.minimum(0, at - loss)))).sum())
        exact = 1 - (1 - 1e-4) ** 2 * (1 - rest)
        found = composed_delta(parts, at)
        assert found >= exact * (1 - 1e-9)
        assert found == pytest.approx(exact, rel=0.01)


def test_a_million_tiny_uses_in_seconds() -> None:
    start = time.perf_counter()
    epsilon = composed_epsilon([(Pure(1e-5), 10**6)], 1e-6)
    mixed = composed_epsilon([(Pure(1e-5), 10**6), (Laplace(1e5), 10**6)], 1e-6)
    assert time.perf_counter() - start < 20
    # a loss of ±1e-5 a million times is Gaussian of μ = 0.01 to high accuracy
    assert epsilon == pytest.approx(GaussianDP(0.01).to_approximate(1e-6).epsilon, rel=1e-3)
    near = GaussianDP(0.01 * math.sqrt(2)).to_approximate(1e-6).epsilon
    assert mixed == pytest.approx(near, rel=0.01)


def test_concentrated_parts_use_closed_formulas() -> None:
    assert composed_epsilon([(ZCDP(0.01), 10)], 1e-6) == pytest.approx(
        ZCDP(0.1).to_approximate(1e-6).epsilon, rel=1e-9
    )
    assert composed_delta([(Renyi(8, 0.1), 5)], 2.0) == Renyi(8, 0.5).delta_at(2.0)
    mixed = composed_delta([(ZCDP(0.1), 1), (Approximate(0.1, 1e-3), 1)], 3.0)
    assert mixed == pytest.approx(1e-3 + 0.999 * ZCDP(0.105).delta_at(3.0))
    assert composed_delta([(Renyi(8, 0.1), 1), (Renyi(4, 0.1), 1)], 2.0) == 1.0


def test_edges() -> None:
    assert composed_delta([], 0.0) == 0.0
    assert composed_epsilon([(Pure(0.0), 10)], 0.0) == 0.0
    assert composed_epsilon([(Pure(0.5), 4)], 0.0) == pytest.approx(2.0)
    assert composed_epsilon([(Pure(math.inf), 1)], 1e-6) == math.inf
    assert composed_epsilon([(Approximate(1, 1e-3), 10)], 1e-6) == math.inf
    assert curve([(Pure(1.0), 2)])(5.0) == 0.0
    for bad in ([(Pure(1), 0)], [(1.0, 2)], [Pure(1)]):
        with pytest.raises(InvalidArgument):
            composed_delta(bad, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        composed_delta([(Pure(1), 1)], math.nan)
    with pytest.raises(InvalidArgument):
        composed_epsilon([(Pure(1), 1)], 1.0)
