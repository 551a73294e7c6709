"""Transportation costs: how much evidence the counts hold that one arm is better than another.

    W_{a,b} = gain(m_a - m_b) / (1/ω_a + 1/ω_b)
    Gaussian:  gain(x) = x₊² / (2σ²)
    private:   gain(x) = x₊ min{cε, x₊} / (2σ²)

σ = 1/2 for rewards in [0, 1]; c = 1/2 in the journal, 3 in the thesis. ω are counts: sizes of the
released batches in a stopping rule, total pulls in a sampling rule. Under an ε-private release a
gap beyond cε is no easier to see than one of cε, hence the minimum.

Azize, Jourdan, Al Marjani & Basu (2026), eq. 11 and 14; Azize (2024, thesis), eq. 5.9 and 5.12.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from .._checks import one_of
from ..policies import Setting

SIGMA = 0.5
"""Rewards in [0, 1] are 1/2-sub-Gaussian."""
VERSIONS = {"jmlr": 0.5, "thesis-k2": 3.0}
"""c of the private cost, by where it was published. "thesis-k2" is the thesis with k² where its
threshold prints k (see `thresholds`)."""


class Scale(NamedTuple):
    """2σ², and the gap beyond which evidence grows only linearly."""

    doubled_variance: float
    cut: float


def gain(scale: Scale, gap: float) -> float:
    """x₊ min{cut, x₊} / (2σ²)."""
    if gap <= 0.0:
        return 0.0
    return gap * min(scale.cut, gap) / scale.doubled_variance


def evidence(gained: float, weight: float, other_weight: float) -> float:
    """W = gain / (1/ω_a + 1/ω_b)."""
    return gained / (1.0 / weight + 1.0 / other_weight)


def resistance(scale: Scale, gap: float) -> float:
    """1 / gain; infinite without a gap."""
    gained = gain(scale, gap)
    return math.inf if gained == 0.0 else 1.0 / gained


@dataclass(frozen=True)
class GaussianCost:
    """x₊² / (2σ²)."""

    name: ClassVar[str] = "Gaussian cost"

    def scale(self, setting: Setting) -> Scale:
        """The numbers for the kernels."""
        return Scale(2.0 * SIGMA**2, math.inf)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class UnitCost(GaussianCost):
    """x₊² / 2: σ = 1, a quarter of the evidence that rewards in [0, 1] give."""

    name: ClassVar[str] = "Gaussian cost, σ = 1"

    def scale(self, setting: Setting) -> Scale:
        return Scale(2.0, math.inf)


@dataclass(frozen=True)
class PrivateCost(GaussianCost):
    """x₊ min{cε, x₊} / (2σ²), ε that of the release."""

    version: str = "jmlr"
    name: ClassVar[str] = "private cost"

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            one_of("version", self.version, *VERSIONS)

    @property
    def factor(self) -> float:
        """c."""
        return VERSIONS[self.version]

    def scale(self, setting: Setting) -> Scale:
        return Scale(2.0 * SIGMA**2, self.factor * setting.pure_epsilon(self.name))
