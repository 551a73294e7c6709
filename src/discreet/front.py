"""The front door: a row of any kind by name, and runs of whatever can be run.

>>> import discreet
>>> print(discreet.policy("adac-oful", rho=0.5).guarantee.short())
ρ = 0.5 (interactive)
>>> print(discreet.policy("adap-tt", epsilon=1.0).guarantee.short())
ε = 1 (interactive)

Where two kinds have a row of one name (dp-se), the goal tells them apart: "regret", which comes
first, or "identify".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from .errors import InvalidArgument
from .policies.policy import BasePolicy
from .policies.registry import entry, one_budget

if TYPE_CHECKING:
    from .arms import Law
    from .identify import Identifier
    from .linear import LinearPolicy, LinearProblem
    from .policies import Policy
    from .privacy.budgets import Budget
    from .simulator import Comparison, Result

IdentifyName = Literal["ttucb", "adap-tt", "adap-tt-star", "ctb-tt"]
LinearName = Literal[
    "gope", "adac-gope", "oful", "rs-oful", "adac-oful", "private-linucb", "private-lints",
    "jdp-linucb",
]  # fmt: skip
"""Names whose rows a type checker knows to be of another kind than most."""


@overload
def policy(
    name: LinearName, *, epsilon: float | None = ..., delta: float | None = ...,
    rho: float | None = ..., renyi_alpha: float | None = ..., mu: float | None = ...,
    budget: Budget | None = ..., goal: Literal["regret"] | None = ..., **options: Any,
) -> LinearPolicy: ...  # fmt: skip
@overload
def policy(
    name: IdentifyName, *, epsilon: float | None = ..., budget: Budget | None = ...,
    goal: Literal["identify"] | None = ..., **options: Any,
) -> Identifier: ...  # fmt: skip
@overload
def policy(
    name: str, *, epsilon: float | None = ..., budget: Budget | None = ...,
    goal: Literal["identify"], **options: Any,
) -> Identifier: ...  # fmt: skip
@overload
def policy(
    name: str, *, epsilon: float | None = ..., delta: float | None = ..., rho: float | None = ...,
    renyi_alpha: float | None = ..., mu: float | None = ..., budget: Budget | None = ...,
    goal: str | None = ..., **options: Any,
) -> Policy: ...  # fmt: skip
def policy(
    name: str,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    renyi_alpha: float | None = None,
    mu: float | None = None,
    budget: Budget | None = None,
    goal: str | None = None,
    **options: Any,
) -> BasePolicy[Any]:
    """A published policy by name, whatever its kind.

    >>> policy("adac-ucb", rho=0.1, alpha=1.0).guarantee.budget
    ZCDP(rho=0.1)
    >>> policy("dp-se", epsilon=1.0, goal="identify").stopping.name
    'one arm left'
    """
    made: BasePolicy[Any] = entry(name, goal).policy(
        one_budget(budget, epsilon=epsilon, delta=delta, rho=rho, renyi_alpha=renyi_alpha, mu=mu),
        **options,
    )
    return made


def simulate(
    policy: Policy | LinearPolicy,
    law: Law | LinearProblem,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | None = None,
) -> Result:
    """Run a policy on a law of rewards, or a linear one on a linear problem; regret and pulls are
    recorded on a log grid of `points`.

    `progress=None` shows a bar on a terminal once the work has taken a second. Ctrl-C ends the
    work early and returns the runs that were finished: `result.complete` is then False.
    """
    return compare(
        [policy], law, horizon=horizon, runs=runs, seed=seed, threads=threads, points=points,
        progress=progress,
    )[0]  # fmt: skip


def compare(
    policies: Iterable[Policy | LinearPolicy],
    law: Law | LinearProblem,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | None = None,
) -> Comparison:
    """Run several policies of one kind on the same rewards with the same seeds."""
    rows: Sequence[Any] = list(policies)
    linear = [row for row in rows if isinstance(row, BasePolicy) and row.kind == "linear"]
    if linear and len(linear) < len(rows):
        other = next(row for row in rows if row not in linear)
        raise InvalidArgument(
            "policies", f"all be linear beside {linear[0].name}", getattr(other, "name", other),
            "compare rows of one kind: linear ones play on linear problems, the others on laws",
        )  # fmt: skip
    run: Callable[..., Comparison]
    if linear:
        from .linear.runs import compare as run
    else:
        from .simulator.runs import compare as run
    return run(
        rows, law, horizon=horizon, runs=runs, seed=seed, threads=threads, points=points,
        progress=progress,
    )  # fmt: skip
