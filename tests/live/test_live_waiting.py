"""With a beat, waiting for an arm tells nothing of an outcome that has just come; without, it does.

The outcome is made to take long to store; `benchmarks/waiting.py` attacks real durations.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet
from discreet.errors import TrialError
from discreet.live import Beat, Trial
from discreet.live.stores import MemoryStore, PostgresStore, SqliteStore
from discreet.live.stores._sql import SqlStore
from discreet.testing._stores import KINDS, features_of, trial_of

pytestmark = pytest.mark.usefixtures("no_sync")
SLOW, BEAT = 0.15, 0.3


def waited(user: Trial | Beat, unit: str, answers: bool) -> float:
    """Seconds until an observer has an arm, just after a beat; somebody has just answered, or
    not."""
    user.assign(f"{unit}, known")  # with a beat it returns at the beginning of one
    other = threading.Thread(target=user.record if answers else print, args=(f"{unit}, known", 1.0)
                             if answers else (), kwargs={} if answers else {"end": ""})  # fmt: skip
    other.start()
    time.sleep(0.005)
    started = time.perf_counter()
    user.assign(f"{unit}, observer")
    seconds = time.perf_counter() - started
    other.join()
    return seconds


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_waiting_tells_nothing_with_a_beat(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = (
        SqliteStore(tmp_path / "t.db")
        if kind == "sqlite"
        else PostgresStore(request.getfixturevalue("url"), "t")
    )
    note = SqlStore._note

    def slow(store: SqlStore, *arguments: Any) -> None:
        time.sleep(SLOW)
        note(store, *arguments)

    monkeypatch.setattr(SqlStore, "_note", slow)
    row = discreet.policy("dp-imed", epsilon=1.0, first=1000)
    with Trial(row, 2, path=store, deadline="1 day", missing=0.0) as trial:
        found = {
            answers: median(waited(trial, f"{n} {answers}", answers) for n in range(3))
            for answers in (True, False)
        }
        assert found[True] > found[False] + SLOW / 2
        with Beat(trial, BEAT) as beat:
            found = {
                answers: median(waited(beat, f"b{n} {answers}", answers) for n in range(3))
                for answers in (True, False)
            }
        assert abs(found[True] - found[False]) < SLOW / 2


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=15)
@given(
    steps=st.lists(
        st.tuples(st.integers(0, 14), st.sampled_from(["assign", "record", "settle", "late"])),
        max_size=40,
    )
)
def test_a_run_is_what_the_store_says_after_any_steps(
    kind: str, steps: list[tuple[int, str]]
) -> None:
    """restore(head) is the run after every place, release and look, whatever comes in what
    order."""
    now = [1000.0]
    trial = trial_of(kind, MemoryStore(), lambda: now[0])
    for unit, what in steps:
        now[0] += 9.5 if what == "late" else 0.25
        try:
            if what == "assign":
                trial.assign(unit, features_of(kind, unit))
            elif what == "record":
                trial.record(unit, 0.5)
            else:
                trial.settle()
        except TrialError:
            continue
        fresh = trial._plan.run.copy()
        trial._store.ready()
        fresh.restore(trial._store.state["protocol"])
        assert fresh.to_dict() == trial._run.to_dict()
