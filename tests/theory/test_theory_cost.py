"""What would I lose: numbers against direct simulations, words, page, refusals."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.theory import Cost, cost

MEANS = [0.6, 0.5, 0.5]


@pytest.fixture(scope="module")
def found() -> Cost:
    return cost(
        MEANS, horizon=3_000, runs=60, value=2.5, unit="euro", outcome="clicks", progress=False
    )


def test_an_equal_split_is_exact(found: Cost) -> None:
    equal = found.ways[0]
    assert (equal.people.mean, equal.people.error) == (2_000.0, 0.0)
    assert equal.outcomes.mean == pytest.approx(200.0)
    assert equal.money(2.5).mean == pytest.approx(500.0)


def test_bandits_are_those_of_the_simulator(found: Cost) -> None:
    rows = [discreet.policy("imed"), discreet.policy("dp-imed", epsilon=1.0)]
    plain, private = discreet.compare(
        rows, discreet.Bernoulli(MEANS), horizon=3_000, runs=60, seed=1, progress=False
    )
    for way, result in zip(found.ways[1:], (plain, private), strict=True):
        assert way.outcomes.mean == pytest.approx(float(result.final_regret.mean()))
        assert way.people.mean == pytest.approx(float(result.pulls[:, -1, 1:].sum(axis=1).mean()))
    paired = private.final_regret - plain.final_regret
    assert found.privacy.outcomes.mean == pytest.approx(float(paired.mean()))
    assert found.privacy.outcomes.error == pytest.approx(float(np.std(paired, ddof=1)) / 60**0.5)


def test_arms_that_are_as_good_as_the_best_lose_nothing() -> None:
    two_best = cost([0.6, 0.6, 0.5], horizon=300, runs=10, progress=False)
    assert two_best.ways[0].people.mean == pytest.approx(100.0)
    assert all(way.people.mean < 300 for way in two_best.ways)


def test_a_budget_that_is_too_small_is_no_help() -> None:
    weak = cost([0.52, 0.5], horizon=200, epsilon=0.05, runs=20, progress=False)
    assert "not clearly better than an equal split" in weak.sentences[1]


def test_words_and_page(found: Cost, tmp_path: Path) -> None:
    text = str(found)
    for said in ("equal split", "DP-IMED, ε = 1", "euro", "clicks lost", "cost of privacy"):
        assert said in text
    page = found.write(tmp_path / "cost.html").read_text(encoding="utf-8")
    assert str(found.ways[0].money(2.5)) in page
    assert "<script" not in page
    words = found.write(tmp_path / "cost.md").read_text(encoding="utf-8")
    assert all(sentence in words for sentence in found.sentences)
    assert all(axes.get_xscale() == "linear" for axes in found.picture().axes)


def test_numbers_for_programs(tmp_path: Path) -> None:
    words = shlex.split("cost --means .6,.5 --horizon 500 --runs 5 --value 2 --unit euro --json")
    target = tmp_path / "cost.html"
    done = CliRunner().invoke(app, [*words, "--output", str(target)])
    assert done.exit_code == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["ways"][0]["money"] == {"mean": pytest.approx(50.0), "error": 0.0}
    assert target.is_file()


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ({"value": -1.0}, "value"),
        ({"runs": 1}, "runs"),
        ({"horizon": 1}, "horizon"),
        ({"private": "imed"}, "budget"),
        ({"private": discreet.policy("imed")}, "private"),
        ({"private": "nothing"}, "policy"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], argument: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        cost(MEANS, **({"horizon": 100} | asked))  # type: ignore[arg-type]
    assert refused.value.argument == argument
