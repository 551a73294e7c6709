"""Every horizon at once: one step of a release, from a state of which nothing is known.

A walk (`policies.verification`) follows a release for so many numbers, and knows nothing of those
that come after. Here the kernel takes *one* step: entries of the ledger are symbols, public counts
are unknown numbers, and where the kernel compares unknown numbers both answers are tried. What the
step does then holds after any number of steps, on every public path, with batches of any length.

**Traces.** At any time a reward stands in the entries of the ledger with some coefficients, its
trace. A step publishes numbers, one after the other; each moves by the trace it reads, and by the
reward itself in the step of its own batch. Fresh noise of the number takes the move back, at the
price of one mechanism (`privacy.verification.shifts`), and moves whatever else it is in. So a step
leads from a trace to a trace at a price, and from "not yet there" only finitely many traces can
be reached, or the proof is given up. No reward pays more than the dearest way through them.
Forgotten and running sums end in the empty trace, for free ever after. A trace that pays again and
again pays as often as batches fit into the horizon; if the noise then grows like a power of the
count, as a sum over the releases.

**Counters.** A tree shows in which node a leaf is by the bits of a count, so the count is not
unknown: its lowest two ones are, in turn, everywhere they can be, and its higher bits are unknown.
A kernel that asks for more of it is not proved. `policies.nodes` has the steps and the lemma.

What is proved here is an upper bound. It is exact if some walk pays as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, SupportsFloat

import numpy as np

from ..privacy._source import Source
from ..privacy.verification import Form, Loss, NotAffine, Symbol, Tape, symbolic
from ..privacy.verification._forms import GAUSSIAN, LAPLACE, REWARD, TRUNCATED, Scaled, Unknown
from ..privacy.verification._shifts import TINY, cost, is_whole
from ._view import View

if TYPE_CHECKING:
    from .._compiled import Function
    from ._policy import Policy
    from ._view import Setting

MOST_BRANCHES = 256
"""Answers to comparisons of unknown numbers that are tried for one step."""
MOST_DECISIONS = 24
"""Comparisons of one step; a kernel that loops over a public count asks for more."""
MOST_TRACES = 64
TOGETHER = "together"
"""Counters of all arms that advance together (`policies.nodes`)."""
NOISES = (LAPLACE, GAUSSIAN, TRUNCATED)
STUCK = (NotAffine, ArithmeticError, LookupError, TypeError, ValueError, AttributeError)
"""What a kernel may run into on numbers of which nothing is known."""


@dataclass(frozen=True)
class Proof:
    """What no reward can pay more than, at any time up to a horizon, on any public path."""

    loss: Loss
    argument: str
    attained: bool = False
    """whether some reward is known to pay as much"""


# --- public numbers of which nothing is known ---------------------------------------------------


class Decisions:
    """Answers to comparisons of unknown numbers: some given in advance, then always True."""

    def __init__(self, given: list[bool]) -> None:
        self.given, self.taken = given, list[bool]()

    def take(self) -> bool:
        """The next answer."""
        if len(self.taken) == MOST_DECISIONS:
            raise NotAffine("it loops over public counts")
        place = len(self.taken)
        self.taken.append(self.given[place] if place < len(self.given) else True)
        return self.taken[-1]


class Anything(Unknown):
    """c nᵖ for some public number n; sums are numbers of which nothing is known again."""

    __slots__ = ("base", "decisions", "exponent", "factor", "least")

    def __init__(
        self, decisions: Decisions, least: float = -math.inf, base: object = None,
        factor: float = 1.0, exponent: float = 1.0,
    ) -> None:  # fmt: skip
        self.decisions, self.least = decisions, least
        self.base = object() if base is None else base
        self.factor, self.exponent = factor, exponent

    def _new(self, least: float = -math.inf) -> Anything:
        return Anything(self.decisions, least)

    def _sum(self, other: object) -> Any:
        if isinstance(other, Form):
            return NotImplemented
        if isinstance(other, Anything):
            # two counts as they are make up a third, which is told from others by them
            base = (self.base, other.base) if self._is_plain() and other._is_plain() else None
            return Anything(self.decisions, self._least() + other._least(), base)
        if isinstance(other, Unknown):
            return self._new()
        return self._new(self._least() + float(other))  # type: ignore[arg-type]

    def _is_plain(self) -> bool:
        return self.factor == self.exponent == 1.0

    def _least(self) -> float:
        return self.least if self._is_plain() else -math.inf

    def _other(self, other: object) -> Any:
        return NotImplemented if isinstance(other, Form) else self._new()

    __add__ = __radd__ = _sum
    __sub__ = __rsub__ = __floordiv__ = __mod__ = __and__ = __rand__ = __rpow__ = _other
    __rshift__ = __lshift__ = __rlshift__ = _other

    def __mul__(self, other: object) -> Any:
        if isinstance(other, Form | Unknown):
            return NotImplemented if isinstance(other, Form) else self._new()
        factor = self.factor * float(other)  # type: ignore[arg-type]
        return Anything(self.decisions, -math.inf, self.base, factor, self.exponent)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        return self * (1.0 / other) if isinstance(other, int | float) else self._other(other)

    def __rtruediv__(self, other: object) -> Any:
        if isinstance(other, Form):
            return NotImplemented
        return (self**-1.0) * other

    def __pow__(self, power: object) -> Any:
        if not isinstance(power, int | float):
            return self._new()
        factor = self.factor ** float(power)
        return Anything(self.decisions, -math.inf, self.base, factor, self.exponent * power)

    def __neg__(self) -> Any:
        return self * -1.0

    def __abs__(self) -> Any:
        return self._new(0.0)

    def _compared(self, other: object) -> bool:
        return self.decisions.take()

    __lt__ = __le__ = __eq__ = __ne__ = _compared

    def __gt__(self, other: object) -> bool:
        known = isinstance(other, int | float) and self._least() > other
        return known or self.decisions.take()

    def __ge__(self, other: object) -> bool:
        known = isinstance(other, int | float) and self._least() >= other
        return known or self.decisions.take()

    def __bool__(self) -> bool:
        return self.decisions.take()

    def _refused(self, *_: object) -> NoReturn:
        raise NotAffine("it computes with a public count in a way of its own")

    __int__ = __index__ = __round__ = __trunc__ = __floor__ = __ceil__ = _refused


# --- one step -----------------------------------------------------------------------------------


class StepTape(Tape):
    """The symbols of one step: the ledger's, the reward's, and fresh noise."""

    def __init__(self, decisions: Decisions) -> None:
        super().__init__()
        self.decisions = decisions
        self.scales: dict[int, Anything] = {}
        """of noises whose scale follows from a count"""

    def noise(self, law: str, scale: SupportsFloat, delta: float = 0.0) -> Form | float:
        if not isinstance(scale, Anything):
            return super().noise(law, scale, delta)
        form = self.symbol(Symbol(law, 1.0, delta=delta))
        self.scales[len(self.symbols) - 1] = scale
        return form

    def publish(self, form: Form, place: int) -> Any:
        """A number becomes public, and is one of which nothing is known."""
        self.numbers.append(form)
        return Anything(self.decisions)

    def reveal(self, form: Form) -> float:
        raise NotAffine("it computes, other than by sums and comparisons, with a noisy number")

    def compare(self, form: Form) -> float:
        self.numbers.append(form)
        return 1.0 if self.decisions.take() else -1.0 if self.decisions.take() else 0.0


Key = tuple[str, int]
"""An entry of the ledger: its field and its place."""


class Entries:
    """A field of the ledger in one step. An entry becomes a symbol when it is first read."""

    def __init__(self, tape: StepTape, field: str, length: int, known: list[Any] | None) -> None:
        self.tape, self.field, self.length = tape, field, length
        self.sums = known is None
        self.symbols = dict[int, int]()
        """of sums that were read, as they were before the step"""
        self.now: dict[int, Any] = {} if known is None else dict(enumerate(known))
        """what is there now, where anything was read or written"""

    def _place(self, place: Any) -> int:
        index = place.__index__()
        if not 0 <= index < self.length:
            raise IndexError(f"entry {index} of {self.field}, which has {self.length}")
        return int(index)

    def __getitem__(self, place: Any) -> Any:
        index = self._place(place)
        if index not in self.now:
            self.now[index] = self.tape.symbol(Symbol("ledger", 1.0))
            self.symbols[index] = len(self.tape.symbols) - 1
        return self.now[index]

    def __setitem__(self, place: Any, value: Any) -> None:
        if not self.sums and isinstance(value, Form):
            raise NotAffine(f"it keeps a reward in ledger.{self.field}, among its counts")
        if self.sums and isinstance(value, Unknown):
            raise NotAffine(f"it keeps a public count in ledger.{self.field}, among its sums")
        if isinstance(value, Scaled):
            raise NotAffine("it keeps a number that was multiplied by a public count")
        self.now[self._place(place)] = value

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(self.length))


class Shown:
    """A field of the view in one step: what it is given is published."""

    def __init__(self, tape: StepTape, entries: list[Any]) -> None:
        self.tape, self.entries = tape, entries

    def __getitem__(self, place: Any) -> Any:
        index = place.__index__()
        if not 0 <= index < len(self.entries):
            raise IndexError(f"entry {index} of {len(self.entries)}")
        return self.entries[index]

    def __setitem__(self, place: Any, value: Any) -> None:
        self[place]  # refuses what is outside
        if isinstance(value, Form):
            value = value.constant if value.is_constant else self.tape.publish(value, 0)
        self.entries[place] = value

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)


class Stage(NamedTuple):
    """A release, ready to take one step in a setting."""

    publish: Function
    release: Any
    ledger: Any
    """as it is before the first reward: which entries are sums, and which are counts"""
    arms: int
    resolution: int
    least: int
    """rewards that every arm has at least: 0, or the kernel is asked both ways"""

    @classmethod
    def of(cls, policy: Policy, setting: Setting, source: Source) -> Stage:
        """Entries that are whole numbers in simulations count something public."""
        from ..privacy._source import SIMULATED

        plain = policy.setting(setting.arms, setting.horizon, SIMULATED)
        return cls(
            policy.release.publish_kernel(symbolic(source)).interpreted(),
            policy.release.parameters(setting), policy.release.ledger(plain), setting.arms,
            source.resolution, 1 if policy.release.counter_of() == TOGETHER else 0,
        )  # fmt: skip


class Step(NamedTuple):
    """What one step did: the state before it is symbols, so what it left is forms."""

    tape: StepTape
    reward: int
    """the symbol of the reward"""
    ledger: Any
    size: Anything
    """what the size behind the arm's value is, if the batch was added to it"""

    def sums(self) -> Iterator[Entries]:
        """The fields of the ledger that hold sums."""
        return (field for field in self.ledger if isinstance(field, Entries) and field.sums)


def take_step(
    stage: Stage, decisions: Decisions, arm: int, rounds: Any = None,
    counts: dict[str, list[Any]] | None = None,
) -> Step:  # fmt: skip
    """One step of an arm. `counts`: what is known of public entries of the ledger, by field."""
    tape = StepTape(decisions)
    fields = list[Any]()
    for field, value in stage.ledger._asdict().items():
        if not hasattr(value, "dtype"):
            fields.append(value)
            continue
        if value.ndim != 1:
            raise NotAffine(f"its ledger.{field} has more than one dimension")
        known = None
        if value.dtype.kind != "f":
            known = (counts or {}).get(field) or [Anything(decisions) for _ in range(len(value))]
        fields.append(Entries(tape, field, len(value), known))
    ledger = stage.ledger._make(fields)
    sizes = (-math.inf, stage.least, stage.least)  # a value, rewards behind it, pulls
    shown = [[Anything(decisions, least) for _ in range(stage.arms)] for least in sizes]
    view = View(*(Shown(tape, entries) for entries in shown))
    total = tape.symbol(Symbol(REWARD, 1.0), stage.resolution)
    reward = len(tape.symbols) - 1
    if rounds is None:
        rounds = Anything(decisions, 1.0)
    size = shown[1][arm] + rounds
    stage.publish(public(stage.release, tape), ledger, view, arm, rounds, total, tape)
    return Step(tape, reward, ledger, size)


def public(parameters: Any, tape: StepTape) -> Any:
    """Parameters as they are; whatever a release writes into them, others can read."""
    fields = [
        Shown(tape, value.tolist()) if hasattr(value, "dtype") else value for value in parameters
    ]
    return parameters._make(fields)


def every_branch(take: Callable[[Decisions], Step]) -> Iterator[Step]:
    """A step with every series of answers to the comparisons that it makes."""
    waiting, tried = [list[bool]()], 0
    while waiting:
        tried += 1
        if tried > MOST_BRANCHES:
            raise NotAffine("it branches on public counts in too many ways")
        given = waiting.pop()
        decisions = Decisions(given)
        yield take(decisions)
        for place in range(len(given), len(decisions.taken)):
            waiting.append([*decisions.taken[:place], False])


# --- traces -------------------------------------------------------------------------------------

Trace = tuple[tuple[Key, float], ...]
"""The coefficients of a reward in the entries of the ledger, those that are not 0."""


class Charge(NamedTuple):
    """Noise that moved."""

    kind: Symbol
    move: float
    scale: Anything | None
    """of noise that follows from a count"""


def moved(step: Step, trace: Trace, own: bool) -> tuple[Trace, list[Charge]]:
    """The trace after a step, and the noises that took its moves back. `own`: the reward is of
    the batch that is released."""
    tape, left = step.tape, dict(trace)
    change = np.zeros(len(tape.symbols))
    for field in step.sums():
        for place, symbol in field.symbols.items():
            change[symbol] = left.get((field.field, place), 0.0)
    change[step.reward] = float(own)
    seen, charges = set[int](), list[Charge]()
    for number in tape.numbers:
        coefficients = number.padded(len(change))
        inside = [j for j in np.flatnonzero(coefficients).tolist() if tape.symbols[j].law in NOISES]
        fresh = [j for j in inside if j not in seen]
        seen.update(inside)
        move = float(coefficients @ change)
        if abs(move) <= TINY * float(np.abs(coefficients * change).sum()):
            continue
        if not fresh:
            raise Given
        widest = max(fresh, key=lambda j: tape.symbols[j].scale * abs(coefficients[j]))
        change[widest] = -move / coefficients[widest]
        kind = tape.symbols[widest]
        charges.append(Charge(kind, abs(float(change[widest])), tape.scales.get(widest)))
    for field in step.sums():
        for place, entry in field.now.items():
            rest = 0.0
            if isinstance(entry, Form):
                terms = entry.padded(len(change)) * change
                rest = float(terms.sum())
                rest = 0.0 if abs(rest) <= TINY * float(np.abs(terms).sum()) else rest
            left[field.field, place] = float(f"{rest:.9g}")
    return tuple(sorted((key, value) for key, value in left.items() if value != 0.0)), charges


class Given(Exception):
    """A number moves and has no noise of its own."""


def loss_of(charges: list[Charge], whole: bool) -> Loss:
    """What the noises that moved cost together."""
    shift = np.array([charge.move for charge in charges])
    if whole and not is_whole(shift):
        raise NotAffine("it moves whole-numbered noise by a fraction")
    return cost(shift, [charge.kind for charge in charges], [])


def plus(first: Loss, second: Loss) -> Loss:
    """Two losses, one after the other."""
    (e, d), (f, g) = first.truncated, second.truncated
    return Loss(
        first.laplace + second.laplace, first.laplace_squares + second.laplace_squares,
        first.gaussian + second.gaussian, (e + f, d + g), first.response + second.response,
        first.response_squares + second.response_squares, first.numbers + second.numbers,
        first.moves + second.moves,
    )  # fmt: skip


def larger(first: Loss, second: Loss) -> Loss:
    """At least either of two losses, column by column."""
    if all(x >= y for x, y in zip(first.columns, second.columns, strict=True)):
        return first
    if all(x <= y for x, y in zip(first.columns, second.columns, strict=True)):
        return second
    truncated = tuple(map(max, first.truncated, second.truncated))
    return Loss(
        max(first.laplace, second.laplace), max(first.laplace_squares, second.laplace_squares),
        max(first.gaussian, second.gaussian), (truncated[0], truncated[1]),
        max(first.response, second.response),
        max(first.response_squares, second.response_squares),
        max(first.numbers, second.numbers), max(first.moves, second.moves, key=len),
    )  # fmt: skip


def times(loss: Loss, many: int) -> Loss:
    """The same again and again; single moves of Gaussian noise are not kept."""
    epsilon, delta = loss.truncated
    return Loss(
        many * loss.laplace, many * loss.laplace_squares, many * loss.gaussian,
        (many * epsilon, min(1.0, many * delta)), many * loss.response,
        many * loss.response_squares, many * loss.numbers,
    )  # fmt: skip


class Edge(NamedTuple):
    """A step from one trace to another, and what it costs."""

    start: Trace | None
    """None: the reward is not there yet"""
    end: Trace
    charges: list[Charge]


def prove(policy: Policy, setting: Setting, source: Source) -> Proof | str:
    """What no reward can pay more than; or why that is not known."""
    from ._nodes import prove_counter

    try:
        if policy.release.counter_of() == TOGETHER:
            check_together(policy)
        stage = Stage.of(policy, setting, source)
        if policy.release.counter_of() is not None:
            return prove_counter(policy, stage, setting, source.secure)
        return prove_traces(policy, stage, setting, source.secure)
    except Given:
        return "a number moves and has no noise of its own"
    except STUCK as stop:
        return str(stop) or type(stop).__name__


def check_together(policy: Policy) -> None:
    """Refuse to prove counters of all arms that are not the library's own.

    Their kernel leaves out the number of an arm without rewards, which tells no more, and is asked
    on arms that have some. What another kernel does before that would go unseen.
    """
    from .releases import IdleHybrid

    if policy.release.publish is not IdleHybrid.publish:
        raise NotAffine("counters of all arms are proved for the library's own kernel alone")


def prove_traces(policy: Policy, stage: Stage, setting: Setting, whole: bool) -> Proof:
    """By the traces that a reward can leave."""
    steps = [
        step
        for arm in range(stage.arms)
        for step in every_branch(lambda decisions, arm=arm: take_step(stage, decisions, arm))  # type: ignore[misc]
    ]
    empty: Trace = ()
    edges, known, waiting = list[Edge](), set[Trace](), list[Trace]()

    def enter(start: Trace | None, step: Step) -> None:
        end, charges = moved(step, empty if start is None else start, start is None)
        edges.append(Edge(start, end, charges))
        if end not in known and end != empty:
            known.add(end)
            waiting.append(end)

    for step in steps:
        enter(None, step)
    while waiting:
        if len(known) > MOST_TRACES:
            raise NotAffine("it leaves rewards in its ledger in more and more ways")
        trace = waiting.pop()
        for step in steps:
            enter(trace, step)
    length = constant_length(policy, setting)
    if any(charge.scale is not None for edge in edges for charge in edge.charges):
        return Proof(
            series(policy, edges, steps, length, setting),
            "one step stands for all: noise grows like a power of the count, and what a reward "
            "pays is the sum over all releases",
            attained=True,
        )
    costs = [(edge.start, edge.end, loss_of(edge.charges, whole)) for edge in edges]
    best: dict[Trace | None, Loss] = {None: Loss()}
    for _ in range(len(known) + 2):
        changed = False
        for start, end, price in costs:
            if start not in best:
                continue
            reached = plus(best[start], price)
            if end not in best or exceeds(reached, best[end]):
                best[end] = larger(reached, best.get(end, reached))
                changed = True
        if not changed:
            loss = Loss()
            for each in best.values():
                loss = larger(loss, each)
            return Proof(loss, "one step stands for all, whatever the counts: " + ENDS)
    dearest = Loss()
    for _, _, price in costs:
        dearest = larger(dearest, price)
    horizon = setting.horizon or 1
    many = horizon if length is None else max(1, horizon // length)
    return Proof(
        times(dearest, many),
        f"one step stands for all: a reward pays at most as often as {many:,} batches are released",
    )


ENDS = "a reward is hidden by noise of its own numbers, and leaves nothing behind that costs more"


def exceeds(first: Loss, second: Loss) -> bool:
    """Whether a loss is above another in some column, by more than rounding."""
    pairs = zip(first.columns, second.columns, strict=True)
    return any(x > y * (1.0 + 1e-12) for x, y in pairs)


def constant_length(policy: Policy, setting: Setting) -> int | None:
    """The length of all batches, if the schedule says the same whatever it sees; else None."""
    if policy.schedule.set_by_rule:
        return None
    decisions = Decisions([])
    counts = [Anything(decisions) for _ in range(setting.arms)]
    length = policy.length_kernel.interpreted()
    try:
        found = length(
            policy.schedule.parameters(setting), policy.rule.memory(setting),
            View(counts, counts, counts), 0,  # type: ignore[arg-type]
        )  # fmt: skip
    except STUCK:
        return None
    # an answer to a comparison would be a length for some counts alone
    return found if isinstance(found, int) and not decisions.taken else None


def series(
    policy: Policy, edges: list[Edge], steps: list[Step], length: int | None, setting: Setting
) -> Loss:
    """Σ over an arm's releases of what noise at scale c nᵖ costs, n = f, 2f, 3f, ... the size.

    A reward of the first batch pays for all of them, so that no other pays more.
    """
    from scipy.special import zeta

    assert setting.horizon is not None
    if length is None:
        raise NotAffine("its noise follows a count, and its batches have no fixed length")
    prices = set[tuple[float, float]]()
    for step in steps:
        for scale in step.tape.scales.values():
            if scale.base != step.size.base or scale.exponent <= 0.5 or scale.factor <= 0.0:
                raise NotAffine("its noise follows something else than the size behind a value")
    for edge in edges:
        if not edge.charges:
            continue
        (charge,) = edge.charges if len(edge.charges) == 1 else (None,)
        if charge is None or charge.scale is None or charge.kind.law != LAPLACE:
            raise NotAffine("its noise follows a count, and is not alone")
        prices.add((charge.move / charge.scale.factor, charge.scale.exponent))
    if len(prices) != 1:
        raise NotAffine("its noise follows counts in several ways")
    ((price, exponent),) = prices
    releases = setting.horizon // length
    power = 2.0 * exponent
    squares = 0.5 * price**2 * length**-power * (zeta(power, 1) - zeta(power, releases + 1))
    return Loss(math.inf, float(squares), numbers=releases)
