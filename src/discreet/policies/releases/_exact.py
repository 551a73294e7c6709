"""No noise: the plain mean, for the non-private twins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..._compiled import Function
from ...privacy._guarantees import Guarantee
from .._schedules import Schedule
from .._view import Setting, View
from ._base import Release, zeros
from ._entries import LAST, NOISELESS, RUNNING, Entries, Silence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from ..._types import Floats
    from ._noise_of_mean import MeanNoise


class Resolution(NamedTuple):
    """The fixed-point steps that make up a reward of 1."""

    resolution: int


class Sums(NamedTuple):
    """Exact sums, one per arm: private, unless the release is exact anyway."""

    exact: Floats


def publish_exact(
    release: Resolution, ledger: Sums, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """value = mean of all rewards of the arm."""
    ledger.exact[arm] += total
    view.size[arm] += rounds
    view.value[arm] = ledger.exact[arm] / (view.size[arm] * release.resolution)


class Noiseless(Release):
    """Base of the releases without noise, which promise nothing."""

    bounds: ClassVar[tuple[float, float] | None] = None

    def parameters(self, setting: Setting) -> Resolution:
        return Resolution(setting.source.resolution)

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        return Guarantee.none()


@dataclass(frozen=True)
class Exact(Noiseless):
    """The plain mean: no noise, no privacy."""

    name: ClassVar[str] = "exact"
    publish: ClassVar[Function] = staticmethod(publish_exact)
    any_lengths: ClassVar[bool] = True
    settles: ClassVar[bool] = True

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))

    def noise_after(self, setting: Setting, sizes: Sequence[int], steps: int | None) -> MeanNoise:
        """None at all."""
        from ._noise_of_mean import MeanNoise

        return MeanNoise()

    def entries(self, setting: Setting) -> Entries | Silence:
        """Only the total matters, whatever the batches."""
        return Entries(RUNNING, NOISELESS, LAST)
