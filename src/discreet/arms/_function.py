"""An environment as a plain function of the arm, the round and a generator.

>>> def reward(arm, t, rng):
...     return 1.0 if rng.random() < 0.5 + 0.2 * arm else 0.0
>>> environment = FunctionEnvironment(reward, means=[0.5, 0.7])
>>> environment.arms
2

The function is compiled into the loop, so it keeps to numba's subset: numbers, arrays, the methods
of a NumPy generator, and no closure. What cannot be compiled is refused in numba's own words;
`Sampler` takes functions that cannot.
"""

from __future__ import annotations

import dis
import math
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from discreet._checks import interval, numbers
from discreet._compiled import Kernel, open_slot
from discreet.arms._base import Environment
from discreet.errors import InvalidArgument

if TYPE_CHECKING:
    from numpy.random import Generator

    from .._types import Floats

reward_of: Callable[[int, int, Generator], float] = open_slot("reward_of")


class Range(NamedTuple):
    """What rewards were declared to lie in; all else is in the function."""

    ends: Floats


def draw_function(state: Range, arm: int, rounds: int, t: int, rng: Generator) -> tuple[float, int]:
    """The function's rewards, round by round; noise hides those in the declared range alone."""
    low, high = state.ends[0], state.ends[1]
    total = 0.0
    for played in range(rounds):
        reward = reward_of(arm, t + played, rng)
        if not low <= reward <= high:  # NaN neither
            raise ValueError(
                "a reward of FunctionEnvironment lies outside of its bounds: declare others, or "
                "bounds=None"
            )
        total += reward
    return total, rounds


@lru_cache(maxsize=64)
def _kernel(function: Callable[..., float]) -> Kernel:
    return Kernel(draw_function, reward_of=function)


DRAWS = 400
FALSE_ALARM = 1e-9


def check_means(
    reward: Callable[[int, int, Generator], float], means: Sequence[float],
    ends: tuple[float, float],
) -> None:  # fmt: skip
    """Refuse means that draws of the function contradict (Hoeffding 1963, with a risk of 1e-9); of
    one that asks for the round, there is no one mean to draw."""
    import numpy as np

    arguments = reward.__code__.co_varnames[: reward.__code__.co_argcount]
    used = {instruction.argval for instruction in dis.get_instructions(reward)}
    if len(arguments) != 3 or arguments[1] in used:
        return
    low, high = ends
    error = (high - low) * math.sqrt(math.log(2 * len(means) / FALSE_ALARM) / (2 * DRAWS))
    rng = np.random.Generator(np.random.SFC64(1))
    for arm, mean in enumerate(means):
        try:
            drawn = [float(reward(arm, 0, rng)) for _ in range(DRAWS)]
        except Exception:  # what numba alone can do is looked at when it runs
            return
        found = min(max(sum(drawn) / DRAWS, low), high)
        if all(low <= x <= high for x in drawn) and abs(found - mean) > error:
            raise InvalidArgument(
                "means", f"be those of the function, which draws {found:.3g} for arm {arm} on "
                "average", mean, "pass one true mean per arm",
            )  # fmt: skip


@dataclass(frozen=True, init=False)
class FunctionEnvironment(Environment):
    """The reward of arm a in round t is `reward(a, t, rng)`; means and bounds are declared.

    Args:
        reward: A plain function at the top of a module; it is compiled.
        means: The mean reward of every arm. Draws that contradict them are refused.
        bounds: A range that holds every reward; None if there is none.

    Raises:
        InvalidArgument: If the function cannot be compiled, or contradicts its means.

    Example:
        >>> import discreet
        >>> def coin(arm, t, rng):
        ...     return 1.0 if rng.random() < 0.5 + 0.2 * arm else 0.0
        >>> discreet.FunctionEnvironment(coin, means=[0.5, 0.7]).means
        (0.5, 0.7)
    """

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
        declared, ends = numbers("means", means, fix=fix), interval("bounds", bounds)
        if ends is not None:
            for mean in declared:
                if not ends[0] <= mean <= ends[1]:
                    raise InvalidArgument(
                        "means", f"lie in the bounds, from {ends[0]:g} to {ends[1]:g}", mean,
                        "declare the bounds of rewards, or bounds=None",
                    )  # fmt: skip
            check_means(reward, declared, ends)
        self._set(reward=reward, means=declared, draw=_kernel(reward), bounds=ends)

    def start(self, rng: Generator) -> Range:
        """The declared range."""
        import numpy as np

        return Range(np.array(self.bounds or (-np.inf, np.inf)))

    def to_dict(self) -> dict[str, object]:
        """Means, bounds, and the digest of the code: a function cannot be read back."""
        return {
            "environment": self.name,
            "opaque": f"{self.reward.__qualname__} {Kernel(self.reward).digest[:20]}",
            "means": list(self.means),
            "bounds": None if self.bounds is None else list(self.bounds),
        }
