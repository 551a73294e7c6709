"""Links between pages resolve: files exist, anchors are headings, and the map names every page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *ROOT.glob("*.md")])
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
OUTSIDE = ("https://", "http://", "mailto:")


def prose(text: str) -> str:
    """Text without code, which may look like a link: `arms[a](x)`."""
    return re.sub(r"`[^`\n]*`", "``", FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """What GitHub and MyST call the headings of a page."""
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", FENCE.sub("", text), re.MULTILINE):
        words = LINK.sub("]", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names


def broken(page: Path, text: str) -> Iterator[str]:
    for link in LINK.findall(prose(text)):
        if link.startswith(OUTSIDE):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists():
            yield f"{link}: no such file"
        elif anchor and anchor not in anchors(
            text if target == page else target.read_text(encoding="utf-8")
        ):
            yield f"{link}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page: Path) -> None:
    assert not list(broken(page, page.read_text(encoding="utf-8")))


def test_broken_links_are_seen() -> None:
    page = DOCS / "index.md"
    text = "# Top\n[a](live.md) [b](#top) [c](live.md#what-an-operator-must-not-do) `[d](e)`"
    assert not list(broken(page, text))
    text = "# Top\n[a](no.md) [b](#no) [c](live.md#no) ![d](no.png)"
    assert [each.partition(":")[0] for each in broken(page, text)] == [
        "no.md", "#no", "live.md#no", "no.png",
    ]  # fmt: skip


def test_headings_of_one_name_are_numbered() -> None:
    assert anchors("# A b\n## A b\n### C's `d`, e\n```\n# no\n```") == {"a-b", "a-b-1", "cs-d-e"}


def test_the_map_names_every_page_once() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8").partition("\n## ")[2]
    listed = [link for link in LINK.findall(text) if not link.startswith("..")]
    assert sorted(listed) == sorted(
        page.name for page in DOCS.glob("*.md") if page != DOCS / "index.md"
    )
