"""Public is what `__all__` says; everything else carries an underscore, and no page needs it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "discreet"
MODULES = {
    "discreet.demo", "discreet.errors", "discreet.extend", "discreet.loops", "discreet.references",
}  # fmt: skip
"""Public modules that are files; `demo` is run."""
PACKAGES = sorted(
    ".".join(file.parent.relative_to(SOURCE.parent).parts) for file in SOURCE.rglob("__init__.py")
)
PAGES = sorted([*(ROOT / "docs").glob("*.md"), ROOT / "README.md"])


def test_files_that_are_not_public_carry_an_underscore() -> None:
    bare = {
        ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
        for file in SOURCE.rglob("*.py")
        if not file.name.startswith("_")
    }
    assert bare == MODULES


@pytest.mark.parametrize("name", sorted({*PACKAGES, *MODULES} - {"discreet.demo"}))
def test_what_is_promised_is_there(name: str) -> None:
    module = importlib.import_module(name)
    names = module.__all__
    assert sorted(set(names)) == sorted(names), "twice"
    for each in names:
        assert not each.startswith("_") or each == "__version__", each
        getattr(module, each)


@pytest.mark.parametrize("name", [p for p in PACKAGES if p != "discreet"])
def test_what_is_not_promised_does_not_look_public(name: str) -> None:
    """Of a package: its names are in `__all__`, or are packages and public modules of it."""
    module = importlib.import_module(name)
    looks = {
        each for each, value in vars(module).items()
        if not each.startswith("_") and not isinstance(value, ModuleType)
        and str(getattr(value, "__module__", "")).startswith("discreet")
    }  # fmt: skip
    assert looks <= {*module.__all__, "called_as", "lazily"}


def imported(text: str) -> Iterator[tuple[str, str]]:
    """(module, name) of the imports from here in the blocks of a page."""
    for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
                yield from ((node.module or "", alias.name) for alias in node.names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_public_names_alone(page: Path) -> None:
    for module, name in imported(page.read_text(encoding="utf-8")):
        found = importlib.import_module(module)
        public = {*getattr(found, "__all__", ())}
        assert name in public or f"{module}.{name}" in {*PACKAGES, *MODULES}, f"{module}.{name}"


def test_the_search_finds_something() -> None:
    text = "```python\nfrom discreet.live._trial import Trial\n```\n"
    assert list(imported(text)) == [("discreet.live._trial", "Trial")]
    assert sum(len(list(imported(page.read_text(encoding="utf-8")))) for page in PAGES) > 20
