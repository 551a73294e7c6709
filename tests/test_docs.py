"""Every Python block of the README and of the docs runs as printed, page by page."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import sys
import types
from pathlib import Path

import pytest

import discreet
from discreet.cli._catalogue import page as catalogue_page
from discreet.identify import IDENTIFIERS
from discreet.linear._catalogue import CATALOGUE as LINEAR
from discreet.protocol import PLANS, WORLDS

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(discreet.__path__, "discreet.")
    if not module.name.endswith("__main__")
)


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text()) if kind == language]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page in one namespace; `# prints: x` on a line checks what it printed."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # classes look up their own module
    added = [(known, set(known)) for known in (PLANS, WORLDS)]  # what a page adds goes with it
    try:
        run_blocks(page, module)
    finally:
        for known, before in added:
            for name in set(known) - before:
                del known[name]


def run_blocks(page: Path, module: types.ModuleType) -> None:
    for number, code in enumerate(blocks(page, "python")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{page.name}, block {number}", "exec"), module.__dict__)
        for promised in re.findall(r"# prints: (.*)$", code, re.MULTILINE):
            assert promised in printed.getvalue()


def test_readme_has_an_example_and_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    assert blocks(ROOT / "README.md", "python")
    assert "make demo" in text
    assert "make test" in text
    assert len(text.splitlines()) <= 95
    assert "(docs/catalogue.md)" in text


def test_a_page_lists_the_whole_catalogue() -> None:
    text = (ROOT / "docs" / "catalogue.md").read_text()
    assert text == catalogue_page(), "python -m discreet.cli._catalogue > docs/catalogue.md"
    for name in (*discreet.CATALOGUE, *IDENTIFIERS, *LINEAR):
        assert f"| `{name}` |" in text


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_pages_and_examples() -> None:
    assert len(PAGES) >= 4
    assert any(doctest.DocTestFinder().find(importlib.import_module("discreet._compiled")))
