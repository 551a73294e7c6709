"""One catalogue: rows of every kind by name, options, budgets, errors, recipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import discreet
from discreet import linear
from discreet.errors import InvalidArgument, UnknownPolicy, UnsupportedBudget
from discreet.identify import IDENTIFIERS, identifier, identifier_from_recipe
from discreet.policies import _registry as registry
from discreet.policies._catalogue import CATALOGUE, Row, policy
from discreet.policies._policy import BasePolicy
from discreet.policies._registry import (
    ARGUMENTS,
    KINDS,
    Entry,
    catalogue,
    every_entry,
    row_from_recipe,
)
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
def test_a_line_serves_its_kinds_of_budget_and_pure_lines_all(
    named: Named, catalogue: dict[str, Any]
) -> None:
    for entry in catalogue.values():
        for budget in BUDGETS:
            if isinstance(budget, entry.budgets) or Pure in entry.budgets:
                made = named(entry.name, budget=budget)
                assert made.is_private
                assert made.guarantee.budget.implies(budget)
                own = None if isinstance(budget, entry.budgets) else budget
                assert made.guarantee.keeps == own
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
        made = entry.asked(epsilon=0.5 if entry.private else None)
        assert made.recipe["goal"] == "identify"
        assert identifier_from_recipe(made.recipe) == made
    assert identifier("dp-se", epsilon=1.0) != discreet.policy("dp-se", epsilon=1.0)


def test_every_row_is_found_by_its_name_and_comes_back_from_its_recipe() -> None:
    assert {kind: len(catalogue(kind)) >= 5 for kind in KINDS} == dict.fromkeys(KINDS, True)
    for kind in KINDS:
        goal = "identify" if kind == "identify" else "regret"
        for name, line in catalogue(kind).items():
            made = discreet.policy(name, budget=line.example_budget, goal=goal)
            assert isinstance(made, BasePolicy)
            assert (made.kind, made.name, made.reference) == (kind, name, line.reference)
            assert made == line.example()
            assert row_from_recipe(made.recipe) == made
            shown = made.to_dict()
            assert {"name", "schedule", "release", "rule", "guarantee", "recipe"} <= set(shown)
            assert str(made).startswith(f"{name} = {shown['schedule']}")


def test_one_name_in_two_kinds_is_finite_unless_the_goal_says_otherwise() -> None:
    assert every_entry()["dp-se"].kind == registry.entry("dp-se", "regret").kind == "finite"
    finite = discreet.policy("dp-se", epsilon=1.0)
    stops = discreet.policy("dp-se", epsilon=1.0, goal="identify")
    assert type(finite) is discreet.Policy
    assert stops == identifier("dp-se", epsilon=1.0)
    assert row_from_recipe(finite.recipe) == finite
    assert row_from_recipe(stops.recipe) == stops
    with pytest.raises(UnknownPolicy, match="be a row for the goal 'identify', got 'ucb1'; rows: "):
        discreet.policy("ucb1", goal="identify")
    with pytest.raises(InvalidArgument, match="goal must be 'regret' or 'identify', got 'win'"):
        discreet.policy("ucb1", goal="win")


def test_near_misses_are_looked_for_in_all_kinds() -> None:
    for misspelt, meant in (("adap-tx", "adap-tt"), ("adac-ofu", "adac-oful"), ("ucb2", "ucb1")):
        for named in (discreet.policy, linear.policy, identifier, policy):
            with pytest.raises(UnknownPolicy, match=f"did you mean .*{meant}"):
                named(misspelt)
    with pytest.raises(UnknownPolicy, match=r"row of the identifying one: use discreet.policy"):
        linear.policy("adap-tt")


def test_names_that_a_type_checker_knows_are_those_of_the_catalogues() -> None:
    from typing import get_args

    from discreet._front import FiniteName, IdentifyName, LinearName

    assert set(get_args(LinearName)) == set(catalogue("linear"))
    assert set(get_args(FiniteName)) == set(catalogue("finite"))
    # a name in a variable is typed as a finite row, which an identifier is as well
    assert set(get_args(IdentifyName)) == set(catalogue("identify")) - set(catalogue("finite"))


def test_all_policies_are_listed_by_a_call_of_the_package() -> None:
    import discreet.policies as package
    from discreet.policies._listing import listed

    every = package()  # type: ignore[operator]  # to a type checker a module is no function
    assert every == listed()
    assert len(every) == sum(len(catalogue(kind)) for kind in KINDS)
    assert set(every.names) == set(every_entry())
    assert listed("linear").names == tuple(catalogue("linear"))
    private, without = listed(private=True), listed(private=False)
    assert all(line in private or line in without for line in every)
    both = [line.name for line in private if line in without]
    assert both == [line.name for line in every if line.optional]
    for line in without:
        line.policy(None)
    assert "dp-imed" in repr(private)
    assert "dp-imed" not in repr(without)
    assert [row["name"] for row in every.to_dicts()] == list(every.names)
    for wrong in ({"kind": "clinical"}, {"private": 1}):
        with pytest.raises(InvalidArgument):
            listed(**wrong)  # type: ignore[arg-type]


def test_what_cannot_serve_a_kind_refuses_it_by_name() -> None:
    flat, environment = discreet.policy("adac-oful", rho=0.5), discreet.Bernoulli([0.5, 0.4])
    stops = discreet.policy("adap-tt", epsilon=1.0).at(0.1)
    problem = linear.LinearProblem.random(seed=1)
    refused: list[tuple[str, Callable[[], Any]]] = [
        ("adac-oful, which is linear", lambda: discreet.Rehearsal(flat, arms=2)),
        (
            "adap-tt, which is identifying",
            lambda: discreet.simulate(stops, environment, horizon=100),
        ),
        (
            "ucb1, which is finite-armed",
            lambda: discreet.compare([flat, discreet.policy("ucb1")], problem, horizon=100),
        ),
        ("be a LinearProblem", lambda: discreet.simulate(flat, environment, horizon=100)),
        (
            "be an environment with finite arms",
            lambda: discreet.simulate(discreet.policy("ucb1"), problem, horizon=100),
        ),
    ]
    for said, asked in refused:
        with pytest.raises(InvalidArgument, match=said):
            asked()


def test_a_linear_row_is_simulated_through_the_front_door() -> None:
    row = discreet.policy("adac-gope", rho=0.5)
    problem = linear.LinearProblem.random(contexts="fixed", rewards="sign", seed=1)
    mine = discreet.simulate(row, problem, horizon=2000, runs=2, seed=1)
    theirs = linear.simulate(row, problem, horizon=2000, runs=2, seed=1)
    assert (mine.regret == theirs.regret).all()
    assert mine.guarantee == theirs.guarantee
