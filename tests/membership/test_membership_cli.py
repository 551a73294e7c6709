"""`discreet membership`: JSON, errors, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet import membership

Call = Callable[..., Any]


@pytest.fixture
def game(call: Call) -> Call:
    """Run `discreet membership ARGUMENTS`."""
    return lambda *arguments: call("membership", *arguments)


def test_leakage(game: Call, tmp_path: Path) -> None:
    columns = ",".join(f".{i}:50" for i in range(1, 10))
    found = json.loads(
        game("leakage", "--columns", columns, "--n", "100", "--target", "hardest", "--exact",
             "--json").stdout
    )  # fmt: skip
    assert set(found) == {"score", "advantage", "power", "auc", "epsilon", "delta"}
    assert found["advantage"] == pytest.approx(0.51745, abs=1e-5)
    assert found["power"]["0.01"] == pytest.approx(0.17668, abs=1e-5)
    assert found["auc"] == pytest.approx(0.83966, abs=1e-5)
    easy = json.loads(
        game("leakage", "--columns", ".1:2,.9", "--n", "10", "--target", "1,1,0",
             "--levels", ".2", "--plot", "x.png", "--json").stdout
    )  # fmt: skip
    assert list(easy["power"]) == ["0.2"]
    assert easy["score"] == pytest.approx(3 * 9 / 10)
    assert (tmp_path / "x.png").exists()
    assert "advantage" in game("leakage", "--columns", ".1:2", "--n", "10").stdout


def test_an_infinite_epsilon_is_null(game: Call) -> None:
    found = game("leakage", "--columns", ".1:9", "--n", "10", "--exact", "--json")
    assert json.loads(found.stdout)["epsilon"] is None
    assert "infinite" in game("leakage", "--columns", ".1:9", "--n", "10", "--exact").stdout


def test_play(game: Call, tmp_path: Path) -> None:
    arguments = (
        "play", "--columns", ".1:50,.5:50,.9:50", "--n", "100", "--target", "hardest",
        "--subsample", ".5", "--rounds", "1000", "--seed", "1",
    )  # fmt: skip
    result = game(*arguments, "--json", "--output", "game.parquet", "--plot", "game.png")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    saved = membership.load(tmp_path / "game.parquet")
    assert found["auc"] == saved.auc
    assert found["epsilon_lower"] == saved.audit(delta=1e-5).epsilon_lower
    assert found["limits"]["power"]["0.01"][0] <= found["power"]["0.01"]
    assert found["complete"]
    assert found["rounds"] == {"members": 1000, "nonmembers": 1000}
    again = json.loads(game(*arguments, "--json", "--threads", "1").stdout)
    assert again["power"] == found["power"]
    assert "proved" in game(*arguments, "--attack", "scalar-centred").stdout
    average = json.loads(
        game("play", "--columns", ".5:9", "--n", "10", "--target", "average", "--rounds", "50",
             "--json").stdout
    )  # fmt: skip
    assert average["game"] == "average target"
    assert "score" not in average


@pytest.mark.parametrize(
    ("arguments", "epsilon"),
    [
        (["--hits", "500,100", "--runs", "1000"], 1.3257),
        (["--errors", "50,300", "--runs", "1000"], 2.3277),
        (["--one-run", "1000,100,95"], 2.1724),
    ],
)
def test_audit(game: Call, arguments: list[str], epsilon: float) -> None:
    result = game("audit", *arguments, "--confidence", ".95", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["epsilon_lower"] == pytest.approx(epsilon, abs=5e-5)
    assert found["claimed"] is None
    if "--errors" in arguments:
        assert found["mu_lower"] == pytest.approx(1.9524, abs=5e-5)


def test_audits_of_other_kinds(game: Call) -> None:
    found = json.loads(game("audit", "--one-run", "1000,100,95", "--gaussian", "--json").stdout)
    assert found["mu_lower"] > 0.7
    text = game("audit", "--errors", "50,300", "--runs", "1000,1000", "--bayesian").stdout
    assert "credible bound" in text
    violated = game("audit", "--errors", "50,300", "--runs", "1000", "--epsilon", "2")
    assert violated.exit_code == 1
    assert "violation" in violated.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit"], "counts must be given once"),
        (["audit", "--hits", "1,2", "--errors", "1,2"], "counts must be given once"),
        (["audit", "--hits", "1,2"], "runs must be given"),
        (["audit", "--hits", "1,2,3", "--runs", "9"], "hits must be 2 whole numbers"),
        (["audit", "--one-run", "9,9,9", "--runs", "9"], "runs must be left out"),
        (["audit", "--hits", "1,2", "--runs", "9", "--gaussian"], "gaussian must go with"),
        (["audit", "--hits", "1,2", "--runs", "9", "--delta", "1"], "delta must be"),
        (["leakage", "--columns", "1:5", "--n", "9"], "p must lie strictly between 0 and 1"),
        (["leakage", "--columns", "a:5", "--n", "9"], "columns must be P:COUNT"),
        (["leakage", "--columns", ".5:5", "--n", "9", "--target", "any"], "target must be"),
        (["leakage", "--columns", ".5:2", "--n", "9", "--target", "2,0"], "target must be"),
        (["play", "--columns", ".5:2", "--n", "9", "--attack", "guess"], "attack must be one of"),
        (["play", "--columns", ".5:2", "--n", "9", "--output", "x.csv"], "output must end in"),
    ],
)
def test_wrong_arguments(game: Call, arguments: list[str], message: str) -> None:
    result = game(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
