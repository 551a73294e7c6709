"""Many runs of linear policies: the same seeds, threads, progress and results as for finite arms.

>>> import discreet.linear as linear
>>> problem = linear.LinearProblem.random(arms=10, dimension=3, seed=1)
>>> result = linear.simulate(
...     linear.policy("adac-oful", rho=0.1), problem, horizon=2000, runs=4, seed=1
... )
>>> result.final_regret.shape
(4,)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ..errors import InvalidArgument
from ..policies._policy import served
from ..policies._step import FINISHED, STARVED, parts_of
from ..simulator._comparison import Comparison
from ..simulator._loop import Curve
from ..simulator._record import RECORDS, check_record
from ..simulator._results import Result
from ..simulator._runs import DECISIONS, Asked, calendar_of, check_kept, compared, listed
from ..simulator._work import Player, RegretWork
from ._algebra import of_known_length
from ._catalogue import LinearRow
from ._contexts import FixedActions
from ._design import Design
from ._episodes import EpisodePlayer, in_episodes
from ._loop import fresh_course, loop_kernel, simulated_state
from ._phased import PhasedPlayer
from ._problem import LinearProblem
from ._row import LinearPolicy, PhasedPolicy, RoundPolicy
from ._view import LinearSetting

if TYPE_CHECKING:
    from .._progress import Bar
    from .._types import Ints
    from ..simulator._runs import Runs
    from ..simulator.calendar._setting import Late


def simulate(
    policy: LinearPolicy, problem: LinearProblem, *, horizon: float, **study: Unpack[Runs]
) -> Result:
    """Run a linear policy on a problem: see `discreet.simulate`."""
    return compare([policy], problem, horizon=horizon, **study)[0]


def compare(
    policies: Iterable[LinearPolicy],
    problem: LinearProblem,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | Bar | None = None,
    record: str = RECORDS[0],
    arrivals: float | None = None,
    **late: Unpack[Late],
) -> Comparison:
    """Run several linear policies on the same problem with the same seeds.

    With `arrivals` outcomes come late, as in `discreet.simulate`: see `discreet.linear._late`.

    A policy that clips rewards, and was not told a range, is given one that fits them, which the
    result tells (`low` and `high` in its recipe): see `fitted`.
    """
    if not isinstance(problem, LinearProblem):
        raise InvalidArgument(
            "problem", "be a LinearProblem", problem, "make one, such as LinearProblem.random()"
        )
    fitting = [fitted(policy, problem) for policy in listed(policies)]
    asked = Asked(horizon, runs, seed, threads, points, progress, check_record(record))
    days = calendar_of(problem, arrivals, late)
    if days is None:
        return compared(fitting, problem, check_problem, LinearWork, asked)
    check_kept(asked.record)
    from ._late import LateWork

    return compared(fitting, problem, check_problem, partial(LateWork, calendar=days), asked)


SPREADS = 3.0
"""Standard deviations of a reward around its mean that a fitted range holds."""


def fitted(policy: LinearPolicy, problem: LinearProblem) -> LinearPolicy:
    """The policy with the range of the rewards: their bounds if they have any, else all means and
    three standard deviations more.

    A range that is too narrow would bend the model: E[clip(<θ, a> + noise)] is not linear in a. One
    that is too wide costs noise, and moves its middle, which rewards are centred at: for [-1, 1]
    rewards of 0 and 1 are all on one side of it (docs/linear.md says what that does to jdp-ts). The
    range depends on the problem and not on rewards, so it is public. A range that was given stays.
    """
    if not isinstance(policy, LinearPolicy) or policy.release.clip is None:
        return policy
    recipe = dict(policy.recipe)
    entry = LinearRow.catalogue.get(str(recipe.get("name", "")))
    if entry is None or "low" not in entry.options or {"low", "high"} & set(recipe):
        return policy
    low, high = problem.bounds or _wide(problem)
    if (low, high) == policy.release.clip:
        return policy
    fitting = LinearRow.from_recipe(recipe | {"low": low, "high": high})
    return replace(fitting, name=policy.name, label=policy.label)


def _wide(problem: LinearProblem) -> tuple[float, float]:
    """All means of unbounded rewards, and three standard deviations more."""
    spread = SPREADS * float(getattr(problem.rewards, "sd", 1.0))
    least, most = problem.contexts.reach(problem.theta)
    if not math.isfinite(most - least):  # actions of any length: a typical one has length 1
        most = SPREADS * math.sqrt(float(problem.theta @ problem.theta))
        least = -most
    return least - spread, most + spread


def check_problem(policy: LinearPolicy, problem: LinearProblem) -> None:
    """Elimination needs the same actions in every round."""
    served(policy, "a linear problem", LinearPolicy, "linear", fix="such as adac-oful")
    if policy.phased and not isinstance(problem.contexts, FixedActions):
        raise InvalidArgument(
            "contexts", f"be fixed for {policy.name}", problem.contexts.name,
            "use FixedActions, or a policy for changing actions such as adac-oful",
        )  # fmt: skip
    if policy.release.own_blocks:
        check_blocks(problem)


def check_blocks(problem: LinearProblem) -> None:
    """Policies with a block of features per arm need actions that keep to their blocks."""
    contexts, arms, d = problem.contexts, problem.arms, problem.dimension
    known = getattr(contexts, "sets", contexts.average)
    inside = np.repeat(np.eye(arms, dtype=bool), max(1, d // arms), axis=1)
    if d % arms or np.any(known[..., ~inside] != 0.0 if inside.shape == (arms, d) else True):
        raise InvalidArgument(
            "contexts", "have the features of each arm in a block of its own, zeros elsewhere",
            contexts.name, "make actions with linear.blocks, or take jdp-ts or adac-ts",
        )  # fmt: skip


class RoundPlayer(Player):
    """The arrays of one run of a policy that decides every round."""

    def __init__(self, work: LinearWork, policy: RoundPolicy) -> None:
        setting = work.setting
        self.work, self.policy = work, policy
        self.loop: Callable[..., int] | None = None
        self.parts, self.state = parts_of(policy, setting), simulated_state(policy, setting)
        self.course = fresh_course(setting.arms, setting.dimension)
        super().__init__(*self.state, self.course)

    def play(self, number: int) -> bool:
        work = self.work
        self.reset()
        rng = work.generator(number)
        contexts = work.problem.contexts
        state = contexts.start(rng)
        curve = Curve(work.grid, work.regret[number], work.noted(number))
        theta, rewards = of_known_length(work.problem.theta), work.problem.rewards.parameters()
        arguments = (
            state, rewards, *self.parts, *self.state, self.course, theta, work.horizon, curve,
            DECISIONS, rng,
        )  # fmt: skip
        if self.loop is None:
            kernel = loop_kernel(self.policy, contexts.offer, work.problem.rewards.pay)
            self.loop = work.ready(lambda: kernel.cached(*arguments), arguments)
        while not work.stop.is_set():
            status = self.loop(*arguments)
            if status == FINISHED:
                return True
            if status == STARVED:
                contexts.refill(state, rng)
        return False


class LinearWork(RegretWork[LinearPolicy, LinearProblem]):
    """All runs of one linear policy."""

    def __init__(
        self,
        row: LinearPolicy,
        problem: LinearProblem,
        horizon: int,
        runs: int,
        entropy: int,
        grid: Ints,
    ) -> None:
        super().__init__(row, problem, horizon, runs, entropy, grid)
        self.described |= {"guarantee": row.guarantee_on(problem).to_dict()}
        self.row, self.problem = row, problem
        self.setting = LinearSetting(problem.arms, problem.dimension, horizon)
        self.designs: dict[bytes, Design] = {}

    def player(self) -> Player:
        row = self.row
        if isinstance(row, PhasedPolicy):
            return PhasedPlayer(self, row)
        assert isinstance(row, RoundPolicy)
        return (EpisodePlayer if in_episodes(row, self.problem) else RoundPlayer)(self, row)
