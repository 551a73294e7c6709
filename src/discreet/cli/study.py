"""From what was asked to policies, a law and results."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InvalidArgument, UnknownPolicy
from .options import Study, numbers, pairs, whole
from .output import check_path, print_comparison, print_json, save

if TYPE_CHECKING:
    from ..arms import Law
    from ..policies import Policy

HORIZON = 10**6
TRIALS = ("actg175",)


def run(names: Sequence[str], study: Study, one: bool = False) -> None:
    """Check everything, simulate, print, save; exit 130 if Ctrl-C cut it short."""
    check_path("output", study.output, (".parquet",))
    check_path("plot", study.plot, (".png", ".svg", ".pdf"))
    policies, law = policies_of(names, study), law_of(study)
    runs = whole("runs", study.runs)
    if study.horizon is None:
        horizon = HORIZON if law.limit is None else law.limit
    else:
        horizon = whole("horizon", study.horizon)

    from .. import simulator
    from ..simulator.runs import any_rewards, check_law

    for policy in policies:
        try:
            check_law(policy, law)
        except InvalidArgument as error:
            fix = f"add --clip, or take a policy for any rewards: {any_rewards()}"
            raise InvalidArgument(error.argument, error.rule, error.value, fix) from None
    comparison = simulator.compare(
        policies, law, horizon=horizon, runs=runs, seed=study.seed, threads=study.threads,
        points=study.points,
    )  # fmt: skip
    if not comparison.complete:
        done = ", ".join(f"{result.runs} of {result.name}" for result in comparison)
        typer.echo(f"interrupted: of {runs} runs each, finished {done}", err=True)
    if study.json:
        summary = comparison.summary()
        print_json(summary[0] if one else summary)
    else:
        print_comparison(comparison)
    if any(result.runs for result in comparison):
        save(comparison, study.output, study.plot)
    if not comparison.complete:
        raise typer.Exit(130)


def policies_of(names: Sequence[str], study: Study) -> list[Policy]:
    """The named rows: the budget for the private ones, each option for those that take it."""
    from ..policies.catalogue import CATALOGUE
    from ..privacy.budgets import budget_from

    for place, name in enumerate(names):
        if name not in CATALOGUE:
            raise UnknownPolicy.near(name, CATALOGUE)
        if name in names[:place]:
            raise InvalidArgument("policy", "be named once", name, "drop one of the two")
    rows = [CATALOGUE[name] for name in names]
    budget = budget_from(
        epsilon=study.epsilon, delta=study.delta, rho=study.rho, renyi_alpha=study.renyi_alpha,
        mu=study.mu,
    )  # fmt: skip
    options = study.policy_options()
    known = sorted({name for row in rows for name in row.options})
    for name, value in options.items():
        if name not in known:
            close = get_close_matches(name, known, n=1)
            fix = f"did you mean {close[0]}?" if close else f"options: {', '.join(known) or 'none'}"
            raise InvalidArgument(name, f"be an option of {' or '.join(names)}", value, fix)
    nobody = not any(row.budgets for row in rows)
    policies = []
    for row in rows:
        mine = {name: value for name, value in options.items() if name in row.options}
        try:
            policies.append(row.policy(budget if row.budgets or nobody else None, **mine))
        except TypeError as error:  # a text where the row reckons with a number
            raise InvalidArgument(
                "option", f"suit {row.name}", mine, f"use values such as {row.options} ({error})"
            ) from None
    return policies


def law_of(study: Study) -> Law:
    """The rewards: a law with given means, or a real trial."""
    from .. import arms

    of_law = {
        "means": study.means, "law": study.law, "law-option": study.law_option, "clip": study.clip,
    }  # fmt: skip
    of_data = {"outcome": study.outcome, "replay": study.replay}
    if study.data is None:
        _refuse(of_data, "come with --data", "add --data actg175, or leave it out")
        if study.means is None:
            raise InvalidArgument(
                "means", "be given", None, "add --means .75,.5 for one, or --data actg175"
            )
        means = numbers("means", study.means)
        given = pairs("law-option", study.law_option)
        law = arms.law(study.law or "bernoulli", means, **given)
        return arms.Clipped(law) if study.clip else law
    _refuse(of_law, "be left out with --data", "the trial has its own arms and rewards in [0, 1]")
    if study.data not in TRIALS:
        raise InvalidArgument(
            "data", "be the name of a trial", study.data, f"known: {', '.join(TRIALS)}"
        )
    trial = arms.actg175(study.outcome or "cd4")
    return trial.replayed() if study.replay else trial.resampled()


def _refuse(given: dict[str, Any], rule: str, fix: str) -> None:
    for name, value in given.items():
        if value:
            raise InvalidArgument(name, rule, value, fix)
