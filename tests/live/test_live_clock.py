"""A clock that jumps: nothing is released, and nothing changes, until somebody says it is right."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_cases import Clock
from typer.testing import CliRunner

import discreet
from discreet import linear
from discreet.cli import app
from discreet.errors import ClockJumped
from discreet.live._arguments import grouped

pytestmark = pytest.mark.usefixtures("no_sync")
DAY = 86_400.0
START = 1.8e9


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The system's clock, in the hands of the test."""
    clock = Clock()
    clock.now = START
    monkeypatch.setattr(time, "time", clock)
    return clock


def finite(path: Path | None = None, **options: Any) -> discreet.Trial:
    settings = {"deadline": "14 days", "missing": "estimate", "window": 2, **options}
    return discreet.Trial(
        discreet.policy("dp-imed", epsilon=1.0, first=2), 2, path=path, **grouped(settings)
    )


def batches(path: Path | None = None) -> discreet.Trial:
    return finite(path, streams=False, window=None, missing=0.0)


def contextual(path: Path | None = None) -> Any:
    row = linear.policy("private-linucb", epsilon=1.0)
    late: dict[str, Any] = {"deadline": "14 days", "missing": 0.0, "batch": 2}
    return linear.Trial(row, 2, horizon=40, path=path, **grouped(dict(dimension=2, **late)))


KINDS = {"streams": finite, "single batches": batches, "contexts": contextual}


def asked(trial: Any, unit: int) -> Any:
    features = None if isinstance(trial.policy, discreet.Policy) else [[0.9, 0.0], [0.0, 0.9]]
    return trial.assign(unit, features)


def contents(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "t.db")) as file:
        return list(file.iterdump())


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_reading_releases_nothing_and_freezes_nothing(
    kind: str, tmp_path: Path, system: Clock
) -> None:
    trial = KINDS[kind](tmp_path / "t.db")
    for unit in range(4):  # of which a block at least is full
        system.now += 60.0
        asked(trial, unit)
    before = contents(tmp_path)
    system.now += 365 * DAY
    calls = (
        trial.settle, trial.report, lambda: asked(trial, 9), lambda: trial.record(0, 1.0),
        lambda: trial.rounds, lambda: trial.status,
    )  # fmt: skip
    for call in calls:
        with pytest.raises(ClockJumped, match=r"365 days after .* more than 14 days"):
            call()
    assert "not in use: the clock reads" in repr(trial)
    trial.close()
    assert contents(tmp_path) == before
    with discreet.Trial.load(tmp_path / "t.db") as again:  # nor does a restart believe it
        with pytest.raises(ClockJumped):
            again.settle()
        system.now -= 365 * DAY  # set right
        for unit in range(4):
            again.record(unit, 1.0)
        asked(again, 9)
        assert again.report()["releases"] == 0
        system.now += 14 * DAY
        assert again.settle()
        assert again.report()["releases"] >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_that_was_idle_goes_on_once_the_clock_is_confirmed(
    kind: str, tmp_path: Path, system: Clock
) -> None:
    trial = KINDS[kind](tmp_path / "t.db")
    for unit in range(4):
        asked(trial, unit)
        trial.record(unit, 1.0)
    system.now += 42 * DAY
    with pytest.raises(ClockJumped, match=r"confirm_clock\(\)"):
        trial.report()
    said = trial.confirm_clock()
    assert "42 days after" in said
    trial.close()
    for _ in range(2):  # it is stored, and nothing was lost or released twice
        with discreet.Trial.load(tmp_path / "t.db") as again:
            again.settle()
            assert again.report()["releases"] >= 1
            assert again.report()["assigned"] == 4
            asked(again, 0)


def test_pauses_up_to_a_day_or_the_deadline_are_taken_on_trust(system: Clock) -> None:
    for deadline, pause in (("1 h", DAY), ("14 days", 14 * DAY)):
        trial = finite(deadline=deadline)
        for unit in range(4):
            trial.assign(unit)
        system.now += pause
        assert trial.settle()
        system.now += pause + 1.0
        with pytest.raises(ClockJumped):
            trial.settle()


def test_what_is_recorded_moves_nothing(system: Clock) -> None:
    """Else whether a call is refused would tell that somebody has responded."""
    for records in (True, False):
        trial = finite()
        trial.assign(0)
        for _ in range(2):
            system.now += 10 * DAY
            if records:
                with contextlib.suppress(ClockJumped):
                    trial.record(0, 1.0)
        with pytest.raises(ClockJumped, match="20 days after"):
            trial.settle()


def test_a_clock_of_ones_own_is_taken_at_its_word(tmp_path: Path, system: Clock) -> None:
    own = Clock()
    trial = finite(tmp_path / "t.db", deadline=5.0, clock=own)
    for unit in range(4):
        trial.assign(unit)
    own.now += 1e6
    assert trial.settle()
    trial.close()
    with (  # planned in a unit that nobody knows here
        discreet.Trial.load(tmp_path / "t.db") as again,
        pytest.raises(ClockJumped),
    ):
        again.assign(9)
    discreet.Trial.load(tmp_path / "t.db", clock=own).close()
    rehearsal = discreet.Rehearsal(
        discreet.policy("dp-imed", epsilon=1.0), 2, horizon=20, arrivals=0.01, delay="1 day",
        default=0.0, seed=1,
    )  # fmt: skip
    assert rehearsal.play(discreet.Bernoulli([0.5, 0.3]))["status"] == "finished"


def test_strata_and_the_command_line(
    tmp_path: Path, system: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = discreet.policy("dp-imed", epsilon=1.0, first=1)
    late: dict[str, Any] = {"deadline": "14 days", "missing": 0.0}
    discreet.Strata(row, ["men", "women"], 2, path="s", **grouped(late)).close()
    discreet.Trial(row, 2, path="t.db", **grouped(late)).close()
    for file, more in (("s", ["--stratum", "men"]), ("t.db", [])):
        system.now = START
        assert CliRunner().invoke(app, ["trial", "assign", file, "p", *more]).exit_code == 0
        system.now += 30 * DAY
        found = CliRunner().invoke(app, ["trial", "report", file])
        assert found.exit_code != 0
        assert "discreet trial confirm-clock" in " ".join(found.output.split())
        found = CliRunner().invoke(app, ["trial", "confirm-clock", file])
        assert found.exit_code == 0
        assert "30 days after" in found.output
        assert CliRunner().invoke(app, ["trial", "report", file]).exit_code == 0
