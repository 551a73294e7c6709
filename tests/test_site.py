"""The sources of the web site: every page is reached, every public name is documented once.

Sphinx builds them in `make docs`, with warnings as errors; these tests do without it.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from test_links import broken

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        return importlib.import_module("stage")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def site(tool: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    tool.stage(folder)
    return Path(folder)


def listed(page: Path) -> list[str]:
    """The entries of its table of contents."""
    block = re.search(r"^```\{toctree\}\n:hidden:\n\n(.*?)^```$", page.read_text(), re.M | re.S)
    return block[1].split() if block else []


def test_every_page_is_reached_once(site: Path) -> None:
    reached, open_pages = ["index"], ["index"]
    while open_pages:
        name = open_pages.pop()
        page = site / f"{name}.md"
        for entry in listed(page):
            inside = (page.parent / entry).relative_to(site)
            open_pages.append(str(inside))
            reached.append(str(inside))
    there = [str(page.relative_to(site).with_suffix("")) for page in site.rglob("*.md")]
    assert sorted(reached) == sorted(there)


def test_links_resolve_on_the_site(site: Path) -> None:
    for page in site.rglob("*.md"):
        assert not list(broken(page, page.read_text(encoding="utf-8"))), page.name


def test_every_public_class_and_function_has_one_page(tool: ModuleType, site: Path) -> None:
    modules = tool.public()
    assert {"discreet", "discreet.live", "discreet.errors", "discreet.theory"} <= set(modules)
    promised = {
        id(value)
        for module in modules.values()
        for value in (getattr(module, name) for name in module.__all__)
        if inspect.isclass(value) or inspect.isfunction(value)
    }
    pages = {page.stem for page in (site / "api").glob("*.md")} - set(modules)
    documented = [
        id(getattr(importlib.import_module(page.rpartition(".")[0]), page.rpartition(".")[2]))
        for page in pages
    ]
    assert sorted(documented) == sorted(promised)
    assert "discreet.Trial" in pages  # not discreet.live.Trial
    assert ".. autoclass:: discreet.Trial" in (site / "api" / "discreet.Trial.md").read_text()


def test_tables_of_packages_name_everything(tool: ModuleType, site: Path) -> None:
    for package, module in tool.public().items():
        text = (site / "api" / f"{package}.md").read_text(encoding="utf-8")
        named = re.findall(r"^\| (?:\[)?`(\w+)`", text, re.MULTILINE)
        assert sorted(named) == sorted(module.__all__)


def test_only_the_site_needs_sphinx() -> None:
    for folder in ("src", "tests", "benchmarks"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"^\s*(?:import|from) (?:sphinx|myst_parser)", text, re.M), file
