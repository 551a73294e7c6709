"""Many trials on a calendar: the steps of `discreet.protocol`, compiled, in a world of late
outcomes. Which plan a policy has, and which world is the quickest that is exact, is found here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ..._checks import horizon_of
from ..._compiled import Function, Kernel, kinds_of, machine_code
from ...arms._base import Environment
from ...arms._bernoulli import Bernoulli
from ...errors import InvalidArgument
from ...policies import Policy
from ...policies._policy import ONE_BATCH
from ...policies.releases._pairs import pair_scale_of
from ...privacy._source import SIMULATED
from ...protocol import (
    FINISHED,
    GROW,
    Playing,
    Started,
    Track,
    Truth,
    World,
    grown,
    play_kernel,
    slots,
)
from ...protocol import begin as begin_trial
from ...protocol._state import ANSWER, LOOKED
from ...protocol.worlds._calendar import earned_in_drift, tossed_in_drift
from .._results import Result
from .._work import Player, RegretWork
from ._setting import DRIFTS, ENVIRONMENTS, Calendar

if TYPE_CHECKING:
    from ..._types import Floats, Ints

MOST_PARTICIPANTS = 10**9


class Bounded(Protocol):
    """Rewards, of finite arms or of a linear problem."""

    @property
    def bounds(self) -> tuple[float, float] | None: ...


T = TypeVar("T")


def checked_size(horizon: object, arms: int) -> int:
    """A number of participants that a simulation can follow."""
    size = horizon_of(horizon, arms)
    if size > MOST_PARTICIPANTS:
        raise InvalidArgument("horizon", "be at most 1e9 on a calendar", horizon, "shorten it")
    return size


def terms_of(policy: Policy, calendar: Calendar, arms: int, size: int) -> Playing:
    """How a policy is played on a calendar: its plan, and what is fixed beside it."""
    plan = policy.plan(policy.setting(arms, size))
    shares, deadline = calendar.share or (0.0,) * arms, float(calendar.delay.deadline)
    if calendar.trend:
        if not policy.has_epochs:
            raise InvalidArgument(
                "trend", f"be left out for {policy.name}: differences within epochs have an index "
                "for dp-imed alone", True, "take dp-imed, or leave it out",
            )  # fmt: skip
        longest = calendar.window
        if longest == 1:
            longest = math.ceil(calendar.arrivals * deadline)
        counts = calendar.counts
        return Playing(
            "epochs", 1, shares, deadline, 0.0 if counts is None else counts, longest=longest
        )
    for name, value in (("share", any(shares)), ("window", calendar.window > 1)):
        if value and (plan == ONE_BATCH or (plan == "looks" and name == "share")):
            raise InvalidArgument(
                name, f"be left out for {policy.name}, which compares arms in equal shares"
                if plan == "looks" else f"be left out for {policy.name}, whose plan is one batch",
                calendar.share if name == "share" else calendar.window, "leave it out",
            )  # fmt: skip
    pair = pair_scale_of(policy.release, SIMULATED) if plan == "index" else None
    estimate = calendar.default is None and pair is not None and policy.is_private
    window = calendar.window
    if plan == "looks" and window == 1:
        window = 2 * arms  # permuted blocks of two places per arm
    default = calendar.default
    if default is None:  # sums of equally many outcomes compare if who is missing counts the same
        default = 0.0 if plan in ("index", ONE_BATCH) else 0.5
    return Playing(
        plan, window, shares, deadline, default, estimate, cuts=plan == ONE_BATCH
    )  # fmt: skip


def has_own_days(policy: Policy, plan: str) -> bool:
    """Whether outcomes are used on the day they come: where nothing is private, and every one is a
    batch of its own."""
    return not policy.is_private and plan == "index" and policy.schedule.each_round


class Played(NamedTuple):
    """What is compiled for one trial."""

    started: Started
    filled: dict[str, Function | Kernel]
    world: World


def prepared(
    policy: Policy, environment: Environment, calendar: Calendar, size: int
) -> tuple[Playing, str]:
    """How a policy is played, and in which world: the quickest that is exact."""
    terms = terms_of(policy, calendar, environment.arms, size)
    endless = environment.limit is None and type(environment).refill is Environment.refill
    steady = calendar.drift is None and environment.steady and endless
    if has_own_days(policy, terms.plan):
        return terms._replace(deadline=0.0), "answers"
    if terms.plan == ONE_BATCH:
        return terms, "one batch"
    if policy.release.respond_kernel(SIMULATED) is not None or not steady:
        return terms, "calendar"
    still = terms.plan == "index" and policy.rule.still
    return terms, "strides" if still and terms.window == 1 and not any(terms.shares) else "blocks"


def filled_of(
    policy: Policy, environment: Environment, calendar: Calendar, size: int
) -> dict[str, Function | Kernel]:
    """What fills the steps in."""
    terms, world = prepared(policy, environment, calendar, size)
    filled = slots(policy, terms, SIMULATED, world, environment.draw)
    if calendar.drift is not None:
        filled["earn"] = tossed_in_drift if isinstance(environment, Bernoulli) else earned_in_drift
    return filled | {"lost": environment.lost}


def world_of(calendar: Calendar, size: int, environment: Bounded) -> World:
    """What is true of the trial, on its first day."""
    import numpy as np

    low, high = (-math.inf, math.inf) if environment.bounds is None else environment.bounds
    drift, delay = calendar.drift, calendar.delay
    kind, moved, period = (
        (0, 0.0, 1.0) if drift is None else (DRIFTS.index(drift.kind), drift.size, drift.period)
    )
    return World(
        calendar.arrivals, np.array(calendar.answered), ENVIRONMENTS.index(delay.law),
        0.0 if delay.mean is None else float(delay.mean), float(delay.deadline), kind, moved,
        float(period), size / calendar.arrivals, np.zeros(2), np.full(1, -1), np.full(3, -1),
        float(low), float(high),
    )  # fmt: skip


class TrialWork(RegretWork[Policy, Environment]):
    """All trials of one policy on one calendar."""

    def __init__(
        self,
        policy: Policy,
        environment: Environment,
        horizon: int,
        runs: int,
        entropy: int,
        grid: Ints,
        *,
        calendar: Calendar,
    ) -> None:
        import numpy as np

        super().__init__(policy, environment, horizon, runs, entropy, grid)
        self.environment, self.calendar = environment, calendar
        self.terms, self.world = prepared(policy, environment, calendar, horizon)
        self.filled = filled_of(policy, environment, calendar, horizon)
        arms = environment.arms
        self.estimates = np.full((runs, arms), np.nan)
        self.sizes, self.looks = (np.zeros((runs, arms), np.int64) for _ in range(2))
        self.days, self.used = np.zeros(runs), np.zeros(runs)
        self.answer, self.looked = np.full(runs, -1), np.zeros(runs, np.int64)

    def player(self) -> Player:
        return TrialPlayer(self)

    def result(self) -> Result:
        done = slice(None) if self.complete else self.done
        known = self.sizes > 0
        means = estimated_means(self.policy, self.estimates)
        ranked = [
            max((m, -arm) for arm, m in enumerate(line) if known[run, arm] and m == m)
            if any(known[run, arm] and m == m for arm, m in enumerate(line)) else None
            for run, line in enumerate(means.tolist())
        ]  # fmt: skip
        import numpy as np

        named = np.array([-1 if best is None else -best[1] for best in ranked], np.int64)
        more = {
            "days": self.days, "used": self.used, "named": named, "recommendation": self.answer,
            "estimates": means, "looks": self.looks,
        }  # fmt: skip
        return replace(
            super().result(), calendar=self.calendar, plan=self.terms.plan,
            more={name: values[done] for name, values in more.items()},
        )  # fmt: skip


def estimated_means(policy: Policy, values: Floats) -> Floats:
    """The means behind released values: a device's answer may lean to one side."""
    import numpy as np

    mean_of = policy.release.estimated_mean
    if policy.release.respond_kernel(SIMULATED) is None:
        return values
    found = [[mean_of(float(value)) for value in line] for line in values]
    return np.array([[np.nan if x is None else x for x in line] for line in found])


class TrialPlayer(Player):
    """The arrays of one trial, for one thread."""

    def __init__(self, work: TrialWork) -> None:
        self.work, self.stream = work, work.stream()
        self.loops: dict[object, Function] = {}
        arms, size = work.environment.arms, work.horizon
        each = work.policy.schedule.each_round
        waiting = work.calendar.arrivals * float(work.calendar.delay.deadline)
        depth = 16 + (math.ceil(min(1.5 * waiting, size)) if each else 0)
        setting = work.policy.setting(arms, size)
        self._take(begin_trial(work.policy, setting, work.terms, depth))

    def _take(self, started: Started) -> None:
        import numpy as np

        work, arms = self.work, self.work.environment.arms
        self.started = started
        self.world = world_of(work.calendar, work.horizon, work.environment)
        self.own = (np.zeros(1), np.zeros(2, np.int64), np.array([-1.0, 0.0]), np.zeros(arms))
        flat = [*_arrays((started.design.room, started.head, started.vault, self.world)), *self.own]
        super().__init__(flat)

    def play(self, number: int) -> bool:
        work = self.work
        self.reset()
        rng = self.stream.at(number)
        environment = work.environment.start(rng)
        gaps = work.environment.standard(work.horizon)
        track = Track(work.grid, work.regret[number], work.pulls[number], gaps, *self.own)
        while not work.stop.is_set():
            design, head, vault = self.started
            truth = Truth(environment, self.world.answered)
            arguments = (self.world, design, head, vault._replace(environment=truth), track, rng)
            kinds = kinds_of(arguments)
            loop = self.loops.get(kinds)
            if loop is None:
                linked = play_kernel(work.filled)
                ready = work.ready(partial(linked.cached, *arguments), arguments)
                loop = self.loops[kinds] = machine_code(ready, arguments)
            status = loop(*arguments)
            if status == GROW:
                track = self._grow(track)
            elif status == FINISHED or not work.environment.refill(environment, rng):
                self._end(number, track)
                return True
        return False

    def _grow(self, track: Track) -> Track:
        """Room for more blocks in flight; the trial continues where it was."""
        owed, before = self.world.owed, self.started.design.depth
        more = grown(self.started, 2 * before)
        if owed[0] >= 0:
            arm = int(owed[1])
            number = int(more.head.block[arm])
            number -= number - int(more.head.released[arm]) == before
            owed[0] = arm * 2 * before + number % (2 * before)
        world, own = self.world, self.own
        values = [
            array.copy() for array in _arrays((more.design.room, more.head, more.vault, world))
        ]
        values += [array.copy() for array in own]
        setting = self.work.policy.setting(self.work.environment.arms, self.work.horizon)
        self._take(begin_trial(self.work.policy, setting, self.work.terms, 2 * before))
        for (array, _), kept in zip(self.initial, values, strict=True):
            array[:] = kept
        lost, at, when, means = self.own
        return track._replace(lost=lost, at=at, when=when, means=means)

    def _end(self, number: int, track: Track) -> None:
        work = self.work
        head: Any = self.started.head
        work.estimates[number] = track.means
        work.sizes[number], work.looks[number] = head.size, head.full
        work.answer[number], work.looked[number] = head.at[ANSWER], head.at[LOOKED]
        end = track.when[0] if head.at[ANSWER] >= 0 else max(track.when[1], self.world.now[0])
        work.days[number] = end
        reached, points = int(track.at[0]), len(work.grid)
        if reached < points:  # it stopped before: no one was assigned any more
            work.regret[number, reached:] = track.lost[0]
            work.pulls[number, reached:] = head.places
        places = int(head.places.sum())
        seen = head.size if self.work.world == "answers" else head.pulls
        work.used[number] = int(seen.sum()) / places if places else 0.0


def _arrays(state: Any) -> list[Any]:
    """All arrays of a state, in their order."""
    if isinstance(state, tuple):
        return [array for part in state for array in _arrays(part)]
    return [state] if hasattr(state, "dtype") and state.ndim else []
