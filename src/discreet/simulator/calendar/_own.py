"""A policy of one's own, a plain Python object, where outcomes come late.

>>> class InTurn:
...     def __init__(self, rng):
...         self.next = 0
...     def select(self):
...         self.next = 1 - self.next
...         return self.next
...     def update(self, arm, reward):
...         pass
>>> import discreet
>>> found = discreet.simulate(
...     InTurn, discreet.Bernoulli([0.9, 0.1]), horizon=40, runs=2, seed=1, arrivals=12, delay=3
... )
>>> found.final_pulls.tolist(), bool((found.days > 3).all())
([[20, 20], [20, 20]], True)

`update` is called on the day an outcome comes, for a missing one with the declared default once the
deadline has passed, or never if none is declared. Who is assigned then knows it. Windows, least
shares and epochs belong to the plans of the catalogue: an object chooses every arm by itself.
"""

from __future__ import annotations

import heapq
import math
import time
from typing import TYPE_CHECKING

from ...arms._bernoulli import Bernoulli
from ...errors import InvalidArgument
from ...protocol.worlds._calendar import late, shift
from .._own import LOOK, OwnPlayer, OwnWork
from .._work import Player
from ._runs import world_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.random import Generator

    from ..._types import Ints
    from ...arms._base import Environment
    from ...protocol import World
    from .._own import OwnPolicy
    from .._results import Result
    from ._setting import Calendar

PLAN = "its own"


class OwnTrialWork(OwnWork):
    """All trials of an object on one calendar."""

    def __init__(
        self, policy: OwnPolicy, environment: Environment, horizon: int, runs: int, entropy: int,
        grid: Ints, *, calendar: Calendar,
    ) -> None:  # fmt: skip
        import numpy as np

        super().__init__(policy, environment, horizon, runs, entropy, grid)
        check_calendar(policy, calendar)
        self.calendar = calendar
        self.totals, self.known = (np.zeros((runs, environment.arms)) for _ in range(2))
        self.days = np.zeros(runs)

    def player(self) -> Player:
        return OwnTrialPlayer(self)

    def result(self) -> Result:
        """The trials that were finished; what an object was told is all that is known."""
        from dataclasses import replace

        import numpy as np

        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.totals / self.known
        best = np.where(self.known > 0, means, -math.inf).argmax(axis=1)
        more = {
            "days": self.days, "used": self.known.sum(axis=1) / self.horizon,
            "named": np.where(self.known.any(axis=1), best, -1),
            "recommendation": np.full(self.runs, -1), "estimates": means,
            "looks": np.zeros((self.runs, self.place.arms), np.int64),
        }  # fmt: skip
        done = slice(None) if self.complete else self.done
        return replace(
            super().result(), calendar=self.calendar, plan=PLAN,
            more={name: values[done] for name, values in more.items()},
        )  # fmt: skip


def check_calendar(policy: OwnPolicy, calendar: Calendar) -> None:
    """Refuse what only plans of the catalogue can do."""
    asked = {"window": calendar.window > 1, "share": any(calendar.share), "trend": calendar.trend}
    for name, given in asked.items():
        if given:
            raise InvalidArgument(
                name, f"be left out for {policy.name}, an object that chooses every arm by itself",
                getattr(calendar, name), "leave it out",
            )  # fmt: skip


class OwnTrialPlayer(OwnPlayer):
    """Plays one trial after the other, each with its own object."""

    work: OwnTrialWork

    def play(self, number: int) -> bool:
        import numpy as np

        work, rng = self.work, self.work.generator(number)
        environment, calendar = work.place, work.calendar
        state, agent = environment.start(rng), self.agent(number)
        world = world_of(calendar, work.horizon, environment)
        draw = self.drawn(world, calendar)
        pulls, regret = np.zeros(environment.arms, np.int64), 0.0
        noted, standard = work.noted(number), environment.standard(work.horizon)
        under_way: list[tuple[float, int, int, float]] = []

        def tell(until: float) -> None:
            while under_way and under_way[0][0] <= until:
                world.now[1], _, arm, reward = heapq.heappop(under_way)
                agent.update(arm, reward)
                work.totals[number, arm] += reward
                work.known[number, arm] += 1

        recorded, started = 0, time.perf_counter()
        for t in range(work.horizon):
            if t % LOOK == LOOK - 1:
                if work.stop.is_set():
                    return False
                work.say((time.perf_counter() - started) / t)
            world.now[0] += rng.standard_exponential() / calendar.arrivals
            tell(world.now[0])
            arm = self.arm(agent)
            told = (world.now[0] + float(calendar.delay.deadline), calendar.default)
            if rng.random() < world.answered[arm]:
                reward, served = draw(state, arm, t, rng)
                if served == 0:
                    if not environment.refill(state, rng):
                        break
                    reward, _ = draw(state, arm, t, rng)
                told = (world.now[0] + late(world, rng), float(reward))
            day, outcome = told
            if outcome is not None:
                heapq.heappush(under_way, (day, t, arm, outcome))
            regret += self.lost(standard, arm, t, 1)
            pulls[arm] += 1
            if work.grid[recorded] == t + 1:
                work.regret[number, recorded], noted[recorded] = regret, pulls
                recorded += 1
        world.now[1] = world.now[0]
        tell(math.inf)
        work.days[number] = world.now[1]
        return True

    def drawn(
        self, world: World, calendar: Calendar
    ) -> Callable[[object, int, int, Generator], tuple[float, int]]:
        """What draws one reward: as the worlds of the protocol do, with the drift."""
        draw = self.draw

        def still(state: object, arm: int, t: int, rng: Generator) -> tuple[float, int]:
            return draw(state, arm, 1, t, rng)

        def moved(state: object, arm: int, t: int, rng: Generator) -> tuple[float, int]:
            reward, served = draw(state, arm, 1, t, rng)
            return min(max(reward + shift(world), world.low), world.high), served

        def tossed(state: object, arm: int, t: int, rng: Generator) -> tuple[float, int]:
            rate = min(max(state.p[arm] + shift(world), 0.0), 1.0)  # type: ignore[attr-defined]
            return (1.0 if rng.random() < rate else 0.0), 1

        if calendar.drift is None:
            return still
        return tossed if isinstance(self.work.place, Bernoulli) else moved
