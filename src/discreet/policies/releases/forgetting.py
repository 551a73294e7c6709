"""One noisy number a batch; older rewards of the arm are forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ...compiled import Function
from ...errors import UnsupportedBudget
from ...privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Renyi
from ...privacy.mechanisms import Gaussian
from ...privacy.source import SIMULATED
from ..schedules import Schedule
from ..view import Setting, View
from .base import PureRelease, Release, Scale, in_kind, noise


def publish_forget(
    release: Scale, ledger: Any, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    """value = (sum of this batch + noise) / n: mean + Lap(1/(εn)) or + N(0, b/n²)."""
    view.value[arm] = (total + noise(release.scale, rng)) / (rounds * release.unit)
    view.size[arm] = rounds


@dataclass(frozen=True)
class ForgetLaplace(PureRelease):
    """The mean of the last batch + Lap(1/(εn)); each reward is in one release, so ε."""

    name: ClassVar[str] = "forget + Laplace"
    publish: ClassVar[Function] = staticmethod(publish_forget)


@dataclass(frozen=True)
class ForgetGaussian(Release):
    """The mean of the last batch + N(0, b/n²), b the variance that the budget asks for."""

    budget: Budget
    calibration: str = "exact"
    name: ClassVar[str] = "forget + Gaussian"
    publish: ClassVar[Function] = staticmethod(publish_forget)
    noise: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Approximate | ZCDP | Renyi | GaussianDP):
            raise UnsupportedBudget(
                "budget",
                "be approximate, zCDP, Rényi or Gaussian for Gaussian noise",
                self.budget,
                "give rho, or epsilon and delta, or epsilon and renyi_alpha; "
                "Laplace noise serves a pure budget",
            )
        SIMULATED.gaussian_scale(self.budget, self.calibration)

    def parameters(self, setting: Setting) -> Scale:
        scale = setting.source.gaussian_scale(self.budget, self.calibration)
        return Scale(scale, setting.source.unit)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        """The noise buys μ = 1/σ Gaussian DP; stated in the kind that was asked for."""
        spent = Gaussian(SIMULATED.gaussian_scale(self.budget, self.calibration)).budget
        return in_kind(spent, self.budget)
