"""The application under test, in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app

Call = Callable[..., Any]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run `discreet ARGUMENTS` in an empty folder; an error that is not ours fails the test."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(app, list(arguments), prog_name="discreet")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def refuse(call: Call, tmp_path: Path) -> Callable[..., str]:
    """Run what must be refused: code 2, one line on stderr, nothing printed, nothing written."""

    def run(*arguments: str) -> str:
        before = sorted(tmp_path.rglob("*"))
        result = call(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        assert sorted(tmp_path.rglob("*")) == before
        return str(result.stderr)

    return run
