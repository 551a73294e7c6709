"""Live trials on a page: the one that runs now, and the story of one in a longer report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from .._checks import one_of
from .._version import __version__
from ..errors import InvalidArgument
from ._html import joined, strong
from ._numbers import count, decimal, percent
from ._page import Page
from ._pictures import title

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from ..live._documents import ArmReport, Report

STATUS = {
    "collecting": "collecting",
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
    report: Report
    """What the trial publishes: `Trial.report()`, of a clock that counts days."""


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
    public_report(page, story.report)
    if story.report.get("course"):
        add_course(page, story.report, Times("days", story.report), page.heading)
    return page


DAY = 86_400.0
CLOCKS = ("utc", "days")


class Times:
    """Moments in words: of a clock that counts seconds since 1970, or of one that counts days."""

    def __init__(self, clock: str, report: Report, zone: ZoneInfo | None = None) -> None:
        self.dates, self.zone = one_of("clock", clock, *CLOCKS) == "utc", zone
        course = report.get("course")
        self.start = course[0]["time"] if course and self.dates else 0.0

    def __call__(self, moment: float | None) -> str:
        """ "2026-03-01 14:05 UTC", "2026-03-01 15:05+01:00" in a zone, or "day 17.2"."""
        if moment is None:
            return "–"
        if not self.dates:
            return f"day {moment:.1f}"
        if self.zone is not None:
            return datetime.fromtimestamp(moment, self.zone).isoformat(" ", "minutes")
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")

    def day(self, moment: float) -> float:
        """Days since the first release, or since the beginning."""
        return (moment - self.start) / (DAY if self.dates else 1.0)

    @property
    def across(self) -> str:
        """What such days are called."""
        return "days since the first release" if self.dates else "day"


def zone_named(name: str) -> ZoneInfo:
    """A time zone."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        pass
    raise InvalidArgument(
        "zone", "be a time zone that this machine knows", name,
        "use for example Europe/Paris, or UTC; the package tzdata has them all",
    )  # fmt: skip


def trial_report(
    report: Report, clock: str = "utc", zone: ZoneInfo | None = None, *,
    title: str = "A private adaptive trial",
) -> Page:  # fmt: skip
    """The page of one trial, from `Trial.report()`.

    Built from what is public, so anyone may see it. It says where the trial stands, effects with
    intervals, its assignments over time, the released means, what happens next, the flow of
    participants, methods and how to cite. Of a trial by stratum, it has the first of these for
    each.

    Args:
        report: What `Trial.report()` returned.
        clock: "utc" if its clock counts seconds since 1970, as it does by default; or "days".
        zone: Moments are those of the people there, with their offset from UTC.
        title: The title of the page.

    Returns:
        The page.

    Example:
        >>> import discreet
        >>> from discreet.report import trial_report
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> with discreet.Trial(policy, arms=["A", "B"], horizon=20) as trial:
        ...     page = trial_report(trial.report(), title="A or B")
        >>> "A or B" in page.html()
        True
    """
    page = Page(title, subtitle=f"{_standing(report)}. {_dates(report, clock)}")
    if "protects" in report:
        page.note(f"This is a rehearsal. It protects {report['protects']}.", warning=True)
    if "strata" in report and "test" in report:
        add_test(page, report, page.section)
    for one in report.get("strata", [report]):
        begin = page.section
        if "stratum" in one:
            page.section(f"Stratum: {one['stratum']}").text(_standing(one))
            begin = page.heading
        _add_trial(page, one, Times(clock, one, zone), begin)
    parts = report.get("strata", [report])
    one = parts[0]
    if any(part.get("arms") for part in parts):
        flow_table(page.section("Flow of participants"), parts)
    page.section("What was planned").terms(
        {name.capitalize(): in_words(value) for name, value in one["settings"].items()}
    )
    page.section("What is promised").text(report["guarantee"]).text(one["meaning"])
    page.section("Methods").text(methods(one))
    page.section("How to cite").text(cited())
    return page.footer(
        f"Written by discreet {__version__}. "
        "Everything on this page is computed from releases and public counts; looking at it, and "
        "deciding by it, costs no privacy."
    )


def _add_trial(page: Page, report: Report, times: Times, begin: Callable[[str], Page]) -> None:
    """One trial, under headings that `begin` makes."""
    begin("Where it stands").text(report["policy"])
    for warning in report.get("warnings", ()):
        page.note(f"Warning: {warning}.", warning=True)
    if report.get("most_played") is not None:
        arm_table(
            page, report, ("Arm", "Mean, with noise"),
            "All arms. The noise in the means protects participants: the more of them a release "
            "covers, the less it matters.",
        )  # fmt: skip
    elif arms := report.get("arms"):
        page.table(
            ["Arm", "Assigned"], [[str(arm["arm"]), arm["assigned"]] for arm in arms],
            caption="All arms.",
        )  # fmt: skip
    if "test" in report:
        add_test(page, report, begin)
    elif report.get("record"):
        _add_effects(page, report, begin)
    if answer := report.get("recommendation") if "test" not in report else None:
        near = f" as best or within {answer['within']:g} of it" if "within" in answer else ""
        page.note(f"The trial has stopped, and recommends {answer['arm']}{near}.")
    answered = [
        (arm, share) for arm in report.get("arms") or ()
        if (share := arm.get("answered")) is not None
    ]  # fmt: skip
    if answered:
        page.table(
            ["Arm", "Answered", "Mean, if all others had the worst", "… or the best outcome"],
            [
                [str(arm["arm"]), decimal(share, 2), *_bounds(arm)]
                for arm, share in answered
            ],
            caption="Missing outcomes. The means above are of those who answered, taken to be like "
            "the others of their arm; these bounds assume nothing. All contain noise.",
            numeric=(1, 2, 3),
        )  # fmt: skip
    if trend := report.get("trend"):
        page.table(
            ["Arm", "Behind the leader", "At least", "At most"],
            [
                [str(arm["arm"]), *(decimal(x, 3) for x in (arm["mean"], *arm["interval"]))]
                for arm in trend["behind"]
            ],
            caption=f"Differences to {trend['leader']}, within epochs of fixed "
            "allocation: a trend that all arms share cancels in them. The ends hold at all times "
            f"and for all arms at once, with confidence {100.0 * trend['level']:g} %.",
            numeric=(1, 2, 3),
        )  # fmt: skip
    if report.get("course"):
        add_course(page, report, times, begin)
    begin("What happens next").items(next_steps(report, times))


def _add_effects(page: Page, report: Report, begin: Callable[[str], Page]) -> None:
    """Differences to the leader with intervals, and how likely each arm is best."""
    from ..errors import DiscreetError
    from ..inference import Record, differences, probability_of_best

    record = Record.from_dict(report["record"] or {})
    if not any(arm["releases"] for arm in report["arms"] or ()):
        return
    try:
        found = differences(record)
    except DiscreetError:  # what is released has no such intervals
        return
    best: dict[Any, float] = {}
    if record.binary:
        with suppress(DiscreetError):  # of sigmoids
            best = dict(probability_of_best(record))
    leader = found.rows[0].against
    low, high = record.outcome_range
    widest = high - low
    rows: list[list[object]] = [
        [
            str(row.arm),
            "–" if row.estimate is None else decimal(min(max(row.estimate, -widest), widest), 3),
            decimal(max(row.low, -widest), 3), decimal(min(row.high, widest), 3),
            *([percent(best[row.arm])] if best else []),
        ]
        for row in found
    ]  # fmt: skip
    if best:
        rows.append([f"{leader} (leads)", "–", "–", "–", percent(best[leader])])
    begin("Effects").table(
        ["Arm", f"Difference to {leader}", "At least", "At most", *(["Is best"] if best else [])],
        rows,
        caption=f"{100.0 * found.level:g} % intervals ({found.kind}) that hold for all arms at "
        "once, although allocation adapts; they allow for the noise."
        + (
            " How likely an arm is best: given the releases, for outcomes of 0 or 1 and with all "
            "rates equally likely before."
            if best
            else ""
        ),
        numeric=range(1, 4 + bool(best)),
    )


def flow_table(page: Page, parts: Sequence[Report]) -> Page:
    """Who was assigned, used and released, by arm and stratum."""
    rows: list[list[object]] = []
    for part in parts:
        of = f"{part['stratum']}, " if "stratum" in part else ""
        for arm in part.get("arms") or ():
            answered = arm.get("answered")
            rows.append(
                [
                    f"{of}{arm['arm']}", arm["assigned"], arm.get("used", "–"),
                    arm.get("size", "–"), "–" if answered is None else percent(answered, 0),
                ]
            )  # fmt: skip
    return page.table(
        ["Arm", "Assigned", "Used", "Released", "Answered, released"], rows,
        caption="Assigned: all who got the arm. Used: those whose outcomes count. Released: those "
        "behind the present figures. How many answered is private, and shown only where it is "
        "released with noise.",
        numeric=(1, 2, 3, 4),
    )  # fmt: skip


def methods(report: Report) -> str:
    """A paragraph for the methods section of a paper."""
    settings = report["settings"]
    arms = ", ".join(str(arm) for arm in settings["arms"])  # type: ignore[attr-defined]
    held = report.get("intervals")
    sentences = [
        f"Participants were assigned to {arms} by {report['policy']}"
        + (f", planned as {settings['design']}." if "design" in settings else "."),
        f"Outcomes were {settings['outcomes']}; deadline: {settings['deadline']}"
        + (f"; {settings['missing']}." if "missing" in settings else "."),
        "Outcomes were grouped in blocks. The sum of each block was released once, with random "
        "noise, and all decisions, estimates and intervals are computed from these releases.",
        report["guarantee"],
    ]
    if held is not None:
        sentences.append(
            f"Intervals are of the kind {held['kind']!r} at level {100.0 * held['level']:g} % and "
            "allow for the noise."
        )
    sentences.append(f"Software: discreet {__version__}.")
    return " ".join(sentences)


def in_words(value: object) -> str:
    """A setting without the brackets of Python."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def cited() -> str:
    """The software as a reference."""
    from ..references import REFERENCES

    work = REFERENCES["discreet"]
    return f"{', '.join(work.authors)}. {work.title}. Version {__version__}, {work.year}."


def _dates(report: Report, clock: str) -> str:
    """When the first and the latest block were released."""
    times = [entry["time"] for part in report.get("strata", [report])
             for entry in part.get("course") or ()]  # fmt: skip
    if not times:
        return "Nothing was released yet."
    said = Times(clock, report)
    return f"First release {said(min(times))}, latest {said(max(times))}."


DECISIONS = {
    "better": "{0} is shown to be better than {1}",
    "worse": "{0} is shown to be worse than {1}",
    "no difference shown": "No difference between {0} and {1} is shown",
    "futile": "The trial was given up: it was unlikely to show that {0} is better than {1}",
}


ONE_TRIAL = (
    "The estimate is median-unbiased and its interval is for a trial that stops like this one; "
    "both rest on the normal distribution, the decision does not."
)
IN_EPOCHS = (
    "Arms are compared within epochs alone, so a trend that both share cancels. The interval holds "
    "at every planned look and rests on the normal distribution, the decision does not."
)
OVER_STRATA = (
    "The estimate is Mantel and Haenszel's, its interval is not corrected for the stop and rests "
    "on the normal law. All strata stop together."
)


def _sums_of(names: list[str]) -> list[str]:
    return [f"Sum of {name}, new" for name in names]


def add_test(page: Page, report: Report, begin: Callable[[str], Page]) -> None:
    """The verdict of a test, look by look; before it, the looks that were planned."""
    test = report["test"]
    whole = "strata" in report
    arms = (report["strata"][0] if whole else report)["arms"] or ()
    names = [str(arm["arm"]) for arm in arms]
    begin("The test")
    if "rate" in test:
        _add_alarm(page, report, names[0])
        return
    if "comparisons" in test:
        _add_several(page, report, names)
        return
    if test["decision"] == "go on":
        had = "No look yet" if test["look"] == 0 else f"Look {test['look']}"
        page.note(f"{had}: the trial goes on. What it shows is not told before its verdict.")
    else:
        low, high = test["interval"]
        said = DECISIONS[test["decision"]].format(*names)
        page.note(
            f"{said}, at look {test['look']}. The difference is estimated as "
            f"{decimal(test['difference'], 3)}, {100.0 * test['level']:g} % interval "
            f"{decimal(low, 3)} to {decimal(high, 3)}"
            + (f", p = {test['p_value']:.2g}." if "p_value" in test else ".")
        )
    side = "beyond ±" if test["sides"] == 2 else "above "
    page.table(
        ["Look", "Participants", "Boundary", *(() if whole else _sums_of(names)), "Z"],
        [
            [number, look["participants"],
             f"{side}{decimal(look['boundary'], 3)}" if "boundary" in look else "no test",
             *(() if whole else [decimal(x, 0) for x in look.get("sums", ())] or ["–", "–"]),
             decimal(look["z"], 3) if "z" in look else "–"]
            for number, look in enumerate(test["looks"], 1)
        ],
        caption="The looks, as they were planned before the first outcome. Sums contain the noise "
        "that protects participants, and Z allows for it. " + (
            OVER_STRATA if whole else ONE_TRIAL if "p_value" in test else IN_EPOCHS
        ),
        numeric=range(4 if whole else 6),
    )  # fmt: skip
    if forest := test.get("forest"):
        rows = [*forest["strata"], forest["total"]]  # type: ignore[misc]
        page.table(
            ["Stratum", "Participants", "Difference", "At least", "At most"],
            [
                [each["name"], each["participants"], *(decimal(x, 3) for x in
                 (each["difference"], *each["interval"]))]
                for each in rows
            ],
            caption="Effects by stratum, each with its own interval. Heterogeneity: "
            f"Cochran's Q = {forest['q']:.2f}, p = {forest['p_heterogeneity']:.2g}.",
            numeric=(1, 2, 3, 4),
        )  # fmt: skip
    if test["decision"] != "go on":
        low, high = test["repeated"]
        page.text(
            f"An interval that also holds if the boundary was overruled: {decimal(low, 3)} to "
            f"{decimal(high, 3)}."
        )


def _add_alarm(page: Page, report: Report, name: str) -> None:
    """A safety alarm: where it stands, and its thresholds."""
    test = report["test"]
    page.note(f"{test['sentence'].capitalize()}.")
    page.table(
        ["Look", "Participants", "Alarm at", f"Harms in {name}, new"],
        [
            [number, look["participants"], decimal(look["boundary"], 0),
             *([decimal(x, 0) for x in look.get("sums", ())] or ["–"])]
            for number, look in enumerate(test["looks"], 1)
        ],
        caption="The alarm goes off where the sum of all harms so far reaches the number. Sums "
        f"contain noise. A rate of {test['rate']:g} is acceptable.", numeric=range(4),
    )  # fmt: skip


def _add_several(page: Page, report: Report, names: list[str]) -> None:
    """Several treatments against a control: the looks, and a line for each treatment."""
    test = report["test"]
    page.note(f"{test['sentence'].capitalize()}.")
    side = "beyond ±" if test["sides"] == 2 else "above "
    page.table(
        ["Look", "Participants", "Boundary", *_sums_of(names)],
        [
            [number, look["participants"], f"{side}{decimal(look['boundary'], 3)}",
             *(["–" if x is None else decimal(x, 0) for x in look.get("sums", ())]
               or ["–"] * len(names))]
            for number, look in enumerate(test["looks"], 1)
        ],
        caption="The looks, as they were planned before the first outcome; the boundary is that "
        "for all treatments, and falls as treatments are decided. Sums contain the noise that "
        "protects participants.",
        numeric=range(3 + len(names)),
    )  # fmt: skip
    page.table(
        ["Treatment", "Decision", "Look", "Difference", "At least", "At most"],
        [
            [str(one["arm"]), one["decision"], one.get("look", "–"),
             *([decimal(one["difference"], 3), *(decimal(x, 3) for x in one["repeated"])]
               if "difference" in one else ["–"] * 3)]
            for one in test["comparisons"]
        ],
        caption=f"Each treatment against {names[-1]}. One probability of any false claim covers "
        "all of them; the intervals hold together, at all looks, and rest on the normal "
        "distribution.",
        numeric=(2, 3, 4, 5),
    )  # fmt: skip


def _standing(report: Report) -> str:
    horizon = report.get("horizon")
    of = "" if horizon is None else f" of {count(horizon)}"
    return (
        f"{STATUS.get(report['status'], report['status']).capitalize()}: "
        f"{count(report['assigned'])}{of} participants, {count(report['releases'])} releases"
    )


def _bounds(arm: ArmReport) -> list[str]:
    return ["–", "–"] if arm["bounds"] is None else [decimal(x, 3) for x in arm["bounds"]]


def add_course(page: Page, report: Report, times: Times, begin: Callable[[str], Page]) -> None:
    """Assignments and released means over time, under headings that `begin` makes."""
    from ._live_pictures import assignments_picture, means_picture

    course = report["course"]
    days = [times.day(entry["time"]) for entry in course]
    last = course[-1]["assigned"]
    begin("Assignments over time").figure(
        assignments_picture(report, days, times.across),
        caption="Participants of every arm, each time a block was released.",
        alt="Participants at the last release: "
        + ", ".join(f"{arm} {count(places)}" for arm, places in last.items()) + ".",
    )  # fmt: skip
    if "test" in report:
        return
    spans = "their intervals" if report["intervals"] is not None else "worst-case bounds"
    means = ", ".join(
        f"{arm['arm']} {decimal(arm['mean'], 3)}"
        for arm in report["arms"] or ()
        if arm["mean"] is not None
    )
    begin("Released means").figure(
        means_picture(report, days, times.across),
        caption=f"Means with the noise that protects participants, one point per release; at the "
        f"right {spans} now.",
        alt=f"Released means now: {means}.",
    ).table(
        ["Released", "Arm", "Places behind it", "Mean"],
        [
            [times(entry["time"]), str(entry["arm"]), entry["size"],
             "–" if entry["mean"] is None else decimal(entry["mean"], 3)]
            for entry in course[-12:]
        ],
        caption="The latest releases.", numeric=(2, 3),
    )  # fmt: skip


def next_steps(report: Report, times: Times) -> list[str]:
    """What will be released, and when; what is being filled; when it ends."""
    steps = []
    blocks = report.get("blocks") or ()
    for block in sorted(
        (b for b in blocks if b["due"] is not None), key=lambda b: b["due"] or 0.0
    ):  # fmt: skip
        steps.append(
            f"{times(block['due'])}: block {block['block']} of {block['arm']} "
            f"({participants(block['filled'])}) is released."
        )
    for block in (b for b in blocks if b["due"] is None):
        size = "" if block["size"] is None else f" of {count(block['size'])}"
        steps.append(
            f"Block {block['block']} of {block['arm']} has {count(block['filled'])}{size} places "
            "filled; once it is full, its outcomes are waited for and released together."
        )
    if report["status"] == "collecting" and report["horizon"] is not None:
        left = report["horizon"] - report["assigned"]
        steps.append(f"{participants(max(left, 0), 'more ')} to come, then the trial ends.")
    if report["status"] == "fenced":
        return [
            f"Nothing, for the trial is fenced: {report['fence']}. Put the newest file and its "
            "witness back, or end it: discreet trial fence FILE --stop."
        ]
    if report["status"] == "finished":
        steps.append("Nothing: the trial is over, and everything is released.")
    if ended := report.get("ended"):
        steps.append(f"It was ended by hand; the reason given: {ended.get('by')}.")
    return steps or ["It waits for participants."]


def participants(number: int, which: str = "") -> str:
    """ "1 participant", "12 participants"."""
    return f"{count(number)} {which}participant{'' if number == 1 else 's'}"


def interval_text(arm: ArmReport) -> str:
    """The interval of an arm's mean, where there is one."""
    if arm["mean"] is None or "interval" not in arm:
        return "–"
    low, high = arm["interval"]
    return f"{decimal(low, 3)} to {decimal(high, 3)}"


def public_report(page: Page, report: Report) -> Page:
    """What a live trial publishes about itself, in a longer report about treatments."""
    present = {}
    for block in report.get("blocks", [report["batch"]] if "batch" in report else []) or ():
        size = "" if block["size"] is None else f" of {count(block['size'])}"
        present[str(block["arm"])] = f"{count(block['filled'])}{size} patients assigned"
    page.heading("The public report of the trial").terms(
        {
            "Policy": report["policy"],
            "Promise": report["guarantee"],
            "State": f"{STATUS.get(report['status'], report['status'])}; "
            f"{count(report['assigned'])} patients assigned, {count(report['rounds'])} of them "
            f"used for learning, {count(report['releases'])} releases",
            "Treatment given most often": str(report["most_played"]),
            "Present blocks": "; ".join(f"{arm}, {words}" for arm, words in present.items())
            or "none: everything is released",
        }
    )
    return arm_table(
        page, report, ("Treatment", "Success rate, with noise"),
        "Published by the live trial. The rates contain the noise that protects the patients: the "
        "more patients a release covers, the less it matters.",
    )  # fmt: skip


def arm_table(
    page: Page, report: Report, words: tuple[str, str], caption: str
) -> Page:  # fmt: skip
    """Counts, means and intervals of the arms, which are called as `words` says."""
    held = report.get("intervals")
    arm_word, mean_word = words
    header = [arm_word, "Assigned", "Used for learning", "Releases", mean_word]
    if held is not None:
        about = ", of those who answer" if held.get("estimand") == "responders" else ""
        header.append(f"{100.0 * held['level']:g} % interval ({held['kind']}){about}")
    rows = [
        [
            str(arm["arm"]), arm["assigned"], arm["used"], arm["releases"],
            "–" if arm["mean"] is None else decimal(arm["mean"], 3), interval_text(arm),
        ][: len(header)]
        for arm in report["arms"] or ()
    ]  # fmt: skip
    return page.table(header, rows, caption=caption, numeric=range(1, len(header)))
