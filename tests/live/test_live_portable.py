"""Trials where the system has fewer calls, as Windows; and trials that are long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import discreet
from discreet.live import Trial
from discreet.live.stores._database import Database

WITHOUT = """
import os, sys
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
for name in ("fchmod", "geteuid", "fork", "O_NOFOLLOW", "O_DIRECTORY"):
    delattr(os, name)
import discreet
from discreet.cli import app
from discreet.live import Strata, Trial
row = discreet.policy("dp-imed", epsilon=1.0, first=1)
with Trial(row, ["A", "B"], path="t.db") as trial:
    for unit in range(6):
        trial.assign(unit)
        trial.record(unit, 1.0)
    assert trial.report()["releases"] >= 2
    trial.withdraw(5)
    trial.backup("b.db")
Trial.move("t.db", "m.db")
Trial.restore("b.db", "r.db")
with Trial.load("m.db") as trial, Trial.load("r.db") as copy:
    assert trial.status == "collecting"
    assert copy.status == "fenced"
print("done")
"""


def test_a_trial_runs_without_what_windows_lacks(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.stdout == "done\n", ran.stderr


def instructions(path: Path, unit: str) -> int:
    """How much SQLite does to open a trial and to seat somebody: the same on every machine."""
    found, connect = [0], Database._connect

    def counted(base: Database) -> None:
        connect(base)

        def tick() -> int:
            found[0] += 1
            return 0

        connection: Any = base._connection
        connection.set_progress_handler(tick, 10)

    Database._connect = counted  # type: ignore[method-assign, assignment]
    try:
        with Trial.load(path) as trial:
            trial.assign(unit)
            trial.report()
    finally:
        Database._connect = connect  # type: ignore[method-assign]
    return found[0]


def test_a_long_trial_is_opened_by_as_little_work_as_a_short_one(
    tmp_path: Path, no_sync: None
) -> None:
    path, work = tmp_path / "t.db", list[int]()
    row = discreet.policy("dp-imed", epsilon=1.0, first=100_000)
    Trial(row, ["A", "B"], path=path, deadline="1 day", missing=0.0).close()
    for many in (100, 20_000):
        with Trial.load(path) as trial:
            for start in range(0, many, 1000):
                size = min(many, 1000)
                trial.assign_many([f"{many}-{start + n:06}" for n in range(size)])
        work.append(instructions(path, f"late {many}"))
    assert work[0] > 10
    assert work[1] < 1.5 * work[0]
