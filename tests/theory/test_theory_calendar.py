"""The plan of a trial with late outcomes, in Python and on the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.simulator.calendar import Delay, Drift


def test_plan_says_what_a_trial_costs(tmp_path: Path) -> None:
    own = discreet.plan_trial(
        [0.5, 0.3], horizon=600, arrivals=12, delay=14, missing=0.1, runs=300, epsilons=[0.25]
    )
    assert [line.label for line in own.lines] == ["ε = 1", "ε = 0.25", "no noise", "not private"]
    one, quarter, silent, seen = own.lines
    assert quarter.regret.mean > one.regret.mean > seen.regret.mean
    assert quarter.regret.mean > silent.regret.mean
    assert one.worse.mean * 0.2 == pytest.approx(one.regret.mean)
    assert one.days.mean == pytest.approx(64.0, abs=1.0)
    assert one.widths is not None
    assert quarter.widths is not None
    assert one.widths[0] < quarter.widths[0]
    assert one.false_winners is not None
    assert one.false_winners <= 0.12  # at most α = .05: 36 of 300 has a probability below 1e-6
    assert own.equal == pytest.approx(60.0)
    assert [deadline.days for deadline in own.deadlines] == [3.5, 7.0, 14.0, 21.0, 35.0]
    regrets = [deadline.regret.mean for deadline in own.deadlines]
    assert regrets == sorted(regrets)
    text = own.text()
    assert "no noise" in text
    assert "HOW WIDE THE INTERVALS WILL BE" in text
    page = own.write(tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "Other deadlines" in page
    assert page.count("<figure") == 3
    assert "RECOMMENDED" in text
    assert own.recommendation[0].startswith("Allocation: response-adaptive")
    for probability in (one.best_named, one.declared, one.false_winners):
        assert probability is not None
        assert probability.low <= probability <= probability.high
    assert one.width_figures is not None
    assert one.width_figures[1].low <= one.width_figures[1].mean <= one.width_figures[1].high
    first, second = own.prices
    assert (first.epsilon, second.epsilon) == (1.0, 0.25)
    assert second.noise.mean > first.noise.mean
    assert first.privacy.mean == pytest.approx(one.regret.mean - seen.regret.mean)
    assert first.privacy.error == pytest.approx(math.hypot(one.regret.error, seen.regret.error))


def test_recommendations_follow_the_figures() -> None:
    """No gain: equal allocation. To conclude: a test. A trend: epochs."""
    small = discreet.plan_trial(
        [0.5, 0.45], horizon=100, arrivals=12, delay=14, epsilon=0.1, runs=50
    )
    assert small.recommendation[0].startswith("Allocation: equal")
    assert "That power is low" in " ".join(small.recommendation)
    assert small.advice["conclude"] == "test"
    large = discreet.plan_trial(
        [0.7, 0.3], days=100, arrivals=12, delay=Delay(14, "exponential", 5), missing=[0.1, 0.2],
        drift=Drift("linear", 0.1), runs=50,
    )  # fmt: skip
    assert large.horizon == 1200
    words = " ".join(large.recommendation)
    assert "take a group-sequential test" in words
    assert "Secular trend" in words
    assert "missing at random" in words
    epochs = discreet.plan_trial(
        [0.7, 0.3], horizon=600, arrivals=12, delay=14, trend=True, share=[0.0, 0.2], runs=50
    )
    assert "within epochs" in epochs.recommendation[0]
    assert epochs.lines[0].worse.low >= 120
    assert "Secular trend" not in " ".join(epochs.recommendation)


def test_designs_are_compared_and_one_is_advised_by_aim() -> None:
    """Exact powers are those of the designs; more than two arms have a test of several."""
    asked: dict[str, Any] = {"arrivals": 20, "delay": 7, "deadlines": [], "runs": 30}
    plan = discreet.plan_trial([0.5, 0.3], horizon=300, **asked)
    lines = {line.name: line for line in plan.designs}
    test = discreet.confirm.design(300, looks=3, epsilon=1.0)
    assert lines["test"].power == pytest.approx(test.power(0.5, 0.3))
    assert lines["test"].bound == test.certificate.bound <= 0.05
    given = discreet.confirm.then_winner(test, 300).operating(0.5, 0.3)
    assert lines["test, then the winner"].on_worse == pytest.approx(300 * (1 - given.on_better))
    assert lines["race"].power == float(plan.lines[0].declared or 0.0)
    assert lines["adaptive"].on_worse == plan.lines[0].worse.mean
    assert plan.advice == {
        "treat well": "adaptive", "conclude": "test", "both": "test, then the winner",
    }  # fmt: skip
    assert [row["name"] for row in plan.to_dict()["designs"]] == [*lines]  # type: ignore[attr-defined]
    assert "TO CONCLUDE" in plan.text()
    assert "To conclude" in plan.page().html()
    sites = discreet.plan_trial([0.5, 0.3], horizon=300, strata=(0.6, 0.4), **asked)
    line = next(line for line in sites.designs if line.name == "test by stratum")
    assert line.power is not None
    assert 0.5 < line.power < test.power(0.5, 0.3)
    assert line.bound == pytest.approx(0.05, abs=1e-3)
    with pytest.raises(InvalidArgument, match="more than two arms"):
        discreet.plan_trial([0.3, 0.6, 0.3], horizon=300, strata=2, **asked)
    several = discreet.plan_trial([0.3, 0.6, 0.3], horizon=300, **asked)
    family = discreet.confirm.several(300, 2, looks=2, epsilon=1.0)
    found = next(line for line in several.designs if line.name == "test")
    assert found.power == pytest.approx(family.operating((0.6, 0.3), 0.3).each[0])
    assert found.bound == family.bound
    few = discreet.plan_trial([0.9, 0.1], horizon=3, **asked)
    assert few.advice == {"treat well": few.advice["treat well"]}
    assert "No test was planned" in " ".join(few.recommendation)


@pytest.mark.parametrize("wrong", [{}, {"horizon": 100, "days": 10}, {"days": -1}])
def test_the_size_is_said_once(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        discreet.plan_trial([0.5, 0.3], arrivals=12, **wrong)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [
        "plan", "--arrivals", "12", "--delay", "14 days", "--delay-law", "exponential",
        "--delay-mean", "5 days", "--missing", ".1,.2", "--means", ".5,.3", "--horizon", "200",
        "--default", "0", "--deadlines", "7 days", "--drift", "linear:.1", "--share", ".1",
        "--strata", ".5,.5",
        "--json",
    ]  # fmt: skip
    result = CliRunner().invoke(app, arguments, prog_name="discreet")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["calendar"]["missing"] == [0.1, 0.2]
    assert found["calendar"]["drift"] == "linear"
    assert found["deadlines"][0]["deadline"] == 7
    assert "test by stratum" in [each["name"] for each in found["designs"]]


@pytest.mark.parametrize(
    "wrong",
    [
        "--delay 14",
        "--trend",
        "--arrivals 12 --drift up",
        "--arrivals 12 --trust none",
        "--arrivals 12 --days 30",
    ],
)
def test_command_refuses(wrong: str) -> None:
    arguments = ["plan", "--means", ".5,.3", "--horizon", "100", *wrong.split()]
    assert CliRunner().invoke(app, arguments, prog_name="discreet").exit_code == 2


def test_equal_rates_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="means"):
        discreet.plan_trial([0.5, 0.5], horizon=100, arrivals=12)


def test_shares_and_epochs_are_not_charged_to_privacy() -> None:
    """The trial without privacy keeps the same least shares, and in epochs it is the one without
    noise. With a baseline that had neither, the price was four times as high with shares of .15.
    Means of 300 trials of fixed seeds; standard errors are at most .5."""
    asked: dict[str, Any] = {
        "horizon": 600, "arrivals": 12, "delay": 14, "runs": 300, "deadlines": [14],
    }  # fmt: skip
    free = discreet.plan_trial([0.5, 0.3], **asked)
    shared = discreet.plan_trial([0.5, 0.3], share=0.15, **asked)
    assert shared.lines[-1].worse.mean > free.lines[-1].worse.mean + 20.0
    assert shared.lines[-1].worse.low > 0.1 * 600
    assert shared.prices[0].privacy.mean < free.prices[0].privacy.mean + 2.5
    assert "with the same least shares" in " ".join(shared.recommendation)
    within = discreet.plan_trial([0.5, 0.3], trend=True, share=0.1, **asked)
    *_, silent, seen = within.lines
    assert (silent.regret, silent.worse) == (seen.regret, seen.worse)
    assert within.prices[0].privacy == within.prices[0].noise
    assert "beside the same epochs with the same least shares without noise" in " ".join(
        within.recommendation
    )


def test_missing_outcomes_are_said_to_be_what_they_are() -> None:
    """In epochs they count as 0, and the page says nothing else."""
    asked: dict[str, Any] = {
        "horizon": 200, "arrivals": 12, "delay": 7, "missing": 0.1, "runs": 20, "deadlines": [7],
    }  # fmt: skip
    within = discreet.plan_trial([0.5, 0.3], trend=True, **asked)
    flat = " ".join(within.text().split())
    assert "counting missing outcomes as 0" in flat
    assert "counted as 0, a composite" in flat
    assert "estimated from those who answered" not in flat
    assert "estimated from those who answered" not in within.page().html()
    assert "estimated from those who answered" in " ".join(
        discreet.plan_trial([0.5, 0.3], **asked).text().split()
    )


def test_imed_keeps_least_shares_in_windows_and_has_no_epochs() -> None:
    environment = discreet.Bernoulli([0.8, 0.2])
    for window in (1, 10):
        found = discreet.simulate(
            discreet.policy("imed"),
            environment,
            horizon=1000,
            runs=40,
            seed=1,
            arrivals=50,
            delay=1,
            share=0.2,
            window=window,
        )
        # a binomial share of 1,000 for windows of one: below 120 with probability 1e-11
        assert found.worse.min() > (120 if window == 1 else 190)
        assert found.worse.mean() < 300
    with pytest.raises(InvalidArgument, match="trend must be left out for imed"):
        discreet.simulate(
            discreet.policy("imed"),
            environment,
            horizon=100,
            runs=1,
            arrivals=50,
            delay=1,
            trend=True,
        )


def test_large_trials_are_simulated_less_often_unless_more_is_asked_for() -> None:
    """Twenty million participants in all, and at least a hundred trials."""
    asked: dict[str, Any] = {"arrivals": 50_000, "delay": "30 minutes", "deadlines": []}
    for size, runs in ((100_000, 200), (400_000, 100)):
        found = discreet.plan_trial([0.6, 0.3], horizon=size, progress=False, **asked)
        assert found.runs == runs
        assert found.to_dict()["runs"] == runs
    assert discreet.plan_trial([0.6, 0.3], horizon=30_000, runs=20, **asked).runs == 20


def test_steps_are_lines_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {"horizon": 60, "arrivals": 12, "runs": 5, "delay": 2}
    discreet.plan_trial([0.6, 0.3], progress=False, **asked)  # compiled from here on
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("discreet.theory.planning._progress.PATIENCE", 0.0)
    discreet.plan_trial([0.6, 0.3], deadlines=[1, 2], **asked)
    assert capsys.readouterr().err.splitlines() == [
        "trials with ε = 1: 1 of 6", "trials with no noise: 2 of 6",
        "trials without privacy: 3 of 6", "with a deadline of 1 days: 4 of 6",
        "with a deadline of 2 days: 5 of 6", "designs beside each other: 6 of 6",
    ]  # fmt: skip
    discreet.plan_trial([0.6, 0.3], progress=False, **asked)
    assert capsys.readouterr().err == ""
