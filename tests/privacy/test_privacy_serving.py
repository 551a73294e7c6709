"""Pure budgets that keep budgets of other kinds: exact at the edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from discreet.errors import DiscreetError
from discreet.privacy.budgets import ZCDP, Approximate, GaussianDP, Pure, Renyi
from discreet.privacy.budgets.serving import equivalent_pure


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 0.807), (2.0, 1.668), (5.0, 5.075)])
def test_gaussian(mu: float, epsilon: float) -> None:
    found = equivalent_pure(GaussianDP(mu)).epsilon
    assert found == pytest.approx(epsilon, abs=6e-4)
    assert 2.0 * norm.ppf(math.exp(found) / (1.0 + math.exp(found))) == pytest.approx(mu)
    # the trade-off curve of ε-DP lies above that of μ everywhere, and touches it
    alpha = np.linspace(0.0, 1.0, 10_001)[1:-1]
    pure = np.maximum(1.0 - math.exp(found) * alpha, math.exp(-found) * (1.0 - alpha))
    gauss = norm.cdf(norm.ppf(1.0 - alpha) - mu)
    assert (pure - gauss).min() >= -1e-9


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 0.01), (0.0, 0.2), (5.0, 0.5)])
def test_approximate(epsilon: float, delta: float) -> None:
    """Randomised response at ε' has exactly δ at ε."""
    found = equivalent_pure(Approximate(epsilon, delta)).epsilon
    truth = math.exp(found) / (1.0 + math.exp(found))
    assert truth - math.exp(epsilon) * (1.0 - truth) == pytest.approx(delta, rel=1e-6, abs=1e-12)


def test_the_others() -> None:
    assert equivalent_pure(ZCDP(0.5)) == Pure(1.0)
    assert Pure(1.0).to_zcdp().rho <= 0.5
    assert equivalent_pure(Pure(0.3)) == Pure(0.3)
    with pytest.raises(DiscreetError):
        equivalent_pure(Renyi(2.0, 1.0))
