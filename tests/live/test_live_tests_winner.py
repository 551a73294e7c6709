"""A test, then the winner for the rest: who gets which arm, and that nothing after it counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import confirm
from discreet.arms import Bernoulli
from discreet.confirm._played import played
from discreet.confirm._played_epochs import played_in_epochs
from discreet.errors import InvalidArgument, TrialError
from discreet.live._lives import verify_lives
from discreet.live._verdicts import as_policy
from discreet.privacy import _secure as secure
from discreet.report import papers

ARMS = ["drug", "placebo"]
TEST = confirm.design(80, looks=2, epsilon=1.0)
PLAN = confirm.then_winner(TEST, 130)


def trial(clock: list[float], plan: Any = PLAN, **options: Any) -> discreet.Trial:
    return discreet.Trial(plan, ARMS, deadline=5.0, missing=0.0, clock=lambda: clock[0], **options)


def come(running: discreet.Trial, clock: list[float], rates: dict[str, float]) -> list[str]:
    """One a unit of time until nobody is taken; who got what."""
    rng, got = np.random.default_rng(3), list[str]()
    while len(got) < 500:
        clock[0] += 1.0
        try:
            got.append(str(running.assign(f"p{len(got)}")))
        except TrialError:
            break
        running.record(f"p{len(got) - 1}", float(rng.random() < rates[got[-1]]))
    return got


@pytest.mark.parametrize(
    ("rates", "winner"), [((1.0, 0.0), "drug"), ((0.0, 1.0), "placebo"), ((0.5, 0.5), "placebo")]
)
def test_the_rest_gets_the_winner_or_the_control(
    rates: tuple[float, float], winner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    clock = [0.0]
    with trial(clock) as running:
        got = come(running, clock, dict(zip(ARMS, rates, strict=True)))
        assert len(got) == PLAN.participants
        verdict = running.verdict()
        assert isinstance(verdict, confirm.Verdict)
        # the first look has 40; four more come before it is due, in places of the second one
        known = 44 if verdict.look == 1 else 80
        assert set(got[known:]) == {winner}
        assert running.status == "finished"
        assert running.report()["rounds"] == known
        assert running.report()["assigned"] == 130


def test_outcomes_after_the_verdict_never_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trials whose participants differ after the verdict alone release the same."""
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    seen: list[Any] = []
    for late in (0.0, 1.0):
        clock = [0.0]
        with trial(clock) as running:
            for number in range(130):
                clock[0] += 1.0
                arm = running.assign(number)
                first = running.verdict() is None
                running.record(number, float(arm == "drug") if first else late)
            clock[0] += 50.0
            verdict = running.verdict()
            assert isinstance(verdict, confirm.Verdict)
            shown = running.report()
            seen.append((verdict.decision, shown["test"], shown["releases"]))
    # those who were under way in the second look are released, and enter no verdict
    assert seen[0][0] == seen[1][0] == "better"
    assert seen[0][1]["look"] == 1
    assert seen[0][2] == seen[1][2]
    keys = ("decision", "difference", "interval", "p_value")
    assert [seen[0][1][key] for key in keys] == [seen[1][1][key] for key in keys]


def test_a_stored_plan_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    clock, file = [0.0], tmp_path / "trial.db"
    with trial(clock, path=file) as running:
        for number in range(60):
            clock[0] += 1.0
            running.record(number, float(running.assign(number) == "drug"))
        assert running.status == "collecting"
    with discreet.Trial.load(file, clock=lambda: clock[0]) as running:
        assert running.policy == as_policy(PLAN)
        clock[0] += 1.0
        assert running.assign("new") == "drug"
        running.record("new", 0.0)
        with pytest.raises(TrialError, match="finished"):
            running.erase()
        running.stop("public")
        assert running.status == "finished"
        with pytest.raises(TrialError, match="recommends 'drug'"):
            running.assign("late")
        assert "up to 130 participants" in papers(running).markdown()


def test_a_trial_that_is_stopped_by_hand_has_no_winner() -> None:
    clock = [0.0]
    with trial(clock) as running:
        running.assign("a")
        running.stop("public")
        with pytest.raises(TrialError, match="ended"):
            running.assign("b")


def test_epochs_and_several_treatments_have_a_rest_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secure, "_next", lambda law, scale: 0)
    late = confirm.epochs(150, epochs=3, least=0.3, epsilon=1.0, runs=500)
    several = confirm.several(80, 3, looks=1, epsilon=1.0)
    for design, arms, total in ((late, ARMS, 400), (several, [*"abc", "placebo"], 200)):
        rehearsal = discreet.Rehearsal(
            confirm.then_winner(design, total), arms, arrivals=4.0, delay=2.0, default=0.0, seed=1
        )
        shown = rehearsal.play(Bernoulli([1.0, *[0.0] * (len(arms) - 1)]))
        assert shown["assigned"] == total
        assert shown["recommendation"]["arm"] == arms[0]
        assert shown["arms"][0]["assigned"] > total / 2
        assert shown["status"] == "finished"


def test_lives_with_people_after_the_verdict_show_nothing_of_them() -> None:
    small = confirm.design(16, looks=2, epsilon=8.0)
    found = verify_lives(played(small, 30), 2)
    assert found.holds
    assert found.blocks > 0
    short = confirm.epochs(60, epochs=3, least=0.5, epsilon=8.0, runs=500)
    assert played_in_epochs(short, 100).rest == 100


def test_what_all_who_come_can_expect() -> None:
    """Against a sum by hand, and the limits."""
    found = PLAN.operating(0.6, 0.3)
    exact = TEST.operating(0.6, 0.3)
    first = exact.above[0] + exact.below[0]
    treated = first * 20 + (1 - first) * 40 + exact.above[0] * 90 + exact.above[1] * 50
    assert found.on_better == pytest.approx(treated / 130)
    assert found.power == TEST.power(0.6, 0.3)
    assert found.in_test == pytest.approx(exact.participants)
    # 10 come while a look is awaited: in the test after the first, on the control after the last
    later = PLAN.operating(0.6, 0.3, waiting=10)
    treated = first * 25 + (1 - first) * 40 + exact.above[0] * 80 + exact.above[1] * 40
    assert later.on_better == pytest.approx(treated / 130)
    assert PLAN.operating(0.4, 0.4).on_better == 1.0
    turned = PLAN.operating(0.3, 0.6)
    assert turned.on_better > found.on_better  # the control is also what is given without a winner
    text = json.dumps(PLAN.to_dict())
    assert confirm.ThenWinner.from_dict(json.loads(text)) == PLAN
    with pytest.raises(InvalidArgument, match="participants"):
        confirm.then_winner(TEST, 79)
    with pytest.raises(InvalidArgument, match="test of two arms"):
        confirm.then_winner(discreet.policy("dp-imed", epsilon=1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="two arms"):
        confirm.then_winner(confirm.several(80, 3, looks=1, epsilon=1.0)).operating(0.5, 0.4)


def test_epochs_simulate_what_all_can_expect() -> None:
    design = confirm.epochs(300, epochs=3, least=0.3, epsilon=1.0, runs=500)
    found = confirm.then_winner(design, 900).operating(0.6, 0.35)
    course = design.operating(0.6, 0.35)
    treated = course.in_trial * course.participants
    treated += sum(a * (900 - n) for a, n in zip(course.above, (100, 200, 300), strict=True))
    assert found.on_better == pytest.approx(treated / 900)
    assert not found.exact
    with pytest.raises(InvalidArgument, match="waiting"):
        confirm.then_winner(design, 900).operating(0.6, 0.35, waiting=3)
