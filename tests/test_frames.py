"""The way of an outcome to its noise, frame by frame, as docs/architecture.md lists it."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet
import discreet.linear as linear
from discreet._compiled import Kernel
from discreet.simulator import _runs as loops
from discreet.simulator._work import Work
from discreet.simulator.calendar import _runs as calendars

PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"


def recorded(trial: Any, *features: Any) -> None:
    """Participants answer until something is released."""
    for unit in range(40):
        trial.assign(unit, *features)
        trial.record(unit, 1.0)


def simulated_by(**given: Any) -> None:
    discreet.simulate(
        discreet.policy("dp-imed", epsilon=1.0), discreet.Bernoulli([0.6, 0.4]), horizon=60,
        runs=1, seed=1, progress=False, **given,
    )  # fmt: skip


WAYS: dict[str, tuple[str, Callable[[], None]]] = {
    "Trial, arms": (
        "record", lambda: recorded(discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), 2)),
    ),
    "Trial, contexts": (
        "record",
        lambda: recorded(
            linear.Trial(
                linear.policy("adac-oful", rho=0.5), 2, horizon=50,
                features=discreet.Features(dimension=2),
            ),
            [[0.9, 0.0], [0.0, 0.9]],
        ),
    ),
    "simulate": ("run", simulated_by),
    "simulate, with arrivals": ("play", lambda: simulated_by(arrivals=12, delay=2)),
}  # fmt: skip


NOISE = ("_secure.py", "_noise.py")


def way_of(first: str, go: Callable[[], None]) -> list[str]:
    """The functions of the package from the first of that name to the noise."""
    found: list[list[str]] = []

    def seen(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        drawn = code.co_name in ("laplace", "gaussian") and code.co_filename.endswith(NOISE)
        if event != "call" or not drawn or found:
            return
        way = list[str]()
        while frame is not None and code.co_name != first:
            frame, code = frame.f_back, frame.f_back.f_code
            way.append(f"{Path(code.co_filename).stem.removeprefix('_')}.{code.co_name}")
        found.append(way[::-1])

    before = sys.getprofile()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        go()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return found[0]


@pytest.mark.parametrize("name", WAYS)
def test_the_page_lists_the_frames(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kernel, "cached", lambda kernel, *arguments: kernel.interpreted())
    monkeypatch.setattr(Work, "ready", lambda work, link, arguments: link())
    for module in (loops, calendars):
        monkeypatch.setattr(module, "machine_code", lambda function, arguments: function)
    listed = re.search(rf"^\| {name} \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed is not None
    way = way_of(*WAYS[name])
    assert listed[1] == " → ".join(f"`{step}`" for step in way)
