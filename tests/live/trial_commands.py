"""The commands of `discreet trial`, called in this process and in an empty folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli._app import app

__all__ = ["call", "here", "told"]


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
