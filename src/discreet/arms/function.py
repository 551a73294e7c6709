"""A law as a plain function of the arm, the round and a generator.

>>> def reward(arm, t, rng):
...     return 1.0 if rng.random() < 0.5 + 0.2 * arm else 0.0
>>> law = FunctionLaw(reward, means=[0.5, 0.7])
>>> law.arms
2

The function is compiled into the loop, so it keeps to numba's subset: numbers, arrays, the methods
of a NumPy generator, and no closure. What cannot be compiled is refused in numba's own words;
`Sampler` takes functions that cannot.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from discreet.arms.base import Law
from discreet.checks import interval, numbers
from discreet.compiled import Kernel, open_slot
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.random import Generator

    from ..types import Floats

reward_of: Callable[[int, int, Generator], float] = open_slot("reward_of")


class NoState(NamedTuple):
    """Everything is in the function."""

    nothing: Floats


def draw_function(
    state: NoState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """The function's rewards, round by round."""
    total = 0.0
    for played in range(rounds):
        total += reward_of(arm, t + played, rng)
    return total, rounds


@lru_cache(maxsize=64)
def _kernel(function: Callable[..., float]) -> Kernel:
    return Kernel(draw_function, reward_of=function)


@dataclass(frozen=True, init=False)
class FunctionLaw(Law):
    """The reward of arm a in round t is `reward(a, t, rng)`; means and bounds are declared."""

    name = "function"
    reward: Callable[[int, int, Generator], float]
    means: tuple[float, ...]
    bounds: tuple[float, float] | None

    def __init__(
        self,
        reward: Callable[[int, int, Generator], float],
        means: Sequence[float],
        bounds: tuple[float, float] | None = (0.0, 1.0),
    ) -> None:
        if not isinstance(reward, types.FunctionType) or reward.__closure__:
            raise InvalidArgument(
                "reward", "be a plain function of (arm, t, rng)", reward,
                "define it at the top of a module; use Sampler for anything else",
            )  # fmt: skip
        fix = "pass one true mean per arm"
        self._set(
            reward=reward, means=numbers("means", means, fix=fix), draw=_kernel(reward),
            bounds=interval("bounds", bounds),
        )  # fmt: skip

    def start(self, rng: Generator) -> NoState:
        """Nothing."""
        import numpy as np

        return NoState(np.zeros(1))

    def to_dict(self) -> dict[str, object]:
        """Means, bounds, and the digest of the code: a function cannot be read back."""
        return {
            "law": self.name,
            "opaque": f"{self.reward.__qualname__} {Kernel(self.reward).digest[:20]}",
            "means": list(self.means),
            "bounds": None if self.bounds is None else list(self.bounds),
        }
