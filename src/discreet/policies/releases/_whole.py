"""Sums of outcomes that are 0 or 1, with noise on whole numbers: what exact tests are built from.

Other releases count an outcome in 2^20 steps, and their noise is as fine as that, which is as good
as continuous. Tests of `discreet.confirm` are calibrated on the distribution of *whole* noisy
sums. Here a sum of m outcomes is a whole number, and so is its noise: discrete Laplace, or
discrete Gaussian.

Outcomes between 0 and 1 must never get here. A whole number hides the whole part of a sum and shows
the rest as it is. So a trial of such a release takes 0 and 1 alone (`Release.takes_binary`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..._compiled import Function
from ...privacy._mechanisms import Gaussian, Laplace
from ...privacy._source import SIMULATED
from ...privacy.budgets import Approximate, Budget, Pure
from .._schedules import Schedule
from .._view import Setting, View
from ._base import NEWEST, Release, Scale, check_gaussian, in_kind, noise
from ._entries import Silence

if TYPE_CHECKING:
    from numpy.random import Generator

    from ._entries import Entries

BINARY = "rewards are 0 or 1"


def publish_whole(
    release: Scale, ledger: object, view: View, arm: int, rounds: int, total: float, rng: Generator
) -> None:
    """value = (sum of this batch + whole noise) / n."""
    noisy = total + release.resolution * noise(release.scale, rng)
    view.value[arm] = noisy / (rounds * release.resolution)
    view.size[arm] = rounds


@dataclass(frozen=True)
class WholeSums(Release):
    """The sum of each batch of outcomes 0 or 1, each outcome in one release: base of the two."""

    budget: Budget
    publish: ClassVar[Function] = staticmethod(publish_whole)
    any_lengths: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    takes_binary: ClassVar[bool] = True
    evidence: ClassVar[str] = NEWEST

    @property
    def conditions(self) -> tuple[str, ...]:
        return (BINARY,)

    def parameters(self, setting: Setting) -> Scale:
        return Scale(setting.source.whole_scale(self.budget), setting.source.resolution)

    def entries(self, setting: Setting) -> Entries | Silence:
        """Nothing for intervals of means: the test has a verdict, and says little before."""
        return Silence("a test has a verdict in place of intervals of means")


@dataclass(frozen=True)
class WholeLaplace(WholeSums):
    """With discrete Laplace noise, for a pure budget."""

    name: ClassVar[str] = "whole sums + Laplace"
    noise: ClassVar[str] = "whole_laplace"

    def __post_init__(self) -> None:
        Laplace.calibrated(self.budget)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        return Laplace(SIMULATED.whole_scale(self.budget)).budget


@dataclass(frozen=True)
class WholeGaussian(WholeSums):
    """With discrete Gaussian noise."""

    name: ClassVar[str] = "whole sums + Gaussian"
    noise: ClassVar[str] = "whole_gaussian"

    def __post_init__(self) -> None:
        check_gaussian(self.budget)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        """Discrete noise costs no more zCDP than continuous noise of its scale; an approximate
        budget is the one that the scale was proved for."""
        if isinstance(self.budget, Approximate):
            return self.budget
        return in_kind(Gaussian(SIMULATED.whole_scale(self.budget)).budget, self.budget)


def whole_sums(budget: Budget) -> WholeSums:
    """The release of a budget: Laplace for ε alone, else Gaussian."""
    return WholeLaplace(budget) if isinstance(budget, Pure) else WholeGaussian(budget)
