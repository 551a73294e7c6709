"""Releases: how a batch of rewards becomes a public number.

A release is the curator. Its kernel `publish(release, ledger, view, arm, rounds, total, rng)` is
the only code of a policy that is handed rewards: `total`, the sum of one finished batch. It may
keep things in its private `ledger`; what it writes into the `view` is public.

What a release claims is what its noise buys: `touches` says in how many noisy numbers one reward
can ever be, `mechanism` what one of them costs, and the guarantee is their composition.

>>> from discreet.policies import Doubling, ForgetLaplace
>>> print(ForgetLaplace(epsilon=0.5).guarantee(Doubling()).budget)
ε = 0.5
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ..compiled import Function, Kernel
from ..errors import InvalidArgument, UnsupportedBudget
from ..privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from ..privacy.counters import TreeLedger, tree_add, tree_ledger, tree_levels
from ..privacy.guarantees import Definition, Guarantee
from ..privacy.mechanisms import Gaussian, Laplace, RandomisedResponse
from ..privacy.source import SIMULATED, Source
from .schedules import Schedule
from .view import Empty, Setting, View

NOMINAL_HORIZON = 1 << 20
"""Stands in for the horizon where a guarantee is the same for all of them."""


class Release:
    """Base of all releases: exact in what it stores, private by what `mechanism` adds."""

    name: ClassVar[str]
    publish: ClassVar[Function]
    respond: ClassVar[Function | None] = None
    """Local releases: what a user's own device makes of one reward, before anybody sees it."""
    noise: ClassVar[str] = ""
    """Which noise of the source fills in `noise` in the kernels."""
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    """The range of rewards that the sensitivity rests on."""
    budget: Budget
    """What was asked for, over the whole run."""

    def parameters(self, setting: Setting) -> NamedTuple:
        """What the kernels get as their first argument."""
        return Empty()

    def ledger(self, setting: Setting) -> NamedTuple:
        """The curator's private memory, empty."""
        return Empty()

    def touches(self, schedule: Schedule, horizon: int) -> int:
        """How many noisy numbers one reward can enter."""
        return 1

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        """What one noisy number costs, from the noise that is really added."""
        raise InvalidArgument("release", "say what a number costs", self, "define the method")

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        """Each reward is in one batch (parallel composition), a batch in `touches` releases."""
        horizon = horizon or NOMINAL_HORIZON
        each = self.mechanism_budget(schedule, horizon)
        spent = each.times(self.touches(schedule, horizon))
        definition = Definition.LOCAL if self.respond is not None else Definition.INTERACTIVE
        return Guarantee(spent, definition, conditions=("rewards lie in [0, 1]",))

    def publish_kernel(self, source: Source) -> Kernel:
        """`publish` with the noise of a source filled in."""
        return Kernel(self.publish, **self._filled(source))

    def respond_kernel(self, source: Source) -> Kernel | None:
        """`respond` with the noise of a source filled in; None for a trusted curator."""
        return None if self.respond is None else Kernel(self.respond, **self._filled(source))

    def _filled(self, source: Source) -> dict[str, Function]:
        filled = {"response": source.kernels["response"]}
        if self.noise:
            filled["noise"] = source.kernels[self.noise]
        return filled

    def __str__(self) -> str:
        return self.name


def noise(scale: float, rng: Any) -> float:
    """Filled in by a source; a kernel that was not linked must not run."""
    raise RuntimeError("no source of noise was filled in")


def response(reward: float, epsilon: float, rng: Any) -> float:
    """Filled in by a source, likewise."""
    raise RuntimeError("no source of noise was filled in")


class Scale(NamedTuple):
    """Noise scale and the unit that rewards are counted in."""

    scale: float
    unit: int


@dataclass(frozen=True)
class PureRelease(Release):
    """Base of the releases that keep a pure budget ε with Laplace noise on sums."""

    epsilon: float
    noise: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        if not isinstance(self.epsilon, int | float) or not self.epsilon > 0.0:
            raise InvalidArgument(
                "epsilon", "be above 0", self.epsilon, "use for example epsilon=1.0"
            )

    @property
    def budget(self) -> Budget:  # type: ignore[override]
        return Pure(float(self.epsilon))

    def scale(self, schedule: Schedule, horizon: int | None, source: Source) -> float:
        """Noise scale of one number, in units of the source: touches / ε."""
        touches = self.touches(schedule, horizon or NOMINAL_HORIZON)
        return source.laplace_scale(self.epsilon / touches)

    def parameters(self, setting: Setting) -> NamedTuple:
        source = setting.source
        return Scale(self.scale(setting.schedule, setting.horizon, source), source.unit)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        return Laplace(self.scale(schedule, horizon, SIMULATED)).budget


# --- no noise ---------------------------------------------------------------------------------


class Unit(NamedTuple):
    """The unit that rewards are counted in."""

    unit: int


class Sums(NamedTuple):
    """Exact sums, one an arm: private, unless the release is exact anyway."""

    exact: Any


def publish_exact(
    release: Any, ledger: Sums, view: View, arm: int, rounds: int, total: float, rng: Any
) -> None:
    """value = mean of all rewards of the arm."""
    ledger.exact[arm] += total
    view.size[arm] += rounds
    view.value[arm] = ledger.exact[arm] / (view.size[arm] * release.unit)


@dataclass(frozen=True)
class Exact(Release):
    """The plain mean: no noise, no privacy."""

    name: ClassVar[str] = "exact"
    publish: ClassVar[Function] = staticmethod(publish_exact)
    bounds: ClassVar[tuple[float, float] | None] = None

    def parameters(self, setting: Setting) -> Unit:
        return Unit(setting.source.unit)

    def ledger(self, setting: Setting) -> Sums:
        return Sums(zeros(setting.arms, setting.source))

    def guarantee(self, schedule: Schedule, horizon: int | None = None) -> Guarantee:
        return Guarantee.none()


# --- one noisy number a batch, older rewards forgotten ----------------------------------------


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


# --- a running sum of noisy batches -----------------------------------------------------------


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


# --- everything again, with fresh noise -------------------------------------------------------


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


# --- binary trees -----------------------------------------------------------------------------


class TreeScale(NamedTuple):
    """Noise scale of a node, unit of rewards, levels of the tree."""

    scale: float
    unit: int
    levels: int


def publish_tree(
    release: TreeScale, ledger: TreeLedger, view: View, arm: int, rounds: int, total: float,
    rng: Any,
) -> None:  # fmt: skip
    """value = noisy prefix sum of the arm's tree / N. A batch is one leaf."""
    view.size[arm] += rounds
    prefix = tree_add(ledger, release.levels, release.scale, arm, total, rng)
    view.value[arm] = prefix / (view.size[arm] * release.unit)


@dataclass(frozen=True)
class Tree(PureRelease):
    """A binary tree of noisy sums an arm, node noise Lap(h/ε), h = ceil(log2 leaves) + 1.

    A reward is in one leaf, a leaf under h nodes, each node costs ε/h.
    """

    name: ClassVar[str] = "tree"
    publish: ClassVar[Function] = staticmethod(publish_tree)

    def touches(self, schedule: Schedule, horizon: int) -> int:
        return tree_levels(schedule.releases(horizon))

    def parameters(self, setting: Setting) -> TreeScale:
        horizon = setting.needs_horizon(self.name)
        scale = self.scale(setting.schedule, horizon, setting.source)
        return TreeScale(scale, setting.source.unit, self.touches(setting.schedule, horizon))

    def ledger(self, setting: Setting) -> TreeLedger:
        levels = self.touches(setting.schedule, setting.needs_horizon(self.name))
        return tree_ledger(setting.arms, levels, exact=setting.source.secure)


# --- the local model --------------------------------------------------------------------------


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


# --- helpers ----------------------------------------------------------------------------------


def zeros(arms: int, source: Source) -> Any:
    """Sums at zero: floats in simulation, exact integers on the secure path."""
    import numpy as np

    return np.zeros(arms, np.int64 if source.secure else np.float64)


def in_kind(spent: Budget, asked: Budget) -> Budget:
    """What was spent, in the kind of budget that was asked for."""
    if isinstance(asked, Approximate):
        # the exact curve of the noise at the asked ε: at most the asked δ, or the call fails
        return Approximate(asked.epsilon, spent.delta_at(asked.epsilon))
    if isinstance(asked, Renyi):
        return spent.to_renyi(asked.alpha)
    if isinstance(asked, ZCDP):
        return spent.to_zcdp()
    return spent if math.isfinite(getattr(spent, "mu", 0.0)) else asked
