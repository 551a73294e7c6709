"""The catalogues share their lines' base: options, budgets, errors that name the fix, recipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import discreet
from discreet import linear
from discreet.errors import InvalidArgument, UnknownPolicy, UnsupportedBudget
from discreet.identify import IDENTIFIERS, identifier, identifier_from_recipe
from discreet.policies.catalogue import CATALOGUE, Row, policy
from discreet.policies.registry import ARGUMENTS, Entry
from discreet.privacy import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi

Named = Callable[..., Any]
FINITE_AND_LINEAR: list[tuple[Named, dict[str, Any]]] = [
    (policy, CATALOGUE),
    (linear.policy, linear.CATALOGUE),
]
ALL: list[dict[str, Any]] = [CATALOGUE, linear.CATALOGUE, IDENTIFIERS]
BUDGETS: list[Budget] = [
    Pure(1.0), Approximate(1.0, 1e-6), ZCDP(0.5), Renyi(3.0, 0.5), GaussianDP(0.7),
]  # fmt: skip


@pytest.mark.parametrize("catalogue", ALL)
def test_every_line_says_what_it_is(catalogue: dict[str, Entry[Any]]) -> None:
    assert len(catalogue) >= 5
    for name, entry in catalogue.items():
        assert entry.name == name
        assert entry.title
        assert "\n" not in entry.title
        assert entry.argument not in entry.options
        assert set(entry.budgets) <= set(ARGUMENTS)


@pytest.mark.parametrize(("named", "catalogue"), FINITE_AND_LINEAR)
def test_a_line_serves_its_kinds_of_budget_and_no_other(
    named: Named, catalogue: dict[str, Any]
) -> None:
    for entry in catalogue.values():
        for budget in BUDGETS:
            if isinstance(budget, entry.budgets):
                made = named(entry.name, budget=budget)
                assert made.is_private
                assert made.recipe == {"name": entry.name, "budget": budget.to_dict()}
                assert type(entry).from_recipe(made.recipe) == made
                continue
            with pytest.raises(UnsupportedBudget) as refusal:
                named(entry.name, budget=budget)
            others = [e.name for e in catalogue.values() if type(budget) in e.budgets]
            assert others
            assert all(other in refusal.value.fix for other in others)
            rule = "not private" if not entry.budgets else entry.budgets[0].kind
            assert rule in refusal.value.rule


@pytest.mark.parametrize(
    ("named", "name", "rho_only"),
    [(policy, "adap-ucb", "adac-ucb"), (linear.policy, "private-linucb", "adac-oful")],
)
def test_approximate_without_delta_is_pure(named: Named, name: str, rho_only: str) -> None:
    made, pure = named(name, budget=Approximate(1.0, 0.0)), named(name, epsilon=1.0)
    assert (made.schedule, made.release, made.rule) == (pure.schedule, pure.release, pure.rule)
    with pytest.raises(UnsupportedBudget, match=f"be zcdp or .* for {rho_only}.*; give rho or"):
        named(rho_only, epsilon=1.0)


@pytest.mark.parametrize(
    ("named", "public", "private"),
    [
        (policy, "ucb1", "adap-ucb"),
        (linear.policy, "oful", "private-linucb"),
        (identifier, "ttucb", "adap-tt"),
    ],
)
def test_requests_that_are_refused(named: Named, public: str, private: str) -> None:
    with pytest.raises(UnknownPolicy, match=f"got '{private}x'; did you mean .*{private}"):
        named(private + "x")
    with pytest.raises(UnsupportedBudget, match=f"must be given: {private} is private, got None"):
        named(private)
    with pytest.raises(UnsupportedBudget, match=f"left out: {public} .*private rows: .*{private}"):
        named(public, epsilon=1.0)
    with pytest.raises(InvalidArgument, match=f"colour must be an option of {private}, got 3; its"):
        named(private, epsilon=1.0, colour=3)


@pytest.mark.parametrize(("named", "catalogue"), FINITE_AND_LINEAR)
def test_a_budget_is_given_once(named: Named, catalogue: dict[str, Any]) -> None:
    name = next(entry.name for entry in catalogue.values() if Pure in entry.budgets)
    assert named(name, budget=Pure(2.0)) == named(name, epsilon=2.0)
    with pytest.raises(InvalidArgument, match="budget must be the only budget, got 'ε = 1'"):
        named(name, budget=Pure(2.0), epsilon=1.0)


def test_something_that_is_no_budget_is_refused() -> None:
    with pytest.raises(UnsupportedBudget, match=r"pure for adap-ucb, got 'much'; give epsilon$"):
        Row.named("adap-ucb").policy("much")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedBudget, match="private rows: adap-ucb"):
        Row.named("ucb1").policy("much")  # type: ignore[arg-type]


def test_identifiers_come_back_from_their_recipes() -> None:
    for entry in IDENTIFIERS.values():
        made = entry.identifier(0.5 if entry.private else None)
        assert made.recipe["goal"] == "identify"
        assert identifier_from_recipe(made.recipe) == made
    assert identifier("dp-se", epsilon=1.0) != discreet.policy("dp-se", epsilon=1.0)
