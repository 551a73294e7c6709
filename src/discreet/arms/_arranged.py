"""An environment with its arms under other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from discreet._compiled import Function, Kernel
from discreet.arms._base import Environment, taken

if TYPE_CHECKING:
    from numpy import int64
    from numpy.random import Generator
    from numpy.typing import NDArray


class ArrangedState(NamedTuple):
    """The environment's own number of every arm, and its state."""

    order: NDArray[int64]
    inside: NamedTuple


def draw_inside(
    state: NamedTuple, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """Filled in by the environment inside."""
    raise RuntimeError("no environment was filled in")


def draw_arranged(
    state: ArrangedState, arm: int, rounds: int, t: int, rng: Generator
) -> tuple[float, int]:
    """What arm order[arm] of the environment inside gives."""
    return draw_inside(state.inside, state.order[arm], rounds, t, rng)


@lru_cache(maxsize=64)
def _kernel(draw: Function) -> Kernel:
    """One kernel for one environment's draw, so that its loop is linked once."""
    return Kernel(draw_arranged, draw_inside=draw)


@dataclass(frozen=True, init=False)
class Arranged(Environment):
    """Arm a is arm order[a] of another environment."""

    name = "arranged"
    environment: Environment
    order: tuple[int, ...]

    def __init__(self, environment: Environment, order: Sequence[int]) -> None:
        self._set(
            environment=environment,
            order=tuple(int(arm) for arm in order),
            means=taken(environment.means, order),
            bounds=environment.bounds,
            limit=environment.limit,
            draw=_kernel(environment.draw),
        )

    def start(self, rng: Generator) -> ArrangedState:
        """The environment's own state beside the order."""
        import numpy as np

        return ArrangedState(np.array(self.order, np.int64), self.environment.start(rng))

    def refill(self, state: NamedTuple, rng: Generator) -> bool:
        """The environment's own."""
        assert isinstance(state, ArrangedState)
        return self.environment.refill(state.inside, rng)
