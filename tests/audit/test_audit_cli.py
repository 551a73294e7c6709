"""`discreet audit`."""

from __future__ import annotations

import json
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
