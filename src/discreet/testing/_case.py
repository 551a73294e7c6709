"""The size at which a policy is checked, and the random numbers of the checks, which are seeded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arms import Bernoulli, RewardTable
from ..policies._policy import Policy

if TYPE_CHECKING:
    from numpy.random import Generator

SEED = 20_260


@dataclass(frozen=True)
class Case:
    """The size at which a policy is checked, and its twin.

    Example:
        >>> from discreet.testing import Case
        >>> case = Case(arms=2, horizon=60)
        >>> case.environment().arms
        2
    """

    arms: int = 4
    horizon: int = 2000
    twin: Policy | None = None

    def environment(self) -> Bernoulli:
        """Means from 0.8 downwards."""
        return Bernoulli([0.8 - 0.6 * arm / self.arms for arm in range(self.arms)])

    def table(self, number: int) -> RewardTable:
        """Fixed rewards without ties, the best arm last."""
        rng = generator(number)
        noise = rng.normal(0.0, 0.2, (self.horizon, self.arms))
        means = [0.3 + 0.5 * (arm + 1) / self.arms for arm in range(self.arms)]
        return RewardTable((noise + means).clip(0.0, 1.0))


Check = Callable[[Policy, Case], None]


def generator(seed: int, number: int = 0) -> Generator:
    """Run `number` of a study with that seed draws from it, as in the simulator."""
    import numpy as np

    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(number,))))
