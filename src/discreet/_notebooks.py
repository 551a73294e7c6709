"""What a notebook shows of a value: small tables in HTML, everything in them escaped.

>>> table(["arm", "mean"], [["<b>", 0.5]])
'<table><thead><tr><th>arm</th><th>mean</th></tr></thead><tbody><tr><td>&lt;b&gt;</td><td>0.5</td></tr></tbody></table>'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def table(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """A table with a line of heads."""
    head = "".join(f"<th>{escape(word)}</th>" for word in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(cell))}</td>" for cell in line) + "</tr>"
        for line in lines
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def card(title: str, entries: Mapping[str, object], below: str = "") -> str:
    """A title, and a line per entry that is not empty; `below` is HTML made here."""
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_cell(value))}</td></tr>"
        for name, value in entries.items()
        if value not in ("", None, ())
    )
    return f"<p><strong>{escape(title)}</strong></p><table><tbody>{body}</tbody></table>{below}"


def plain(text: str) -> str:
    """Lines of plain text as they are."""
    return f"<pre>{escape(text)}</pre>"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return "; ".join(map(str, value))
    return str(value)
