"""`discreet identify`: which arm is best, and how many samples does it take?"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import DiscreetError
from .options import Json, Study, pairs, whole
from .output import check_path, print_json, print_table, print_text
from .study import law_of

if TYPE_CHECKING:
    from ..identify import IdentifyResult

NAME = "identify"
EXAMPLE = (
    "discreet identify adap-tt --means .95,.9,.9,.9,.5 --epsilon 1 --delta 0.01 --runs 1000 --json"
)


def command(
    name: Annotated[
        str,
        typer.Argument(help="ttucb, adap-tt, adap-tt-star, ctb-tt or dp-se.", metavar="NAME"),
    ],
    means: Annotated[
        str | None, typer.Option(help="Mean reward of every arm.", metavar="M,M,...")
    ] = None,
    law: Annotated[
        str | None,
        typer.Option(
            help="Law of the rewards: bernoulli (default), gaussian, beta, two-point, uniform.",
            metavar="NAME",
        ),
    ] = None,
    law_option: Annotated[
        list[str] | None,
        typer.Option(
            help="A parameter of the law (sd, concentration, half_width); repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    clip: Annotated[bool, typer.Option("--clip", help="Clip every reward to [0, 1].")] = False,
    data: Annotated[
        str | None,
        typer.Option(help="A real trial instead of a law: actg175.", metavar="NAME"),
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(
            help="Which outcome of the trial: cd4 (default) or event-free.", metavar="NAME"
        ),
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Pure budget ε of a private policy.", metavar="NUMBER")
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Risk: the probability of a wrong answer.", metavar="NUMBER")
    ] = 0.05,
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="An option of the policy: version, threshold, sampling, beta; repeatable.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    runs: Annotated[str, typer.Option(help="Number of runs.", metavar="COUNT")] = "100",
    max_samples: Annotated[
        str, typer.Option(help="Samples after which a run gives up.", metavar="COUNT")
    ] = "1e8",
    seed: Annotated[
        int | None,
        typer.Option(
            help="Random seed, for reproducible results. Default: random.", metavar="COUNT"
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            help="Number of threads; results do not depend on it. Default: all cores.",
            metavar="COUNT",
        ),
    ] = None,
    json: Json = False,
    output: Annotated[
        Path | None,
        typer.Option(help="Save all runs as Parquet.", metavar="FILE.parquet", readable=False),
    ] = None,
) -> None:
    """Find the best arm with a small risk of error, and report how many samples that takes.

    The stopping time and the recommendation are covered by the guarantee, like every assignment.
    """
    from ..identify import EqualBestArms, identifier, identify

    check_path("output", output, (".parquet",))
    row = identifier(name, epsilon=epsilon, **pairs("option", option))
    rewards = law_of(
        Study(means=means, law=law, law_option=law_option, clip=clip, data=data, outcome=outcome)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EqualBestArms)
        result = identify(
            row, rewards, delta=delta, runs=whole("runs", runs), seed=seed, threads=threads,
            max_samples=whole("max-samples", max_samples),
        )  # fmt: skip
    for warning in caught:
        typer.echo(f"warning: {warning.message}", err=True)
    if not result.complete:
        typer.echo(f"interrupted: finished {result.runs} of {runs} runs", err=True)
    if json:
        print_json(result.summary())
    else:
        print_identification(str(row), result)
    if output is not None and result.runs:
        try:
            result.save(output)
        except OSError as error:
            raise DiscreetError(f"the results could not be saved: {error}") from None
    if not result.complete:
        raise typer.Exit(130)


def print_identification(row: str, result: IdentifyResult) -> None:
    """Stopping time, errors, answers, guarantee and speed."""
    means = ", ".join(f"{mean:.4g}" for mean in result.means)
    print_text(f"{result.law['law']} rewards with means {means}; seed {result.seed}")
    print_text(row)
    summary: dict[str, Any] = result.summary()
    promise = "at most δ proved" if result.delta_correct else "nothing proved"
    rows = [
        ("runs", f"{result.runs:,}"),
        ("stopping time", f"{result.mean:,.0f}, standard deviation {result.sd:,.0f}"),
        ("wrong answers", f"{result.wrong} of {result.runs} ({promise}; δ = {result.delta:g})"),
        ("answers per arm", "  ".join(f"{count:,}" for count in result.recommendations)),
        ("pulls per arm", "  ".join(f"{pulls:,.0f}" for pulls in summary["pulls"])),
        ("gave up", f"{result.unfinished} runs, at {result.max_samples:,} samples"),
        ("speed", f"{result.seconds:.2f} s, {summary['samples_per_second']:.3g} samples/s"),
    ]
    print_table(("", ""), rows)
    print_text(f"{result.name}: {result.guarantee}")
