"""`discreet trial` on a ward: lists, files of settings, rights, rehearsals, narrow screens."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trial_commands import call, here, told  # noqa: F401 - `here` is used by being known

SETTINGS: dict[str, Any] = {
    "policy": "dp-imed", "epsilon": 1.0, "first": 1, "ratio": 1.5, "arms": ["A", "B"],
    "deadline": "1 h", "missing": 0.0, "window": 2,
}  # fmt: skip
TOML = """
policy = "dp-imed"
epsilon = 1.0
arms = ["A", "B"]
deadline = "14 days"
missing = 0.0
horizon = 60
share = { B = 0.25 }
corrections = "deadline"
"""


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_settings_come_from_a_file_and_are_said_before_the_trial_starts() -> None:
    Path("plan.toml").write_text(TOML)
    Path("plan.json").write_text(json.dumps(SETTINGS))
    said = call("new", "t.db", "--settings", "plan.toml", "--check").stdout
    assert "deadline: 14 days after the assignment" in said
    assert "corrections: until the outcome would be late" in said
    assert "planned, not started" in said
    assert not Path("t.db").exists()
    assert "share: {'B': 0.25}" in call("new", "t.db", "--settings", "plan.toml").stdout
    assert told("new", "j.db", "--settings", "plan.json")["settings"]["arms"] == ["A", "B"]
    Path("wrong.toml").write_text("policy = ")
    for wrong in ("wrong.toml", "none.json"):
        assert "TOML" in call("new", "w.db", "--settings", wrong, code=2).output
    Path("bad.toml").write_text(TOML.replace("dp-imed", "dp-imedd"))
    assert "dp-imed" in call("new", "w.db", "--settings", "bad.toml", code=2).output
    assert not Path("w.db").exists()


def test_lists_as_csv() -> None:
    told("new", "t.db", given=SETTINGS)
    rows = table(call("assign", "t.db", "--csv", given="unit\np1\np2\np3\n").stdout)
    assert [row["unit"] for row in rows] == ["p1", "p2", "p3"]
    assert {row["arm"] for row in rows} <= {"A", "B"}
    assert told("assign", "t.db", "p1")["arm"] == rows[0]["arm"]
    given = "unit,outcome\np1,1\np2,0.5\n"
    assert "recorded: 2" in call("record", "t.db", "--csv", given=given).stdout
    for wrong in ("p1,1\n", "unit,outcome\np1\n", "unit,outcome,more\np1,1,0.123456\n", ""):
        refused = call("record", "t.db", "--csv", given=wrong, code=2).output
        assert "be CSV with the columns unit, outcome" in refused
        assert "123456" not in refused
    told("new", "s.db", given={**SETTINGS, "strata": ["men", "women"]})
    given = "unit,stratum\np1,men\np2,women\n"
    rows = table(call("assign", "s.db", "--csv", given=given).stdout)
    assert [row["stratum"] for row in rows] == ["men", "women"]


def test_a_list_is_recorded_whole_or_says_what_was_refused() -> None:
    told("new", "t.db", given=SETTINGS)
    told("assign", "t.db", given=[{"unit": n} for n in ("a", "b", "c")])
    entries = [{"unit": "a", "outcome": 0.5}, {"unit": "x", "outcome": 0.123456},
               {"unit": "b", "outcome": 7.123456}, {"unit": "c", "outcome": 1.0}]  # fmt: skip
    refused = call("record", "t.db", given=entries, code=2).output
    assert "entry 2 of 4" in refused
    assert "none of them is recorded" in refused
    call("record", "t.db", given={"unit": "a", "outcome": 0.25})  # it was free
    call("record", "t.db", given={"unit": "a", "outcome": 0.5}, code=2)
    found = told("record", "t.db", "--each", given=entries[1:])
    assert found["recorded"] == 1
    assert [one["entry"] for one in found["refused"]] == [1, 2]
    assert "123456" not in json.dumps(found)
    text = "unit,outcome\nx,1\nb,1\n"
    rows = table(call("record", "t.db", "--each", "--csv", given=text).stdout)
    assert [row["unit"] for row in rows] == ["x"]
    assert "must have been assigned" in rows[0]["refused"]
    refused = call("assign", "t.db", given=[{"unit": "n"}, {"unit": 1.5}], code=2).output
    assert "entry 2 of 2" in refused
    assert "none of them is assigned" in refused


def test_the_rights_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_790_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    told("new", "t.db", given={**SETTINGS, "corrections": "deadline", "horizon": 4})
    told("assign", "t.db", given=[{"unit": n} for n in ("a", "b", "c", "d")])
    told("record", "t.db", given={"unit": "a", "outcome": 1.0})
    assert told("correct", "t.db", "--by", "x", given={"unit": "a", "outcome": 0.5}) == {
        "corrected": 1
    }
    call("correct", "t.db", "--csv", given="unit,outcome\nb,1\n")
    assert "Nothing of an outcome is left" in told("withdraw", "t.db", "a")["remains"]
    rows = table(call("withdraw", "t.db", "--csv", given="unit\nb\n").stdout)
    assert rows[0]["remains"].startswith("Nothing of an outcome")
    assert "once the trial is finished" in call("erase", "t.db", code=2).output
    now[0] += 3600.0
    told("report", "t.db")  # which releases first
    assert "noisy sum" in told("withdraw", "t.db", "c")["remains"]
    told("erase", "t.db", "--by", "data office", "--reason", "the law")
    said = call("log", "t.db", "--verify").stdout
    assert "names erased; by=data office reason=the law" in said
    assert "verified: " in said
    assert "2026-09-21 14:13 UTC" in said
    call("log", "t.db", "--export", "trail.csv")
    rows = table(Path("trail.csv").read_text())
    assert rows[0]["what"] == "planned"
    assert rows[-1]["by"] == "data office"
    assert "no file of the trial" in call("log", "t.db", "--export", "t.db.csv", code=2).output
    assert [entry["what"] for entry in told("log", "t.db")] == [row["what"] for row in rows]


def test_decisions_have_names_and_reasons() -> None:
    told("new", "t.db", given=SETTINGS)
    why = ("--by", "Dr. Weber", "--reason", "protocol, section 7")
    told("add", "t.db", "C", *why)
    told("drop", "t.db", "A", *why)
    told("backup", "t.db", "b.db", *why)
    told("confirm-clock", "t.db", *why)
    told("stop", "t.db", "--because", "public", *why)
    entries = told("log", "t.db")[1:]
    assert [entry["what"] for entry in entries] == [
        "arm added", "arm dropped", "backup made", "clock confirmed", "stopped",
    ]  # fmt: skip
    assert {entry["by"] for entry in entries} == {"Dr. Weber"}
    told("new", "s.db", given={**SETTINGS, "strata": ["men", "women"]})
    told("drop", "s.db", "A", "--stratum", "men", *why)
    told("finish", "s.db", *why)
    whats = [(entry["stratum"], entry["what"]) for entry in told("log", "s.db", "--verify")]
    assert whats == [
        ("men", "planned"), ("men", "arm dropped"), ("men", "finished"), ("women", "planned"),
        ("women", "finished"),
    ]  # fmt: skip
    assert "[men]" in call("log", "s.db").stdout


def test_kits_and_ledgers_in_settings() -> None:
    kits = {"A": ["K1", "K2"], "B": ["K3", "K4"]}
    ledger = {"path": "budgets.db", "epsilon": 1.5}
    told("new", "t.db", given={**SETTINGS, "kits": kits, "ledger": ledger})
    code = told("assign", "t.db", "p1")["arm"]
    assert code in ("K1", "K2", "K3", "K4")
    assert "by must be said" in call("unblind", "t.db", "p1", code=2).output
    arm = told("unblind", "t.db", "p1", "--by", "w", "--reason", "x")["arm"]
    assert code in kits[arm]
    assert told("restock", "t.db", given={"A": ["K5"], "B": ["K6"]}) == {"kits": 2}
    told("new", "u.db", given={**SETTINGS, "ledger": {"path": "budgets.db"}})
    assert "nothing was charged" in call("assign", "u.db", "p1", code=2).output
    assert "ledger must have a path" in call(
        "new", "v.db", given={**SETTINGS, "ledger": "budgets.db"}, code=2
    ).output  # fmt: skip


def test_a_rehearsal_starts_nothing() -> None:
    Path("plan.toml").write_text(TOML)
    arguments = ("new", "t.db", "--settings", "plan.toml", "--rehearse", "--rates", ".2,.7")
    said = call(*arguments).stdout
    assert "protects no one, and nothing was started" in said
    assert "finished: 60 assigned" in said
    assert call(*arguments).stdout == said
    shown = told(*arguments, "--arrivals", "30")
    assert shown["status"] == "finished"
    assert not Path("t.db").exists()
    Path("plan.toml").write_text(TOML.replace('deadline = "14 days"\nmissing = 0.0', ""))
    assert "be given for a rehearsal" in call(*arguments, code=2).output


def test_tests_and_strata_are_rehearsed() -> None:
    """A design says how many come; over strata there is one test."""
    asked = {"arms": ["drug", "placebo"], "deadline": "28 days", "missing": 0}
    test = {"design": {"participants": 40, "looks": 1, "epsilon": 2}}
    arguments = ("new", "t.db", "--rehearse", "--rates", ".9,.1")
    assert told(*arguments, given={**asked, **test})["test"]["decision"] == "better"
    sites = {"design": {"participants": {"n": 40, "s": 30}, "looks": 1, "epsilon": 4, "runs": 500}}
    shown = told(*arguments, given={**asked, **sites, "strata": ["n", "s"]})
    assert shown["test"]["decision"] == "better"
    index = {"policy": "dp-imed", "epsilon": 1, "horizon": 60, "strata": ["n", "s"]}
    said = call(*arguments, given={**asked, **index}).stdout
    assert "stratum n" in said
    assert "stratum s" in said
    assert not Path("t.db").exists()


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_reports_fit_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_790_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    told("new", "t.db", given={**SETTINGS, "missing": "estimate"})
    told("assign", "t.db", given=[{"unit": n} for n in range(30)])
    now[0] += 3600.0
    wide = call("report", "t.db").stdout
    text = call("report", "t.db", "--width", str(width)).stdout
    assert max(map(len, text.splitlines())) <= width
    for word in ("A", "B", "30", "mean", "ε", "interval"):
        assert word in text
    if width == 200:
        assert "arm               assigned" in text
    assert "".join(wide.split())[:40] == "".join(text.split())[:40]
    assert "at least 20 columns" in call("report", "t.db", "--width", "5", code=2).output


def test_times_of_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_790_000_000.0)
    told("new", "t.db", given={**SETTINGS, "window": 1})
    told("assign", "t.db", given=[{"unit": n} for n in range(3)])
    assert "2026-09-21 15:13 UTC: block" in call("report", "t.db").stdout
    local = call("report", "t.db", "--zone", "Europe/Paris")
    assert "2026-09-21 17:13+02:00: block" in local.stdout
    call("report", "t.db", "--zone", "Asia/Kolkata", "--output", "r.html")
    assert "2026-09-21 20:43+05:30" in Path("r.html").read_text()
    assert "time zone" in call("report", "t.db", "--zone", "Nowhere/None", code=2).output


def test_two_nurses_at_once() -> None:
    """Four commands at a time on one file: nobody is asked to close anything."""
    told("new", "t.db", given=SETTINGS)
    racing = [
        subprocess.Popen(
            [sys.executable, "-m", "discreet.cli", "trial", "assign", "t.db", f"p{n}", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for n in range(4)
    ]  # fmt: skip
    for process in racing:
        out, error = process.communicate(timeout=60)
        assert process.returncode == 0, error
        assert json.loads(out)["arm"] in ("A", "B")
    assert told("report", "t.db")["assigned"] == 4
