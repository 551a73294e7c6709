"""`discreet bounds`, `discreet plan` and `compare --bounds` print what the library computes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet
from discreet import theory
from discreet.cli import app

Call = Callable[..., Any]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command in an empty folder; an error that is not ours fails the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, list(arguments), prog_name="discreet")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.stderr
        return result

    return run


def test_bounds(call: Call) -> None:
    arguments = ("--means", ".75,.5", "--epsilon", ".5", "--horizon", "1e5", "--risk", ".05")
    found = json.loads(call("bounds", *arguments, "--json").stdout)
    own = theory.bounds([0.75, 0.5], epsilon=0.5, horizon=1e5, risk=0.05)
    assert found["bounds"] == [line.to_dict() for line in own]
    assert found["free_epsilon"] == pytest.approx(theory.free_epsilon([0.75, 0.5]))
    shown = call("bounds", *arguments).stdout
    for line in own:
        assert (line.policy or line.name) in shown
    assert "privacy is free" in shown


def test_bounds_refuses(call: Call) -> None:
    assert "means" in call("bounds", "--means", ".5,2", code=2).stderr
    assert "epsilon" in call("bounds", "--means", ".5,.4", "--epsilon", "0", code=2).stderr


def test_plan(call: Call, tmp_path: Path) -> None:
    arguments = (
        "--means", ".7,.5", "--horizon", "1000", "--trust", "none", "--epsilon", "2",
        "--epsilons", "1", "--seed", "3",
    )  # fmt: skip
    found = json.loads(call("plan", *arguments, "--json", "--html", "plan.html").stdout)
    own = theory.plan([0.7, 0.5], horizon=1000, trust="none", epsilon=2.0, epsilons=[1.0], seed=3)
    assert found == json.loads(json.dumps(own.to_dict()))
    assert "<html" in (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert call("plan", *arguments).stdout == own.text() + "\n"


def test_plan_refuses_and_writes_nothing(call: Call, tmp_path: Path) -> None:
    assert "horizon" in call("plan", "--means", ".7,.5", code=2).stderr
    wrong = call("plan", "--means", ".7,.5", "--horizon", "1e3", "--html", "plan.txt", code=2)
    assert "end in .html" in wrong.stderr
    assert "goal" in call("plan", "--arms", "3", "--gap", ".1", "--goal", "x", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_interrupted_plan(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(theory, "plan", interrupted)
    result = call("plan", "--means", ".7,.5", "--horizon", "1e3", code=130)
    assert "nothing was finished" in result.stderr


def test_compare_with_bounds(call: Call, tmp_path: Path) -> None:
    arguments = (
        "compare", "imed", "adap-ucb", "--means", ".7,.5", "--horizon", "1e3", "--runs", "3",
        "--seed", "1", "--epsilon", "1", "--bounds",
    )  # fmt: skip
    found = json.loads(call(*arguments, "--json", "--plot", "regret.svg").stdout)
    row = discreet.policy("adap-ucb", epsilon=1.0)
    own = discreet.simulate(row, discreet.Bernoulli([0.7, 0.5]), horizon=1000, runs=3, seed=1)
    assert found[1]["bounds"] == [line.to_dict() for line in theory.bounds_of(own)]
    assert [line["name"] for line in found[0]["bounds"]] == ["lai_robbins"]
    picture = (tmp_path / "regret.svg").read_text(encoding="utf-8")
    assert picture.startswith("<?xml")
    without = call(*arguments[:-1], "--plot", "plain.svg")
    assert "Theorem" not in without.stdout
    assert "Theorem 7" in call(*arguments).stdout
    assert len(picture) > len((tmp_path / "plain.svg").read_text(encoding="utf-8"))


def test_bounds_need_bernoulli_rewards(call: Call) -> None:
    refused = call(
        "compare",
        "ucb1",
        "--means",
        ".7,.5",
        "--environment",
        "gaussian",
        "--horizon",
        "1e3",
        "--bounds",
        code=2,
    )
    assert "Bernoulli" in refused.stderr


def test_choose(call: Call) -> None:
    shown = call("choose", "--epsilon", "1", "--delta", "1e-6").stdout
    assert 'discreet.policy("laplace-imed", epsilon=1, delta=1e-06, caution=0.5)' in shown
    found = json.loads(call("choose", "--mu", "1", "--json").stdout)
    assert found["policy"] == "gauss-imed"
    assert "budget" in call("choose", code=2).stderr
    assert "trust" in call("choose", "--epsilon", "1", "--trust", "me", code=2).stderr


def test_verify_lists_every_private_row_and_nothing_is_left_over(call: Call) -> None:
    """But for one that claims for all horizons at once; leaders' costs are not sums."""
    lines = {(line["kind"], line["name"]): line
             for line in json.loads(call("verify", "--json").stdout)}  # fmt: skip
    assert len(lines) > 40
    for (_, name), line in lines.items():
        if name.startswith("dp-ftpl"):
            assert line["computed"] is None
            assert "the rule is the mechanism" in line["why"]
            continue
        # linear policies with public contexts are walked on some actions, and no more is said
        walked = name in ("adac-gope", "adac-oful", "adac-ts", "blocks-ts")
        assert line["holds"] is (None if walked else True), name
        if name == "dp-ucb-int":
            assert 0.5 < line["unspent"] < 0.7
            assert "every horizon" in line["why"]
        else:
            assert (line["unspent"], line["why"]) == (0.0, ""), name
    assert "name" in call("verify", "--epsilon", "1", code=2).stderr
