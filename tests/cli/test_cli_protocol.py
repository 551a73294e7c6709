"""`discreet protocol`: papers from a plan and from a trial."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLAN = {
    "arms": ["drug", "placebo"], "deadline": "28 days", "missing": 0,
    "design": {"participants": 200, "looks": 2, "epsilon": 1.0},
}  # fmt: skip


def test_papers_of_a_plan_and_of_a_trial(call: Callable[..., Any]) -> None:
    Path("plan.json").write_text(json.dumps(PLAN))
    Path("study.toml").write_text('title = "Tea or milk"\ncontact = "a@example.org"\n')
    planned = call("protocol", "--settings", "plan.json", "--study", "study.toml")
    assert planned.exit_code == 0
    assert planned.stdout.startswith("# Tea or milk\n")
    assert "a@example.org" in planned.stdout
    assert call("trial", "new", "t.db", "--settings", "plan.json").exit_code == 0
    assert call("trial", "assign", "t.db", "p1").exit_code == 0
    of_trial = call("protocol", "t.db", "--study", "study.toml", "--json")
    words = json.loads(of_trial.stdout)
    assert words["title"] == "Tea or milk"
    assert "No participant has been assigned yet" in planned.stdout
    assert "No participant has been assigned yet" not in words["markdown"]
    for name, start in (("papers.html", "<!DOCTYPE"), ("papers.md", "# Tea")):
        call("protocol", "t.db", "--study", "study.toml", "--output", name)
        assert Path(name).read_text().startswith(start)


def test_several_treatments_and_epochs_are_planned_by_settings(call: Callable[..., Any]) -> None:
    for design, words in (
        ({"participants": 400, "treatments": 3, "epsilon": 1.0}, "closed testing"),
        ({"participants": 300, "epochs": 3, "epsilon": 1.0, "runs": 2000}, "enrolled in epochs"),
    ):
        arms = ["a", "b", "c", "placebo"] if "treatments" in design else ["drug", "placebo"]
        Path("plan.json").write_text(json.dumps({**PLAN, "arms": arms, "design": design}))
        assert words in call("protocol", "--settings", "plan.json").stdout


def test_bad_input_is_refused(call: Callable[..., Any]) -> None:
    assert "one of them" in call("protocol").stderr
    Path("plan.json").write_text(json.dumps(PLAN))
    Path("study.json").write_text('{"colour": "blue"}')
    assert call("protocol").exit_code == 2
    told = call("protocol", "--settings", "plan.json", "--study", "study.json").stderr
    assert "colour" in told
    assert "title" in told
    assert call("protocol", "nothing.db").stderr
