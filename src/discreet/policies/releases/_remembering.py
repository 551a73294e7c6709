"""Nothing is forgotten: a running sum of noisy batches, or everything again with fresh noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..._checks import amount
from ..._compiled import Function
from ...errors import InvalidArgument, UnsupportedBudget
from ...privacy._guarantees import Definition, Guarantee
from ...privacy.budgets import ZCDP, Approximate, Budget
from .._schedules import Schedule, even_batches
from .._view import Setting, View
from ._base import (
    CLOSED,
    BatchNoise,
    PureRelease,
    Release,
    Scale,
    laplace_parts,
    noise,
    zeros,
)
from ._entries import AGAIN, ALL, LAPLACE, POWERS, RUNNING, Entries, Noise, Silence
from ._exact import Sums
from ._forgetting import ForgetGaussian
from ._pairs import PairScale, gaussian_pair, laplace_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from ..._types import Floats
    from ...privacy._source import Source
    from .._rules import Rule
    from ._noise_of_mean import MeanNoise


class Running(NamedTuple):
    """Noisy sums, one per arm: public, kept here only because the view holds means."""

    noisy: Floats


def publish_running(
    release: Scale, ledger: Running, view: View, arm: int, rounds: int, total: float, rng: Generator
) -> None:
    """S += batch total + Lap(1/ε); value = S / N."""
    ledger.noisy[arm] += total + noise(release.scale, rng)
    view.size[arm] += rounds
    view.value[arm] = ledger.noisy[arm] / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class RunningLaplace(PureRelease):
    """The mean of all noisy batch sums; each reward is in one of them, their sum is free: ε."""

    name: ClassVar[str] = "running sum + Laplace"
    publish: ClassVar[Function] = staticmethod(publish_running)
    any_lengths: ClassVar[bool] = True
    has_cells: ClassVar[bool] = True
    settles: ClassVar[bool] = True

    def pair_scale(self, source: Source) -> PairScale | None:
        return laplace_pair(self.epsilon, source, kept=1)

    @property
    def batch_noise(self) -> BatchNoise:
        return BatchNoise(2.0 / self.epsilon**2, 1.0 / self.epsilon)

    def ledger(self, setting: Setting) -> Running:
        return Running(zeros(setting.arms, setting.source))

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """One noise a batch."""
        scale = self.scale(setting.schedule, setting.horizon, setting.source)
        return laplace_parts(setting, sizes, (scale, len(sizes)))

    def entries(self, setting: Setting) -> Entries | Silence:
        """Batches are the differences of running sums."""
        return Entries(RUNNING, self.noise_of_sum(setting))


@dataclass(frozen=True)
class RunningGaussian(ForgetGaussian):
    """The same with Gaussian noise: each reward is in one noisy batch, adding them up is free."""

    name: ClassVar[str] = "running sum + Gaussian"
    publish: ClassVar[Function] = staticmethod(publish_running)
    any_lengths: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    evidence: ClassVar[str] = CLOSED

    def pair_scale(self, source: Source) -> PairScale | None:
        return gaussian_pair(self.budget, self.calibration, source, kept=1)

    def ledger(self, setting: Setting) -> Running:
        return Running(zeros(setting.arms, setting.source))

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """One noise a batch."""
        from ._noise_of_mean import MeanNoise, Part

        scale, resolution = self.parameters(setting)
        return MeanNoise((Part("gaussian", scale / (resolution * sum(sizes)), len(sizes)),))

    def entries(self, setting: Setting) -> Entries | Silence:
        """Batches are the differences of running sums."""
        return Entries(RUNNING, self.noise_of_sum(setting))


def publish_again(
    release: Scale, ledger: Sums, view: View, arm: int, rounds: int, total: float, rng: Generator
) -> None:
    """value = (sum of all rewards + fresh noise) / N."""
    ledger.exact[arm] += total
    view.size[arm] += rounds
    view.value[arm] = (ledger.exact[arm] + noise(release.scale, rng)) / (
        view.size[arm] * release.resolution
    )


@dataclass(frozen=True)
class RememberLaplace(PureRelease):
    """The mean of all rewards, released anew with every batch.

    A reward is in all later releases of its arm, so the noise of each pays for `releases(T)` of
    them: Lap(releases/(εN)). What forgetting saves, seen from the other side.
    """

    name: ClassVar[str] = "remember + Laplace"
    publish: ClassVar[Function] = staticmethod(publish_again)
    settles: ClassVar[bool] = True

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return schedule.releases(horizon)

    def parameters(self, setting: Setting) -> NamedTuple:
        setting.needs_horizon(self.name)
        return super().parameters(setting)

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """The last noise alone, on the sum of all rewards."""
        scale = self.scale(setting.schedule, setting.horizon, setting.source)
        return laplace_parts(setting, sizes, (scale, 1))

    def entries(self, setting: Setting) -> Entries | Silence:
        """Every number has fresh noise; where many come, those at powers of two are enough."""
        reads = ALL if setting.schedule.grows else POWERS
        return Entries(AGAIN, self.noise_of_sum(setting), reads)


class Shrinking(NamedTuple):
    """Half the power v that noise grows with, and the steps of a reward of 1."""

    half_power: float
    resolution: int


def publish_shrinking(
    release: Shrinking, ledger: Sums, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """value = mean of all rewards + Lap(N^-(1-v/2)): Lap(N^(v/2)) on the sum."""
    ledger.exact[arm] += total
    view.size[arm] += rounds
    scale = release.resolution * view.size[arm] ** release.half_power
    noisy = ledger.exact[arm] + noise(scale, rng)
    view.value[arm] = noisy / (view.size[arm] * release.resolution)


@dataclass(frozen=True)
class ShrinkingLaplace(Release):
    """The mean of all rewards, again and again, with noise Lap(N^-(1-v/2)), 1 < v <= 1.5.

    With a release every f rounds the k-th one of an arm costs (kf)^(-v/2). A reward is in all of
    them: no finite ε in the end, but ρ = Σ_k (kf)^-v / 2 = f^-v ζ(v)/2 of zCDP, for any horizon.
    """

    power: float
    asked: Budget
    name: ClassVar[str] = "remember + shrinking Laplace"
    publish: ClassVar[Function] = staticmethod(publish_shrinking)
    noise: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        power = amount("v", self.power, zero=False, fix="use v=1.1 as published")
        if not 1.0 < power <= 1.5:
            raise InvalidArgument("v", "lie in (1, 1.5]", self.power, "use v=1.1 as published")
        if not isinstance(self.asked, ZCDP | Approximate):
            raise UnsupportedBudget(
                "budget", "be zCDP or approximate for noise that shrinks", self.asked,
                "give rho, or epsilon and delta",
            )  # fmt: skip

    @property
    def budget(self) -> Budget:  # type: ignore[override]
        return self.asked

    def parameters(self, setting: Setting) -> Shrinking:
        return Shrinking(0.5 * self.power, setting.source.resolution)

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """The last noise alone, Lap(N^(v/2)) on the sum of all N rewards."""
        scale = setting.source.resolution * float(sum(sizes)) ** (0.5 * self.power)
        return laplace_parts(setting, sizes, (scale, 1))

    def entries(self, setting: Setting) -> Entries | Silence:
        """Every number has fresh noise Lap(N^(v/2)) on the sum."""
        return Entries(AGAIN, Noise(LAPLACE, 1.0), POWERS, power=0.5 * self.power)

    def check_composition(self, schedule: Schedule, rule: Rule | None = None) -> None:
        """The sum over releases rests on their being f rounds apart."""
        self._rounds_apart(schedule)

    def _rounds_apart(self, schedule: Schedule) -> int:
        apart = even_batches(schedule)
        if apart is None:
            raise InvalidArgument(
                "schedule", f"have batches of one length for the release {self.name!r}",
                str(schedule), "its noise is paid for by releases that are at least f rounds apart",
            )  # fmt: skip
        return apart

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        spent: Budget = ZCDP(shrinking_rho(self.power, self._rounds_apart(schedule)))
        if isinstance(self.asked, Approximate):
            spent = spent.to_approximate(self.asked.delta)
        return Guarantee(spent, Definition.INTERACTIVE, conditions=self.conditions)


def shrinking_rho(power: float, every: int) -> float:
    """ρ = f^-v ζ(v) / 2."""
    return math.pow(every, -power) * zeta(power) / 2.0


def zeta(s: float) -> float:
    """Riemann's ζ(s) for s > 1, by Euler and Maclaurin's formula after 20 terms."""
    n = 20.0

    def falling(power: float) -> float:
        return math.pow(n, -power)

    head = math.fsum(math.pow(k, -s) for k in range(1, 20))
    tail = n * falling(s) / (s - 1.0) + 0.5 * falling(s) + s * falling(s + 1.0) / 12.0
    third = s * (s + 1.0) * (s + 2.0)
    fifth = third * (s + 3.0) * (s + 4.0)
    return head + tail - third * falling(s + 3.0) / 720.0 + fifth * falling(s + 5.0) / 30240.0
