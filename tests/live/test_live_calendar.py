"""Rehearsals with a calendar: the live trial itself, but for its noise and its clock.

Means are compared within five standard errors (6e-7 each); seeds are fixed but for live noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidArgument, TrialError, UnknownUnit
from discreet.live._arguments import grouped
from discreet.live._setup import Sources, finite_plan
from discreet.live._visits import CAVEAT, RehearsedTrial, SeededRandomness, Visit
from discreet.privacy._source import REHEARSED, SECURE
from discreet.simulator.calendar import Delay, Drift

ROW = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5)
ENVIRONMENT = discreet.Bernoulli([0.5, 0.3])
CALENDAR: dict[str, Any] = {"arrivals": 12, "delay": 14, "missing": 0.1, "default": "estimate"}


def rehearsal(**options: Any) -> discreet.Rehearsal:
    given = {"horizon": 300, "seed": 1, **CALENDAR, **options}
    return discreet.Rehearsal(given.pop("policy", ROW), given.pop("arms", 2), **grouped(given))


def test_a_seed_fixes_every_day() -> None:
    one, two, other = (rehearsal(seed=seed, horizon=120).play(ENVIRONMENT) for seed in (5, 5, 6))
    assert one == two != other
    assert one["status"] == "finished"
    assert one["protects"].startswith("nobody")


def test_a_live_trial_with_the_same_draws_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs is where draws come from: handed those of the rehearsal, the live trial gives
    every participant the same arm, and releases the same numbers."""

    def days(rehearsed: discreet.Rehearsal) -> tuple[list[Any], Any]:
        seen = []
        for visit in rehearsed.participants():
            rehearsed.answer(visit.unit, float(visit.unit % 3 == 0))
            seen.append(visit)
            if visit.unit == 100:
                rehearsed.trial.add("C")
            if visit.unit == 200:
                rehearsed.trial.drop("A")
        return seen, rehearsed.trial.report()

    options: dict[str, Any] = {"arms": ["A", "B"], "window": 6, "share": {"B": 0.2}}
    mine, report = days(rehearsal(**options))
    other = rehearsal(**options)
    visits = other._visits
    assert visits is not None
    rng = visits._rng
    monkeypatch.setattr(
        "discreet.privacy._secure.laplace",
        lambda scale, none: scale * (rng.standard_exponential() - rng.standard_exponential()),
    )
    monkeypatch.setattr("discreet.live._setup.SystemRandomness", lambda: SeededRandomness(rng))
    live = discreet.Trial(
        ROW,
        horizon=300,
        deadline=14,
        missing="estimate",
        clock=lambda: visits.day,
        **grouped(options),
    )
    assert not isinstance(live, RehearsedTrial)
    monkeypatch.setattr(visits, "trial", live)
    theirs, shown = days(other)
    assert mine == theirs
    assert {visit.arm for visit in mine[250:]} == {"B", "C"}
    for row, live_row in zip(report["arms"], shown["arms"], strict=True):
        assert row["mean"] == pytest.approx(live_row["mean"], rel=1e-6)
        assert row["answered"] == pytest.approx(live_row["answered"], rel=1e-6)


def test_rehearsals_simulation_and_live_trials_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 live trials, 60 rehearsals and 4,000 simulated trials of 300. Single batches would regret
    about 14 more, and the limit is about 3. Live noise is drawn without its windows of
    time: they are slow on a busy machine, and do not change its law."""
    monkeypatch.setattr(
        "discreet.privacy._secure.padded", lambda environment, draw, number: draw(number)
    )
    environment, days = discreet.Bernoulli([0.7, 0.3]), CALENDAR | {"delay": 5}
    options = {"window": 1, "default": 0.0, **days}
    simulated = discreet.simulate(ROW, environment, horizon=300, runs=4000, seed=3, **options)
    lost: dict[str, list[float]] = {"rehearsed": [], "live": []}
    for seed in range(60):
        lost["rehearsed"].append(
            0.4 * rehearsal(seed=seed, **options).play(environment)["arms"][1]["used"]
        )
        world, rng = rehearsal(seed=100 + seed, **options), np.random.default_rng(seed)
        visits = world._visits
        assert visits is not None
        visits.trial = live = discreet.Trial(  # type: ignore[assignment]
            ROW,
            2,
            horizon=300,
            deadline=5,
            missing=0.0,
            clock=lambda v=visits: v.day,
            assignment=discreet.Assignment(window=1),
        )
        for visit in world.participants():
            world.answer(visit.unit, float(rng.random() < environment.means[int(visit.arm)]))
        assert live.status == "finished"
        lost["live"].append(0.4 * live.report()["arms"][1]["used"])
    for regret in lost.values():
        error = math.hypot(
            np.std(regret, ddof=1) / math.sqrt(60), simulated.final_regret.std() / math.sqrt(4000)
        )
        assert error < 2.0  # about 1 of 60 trials; those of live ones have no seed
        assert abs(np.mean(regret) - simulated.final_regret.mean()) < 5.0 * error


def test_answers_come_late_or_never_by_the_calendar() -> None:
    """Of 2,000 with 20 % and 40 % missing; means and shares within five standard errors."""
    late = Delay(6, "exponential", mean=4)
    world = rehearsal(horizon=2000, delay=late, missing=[0.2, 0.4], share={0: 0.4, 1: 0.4})
    for visit in world.participants():
        world.answer(visit.unit, 1.0)
    for row, missing in zip(world.report()["arms"], (0.2, 0.4), strict=True):
        expected = (1 - missing) * late.in_time
        noise = 2.0 * math.sqrt(2.0 * row["releases"])
        spread = math.hypot(math.sqrt(expected * (1 - expected) * row["used"]), noise)
        assert abs(row["answered"] - expected) < 5.0 * spread / row["used"] + 1e-3
    days = world.report()["day"] - 6.0
    assert abs(days - 2000 / 12) < 5.0 * math.sqrt(2000) / 12


def test_an_answer_on_the_last_day_counts_and_a_day_later_does_not() -> None:
    for after, answered in ((14.0, 1.0), (15.0, 0.0)):
        world = rehearsal(policy=discreet.policy("dp-imed", epsilon=1e6, ratio=1.5), missing=0.0)
        for visit in world.participants():
            world.answer(visit.unit, 1.0, after=after)
        for row in world.report()["arms"]:
            assert row["answered"] == pytest.approx(max(answered, 1.0 / row["used"]), abs=1e-3)


def test_rates_drift_as_in_the_simulation() -> None:
    """Rates of all arms rise by .4: of 3,000 participants the first and last third differ."""
    world = rehearsal(horizon=3000, drift=Drift("linear", 0.4), missing=0.0)
    outcome = world._outcomes_of(discreet.Bernoulli([0.3, 0.3]))
    seen = []
    for visit in world.participants():
        seen.append(outcome(visit))
        world.answer(visit.unit, seen[-1])
    thirds = [np.mean(seen[first : first + 1000]) for first in (0, 1000, 2000)]
    for mean, expected in zip(thirds, (0.3 + 0.4 / 6, 0.5, 0.7 - 0.4 / 6), strict=True):
        assert abs(mean - expected) < 5.0 * math.sqrt(0.25 / 1000) + 0.02


def test_it_says_that_it_protects_nobody_and_is_not_stored(tmp_path: Any) -> None:
    world = rehearsal()
    assert CAVEAT in world.guarantee.conditions
    assert "protects nobody" in repr(world)
    assert "Rehearsed trial" in repr(world.trial)
    for refused in (lambda: world.trial.save(tmp_path / "trial.db"), world.to_dict):
        with pytest.raises(TrialError):
            refused()
    assert list(tmp_path.iterdir()) == []


def test_a_trial_cannot_be_handed_sources() -> None:
    """Seedable noise is reached by a rehearsal alone: there is no argument for it."""
    sources = Sources(REHEARSED, None, None)
    with pytest.raises(TypeError):
        discreet.Trial(ROW, 2, sources=sources)  # type: ignore[call-arg]
    trial = discreet.Trial(ROW, 2, deadline="14 days", missing="estimate")
    assert trial._run.noise is None
    assert REHEARSED.laplace_scale(1.0) == pytest.approx(SECURE.laplace_scale(1.0), rel=1e-6)
    options: dict[str, Any] = dict.fromkeys(
        (
            "horizon",
            "risk",
            "outcome_range",
            "streams",
            "window",
            "planned",
            "estimate",
            "trend",
            "rounded",
        )
    )
    plan = finite_plan(ROW, 2, intervals="auto", binary=False, shares=(0.0, 0.0), **options)
    assert plan.run.noise is None


def test_every_row_of_a_trial_can_be_rehearsed_on_a_calendar() -> None:
    """Rows that identify, those in single batches, local ones, and one without privacy."""
    for row in (
        discreet.policy("adap-klucb", epsilon=1.0),
        discreet.policy("ldp-ucb-b", epsilon=1.0),
        discreet.policy("adac-ucb", rho=0.5),
        discreet.policy("dp-se", epsilon=1.0),
        discreet.policy("imed"),
    ):
        pairs = row.name in ("adap-klucb", "adac-ucb")
        silence = "estimate" if pairs else 0.0
        report = rehearsal(policy=row, horizon=60, default=silence).play(ENVIRONMENT)
        assert report["assigned"] == 60
        assert report["status"] in ("finished", "settling")


def test_stopping_ends_the_participants() -> None:
    world = rehearsal()
    seen: list[Visit] = []
    for visit in world.participants():
        seen.append(visit)
        world.answer(visit.unit, None)
        if len(seen) == 100:
            world.trial.stop(because="releases")
    assert len(seen) == 100
    assert world.report()["status"] == "finished"
    assert world.day == pytest.approx(seen[-1].day + 14.0, abs=1.0)


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"arrivals": None}, "delay"),
        ({"arrivals": 0}, "arrivals"),
        ({"delay": 0}, "delay"),
        ({"missing": [0.1, 0.1, 0.1]}, "missing"),
        ({"deadline": 3}, "deadline"),
        ({"path": "trial.db"}, "path"),
        ({"dimension": 2}, "dimension"),
        ({"policy": discreet.policy("adac-oful", rho=0.5)}, "policy"),
    ],
)
def test_refusals(wrong: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        rehearsal(**wrong)
    assert argument in str(caught.value)


def test_misuse_is_named() -> None:
    world = rehearsal()
    for call in (world.select, lambda: world.update(0, 1.0)):
        with pytest.raises(TrialError, match=r"participants\(\)"):
            call()
    with pytest.raises(TrialError, match="no calendar"):
        discreet.Rehearsal(ROW, 2, horizon=100).participants()
    with pytest.raises(UnknownUnit):
        world.answer(0, 1.0)
    with pytest.raises(InvalidArgument, match="environment"):
        world.play(discreet.Bernoulli([0.5, 0.3, 0.2]))
    with pytest.raises(InvalidArgument, match="environment"):
        rehearsal(drift=Drift("season", 0.1)).play(lambda visit: 1.0)


def test_the_course_of_a_trial_is_in_the_order_of_time() -> None:
    """Blocks that `finish` closes were due long before, some of them; they are shown when they were
    released, which nobody's response has a part in."""
    world = rehearsal(arms=["A", "B"], seed=4)
    for visit in world.participants():
        world.answer(visit.unit, float(visit.arm == "A"))
        if visit.unit == 250:
            world.trial.finish()
            ended = visit.day
    course = world.report()["course"]
    times = [entry["time"] for entry in course]
    assert times == sorted(times)
    assert len(course) == world.report()["releases"]
    assert sum(course[-1]["assigned"].values()) == 251
    closed = [entry for entry in course if entry["time"] >= ended]
    assert {entry["arm"] for entry in closed} == {"A", "B"}


def test_a_course_stays_short() -> None:
    from discreet.live._course import MOST, longer

    course: Any = None
    for number in range(5 * MOST):
        before, course = course, longer(course, float(number), 0, number + 1, 0.5, (number,))
        assert before is not course
    assert MOST / 2 < len(course) <= MOST
    assert course[-1][0] == 5 * MOST - 1
    assert [entry[0] for entry in course] == sorted(entry[0] for entry in course)


def test_a_page_of_a_rehearsal_says_so_and_shows_trends() -> None:
    from discreet.report._live_page import trial_report

    world = rehearsal(arms=["A", "B"], trend=True, default=0.0, drift=Drift("linear", 0.2))
    report = world.play(ENVIRONMENT)
    page = trial_report(report, clock="days").html()
    for words in ("This is a rehearsal", "Behind the leader", "Assignments over time", "day 3"):
        assert words in page
