"""Your own policy as a plain Python object, beside the compiled policies.

>>> class Greedy:
...     def __init__(self, rng):
...         self.totals, self.counts = [0.0, 0.0], [0, 0]
...     def select(self):
...         if 0 in self.counts:
...             return self.counts.index(0)
...         means = [s / n for s, n in zip(self.totals, self.counts)]
...         return means.index(max(means))
...     def update(self, arm, reward):
...         self.totals[arm] += reward
...         self.counts[arm] += 1
>>> import discreet
>>> found = discreet.compare(
...     [Greedy, discreet.policy("ucb1")], discreet.Bernoulli([0.9, 0.1]), horizon=100, runs=3,
...     seed=1, progress=False,
... )
>>> found.labels
['Greedy', 'ucb1']

It is played round by round in Python, a hundred times slower than a compiled policy, and that is
said where it takes long. Nothing is known of its privacy, so its guarantee is that it protects no
one; `discreet.audit.agents` attacks it.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Never, Protocol, TypeAlias, TypeGuard

from .._compiled import Kernel
from .._progress import Bar
from ..arms import Delayed, Environment
from ..errors import InvalidArgument
from ..privacy._guarantees import Definition, Guarantee
from ..privacy.budgets import Pure
from ._work import Player, RegretWork

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..policies._policy import BasePolicy

LOOK = 4096
"""Rounds between two looks at the stop sign."""
LONG = 2.0
"""Seconds from which it is said how long the runs will take."""


class Agent(Protocol):
    """What is asked of an object: an arm, and to learn."""

    def select(self) -> int:
        """The arm to play next, from 0."""

    def update(self, arm: int, reward: float, /) -> None:
        """What that arm gave."""


Row: TypeAlias = "BasePolicy[Never] | Agent | Callable[[Generator], Agent]"
"""What can be compared: policies of every kind, and objects of your own or what makes them."""


@dataclass(frozen=True)
class OwnPolicy:
    """An object for every run: made by a function of a generator, or copied."""

    name: str
    make: Callable[[Generator], Agent]
    kind: ClassVar[str] = "finite"
    label: ClassVar[str] = ""
    made_of: ClassVar[dict[str, type]] = {}

    def to_dict(self) -> dict[str, object]:
        """What a result says of it."""
        nobody = Guarantee(Pure(math.inf), Definition.NONE)
        return {
            "name": self.name, "label": "", "schedule": "each round", "release": "its own",
            "rule": "its own", "guarantee": nobody.to_dict(), "bounds": None, "reference": "",
            "recipe": {},
        }  # fmt: skip


def is_agent(row: object) -> TypeGuard[Agent]:
    """Whether it has `select` and `update`."""
    return all(callable(getattr(row, name, None)) for name in ("select", "update"))


def own(row: object) -> OwnPolicy | None:
    """An object with `select` and `update`, or what makes one of a generator; None for others."""
    name = getattr(row, "name", None) or getattr(row, "__name__", None) or type(row).__name__
    if isinstance(row, type) or (callable(row) and not is_agent(row)):
        return OwnPolicy(str(name), row)
    if is_agent(row):
        agent = row
        return OwnPolicy(str(name), lambda rng: copy.deepcopy(agent))
    return None


class OwnPlayer(Player):
    """Plays one run after the other, each with its own object."""

    def __init__(self, work: OwnWork) -> None:
        self.work = work
        draw = work.place.draw
        self.draw: Callable[..., tuple[float, int]] = (
            draw.interpreted() if isinstance(draw, Kernel) else draw
        )
        self.lost: Callable[..., float] = work.place.lost
        super().__init__()

    def agent(self, number: int) -> Agent:
        """The object of a run."""
        work = self.work
        agent = work.policy.make(work.generator(number, 1))
        if not is_agent(agent):
            raise InvalidArgument(
                "policy", "make an object with select() and update(arm, reward)", work.name,
                "define both methods",
            )  # fmt: skip
        return agent

    def arm(self, agent: Agent) -> int:
        """The arm that it selects."""
        chosen, arms = agent.select(), self.work.place.arms
        try:
            arm = int(chosen)
        except (TypeError, ValueError):
            arm = -1
        if not 0 <= arm < arms or arm != chosen:
            raise InvalidArgument(
                "policy", f"select an arm from 0 to {arms - 1}", f"{chosen!r} of {self.work.name}",
                "return the number of an arm",
            )  # fmt: skip
        return arm

    def play(self, number: int) -> bool:
        import numpy as np

        work, rng = self.work, self.work.generator(number)
        environment, order, draw = work.place, np.arange(work.place.arms), self.draw
        if work.shuffle:  # drawn first, as for the policies that it is compared with
            order = work.order(number, rng)
        state, agent = environment.start(rng), self.agent(number)
        standard, lost = environment.standard(work.horizon), self.lost
        regret, pulls = 0.0, np.zeros(environment.arms, np.int64)
        noted = work.noted(number)
        under_way: dict[int, list[tuple[int, float]]] = {}
        recorded, started = 0, time.perf_counter()
        for t in range(work.horizon):
            if t % LOOK == LOOK - 1:
                if work.stop.is_set():
                    return False
                work.say((time.perf_counter() - started) / t)
            for place, came in under_way.pop(t, ()):
                agent.update(place, came)
            chosen = self.arm(agent)
            arm = int(order[chosen])
            reward, served = draw(state, arm, 1, t, rng)
            if served == 0:
                if not environment.refill(state, rng):
                    break
                reward, _ = draw(state, arm, 1, t, rng)
            if isinstance(environment, Delayed):
                under_way.setdefault(environment.due(t + 1, rng), []).append(
                    (chosen, float(reward))
                )
            else:
                agent.update(chosen, float(reward))
            regret += lost(standard, arm, t, 1)
            pulls[arm] += 1
            if work.grid[recorded] == t + 1:
                work.regret[number, recorded] = regret
                noted[recorded] = pulls
                recorded += 1
        return True


class OwnWork(RegretWork[OwnPolicy, Environment]):
    """All runs of an object on one environment."""

    said = False

    def say(self, seconds: float) -> None:
        """How long all runs will take, once, if that is long."""
        whole = seconds * self.horizon * self.runs
        if not self.said and whole > LONG and self.bar.speaks:
            self.bar.say(
                f"{self.name} runs in Python, at {1 / seconds:,.0f} rounds a second: "
                f"about {whole:,.0f} s"
            )
        self.said = True

    def do(self, workers: int, bar: Bar, before: int = 0, total: int | None = None) -> None:
        """By one thread: several take turns in Python, and each would see half the speed."""
        super().do(1, bar, before, total)

    def player(self) -> Player:
        return OwnPlayer(self)
