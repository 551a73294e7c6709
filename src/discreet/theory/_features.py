"""Do features of participants pay? What they gain, against what it costs to learn them in private.

The gain is by how much the best treatment for each participant beats the best treatment for all, in
mean outcomes. Ignoring features costs it once per participant, beside the regret of a policy for
finite arms; using them costs what a policy with a block of features per arm regrets. Both are
simulated: on a problem that is handed in, on one made from past or public data (`past_problem`), or
on one that has a gain that is said (`problem_with_gain`).

>>> problem = problem_with_gain([0.5, 0.5], features=2, gain=0.2)
>>> round(gain_of(problem), 3)
0.2
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._checks import amount, count, means_of
from ..errors import InvalidArgument
from ..policies import Policy
from ..privacy.budgets import Budget

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from .._types import Flags, Floats, Ints
    from ..linear import LinearProblem

ROWS = {"public": "blocks-ts", "private": "jdp-blocks-ts"}
"""Policies with a block of features for every arm."""
POOL = 400
"""Participants of a made problem."""
ROUNDS = 2_000_000
"""Rounds that the simulation of a policy with features may take."""
FEW, MANY = 4, 30
"""The least and the most of its runs."""
LONGEST = 1_000_000
"""Participants that are simulated at most: regrets grow by the logarithm from there on."""
DOUBT = 2.0
"""Standard errors by which features must be ahead to be used."""
SHUFFLES = 39
"""Times that past features are shuffled: they must gain more than in every one of them."""
HALVINGS = 50
SMALLEST = 1e-4
"""Scale of features from which one with a gain is looked for."""


@dataclass(frozen=True)
class Worth:
    """What features are worth to a trial: regrets against the best treatment for each participant.

    Example:
        >>> from discreet import theory
        >>> found = theory.Worth("adac-oful", 0.1, 500, ignored=60.0, taken=40.0, error=3.0)
        >>> found.pays
        True
    """

    row: str
    gain: float
    participants: int
    ignored: float
    """regret of the policy that ignores them, with what they would have gained"""
    taken: float
    """regret of the policy that uses them"""
    error: float
    """standard error of the difference"""

    @property
    def pays(self) -> bool:
        """Whether using them is clearly better."""
        return self.taken + DOUBT * self.error < self.ignored

    @property
    def sentence(self) -> str:
        """In words."""
        word = "used" if self.pays else "left out"
        return (
            f"features are {word}: they gain {self.gain:.3g} per participant; in simulations of "
            f"{self.participants:,} participants ignoring them regrets {self.ignored:,.0f}, "
            f"{self.row} {self.taken:,.0f} (± {self.error:,.0f})"
        )


def gain_of(problem: LinearProblem) -> float:
    """By how much the best treatment for each participant beats the best for all.

    Args:
        problem: A problem with features.

    Returns:
        The difference of mean outcomes.

    Example:
        >>> from discreet import theory
        >>> problem = theory.problem_with_gain([0.5, 0.5], features=2, gain=0.2)
        >>> round(theory.gain_of(problem), 3)
        0.2
    """
    means = _means(problem)
    return max(0.0, float(means.max(axis=1).mean() - means.mean(axis=0).max()))


def _means(problem: LinearProblem) -> Floats:
    """The mean outcome of every participant under every arm."""
    import numpy as np

    from ..linear import IIDContexts, LinearProblem

    fix = "make it with past_problem of discreet.theory, for example"
    if not isinstance(problem, LinearProblem) or not isinstance(problem.contexts, IIDContexts):
        raise InvalidArgument("problem", "be a LinearProblem with IIDContexts", problem, fix)
    if problem.bounds != (0.0, 1.0):
        raise InvalidArgument("problem", "have outcomes in [0, 1]", problem.rewards.name, fix)
    return np.asarray(problem.contexts.sets @ problem.theta)


def worth_of(
    problem: LinearProblem, plain: Policy, budget: Budget, participants: int, contexts: str,
    *, seed: int = 1, threads: int | None = None,
) -> Worth:  # fmt: skip
    """What features are worth: simulate a policy with features, and `plain`, which ignores them.

    Args:
        problem: The problem.
        plain: The policy that ignores features.
        budget: The budget of the policy with features.
        participants: How many there are.
        contexts: "public" or "private".
        seed: Random seed.
        threads: Simulation threads. Default: all processors.

    Returns:
        Both regrets, and whether features pay.
    """
    from ..arms import Bernoulli
    from ..linear import CATALOGUE as LINEAR
    from ..linear import simulate as simulate_linear
    from ..simulator import simulate

    gain, size = gain_of(problem), min(participants, LONGEST)
    row = LINEAR[ROWS[contexts]].policy(budget)
    runs = min(max(ROUNDS // size, FEW), MANY)
    taken = simulate_linear(
        row, problem, horizon=size, runs=runs, seed=seed, threads=threads, progress=False
    ).final_regret
    environment = Bernoulli([min(max(mean, 0.0), 1.0) for mean in problem.means])
    without = simulate(
        plain,
        environment,
        horizon=size,
        runs=200,
        seed=seed,
        threads=threads,
        points=2,
        shuffle=True,
        progress=False,
    ).final_regret
    error = math.hypot(
        float(taken.std(ddof=1)) / math.sqrt(runs), float(without.std(ddof=1)) / math.sqrt(200)
    )
    ignored = float(without.mean()) + size * gain
    return Worth(row.name, gain, size, ignored, float(taken.mean()), error)


def problem_with_gain(
    means: Sequence[float], *, features: int, gain: float, seed: int = 1
) -> LinearProblem:
    """A problem whose arms have about these means over all, and whose features gain so much.

    A gain that leaves little room in [0, 1] moves the means: .9 .3 .2 with a gain of .05 become
    .82 .33 .26.

    Args:
        means: The mean outcome of every arm.
        features: The number of features.
        gain: By how much the best treatment for each participant beats the best for all.
        seed: Random seed.

    Returns:
        The problem.

    Raises:
        InvalidArgument: If an argument breaks its rule, or nothing can gain so much.

    Example:
        >>> from discreet import theory
        >>> problem = theory.problem_with_gain([0.6, 0.4], features=3, gain=0.05)
        >>> round(theory.gain_of(problem), 3)
        0.05
    """
    import numpy as np

    from ..linear._lines import problem_of_lines

    rates, gain = means_of(means), amount("gain", gain, infinite=False, fix="use gain=0.02")
    size = count("features", features, fix="say how many features there are", most=100)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**20 + 2,)))
    points = rng.choice([-1.0, 1.0], (POOL, size))
    points -= points.mean(axis=0)
    effects = rng.standard_normal((size, len(rates)))
    effects -= effects.mean(axis=1, keepdims=True)  # what helps under all arms alike gains nothing
    deviation = points @ effects
    scale = _scale_for(gain, lambda c: _gain(np.array(rates), deviation, c))
    return problem_of_lines(points, np.array(rates), scale * effects)


def past_problem(features: ArrayLike, assigned: ArrayLike, outcomes: ArrayLike) -> LinearProblem:
    """A problem made from past or public data, to plan a trial with features on.

    A line is fitted to each arm. What the features gain is measured on people on whom it was not
    fitted (halves are swapped), and the lines are flattened until they gain just that. It counts if
    it is more than they gain when they are dealt out anew among the people of each arm, 39 times:
    features that say nothing gain nothing, but for one data set in 40. Where features say much a
    line may leave [0, 1]; anyone who it does so for is moved towards the average participant until
    it does not.

    Args:
        features: The features, one line per participant.
        assigned: The number of the arm that each had.
        outcomes: Their outcomes in [0, 1].

    Returns:
        The problem.

    Raises:
        InvalidArgument: If an argument breaks its rule, or there are too few data.

    Example:
        >>> import numpy as np
        >>> from discreet import theory
        >>> rng = np.random.default_rng(1)
        >>> features = rng.standard_normal((400, 2))
        >>> assigned = rng.integers(2, size=400)
        >>> likes = np.where(assigned == 1, features[:, 0] > 0, features[:, 0] < 0)
        >>> problem = theory.past_problem(features, assigned, likes.astype(float))
        >>> round(theory.gain_of(problem), 1)
        0.3
    """
    import numpy as np

    from ..linear._lines import problem_of_lines

    points = np.atleast_2d(np.asarray(features, float))
    arms_of, results = np.asarray(assigned).astype(int), np.asarray(outcomes, float)
    fix = "give one row of features, one arm and one outcome in [0, 1] per participant"
    if not len(points) == len(arms_of) == len(results) or not np.isfinite(points).all():
        raise InvalidArgument("features", "be one finite row per participant", points.shape, fix)
    if not ((results >= 0.0) & (results <= 1.0)).all():
        raise InvalidArgument("outcomes", "lie in [0, 1]", "values beyond", fix)
    arms = int(arms_of.max()) + 1
    least = 2 * (points.shape[1] + 2)
    if arms < 2 or min(np.bincount(arms_of, minlength=arms)) < least:
        raise InvalidArgument("assigned", f"have {least} participants of every arm", arms, fix)
    spread = points.std(axis=0)
    points = (points - points.mean(axis=0)) / np.where(spread > 0.0, 2.0 * spread, 1.0)
    points = np.clip(points, -1.0, 1.0)
    points -= points.mean(axis=0)
    rng = np.random.default_rng(0)
    half = rng.permutation(len(points)) % 2 == 0

    def carried(order: Ints) -> float:
        """What features in this order gain on people to whom lines were not fitted."""
        return 0.5 * sum(
            _carried_over(points[order], arms_of, results, one, arms) for one in (half, ~half)
        )

    honest = carried(np.arange(len(points)))
    if honest <= max(carried(_within_arms(arms_of, rng)) for _ in range(SHUFFLES)):
        honest = 0.0
    whole = _fitted(points, arms_of, results, np.ones(len(points), bool), arms)
    rates = np.clip(whole[0], 0.0, 1.0)
    deviation = points @ whole[1:]
    fitted = _gain(rates, deviation, 1.0)
    wanted = min(max(honest, 0.0), fitted)
    scale = _scale_for(wanted, lambda c: _gain(rates, deviation, c)) if wanted > 0.0 else 0.0
    return problem_of_lines(points, rates, scale * whole[1:])


def _fitted(points: Floats, arms_of: Ints, results: Floats, who: Flags, arms: int) -> Floats:
    """Intercept and slopes of every arm, by least squares with a little ridge."""
    import numpy as np

    columns = []
    for arm in range(arms):
        own = who & (arms_of == arm)
        design = np.column_stack([np.ones(int(own.sum())), points[own]])
        square = design.T @ design + 1e-6 * np.eye(design.shape[1])
        columns.append(np.linalg.solve(square, design.T @ results[own]))
    return np.array(columns).T


def _within_arms(arms_of: Ints, rng: Generator) -> Ints:
    """Everyone's features with someone else of the same arm."""
    import numpy as np

    order = np.arange(len(arms_of))
    for arm in range(int(arms_of.max()) + 1):
        own = np.flatnonzero(arms_of == arm)
        order[own] = rng.permutation(own)
    return order


def _carried_over(points: Floats, arms_of: Ints, results: Floats, who: Flags, arms: int) -> float:
    """What the choice by the lines of one half gains on those of the other."""
    import numpy as np

    one, other = (_fitted(points, arms_of, results, part, arms) for part in (who, ~who))
    design = np.column_stack([np.ones(int((~who).sum())), points[~who]])
    chosen, seen = (design @ one).argmax(axis=1), design @ other
    single = int(one[0].argmax())
    return float(seen[np.arange(len(seen)), chosen].mean() - seen[:, single].mean())


def _gain(rates: Floats, deviation: Floats, scale: float) -> float:
    """With deviations from the rates so many times as large, as far as rates stay in [0, 1]."""
    import numpy as np

    from ..linear._lines import room

    wide = scale * deviation
    means = rates + room(rates, wide)[:, None] * wide
    return max(0.0, float(np.mean(means.max(axis=1)) - means.mean(axis=0).max()))


def _scale_for(gain: float, gained: Callable[[float], float]) -> float:
    """The scale at which features gain so much."""
    if gain == 0.0:
        return 0.0
    low, high = 0.0, SMALLEST
    while gained(high) < gain:
        low, high = high, 2.0 * high
        if high > 1.0 / SMALLEST:
            raise InvalidArgument(
                "gain", "be possible with rates in [0, 1]", gain, "say a smaller gain"
            )
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gained(middle) < gain else (low, middle)
    return high
