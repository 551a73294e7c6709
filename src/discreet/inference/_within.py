"""Differences of two arms within epochs: evidence that a trend which both share cannot bend.

In an epoch arms a and c have n_a and n_c places, whose order is random; their cells are released as
X_a + Y_a and X_c + Y_c, X the sum of outcomes in [0, 1] and Y independent noise with log-moment κ.
Let D = (X_a + Y_a)/n_a - (X_c + Y_c)/n_c, m = min(n_a, n_c), M the other one, s = λ/n_a, t = λ/n_c,

    q(z) = log(1 - |d| + |d| e^z),
    B_λ(d) = m q(±λ/m) + v x²/8,   x = s + t ∓ (q(±s) + q(±t)),   v = m (M + 1) / (m + M),

the upper signs for d >= 0, the lower for d < 0, and over effects j and epochs e

    U(d) = Σ_j w_j exp Σ_e [λ D - κ(s) - κ(t) - B_λ(d)],   0 < λ <= m a function of j and the sizes.

**Assumed.** (1) Sizes of an epoch are functions of earlier releases. (2) Given these sizes, earlier
releases and whatever participants share, every order of the arms' places is as likely as any other,
anyone who comes, and outcomes of different participants are independent. (3) A participant's mean
outcome is p under c and p + d under a; p may be anything and change from one to the next.

Theorem. U(d) is a non-negative supermartingale over epochs that starts at 1; also if the
differences of participants are not d but any numbers up to d.
Proof. Given the order e^{zY} <= 1 - Y + Y e^z, so that outcomes may be taken as Bernoulli. If a
difference is below d, raise the mean under a, or lower that under c, until it is d: this only makes
E e^{λD} larger. Which places of those of a and c are a's is a random subset. So the mean of
exp(λ(X_a/n_a - X_c/n_c)) is symmetric in the p, and affine in each, hence largest where every p is
at an end of its range. Let d >= 0, and of the N = n_a + n_c let h have p = 1 - d and the others 0;
J of the h are a's. A place of a has the factor e^s if it is one of the h, else e^{q(s)}; one of c
has e^{q(t) - t}, else 1. With x = s - q(s) + t - q(t) the mean is e^{n_a q(s) + h (q(t) - t)} times
E e^{xJ}. By Serfling, log E e^{xJ} <= x h n_a/N + x² n_a (1 - (n_a - 1)/N)/8, and h - J in place of
J gives the same with n_c; the smaller of the two has v. What is left is affine in h: n_a q(s) at
h = 0 and n_c q(t) at h = N. q(z)/z grows, so the larger one is that of m. For d < 0 turn outcomes
into 1 - Y. Noise brings e^{κ(s) + κ(t)}. So the factor of an epoch has a mean of at most 1 given
earlier ones. ∎

At d = 0, B = λ²/8 (1/n_a + 1/n_c) (1 + 1/M), Hoeffding's bound for outcomes that do not drift but
for 1/M: what is paid for trends *within* epochs is next to nothing. B grows with d (its slope is at
least m q'(λ/m) (1 - x/2) for d >= 0, and x <= 2 as λ <= m; both terms fall as |d| grows for d < 0),
so U falls, and P(ever U(d) >= 2/α) <= α/2 (Ville) makes {d : U(d) < 2/α} a half-line that holds the
difference at all times; the upper end is minus the lower one of c and a.

Hoeffding (1963); Serfling (1974); Ville (1939).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .._checks import Name
from ..policies.releases._entries import LAPLACE, Noise
from ._tails import HALVINGS, last_refused

if TYPE_CHECKING:
    from .._types import Floats

LARGEST, RATIO, EFFECTS = 0.5, 1.5, 16
"""Gaps that the mixture is made for: 0.5 to 0.001."""

Cells = tuple[tuple[tuple[int, float | None], ...], ...]
"""By epoch and arm: places, and the noisy sum of outcomes in [0, 1] once it is released."""


@dataclass(frozen=True)
class EpochRecord:
    """All that differences within epochs may be built from: a trial with `trend=True` has one.

    Example:
        >>> from discreet.inference import EpochRecord, differences
        >>> data = {
        ...     "arms": ["drug", "placebo"], "outcome_range": [0.0, 1.0],
        ...     "noise": {"kind": "laplace", "scale": 1.0},
        ...     "cells": [[[40, 30.0], [40, 8.0]], [[40, 33.0], [40, 11.0]]],  # places, noisy sum
        ... }
        >>> print(differences(EpochRecord.from_dict(data), against="placebo"))
        95 % intervals for differences within epochs, anytime, all at once
        drug - placebo: 0.55 in [0.2852, 0.7631]
    """

    arms: tuple[Name, ...]
    cells: Cells
    """of epochs that were not cut short"""
    noise: Noise
    outcome_range: tuple[float, float] = (0.0, 1.0)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        cells = [[list(cell) for cell in epoch] for epoch in self.cells]
        return asdict(self) | {
            "arms": list(self.arms), "cells": cells, "noise": self.noise._asdict(),
            "outcome_range": list(self.outcome_range),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EpochRecord:
        """The inverse of `to_dict`."""
        low, high = data["outcome_range"]
        cells = tuple(
            tuple((int(n), None if x is None else float(x)) for n, x in epoch)
            for epoch in data["cells"]
        )
        return cls(tuple(data["arms"]), cells, Noise(**data["noise"]), (low, high))

    @property
    def width(self) -> float:
        """Of the range of outcomes."""
        return self.outcome_range[1] - self.outcome_range[0]


def epochs_of(source: object) -> EpochRecord | None:
    """The cells of a trial in epochs, of its rehearsal or of its report; None of anything else."""
    if isinstance(source, EpochRecord):
        return source
    show = getattr(source, "public_epochs", None)
    if callable(show):
        found: EpochRecord | None = show()
        return found
    trend = source.get("trend") if isinstance(source, Mapping) else None
    data = trend.get("record") if isinstance(trend, Mapping) else None
    return EpochRecord.from_dict(data) if isinstance(data, Mapping) else None


class Within:
    """What the epochs of two arms say against "a is ahead of c by at most d"."""

    def __init__(self, record: EpochRecord, a: int, c: int) -> None:
        import numpy as np

        both = [
            (*epoch[a], *epoch[c])
            for epoch in record.cells
            if epoch[a][1] is not None and epoch[c][1] is not None
        ]
        n_a, x_a, n_c, x_c = np.array(both, float).reshape(-1, 4).T
        self.size = int(n_a.sum() + n_c.sum())
        """outcomes of both arms"""
        gap = x_a / n_a - x_c / n_c
        weight = 1.0 / (0.25 * (1 / n_a + 1 / n_c) + _variance(record.noise) * (n_a**-2 + n_c**-2))
        self.estimate = float(weight @ gap / weight.sum()) if both else None
        small, large = np.minimum(n_a, n_c), np.maximum(n_a, n_c)
        tilt = tilts(small, large, record.noise)
        s, t = tilt / small[:, None], tilt / large[:, None]
        self._tilts = small[:, None], s, t
        self._spread = (small * (large + 1.0) / (small + large))[:, None] / 8.0
        self._fixed = tilt * gap[:, None] - _moment(record.noise, s) - _moment(record.noise, t)
        weights = 1.0 / (np.arange(EFFECTS) + 4.0)
        self.weights = np.log(weights / weights.sum())
        """log w_j"""

    def log(self, d: float) -> float:
        """log U(d)."""
        import numpy as np

        logs = self.weights + self.steps(d).sum(axis=0)
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).sum()))

    def steps(self, d: float) -> Floats:
        """What every epoch adds to the exponent, by effect."""
        difference: Floats = self._fixed - self.bound(d)
        return difference

    def bound(self, d: float) -> Floats:
        """B_λ(d), by epoch and effect."""
        import numpy as np

        small, s, t = self._tilts
        sign, size = math.copysign(1.0, d), min(abs(d), 1.0)
        of_s, of_t = (np.log1p(size * np.expm1(sign * tilt)) for tilt in (s, t))
        x = s + t - sign * (of_s + of_t)
        return np.asarray(small * of_s + self._spread * x * x)

    def least(self, level: float) -> float:
        """The d up to which all are refused at a level, log U(d) >= level; -1 if none is."""
        return last_refused(lambda d: self.size > 0 and self.log(d) >= level, -1.0, 1.0)


def limits_within(record: EpochRecord, a: int, c: int, alpha: float) -> tuple[float, float]:
    """Both ends for the difference of two arms within epochs, at any time; a shared trend cancels.

    Args:
        record: The cells of the trial.
        a: The number of one arm, from 0.
        c: The number of the other.
        alpha: The probability that the ends may fail.

    Returns:
        The ends, for outcomes in [0, 1].

    Example:
        >>> from discreet.inference import EpochRecord, limits_within
        >>> data = {
        ...     "arms": ["drug", "placebo"], "outcome_range": [0.0, 1.0],
        ...     "noise": {"kind": "laplace", "scale": 1.0},
        ...     "cells": [[[40, 30.0], [40, 8.0]], [[40, 33.0], [40, 11.0]]],  # places, noisy sum
        ... }
        >>> [round(end, 2) for end in limits_within(EpochRecord.from_dict(data), 0, 1, alpha=0.05)]
        [0.29, 0.76]
    """
    level = math.log(2.0 / alpha)
    ends = Within(record, a, c).least(level), -Within(record, c, a).least(level)
    # evidence both ways at once (an effect that changes) leaves no d: show what it speaks against
    return min(ends), max(ends)


def ahead_within(record: EpochRecord, arm: int, level: float) -> list[tuple[float, float]]:
    """How far an arm is ahead of every other, on the outcomes' scale: at all times and for all
    pairs of arms at once, so that the arm may be chosen after a look; (0, 0) of the arm itself."""
    arms = range(len(record.arms))
    alpha = (1.0 - level) / (len(arms) * (len(arms) - 1) / 2.0)
    found = [(0.0, 0.0) if c == arm else limits_within(record, arm, c, alpha) for c in arms]
    return [(record.width * low, record.width * high) for low, high in found]


def tilts(small: Floats, large: Floats, noise: Noise) -> Floats:
    """λ by epoch and effect: where the gap of the effect equals the slope of B and κ, at most m
    and inside the range of κ."""
    import numpy as np

    gaps = LARGEST * RATIO ** -np.arange(float(EFFECTS))
    low = np.zeros((len(small), EFFECTS))
    most = min(1.0, 1.0 / noise.scale) if noise.kind == LAPLACE else 1.0
    high = np.broadcast_to((small * most)[:, None], low.shape)
    n, other = small[:, None], large[:, None]
    for _ in range(HALVINGS):
        tilt = 0.5 * (low + high)
        slope = 0.25 * tilt * (1.0 / n + 1.0 / other)
        slope = slope + _slope(noise, tilt / n) / n + _slope(noise, tilt / other) / other
        enough = slope < gaps
        low, high = np.where(enough, tilt, low), np.where(enough, high, tilt)
    return np.asarray(low)


def _moment(noise: Noise, tilt: Floats) -> Floats:
    """κ, by entry."""
    import numpy as np

    square = (tilt * noise.scale) ** 2
    return np.asarray(-np.log1p(-square) if noise.kind == LAPLACE else 0.5 * square)


def _slope(noise: Noise, tilt: Floats) -> Floats:
    """κ'."""
    import numpy as np

    slope = tilt * noise.scale**2
    if noise.kind == LAPLACE:
        slope = 2.0 * slope / (1.0 - (tilt * noise.scale) ** 2)
    return np.asarray(slope)


def _variance(noise: Noise) -> float:
    return (2.0 if noise.kind == LAPLACE else 1.0) * noise.scale**2
