"""Which policy should I take: the cases of docs/choosing.md, asked of `choose` and the planner."""

from __future__ import annotations

import math
from typing import Any

import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.privacy import curves
from discreet.privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from discreet.theory import choose, plan
from discreet.theory.choosing import ENOUGH, noise_sd, turning_delta

PAGE: list[tuple[Budget, dict[str, Any], str]] = [
    (Pure(1.0), {}, "dp-imed"),
    (Approximate(1.0, 1e-6), {}, "dp-imed"),
    (Approximate(1.0, 0.1), {}, "gauss-imed"),
    (ZCDP(0.5), {}, "gauss-imed"),
    (GaussianDP(1.0), {}, "gauss-imed"),
    (Renyi(4.0, 1.0), {}, "dp-imed"),
    (Renyi(2.0, 1.0), {}, "gauss-imed"),
    (Pure(1.0), {"trust": "none"}, "ldp-ucb-b"),
    (GaussianDP(1.0), {"trust": "sums"}, "dp-imed"),
    (Pure(1.0), {"contexts": "public", "participants": 10_000}, "dp-imed"),
    (Pure(1.0), {"contexts": "public", "participants": 1e5}, "blocks-ts"),
    (ZCDP(0.5), {"contexts": "public", "participants": 1e5}, "blocks-ts"),
    (Approximate(1.0, 1e-6), {"contexts": "private", "participants": 5e4}, "dp-imed"),
    (Approximate(1.0, 1e-6), {"contexts": "private", "participants": 1e5}, "jdp-blocks-ts"),
    (Pure(1.0), {"contexts": "private", "participants": 1e6}, "dp-imed"),
    (Pure(1.0), {"turning": True}, "dp-tsallis"),
    (Pure(1.0), {"goal": "identify"}, "evidence-tt"),
    (Pure(1.0), {"goal": "identify", "trust": "none"}, "local-evidence-tt"),
]


@pytest.mark.parametrize(("budget", "case", "name"), PAGE, ids=str)
def test_the_cases_of_the_page(budget: Budget, case: dict[str, Any], name: str) -> None:
    found = choose(budget, **case)
    assert found.name == name
    guarantee = found.policy.guarantee
    assert guarantee.budget.implies(budget)
    assert found.why
    assert name in found.call
    if case.get("trust") == "none":
        assert guarantee.definition.value == "local"
    if case.get("trust") == "sums":
        assert any("secure aggregation" in condition for condition in guarantee.conditions)
    if case.get("trust") != "sums":
        again = eval(found.call, {"discreet": discreet})
        assert again.guarantee.budget.implies(budget)


def test_the_least_noise_is_computed() -> None:
    """Standard deviations on a sum of outcomes, from the formulas."""
    assert noise_sd("dp-imed", Pure(0.5)) == pytest.approx(2.0 * math.sqrt(2.0))
    assert noise_sd("gauss-imed", GaussianDP(2.0)) == pytest.approx(0.5)
    for epsilon in (0.01, 0.1, 1.0, 3.0):
        turn = turning_delta(epsilon)
        assert turn is not None
        for factor, best in ((0.99, "dp-imed"), (1.01, "gauss-imed")):
            assert choose(Approximate(epsilon, factor * turn)).name == best
    assert turning_delta(10.0) is None
    # with Lap(1/ε), which makes no use of δ, Gaussian noise would win from these on
    for epsilon, delta in ((1.0, 0.0396), (0.1, 0.0026)):
        assert 1.0 / curves.gaussian_mu(epsilon, delta) == pytest.approx(
            math.sqrt(2.0) / epsilon, rel=0.01
        )


def test_the_front_door_without_a_name() -> None:
    row = discreet.policy(epsilon=1.0, delta=1e-6, ratio=1.5)
    assert (row.name, row.guarantee.keeps) == ("dp-imed", Approximate(1.0, 1e-6))
    assert "nothing is composed" in row.why[0]
    assert discreet.policy(rho=0.5, goal="identify").name == "evidence-tt"
    assert discreet.policy("dp-imed", epsilon=1.0).why == ()
    with pytest.raises(InvalidArgument, match="name"):
        discreet.policy()
    for wrong in ({"trust": "all"}, {"contexts": "some"}, {"participants": 0}, {"goal": "win"}):
        with pytest.raises(InvalidArgument, match=f"^{next(iter(wrong))} must"):
            choose(Pure(1.0), **wrong)  # type: ignore[arg-type]


def test_the_planner_answers_as_the_page_does() -> None:
    """Pure rows compete for (ε, δ) budgets with the ε that keeps them."""
    found = plan(
        [0.7, 0.4], horizon=2000, epsilon=1.0, epsilons=[1.0], delta=1e-6, contexts="public"
    )
    assert found.recommended.row in ("dp-imed", "dp-klucb")
    assert "discreet.policy" in found.text()
    assert "delta=1e-06" in found.text().replace("\n", " ")
    noise = next(reason for reason in found.why if reason.startswith("Noise"))
    assert "Gaussian noise is less for δ above 0.052" in noise
    features = next(reason for reason in found.why if reason.startswith("Features"))
    assert f"{ENOUGH['public']:,}" in features
    assert "left out" in features
    said: Any = found.to_dict()
    assert said["question"]["contexts"] == "public"
    with pytest.raises(InvalidArgument, match="contexts"):
        plan([0.7, 0.4], horizon=2000, contexts="secret")
