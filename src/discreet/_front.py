"""The front door: a published policy of any kind, by name; and what is asked of any of them.

What is a command is a function: `discreet.policy`, `policies`, `simulate`, `compare`, `sweep`,
`identify`, `audit`, `verify`, `cite`, `bounds`, `plan`, and `load` for whatever was saved.

>>> import discreet
>>> print(discreet.policy("adac-oful", rho=0.5).guarantee.short())
ρ = 0.5 (interactive)
>>> print(discreet.policy("adap-tt", epsilon=1.0).guarantee.short())
ε = 1 (interactive)

Where two kinds have a policy of one name (dp-se), the goal tells them apart: "regret", which comes
first, or "identify". A policy serves every budget that it provably satisfies, and says so:

>>> print(discreet.policy("dp-imed", mu=1.0).guarantee.short())
ε = 0.806965 (interactive; keeps μ = 1)

Without a name, the policy with the least noise for the budget: `policy.why` and `theory.choose`.

>>> discreet.policy(epsilon=1.0, delta=1e-6).name, discreet.policy(mu=1.0).name
('laplace-imed', 'gauss-imed')
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Never, overload

from .errors import InvalidArgument
from .policies._policy import BasePolicy
from .policies._registry import entry
from .privacy.budgets import Budget, budget_from

if TYPE_CHECKING:
    from .identify import Identifier
    from .linear import LinearPolicy
    from .policies import Policy
    from .privacy.verification import Verification
    from .references import Reference

FiniteName = Literal[
    "ucb1", "kl-ucb", "imed", "thompson", "episodic-ucb", "adap-ucb", "adap-klucb", "adac-ucb",
    "dp-klucb", "dp-imed", "laplace-imed", "gauss-imed", "dp-ucb", "dp-ucb-td", "dp-ucb-bound",
    "dp-ucb-int", "private-ucb", "ldp-ucb-b", "ldp-ucb-l", "ldp-ucb-bs", "ldp-ucb-ls",
    "lazy-dp-ts", "dp-ts", "private-thompson", "dp-se", "gdp-elim-new", "dp-ftpl-gauss",
    "dp-ftpl-beta", "dp-ftpl-new", "dp-tsallis", "exp3", "sw-ucb", "d-ucb", "m-ucb", "dp-sw-ucb",
    "dp-d-ucb", "dp-m-ucb",
]  # fmt: skip
"""Names that editors complete."""
IdentifyName = Literal[
    "ttucb", "adap-tt", "adap-tt-star", "dp-tt", "ctb-tt", "evidence-tt", "local-evidence-tt",
    "chernoff-tt", "race", "halving", "classical-halving", "uniform",
]  # fmt: skip
LinearName = Literal[
    "gope", "adac-gope", "oful", "rs-oful", "adac-oful", "private-linucb", "private-lints",
    "jdp-linucb", "adac-ts", "jdp-ts", "blocks-ts", "jdp-blocks-ts",
]  # fmt: skip
"""Names whose policies a type checker knows to be of another kind than most."""


@overload
def policy(
    name: LinearName, *, epsilon: float | None = ..., delta: float | None = ...,
    rho: float | None = ..., renyi_alpha: float | None = ..., mu: float | None = ...,
    budget: Budget | None = ..., goal: Literal["regret"] | None = ..., label: str | None = ...,
    **options: Any,
) -> LinearPolicy: ...  # fmt: skip
@overload
def policy(
    name: IdentifyName, *, epsilon: float | None = ..., budget: Budget | None = ...,
    goal: Literal["identify"] | None = ..., label: str | None = ..., **options: Any,
) -> Identifier: ...  # fmt: skip
@overload
def policy(
    name: FiniteName, *, epsilon: float | None = ..., delta: float | None = ...,
    rho: float | None = ..., renyi_alpha: float | None = ..., mu: float | None = ...,
    budget: Budget | None = ..., goal: Literal["regret"] | None = ..., label: str | None = ...,
    **options: Any,
) -> Policy: ...  # fmt: skip
@overload
def policy(
    name: str, *, epsilon: float | None = ..., budget: Budget | None = ...,
    goal: Literal["identify"], label: str | None = ..., **options: Any,
) -> Identifier: ...  # fmt: skip
@overload
def policy(
    name: str | None = ..., *,
    epsilon: float | None = ..., delta: float | None = ..., rho: float | None = ...,
    renyi_alpha: float | None = ..., mu: float | None = ..., budget: Budget | None = ...,
    goal: str | None = ..., label: str | None = ..., **options: Any,
) -> Policy: ...  # fmt: skip
def policy(
    name: str | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    renyi_alpha: float | None = None,
    mu: float | None = None,
    budget: Budget | None = None,
    goal: str | None = None,
    label: str | None = None,
    **options: object,
) -> BasePolicy[Never]:
    """A published policy by name, whatever its kind.

    Without a name: the one to take for the budget (and the goal), with the reasons in `why`.

    Args:
        name: A name of the catalogue, such as "dp-imed".
        epsilon: The budget ε; alone it is pure.
        delta: With epsilon: an (ε, δ) budget.
        rho: A zCDP budget.
        renyi_alpha: With epsilon: a Rényi budget of this order.
        mu: A Gaussian budget.
        budget: Instead of these numbers, a budget.
        goal: "regret" or "identify", where two policies have one name, or without a name.
        label: What results call it. Default: its name.
        **options: Options of the policy; `discreet show NAME` lists them.

    Returns:
        The policy. Its `guarantee` is at least as strong as what was asked for.

    Raises:
        UnknownPolicy: If no policy has that name.
        UnsupportedBudget: If the policy cannot satisfy a budget of that kind.
        InvalidArgument: If an option is not one of the policy's.

    Example:
        >>> import discreet
        >>> discreet.policy("adac-ucb", rho=0.1, alpha=1.0).guarantee.budget
        ZCDP(rho=0.1)
        >>> discreet.policy("dp-se", epsilon=1.0, goal="identify").stopping.name
        'one arm left'
    """
    why: tuple[str, ...] = ()
    if name is None:
        from .theory._choosing import choose

        asked = budget_from(epsilon, delta, rho, renyi_alpha, mu) if budget is None else budget
        if asked is None:
            raise InvalidArgument(
                "name", "be given without a budget", name, "give a name, or for example epsilon=1.0"
            )
        choice = choose(asked, goal=goal or "regret")
        name, why, options = choice.name, choice.why, {**choice.options, **options}
    made = entry(name, goal).asked(
        budget=budget, epsilon=epsilon, delta=delta, rho=rho, renyi_alpha=renyi_alpha, mu=mu,
        label=label, **options,
    )  # fmt: skip
    return replace(made, why=why) if why else made


def verify(
    policy: Policy | LinearPolicy, arms: int | None = None, horizon: int = 300, *,
    dimension: int | None = None, live: bool = False,
) -> Verification:  # fmt: skip
    """Check a guarantee: run the policy's own code on symbols, and compare the cost with the claim.

    A whole trial with blocks in flight is checked, too.

    Args:
        policy: The policy.
        arms: The number of arms. Default: 3.
        horizon: The number of rounds.
        dimension: For linear policies, the number of features.
        live: Check the whole-numbered noise of live trials, and pairs of whole lives.

    Returns:
        The verification; `holds` is True, False, or None where that is not known.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> discreet.verify(discreet.policy("dp-imed", epsilon=1.0), arms=2, horizon=50).holds
        True
    """
    if not isinstance(policy, BasePolicy):
        raise InvalidArgument(
            "policy", "be a policy", policy, 'build it: discreet.policy("dp-imed", epsilon=1.0)'
        )
    more: dict[str, Any] = {} if arms is None else {"arms": arms}
    if dimension is not None:
        if policy.kind != "linear":
            raise InvalidArgument(
                "dimension", f"be left out for {policy.name}, which has no features", dimension,
                "leave it out",
            )  # fmt: skip
        more["dimension"] = dimension
    found = policy.proved(horizon=horizon, live=live, **more)
    return found if policy.kind == "linear" else _in_flight(policy, found)


MOST_IN_FLIGHT = 120
"""Participants of the trial that is walked with blocks in flight."""


def _in_flight(policy: Any, found: Verification) -> Verification:
    """The same with a whole trial on symbols beside the proof: a breach if an outcome pays more
    than is claimed there."""
    from .privacy.verification import NotAffine
    from .privacy.verification._result import main_number
    from .protocol import _symbols as symbols

    central = policy.release.guarantee(policy.schedule, found.horizon).is_private
    if found.breach or not central or policy.release.respond is not None:
        return found
    if policy.kind == "identify":
        if policy.fixed_size and policy.rule.participants is None:
            return found
        policy = policy if policy.fixed_size or policy.risk is not None else policy.at(0.1)
    participants = min(found.horizon, MOST_IN_FLIGHT)
    try:
        dearest = max(symbols.costs(policy, participants, found.arms), default=0.0)
    except NotAffine:  # the proof has said so already
        return found
    claimed = main_number(policy.guarantee_at(participants).budget)
    if dearest <= claimed * (1.0 + 1e-9):
        return found
    said = f"a trial with blocks in flight costs an outcome {dearest:g}, not {claimed:g}"
    return replace(found, breach=said)


def cite(name: str | BasePolicy[Never]) -> Reference:
    """The work behind a policy, or the software itself.

    Args:
        name: A policy, its name, the key of a reference, or "discreet".

    Returns:
        The reference; `short()` and `bibtex()` print it.

    Raises:
        InvalidArgument: If the name is not known.

    Example:
        >>> import discreet
        >>> discreet.cite("discreet").key
        'discreet'
    """
    from difflib import get_close_matches

    from .policies._registry import every_entry
    from .references import REFERENCES

    if isinstance(name, BasePolicy):
        name = name.reference or name.name
    spelled, rows = str(name).lower(), every_entry()
    key = rows[spelled].reference if spelled in rows else spelled
    if key not in REFERENCES:
        known = [*rows, *REFERENCES]
        close = get_close_matches(spelled, known, n=3, cutoff=0.4)
        fix = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
        raise InvalidArgument("name", "be a policy, a reference or discreet", name, fix)
    return REFERENCES[key]
