"""Rules: from released sums to the next action. All of it is post-processing.

The kernel `update(rule, view, dimension)` turns new releases into an estimate, and
`choose(rule, view, actions, arms, dimension, rng)` takes an action.

- Optimism (Abbasi-Yadkori, Pál & Szepesvári 2011; Azize 2024): <θ~, a> + β~ ||a||_{V^-1},
      β~ = sqrt(λ) S + σ sqrt(2 log(1/δ) + log(det V/λ^d)) + sqrt(s² f(d, δ/T)) / sqrt(λ_min(V)),
      f(d, δ) = d + 2 sqrt(d log(2/δ)) + 2 log(2/δ),
  s² the variance of the noise in each entry of the released sum (2l/ρ after l episodes of unit
  actions). The print has log(1/δ) in f here and log(2/δ) for AdaC-GOPE; the latter is used for
  both, by which the noise exceeds its part of the width with probability δ/2 and not δ. Contexts
  are public, so λ_min(V) is computed and not assumed.
- Sampling (Mishra & Thakurta 2015): argmax <θ, a>, θ ~ N(A~^-1 b~, α A~^-1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from .._checks import positive, share
from .._compiled import Floats, Function
from ..policies._parts import RulePart
from ._algebra import dot, least_eigenvalue, squared_norm
from ._view import LinearSetting, LinearView, fresh_view, refresh, restore, take

if TYPE_CHECKING:
    from numpy.random import Generator

    from ._batch_view import BatchView
    from ._releases import LinearRelease


class LinearRule(RulePart[LinearSetting]):
    """Base of all rules of linear policies."""

    private_contexts: ClassVar[bool] = False
    """Whether it makes its estimate of a released matrix, not of a public one."""

    def suits(self, release: LinearRelease) -> bool:
        """Whether its constants are those of the release."""
        return True

    def propensities(self, view: Any, actions: Sequence[float], arms: int) -> list[float] | None:
        """The probability of each arm, if the rule draws its choice; None without a closed form.

        It follows from releases and features.
        """
        return None


class RoundRule(LinearRule):
    """Base of those that choose an action every round."""

    update: ClassVar[Function]
    choose: ClassVar[Function]
    steady: ClassVar[bool] = False
    """Whether `choose` draws nothing and sees only what `update` wrote: on the same actions it then
    takes the same one until the next release."""

    @property
    def ridge(self) -> float:
        """V = λI before the first round."""
        return 1.0

    def first_width(self, setting: LinearSetting) -> float:
        """β~ before the first release."""
        return 0.0

    def first_view(self, setting: LinearSetting) -> LinearView | BatchView:
        view = fresh_view(setting.dimension, self.ridge)
        view.width[0] = self.first_width(setting)
        return view


def chi_square_bound(dimension: int, failure: float) -> float:
    """f(d, δ) >= a chi-square variable of d degrees, with probability 1 - δ/2."""
    log = math.log(2.0 / failure)
    return dimension + 2.0 * math.sqrt(dimension * log) + 2.0 * log


def choose_optimistic(
    rule: object, view: LinearView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """argmax <θ~, a> + β~ ||a||_{V_τ^-1}, the first if several."""
    # arrays are taken out of the view once: handing all of it to a function costs more than the sum
    estimate, inverse, width = view.estimate, view.inverse, view.width[0]
    best, highest = 0, -math.inf
    for arm in range(arms):
        start = arm * dimension
        square = max(squared_norm(actions, start, inverse, dimension), 0.0)
        index = dot(actions, start, estimate, dimension) + width * math.sqrt(square)
        if index > highest:
            best, highest = arm, index
    return best


class Confidence(NamedTuple):
    """The parts of β~ that do not change: sqrt(λ) S, σ, 2 log(1/δ) - d log λ, f(d, δ/T)."""

    bias: float
    sd: float
    log_terms: float
    noise_bound: float


def update_public(rule: Confidence, view: LinearView, dimension: int) -> None:
    """Estimate and radius from the running inverse, which `refresh` keeps accurate."""
    refresh(view, dimension)
    take(view, dimension)
    radius = rule.bias + rule.sd * math.sqrt(max(rule.log_terms + view.log_used[0], 0.0))
    if view.variance[0] > 0.0:
        least = least_eigenvalue(view.matrix, view.inverse, view.work, dimension)
        radius += math.sqrt(view.variance[0] * rule.noise_bound / least)
    view.width[0] = radius


@dataclass(frozen=True)
class Optimism(RoundRule):
    """Optimism in the face of uncertainty, the noise of the releases included.

    `norm` is the bound S on ||θ||, `sd` the subgaussian constant σ of the rewards, `failure` is δ.
    """

    ridge: float = 0.1
    failure: float = 0.001
    norm: float = 1.0
    sd: float = 1.0
    name: ClassVar[str] = "optimism"
    steady: ClassVar[bool] = True
    update: ClassVar[Function] = staticmethod(update_public)
    choose: ClassVar[Function] = staticmethod(choose_optimistic)

    def __post_init__(self) -> None:
        positive("ridge", self.ridge, "use for example ridge=0.1")
        share("failure", self.failure, fix="use for example failure=0.001")
        positive("norm", self.norm, "give a bound on the length of the parameter")
        positive("sd", self.sd, "use for example sd=1.0")

    def parameters(self, setting: LinearSetting) -> Confidence:
        d = setting.dimension
        return Confidence(
            math.sqrt(self.ridge) * self.norm,
            float(self.sd),
            2.0 * math.log(1.0 / self.failure) - d * math.log(self.ridge),
            chi_square_bound(d, self.failure / setting.horizon),
        )

    def first_width(self, setting: LinearSetting) -> float:
        return math.sqrt(self.ridge) * self.norm + self.sd * math.sqrt(
            2.0 * math.log(1.0 / self.failure)
        )


class Spread(NamedTuple):
    """α, and the λ of A = λI."""

    alpha: float
    ridge: float


def update_private(rule: Spread, view: LinearView, dimension: int) -> None:
    """A~ is a noisy release: factor it afresh; if it is not positive definite, A~ = I."""
    for i in range(dimension):
        view.matrix[i * dimension + i] += rule.ridge
    if not restore(view, dimension):
        for i in range(dimension * dimension):
            view.running[i] = 0.0
            view.lower[i] = 0.0
        for i in range(dimension):
            view.running[i * dimension + i] = 1.0
            view.lower[i * dimension + i] = 1.0
    take(view, dimension)
    view.width[0] = rule.alpha


@dataclass(frozen=True)
class TreeOptimism(RoundRule):
    """z'A~^-1 b~ + α sqrt(z'A~^-1 z)."""

    alpha: float = 1.0
    ridge: float = 1.0
    private_contexts: ClassVar[bool] = True
    name: ClassVar[str] = "optimism, fixed width"
    update: ClassVar[Function] = staticmethod(update_private)
    choose: ClassVar[Function] = staticmethod(choose_optimistic)

    def __post_init__(self) -> None:
        positive("alpha", self.alpha, "use for example alpha=1.0")
        positive("ridge", self.ridge, "use for example ridge=1.0")

    def parameters(self, setting: LinearSetting) -> Spread:
        return Spread(float(self.alpha), float(self.ridge))

    def first_width(self, setting: LinearSetting) -> float:
        return float(self.alpha)


def choose_sampled(
    rule: Spread, view: LinearView, actions: Floats, arms: int, dimension: int, rng: Generator
) -> int:
    """argmax <θ, a> for one θ = θ~ + sqrt(α) L^-T z, z standard normal."""
    for i in range(dimension):
        view.along[i] = view.estimate[i]
    scale = math.sqrt(rule.alpha)
    for i in range(dimension):
        z = scale * rng.standard_normal()
        for j in range(i + 1):
            view.along[j] += view.lower[i * dimension + j] * z
    return best_along(actions, arms, view.along, dimension)


def best_along(actions: Floats, arms: int, along: Floats, dimension: int) -> int:
    """argmax <θ, a>, the first if several."""
    best, highest = 0, -math.inf
    for arm in range(arms):
        index = dot(actions, arm * dimension, along, dimension)
        if index > highest:
            best, highest = arm, index
    return best


@dataclass(frozen=True)
class TreeSampling(TreeOptimism):
    """argmax z'θ, θ ~ N(A~^-1 b~, α A~^-1)."""

    name: ClassVar[str] = "posterior sample"
    choose: ClassVar[Function] = staticmethod(choose_sampled)


class Shifted(NamedTuple):
    """2Υ, S sqrt(ρmax) + γ, σ, 2 log(2/α) - d log ρmin."""

    shift: float
    constant: float
    sd: float
    log_terms: float


def update_shifted(rule: Shifted, view: LinearView, dimension: int) -> None:
    """V = noisy matrix + 2Υ I; where noise has outdone even that, keep the last estimate."""
    for i in range(dimension):
        view.matrix[i * dimension + i] += rule.shift
    if restore(view, dimension):
        take(view, dimension)
        spread = math.sqrt(max(rule.log_terms + view.log_used[0], 0.0))
        view.width[0] = rule.constant + rule.sd * spread
