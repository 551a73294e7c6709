"""Adversaries: who picks the two neighbouring inputs, and how much they may see and do.

An adversary is a small frozen object with a state for either side (0 or 1) and two plain functions
in numba's subset, both of which see what is public and nothing else:

    feed(state, view, arm, rounds, t) -> sum of the rewards of rounds t … t + rounds - 1
    steer(state, view, arm, t) -> the arm that is really played (interactive privacy)

The sides may differ in `unit` rewards (lines of the table), no more.
- `lists`, `Tables`: rewards fixed in advance (view, table); with `forced`, arms too (interactive).
- `Steady`: the same reward round after round, but for those of one user: long runs in no room.
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

from .._compiled import Function
from ..arms._tables import RewardTable, draw_table
from ..errors import InvalidArgument
from ..policies._view import View

if TYPE_CHECKING:
    from .._types import Floats, Ints

DECISIONS = 12
"""Decisions that are played and stored, by default."""
OWN_CHOICE, IN_TURN = -1, -2
"""In place of a forced arm: the policy's own arm is played; all arms are played in turn."""


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
    """How many decisions of the policy are worth writing down, by default."""
    since: int = 0
    """Decisions count from the batch that ends in this round or later; what was released before is
    forgotten, but for the last number of every arm."""

    @abstractmethod
    def state(self, side: int) -> NamedTuple:
        """What the two functions get as their first argument, on either side."""


class Plan(NamedTuple):
    """Rewards of every round and arm, and the arm that is forced in a round, or OWN_CHOICE."""

    rewards: Floats
    forced: Ints


def feed_plan(plan: Plan, view: View, arm: int, rounds: int, t: int) -> float:
    """The rewards of the table, as the distributions of fixed rewards sum them."""
    total, _ = draw_table(plan, arm, rounds, t, 0)  # type: ignore[arg-type]  # same field
    return total


def steer_plan(plan: Plan, view: View, arm: int, t: int) -> int:
    """The forced arm, if there is one."""
    forced = plan.forced[t]
    return arm if forced < 0 else int(forced)


@dataclass(frozen=True)
class Tables(Adversary):
    """Two tables of potential rewards, rounds × arms, fixed in advance.

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
        """Both sides as arrays, which no one writes to."""
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
    """Two lists of observed rewards: the reward of a round is the same for every arm.

    Args:
        first: Rewards of every round on side 0.
        second: The same on side 1.
        arms: Number of arms.
        forced: Arms to play instead of the policy's; -1 for its own.
        bounds: The range of rewards.
        decisions: Decisions of a transcript, at most.

    Returns:
        The adversary.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> from discreet.audit import lists
        >>> print(lists([0, 1, 1], [1, 1, 1], arms=2))
        lists of 3 rewards that differ in round 1 (0 or 1, all else 1)
    """

    def table(rewards: Sequence[float]) -> RewardTable:
        return RewardTable([[reward] * arms for reward in rewards], bounds)

    return Tables(table(first), table(second), tuple(forced), "lists", decisions)


class Spot(NamedTuple):
    """The reward of every arm, that of the rounds from `place` on that are another, how many those
    are, and the arm that is forced, or OWN_CHOICE, or IN_TURN."""

    rest: Floats
    place: int
    changed: int
    reward: float
    plan: int


def feed_spot(spot: Spot, view: View, arm: int, rounds: int, t: int) -> float:
    """The arm's own reward, but for the rounds that are another."""
    other = max(0, min(t + rounds, spot.place + spot.changed) - max(t, spot.place))
    return float(spot.rest[arm] * (rounds - other) + spot.reward * other)


def forced_arm(plan: int, arms: int, arm: int, t: int) -> int:
    """The arm that is played in round t if the policy recommends `arm`."""
    if plan == IN_TURN:
        return t % arms
    return arm if plan == OWN_CHOICE else plan


def steer_spot(spot: Spot, view: View, arm: int, t: int) -> int:
    """By the plan."""
    return forced_arm(spot.plan, len(spot.rest), arm, t)


@dataclass(frozen=True)
class Steady(Adversary):
    """Every arm pays `rest` of its own, but for `unit` rounds from `place` on, which pay `values`,
    the first on one side and the second on the other, whatever the arm."""

    rest: tuple[float, ...]
    place: int
    horizon: int
    values: tuple[float, float] = (0.0, 1.0)
    unit: int = 1
    plan: int = OWN_CHOICE
    since: int = 0
    decisions: int = DECISIONS
    feed: ClassVar[Function] = staticmethod(feed_spot)
    steer: ClassVar[Function] = staticmethod(steer_spot)

    def __post_init__(self) -> None:
        if not 0 <= self.place <= self.horizon - self.unit:
            raise InvalidArgument(
                "place", f"be a round from 0 to {self.horizon - self.unit}", self.place, "use 0"
            )
        if self.plan not in range(IN_TURN, self.arms):
            raise InvalidArgument(
                "plan", "be an arm, -1 (the policy's own choice) or -2 (all arms in turn)",
                self.plan, "arms count from 0",
            )  # fmt: skip

    @property
    def arms(self) -> int:  # type: ignore[override]  # computed, not stored
        return len(self.rest)

    def state(self, side: int) -> Spot:
        return Spot(np.array(self.rest), self.place, self.unit, self.values[side], self.plan)

    def __str__(self) -> str:
        first = self.place + 1
        where = (
            f"round {first}" if self.unit == 1 else f"rounds {first} to {self.place + self.unit}"
        )
        steered = {OWN_CHOICE: "", IN_TURN: ", an adversary plays all arms in turn"}
        return (
            f"{self.horizon} rewards that differ in {where} "
            f"({self.values[0]:g} or {self.values[1]:g}, all else {_row(self.rest)})"
            + steered.get(self.plan, f", an adversary plays arm {self.plan}")
        )


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
