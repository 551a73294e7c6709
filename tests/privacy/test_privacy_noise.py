"""Simulated noise: the same numbers interpreted and compiled, and the right laws."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from scipy import stats

from discreet.privacy import _noise as noise

# Kolmogorov-Smirnov and binomial tests below: fixed seeds, fail under p = 1e-6.
ALARM = 1e-6
DRAWS = 50_000

CALLS: list[tuple[Callable[..., float], tuple[float, ...]]] = [
    (noise.zero, (2.0,)),
    (noise.laplace, (2.0,)),
    (noise.gaussian, (2.0,)),
    (noise.truncated_laplace, (1.0, 0.01)),
    (noise.truncated_laplace, (1.0, 0.0)),
    (noise.truncated_laplace, (0.0, 0.01)),
    (noise.randomised_response, (0.3, 1.0)),
]


@pytest.mark.parametrize(("draw", "arguments"), CALLS)
def test_compiled_and_interpreted_agree(draw: Callable[..., float], arguments: Any) -> None:
    compiled = numba.njit(draw)
    one, two = np.random.default_rng(7), np.random.default_rng(7)
    a = [draw(*arguments, one) for _ in range(200)]
    b = [compiled(*arguments, two) for _ in range(200)]
    np.testing.assert_allclose(a, b, rtol=1e-12)
    assert (len(set(a)) > 1) == (draw is not noise.zero)


def sample(draw: Callable[..., float], *arguments: float) -> np.ndarray:
    rng = np.random.default_rng(11)
    return np.array([draw(*arguments, rng) for _ in range(DRAWS)])


def test_laplace_law() -> None:
    drawn = sample(noise.laplace, 3.0)
    assert stats.kstest(drawn, stats.laplace(scale=3.0).cdf).pvalue > ALARM
    assert stats.kstest(drawn, stats.laplace(scale=3.3).cdf).pvalue < ALARM


def test_gaussian_law() -> None:
    drawn = sample(noise.gaussian, 3.0)
    assert stats.kstest(drawn, stats.norm(scale=3.0).cdf).pvalue > ALARM
    assert stats.kstest(drawn, stats.norm(scale=3.3).cdf).pvalue < ALARM


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (0.1, 1e-5), (3.0, 0.2)])
def test_truncated_laplace_law(epsilon: float, delta: float) -> None:
    """Density proportional to e^(-ε|x|) on |x| <= B, B = log(1 + (e^ε - 1)/(2δ))/ε."""
    bound = math.log(1 + (math.exp(epsilon) - 1) / (2 * delta)) / epsilon

    def cdf(x: np.ndarray) -> np.ndarray:
        half = 0.5 * (1 - np.exp(-epsilon * np.abs(x))) / (1 - math.exp(-epsilon * bound))
        return np.asarray(0.5 + np.sign(x) * half)

    drawn = sample(noise.truncated_laplace, epsilon, delta)
    assert np.abs(drawn).max() <= bound * (1 + 1e-12)
    assert stats.kstest(drawn, cdf).pvalue > ALARM
    # the claim: a shift by the sensitivity 1 uncovers mass δ, elsewhere densities differ by e^ε
    assert 1 - float(cdf(np.array([bound - 1]))[0]) == pytest.approx(delta, rel=1e-9)


def test_truncated_laplace_limits() -> None:
    pure = sample(noise.truncated_laplace, 2.0, 0.0)
    assert stats.kstest(pure, stats.laplace(scale=0.5).cdf).pvalue > ALARM
    flat = sample(noise.truncated_laplace, 0.0, 0.1)
    assert stats.kstest(flat, stats.uniform(-5, 10).cdf).pvalue > ALARM
    rng, twin = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(100):
        near = noise.truncated_laplace(1e-9, 0.1, rng)
        assert near == pytest.approx(noise.truncated_laplace(0.0, 0.1, twin), rel=1e-6)


@pytest.mark.parametrize("reward", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_law(reward: float, epsilon: float) -> None:
    drawn = sample(noise.randomised_response, reward, epsilon)
    assert set(drawn) == {0.0, 1.0}
    e = math.exp(epsilon)
    wanted = (reward * e + 1 - reward) / (1 + e)
    assert stats.binomtest(int(drawn.sum()), DRAWS, wanted).pvalue > ALARM


def test_randomised_response_with_a_huge_budget_tells_the_truth() -> None:
    rng = np.random.default_rng(0)
    assert noise.randomised_response(1.0, math.inf, rng) == 1.0
    assert noise.randomised_response(0.0, 5000.0, rng) == 0.0
