"""A service whose experiments have months behind them: the clock of the process is the test's."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from served import Served, serving

from discreet._plans import planned
from discreet.serve import Settings
from discreet.serve._beat import Assign, Outcome
from discreet.serve._register import ExperimentRow
from discreet.serve._service import DEFAULT, Service

BEGIN = 1_792_224_000.0
"""17 October 2026."""
HALF = 43_200.0
REMINDERS: dict[str, Any] = {
    "policy": "dp-imed", "epsilon": 1.0, "ratio": 1.5, "horizon": 2400, "missing": "estimate",
    "arms": ["Letter (standard)", "Text message", "Call by a nurse"], "deadline": "14 days",
    "share": {"Letter (standard)": 0.15}, "conflicts": "ignore",
}  # fmt: skip
TEST: dict[str, Any] = {
    "design": {"participants": 800, "epsilon": 1.0}, "arms": ["New leaflet", "Old leaflet"],
    "deadline": "7 days", "missing": 0.0, "conflicts": "ignore",
}  # fmt: skip
DEVICES: dict[str, Any] = {
    "policy": "ldp-ucb-b", "epsilon": 1.0, "arms": ["Short", "Long"], "deadline": "7 days",
    "missing": 0.0, "horizon": 4000, "conflicts": "ignore",
}  # fmt: skip
RATES = {
    "Letter (standard)": 0.37, "Text message": 0.57, "Call by a nurse": 0.52, "New leaflet": 0.4,
    "Old leaflet": 0.4, "Short": 0.3, "Long": 0.6,
}  # fmt: skip
LIFE = {
    "reminders": (REMINDERS, "Reminders for check-ups", 1_000),
    "leaflet": (TEST, "A new leaflet", 280), "survey": (DEVICES, "Length of a survey", 40),
}  # fmt: skip


@contextmanager
def clock_at(moment: float) -> Iterator[list[float]]:
    """`time.time` goes on from there; its first entry can be moved."""
    real = time.time
    offset = [moment - real()]

    def now() -> float:
        return real() + offset[0]

    time.time = now
    try:
        yield offset
    finally:
        time.time = real


def grow(
    folder: Path, offset: list[float], life: Mapping[str, tuple[dict[str, Any], str, int]] = LIFE,
    answer: float = 1.0, seed: int = 3,
) -> None:  # fmt: skip
    """Experiments that run for as long as the largest needs, half a day at a time."""
    service = Service(Settings(folder))
    world = random.Random(seed)
    names = {name: (DEFAULT, name) for name in life}
    for name, (document, title, _) in life.items():
        service.engine.make(names[name], planned({**document}))
        row = ExperimentRow(DEFAULT, name, title, _json(document), "planned", False, time.time())
        service.register.add_experiment(row, "service", None)
        service.register.started(row, "service")
    counts, steps = dict.fromkeys(life, 0), 100
    for step in range(steps):
        for name, (_, _, size) in life.items():
            many = round(size * (step + 1) / steps) - counts[name]
            units = [f"{name}-{counts[name] + k}" for k in range(many)]
            found = service.engine.play(names[name], [Assign(unit) for unit in units])
            outcomes = [
                Outcome(unit, answer * float(world.random() < RATES[str(arm)]))
                for unit, arm in zip(units, found, strict=True)
                if world.random() < 0.86 and isinstance(arm, str)
            ]
            service.engine.play(names[name], outcomes)
            counts[name] += many
            service.engine.settle(names[name])
        offset[0] += HALF
    service.engine.close()
    service.register.close()
    os.close(service._held)


def _json(document: Mapping[str, Any]) -> str:
    import json

    return json.dumps(document, sort_keys=True)


@contextmanager
def serving_grown(folder: Path, **options: Any) -> Iterator[Served]:
    """A service on such a folder."""
    with clock_at(BEGIN) as offset:
        grow(folder, offset, **options)
        with serving(folder) as served:
            yield served
