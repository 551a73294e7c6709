"""Lengths of time carry their unit; what was accepted is said again in words."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet
from discreet._durations import in_words, seconds
from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.simulator.calendar import Delay, Drift, calendar


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("28 days", 28 * 86_400), ("1 day", 86_400), ("30 min", 1800), ("12 h", 43_200),
        ("12h", 43_200), ("1.5 hours", 5400), ("2 Weeks", 14 * 86_400), ("90 s", 90),
        ("1 day 12 h", 129_600), ("1 day, 12 hours", 129_600), (".5 d", 43_200),
        ("P28D", 28 * 86_400), ("PT30M", 1800), ("P1DT12H", 129_600), ("P2W", 14 * 86_400),
        ("PT0.5S", 0.5), (" 28 days ", 28 * 86_400), (timedelta(days=28), 28 * 86_400),
        (timedelta(minutes=30), 1800),
    ],
)  # fmt: skip
def test_lengths_with_units(text: Any, length: float) -> None:
    assert seconds("deadline", text) == length


@pytest.mark.parametrize("bare", [28, 28.0, True and 1, "28", "28.5", 0, -1])
def test_bare_numbers_are_refused_with_a_fix_that_runs(bare: Any) -> None:
    with pytest.raises(InvalidArgument, match="deadline must") as refused:
        seconds("deadline", bare)
    for fix in re.findall(r'deadline="([^"]*)"', str(refused.value)):
        if not str(bare).startswith(("-", "0")):
            assert seconds("deadline", fix) > 0


@pytest.mark.parametrize(
    "wrong",
    ["", "days", "28 months", "1 m", "P1M", "P1Y", "P", "PT", "P1DT", "-1 day", "0 s", "nan s",
     "1 day and a half", "28 days!", None, [], True, timedelta(0), timedelta(-1), "1e3 s"],
)  # fmt: skip
def test_what_is_no_length_of_time_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="deadline must"):
        seconds("deadline", wrong)


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (28 * 86_400, "28 days"), (86_400, "1 day"), (5400, "1 hour 30 minutes"),
        (129_600, "1 day 12 hours"), (0.25, "0.25 seconds"), (61.5, "1 minute 1.5 seconds"),
    ],
)  # fmt: skip
def test_words(length: float, words: str) -> None:
    assert in_words(length) == words
    assert seconds("deadline", words) == length


def row() -> Any:
    return discreet.policy("dp-imed", epsilon=1.0)


def test_a_trial_takes_numbers_by_a_clock_of_its_own_alone() -> None:
    with pytest.raises(InvalidArgument, match="deadline must carry its unit, got 28"):
        discreet.Trial(row(), 2, deadline=28, missing=0.0)
    with discreet.Trial(row(), 2, deadline="28 days", missing=0.0) as trial:
        assert trial._terms.deadline == 28 * 86_400
        assert trial.report()["settings"]["deadline"] == "28 days after the assignment"
    with discreet.Trial(row(), 2, deadline=28, missing=0.0, clock=lambda: 0.0) as trial:
        assert trial._terms.deadline == 28.0
        shown = trial.report()["settings"]["deadline"]
        assert shown == "28 of the trial's own clock after the assignment"
    with pytest.raises(InvalidArgument, match="deadline must be a number, in the unit"):
        discreet.Trial(row(), 2, deadline="28 days", missing=0.0, clock=lambda: 0.0)


def test_a_calendar_counts_days() -> None:
    told = calendar(2, arrivals=12, delay="14 days")
    assert told == calendar(2, arrivals=12, delay=14) == calendar(2, arrivals=12, delay="P2W")
    assert Delay("14 days", "exponential", timedelta(hours=12)).mean == 0.5
    assert Drift("season", 0.1, "26 weeks").period == 182.0
    with pytest.raises(InvalidArgument, match="delay must carry its unit, got '14'"):
        calendar(2, arrivals=12, delay="14")


PLAN = ["plan", "--means", ".5,.3", "--horizon", "100", "--arrivals", "12"]


@pytest.mark.parametrize(
    ("option", "value"),
    [("delay", "14"), ("delay-mean", "5"), ("deadlines", "7 days,14"), ("drift", "season:.1:180")],
)
def test_bare_numbers_are_refused_on_the_command_line(option: str, value: str) -> None:
    found = CliRunner().invoke(app, [*PLAN, f"--{option}", value])
    assert found.exit_code != 0
    said = " ".join(found.output.split())
    assert f"{option} must carry its unit" in said
    assert f'use for example --{option} "' in said


def test_what_trial_new_accepted_is_repeated_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {"policy": "dp-imed", "epsilon": 1, "arms": ["A", "B"], "horizon": 50, "missing": 0}
    for wrong in (28, "28"):
        given = json.dumps({**settings, "deadline": wrong})
        found = CliRunner().invoke(app, ["trial", "new", "t.db"], input=given)
        assert found.exit_code != 0
        assert "must carry its unit" in " ".join(found.output.split())
        assert not list(tmp_path.iterdir())
    unsaid = {k: v for k, v in settings.items() if k != "missing"} | {"deadline": "PT36H"}
    found = CliRunner().invoke(app, ["trial", "new", "t.db"], input=json.dumps(unsaid))
    assert found.exit_code != 0
    assert "missing must be said with a deadline" in " ".join(found.output.split())
    given = json.dumps({**settings, "deadline": "PT36H"})
    found = CliRunner().invoke(app, ["trial", "new", "t.db"], input=given)
    assert found.exit_code == 0
    lines = found.output.splitlines()
    assert "deadline: 1 day 12 hours after the assignment" in lines
    assert "missing: silence means an outcome of 0" in lines
    assert "horizon: 50 assignments" in lines
    found = CliRunner().invoke(app, ["trial", "report", "t.db", "--format", "json"])
    shown = json.loads(found.output)["settings"]
    assert shown["deadline"] == "1 day 12 hours after the assignment"
    page = CliRunner().invoke(app, ["trial", "report", "t.db", "--format", "html"]).output
    assert "1 day 12 hours after the assignment" in page
