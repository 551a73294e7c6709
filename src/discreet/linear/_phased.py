"""Runs of phased elimination: a batch is one draw of its sum, a run a handful of phases."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._compiled import Function, Kernel
from ..arms import Clipped, Environment
from ..simulator._work import Player
from ._design import Design, optimal_design
from ._phases import interleaved
from ._problem import LinearProblem
from ._row import LinearPolicy, PhasedPolicy

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints
    from ._runs import LinearWork


class PhasedPlayer(Player):
    """Plays runs of a phased policy."""

    def __init__(self, work: LinearWork, policy: PhasedPolicy) -> None:
        super().__init__()
        self.work, self.designs = work, work.designs
        self.rule, self.release = policy.rule, policy.release
        self.points = np.asarray(work.problem.contexts.average)
        self.environment = clipped_environment(policy, work.problem)
        self.means = np.array(work.problem.means)
        self.draw: Function | None = None

    def play(self, number: int) -> bool:
        work = self.work
        rng = work.generator(number)
        state = self.environment.start(rng)
        ledger = Ledger(self.means, work.grid, work.regret[number], work.noted(number))
        active = np.arange(len(self.means), dtype=np.int64)
        phase = 0
        while ledger.t < work.horizon:
            if work.stop.is_set():
                return False
            phase += 1
            if len(active) == 1:
                self.cut_off(work.horizon - ledger.t, rng)
                ledger.play(active, np.array([work.horizon - ledger.t]), work.horizon)
                break
            design = self.design(active)
            c = self.rule.rounds(phase, len(self.means), design.rank, self.release.reward_variance)
            played, plays = active[design.support], rounded(c, design)
            left = work.horizon - ledger.t
            ledger.play(played, plays, work.horizon)
            if int(plays.sum()) > left:  # a phase that the horizon cuts off is never released
                self.cut_off(left, rng)
                break
            self.waits(ledger, played, plays, rng)
            totals = self.sums(state, played, plays, rng)
            inside = self.points[active] @ design.basis
            support = inside[design.support]
            theta = self.release.estimate(support, plays.astype(float), totals, c, rng)
            values = inside @ theta
            self.estimated(values, active)
            active = active[values >= values.max() - 2.0 * 2.0**-phase]
        return True

    def waits(self, ledger: Ledger, played: Ints, plays: Ints, rng: Generator) -> None:
        """What comes between the end of a phase and its release: no one, at once."""

    def cut_off(self, rounds: int, rng: Generator) -> None:
        """The last rounds, which are never released."""

    def estimated(self, values: Floats, active: Ints) -> None:
        """The means that a phase leaves of the actions that were in."""

    def sums(self, state: NamedTuple, played: Ints, plays: Ints, rng: Generator) -> Floats:
        """What a phase releases of every action that was played."""
        each = zip(played, plays, strict=True)
        return np.array([self.total(state, int(arm), int(n), rng) for arm, n in each])

    def design(self, active: Ints) -> Design:
        """The design on the active actions; most runs go through the same ones."""
        key = active.tobytes()
        if key not in self.designs:
            self.designs[key] = optimal_design(self.points[active], self.rule.tolerance)
        return self.designs[key]

    def total(self, state: NamedTuple, arm: int, rounds: int, rng: Generator) -> float:
        """The curator's sum of a batch, rewards clipped one by one if the release clips."""
        arguments = (state, arm, rounds, 0, rng)
        if self.draw is None:
            self.draw = Kernel(self.environment.draw).cached(*arguments)
        return float(self.draw(*arguments)[0])


class Ledger:
    """Regret and pulls of a run, recorded on the grid, inside phases too."""

    def __init__(self, means: Floats, grid: Ints, regret: Floats, pulls: Ints) -> None:
        self.gaps = means.max() - means
        self.grid, self.regret, self.pulls = grid, regret, pulls
        self.before = 0.0
        self.counts = pulls[0] * 0
        self.t = 0
        self.recorded = 0

    def play(self, played: Ints, plays: Ints, horizon: int) -> None:
        """A phase, or as much of it as the horizon leaves."""
        rounds = min(int(plays.sum()), horizon - self.t)
        while self.recorded < len(self.grid) and self.grid[self.recorded] <= self.t + rounds:
            inside = interleaved(plays, int(self.grid[self.recorded]) - self.t)
            self.regret[self.recorded] = self.before + float(inside @ self.gaps[played])
            self.pulls[self.recorded] = self.counts
            self.pulls[self.recorded][played] += inside
            self.recorded += 1
        done = interleaved(plays, rounds)
        self.counts[played] += done
        self.before += float(done @ self.gaps[played])
        self.t += rounds


def rounded(c: float, design: Design) -> Ints:
    """ceil(c π(a)) for the actions of the support."""
    return np.asarray(np.ceil(c * design.weights[design.support]), np.int64)


def clipped_environment(policy: LinearPolicy, problem: LinearProblem) -> Environment:
    """The rewards of the actions as finite arms, as the curator of a policy takes them."""
    environment = problem.rewards.environment(list(problem.means))
    clip = policy.release.clip
    if clip is None or (
        environment.bounds is not None
        and clip[0] <= environment.bounds[0] <= environment.bounds[1] <= clip[1]
    ):
        return environment
    return Clipped(environment, *clip)
