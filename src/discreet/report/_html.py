"""HTML that is escaped unless it was built here.

>>> print(element("p", "2 < 3 & ", strong("true"), class_="note"))
<p class="note">2 &lt; 3 &amp; <strong>true</strong></p>
"""

from __future__ import annotations

from html import escape


class Html(str):
    """A piece of HTML that is safe to use as it is."""

    __slots__ = ()


VOID = frozenset({"img", "meta", "source"})
"""Elements without an end tag."""


def text(content: object) -> Html:
    """Anything as HTML: escaped, unless it is HTML already."""
    return content if isinstance(content, Html) else Html(escape(str(content)))


def joined(*content: object) -> Html:
    """Pieces in a row."""
    return Html("".join(text(piece) for piece in content))


def element(tag: str, *content: object, **attributes: object) -> Html:
    """One element. `class_` stands for class, `aria_label` for aria-label; None is left out."""
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Html(f"<{tag}{named}>")
    return Html(f"<{tag}{named}>{joined(*content)}</{tag}>")


def strong(*content: object) -> Html:
    """Emphasis."""
    return element("strong", *content)
