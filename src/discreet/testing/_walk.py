"""One run of a policy by hand: decision by decision, every round recorded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .._compiled import compile_for
from ..policies._policy import Policy
from ..policies._ranks import is_ranked
from ..policies._step import FINISHED, STARVED, parts_of
from ..policies._view import View
from ..simulator._loop import Curve, Study, fresh_course, loop_kernel, simulated_state
from ..simulator._seeds import quick
from ._case import generator

if TYPE_CHECKING:
    from .._types import Ints
    from ..arms import Environment


class Walk:
    """One run of a policy, decision by decision, interpreted or compiled; every round is recorded.

    Run `number` of a simulation with `seed` is the walk with the same two numbers.

    Example:
        >>> import discreet
        >>> from discreet.testing import Walk
        >>> policy = discreet.policy("dp-imed", epsilon=1.0)
        >>> walk = Walk(policy, discreet.Bernoulli([0.8, 0.2]), 40, seed=1)
        >>> len(walk.played())  # the arm of every round
        40
    """

    def __init__(
        self, row: Policy, environment: Environment, horizon: int, *, seed: int, number: int = 0,
        compiled: bool = False,
    ) -> None:  # fmt: skip
        import numpy as np

        setting = row.setting(environment.arms, horizon)
        kernel = loop_kernel(row, environment.draw, ranked=is_ranked(row, setting))
        self.environment, self.horizon, self.arms = environment, horizon, environment.arms
        self.rng = generator(seed, number)
        self.state = environment.start(self.rng)
        run = simulated_state(row, setting)
        assert isinstance(run.public, View)
        self.view = run.public
        self.course = fresh_course()
        grid = np.arange(1, horizon + 1)
        pulls = np.zeros((horizon, environment.arms), np.int64)
        self.curve = Curve(grid, np.full(horizon, np.nan), pulls)
        means = np.array(environment.means)
        study = Study(horizon, means.max() - means, self.curve)
        self.fixed = (self.state, *parts_of(row, setting), *run, self.course, study)
        if compiled:  # the very code that simulations run
            self.rng = quick(self.rng)
            arguments = (*self.fixed, 1, self.rng)
            self.loop = compile_for(row.name, partial(kernel.cached, *arguments), arguments)
        else:
            self.loop = kernel.interpreted()

    def go(self, decisions: int) -> bool:
        """Take so many decisions, or fewer if the run ends; True when it is over."""
        status = self.loop(*self.fixed, decisions, self.rng)
        while status == STARVED and self.environment.refill(self.state, self.rng):
            status = self.loop(*self.fixed, 0, self.rng)
        return bool(status in (FINISHED, STARVED))

    def played(self) -> Ints:
        """Finish the run; the arm of every round."""
        import numpy as np

        while not self.go(100_000):
            pass
        before = np.zeros((1, self.arms), np.int64)
        return np.asarray(np.diff(self.curve.pulls, axis=0, prepend=before).argmax(axis=1))
