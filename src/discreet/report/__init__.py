"""Reports: one HTML file that holds everything it shows.

>>> from discreet.report import Page
>>> page = Page("A small study").section("What was asked").text("Which of two arms is better?")
>>> page = page.table(["arm", "successes"], [["first", 12], ["second", 7]], caption="Counts")
>>> '<th scope="row" class="short" role="rowheader">first</th>' in page.html()
True

Everything is escaped, nothing is fetched, no script is needed. `page.write(path)` writes the file
whole or not at all.
"""

from ._html import Html, element, strong
from ._live_page import trial_report
from ._numbers import Estimate, count, decimal, percent
from ._page import Page, check_path
from ._papers import Study, papers

__all__ = [
    "Estimate",
    "Html",
    "Page",
    "Study",
    "check_path",
    "count",
    "decimal",
    "element",
    "papers",
    "percent",
    "strong",
    "trial_report",
]
