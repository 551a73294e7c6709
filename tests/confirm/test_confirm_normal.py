"""Boundaries against published values, the recursion against the joint normal law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal, norm

from discreet.confirm._normal import FAR, boundaries, crossing, error
from discreet.confirm._sizes import drift_for


def equal(looks: int) -> tuple[float, ...]:
    return tuple((look + 1) / looks for look in range(looks))


@pytest.mark.parametrize(
    ("kind", "looks", "risk", "constant"),
    [  # Jennison & Turnbull 2000, Tables 2.1 (Pocock) and 2.3 (O'Brien-Fleming), two-sided
        ("pocock", 1, 0.05, 1.960), ("pocock", 2, 0.05, 2.178), ("pocock", 3, 0.05, 2.289),
        ("pocock", 4, 0.05, 2.361), ("pocock", 5, 0.05, 2.413), ("pocock", 10, 0.05, 2.555),
        ("pocock", 5, 0.01, 2.986), ("pocock", 5, 0.1, 2.122),
        ("obrien-fleming", 2, 0.05, 1.977), ("obrien-fleming", 3, 0.05, 2.004),
        ("obrien-fleming", 4, 0.05, 2.024), ("obrien-fleming", 5, 0.05, 2.040),
        ("obrien-fleming", 10, 0.05, 2.087),
    ],
)  # fmt: skip
def test_constants_are_the_published_ones(
    kind: str, looks: int, risk: float, constant: float
) -> None:
    bounds = boundaries(kind, equal(looks), risk, 2)
    assert bounds[-1] == pytest.approx(constant, abs=6e-4)
    shape = [math.sqrt(looks / (look + 1)) for look in range(looks)]
    if kind == "pocock":
        shape = [1.0] * looks
    np.testing.assert_allclose(bounds, bounds[-1] * np.array(shape))


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ((1 / 3, 2 / 3, 1.0), (3.7103, 2.5114, 1.9930)),  # as gsDesign's sfLDOF at .025
        ((0.3, 0.8, 1.0), (3.9286, 2.2509, 2.0251)),
    ],
)
def test_spending_gives_the_published_boundaries(
    clock: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(boundaries("lan-demets", clock, 0.05, 2), expected, atol=6e-5)
    # one side of .025 differs only by trials that would have left below first
    one = boundaries("lan-demets", clock, 0.025, 1)
    np.testing.assert_allclose(one, expected, atol=2e-4)


def test_one_sided_spending_gives_published_boundaries() -> None:
    """Printed by SeqBounds.jl (PharmCat), README: α = .05 one-sided, like O'Brien-Fleming."""
    found = boundaries("lan-demets", (0.25, 0.5, 0.75, 1.0), 0.05, 1)
    np.testing.assert_allclose(found, (3.74955, 2.53993, 2.01604, 1.72014), atol=3e-4)


def test_spending_like_pocock_spends_what_it_says() -> None:
    clock = (0.2, 0.5, 0.6, 1.0)
    bounds = boundaries("lan-demets-pocock", clock, 0.05, 2)
    for look, t in enumerate(clock, 1):
        spent = 0.05 * math.log(1 + (math.e - 1) * t)
        assert error(bounds[:look], clock[:look], 2) == pytest.approx(spent, abs=1e-9)


def test_a_tiny_first_look_spends_nothing() -> None:
    bounds = boundaries("lan-demets", (0.01, 1.0), 0.05, 2)
    assert bounds == pytest.approx((FAR, 1.959964), abs=1e-5)


def test_the_recursion_is_the_multivariate_normal_law() -> None:
    """An unequal clock, means that are no drift: against a cubature of the joint density."""
    clock, means = [1.0, 2.5, 3.0], [0.3, -0.2, 0.9]
    lower, upper = [-1.5, -1.0, -math.inf], [1.8, 1.6, 1.2]
    covariance = [[math.sqrt(min(s, t) / max(s, t)) for s in clock] for t in clock]
    two = multivariate_normal(means[:2], [row[:2] for row in covariance[:2]])
    slope = covariance[1][2]  # Z is a Markov chain: the third look depends on the second alone

    def density(y: float, x: float) -> float:
        third = means[2] + slope * (y - means[1])
        return float(two.pdf([x, y]) * norm.sf(1.2, third, math.sqrt(1.0 - slope**2)))

    leaves, _ = dblquad(density, -1.5, 1.8, -1.0, 1.6, epsabs=1e-9)
    above, below = crossing(lower, upper, clock, means)
    assert above[2] == pytest.approx(leaves, abs=1e-8)
    assert below[2] == 0.0
    assert above[0] == pytest.approx(norm.sf(1.5))
    assert below[0] == pytest.approx(norm.cdf(-1.8))


@pytest.mark.parametrize(("power", "inflation"), [(0.8, 1.0174), (0.9, 1.0161)])
def test_the_inflation_factor(power: float, inflation: float) -> None:
    """R_B(3, α, β) of Jennison & Turnbull 2000, Table 2.4 (1.017, 1.016)."""
    drift = drift_for(power, 3, "obrien-fleming", 0.05, 2)
    fixed = norm.isf(0.025) + norm.isf(1 - power)
    assert (drift / fixed) ** 2 == pytest.approx(inflation, abs=2e-4)


def test_more_looks_and_less_risk_ask_for_more() -> None:
    last = [boundaries("obrien-fleming", equal(looks), 0.05, 2)[-1] for looks in range(1, 7)]
    assert last == sorted(last)
    risks = [boundaries("pocock", equal(3), risk, 2)[0] for risk in (0.2, 0.1, 0.05, 0.01, 0.001)]
    assert risks == sorted(risks)
