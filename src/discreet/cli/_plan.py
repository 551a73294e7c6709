"""`discreet plan`: what privacy will cost, and which policy to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._checks import positive
from ..errors import InvalidArgument
from ._late import default_of, delay_of, drift_of, in_days
from ._options import Json, Threads, flag, numbers, switch, whole
from ._output import (
    check_path,
    print_with_page,
)

if TYPE_CHECKING:
    from ..theory.planning._calendar import TrialPlan
    from ..theory.planning._plan import Plan

NAME = "plan"
EXAMPLE = "discreet plan --means .6,.5,.5 --horizon 1e4 --epsilon 1 --epsilons .5,2"


def command(
    means: Annotated[str | None, flag("Expected rate of every arm.", "M,M,...")] = None,
    arms: Annotated[str | None, flag("Number of arms, with --rates or --gap.", "COUNT")] = None,
    rates: Annotated[str | None, flag("Lowest and highest rate to expect.", "LOW,HIGH")] = None,
    gap: Annotated[float | None, flag("Smallest gap that matters.", "NUMBER")] = None,
    horizon: Annotated[str | None, flag("Number of participants, such as 1e5.", "COUNT")] = None,
    goal: Annotated[str, flag("regret, or identify: find the best arm.", "NAME")] = "regret",
    risk: Annotated[
        float, flag("Goal identify: the probability of a wrong answer.", "NUMBER")
    ] = 0.05,
    trust: Annotated[
        str, flag("server (it sees true outcomes) or none (local noise).", "NAME")
    ] = "server",
    epsilon: Annotated[float, flag("The ε to recommend a policy for.", "NUMBER")] = 1.0,
    epsilons: Annotated[
        str | None, flag("Further ε to show. Default: .1,.25,.5,1,2,4.", "NUMBER,...")
    ] = None,
    delta: Annotated[float, flag("The δ of an (ε, δ) budget.", "NUMBER")] = 0.0,
    contexts: Annotated[
        str,
        flag(
            "Features of participants: none, public or private. With --gain and --features the "
            "plan says whether they pay.",
            "NAME",
        ),
    ] = "none",
    features: Annotated[
        int | None, flag("With --contexts: how many features there are.", "COUNT")
    ] = None,
    gain: Annotated[
        float | None,
        flag(
            "With --contexts: by how much the best arm for each participant beats the best for "
            "all, in mean outcomes.",
            "NUMBER",
        ),
    ] = None,
    arrivals: Annotated[
        float | None, flag("Participants a day: plan a trial whose outcomes come late.", "NUMBER")
    ] = None,
    delay: Annotated[
        str | None, flag('With --arrivals: the deadline for outcomes, "14 days".', "TIME")
    ] = None,
    delay_law: Annotated[
        str | None, flag("With --arrivals: fixed (default), uniform or exponential.", "NAME")
    ] = None,
    delay_mean: Annotated[
        str | None, flag('With --delay-law: mean delay of outcomes, "5 days".', "TIME")
    ] = None,
    missing: Annotated[
        str | None, flag("With --arrivals: the share that never answers, or one per arm.", "P,...")
    ] = None,
    default: Annotated[
        str | None,
        flag(
            "With --arrivals: what a missing outcome counts as. Default: estimate, from those "
            "who answered.",
            "VALUE",
        ),
    ] = None,
    drift: Annotated[
        str | None, flag('With --arrivals: linear:SIZE, or "season:SIZE:180 days".', "KIND:SIZE")
    ] = None,
    days: Annotated[
        float | None, flag("With --arrivals, instead of --horizon: days of recruitment.", "DAYS")
    ] = None,
    share: Annotated[
        str | None, flag("With --arrivals: the least share of every arm, or one per arm.", "P,...")
    ] = None,
    trend: Annotated[
        bool,
        switch("--trend", "With --arrivals: compare arms within epochs alone, against trends."),
    ] = False,
    strata: Annotated[
        str | None,
        flag("With --arrivals: groups that release their own sums, or their shares.", "COUNT|P,P"),
    ] = None,
    deadlines: Annotated[
        str | None, flag('With --arrivals: other deadlines to show, "7 days,P21D".', "TIME,...")
    ] = None,
    all_policies: Annotated[
        bool, switch("--all-policies", "Simulate all policies that you can use.")
    ] = False,
    seed: Annotated[int, flag("Random seed, for reproducible results.", "COUNT")] = 1,
    threads: Threads = None,
    json: Json = False,
    html: Annotated[
        Path | None, flag("Also write the plan as a page.", "FILE.html", readable=False)
    ] = None,
) -> None:
    """Say what privacy will cost before a trial starts, and recommend a policy.

    Give the expected rates, or the number of arms with a range of rates or with the smallest gap
    that matters. The policies that have been the best in measured questions like yours are
    simulated, with the arms in random order; --all-policies simulates all that you can use.

    With --arrivals the plan is for a trial on a calendar: participants on worse arms, regret, days,
    a race for a winner, the width of intervals, and other deadlines.
    """
    check_path("html", html, (".html", ".htm"))
    given = None if means is None else numbers("means", means)
    span = None if rates is None else numbers("rates", rates)
    others = None if epsilons is None else numbers("epsilons", epsilons)
    count = None if arms is None else whole("arms", arms)
    rounds = None if horizon is None else whole("horizon", horizon)

    late = {
        "delay": delay, "delay_law": delay_law, "delay_mean": delay_mean, "missing": missing,
        "default": default, "drift": drift, "deadlines": deadlines, "days": days, "share": share,
        "trend": trend or None, "strata": strata,
    }  # fmt: skip
    for name, value in late.items():
        if value is not None and arrivals is None:
            raise InvalidArgument(name, "come with arrivals", value, "add --arrivals")

    from ..theory import plan

    found: Plan | TrialPlan
    try:
        if arrivals is not None:
            for name, value, usual in (
                ("goal", goal, "regret"), ("trust", trust, "server"), ("delta", delta, 0.0),
                ("rates", rates, None), ("contexts", contexts, "none"),
            ):  # fmt: skip
                if value != usual:
                    raise InvalidArgument(name, "be left out with arrivals", value, "leave it out")
            found = _with_calendar(
                given, count, gap, rounds, arrivals, late, epsilon=epsilon,
                epsilons=others or (), risk=risk, seed=seed, threads=threads,
            )  # fmt: skip
        else:
            found = plan(
                given, arms=count, rates=span, gap=gap, horizon=rounds, goal=goal, risk=risk,
                trust=trust, epsilon=epsilon, epsilons=others, delta=delta, seed=seed,
                threads=threads, contexts=contexts, features=features, gain=gain,
                all_policies=all_policies,
            )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("interrupted: nothing was finished", err=True)
        raise typer.Exit(130) from None
    complete = getattr(found, "complete", True)
    if not complete:
        typer.echo("interrupted: only what was finished is shown", err=True)
    print_with_page(found, html, json, "the plan could not be written")
    if not complete:
        raise typer.Exit(130)


def _strata(given: str | None) -> int | list[float]:
    """How many, or their shares."""
    if given is None:
        return 1
    return numbers("strata", given) if "," in given else whole("strata", given)


def _with_calendar(
    means: list[float] | None,
    arms: int | None,
    gap: float | None,
    horizon: int | None,
    arrivals: float,
    late: dict[str, Any],
    **rest: Any,
) -> TrialPlan:
    """The plan of a trial whose outcomes come late."""
    from ..theory.planning._calendar import plan_trial
    from ..theory.planning._question import question

    if horizon is not None and late["days"] is not None:
        raise InvalidArgument("days", "be left out with horizon", late["days"], "give one of them")
    if late["days"] is not None:
        length = positive("days", late["days"], "use for example --days 100")
        horizon = max(2, round(positive("arrivals", arrivals) * length))
    asked = question(means, arms=arms, gap=gap, horizon=horizon)
    delay = delay_of(late["delay"], late["delay_law"], late["delay_mean"])
    others = None
    if late["deadlines"] is not None:
        others = [in_days("deadlines", each) for each in late["deadlines"].split(",")]
    default = "estimate" if late["default"] is None else default_of(late["default"])
    assert asked.horizon is not None
    return plan_trial(
        asked.scenarios[0], horizon=asked.horizon, arrivals=arrivals,
        delay=0.0 if delay is None else delay,
        missing=0.0 if late["missing"] is None else numbers("missing", late["missing"]),
        default=default, drift=drift_of(late["drift"]),
        deadlines=others,
        share=0.0 if late["share"] is None else numbers("share", late["share"]),
        trend=bool(late["trend"]), strata=_strata(late["strata"]),
        **rest,
    )  # fmt: skip
