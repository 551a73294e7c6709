"""What notebooks show: public numbers, escaped."""

from __future__ import annotations

import re

import pytest

import discreet
from discreet._notebooks import card, plain, table
from discreet.audit._result import Audit
from discreet.inference import Interval, Intervals


def test_everything_is_escaped() -> None:
    for shown in (
        table(["<i>"], [["<i>", 0.25, None]]),
        card("<i>", {"<i>": "<i>", "none": None, "empty": ""}),
        plain("<i>"),
    ):
        assert "<i>" not in shown
        assert "&lt;i&gt;" in shown
    assert "none" not in card("a", {"none": None, "empty": ""})


def test_a_policy_and_its_guarantee() -> None:
    row = discreet.policy("dp-imed", epsilon=0.5)
    shown = row._repr_html_()
    assert str(row.schedule) in shown
    assert "<td>in [0, 1]</td>" in shown
    assert row.guarantee.short() in row.guarantee._repr_html_()
    assert row.guarantee.conditions[0] in row.guarantee._repr_html_()
    assert discreet.policy("oful")._repr_html_()


def test_a_verification_and_an_audit() -> None:
    found = discreet.policy("dp-imed", epsilon=0.5).proved(arms=2, horizon=20)
    shown = found._repr_html_()
    assert f"dp-imed: {found.verdict}" in shown
    assert "2 arms, 20 rounds" in shown
    claim = discreet.policy("dp-imed", epsilon=0.5).guarantee
    audit = Audit.of("mine", claim, 0.4, confidence=0.95, runs=1000)
    assert "ε &gt;= 0.4" in audit._repr_html_()
    assert "A pass is no proof" in audit._repr_html_()
    broken = Audit.of("mine", claim, 0.6, confidence=0.95, runs=1000)
    assert "violation" in broken._repr_html_()
    assert "A pass" not in broken._repr_html_()


def test_intervals_are_a_table() -> None:
    rows = (Interval("a", 0.5, 0.4, 0.6, 10), Interval("b", None, 0.0, 1.0, 0))
    shown = Intervals("anytime", 0.95, False, rows)._repr_html_()
    assert "95 % intervals" in shown
    assert "<td>b</td><td>–</td><td>0</td><td>1</td><td>0</td>" in shown


def test_a_trial_shows_its_report_and_no_outcome() -> None:
    trial = discreet.Trial(
        discreet.policy("dp-imed", epsilon=1.0),
        arms=["A", "B"],
        outcomes=discreet.Outcomes(range=(0.0, 1000.0)),
    )
    trial.assign("p1")
    before = trial._repr_html_()
    trial.record("p1", 731.0)
    assert trial._repr_html_() == before  # nothing was released yet: nothing is seen of it
    assert "731" not in before
    assert "1 assigned" in before
    trial.close()
    assert "closed" in trial._repr_html_()


@pytest.mark.parametrize("kind", ["Plan", "TrialPlan"])
def test_plans_are_their_page_of_text(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.theory import planning

    cls = getattr(planning, kind)
    monkeypatch.setattr(cls, "text", lambda self, width=100: "2 < 3")
    assert re.fullmatch("<pre>2 &lt; 3</pre>", cls._repr_html_(object.__new__(cls)))
