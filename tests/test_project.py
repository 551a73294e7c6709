"""Pinned versions fit what is declared; papers, hooks and workflows name what exists."""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from discreet import __version__

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
DECLARED = [
    Requirement(line)
    for line in [*PROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
]
PINS = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if line]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PAPERS = ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "GOVERNANCE.md")
TEMPLATES = (
    ".github/PULL_REQUEST_TEMPLATE.md",
    ".github/ISSUE_TEMPLATE/bug.md",
    ".github/ISSUE_TEMPLATE/documentation.md",
    ".github/ISSUE_TEMPLATE/policy.md",
)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
YAML = [
    *WORKFLOWS,
    ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml",
    ROOT / ".pre-commit-config.yaml",
]
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
CALL = re.compile(r"\bmake ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)*)")


def holds(marker: Marker | None, python: str) -> bool:
    """Whether a pin counts on Linux with that Python."""
    setting = {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": "linux",
        "platform_python_implementation": "CPython",
    }
    return marker is None or marker.evaluate(setting)


def pinned(name: str, python: str) -> list[Requirement]:
    own = canonicalize_name(name)
    return [pin for pin in PINS if canonicalize_name(pin.name) == own and holds(pin.marker, python)]


def fits(declared: Requirement, pin: Requirement) -> bool:
    return declared.specifier.contains(str(pin.specifier).removeprefix("=="), prereleases=True)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("declared", DECLARED, ids=str)
def test_every_direct_dependency_is_pinned_within_its_bounds(
    declared: Requirement, python: str
) -> None:
    pins = pinned(declared.name, python)
    assert len(pins) == 1, f"run make lock: {declared.name} has {len(pins)} pins for {python}"
    assert fits(declared, pins[0]), f"run make lock: {pins[0]} does not fit {declared}"


def test_a_pin_outside_the_bounds_is_seen() -> None:
    assert fits(Requirement("typer>=0.29"), Requirement("typer==0.29.1"))
    assert not fits(Requirement("typer>=0.29"), Requirement("typer==0.28.0"))
    assert not pinned("no-such-package", "3.11")


def test_every_line_pins_one_version() -> None:
    for pin in PINS:
        assert re.fullmatch(r"==[\w.!+]+", str(pin.specifier)), pin
        assert pin.url is None, pin


def test_the_environment_is_made_from_the_pins() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("$(READY): ")[2].partition("\n\n")[0]
    assert "constraints.txt" in recipe.splitlines()[0]
    assert '-c constraints.txt -e ".[dev,serve,postgres,openfeature]"' in recipe


def test_builds_are_bounded() -> None:
    (builder,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert not Requirement(builder).specifier.contains("2.0")


@pytest.mark.parametrize("name", [*PAPERS, *TEMPLATES])
def test_papers_exist_and_name_what_exists(name: str) -> None:
    """Make targets, links to files, and files in backticks that have a folder."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert text.strip()
    quoted = " ".join(re.findall(r"`([^`\n]+)`", text)) + " ".join(
        re.findall(r"^\$ ([^#\n]+)", text, re.MULTILINE)
    )
    for call in re.findall(r"\bmake [a-z-]+", quoted):
        assert call.removeprefix("make ") in TARGETS, call
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert (ROOT / name).parent.joinpath(link).exists(), link
    for path in re.findall(r"`([\w.]+(?:/[\w.]+)+)`", text):
        if not path.startswith(("dist/", ".venv/")):
            assert (ROOT / path).exists() or (ROOT / "src" / "discreet" / path).exists(), path


def test_contributors_learn_of_the_tests_that_will_ask() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for paper in ("SECURITY.md", "GOVERNANCE.md", "CHANGELOG.md", "docs/extending.md"):
        assert paper in text
    for name in ("_front.py", "references.py", "policies/_catalogue.py", "cli/_app.py"):
        assert f"`{name}`" in text


@pytest.mark.parametrize("path", YAML, ids=lambda path: path.name)
def test_yaml_is_well_formed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if find_spec("yaml") is not None:
        import yaml  # type: ignore[import-untyped, unused-ignore]

        assert isinstance(yaml.safe_load(text), dict)
    for line in text.splitlines():
        rest = line.lstrip(" ")
        assert "\t" not in line
        assert (len(line) - len(rest)) % 2 == 0, line
        assert not rest or re.match(r"(- )?[\w-]+:( |$)|- |#", rest), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    runs = re.findall(r"^ +- run: (.+)$", text, re.MULTILINE)
    assert runs
    assert len(runs) == len(re.findall(r"\brun:", text))
    for run in runs:
        if run == "make ${{ matrix.target }}":
            (matrix,) = re.findall(r"^ +target: \[(.+)\]$", text, re.MULTILINE)
            called = matrix.split(", ")
        else:
            whole = CALL.fullmatch(run)
            assert whole is not None, run
            called = whole[1].split(" ")
        assert set(called) <= TARGETS, run


def test_workflows_cover_every_python_that_is_declared() -> None:
    text = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"^ +python: \[(.+)\]$", text, re.MULTILINE)
    tested = [version.strip('"') for version in matrix.split(", ")]
    assert tuple(tested) == PYTHONS
    declared = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line]
    assert declared
    assert set(declared) <= set(tested)
    assert PROJECT["requires-python"] == f">={tested[0]}"


def test_hooks_call_targets_that_exist() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    calls = re.findall(r"entry: make (.+)$", text, re.MULTILINE)
    assert calls
    assert set(calls) <= TARGETS


def test_one_version_is_cited() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", text, re.MULTILINE) == [__version__]
