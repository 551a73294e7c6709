"""Which policy should I take? The page `docs/choosing.md` as a function.

>>> from discreet.theory import choose
>>> from discreet.privacy import Approximate, GaussianDP
>>> choose(Approximate(1.0, 1e-6)).name, choose(GaussianDP(1.0)).name
('laplace-imed', 'gauss-imed')
>>> choose(Approximate(1.0, 0.1)).call
'discreet.policy("gauss-imed", epsilon=1, delta=0.1, caution=0.5)'

The answer follows from who may see outcomes, the budget, the features, the number of participants
and the goal. Noise is compared as the rows add it: each outcome is in one release, so nothing is
composed, and Laplace noise is often less than the Gaussian noise of the same (ε, δ).

Only rows without a lost run on hard instances are advised: `benchmarks/hard.py`, `docs/hard.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Never

from ..checks import horizon_of, one_of
from ..errors import UnsupportedBudget
from ..policies import CATALOGUE, Policy, SecureSum
from ..policies.policy import BasePolicy
from ..policies.registry import entry
from ..privacy import curves
from ..privacy.budgets import Approximate, Budget, Pure
from ..privacy.budgets.parameters import shown
from ..privacy.budgets.serving import equivalent_pure

TRUST = ("server", "sums", "none")
CONTEXTS = ("none", "public", "private")
NOISES = ("laplace-imed", "gauss-imed")
"""Rows that differ in their noise alone: Laplace and Gaussian."""
ADVISED: Mapping[str, Mapping[str, object]] = {
    "laplace-imed": {"caution": 0.5},
    "gauss-imed": {"caution": 0.5},
    "ldp-ucb-b": {},
    "dp-tsallis": {},
}
"""Finite-armed rows, with the options that they are advised with: those of `benchmarks/hard.py`
that lost no run."""
LOST = 20.0
"""A run is lost if its regret is above so many times the median."""
ENOUGH = {"public": 35_000, "private": 80_000}
"""Participants from which on features regret less than ignoring them does, on the patients of
ACTG175 with four treatments and four features at ε = 1 or (1, 1e-6): `benchmarks/frontier.py`."""
LARGEST_DELTA = 0.5


@dataclass(frozen=True)
class Choice:
    """A row for a budget, and the reasons for it."""

    name: str
    budget: Budget
    why: tuple[str, ...]
    goal: str = "regret"
    trust: str = "server"
    options: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.options and self.goal == "regret":
            object.__setattr__(self, "options", ADVISED.get(self.name, {}))

    @property
    def policy(self) -> BasePolicy[Never]:
        """The row."""
        row: BasePolicy[Never] = entry(self.name, self.goal).policy(self.budget, **self.options)
        if self.trust != "sums":
            return row
        assert isinstance(row, Policy)
        return replace(
            row, name=f"{row.name}, sums alone", recipe={},
            release=SecureSum(row.guarantee.budget.to_pure().epsilon),
        )  # fmt: skip

    @property
    def call(self) -> str:
        """The call that makes the row."""
        names = {"alpha": "renyi_alpha"} if self.budget.kind == "renyi" else {}
        given = [f"{names.get(n, n)}={shown(v)}" for n, v in self.budget.numbers().items()]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        goal = [] if self.goal == "regret" else [f'goal="{self.goal}"']
        made = f'discreet.policy("{self.name}", {", ".join([*given, *goal])})'
        if self.trust == "sums":
            return f"replace(row := {made}, release=SecureSum(row.release.epsilon))"
        return made

    def __str__(self) -> str:
        return "\n".join([self.call, *(f"- {reason}" for reason in self.why)])

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "policy": self.name,
            "options": dict(self.options),
            "call": self.call,
            "why": list(self.why),
            "guarantee": self.policy.guarantee.to_dict(),
        }


def choose(
    budget: Budget,
    *,
    trust: str = "server",
    contexts: str = "none",
    participants: float | None = None,
    goal: str = "regret",
    turning: bool = False,
) -> Choice:
    """The row to take for a budget, and why.

    `trust`: "server" may see outcomes, "sums" for secure aggregation alone, "none" for local noise.
    `contexts`: features of participants, if there are any, and whether they are "public" or
    "private". `turning`: rewards may be turned against the policy while it runs.
    """
    one_of("trust", trust, *TRUST)
    one_of("contexts", contexts, *CONTEXTS)
    one_of("goal", goal, "regret", "identify")
    if not isinstance(budget, Budget):
        raise UnsupportedBudget("budget", "be a Budget", budget, "use for example Pure(1.0)")
    size = None if participants is None else horizon_of(participants, argument="participants")
    if goal == "identify":
        local = trust == "none"
        reason = "it needs the fewest participants of the rows that name the best arm at a risk"
        return Choice("local-evidence-tt" if local else "evidence-tt", budget, (reason,), goal)
    reasons: tuple[str, ...] = ()
    if contexts != "none":
        taken, said = contexts_pay(contexts, size, budget)
        if taken and trust == "server":
            name = "blocks-ts" if contexts == "public" else "jdp-blocks-ts"
            return Choice(name, budget, (said,))
        reasons = (said if trust == "server" else "features need a server that sees outcomes",)
    if turning:
        proof = "its regret is proved for rewards that change as they like"
        return Choice("dp-tsallis", budget, (*reasons, proof))
    if trust == "none":
        local_noise = "outcomes leave their participants as random bits, which nobody can undo"
        return Choice("ldp-ucb-b", budget, (*reasons, local_noise))
    if trust == "sums":
        shares = "devices share the noise of the row: the same regret, and the server sees sums"
        return Choice(NOISES[0], budget, (*reasons, shares), trust=trust)
    name, said = least_noise(budget)
    return Choice(name, budget, (*reasons, said, CAUTION))


CAUTION = (
    "caution=0.5 explores 1.5 times as much: no run in 2,000 regretted more than 20 times the "
    "median on any hard instance of docs/hard.md; without it regret is about a fifth less, and a "
    "few such runs are there; dp-imed has more of them"
)


def least_noise(budget: Budget) -> tuple[str, str]:
    """The row whose noise on a sum of outcomes varies least under a budget, and why."""
    if isinstance(budget, Pure):
        return NOISES[0], "a pure budget takes Laplace noise; Gaussian noise would need a δ"
    sds = {name: noise_sd(name, budget) for name in NOISES}
    best = min(NOISES, key=lambda name: sds[name])
    laplace, gaussian = sds.values()
    said = (
        f"each outcome is in one release, so nothing is composed: under {budget} a sum of outcomes "
        f"has Laplace noise of standard deviation {laplace:.3g} or Gaussian noise of "
        f"{gaussian:.3g}"
    )
    if isinstance(budget, Approximate):
        turn = turning_delta(budget.epsilon)
        where = f"above {turn:.3g}" if turn is not None else f"at no δ up to {LARGEST_DELTA:g}"
        said += f"; at this ε Gaussian noise is less for δ {where}"
    return best, said


def noise_sd(name: str, budget: Budget) -> float:
    """Standard deviation of the noise that a finite-armed row adds to the sum of one batch."""
    row = CATALOGUE[name].policy(budget)
    noise = row.release.mean_noise(row.setting(2), [1])
    assert noise is not None
    return noise.sd


def turning_delta(epsilon: float) -> float | None:
    """The δ from which on the exact Gaussian noise of (ε, δ) varies less than the Laplace noise.

    None if it does at no δ up to a half. Laplace noise uses the δ as well: see `equivalent_pure`.
    """

    def laplace_less(delta: float) -> bool:
        pure = equivalent_pure(Approximate(epsilon, delta)).epsilon
        return math.sqrt(2.0) / pure <= 1.0 / curves.gaussian_mu(epsilon, delta)

    if laplace_less(LARGEST_DELTA):
        return None
    return curves.largest(laplace_less, 1e-300, LARGEST_DELTA)


def contexts_pay(contexts: str, participants: int | None, budget: Budget) -> tuple[bool, str]:
    """Whether features are worth their noise, with the reason."""
    enough = ENOUGH[contexts]
    measured = f"on the patients of ACTG175 they begin to pay at about {enough:,} participants"
    if contexts == "private" and isinstance(budget, Pure):
        return False, f"{contexts} features need an (ε, δ), ρ or μ budget: they are left out"
    if participants is None or participants < enough:
        few = "few or unknown" if participants is None else f"{participants:,}"
        return False, (
            f"{contexts} features are left out: {measured}, and here there are {few}; for a few "
            "public groups take one copy of the row per group (discreet.Strata)"
        )
    return True, f"{contexts} features are used: {measured}"
