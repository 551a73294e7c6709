"""docs/sources.md: everything that it names exists, and every numbered result has its line."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/sources.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if re.match(r"\| (?!result |---)", line)]
REASONS = (
    "no constants", "a step of a proof", "textbook", "a drawing", "notation", "out of scope",
)  # fmt: skip


def named(pattern: str) -> list[str]:
    return sorted({found for line in LINES for found in re.findall(pattern, line)})


@pytest.mark.parametrize("name", named(r"`(discreet\.[\w.]+)`"))
def test_functions_exist(name: str) -> None:
    parts = name.split(".")
    found, rest = discreet, parts[1:]
    while rest:
        if not hasattr(found, rest[0]):
            importlib.import_module(".".join(parts[: len(parts) - len(rest) + 1]))
        found, rest = getattr(found, rest[0]), rest[1:]
    assert found.__doc__


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("test", named(r"`(tests/[^`]+)`"))
def test_tests_exist(test: str) -> None:
    path, _, name = test.partition("::")
    assert name in functions_of(path)


@pytest.mark.parametrize("row", named(r"`row ([\w-]+)`"))
def test_rows_exist(row: str) -> None:
    from discreet.identify import IDENTIFIERS
    from discreet.linear import CATALOGUE as LINEAR

    assert row in {**discreet.CATALOGUE, **LINEAR, **IDENTIFIERS}


@pytest.mark.parametrize("anchor", named(r"gallery\.md#([\w-]+)"))
def test_figures_exist(anchor: str) -> None:
    page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.+)$", page, re.M)
    slugs = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings}
    assert anchor in slugs


def test_nothing_else_is_named() -> None:
    """Every name is of a kind that is looked up above, or an option."""
    for name in named(r"`([^`]+)`"):
        assert re.match(r"discreet\.|tests/.+::|row |version=|arms=", name), name


def test_every_line_says_where_or_why_not() -> None:
    for line in LINES:
        result, _, where = (cell.strip() for cell in line.strip("|").split(" | "))
        assert result
        assert "`" in where or "gallery.md#" in where or any(r in where for r in REASONS), line
        if "not here" in where:
            assert any(reason in where for reason in REASONS), line


NUMBER = r"(?:[A-Z]\.)?\d[\d.]*"


def covered(section: str, kind: str) -> set[str]:
    """The numbers of a kind that the lines of a section name, ranges filled in."""
    found: set[str] = set()
    text = PAGE.split(f"\n## {section}")[1].split("\n## ")[0]
    for line in text.splitlines():
        cell = line.strip("| ").split(" | ")[0]
        for numbers in re.findall(rf"\b{kind}s? ({NUMBER}(?:(?:, | to | and ){NUMBER})*)", cell):
            found |= set(re.split(", | to | and ", numbers))
            if " to " in numbers:
                low, high = numbers.split(" to ")
                head, _, first = low.rpartition(".")
                last = high.rpartition(".")[2]
                found |= {
                    f"{head}.{n}" if head else str(n) for n in range(int(first), int(last) + 1)
                }
    return found


def run(*spans: tuple[str, int, int]) -> set[str]:
    return {f"{head}{n}" for head, low, high in spans for n in range(low, high + 1)}


@pytest.mark.parametrize(
    ("section", "kind", "numbers"),
    [
        ("Azize & Basu", "Theorem", run(("", 1, 12))),
        ("Azize & Basu", "Lemma", run(("", 1, 13))),
        ("Azize & Basu", "Figure", run(("", 1, 8))),
        ("Azize & Basu", "Table", run(("", 1, 2))),
        ("Azize & Basu", "Definition", run(("", 1, 5))),
        ("Azize & Basu", "Algorithm", {"1"}),
        ("Azize & Basu", "Remark", run(("", 1, 4))),
        ("Azize & Basu", "Example", run(("", 1, 3))),
        ("Azize & Basu", "Fact", run(("", 1, 3))),
        ("Azize & Basu", "Claim", {"1", "2"}),
        ("Ren", "Theorem", {"1", "4", "6"}),
        ("Ren", "Lemma", {"2", "3", "5", "7", "8", "9", "12"}),
        ("Ren", "Corollary", {"10", "11"}),
        ("Ren", "Figure", {"1", "2"}),
        ("Ren", "Definition", {"1", "2"}),
        ("Ren", "Curator", {"1", "3", "5", "6"}),
        ("Ren", "Agent", {"2", "4"}),
        ("Ren", "Fact", {"13"}),
        ("Wang", "Theorem", {"4", "11", "13", "16", "18"}),
        ("Wang", "Lemma", {"8", "9", "15"} | run(("", 19, 24))),
        ("Wang", "Figure", run(("", 1, 7))),
        ("Wang", "Definition", run(("", 1, 3))),
        ("Wang", "Algorithm", run(("", 1, 4))),
        ("Wang", "Remark", {"5", "6", "7", "10", "12", "14", "17", "19"}),
        ("Wang", "Fact", run(("", 1, 10))),
        ("Mishra", "Lemma", {"5", "9"}),
        ("Mishra", "Algorithm", run(("", 1, 4))),
        ("Azize (2024)", "Figure",
         {"1.1", "C.1"}
         | run(("2.", 1, 2), ("3.", 1, 5), ("5.", 1, 7), ("6.", 1, 2), ("7.", 1, 2))),
        ("Azize (2024)", "Table", {"4.1", "4.2", "5.1", "5.2", "6.1"}),
        ("Azize (2024)", "Algorithm", run(("", 1, 14))),
        ("Azize (2024)", "Definition",
         {"2.1", "2.2", "2.3", "2.5", "2.11", "2.12", "2.16", "2.17", "2.18", "2.19", "2.20",
          "2.25", "2.27", "2.29", "2.30", "2.34", "2.35", "2.38", "3.2", "3.3", "3.5", "3.8", "3.9",
          "3.16", "3.17", "4.1", "5.8", "6.2", "C.18", "C.24"}),
        ("Azize (2024)", "Remark",
         {"2.33", "3.4", "3.6", "3.7", "3.10", "3.11", "3.14", "4.10", "4.11", "4.13", "4.19",
          "4.22", "5.7", "5.13", "5.19", "5.22", "5.24", "C.1", "C.5", "C.8", "C.12", "C.14", "D.1",
          "D.7"}),
        ("Azize (2024)", "Assumption", {"5.10", "5.15"}),
        ("Azize (2024)", "Condition", {"1"}),
        ("Azize (2024)", "Reduction", run(("", 1, 3))),
        ("Azize (2024)", "Claim", {"1", "2"}),
        ("Azize (2024)", "Fact", {"C.6"}),
        ("Azize (2024)", "Example", {"2.15", "3.1", "5.1", "B.2"}),
        ("Azize (2024)", "Theorem",
         {"2.4", "2.13", "2.14", "2.23", "2.24", "2.26", "2.28", "2.31", "2.32", "2.36", "2.37",
          "2.40", "2.41", "4.2", "4.3", "4.4", "4.6", "4.8", "4.9", "4.12", "4.14", "4.15", "4.16",
          "4.17", "4.18", "4.20", "4.21", "4.24", "5.2", "5.3", "5.4", "5.5", "5.6", "5.9", "5.11",
          "5.12", "5.14", "5.17", "5.20", "5.23", "6.1", "6.3", "6.5", "6.6", "6.7", "C.4", "C.7",
          "C.10", "C.13"}),
        ("Azize (2024)", "Proposition",
         {"2.6", "2.7", "2.8", "2.9", "3.12", "3.13", "3.15", "4.7", "4.26"}),
        ("Azize (2024)", "Corollary", {"4.5", "4.25", "6.4", "C.11"}),
        ("Azize (2024)", "Lemma",
         {"2.10", "2.21", "2.22", "2.39", "4.23", "5.16", "5.18", "5.21", "B.1", "C.2", "C.3",
          "C.6", "C.9", "C.15", "C.16", "C.17", *(f"C.{n}" for n in (19, 20, 21, 22, 23)),
          *(f"C.{n}" for n in range(25, 33)), *(f"D.{n}" for n in range(2, 7))}),
    ],
)  # fmt: skip
def test_every_numbered_result_has_a_line(section: str, kind: str, numbers: set[str]) -> None:
    """And no line has a number that the text has not."""
    assert covered(section, kind) == numbers


def test_no_kind_of_result_is_left_out() -> None:
    """What a text does not have, its section does not name."""
    for section, kinds in (
        ("Azize & Basu", ("Proposition", "Corollary", "Assumption", "Condition", "Reduction")),
        ("Ren", ("Proposition", "Remark", "Example", "Algorithm", "Table", "Assumption", "Claim")),
        ("Wang", ("Proposition", "Corollary", "Example", "Table", "Assumption", "Claim")),
        ("Mishra", ("Theorem", "Proposition", "Corollary", "Definition", "Figure", "Table")),
    ):
        assert {kind for kind in kinds if covered(section, kind)} == set(), section


def test_a_range_is_read() -> None:
    assert {"5", "9", "13"} <= covered("Azize & Basu", "Lemma")
    assert "14" not in covered("Azize & Basu", "Lemma")
    assert {"7", "10", "12"} <= covered("Wang", "Remark")
    assert covered("Mishra", "Theorem") == set()
