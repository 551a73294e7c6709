"""What a page of an experiment says, as plain texts and numbers: made of its report alone.

Nothing here sees a trial. Whatever a page shows is an entry of `report()`, a sum or a difference of
such entries, or a moment: a test walks every number of a page back. `facts` reads the report of one
trial, or of one stratum.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import DiscreetError
from ..report._numbers import count, decimal

DAY = 86_400.0
WEEKS = 28.0 * DAY
"""How far back arrivals are counted for what is expected."""
MOST_BANDS = 120
"""Releases of which the intervals of before are reckoned."""
MOST_ARMS = 40
"""Arms in a table; of more, the CSV has all."""
Facts = dict[str, Any]
STATUS = {
    "planned": "planned", "collecting": "collecting", "settling": "waiting for outcomes",
    "finished": "finished", "fenced": "fenced",
}  # fmt: skip


class Scale(NamedTuple):
    """How means are written: as percentages where outcomes lie between 0 and 1."""

    percent: bool

    def number(self, value: float, places: int = 0) -> str:
        """Without its unit."""
        return decimal(100.0 * value, places) if self.percent else decimal(value, places + 2)

    def text(self, value: float) -> str:
        """With its unit."""
        return f"{self.number(value)} %" if self.percent else self.number(value)

    def span(self, ends: Sequence[float], word: str = "to") -> str:
        """From and to."""
        low, high = (self.number(end) for end in ends)
        return f"{low} {word} {high}"

    @property
    def points(self) -> str:
        """What differences are counted in."""
        return " points" if self.percent else ""


def scale_of(report: Mapping[str, Any]) -> Scale:
    """By the range of the outcomes that was planned."""
    planned = str(report.get("settings", {}).get("outcomes", ""))
    return Scale(planned in ("0 or 1", "a number from 0 to 1"))


# --- moments --------------------------------------------------------------------------------------


def day(moment: float, now: float) -> str:
    """ "16 Mar", with the year if it is another one; the time of day if it is near."""
    try:
        at, today = (datetime.fromtimestamp(value, UTC) for value in (moment, now))
    except (OverflowError, OSError, ValueError):
        return "–"
    if abs(moment - now) < 2.0 * DAY:
        exact = f"{at:%H:%M}" if abs(moment - now) > 600.0 else f"{at:%H:%M:%S}"
        return f"{exact} UTC" if at.date() == today.date() else f"{at.day} {at:%b}, {exact} UTC"
    return f"{at.day} {at:%b}" + ("" if at.year == today.year else f" {at.year}")


def stamp(moment: float) -> str:
    """ "9 Feb 2027, 18:14 UTC"."""
    at = datetime.fromtimestamp(moment, UTC)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def lasting(seconds: float) -> str:
    """About so long, in one unit."""
    for unit, length in (("year", 365.0 * DAY), ("day", DAY), ("hour", 3600.0), ("minute", 60.0)):
        if seconds >= (3.0 if unit == "year" else 1.5) * length:
            return f"{round(seconds / length)} {unit}s"
    return f"{max(0, round(seconds))} seconds"


# --- one experiment -------------------------------------------------------------------------------


def facts(report: Mapping[str, Any], now: float, deadline: float | None, created: float) -> Facts:
    """All that the page of a trial says about it."""
    scale, course = scale_of(report), list(report.get("course") or ())
    arms = [dict(arm, place=place) for place, arm in enumerate(report.get("arms") or ())]
    found: Facts = {
        "scale": scale, "arms": arms, "course": course, "status": report["status"],
        "assigned": report["assigned"], "horizon": report.get("horizon"),
        "releases": report["releases"], "test": report.get("test"),
        "blinded": report.get("test", {}).get("decision") == "go on",
        "most": MOST_ARMS,
    }  # fmt: skip
    found["compared"] = compared(report) if not found["blinded"] else []
    found["bands"] = bands(report) if not found["blinded"] else {}
    found["rate"] = arrivals(report, course, now, created)
    found["blocks"] = [block_of(b, found["rate"], deadline, now) for b in blocks(report)]
    found["next"] = upcoming(report, found["blocks"], now)
    found["end"] = end_of(report, found["rate"], deadline, now)
    found["left"] = None if found["end"] is None else found["end"] - now
    found["leader"] = leader(arms) if not found["blinded"] else None
    found["earned"] = earned(arms) if not found["blinded"] else None
    found["noise"] = cost_of_noise(report)
    found["sentence"] = sentence(found, report, now)
    found["privacy"] = privacy(report)
    found["checks"] = checks(report, found, now)
    return found


def blocks(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Those that are filled or waited for, however the trial goes."""
    batch = [report["batch"]] if "batch" in report else []
    return [b for b in report.get("blocks") or batch if b.get("filled") or b.get("due")]


def arrivals(
    report: Mapping[str, Any], course: Sequence[Mapping[str, Any]], now: float, created: float
) -> dict[str, float]:
    """Assignments a second in about the last four weeks, by arm, and "" for all: of public counts,
    since a release or since the trial was planned."""
    known = [{"time": created, "assigned": {}}, *course]
    since = [entry for entry in known if entry["time"] <= now - WEEKS][-1:] or known[:1]
    span = now - since[0]["time"]
    if span < 1.0:
        return {}
    arms = report.get("arms") or ()
    rates = {
        str(arm["arm"]): (arm["assigned"] - since[0]["assigned"].get(str(arm["arm"]), 0)) / span
        for arm in arms
    }
    return {**rates, "": math.fsum(rates.values())}


def block_of(
    block: Mapping[str, Any], rate: Mapping[str, float], deadline: float | None, now: float
) -> Facts:
    """A block on the way: when it will be full, and released, as arrivals go."""
    found: Facts = dict(block, name=str(block.get("arm", "all arms")))
    size, own = block.get("size"), rate.get(found["name"], 0.0)
    found["full"] = found["at"] = None
    if block.get("due") is not None:
        found["at"] = block["due"]
    elif size and own > 0.0:
        found["full"] = now + max(0, size - block["filled"]) / own
        found["at"] = found["full"] + (deadline or 0.0)
    found["share"] = min(1.0, block["filled"] / size) if size else None
    return found


def upcoming(report: Mapping[str, Any], ahead: Sequence[Facts], now: float) -> Facts | None:
    """The next release: fixed, or about."""
    due = report.get("next_release")
    if due is not None:
        return {"at": due, "fixed": True, "text": day(due, now)}
    about = [block["at"] for block in ahead if block["at"] is not None]
    if not about:
        return None
    return {"at": min(about), "fixed": False, "text": f"about {day(min(about), now)}"}


def end_of(
    report: Mapping[str, Any], rate: Mapping[str, float], deadline: float | None, now: float
) -> float | None:
    """When all participants will have come and answered, as arrivals go."""
    horizon, pace = report.get("horizon"), rate.get("", 0.0)
    if report["status"] != "collecting" or horizon is None or pace <= 0.0:
        return None
    left: float = max(0, horizon - report["assigned"]) / pace
    return now + left + (deadline or 0.0)


def leader(arms: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The arm with the highest released mean."""
    shown = [arm for arm in arms if arm.get("mean") is not None]
    return max(shown, key=lambda arm: arm["mean"], default=None) if len(shown) > 1 else None


def compared(report: Mapping[str, Any]) -> list[Facts]:
    """By how much the leader is ahead of every other arm; the intervals hold together."""
    record = report.get("record")
    return [] if record is None else [one._asdict() for one in _ahead(json.dumps(record))]


class Ahead(NamedTuple):
    """The leader less another arm."""

    leader: str
    arm: str
    interval: tuple[float, float]


@lru_cache(maxsize=256)
def _ahead(record: str) -> tuple[Ahead, ...]:
    """Reckoned once a release."""
    from ..inference import Record, differences

    try:
        found = differences(Record.from_dict(json.loads(record)))
    except (DiscreetError, ValueError, ArithmeticError):
        return ()
    # of every other arm less the leader: turned round
    return tuple(
        Ahead(str(one.against), str(one.arm), (-one.high, -one.low))
        for one in found if one.against is not None
    )  # fmt: skip


def bands(report: Mapping[str, Any]) -> dict[str, list[tuple[float, float, float]]]:
    """The intervals of every arm after each of its releases: (moment, low, high). They hold at all
    times, so that those of before may be shown beside those of now."""
    record, course = report.get("record"), report.get("course") or ()
    if record is None or record["kind"] != "anytime" or len(course) > MOST_BANDS:
        return {}
    own: dict[str, list[float]] = {str(arm): [] for arm in record["arms"]}
    for entry in course:
        own[str(entry["arm"])].append(entry["time"])
    if any(len(own[str(arm)]) != len(each)
           for arm, each in zip(record["arms"], record["history"], strict=True)):  # fmt: skip
        return {}  # some were put together: it is not known which were when
    ends = _ends(json.dumps(record))
    return {
        arm: [(at, *pair) for at, pair in zip(own[arm], each, strict=True)]
        for arm, each in zip(own, ends, strict=True)
    }


@lru_cache(maxsize=256)
def _ends(text: str) -> tuple[tuple[tuple[float, float], ...], ...]:
    """Intervals by arm and number of releases. An arm's own rest on its own releases alone."""
    from ..inference import Record, intervals

    record = json.loads(text)
    found: list[list[tuple[float, float]]] = [[] for _ in record["arms"]]
    for number in range(1, max(map(len, record["history"]), default=0) + 1):
        cut = {**record, "history": [each[:number] for each in record["history"]]}
        now = intervals(Record.from_dict(cut))
        for arm, each in enumerate(record["history"]):
            if len(each) >= number:
                found[arm].append((now[arm].low, now[arm].high))
    return tuple(map(tuple, found))


def earned(arms: Sequence[Mapping[str, Any]]) -> Facts | None:
    """What the participants so far earned by the released means, against an even split."""
    if not arms or any(arm.get("mean") is None or not arm.get("used") for arm in arms):
        return None
    used = [arm["used"] for arm in arms]
    means = [arm["mean"] for arm in arms]
    total = math.fsum(n * mean for n, mean in zip(used, means, strict=True))
    even = sum(used) * math.fsum(means) / len(means)
    return {"more": total - even, "of": sum(used)}


def cost_of_noise(report: Mapping[str, Any]) -> Facts | None:
    """How many of the participants the noise costs: the share of the variance of the means that is
    the noise of privacy, by arm, times its participants."""
    if report.get("record") is None:
        return None
    from ..inference import Record

    record = Record.from_dict(report["record"])
    recorded, lost, whole = record.recorded, 0.0, 0
    for arm in range(len(record.arms)):
        if recorded.kind == "pair" and recorded.count is not None:
            pairs = record.pairs(arm)
            draws = sum(pair[3] for pair in pairs)
            size = math.fsum(pair[2] for pair in pairs)
            places = sum(pair[0] for pair in pairs)
            if size < 1.0:
                continue
            off = math.fsum(pair[1] for pair in pairs) / size
            noise = draws * (recorded.noise.variance + recorded.count.variance * off * off)
        else:
            size_, total, draws = record.sums(arm)
            if size_ == 0 or recorded.factor != 1.0 or recorded.sigmoid:
                continue
            size, places, off = float(size_), size_, total / size_ - 0.5
            noise = draws * record.noise(arm).variance
        own = size * max(0.25 - off * off, 0.01)
        lost += places * noise / (noise + own)
        whole += places
    return {"lost": lost, "of": whole} if whole else None


# --- the sentence ---------------------------------------------------------------------------------

Part = tuple[str, bool]
"""Words, and whether they are the ones to be read first."""


def sentence(found: Facts, report: Mapping[str, Any], now: float) -> list[list[Part]]:
    """Who leads, by how much, how sure; what it earned, and what privacy cost."""
    if found["status"] == "planned":
        return [[("It has not started: ", True), ("no participant has an arm yet.", False)]]
    if found["test"] is not None:
        return [_verdict(found["test"], found)]
    lines = [_leads(found, report)]
    more: list[Part] = []
    if (gain := found["earned"]) is not None and abs(gain["more"]) >= 1.0:
        many = "more" if gain["more"] >= 0.0 else "less"
        more.append((f"By these means, {count(gain['of'])} participants earned about ", False))
        more.append((f"{count(abs(gain['more']))} {many}", True))
        more.append((" than an even split of the arms would have. ", False))
    if (cost := found["noise"]) is not None:
        more.append(("Privacy cost about as much certainty as ", False))
        more.append((f"{count(cost['lost'])} of {count(cost['of'])} participants", True))
        more.append((" bring.", False))
    return [*lines, more] if more else lines


def _leads(found: Facts, report: Mapping[str, Any]) -> list[Part]:
    scale, first = found["scale"], found["leader"]
    if report.get("estimate") is not None:
        return [("It learns what suits whom: ", True), ("arms depend on features, and no arm leads "
                                                        "for all.", False)]  # fmt: skip
    if (answer := report.get("recommendation")) is not None:
        sure_of = answer.get("confidence")
        said = "" if sure_of is None else f", with confidence {decimal(100.0 * sure_of, 0)} %"
        return [
            (f"The trial has stopped, and recommends {answer['arm']}", True),
            (f"{said}.", False),
        ]
    if first is None:
        return [("No arm leads yet: ", True), ("too little has been released.", False)]
    answered = " of those who answered" if _estimand(report) == "responders" else ""
    ahead = found["compared"]
    sure = bool(ahead) and all(one["interval"][0] > 0.0 for one in ahead)
    leads = "leads with" if sure else "leads so far, with"
    parts: list[Part] = [
        (f"{first['arm']} {leads} {scale.text(first['mean'])}", True), (answered, False),
    ]  # fmt: skip
    if "interval" in first:
        level = decimal(100.0 * report["intervals"]["level"], 0)
        parts.append((f" ({level} % interval {scale.span(first['interval'])})", False))
    others = sorted(
        (arm for arm in found["arms"] if arm["mean"] is not None and arm is not first),
        key=lambda arm: -arm["mean"],
    )[:3]  # fmt: skip
    names = [f"{arm['arm']} has {scale.text(arm['mean'])}" for arm in others]
    parts.append(("; " + ", ".join(names) + ". ", False))
    known = {one["arm"]: one["interval"] for one in found["compared"]}
    apart = [(arm, *known[str(arm["arm"])]) for arm in others if str(arm["arm"]) in known]
    for arm, low, high in sorted(apart, key=lambda one: one[1] <= 0.0):  # what is sure comes first
        if low > 0.0:
            text = f"{scale.span((low, high))}{scale.points} more"
            parts += [("That is ", False), (text, True), (f" than {arm['arm']}. ", False)]
        else:
            ends = scale.number(-low), scale.number(max(high, 0.0))
            parts.append((
                f"Against {arm['arm']} it is open: {first['arm']} may be {ends[0]}{scale.points} "
                f"worse or {ends[1]} better. ", False,
            ))  # fmt: skip
    return parts


def _estimand(report: Mapping[str, Any]) -> str:
    return str((report.get("intervals") or {}).get("estimand", "mean"))


def _verdict(test: Mapping[str, Any], found: Facts) -> list[Part]:
    if test["decision"] == "go on":
        had = "No look yet" if test["look"] == 0 else f"After look {test['look']}"
        of = f" of {len(test['looks'])}"
        return [
            (f"{had}{of if test['look'] else ''}: the test goes on. ", True),
            ("What it shows is told to nobody before its verdict.", False),
        ]
    from ..report._live_page import DECISIONS

    names = [str(arm["arm"]) for arm in found["arms"]]
    said = DECISIONS[test["decision"]].format(*names)
    scale = found["scale"]
    parts: list[Part] = [(f"{said}, at look {test['look']}. ", True)]
    level = decimal(100.0 * test["level"], 0)
    parts.append((
        f"The difference is {scale.number(test['difference'], 1)}{scale.points} "
        f"({level} % interval {scale.number(test['interval'][0], 1)} to "
        f"{scale.number(test['interval'][1], 1)}).", False,
    ))  # fmt: skip
    return parts


def privacy(report: Mapping[str, Any]) -> Facts:
    """The guarantee: its budget in large, how well an attacker tells, and its conditions."""
    budget = dict(report.get("budget", {}))
    own = dict(budget.get("budget", {}))
    short = re.search(r"\(([^()]*)\)\.?$", report["guarantee"].split(" if ")[0].strip())
    names = {"epsilon": "ε", "rho": "ρ", "delta": "δ", "alpha": "α", "mu": "μ"}
    values = [
        f"{names.get(key, key)} = {value:g}"
        for key, value in own.items()
        if isinstance(value, int | float) and key in names
    ]
    asked = re.search(r"at most (\d+(?:\.\d+)?) % of the time", report["meaning"])
    return {
        "large": values[0] if values else "private",
        "more": ", ".join([*values[1:], str(own.get("kind", "")), str(budget.get("definition", ""))]
                          ).strip(", "),
        "told": asked[1] if asked else None,
        "guarantee": report["guarantee"], "meaning": report["meaning"],
        "conditions": list(budget.get("conditions", ())), "short": short[1] if short else "",
    }  # fmt: skip


# --- checks ---------------------------------------------------------------------------------------

OK, WARN, BAD, OPEN = "ok", "warn", "bad", "open"


def check(state: str, text: str, note: str = "") -> Facts:
    """A line of the checks."""
    return {"state": state, "text": text, "note": note}


def checks(report: Mapping[str, Any], found: Facts, now: float) -> list[Facts]:
    """What public numbers say of how well the trial runs."""
    lines = [as_planned(report), answers_by_arm(report), on_time(report, now)]
    if report["status"] == "fenced":
        lines.append(check(BAD, "Witness and file differ: fenced", "see the page on running it"))
    else:
        lines.append(check(OK, "Witness in step", f"{count(report['releases'])} releases"))
    lines += [check(WARN, text.capitalize()) for text in report.get("warnings", ())]
    if "failure" in report:
        lines.append(check(BAD, "The rule of the policy fails", "see the report"))
    return [line for line in lines if line]


def as_planned(report: Mapping[str, Any]) -> Facts:
    """Whether counts of arms are those that the window, least shares and blocks allow. The order
    within a window is not public, so it is not looked at."""
    arms = report.get("arms")
    if not arms:
        return check(OPEN, "Assigned as planned", "counts of arms are private")
    wrong, settings = [], report.get("settings", {})
    if sum(arm["assigned"] for arm in arms) != report["assigned"]:
        wrong.append("the counts do not add up")
    window = _first_number(settings.get("window"))
    shares = settings.get("share")
    if isinstance(shares, dict) and window:
        for arm in arms:
            least = shares.get(str(arm["arm"]), 0.0) * (report["assigned"] - window)
            if arm.get("active", True) and arm["assigned"] + 1 < math.floor(least):
                wrong.append(f"{arm['arm']} has fewer than its share")
    if "test" in report and window and len(arms) == 2:
        sizes = [arm["assigned"] for arm in arms]
        if abs(sizes[0] - sizes[1]) > window:
            wrong.append("the two arms differ by more than a window")
    for arm in arms:
        if "waiting" in arm and arm["size"] + arm["waiting"] != arm["used"]:
            wrong.append(f"places of {arm['arm']} are in no block")
    if wrong:
        return check(BAD, f"Assigned otherwise than planned: {wrong[0]}")
    return check(
        OK, "Assigned as planned", "counts, shares and blocks agree" if window else "counts agree"
    )


def _first_number(text: object) -> int | None:
    found = re.match(r"\d+", str(text or ""))
    return int(found[0]) if found else None


def answers_by_arm(report: Mapping[str, Any]) -> Facts:
    """Whether answers differ by arm, by released counts and their noise alone."""
    shown = [arm for arm in report.get("arms") or () if arm.get("answered") is not None]
    if len(shown) < 2:
        return {}
    low = min(shown, key=lambda arm: arm["answered"])
    high = max(shown, key=lambda arm: arm["answered"])
    gap = high["answered"] - low["answered"]
    error = math.sqrt(sum(_variance_of_answers(report, arm) for arm in (low, high)))
    text = (
        f"{low['arm']} {decimal(100.0 * low['answered'], 0)} %, {high['arm']} "
        f"{decimal(100.0 * high['answered'], 0)} %"
    )
    if gap > 3.0 * error:
        return check(WARN, f"Answers differ by arm: {text}", "see “if all had”")
    return check(OK, "Answers alike by arm", text)


def _variance_of_answers(report: Mapping[str, Any], arm: Mapping[str, Any]) -> float:
    share, size = min(max(arm["answered"], 0.01), 0.99), max(arm["size"], 1)
    noise = ((report.get("record") or {}).get("recorded") or {}).get("count") or {}
    times = {"laplace": 2.0, "gaussian": 1.0}.get(str(noise.get("kind")), 0.0)
    drawn = arm["releases"] * times * float(noise.get("scale", 0.0)) ** 2
    return float(share * (1.0 - share) / size + drawn / size**2)


def on_time(report: Mapping[str, Any], now: float) -> Facts:
    """Whether what is due was released."""
    due = report.get("next_release")
    if due is None or due >= now - 5.0:
        return check(OK, "Releases on time", "none is late")
    return check(BAD, "A release is late", f"by {lasting(now - due)}")


# --- what was planned -----------------------------------------------------------------------------


def settings_of(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The plan in words, line by line."""
    lines = [("Policy", str(report["policy"]))]
    for name, value in report.get("settings", {}).items():
        if isinstance(value, dict):
            text = ", ".join(f"{key}: {part}" for key, part in value.items())
        elif isinstance(value, list | tuple):
            text = ", ".join(map(str, value))
        else:
            text = str(value)
        lines.append((str(name).capitalize(), text))
    return lines


def rows_of(report: Mapping[str, Any]) -> list[list[object]]:
    """The releases, as a table for a file."""
    rows: list[list[object]] = [["stratum", "released", "arm", "size", "mean", "assigned"]]
    for one in report.get("strata", [report]):
        for entry in one.get("course") or ():
            at = datetime.fromtimestamp(entry["time"], UTC).isoformat(timespec="seconds")
            rows.append([
                one.get("stratum", ""), at, entry["arm"], entry["size"],
                "" if entry["mean"] is None else entry["mean"], json.dumps(entry["assigned"]),
            ])  # fmt: skip
    return rows
