"""Comparisons of two arms whose outcomes are fractions, or are missing.

**Fractions** in [0, 1], u = y - ½. Blocks release S = Σu and Q = Σu² with noise of variance v and
w, which costs what S alone would (`privacy.moments`):

    Z = (S₁/n₁ - S₀/n₀) / sqrt(σ̂²(1/n₁+1/n₀) + lv(1/n₁²+1/n₀²))
    σ̂² = clip((Q₁+Q₀+κ/2)/(n₁+n₀+2κ) - ū², 10⁻⁴, ¼),  ū = (S₁+S₀)/(n₁+n₀)

near normal as n grows; that is all. *Certified* is rounding: with y turned into 1 with probability
y, else 0, before it is summed, `design` holds as it is for any distribution in [0, 1].

**Missing.** (i) A declared value, 0 or 1: `design` holds for the composite outcome. (ii) The
centred pair: blocks release S = Σru and R = Σr. With R clipped to [1, n] and m̃ = ½ +
(S₁+S₀)/(R₁+R₀+2κ),

    Z = (S₁/R₁ - S₀/R₀) / sqrt(Σ_a [m̃(1-m̃)/R_a + l(v + (m̃-½)²w)/R_a²])

compares those who answered; it speaks of all if outcomes are missing at random within arms, whose
rates of answering may differ. For S - (m-½)R has mean 0 and variance nρm(1-m) + l(v + (m-½)²w).
(iii) Else bounds: with d in place of an arm's missing outcomes its mean is (S + R/2 + d(n-R))/n,
for any d in [0, 1], free. `tipping` says which d would turn the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._checks import count, number
from ..errors import InvalidArgument
from ..privacy._moments import JointSums
from ..privacy.budgets import Budget, Pure

if TYPE_CHECKING:
    from .._types import Array, Floats


@dataclass(frozen=True)
class Spread:
    """The noise on a pair of released sums: the variance of one draw on each, and κ.

    Example:
        >>> from discreet import confirm, privacy
        >>> confirm.Spread.of("answers", privacy.Pure(1.0))
        Spread(first=2.0, second=8.0, shrink=2.0)
    """

    first: float
    second: float
    shrink: float

    @classmethod
    def of(cls, kind: str, budget: Budget) -> Spread:
        """Of the noise that a budget has for a kind of sums: moments or answers."""
        made = JointSums.calibrated(kind, budget)
        twice = 2.0 if isinstance(budget, Pure) else 1.0
        return cls(
            twice * made.scales[0] ** 2, twice * made.scales[1] ** 2,
            (2.0 if isinstance(budget, Pure) else 2.0**0.5) * made.scales[0],
        )  # fmt: skip


def fractional_z(n: Array, first: Array, second: Array, look: int, spread: Spread) -> Floats:
    """The statistic Z of two arms whose outcomes are fractions in [0, 1].

    With u = y - ½, blocks release Σu and Σu². Near normal as arms grow; that is all that is
    claimed.

    Args:
        n: Places of (treatment, control).
        first: Released sums of u, of each.
        second: Released sums of u², of each.
        look: How many releases are behind each sum.
        spread: The variances of their noise.

    Returns:
        Z; an array if the sums are of many trials.

    Raises:
        InvalidArgument: If `look` is not a positive whole number.

    Example:
        >>> from discreet import confirm, privacy
        >>> spread = confirm.Spread.of("moments", privacy.Pure(1.0))
        >>> round(float(confirm.fractional_z([100, 100], [12.0, -3.0], [8.0, 9.0], 1, spread)), 2)
        3.25
    """
    n, first, second = (np.asarray(part, float) for part in (n, first, second))
    look = count("look", look, fix="use look=1")
    n = n.reshape(n.shape + (1,) * (first.ndim - n.ndim))
    both = n.sum(0)
    middle = first.sum(0) / both
    square = (second.sum(0) + 0.5 * spread.shrink) / (both + 2.0 * spread.shrink)
    variance = np.clip(square - middle**2, 1e-4, 0.25)
    noisy = look * spread.first * (1.0 / n**2).sum(0)
    gap = first[0] / n[0] - first[1] / n[1]
    return np.asarray(gap / np.sqrt(variance * (1.0 / n).sum(0) + noisy))


def answered_z(n: Array, first: Array, answers: Array, look: int, spread: Spread) -> Floats:
    """The statistic Z of two arms where some outcomes are missing: it compares those who answered.

    With r = 1 for an answer and u = y - ½, blocks release Σru and Σr. It speaks of all participants
    only if outcomes are missing at random within arms.

    Args:
        n: Places of (treatment, control).
        first: Released sums of ru, of each.
        answers: Released sums of r, of each.
        look: How many releases are behind each sum.
        spread: The variances of their noise.

    Returns:
        Z; an array if the sums are of many trials.

    Raises:
        InvalidArgument: If `look` is not a positive whole number.

    Example:
        >>> from discreet import confirm, privacy
        >>> spread = confirm.Spread.of("answers", privacy.Pure(1.0))
        >>> round(float(confirm.answered_z([100, 100], [12.0, -3.0], [91.0, 84.0], 1, spread)), 2)
        2.13
    """
    n, first, answers = (np.asarray(part, float) for part in (n, first, answers))
    look = count("look", look, fix="use look=1")
    n = n.reshape(n.shape + (1,) * (first.ndim - n.ndim))
    r = np.clip(answers, 1.0, n)
    off = np.clip(first.sum(0) / (r.sum(0) + 2.0 * spread.shrink), -0.5, 0.5)
    noisy = look * (spread.first + off**2 * spread.second)
    variance = ((0.25 - off**2) / r + noisy / r**2).sum(0)
    return np.asarray((first[0] / r[0] - first[1] / r[1]) / np.sqrt(variance))


@dataclass(frozen=True)
class Arm:
    """What an arm released, in all: places, Σr(y-½) and Σr, both noisy (r = 1 for an answer).

    Example:
        >>> from discreet import confirm
        >>> arm = confirm.Arm(places=100, total=12.0, answered=91.0)
        >>> arm.mean(missing=0.5)  # if missing outcomes were 0.5 on average
        0.62
    """

    places: int
    total: float
    answered: float

    def __post_init__(self) -> None:
        count("places", self.places, fix="give the participants of the arm")
        number("total", self.total, fix="give the released sum")
        number("answered", self.answered, fix="give the released count")

    def mean(self, missing: float) -> float:
        """The arm's mean if missing outcomes were `missing` on average; clipped to [0, 1]."""
        d = number("missing", missing, low=0.0, high=1.0, fix="use missing=0.5")
        answered = min(max(self.answered, 0.0), float(self.places))
        found = (self.total + 0.5 * answered + d * (self.places - answered)) / self.places
        return min(max(found, 0.0), 1.0)


def difference_bounds(treatment: Arm, control: Arm) -> tuple[float, float]:
    """The smallest and largest difference of means that missing outcomes leave, noise aside.

    Args:
        treatment: What the treatment released.
        control: What the control released.

    Returns:
        The difference treatment - control if all missing outcomes speak against it, and for it.

    Example:
        >>> from discreet import confirm
        >>> treated, control = confirm.Arm(100, 12.0, 91.0), confirm.Arm(100, -3.0, 84.0)
        >>> [round(end, 3) for end in confirm.difference_bounds(treated, control)]
        [0.025, 0.275]
    """
    low = treatment.mean(0.0) - control.mean(1.0)
    return low, treatment.mean(1.0) - control.mean(0.0)


def tipping(
    treatment: Arm, control: Arm, among: Sequence[float]
) -> list[tuple[float, float | None]]:
    """What missing outcomes of the treatment would have to be for the difference to vanish.

    Args:
        treatment: What the treatment released.
        control: What the control released.
        among: Means that the control's missing outcomes might have.

    Returns:
        For each of these values: that of the treatment's missing outcomes at which the difference
        is 0, or None if no value in [0, 1] does that.

    Raises:
        InvalidArgument: If `among` is empty or leaves [0, 1].

    Example:
        >>> from discreet import confirm
        >>> treated, control = confirm.Arm(100, 4.0, 80.0), confirm.Arm(100, 0.0, 70.0)
        >>> [(at, round(tip, 3)) for at, tip in confirm.tipping(treated, control, (0.5, 0.6))]
        [(0.5, 0.3), (0.6, 0.45)]
    """
    found: list[tuple[float, float | None]] = []
    for given in among:
        d0 = number("among", given, low=0.0, high=1.0, fix="use among=(0.0, 0.5, 1.0)")
        low = treatment.mean(0.0) - control.mean(d0)
        high = treatment.mean(1.0) - control.mean(d0)
        if low == high or not low <= 0.0 <= high:
            found.append((d0, None))
        else:
            found.append((d0, -low / (high - low)))
    if not found:
        raise InvalidArgument("among", "hold a value", among, "use among=(0.0, 0.5, 1.0)")
    return found
