"""A page: sections of text, tables and figures, in one file that fetches nothing."""

from __future__ import annotations

import base64
import os
import re
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from numbers import Real
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Self

from .._version import __version__
from ..errors import InvalidArgument
from ._html import Html, element, joined, plain, text
from ._numbers import Estimate, count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The policy lets a browser load nothing at all but what the file itself holds.
SHEET = Template(
    """<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<meta name="generator" content="discreet $version">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<header>
<h1>$title</h1>
$subtitle
$contents
</header>
<main>
$body
</main>
<footer>
$footer
</footer>
</body>
</html>
"""
)
PHONE = "(max-width: 40rem)"
"""Screens on which pictures are drawn narrow and the rows of tables are blocks, as in style.css."""
NARROW = 4.3
"""Inches of a narrow picture."""
TITLE = 46
"""Characters in a line of its title."""
SHORT = 18
"""Row headers up to this length are not broken."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


class Page:
    """A report as one HTML file, or as Markdown.

    Every method that adds something returns the page, so that calls can be chained.

    Example:
        >>> from discreet.report import Page
        >>> page = Page("A report").section("Result").text("Better.")
        >>> page.html().startswith("<!DOCTYPE html>"), "Better." in page.markdown()
        (True, True)
    """

    def __init__(self, title: str, *, subtitle: str = "", language: str = "en") -> None:
        if not title:
            raise InvalidArgument("title", "say what the report is about", title, "give a title")
        self.title, self.subtitle, self.language = title, subtitle, language
        self._sections: list[tuple[str, str]] = []
        self._body: list[Html] = []
        self._footer: list[Html] = []
        self._plain: list[str] = []
        """the same in Markdown, piece by piece"""
        self._last: list[str] = []
        self._figures = self._tables = 0

    def section(self, title: str) -> Self:
        """Begin a section; it is listed in the contents."""
        anchor = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        taken = {name for name, _ in self._sections}
        number = 2
        base = anchor
        while anchor in taken:
            anchor, number = f"{base}-{number}", number + 1
        self._sections.append((anchor, title))
        return self._add(element("h2", title, id=anchor), f"## {title}")

    def heading(self, title: str) -> Self:
        """A heading inside a section."""
        return self._add(element("h3", title), f"### {title}")

    def text(self, *pieces: object) -> Self:
        """A paragraph of strings (escaped) and `Html`."""
        return self._add(element("p", *pieces), plain(*pieces))

    def note(self, *paragraphs: object, warning: bool = False) -> Self:
        """A box with what must not be overlooked."""
        kind = "note warning" if warning else "note"
        inside = [element("p", paragraph) for paragraph in paragraphs]
        quoted = "\n>\n".join(f"> {plain(paragraph)}" for paragraph in paragraphs)
        return self._add(element("div", *inside, class_=kind), quoted)

    def items(self, entries: Iterable[object], *, ordered: bool = False) -> Self:
        """A list."""
        said = list(entries)
        points = [element("li", entry) for entry in said]
        lines = [
            f"{f'{number}.' if ordered else '-'} {plain(entry)}"
            for number, entry in enumerate(said, 1)
        ]
        return self._add(element("ol" if ordered else "ul", *points), "\n".join(lines))

    def terms(self, entries: Mapping[str, object]) -> Self:
        """A list of terms and what they mean."""
        pairs = [joined(element("dt", term), element("dd", said)) for term, said in entries.items()]
        lines = [f"- **{plain(term)}**: {plain(said)}" for term, said in entries.items()]
        return self._add(element("dl", *pairs), "\n".join(lines))

    def code(self, lines: str) -> Self:
        """Something to type, as it is."""
        return self._add(element("pre", element("code", lines)), f"```\n{lines}\n```")

    def table(
        self,
        header: Sequence[object],
        rows: Iterable[Sequence[object]],
        *,
        caption: object,
        numeric: Iterable[int] | None = None,
    ) -> Self:
        """A table; the first cell of a row is its header.

        Numbers and estimates are set to the right; `numeric` names further columns, from 0.
        """
        lines = [list(row) for row in rows]
        if any(len(line) != len(header) for line in lines):
            wrong = next(line for line in lines if len(line) != len(header))
            rule = f"have {len(header)} cells, as the header has"
            raise InvalidArgument("rows", rule, wrong, "fill empty cells with ''")
        right = set(numeric or ()) | {
            column
            for column in range(len(header))
            if lines and all(_is_number(line[column]) for line in lines)
        }

        short = all(len(str(line[0])) <= SHORT for line in lines)

        # On a phone every row is a block with its headings beside the cells (see style.css); the
        # roles keep it a table for who hears it.
        def cell(content: object, column: int, scope: str | None) -> Html:
            kind = "number" if column in right else "short" if short and scope == "row" else None
            named = scope is None or (scope == "row" and column in right)
            label = str(header[column]) if named else None
            role = {"col": "columnheader", "row": "rowheader", None: "cell"}[scope]
            return element(
                "th" if scope else "td", _shown(content), scope=scope, class_=kind, role=role,
                data_label=label,
            )  # fmt: skip

        head = [cell(content, column, "col") for column, content in enumerate(header)]
        body = [
            element(
                "tr",
                *(
                    cell(content, column, None if column else "row")
                    for column, content in enumerate(line)
                ),
                role="row",
            )
            for line in lines
        ]
        self._tables += 1
        name = f"table-{self._tables}"
        whole = element(
            "table",
            element("caption", caption, id=name),
            element("thead", element("tr", *head, role="row"), role="rowgroup"),
            element("tbody", *body, role="rowgroup"),
            role="table",
        )
        under = ["---:" if column in right else "---" for column in range(len(header))]
        cells = [header, under, *([_shown(content) for content in line] for line in lines)]
        rows_of = [
            f"| {' | '.join(plain(cell).replace('|', '/') for cell in row)} |" for row in cells
        ]
        words = "\n".join([*rows_of, "", plain(caption)])
        return self._add(_scrolling(whole, name), words)

    def figure(self, figure: Figure, *, caption: object, alt: str) -> Self:
        """A matplotlib figure, kept inside the page; `alt` says what it shows to who cannot see."""
        if not alt:
            raise InvalidArgument("alt", "say what the figure shows", alt, "write a sentence")
        self._figures += 1
        salt = f"figure {self._figures}"
        with _narrow(figure):
            phone = element(
                "source", media=PHONE, srcset=_data(svg(figure, salt=f"{salt}, narrow"))
            )
        picture = element(
            "picture", phone, element("img", src=_data(svg(figure, salt=salt)), alt=alt)
        )
        name = f"figure-{self._figures}"
        label = element("strong", f"Figure {self._figures}. ")
        legend = element("figcaption", label, caption, id=name)
        said = f"*Figure {self._figures}. {plain(caption)} {alt}*"
        return self._add(element("figure", _scrolling(picture, name), legend), said)

    def footer(self, *pieces: object) -> Self:
        """A paragraph at the very end."""
        self._footer.append(element("p", *pieces))
        self._last.append(plain(*pieces))
        return self

    def html(self) -> str:
        """The whole page."""
        links = [
            element("li", element("a", title, href=f"#{anchor}"))
            for anchor, title in self._sections
        ]
        contents = element("nav", element("ol", *links), aria_label="Contents")
        return SHEET.substitute(
            language=text(self.language),
            policy=POLICY,
            version=text(__version__),
            title=text(self.title),
            style=files("discreet.report").joinpath("style.css").read_text(encoding="utf-8"),
            subtitle=element("p", self.subtitle, class_="subtitle") if self.subtitle else "",
            contents=contents if len(links) > 2 else "",
            body="\n".join(self._body),
            footer="\n".join(self._footer),
        )

    def markdown(self) -> str:
        """The same as Markdown, for a protocol that others edit; figures become their words."""
        head = [f"# {self.title}", *([self.subtitle] if self.subtitle else [])]
        return "\n\n".join([*head, *self._plain, *self._last]) + "\n"

    def write(self, path: str | Path) -> Path:
        """Write the page whole or not at all: Markdown if the path ends with .md, else HTML."""
        from ..simulator._files import written_whole

        path = check_path(path)
        page = self.markdown() if path.suffix.lower() == ".md" else self.html()
        with written_whole(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
        return path

    def _add(self, piece: Html, words: str) -> Self:
        self._body.append(piece)
        self._plain.append(words)
        return self


def check_path(path: str | Path, argument: str = "output") -> Path:
    """A path that a file can be written to; worth asking before long work.

    Args:
        path: The path.
        argument: What the error calls it.

    Returns:
        The path.

    Raises:
        InvalidArgument: If no file can be written there.

    Example:
        >>> from discreet.report import check_path
        >>> check_path("report.html").name
        'report.html'
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InvalidArgument(argument, "name a file", str(path), "add a file name to it")
        if path.exists() and not path.is_file():
            raise InvalidArgument(
                argument, "name an ordinary file", str(path), "give a new file name"
            )
        if not path.parent.is_dir():
            raise InvalidArgument(
                argument, "lie in a folder that exists", str(path), f"create {path.parent} first"
            )
        if path.exists() and not os.access(path, os.W_OK):
            raise InvalidArgument(argument, "be writable", str(path), "choose another place")
        # What permissions say is not always what a file system does, so try.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.") as attempt:
            attempt.write(b"x")
            attempt.flush()
    except InvalidArgument:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidArgument(
            argument, "be writable", str(path), f"choose another place ({reason})"
        ) from None
    return path


def svg(figure: Figure, *, salt: str = "discreet") -> bytes:
    """A figure as SVG: the same figure always gives the same bytes, and words stay words."""
    import io

    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def _data(picture: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode('ascii')}"


@contextmanager
def _narrow(figure: Figure) -> Iterator[None]:
    """The figure as wide as a phone, so that its words stay as large as those around it."""
    width, height = (float(side) for side in figure.get_size_inches())
    margins = {side: getattr(figure.subplotpars, side) for side in ("left", "right", "top")}
    titles = {axes: axes.get_title(loc="left") for axes in figure.axes}
    if width <= NARROW:
        yield
        return
    try:
        figure.set_size_inches(NARROW, height)
        for axes, title in titles.items():
            axes.set_title(textwrap.fill(title, TITLE), loc="left", fontsize=10)
        if figure.get_layout_engine() is None:
            growth = 0.8 * width / NARROW
            left, right = growth * margins["left"], 1.0 - 0.85 * growth * (1.0 - margins["right"])
            figure.subplots_adjust(left=left, right=right, top=min(margins["top"], 0.87))
        yield
    finally:
        figure.set_size_inches(width, height)
        for axes, title in titles.items():
            axes.set_title(title, loc="left", fontsize=10)
        if figure.get_layout_engine() is None:
            figure.subplots_adjust(**margins)


def _scrolling(content: Html, name: str) -> Html:
    """What is too wide for a small screen scrolls by itself; the keyboard must reach it."""
    return element("div", content, class_="scroll", role="region", aria_labelledby=name, tabindex=0)


def _is_number(content: object) -> bool:
    return isinstance(content, Estimate | Real) and not isinstance(content, bool)


def _shown(content: object) -> object:
    if isinstance(content, bool):
        return "yes" if content else "no"
    if isinstance(content, int):
        return count(content)
    if isinstance(content, float):
        return f"{content:.6g}"
    return content
