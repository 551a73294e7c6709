"""Pages: whole, escaped, self-contained, accessible."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import discreet
from discreet.errors import InvalidArgument
from discreet.inference import differences, probability_of_best
from discreet.report import (
    Estimate,
    Html,
    Page,
    check_path,
    count,
    decimal,
    element,
    percent,
    trial_report,
)
from discreet.report._html import VOID
from discreet.report._page import svg

NASTY = "<script>alert('x')</script> & \"quotes\" $title"


class Outline(HTMLParser):
    """The tags of a page, and whether they are balanced."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def a_figure() -> Figure:
    figure = Figure(figsize=(3, 2))
    figure.add_subplot().plot([1, 2, 3], [2, 1, 2])
    return figure


def a_page() -> Page:
    return (
        Page("Title", subtitle="Below")
        .section("One")
        .text("Text")
        .figure(a_figure(), caption="A figure", alt="A line that dips")
        .section("One")
        .table(["arm", "mean"], [["a", Estimate(1.0, 0.1)], ["b", 2]], caption="A table")
        .section("Three")
        .items(["x", "y"])
        .terms({"t": "meaning"})
        .note("careful", warning=True)
        .heading("sub")
        .code("a < b")
        .footer("end")
    )


def test_a_page_is_balanced_and_accessible() -> None:
    outline = Outline(a_page().html())
    assert outline.all("html") == [{"lang": "en"}]
    assert [tag for tag, _ in outline.tags].count("h1") == 1
    (image,) = outline.all("img")
    assert image["alt"] == "A line that dips"
    identifiers = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    links = [a["href"] for a in outline.all("a")]
    assert links == ["#one", "#one-2", "#three"]
    labelled = [a["aria-labelledby"] for a in outline.all("div") if "aria-labelledby" in a]
    assert {*labelled, "one", "one-2", "three"} == set(identifiers)
    scopes = [a.get("scope") for a in outline.all("th")]
    assert scopes == ["col", "col", "row", "row"]


def test_a_page_fetches_nothing() -> None:
    outline = Outline(a_page().html())
    for _, attributes in outline.tags:
        for name in ("src", "href", "srcset", "data", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/svg+xml;base64,"))
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in outline.tags}
    page = a_page().html()
    assert "url(" not in page
    assert "@import" not in page


def test_everything_is_escaped() -> None:
    page = (
        Page(NASTY, subtitle=NASTY)
        .section(NASTY)
        .heading(NASTY)
        .text(NASTY, element("b", NASTY, title=NASTY))
        .note(NASTY)
        .items([NASTY])
        .terms({NASTY: NASTY})
        .code(NASTY)
        .table([NASTY], [[NASTY]], caption=NASTY)
        .figure(a_figure(), caption=NASTY, alt=NASTY)
        .footer(NASTY)
    )
    outline = Outline(page.html())
    assert "script" not in {tag for tag, _ in outline.tags}
    assert outline.all("img")[0]["alt"] == NASTY
    assert outline.words.count(NASTY) >= 12


def test_html_is_kept_as_it_is() -> None:
    assert element("p", Html("<b>1</b>"), " < 2") == "<p><b>1</b> &lt; 2</p>"
    assert element("img", src="x", alt=None) == '<img src="x">'


def test_pages_are_the_same_every_time() -> None:
    assert a_page().html() == a_page().html()
    assert svg(a_figure()) == svg(a_figure())


@pytest.mark.parametrize(
    ("build", "argument"),
    [
        (lambda: Page(""), "title"),
        (lambda: Page("a").table(["x", "y"], [["only one"]], caption="c"), "rows"),
        (lambda: Page("a").figure(a_figure(), caption="c", alt=""), "alt"),
    ],
)
def test_mistakes_are_named(build: Any, argument: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        build()
    assert caught.value.argument == argument


def test_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.html"
    assert a_page().write(target) == target
    first = target.read_text(encoding="utf-8")
    assert first == a_page().html()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        Page("Another").write(target)
    monkeypatch.undo()
    assert target.read_text(encoding="utf-8") == first
    assert list(tmp_path.iterdir()) == [target]


def test_paths_are_checked_first(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert check_path(tmp_path / "new.html") == tmp_path / "new.html"
    assert check_path(file) == file
    for bad in (
        tmp_path,
        tmp_path / "no" / "r.html",
        file / "r.html",
        tmp_path / ("x" * 300),
        "a\0b",
        "/dev/null",
        "",
    ):
        with pytest.raises(InvalidArgument) as caught:
            check_path(bad)
        assert caught.value.argument == "output"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        (Estimate(618.32, 13.7), "618 ± 14"),
        (Estimate(69.27, 1.42), "69.3 ± 1.4"),
        (Estimate(-0.234, 0.02), "−0.23 ± 0.02"),
        (Estimate(12345.6, 250.0), "12,346 ± 250"),
        (Estimate(5.0, 0.0), "5.0"),
        (Estimate(500.0, math.nan), "500"),
        (Estimate(math.nan, math.nan), "–"),
    ],
)
def test_errors_set_the_precision(estimate: Estimate, shown: str) -> None:
    assert str(estimate) == shown


def test_estimates_are_means_and_standard_errors() -> None:
    found = Estimate.of([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.error == pytest.approx(math.sqrt(5.0 / 3.0) / 2.0)
    assert math.isnan(Estimate.of([1.0]).error)
    assert math.isnan(Estimate.of([]).mean)


def test_numbers_for_readers() -> None:
    assert count(-1234.4) == "−1,234"
    assert decimal(0.5, 2) == "0.50"
    assert decimal(-0.0004, 3) == "0.000"
    assert percent(0.4362) == "43.6\u202f%"


def test_a_phone_shows_everything() -> None:
    """At 390 px neither a table nor a picture is wider than the screen."""
    page = a_page().html()
    outline = Outline(page)
    cells = outline.all("td")
    assert [cell["data-label"] for cell in cells] == ["mean", "mean"]
    roles = [a["role"] for tag, a in outline.tags if tag in ("table", "tr", "th", "td")]
    assert roles[:4] == ["table", "row", "columnheader", "columnheader"]
    assert set(roles) == {"table", "row", "columnheader", "rowheader", "cell"}
    style = page.partition("<style>")[2].partition("</style>")[0]
    small = style.partition("@media screen and (max-width: 40rem)")[2].partition("@media print")[0]
    assert "min-width: 0" in small
    assert "table, tbody, tr, th, td, caption { display: block; }" in small
    assert "content: attr(data-label)" in small


def test_pictures_are_drawn_again_for_phones() -> None:
    import base64

    figure = Figure(figsize=(7.6, 4.0))
    axes = figure.add_subplot()
    axes.plot([1, 2], [1, 2])
    axes.set_title("a title that is too long for a line of a phone by some words", loc="left")
    before = (figure.get_size_inches().tolist(), figure.subplotpars.right, axes.get_title("left"))
    outline = Outline(Page("t").figure(figure, caption="c", alt="a line").html())
    assert before == (
        figure.get_size_inches().tolist(), figure.subplotpars.right, axes.get_title("left"),
    )  # fmt: skip
    (source,) = outline.all("source")
    (image,) = outline.all("img")
    assert source["media"] == "(max-width: 40rem)"
    drawn = [
        base64.b64decode((data or "").partition(",")[2]).decode()
        for data in (source["srcset"], image["src"])
    ]
    widths = [float(text.partition('width="')[2].partition("pt")[0]) for text in drawn]
    assert widths[0] == pytest.approx(4.3 * 72, rel=0.01)
    assert widths[1] == pytest.approx(7.6 * 72, rel=0.01)
    # a heading of ten points is at least eleven pixels high on a screen of 390
    assert 10.0 * 4 / 3 * 350 / (widths[0] * 4 / 3) >= 11.0


def test_no_row_is_named_in_the_pictures() -> None:
    import discreet
    from discreet.report import _pictures as pictures

    source = Path(pictures.__file__).read_text(encoding="utf-8")
    assert not [name for name in discreet.CATALOGUE if f'"{name}"' in source]
    palette = pictures.Palette(["imed", "ucb1", "dp-imed", "adap-ucb", "ldp-ucb-b", "mine"])
    assert palette["dp-imed"] == palette["imed"]
    assert palette["ucb1"] == palette["adap-ucb"]
    assert len({palette[name] for name in ("dp-imed", "adap-ucb", "ldp-ucb-b", "mine")}) == 4
    assert pictures.twin("dp-klucb") == "kl-ucb"
    assert pictures.twin("mine") == ""
    for row in discreet.CATALOGUE.values():
        assert not row.twin or not discreet.CATALOGUE[row.twin].budgets


# --- the page of a trial --------------------------------------------------------------------------


def played(binary: bool, arms: int = 3) -> Any:
    rehearsal = discreet.Rehearsal(
        discreet.policy("dp-imed", epsilon=1.0), ["A", "B", "C"][:arms], horizon=500, arrivals=12,
        delay="2 days", default=0.0, seed=1, outcomes=discreet.Outcomes(binary=binary),
    )  # fmt: skip
    rehearsal.play(discreet.Bernoulli([0.6, 0.4, 0.3][:arms]))
    return rehearsal


def test_the_page_of_a_trial_has_effects_flow_methods_and_how_to_cite() -> None:
    """Effects are those of `inference`, from the record that the report holds."""
    rehearsal = played(binary=True)
    report = rehearsal.report()
    words = trial_report(report, clock="days", title="Tea or milk").markdown()
    assert words.startswith("# Tea or milk\n")
    for row in differences(rehearsal):
        ends = [
            f"{x:.3f}".replace("-", "\N{MINUS SIGN}") for x in (row.estimate, row.low, row.high)
        ]
        assert f"| {row.arm} | {' | '.join(ends)} |" in words
    for arm, share in probability_of_best(rehearsal).items():
        line = next(
            each
            for each in words.splitlines()
            if each.startswith(f"| {arm}") and each.count("|") == 6 and "%" in each
        )
        assert f"{100 * share:.1f}" in line
    for row in report["arms"]:
        assert f"| {row['arm']} | {row['assigned']} | {row['used']} | {row['size']} |" in words
    assert "## Methods" in words
    assert "## How to cite" in words
    assert discreet.__version__ in words
    assert "First release day" in words


def test_outcomes_of_any_size_have_effects_and_no_probability_of_best() -> None:
    words = trial_report(played(binary=False).report(), clock="days").markdown()
    assert "Difference to" in words
    assert "Is best" not in words


def test_a_trial_without_releases_has_a_page_without_effects() -> None:
    trial = discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"])
    words = trial_report(trial.report()).markdown()
    assert "Nothing was released yet" in words
    assert "Difference to" not in words
