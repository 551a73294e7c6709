"""Mechanisms: a noise and what one use of it costs, in one read-only object.

`Laplace(2.0).budget` is the claim that follows from the noise; `Laplace.calibrated(Pure(0.5))` is
the noise whose claim is at most the budget. `draw` is simulated noise and protects no one; the live
path takes its scales and its noise from `secure`. A scale of 0 is no noise and promises nothing.

References: Dwork, McSherry, Nissim & Smith 2006 (Laplace); Balle & Wang 2018, Canonne, Kamath &
Steinke 2020 (Gaussian); Geng, Ding, Guo & Kumar 2020 (truncated Laplace); Warner 1965, Ren et al.
2020 (randomised response).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import InvalidArgument, UnsupportedBudget

from .._checks import amount, count, number, one_of, probability
from . import _curves as curves
from . import _noise as noise
from .budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Laplace:
    """x + Lap(b) for a number of sensitivity Δ: (Δ/b)-DP.

    Example:
        >>> from discreet.privacy import Laplace
        >>> print(Laplace(1.0).budget)
        ε = 1
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _clean(self)

    @classmethod
    def calibrated(cls, budget: Budget, sensitivity: float = 1.0) -> Laplace:
        """b = Δ/ε, for a pure budget."""
        sensitivity = _sensitivity(sensitivity)
        if not isinstance(budget, Pure):
            raise _unsupported(budget, "pure", "give epsilon alone, or use Gaussian noise")
        if budget.epsilon == 0:
            raise _unsupported(budget, "greater than 0", "no finite noise gives perfect privacy")
        return cls(
            _least(
                _over(sensitivity, budget.epsilon), lambda b: _fits(cls(b, sensitivity), budget)
            ),
            sensitivity,
        )

    @property
    def budget(self) -> Pure:
        """Cost of one use."""
        return Pure(_over(self.sensitivity, self.scale))

    @property
    def variance(self) -> float:
        """2b²."""
        return 2.0 * self.scale**2

    def draw(self, rng: Generator) -> float:
        """Simulated noise."""
        return noise.laplace(self.scale, rng)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """x + N(0, σ²) for a number of sensitivity Δ: (Δ/σ)-Gaussian DP, exactly.

    Example:
        >>> from discreet.privacy import Gaussian
        >>> print(Gaussian(2.0).budget)
        μ = 0.5
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        _clean(self)

    @classmethod
    def calibrated(
        cls,
        budget: Budget,
        sensitivity: float = 1.0,
        *,
        calibration: str = "exact",
        lattice: int | None = None,
    ) -> Gaussian:
        """The least noise that keeps the budget.

        zCDP σ² = Δ²/(2ρ); Rényi σ² = αΔ²/(2ε); Gaussian σ = Δ/μ; approximate: the least σ on the
        exact curve (calibration="exact"), or σ² = (2Δ²/ε²) log(1.25/δ) ("paper", ε <= 1).
        `lattice=M`: σ in whole steps, sensitivity M of them, for discrete Gaussian noise. zCDP
        and Rényi are the same there (Canonne, Kamath & Steinke 2020, Theorem 4); for approximate
        budgets σ satisfies the proved bound `curves.lattice_delta`.
        """
        one_of("calibration", calibration, "exact", "paper")
        if lattice is not None:
            if sensitivity != 1.0:
                raise InvalidArgument(
                    "sensitivity", "be left out with lattice", sensitivity, "lattice is the one"
                )
            lattice = count("lattice", lattice, fix="give the sensitivity in whole steps")
            sensitivity = float(lattice)
        sensitivity = _sensitivity(sensitivity)
        if not budget.is_finite and not isinstance(budget, Pure):
            return cls(0.0, sensitivity)
        match budget:
            case ZCDP(rho=rho):
                scale = _over(sensitivity, math.sqrt(2.0 * rho))
            case Renyi(alpha=alpha, epsilon=epsilon):
                scale = _over(sensitivity * math.sqrt(alpha / 2.0), math.sqrt(epsilon))
            case GaussianDP(mu=mu):
                if lattice is not None:
                    raise _unsupported(
                        budget, "zCDP, Rényi or approximate on a lattice", "use rho = mu²/2"
                    )
                scale = _over(sensitivity, mu)
            case Approximate(epsilon=epsilon, delta=delta) if delta > 0:
                scale = _approximate_scale(epsilon, delta, sensitivity, calibration, lattice)
            case _:
                raise _unsupported(
                    budget,
                    "zCDP, Rényi, Gaussian, or approximate with delta > 0",
                    "add delta or give rho; Laplace noise serves a pure budget",
                )
        if math.isinf(scale):
            raise _unsupported(budget, "greater than 0", "no finite noise gives perfect privacy")
        if lattice is not None and isinstance(budget, Approximate):
            return cls(scale, sensitivity)  # the continuous claim is not the one that was proved
        return cls(_least(scale, lambda s: _fits(cls(s, sensitivity), budget)), sensitivity)

    @property
    def budget(self) -> GaussianDP:
        """Cost of one use, of the continuous noise."""
        return GaussianDP(_over(self.sensitivity, self.scale))

    @property
    def variance(self) -> float:
        """σ²."""
        return self.scale**2

    def draw(self, rng: Generator) -> float:
        """Simulated noise."""
        return noise.gaussian(self.scale, rng)


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """Truncated Laplace noise: bounded, and (ε, δ)-DP; Laplace noise for δ = 0.

    Simulated noise, as of all mechanisms here: live trials have their own.

    Example:
        >>> from discreet.privacy import Approximate, TruncatedLaplace
        >>> noise = TruncatedLaplace.calibrated(Approximate(1.0, 1e-6))
        >>> round(noise.bound, 2), round(noise.variance, 3)
        (13.66, 2.0)
    """

    epsilon: float
    delta: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        epsilon = amount("epsilon", self.epsilon, infinite=False, fix="use a value such as 1.0")
        delta = probability("delta", self.delta, fix="choose a small number such as 1e-6")
        if epsilon == 0 and delta == 0:
            raise InvalidArgument(
                "epsilon and delta", "not both be 0", (0.0, 0.0), "raise one of them"
            )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "sensitivity", _sensitivity(self.sensitivity))

    @classmethod
    def calibrated(cls, budget: Budget, sensitivity: float = 1.0) -> TruncatedLaplace:
        """For a pure or approximate budget."""
        match budget:
            case Pure(epsilon=epsilon):
                return cls(epsilon, 0.0, sensitivity)
            case Approximate(epsilon=epsilon, delta=delta):
                return cls(epsilon, delta, sensitivity)
            case _:
                raise _unsupported(budget, "pure or approximate", "use to_approximate(delta)")

    @property
    def budget(self) -> Pure | Approximate:
        """Cost of one use."""
        return Approximate(self.epsilon, self.delta) if self.delta > 0 else Pure(self.epsilon)

    @property
    def bound(self) -> float:
        """The noise never exceeds Δ log(1 + (e^ε - 1)/(2δ))/ε."""
        if self.delta == 0:
            return math.inf
        if self.epsilon == 0:
            return self.sensitivity / (2.0 * self.delta)
        return self.sensitivity * self._log_half() / self.epsilon

    @property
    def variance(self) -> float:
        """E X² = (2Δ²/ε²) (1 + 1/C)(1 - e^-L (1 + L + L²/2)), C = (e^ε - 1)/(2δ), L = log1p(C)."""
        e, d = self.epsilon, self.delta
        if d == 0:
            return 2.0 * (self.sensitivity / e) ** 2
        if e == 0:
            return (self.sensitivity / d) ** 2 / 12.0
        length = self._log_half()
        if length < 1e-2:  # the closed form cancels: its series, uniform noise to leading order
            shape = (length**3 / 6.0 - length**4 / 8.0 + length**5 / 20.0) / -math.expm1(-length)
        else:
            shape = (1.0 - math.exp(-length) * (1.0 + length + length**2 / 2.0)) / -math.expm1(
                -length
            )
        return 2.0 * (self.sensitivity / e) ** 2 * shape

    def _log_half(self) -> float:
        if self.epsilon > 50.0:  # e^-50 is below the rounding of what is added
            return self.epsilon - math.log(2.0 * self.delta)
        return math.log1p(math.expm1(self.epsilon) / (2.0 * self.delta))

    def draw(self, rng: Generator) -> float:
        """Simulated noise."""
        return self.sensitivity * noise.truncated_laplace(self.epsilon, self.delta, rng)


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """A random bit in place of a number in [0, 1]: ε-local DP.

    It is 1 with probability (r e^ε + 1 - r)/(1 + e^ε), for r in [0, 1].

    Example:
        >>> from discreet.privacy import RandomisedResponse
        >>> print(RandomisedResponse(1.0).budget)
        ε = 1
    """

    epsilon: float

    def __post_init__(self) -> None:
        epsilon = amount("epsilon", self.epsilon, fix="use a value such as 1.0")
        object.__setattr__(self, "epsilon", epsilon)

    @classmethod
    def calibrated(cls, budget: Budget) -> RandomisedResponse:
        """For a pure budget."""
        if not isinstance(budget, Pure):
            raise _unsupported(budget, "pure", "give epsilon alone")
        return cls(budget.epsilon)

    @property
    def budget(self) -> Pure:
        """Cost of one response."""
        return Pure(self.epsilon)

    @property
    def variance(self) -> float:
        """Largest variance of a response, that of a fair coin."""
        return 0.25

    def draw(self, reward: float, rng: Generator) -> float:
        """A simulated response to a reward in [0, 1]."""
        clean = number("reward", reward, low=0.0, high=1.0, fix="scale rewards into [0, 1]")
        return noise.randomised_response(clean, self.epsilon, rng)


Mechanism = Laplace | Gaussian | TruncatedLaplace | RandomisedResponse


def _approximate_scale(
    epsilon: float, delta: float, sensitivity: float, calibration: str, lattice: int | None
) -> float:
    if calibration == "paper":
        if epsilon > 1 or epsilon == 0:
            raise InvalidArgument(
                "epsilon", 'be in (0, 1] for calibration="paper"', epsilon, 'use "exact"'
            )
        paper = sensitivity * math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon
        if lattice is None:
            return paper
        return max(paper, _approximate_scale(epsilon, delta, sensitivity, "exact", lattice))
    exact = sensitivity / curves.gaussian_mu(epsilon, delta)
    if lattice is None:
        return exact
    high = exact
    while curves.lattice_delta(high, lattice, epsilon) > delta:
        high *= 1.5
    return curves.least(
        lambda s: curves.lattice_delta(s, lattice, epsilon) <= delta, exact, high, halvings=100
    )


def _least(scale: float, fits: Callable[[float], bool]) -> float:
    """`scale`, or the next greater number whose claim keeps the budget despite rounding."""
    step = math.ulp(scale)
    while not fits(scale):
        scale += step
        step *= 2.0
    return scale


def _fits(mechanism: Laplace | Gaussian, budget: Budget) -> bool:
    return mechanism.budget.implies(budget)


def _over(a: float, b: float) -> float:
    return math.inf if b == 0 else a / b


def _sensitivity(value: float) -> float:
    return amount("sensitivity", value, zero=False, infinite=False, fix="1 for rewards in [0, 1]")


def _clean(mechanism: Laplace | Gaussian) -> None:
    scale = amount("scale", mechanism.scale, infinite=False, fix="use calibrated(budget)")
    object.__setattr__(mechanism, "scale", scale)
    object.__setattr__(mechanism, "sensitivity", _sensitivity(mechanism.sensitivity))


def _unsupported(budget: object, kinds: str, fix: str) -> UnsupportedBudget:
    return UnsupportedBudget("budget", f"be {kinds}", str(budget), fix)
