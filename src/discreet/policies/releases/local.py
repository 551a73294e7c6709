"""The local model: every user randomises their own reward before anybody sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...compiled import Function
from ...privacy.budgets import Budget
from ...privacy.mechanisms import RandomisedResponse
from ..schedules import Schedule
from ..view import Setting
from .base import PureRelease, noise, response, squash, zeros
from .exact import Sums, publish_exact


class LocalScale(NamedTuple):
    """Noise scale, unit of rewards, and ε."""

    scale: float
    unit: int
    epsilon: float


def respond_laplace(release: LocalScale, reward: float, rng: Any) -> float:
    """CTL: r + Lap(1/ε)."""
    return reward + noise(release.scale, rng)


def respond_bernoulli(release: LocalScale, reward: float, rng: Any) -> float:
    """CTB: Bernoulli((r e^ε + 1 - r) / (1 + e^ε))."""
    return release.unit * response(reward, release.epsilon, rng)


def respond_squashed_laplace(release: LocalScale, reward: float, rng: Any) -> float:
    """CTL-S: 1/(1+e^-r) + Lap(1/ε)."""
    return squash(reward, release.unit) + noise(release.scale, rng)


def respond_squashed_bernoulli(release: LocalScale, reward: float, rng: Any) -> float:
    """CTB-S: CTB of 1/(1+e^-r)."""
    return release.unit * response(squash(reward, release.unit), release.epsilon, rng)


@dataclass(frozen=True)
class LocalLaplace(PureRelease):
    """Every user adds Lap(1/ε) to their own reward; the curator averages what it is told."""

    name: ClassVar[str] = "local Laplace"
    publish: ClassVar[Function] = staticmethod(publish_exact)
    respond: ClassVar[Function | None] = staticmethod(respond_laplace)

    def parameters(self, setting: Setting) -> LocalScale:
        source = setting.source
        return LocalScale(source.laplace_scale(self.epsilon), source.unit, float(self.epsilon))

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))


@dataclass(frozen=True)
class LocalBernoulli(LocalLaplace):
    """Every user answers with a random bit that leans towards their reward."""

    name: ClassVar[str] = "local Bernoulli"
    respond: ClassVar[Function | None] = staticmethod(respond_bernoulli)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        return RandomisedResponse(self.epsilon).budget

    def estimated_mean(self, value: float) -> float | None:
        """Bits lean towards 1/2: their mean is 1/2 + (2μ-1)(e^ε-1)/(2(e^ε+1))."""
        return 0.5 + (value - 0.5) / math.tanh(0.5 * self.epsilon)


@dataclass(frozen=True)
class SquashedLaplace(LocalLaplace):
    """Local Laplace noise on the sigmoid of a reward of any size."""

    name: ClassVar[str] = "sigmoid + local Laplace"
    respond: ClassVar[Function | None] = staticmethod(respond_squashed_laplace)
    bounds: ClassVar[tuple[float, float] | None] = None

    def estimated_mean(self, value: float) -> float | None:
        """A mean of sigmoids is not a function of the mean reward."""
        return None


@dataclass(frozen=True)
class SquashedBernoulli(LocalBernoulli):
    """A random bit that leans towards the sigmoid of a reward of any size."""

    name: ClassVar[str] = "sigmoid + local Bernoulli"
    respond: ClassVar[Function | None] = staticmethod(respond_squashed_bernoulli)
    bounds: ClassVar[tuple[float, float] | None] = None

    def estimated_mean(self, value: float) -> float | None:
        """A mean of sigmoids is not a function of the mean reward."""
        return None
