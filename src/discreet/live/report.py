"""What a trial shows: releases and public counts, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..privacy.guarantees import Definition, Guarantee
from .rules import Name, Standing
from .run import FiniteRun

if TYPE_CHECKING:
    from .contexts import ContextRun


class Shown(NamedTuple):
    """What reports are made of."""

    policy: Any
    guarantee: Guarantee
    arms: tuple[Name, ...]
    outcome_range: tuple[float, float]
    standing: Standing
    assigned: list[int]
    status: str
    failure: str
    """what went wrong in the rule of the policy, if anything"""


def report_of(shown: Shown, run: FiniteRun | ContextRun) -> dict[str, Any]:
    """The state of a trial, ready for JSON; means in the units of the outcomes."""
    if isinstance(run, FiniteRun):
        special = finite_entries(shown, run)
    else:
        special = linear_entries(shown, run)
    return {
        "policy": str(shown.policy),
        "guarantee": str(shown.guarantee),
        "budget": shown.guarantee.to_dict(),
        "status": shown.status,
        **({"failure": shown.failure} if shown.failure else {}),
        "rounds": shown.standing.rounds,
        "horizon": run.horizon,
        "assigned": sum(shown.assigned),
        "releases": sum(run.releases),
        **special,
    }


def finite_entries(shown: Shown, run: FiniteRun) -> dict[str, Any]:
    """What is known of every arm."""
    view, arms, standing = run.view, shown.arms, shown.standing
    played = list(view.pulls)
    played[run.arm] += standing.filled
    return {
        "most_played": arms[max(range(len(arms)), key=played.__getitem__)],
        "recommendation": recommended(shown, run.answer),
        "arms": [
            {
                "arm": name,
                "assigned": shown.assigned[arm],
                "used": played[arm],
                "releases": run.releases[arm],
                "size": max(view.size[arm], 0),
                "mean": mean_outcome(shown, view.value[arm]) if view.size[arm] > 0 else None,
            }
            for arm, name in enumerate(arms)
        ],
        "batch": {
            "arm": arms[run.arm],
            "size": None if run.cut else run.rounds,
            "filled": standing.filled,
            "due": standing.due,
        },
    }


def linear_entries(shown: Shown, run: ContextRun) -> dict[str, Any]:
    """The estimate, and counts of the arms unless they are private: joint privacy covers what all
    others see of a participant, and a count would show the participant's own arm."""
    released, arms = run.releases[0] > 0, None
    if shown.guarantee.definition is not Definition.JOINT:
        arms = [
            {"arm": arm, "assigned": count}
            for arm, count in zip(shown.arms, shown.assigned, strict=True)
        ]
    return {
        "estimate": run.view.estimate.copy() if released else None,
        "radius": run.view.width[0] if released else None,
        "arms": arms,
        "batch": {"filled": shown.standing.filled, "due": shown.standing.due},
    }


def recommended(shown: Shown, answer: int | None) -> dict[str, Any] | None:
    """The answer of a trial that identifies; it is wrong with probability 1 - confidence."""
    risk = getattr(shown.policy, "delta", None)
    if answer is None or risk is None:
        return None
    return {"arm": shown.arms[answer], "confidence": 1.0 - risk}


def mean_outcome(shown: Shown, value: float) -> float | None:
    """The mean outcome behind a released value, as the release estimates it."""
    mean = shown.policy.release.estimated_mean(value)
    low, high = shown.outcome_range
    return None if mean is None else low + (high - low) * mean


def as_text(report: dict[str, Any]) -> str:
    """The report as a small table."""
    lines = [
        f"Trial of {report['policy']}",
        f"{report['status']}: {report['assigned']} assigned, {report['rounds']} used, "
        f"{report['releases']} releases",
    ]
    if "failure" in report:
        lines.append(f"the rule of the policy fails on what was released: {report['failure']}")
    if "estimate" in report:
        estimate = report["estimate"]
        shown = "none yet" if estimate is None else ", ".join(f"{x:.4g}" for x in estimate)
        lines.append(f"estimate: {shown}")
        lines += [
            f"{row['arm']!s:<16}{row['assigned']:>10} assigned" for row in report["arms"] or ()
        ]
        return "\n".join([*lines, report["guarantee"]])
    lines.append(f"{'arm':<16}{'assigned':>10}{'releases':>10}{'size':>10}{'mean':>12}")
    for row in report["arms"]:
        mean = "-" if row["mean"] is None else f"{row['mean']:.4g}"
        lines.append(
            f"{row['arm']!s:<16}{row['assigned']:>10}{row['releases']:>10}{row['size']:>10}{mean:>12}"
        )
    if report["recommendation"] is not None:
        answer = report["recommendation"]
        lines.append(f"recommends {answer['arm']}, with confidence {answer['confidence']:g}")
    return "\n".join([*lines, report["guarantee"]])
