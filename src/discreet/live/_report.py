"""What a trial shows: releases and public counts, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from .._checks import Name
from ..identify import Identifier
from ..inference import Intervals, Record, intervals
from ..inference._intervals import LEVEL
from ..inference._within import ahead_within
from ..linear._rules import Optimism
from ..policies import Policy
from ..privacy._guarantees import Definition, Guarantee
from . import _course as course
from ._batches import BatchRun
from ._epochs import EpochRun
from ._looks import LookRun
from ._pairs import PairRun
from ._stream_run import StreamRun
from ._verdicts import GO_ON, is_test, released_of, sums_of

if TYPE_CHECKING:
    from ..confirm import Alarm, EpochDesign, SeveralDesign
    from ..confirm._played import Tested
    from ..linear._row import LinearPolicy
    from ..policies.releases import Release
    from ._contexts import ContextRun
    from ._documents import (
        ArmReport,
        ComparisonReport,
        CourseEntry,
        Ellipsoid,
        IntervalsReport,
        LookReport,
        Recommendation,
        Report,
        TestReport,
        TrendReport,
    )
    from ._lists import Lists
    from ._run import Standing


FEW, NEAR, NOISY = 0.5, 0.1, 0.1
"""Shares: who answers, how far from an end of the range, and the noise in who answers."""
ONE_SIDED = (
    "few answered, and all released means lie near one end of the outcome range. If only one kind "
    "of outcome is recorded (clicks, but not that nobody clicked), silence means the other one: "
    'plan the trial with that value for missing, not with "estimate"'
)


class Shown(NamedTuple):
    """What reports are built from."""

    policy: Policy | LinearPolicy
    guarantee: Guarantee
    arms: tuple[Name, ...]
    outcome_range: tuple[float, float]
    standing: Standing
    assigned: list[int]
    failure: str
    """what went wrong in the rule of the policy, if anything"""
    record: Record | None = None
    """what was released, for intervals"""
    ended: dict[str, str] | None = None
    """how the trial was ended, if by hand"""
    fence: str = ""
    """why nothing must be released, if so"""
    course: course.Course | None = None
    """in streams: what was public at every release"""
    settings: dict[str, object] | None = None
    """what was planned, in words"""


def report_of(shown: Shown, run: StreamRun | ContextRun) -> Report:
    """The state of a trial, ready for JSON; means in the units of the outcomes."""
    if isinstance(run, BatchRun):
        special = batch_entries(shown, run)
    elif isinstance(run, StreamRun):
        special = stream_entries(shown, run)
    else:
        special = linear_entries(shown, run)
    return {
        "policy": str(shown.policy),
        "settings": shown.settings or {},
        "guarantee": str(shown.guarantee),
        "meaning": shown.guarantee.tradeoff().in_words(outcomes=True),
        "budget": shown.guarantee.to_dict(),
        "status": shown.standing.status,
        **({"failure": shown.failure} if shown.failure else {}),
        **({"fence": shown.fence} if shown.fence else {}),
        "rounds": shown.standing.rounds,
        "horizon": run.horizon,
        "assigned": sum(shown.assigned),
        "releases": sum(run.releases),
        "next_release": shown.standing.due,
        **special,
    }


def batch_entries(shown: Shown, run: BatchRun) -> Report:
    """What is known of every arm, and of the batch."""
    return {
        **arm_entries(shown, run, run.used),
        "batch": {
            "arm": shown.arms[run.arm],
            "size": None if run.is_cut_off else run.rounds,
            "filled": shown.standing.filled,
            "due": shown.standing.due,
        },
    }


def arm_entries(shown: Shown, run: StreamRun, played: list[int]) -> Report:
    """Counts, means and intervals; `played` are the places of every arm."""
    view, arms, record = run.view, shown.arms, shown.record
    found = None if record is None else intervals(record)
    rows: list[ArmReport] = [
        {
            "arm": name,
            "assigned": shown.assigned[arm],
            "used": played[arm],
            "releases": run.releases[arm],
            "size": max(view.size[arm], 0),
            "mean": mean_outcome(shown, view.value[arm]) if view.size[arm] > 0 else None,
        }
        for arm, name in enumerate(arms)
    ]
    if found is not None:
        for row, interval in zip(rows, found, strict=True):
            row["interval"] = [interval.low, interval.high]
    if record is not None and record.estimand == "responders":
        for row, interval in zip(rows, intervals(record, over="all"), strict=True):
            row["interval_of_all"] = [interval.low, interval.high]
    return {
        "most_played": arms[max(range(len(arms)), key=played.__getitem__)],
        "recommendation": recommended(shown, run.answer),
        "arms": rows,
        "intervals": None if found is None else summary_of(found),
        **({"silence": run.silence} if record is None else {}),
        "record": None if record is None else record.to_dict(),
    }


def summary_of(found: Intervals) -> IntervalsReport:
    """Which intervals these are."""
    kind: IntervalsReport = {"kind": found.kind, "level": found.level}
    return kind if found.estimand == "mean" else {**kind, "estimand": found.estimand}


def stream_entries(shown: Shown, run: StreamRun) -> Report:
    """The same, and where the blocks of all arms stand. What is left of a window is not shown:
    it tells more of who comes next than counts do."""
    used = run.used
    entries = arm_entries(shown, run, used)
    for arm, row in enumerate(entries["arms"] or ()):
        row["waiting"] = used[arm] - run.head.pulls[arm]
        row["active"] = run.head.active[arm] == 1 and not run.has_ended
        if isinstance(run, PairRun):
            row |= missing_entries(shown, run, arm)
    special: Report = {}
    if isinstance(run, LookRun):
        special["looks"] = run.looked
    if isinstance(run, EpochRun):
        special["trend"] = trend_entries(shown, run)
    if isinstance(run, PairRun) and is_one_sided(shown, run):
        special["warnings"] = [ONE_SIDED]
    low, high = shown.outcome_range
    mean_of = _release_of(shown).estimated_mean
    told = course.entries(shown.course, shown.arms, low, high, mean_of)
    if is_test(shown.policy):
        special["test"] = test_entries(shown.policy, run, shown.arms)
        blind(entries["arms"] or [], told, shown, run, special["test"]["decision"] == GO_ON)
    return {
        **entries,
        **special,
        "blocks": shown.standing.blocks,
        "ended": dict(shown.ended) if shown.ended else None,  # the trial's own is not to be changed
        "course": told,
    }


def test_entries(policy: Tested, run: StreamRun, arms: Sequence[Name]) -> TestReport:
    """The looks that were planned, and "go on" until the trial stops; then what they showed. Of a
    stratum "go on": all of them decide."""
    from ..confirm import Alarm, Design, EpochDesign, SeveralDesign

    design, sums = policy.design, sums_of(run)
    if isinstance(design, Alarm):
        return alarm_entries(design, [row[0] for row in sums])
    if isinstance(design, SeveralDesign):
        return several_entries(design, arms, sums)
    if isinstance(design, EpochDesign):
        return epoch_entries(design, sums)
    looks: list[LookReport] = [
        {"participants": sum(size), "boundary": bound}
        for size, bound in zip(design.sizes, design.boundaries, strict=True)
    ]
    found = None
    if sums and isinstance(design, Design):
        found = design.verdict(sums)
    said = f"look {len(sums)}: go on" if sums else "no look yet: go on"
    shown: TestReport = {
        "decision": GO_ON, "look": len(sums), "sides": design.sides, "looks": looks,
        "sentence": str(found) if found else said,
    }  # fmt: skip
    if found is None or found.estimate is None:
        return shown
    for look, pair, z in zip(looks, sums, found.z, strict=False):
        look |= {"sums": list(pair), "z": z}
    return shown | {
        "decision": found.decision, "look": found.look, "level": found.level,
        "difference": found.estimate.difference, "interval": list(found.estimate.interval),
        "p_value": found.estimate.p_value, "repeated": list(found.repeated),
    }  # fmt: skip


def alarm_entries(design: Alarm, sums: Sequence[float]) -> TestReport:
    """An alarm: its thresholds, and sums once it has gone off or all looks are over."""
    looks: list[LookReport] = [
        {"participants": size, "boundary": float(limit)}
        for size, limit in zip(design.sizes, design.thresholds, strict=True)
    ]
    shown: TestReport = {
        "decision": GO_ON, "look": len(sums), "sides": 1, "looks": looks, "rate": design.rate,
        "sentence": "no look yet: go on",
    }  # fmt: skip
    if not sums:
        return shown
    found = design.state(sums)
    shown["sentence"] = str(found)
    if found.decision != GO_ON:
        for look, new in zip(looks, sums, strict=False):
            look["sums"] = [new]
        shown |= {"decision": found.decision, "look": found.look}
    return shown


def several_entries(design: SeveralDesign, arms: Sequence[Name], sums: Sequence[Any]) -> TestReport:
    """Several treatments: each is shown when it is decided, and nothing of the others."""
    boundaries = design.boundaries()
    looks: list[LookReport] = [
        {"participants": design.treatments * n1 + n0, "boundary": bound}
        for (n1, n0), bound in zip(design.sizes, boundaries, strict=True)
    ]
    rows: list[ComparisonReport] = [{"arm": arm, "decision": GO_ON} for arm in arms[:-1]]
    shown: TestReport = {
        "decision": GO_ON, "look": len(sums), "sides": design.sides, "looks": looks,
        "comparisons": rows, "sentence": "no look yet: go on",
    }  # fmt: skip
    if not sums:
        return shown
    found, words = design.verdict(sums), []
    for arm, row, each in zip(arms, rows, found.comparisons, strict=False):
        if each.decision == GO_ON:
            words.append(f"{arm}: go on")
            continue
        row |= {
            "decision": each.decision, "look": each.look, "z": list(each.z),
            "difference": each.difference, "repeated": list(each.repeated),
        }  # fmt: skip
        low, high = each.repeated
        words.append(
            f"{arm}: {each.decision}; difference to {arms[-1]} {each.difference:.3f}, "
            f"{100.0 * found.level:g} % interval {low:.3f} to {high:.3f}"
        )
    shown |= {"sentence": f"look {found.look}: " + "; ".join(words), "level": found.level}
    if found.is_over:
        shown["decision"] = "decided"
        for look, row_of in zip(looks, sums, strict=False):
            look["sums"] = list(row_of)
    return shown


def epoch_entries(design: EpochDesign, cells: Sequence[Any]) -> TestReport:
    """A trial in epochs: boundaries by epoch, and the final look once it has decided."""
    taken = accumulate(design.sizes)
    looks: list[LookReport] = [
        {"participants": size, **({"boundary": bound} if isfinite(bound) else {})}
        for size, bound in zip(taken, design.boundaries, strict=True)
    ]
    shown: TestReport = {
        "decision": GO_ON, "look": len(cells), "sides": design.sides, "looks": looks,
        "sentence": "no epoch yet: go on",
    }  # fmt: skip
    if not cells:
        return shown
    found = design.verdict(cells)
    shown["sentence"] = str(found)
    if found.final is None:
        return shown
    for look, cell, z in zip(looks, cells, found.z, strict=False):
        look |= {"sums": list(cell[2:]), "places": list(cell[:2]), "z": z}
    return shown | {
        "decision": found.decision, "look": found.look, "level": found.level,
        "difference": found.final.difference, "interval": list(found.repeated),
        "repeated": list(found.anytime),
    }  # fmt: skip


def blind(
    rows: list[ArmReport], told: list[CourseEntry], shown: Shown, run: StreamRun, on: bool
) -> None:
    """No mean before a test has decided; then that of all looks. Means on the way are released
    numbers like others: they are not shown because people who know them act on them."""
    assert is_test(shown.policy)
    low, high = shown.outcome_range
    for row, (places, total) in zip(rows, released_of(shown.policy, run), strict=True):
        row["size"] = places
        row["mean"] = None if on or not places else low + (high - low) * total / places
    for entry in told:
        entry["mean"] = None if on else entry["mean"]


def trend_entries(shown: Shown, run: EpochRun) -> TrendReport | None:
    """The leader, and how far the others are behind it within epochs, in units of the outcomes; the
    intervals hold at all times for all pairs of arms at once."""
    found = run.differences()
    if found is None:
        return None
    leader, behind = found
    record = run.public_epochs(shown.arms, shown.outcome_range)
    ends = ahead_within(record, leader, LEVEL)
    return {
        "leader": shown.arms[leader],
        "level": LEVEL,
        "behind": [
            {
                "arm": shown.arms[arm],
                "mean": record.width * gap[0],
                "error": record.width * gap[1],
                "interval": list(ends[arm]),
            }
            for arm, gap in enumerate(behind)
            if gap is not None
        ],
        "record": record.to_dict(),
    }


def missing_entries(shown: Shown, run: PairRun, arm: int) -> ArmReport:
    """How many seem to have answered, and the mean if all others had the worst or best outcome."""
    if run.releases[arm] == 0:
        return {"answered": None, "bounds": None}
    low, high = shown.outcome_range
    worst, best = (low + (high - low) * run.mean_with(arm, value) for value in (0.0, 1.0))
    share = run.answered(arm) / run.pairs.places[arm]
    return {"answered": share, "bounds": [worst, best]}


def is_one_sided(shown: Shown, run: PairRun) -> bool:
    """Whether few seem to have answered, and all means lie near one end of the range: as if one
    outcome were recorded and the other were not. Built from released counts and means alone, and
    of as many places that their noise does not decide."""
    arms = [arm for arm, number in enumerate(run.releases) if number]
    places = sum(run.pairs.places[arm] for arm in arms)
    noise = run.pair.answers / run.pair.resolution * (2 * sum(run.releases)) ** 0.5
    if places == 0 or noise > NOISY * places:
        return False
    low, high = shown.outcome_range
    means = [(mean_outcome(shown, run.view.value[arm]) or low) - low for arm in arms]
    near = [NEAR * (high - low), (1.0 - NEAR) * (high - low)]
    one_end = all(mean <= near[0] for mean in means) or all(mean >= near[1] for mean in means)
    return one_end and sum(run.answered(arm) for arm in arms) < FEW * places


def linear_entries(shown: Shown, run: ContextRun) -> Report:
    """The estimate, and counts of the arms unless they are private: joint privacy covers what all
    others see of a participant, and a count would show the participant's own arm."""
    released = run.releases[0] > 0
    arms: list[ArmReport] | None = None
    if shown.guarantee.definition is not Definition.JOINT:
        arms = [
            {"arm": arm, "assigned": count}
            for arm, count in zip(shown.arms, shown.assigned, strict=True)
        ]
    return {
        "estimate": run.view.estimate.copy() if released else None,
        "radius": run.view.width[0] if released else None,
        "ellipsoid": ellipsoid(shown.policy.rule, run.view) if released else None,
        "arms": arms,
        "batch": {"filled": shown.standing.filled, "due": shown.standing.due},
    }


def ellipsoid(rule: object, view: Lists) -> Ellipsoid | None:
    """Where the parameter lies, for rows with a radius that is proved (`inference`)."""
    if type(rule) is not Optimism:
        return None
    return {
        "centre": list(view.estimate),
        "inverse": list(view.inverse),
        "radius": view.width[0],
        "level": 1.0 - 1.5 * rule.failure,
    }


def recommended(shown: Shown, answer: int | None) -> Recommendation | None:
    """The answer of a trial that identifies; it is wrong with probability 1 - confidence, which is
    not known of one of a fixed size. `within`: by how much it may be worse than the best all the
    same, where that was allowed (`xi`), in the units of the outcomes."""
    if answer is None or not isinstance(shown.policy, Identifier):
        return None
    risk, xi = shown.policy.risk, shown.policy.xi
    low, high = shown.outcome_range
    sure = None if risk is None else 1.0 - risk
    found: Recommendation = {"arm": shown.arms[answer], "confidence": sure}
    if xi:
        found["within"] = (high - low) * xi
    return found


def mean_outcome(shown: Shown, value: float) -> float | None:
    """The mean outcome behind a released value, as the release estimates it."""
    mean = _release_of(shown).estimated_mean(value)
    low, high = shown.outcome_range
    return None if mean is None else low + (high - low) * mean


def _release_of(shown: Shown) -> Release:
    assert isinstance(shown.policy, Policy)  # others have no mean of an arm
    return shown.policy.release


def as_text(report: Report, width: int = 0) -> str:
    """The report as a small table; where that is wider than `width`, a line for every arm."""
    lines = [
        f"Trial of {report['policy']}",
        f"{report['status']}: {report['assigned']} assigned, {report['rounds']} used, "
        f"{report['releases']} releases",
    ]
    lines += [f"warning: {text}" for text in report.get("warnings", ())]
    if "failure" in report:
        lines.append(f"the rule of the policy fails on what was released: {report['failure']}")
    if "fence" in report:
        lines.append(f"nothing is released and nobody new is assigned: {report['fence']}")
    if "estimate" in report:
        estimate = report["estimate"]
        shown = "none yet" if estimate is None else ", ".join(f"{x:.4g}" for x in estimate)
        lines.append(f"estimate: {shown}")
        lines += [
            f"{row['arm']!s:<16}{row['assigned']:>10} assigned" for row in report["arms"] or ()
        ]
        return "\n".join([*lines, *_planned(report)])
    held = report["intervals"]
    head = "" if held is None else f"   {100.0 * held['level']:g} % interval"
    table = f"{'arm':<16}{'assigned':>10}{'releases':>10}{'size':>10}{'mean':>12}{head}"
    narrow = 0 < width < len(table) + len("   ")
    if not narrow:
        lines.append(table)
    for row in report["arms"] or ():
        mean = "-" if row["mean"] is None else f"{row['mean']:.4g}"
        if narrow:
            said = f"{row['arm']}: {row['assigned']} assigned, {row['releases']} releases, "
            ends = _shown(row).strip()
            of = f", {head.strip()} {ends}" if ends else ""
            lines.append(f"{said}size {row['size']}, mean {mean}{of}")
            continue
        lines.append(
            f"{row['arm']!s:<16}{row['assigned']:>10}{row['releases']:>10}{row['size']:>10}{mean:>12}"
            + _shown(row)
        )
    if report["recommendation"] is not None:
        answer = report["recommendation"]
        confidence = answer["confidence"]
        near = f" as best or within {answer['within']:g} of it" if "within" in answer else ""
        sure = "" if confidence is None else f", with confidence {confidence:g}"
        lines.append(f"recommends {answer['arm']}{near}{sure}")
    if "test" in report:
        lines += tested(report["test"])
    trend = report.get("trend")
    if trend is not None:
        behind = [
            f"{row['arm']} is behind by {row['mean']:.4g}, {100.0 * trend['level']:g} % "
            f"interval {row['interval'][0]:.4g} to {row['interval'][1]:.4g}"
            for row in trend["behind"]
        ]
        lines.append("; ".join([f"{trend['leader']} leads within epochs", *behind]))
    if held is not None and held.get("estimand") == "responders":
        lines.append(
            "intervals are for those who answer; of all, see interval_of_all in the report"
        )
    if report.get("silence"):
        of = "" if trend is None else " of means"
        lines.append(f"no intervals{of}: {report['silence']}")
    return "\n".join([*lines, *_planned(report)])


def tested(test: TestReport) -> list[str]:
    """The looks, and what they say."""
    lines = [f"{'look':<16}{'participants':>12}{'boundary':>12}{'Z':>12}"]
    for number, look in enumerate(test["looks"], 1):
        z = f"{look['z']:.3f}" if "z" in look else "-"
        bound = f"{look['boundary']:.3f}" if "boundary" in look else "-"
        lines.append(f"{number:<16}{look['participants']:>12}{bound:>12}{z:>12}")
    return [*lines, test["sentence"]]


def _planned(report: Report) -> list[str]:
    """What was planned, and what is promised."""
    settings = "; ".join(f"{name}: {value}" for name, value in report["settings"].items())
    return [settings, report["guarantee"], report["meaning"]]


def _shown(row: ArmReport) -> str:
    if "interval" not in row or row["mean"] is None:
        return ""
    low, high = row["interval"]
    return f"   {low:.4g} to {high:.4g}"
