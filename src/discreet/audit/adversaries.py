"""Adversaries: who picks the two neighbouring inputs, and how much they may see and do.

An adversary is a small frozen object with a state for either side (0 or 1) and two plain functions
in numba's subset, both of which see what is public and nothing else:

    feed(state, view, arm, rounds, t) -> sum of the rewards of rounds t … t + rounds - 1
    steer(state, view, arm, t) -> the arm that is really played (interactive privacy)

The sides may differ in `unit` rewards (rows of the table), no more.
- `lists`, `Tables`: rewards fixed beforehand (view, table); with `forced`, arms too (interactive).
- `Echo`: feeds each reward after seeing all releases (adaptive continual release).
Write your own by deriving from `Adversary`; keep feed and steer free of closures.

>>> pair = lists([0, 1, 1, 1], [1, 1, 1, 1], arms=2)
>>> print(pair)
lists of 4 rewards that differ in round 1 (0 or 1, all else 1)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from ..arms.tables import RewardTable, draw_table
from ..compiled import Function
from ..errors import InvalidArgument
from ..policies.view import View

if TYPE_CHECKING:
    from ..types import Floats, Ints

DECISIONS = 12
"""Decisions that are played and written down, by default."""
OWN_CHOICE = -1
"""In `forced`: the policy's own arm is played."""


def follow(state: object, view: View, arm: int, t: int) -> int:
    """The arm that the policy recommends."""
    return arm


class Adversary(ABC):
    """Base of all adversaries."""

    feed: ClassVar[Function]
    steer: ClassVar[Function] = staticmethod(follow)
    unit: int = 1
    """In how many rewards the two sides differ: outcomes of one user."""
    arms: int
    horizon: int
    decisions: int = DECISIONS
    """How many decisions of the policy are worth playing, by default."""

    @abstractmethod
    def state(self, side: int) -> NamedTuple:
        """What the two functions get as their first argument, on either side."""


class Plan(NamedTuple):
    """Rewards of every round and arm, and the arm that is forced in a round, or OWN_CHOICE."""

    rewards: Floats
    forced: Ints


def feed_plan(plan: Plan, view: View, arm: int, rounds: int, t: int) -> float:
    """The rewards of the table, as the laws of fixed rewards sum them."""
    total, _ = draw_table(plan, arm, rounds, t, 0)  # type: ignore[arg-type]  # same field
    return total


def steer_plan(plan: Plan, view: View, arm: int, t: int) -> int:
    """The forced arm, if there is one."""
    forced = plan.forced[t]
    return arm if forced < 0 else int(forced)


@dataclass(frozen=True)
class Tables(Adversary):
    """Two tables of potential rewards, rounds × arms, fixed beforehand.

    `forced` are the arms that an interactive adversary plays instead of those recommended.
    """

    first: RewardTable
    second: RewardTable
    forced: tuple[int, ...] = ()
    title: str = "tables"
    decisions: int = DECISIONS
    feed: ClassVar[Function] = staticmethod(feed_plan)
    steer: ClassVar[Function] = staticmethod(steer_plan)
    changed: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The rounds in which the tables differ."""

    def __post_init__(self) -> None:
        first, second = self.first.table, self.second.table
        if len(first) != len(second) or self.first.arms != self.second.arms:
            raise InvalidArgument(
                "second", f"have {len(first)} rounds and {self.first.arms} arms like the first",
                f"{len(second)} rounds and {self.second.arms} arms", "neighbours have one shape",
            )  # fmt: skip
        if self.forced and len(self.forced) != len(first):
            raise InvalidArgument(
                "forced", f"have an arm, or -1, for each of {len(first)} rounds", self.forced,
                "leave it out for the policy's own choices",
            )  # fmt: skip
        if any(arm not in range(OWN_CHOICE, self.arms) for arm in self.forced):
            raise InvalidArgument("forced", "be arms, or -1", self.forced, "arms count from 0")
        pairs = enumerate(zip(first, second, strict=True))
        changed = tuple(t for t, (one, other) in pairs if one != other)
        if not changed:
            raise InvalidArgument(
                "second", "differ from the first", "equal tables", "change at least one reward"
            )
        object.__setattr__(self, "changed", changed)

    @property
    def unit(self) -> int:  # type: ignore[override]  # computed, not stored
        """In how many rounds the tables differ."""
        return len(self.changed)

    @property
    def arms(self) -> int:  # type: ignore[override]  # computed, not stored
        return self.first.arms

    @property
    def horizon(self) -> int:  # type: ignore[override]  # computed, not stored
        return len(self.first.table)

    def state(self, side: int) -> Plan:
        return self._plans[side]

    @cached_property
    def _plans(self) -> tuple[Plan, Plan]:
        """Both sides as arrays, which nobody writes to."""
        forced = np.array(self.forced or (OWN_CHOICE,) * self.horizon, np.int64)
        first, second = np.array(self.first.table), np.array(self.second.table)
        return Plan(first, forced), Plan(second, forced)

    def __str__(self) -> str:
        where = ", ".join(str(t + 1) for t in self.changed[:5])
        rounds = "round" if self.unit == 1 else "rounds"
        more = "…" if self.unit > 5 else ""
        one, other = self.first.table[self.changed[0]], self.second.table[self.changed[0]]
        values = f"{_row(one)} or {_row(other)}"
        rest = {row for t, row in enumerate(self.first.table) if t not in self.changed}
        if len(rest) == 1:
            values += f", all else {_row(rest.pop())}"
        steered = ""
        if any(arm >= 0 for arm in self.forced):
            kinds = sorted(set(self.forced))
            played = f"arm {kinds[0]}" if len(kinds) == 1 else "all arms in turn"
            steered = f", an adversary plays {played}"
        return (
            f"{self.title} of {self.horizon} rewards that differ in {rounds} {where}{more} "
            f"({values}){steered}"
        )


def _row(rewards: tuple[float, ...]) -> str:
    if len(set(rewards)) == 1:
        return f"{rewards[0]:g}"
    return "/".join(f"{reward:g}" for reward in rewards)


def lists(
    first: Sequence[float],
    second: Sequence[float],
    arms: int,
    forced: Sequence[int] = (),
    bounds: tuple[float, float] | None = (0.0, 1.0),
    decisions: int = DECISIONS,
) -> Tables:
    """Two lists of observed rewards: the reward of a round is the same for every arm."""

    def table(rewards: Sequence[float]) -> RewardTable:
        return RewardTable([[reward] * arms for reward in rewards], bounds)

    return Tables(table(first), table(second), tuple(forced), "lists", decisions)


class Fed(NamedTuple):
    """The round that is challenged, its reward on this side, and the extremes to feed."""

    challenge: int
    reward: float
    low: float
    high: float


def feed_echo(fed: Fed, view: View, arm: int, rounds: int, t: int) -> float:
    """High while the arm's released mean is above the middle, low otherwise; and the challenge."""
    middle = 0.5 * (fed.low + fed.high)
    reward = fed.high if view.size[arm] > 0 and view.value[arm] > middle else fed.low
    total = reward * rounds
    if t <= fed.challenge < t + rounds:
        total += fed.reward - reward
    return total


@dataclass(frozen=True)
class Echo(Adversary):
    """Feeds every reward after seeing the releases, so as to repeat and amplify what they say."""

    challenge: int
    arms: int
    horizon: int
    low: float = 0.0
    high: float = 1.0
    feed: ClassVar[Function] = staticmethod(feed_echo)

    def __post_init__(self) -> None:
        if not 0 <= self.challenge < self.horizon:
            raise InvalidArgument(
                "challenge", f"be a round from 0 to {self.horizon - 1}", self.challenge, "use 0"
            )

    def state(self, side: int) -> Fed:
        return Fed(self.challenge, self.high if side else self.low, self.low, self.high)

    def __str__(self) -> str:
        return (
            f"{self.horizon} rewards fed by an adversary who sees every release, "
            f"round {self.challenge + 1} challenged ({self.low:g} or {self.high:g})"
        )
