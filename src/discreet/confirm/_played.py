"""A test as a policy that a live trial plays: of two arms, or of several treatments.

The arms are played side by side in permuted blocks (`protocol.plans`, looks), each block of an arm
ends at a size of the design, and its sum is released once with the noise that the design is
calibrated on. After all sums of a look the rule computes Z of every treatment against the control,
which is the last arm, and stops at the boundary. All of that is made of releases, so it costs
nothing beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
from ._adaptive import EpochDesign
from ._alarm import Alarm
from ._designs import Design
from ._lattice import Rule as Bounds
from ._lattice import Sizes, two_arm_rule
from ._noises import Noise
from ._several import SeveralDesign
from ._strata import StrataDesign

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Floats, Integers


class Planned(NamedTuple):
    """Of every look, by arm: places since the last one, and in all. The boundaries of Z with 1, 2,
    ... treatments that are left, look by look; where it is futile; what is known of the noise."""

    length: Any
    places: Any
    lower: Any
    upper: Any
    futile_above: Floats
    futile_below: Floats
    variance: float
    shrinkage: float


class Looked(NamedTuple):
    """What the looks so far have shown: `sums` holds a number for every arm of a look."""

    active: Integers
    """0 for a treatment that is decided, and for all once the test is futile"""
    epoch: Integers
    """looks so far"""
    next: Integers
    length: Integers
    sums: Floats
    found: Integers
    """of every treatment: 0 go on, 1 better, 2 worse; the control has the last entry"""
    winner: Integers
    """the arm that is shown to be better; -1 for none"""


def choose_tested(rule: Planned, memory: Looked, view: View, t: int, rng: Generator) -> int:
    """The arms take turns, to the end."""
    arm = next_in_turn(memory, len(view.size))  # type: ignore[arg-type]
    if arm < len(view.size):  # else none is left, for the test is futile
        memory.length[0] = rule.length[min(memory.epoch[0], len(rule.length) - 1)][arm]
    return int(arm)


def total_of(memory: Looked, arm: int, look: int, arms: int) -> float:
    """The sum of an arm's releases up to a look (0, 1, ...)."""
    total = 0.0
    for number in range(look + 1):
        total += memory.sums[arms * number + arm]
    return total


def z_between(rule: Planned, first: float, second: float, n1: int, n0: int, look: int) -> float:
    """Z from two sums at a look: the same numbers, in the same order, as of
    `_lattice.statistic`."""
    rate = (first + second + rule.shrinkage) / (n1 + n0 + 2.0 * rule.shrinkage)
    rate = min(max(rate, 0.0), 1.0)
    noisy = (look + 1) * rule.variance * (1.0 / n1**2 + 1.0 / n0**2)
    spread = math.sqrt(rate * (1.0 - rate) * (1.0 / n1 + 1.0 / n0) + noisy)
    return float((first / n1 - second / n0) / (spread if spread > 0.0 else 1.0))


def z_of(rule: Planned, memory: Looked, arm: int, look: int, arms: int) -> float:
    """Z of a treatment against the control, which is the last arm."""
    first, second = total_of(memory, arm, look, arms), total_of(memory, arms - 1, look, arms)
    n1, n0 = rule.places[look][arm], rule.places[look][arms - 1]
    return z_between(rule, first, second, n1, n0, look)


def decide_more(rule: Planned, memory: Looked, look: int, arms: int) -> int:
    """Decide the treatments that are beyond the boundary for those that are left, at any look so
    far (closed testing); how many they are."""
    left, more = 0, 0
    for arm in range(arms - 1):
        left += memory.found[arm] == 0
    for arm in range(arms - 1):
        if memory.found[arm] == 0:
            for number in range(look + 1):
                z = z_of(rule, memory, arm, number, arms)
                if memory.found[arm] == 0 and z > rule.upper[left - 1][number]:
                    memory.found[arm] = -1
                if memory.found[arm] == 0 and z < rule.lower[left - 1][number]:
                    memory.found[arm] = -2
    for arm in range(arms - 1):
        if memory.found[arm] < 0:
            memory.found[arm] = -memory.found[arm]
            memory.active[arm] = 0
            more += 1
    return more


def enough_tested(
    stopping: object, rule: Planned, memory: Looked, view: View, best: int, t: int
) -> bool:
    """At a look: note the sums, and see which Z are beyond a boundary. A treatment that is decided
    leaves. Where the test is futile no arm is left, and the trial ends without an answer."""
    look, arms = memory.epoch[0], len(view.size)
    if next_active(memory, memory.next[0], arms) < arms or look >= len(rule.length):  # type: ignore[arg-type]
        return False
    for arm in range(arms):
        if memory.active[arm] == 1:
            # whole by itself: the division is undone
            whole = math.floor(view.value[arm] * view.size[arm] + 0.5)
            memory.sums[arms * look + arm] = float(whole)
    while decide_more(rule, memory, look, arms) > 0:
        pass
    memory.epoch[0] += 1
    memory.next[0] = 0
    left, worse, largest = 0, 0, -1e300
    for arm in range(arms - 1):
        left += memory.found[arm] == 0
        worse += memory.found[arm] == 2
    if left > 0 and memory.epoch[0] < len(rule.length):
        if arms == 2:
            z = z_of(rule, memory, 0, look, arms)
            if rule.futile_above[look] < z < rule.futile_below[look]:
                memory.active[0] = 0
                memory.active[1] = 0
        return False
    if worse == arms - 1:
        memory.winner[0] = arms - 1
    for arm in range(arms - 1):
        if memory.found[arm] == 1:
            # of several that are better: the one with the largest share, at the look that decided
            # it or, if later, at the last for which it has sums
            share = share_at_last(rule, memory, arm, look, arms)
            if share > largest:
                largest = share
                memory.winner[0] = arm
    return bool(memory.winner[0] >= 0)


def share_at_last(rule: Planned, memory: Looked, arm: int, look: int, arms: int) -> float:
    """The released share of successes of an arm at the last look for which it has a sum."""
    last = 0
    for number in range(look + 1):
        if memory.sums[arms * number + arm] != MISSING:
            last = number
    return float(total_of(memory, arm, last, arms) / rule.places[last][arm])


MISSING = -1e18
"""In place of the sum of an arm that has left: no sum with noise comes near it."""


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
    """Arms in fixed shares, to the sizes of a design; the last one is the control."""

    design: Design | Part | SeveralDesign
    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    ends: ClassVar[str] = "boundary"
    name: ClassVar[str] = "test"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_tested)

    @property
    def participants(self) -> int:
        """At most, all arms."""
        return self.design.participants

    @property
    def limits(self) -> list[Bounds]:
        """The boundaries with one treatment left, two, ...."""
        plan = self.design
        if isinstance(plan, SeveralDesign):
            return [
                two_arm_rule(plan.boundaries(left + 1), 1.0, plan.sides)
                for left in range(plan.treatments)
            ]
        return [plan.rule]

    def parameters(self, setting: Setting) -> Planned:
        import numpy as np

        plan, arms = self.design, arms_of(self.design)
        if setting.arms != arms:
            raise InvalidArgument("arms", *NAMES_OF_ARMS[arms > 2](arms, setting.arms))
        places = [[n1] * (arms - 1) + [n0] for n1, n0 in plan.sizes]
        before = [[0] * arms, *places]
        lengths = [
            [n - b for n, b in zip(now, then, strict=True)]
            for now, then in zip(places, before, strict=False)
        ]
        rules, looks = self.limits, len(plan.sizes)
        futile = [*rules[0].futile, *[(math.inf, -math.inf)] * (looks - len(rules[0].futile))]
        columns: list[Any] = [
            lengths, places, [list(rule.lower) for rule in rules],
            [list(rule.upper) for rule in rules], [low for low, _ in futile],
            [high for _, high in futile],
        ]  # fmt: skip
        if not setting.source.secure:
            columns = [np.array(column) for column in columns]
        columns += [plan.noise.variance, plan.noise.shrinkage]
        return Planned(*columns)

    def memory(self, setting: Setting) -> Looked:
        import numpy as np

        arms = setting.arms
        return Looked(
            np.ones(arms, np.int64), counts(), counts(), counts(),
            np.full(arms * len(self.design.sizes), MISSING), np.zeros(arms, np.int64),
            np.full(1, -1, np.int64),
        )  # fmt: skip

    def __str__(self) -> str:
        return str(self.design)


def arms_of(design: Design | Part | SeveralDesign) -> int:
    """How many arms a test has, the control included."""
    return design.treatments + 1 if isinstance(design, SeveralDesign) else 2


NAMES_OF_ARMS: dict[bool, Callable[[int, int], tuple[str, int, str]]] = {
    False: lambda arms, given: (
        "be two for a test: the treatment, then the control", given,
        'use for example arms=["treatment", "control"]',
    ),
    True: lambda arms, given: (
        f"be {arms} for this test: {arms - 1} treatments, then the control", given,
        "name each treatment, and the control last",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Crossed(Stopping):
    """Stop beyond a boundary, at a futile look, or at the last one."""

    name: ClassVar[str] = "beyond a boundary"
    ends: ClassVar[str] = "boundary"
    fitting = ("be a test", "discreet.confirm.design")
    enough = Kernel(
        enough_tested, decide_more=decide_more, z_of=z_of, z_between=z_between,
        total_of=total_of, share_at_last=share_at_last,
    )  # fmt: skip


@dataclass(frozen=True)
class ShownBetter(Recommendation):
    """The arm that the test has shown to be better."""

    name: ClassVar[str] = "shown to be better"
    recommend: ClassVar[Function] = staticmethod(recommend_shown)


@dataclass(frozen=True, kw_only=True)
class Tested(Identifier):
    """A design as a trial plays it."""

    goal: ClassVar[str] = "test"
    rest: int = 0
    """all who come, if those after the verdict get the winner; 0: no one comes then"""

    @property
    def design(self) -> Design | Part | SeveralDesign | EpochDesign | Alarm:
        """What it tests by, or watches."""
        return cast("Boundaries", self.rule).design

    @property
    def fixed_size(self) -> bool:
        """It ends at the last look, whatever it shows."""
        return True

    def plan(self, setting: Setting) -> str:
        return "looks"


def played(design: Design | Part | SeveralDesign, rest: int = 0) -> Tested:
    """The policy of a design, for a live trial or a rehearsal of one; or of a stratum of one."""
    check_private(design.budget)
    recipe = recipe_of(rest)
    if isinstance(design, Part):
        recipe |= {"strata": design.design.to_dict(), "stratum": design.stratum}
    else:
        kind = "several" if isinstance(design, SeveralDesign) else "design"
        recipe[kind] = design.to_dict()
    return Tested(
        "test", HalvingRounds(), whole_sums(design.budget), Boundaries(design), recipe=recipe,
        stopping=Crossed(), recommendation=ShownBetter(), rest=rest,
    )  # fmt: skip


def recipe_of(rest: int) -> dict[str, object]:
    """The beginning of what a file says of a test."""
    return {"goal": "test", "name": "test", **({"rest": rest} if rest else {})}


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
    rest = recipe.get("rest", 0)
    if "several" in recipe:
        return played(SeveralDesign.from_dict(recipe["several"]), rest)
    return played(Design.from_dict(recipe["design"]), rest)
