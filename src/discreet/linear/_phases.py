"""Phased elimination by optimal designs: GOPE (Lattimore & Szepesvári 2020) and AdaC-GOPE.

Phase l, gap β = 2^-l, active actions A_l of rank r, D-optimal design π on them: each action is
played ceil(c π(a)) times,
    c = (8 r σ²/β²) log(4/δ_l) + (2r/β) sqrt(v f(r, δ_l)),   δ_l = δ/(K l (l+1)),
v the variance of noise that hides one reward (2/ρ for rewards in [-1, 1] under zCDP; 0 without
privacy, where only the first term is left). Then θ~ is released and A_{l+1} keeps b with
max <θ~, b' - b> <= 2β. A phase costs one draw an action, a run O(log T) phases.

The plays of a phase are fixed before it begins and each reward is in one phase, so the whole run
costs what one release costs (Azize 2024, theorem 5.11). Two ways to add the noise:
- at the estimate: θ~ = θ^ + V^-1/2 N(0, v g² I), g = max ||a||_{V^-1} over the actions played,
  computed: a design that is optimal only up to a tolerance has a larger g than sqrt(r/c);
- at the sums: θ~ = V^-1 Σ_a a (S_a + N(0, v)), S_a the sum of the rewards of a.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .._checks import positive, share
from ._design import TOLERANCE
from ._releases import GaussianRelease, LinearRelease
from ._rules import LinearRule, chi_square_bound

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats, Ints


class PhaseRelease(LinearRelease):
    """Base of the releases at the end of a phase."""

    shape: ClassVar[str] = "phases"

    @property
    def reward_variance(self) -> float:
        """v: variance of noise that hides one reward."""
        return 0.0

    def estimate(
        self, points: Floats, plays: Floats, totals: Floats, c: float, rng: Generator
    ) -> Floats:
        """θ~ from the sums of the played actions (coordinates in the span, one per action)."""
        raise NotImplementedError


def least_squares(points: Floats, plays: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """V^-1 Σ a S_a and the Cholesky factor of V = Σ plays a a'."""
    import numpy as np

    factor = np.linalg.cholesky((points * plays[:, None]).T @ points)
    half = np.linalg.solve(factor, points.T @ totals)
    return np.asarray(np.linalg.solve(factor.T, half)), np.asarray(factor, np.float64)


@dataclass(frozen=True)
class PhaseExact(PhaseRelease):
    """The least squares estimate of the phase: no noise, no privacy."""

    name: ClassVar[str] = "exact estimate"

    def estimate(
        self, points: Floats, plays: Floats, totals: Floats, c: float, rng: Generator
    ) -> Floats:
        return least_squares(points, plays, totals)[0]


class NoisyPhase(GaussianRelease, PhaseRelease):
    """Base of those with noise."""

    @property
    def reward_variance(self) -> float:
        return self.unit_scale() ** 2


@dataclass(frozen=True)
class NoisyEstimate(NoisyPhase):
    """Noise at the estimate: φ = V^-1/2 Σ a r moves by at most (high - low) · g.

    Printed: N(0, (2d/(ρc)) I), as if g were sqrt(d/c), which only an exactly optimal design has.
    """

    name: ClassVar[str] = "phase estimate + Gaussian"

    def estimate(
        self, points: Floats, plays: Floats, totals: Floats, c: float,
        rng: Generator,
    ) -> Floats:  # fmt: skip
        import numpy as np

        theta, factor = least_squares(points, plays, totals)
        halves = np.linalg.solve(factor, points.T)
        longest = math.sqrt(float((halves * halves).sum(axis=0).max()))
        if self.printed:
            longest = math.sqrt(points.shape[1] / c)
        drawn = self.unit_scale() * longest * rng.standard_normal(points.shape[1])
        return np.asarray(theta + np.linalg.solve(factor.T, drawn))

    @property
    def conditions(self) -> tuple[str, ...]:
        more = ("designs are exactly optimal",) if self.printed else ()
        return super().conditions + more

    def broken(self, rewards: tuple[float, float] | None, longest: float) -> str:
        if not self.printed:
            return ""
        found = super().broken(rewards, longest)
        return found or "it rests on exactly optimal designs, and computed ones are near to optimal"


@dataclass(frozen=True)
class NoisySums(NoisyPhase):
    """Noise at the sums: one noisy sum an action played; each reward is in one of them."""

    name: ClassVar[str] = "phase sums + Gaussian"

    def estimate(
        self, points: Floats, plays: Floats, totals: Floats, c: float,
        rng: Generator,
    ) -> Floats:  # fmt: skip
        noisy = totals + self.unit_scale() * rng.standard_normal(len(totals))
        return least_squares(points, plays, noisy)[0]

    def broken(self, rewards: tuple[float, float] | None, longest: float) -> str:
        # sums of rewards do not know how long an action is
        return super().broken(rewards, 0.0)

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(c for c in super().conditions if "ball" not in c)


@dataclass(frozen=True)
class Elimination(LinearRule):
    """Keep the actions within 2β of the best; `sd` is σ, `failure` δ, `tolerance` the design's."""

    failure: float = 0.001
    sd: float = 1.0
    tolerance: float = TOLERANCE
    name: ClassVar[str] = "elimination"

    def __post_init__(self) -> None:
        share("failure", self.failure, fix="use for example failure=0.001")
        positive("sd", self.sd, "use for example sd=1.0")
        positive("tolerance", self.tolerance, "use for example tolerance=1e-3")

    def rounds(self, phase: int, arms: int, rank: int, variance: float) -> float:
        """c."""
        gap = 2.0**-phase
        failure = self.failure / (arms * phase * (phase + 1))
        c = 8.0 * rank * self.sd**2 / gap**2 * math.log(4.0 / failure)
        return c + 2.0 * rank / gap * math.sqrt(variance * chi_square_bound(rank, failure))


def interleaved(plays: Ints, rounds: int) -> Ints:
    """How often each action was played after some rounds of a phase.

    The j-th play of an action played n times comes at (j - 1/2)/n of the phase: evenly spread, so
    that a phase cut off by the horizon has all its actions in proportion.
    """
    import numpy as np

    counts = np.floor(plays * (rounds / plays.sum()) + 0.5).astype(np.int64)
    while (missing := rounds - int(counts.sum())) != 0:
        if missing > 0:
            following = np.where(counts < plays, (counts + 0.5) / plays, np.inf)
            counts[int(following.argmin())] += 1
        else:
            last = np.where(counts > 0, (counts - 0.5) / plays, -np.inf)
            counts[len(last) - 1 - int(last[::-1].argmax())] -= 1
    return np.asarray(counts)
