"""`discreet policies` and `discreet cite` show the catalogue and the literature."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import discreet
from discreet.policies import CATALOGUE
from discreet.policies._registry import every_entry
from discreet.references import REFERENCES


def test_json_holds_every_row(call: Callable[..., Any]) -> None:
    result = call("policies", "--json")
    entries = json.loads(result.stdout)
    assert [entry["name"] for entry in entries] == list(every_entry())
    assert {entry["kind"] for entry in entries} == {"finite", "identify", "linear"}
    for entry in entries:
        row = every_entry()[entry["name"]]
        example = row.example()
        assert entry["schedule"] == str(example.schedule)
        assert entry["release"] == str(example.release)
        assert entry["rule"] == str(example.rule)
        assert entry["budgets"] == [kind.kind for kind in row.budgets]
        assert entry["private"] is example.is_private
        assert entry["guarantee"]["short"] == example.guarantee.short()
        assert entry["guarantee"]["budget"] == example.guarantee.budget.to_dict()
        assert entry["reference"]["key"] == row.reference
        assert entry["options"] == row.options
        assert (entry["example"] is None) is (not row.budgets)


def test_table_names_every_row_in_one_line(call: Callable[..., Any]) -> None:
    lines = call("policies").stdout.splitlines()
    for row in CATALOGUE.values():
        (line,) = [line for line in lines if line.split()[:1] == [row.name]]
        assert row.example().guarantee.short() in line
        assert REFERENCES[row.reference].short() in line


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_policy_in_detail(call: Callable[..., Any], name: str) -> None:
    row = CATALOGUE[name]
    text = call("show", name).stdout
    assert str(row.example().guarantee) in text
    assert all(option in text for option in row.options)
    assert json.loads(call("show", name, "--json").stdout)["name"] == name


@pytest.mark.parametrize("name", ["adap-tt", "adac-oful"])
def test_rows_of_other_kinds_are_shown_and_cited(call: Callable[..., Any], name: str) -> None:
    assert name in call("show", name).stdout
    assert f"{{{every_entry()[name].reference}," in call("cite", name).stdout


def test_commands_refuse_kinds_that_they_cannot_serve(call: Callable[..., Any]) -> None:
    for words, said in (
        ("audit adac-gope --rho .5", "release round by round"),
        ("simulate adap-tt --epsilon 1 --means .7,.5", "adap-tt, which is identifying"),
    ):
        refused = call(*words.split())
        assert refused.exit_code == 2
        assert said in refused.stderr


def test_an_unknown_policy_in_detail(call: Callable[..., Any]) -> None:
    result = call("show", "adap-klucv")
    assert result.exit_code == 2
    assert "did you mean adap-klucb" in result.stderr


def test_table_folds_in_a_narrow_terminal(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = call("policies").stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize("name", CATALOGUE)
def test_cite_a_policy(call: Callable[..., Any], name: str) -> None:
    result = call("cite", name)
    assert result.stdout == REFERENCES[CATALOGUE[name].reference].bibtex() + "\n"


@pytest.mark.parametrize("key", ["hu2022", "discreet"])
def test_cite_a_key(call: Callable[..., Any], key: str) -> None:
    assert call("cite", key).stdout == REFERENCES[key].bibtex() + "\n"


def test_cite_json(call: Callable[..., Any]) -> None:
    entry = json.loads(call("cite", "adap-klucb", "--json").stdout)
    assert entry["key"] == "azize2022"
    assert entry["authors"] == ["Azize, Achraf", "Basu, Debabrota"]
    assert entry["bibtex"] == REFERENCES["azize2022"].bibtex()


def test_cite_suggests(refuse: Callable[..., str]) -> None:
    assert "did you mean azize2022" in refuse("cite", "azise2022")
    assert "thompson" in refuse("cite", "tompson")


def test_version(call: Callable[..., Any]) -> None:
    assert call("--version").stdout == f"discreet {discreet.__version__}\n"
