"""No one waits: an outcome is known when the next participant comes. As papers simulate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..._compiled import Function, open_slot
from .._state import SOON, TAKEN, Design, Head, Vault
from ._base import World

if TYPE_CHECKING:
    from numpy.random import Generator

gather: Callable[..., tuple[float, int]] = open_slot("gather")
"""`step.collect` of the policy: the sum of a batch, or of what every device answers."""


def all_at_once(world: World, design: Design, head: Head, rng: Generator) -> int:
    """Everyone, unless a release is due."""
    return 0 if head.when[SOON] <= world.now[0] else design.horizon - head.at[TAKEN]


def no_time(world: World, head: Head, many: int, closes: bool, rng: Generator) -> float:
    """A moment per participant."""
    world.now[0] += many
    return world.now[0]


def nothing_asked(world: World, head: Head, slot: int, arm: int, now: float) -> None:
    """Outcomes are drawn with their block."""


def nothing_owed(world: World, design: Design, head: Head, vault: Vault, rng: Generator) -> bool:
    """So no one waits for one."""
    return True


def drawn_at_once(
    design: Design, vault: Vault, slot: int, arm: int, size: int, t: int, rng: Generator
) -> tuple[float, int]:
    """One draw for the block."""
    return gather(vault.environment.environment, design.release, arm, size, t, rng)


AT_ONCE: dict[str, Function] = {
    "coming": all_at_once, "passed": no_time, "asked": nothing_asked, "reply": nothing_owed,
    "collect": drawn_at_once,
}  # fmt: skip
