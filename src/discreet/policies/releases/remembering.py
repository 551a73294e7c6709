"""Nothing is forgotten: a running sum of noisy batches, or everything again with fresh noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...compiled import Function
from ..schedules import Schedule
from ..view import Setting, View
from .base import PureRelease, Scale, noise, zeros
from .exact import Sums


class Running(NamedTuple):
    """Noisy sums, one an arm: public, kept here only because the view holds means."""

    noisy: Any


def publish_running(
    release: Scale, ledger: Running, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    """S += batch total + Lap(1/ε); value = S / N."""
    ledger.noisy[arm] += total + noise(release.scale, rng)
    view.size[arm] += rounds
    view.value[arm] = ledger.noisy[arm] / (view.size[arm] * release.unit)


@dataclass(frozen=True)
class RunningLaplace(PureRelease):
    """The mean of all noisy batch sums; each reward is in one of them, their sum is free: ε."""

    name: ClassVar[str] = "running sum + Laplace"
    publish: ClassVar[Function] = staticmethod(publish_running)

    def ledger(self, setting: Setting) -> Running:
        return Running(zeros(setting.arms, setting.source))


def publish_again(
    release: Scale, ledger: Sums, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    """value = (sum of all rewards + fresh noise) / N."""
    ledger.exact[arm] += total
    view.size[arm] += rounds
    view.value[arm] = (ledger.exact[arm] + noise(release.scale, rng)) / (
        view.size[arm] * release.unit
    )


@dataclass(frozen=True)
class RememberLaplace(PureRelease):
    """The mean of all rewards, released anew with every batch.

    A reward is in all later releases of its arm, so the noise of each pays for `releases(T)` of
    them: Lap(releases/(εN)). What forgetting saves, seen from the other side.
    """

    name: ClassVar[str] = "remember + Laplace"
    publish: ClassVar[Function] = staticmethod(publish_again)

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return schedule.releases(horizon)

    def parameters(self, setting: Setting) -> NamedTuple:
        setting.needs_horizon(self.name)
        return super().parameters(setting)

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))
