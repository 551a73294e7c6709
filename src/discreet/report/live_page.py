"""The section of a report that tells of a live trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .html import joined, strong
from .numbers import count, decimal
from .page import Page
from .pictures import title

STATUS = {
    "collecting": "collecting patients for the next release",
    "settling": "waiting for the last outcomes",
    "finished": "finished",
}


@dataclass(frozen=True)
class LiveStory:
    """A live trial on simulated patients: what happened to it, and what it told the public."""

    policy: str
    patients: int
    protocol: str
    """How patients came and answered, in a sentence or two."""
    events: Mapping[str, int]
    """What happened, and how often."""
    report: Mapping[str, Any]
    """What the trial publishes: `Trial.report()`."""


def add_live(page: Page, story: LiveStory) -> Page:
    """Tell the story."""
    page.section("A live trial").text(
        f"The policy {title(story.policy)} can also run a real trial. Here it ran one with "
        f"{count(story.patients)} simulated patients, and with the noise that protects real ones: "
        "cryptographic randomness without a seed. This section is therefore different each time "
        "the report is made, and that is intended."
    ).text(story.protocol)
    page.items(joined(strong(count(number)), f" {words}") for words, number in story.events.items())
    page.text(
        "These numbers are known only because the patients are simulated: who answered, and when, "
        "is private too. What follows is all that the trial itself publishes."
    )
    return public_report(page, story.report)


def interval_text(arm: Mapping[str, Any]) -> str:
    """The interval of an arm's mean, where there is one."""
    if arm["mean"] is None or "interval" not in arm:
        return "–"
    low, high = arm["interval"]
    return f"{decimal(low, 3)} to {decimal(high, 3)}"


def public_report(page: Page, report: Mapping[str, Any]) -> Page:
    """What a live trial publishes about itself."""
    present = {}
    for block in report.get("blocks", [report["batch"]] if "batch" in report else []):
        size = "" if block["size"] is None else f" of {count(block['size'])}"
        words = f"{count(block['filled'])}{size} patients assigned"
        present[str(block["arm"])] = words
    page.heading("The public report of the trial").terms(
        {
            "Policy": report["policy"],
            "Promise": report["guarantee"],
            "State": f"{STATUS.get(report['status'], report['status'])}; "
            f"{count(report['assigned'])} patients assigned, {count(report['rounds'])} of them "
            f"used for learning, {count(report['releases'])} releases",
            "Treatment given most often": str(report["most_played"]),
            "Present blocks": "; ".join(f"{arm}, {words}" for arm, words in present.items()),
        }
    )
    held = report.get("intervals")
    level = "Interval" if held is None else f"{100.0 * held['level']:g} % interval ({held['kind']})"
    if held is not None and held.get("estimand") == "responders":
        level += ", of those who answer"
    return page.table(
        [
            "Treatment",
            "Assigned",
            "Used for learning",
            "Releases",
            "Success rate, with noise",
            level,
        ],
        [
            [
                str(arm["arm"]).capitalize(),
                arm["assigned"],
                arm["used"],
                arm["releases"],
                "–" if arm["mean"] is None else decimal(arm["mean"], 3),
                interval_text(arm),
            ]
            for arm in report["arms"]
        ],
        caption="Published by the live trial. The rates contain the noise that protects the "
        "patients: the more patients a release covers, the less it matters.",
        numeric=(1, 2, 3, 4, 5),
    )
