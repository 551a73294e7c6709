"""`discreet sweep`: a grid of policies, problems and settings."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InvalidArgument
from ._late import Late
from ._options import (
    Json,
    Output,
    Seed,
    argument,
    flag,
    numbers,
    pairs,
    spread,
    switch,
    value_of,
    whole,
)
from ._output import check_path, or_refused, print_json, print_table, print_text

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..simulator import Comparison

NAME = "sweep"
EXAMPLE = (
    "discreet sweep imed dp-imed --means .7,.5 --means .7,.5,.3 --epsilon .1,1 --horizon 1e3,1e4 "
    "--runs 10 --seed 1"
)


@spread
def command(
    late: Late,
    names: Annotated[
        list[str] | None, argument("Policies of `discreet policies`.", "NAME...")
    ] = None,
    file: Annotated[
        Path | None, flag("A study in TOML; options add to it or replace.", "FILE.toml")
    ] = None,
    means: Annotated[
        list[str] | None, flag("Mean reward of every arm; repeatable, a problem each.", "M,M,...")
    ] = None,
    environment: Annotated[
        str | None, flag("Reward distribution. Default: bernoulli.", "NAME")
    ] = None,
    epsilon: Annotated[str | None, flag("Budgets ε.", "V,V,...")] = None,
    delta: Annotated[str | None, flag("With --epsilon: (ε, δ) budgets.", "V,V,...")] = None,
    rho: Annotated[str | None, flag("zCDP budgets.", "V,V,...")] = None,
    renyi_alpha: Annotated[str | None, flag("With --epsilon: orders of Rényi.", "V,V,...")] = None,
    mu: Annotated[str | None, flag("Gaussian budgets.", "V,V,...")] = None,
    option: Annotated[
        list[str] | None, flag("Any policy option; repeatable.", "NAME=V,V,...")
    ] = None,
    horizon: Annotated[str | None, flag("Rounds per run, such as 1e4,1e6.", "COUNT,...")] = None,
    risk: Annotated[
        str | None, flag("Risks of a wrong answer, for policies of `discreet identify`.", "V,V,...")
    ] = None,
    runs: Annotated[str | None, flag("Runs per cell. Default: 100.", "COUNT")] = None,
    seed: Seed = None,
    threads: Annotated[int | None, flag("Number of threads. Default: all cores.", "COUNT")] = None,
    processes: Annotated[int | None, flag("Processes instead of threads.", "COUNT")] = None,
    folder: Annotated[
        Path | None, flag("Keep finished pieces there: called again, it goes on.", "DIR")
    ] = None,
    points: Annotated[str | None, flag("Points of the curves. Default: 100.", "COUNT")] = None,
    piece: Annotated[str | None, flag("Runs of a piece. Default: 25.", "COUNT")] = None,
    shuffle: Annotated[
        bool | None, switch("--shuffle/--no-shuffle", "A random order of the arms in every run.")
    ] = None,
    json: Json = False,
    output: Output = None,
) -> None:
    """Run every policy with every setting that it takes, on every problem, with the same seeds.

    A setting goes to the policies that take it. With --folder every finished piece is kept: a sweep
    that was stopped goes on where it was, and ends with the same bytes. With --arrivals outcomes
    come late in every cell.
    """
    from ..sweeps import sweep
    from ..sweeps._files import problem, read_study

    check_path("output", output, (".parquet",))
    study: dict[str, Any] = {} if file is None else read_study(file)
    given = {"epsilon": epsilon, "delta": delta, "rho": rho, "renyi_alpha": renyi_alpha, "mu": mu,
             "risk": risk}  # fmt: skip
    study |= {n: numbers(n.replace("_", "-"), v) for n, v in given.items() if v is not None}
    study |= {n: _several(v) for n, v in pairs("option", option).items()}
    if horizon is not None:
        study["horizon"] = [whole("horizon", part) for part in horizon.split(",")]
    if names:
        study["policies"] = [name.lower() for name in names]
    if means:
        environments = {"environment": environment} if environment is not None else {}
        tables = [{"means": numbers("means", text), **environments} for text in means]
        study["problems"] = [problem(f"--means {n}", t) for n, t in enumerate(tables)]
    elif environment is not None:
        raise InvalidArgument(
            "environment", "come with --means", environment, "add for example --means .7,.5"
        )
    counts = {"runs": runs, "points": points, "piece": piece}
    study |= {name: whole(name, text) for name, text in counts.items() if text is not None}
    more = {"seed": seed, "threads": threads, "folder": folder, "shuffle": shuffle}
    study |= {name: value for name, value in more.items() if value is not None}
    study |= late.given()
    for needed, fix in (("policies", "name them"), ("problems", "add --means .7,.5 or --file")):
        if needed not in study:
            raise InvalidArgument(needed, "be given", None, fix)
    with _workers(processes) as executor:
        found = sweep(study.pop("policies"), study.pop("problems"), executor=executor, **study)
    if not found.complete:
        typer.echo(f"interrupted: {sum(r.runs for r in found)} runs are finished", err=True)
    if output is not None and any(result.runs for result in found):
        with or_refused("the results could not be saved"):
            found.save(output)
    if json:
        print_json(found.summary())
    else:
        print_sweep(found)
    if not found.complete:
        raise typer.Exit(130)


def _several(value: object) -> object:
    return [value_of(part) for part in value.split(",")] if isinstance(value, str) else value


def _workers(processes: int | None) -> AbstractContextManager[Executor | None]:
    if processes is None:
        return nullcontext()
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from .._checks import count

    # a forked process would inherit locks that nobody releases
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(count("processes", processes, most=1024), mp_context=spawning)


def print_sweep(found: Comparison) -> None:
    """A line a cell: what it came to, and how it differs from the first policy."""
    base = found.labels[0]
    what = found[0].outcome[0]
    risks = any(result.risk is not None for result in found)
    columns = ["policy", "problem", "risk" if risks else "horizon", "runs", what, f"less {base}",
               "guarantee"]  # fmt: skip
    rows = []
    for result, figures in zip(found, found.summary(), strict=True):
        own = figures["stopping_time" if what == "samples" else what]
        other = next((d for d in figures.get("differences", ()) if d["to"] == base), None)
        rows.append(
            [
                result.label, result.problem,
                "–" if risks and result.risk is None else
                f"{result.risk:g}" if risks else f"{result.horizon:,}",
                f"{result.runs}", _with_error(own), "–" if other is None else _with_error(other),
                result.guarantee.short(),
            ]
        )  # fmt: skip
    print_table(columns, rows, right=("horizon", "risk", "runs", what, f"less {base}"))
    print_text(f"less {base}: mean of paired differences, on the same seeds; seed {found[0].seed}")


def _with_error(figures: dict[str, Any]) -> str:
    if figures["mean"] is None:
        return "–"
    error = "" if figures["error"] is None else f" ± {figures['error']:,.1f}"
    return f"{figures['mean']:,.1f}{error}"
