"""Sums without a trusted server: the noise is built from the participants' own shares.

Every device adds its part of the noise to its own outcome, secure aggregation adds up what the
devices send, and the server sees sums of whole batches alone: `privacy.shares` is both sides of
that. The sum of the shares has discrete Laplace noise (or Skellam, for a Rényi budget), so a policy
keeps its budget against the server too, at the regret of the policy with a trusted curator.

>>> from discreet.policies import Geometric, Policy, SecureSum
>>> from discreet.policies._private_kl import DPIMED
>>> row = Policy("dp-imed without trust", Geometric(2.0, 25), SecureSum(1.0), DPIMED())
>>> print(row.guarantee.short())
ε = 1 (interactive)

Simulation draws the noise of the whole sum, which has the distribution of the sum of the shares.
It takes outcomes to be multiples of 1/g; devices round others at random, which costs accuracy, not
privacy. Live trials record outcomes with a server, so none of them can run this: use `SecureBatch`.

Reference: Chowdhury & Zhou 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ..._checks import amount, check_is
from ..._compiled import Function, Kernel
from ...errors import InvalidArgument
from ...privacy._shares import SecureBatch, check_shares, skellam_epsilon, skellam_variance
from ...privacy._source import SIMULATED, Source
from ...privacy.budgets import Budget, Pure, Renyi
from .._schedules import Schedule
from .._view import Setting, View
from ._base import CLOSED, NEWEST, BatchNoise, PureRelease, Release, noise, zeros
from ._entries import FRESH, LAPLACE, RUNNING, Entries, Noise, Silence
from ._remembering import Running

if TYPE_CHECKING:
    from numpy.random import Generator


AGGREGATED = "nobody sees a share: devices send them to secure aggregation, which opens sums alone"


class Shares(NamedTuple):
    """Scale of the noise in steps of 1/g, what more there is by those who need not come, and g."""

    scale: float
    spare: float
    levels: int


def discrete_laplace(scale: float, rng: Generator) -> float:
    """P[k] proportional to e^(-|k|/b): floor(b E) of an exponential variable is geometric."""
    up, down = scale * rng.standard_exponential(), scale * rng.standard_exponential()
    return float(math.floor(up) - math.floor(down))


def spare_laplace(scale: float, spare: float, rng: Generator) -> float:
    """The Pólya shares beyond those that were reckoned with: shape `spare` in all."""
    if spare <= 0.0:
        return 0.0
    odds = 1.0 / math.expm1(1.0 / scale)
    up = rng.poisson(rng.gamma(spare, odds))
    down = rng.poisson(rng.gamma(spare, odds))
    return float(up - down)


def skellam(scale: float, rng: Generator) -> float:
    """The difference of two Poisson variables, of variance scale²."""
    half = 0.5 * scale * scale
    return float(rng.poisson(half) - rng.poisson(half))


def spare_skellam(scale: float, spare: float, rng: Generator) -> float:
    """The same for the shares beyond those that were reckoned with."""
    half = 0.5 * scale * scale * spare
    return float(rng.poisson(half) - rng.poisson(half)) if spare > 0.0 else 0.0


def unknown_cost(scale: float, rng: Generator) -> float:
    """Skellam noise has a proved bound and no exact cost: nothing to verify by execution."""
    from ...privacy.verification import NotAffine

    raise NotAffine("Skellam noise costs what its bound says, which is not computed here")


def no_spare(scale: float, spare: float, rng: Generator) -> float:
    """What a proof must not count on."""
    return 0.0


spare_noise = no_spare
"""Filled in by the release."""


def publish_shares(
    release: Shares, ledger: Running, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """S += sum of the batch's shares, in steps of 1/g; value = S / N."""
    added = noise(release.scale, rng) + spare_noise(release.scale, release.spare, rng)
    ledger.noisy[arm] += total + added / release.levels
    view.size[arm] += rounds
    view.value[arm] = ledger.noisy[arm] / view.size[arm]


def publish_last_shares(
    release: Shares, ledger: Running, view: View, arm: int, rounds: int, total: float,
    rng: Generator,
) -> None:  # fmt: skip
    """value = sum of the last batch's shares / n."""
    added = noise(release.scale, rng) + spare_noise(release.scale, release.spare, rng)
    view.value[arm] = (total + added / release.levels) / rounds
    view.size[arm] = rounds


class DistributedRelease(Release):
    """What the two have in common: who sees what, and the noise of a whole sum."""

    levels: int
    dropout: float
    secure_noise: ClassVar[bool] = False
    whole_noise: ClassVar[Function]
    spare_noise: ClassVar[Function]
    symbolic: ClassVar[dict[str, Function]] = {}
    """What stands in for the noise where the kernel runs on symbols."""

    def kernel(self, function: Function | Kernel, source: Source) -> Kernel:
        filled = super().kernel(function, source)
        if source is not SIMULATED:  # symbols: the noise that is sure to be there
            return Kernel(filled, spare_noise=no_spare, **self.symbolic)
        return Kernel(filled, noise=self.whole_noise, spare_noise=self.spare_noise)

    def ledger(self, setting: Setting) -> Running:
        return Running(zeros(setting.arms, setting.source))

    def batch(self, members: int) -> SecureBatch:
        """What the devices of a batch and the server must agree on."""
        assert isinstance(self.budget, Pure | Renyi)
        return SecureBatch(self.budget, members, self.levels, self.dropout)

    @property
    def conditions(self) -> tuple[str, ...]:
        many = f"{1.0 - self.dropout:.4g} of the" if self.dropout else "all"
        return (
            *super().conditions,
            AGGREGATED,
            f"{many} participants of a batch send an honest share, else the batch is refused",
        )

    def _without_server(self, setting: Setting) -> None:
        """A live trial counts outcomes in other steps than devices do, and records them itself."""
        if setting.source.secure:
            raise InvalidArgument(
                "release", "be one that a trusted server runs, in a live trial", self.name,
                "devices send their shares of a SecureBatch instead",
            )  # fmt: skip

    @property
    def _spare(self) -> float:
        """1/(1-γ) - 1: the noise that is there if all come."""
        return 1.0 / (1.0 - self.dropout) - 1.0


@dataclass(frozen=True)
class SecureSum(DistributedRelease, PureRelease):
    """The running sum of batches with discrete Laplace noise built from Pólya shares: ε.

    `levels`: g, outcomes are multiples of 1/g. `dropout`: the part of a batch that may be missing.
    `forget`: the mean of the last batch instead of all.
    """

    levels: int = 1
    dropout: float = 0.0
    forget: bool = False
    name: ClassVar[str] = "secure sum + discrete Laplace"
    any_lengths: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    whole_noise: ClassVar[Function] = staticmethod(discrete_laplace)
    spare_noise: ClassVar[Function] = staticmethod(spare_laplace)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shares(self.budget, self.levels, self.dropout)

    @property
    def publish(self) -> Function:  # type: ignore[override]
        return publish_last_shares if self.forget else publish_shares

    @property
    def evidence(self) -> str:  # type: ignore[override]
        return NEWEST if self.forget else CLOSED

    def parameters(self, setting: Setting) -> Shares:
        self._without_server(setting)
        return Shares(self.levels / self.epsilon, self._spare, self.levels)

    def entries(self, setting: Setting) -> Entries | Silence:
        """As the running sum, or the last batch: discrete Laplace noise has smaller moments."""
        if self.dropout:
            return Silence(
                f"{self.name!r} with dropout has more noise the more of a batch come, and how many "
                "come is not released"
            )
        noise = Noise(LAPLACE, 1.0 / self.epsilon)
        return Entries(FRESH if self.forget else RUNNING, noise)

    @property
    def batch_noise(self) -> BatchNoise:
        return BatchNoise(2.0 / self.epsilon**2, 1.0 / self.epsilon)


@dataclass(frozen=True)
class SkellamSum(DistributedRelease):
    """The running sum of batches with Skellam noise built from Poisson shares: a Rényi budget."""

    budget: Renyi
    levels: int = 1
    dropout: float = 0.0
    name: ClassVar[str] = "secure sum + Skellam"
    symbolic: ClassVar[dict[str, Function]] = {"noise": unknown_cost}
    publish: ClassVar[Function] = staticmethod(publish_shares)
    any_lengths: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    whole_noise: ClassVar[Function] = staticmethod(skellam)
    spare_noise: ClassVar[Function] = staticmethod(spare_skellam)

    def __post_init__(self) -> None:
        check_is("budget", self.budget, Renyi, "use for example Renyi(8.0, 0.5)")
        check_shares(self.budget, self.levels, amount("dropout", self.dropout, fix="use 0.1"))

    @property
    def variance(self) -> float:
        """Of the noise of a whole batch, in steps of 1/g."""
        return float(skellam_variance(self.budget, self.levels))

    @property
    def batch_noise(self) -> BatchNoise:
        return BatchNoise(self.variance / self.levels**2)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        alpha = self.budget.alpha
        return Renyi(alpha, skellam_epsilon(self.variance, self.levels, alpha))

    def parameters(self, setting: Setting) -> Shares:
        self._without_server(setting)
        return Shares(math.sqrt(self.variance), self._spare, self.levels)
