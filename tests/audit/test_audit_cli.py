"""`discreet audit`."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app

KEYS = {
    "policy", "claimed", "epsilon_lower", "confidence", "delta", "transcripts", "tested", "inputs",
    "event", "verdict",
}  # fmt: skip


def call(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["audit", *arguments], prog_name="discreet")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_json_has_the_promised_keys() -> None:
    result = call(
        "adap-ucb", "--epsilon", "1", "--transcripts", "6e4", "--seed", "1", "--horizon", "8",
        "--json",
    )  # fmt: skip
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert set(data) == KEYS
    assert data["claimed"]["epsilon_at_delta"] == 1.0
    assert 20_000 <= data["tested"] < data["transcripts"] <= 60_000
    assert 0.5 < data["epsilon_lower"] <= 1.0
    assert data["event"]["p_at_least"] > data["event"]["q_at_most"]
    assert data["verdict"].startswith("no violation found with ")


def test_text_says_what_a_pass_is_worth() -> None:
    result = call("dp-ftpl-new", "--epsilon", "1", "--transcripts", "2e4", "--seed", "1")
    assert result.exit_code == 0
    assert "A pass is no proof" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("ucb1",),
        ("nobody", "--epsilon", "1"),
        ("adap-ucb",),
        ("adap-ucb", "--epsilon", "1", "--seconds", "-1"),
        ("adap-ucb", "--epsilon", "1", "--transcripts", "many"),
        ("adap-ucb", "--epsilon", "1", "--seconds", "1", "--transcripts", "1000"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("adap-ucb", "--epsilon", "1", "--horizon", "0"), "horizon must be a whole number from 2"),
        (("adap-ucb", "--epsilon", "1", "--contributions", "0"), "contributions must be"),
        (("adap-ucb", "--epsilon", "1", "--arms", "1"), "arms must be a whole number from 2"),
        (("adap-ucb", "--epsilon", "1", "--decisions", "0"), "decisions must be"),
        (("adac-gope", "--rho", ".5"), "adac-gope"),
        (("adac-oful", "--rho", ".5", "--arms", "3"), "arms must be left out"),
        (("mine:release",), "epsilon must be given"),
        (("mine:release", "--epsilon", "1", "--horizon", "4"), "horizon must be left out"),
        (("mine:nobody", "--epsilon", "1"), "name must name something in mine"),
        (("nowhere:release", "--epsilon", "1"), "name must name a module"),
        (("mine:one", "--epsilon", "1"), "name must name a function of (side, rng)"),
    ],
)
def test_refusals_name_the_argument(
    arguments: tuple[str, ...], said: str, mine: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And come before anything is compiled."""
    monkeypatch.setattr("discreet._compiled._njit", None)
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert said in result.stderr


MINE = """
def release(side, rng):
    return side + rng.laplace(0.0, 0.5)

def one(x):
    return x

class Leaky:
    def __init__(self, rng):
        self.seen = 0.0

    def select(self):
        return int(self.seen)

    def update(self, arm, reward):
        self.seen = reward
"""


@pytest.fixture
def mine(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)


@pytest.mark.parametrize("name", ["mine:release", "mine:Leaky"])
def test_a_mechanism_of_your_own(name: str, mine: None) -> None:
    arguments = (name, "--epsilon", "1", "--transcripts", "1e4", "--seed", "1")
    result = call(*arguments)
    assert result.exit_code == 0
    assert "violation" in result.stdout.splitlines()[0]
    assert call(*arguments, "--fail").exit_code == 1
    assert call(name, "--epsilon", "40", *arguments[3:], "--fail").exit_code == 0
