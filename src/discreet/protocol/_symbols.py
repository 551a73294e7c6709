"""A whole trial on symbols: what every outcome costs, with blocks in flight.

`policies.verification` follows the kernel that publishes a batch, and proves what it can of all
paths. Here the driver itself (`play`) is run, with the policy's plan, on a calendar: outcomes are
handed in one by one as symbols, blocks of all arms wait concurrently, released values are made up,
coins are public. So whatever the steps do to outcomes on the way, a sum that is added twice or put
into another block among it, is paid for here.

>>> import discreet
>>> found = costs(discreet.policy("dp-imed", epsilon=1.0), participants=60)
>>> len(found), max(found)
(60, 1.0)

One path is an example, exact for itself, and proves nothing of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._compiled import Function, Kernel
from ..arms._base import lost_steadily
from ..policies._policy import Policy
from ..privacy._source import SIMULATED
from ..privacy.verification import (
    PublicCells,
    Symbol,
    Tape,
    Values,
    cells,
    losses,
    spent,
    symbolic,
)
from ..privacy.verification._choices import Choices
from ..privacy.verification._forms import REWARD
from ..privacy.verification._result import main_number
from ._begin import Playing, as_lists, begin, slots
from ._play import FINISHED, Track, play_kernel
from ._state import Design, Head, Vault
from ._steps import answer
from .worlds._base import Truth, World

if TYPE_CHECKING:
    from .._types import Ints

ARRIVALS = 12.0
DEADLINE = 2.0
SEED = 20_260


class PublicTape(Tape):
    """A tape that also draws the coins of the plan and of arrivals, which no one's outcome
    touches."""

    def __init__(self, seed: int) -> None:
        coins, values = Choices(f"{seed} coins"), Choices(f"{seed} values")
        super().__init__(lambda arm: values.normal(0.5, 0.3))
        self.coins = coins

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "coins" or not hasattr(self.coins, name):
            return super().__getattr__(name)
        return getattr(self.coins, name)


def reply_symbol(world: World, design: Design, head: Head, vault: Vault, rng: Any) -> bool:
    """Every outcome is its own symbol."""
    slot, arm, t = world.owed[0], world.owed[1], world.owed[2]
    if slot >= 0:
        reward = Symbol(REWARD, 1.0, arm=arm, batch=t, first=t + 1, rounds=1)
        answer(vault, slot, rng.symbol(reward, 1))
        world.owed[0] = -1
    return True


def costs(
    policy: Policy,
    participants: int = 120,
    arms: int = 3,
    terms: Playing | None = None,
    seed: int = SEED,
    changed: Mapping[str, Function] | None = None,
) -> list[float]:
    """What each outcome of one trial costs, in the main number of the policy's budget.

    `terms` says how it is played; by default its own plan, outcomes due after two days. `changed`
    replaces steps, to see what a mistake would cost. Who comes while a single batch waits is in no
    block, and is not listed.

    Args:
        policy: The policy.
        participants: How many come.
        arms: How many arms there are.
        terms: How it is played: plan, window, deadline.
        seed: Random seed, for reproducible results.
        changed: Steps to replace, to see what a mistake would cost.

    Returns:
        What each outcome costs.
    """
    import numpy as np

    setting = policy.setting(arms, participants, SIMULATED)
    if terms is None:
        terms = Playing(policy.plan(setting), 6, deadline=DEADLINE)
    world_of_plan = "one batch" if terms.plan == "one batch" else "calendar"
    filled: dict[str, Function | Kernel] = slots(policy, terms, symbolic(SIMULATED), world_of_plan)
    filled |= {"reply": reply_symbol, "lost": lost_steadily, **(changed or {})}
    tape = PublicTape(seed)
    started = as_lists(begin(policy, setting, terms, participants + 1))
    design, head, vault = started
    head = head._replace(
        value=Values(tape, "view.value", head.value),
        size=PublicCells(tape, "view.size", head.size),
        pairs=cells(tape, "pairs", head.pairs, PublicCells),
    )
    truth: Any = Truth((), [1.0] * arms)
    vault = vault._replace(ledger=cells(tape, "ledger", vault.ledger), environment=truth)
    world = World(
        ARRIVALS, [1.0] * arms, 0, 0.0, terms.deadline, 0, 0.0, 1.0, 1.0, [0.0, 0.0], [-1],
        [-1, -1, -1],
    )  # fmt: skip
    pulls: Ints = np.zeros((1, arms), np.int64)
    track = Track(
        [participants], [0.0], pulls, [0.0] * arms, [0.0], [0, 0], [-1.0, 0.0], [0.0] * arms
    )
    if play_kernel(filled).interpreted()(world, design, head, vault, track, tape) != FINISHED:
        raise RuntimeError("the trial did not come to its end")
    budget = policy.guarantee_at(participants).budget
    return [main_number(spent(each.loss, budget)) for each in losses(tape)[1]]
