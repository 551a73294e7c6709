"""HTML that is escaped unless it was built here.

>>> print(element("p", "2 < 3 & ", strong("true"), class_="note"))
<p class="note">2 &lt; 3 &amp; <strong>true</strong></p>
"""

from __future__ import annotations

import re
from html import escape, unescape


class Html(str):
    """A piece of HTML that is safe to use as it is.

    Example:
        >>> from discreet.report import Html, element
        >>> print(element("p", Html("<b>safe</b>"), " < not"))
        <p><b>safe</b> &lt; not</p>
    """

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
    """One HTML element. Text is escaped; `Html` is used as it is.

    Args:
        tag: Its name.
        *content: What is in it.
        **attributes: Its attributes: `class_` stands for class, `aria_label` for aria-label. What
            is None is left out.

    Returns:
        The element.

    Example:
        >>> from discreet.report import element
        >>> print(element("a", "5 < 6", href="#end", class_="note"))
        <a href="#end" class="note">5 &lt; 6</a>
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID:
        return Html(f"<{tag}{named}>")
    return Html(f"<{tag}{named}>{joined(*content)}</{tag}>")


def strong(*content: object) -> Html:
    """Emphasis, as HTML.

    Args:
        *content: What is emphasised; text is escaped.

    Returns:
        The element.

    Example:
        >>> from discreet.report import strong
        >>> print(strong("7 participants"))
        <strong>7 participants</strong>
    """
    return element("strong", *content)


def plain(*content: object) -> str:
    """The same as Markdown: emphasis and code stay, other tags are left out."""
    whole = "".join(
        unescape(_without_tags(piece)) if isinstance(piece, Html) else str(piece)
        for piece in content
    )
    return " ".join(whole.split())


def _without_tags(piece: str) -> str:
    marked = re.sub(r"</?(strong|b)>", "**", piece)
    marked = re.sub(r"</?(em|i)>", "*", marked)
    return re.sub(r"<[^>]*>", "", re.sub(r"</?code>", "`", marked))
