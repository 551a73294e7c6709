"""Narrow terminals, ASCII, and shells that complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from discreet import _plain as plain
from discreet.policies import CATALOGUE


@pytest.mark.parametrize(
    "arguments",
    [
        "policies",
        "bounds --means .7,.5 --epsilon 1 --risk .05",
        "simulate ucb1 --means .7,.5 --horizon 100 --runs 2 --seed 1",
        "reproduce --list",
    ],
)
def test_forty_columns(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, arguments: str
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = call(*arguments.split()).stdout
    table = [line for line in shown.splitlines() if line.startswith("  ")]
    assert len(table) > 5  # rows became records; sentences are left to the terminal
    assert max(map(len, table)) <= 40
    assert "…" not in shown


def test_a_narrow_catalogue_is_a_list_of_records(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    lines = call("policies").stdout.splitlines()
    start = lines.index("name adap-ucb")
    assert lines[start + 1] == "  schedule: doubling"
    assert all(f"name {name}" in lines for name in CATALOGUE)


def test_columns_and_records() -> None:
    header, rows = ["ε", "row"], [["1", "dp-imed"], ["0.5", "dp-klucb (ratio = 1.5)"]]
    wide = plain.aligned(header, rows, 80)
    assert wide == ["  ε    row", "  1    dp-imed", "  0.5  dp-klucb (ratio = 1.5)"]
    narrow = plain.aligned(header, rows, 20)
    assert narrow[:2] == ["ε 1", "  row: dp-imed"]
    assert max(map(len, narrow)) <= 20


def test_a_plan_in_forty_columns() -> None:
    from discreet.theory.planning import plan
    from discreet.theory.planning._text import text

    found = plan([0.7, 0.5], horizon=200, trust="none", epsilons=[1.0], progress=False)
    assert max(len(line) for line in text(found, 40).splitlines()) <= 60  # a call is not broken
    assert "  mean: " in text(found, 40)
    assert found.text() == found.text(100)


def test_everything_that_is_printed_has_an_ascii_form() -> None:
    said = "ε × δ ± ρ – “a” 5 % é μ² 10⁻¹⁵ x₂ ⟂ …"
    expected = 'epsilon x delta +/- rho - "a" 5 % e mu^2 10^-15 x2 ? ...'
    assert plain.spelled(said) == expected
    for row in CATALOGUE.values():
        example = row.example()
        for words in (str(example), str(example.guarantee), example.guarantee.short()):
            assert "?" not in plain.spelled(words)
            assert plain.spelled(words).isascii()


def test_completion_is_offered(call: Callable[..., Any]) -> None:
    assert "--install-completion" in call("--help").stdout
    assert "--show-completion" in call("--help").stdout
