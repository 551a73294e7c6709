"""The perturbed leader that skips draws against one that makes all of them; budgets with ε = 0."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

import discreet
from discreet.policies._elimination import noise_reach
from discreet.policies._perturbed import Leader, choose_perturbed, leader_shift, noise_at
from discreet.policies._view import View
from discreet.privacy.budgets import Approximate, Pure

BUDGETS = [(1.0, 0.01), (1.0, math.exp(-10)), (1.0, 0.0), (0.1, 0.0), (0.0, 0.1), (0.0, 0.002)]
T = 10**5


def naive_noise(u: float, epsilon: float, delta: float) -> float:
    """algorithms.md: truncated Laplace around 0, sensitivity 1."""
    m, s = min(u, 1.0 - u), math.copysign(1.0, u - 0.5)
    if delta == 0.0:
        return -s * math.log(2.0 * m) / epsilon
    if epsilon == 0.0:
        return s * (0.5 - m) / delta
    c = math.expm1(epsilon) / delta
    return s * (math.log1p(c / 2.0) - math.log1p(c * m)) / epsilon


def naive_choice(rule: Leader, view: View, uniforms: list[float]) -> int:
    """Everybody is drawn, the arm with most rewards first."""
    order = sorted(
        range(len(view.size)), key=lambda arm: (arm != int(np.argmax(list(view.size))), arm)
    )
    scores = {}
    for arm, u in zip(order, uniforms, strict=True):
        n = int(view.size[arm])
        centre = view.value[arm] + math.sqrt(rule.log_horizon / n) + rule.shift / n
        scores[arm] = centre + naive_noise(u, rule.epsilon, rule.delta) / n
    return max(scores, key=lambda arm: scores[arm])


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_skipped_draws_could_not_have_won(epsilon: float, delta: float) -> None:
    rule = Leader(1, epsilon, delta, math.log(T), leader_shift(epsilon, delta, T))
    rng = np.random.default_rng(7)
    winners = set()
    for round_ in range(1500):
        arms = 12
        size = rng.integers(1, 40 if round_ % 2 else 4000, arms)
        # means that put all optimistic centres close together, so that the noise decides
        width = np.sqrt(rule.log_horizon / size) + rule.shift / size
        value = 3.0 - width + rng.normal(0.0, 2.0, arms) / size
        view = View(value, size, size)
        seed = int(rng.integers(1 << 40))
        uniforms = np.random.default_rng(seed).random(arms).tolist()
        chosen = choose_perturbed(rule, None, view, 0, np.random.default_rng(seed))
        assert chosen == naive_choice(rule, view, uniforms)
        winners.add((chosen, chosen == int(np.argmax(size))))
    assert len(winners) > arms  # every arm wins sometimes, leading or not


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_noise_from_a_uniform(epsilon: float, delta: float) -> None:
    rule = Leader(1, epsilon, delta, 1.0, 0.0)
    for u in (1e-12, 0.003, 0.2, 0.4999, 0.5, 0.5001, 0.77, 0.999, 1.0 - 1e-12):
        assert noise_at(rule, u) == pytest.approx(
            naive_noise(u, epsilon, delta), rel=1e-6, abs=1e-9
        )
    assert math.isfinite(noise_at(rule, 0.0))
    assert noise_at(rule, 0.0) < noise_at(rule, 1e-6) < 0.0 < noise_at(rule, 1.0 - 1e-6)


@pytest.mark.parametrize("delta", [0.0, 0.01, 1e-9])
def test_no_budget_is_too_large_for_the_noise(delta: float) -> None:
    for epsilon in (800.0, 1e12):
        for u in (0.0, 0.1, 0.5, 0.9):
            assert abs(noise_at(Leader(1, epsilon, delta, 1.0, 0.0), u)) < 60.0 / epsilon + 1.0


def exact_reach(epsilon: float, delta: float, horizon: int) -> float:
    """(1/ε) log[(T²(e^ε-1)+T²δ)/(2(e^ε-1)+T²δ)] with 60 digits."""
    getcontext().prec = 60
    e, d, square = Decimal(epsilon), Decimal(delta), Decimal(horizon) ** 2
    grown = e.exp() - 1
    return float(((square * grown + square * d) / (2 * grown + square * d)).ln() / e)


@pytest.mark.parametrize("horizon", [10, 1000, 10**6])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.01, 0.5])
def test_pulls_for_the_noise_of_a_phase(epsilon: float, delta: float, horizon: int) -> None:
    assert noise_reach(epsilon, delta, horizon) == pytest.approx(
        exact_reach(epsilon, delta, horizon), rel=1e-9
    )


@pytest.mark.parametrize("delta", [0.001, 0.2])
def test_pulls_of_a_phase_have_their_limit_at_no_epsilon(delta: float) -> None:
    limit = noise_reach(0.0, delta, 1000)
    assert limit == pytest.approx((1.0 - 2.0 / 1000**2) / delta)
    assert limit == pytest.approx(exact_reach(1e-20, delta, 1000), rel=1e-12)


def test_a_phase_at_no_epsilon_is_as_long_as_its_limit_says() -> None:
    """δ = 1e-4: (4/Δ)(1-2/T²)/δ = 80,000 pulls an arm in the first phase, 160,000 in the second."""
    horizon = 500_000
    row = discreet.policy("gdp-elim-new", budget=Approximate(0.0, 1e-4))
    result = discreet.simulate(
        row, discreet.Bernoulli([0.05, 0.95]), horizon=horizon, runs=4, seed=3, points=2000
    )
    assert row.guarantee.budget == Approximate(0.0, 5e-5)
    assert set(result.pulls[:, -1, 0]) == {math.ceil(80_000 * (1.0 - 2.0 / horizon**2))}


@pytest.mark.parametrize("name", ["dp-ftpl-new", "dp-ftpl-gauss"])
def test_leaders_at_no_epsilon_learn(name: str) -> None:
    """Regret after T = 20,000 far below that of playing all arms alike, 0.2 T."""
    row = discreet.policy(name, budget=Approximate(0.0, 0.05))
    environment = discreet.Bernoulli([0.3, 0.7])
    regret = discreet.simulate(row, environment, horizon=20_000, runs=6, seed=1).final_regret
    assert regret.max() < 400.0


def test_pure_and_approximate_without_delta_are_one() -> None:
    environment = discreet.Bernoulli([0.3, 0.7])
    pure, same = (
        discreet.simulate(
            discreet.policy("dp-ftpl-new", budget=budget), environment, horizon=2000, runs=2, seed=1
        ).regret
        for budget in (Pure(0.5), Approximate(0.5, 0.0))
    )
    assert (pure == same).all()
