"""What the tests of membership games share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli import app


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
