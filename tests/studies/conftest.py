"""A small reproduction, saved once, and the application under test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.studies import Reproduction, Size, figure
from discreet.studies._cache import CACHE
from discreet.studies._files import save

TINY = Size(horizon=20_000, runs=6, points=30)


@pytest.fixture(autouse=True)
def empty_shelf() -> None:
    """No test is handed the runs of another."""
    CACHE.clear()


@pytest.fixture(scope="session")
def done() -> Reproduction:
    """Figure 8 of azize2022, tiny."""
    return figure("azize2022", "8").run(TINY, seed=1)


@pytest.fixture(scope="session")
def results(done: Reproduction, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder that holds it."""
    folder = tmp_path_factory.mktemp("results")
    save(done, folder)
    return folder


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run `discreet ARGUMENTS` in an empty folder; an error that is not ours fails the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(app, list(arguments), prog_name="discreet")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run
