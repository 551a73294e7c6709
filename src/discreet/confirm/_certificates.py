"""Type I error at every common rate: exact on a grid, bounded in between.

Let f(p) = P(reject) when all N outcomes are Bernoulli(p). The number K of ones is sufficient, so
f = E g(K) with g(k) = P(reject | K = k) in [0, 1], free of p, whatever the noise and the stopping.

**Lemma.** In θ with p = sin²θ, f'' >= -ω²f, where ω² = 4N + cot²2θ. Hence on [θ, θ+h] below π/4,
with h < π/ω(θ): f <= max(f(θ), f(θ+h)) / cos(ω(θ)h/2). And f(p) <= f(0) + Np.

Proof. f'' = E g(K)(ℓ'² + ℓ''), ℓ the log-likelihood. With x = K - Np, ℓ'² + ℓ'' = -4N +
(4x² - 2x(1-2p))/(p(1-p)) >= -4N - (1-2p)²/(4p(1-p)) = -ω², at x = (1-2p)/4; and g >= 0. ω falls up
to π/4, so f minus the solution of u'' = -ω(θ)²u with both ends at the larger one is <= 0 in between
(Sturm's comparison). Last: P(K > 0) <= Np and g <= 1. ∎

Exchanging ones and zeros turns Z into -Z, and exchanging two arms of equal sizes does so too: f(p)
= f(1-p) for two sides, or equal sizes. Else the grid's mirror image is reckoned as well.

One side, "the treatment is better": where Z > c·b_l stays true as S₁ grows and as S₀ falls, coupled
outcomes show that P(reject) grows in the treatment's rate and falls in the control's. Then common
rates are the worst, and the bound holds for all rates p₁ <= p₀. Z itself need not be monotone (at
large ε noise can make p̂ tiny), so this is looked up on the lattice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidArgument
from ._families import Crossings, Family
from ._lattice import Law, Sizes, Stops, statistic, two_arm_rule
from ._noises import Noise

if TYPE_CHECKING:
    from .._types import Floats

FINE, COARSE, LARGE, WIDE = 0.004, 0.02, 5000, 500
"""r, of small and of large trials, by participants or by values of a sum: between points of the
grid the error is at most 1 + r times that of its ends. Large trials have many points and each takes
long, so they give a little power away."""
TRIMMED = 1e-6
"""Mass of a tail that the lattice leaves out, as a share of the risk. It is counted as rejected."""
SCOUTS = 24
"""Rates at which the textbook's boundaries are tried first."""
ROUNDING = 1e-9
"""Allowance for floating-point arithmetic and for tails of the noise, added to every error."""
PRECISION = 5e-4
"""How closely the least factor is found."""
WIDEST = 4000
"""Values of an arm's sum on the lattice, at most: a matrix of 128 MB."""
LEAST_FACTOR, LARGEST_FACTOR = 0.8, 16.0


@dataclass(frozen=True)
class Question:
    """A test whose factor is looked for; of one treatment, or of several against one control."""

    sizes: Sizes
    noise: Noise
    bounds: tuple[float, ...]
    risk: float
    sides: int
    treatments: int = 1
    fixed: int = 0
    """so many first boundaries are not multiplied"""

    def bounds_at(self, factor: float) -> tuple[float, ...]:
        """The boundaries, with a factor."""
        moved = tuple(factor * b for b in self.bounds[self.fixed :])
        return (*self.bounds[: self.fixed], *moved)

    @property
    def participants(self) -> int:
        """N, all arms."""
        return self.treatments * self.sizes[-1][0] + self.sizes[-1][1]

    @property
    def is_symmetric(self) -> bool:
        """Whether f(p) = f(1-p)."""
        equal = all(n1 == n0 for n1, n0 in self.sizes)
        return self.sides == 2 or (equal and self.treatments == 1)


@dataclass(frozen=True)
class Certificate:
    """The proof that a design keeps its risk: errors at many rates, and a bound in between.

    `errors` holds P(reject) at each of `rates`; `largest` is the largest, at `worst_rate`. Each may
    be off by `allowance`, what the lattice left out. `bound` has it inside and is proved for every
    common rate. `composite`, of one side: whether it is for all treatment rates up to the
    control's, too; None if that was not checked (two sides, or very many participants).

    Example:
        >>> import discreet
        >>> found = discreet.confirm.design(60, looks=1, epsilon=1.0).certificate
        >>> len(found.rates), round(found.largest, 4), round(found.bound, 4)
        (80, 0.0491, 0.0493)
        >>> found.bound <= found.risk
        True
    """

    participants: int
    sides: int
    risk: float
    factor: float
    boundaries: tuple[float, ...]
    rates: tuple[float, ...]
    errors: tuple[float, ...]
    mirrored: bool
    largest: float
    worst_rate: float
    allowance: float
    bound: float
    composite: bool | None

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Certificate:
        """The inverse of `to_dict`. The lemma is applied once more: what does not follow from the
        errors that are given is refused."""
        if not isinstance(data, Mapping) or set(data) != {field.name for field in fields(cls)}:
            raise InvalidArgument(
                "certificate", "be what to_dict made", type(data).__name__, "pass it as it was made"
            )
        made: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        found = cls(**made)
        angles = np.arcsin(np.sqrt(np.array(found.rates[1:])))
        errors = np.array(found.errors) + found.allowance
        bound = bound_between(angles, errors[1:], float(errors[0]), found.participants)
        if not math.isclose(bound, found.bound, rel_tol=1e-9) or found.rates[-1] != 0.5:
            raise InvalidArgument(
                "certificate", "have the bound that follows from its errors", found.bound,
                "pass it as it was made, or plan the test anew",
            )  # fmt: skip
        return found

    def __str__(self) -> str:
        both = " and their mirror images" if self.mirrored else ""
        return (
            f"type I error at most {self.bound:.5f} at every common rate: computed at "
            f"{len(self.rates)} rates{both}, the largest {self.largest:.5f} at "
            f"{self.worst_rate:.4g}"
        )


def frequency(theta: float, participants: int) -> float:
    """ω(θ)."""
    return math.sqrt(4.0 * participants + 1.0 / math.tan(2.0 * theta) ** 2)


def grid(participants: int, risk: float, r: float = FINE) -> Floats:
    """Angles up to π/4 with 1/cos(ωh/2) <= 1 + r, from where Np = r·risk/2."""
    theta, end = math.sqrt(0.5 * r * risk / participants), math.pi / 4.0
    angles = [theta]
    while theta < end:
        theta += 2.0 * math.acos(1.0 / (1.0 + r)) / frequency(theta, participants)
        angles.append(min(theta, end))
    return np.array(angles)


def bound_between(angles: Floats, errors: Floats, at_zero: float, participants: int) -> float:
    """The lemma: a bound on f over all rates up to ½, from its values on a grid of angles."""
    most = at_zero + participants * math.sin(angles[0]) ** 2
    for (low, high), ends in zip(pairwise(angles), pairwise(errors), strict=True):
        turn = 0.5 * frequency(low, participants) * (high - low)
        most = max(most, max(ends) / math.cos(turn)) if 0.0 < turn < 0.5 * math.pi else math.inf
    return float(most)


def is_composite(question: Question, factor: float) -> bool | None:
    """Whether rejecting is monotone in both sums, wherever noise within its table can take them."""
    reach = len(question.noise.masses) // 2
    wide = [n + 2 * len(question.sizes) * reach for n in question.sizes[-1]]
    if question.sides == 2 or max(wide) > WIDEST:
        return None
    bounds = question.bounds_at(factor)
    for look, (size, bound) in enumerate(zip(question.sizes, bounds, strict=True), 1):
        s1, s0 = (np.arange(-look * reach, n + look * reach + 1.0) for n in size)
        rejects = statistic(s1[:, None], s0[None, :], size, look, question.noise) > bound
        if (rejects[:-1] & ~rejects[1:]).any() or (rejects[:, 1:] & ~rejects[:, :-1]).any():
            return False
    return True


class Calibration:
    """The errors of a test, with the laws of its sums made once per rate."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.trim = TRIMMED * question.risk
        half = self.law(0.5)  # where sums spread most
        width = max(sum(len(step[arm][1]) for step in half.steps) for arm in (0, 1))
        if width > WIDEST:
            raise InvalidArgument(
                "participants", f"spread sums over at most {WIDEST} values, noise included",
                f"{width} values at {question.participants}",
                "use a larger epsilon, fewer looks or participants; for a size, exact=False",
            )  # fmt: skip
        large = question.participants > LARGE or width > WIDE
        self.slack = COARSE if large else FINE
        self.angles = grid(question.participants, question.risk, self.slack)
        self.rates = [0.0, *(float(math.sin(angle) ** 2) for angle in self.angles)]
        self.rates[-1] = 0.5
        self.laws: dict[float, Law | Family] = {0.5: half}
        self.last: dict[float, tuple[float, float, float]] = {}

    def law(self, rate: float) -> Law | Family:
        """Of the sums, at a common rate."""
        asked = self.question
        if asked.treatments == 1:
            return Law(asked.sizes, asked.noise, rate, rate, self.trim)
        rates = (rate,) * asked.treatments
        return Family(asked.sizes, asked.noise, rates, rate, self.trim)

    def error(self, rate: float, factor: float) -> tuple[float, float]:
        """f(p) or f(1-p), whichever is larger; and what the lattice lost."""
        if self.last.get(rate, (0.0,))[0] != factor:
            asked = self.question
            rule = two_arm_rule(asked.bounds_at(factor), 1.0, asked.sides)
            found: list[Stops | Crossings] = []
            for p in (rate,) if asked.is_symmetric else (rate, 1.0 - rate):
                if p not in self.laws:
                    self.laws[p] = self.law(p)
                found.append(self.laws[p].stops(rule))
            worst = max(each.rejected for each in found), max(each.lost for each in found)
            self.last[rate] = (factor, *worst)
        return self.last[rate][1:]

    def holds(self, rate: float, factor: float) -> bool:
        """Whether (1 + r) times the error is below the risk."""
        error, lost = self.error(rate, factor)
        return (1.0 + self.slack) * (error + lost + ROUNDING) <= self.question.risk

    def certify(self, factor: float) -> Certificate:
        """The certificate at a factor, whether its bound keeps the risk or not."""
        asked = self.question
        found = [self.error(rate, factor) for rate in self.rates]
        errors = np.array([error for error, _ in found])
        allowance = max(lost for _, lost in found) + ROUNDING
        worst = int(np.argmax(errors))
        # f(p) and f(1-p) obey the lemma each, and their larger ends bound both
        most = errors + allowance
        bound = bound_between(self.angles, most[1:], float(most[0]), asked.participants)
        return Certificate(
            asked.participants, asked.sides, asked.risk, factor,
            asked.bounds_at(factor), tuple(self.rates),
            tuple(float(error) for error in errors), not asked.is_symmetric,
            float(errors[worst]), self.rates[worst], allowance,
            bound, is_composite(asked, factor),
        )  # fmt: skip

    def least(self, rate: float, low: float) -> float:
        """The least factor from `low` on at which a rate holds, to `PRECISION`."""
        if self.holds(rate, low):
            return low
        high = low + 0.01
        while not self.holds(rate, high):
            low, high = high, high + 2.0 * (high - low)
            if high > LARGEST_FACTOR:
                raise InvalidArgument(
                    "risk", "be one that these sizes can keep under this noise",
                    self.question.risk, "use more participants, fewer looks or a larger epsilon",
                )  # fmt: skip
        while high - low > PRECISION:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.holds(rate, middle) else (middle, high)
        return high

    def worst_first(self, factor: float = 1.0) -> list[float]:
        """The grid, rates that look worst at a factor first."""
        places = range(0, len(self.rates), max(8, len(self.rates) // SCOUTS))
        seen = [self.error(self.rates[place], factor)[0] for place in places]
        guess = np.interp(np.arange(len(self.rates)), places, seen)
        return [self.rates[place] for place in np.argsort(-guess, kind="stable")]

    def likely(self) -> float:
        """About the least factor for all rates, from a few of them alone: no proof."""
        factor = self.least(self.worst_first()[0], LEAST_FACTOR)
        for rate in self.worst_first(factor)[:12:4]:
            factor = self.least(rate, factor)
        return factor


def likely_factor(question: Question) -> float:
    """About the factor that `calibrate` will find, from a few rates alone: no proof."""
    return Calibration(question).likely()


def calibrate(question: Question) -> Certificate:
    """The least factor whose proved bound keeps the risk, to `PRECISION`, with its certificate.

    P(reject) falls in the factor at each rate, so a rate that holds goes on to hold while others
    raise the factor: one walk over the grid finds it, a second one reckons all errors there.
    """
    work = Calibration(question)
    factor = work.likely()
    for rate in work.worst_first(factor):
        factor = work.least(rate, factor)
    found = work.certify(factor)
    while found.bound > question.risk:  # by what the lattice lost, if that is more than expected
        factor += PRECISION
        found = work.certify(factor)
    return found
