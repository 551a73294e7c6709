"""Linear policies on the command line: which they are, and the problem that options describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never

from ..errors import InvalidArgument
from ._options import Study, whole

if TYPE_CHECKING:
    from ..linear import LinearProblem
    from ..policies._policy import BasePolicy
    from ..policies._registry import Entry

DIMENSION, ARMS = 3, 10


def asked(names: Sequence[str]) -> bool:
    """Whether any of the names is a linear row."""
    from ..policies._registry import catalogue

    return any(name in catalogue("linear") for name in names)


def catalogue(names: Sequence[str]) -> dict[str, Entry[BasePolicy[Never]]]:
    """The rows that the names are looked up in; linear and finite-armed ones do not mix."""
    from ..policies._registry import every_entry

    rows, linear = every_entry(), asked(names)
    for name in names:
        if linear and name in rows and rows[name].kind != "linear":
            known = [row.name for row in rows.values() if row.kind == "linear"]
            beside = next(name for name in names if name in known)
            raise InvalidArgument(
                "policy", f"be linear beside {beside}", name,
                f"linear policies: {', '.join(known)}",
            )  # fmt: skip
    return {name: row for name, row in rows.items() if (row.kind == "linear") is linear}


def options(study: Study) -> dict[str, object]:
    """The options that only linear policies have, by the names of their flags."""
    return {
        "dimension": study.dimension, "arms": study.arms, "contexts": study.contexts,
        "rewards": study.rewards, "instance-seed": study.instance_seed,
    }  # fmt: skip


def problem_of(policies: Sequence[Any], study: Study) -> LinearProblem:
    """A random problem: fixed actions if a policy needs them, else contexts; or a real trial."""
    from .. import linear

    given = {
        "means": study.means,
        "environment": study.environment,
        "environment-option": study.environment_option,
        "clip": study.clip,
        "outcome": study.outcome,
        "replay": study.replay,
        "bounds": study.bounds,
    }
    refuse(given, "be left out for linear policies", "their rewards are linear in the actions")
    if study.data is not None:
        check_trial(study.data)
        refuse(options(study), "be left out with --data", "the trial has its own actions")
        return linear.actg175()
    fixed = any(policy.phased for policy in policies)
    return linear.LinearProblem.random(
        arms=ARMS if study.arms is None else whole("arms", study.arms),
        dimension=DIMENSION if study.dimension is None else whole("dimension", study.dimension),
        contexts=study.contexts or ("fixed" if fixed else "gaussian"),
        rewards=study.rewards or "gaussian",
        seed=study.instance_seed,
    )


def check_trial(name: str) -> None:
    """A trial whose data are shipped."""
    if name != "actg175":
        raise InvalidArgument("data", "be the name of a trial", name, "known: actg175")


def refuse(given: Mapping[str, object], rule: str, fix: str) -> None:
    """Refuse options that are given although they have nothing to say."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidArgument(name, rule, value, fix)
