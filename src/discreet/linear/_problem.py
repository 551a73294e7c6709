"""Linear problems: contexts, a parameter θ, and how rewards scatter around <θ, a>.

    GaussianRewards(sd)  <θ, a> + N(0, sd²), unbounded: a curator has to clip it
    SignRewards()        1 or -1 with mean <θ, a>, which must lie in [-1, 1]
    BitRewards()         1 or 0 with mean <θ, a>, which must lie in [0, 1]

>>> problem = LinearProblem.random(arms=10, dimension=3, contexts="fixed", seed=1)
>>> problem.contexts.longest, problem.bounds
(1.0, None)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._checks import action_array, one_of, positive
from .._compiled import Function
from ..arms import Bernoulli, Environment, Gaussian, TwoPoint
from ..errors import InvalidArgument
from ..policies._view import Empty
from ._contexts import Contexts, FixedActions, GaussianContexts, generator, sphere

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike

    from .._types import Floats, Json

SLACK = 1e-9
"""How far beyond its range a mean may lie by rounding."""


class Rewards:
    """Base: `pay(rewards, mean, rng)` draws one reward, `law(means)` serves whole batches."""

    name: ClassVar[str]
    pay: ClassVar[Function]
    bounds: ClassVar[tuple[float, float] | None]
    range: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    """Where <θ, a> must lie."""

    def parameters(self) -> NamedTuple:
        """What `pay` gets as its first argument."""
        return Empty()

    def environment(self, means: list[float]) -> Environment:
        """Finite arms with these means."""
        raise NotImplementedError


class Sd(NamedTuple):
    """Standard deviation."""

    sd: float


def pay_gaussian(rewards: Sd, mean: float, rng: Generator) -> float:
    """N(mean, sd²)."""
    reward: float = mean + rewards.sd * rng.standard_normal()
    return reward


def pay_sign(rewards: object, mean: float, rng: Generator) -> float:
    """1 with probability (1 + mean)/2, else -1."""
    return 1.0 if 2.0 * rng.random() < 1.0 + mean else -1.0


def pay_bit(rewards: object, mean: float, rng: Generator) -> float:
    """1 with probability mean, else 0."""
    return 1.0 if rng.random() < mean else 0.0


@dataclass(frozen=True)
class GaussianRewards(Rewards):
    """<θ, a> + N(0, sd²)."""

    sd: float = 1.0
    name: ClassVar[str] = "gaussian"
    pay: ClassVar[Function] = staticmethod(pay_gaussian)
    bounds: ClassVar[tuple[float, float] | None] = None

    def __post_init__(self) -> None:
        positive("sd", self.sd, "use for example sd=1.0")

    def parameters(self) -> Sd:
        return Sd(float(self.sd))

    def environment(self, means: list[float]) -> Environment:
        return Gaussian(means, self.sd)


@dataclass(frozen=True)
class SignRewards(Rewards):
    """1 or -1 with mean <θ, a>."""

    name: ClassVar[str] = "sign"
    pay: ClassVar[Function] = staticmethod(pay_sign)
    bounds: ClassVar[tuple[float, float] | None] = (-1.0, 1.0)
    range: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def environment(self, means: list[float]) -> Environment:
        upper = [min(max((1.0 + mean) / 2.0, 0.0), 1.0) for mean in means]
        return TwoPoint(-1.0, 1.0, upper)


@dataclass(frozen=True)
class BitRewards(Rewards):
    """1 or 0 with mean <θ, a>."""

    name: ClassVar[str] = "bit"
    pay: ClassVar[Function] = staticmethod(pay_bit)
    bounds: ClassVar[tuple[float, float] | None] = (0.0, 1.0)
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def environment(self, means: list[float]) -> Environment:
        return Bernoulli([min(max(mean, 0.0), 1.0) for mean in means])


REWARDS: dict[str, type[Rewards]] = {
    kind.name: kind for kind in (GaussianRewards, SignRewards, BitRewards)
}


@dataclass(frozen=True, init=False, eq=False)
class LinearProblem:
    """What is played on. The regret of an action is max <θ, a'> - <θ, a> over those on offer."""

    contexts: Contexts
    theta: Floats
    rewards: Rewards
    label: dict[str, object] = field(repr=False)
    limit: ClassVar[int | None] = None
    """Rounds are endless."""

    def __init__(
        self,
        contexts: Contexts,
        theta: ArrayLike,
        rewards: Rewards | None = None,
        label: Json | None = None,
    ) -> None:
        if not isinstance(contexts, Contexts):
            raise InvalidArgument(
                "contexts", "be Contexts", contexts, "pass for instance FixedActions(...)"
            )
        parameter = action_array("theta", theta, 1)
        if len(parameter) != contexts.dimension:
            raise InvalidArgument(
                "theta", f"have {contexts.dimension} entries", f"{len(parameter)} entries",
                "pass one entry a feature",
            )  # fmt: skip
        environment = GaussianRewards() if rewards is None else rewards
        if not isinstance(environment, Rewards):
            raise InvalidArgument(
                "rewards", "be Rewards", environment, "pass for instance SignRewards()"
            )
        for name, value in {
            "contexts": contexts,
            "theta": parameter,
            "rewards": environment,
            "label": dict(label or {}),
        }.items():
            object.__setattr__(self, name, value)
        self._check_means()

    def _check_means(self) -> None:
        """Bounded rewards need bounded means, whatever is on offer."""
        low, high = self.rewards.range
        if math.isinf(high):
            return
        least, most = self.contexts.reach(self.theta)
        if least < low - SLACK or most > high + SLACK:
            raise InvalidArgument(
                "theta", f"keep <theta, a> in [{low:g}, {high:g}] for {self.rewards.name} rewards",
                f"[{least:g}, {most:g}]", "shorten theta or the actions, or use GaussianRewards()",
            )  # fmt: skip

    @classmethod
    def random(
        cls,
        arms: int = 10,
        dimension: int = 3,
        contexts: str = "gaussian",
        rewards: str = "gaussian",
        ball: bool = False,
        seed: int | None = None,
    ) -> LinearProblem:
        """θ uniform on the sphere; "fixed" actions on the sphere, or the thesis' "gaussian" ones.

        The settings of Azize 2024, 5.5.2, for arms=10, dimension=3. `seed` fixes θ and the actions.
        """
        one_of("contexts", contexts, "gaussian", "fixed")
        one_of("rewards", rewards, *REWARDS)
        rng = generator(seed)
        offered: Contexts
        if contexts == "fixed":
            offered = FixedActions.on_sphere(arms, dimension, rng)
        else:
            offered = GaussianContexts(arms, dimension, ball=ball)
        return cls(offered, sphere(1, dimension, rng)[0], REWARDS[rewards]())

    @property
    def arms(self) -> int:
        """Number of actions on offer."""
        return self.contexts.arms

    @property
    def dimension(self) -> int:
        """Number of features."""
        return self.contexts.dimension

    @property
    def bounds(self) -> tuple[float, float] | None:
        """A range that holds every reward; None if there is none."""
        return self.rewards.bounds

    @property
    def means(self) -> tuple[float, ...]:
        """Mean reward of every action, over contexts."""
        return tuple(float(mean) for mean in self.contexts.average @ self.theta)

    def to_dict(self) -> dict[str, object]:
        """Settings, JSON-ready."""
        rewards = {"rewards": self.rewards.name} | self.rewards.parameters()._asdict()
        rewards.pop("unused", None)
        if self.label:
            return {"environment": "linear", **self.label, **rewards}
        return {
            "environment": "linear",
            **self.contexts.to_dict(),
            "theta": self.theta.tolist(),
            **rewards,
        }
