"""Rewards without a bound: what a row sees of them, and what clipping costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet.arms import Bernoulli, Capped, clipping_bias, law_from_dict, pareto
from discreet.errors import DiscreetError

S1 = [0.9, 0.7, 0.5, 0.3, 0.1]


def test_what_a_row_sees() -> None:
    law = Capped(pareto(S1, shape=1.55), at=2.0)
    assert law.means == tuple(S1)
    assert law.bounds == (0.0, 1.0)
    rng = np.random.default_rng(1)
    buffer = law.start(rng)
    assert buffer.values.min() >= 0.0
    assert buffer.values.max() == 1.0
    kept = buffer.values[1].copy()
    buffer.used[0] = law.law.buffer
    law.refill(buffer, rng)
    assert np.array_equal(buffer.values[1], kept)  # not seen twice
    assert buffer.values[0].max() <= 1.0


def test_clipped_means_by_quadrature_and_the_bias_bound() -> None:
    law = Capped(pareto(S1, shape=1.55), at=1.0)
    for mean, seen in zip(S1, law.clipped_means, strict=True):
        arm = stats.pareto(1.55, scale=mean * 0.55 / 1.55)
        x = np.linspace(0.0, 1.0, 200_001)
        assert seen == pytest.approx(float(np.trapezoid(arm.sf(x), x)), rel=1e-4)
        order = 0.5  # E X^1.5 = 1.55/(1.55 - 1.5) c^1.5
        moment = 31.0 * (mean * 0.55 / 1.55) ** 1.5
        assert mean - seen <= clipping_bias(moment, order, 1.0)


def test_the_bias_bound_is_the_largest_ratio() -> None:
    """(x - B)/x^(1+v) is largest at x = B(1+v)/v."""
    for v, b in ((0.5, 1.0), (0.9, 3.0)):
        x = np.linspace(b, 50 * b, 400_001)
        assert ((x - b) / x ** (1 + v)).max() == pytest.approx(clipping_bias(1.0, v, b), rel=1e-6)


def test_settings_round_trip_and_bad_input() -> None:
    law = Capped(pareto(S1, shape=1.95), at=5.0)
    again = law_from_dict(law.to_dict())
    assert again.to_dict() == law.to_dict()
    assert law.arranged([4, 3, 2, 1, 0]).means == tuple(reversed(S1))
    bad = (
        lambda: pareto(S1, 1.0),
        lambda: Capped(pareto(S1, 2.0), 0.0),
        lambda: Capped(Bernoulli([0.1, 0.2]), 1.0),  # type: ignore[arg-type]
        lambda: pareto([0.0, 1.0], 2.0),
    )
    for wrong in bad:
        with pytest.raises(DiscreetError):
            wrong()


def test_dp_imed_plays_unbounded_rewards() -> None:
    """T = 1e5, v = .5, ε = .5, B = 1: regret on the true means, far below the 40,000 of uniform
    play. 12 runs; published rows cannot finish their first epoch here."""
    law = Capped(pareto(S1, shape=1.55), at=1.0)
    row = discreet.policy("dp-imed", epsilon=0.5)
    result = discreet.simulate(row, law, horizon=1e5, runs=12, seed=3, progress=False)
    assert result.final_regret.mean() < 1000.0
    assert math.isclose(max(result.means), 0.9)
    assert result.guarantee.short() == "ε = 0.5 (interactive)"
