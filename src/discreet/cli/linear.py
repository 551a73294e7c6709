"""Linear policies on the command line: which they are, and the problem that options describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument
from .options import Study, whole

if TYPE_CHECKING:
    from ..linear import LinearProblem

DIMENSION, ARMS = 3, 10


def asked(names: Sequence[str]) -> bool:
    """Whether any of the names is a linear row."""
    from ..linear.catalogue import CATALOGUE

    return any(name in CATALOGUE for name in names)


def catalogue(names: Sequence[str]) -> dict[str, Any]:
    """The catalogue that the names are looked up in; linear and finite-armed rows do not mix."""
    from ..linear.catalogue import CATALOGUE as LINEAR
    from ..policies.catalogue import CATALOGUE

    found = [name for name in names if name in LINEAR]
    if not found:
        return dict(CATALOGUE)
    for name in names:
        if name in CATALOGUE:
            raise InvalidArgument(
                "policy", f"be linear beside {found[0]}", name,
                f"linear policies: {', '.join(LINEAR)}",
            )  # fmt: skip
    return dict(LINEAR)


def everything() -> dict[str, Any]:
    """All rows, finite-armed ones first."""
    from ..linear.catalogue import CATALOGUE as LINEAR
    from ..policies.catalogue import CATALOGUE

    return {**CATALOGUE, **LINEAR}


def options(study: Study) -> dict[str, Any]:
    """The options that only linear policies have, by the names of their flags."""
    return {
        "dimension": study.dimension, "arms": study.arms, "contexts": study.contexts,
        "rewards": study.rewards, "instance-seed": study.instance_seed,
    }  # fmt: skip


def problem_of(policies: Sequence[Any], study: Study) -> LinearProblem:
    """A random problem: fixed actions if a policy needs them, else contexts; or a real trial."""
    from .. import linear

    given = {
        "means": study.means, "law": study.law, "law-option": study.law_option, "clip": study.clip,
        "outcome": study.outcome, "replay": study.replay, "bounds": study.bounds,
    }  # fmt: skip
    refuse(given, "be left out for linear policies", "their rewards are linear in the actions")
    if study.data is not None:
        if study.data != "actg175":
            raise InvalidArgument("data", "be the name of a trial", study.data, "known: actg175")
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


def refuse(given: dict[str, Any], rule: str, fix: str) -> None:
    """Refuse options that are given although they have nothing to say."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidArgument(name, rule, value, fix)
