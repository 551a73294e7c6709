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
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from ..._checks import count, positive
from ..._compiled import Function, Kernel, open_slot
from ...errors import InvalidArgument, UnsupportedBudget
from ...privacy._guarantees import Definition, Guarantee
from ...privacy._mechanisms import Laplace
from ...privacy._source import SIMULATED, Source
from ...privacy.budgets import ZCDP, Approximate, Budget, GaussianDP, Pure, Renyi
from .._parts import ReleasePart, says_itself
from .._schedules import Schedule
from .._view import Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.random import Generator

    from ..._types import Floats
    from .._rules import Rule
    from ._entries import Entries, Noise, Silence
    from ._noise_of_mean import MeanNoise
    from ._pairs import PairScale

CLOSED, NEWEST, FILLED = "closed", "newest", "filled"
"""Rewards that stand behind a released mean: all that were released, those of the newest batch, or
those of the newest full batch, where batches of 1, 2, 4, ... fill up reward by reward."""
NOMINAL_HORIZON = 1 << 20
"""Stands in for the horizon where a guarantee is the same for all of them."""


class BatchNoise(NamedTuple):
    """The variance of what is added to the sum of a batch, and b if it is Lap(b), else 0."""

    variance: float
    scale: float = 0.0


class Release(ReleasePart[Setting]):
    """Base of all releases: exact in what it stores, private by what `mechanism` adds."""

    publish: ClassVar[Function]
    respond: ClassVar[Function | None] = None
    """Local releases: what a user's own device makes of one reward, before anyone sees it."""
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    """The range of rewards that the sensitivity rests on."""
    secure_noise: ClassVar[bool] = True
    """Whether all its noise has a secure twin."""
    takes_binary: ClassVar[bool] = False
    """Whether outcomes must be 0 or 1, for its noise hides nothing in between."""
    settles: ClassVar[bool] = False
    """Whether a batch leaves all that is public of other arms as it was."""
    any_lengths: ClassVar[bool] = False
    """Whether batches of any length, in any order of arms, cost what the guarantee says. A trial
    then ends, drops arms and closes blocks where it likes. Ask by `takes_any_block`."""
    has_cells: ClassVar[bool] = False
    """Whether the mean grows by the noisy sum of every block, with Laplace noise 1/ε in each. Ask
    by `releases_cells`."""
    rounds_to_bits: ClassVar[bool] = False
    """Whether means are those of exact counts of 0 and 1."""
    evidence: ClassVar[str] = CLOSED
    """Which rewards stand behind a released mean; `view.size` is their number."""
    counter: ClassVar[str | None] = None
    """What kind of counter its ledger is, for `policies.nodes` to check. Ask by `counter_of`."""
    budget: Budget
    """What was asked for, over the whole run."""

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

    def check_composition(self, schedule: Schedule, rule: Rule) -> None:
        """Refuse a schedule, or a rule, under which the guarantee would not hold.

        Most releases keep theirs under all of them: a batch is released once, whatever its length,
        and a rule sees releases alone.
        """

    def is_sound_for(self, schedule: Schedule, rule: Rule) -> bool:
        """Whether a policy may compose it with the two."""
        try:
            self.check_composition(schedule, rule)
        except InvalidArgument:
            return False
        return True

    @property
    def takes_any_block(self) -> bool:
        """Whether its noise is paid for whatever the length of a batch, and wherever it is cut off,
        by the class that publishes: one that publishes in its own way has to say so."""
        return self.any_lengths and says_itself(self, "any_lengths", "publish")

    @property
    def releases_cells(self) -> bool:
        """Whether it `has_cells`, by the class that publishes."""
        return self.has_cells and says_itself(self, "has_cells", "publish")

    @property
    def batch_noise(self) -> BatchNoise | None:
        """The noise in the sum of a batch that is released once, rewards in [0, 1]; None where
        sums of batches are not released by themselves, or not with noise of one size."""
        return None

    def counter_of(self) -> str | None:
        """Its kind of counter, if the class that says so is the one that publishes."""
        return self.counter if says_itself(self, "counter", "publish") else None

    def pair_scale(self, source: Source) -> PairScale | None:
        """The noise of sum and count of those who answered, at the price of the sum; None where
        missing outcomes cannot be estimated. Ask by `pair_scale_of`: each must say it itself."""
        return None

    @property
    def is_live(self) -> bool:
        """Whether it has secure noise for its budget, so that a live trial can run it."""
        return self.secure_noise

    def largest_scale(self, setting: Setting) -> float:
        """The largest scale, in steps, that its noise can have up to the horizon; 0 if it has no
        scale that follows from its budget."""
        return float(getattr(self.parameters(setting), "scale", 0.0))

    def estimated_mean(self, value: float) -> float | None:
        """The mean reward that a released value is an unbiased estimate of; None if of none.

        A curator releases means. What a participant's own device makes of a reward may lean to one
        side, so a local release has to say how to undo that; until it does, nothing is reported.
        """
        return value if self.respond is None else None

    def mean_noise(
        self, setting: Setting, sizes: Sequence[int], steps: int | None = None
    ) -> MeanNoise | None:
        """The noise in `estimated_mean` after an arm's batches of these sizes; None if unknown.

        `steps`: releases of all arms so far, for counters that continue while others are played.
        """
        for size in sizes:
            count("sizes", size, fix="give the rounds of every batch")
        return self.noise_after(setting, sizes, steps) if len(sizes) > 0 else None

    def noise_after(
        self, setting: Setting, sizes: Sequence[int], steps: int | None
    ) -> MeanNoise | None:
        """The same after one batch at least. By default the kernel is run on symbols and asked;
        large numbers of batches want a formula."""
        from .._verification import released_noise
        from ._noise_of_mean import noise_of

        if self.respond is not None:
            return None
        return noise_of(released_noise(self, setting, list(sizes)))

    def entries(self, setting: Setting) -> Entries | Silence:
        """What its numbers are, for intervals. Ask by `entries_of`: each must say it itself."""
        from ._entries import Silence

        return Silence(f"{self.name!r} does not say what its numbers are: define entries(setting)")

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold for the guarantee, in plain words."""
        return () if self.bounds is None else ("rewards lie in [0, 1]",)

    def publish_kernel(self, source: Source) -> Kernel:
        """`publish` with the noise of a source filled in."""
        kernel = self.kernel(self.publish, source)
        draws = bool(self.noise) and self.respond is None
        return kernel.inlined() if draws else kernel

    def respond_kernel(self, source: Source) -> Kernel | None:
        """`respond` with the noise of a source filled in; None for a trusted curator."""
        return None if self.respond is None else self.kernel(self.respond, source)


noise: Callable[[float, Generator], float] = open_slot("noise")
response: Callable[[float, float, Generator], float] = open_slot("response")
"""A random bit that leans towards the reward."""
squash: Callable[[float, int], float] = open_slot("squash")
"""The sigmoid of a reward, in steps."""
truncated: Callable[[float, float, Generator], float] = open_slot("truncated")
"""Truncated Laplace noise of sensitivity 1."""


class Scale(NamedTuple):
    """Noise scale, and the fixed-point steps that make up a reward of 1."""

    scale: float
    resolution: int


@dataclass(frozen=True)
class PureRelease(Release):
    """Base of the releases that keep a pure budget ε with Laplace noise on sums."""

    epsilon: float
    noise: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, infinite=True)

    @property
    def budget(self) -> Budget:  # type: ignore[override]
        return Pure(float(self.epsilon))

    def scale(self, schedule: Schedule, horizon: int | None, source: Source) -> float:
        """Noise scale of one number, in steps of the source: touches / ε."""
        touches = self.touches(schedule, horizon or NOMINAL_HORIZON)
        return source.laplace_scale(self.epsilon / touches)

    def parameters(self, setting: Setting) -> NamedTuple:
        source = setting.source
        return Scale(self.scale(setting.schedule, setting.horizon, source), source.resolution)

    def mechanism_budget(self, schedule: Schedule, horizon: int) -> Budget:
        return Laplace(self.scale(schedule, horizon, SIMULATED)).budget

    def noise_of_sum(self, setting: Setting, times: float = 1.0, each: bool = False) -> Noise:
        """The Laplace noise of `parameters`, for rewards in [0, 1]."""
        from ._entries import LAPLACE, Noise

        parameters = cast("Scale", self.parameters(setting))  # or the same with more fields
        return Noise(LAPLACE, times * parameters.scale / parameters.resolution, each)


def laplace_parts(setting: Setting, sizes: Sequence[int], *parts: tuple[float, int]) -> MeanNoise:
    """Laplace noises on the sum of all rewards, as (scale in steps, count), seen on their mean."""
    from ._noise_of_mean import MeanNoise, Part

    whole = sum(sizes) * setting.source.resolution
    return MeanNoise(tuple(Part("laplace", b / whole, n) for b, n in parts if n > 0))


def zeros(arms: int, source: Source) -> Floats:
    """Sums at zero: floats in simulation, exact integers on the secure path.

    Args:
        arms: How many arms there are.
        source: Where noise comes from.

    Returns:
        The sums.
    """
    import numpy as np

    return np.zeros(arms, np.int64 if source.secure else np.float64)


def check_gaussian(budget: Budget) -> None:
    """Refuse a budget that Gaussian noise does not keep."""
    if not isinstance(budget, Approximate | ZCDP | Renyi | GaussianDP):
        raise UnsupportedBudget(
            "budget", "be approximate, zCDP, Rényi or Gaussian for Gaussian noise", budget,
            "give rho, or epsilon and delta, or epsilon and renyi_alpha; Laplace noise serves a "
            "pure budget",
        )  # fmt: skip


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
