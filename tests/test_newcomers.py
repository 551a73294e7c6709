"""What a newcomer does in the first hour, with nothing but the pages: four scripts, run as is.

Each uses only names that a page shows, so a page that loses one fails here.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "tests" / "newcomers"
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))


def run(name: str, folder: Path) -> list[str]:
    """The lines that a script prints, in an empty folder."""
    done = subprocess.run(
        [sys.executable, SCRIPTS / name], cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_first_private_simulation(tmp_path: Path) -> None:
    plain, private = (line.split() for line in run("first_simulation.py", tmp_path))
    assert plain[0] == "imed"
    assert private[0] == "dp-imed"
    assert 0.0 < float(plain[1]) < float(private[1]) < 250.0  # an equal split loses 250
    assert private[2:] == ["ε", "=", "1", "(interactive)"]


def test_a_planned_trial_with_its_protocol(tmp_path: Path) -> None:
    (participants,) = run("planned_trial.py", tmp_path)
    assert 100 < int(participants) < 1_000
    page = (tmp_path / "papers.html").read_text(encoding="utf-8")
    for said in ("Drug against placebo", "Statistical analysis plan", "28 days", "ε = 1"):
        assert said in page


def test_a_web_endpoint(tmp_path: Path) -> None:
    pytest.importorskip("flask")
    assigned, recorded, stranger = run("web_endpoint.py", tmp_path)
    assert assigned in ("200 blue", "200 green")
    assert (recorded, stranger) == ("202", "400")
    assert (tmp_path / "trial.db").is_file()


def test_a_policy_of_ones_own(tmp_path: Path) -> None:
    guarantee, holds, regret = run("own_policy.py", tmp_path)
    assert guarantee == "ε = 1 (interactive)"
    assert holds == "True"
    assert 0 < int(regret) < 200  # an equal split loses 200


def names(source: str) -> Iterator[str]:
    """What a script takes from `discreet`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet"):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and "discreet" in ast.unparse(node.value).split("."):
            yield node.attr


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_pages_show_every_name(script: Path) -> None:
    used = set(names(script.read_text(encoding="utf-8")))
    assert used
    assert {name for name in used if name not in PAGES} == set()
