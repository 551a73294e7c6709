"""`discreet trial`: one trial from its start to its end, and nothing private on the way."""

from __future__ import annotations

import csv
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from trial_commands import call, here, told  # noqa: F401 - `here` is used by being known
from typer.testing import CliRunner

from discreet.cli._app import app

SETTINGS = {"policy": "dp-imed", "epsilon": 1.0, "arms": ["A", "B"], "deadline": "1 h",
            "missing": "estimate"}  # fmt: skip


def test_standard_input_that_is_nested_too_deeply_is_refused() -> None:
    told("new", "t.db", given=SETTINGS)
    for deep in ("[" * 100_000, '{"unit": ' * 100_000):
        refused = call("record", "t.db", given=deep, code=2)
        assert "be JSON with the unit and outcome" in refused.output


def test_a_trial_from_start_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    started = told("new", "t.db", given={**SETTINGS, "window": 4, "share": {"B": 0.25}})
    assert "ε = 1" in started["guarantee"]
    arm = told("assign", "t.db", "p1")["arm"]
    assert told("assign", "t.db", "p1") == {"unit": "p1", "arm": arm}
    many = told("assign", "t.db", given=[{"unit": n} for n in range(60)])
    assert {entry["arm"] for entry in many} == {"A", "B"}
    assert told("record", "t.db", given={"unit": "p1", "outcome": 1.0}) == {"recorded": 1}
    assert told("record", "t.db", given=[{"unit": n, "outcome": 0.5} for n in range(50)]) == {
        "recorded": 50
    }
    shown = told("report", "t.db")
    assert shown["assigned"] == 61
    assert shown["next_release"] == 4600.0
    assert "61 assigned" in call("report", "t.db").stdout
    assert told("stop", "t.db", "--by", "board")["status"] == "settling"
    now[0] += 3600.0
    ended = told("finish", "t.db", "--discard")
    assert ended["status"] == "finished"
    assert "raw outcomes" in ended["guarantee"] or told("report", "t.db")["ended"]


def test_what_is_refused_shows_no_outcome() -> None:
    told("new", "t.db", given=SETTINGS)
    told("assign", "t.db", "p1")
    for given in (
        "0.123456", '{"unit": "p1", "outcome": 0.123456', {"unit": "p1", "result": 0.123456},
        {"unit": "p2", "outcome": 0.123456}, {"unit": "p1", "outcome": 7.123456},
    ):  # fmt: skip
        result = CliRunner().invoke(
            app, ["trial", "record", "t.db"],
            input=given if isinstance(given, str) else json.dumps(given),
        )  # fmt: skip
        assert result.exit_code != 0
        assert "123456" not in result.output
    assert CliRunner().invoke(app, ["trial", "new", "u.json"], input="{}").exit_code != 0
    assert CliRunner().invoke(app, ["trial", "report", "none.json"]).exit_code != 0
    assert not Path("u.json").exists()


def grown_trial(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> None:
    """A trial in t.db with a few releases, and blocks that wait."""
    now = [1_790_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    equal = {"window": 2, "share": {"A": 0.5, "B": 0.5}}
    told("new", "t.db", given={**SETTINGS, "horizon": 400, **equal, **settings})
    for day in range(4):
        units = [{"unit": f"p{day}-{n}"} for n in range(50)]
        told("assign", "t.db", given=units)
        now[0] += 600.0
        told("record", "t.db", given=[{**unit, "outcome": n % 2} for n, unit in enumerate(units)])
        now[0] += 3000.0
    told("assign", "t.db", given=[{"unit": n} for n in range(140)])


@pytest.mark.parametrize("settings", [{}, {"missing": 0.0}])
def test_reports_in_every_form(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    grown_trial(monkeypatch, **settings)
    shown = told("report", "t.db")
    assert shown == json.loads(call("report", "t.db", "--format", "json").stdout)
    table = list(csv.DictReader(call("report", "t.db", "--format", "csv").stdout.splitlines()))
    assert [row["arm"] for row in table] == ["A", "B"]
    for row, arm in zip(table, shown["arms"], strict=True):
        assert int(row["assigned"]) == arm["assigned"]
        assert float(row["mean"]) == arm["mean"]
        assert row["active"] == "true"
        has_interval, has_bounds = row["low"] != "", row["worst"] != ""
        assert has_interval == ("interval" in arm)
        assert has_bounds == (settings == {})
    printed = call("report", "t.db", "--format", "csv", "--table", "releases").stdout
    releases = list(csv.DictReader(printed.splitlines()))
    assert len(releases) == shown["releases"]
    assert releases[-1]["time"] == str(shown["course"][-1]["time"])
    page = call("report", "t.db", "--format", "html").stdout
    for words in ("Assignments over time", "Released means", "What happens next", "UTC: block"):
        assert words in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")


def test_reports_are_written_whole_and_never_over_the_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    grown_trial(monkeypatch)
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    for name in ("report.html", "arms.csv", "report.json", "report.txt"):
        assert call("report", "t.db", "--output", name).stdout == ""
    assert json.loads(Path("report.json").read_text())["assigned"] == 340
    assert Path("arms.csv").read_text().startswith("arm,assigned")
    assert "340 assigned" in Path("report.txt").read_text()
    for wrong in ("t.db", "t.db.csv", "nowhere/report.html"):
        call("report", "t.db", "--output", wrong, code=2)
    call("report", "t.db", "--format", "pdf", code=2)
    call("report", "t.db", "--table", "releases", code=2)
    assert {name: Path(name).read_bytes() for name in before} == before


def test_the_course_shows_due_moments_and_not_when_somebody_responded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two trials alike but for when outcomes are handed in, all before and after the due moment:
    what is shown of times is the same."""

    def times(late: float) -> list[float]:
        now = [1_790_000_000.0]
        monkeypatch.setattr("time.time", lambda: now[0])
        file = f"t{late:g}.json"
        told("new", file, given={**SETTINGS, "window": 2})
        told("assign", file, given=[{"unit": n} for n in range(60)])
        now[0] += 3600.0 + late
        told("record", file, given=[{"unit": n, "outcome": 1} for n in range(60)])  # releases
        return [entry["time"] for entry in told("report", file)["course"]]

    assert times(10.0) == times(77.0) == [1_790_003_600.0] * 2


def test_an_error_in_a_list_says_which_entry_and_what_became_of_the_others() -> None:
    told("new", "t.db", given={**SETTINGS, "horizon": 3})
    units = [{"unit": n} for n in range(5)]
    result = call("assign", "t.db", given=units, code=2)
    assert "entry 4 of 5" in result.output
    assert "horizon of 3" in result.output
    assert len(told("assign", "t.db", given=units[:3])) == 3  # the same arms again
    entries = [{"unit": n, "outcome": 0.123456} for n in (0, 1, 99, 2)]
    result = call("record", "t.db", given=entries, code=2)
    assert "entry 3 of 4" in result.output
    assert "99" in result.output
    assert "123456" not in result.output
    told("record", "t.db", given=entries[:2] + entries[3:])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"deadlin": 10}, "deadlin must be an option of dp-imed, or a setting of a trial"),
        ({"share": 0.5}, "share must name arms"),
        ({"trend": "yes"}, "trend must be True or False"),
        ({"binary": 1}, "binary must be True or False"),
        ({"dimension": 3}, "dimension must be left out"),
        ({"name": "dp-imed"}, 'settings must have "policy"'),
    ],
)
def test_settings_that_are_refused_are_named(wrong: dict[str, Any], words: str) -> None:
    result = call("new", "t.db", given={**SETTINGS, **wrong}, code=2)
    assert words in result.output
    assert not list(Path().iterdir())


def test_files_are_named_as_the_command_line_knows_them() -> None:
    assert "discreet trial new" in call("report", "t.db", code=2).output
    told("new", "t.db", given=SETTINGS)
    assert "discreet trial assign" in call("new", "t.db", given=SETTINGS, code=2).output
    told("new", "s.db", given={**SETTINGS, "strata": ["men", "women"]})
    for path in ("t.db", "t.db.html", "s.db-wal"):
        trial = "s.db" if path.startswith("s") else "t.db"
        assert "no file of the trial" in call("report", trial, "--output", path, code=2).output
    call("report", "s.db", "--output", "s.html")
    page = Path("s.html").read_text()
    assert page.count("Stratum: ") >= 2
    assert "97.5 % interval" in page
    assert "provided everyone belongs to one stratum" in page


def test_the_text_says_what_happens_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_790_000_000.0)
    told("new", "t.db", given={**SETTINGS, "first": 1, "horizon": 100, "window": 1})
    told("assign", "t.db", given=[{"unit": n} for n in range(3)])
    text = call("report", "t.db").stdout
    assert "2026-09-21 15:13 UTC: block 1 of A (1 participant) is released." in text
    assert "97 more participants to come, then the trial ends." in text
    ended = call("stop", "t.db", "--by", "public").stdout
    assert "next_release: 2026-09-21 15:13 UTC" in ended


def test_contexts_come_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    told("new", "c.json", given={
        "policy": "adac-oful", "rho": 0.5, "low": 0, "high": 1, "arms": ["A", "B"], "dimension": 2,
        "horizon": 100, "deadline": "1 h", "missing": 0.0,
    })  # fmt: skip
    given = {"unit": "p1", "actions": [[0.5, 0.0], [0.0, 0.5]]}
    found = told("assign", "c.json", given=given)
    assert set(found) == {"unit", "arm"}
    assert told("assign", "c.json", "p1") == found  # known: features are not asked for again
    assert "actions" in call("assign", "c.json", "p2", code=2).output


def test_arms_join_and_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    told("new", "t.db", given={**SETTINGS, "arms": 2})
    assert told("add", "t.db", "new")["arms"] == [0, 1, "new"]
    assert told("drop", "t.db", "1") == {"dropped": 1}
    assert [arm["active"] for arm in told("report", "t.db")["arms"]] == [True, False, True]
    assert "arm must be new" in call("add", "t.db", "new", code=2).output
    assert "be left out" in call("drop", "t.db", "0", "--stratum", "men", code=2).output
    alike = {**SETTINGS, "arms": [1, "1"]}
    assert "read differently" in call("new", "alike.json", given=alike, code=2).output
    with monkeypatch.context() as patch:  # a file from when they were taken
        patch.setattr("discreet.live._trial.check_legible", lambda argument, names: None)
        told("new", "alike.json", given=alike)
    assert "look alike" in call("drop", "alike.json", "1", code=2).output
    told("new", "s", given={**SETTINGS, "strata": ["men", "women"]})
    told("drop", "s", "A", "--stratum", "men")
    alone = call("assign", "s", "--stratum", "men", given={"unit": 1, "stratum": "women"}, code=2)
    assert "stratum must come with a unit" in alone.output
    assert "planned" in call("add", "s", "C", code=2).output
    active = [[arm["active"] for arm in one["arms"]] for one in told("report", "s")["strata"]]
    assert active == [[False, True], [True, True]]


def test_commands_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    told("new", "t.db", given=SETTINGS)
    monkeypatch.setattr("discreet.live.stores._database.PATIENCE", 0.2)
    held = sqlite3.connect("t.db", isolation_level=None, check_same_thread=False)
    held.execute("BEGIN IMMEDIATE")
    assert "has held" in call("assign", "t.db", "p1", code=2).output
    monkeypatch.setattr("discreet.live.stores._database.PATIENCE", 60.0)
    closing = threading.Timer(0.2, held.close)
    closing.start()
    assert told("assign", "t.db", "p1")["unit"] == "p1"
    closing.join()


def test_backups_moves_and_fences() -> None:
    told("new", "t.db", "--witness", "w", given={"policy": "dp-imed", "epsilon": 1, "arms": 2})
    assert {path.name for path in Path().iterdir()} == {"t.db", "w"}
    arm = told("assign", "t.db", "p1")["arm"]
    old = Path("t.db").read_bytes()
    call("record", "t.db", given={"unit": "p1", "outcome": 1.0})
    assert told("fence", "t.db")["fence"] == ""
    assert "end it by stop()" in call("fence", "t.db", "--stop", code=2).output
    assert told("backup", "t.db", "b.db") == {"file": "b.db"}
    assert "new file" in call("backup", "t.db", "b.db", code=2).output
    assert told("restore", "b.db", "r.db") == {"file": "r.db", "status": "fenced"}
    assert "is fenced" in call("assign", "r.db", "p2", code=2).output
    assert "the trial is fenced" in call("report", "r.db").output
    ended = told("fence", "r.db", "--stop")
    assert (ended["status"], ended["fence"]) == ("finished", "")
    assert told("assign", "r.db", "p1")["arm"] == arm
    assert told("move", "t.db", "m.db") == {"file": "m.db"}
    told("assign", "m.db", given=[{"unit": unit} for unit in range(40)])
    call("record", "m.db", given=[{"unit": unit, "outcome": 1.0} for unit in range(40)])
    assert told("report", "m.db")["releases"] > 1
    Path("t.db").write_bytes(old)
    assert "old copy" in told("fence", "t.db")["fence"]
