"""DP-TT: the threshold by its formula, the proof's tail by simulation, answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import discreet
from discreet.errors import DiscreetError
from discreet.identify import identifier, identify
from discreet.identify._dp_tt import log_tail


@pytest.mark.parametrize(("x", "k", "other"), [(20.0, 3, 4), (60.0, 10, 2), (200.0, 12, 12)])
def test_the_threshold_is_the_formula(x: float, k: int, other: int) -> None:
    s = np.arange(1, 64) / 64
    tail = (1 - s**2) ** -(k + other) * (1 + s * x) * np.exp(-s * x)
    wanted = math.log(min(1.0, tail.min()) * k * (k + 1) * other * (other + 1))
    assert log_tail(x, k, other) == pytest.approx(wanted, rel=1e-10)


def test_the_tail_of_one_arm_holds() -> None:
    """P(n d⁺(m, μ) >= x) <= (1-s²)^-k e^-sx for sums of k noisy batches: 40,000 draws, with 6
    standard errors to spare, so a false alarm is below 1e-8."""
    from discreet.policies._divergences import private_divergence

    rng = np.random.default_rng(8)
    draws, n, k, mu, epsilon = 40_000, 64, 7, 0.5, 0.5
    sums = rng.binomial(n, mu, draws) + rng.laplace(0, 1 / epsilon, (k, draws)).sum(axis=0)
    means = np.clip(sums / n, 0.0, 1.0)
    low = means[means < mu]
    cost = np.array([n * private_divergence(m, mu, epsilon) for m in low[:8000]])
    share = len(low) / draws
    for x in (2.0, 4.0, 6.0):
        bound = min((1 - s * s) ** -k * math.exp(-s * x) for s in np.arange(1, 64) / 64)
        seen = share * np.mean(cost >= x)
        assert seen <= bound + 6.0 * math.sqrt(min(bound, 0.25) / 8000)


def test_answers_are_right_and_private() -> None:
    """20 answers at risk 0.01: six wrong ones have a probability below 4e-8."""
    row = identifier("dp-tt", epsilon=1.0).at(0.01)
    assert row.delta_correct
    assert row.guarantee.short() == "ε = 1 (interactive)"
    environment = discreet.Bernoulli([0.9, 0.5, 0.3])
    result = identify(row, environment, risk=0.01, runs=20, seed=5, progress=False)
    assert result.error_rate <= 0.25
    assert discreet.policy("dp-tt", epsilon=1.0).name == "dp-tt"


def test_bad_shares_are_refused() -> None:
    with pytest.raises(DiscreetError):
        identifier("dp-tt", epsilon=1.0, beta=1.0)
