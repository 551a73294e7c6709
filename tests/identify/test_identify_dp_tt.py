"""DP-TT: the threshold by its formula, the proof's tail by simulation, answers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import discreet
from discreet.errors import DiscreetError
from discreet.identify import identifier, identify
from discreet.identify._dp_tt import PlainTopTwo, Share, cost, cost_of, log_tail
from discreet.identify._evidence_top_two import least_cost
from discreet.identify._filling import Patch, cut, lay, scratch_of
from discreet.policies._view import fresh_view


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


def test_costs_in_closed_form_agree_with_bisection() -> None:
    rng = np.random.default_rng(3)
    for _ in range(2000):
        other, best = np.sort(rng.random(2)) if rng.random() < 0.8 else (0.0, 1.0)
        n, m = (float(pulls) for pulls in 10 ** rng.uniform(0, 5, 2))
        epsilon = float(10 ** rng.uniform(-2.5, 3))
        wanted = least_cost(best, n, other, m, epsilon, 0.0)[0]
        assert cost(best, n, other, m, epsilon) == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_costs_lie_between_their_bounds() -> None:
    """On every patch, at its corners and within, a cost is above the line and below its room."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        view = fresh_view(2)
        means, pulls = np.sort(rng.uniform(-0.1, 1.1, 2)), 10 ** rng.uniform(0, 5, 2)
        for arm in range(2):
            view.value[arm], view.pulls[arm] = float(means[1 - arm]), int(pulls[arm])
        rule = Share(float(10 ** rng.uniform(-2, 1)), 0.5)
        patch = scratch_of(identifier("dp-tt", epsilon=1.0), 2)
        assert isinstance(patch, Patch)
        lay(rule, view, patch, 0, 1)
        low, high, left, right = (patch.ends[4 + end] for end in range(4))
        for _ in range(5):
            n, m = int(rng.integers(low, high + 1)), int(rng.integers(left, right + 1))
            view.pulls[0], view.pulls[1] = n, m
            cut(view, patch, 1)
            exact = cost_of(rule.epsilon, view, 0, 1, float(n), float(m)) + math.log(m)
            line = patch.start[1] + patch.slope[1] * n
            assert line - 1e-9 * (1.0 + exact) <= exact <= line + patch.room[1]


class Walked(PlainTopTwo):
    """The same rule, every cost reckoned in every round: the loop bounds those of its own kind."""


@pytest.mark.parametrize("epsilon", [0.3, 10.0])
def test_bounds_change_no_choice(epsilon: float) -> None:
    row = identifier("dp-tt", epsilon=epsilon)
    environment = discreet.Bernoulli([0.95, 0.9, 0.9, 0.9, 0.5])
    ours, walked = (
        identify(one, environment, risk=0.1, runs=4, seed=7, max_samples=20_000, progress=False)
        for one in (row, replace(row, rule=Walked()))
    )
    assert np.array_equal(ours.final_pulls, walked.final_pulls)
    assert np.array_equal(ours.stopping_time, walked.stopping_time)
