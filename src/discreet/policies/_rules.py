"""Rules: how public numbers become the next arm.

A rule's kernel `choose(rule, memory, view, t, rng)` sees releases and counts, never a reward, so
whatever it does is post-processing. `t` rounds are over; the papers' t is the next one, t + 1.

Most rules are an index to maximise or a score to minimise: the templates below walk over the arms,
and a family fills in one formula. `ceilings.py` walks over fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from .._compiled import Function, Kernel, open_slot
from ..errors import UnsupportedBudget
from ..privacy.budgets import Approximate, Budget, Pure
from ._parts import RulePart
from ._view import Setting, View, fresh_view

if TYPE_CHECKING:
    from numpy.random import Generator

    from .releases import Release


class Rule(RulePart[Setting]):
    """Base of all rules of finite arms."""

    choose: ClassVar[Function | Kernel]
    noted: ClassVar[Kernel | None] = None
    """The same choice with `notes` of earlier rounds, for simulations: see `ceilings.py`."""
    ranked: ClassVar[Kernel | None] = None
    """The same choice among very many arms, for simulations in batches: see `ranks.py`."""
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    """The range of rewards that the formula is meant for; None for any."""
    sets_phases: ClassVar[bool] = False
    """Whether it writes down the length of its phases, for the schedule Phases to read."""
    takes_any_schedule: ClassVar[bool] = False
    """Whether it goes with other schedules all the same."""
    compares: ClassVar[str] = "index"
    """How it compares arms, which is how they are played concurrently: an "index" of each of them,
    "looks" at all of them, or the "top two"."""
    eliminates: ClassVar[bool] = False
    """Whether it notes which arms are still in."""
    ends: ClassVar[str] = ""
    """What a stopping rule asks it for: the name of its own way to end; "" for none."""
    fixed_size: ClassVar[bool] = False
    """Whether it ends after a number of participants, its field `participants`."""
    within_epochs: ClassVar[bool] = False
    """Whether `policies.epochs` has its index for differences within epochs."""
    still: ClassVar[bool] = False
    """Whether a score reads no t and what arms share reads means alone: an arm's score then stands
    still while the arm is not played and nothing is released."""

    def first_view(self, setting: Setting) -> View:
        return fresh_view(setting.arms)

    def notes(self, arms: int) -> NamedTuple:
        """The memory of `noted` before the first round."""
        from ._ceilings import no_ceilings

        return no_ceilings(arms)

    def check_release(self, release: Release) -> None:
        """Refuse a release on which the rule's own claim, or its formula, would not hold."""

    def planned_rounds(self, setting: Setting) -> tuple[int, bool] | None:
        """For rules that fix the sizes of all batches themselves: the most releases of an arm, and
        whether all arms get them, whatever is released. Else None."""
        return None

    def between_releases(self) -> Rule:
        """The rule as a live trial plays it, which decides when something was released."""
        return self

    @property
    def budget(self) -> Budget | None:
        """What one choice costs, for rules that are themselves the mechanism; else None."""
        return None


level: Callable[[object, int], float] = open_slot("level")
"""What an index takes from the round t + 1: it never falls."""
bound: Callable[[object, View, int, float], float] = open_slot("bound")
"""The index of an arm at a level: it never falls with the level, rounding included."""
index: Callable[[object, View, int, int], float] = open_slot("index")
"""The index of an arm in round t + 1."""
exceeds: Callable[[object, View, int, int, float], bool] = open_slot("exceeds")
"""Whether the index of an arm is above a level."""
prepare: Callable[[object, View, int], float] = open_slot("prepare")
"""What the scores of all arms share in this round."""
score: Callable[[object, View, int, int, float], float] = open_slot("score")
"""The score of an arm, smallest wins."""
floor: Callable[[object, View, int, int, float], float] = open_slot("floor")
"""What the score of an arm is not below, and quicker to work out."""
sample: Callable[[object, View, int, int, Generator], float] = open_slot("sample")
"""The sampled index of an arm."""


def choose_largest(rule: object, memory: object, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then argmax of `index`, the first of equals.

    Args:
        rule: Parameters of the rule.
        memory: Notes of the rule.
        view: What is released.
        t: Rounds so far.
        rng: Random draws.

    Returns:
        The arm.
    """
    best, level = 0, -1e300
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
        value = index(rule, view, arm, t)
        if value > level:
            best, level = arm, value
    return best


def choose_highest(rule: object, memory: object, view: View, t: int, rng: Generator) -> int:
    """The same with `bound`, what depends on the round worked out once.

    Args:
        rule: Parameters of the rule.
        memory: Notes of the rule.
        view: What is released.
        t: Rounds so far.
        rng: Random draws.

    Returns:
        The arm.
    """
    now = level(rule, t)
    best, largest = 0, -1e300
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
        value = bound(rule, view, arm, now)
        if value > largest:
            best, largest = arm, value
    return best


def choose_exceeding(rule: object, memory: object, view: View, t: int, rng: Generator) -> int:
    """The same arm, but an index is solved for only if it is known to win so far.

    For indices defined by an equation: comparing one with a level takes one evaluation of the
    divergence, solving for it takes several.
    """
    best, level = 0, -1e300
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
        if exceeds(rule, view, arm, t, level):
            value = index(rule, view, arm, t)
            if value > level:  # equals may pass the comparison by rounding
                best, level = arm, value
    return best


def choose_smallest(rule: object, memory: object, view: View, t: int, rng: Generator) -> int:
    """An arm without release first; then argmin of `score`, the first of equals.

    Args:
        rule: Parameters of the rule.
        memory: Notes of the rule.
        view: What is released.
        t: Rounds so far.
        rng: Random draws.

    Returns:
        The arm.
    """
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
    shared = prepare(rule, view, t)
    best, level = 0, 1e300
    for arm in range(len(view.size)):
        value = score(rule, view, arm, t, shared)
        if value < level:
            best, level = arm, value
    return best


def choose_above_floor(rule: object, memory: object, view: View, t: int, rng: Generator) -> int:
    """The same arm as `choose_smallest`, but a score is worked out only if its floor may win.

    For scores defined by an equation. It starts with the arm of the largest mean, whose score is
    simple and mostly the smallest.
    """
    for arm in range(len(view.size)):
        if view.size[arm] == 0:
            return arm
    shared = prepare(rule, view, t)
    best = 0
    for arm in range(1, len(view.size)):
        if view.value[arm] > view.value[best]:
            best = arm
    level = score(rule, view, best, t, shared)
    for arm in range(len(view.size)):
        if floor(rule, view, arm, t, shared) <= level:
            value = score(rule, view, arm, t, shared)
            if value < level or (value == level and arm < best):
                best, level = arm, value
    return best


class Starting(Protocol):
    """Parameters of a rule that begins with so many rewards of every arm."""

    @property
    def start(self) -> int: ...


def choose_sampled(rule: Starting, memory: object, view: View, t: int, rng: Generator) -> int:
    """An arm with fewer than `start` rewards first; then argmax of a sample of every arm.

    Args:
        rule: Parameters of the rule.
        memory: Notes of the rule.
        view: What is released.
        t: Rounds so far.
        rng: Random draws.

    Returns:
        The arm.
    """
    for arm in range(len(view.size)):
        if view.size[arm] < rule.start:
            return arm
    best, level = 0, -1e300
    for arm in range(len(view.size)):
        value = sample(rule, view, arm, t, rng)
        if value > level:
            best, level = arm, value
    return best


def epsilon_delta(budget: Budget) -> tuple[float, float]:
    """(ε, δ) of a pure or approximate budget, such as truncated Laplace noise keeps."""
    if isinstance(budget, Pure):
        return budget.epsilon, 0.0
    if isinstance(budget, Approximate):
        return budget.epsilon, budget.delta
    raise UnsupportedBudget(
        "budget", "be pure or approximate", budget, "give epsilon, or epsilon and delta"
    )


def clip01(x: float) -> float:
    """x moved into [0, 1]."""
    return min(max(x, 0.0), 1.0)


def largest_value(view: View) -> float:
    """The largest released mean."""
    best = view.value[0]
    for arm in range(1, len(view.value)):
        best = max(best, view.value[arm])
    return float(best)
