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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Never

from .._checks import count, horizon_of, one_of
from ..errors import InvalidArgument, UnsupportedBudget
from ..policies import CATALOGUE, Policy, SecureSum
from ..policies._policy import BasePolicy
from ..policies._registry import entry
from ..privacy import _curves as curves
from ..privacy.budgets import Approximate, Budget, Pure
from ..privacy.budgets._parameters import shown
from ..privacy.budgets._serving import equivalent_pure

if TYPE_CHECKING:
    from ..linear import LinearProblem
    from ._features import Worth

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
LARGEST_DELTA = 0.5
TYPICAL = 0.05
"""By how much the best arm leads over all, where features are weighed and nothing is said."""


@dataclass(frozen=True)
class Choice:
    """The policy to take for a budget, and the reasons for it; from `choose`.

    Example:
        >>> from discreet import Pure, theory
        >>> found = theory.choose(Pure(1.0))
        >>> found.name, found.call
        ('laplace-imed', 'discreet.policy("laplace-imed", epsilon=1, caution=0.5)')
        >>> len(found.why) > 0
        True
    """

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
    arms: int | None = None,
    features: int | None = None,
    gain: float | None = None,
    problem: LinearProblem | None = None,
    goal: str = "regret",
    turning: bool = False,
) -> Choice:
    """The policy to take for a budget, and why.

    Args:
        budget: The budget.
        trust: "server" may see outcomes, "sums" is for secure aggregation alone, "none" for local
            noise.
        contexts: Features of participants: "none", "public" or "private".
        participants: How many there are.
        arms: The number of arms.
        features: The number of features. Without `gain` or `problem` they are left out.
        gain: By how much the best treatment for each participant beats the best for all.
        problem: Instead of these numbers, a problem made of past data (`past_problem`).
        goal: "regret" or "identify".
        turning: Whether rewards may be turned against the policy while it runs.

    Returns:
        The choice: a name, options, and the reasons.

    Raises:
        InvalidArgument: If an argument breaks its rule.
        UnsupportedBudget: If `budget` is not a budget.

    Example:
        >>> from discreet import Pure, theory
        >>> theory.choose(Pure(1.0)).name
        'laplace-imed'
        >>> theory.choose(Pure(1.0), trust="none").name
        'ldp-ucb-b'
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
        reasons = ("features need a server that sees outcomes",)
        if trust == "server":
            means = None
            if arms is not None:
                least = count("arms", arms, fix="a choice needs two arms", least=2)
                means = [0.5 + TYPICAL, *[0.5] * (least - 1)]
            told = Told(means, features, gain, problem)
            worth, said = contexts_pay(contexts, size, budget, told)
            if worth is not None and worth.pays:
                return Choice(worth.row, budget, (said,))
            reasons = (said,)
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


class Told(NamedTuple):
    """What is known of features in advance: how many there are and what they gain over the means of
    the arms, or a problem made of past data."""

    means: Sequence[float] | None
    features: int | None
    gain: float | None
    problem: LinearProblem | None


def contexts_pay(
    contexts: str, participants: int | None, budget: Budget, told: Told, *, seed: int = 1,
    threads: int | None = None,
) -> tuple[Worth | None, str]:  # fmt: skip
    """What features are worth to a trial, if that can be simulated, and the answer in words."""
    means, features, gain, problem = told
    if contexts == "private" and isinstance(budget, Pure):
        return None, f"{contexts} features need an (ε, δ), ρ or μ budget: they are left out"
    if participants is None or (problem is None and gain is None):
        return None, (
            f"{contexts} features are left out: whether they pay depends on what they gain; say "
            "participants, and gain with arms and features, or hand in a problem made of past data "
            "by past_problem of discreet.theory; for a few public groups take one copy of the row "
            "per group (discreet.Strata)"
        )
    from ._features import problem_with_gain, worth_of

    if problem is None:
        assert gain is not None
        if means is None or features is None:
            raise InvalidArgument(
                "gain",
                "come with arms and features",
                gain,
                "say arms=4 and features=3, for example",
            )
        problem = problem_with_gain(means, features=features, gain=gain, seed=seed)
    name = least_noise(budget)[0]
    plain = CATALOGUE[name].policy(budget, **ADVISED[name])
    worth = worth_of(problem, plain, budget, participants, contexts, seed=seed, threads=threads)
    return worth, f"{contexts} {worth.sentence}"
