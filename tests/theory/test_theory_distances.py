"""KLinf, TVinf and d_ε against the programs that define them, and against each other."""

from __future__ import annotations

import math

import naive_bounds as naive
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.errors import InvalidArgument
from discreet.theory import FiniteLaw, d_epsilon, gaussian_klinf, gaussian_tvinf, klinf, tvinf
from discreet.theory._distances import compared

ENVIRONMENTS = [
    ([0.0, 1.0], [0.6, 0.4], 0.7),
    ([0.0, 0.5, 1.0], [0.3, 0.4, 0.3], 0.6),
    ([0.2, 0.3, 0.9], [0.5, 0.2, 0.3], 0.8),
    ([0.1], [1.0], 0.5),
    ([0.25, 0.5], [0.5, 0.5], 0.95),
]
rates = st.floats(0.01, 0.99)


@pytest.mark.parametrize(("values", "weights", "best"), ENVIRONMENTS)
def test_programs(values: list[float], weights: list[float], best: float) -> None:
    environment = FiniteLaw(values, weights)
    assert klinf(environment, best) == pytest.approx(naive.klinf(values, weights, best), rel=1e-5)
    assert tvinf(environment, best) == pytest.approx(naive.tvinf(values, weights, best), rel=1e-9)


@given(rates, rates)
def test_bernoulli_is_a_law_on_two_points(mean: float, best: float) -> None:
    environment = FiniteLaw([0.0, 1.0], [1.0 - mean, mean])
    assert klinf(environment, best) == pytest.approx(klinf(mean, best), rel=1e-6, abs=1e-12)
    assert tvinf(environment, best) == pytest.approx(tvinf(mean, best), abs=1e-12)


@given(st.lists(st.tuples(rates, st.floats(0.05, 1.0)), min_size=1, max_size=4), rates)
def test_pinsker_and_bernoulli_bound_every_law(
    pairs: list[tuple[float, float]], best: float
) -> None:
    total = sum(weight for _, weight in pairs)
    environment = FiniteLaw([value for value, _ in pairs], [weight / total for _, weight in pairs])
    far, near = klinf(environment, best), tvinf(environment, best)
    assert 0.0 <= near <= 1.0
    assert far >= 2.0 * near**2 - 1e-9  # Pinsker
    # among laws of one mean, the Bernoulli one is the easiest to lift
    assert far >= klinf(min(environment.mean, 1.0), best) - 1e-9
    assert near >= tvinf(min(environment.mean, 1.0), best) - 1e-9


@given(rates, rates, st.floats(0.01, 10.0))
def test_d_epsilon(x: float, y: float, epsilon: float) -> None:
    found = d_epsilon(x, y, epsilon)
    assert found <= naive.d_epsilon(x, y, epsilon) + 1e-12
    assert found == pytest.approx(naive.d_epsilon(x, y, epsilon), rel=1e-4, abs=1e-7)
    if x < y:
        assert found <= min(naive.kl(x, y), epsilon * (y - x)) * (1.0 + 1e-12)
    assert d_epsilon(x, y, math.inf) == pytest.approx(naive.kl(x, y) if x < y else 0.0)


def test_limits_at_the_ends() -> None:
    assert klinf(0.5, 1.0) == math.inf
    assert klinf(FiniteLaw([0.5], [1.0]), 1.0) == math.inf
    assert tvinf(FiniteLaw([0.5], [1.0]), 1.0) == 1.0
    assert klinf(0.7, 0.5) == tvinf(0.7, 0.5) == 0.0
    assert d_epsilon(0.3, 1.0, 2.0) == pytest.approx(2.0 * 0.7)


def test_gaussian() -> None:
    assert gaussian_klinf(0.5, 2.0) == pytest.approx(0.5**2 / 8.0)
    # Φ(1) = 0.8413447460685429
    assert gaussian_tvinf(2.0) == pytest.approx(2.0 * 0.8413447460685429 - 1.0)
    arms = compared(discreet.Gaussian([1.0, 0.5, 0.0], sd=[1.0, 1.0, 2.0]))
    assert [arm.kl for arm in arms] == pytest.approx([0.125, 0.125])


def test_reward_laws() -> None:
    two = compared(discreet.TwoPoint(0.0, 1.0, [0.7, 0.4]))
    assert two[0].kl == pytest.approx(naive.kl(0.4, 0.7))
    assert compared(discreet.Bernoulli([0.7, 0.4]))[0].tv == pytest.approx(0.3)
    with pytest.raises(InvalidArgument, match="FiniteLaw"):
        compared(discreet.environment("beta", [0.5, 0.6]))


@pytest.mark.parametrize(
    "wrong",
    [[0.5], "0.5", [0.5, 1.5], [0.5, math.nan], [True, 0.5], 0.5, [FiniteLaw([0.5], [1.0])]],
)
def test_arms_are_checked(wrong: object) -> None:
    with pytest.raises(InvalidArgument):
        compared(wrong)  # type: ignore[arg-type]  # what a user may pass


@pytest.mark.parametrize(
    ("values", "weights"), [([0.5], [0.9]), ([0.5, 0.6], [1.0]), ([1.5], [1.0]), ([], [])]
)
def test_finite_laws_are_checked(values: list[float], weights: list[float]) -> None:
    with pytest.raises(InvalidArgument):
        FiniteLaw(values, weights)
