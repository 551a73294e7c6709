"""`discreet identify`: which arm is best, and how many samples does it take?"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InvalidArgument
from ._late import Late
from ._options import (
    Epsilon,
    Json,
    Output,
    Rewards,
    Rho,
    Runs,
    Seed,
    Threads,
    argument,
    flag,
    pairs,
    spread,
    whole,
)
from ._output import check_path, or_refused, print_json, print_table, print_text
from ._study import DEFAULT_RISK, environment_of

if TYPE_CHECKING:
    from ..identify import Identifier
    from ..simulator import Result

NAME = "identify"
EXAMPLE = (
    "discreet identify evidence-tt --means .95,.9,.9,.9,.5 --epsilon 1 --risk .01 --runs 200 --json"
)


@spread
def command(
    name: Annotated[
        str,
        argument(
            "evidence-tt, local-evidence-tt, chernoff-tt, ttucb, adap-tt, adap-tt-star, "
            "dp-tt, ctb-tt, dp-se or race; of a fixed size: halving, classical-halving or uniform.",
            "NAME",
        ),
    ],
    rewards: Rewards,
    late: Late,
    epsilon: Epsilon = None,
    risk: Annotated[float | None, flag("Risk of a wrong answer; default: 0.05.", "NUMBER")] = None,
    delta: Annotated[
        float | None,
        flag("With --epsilon: an (ε, δ) budget.", "NUMBER"),
    ] = None,
    rho: Rho = None,
    participants: Annotated[
        str | None,
        flag(
            "A fixed number of participants instead of a risk, for the policies of that kind.",
            "COUNT",
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        flag(
            "An option of the policy: xi, version, threshold, sampling, beta; repeatable.",
            "NAME=VALUE",
        ),
    ] = None,
    runs: Runs = "100",
    max_samples: Annotated[str, flag("Samples after which a run gives up.", "COUNT")] = "1e8",
    seed: Seed = None,
    threads: Threads = None,
    json: Json = False,
    output: Output = None,
) -> None:
    """Find the best arm with a small risk of error, and report how many samples that takes.

    The stopping time and the recommendation are covered by the guarantee, like every assignment.
    With --arrivals outcomes come late, arms are played concurrently, and days are counted as well.
    """
    from ..identify import EqualBestArms, identifier, identify

    check_path("output", output, (".parquet",))
    if risk is None and participants is None:
        risk = DEFAULT_RISK
    name, options = name.lower(), pairs("option", option)
    row = identifier(name, epsilon=epsilon, delta=delta, rho=rho, **options)
    size = None if participants is None else whole("participants", participants)
    if row.fixed_size and size is None:
        raise InvalidArgument(
            "participants", f"be given for {name}", None, "write for example --participants 2000"
        )
    environment = environment_of(rewards)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EqualBestArms)
        result = identify(
            row, environment, risk=risk, participants=size, runs=whole("runs", runs), seed=seed,
            threads=threads, max_samples=whole("max-samples", max_samples), **late.given(),
        )  # fmt: skip
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    if not result.complete:
        typer.echo(f"interrupted: finished {result.runs} of {runs} runs", err=True)
    bound = None if size is None else loose_bound(row.among(size), result)
    if json:
        print_json(result.summary() | ({} if size is None else {"error_bound": bound}))
    else:
        print_identification(str(row), result, bound)
    if output is not None and result.runs:
        with or_refused("the results could not be saved"):
            result.save(output)
    if not result.complete:
        raise typer.Exit(130)


def loose_bound(row: Identifier, result: Result) -> float:
    """Chernoff's bound on the error of a fixed size."""
    from ..identify import Halving, error_bound
    from ..identify._noises import batches_of

    assert isinstance(row.rule, Halving)
    return error_bound(result.means, row.rule, batches_of(row.setting(len(result.means))).noise)


def print_identification(row: str, result: Result, bound: float | None) -> None:
    """Stopping time, errors, answers, guarantee and speed."""
    from ..simulator._record import mean_of
    from ..simulator._record import spread as sd_of

    means = ", ".join(f"{mean:.4g}" for mean in result.means)
    print_text(
        f"{result.environment['environment']} rewards with means {means}; seed {result.seed}"
    )
    print_text(row)
    times, speed = result.stopping_time, max(result.seconds, 1e-9)
    promise = "nothing proved"
    if result.risk is not None:
        proved = "at most that is proved" if result.delta_correct else promise
        promise = f"risk {result.risk:g}: {proved}"
    rate = f"{result.wrong} of {result.runs}, {result.error_rate:.3g}"
    rows = [
        ("runs", f"{result.runs:,}"),
        ("stopping time", f"{mean_of(times):,.0f}, standard deviation {sd_of(times):,.0f}"),
        ("wrong answers", f"{rate} ({promise})"),
        ("answers per arm", "  ".join(f"{count:,}" for count in result.recommendations)),
        ("pulls per arm", "  ".join(f"{pulls:,.0f}" for pulls in result.mean_pulls)),
        ("gave up", f"{result.unfinished} runs, at {result.horizon:,} samples"),
        ("speed", f"{result.seconds:.2f} s, {times.sum() / speed:.3g} samples/s"),
    ]
    if result.calendar is not None:
        days = result.days
        rows[2:2] = [
            ("days", f"{mean_of(days):,.1f}, standard deviation {sd_of(days):,.1f}"),
            ("used", f"{mean_of(result.used):.3g} of all participants"),
        ]
    if bound is not None:
        rows.insert(3, ("Chernoff's bound on errors", f"{bound:.3g}, loose: rely on the runs"))
    print_table(("", ""), rows)
    print_text(f"{result.name}: {result.guarantee}")
