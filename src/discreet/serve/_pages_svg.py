"""Pictures of a trial as SVG text, drawn on the server: they need no script and print.

Each is drawn twice, for wide and for narrow screens; the style sheet shows one of the two. Colours
and fonts are the style sheet's, by classes: arms are s0 to s5, and differ by their marks as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from markupsafe import Markup

from ._pages_view import DAY, Scale

Arm = Mapping[str, Any]
Bands = Mapping[str, Sequence[tuple[float, float, float]]]
"""By arm: a moment, and the interval from then on."""
COLOURS = 6
MOST = 6
"""Arms in a picture."""
TOO_WIDE = 0.56
"""Intervals that are wider say nothing, and would cover those that do."""
POINTS = 72
"""Releases in a picture; of more, the latest of every arm, and every so-manieth before."""
WIDE, NARROW = "w", "n"


def mark(x: float, y: float, place: int, size: float, kind: str = "dot", extra: str = "") -> str:
    """The mark of an arm: its shape, in its colour."""
    style = f'class="{kind} s{place % COLOURS}"{extra}'
    shape = place % COLOURS
    if shape == 1:
        a = 1.8 * size
        place_ = f'x="{x - a / 2:.1f}" y="{y - a / 2:.1f}" width="{a:.1f}" height="{a:.1f}"'
        return f'<rect {style} {place_} rx="1"/>'
    if shape == 0:
        return f'<circle {style} cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
    angles = {2: (90, 210, 330), 3: (0, 90, 180, 270), 4: (270, 30, 150), 5: range(18, 378, 72)}
    corners = " ".join(
        f"{x + 1.25 * size * math.cos(math.radians(a)):.1f},"
        f"{y - 1.25 * size * math.sin(math.radians(a)):.1f}"
        for a in angles[shape]
    )
    return f'<polygon {style} points="{corners}"/>'


def icon(place: int) -> Markup:
    """A mark beside a name."""
    return Markup(
        f'<svg class="ico" viewBox="0 0 14 14" aria-hidden="true">{mark(7, 7, place, 5)}</svg>'
    )


def meter(share: float, place: int | None = None) -> Markup:
    """How far something is, without words: they stand beside it."""
    kind = "acc" if place is None else f"s{place % COLOURS}"
    width = 100.0 * min(max(share, 0.0), 1.0)
    return Markup(
        '<svg class="meter" viewBox="0 0 100 2" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="rest" width="100" height="2"/>'
        f'<rect class="{kind}" width="{width:.1f}" height="2"/></svg>'
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two ends."""
    span = max(high - low, 1e-9)
    raw = span / most
    base = 10.0 ** math.floor(math.log10(raw))
    step = next(base * times for times in (1.0, 2.0, 5.0, 10.0) if base * times >= raw)
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Frame(NamedTuple):
    """A picture's size, the edges of what is drawn in it, and how values become places."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float

    def across(self, low: float, high: float) -> Callable[[float], float]:
        """From values to x."""
        span = max(high - low, 1e-12)
        return lambda v: self.left + (v - low) / span * (self.right - self.left)

    def upwards(self, low: float, high: float) -> Callable[[float], float]:
        """From values to y."""
        span = max(high - low, 1e-12)
        return lambda v: self.bottom - (v - low) / span * (self.bottom - self.top)


def _svg(kind: str, name: str, frame: Frame, title: str, told: str, inner: list[str]) -> str:
    number = f"{name}-{kind}"
    words = f'<title id="{number}-t">{escape(title)}</title>'
    if told:
        words += f'<desc id="{number}-d">{escape(told)}</desc>'
    by = f"{number}-t {number}-d" if told else f"{number}-t"
    return (
        f'<svg class="{kind} chart" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img" '
        f'aria-labelledby="{by}">{words}{"".join(inner)}</svg>'
    )


def _text(kind: str, x: float, y: float, text: str, anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}"{where}>{escape(text)}</text>'


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def short(name: str, most: int) -> str:
    """A name that fits."""
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


# --- where the arms stand -------------------------------------------------------------------------


def standing(name: str, arms: Sequence[Arm], leader: Arm | None, scale: Scale) -> Markup:
    """Means, their intervals, and what they would be whatever the others had said."""
    shown = [arm for arm in arms if arm.get("mean") is not None][:MOST]
    if not shown:
        return Markup("")
    ends = [arm["mean"] for arm in shown]
    for arm in shown:
        ends += [*arm.get("interval", ()), *(arm.get("interval_of_all") or arm.get("bounds") or ())]
    grid = ticks(min(ends), max(ends), 7)
    step = grid[1] - grid[0] if len(grid) > 1 else 0.1
    low, high = math.floor(min(ends) / step) * step, math.ceil(max(ends) / step) * step
    if scale.percent:
        low, high = max(0.0, low), min(1.0, high)
    grid = ticks(low, high, 7)
    told = "; ".join(_told(arm, scale) for arm in shown)
    drawn = [
        _standing(kind, name, shown, leader, scale, width, (low, high), grid, told)
        for kind, width in ((WIDE, 460.0), (NARROW, 330.0))
    ]
    return Markup("".join(drawn))


def _told(arm: Arm, scale: Scale) -> str:
    text = f"{arm['arm']} {scale.text(arm['mean'])}"
    return text + (f", interval {scale.span(arm['interval'])}" if "interval" in arm else "")


def _standing(
    kind: str, name: str, arms: Sequence[Arm], leader: Arm | None, scale: Scale, width: float,
    ends: tuple[float, float], grid: list[float], told: str,
) -> str:  # fmt: skip
    row = 54.0
    frame = Frame(width, 34.0 + row * len(arms), 8.0, width - 14.0, 6.0, 12.0 + row * len(arms))
    x = frame.across(*ends)
    inner = []
    for value in grid:
        inner.append(_line("grid", x(value), frame.top, x(value), frame.bottom))
        label = scale.number(value) + (" %" if scale.percent and value == grid[-1] else "")
        inner.append(_text("tick", x(value), frame.bottom + 16, label, "middle"))
    for number, arm in enumerate(arms):
        y, s = 40.0 + row * number, f"s{arm['place'] % COLOURS}"
        lead = " lead" if leader is not None and arm["arm"] == leader["arm"] else ""
        inner.append(_text(f"lab{lead}", frame.left + 2, y - 14, short(str(arm["arm"]), 26)))
        span = f"  {scale.span(arm['interval'], '–')}" if "interval" in arm else ""
        inner.append(
            f'<text class="val" x="{frame.right:.1f}" y="{y - 14:.1f}" text-anchor="end">'
            f'<tspan class="big">{scale.text(arm["mean"])}</tspan>{span}</text>'
        )
        if outer := arm.get("interval_of_all") or arm.get("bounds"):
            inner.append(_line(f"thin {s}", x(outer[0]), y, x(outer[1]), y))
        if "interval" in arm:
            left, right = (x(end) for end in arm["interval"])
            inner.append(
                f'<rect class="bar {s}" x="{left:.1f}" y="{y - 5:.1f}" '
                f'width="{max(right - left, 2.0):.1f}" height="10" rx="5"/>'
            )
        inner.append(mark(x(arm["mean"]), y, arm["place"], 6.0))
    return _svg(kind, name, frame, "Means and intervals by arm", told, inner)


# --- over time ------------------------------------------------------------------------------------


def _dates(frame: Frame, begin: float, end: float) -> list[str]:
    """Marks on the axis of time: months, weeks, days, hours or seconds, whichever fit."""
    x, span = frame.across(begin, end), end - begin
    most = 5 if frame.width > 400 else 3
    found = []
    for moment, label in _moments(begin, end, span, most):
        found.append(_line("tickm", x(moment), frame.bottom, x(moment), frame.bottom + 5))
        anchor = "start" if x(moment) < frame.right - 36 else "end"
        found.append(_text("tick", x(moment), frame.bottom + 17, label, anchor))
    return found


def _moments(begin: float, end: float, span: float, most: int) -> list[tuple[float, str]]:
    if span > 75.0 * DAY:
        first = datetime.fromtimestamp(begin, UTC)
        months = [
            datetime(first.year + (first.month - 1 + k) // 12, (first.month - 1 + k) % 12 + 1, 1,
                     tzinfo=UTC)
            for k in range(1, int(span / (28.0 * DAY)) + 2)
        ]  # fmt: skip
        inside = [at for at in months if at.timestamp() <= end]
        kept = inside[:: math.ceil(len(inside) / most) or 1]
        return [(at.timestamp(), f"{at:%b}") for at in kept]
    steps = (1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0, 10800.0, 21600.0, 43200.0,
             DAY, 2 * DAY, 7 * DAY, 14 * DAY)  # fmt: skip
    step = next((one for one in steps if span / one <= most), 28 * DAY)
    form = "%-d %b" if step >= DAY else "%H:%M" if step >= 60.0 else "%H:%M:%S"
    first_, last = math.ceil(begin / step), math.floor(end / step)
    return [
        (k * step, datetime.fromtimestamp(k * step, UTC).strftime(form))
        for k in range(first_, last + 1)
    ]


def thinned(points: list[Any], most: int) -> list[Any]:
    """No more than so many, the last of them in any case."""
    step = math.ceil(len(points) / most) or 1
    return points[::-1][::step][::-1]


def means(
    name: str, arms: Sequence[Arm], course: Sequence[Mapping[str, Any]], scale: Scale, now: float,
    bands: Bands,
) -> Markup:  # fmt: skip
    """Released means over time, with their intervals; at the right end those of now."""
    shown = [arm for arm in arms if arm.get("mean") is not None][:MOST]
    told = [entry for entry in course if entry["mean"] is not None]
    own = {
        arm["place"]: thinned(
            [(e["time"], e["mean"]) for e in told if e["arm"] == arm["arm"]], POINTS // len(shown)
        )
        for arm in shown
    }
    values = [mean for points in own.values() for _, mean in points]
    if len(values) < 2:
        return Markup("")
    values += [end for arm in shown for end in arm.get("interval", ())]
    begin = min(at for points in own.values() for at, _ in points)
    end = max(now, begin + 1.0)
    narrow = {a: [b for b in each if b[2] - b[1] < TOO_WIDE] for a, each in bands.items()}
    values += [end_ for each in narrow.values() for band in each for end_ in band[1:]]
    low, high = min(values), max(values)
    if scale.percent:
        low, high = max(low, 0.0), min(high, 1.0)
    drawn = [
        _means(kind, name, frame, shown, own, scale, (begin, end), (low, high), narrow)
        for kind, frame in (
            (WIDE, Frame(620, 350, 38, 486, 14, 322)), (NARROW, Frame(330, 236, 32, 300, 12, 208)),
        )
    ]  # fmt: skip
    names = "".join(f"<span>{icon(arm['place'])}{escape(str(arm['arm']))}</span>" for arm in shown)
    return Markup(f'{"".join(drawn)}<p class="legend n">{names}</p>')


def _means(
    kind: str, name: str, frame: Frame, arms: Sequence[Arm], own: Mapping[int, Any], scale: Scale,
    times: tuple[float, float], ends: tuple[float, float], bands: Bands,
) -> str:  # fmt: skip
    x, y = frame.across(*times), frame.upwards(*ends)

    def inside(value: float) -> float:
        return y(min(max(value, ends[0]), ends[1]))

    inner = []
    grid = ticks(*ends, 5)
    for value in grid:
        inner.append(_line("grid", frame.left, y(value), frame.right, y(value)))
        label = scale.number(value) + ("%" if scale.percent and value == grid[-1] else "")
        inner.append(_text("tick", frame.left - 6, y(value) + 4, label, "end"))
    inner += _dates(frame, *times)
    for arm in arms:
        if band := bands.get(str(arm["arm"])):
            inner.append(_band(x, inside, band, f"s{arm['place'] % COLOURS}", frame.right))
    tags = _apart([(inside(arm["mean"]), arm) for arm in arms], 17.0)
    for number, arm in enumerate(arms):
        points, s = own[arm["place"]], f"s{arm['place'] % COLOURS}"
        if not points:
            continue
        path = f"M{x(points[0][0]):.1f},{inside(points[0][1]):.1f}" + "".join(
            f"H{x(at):.1f}V{inside(mean):.1f}" for at, mean in points[1:]
        )
        inner.append(f'<path class="line {s}" d="{path}H{frame.right:.1f}"/>')
        for at, mean in points:
            tip = (
                f' data-tip="{escape(str(arm["arm"]))}: {scale.text(mean)}"' if kind == WIDE else ""
            )
            inner.append(mark(x(at), inside(mean), arm["place"], 3.2, "rel", tip))
        if "interval" in arm:
            edge = (
                frame.right + 5.0 + 5.0 * number if kind == WIDE else frame.right + 4 + 4 * number
            )
            inner.append(
                _line(f"whisk {s}", edge, inside(arm["interval"][0]), edge,
                      inside(arm["interval"][1]))
            )  # fmt: skip
        if kind == WIDE:
            at = frame.right + 12.0 + 5.0 * len(arms)
            inner.append(_text(f"end {s}", at, tags[number] + 4, short(str(arm["arm"]), 16)))
    return _svg(kind, name, frame, "Released means over time", "", inner)


def _band(
    x: Callable[[float], float], y: Callable[[float], float],
    band: Sequence[tuple[float, float, float]], colour: str, right: float,
) -> str:  # fmt: skip
    """Intervals as steps: each holds until the next release."""
    edges = [*(x(at) for at, _, _ in band[1:]), right]
    up = "".join(f"V{y(b[2]):.1f}H{e:.1f}" for b, e in zip(band, edges, strict=True))
    starts = [x(at) for at, _, _ in band]
    down = "".join(
        f"V{y(b[1]):.1f}H{s:.1f}" for b, s in reversed(list(zip(band, starts, strict=True)))
    )
    return f'<path class="band {colour}" d="M{starts[0]:.1f},{y(band[0][1]):.1f}{up}{down}Z"/>'


def _apart(tags: list[tuple[float, Arm]], least: float) -> list[float]:
    """Heights of names, so far apart that they can be read."""
    order = sorted(range(len(tags)), key=lambda k: tags[k][0])
    placed = [tag[0] for tag in tags]
    for before, after in pairwise(order):
        placed[after] = max(placed[after], placed[before] + least)
    return placed


# --- who gets what --------------------------------------------------------------------------------


def shares(
    name: str, arms: Sequence[Arm], course: Sequence[Mapping[str, Any]], now: float
) -> Markup:
    """The shares of the arms among the participants who came between releases."""
    if len(arms) < 2 or len(arms) > MOST or len(course) < 2:
        return Markup("")
    ends = [(0.0, dict.fromkeys((str(arm["arm"]) for arm in arms), 0))]
    ends += [(entry["time"], entry["assigned"]) for entry in course]
    ends.append((now, {str(arm["arm"]): arm["assigned"] for arm in arms}))
    ends = _merged(ends)
    if len(ends) < 3:
        return Markup("")
    spans = []
    for (before, earlier), (after, later) in pairwise(ends):
        new = [later.get(str(arm["arm"]), 0) - earlier.get(str(arm["arm"]), 0) for arm in arms]
        spans.append((before, after, [n / max(sum(new), 1) for n in new]))
    begin = course[0]["time"]
    spans[0] = (begin - 0.04 * (now - begin), *spans[0][1:])
    drawn = [
        _shares(kind, name, frame, arms, spans)
        for kind, frame in (
            (WIDE, Frame(620, 230, 38, 612, 8, 202)), (NARROW, Frame(330, 178, 36, 322, 8, 150)),
        )
    ]  # fmt: skip
    names = "".join(f"<span>{icon(a['place'])}{escape(str(a['arm']))}</span>" for a in arms)
    return Markup(f'{"".join(drawn)}<p class="legend">{names}</p>')


def _merged(ends: list[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """Spans with enough participants to have shares, and no more than can be seen."""
    least = max(1, sum(ends[-1][1].values()) // 30)
    kept = [ends[0]]
    for end in ends[1:]:
        if sum(end[1].values()) - sum(kept[-1][1].values()) >= least:
            kept.append(end)
    if kept[-1] != ends[-1] and len(kept) > 2:
        kept[-1] = ends[-1]
    return kept


def _shares(
    kind: str, name: str, frame: Frame, arms: Sequence[Arm], spans: list[tuple[float, float, Any]]
) -> str:
    x, y = frame.across(spans[0][0], spans[-1][1]), frame.upwards(0.0, 1.0)
    inner, floor = [], [0.0] * len(spans)
    for number, arm in enumerate(arms):
        roof = [floor[k] + span[2][number] for k, span in enumerate(spans)]
        up = "".join(
            f"L{x(before):.1f},{y(top):.1f}H{x(after):.1f}"
            for (before, after, _), top in zip(spans, roof, strict=True)
        )
        down = "".join(
            f"L{x(after):.1f},{y(low):.1f}H{x(before):.1f}"
            for (before, after, _), low in reversed(list(zip(spans, floor, strict=True)))
        )
        s = f"s{arm['place'] % COLOURS}"
        first = f"M{x(spans[0][0]):.1f},{y(floor[0]):.1f}"
        inner.append(f'<path class="area {s}" d="{first}{up}{down}Z"/>')
        floor = roof
    for value, label in ((0.0, "0"), (0.5, "50"), (1.0, "100%")):
        inner.append(_line("grid over", frame.left, y(value), frame.right, y(value)))
        inner.append(_text("tick", frame.left - 6, y(value) + 4, label, "end"))
    inner += _dates(frame, spans[0][0], spans[-1][1])
    return _svg(kind, name, frame, "Shares of the arms among new participants", "", inner)
