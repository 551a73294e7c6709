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

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import InvalidArgument
from ..simulator.loop import FINISHED, STARVED
from ..simulator.results import Comparison, Result
from ..simulator.runs import (
    DECISIONS,
    _Bar,
    _Work,
    available_cores,
    check_count,
    check_horizon,
    log_grid,
)
from .contexts import FixedActions
from .design import Design
from .loop import Curve, fresh_course, loop_kernel
from .phased import PhasedStage
from .problem import LinearProblem
from .row import LinearPolicy
from .view import Setting, fresh_view


def simulate(
    policy: LinearPolicy,
    problem: LinearProblem,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | None = None,
) -> Result:
    """Run a linear policy on a problem: see `discreet.simulate`."""
    return compare(
        [policy], problem, horizon=horizon, runs=runs, seed=seed, threads=threads, points=points,
        progress=progress,
    )[0]  # fmt: skip


def compare(
    policies: Iterable[LinearPolicy],
    problem: LinearProblem,
    *,
    horizon: float,
    runs: int = 100,
    seed: int | None = None,
    threads: int | None = None,
    points: int = 100,
    progress: bool | None = None,
) -> Comparison:
    """Run several linear policies on the same problem with the same seeds."""
    import numpy as np

    policies = list(policies)
    if not policies:
        raise InvalidArgument("policies", "name at least one policy", policies, "add one")
    if not isinstance(problem, LinearProblem):
        raise InvalidArgument(
            "problem", "be a LinearProblem", problem, "make one, such as LinearProblem.random()"
        )
    rounds = check_horizon(horizon, problem)  # type: ignore[arg-type]  # it has arms and limit
    check_count("runs", runs)
    check_count("points", points, least=2)
    workers = check_count("threads", threads) if threads is not None else available_cores()
    if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
        raise InvalidArgument("seed", "be a whole number from 0", seed, "use for example seed=1")
    for policy in policies:
        check_problem(policy, problem)
    entropy = np.random.SeedSequence(seed).entropy
    assert isinstance(entropy, int)
    grid = log_grid(rounds, points)
    results = []
    with _Bar(len(policies) * runs, progress) as bar:
        for policy in policies:
            result = LinearWork(policy, problem, rounds, runs, entropy, grid).do(workers, bar)
            results.append(result)
            if not result.complete:
                break
    return Comparison(tuple(results))


def check_problem(policy: LinearPolicy, problem: LinearProblem) -> None:
    """Elimination needs the same actions in every round."""
    if not isinstance(policy, LinearPolicy):
        raise InvalidArgument(
            "policy", "be a linear policy", policy, "take one of discreet.linear.policy"
        )
    if policy.phased and not isinstance(problem.contexts, FixedActions):
        raise InvalidArgument(
            "contexts", f"be fixed for {policy.name}", problem.contexts.name,
            "use FixedActions, or a policy for changing actions such as adac-oful",
        )  # fmt: skip


class RoundStage:
    """Where a thread plays one run after the other: its arrays are made once and swept clean."""

    def __init__(self, work: LinearWork) -> None:
        policy, setting = work.row, work.place
        self.work = work
        self.loop: Callable[..., int] | None = None
        view = fresh_view(setting.dimension, policy.rule.ridge)
        view.width[0] = policy.rule.first_width(setting)
        self.props = (
            policy.release.ledger(setting), view, fresh_course(setting.arms, setting.dimension),
        )  # fmt: skip
        arrays = [array for prop in self.props for array in prop]
        self.clean = [(array, array.copy()) for array in arrays]
        self.parameters = (
            work.problem.rewards.parameters(),
            policy.schedule.parameters(),
            policy.release.parameters(setting),
            policy.rule.parameters(setting),
        )

    def play(self, number: int) -> bool:
        """One run, from its own seed; False if it was stopped."""
        import numpy as np

        work = self.work
        for array, copy in self.clean:
            array[:] = copy
        rng = np.random.Generator(np.random.SFC64(work.child(number)))
        contexts = work.problem.contexts
        state = contexts.start(rng)
        curve = Curve(work.grid, work.regret[number], work.pulls[number])
        theta = np.array(work.problem.theta)
        arguments = (
            state, *self.parameters, *self.props, curve, theta, work.horizon, DECISIONS, rng,
        )  # fmt: skip
        if self.loop is None:
            kernel = loop_kernel(work.row, contexts.offer, work.problem.rewards.pay)
            self.loop = kernel.cached(*arguments)
        while not work.stop.is_set():
            status = self.loop(*arguments)
            if status == FINISHED:
                return True
            if status == STARVED:
                contexts.refill(state, rng)
        return False


class LinearWork(_Work):
    """All runs of one linear policy; seeds, threads and Ctrl-C as for finite arms."""

    def __init__(
        self,
        row: LinearPolicy,
        problem: LinearProblem,
        horizon: int,
        runs: int,
        entropy: int,
        grid: Any,
    ) -> None:
        import numpy as np

        self.row, self.problem, self.horizon, self.runs = row, problem, horizon, runs
        self.entropy, self.grid = entropy, grid
        self.place = Setting(problem.arms, problem.dimension, horizon)
        self.regret = np.full((runs, len(grid)), np.nan)
        self.pulls = np.zeros((runs, len(grid), problem.arms), np.int64)
        self.done = np.zeros(runs, bool)
        self.stop = threading.Event()

    def do(self, workers: int, bar: _Bar) -> Result:
        """Do all runs, in order, a thread taking the next one whenever it is free."""
        started = time.perf_counter()
        upcoming = iter(range(self.runs))
        taking = threading.Lock()
        designs: dict[bytes, Design] = {}

        def worker() -> None:
            stage = PhasedStage(self, designs) if self.row.phased else RoundStage(self)
            while not self.stop.is_set():
                with taking:
                    number = next(upcoming, None)
                if number is None:
                    return
                self.done[number] = stage.play(number)

        bar.begin(self.row.name, self.done)
        if workers == 1 and not bar.wanted:
            self._alone(worker)
        else:
            self._in_threads(worker, min(workers, self.runs), bar)
        return self._result(time.perf_counter() - started)

    def _result(self, seconds: float) -> Result:
        guarantee = self.row.guarantee_on(self.problem)
        return Result(
            policy=self.row.to_dict() | {"guarantee": guarantee.to_dict()},
            law=self.problem.to_dict(),
            means=self.problem.means,
            horizon=self.horizon,
            seed=self.entropy,
            complete=bool(self.done.all()),
            seconds=seconds,
            run=self.done.nonzero()[0],
            t=self.grid,
            regret=self.regret[self.done],
            pulls=self.pulls[self.done],
        )
