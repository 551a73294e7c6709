"""`discreet trial`: one trial from its start to its end, and nothing private on the way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app

SETTINGS = {"policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"], "deadline": 3600.0}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def call(*arguments: str, given: Any = None, code: int = 0) -> Any:
    text = given if isinstance(given, str) else json.dumps(given)
    result = CliRunner().invoke(app, ["trial", *arguments], input=text)
    assert result.exit_code == code, result.output
    return result


def told(*arguments: str, given: Any = None) -> Any:
    return json.loads(call(*arguments, "--json", given=given).stdout)


def test_a_trial_from_start_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    started = told("new", "t.json", given={**SETTINGS, "window": 4, "share": {"B": 0.25}})
    assert "ε = 1" in started["guarantee"]
    arm = told("assign", "t.json", "p1")["arm"]
    assert told("assign", "t.json", "p1") == {"unit": "p1", "arm": arm}
    many = told("assign", "t.json", given=[{"unit": n} for n in range(60)])
    assert {entry["arm"] for entry in many} == {"A", "B"}
    assert told("record", "t.json", given={"unit": "p1", "outcome": 1.0}) == {"recorded": 1}
    assert told("record", "t.json", given=[{"unit": n, "outcome": 0.5} for n in range(50)]) == {
        "recorded": 50
    }
    shown = told("report", "t.json")
    assert shown["assigned"] == 61
    assert shown["next_release"] == 4600.0
    assert "61 assigned" in call("report", "t.json").stdout
    assert told("stop", "t.json", "--by", "board")["status"] == "settling"
    now[0] += 3600.0
    ended = told("finish", "t.json", "--discard")
    assert ended["status"] == "finished"
    assert "raw outcomes" in ended["guarantee"] or told("report", "t.json")["ended"]


def test_what_is_refused_shows_no_outcome() -> None:
    told("new", "t.json", given=SETTINGS)
    told("assign", "t.json", "p1")
    for given in (
        "0.123456", '{"unit": "p1", "outcome": 0.123456', {"unit": "p1", "result": 0.123456},
        {"unit": "p2", "outcome": 0.123456}, {"unit": "p1", "outcome": 7.123456},
    ):  # fmt: skip
        result = CliRunner().invoke(
            app, ["trial", "record", "t.json"],
            input=given if isinstance(given, str) else json.dumps(given),
        )  # fmt: skip
        assert result.exit_code != 0
        assert "123456" not in result.output
    assert CliRunner().invoke(app, ["trial", "new", "u.json"], input="{}").exit_code != 0
    assert CliRunner().invoke(app, ["trial", "report", "none.json"]).exit_code != 0
    assert not Path("u.json").exists()
