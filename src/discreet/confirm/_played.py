"""A test of two arms as a policy that a live trial plays.

The arms are played side by side in permuted blocks (`protocol.plans`, looks), each block of an arm
ends at a size of the design, and its sum is released once with the noise that the design is
calibrated on. After both sums of a look the rule computes Z and stops at the boundary. All of that
is made of releases, so it costs nothing beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..identify._halving import HalvingRounds
from ..identify._identifier import Identifier
from ..identify._recommendation import Recommendation
from ..identify._stopping import Stopping
from ..policies import Rule, Setting
from ..policies._elimination import next_active, next_in_turn
from ..policies._view import View, counts
from ..policies.releases._whole import whole_sums
from ..privacy.budgets import Budget
from ._designs import Design
from ._lattice import Rule as Bounds
from ._lattice import Sizes
from ._noises import Noise
from ._strata import StrataDesign

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers


class Planned(NamedTuple):
    """Of every look: places of an arm since the last one, in all, and the boundaries of Z; what is
    known of the noise."""

    length: Integers
    places: Integers
    lower: Floats
    upper: Floats
    futile_above: Floats
    futile_below: Floats
    variance: float
    shrinkage: float


class Looked(NamedTuple):
    """What the looks so far have shown: `sums` holds two numbers a look."""

    active: Integers
    """0 for both once the test is futile"""
    epoch: Integers
    """looks so far"""
    next: Integers
    length: Integers
    sums: Floats
    winner: Integers
    """the arm that is shown to be better; -1 for none"""


def choose_tested(rule: Planned, memory: Looked, view: View, t: int, rng: Generator) -> int:
    """The arms take turns, to the end."""
    memory.length[0] = rule.length[min(memory.epoch[0], len(rule.length) - 1)]
    return next_in_turn(memory, len(view.size))  # type: ignore[arg-type]


def z_of(rule: Planned, first: float, second: float, look: int) -> float:
    """Z at a look (0, 1, ...) from sums of two arms with as many places each: the same numbers, in
    the same order, as of `_lattice.statistic`."""
    n = rule.places[look]
    rate = (first + second + rule.shrinkage) / (n + n + 2.0 * rule.shrinkage)
    rate = min(max(rate, 0.0), 1.0)
    noisy = (look + 1) * rule.variance * (1.0 / n**2 + 1.0 / n**2)
    spread = math.sqrt(rate * (1.0 - rate) * (1.0 / n + 1.0 / n) + noisy)
    return float((first / n - second / n) / (spread if spread > 0.0 else 1.0))


def enough_tested(
    stopping: object, rule: Planned, memory: Looked, view: View, best: int, t: int
) -> bool:
    """At a look: note both sums, and see whether Z is beyond a boundary. Where the test is futile,
    no arm is left, and the trial ends without an answer."""
    look = memory.epoch[0]
    if next_active(memory, memory.next[0], 2) < 2 or look >= len(rule.length):  # type: ignore[arg-type]
        return False
    for arm in range(2):
        # whole by itself: the division is undone
        memory.sums[2 * look + arm] = float(math.floor(view.value[arm] * view.size[arm] + 0.5))
    first, second = 0.0, 0.0
    for number in range(look + 1):
        first += memory.sums[2 * number]
        second += memory.sums[2 * number + 1]
    z = z_of(rule, first, second, look)
    memory.epoch[0] += 1
    memory.next[0] = 0
    if z > rule.upper[look] or z < rule.lower[look]:
        memory.winner[0] = 0 if z > 0.0 else 1
        return True
    if rule.futile_above[look] < z < rule.futile_below[look]:
        memory.active[0] = 0
        memory.active[1] = 0
    return False


def recommend_shown(memory: Looked, view: View) -> int:
    """The arm that was shown to be better."""
    return int(memory.winner[0])


@dataclass(frozen=True)
class Part:
    """One stratum of a test over strata. It has its looks; whether to stop is decided by what all
    strata have released (`live.Strata`)."""

    design: StrataDesign
    stratum: int

    @property
    def sizes(self) -> Sizes:
        """Of the stratum."""
        return self.design.sizes[self.stratum]

    @property
    def budget(self) -> Budget:
        """Of the stratum, and of all: an outcome is in one of them."""
        return self.design.budget

    @property
    def noise(self) -> Noise:
        """On each block's sum."""
        return self.design.noise

    @property
    def participants(self) -> int:
        """At most, both arms."""
        return sum(self.sizes[-1])

    @property
    def sides(self) -> int:
        """Of the whole test."""
        return self.design.sides

    @property
    def boundaries(self) -> tuple[float, ...]:
        """Of the whole test."""
        return self.design.boundaries

    @property
    def rule(self) -> Bounds:
        """Never stop by oneself."""
        never = (math.inf,) * len(self.sizes)
        return Bounds(tuple(-b for b in never), never)

    def __str__(self) -> str:
        return f"{self.design.names[self.stratum]} of {self.design}"


@dataclass(frozen=True)
class Boundaries(Rule):
    """Two arms in equal shares, to the sizes of a design."""

    design: Design | Part
    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    ends: ClassVar[str] = "boundary"
    name: ClassVar[str] = "test"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_tested)

    def parameters(self, setting: Setting) -> Planned:
        import numpy as np

        if setting.arms != 2:
            raise InvalidArgument(
                "arms", "be two for a test: the treatment, then the control", setting.arms,
                'use for example arms=["treatment", "control"]',
            )  # fmt: skip
        plan, rule = self.design, self.design.rule
        looks = len(plan.sizes)
        places = [size[0] for size in plan.sizes]
        lengths = [n - before for before, n in zip((0, *places), places, strict=False)]
        futile = [*rule.futile, *[(math.inf, -math.inf)] * (looks - len(rule.futile))]
        ends = [low for low, _ in futile], [high for _, high in futile]
        columns: list[Any] = [lengths, places, list(rule.lower), list(rule.upper), *ends]
        if not setting.source.secure:
            columns = [np.array(column) for column in columns]
        columns += [plan.noise.variance, plan.noise.shrinkage]
        return Planned(*columns)

    def memory(self, setting: Setting) -> Looked:
        import numpy as np

        sums = np.zeros(2 * len(self.design.sizes))
        none = np.full(1, -1, np.int64)
        return Looked(np.ones(2, np.int64), counts(), counts(), counts(), sums, none)

    def __str__(self) -> str:
        return str(self.design)


@dataclass(frozen=True)
class Crossed(Stopping):
    """Stop beyond a boundary, at a futile look, or at the last one."""

    name: ClassVar[str] = "beyond a boundary"
    ends: ClassVar[str] = "boundary"
    fitting = ("be a test", "discreet.confirm.design")
    enough = Kernel(enough_tested, z_of=z_of)


@dataclass(frozen=True)
class ShownBetter(Recommendation):
    """The arm that the test has shown to be better."""

    name: ClassVar[str] = "shown to be better"
    recommend: ClassVar[Function] = staticmethod(recommend_shown)


@dataclass(frozen=True, kw_only=True)
class Tested(Identifier):
    """A design as a trial plays it."""

    goal: ClassVar[str] = "test"

    @property
    def design(self) -> Design | Part:
        """What it tests by."""
        return cast("Boundaries", self.rule).design

    @property
    def fixed_size(self) -> bool:
        """It ends at the last look, whatever it shows."""
        return True

    def plan(self, setting: Setting) -> str:
        return "looks"


def played(design: Design | Part) -> Tested:
    """The policy of a design, for a live trial or a rehearsal of one; or of a stratum of one."""
    if any(treated != control for treated, control in design.sizes):
        raise InvalidArgument(
            "policy", "have as many participants in either arm at every look", str(design),
            "plan the design with treated=0.5 and looks at even numbers of participants",
        )  # fmt: skip
    check_private(design.budget)
    recipe: dict[str, object] = {"goal": "test", "name": "test"}
    if isinstance(design, Part):
        recipe |= {"strata": design.design.to_dict(), "stratum": design.stratum}
    else:
        recipe["design"] = design.to_dict()
    return Tested(
        "test", HalvingRounds(), whole_sums(design.budget), Boundaries(design), recipe=recipe,
        stopping=Crossed(), recommendation=ShownBetter(),
    )  # fmt: skip


def check_private(budget: Budget) -> None:
    """A live trial releases with noise."""
    if not budget.is_finite:
        raise InvalidArgument(
            "policy", "be private for a live trial", str(budget),
            "plan the design with a budget, for example epsilon=1.0",
        )  # fmt: skip


def played_from(recipe: Mapping[str, Any]) -> Tested:
    """The policy that a stored recipe names."""
    if "strata" in recipe:
        return played(Part(StrataDesign.from_dict(recipe["strata"]), recipe["stratum"]))
    return played(Design.from_dict(recipe["design"]))
