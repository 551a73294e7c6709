"""What an error tells people to write can be written: names resolve, and calls run."""

from __future__ import annotations

import ast
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
NAME = re.compile(r"\bdiscreet(?:\.[a-zA-Z_]\w*)+")


INSIDE = {"discreet._draws.Bits", "discreet._draws.Draws", "discreet.endpoint"} | {
    f"discreet.{package}._catalogue" for package in ("policies", "identify", "linear")
}
"""What numba calls its types, what a request is marked with, and where rows are entered: nobody is
told to write these."""
GIVEN = {
    "discreet": discreet,
    "math": math,
    "environment": discreet.Bernoulli([0.5, 0.3]),
    "name": "dp-imed",
}
"""What whoever reads a message has."""


def texts(filled: bool = True) -> Iterator[str]:
    """All text of the package that is no docstring: what people may be shown. `filled`: also with
    values filled in, without them."""
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text())
        left = {
            id(part)
            for node in ast.walk(tree)
            for part in (
                node.values
                if isinstance(node, ast.JoinedStr)
                else [node.value]
                if isinstance(node, ast.Expr)
                else []
            )
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if id(node) not in left:
                    yield node.value
            elif isinstance(node, ast.JoinedStr) and filled:
                yield " ".join(str(p.value) for p in node.values if isinstance(p, ast.Constant))


def named() -> list[str]:
    """Dotted names of ours in messages; `discreet.x` of a command or a module line is none."""
    found = set()
    for text in texts():
        if "python -m" not in text:
            found.update(NAME.findall(text))
    return sorted(found - INSIDE)


def test_every_name_in_a_message_resolves_after_one_import() -> None:
    names = named()
    assert "discreet.identify.identify" in names
    assert len(names) > 10
    program = f"import discreet\nfor name in {names!r}:\n    eval(name)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def calls() -> list[str]:
    """Whole calls of ours in messages."""
    found = set()
    for text in texts(filled=False):
        for match in re.finditer(r"\bdiscreet\.[\w.]+\(", text):
            for end in range(match.end(), len(text) + 1):
                part = text[match.start() : end]
                try:
                    ast.parse(part, mode="eval")
                except SyntaxError:
                    continue
                if "..." not in part:
                    found.add(part)
                break
    return sorted(found)


CALLS = calls()


def test_there_are_calls_to_try() -> None:
    assert any(call.startswith("discreet.policy(") for call in CALLS)


@pytest.mark.parametrize("call", CALLS)
def test_every_call_in_a_message_runs_as_printed(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some make a file
    assert eval(call, GIVEN) is not None
