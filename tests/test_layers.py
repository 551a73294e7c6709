"""Arrows point downwards only: a package imports what stands below it, never what is above.

Imports for type checkers and imports inside functions count as well. From the top down:

    cli, demo               the command line
    serve                   the service
    openfeature, client     what talks to it
    plans                   trials from documents
    front, loops, testing, studies  what is made of everything below
    theory                  bounds and the planner draw their pages with report
    report
    audit, membership       attacks, on policies and on live trials
    live
    confirm                 tests from releases
    inference               intervals from releases
    sweeps                  grids of rows, problems and settings, of any kind
    logs                    data of one's own, off-policy evaluation
    linear, identify        rows of other kinds, run by the machinery of the simulator
    simulator               the loop, runs in threads, results
    protocol                the steps of a trial: plans and worlds
    policies, arms, privacy
    compiled, checks, …     what knows nothing of bandits
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "discreet"
LAYERS = [
    {"__main__"},
    {"cli", "demo"},
    {"serve"},
    {"openfeature"},
    {"client"},
    {"_plans"},
    {"_front", "loops", "extend", "testing", "studies"},
    {"theory"},
    {"report"},
    {"membership"},
    {"audit"},
    {"live"},
    {"confirm"},
    {"inference"},
    {"sweeps"},
    {"logs"},
    {"linear", "identify"},
    {"simulator"},
    {"protocol"},
    {"policies"},
    {"arms"},
    {"privacy"},
    {"_compiled", "_durations", "references"},
    {"_checks", "_extras"},
    {"_draws"},
    {"_progress"},
    {"errors", "_figures", "_lazy", "_notebooks", "_plain", "_types", "_version"},
]
RANK = {name: len(LAYERS) - rank for rank, names in enumerate(LAYERS) for name in names}
EXCEPTIONS = {
    ("linear/__init__.py", "live"): "linear.Trial and linear.blocks, names that went before",
}
"""Imports upwards that are allowed, each with its reason."""
BESIDE: set[frozenset[str]] = {frozenset({"cli", "demo"})}
"""Packages of one layer that may know each other."""


def imported(file: Path) -> Iterator[str]:
    """The packages and modules right below `discreet` that a file imports, however deep inside."""
    package = ("discreet", *file.relative_to(SOURCE).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "discreet" and len(name) > 1)


FILES = sorted(file for file in SOURCE.rglob("*.py") if file != SOURCE / "__init__.py")


def name_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


def wrong(file: Path) -> list[str]:
    """The arrows of a file that do not point downwards."""
    here, found = name_of(file), []
    for there in sorted(set(imported(file)) - {here}):
        if there not in RANK:
            continue  # a name of the package itself, such as __version__
        down = RANK[here] > RANK[there] or frozenset({here, there}) in BESIDE
        if not down and (file.relative_to(SOURCE).as_posix(), there) not in EXCEPTIONS:
            found.append(f"{here} -> {there}")
    return found


def test_every_package_has_its_place() -> None:
    assert {name_of(file) for file in FILES} <= set(RANK)


@pytest.mark.parametrize("name", sorted({name_of(file) for file in FILES}))
def test_arrows_point_downwards(name: str) -> None:
    arrows = {
        file.relative_to(SOURCE).as_posix(): wrong(file) for file in FILES if name_of(file) == name
    }
    assert {file: found for file, found in arrows.items() if found} == {}


def test_exceptions_are_needed() -> None:
    for path, there in EXCEPTIONS:
        file = SOURCE / path
        assert not file.exists() or there in set(imported(file)), f"{path} no longer needs it"


def test_upward_arrows_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "privacy").mkdir()
    file = tmp_path / "privacy" / "leak.py"
    for text in (
        "from ..policies import Policy",
        "def f():\n    from ..live.trial import Trial",
        "import discreet.simulator._runs",
        "from discreet import theory",
        "from .. import live",
    ):
        file.write_text(text)
        assert len(wrong(file)) == 1, text
    file.write_text("from ..errors import InvalidArgument\nfrom .budgets import Pure\nimport math")
    assert wrong(file) == []


def loaded(code: str) -> set[str]:
    """The modules in memory after some code."""
    code = f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"
    asked = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(asked.stdout.split())


def test_importing_the_package_loads_next_to_nothing() -> None:
    assert loaded("import discreet") <= {
        "__future__", "discreet", "discreet._lazy", "discreet._version",
    }  # fmt: skip


def test_a_trial_loads_no_simulator_and_nothing_heavy() -> None:
    """A server that holds live trials neither needs it nor waits for it."""
    tops = {".".join(name.split(".")[:2]) for name in loaded("from discreet import Trial")}
    heavy = ("numpy", "numba", "scipy", "opendp", "pyarrow", "matplotlib", "typer", "rich")
    assert "discreet.live" in tops
    assert "discreet.simulator" not in tops
    assert not {name.split(".")[0] for name in tops} & set(heavy)


def test_no_legend_looks_for_the_best_place() -> None:
    """It tries every place, and on a busy machine it warns of the time that takes."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "legend":
                said = {keyword.arg for keyword in node.keywords}
                assert said & {"loc", None}, f"{file.name}, line {node.lineno}: give loc"


KNOWN_BY_CLASS = {
    "cli/_identify.py": 1,  # Chernoff's bound on the error is that of Halving's rounds
    "policies/_private_thompson.py": 2,  # its trees are laid out by one rule, and proved for it
}
"""Where code asks for the class of a schedule, a release or a rule, and how often."""


def test_parts_say_what_they_are_and_are_not_told_apart_by_class() -> None:
    asked = re.compile(r"isinstance\(\s*[\w.]*\b(schedule|release|rule)\b")
    found = {
        path.relative_to(SOURCE).as_posix(): len(each)
        for path in SOURCE.rglob("*.py")
        if (each := asked.findall(path.read_text()))
    }
    assert found == KNOWN_BY_CLASS
