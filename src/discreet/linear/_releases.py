"""Releases with public contexts: what a curator publishes of Σ a r.

A reward r of an action a enters one sum, so replacing it by r' moves that sum by (r - r') a: with
rewards clipped to [low, high], by at most (high - low) · ||a||. The actions of an episode follow
from public contexts and earlier releases alone, so the longest of them is public, and the noise
    N(0, (σ₁ · (high - low) · max ||a||)² I),      σ₁ the noise that sensitivity 1 needs,
keeps the budget whatever the actions and rewards are. For ||a|| = 1, rewards in [-1, 1] and
zCDP this is N(0, (2/ρ) I). Each reward is in one release, and sums of releases are
post-processing: the run costs what one release costs.

`setting="printed"` is what the papers print: N(0, (2/ρ) I) and no clipping. Its promise rests on
||a|| <= 1 and |r| <= 1, and is void on any problem that does not keep to that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, cast

from .._checks import number, one_of
from .._compiled import Floats, Function
from ..errors import InvalidArgument
from ..policies._parts import ReleasePart
from ..policies.releases._base import check_gaussian, in_kind, noise
from ..privacy._guarantees import Definition, Guarantee
from ..privacy._mechanisms import Gaussian
from ..privacy.budgets import Budget
from ._grid import Grid
from ._view import LinearSetting, LinearView

if TYPE_CHECKING:
    from numpy.random import Generator

PUBLIC = "contexts are public"
Need = tuple[str, float, int]
"""A distribution of noise, its scale, and how many numbers."""


class LinearRelease(ReleasePart[LinearSetting]):
    """Base of all releases of linear policies."""

    shape: ClassVar[str] = "sums"
    """What is released, for the verification of it: "sums", "blocks", "trees", "batches",
    "phases"."""
    private_contexts: ClassVar[bool] = False

    @property
    def is_live(self) -> bool:
        """Whether it has secure noise and promises its budget whatever it is handed."""
        return False

    @property
    def own_blocks(self) -> bool:
        """Whether every arm has features in its own block, and zeros elsewhere."""
        return False

    @property
    def clip(self) -> tuple[float, float] | None:
        """The range that the curator clips rewards to; None if it does not."""
        return None

    def guarantee(self, dimension: int | None = None) -> Guarantee:
        """What is promised, derived from the noise; in the worst dimension if none is given."""
        return Guarantee.none()

    def broken(self, rewards: tuple[float, float] | None, longest: float) -> str:
        """Which assumption such rewards and actions break; empty if none."""
        return ""


class RoundRelease(LinearRelease):
    """Base of those that take one reward after the other."""

    each_alone: ClassVar[bool] = False
    """Whether every participant is released alone, not with a batch."""
    collect: ClassVar[Function]
    """Kernel: the curator takes the reward of one round."""
    publish: ClassVar[Function]
    """Kernel: the curator writes noisy sums into the view."""
    collect_total: ClassVar[Function | None] = None
    """Kernel: the curator takes the sum of an action's clipped rewards; None if it must not."""

    def needs(self, parameters: object, ledger: object, dimension: int) -> list[Need]:
        """How many numbers of noise the next release takes, by their scales: of public counts and
        lengths alone. A live trial draws them together; those that are not named here one by one.
        """
        return []

    def grid(self, longest: float) -> Grid:
        """Whole numbers for a live trial of actions up to a length."""
        raise InvalidArgument("release", "have whole numbers for live trials", self.name, "use it "
                              "in simulations")  # fmt: skip


class Episode(NamedTuple):
    """The sum of the episode under way: private. The longest action of it is public."""

    total: Floats
    longest: Floats


class Range(NamedTuple):
    """Rewards are clipped to [low, high]."""

    low: float
    high: float


class Noise(NamedTuple):
    """Clipping range, noise per length of an action, and the length that is reckoned with.

    `assumed` is 0 where the longest action of an episode is to be computed. A product of a feature
    of 1 and a reward of 1 is `resolution` steps.
    """

    low: float
    high: float
    scale: float
    assumed: float
    resolution: float


def clipped(reward: float, low: float, high: float) -> float:
    """The reward inside [low, high]; NaN, which no comparison holds for, becomes low."""
    if not reward >= low:
        return low
    return min(reward, high)


def check_ends(low: object, high: object) -> tuple[float, float]:
    """A range to clip rewards to."""
    ends = number("low", low), number("high", high)
    if not ends[0] < ends[1]:
        raise InvalidArgument("low", f"be below high = {high!r}", low, "swap them")
    return ends


class Clipping(Protocol):
    """Parameters of a release that clips rewards."""

    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def collect_sum(
    release: Clipping, ledger: Episode, actions: Floats, start: int, reward: float, dimension: int
) -> None:
    """Σ a r with the reward clipped, and max ||a||²."""
    inside = clipped(reward, release.low, release.high)
    collect_total(release, ledger, actions, start, inside, dimension)


def collect_total(
    release: object, ledger: Episode, actions: Floats, start: int, total: float, dimension: int
) -> None:
    """What `collect_sum` makes of many rewards of one action; clipped one by one in advance."""
    square: float = 0  # zeros are whole numbers, so that sums of whole numbers stay whole
    for i in range(dimension):
        feature = actions[start + i]
        ledger.total[i] += feature * total
        square += feature * feature
    ledger.longest[0] = max(ledger.longest[0], square)


def publish_exact(
    release: object, ledger: Episode, view: LinearView, dimension: int, rng: Generator
) -> None:
    """The plain sum."""
    for i in range(dimension):
        view.noisy[i] += ledger.total[i]
        ledger.total[i] = 0
    view.releases[0] += 1


def scale_of_sum(release: Noise, ledger: Episode) -> float:
    """σ of the next release, by the longest action of the episode."""
    length = release.assumed if release.assumed > 0.0 else math.sqrt(ledger.longest[0])
    return release.scale * length


def publish_noisy(
    release: Noise, ledger: Episode, view: LinearView, dimension: int, rng: Generator
) -> None:
    """The episode's sum + N(0, σ² I), added to the earlier releases."""
    scale = scale_of_sum(release, ledger)
    for i in range(dimension):
        view.noisy[i] += (ledger.total[i] + noise(scale, rng)) / release.resolution
        ledger.total[i] = 0
    view.variance[0] += (scale / release.resolution) ** 2
    ledger.longest[0] = 0
    view.releases[0] += 1


class SumRelease(RoundRelease):
    """Base of the releases of Σ a r, episode by episode."""

    collect: ClassVar[Function] = staticmethod(collect_sum)
    collect_total: ClassVar[Function | None] = staticmethod(collect_total)

    def ledger(self, setting: LinearSetting) -> Episode:
        return Episode(setting.grid.zeros(setting.dimension), setting.grid.zeros(1))


@dataclass(frozen=True)
class ExactSum(SumRelease):
    """The plain Σ a r: no noise, no privacy."""

    name: ClassVar[str] = "exact sum"
    publish: ClassVar[Function] = staticmethod(publish_exact)

    def parameters(self, setting: LinearSetting) -> Range:
        return Range(-math.inf, math.inf)


@dataclass(frozen=True)
class GaussianRelease(LinearRelease):
    """Base of the releases with Gaussian noise: the budget, the range, and whether to trust it."""

    budget: Budget
    low: float = -1.0
    high: float = 1.0
    setting: str = "sound"
    noise: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        one_of("setting", self.setting, "sound", "printed")
        check_gaussian(self.budget)
        ends = check_ends(self.low, self.high)
        if self.printed and ends != (-1.0, 1.0):
            raise InvalidArgument(
                "low and high", 'be -1 and 1 with setting="printed"', ends,
                "leave them out, or take the sound setting",
            )  # fmt: skip
        self.unit_scale()

    def grid(self, longest: float) -> Grid:
        """Whole numbers for a live trial of actions up to a length."""
        return Grid(longest, float(self.low), float(self.high))

    @property
    def printed(self) -> bool:
        """Whether the papers' assumptions are trusted rather than enforced."""
        return self.setting == "printed"

    @property
    def clip(self) -> tuple[float, float] | None:
        return None if self.printed else (float(self.low), float(self.high))

    def unit_scale(self) -> float:
        """σ of noise that hides one reward of an action of length 1."""
        return Gaussian.calibrated(self.budget, self.high - self.low).scale

    def guarantee(self, dimension: int | None = None) -> Guarantee:
        """Noise and sensitivity are both proportional to max ||a||: one release costs this."""
        spent = Gaussian(self.unit_scale(), self.high - self.low).budget
        return Guarantee(
            in_kind(spent, self.budget), Definition.INTERACTIVE, conditions=self.conditions
        )

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold for the promise."""
        if self.printed:
            return (PUBLIC, "rewards lie in [-1, 1]", "actions lie in the unit ball")
        return (PUBLIC,)

    def broken(self, rewards: tuple[float, float] | None, longest: float) -> str:
        if not self.printed:
            return ""
        if rewards is None or rewards[0] < self.low or rewards[1] > self.high:
            got = "are unbounded" if rewards is None else f"lie in [{rewards[0]:g}, {rewards[1]:g}]"
            return f"it rests on rewards in [-1, 1], and here they {got}"
        if longest > 1.0 + 1e-12:
            return f"it rests on actions in the unit ball, and here they reach length {longest:g}"
        return ""


@dataclass(frozen=True)
class NoisySum(GaussianRelease, SumRelease):
    """The running sum of noisy episodes, Σ a r + N(0, σ² I) each."""

    name: ClassVar[str] = "running sum + Gaussian"
    publish: ClassVar[Function] = staticmethod(publish_noisy)

    @property
    def is_live(self) -> bool:
        return not self.printed

    def needs(self, parameters: object, ledger: object, dimension: int) -> list[Need]:
        scale = scale_of_sum(cast("Noise", parameters), cast("Episode", ledger))
        return [(self.noise, scale, dimension)]

    def parameters(self, setting: LinearSetting) -> Noise:
        grid, low, high = setting.grid, float(self.low), float(self.high)
        scale = grid.scale_per_length(self.budget, low, high)
        if self.printed:
            return Noise(-math.inf, math.inf, scale, 1.0, grid.resolution)
        return Noise(grid.reward(low), grid.reward(high), scale, 0.0, grid.resolution)
