"""`discreet trial` where the trial is in PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trial_commands import call, here, told

from postgres import postgres, url

__all__ = ["here", "postgres", "url"]

PLAN: dict[str, Any] = {
    "policy": "dp-imed", "epsilon": 1, "arms": ["A", "B"], "deadline": "28 days", "missing": 0,
}  # fmt: skip


@pytest.fixture
def trial(url: str) -> str:
    """What stands in place of FILE, with a password that nobody may see."""
    at = url.replace("postgres:@", "postgres:secret-word@", 1)
    assert at != url
    return f"{at}#sleep"


def test_every_day(trial: str, tmp_path: Path) -> None:
    planned = told("new", trial, given=PLAN)
    assert planned["file"] == "'sleep' in PostgreSQL"
    assert "be new" in call("new", trial, given=PLAN, code=2).output
    arm = told("assign", trial, "p1")["arm"]
    assert told("assign", trial, given=[{"unit": "p1"}, {"unit": "p2"}])[0]["arm"] == arm
    assert told("record", trial, given={"unit": "p1", "outcome": 1}) == {"recorded": 1}
    assert "Nothing of an outcome is left" in told("withdraw", trial, "p2")["remains"]
    assert told("drop", trial, "A", "--by", "Dr. Weber") == {"dropped": "A"}
    whats = [entry["what"] for entry in told("log", trial, "--verify")]
    assert whats == ["planned", "arm dropped"]
    report = told("report", trial)
    assert report["assigned"] == 2
    call("report", trial, "--output", "report.html")
    assert told("backup", trial, "backup.db") == {"file": "backup.db"}
    assert told("restore", "backup.db", "restored.db")["status"] == "fenced"
    assert told("fence", trial)["status"] == "collecting"
    assert told("finish", trial)["status"] == "settling"
    assert json.loads(call("report", "restored.db", "--json").stdout)["assigned"] == 2


def test_strata_and_a_witness_in_a_file(trial: str, tmp_path: Path) -> None:
    plan = PLAN | {"strata": ["men", "women"], "horizon": 2}
    told("new", trial, "--witness", "elsewhere.witness", given=plan)
    assert (tmp_path / "elsewhere.witness").exists()
    for unit, stratum in (("p1", "men"), ("p2", "women")):
        told("assign", trial, unit, "--stratum", stratum)
    refused = call("assign", trial, "p3", "--stratum", "men", code=2)
    assert "in all strata together" in refused.output.replace("\n", " ")
    assert told("report", trial)["horizon"] == 2


def test_refusals_say_what_to_do_and_show_no_password(trial: str) -> None:
    call("new", trial, given=PLAN)
    told("assign", trial, "p1")
    call("backup", trial, "backup.db")
    address, _, _ = trial.partition("#")
    for arguments, word in (
        (["report", address], "#sleep"),
        (["report", f"{address}#other"], "be that of a trial in this database"),
        (["assign", "postgresql://127.0.0.1:1/none#sleep", "p"], "cannot be reached"),
        (["move", trial, "moved.db"], "pg_dump"),
        (["move", "moved.db", trial], "pg_dump"),
        (["restore", "backup.db", trial], "pg_restore"),
        (["restore", trial, "r.db"], "pg_restore"),
        (["backup", trial, trial], "a backup is a file"),
        (["unblind", trial, "p1", "--by", "me", "--reason", "none"], "no kits"),
    ):
        shown = call(*arguments, code=2).output
        assert word in " ".join(shown.split()), shown
        assert "secret-word" not in shown
