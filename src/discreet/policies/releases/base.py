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
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, NamedTuple

from ...compiled import Function, Kernel
from ...errors import InvalidArgument
from ...privacy.budgets import ZCDP, Approximate, Budget, Pure, Renyi
from ...privacy.guarantees import Definition, Guarantee
from ...privacy.mechanisms import Laplace
from ...privacy.source import SIMULATED, Source
from ..schedules import Schedule
from ..view import Empty, Setting

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
        spent = without_rounding(each.times(self.touches(schedule, horizon)), self.budget)
        definition = Definition.LOCAL if self.respond is not None else Definition.INTERACTIVE
        return Guarantee(spent, definition, conditions=self.conditions)

    def estimated_mean(self, value: float) -> float | None:
        """An unbiased estimate of the mean reward, in [0, 1], behind a released value; None if
        there is none."""
        return value

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold for the guarantee, in plain words."""
        return () if self.bounds is None else ("rewards lie in [0, 1]",)

    def publish_kernel(self, source: Source) -> Kernel:
        """`publish` with the noise of a source filled in."""
        kernel = Kernel(self.publish, **self._filled(source))
        draws = bool(self.noise) and self.respond is None
        return kernel.inlined() if draws else kernel

    def respond_kernel(self, source: Source) -> Kernel | None:
        """`respond` with the noise of a source filled in; None for a trusted curator."""
        return None if self.respond is None else Kernel(self.respond, **self._filled(source))

    def _filled(self, source: Source) -> dict[str, Function]:
        filled = dict(source.kernels)
        if self.noise:
            filled["noise"] = source.kernels[self.noise]
        return filled

    def __str__(self) -> str:
        return self.name


def noise(scale: float, rng: Any) -> float:
    """Filled in by a source; a kernel that was not linked must not run."""
    raise RuntimeError("no source of noise was filled in")


def response(reward: float, epsilon: float, rng: Any) -> float:
    """Filled in by a source, likewise: a random bit that leans towards the reward."""
    raise RuntimeError("no source of noise was filled in")


def squash(reward: float, unit: int) -> float:
    """Filled in by a source, likewise: the sigmoid of a reward, in units."""
    raise RuntimeError("no source of noise was filled in")


def truncated(epsilon: float, delta: float, rng: Any) -> float:
    """Filled in by a source, likewise: truncated Laplace noise of sensitivity 1."""
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
    return spent


def without_rounding(spent: Budget, asked: Budget) -> Budget:
    """What was asked for, where what was spent differs from it by rounding alone."""
    if type(spent) is not type(asked):
        return spent
    pairs = zip(astuple(spent), astuple(asked), strict=True)  # type: ignore[call-overload]
    same = all(math.isclose(x, y, rel_tol=1e-9) for x, y in pairs)
    return asked if same else spent
