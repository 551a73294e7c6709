"""`discreet sweep`: flags, files, and going on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli._app import app
from discreet.errors import InvalidArgument

FILE = """
policies = ["imed", "dp-imed"]
epsilon = [0.1, 1.0]
horizon = [1e2, 1e3]
runs = 4
seed = 1
points = 5

[problems.easy]
means = [0.7, 0.3]

[problems.skewed]
environment = "beta"
means = [0.7, 0.6, 0.5]
"""


def call(*arguments: str) -> str:
    result = CliRunner().invoke(
        app, ["sweep", *arguments], catch_exceptions=False, standalone_mode=False
    )
    assert result.exception is None, result.exception
    return result.stdout


def test_flags_and_files_ask_for_the_same(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(FILE)
    output = tmp_path / "x.parquet"
    found = json.loads(call("--file", str(study), "--json", "--output", str(output)))
    assert len(found) == 3 * 2 * 2
    assert {cell["problem"] for cell in found} == {"easy", "skewed"}
    assert discreet.load(output).labels == ["imed", "dp-imed ε=0.1", "dp-imed ε=1"]
    flags = json.loads(
        call("imed", "dp-imed", "--means", ".7,.3", "--epsilon", ".1,1", "--horizon", "1e2,1e3",
             "--runs", "4", "--seed", "1", "--points", "5", "--json")
    )  # fmt: skip
    same = [cell["regret"]["mean"] for cell in found if cell["problem"] == "easy"]
    assert [cell["regret"]["mean"] for cell in flags] == same


@pytest.mark.parametrize(
    ("line", "table", "part"),
    [
        ("policies = 3", "", "policies must be names or policies, got 3"),
        ('executor = "x"', "", "executor must be no setting of a file"),
        ('progress = "x"', "", "progress must be no setting of a file"),
        ("folder = 3", "", "folder must be a folder that can be written"),
        ("", 'name = "x"', "name must be left out"),
        ("", 'clip = "x"', "clip must be True or False"),
    ],
)
def test_what_a_file_cannot_say(line: str, table: str, part: str, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    policies = "" if line.startswith("policies") else 'policies = ["ucb1"]'
    study.write_text(
        f"{policies}\n{line}\nhorizon = 10\nruns = 1\n[problems.a]\nmeans = [0.7, 0.5]\n{table}"
    )
    result = CliRunner().invoke(app, ["sweep", "--file", str(study)])
    assert result.exit_code == 2, result.exception
    assert part in result.stderr


def test_flags_replace_what_a_file_says(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(FILE)
    found = json.loads(
        call("dp-imed", "--file", str(study), "--epsilon", "2", "--horizon", "50", "--option",
             "ratio=1.5,3", "--json", "--folder", str(tmp_path / "pieces"))
    )  # fmt: skip
    assert len(found) == 2 * 2
    assert len(list((tmp_path / "pieces").glob("*.parquet"))) == 4


def test_the_table_shows_paired_differences() -> None:
    shown = call("adap-tt", "--means", ".9,.3", "--epsilon", "1,5", "--risk", ".1", "--runs", "3",
                 "--seed", "1")  # fmt: skip
    assert "less adap-tt ε=1" in shown
    assert "paired differences" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policies = [", "file must be a readable TOML file"),
        ('policies = ["imed"]\nproblems = [1]', "problems must be tables"),
        ('policies = ["imed"]\n[problems.x]\nenvironment = "beta"', "x must have means"),
        ('policies = ["imed"]\n[problems]\nx = 1', "x must be a table"),
        ('policies = ["imed"]\n[problems.x]\ndimension = 3\ncolour = 1', "colour must be"),
        ('policies = ["imed"]', "problems must be given"),
        ("[problems.x]\nmeans = [0.5, 0.4]", "policies must be given"),
    ],
)  # fmt: skip
def test_files_that_say_nothing_are_refused(text: str, message: str, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(text)
    result = CliRunner().invoke(app, ["sweep", "--file", str(study)], standalone_mode=False)
    assert isinstance(result.exception, InvalidArgument)
    assert message in str(result.exception)


def test_linear_problems_in_files(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        'policies = ["oful"]\nhorizon = 100\nruns = 2\nseed = 1\n'
        '[problems.x]\ndimension = 2\narms = 4\ncontexts = "fixed"\nseed = 1\n'
    )
    (found,) = json.loads(call("--file", str(study), "--json"))
    assert found["problem"] == "x"
