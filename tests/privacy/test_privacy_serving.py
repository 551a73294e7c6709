"""Pure budgets that keep budgets of other kinds: exact at the edge, and never beyond it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import discreet
from discreet.errors import InvalidArgument, UnsupportedBudget
from discreet.policies._registry import row_from_recipe
from discreet.privacy._guarantees import Definition, Guarantee, guarantee_from_dict
from discreet.privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.privacy.budgets._serving import equivalent_pure


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


@pytest.mark.parametrize("mu", [1e-9, 1e-3, 2.82, 2.83, 10.0, 60.0, 75.0, 80.0, 1000.0])
def test_gaussian_at_all_sizes(mu: float) -> None:
    """log Φ(μ/2) - log Φ(-μ/2) by another route, and never above it."""
    exact = norm.logcdf(mu / 2.0) - norm.logsf(mu / 2.0)
    found = equivalent_pure(GaussianDP(mu)).epsilon
    rounding = 1e-15 / mu  # of the difference of two logarithms near log(1/2)
    assert found == pytest.approx(exact, rel=max(1e-3 if mu > 70.0 else 1e-9, rounding))
    assert found <= exact * (1.0 + max(1e-13, rounding))
    assert Pure(found) <= GaussianDP(mu)
    assert not Pure(found * 1.01) <= GaussianDP(mu)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 0.01), (0.0, 0.2), (5.0, 0.5)])
def test_approximate(epsilon: float, delta: float) -> None:
    """Randomised response at ε' has exactly δ at ε."""
    found = equivalent_pure(Approximate(epsilon, delta)).epsilon
    truth = math.exp(found) / (1.0 + math.exp(found))
    assert truth - math.exp(epsilon) * (1.0 - truth) == pytest.approx(delta, rel=1e-6, abs=1e-12)


def response_divergence(epsilon: float, alpha: float) -> float:
    """Rényi divergence of a coin of e^ε/(1+e^ε) from its reverse, term by term."""
    p = 1.0 / (1.0 + math.exp(-epsilon))
    q = 1.0 - p
    return math.log(p**alpha * q ** (1.0 - alpha) + q**alpha * p ** (1.0 - alpha)) / (alpha - 1.0)


@pytest.mark.parametrize("epsilon", [0.03, 0.1, 1.0, 3.0, 10.0])
def test_zcdp_of_randomised_response(epsilon: float) -> None:
    """ρ = ε tanh(ε/2): no order needs more, and orders near 1 need all of it."""
    rho = Pure(epsilon).to_zcdp().rho
    assert rho == pytest.approx(epsilon * math.tanh(epsilon / 2.0), rel=1e-11)
    assert rho <= epsilon**2 / 2.0
    orders = 1.0 + np.logspace(-3, 1.4, 60)
    needed = [response_divergence(epsilon, float(order)) / order for order in orders]
    assert max(needed) <= rho * (1.0 + 1e-9)
    assert needed[0] >= rho * 0.998


@pytest.mark.parametrize("rho", [1e-8, 1e-3, 0.1, 0.5, 3.0, 40.0, 1000.0])
def test_zcdp(rho: float) -> None:
    found = equivalent_pure(ZCDP(rho)).epsilon
    assert found * math.tanh(found / 2.0) == pytest.approx(rho, rel=1e-9)
    assert found >= math.sqrt(2.0 * rho) * (1.0 - 1e-12)
    assert Pure(found) <= ZCDP(rho)


@pytest.mark.parametrize(("alpha", "epsilon"), [(2.0, 1.0), (1.01, 0.2), (30.0, 0.5), (8.0, 20.0)])
def test_renyi(alpha: float, epsilon: float) -> None:
    found = equivalent_pure(Renyi(alpha, epsilon)).epsilon
    assert response_divergence(found, alpha) == pytest.approx(epsilon, rel=1e-6)
    assert Pure(found) <= Renyi(alpha, epsilon)


def test_extremes() -> None:
    assert equivalent_pure(Pure(0.3)) == Pure(0.3)
    assert equivalent_pure(Approximate(0.3, 0.0)).epsilon == 0.3
    for nothing in (ZCDP(math.inf), GaussianDP(math.inf), Renyi(2.0, math.inf)):
        assert equivalent_pure(nothing) == Pure(math.inf)
    for perfect in (ZCDP(0.0), GaussianDP(0.0), Renyi(2.0, 0.0)):
        assert equivalent_pure(perfect) == Pure(0.0)


ASKED: list[dict[str, float]] = [
    {"mu": 1.0}, {"rho": 0.5}, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 1.0, "renyi_alpha": 4},
]  # fmt: skip


@pytest.mark.parametrize("asked", ASKED, ids=str)
@pytest.mark.parametrize("name", ["dp-imed", "ldp-ucb-b", "private-linucb", "adap-tt"])
def test_pure_rows_serve_every_budget_and_say_so(name: str, asked: dict[str, Any]) -> None:
    row = discreet.policy(name, **asked)
    guarantee = row.guarantee
    assert guarantee.budget == equivalent_pure(guarantee.keeps)
    assert guarantee.budget.implies(guarantee.keeps)
    assert f"which keeps {guarantee.keeps}" in str(guarantee)
    assert f"keeps {guarantee.keeps}" in guarantee.short()
    assert guarantee_from_dict(guarantee.to_dict()) == guarantee
    again = row_from_recipe(row.recipe)
    assert (again, again.guarantee) == (row, guarantee)
    assert guarantee.for_user(2).keeps is None
    assert guarantee.as_approximate(1e-3).keeps is None


def test_rows_that_take_the_kind_itself_convert_nothing() -> None:
    assert discreet.policy("gauss-imed", mu=1.0).guarantee.keeps is None
    assert discreet.policy("evidence-tt", rho=0.1).guarantee.keeps is None
    assert discreet.policy("dp-imed", budget=Approximate(1.0, 0.0)).guarantee.keeps is None
    with pytest.raises(UnsupportedBudget, match="gauss-imed"):
        discreet.policy("gauss-imed", epsilon=1.0)
    whole_run = discreet.policy("dp-ftpl-new", mu=1.0).guarantee.over_run(10)
    assert whole_run.keeps is None


def test_a_budget_that_is_not_kept_cannot_be_stated() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="implies"):
        Guarantee(Pure(1.0), Definition.VIEW, keeps=GaussianDP(1.0))
    wrong: Budget = GaussianDP(1.0)
    with pytest.raises(InvalidArgument, match="keeps"):
        discreet.Policy("mine", row.schedule, row.release, row.rule, keeps=wrong)


@pytest.mark.parametrize("asked", ASKED[:3], ids=str)
def test_a_trial_states_the_budget_that_was_asked_for(
    asked: dict[str, Any], tmp_path: Path
) -> None:
    row = discreet.policy("dp-imed", **asked)
    with discreet.Trial(
        row, arms=["A", "B"], horizon=200, deadline="5 s", missing="estimate", path=tmp_path / "t"
    ) as one:
        stated = one.guarantee
        assert stated.keeps == row.keeps
        assert f"which keeps {row.keeps}" in one.report()["guarantee"]
    with discreet.Trial.load(tmp_path / "t") as again:
        assert again.guarantee == stated
