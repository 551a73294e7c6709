"""Counters, for every horizon: which node a leaf is in, by the bits of the count.

A tree of h levels holds, at level l, what was known at the last count whose lowest one is bit l:
its exact sum S and its noisy prefix sum P, or the difference D = P - S, which is noise. At a count
i whose lowest one is bit j and whose next one is bit b (or none) it has to publish, and to keep,

    P_i = S_i + D_b + fresh noise,            at level j, and nothing else.

**Lemma.** Then P_i - P_a = (S_i - S_a) + noise with a = i - 2^j, whose lowest one is bit b: a is
the last such count, since the next one, a + 2^(b+1), is above i. So number i shows, beyond what was
published, the sum of the leaves a+1 .. i with noise of its own: a node. Nodes of one level do not
overlap, so a leaf is in at most one node a level, and pays for h of them at most. The first leaf is
in the nodes of the counts 1, 2, 4, ...: it pays for all of them once there are 2^(h-1) leaves.

That the kernel does this is checked by running it, for every j and b, on symbols, with all other
bits of the count unknown; and that it refuses a leaf more than the tree can hold.

**Hybrid counters** publish, at a power of two, the sum since the last one with noise, add it to a
base, and begin a tree of as many levels as the power has zeros. A leaf pays for its block once, and
for the levels of one tree. Where all arms' counters advance together, an arm that was not played
takes a 0, which is no one's reward, and everything else is the same.

**Blocks.** A release that fills a tree with blocks of 2^k leaves closes the nodes above them alone:
fewer numbers. It has to refuse a block that begins where no node of its size does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..privacy.verification import Form, Loss, NotAffine
from ..privacy.verification._forms import Unknown
from ._induction import (
    NOISES,
    TOGETHER,
    Anything,
    Charge,
    Decisions,
    Proof,
    Stage,
    Step,
    constant_length,
    every_branch,
    larger,
    loss_of,
    plus,
    take_step,
)

if TYPE_CHECKING:
    from ._policy import Policy
    from ._view import Setting

TREE, HYBRID, BLOCKS = "tree", "hybrid", "blocks"


class Bits(Unknown):
    """A public count of which some binary digits are known: 0, 1 or None, the lowest first."""

    __slots__ = ("decisions", "digits")

    def __init__(self, decisions: Decisions, digits: tuple[int | None, ...]) -> None:
        self.decisions, self.digits = decisions, digits

    @property
    def low(self) -> int:
        """The least that it can be."""
        return sum(1 << place for place, digit in enumerate(self.digits) if digit == 1)

    @property
    def high(self) -> int:
        """The most that it can be."""
        return sum(1 << place for place, digit in enumerate(self.digits) if digit != 0)

    def _moved(self, other: object, sign: int) -> Any:
        """The sum with a number whose carries stay among digits that are known."""
        if not isinstance(other, int | np.integer):
            return NotImplemented if isinstance(other, Form) else Anything(self.decisions)
        digits, left, place = list(self.digits), sign * int(other), 0
        while left != 0:
            if place == len(digits):
                digits.append(0)
            digit = digits[place]
            if left & 1:
                if digit is None:
                    raise NotAffine("it asks for more of a count than its lowest ones")
                digits[place] = 1 - digit
                left = (left - 1) >> 1
                if digit == 1:
                    left += 1
            else:
                left >>= 1
            place += 1
            if place > 70:
                raise NotAffine("it counts below 0")
        return Bits(self.decisions, tuple(digits))

    def __add__(self, other: object) -> Any:
        return self._moved(other, 1)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._moved(other, -1)

    def __and__(self, other: object) -> int:
        if other != 1 or not self.digits or self.digits[0] is None:
            raise NotAffine("it asks for more of a count than its lowest ones")
        return int(self.digits[0])

    def __rshift__(self, places: int) -> Bits:
        return Bits(self.decisions, self.digits[places:])

    def _order(self, other: object) -> int:
        """-1, 0 or 1, where that is known."""
        if isinstance(other, int | np.integer):
            if self.low == self.high == other:
                return 0
            if self.low > other:
                return 1
            if self.high < other:
                return -1
        raise NotAffine("it asks for more of a count than its lowest ones")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int | np.integer):
            for place in range(max(len(self.digits), int(other).bit_length())):
                mine = self.digits[place] if place < len(self.digits) else 0
                if mine is not None and mine != (int(other) >> place) & 1:
                    return False
        return self._order(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return self._order(other) < 0

    def __le__(self, other: object) -> bool:
        return self._order(other) <= 0

    def __gt__(self, other: object) -> bool:
        return self._order(other) > 0

    def __ge__(self, other: object) -> bool:
        return self._order(other) >= 0

    def __bool__(self) -> bool:
        return self != 0

    def __mul__(self, other: object) -> Any:
        return NotImplemented if isinstance(other, Form) else Anything(self.decisions, self.low)

    __rmul__ = __truediv__ = __mul__


class Count(NamedTuple):
    """A count whose lowest one is bit `level`, whose next one is bit `before` or none, and of
    whose `width` bits the higher ones are unknown; `top` is known to be 1, if it is given."""

    level: int
    before: int | None
    width: int
    top: int | None = None

    def after(self, decisions: Decisions) -> Any:
        """The count itself; a plain number if all is known."""
        digits: list[int | None] = [0] * self.width
        digits[self.level] = 1
        if self.before is not None:
            digits[self.before] = 1
            digits[self.before + 1 :] = [None] * (self.width - self.before - 1)
        if self.top is not None:
            digits.append(1)
        if None in digits:
            return Bits(decisions, tuple(digits))
        return sum(digit << place for place, digit in enumerate(digits) if digit)


def counts_below(width: int, top: int | None = None) -> Iterator[Count]:
    """All kinds of counts from 1 to 2^width - 1."""
    for level in range(width):
        for before in (None, *range(level + 1, width)):
            yield Count(level, before, width, top)


def check(holds: bool, what: str) -> None:
    """A step that does something else is no step of a counter."""
    if not holds:
        raise NotAffine(f"it is no such counter: {what}")


def is_form(value: Any, expected: dict[int, float]) -> bool:
    """Whether an entry is the sum of these symbols."""
    found = value.coefficients if isinstance(value, Form) else NOTHING
    inside = np.flatnonzero(found).tolist()
    wanted = {symbol for symbol, coefficient in expected.items() if coefficient != 0.0}
    return wanted == set(inside) and all(
        math.isclose(found[symbol], expected[symbol], rel_tol=1e-12) for symbol in inside
    )


NOTHING = np.zeros(0)


class Ledger:
    """How to read one step of a counter: which symbol stands where."""

    def __init__(self, step: Step, stage: Stage, kind: str, arm: int) -> None:
        self.step, self.kind, self.arm = step, kind, arm
        self.arms, self.length = stage.arms, len(step.tape.symbols)
        self.reward = float(stage.resolution)
        widths = len(getattr(step.ledger, "error_at" if kind == TOGETHER else "total_at"))
        self.levels = widths // stage.arms

    def place(self, level: int, arm: int) -> int:
        """Where a level of an arm is kept."""
        return level * self.arms + arm if self.kind == TOGETHER else arm * self.levels + level

    def symbol(self, field: str, place: int) -> int:
        """What stood there before the step."""
        symbols: dict[int, int] = getattr(self.step.ledger, field).symbols
        check(place in symbols, f"it does not read {field}")
        return symbols[place]

    def now(self, field: str, place: int) -> Any:
        """What stands there after it."""
        return getattr(self.step.ledger, field).now.get(place)

    def node(self, level: int, arm: int) -> dict[int, float]:
        """D of a level before the step."""
        place = self.place(level, arm)
        if self.kind == TOGETHER:
            return {self.symbol("error_at", place): 1.0}
        return {self.symbol("prefix_at", place): 1.0, self.symbol("total_at", place): -1.0}

    def fresh(self, number: Form) -> tuple[Form, int]:
        """A number in units of its one noise, which is in no other number."""
        tape = self.step.tape
        inside = [j for j in np.flatnonzero(number.coefficients) if tape.symbols[j].law in NOISES]
        check(len(inside) == 1, "a number has one noise of its own")
        holding = [n for n in tape.numbers if n.padded(self.length)[inside[0]] != 0.0]
        check(len(holding) == 1, "a noise is in one number")
        drawn = int(inside[0])
        return Form(number.coefficients / number.coefficients[drawn]), drawn

    def sum_after(self, arm: int) -> dict[int, float]:
        """The exact sum of an arm with this batch."""
        found = {self.symbol("total", arm): 1.0}
        if arm == self.arm:
            found[self.step.reward] = self.reward
        return found

    def unchanged(self, *changed: tuple[str, int]) -> bool:
        """Whether all other entries are what they were."""
        for field in self.step.sums():
            for place, value in field.now.items():
                if (field.field, place) in changed:
                    continue
                if place not in field.symbols:
                    return False
                if not is_form(value, {field.symbols[place]: 1.0}):
                    return False
        return True

    def played(self) -> list[int]:
        """The arms whose counters take part in the step."""
        return list(range(self.arms)) if self.kind == TOGETHER else [self.arm]

    def charge(self, noise: int) -> Charge:
        """What a reward moves that noise by."""
        return Charge(self.step.tape.symbols[noise], abs(self.reward), None)


def node_step(step: Step, stage: Stage, kind: str, arm: int, count: Count) -> Charge:
    """A step that has to close a node: what it costs a reward that is in it."""
    ledger = Ledger(step, stage, kind, arm)
    played, tape = ledger.played(), step.tape
    check(len(tape.numbers) == len(played), "a step has one number an arm")
    check(not tape.scales, "the noise of a node does not follow a count")
    changed, noises = list[tuple[str, int]](), dict[int, int]()
    for each, published in zip(played, tape.numbers, strict=True):
        number, drawn = ledger.fresh(published)
        noises[each] = drawn
        exact = ledger.sum_after(each)
        shown = {drawn: 1.0, **exact}
        if count.before is not None:
            shown |= ledger.node(count.before, each)
        place = ledger.place(count.level, each)
        if kind == TOGETHER:
            error = {symbol: c for symbol, c in shown.items() if symbol not in exact}
            check(is_form(ledger.now("error_at", place), error), "keeps the noise")
            changed += [("error_at", place), ("prefix", each)]
        else:
            check(is_form(ledger.now("prefix_at", place), shown), "keeps the prefix")
            check(is_form(ledger.now("total_at", place), exact), "keeps the sum")
            changed += [("prefix_at", place), ("total_at", place)]
        check(is_form(ledger.now("total", each), exact), "adds up exactly")
        changed.append(("total", each))
        if kind in (HYBRID, TOGETHER):
            shown = {**shown, ledger.symbol("base", each): 1.0}
        check(is_form(number, shown), "publishes the prefix of its nodes")
    check(ledger.unchanged(*changed), "a step changes other entries")
    return ledger.charge(noises[arm])


def block_step(step: Step, stage: Stage, kind: str, arm: int) -> Charge:
    """A step of a hybrid counter at a power of two: what it costs a reward of the block."""
    ledger = Ledger(step, stage, kind, arm)
    played, tape = ledger.played(), step.tape
    check(len(tape.numbers) == len(played), "a step has one number an arm")
    check(not tape.scales, "the noise of a block does not follow a count")
    changed, noises = list[tuple[str, int]](), dict[int, int]()
    for each, published in zip(played, tape.numbers, strict=True):
        number, drawn = ledger.fresh(published)
        noises[each] = drawn
        shown = {drawn: 1.0, ledger.symbol("base", each): 1.0, **ledger.sum_after(each)}
        check(is_form(number, shown), "publishes the block on its base")
        check(is_form(ledger.now("base", each), shown), "adds the block to the base")
        check(is_form(ledger.now("total", each), {}), "begins anew")
        changed += [("base", each), ("total", each)]
        if kind == TOGETHER:
            changed.append(("prefix", each))
    check(ledger.unchanged(*changed), "a step changes other entries")
    return ledger.charge(noises[arm])


def prove_counter(policy: Policy, stage: Stage, setting: Setting, whole: bool) -> Proof:
    """What the leaf of a counter pays at most."""
    kind = policy.release.counter_of()
    assert kind is not None
    assert setting.horizon is not None
    if kind in (HYBRID, TOGETHER):
        loss = hybrid_loss(stage, kind, setting.horizon, whole)
    else:
        loss = tree_loss(stage, kind, whole)
    length = constant_length(policy, setting)
    leaves = 0 if length is None or kind == BLOCKS else setting.horizon // length
    levels = len(stage.ledger.error_at if kind == TOGETHER else stage.ledger.total_at) // stage.arms
    full = leaves >= 1 << (levels - 1) if kind == TREE else leaves >= 4
    return Proof(loss, "by the bits of the count: " + LEVELS, attained=full)


LEVELS = "a reward is in one node of each level, whatever the count and the arms"


def tree_loss(stage: Stage, kind: str, whole: bool) -> Loss:
    """The sum over levels of the dearest node, or the dearest batch before the tree."""
    levels = len(stage.ledger.total_at) // stage.arms
    prices = [Loss()] * levels
    for arm in range(stage.arms):
        for count in counts_below(levels):
            sizes = [1 << k for k in range(count.level + 1)] if kind == BLOCKS else [None]
            for rounds in sizes:
                charge = tree_step(stage, kind, arm, count, rounds)
                prices[count.level] = larger(prices[count.level], loss_of([charge], whole))
        refuses_more(stage, kind, arm, levels)
    total = Loss()
    for price in prices:
        total = plus(total, price)
    if kind == BLOCKS:
        total = larger(total, batch_loss(stage, whole))
    return total


def tree_step(stage: Stage, kind: str, arm: int, count: Count, rounds: int | None) -> Charge:
    """One step of a tree to a count; with `rounds`, by a block of so many leaves."""
    decisions = Decisions([])
    after = count.after(decisions)
    counts = {"count": others(decisions, stage.arms, arm, after - (rounds or 1))}
    if kind == BLOCKS:
        counts |= {"batches": [Anything(decisions)], "halvings": [-1]}
    step = take_step(stage, decisions, arm, rounds, counts)
    check(step.ledger.count[arm] == after if isinstance(after, int) else
          step.ledger.count[arm].digits == after.digits, "counts its leaves")  # fmt: skip
    check(not decisions.taken, "it branches on something else than the bits of the count")
    if kind == BLOCKS:
        check(step.ledger.halvings[0] == -1, "goes back to batches")
    return node_step(step, stage, kind, arm, count)


def others(decisions: Decisions, arms: int, arm: int, count: Any) -> list[Any]:
    """A count of each arm, of which that of one arm is known."""
    return [count if each == arm else Anything(decisions) for each in range(arms)]


def refuses_more(stage: Stage, kind: str, arm: int, levels: int) -> None:
    """A leaf beyond what the levels hold; a block where none of its size begins, and one of a size
    that no node has."""

    def refused(count: Any, rounds: Any, decisions: Decisions) -> None:
        counts = {"count": others(decisions, stage.arms, arm, count)}
        if kind == BLOCKS:
            counts |= {"batches": [Anything(decisions)], "halvings": [-1]}
        try:
            take_step(stage, decisions, arm, rounds, counts)
        except (IndexError, ValueError):
            return
        raise NotAffine("it takes leaves that do not fit into its tree")

    decisions = Decisions([])
    refused((1 << levels) - 1, 1 if kind == BLOCKS else None, decisions)
    if kind != BLOCKS:
        return
    for low, high in itertools.combinations(range(levels), 2):
        unknown: list[int | None] = [None] * (levels - low - 1)
        digits: list[int | None] = [*[0] * low, 1]
        refused(Bits(decisions, (*digits, *unknown)), 1 << high, decisions)
        middle: list[int | None] = [*[0] * (high - low - 1), 1]
        rest: list[int | None] = [None] * (levels - high - 1)
        refused(Anything(decisions), Bits(decisions, (*digits, *middle, *rest)), decisions)


def batch_loss(stage: Stage, whole: bool) -> Loss:
    """Batches before the tree is begun: one number each, and nothing is kept."""
    loss = Loss()
    if stage.release.phase != 0:
        return loss
    for arm in range(stage.arms):

        def take(decisions: Decisions, arm: int = arm) -> Step:
            counts: dict[str, list[Any]] = {
                "count": [0] * stage.arms, "batches": [Anything(decisions)],
                "halvings": [Anything(decisions, 0.0)],
            }  # fmt: skip
            return take_step(stage, decisions, arm, None, counts)

        for step in every_branch(take):
            ledger = Ledger(step, stage, TREE, arm)
            check(len(step.tape.numbers) == 1, "a batch is one number")
            check(ledger.unchanged(), "a batch is kept")
            number, drawn = ledger.fresh(step.tape.numbers[0])
            shown = {drawn: 1.0, step.reward: ledger.reward}
            check(is_form(number, shown), "a batch with its noise")
            loss = larger(loss, loss_of([ledger.charge(drawn)], whole))
    return loss


def hybrid_loss(stage: Stage, kind: str, horizon: int, whole: bool) -> Loss:
    """A block, and the levels of the dearest tree between two powers of two."""
    block = tree = Loss()
    deepest = horizon.bit_length()
    for arm in range(stage.arms):
        for depth in range(-1, deepest):
            power = 1 << depth if depth >= 0 else 0
            decisions = Decisions([])
            step = hybrid_step(stage, kind, decisions, arm, (max(2 * power, 1) - 1, power, depth))
            where = 0 if kind == TOGETHER else arm
            check(step.ledger.power[where] == max(2 * power, 1), "keeps the power of two")
            check(step.ledger.depth[where] == depth + 1, "keeps its logarithm")
            block = larger(block, loss_of([block_step(step, stage, kind, arm)], whole))
        for depth in range(1, deepest):
            tree = larger(tree, levels_loss(stage, kind, arm, depth, whole))
    return plus(block, tree)


def levels_loss(stage: Stage, kind: str, arm: int, depth: int, whole: bool) -> Loss:
    """The levels of the tree between 2^depth and its double."""
    prices = [Loss()] * depth
    for count in counts_below(depth, top=depth):
        decisions = Decisions([])
        after = count.after(decisions)
        step = hybrid_step(stage, kind, decisions, arm, (after - 1, 1 << depth, depth))
        where = 0 if kind == TOGETHER else arm
        check(step.ledger.power[where] == 1 << depth, "keeps the power of two")
        check(step.ledger.depth[where] == depth, "keeps its logarithm")
        charge = node_step(step, stage, kind, arm, count)
        prices[count.level] = larger(prices[count.level], loss_of([charge], whole))
    total = Loss()
    for price in prices:
        total = plus(total, price)
    return total


def hybrid_step(
    stage: Stage, kind: str, decisions: Decisions, arm: int, known: tuple[Any, int, int]
) -> Step:
    """One step from a count, a power of two and its logarithm."""
    count, power, depth = known
    values = {"count": count, "power": power, "depth": max(depth, 0)}
    if kind == TOGETHER:
        counts = {field: [value] for field, value in values.items()}
    else:
        counts = {
            field: others(decisions, stage.arms, arm, value) for field, value in values.items()
        }
    step = take_step(stage, decisions, arm, None, counts)
    check(not decisions.taken, "it branches on something else than the bits of the count")
    return step
