"""A simulated trial for `discreet serve --demo`.

Its participants are simulated from a seed. Its noise is not: it is that of any live trial.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from ._problems import Refused

if TYPE_CHECKING:
    from ._service import Service

NAME = "demo"
RATES = {"blue": 0.30, "green": 0.38, "orange": 0.33}
"""How often a simulated participant says yes, by arm."""
ANSWERS = 0.85
"""How many of them say anything."""
PLAN = {
    "id": NAME,
    "title": "Simulated participants: no real person is in this experiment",
    "policy": "dp-imed", "epsilon": 1.0, "ratio": 1.5, "arms": list(RATES),
    "deadline": "10 s", "missing": 0.0,
}  # fmt: skip
A_SECOND = 20.0
"""Participants."""
SEED = 1


async def prepare(service: Service) -> None:
    """Plan and start the demonstration, unless it is there."""
    from ._service import DEFAULT

    row = service.register.experiment(DEFAULT, NAME)
    if row is None:
        await service.plan(DEFAULT, PLAN, "service", simulated=True)
        row = service.row(DEFAULT, NAME)
    if row.state == "planned":
        await service.ask(row, lambda trial: trial.confirm_clock())
        service.register.started(row, "service")


async def play_for_ever(service: Service) -> None:
    """Play participants until it is cancelled."""
    from ._service import DEFAULT

    row = service.row(DEFAULT, NAME)
    world = random.Random(SEED)
    shown = await service.shown(row)
    for number in range(shown.assigned, 10**9):
        await asyncio.sleep(world.expovariate(A_SECOND))
        try:
            await _participant(service, f"simulated-{number}", world)
        except Refused:
            await asyncio.sleep(1.0)


async def _participant(service: Service, unit: str, world: random.Random) -> None:
    from ._register import KeyRow
    from ._service import DEFAULT

    row = service.row(DEFAULT, NAME)
    key = KeyRow("service", DEFAULT, "site", NAME, None, "", "", 0.0, None, None)
    arm = await service.assign(row, key, unit, None, None)
    if isinstance(arm, str) and world.random() < ANSWERS:
        await service.record(row, key, [(unit, float(world.random() < RATES[arm]))])
