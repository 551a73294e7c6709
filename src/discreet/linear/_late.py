"""Linear policies whose outcomes come late: the plan `contexts` of the protocol, on a calendar.

>>> import discreet, discreet.linear as linear
>>> problem = linear.LinearProblem.random(arms=4, dimension=2, seed=1)
>>> found = discreet.simulate(
...     linear.policy("adac-oful", rho=0.5), problem, horizon=300, runs=2, seed=1, arrivals=12,
...     delay="2 days",
... )
>>> found.plan, bool((found.used < 1.0).all())
('contexts', True)

One block is filled at a time; who comes while it waits is treated by the current estimate, and the
outcome is not used. A policy that could release after every participant releases after `window` of
them, by default a deadline's arrivals: with fewer, most would come while a block waits. Phased
policies wait at the end of a phase, and play on in its proportions meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidArgument
from ..policies._step import fresh_state, parts_of
from ..protocol._state import NEVER
from ..protocol.plans._contexts import (
    RELEASED,
    TAKEN,
    USED,
    ContextDesign,
    ContextHead,
    ContextVault,
)
from ..protocol.worlds._contexts import (
    FINISHED,
    STARVED,
    ContextTrack,
    ContextTruth,
    context_kernel,
)
from ..simulator._results import Result
from ..simulator._work import Player
from ..simulator.calendar._runs import checked_size, world_of
from ..simulator.calendar._setting import Calendar
from ._algebra import dot, of_known_length
from ._loop import slots_of
from ._phased import Ledger, PhasedPlayer
from ._problem import LinearProblem
from ._row import LinearPolicy, PhasedPolicy, RoundPolicy
from ._runs import LinearWork

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints
    from ..protocol import World

PLAN = "contexts"


def check_calendar(policy: LinearPolicy, calendar: Calendar) -> None:
    """What has no meaning where every choice rests on the participant's own features."""
    for name, given in (("share", any(calendar.share)), ("trend", calendar.trend)):
        if given:
            raise InvalidArgument(
                name, f"be left out for {policy.name}, whose choices rest on features",
                getattr(calendar, name), "leave it out, or take a policy of finite arms",
            )  # fmt: skip
    if calendar.window > 1 and batch_of(policy, calendar) == 1:
        raise InvalidArgument(
            "window", f"be left out for {policy.name}, whose schedule ends its blocks",
            calendar.window, "leave it out",
        )  # fmt: skip


def batch_of(policy: LinearPolicy, calendar: Calendar) -> int:
    """Members of a block at least: more than one where the policy could release after everyone."""
    if not policy.schedule.every_round:
        return 1
    if calendar.window > 1:
        return calendar.window
    return max(1, math.ceil(calendar.arrivals * float(calendar.delay.deadline)))


def default_of(policy: LinearPolicy, calendar: Calendar) -> float:
    """What a missing outcome counts as: what is declared, else the middle of the range that the
    curator clips to, else 0."""
    if calendar.default is not None:
        return calendar.default
    clip = policy.release.clip
    return 0.0 if clip is None else 0.5 * (clip[0] + clip[1])


class LateWork(LinearWork):
    """All trials of one linear policy on one calendar."""

    def __init__(
        self, row: LinearPolicy, problem: LinearProblem, horizon: int, runs: int, entropy: int,
        grid: Ints, *, calendar: Calendar,
    ) -> None:  # fmt: skip
        super().__init__(row, problem, checked_size(horizon, problem.arms), runs, entropy, grid)
        check_calendar(row, calendar)
        self.calendar = calendar
        self.estimates = np.full((runs, problem.arms), np.nan)
        self.releases = np.zeros(runs, np.int64)
        self.days, self.used = np.zeros(runs), np.zeros(runs)

    def player(self) -> Player:
        row = self.row
        if isinstance(row, PhasedPolicy):
            return LatePhasedPlayer(self, row)
        assert isinstance(row, RoundPolicy)
        return ContextPlayer(self, row)

    def result(self) -> Result:
        done = slice(None) if self.complete else self.done
        named = np.where(
            np.isnan(self.estimates).any(axis=1), -1, np.argmax(self.estimates, axis=1)
        )
        looks = np.repeat(self.releases[:, None], self.problem.arms, axis=1)
        more = {
            "days": self.days, "used": self.used, "named": named,
            "recommendation": np.full(self.runs, -1), "estimates": self.estimates, "looks": looks,
        }  # fmt: skip
        return replace(
            super().result(), calendar=self.calendar, plan=PLAN,
            more={name: values[done] for name, values in more.items()},
        )  # fmt: skip


class ContextPlayer(Player):
    """The arrays of one trial of a policy that decides for every participant."""

    def __init__(self, work: LateWork, policy: RoundPolicy) -> None:
        self.work, setting = work, work.setting
        self.loop: Callable[..., int] | None = None
        calendar, (ledger, _, view) = work.calendar, fresh_state(policy, setting)
        parts, alone = parts_of(policy, setting), policy.release.each_alone
        d, batch = setting.dimension, batch_of(policy, calendar)
        self.slots = context_slots(policy, work.problem)
        self.design = ContextDesign(
            *parts, setting.arms, d, work.horizon, float(calendar.delay.deadline), batch,
            int(alone), default_of(policy, calendar),
        )  # fmt: skip
        kept = batch if alone else 0
        self.head = ContextHead(view, np.zeros(6, np.int64), np.full(1, NEVER))
        self.vault = ContextVault(ledger, np.zeros(kept * d), np.zeros(kept))
        self.world: World = world_of(calendar, work.horizon, work.problem)
        self.own = (np.zeros(1), np.zeros(1, np.int64), np.zeros(setting.arms, np.int64))
        self.features = np.zeros(setting.arms * d)
        head = (self.head.at, self.head.when)
        super().__init__(view, ledger, head, self.vault[1:], self.world, self.own)

    def play(self, number: int) -> bool:
        work = self.work
        self.reset()
        rng = work.generator(number)
        problem = work.problem
        state = problem.contexts.start(rng)
        truth = ContextTruth(
            state, problem.rewards.parameters(), of_known_length(problem.theta), self.features
        )
        track = ContextTrack(work.grid, work.regret[number], work.pulls[number], *self.own)
        arguments = (self.world, truth, self.design, self.head, self.vault, track, rng)
        if self.loop is None:
            kernel = context_kernel(self.slots, "calendar")
            self.loop = work.ready(lambda: kernel.cached(*arguments), arguments)
        while not work.stop.is_set():
            status = self.loop(*arguments)
            if status == FINISHED:
                self._end(number)
                return True
            if status == STARVED:
                problem.contexts.refill(state, rng)
        return False

    def _end(self, number: int) -> None:
        work, head = self.work, self.head
        work.days[number] = self.world.now[0]
        work.used[number] = head.at[USED] / head.at[TAKEN]
        work.releases[number] = head.at[RELEASED]
        if head.at[RELEASED]:
            work.estimates[number] = work.problem.contexts.average @ head.seen.estimate


def context_slots(policy: RoundPolicy, problem: LinearProblem) -> dict[str, Any]:
    """What a policy and a problem fill in."""
    return slots_of(policy) | {
        "choose": policy.rule.choose, "offer": problem.contexts.offer,
        "pay": problem.rewards.pay, "product": dot,
    }  # fmt: skip


class LatePhasedPlayer(PhasedPlayer):
    """Trials of a phased policy: at the end of a phase its outcomes are waited for."""

    def __init__(self, work: LateWork, policy: PhasedPolicy) -> None:
        super().__init__(work, policy)
        self.late, self.policy = work, policy
        self.answered = np.array(work.calendar.answered)
        self.default = default_of(policy, work.calendar)
        self.now = self.before = self.last = 0.0
        self.number = self.used = self.phases = 0

    def play(self, number: int) -> bool:
        self.now, self.used, self.phases, self.number = 0.0, 0, 0, number
        finished = super().play(number)
        if finished:
            work = self.late
            work.days[number], work.releases[number] = self.now, self.phases
            work.used[number] = self.used / work.horizon
        return finished

    def cut_off(self, rounds: int, rng: Generator) -> None:
        """The last participants come, and nothing is released."""
        self.now += rng.standard_gamma(rounds) / self.late.calendar.arrivals

    def waits(self, ledger: Ledger, played: Ints, plays: Ints, rng: Generator) -> None:
        """Who comes by the deadline of the last of a phase is treated in its proportions."""
        calendar, size = self.late.calendar, int(plays.sum())
        self.before = self.now
        self.last = self.now + rng.standard_gamma(size) / calendar.arrivals
        left, self.now = self.late.horizon - ledger.t, self.last + float(calendar.delay.deadline)
        coming = int(rng.poisson(calendar.arrivals * float(calendar.delay.deadline)))
        self.used, self.phases = self.used + size, self.phases + 1
        more = min(coming, left)
        while more > 0:
            some = min(more, size)
            ledger.play(played, plays, ledger.t + some)
            more -= some

    def estimated(self, values: Floats, active: Ints) -> None:
        """What is known of every action that is still in; of the others nothing new."""
        own = self.late.estimates[self.number]
        own[active] = values

    def sums(self, state: Any, played: Ints, plays: Ints, rng: Generator) -> Floats:
        drift = self.late.calendar.drift
        if drift is not None:
            return self._drifting(played, plays, rng)
        found = []
        for arm, n in zip(played, plays, strict=True):
            answers = int(rng.binomial(int(n), self.answered[arm]))
            total = self.total(state, int(arm), answers, rng) if answers else 0.0
            found.append(total + self.default * (int(n) - answers))
        return np.array(found)

    def _drifting(self, played: Ints, plays: Ints, rng: Generator) -> Floats:
        """One by one, each on its own day: the j-th of n plays comes at (j - 1/2)/n."""
        calendar, problem = self.late.calendar, self.late.problem
        assert calendar.drift is not None
        owner = np.repeat(np.arange(len(plays)), plays)
        place = np.concatenate([(np.arange(n) + 0.5) / n for n in plays])
        order = owner[np.argsort(place, kind="stable")]
        gaps = rng.standard_exponential(len(order))
        moments = self.before + (self.last - self.before) * np.cumsum(gaps) / gaps.sum()
        pay, rewards = problem.rewards.pay, problem.rewards.parameters()
        length = self.late.horizon / calendar.arrivals
        clip = self.policy.release.clip or (-math.inf, math.inf)
        totals = np.zeros(len(plays))
        for index, moment in zip(order, moments, strict=True):
            value = self.default
            if rng.random() < self.answered[played[index]]:
                mean = self.means[played[index]] + calendar.drift.shift(float(moment), length)
                value = pay(rewards, mean, rng)
            totals[index] += min(max(value, clip[0]), clip[1])
        return totals
