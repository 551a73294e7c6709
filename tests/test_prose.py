"""Words that pages avoid, each with the words to use instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GENERATED = {"audits.md", "cli.md", "gallery.md"}
"""Written by commands: their words stand in src."""
OPEN = {"confirm.md"}
"""Not gone through yet."""
PAGES = sorted(
    page
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
    if page.name not in GENERATED | OPEN
)
CODE = re.compile(r"^```.*?^```$|^    .*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
OPERATOR = re.compile(r"^## What an operator must not do$.*?(?=^## )", re.MULTILINE | re.DOTALL)
"""A section of docs/live.md that is not gone through yet."""
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
    prose = " ".join(CODE.sub("``", OPERATOR.sub("", text)).split())
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
