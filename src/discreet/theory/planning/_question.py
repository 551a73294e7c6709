"""What a planner is asked: arms, participants, goal, trust and budget, checked and made concrete.

Arms are given as expected rates; as a range of rates (several instances are drawn from it, and
predictions are averages over them); or as the smallest gap that matters (then the instance is the
hardest one: a single best arm, all others worse by exactly that gap).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..._checks import count, horizon_of, means_of, one_best, one_of, positive, probability, share
from ...errors import InvalidArgument
from ...privacy.budgets import Approximate, Budget, Pure
from .._choosing import CONTEXTS

GOALS = ("regret", "identify")
FORMER = {"identification": "identify"}
"""Names of goals that go on working."""
TRUST = ("server", "none")
EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
INSTANCES = 5
"""Instances drawn from a range of rates."""
LEAST_GAP = 0.05
"""In a drawn instance the best arm leads by at least this share of the range."""


@dataclass(frozen=True)
class Question:
    """What `plan` is asked, checked. `scenarios` are the instances that predictions average over.

    Example:
        >>> from discreet.theory.planning import question
        >>> asked = question([0.7, 0.4], horizon=300)
        >>> asked.count, asked.goal, asked.budget
        (2, 'regret', Pure(epsilon=1.0))
    """

    scenarios: tuple[tuple[float, ...], ...]
    arms: str
    """How the arms were described, in words."""
    horizon: int | None
    goal: str
    risk: float
    trust: str
    epsilon: float
    epsilons: tuple[float, ...]
    delta: float
    seed: int
    contexts: str = "none"
    """Whether participants have features: "none", "public" or "private"."""

    @property
    def count(self) -> int:
        """Number of arms."""
        return len(self.scenarios[0])

    @property
    def budget(self) -> Budget:
        """What is asked for: pure, or (ε, δ)."""
        return Approximate(self.epsilon, self.delta) if self.delta else Pure(self.epsilon)

    @property
    def uniform(self) -> float:
        """Regret per participant of equal allocation, which learns nothing."""
        gaps = (max(means) - math.fsum(means) / len(means) for means in self.scenarios)
        return math.fsum(gaps) / len(self.scenarios)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {
            "arms": self.count,
            "described": self.arms,
            "scenarios": [list(means) for means in self.scenarios],
            "horizon": self.horizon,
            "goal": self.goal,
            "risk": self.risk if self.goal == "identify" else None,
            "trust": self.trust,
            "epsilon": self.epsilon,
            "epsilons": list(self.epsilons),
            "delta": self.delta,
            "seed": self.seed,
            "contexts": self.contexts,
        }


def question(
    means: Sequence[float] | None = None,
    *,
    arms: int | None = None,
    rates: Sequence[float] | None = None,
    gap: float | None = None,
    horizon: float | None = None,
    goal: str = "regret",
    risk: float = 0.05,
    trust: str = "server",
    epsilon: float = 1.0,
    epsilons: Sequence[float] | None = None,
    delta: float = 0.0,
    seed: int = 1,
    contexts: str = "none",
) -> Question:
    """Check what `plan` is asked, and build the scenarios that predictions average over.

    Args:
        means: The expected rate of every arm.
        arms: Instead of means, the number of arms, with `rates` or `gap`.
        rates: The lowest and the highest rate to expect.
        gap: The smallest gap that matters.
        horizon: The number of participants.
        goal: "regret" or "identify".
        risk: For "identify": the probability of a wrong answer.
        trust: "server" if it may see true outcomes, or "none".
        epsilon: The budget of the recommendation.
        epsilons: Further budgets to show.
        delta: The δ of an (ε, δ) budget.
        seed: Random seed.
        contexts: Features of participants: "none", "public" or "private".

    Returns:
        The question.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.theory.planning import question
        >>> asked = question([0.7, 0.4], horizon=300, epsilons=[0.5, 1.0])
        >>> asked.scenarios, asked.epsilons
        (((0.7, 0.4),), (0.5, 1.0))
    """
    goal = one_of("goal", FORMER.get(goal, goal) if isinstance(goal, str) else goal, *GOALS)
    one_of("trust", trust, *TRUST)
    one_of("contexts", contexts, *CONTEXTS)
    epsilon = positive("epsilon", epsilon)
    if epsilons is not None and not isinstance(epsilons, Iterable):
        raise InvalidArgument("epsilons", "be a list of numbers", epsilons, "use epsilons=[0.5, 1]")
    asked = EPSILONS if epsilons is None else tuple(epsilons)
    if not asked:
        raise InvalidArgument("epsilons", "hold at least one ε", list(asked), "leave them out")
    grid = tuple(sorted({positive("epsilons", value) for value in asked} | {epsilon}))
    delta = probability("delta", delta, fix="use for example delta=1e-6")
    seed = count("seed", seed, fix="use seed=1", least=0)
    scenarios, words = _scenarios(means, arms, rates, gap, seed)
    if horizon is None and goal == "regret":
        raise InvalidArgument(
            "horizon", "be given for the goal regret", None, "say how many participants there are"
        )
    rounds = None if horizon is None else horizon_of(horizon, len(scenarios[0]))
    risk = share("risk", risk, below=1.0 / 3.0)
    if goal == "identify":
        for instance in scenarios:
            one_best(instance)
    return Question(
        scenarios, words, rounds, goal, risk, trust, epsilon, grid, delta, seed, contexts
    )


def _scenarios(
    means: Sequence[float] | None,
    arms: int | None,
    rates: Sequence[float] | None,
    gap: float | None,
    seed: int,
) -> tuple[tuple[tuple[float, ...], ...], str]:
    if means is not None:
        if rates is not None or gap is not None:
            raise InvalidArgument(
                "means", "come alone", list(means), "drop rates and gap, or drop means"
            )
        clean = means_of(means)
        if arms is not None and arms != len(clean):
            raise InvalidArgument("arms", f"be {len(clean)}, as means are", arms, "leave it out")
        if max(clean) == min(clean):
            raise InvalidArgument("means", "differ", list(clean), "there is nothing to learn")
        return (clean,), f"expected rates {', '.join(f'{m:g}' for m in clean)}"
    if arms is None or (rates is None and gap is None):
        raise InvalidArgument(
            "means", "be given, or arms with rates or gap", None,
            "say means=[0.7, 0.5], or arms=4 and gap=0.1, or arms=4 and rates=(0.3, 0.6)",
        )  # fmt: skip
    k = count("arms", arms, fix="a choice needs two arms", least=2)
    low, high = _range(rates)
    if gap is not None:
        middle = 0.5 * (low + high)
        gap = share("gap", gap, below=2.0 * min(middle, 1.0 - middle))
        instance = (middle + 0.5 * gap, *[middle - 0.5 * gap] * (k - 1))
        return (instance,), (
            f"one best of {k} arms, the others worse by the smallest gap that matters, {gap:g}, "
            f"around a rate of {middle:g}"
        )
    return _drawn(k, low, high, seed), (
        f"{k} arms with rates anywhere from {low:g} to {high:g} (averages over {INSTANCES} draws)"
    )


def _drawn(k: int, low: float, high: float, seed: int) -> tuple[tuple[float, ...], ...]:
    """Instances with rates drawn from the range, whose best arm leads by a visible gap."""
    import numpy as np

    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**20,)))
    found: list[tuple[float, ...]] = []
    while len(found) < INSTANCES:
        means = np.sort(rng.uniform(low, high, k))[::-1]
        means[0] = max(means[0], min(high, means[1] + LEAST_GAP * (high - low)))
        if means[0] - means[1] >= 0.5 * LEAST_GAP * (high - low):
            found.append(tuple(float(mean) for mean in means))
    return tuple(found)


def _range(rates: Sequence[float] | None) -> tuple[float, float]:
    if rates is None:
        return 0.0, 1.0
    values = tuple(rates)
    if len(values) != 2:
        raise InvalidArgument("rates", "be a lowest and a highest rate", values, "use (0.3, 0.6)")
    low, high = means_of(values)
    if not low < high:
        raise InvalidArgument("rates", "rise from lowest to highest", values, "use (0.3, 0.6)")
    return low, high
