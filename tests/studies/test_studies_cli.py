"""`discreet reproduce`: results, errors, Ctrl-C."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet.studies
from discreet.studies import Reproduction, Size, figure

Call = Callable[..., Any]
TINY = Size(horizon=20_000, runs=6, points=30)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A study of one tiny figure."""
    small = replace(figure("azize2022", "8"), quick=TINY)
    monkeypatch.setattr(discreet.studies, "figure", lambda key, number: small)


@pytest.mark.usefixtures("tiny")
def test_json_is_what_the_folder_holds(call: Call, tmp_path: Path, done: Reproduction) -> None:
    result = call("reproduce", "azize2022", "8", "--output", "results/new", "--json")
    assert result.exit_code == 0
    (entry,) = json.loads(result.stdout)
    folder = tmp_path / entry.pop("folder")
    saved = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    assert saved == entry
    assert entry["scale"] == "quick"
    assert entry["findings"] == done.to_dict()["findings"]
    assert result.stderr == ""


@pytest.mark.usefixtures("tiny")
def test_people_read_verdicts(call: Call, done: Reproduction) -> None:
    result = call("reproduce", "azize2022", "8", "--output", "results")
    assert result.exit_code == 0
    (finding,) = done.findings
    assert f"{finding.verdict.value.upper()}: {finding.statement.claim}" in result.stdout
    assert "20,000 rounds, 6 runs" in result.stdout


def test_list(call: Call) -> None:
    listed = json.loads(call("reproduce", "--list", "--json").stdout)
    names = [(entry["study"], entry["figure"]) for entry in listed]
    assert ("azize2022", "2") in names
    assert ("thesis2024", "5.4") in names
    shown = call("reproduce", "--list").stdout
    assert all(f" {entry['figure']} " in shown for entry in listed)  # long titles are folded


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["azize2021"], "did you mean azize2022"),
        (["azize2022", "1"], "it has 2, 3, 4, 5, 6, 7, 8"),
        ([], "study must be given"),
        (["all", "2"], "figure must be left out with all"),
        (["azize2022", "8", "--scale", "huge"], "scale must be full or quick"),
        (["azize2022", "8", "--seed", "-1"], "seed must be a whole number from 0"),
        (["azize2022", "8", "--threads", "0"], "threads must be a whole number from 1"),
        (["azize2022", "8", "--output", "file/results"], "output must be a folder that can be"),
        (["azize2022", "8", "--output", "file"], "output must be a folder that can be"),
    ],
)
def test_refused_before_any_work(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    def worked(*_: Any, **__: Any) -> None:
        raise AssertionError("something was simulated")

    monkeypatch.setattr(discreet.studies.Figure, "run", worked)
    (tmp_path / "file").write_text("")
    result = call("reproduce", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_ctrl_c_keeps_finished_figures(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(figure("azize2022", "8"), quick=TINY)

    class Interrupted(type(small)):  # type: ignore[misc]
        def panels(self, lab: Any) -> Any:
            raise KeyboardInterrupt

    second = Interrupted(
        study="azize2022", number="9", title="x", reference="azize2022", full=TINY, quick=TINY
    )
    monkeypatch.setattr(discreet.studies, "all_figures", lambda *keys: [small, second])
    result = call("reproduce", "all", "--output", "results", "--json")
    assert result.exit_code == 130
    assert [entry["figure"] for entry in json.loads(result.stdout)] == ["8"]
    assert "finished 1 of 2 figures" in result.stderr
    assert [entry.name for entry in (tmp_path / "results/azize2022").iterdir()] == ["figure8"]
