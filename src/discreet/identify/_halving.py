"""Fixed size: which arm is best, after a number of participants that is fixed in advance.

Rounds with m_0 = K arms, then m_{r+1} = ceil(m_r / q) while more than one is left. Round r has a
share of the T participants in proportion to m_r^p, the same number for each of its arms; the
m_{r+1} arms with the highest running means stay, in the last round one.

    halving            q = 3, p = 1/2: thirds, more for early rounds, where noise is a larger part
    classical halving  q = 2, p = 0: halves, equal rounds (Karnin, Koren & Somekh 2013)
    uniform            one round

Private: who is in which round follows from earlier releases; every outcome is in one noisy batch,
and running sums of these are free. There is no risk that is promised: `error_bound` is Chernoff's,

    P(error) <= Σ_r min(1, (1/m_{r+1}) Σ_{a≠*} e^{-C_a}),
    C_a = sup_l -N_r log(1-μ_a+μ_a e^l) - N_r log(1-μ_*+μ_* e^-l) - 2 (r+1) κ(l),

N_r an arm's pulls by the end of round r: the best arm is lost in round r only if m_{r+1} others
lead it, so that their number, whose mean is the inner sum, is at least m_{r+1} (Markov). It is
some 20 times too large: plan by simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import count
from .._compiled import Function, Kernel
from ..errors import InvalidArgument
from ..policies import Phases, Release, Rule, Schedule, Setting
from ..policies._elimination import Race, count_active, fresh_race, next_active, next_in_turn
from ..policies._view import View
from ..policies.releases._entries import Noise
from ._stopping import Stopping

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._compiled import Integers


class Rounds(NamedTuple):
    """Batch of every arm in a round, and the arms that stay after it; one entry a round."""

    length: Integers
    stay: Integers


def rounds_of(
    arms: int, participants: int, cut: float, power: float
) -> tuple[list[int], list[int]]:
    """Batch sizes and survivors, round by round."""
    sizes = [arms]
    while sizes[-1] > 1:
        sizes.append(max(1, math.ceil(sizes[-1] / cut)) if math.isfinite(cut) else 1)
    playing, stay = sizes[:-1], sizes[1:]
    whole = math.fsum(m**power for m in playing)
    lengths = [math.floor(participants * m**power / (whole * m)) for m in playing]
    if min(lengths) < 1:
        raise InvalidArgument(
            "participants", f"give every arm of every round one: {arms} arms need more",
            participants, f"use participants={math.ceil(2 * whole * max(playing))}",
        )  # fmt: skip
    return lengths, stay


def choose_halving(rule: Rounds, memory: Race, view: View, t: int, rng: Generator) -> int:
    """The next active arm of the round."""
    memory.length[0] = rule.length[memory.epoch[0]]
    return next_in_turn(memory, len(view.size))


def enough_halved(
    stopping: object, rule: Rounds, memory: Race, view: View, best: int, t: int
) -> bool:
    """At the end of a round: keep the arms with the highest running means; stop with one."""
    arms = len(view.size)
    if next_active(memory, memory.next[0], arms) < arms:
        return False
    stay = rule.stay[memory.epoch[0]]
    while count_active(memory, arms) > stay:
        worst = -1
        for arm in range(arms):
            if memory.active[arm] == 1 and (worst < 0 or view.value[arm] <= view.value[worst]):
                worst = arm
        memory.active[worst] = 0
    memory.epoch[0] += 1
    memory.next[0] = 0
    return bool(stay == 1)


@dataclass(frozen=True)
class Halving(Rule):
    """Drop the worse part of the arms after every round of a fixed length."""

    participants: int | None = None
    cut: float = 3.0
    power: float = 0.5
    compares: ClassVar[str] = "looks"
    sets_phases: ClassVar[bool] = True
    eliminates: ClassVar[bool] = True
    ends: ClassVar[str] = "rounds"
    fixed_size: ClassVar[bool] = True
    name: ClassVar[str] = "halving"
    choose: ClassVar[Function | Kernel] = staticmethod(choose_halving)

    def __post_init__(self) -> None:
        if self.participants is not None:
            count("participants", self.participants, least=2, fix="use for example 2000")
        if not self.cut > 1.0:
            raise InvalidArgument("cut", "be above 1", self.cut, "use cut=3")

    def lengths(self, arms: int) -> tuple[list[int], list[int]]:
        """Batch sizes and survivors, round by round."""
        if self.participants is None:
            raise InvalidArgument(
                "participants", "be given for a search of fixed size", None,
                "use for example participants=2000",
            )  # fmt: skip
        return rounds_of(arms, self.participants, self.cut, self.power)

    def parameters(self, setting: Setting) -> Rounds:
        import numpy as np

        lengths, stay = self.lengths(setting.arms)
        if setting.source.secure:
            return Rounds(lengths, stay)
        return Rounds(np.array(lengths), np.array(stay))

    def planned_rounds(self, setting: Setting) -> tuple[int, bool] | None:
        return len(self.lengths(setting.arms)[0]), not math.isfinite(self.cut)

    def memory(self, setting: Setting) -> Race:
        return fresh_race(setting.arms)


@dataclass(frozen=True)
class Halved(Stopping):
    """Stop at the end of the last round."""

    name: ClassVar[str] = "fixed number of participants"
    ends: ClassVar[str] = "rounds"
    fitting = ("play rounds of fixed lengths", "Halving(participants=2000)")
    enough = Kernel(enough_halved)

    def covers(self, schedule: Schedule, release: Release) -> bool:
        return False


@dataclass(frozen=True)
class HalvingRounds(Phases):
    """Rounds of fixed lengths."""

    name: ClassVar[str] = "rounds of fixed lengths"


def error_bound(means: Sequence[float], rule: Halving, noise: Noise) -> float:
    """Chernoff's bound on the probability of a wrong answer: loose."""
    lengths, stay = rule.lengths(len(means))
    top = max(means)
    others = list(means)
    others.remove(top)
    bound, pulls = 0.0, 0
    for number, (length, left) in enumerate(zip(lengths, stay, strict=True)):
        pulls += length
        lost = math.fsum(
            math.exp(-_exponent(mean, top, pulls, number + 1, noise)) for mean in others
        )
        bound += min(1.0, lost / left)
    return min(1.0, bound)


def _exponent(mean: float, best: float, pulls: int, batches: int, noise: Noise) -> float:
    """C_a: a concave function of the tilt, maximised by golden section."""
    golden = (math.sqrt(5.0) - 1.0) / 2.0

    def value(tilt: float) -> float:
        rise = math.log1p(mean * math.expm1(tilt)) + math.log1p(best * math.expm1(-tilt))
        times = pulls if noise.each else batches
        return -pulls * rise - 2.0 * times * noise.log_moment(tilt)

    low, high = 0.0, 20.0 if noise.kind != "laplace" else (1.0 - 1e-9) / noise.scale
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if value(left) < value(right):
            low = left
        else:
            high = right
    return max(0.0, value(0.5 * (low + high)))
