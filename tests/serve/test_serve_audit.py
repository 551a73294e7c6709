"""Transcripts of experiments played over HTTP, attacked as the library attacks its own policies.

Two neighbouring lists of outcomes; what is seen is what a statistician and a site are told after
every participant. A few hundred transcripts show gross faults alone; more are played with
DISCREET_HTTP_TRANSCRIPTS.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Served, serving

from discreet.audit import attack
from discreet.audit._transcripts import ABSENT, Transcripts
from discreet.privacy import Pure
from discreet.privacy import _secure as secure
from postgres import quick_place

TRANSCRIPTS = int(os.environ.get("DISCREET_HTTP_TRANSCRIPTS", "130"))
EPSILON = 1.0
AT_ONCE = 16


@dataclass(frozen=True)
class HttpRuns:
    """Experiments of two participants over HTTP."""

    served: Served
    first: tuple[float, ...] = (0.0, 1.0)
    second: tuple[float, ...] = (1.0, 1.0)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def inputs(self) -> str:
        return f"an experiment with outcomes {list(self.first)} or {list(self.second)}"

    @property
    def codes(self) -> int:
        return int(2 ** len(self.first))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"{what} of arm {arm} after participant {unit + 1}"
            for unit in range(len(self.first)) for arm in "AB" for what in ("sum", "size")
        )  # fmt: skip

    def sample(self, side: int, count: int, rng: Any) -> Transcripts:
        outcomes = self.second if side else self.first
        with ThreadPoolExecutor(AT_ONCE) as pool:
            names = [f"run-{next(self.numbers)}" for _ in range(count)]
            played = list(pool.map(lambda name: self._play(name, outcomes), names))
        codes = np.array([code for code, _ in played], np.int64)
        return Transcripts(codes, np.array([numbers for _, numbers in played]))

    def _play(self, name: str, outcomes: tuple[float, ...]) -> tuple[int, list[float]]:
        served, code = self.served, 0
        path = served.plan(
            id=name, first=1, deadline=None, missing=None, answers="public", epsilon=EPSILON
        )
        numbers: list[float] = []
        for number, outcome in enumerate(outcomes):
            arm = served.assign(f"p{number}", path)
            code = 2 * code + (arm == "B")
            body = {"unit": f"p{number}", "outcome": outcome}
            served.post(f"{path}/outcomes", body, served.site)
            for row in served.get(f"{path}/report")["arms"]:
                known = row["mean"] is not None
                numbers += [row["mean"] * row["size"] if known else ABSENT, float(row["size"])]
        return code, numbers


@pytest.fixture
def quick() -> Iterator[Served]:
    """In memory, if there is room: every transcript is a file of its own."""
    folder = Path(tempfile.mkdtemp(dir=quick_place()))
    with serving(folder / "data", beat=0.001) as found:
        yield found
    shutil.rmtree(folder)


def test_nothing_above_the_claim_is_found_over_http(quick: Served) -> None:
    """False alarm: the attack's own, one in a million."""
    found = attack(
        [HttpRuns(quick)], Pure(EPSILON), transcripts=TRANSCRIPTS, seed=1, confidence=1 - 1e-6,
        progress=False,
    )  # fmt: skip
    assert found.epsilon_lower <= EPSILON


def test_a_planted_leak_is_found(quick: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "laplace", lambda scale, rng=None: 0)
    found = attack(
        [HttpRuns(quick)], Pure(EPSILON), transcripts=2 * TRANSCRIPTS, seed=1, progress=False,
    )  # fmt: skip
    assert found.epsilon_lower > EPSILON
