"""Rarely switching policies on fixed actions: an episode is one batch of one arm.

Between two releases θ~, V_τ^-1 and β~ are frozen, so on fixed actions the same a is chosen until
det V > (1 + C) det V_τ. Since det(V + n a a') = det V (1 + n a'V^-1 a), the rounds until then are
    n = floor(C / a'V_τ^-1 a) + 1.
So on fixed actions such a policy is a row of the finite-armed loop: an action is an arm, an
episode a batch, its rewards one draw of their sum, clipped one by one where the curator clips. A
run takes O(d log T) steps instead of T. An episode that the horizon cuts off is never released.

>>> import discreet.linear as linear
>>> problem = linear.LinearProblem.random(contexts="fixed", seed=1)
>>> result = linear.simulate(linear.policy("rs-oful"), problem, horizon=1e12, runs=2, seed=1)
>>> result.mean_pulls.sum()
np.float64(1000000000000.0)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._compiled import Floats, Function, Integers, Kernel, open_slot
from ..arms import Clipped
from ..policies._step import FINISHED, Parts, State, collect_batch, draw, fresh_state, parts_of
from ..policies._view import Empty
from ..privacy._source import SIMULATED
from ..simulator import _loop as finite
from ..simulator._runs import DECISIONS
from ..simulator._work import Player
from ._algebra import grow
from ._contexts import FixedActions
from ._loop import choose, collect, publish, update
from ._phased import clipped_environment
from ._problem import LinearProblem
from ._row import LinearPolicy, RoundPolicy
from ._view import LinearView, restore

if TYPE_CHECKING:
    from numpy.random import Generator

    from ._runs import LinearWork

PIECE = 1 << 20
"""Rewards drawn one by one between two looks at the stop sign."""


class Board(NamedTuple):
    """What the finite-armed loop takes for its view."""

    pulls: Integers
    actions: Floats
    """all of them, flat"""
    public: LinearView


length: Callable[[object, LinearView, Floats, int, int], int] = open_slot("length")


def choose_arm(rule: object, memory: object, board: Board, t: int, rng: Generator) -> int:
    """The action that the rule takes, by its number."""
    arms = len(board.pulls)
    chosen: int = choose(rule, board.public, board.actions, arms, len(board.actions) // arms, rng)
    return chosen


def episode_length(schedule: object, memory: object, board: Board, arm: int) -> int:
    """Rounds of the episode that begins."""
    dimension = len(board.actions) // len(board.pulls)
    return length(schedule, board.public, board.actions, arm * dimension, dimension)


def publish_episode(
    release: Parts, ledger: object, board: Board, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """V += n a a'; the sum of the episode is released, and the next estimate made of it."""
    view, actions = board.public, board.actions
    dimension = len(actions) // len(board.pulls)
    start = arm * dimension
    grown = grow(view.matrix, view.running, view.along, actions, start, float(rounds), dimension)
    view.log_now[0] += math.log(grown)
    restore(view, dimension)
    collect(release.release, ledger, actions, start, total, dimension)
    publish(release.release, ledger, view, dimension, rng)
    update(release.rule, view, dimension)


def draw_piece(
    environment: object, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """As much of a batch as may be drawn without looking up."""
    return draw(environment, arm, min(rounds, PIECE), t, rng)


def in_episodes(policy: LinearPolicy, problem: LinearProblem) -> bool:
    """Whether a policy plays one action of the problem from release to release."""
    return (
        isinstance(problem.contexts, FixedActions)
        and isinstance(policy, RoundPolicy)
        and policy.rule.steady
        and policy.schedule.length is not None
        and policy.release.collect_total is not None
    )


@lru_cache(maxsize=64)
def episode_kernel(policy: RoundPolicy, draw: Function, one_by_one: bool) -> Kernel:
    """The finite-armed loop with a linear policy and a law filled in."""
    release = policy.release
    assert policy.schedule.length is not None
    assert release.collect_total is not None
    drawn = Kernel(draw_piece, draw=draw) if one_by_one else draw
    return Kernel(
        finite.run,
        shown=as_it_is,
        choose=Kernel(choose_arm, choose=policy.rule.choose),
        length=Kernel(episode_length, length=policy.schedule.length),
        collect=Kernel(collect_batch, draw=drawn),
        publish=Kernel(
            publish_episode,
            collect=release.collect_total,
            publish=release.kernel(release.publish, SIMULATED),
            update=policy.rule.update,
        ),
    )


def as_it_is(board: Board) -> Board:
    """A linear rule keeps what it makes of releases in the view, and updates it there."""
    return board


class EpisodePlayer(Player):
    """The arrays of one run in episodes."""

    def __init__(self, work: LinearWork, policy: RoundPolicy) -> None:
        setting = work.setting
        self.work, self.policy = work, policy
        self.loop: Callable[..., int] | None = None
        self.environment = clipped_environment(policy, work.problem)
        means = np.array(work.problem.means)
        ledger, _, view = fresh_state(policy, setting)
        assert isinstance(view, LinearView)
        pulls, course = np.zeros(setting.arms, np.int64), finite.fresh_course()
        super().__init__(ledger, view, (pulls,), course)
        parts = parts_of(policy, setting)
        board = Board(pulls, work.problem.contexts.average.ravel(), view)
        # the release of an episode ends in the next estimate, so it needs the rule's numbers too
        self.parts = parts._replace(release=parts)
        self.state, self.course = State(ledger, Empty(), board), course
        self.gaps = means.max() - means

    def play(self, number: int) -> bool:
        work = self.work
        self.reset()
        rng = work.generator(number)
        curve = finite.Curve(work.grid, work.regret[number], work.noted(number))
        study = finite.Study(work.horizon, self.gaps, curve)
        environment = self.environment.start(rng)
        arguments = (environment, *self.parts, *self.state, self.course, study, DECISIONS, rng)
        if self.loop is None:
            one_by_one = (
                isinstance(self.environment, Clipped)
                and self.environment.environment.bounds is None
            )
            kernel = episode_kernel(self.policy, self.environment.draw, one_by_one)
            self.loop = work.ready(lambda: kernel.cached(*arguments), arguments)
        while not work.stop.is_set():
            if self.loop(*arguments) == FINISHED:
                return True
        return False
