"""Which cells a sweep has: every setting goes to the policies that take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidArgument, UnsupportedBudget
from discreet.linear import LinearProblem
from discreet.sweeps._grid import built, cells_of, labelled, values_of

EASY, HARD = discreet.Bernoulli([0.7, 0.3]), discreet.Bernoulli([0.7, 0.6])


def test_settings_go_to_the_policies_that_take_them() -> None:
    rows = built(["ucb1", "dp-imed", "adac-ucb"], {"epsilon": [0.1, 1.0], "rho": [0.5]})
    assert [(row.name, str(row.guarantee.budget)) for row in rows[1:]] == [
        ("dp-imed", "ε = 0.1"), ("dp-imed", "ε = 1"), ("adac-ucb", "ρ = 0.5"),
    ]  # fmt: skip
    assert rows[0].name == "ucb1"


def test_options_multiply() -> None:
    rows = built("dp-imed", {"epsilon": [0.1, 1.0], "ratio": [1.5, 2.0, 3.0]})
    assert len({row.rule for row in rows} | {repr(row) for row in rows}) >= 6


def test_rows_keep_their_settings_and_labels() -> None:
    mine = discreet.policy("dp-imed", epsilon=3.0, label="mine")
    rows = built([mine, "dp-imed"], {"epsilon": [0.1]})
    assert rows[0] is mine
    assert len(rows) == 2


def test_problems_have_labels() -> None:
    assert list(labelled([EASY, HARD])) == ["bernoulli(0.7, 0.3)", "bernoulli(0.7, 0.6)"]
    assert list(labelled([EASY, EASY])) == ["bernoulli(0.7, 0.3) (1)", "bernoulli(0.7, 0.3) (2)"]
    assert list(labelled({"easy": EASY})) == ["easy"]
    assert list(labelled(EASY)) == ["bernoulli(0.7, 0.3)"]


def test_fixed_size_rows_are_listed_once() -> None:
    rows = built(["halving"], {"epsilon": [1.0], "participants": [400]}, "identify")
    cells = cells_of(rows, labelled(EASY), None, (0.1, 0.05))
    assert len(cells) == 1


@pytest.mark.parametrize(
    ("policies", "problems", "settings", "message"),
    [
        (["ucb1"], EASY, {"horizon": 100, "epsilon": [1.0]}, "epsilon must be a setting of at"),
        (["dp-imed"], EASY, {"horizon": 100}, "dp-imed is private"),
        (["ucb1"], EASY, {}, "horizon must be given for ucb1, which runs to a horizon, got None"),
        ([discreet.policy("ucb1")], EASY, {"risk": 0.1}, "horizon must be given .*, got None"),
        (["ucb1", "adac-oful"], EASY, {"horizon": 100, "rho": 1.0}, "policies must be of one kind"),
        (["oful"], EASY, {"horizon": 100}, "problems must suit oful"),
        (["ucb1"], LinearProblem.random(seed=1), {"horizon": 100}, "problems must suit ucb1"),
        ([], EASY, {"horizon": 100}, "at least one policy"),
        ([object], EASY, {"horizon": 100}, "or give an object with select"),
        (["ucb1"], [], {"horizon": 100}, "at least one problem"),
        (["ucb1"], [0.7, 0.5], {"horizon": 100}, "be environments or linear problems"),
        (["ucb1"], EASY, {"horizon": []}, "horizon must have at least one value"),
        (["ucb1"], EASY, {"horizon": [10, 10]}, "horizon must list every value once"),
        (["ucb1"], EASY, {"horizon": 1}, "be at least the number of arms"),
        (["ucb1"], EASY, {"horizon": 100, "executor": 4}, "executor must be a concurrent"),
        (["ucb1"], EASY, {"horizon": 100, "runs": 0}, "runs must be"),
        (["imed"], discreet.Gaussian([0, 1]), {"horizon": 100}, "keep rewards in"),
        (["ucb1"], EASY, {"horizon": 100, "risk": 0.1}, "be a row for the goal 'identify'"),
    ],
)  # fmt: skip
def test_what_cannot_be_swept_is_refused_before_anything_is_played(
    policies: Any, problems: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises((InvalidArgument, UnsupportedBudget), match=message):
        discreet.sweep(policies, problems, **settings)


def test_values_of_arrays() -> None:
    assert values_of("epsilon", np.array([0.5, 1.0])) == [0.5, 1.0]
    assert values_of("version", "thesis") == ["thesis"]
