"""A quarter of an hour: a policy with a custom schedule. From docs/extending.md."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import discreet
from discreet.policies import Policy, Schedule


def square_root(schedule: Any, memory: Any, view: Any, arm: int) -> int:
    return int(math.sqrt(view.pulls[arm])) + 1


@dataclass(frozen=True)
class SquareRoot(Schedule):
    """n = floor(sqrt N) + 1: batches that grow slowly."""

    name: ClassVar[str] = "square root"
    length: ClassVar = staticmethod(square_root)


base = discreet.policy("dp-imed", epsilon=1.0)
mine = Policy("mine", SquareRoot(), base.release, base.rule)
print(mine.guarantee.short())
print(discreet.verify(mine, arms=2, horizon=60).holds)
result = discreet.simulate(mine, discreet.Bernoulli([0.7, 0.5]), horizon=2_000, runs=20, seed=1)
print(round(float(result.final_regret.mean())))
