"""Start phases of Gaussian and Beta leaders: sound from the start on, and not a pull earlier."""

from __future__ import annotations

import numpy as np
import pytest
from naive_formulas import beta_spent, gauss_start, gaussian_spent
from scipy.special import betaln

from discreet.policies import _starts as starts
from discreet.privacy.budgets import Approximate, Renyi

BUDGETS = [(1.0, 0.01), (0.5, 0.05), (2.0, 1e-3), (3.0, 1e-5), (1.0, 0.1), (0.3, 0.2), (0.0, 0.2)]


@pytest.mark.parametrize(("epsilon", "delta", "pulls"), [(1.0, 0.01, 2), (0.1, 0.01, 46)])
def test_known_gaussian_starts(epsilon: float, delta: float, pulls: int) -> None:
    assert starts.gauss_start(Approximate(epsilon, delta), "exact") == pulls


@pytest.mark.parametrize(
    ("environment", "epsilon", "delta", "pulls"),
    [
        ("gauss", 1.0, 0.01, 8),
        ("gauss", 0.1, 0.01, 768),
        ("gauss", 0.1, 0.2, 2),  # 1/(4πδ²) = 1.99 is the smaller
        ("beta", 1.0, 0.01, 827),  # 8000 log(e/(2πδ²))/81 = 826.6
        ("beta", 1.0, 0.2, 97),  # 1000e/(9π) = 96.1
        ("beta", 0.1, 0.05, 1539),  # 40e/(9πδ²) = 1538.3
    ],
)
def test_printed_starts(environment: str, epsilon: float, delta: float, pulls: int) -> None:
    start = {"gauss": starts.gauss_start, "beta": starts.beta_start}[environment]
    assert start(Approximate(epsilon, delta), "paper") == pulls


@pytest.mark.parametrize(("epsilon", "delta"), [*BUDGETS, (0.1, 0.01), (0.0, 0.01)])
def test_a_gaussian_start_is_the_smallest_that_is_sound(epsilon: float, delta: float) -> None:
    start = starts.gauss_start(Approximate(epsilon, delta), "exact")
    assert start == gauss_start(epsilon, delta)
    for pulls in range(start, 3 * start + 20):
        assert gaussian_spent((2.0 * pulls) ** 0.5, epsilon) <= delta
    if start > 1:
        assert gaussian_spent((2.0 * (start - 1)) ** 0.5, epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_a_beta_start_is_the_smallest_that_is_sound(epsilon: float, delta: float) -> None:
    """Every N up to the proved phase, by the exact curve; one pull less breaks the budget."""
    start = starts.beta_start(Approximate(epsilon, delta), "exact")
    proved = starts.proved_beta_start(epsilon, delta)
    assert start < proved <= starts.MOST_CHECKED
    for pulls in range(start, proved + 1):
        assert beta_spent(pulls, epsilon) <= delta * (1.0 + 1e-9)
    if start > 1:
        assert beta_spent(start - 1, epsilon) > delta


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0, 3.0])
def test_the_exact_curve_of_beta_leaders(epsilon: float) -> None:
    for pulls in (1, 2, 7, 8, 9, 15, 16, 40, 150):
        expected = beta_spent(pulls, epsilon)
        assert starts.exact_beta_delta(pulls, epsilon) == pytest.approx(
            expected, rel=1e-6, abs=1e-12
        )


def least_bound(pulls: int, epsilon: float) -> float:
    """The least δ that `renyi_bound_keeps` accepts, by bisection of its logarithm."""
    low, high = -60.0, 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if starts.renyi_bound_keeps(pulls, epsilon, float(np.exp(middle))):
            high = middle
        else:
            low = middle
    return float(np.exp(high))


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
def test_the_proof_is_on_the_safe_side_of_the_exact_curve(epsilon: float) -> None:
    """The Rényi bound, converted, is above the exact δ for every N of a range."""
    for pulls in [*range(1, 130), 200, 399, 400, 800, 1600]:
        assert least_bound(pulls, epsilon) >= starts.exact_beta_delta(pulls, epsilon)


@pytest.mark.parametrize("pulls", [8, 31, 64, 300])
def test_the_bound_is_above_the_divergences_of_neighbouring_beta_laws(pulls: int) -> None:
    """E_Q[(dP/dQ)^α] in Beta functions, for every R; Rényi's divergence of the worst, converted."""
    k, ones = pulls // 8 + 1, np.arange(pulls)
    a, b = ones + 1.0 + k, pulls - ones + 1.0 + k
    divergences = {}
    for alpha in range(2, k + 1):
        moment = betaln(a + alpha, b - alpha) - betaln(a, b)
        moment -= alpha * (betaln(a + 1.0, b - 1.0) - betaln(a, b))
        divergences[alpha] = float((moment / (alpha - 1.0)).max())
    for epsilon in (0.1, 1.0):
        converted = [Renyi(order, d).delta_at(epsilon) for order, d in divergences.items()]
        assert least_bound(pulls, epsilon) >= min(converted)
        assert min(converted) >= starts.exact_beta_delta(pulls, epsilon)
