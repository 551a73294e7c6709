"""Schedules: how long the chosen arm is played before the next release.

A schedule cuts an arm's rounds into batches that never overlap, which is what parallel
composition rests on. Its kernel `length(schedule, memory, view, arm)` is asked right after the
arm was chosen and sees counts only.

>>> from discreet.policies import Doubling
>>> Doubling().releases(horizon=1000)
11
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from .._checks import amount, count
from .._compiled import Function
from ..errors import InvalidArgument
from ._parts import SchedulePart, says_itself
from ._view import Setting, View

if TYPE_CHECKING:
    from .._compiled import Integers

UNTIL_THE_END = 1 << 62
"""A batch length that every horizon cuts off."""
LONGEST = 1 << 53
"""No batch that is declared in advance is longer: floats count exactly up to here."""
STEEPEST = 1000.0
"""Batches that grow by more would leave an arm one release, and overflow what counts them."""
SLOWEST = 1e-4
"""Ratios closer to 1 have so many releases that they are bounded instead of counted."""


def check_length(argument: str, value: object, fix: str) -> int:
    """A whole number of rounds from 1."""
    rounds = count(argument, value, fix=fix)
    if rounds > LONGEST:
        raise InvalidArgument(argument, "be at most 2^53", value, fix)
    return rounds


class Growth(NamedTuple):
    """Parameters of growing batches."""

    first: int
    ratio: float


class Schedule(SchedulePart[Setting]):
    """Base of all schedules of finite arms."""

    length: ClassVar[Function]
    fixed_sizes: ClassVar[bool] = False
    """Whether the sizes at an arm's releases are fixed before the first outcome."""
    grows: ClassVar[bool] = False
    """Whether they also multiply, so that there are few of them."""
    each_round: ClassVar[bool] = False
    """Whether every round is a batch."""
    set_by_rule: ClassVar[bool] = False
    """Whether the rule sets the length of a batch."""

    @property
    def even(self) -> int | None:
        """Rounds of a batch, if all batches are equally long. Ask by `even_batches`."""
        return None

    def growth(self, setting: Setting) -> Growth | None:
        """How batches grow that multiply an arm's pulls; None for others. Ask by `growth_of`."""
        return None

    def looks(self, setting: Setting) -> int | None:
        """The most releases of an arm within the horizon, where their sizes are fixed in advance;
        else None."""
        if setting.horizon is None or not self.fixed_sizes:
            return None
        return self.releases(setting.horizon)

    def releases(self, horizon: int) -> int:
        """The most releases that one arm can see within the horizon."""
        return horizon


def even_batches(schedule: Schedule) -> int | None:
    """Rounds of a batch, if the class that says that all are equally long also sets them."""
    return schedule.even if says_itself(schedule, "even", "length", "parameters") else None


def growth_of(schedule: Schedule, setting: Setting) -> Growth | None:
    """How batches grow, if the class that says so also sets their lengths."""
    own = says_itself(schedule, "growth", "length", "parameters")
    return schedule.growth(setting) if own else None


def one_round(schedule: object, memory: object, view: View, arm: int) -> int:
    """n = 1."""
    return 1


@dataclass(frozen=True)
class EachRound(Schedule):
    """A release after every round."""

    name: ClassVar[str] = "each round"
    each_round: ClassVar[bool] = True
    fixed_sizes: ClassVar[bool] = True
    length: ClassVar[Function] = staticmethod(one_round)

    @property
    def even(self) -> int:
        return 1


def growing(schedule: Growth, memory: object, view: View, arm: int) -> int:
    """n = first, then ceil((r - 1) N): an arm's pulls N grow by the factor r with every batch."""
    pulls = view.pulls[arm]
    if pulls == 0:
        return schedule.first
    # beyond every horizon, and still a whole number in compiled code
    following: int = math.ceil(min((schedule.ratio - 1.0) * pulls, 4e18))
    return following


@dataclass(frozen=True)
class Geometric(Schedule):
    """Batches that multiply an arm's pulls by `ratio`, after a first one of `first` rounds.

    A long first batch is cut down to a `1 / (portion K)` share of the horizon, so that trying every
    arm once takes at most a tenth of a short experiment, or whatever the portion says.
    """

    ratio: float = 2.0
    first: int = 1
    portion: int = 10
    name: ClassVar[str] = "geometric"
    length: ClassVar[Function] = staticmethod(growing)
    fixed_sizes: ClassVar[bool] = True
    grows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        fix = "use for example ratio=2.0"
        ratio = amount("ratio", self.ratio, zero=False, infinite=False, fix=fix)
        if not 1.0 < ratio <= STEEPEST:
            raise InvalidArgument("ratio", f"be above 1 and at most {STEEPEST:g}", self.ratio, fix)
        first = check_length("first", self.first, "use first=1")
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "portion", check_length("portion", self.portion, "use portion=10"))

    def parameters(self, setting: Setting) -> Growth:
        most = self.portion * setting.arms
        cap = self.first if setting.horizon is None else setting.horizon // most
        return Growth(max(1, min(self.first, cap)), float(self.ratio))

    def growth(self, setting: Setting) -> Growth:
        return self.parameters(setting)

    def looks(self, setting: Setting) -> int | None:
        if setting.horizon is None or self.ratio - 1.0 < SLOWEST:
            return None
        pulls, ratio = self.parameters(setting)
        looks = 1
        while (pulls := pulls + math.ceil((ratio - 1.0) * pulls)) <= setting.horizon:
            looks += 1
        return looks

    def releases(self, horizon: int) -> int:
        # from 1 and not from `first`, which `parameters` may cut down: a smaller first batch leaves
        # room for more releases, and what pays for them must not count too few
        if self.ratio - 1.0 < SLOWEST:
            # one by one up to 1/(r-1) pulls, then each release multiplies them by r or more
            steps = 1.0 / (self.ratio - 1.0)
            grown = math.log(max(1.0, horizon / steps)) / math.log(self.ratio)
            return min(horizon, math.ceil(steps + grown) + 2)
        pulls, releases = 1, 1
        while pulls < horizon:
            pulls += math.ceil((self.ratio - 1.0) * pulls)
            releases += 1
        return releases


@dataclass(frozen=True)
class Doubling(Geometric):
    """Play each arm once, then as often as it was ever played: its pulls double."""

    name: ClassVar[str] = "doubling"

    def __init__(self) -> None:
        super().__init__(ratio=2.0, first=1)


class Interval(NamedTuple):
    """Rounds between two releases."""

    every: int


def every_so_often(schedule: Interval, memory: object, view: View, arm: int) -> int:
    """n = f."""
    return schedule.every


@dataclass(frozen=True)
class Regular(Schedule):
    """A release after every f rounds of an arm."""

    every: int
    name: ClassVar[str] = "every f rounds"
    fixed_sizes: ClassVar[bool] = True
    length: ClassVar[Function] = staticmethod(every_so_often)

    def __post_init__(self) -> None:
        every = check_length("every", self.every, "use every=1")
        object.__setattr__(self, "every", every)

    @property
    def even(self) -> int:
        return self.every

    def parameters(self, setting: Setting) -> Interval:
        return Interval(self.every)

    def releases(self, horizon: int) -> int:
        return -(-horizon // self.every)


class Phased(Protocol):
    """Notes of a rule that sets the length of its phases."""

    @property
    def length(self) -> Integers: ...


def as_the_rule_says(schedule: object, memory: Phased, view: View, arm: int) -> int:
    """n = the phase length that the rule wrote down."""
    return int(memory.length[0])


@dataclass(frozen=True)
class Phases(Schedule):
    """Phases whose length an eliminating rule sets from public quantities."""

    name: ClassVar[str] = "phases"
    set_by_rule: ClassVar[bool] = True
    length: ClassVar[Function] = staticmethod(as_the_rule_says)
