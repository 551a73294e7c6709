"""Linear policies on the command line: the same fields, seeds apart, errors that name the fix."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet
import discreet.linear as linear
from discreet.cli import app

SMALL = ("--horizon", "300", "--runs", "2", "--seed", "1", "--instance-seed", "1", "--json")


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refuse(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_simulate_prints_the_fields_of_finite_arms() -> None:
    got = call("simulate", "adac-oful", "--dimension", "3", "--arms", "10", "--rho", "0.1", *SMALL)
    finite = discreet.simulate(
        discreet.policy("ucb1"), discreet.Bernoulli([0.5, 0.4]), horizon=10, runs=1
    ).summary()
    assert set(got) == set(finite)
    assert got["guarantee"]["budget"] == {"kind": "zcdp", "rho": pytest.approx(0.1)}
    assert got["guarantee"]["definition"] == "interactive"
    assert len(got["pulls"]) == 10
    problem = linear.LinearProblem.random(arms=10, dimension=3, seed=1)
    library = linear.simulate(
        linear.policy("adac-oful", rho=0.1), problem, horizon=300, runs=2, seed=1
    )
    assert got["regret"] == library.summary()["regret"]


def test_instance_seed_and_seed_are_apart() -> None:
    base = (
        "simulate",
        "rs-oful",
        "--contexts",
        "fixed",
        "--horizon",
        "300",
        "--runs",
        "2",
        "--json",
    )
    results = [
        call(*base, "--seed", seed, "--instance-seed", instance)["regret"]["mean"]
        for seed, instance in (("1", "1"), ("1", "1"), ("2", "1"), ("1", "2"))
    ]
    assert results[0] == results[1]
    assert len(set(results)) == 3


def test_printed_setting_is_void_in_the_output() -> None:
    got = call("simulate", "adac-oful", "--rho", "0.1", "--option", "setting=printed", *SMALL)
    assert got["guarantee"]["definition"] == "none"
    assert got["guarantee"]["conditions"][0].startswith("void")


def test_phased_policies_get_fixed_actions() -> None:
    got = call("compare", "gope", "adac-gope", "rs-oful", "--rho", "1", "--rewards", "sign", *SMALL)
    assert [entry["policy"] for entry in got] == ["gope", "adac-gope", "rs-oful"]
    assert got[1]["guarantee"]["definition"] == "interactive"


def test_real_trial() -> None:
    got = call(
        "simulate", "adac-oful", "--data", "actg175", "--rho", "1", "--option", "low=0",
        "--horizon", "200", "--runs", "1", "--seed", "1", "--json",
    )  # fmt: skip
    assert len(got["pulls"]) == 4


def test_catalogue_and_citations_know_the_linear_rows() -> None:
    names = [entry["name"] for entry in call("policies", "--json")]
    assert set(linear.CATALOGUE) <= set(names)
    result = CliRunner().invoke(app, ["cite", "jdp-linucb"])
    assert "shariff2018" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("simulate", "ucb1", "--means", ".5,.4", "--dimension", "3"), "dimension"),
        (("simulate", "adac-oful", "--rho", "1", "--means", ".5,.4"), "means"),
        (("compare", "adac-oful", "ucb1", "--rho", "1"), "linear"),
        (("simulate", "adac-oful"), "rho"),
        (("simulate", "gope", "--contexts", "gaussian"), "fixed"),
        (("simulate", "adac-oful", "--rho", "1", "--arms", "many"), "arms"),
        (("simulate", "adac-oful", "--rho", "1", "--arms", "1"), "arms"),
        (("simulate", "adac-oful", "--rho", "1", "--bounds"), "bounds"),
        (("simulate", "adac-oful", "--rho", "1", "--data", "moon"), "actg175"),
        (("simulate", "adac-oful", "--rho", "1", "--data", "actg175", "--arms", "3"), "arms"),
        (("simulate", "adac-oful", "--rho", "1", "--rewards", "sign"), "theta"),
        (("simulate", "adac-ofull", "--rho", "1"), "adac-oful"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], named: str) -> None:
    assert named in refuse(*arguments)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), r"It clips rewards to \[-\d[\d.]*, \d[\d.]*\]\."),
        (("--option", "low=-2", "--option", "high=3"), r"It clips rewards to \[-2, 3\]\."),
    ],
)
def test_the_range_that_rewards_are_clipped_to_is_told(more: tuple[str, ...], said: str) -> None:
    arguments = ("simulate", "adac-oful", "--rho", "1", *SMALL[:-1], *more)
    shown = CliRunner().invoke(app, arguments).stdout
    assert re.search(said, shown), shown
