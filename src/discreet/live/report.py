"""What a trial shows: releases and public counts, nothing else."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..identify import Identifier
from ..policies import Policy
from ..policies.releases import LocalBernoulli, SquashedBernoulli, SquashedLaplace
from ..privacy.guarantees import Guarantee
from .arguments import Name
from .protocol import Protocol


def make_report(
    policy: Policy,
    guarantee: Guarantee,
    arms: Sequence[Name],
    outcome_range: tuple[float, float],
    protocol: Protocol,
    *,
    status: str,
    rounds: int,
    assigned: Sequence[int],
    filled: int,
    due: float | None,
) -> dict[str, Any]:
    """The state of a trial, ready for JSON; means in the units of the outcomes."""
    view = protocol.view
    played = [protocol.view.pulls[arm] for arm in range(len(arms))]
    played[protocol.arm] += filled
    rows = [
        {
            "arm": name,
            "assigned": assigned[arm],
            "used": played[arm],
            "releases": protocol.releases[arm],
            "size": max(view.size[arm], 0),
            "mean": estimated_mean(policy, view.value[arm], outcome_range)
            if view.size[arm] > 0
            else None,
        }
        for arm, name in enumerate(arms)
    ]
    return {
        "policy": str(policy),
        "guarantee": str(guarantee),
        "meaning": guarantee.tradeoff().in_words(outcomes=True),
        "budget": guarantee.to_dict(),
        "status": status,
        "rounds": rounds,
        "horizon": protocol.horizon,
        "assigned": sum(assigned),
        "releases": sum(protocol.releases),
        "most_played": arms[max(range(len(arms)), key=played.__getitem__)],
        "recommendation": recommended(policy, arms, protocol.answer),
        "arms": rows,
        "batch": {
            "arm": arms[protocol.arm],
            "size": None if protocol.cut else protocol.rounds,
            "filled": filled,
            "due": due,
        },
    }


def recommended(policy: Policy, arms: Sequence[Name], answer: int | None) -> dict[str, Any] | None:
    """The answer of a trial that identifies, and the confidence with which it is best."""
    if answer is None or not isinstance(policy, Identifier) or policy.delta is None:
        return None
    return {"arm": arms[answer], "confidence": 1.0 - policy.delta}


def estimated_mean(
    policy: Policy, value: float, outcome_range: tuple[float, float]
) -> float | None:
    """The mean outcome that a released value speaks for; None if it speaks of something else.

    Random bits lean towards 1/2: their mean is 1/2 + (2μ-1)(e^ε-1)/(2(e^ε+1)). A mean of sigmoids
    is not a function of the mean outcome.
    """
    release, (low, high) = policy.release, outcome_range
    if isinstance(release, SquashedLaplace | SquashedBernoulli):
        return None
    if isinstance(release, LocalBernoulli):
        value = 0.5 + (value - 0.5) / math.tanh(0.5 * release.epsilon)
    return low + (high - low) * value


def as_text(report: dict[str, Any]) -> str:
    """The report as a small table."""
    lines = [
        f"Trial of {report['policy']}",
        f"{report['status']}: {report['assigned']} assigned, {report['rounds']} used, "
        f"{report['releases']} releases",
        f"{'arm':<16}{'assigned':>10}{'releases':>10}{'size':>10}{'mean':>12}",
    ]
    for row in report["arms"]:
        mean = "-" if row["mean"] is None else f"{row['mean']:.4g}"
        lines.append(
            f"{row['arm']!s:<16}{row['assigned']:>10}{row['releases']:>10}{row['size']:>10}{mean:>12}"
        )
    if report["recommendation"] is not None:
        answer = report["recommendation"]
        lines.append(f"recommends {answer['arm']}, with confidence {answer['confidence']:g}")
    return "\n".join([*lines, report["guarantee"], report["meaning"]])
