"""Words that pages avoid, each with the words to use instead; the source is to follow."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GENERATED = {"audits.md", "catalogue.md", "cli.md", "gallery.md"}
"""Written by commands: their words stand in src."""
PAGES = sorted(
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    if page.name not in GENERATED
)
CODE = re.compile(r"^```.*?^```$|^    [^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
AVOID = {
    r"rows?": "policy, or line",
    r"laws?": "environment, or distribution",
    r"(?<!privacy )(?<!their )(?<!its )units?(?! ball| of that clock)": "participant",
    r"(no|every|some|any)body": "no one, everyone, someone, a participant",
    r"whoever": "anyone who",
    r"beforehand": "in advance",
    r"besides": "also",
    r"side by side": "concurrently",
    r"coins": "random draws",
    r"steers": "influences",
    r"made of": "computed from",
    r"(they|it|`` ?) ?regret(s|ted)?": "their regret is",
    r"onlookers?": "observer",
    r"mishaps?": "problem",
    r"for ever": "indefinitely",
    r"(go|goes|went) on": "continue",
    r"written down": "stored",
    r"of (your|its|their) own": "custom, separate",
}


def avoided(text: str) -> Iterator[str]:
    """What should be written in another way, outside of code."""
    prose = " ".join(CODE.sub("``", text).split())
    for pattern, better in AVOID.items():
        for found in re.finditer(rf"(?<![\w-]){pattern}(?![\w-])", prose, re.IGNORECASE):
            around = prose[max(0, found.start() - 40) : found.end() + 40]
            yield f"{found[0]} -> {better}: … {around} …"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    assert list(avoided(page.read_text(encoding="utf-8"))) == []


def test_avoided_words_are_seen() -> None:
    text = (
        "A row of laws for each unit, whoever\nlooks: `dp-imed` regrets 3. Nobody is side\nby side."
    )
    assert [each.partition(" ->")[0] for each in avoided(text)] == [
        "row", "laws", "unit", "Nobody", "whoever", "side by side", "`` regrets",
    ]  # fmt: skip


def test_code_is_left_alone() -> None:
    text = "```python\nrow = law\n```\n    row = law\nthe `row` of a community, in the unit ball"
    assert not list(avoided(text))


DOCSTRINGS, MESSAGES = 480, 309
"""Avoided words in the source: in docstrings, and in other texts. Counts that may only fall."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def texts(source: str) -> tuple[list[str], list[str]]:
    """The docstrings of a file, and its other texts of more than a word."""
    tree = ast.parse(source)
    first = [
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr)
    ]
    documented = {id(node) for node in first}
    found: tuple[list[str], list[str]] = ([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            plain = id(node) not in documented  # else what is indented there would pass for code
            found[plain].append(node.value if plain else inspect.cleandoc(node.value))
    return found


def test_the_source_avoids_them_more_and_more() -> None:
    files = (ROOT / "src" / "discreet").rglob("*.py")
    both = [texts(file.read_text(encoding="utf-8")) for file in files]
    counts = [
        sum(len(list(avoided(text))) for found in both for text in found[kind]) for kind in (0, 1)
    ]
    assert counts[0] <= DOCSTRINGS
    assert counts[1] <= MESSAGES


def test_docstrings_and_messages_are_told_apart() -> None:
    source = 'def f():\n    """A row."""\n    raise ValueError("no such row")\n'
    assert texts(source) == (["A row."], ["no such row"])
