"""Several noisy sums of one block at the price of one.

An outcome y in [0, 1] enters as u = y - ½; r is 1 for who answered, 0 for who did not (then u
counts nothing). A change of one participant moves the sums by d = (d₁, d₂, ...); Laplace noise of
scales b costs Σ|d_j|/b_j, Gaussian noise Σd_j²/(2σ_j²) of zCDP. The largest, over all changes:

    kind       sums                Laplace, by 1/ε    Gaussian, by σ (ρ = 1/(2σ²))
    moments    Σu, Σu²             1, 1               1, .3003...
    answers    Σru, Σr             1, 2               1, 2/√3
    triple     Σru, Σru², Σr       1, 2, 8/3          (not offered)

**Proof.** Another answer: Δ = |u-u'| <= 1 and |u²-u'²| = Δ|u+u'| <= Δ(1-Δ), for |u|, |u'| <= ½.
Moments: Δ + Δ(1-Δ) = 1 - (1-Δ)² <= 1. Gaussian with factor k: Δ² + Δ²(1-Δ)²/k² <= 1 where
k² >= Δ²(1-Δ)/(1+Δ), whose maximum is (5√5-11)/2 = .0902 at Δ = (√5-1)/2. Answers: (Δ, 0) costs
Δ <= 1; answering or not moves by (|u|, 1) <= (½, 1): ½ + ½ = 1, and ¼ + ¾ = 1. Triple: Δ + ½Δ(1-Δ)
<= 1 (it grows up to 1); answering or not (½, ¼, 1): ½ + ⅛ + ⅜ = 1. ∎  So what comes beside Σu costs
nothing. A participant is in one block: blocks compose in parallel.

`draw` is simulated noise and protects no one, as in `mechanisms`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from .._checks import count, one_of
from ..errors import InvalidArgument, UnsupportedBudget
from . import _noise as noise
from ._mechanisms import Gaussian, Laplace
from .budgets import ZCDP, Budget, Pure

if TYPE_CHECKING:
    from numpy.random import Generator

GOLDEN = math.sqrt((5.0 * math.sqrt(5.0) - 11.0) / 2.0) * (1.0 + 1e-12)
"""k of the second moment under Gaussian noise, rounded up: .30028."""
FACTORS: dict[str, dict[str, tuple[float, ...]]] = {
    "moments": {"laplace": (1.0, 1.0), "gaussian": (1.0, GOLDEN)},
    "answers": {"laplace": (1.0, 2.0), "gaussian": (1.0, 2.0 / math.sqrt(3.0) * (1.0 + 1e-12))},
    "triple": {"laplace": (1.0, 2.0, 8.0 / 3.0)},
}
KINDS = tuple(FACTORS)


@dataclass(frozen=True)
class JointSums:
    """Noise for several sums of one block, at the price of one.

    `kind` is moments, answers or triple; `law` is laplace or gaussian; `scales` has one for each
    sum.

    Example:
        >>> from discreet.privacy import JointSums, Pure
        >>> sums = JointSums.calibrated("answers", Pure(1.0))
        >>> sums.scales, round(sums.budget.epsilon, 6)
        ((1.0, 2.0), 1.0)
    """

    kind: str
    law: str
    scales: tuple[float, ...]

    def __post_init__(self) -> None:
        one_of("kind", self.kind, *KINDS)
        one_of("law", self.law, *FACTORS[self.kind])
        if len(self.scales) != len(FACTORS[self.kind][self.law]) or min(self.scales) <= 0.0:
            raise InvalidArgument(
                "scales", f"be {len(FACTORS[self.kind][self.law])} numbers above 0", self.scales,
                "use JointSums.calibrated(kind, budget)",
            )  # fmt: skip

    @classmethod
    def calibrated(cls, kind: str, budget: Budget) -> JointSums:
        """The noise of a budget: pure, or zCDP."""
        one_of("kind", kind, *KINDS)
        law = "laplace" if isinstance(budget, Pure) else "gaussian"
        if not isinstance(budget, Pure | ZCDP) or law not in FACTORS[kind]:
            raise UnsupportedBudget(
                "budget", f"be {'pure' if kind == 'triple' else 'pure or zCDP'} for {kind}",
                str(budget), "use for example discreet.Pure(1.0)",
            )  # fmt: skip
        base = Laplace.calibrated(budget) if law == "laplace" else Gaussian.calibrated(budget)
        return cls(kind, law, tuple(base.scale * factor for factor in FACTORS[kind][law]))

    def loss(self, moved: tuple[float, ...]) -> float:
        """What one change costs: ε, or ρ."""
        pairs = zip(moved, self.scales, strict=True)
        if self.law == "laplace":
            return sum(abs(d) / b for d, b in pairs)
        return sum(d * d / (2.0 * s * s) for d, s in pairs)

    @property
    def budget(self) -> Pure | ZCDP:
        """Cost of one use, derived from the scales: the largest loss over all changes.

        Among two answers it is the largest over Δ of a function that is smooth, looked for on a
        fine grid and rounded up by its second derivative; others are at the corners of [-½, ½].
        """
        steps = 20_000
        worst = max(self.loss(self._answers(i / steps)) for i in range(steps + 1))
        slack = sum(4.0 / (b if self.law == "laplace" else b * b) for b in self.scales)
        worst *= 1.0 + 1e-12
        at_ends = max(self.loss(self._answers(0.0)), self.loss(self._answers(1.0)))
        if worst > at_ends * (1.0 + 1e-11):  # inside: the grid may have missed the top by this
            worst += slack / (8.0 * steps * steps)
        if self.kind != "moments":
            worst = max(worst, self.loss(self._silence()))
        return Pure(worst) if self.law == "laplace" else ZCDP(worst)

    def _answers(self, delta: float) -> tuple[float, ...]:
        """The largest move of two answers that are Δ apart."""
        square = delta * (1.0 - delta)
        return {
            "moments": (delta, square),
            "answers": (delta, 0.0),
            "triple": (delta, square, 0.0),
        }[self.kind]

    def _silence(self) -> tuple[float, ...]:
        """The largest move of answering or not."""
        return (0.5, 1.0) if self.kind == "answers" else (0.5, 0.25, 1.0)

    def draw(self, rng: Generator) -> tuple[float, ...]:
        """Simulated noise, one for each sum."""
        drawn = noise.laplace if self.law == "laplace" else noise.gaussian
        return tuple(drawn(scale, rng) for scale in self.scales)


def sums_of(kind: str, outcome: Fraction | None) -> tuple[Fraction, ...]:
    """What a participant adds to the sums; None: no answer."""
    if outcome is None:
        return (Fraction(0),) * (3 if kind == "triple" else 2)
    u = outcome - Fraction(1, 2)
    return {"moments": (u, u * u), "answers": (u, Fraction(1)), "triple": (u, u * u, Fraction(1))}[
        kind
    ]


def changes(kind: str, steps: int = 40) -> Iterator[tuple[Fraction, ...]]:
    """How much one participant can move the sums: every pair of outcomes in whole steps, and of
    silence where the kind knows it. An enumeration that knows nothing of the proof."""
    one_of("kind", kind, *KINDS)
    count("steps", steps, fix="use steps=40")
    values: list[Fraction | None] = [Fraction(i, steps) for i in range(steps + 1)]
    if kind != "moments":
        values.append(None)
    for first in values:
        for second in values:
            pairs = zip(sums_of(kind, first), sums_of(kind, second), strict=True)
            yield tuple(a - b for a, b in pairs)
