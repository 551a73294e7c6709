"""The local model: every user randomises their own reward before anyone sees it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..._compiled import Function
from ...privacy._mechanisms import RandomisedResponse
from ...privacy.budgets import Budget
from .._schedules import Schedule
from .._view import Setting
from ._base import PureRelease, laplace_parts, noise, response, squash, zeros
from ._entries import LAST, NOISELESS, RUNNING, Entries, Silence
from ._exact import Sums, publish_exact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from ._noise_of_mean import MeanNoise


class LocalScale(NamedTuple):
    """Noise scale, steps of a reward of 1, and ε."""

    scale: float
    resolution: int
    epsilon: float


def respond_laplace(release: LocalScale, reward: float, rng: Generator) -> float:
    """CTL: r + Lap(1/ε)."""
    return reward + noise(release.scale, rng)


def respond_bernoulli(release: LocalScale, reward: float, rng: Generator) -> float:
    """CTB: Bernoulli((r e^ε + 1 - r) / (1 + e^ε))."""
    return release.resolution * response(reward, release.epsilon, rng)


def respond_squashed_laplace(release: LocalScale, reward: float, rng: Generator) -> float:
    """CTL-S: 1/(1+e^-r) + Lap(1/ε)."""
    return squash(reward, release.resolution) + noise(release.scale, rng)


def respond_squashed_bernoulli(release: LocalScale, reward: float, rng: Generator) -> float:
    """CTB-S: CTB of 1/(1+e^-r)."""
    return release.resolution * response(squash(reward, release.resolution), release.epsilon, rng)


@dataclass(frozen=True)
class LocalLaplace(PureRelease):
    """Every user adds Lap(1/ε) to their own reward; the curator averages what it is told."""

    name: ClassVar[str] = "local Laplace"
    publish: ClassVar[Function] = staticmethod(publish_exact)
    any_lengths: ClassVar[bool] = True
    respond: ClassVar[Function | None] = staticmethod(respond_laplace)

    def parameters(self, setting: Setting) -> LocalScale:
        source, epsilon = setting.source, float(self.epsilon)
        return LocalScale(source.laplace_scale(epsilon), source.resolution, epsilon)

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))

    def estimated_mean(self, value: float) -> float | None:
        """The noise has mean 0."""
        return value

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """One noise a response."""
        return laplace_parts(setting, sizes, (self.parameters(setting).scale, sum(sizes)))

    def entries(self, setting: Setting) -> Entries | Silence:
        """Sums of responses: only their total matters."""
        return Entries(RUNNING, self.noise_of_sum(setting, each=True), LAST)


@dataclass(frozen=True)
class LocalBernoulli(LocalLaplace):
    """Every user answers with a random bit that leans towards their reward."""

    name: ClassVar[str] = "local Bernoulli"
    respond: ClassVar[Function | None] = staticmethod(respond_bernoulli)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        return RandomisedResponse(self.epsilon).budget

    def estimated_mean(self, value: float) -> float | None:
        """Bits lean towards 1/2: their mean is 1/2 + (μ - 1/2) tanh(ε/2)."""
        return 0.5 + (value - 0.5) / math.tanh(0.5 * self.epsilon)

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """A bit has a standard deviation of at most 1/2, whatever the reward."""
        from ._noise_of_mean import MeanNoise, Part

        answers = sum(sizes)
        each = 0.5 / (answers * math.tanh(0.5 * self.epsilon))
        return MeanNoise((Part("response", each, answers),))

    def entries(self, setting: Setting) -> Entries | Silence:
        """Bits are rewards themselves, of mean 1/2 + (μ - 1/2) tanh(ε/2)."""
        return Entries(RUNNING, NOISELESS, LAST, factor=math.tanh(0.5 * self.epsilon))


class Squashed(PureRelease):
    """Base of the releases of sigmoids: their mean is no function of the mean reward."""

    bounds: ClassVar[tuple[float, float] | None] = None

    def estimated_mean(self, value: float) -> float | None:
        """None: rewards of one mean have sigmoids of many."""
        return None

    def mean_noise(
        self, setting: Setting, sizes: Sequence[int], steps: int | None = None
    ) -> MeanNoise | None:
        """None, for there is no mean."""
        return None


@dataclass(frozen=True)
class SquashedLaplace(Squashed, LocalLaplace):
    """Local Laplace noise on the sigmoid of a reward of any size."""

    name: ClassVar[str] = "sigmoid + local Laplace"
    respond: ClassVar[Function | None] = staticmethod(respond_squashed_laplace)

    def entries(self, setting: Setting) -> Entries | Silence:
        """Sums of sigmoids with noise."""
        return Entries(RUNNING, self.noise_of_sum(setting, each=True), LAST, sigmoid=True)


@dataclass(frozen=True)
class SquashedBernoulli(Squashed, LocalBernoulli):
    """A random bit that leans towards the sigmoid of a reward of any size."""

    name: ClassVar[str] = "sigmoid + local Bernoulli"
    respond: ClassVar[Function | None] = staticmethod(respond_squashed_bernoulli)

    def entries(self, setting: Setting) -> Entries | Silence:
        """Bits that lean towards sigmoids."""
        lean = math.tanh(0.5 * self.epsilon)
        return Entries(RUNNING, NOISELESS, LAST, factor=lean, sigmoid=True)
