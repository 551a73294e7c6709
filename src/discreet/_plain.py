"""Plain text for terminals: columns, records where columns do not fit, and ASCII where Greek fails.

>>> print("\\n".join(aligned(["ε", "row"], [["1", "dp-imed"]], width=40)))
  ε  row
  1  dp-imed
>>> spelled("ε = 1 ± 0.2"), spelled("μ²/2 < 10⁻¹²")
('epsilon = 1 +/- 0.2', 'mu^2/2 < 10^-12')
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

SIGNS = {
    "Σ": "Sum", "∫": "integral", "√": "sqrt", "∞": "inf", "×": "x", "±": "+/-", "–": "-",
    "—": "-", "−": "-", "…": "...", "≤": "<=", "≥": ">=", "≠": "!=", "·": "*", "“": '"', "”": '"',
    "‘": "'", "’": "'", "→": "->", "←": "<-", "│": "|", "─": "-", "━": "-", "\u202f": " ",
    "\u00a0": " ",
}  # fmt: skip


def spelled(text: str) -> str:
    """The same in ASCII: Greek letters by their names, signs by what is typed for them."""
    if text.isascii():
        return text
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda raised: f"^{raised[0].replace('⁻', '-')}", text)
    return "".join(_ascii(character) for character in text)


def _ascii(character: str) -> str:
    if character.isascii():
        return character
    if character in SIGNS:
        return SIGNS[character]
    kind, _, letter = unicodedata.name(character, "").partition(" LETTER ")
    if kind.startswith("GREEK"):
        return letter.lower() if "SMALL" in kind else letter.capitalize()
    # é is e and an accent, ₂ is 2 lowered
    simple = "".join(c for c in unicodedata.normalize("NFKD", character) if c.isascii())
    return simple or "?"


def wrapped(line: str, width: int) -> str:
    """A paragraph, or an item of a list, in lines of at most `width`."""
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, width, subsequent_indent=indent)


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Columns, or one record after the other where columns would be wider than `width`."""
    lines = [header, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(header))]
    if 2 * len(widths) + sum(widths) > width:
        return records(header, lines[1:], width)
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def records(header: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> list[str]:
    """Every policy as lines of its own, `heading: cell`, under its first cell."""
    lines: list[str] = []
    for row in rows:
        first, *rest = zip(header, row, strict=True)
        lines += textwrap.wrap(f"{first[0]} {first[1]}".strip(), width) or [""]
        for heading, cell in rest:
            said = f"{heading}: {cell}" if heading else cell
            lines += textwrap.wrap(
                said, width, initial_indent="  ", subsequent_indent="    ", break_long_words=True
            )
    return lines
