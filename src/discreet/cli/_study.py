"""From what was asked to policies, an environment and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InvalidArgument, UnknownPolicy
from . import _linear as linear
from ._late import Late
from ._options import Rewards, Study, numbers, pairs, whole
from ._output import (
    PICTURES,
    check_path,
    deferred_errors,
    print_bounds,
    print_comparison,
    print_json,
    save,
    with_bounds,
)

if TYPE_CHECKING:
    from ..arms import Environment
    from ..linear import LinearProblem
    from ..simulator import Comparison

HORIZON = 10**6
DEFAULT_RISK = 0.05
OF_ENVIRONMENT = ("means", "environment", "environment-option", "clip")
"""Options that say what the environment is."""


def run(
    names: Sequence[str], study: Study, late: Late, risk: float | None, one: bool = False
) -> None:
    """Check everything, simulate, print, save; exit 130 if Ctrl-C cut it short."""
    check_path("output", study.output, (".parquet",))
    check_path("plot", study.plot, PICTURES)
    names = [name.lower() for name in names]
    days = late.given()
    policies = policies_of(names, study)
    if days:
        check_late(study)
        policies = [at_risk(policy, risk) for policy in policies]
    elif risk is not None:
        raise InvalidArgument("risk", "come with arrivals", risk, "use discreet identify")
    environment, compare = place_of(names, policies, study)
    runs = whole("runs", study.runs)
    if study.horizon is None:
        horizon = HORIZON if environment.limit is None else environment.limit
    else:
        horizon = whole("horizon", study.horizon)

    comparison = compare(
        policies, environment, horizon=horizon, runs=runs, seed=study.seed, threads=study.threads,
        points=whole("points", study.points), **(days or order(study, names, one)),
    )  # fmt: skip
    if not comparison.complete:
        done = ", ".join(f"{result.runs} of {result.name}" for result in comparison)
        typer.echo(f"interrupted: of {runs} runs each, finished {done}", err=True)
    with deferred_errors() as saving:  # results are printed although they could not be saved
        if any(result.runs for result in comparison):
            save(comparison, study.output, study.plot, study.bounds)
    if study.json:
        summary = comparison.summary()
        if study.bounds:
            summary = with_bounds(comparison, summary)
        print_json(summary[0] if one else summary)
    else:
        print_comparison(comparison)
        if study.bounds:
            print_bounds(comparison)
    saving.raise_now()
    if not comparison.complete:
        raise typer.Exit(130)


def check_late(study: Study) -> None:
    """What has nothing to say where outcomes come late."""
    linear.refuse(
        {"shuffle": study.shuffle}, "be left out with --arrivals", "arms are played concurrently"
    )
    linear.refuse(
        {"bounds": study.bounds}, "be left out with --arrivals",
        "theorems speak of outcomes that are known at once",
    )  # fmt: skip


def at_risk(policy: Any, risk: float | None) -> Any:
    """A policy that identifies, for a risk; others as they are."""
    if policy.kind != "identify" or policy.fixed_size:
        return policy
    return policy.at(DEFAULT_RISK if risk is None else risk)


def order(study: Study, names: Sequence[str], one: bool) -> dict[str, bool]:
    """Whether every run has a random order of the arms: when comparing, by default."""
    if linear.asked(names):
        linear.refuse(
            {"shuffle": study.shuffle}, "be left out for linear policies",
            "their actions have no order",
        )  # fmt: skip
        return {}
    return {"shuffle": not one if study.shuffle is None else study.shuffle}


def place_of(
    names: Sequence[str], policies: Sequence[Any], study: Study
) -> tuple[Environment | LinearProblem, Callable[..., Comparison]]:
    """What is played on, and who plays: finite arms, or a linear problem."""
    if linear.asked(names):
        from ..linear._runs import check_problem
        from ..linear._runs import compare as compare_linear

        problem = linear.problem_of(policies, study)
        for policy in policies:
            check_problem(policy, problem)
        return problem, compare_linear

    from ..simulator import compare
    from ..simulator._runs import any_rewards, check_environment

    linear.refuse(linear.options(study), "come with a linear policy", "name for example adac-oful")
    environment = environment_of(study, study.replay)
    for policy in policies:
        try:
            check_environment(policy, environment)
        except InvalidArgument as error:
            fix = f"add --clip, or take a policy for any rewards: {any_rewards()}"
            raise InvalidArgument(error.argument, error.rule, error.value, fix) from None
    if study.bounds:
        check_bounds(environment)
    return environment, compare


def check_bounds(environment: Environment) -> None:
    """Refuse --bounds where no theorem speaks, before any work is done."""
    if environment.name != "bernoulli":
        raise InvalidArgument(
            "bounds", "be asked for Bernoulli rewards", environment.name, "leave --bounds out"
        )


def policies_of(names: Sequence[str], study: Study) -> list[Any]:
    """The named rows: the budget for the private ones, each option for those that take it."""
    from ..policies._registry import every_entry

    catalogue = linear.catalogue(names)
    for place, name in enumerate(names):
        if name not in catalogue:
            raise UnknownPolicy.near(name, every_entry())
        if name in names[:place]:
            raise InvalidArgument("policy", "be named once", name, "drop one of the two")
    rows = [catalogue[name] for name in names]
    budget = study.asked.budget()
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
        policies.append(row.policy(budget if row.budgets or nobody else None, **mine))
    return policies


def environment_of(rewards: Rewards, replay: bool = False) -> Environment:
    """The rewards: given means, or a real trial."""
    from .. import arms

    if rewards.data is None:
        of_data = {"outcome": rewards.outcome, "replay": replay}
        linear.refuse(of_data, "come with --data", "add --data actg175, or leave it out")
        if rewards.means is None:
            raise InvalidArgument(
                "means", "be given", None, "add for example --means .75,.5, or --data actg175"
            )
        means = numbers("means", rewards.means)
        given = pairs("environment-option", rewards.environment_option)
        environment = arms.environment(rewards.environment or "bernoulli", means, **given)
        return arms.Clipped(environment) if rewards.clip else environment
    of_environment = {name: getattr(rewards, name.replace("-", "_")) for name in OF_ENVIRONMENT}
    why = "the trial has its own arms and rewards in [0, 1]"
    linear.refuse(of_environment, "be left out with --data", why)
    linear.check_trial(rewards.data)
    trial = arms.actg175(rewards.outcome or "cd4")
    return trial.replayed() if replay else trial.resampled()
