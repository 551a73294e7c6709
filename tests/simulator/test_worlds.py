"""Outcomes that come late, for all: every policy of the catalogue, sweeps, identification.

Trials are interpreted here: nothing needs to be compiled to see who gets which place, and what a
compiled trial does is bit by bit the same (test_protocol.py).
"""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet
from discreet._compiled import Function, Kernel
from discreet.arms._bernoulli import Bernoulli
from discreet.cli import app
from discreet.errors import InvalidArgument
from discreet.identify import Identifier, identifier, identify
from discreet.policies._registry import catalogue
from discreet.protocol.worlds._calendar import earned_in_drift
from discreet.simulator._work import Work
from discreet.simulator.calendar import Delay, Drift, calendar
from discreet.simulator.calendar import _runs as calendars
from discreet.simulator.calendar._runs import world_of

DAYS: dict[str, Any] = {"arrivals": 12, "delay": 3, "missing": 0.1}
TWO = discreet.Bernoulli([0.8, 0.3])
EVERY = [(kind, name) for kind in ("finite", "identify") for name in catalogue(kind)]


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    def ready(work: Work, link: Any, arguments: tuple[object, ...]) -> Function:
        assert isinstance(link, partial)
        found: Function = link.func.__self__.interpreted()
        return found

    monkeypatch.setattr(Work, "ready", ready)
    monkeypatch.setattr(calendars, "machine_code", lambda function, arguments: function)


def example(kind: str, name: str) -> Any:
    row: Any = catalogue(kind)[name].example()
    if isinstance(row, Identifier):
        return row.among(40) if row.fixed_size else row.at(0.2)
    return row


@pytest.mark.parametrize(("kind", "name"), EVERY)
@pytest.mark.usefixtures("interpreted")
def test_every_policy_meets_late_outcomes(kind: str, name: str) -> None:
    """Rewards of a distribution that is not Bernoulli's, a tenth of them missing, rates that move:
    everybody has a place until the horizon or an answer, and nobody is counted twice."""
    environment, row = discreet.Beta.of_means([0.9, 0.5, 0.1]), example(kind, name)
    asked = DAYS | {"horizon": 60, "seed": 1, "drift": Drift("season", 0.05)}
    found = discreet.simulate(row, environment, runs=2, **asked)
    assert found.calendar is not None
    assert np.isfinite(found.final_regret).all()
    answered = found.recommendation >= 0
    assert ((found.participants == 60) | (answered & (found.participants < 60))).all()
    assert kind == "identify" or not answered.any()
    assert (found.days > 0.0).all()
    assert ((found.used >= 0.0) & (found.used <= 1.0)).all()
    private_streams = found.plan != "one batch" and row.is_private
    assert not private_streams or (found.used == 1.0).all()
    again = discreet.simulate(row, environment, runs=1, **asked)
    assert (again.pulls[0] == found.pulls[0]).all()
    assert again.days[0] == found.days[0]


@pytest.mark.usefixtures("interpreted")
def test_a_search_in_rounds_gives_its_answer() -> None:
    """One batch at a time: who comes while it waits is treated too, so there are more participants
    than were planned, and their outcomes enter no release."""
    environment = discreet.Bernoulli([0.95] + 8 * [0.05])
    row = discreet.policy("halving", epsilon=5.0, participants=300)
    found = identify(row, environment, runs=3, seed=1, arrivals=12, delay=1, max_samples=2000)
    assert found.calendar is not None
    assert found.plan == "one batch"
    assert found.recommendation.tolist() == [0, 0, 0]
    assert (found.participants > 300).all()
    assert found.participants * found.used == pytest.approx([300, 300, 300], abs=9.0)
    short = identify(row, environment, runs=2, seed=1, arrivals=12, delay=1, max_samples=200)
    assert short.unfinished == 2
    assert short.participants.tolist() == [200, 200]


@pytest.mark.parametrize("kind", ["linear", "season"])
def test_rewards_without_bounds_drift_too(kind: str) -> None:
    drift = Drift(kind, 1.0, 40.0)
    asked = calendar(2, arrivals=10, delay=1, drift=drift)
    world = world_of(asked, 100, discreet.Gaussian([5.0, -5.0], sd=1e-9))
    world.now[0] = 10.0  # the last day, and a quarter of the period
    environment = discreet.Gaussian([5.0, -5.0], sd=1e-9)
    rng = np.random.default_rng(1)
    earn = Kernel(earned_in_drift, draw=environment.draw).interpreted()
    assert earn(world, environment.start(rng), 0, 0, rng)[0] == pytest.approx(6.0, abs=1e-6)
    assert earn(world, environment.start(rng), 1, 0, rng)[0] == pytest.approx(-4.0, abs=1e-6)
    within = world_of(asked, 100, TWO)
    assert (within.low, within.high) == (0.0, 1.0)
    assert math.isinf(world.high)


@pytest.mark.usefixtures("interpreted")
def test_sweeps_are_what_compare_finds(tmp_path: Path) -> None:
    environments = {"two": TWO, "three": discreet.Beta.of_means([0.8, 0.5, 0.2])}
    study: dict[str, Any] = {"epsilon": [0.5, 1.0], "horizon": [40, 80], "runs": 5, "seed": 3}
    swept = discreet.sweep(
        ["imed", "dp-imed"], environments, piece=2, points=10, folder=tmp_path, **study, **DAYS
    )
    assert len(swept) == 3 * 2 * 2
    for name, environment in environments.items():
        for horizon in (40, 80):
            rows = [discreet.policy("imed")]
            rows += [discreet.policy("dp-imed", epsilon=e) for e in (0.5, 1.0)]
            alone = discreet.compare(
                rows, environment, horizon=horizon, runs=5, seed=3, points=10, **DAYS
            )
            cells = [r for r in swept if r.problem == name and r.horizon == horizon]
            assert [r.label for r in cells] == alone.labels
            for one, other in zip(cells, alone, strict=True):
                assert one.calendar is not None
                assert other.calendar is not None
                assert one.calendar == other.calendar
                for part in ("regret", "pulls", *one.more):
                    assert np.array_equal(getattr(one, part), getattr(other, part), equal_nan=True)
    files = {file.name for file in tmp_path.iterdir()}
    again = discreet.sweep(
        ["imed", "dp-imed"], environments, piece=2, points=10, folder=tmp_path, **study, **DAYS
    )
    assert {file.name for file in tmp_path.iterdir()} == files
    assert again.summary() == swept.summary()
    later = DAYS | {"delay": 4}
    discreet.sweep(["imed"], TWO, horizon=40, runs=2, piece=2, folder=tmp_path, **later)
    assert len({file.name for file in tmp_path.iterdir()}) == len(files) + 1


@pytest.mark.usefixtures("interpreted")
def test_sweeps_play_searches_beside_others() -> None:
    rows = [discreet.policy("dp-imed", epsilon=1.0), identifier("race", epsilon=4.0)]
    found = discreet.sweep(rows, TWO, horizon=400, risk=[0.1, 0.3], runs=3, seed=1, **DAYS)
    assert [(r.name, r.risk) for r in found] == [("dp-imed", None), ("race", 0.1), ("race", 0.3)]
    searches = [r for r in found if r.risk is not None]
    alone = identify(rows[1], TWO, risk=0.1, runs=3, seed=1, max_samples=400, **DAYS)  # type: ignore[call-arg]
    assert alone.calendar is not None
    assert (alone.recommendation == searches[0].recommendation).all()
    assert (alone.participants == searches[0].stopping_time).all()
    assert alone.delta_correct
    assert alone.error_rate == 0.0
    assert alone.recommendations == [int(alone.stopped.sum()), 0]


def test_what_is_proved_speaks_of_means_that_stay() -> None:
    row = identifier("race", epsilon=4.0).at(0.1)
    for more in ({"drift": Drift("linear", 0.1)}, {"missing": [0.1, 0.2]}):
        work = calendars.TrialWork(
            row, TWO, 40, 1, 1, np.array([40]), calendar=calendar(2, **{**DAYS, **more})
        )
        assert not work.result().delta_correct


@pytest.mark.parametrize(
    ("wrong", "argument"),
    [
        ({"arrivals": None, "delay": 3}, "arrivals"),
        ({"horizon": None}, "horizon"),
        ({"risk": 0.1, "policies": [discreet.policy("imed")]}, "risk"),
        ({"horizon": 2e9}, "horizon"),
        ({"window": 4, "policies": ["private-thompson"], "epsilon": 1.0}, "window"),
        ({"problems": discreet.Delayed(TWO, 3)}, "environment"),
    ],
)
def test_sweeps_refuse(wrong: dict[str, Any], argument: str) -> None:
    given = {"policies": ["imed"], "problems": TWO, "arrivals": 12, "horizon": 50, **wrong}
    with pytest.raises(InvalidArgument) as caught:
        discreet.sweep(given.pop("policies"), given.pop("problems"), runs=2, **given)
    assert caught.value.argument == argument


def test_searches_refuse() -> None:
    row = identifier("race", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="max_samples must be a whole number"):
        identify(row, TWO, risk=0.1, max_samples=2e9, **DAYS)
    with pytest.raises(InvalidArgument, match="arrivals must be given with delay"):
        identify(row, TWO, risk=0.1, delay=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="dealy"):
        identify(row, TWO, risk=0.1, arrivals=12, dealy=3)  # type: ignore[call-arg]


# --- the command line


def said(*arguments: str) -> Any:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout) if "--json" in arguments else result.stdout


SIZE = ("--means", ".8,.3", "--epsilon", "1", "--horizon", "80", "--runs", "3", "--seed", "1")
LATE = ("--arrivals", "12", "--delay", "3 days", "--missing", ".1,.2", "--drift", "season:.1")


@pytest.mark.usefixtures("interpreted")
def test_commands_ask_for_what_functions_do() -> None:
    days: dict[str, Any] = {
        "arrivals": 12, "delay": 3, "missing": [0.1, 0.2], "drift": Drift("season", 0.1),
    }  # fmt: skip
    row, race = discreet.policy("dp-imed", epsilon=1.0), identifier("race", epsilon=1.0)
    own = discreet.simulate(row, Bernoulli([0.8, 0.3]), horizon=80, runs=3, seed=1, **days)
    one = said("simulate", "dp-imed", *SIZE, *LATE, "--json")
    assert one["regret"] == own.summary()["regret"]
    assert one["days"] == own.summary()["days"]
    several = said("compare", "dp-imed", "race", *SIZE, *LATE, "--risk", ".1", "--json")
    assert [each["risk"] for each in several] == [None, 0.1]
    assert several[0]["regret"] == one["regret"]
    swept = said("sweep", "dp-imed", *SIZE, *LATE, "--json")
    assert swept[0]["days"] == one["days"]
    found = said(
        "identify", "race", "--means", ".8,.3", "--epsilon", "1", "--runs", "3", "--seed", "1",
        "--risk", ".1", "--max-samples", "80", *LATE, "--json",
    )  # fmt: skip
    alone = identify(race, TWO, risk=0.1, runs=3, seed=1, max_samples=80, **days)
    assert found["days"] == alone.summary()["days"]
    assert found["participants"] == several[1]["participants"]


@pytest.mark.usefixtures("interpreted")
def test_commands_print_days() -> None:
    text = said(
        "compare", "imed", "dp-imed", *SIZE, "--arrivals", "12", "--window", "4", "--delay",
        "3 days", "--delay-law", "uniform", "--share", ".1", "--default", "0",
    )  # fmt: skip
    assert "80 participants, 12 a day, outcomes within 3 days; seed 1" in text
    assert "best named" in text
    text = said("identify", "race", "--means", ".8,.3", "--epsilon", "4", "--runs", "2", "--seed",
                "1", *LATE[:4], "--max-samples", "300")  # fmt: skip
    assert "days" in text
    assert "of all participants" in text
    trend = said("simulate", "dp-imed", *SIZE, *LATE[:4], "--trend", "--json")
    assert trend["plan"] == "epochs"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("--delay", "3 days"), "delay must come with arrivals"),
        (("--trend",), "trend must come with arrivals"),
        (("--risk", ".1"), "risk must come with arrivals"),
        (("--arrivals", "12", "--bounds"), "bounds must be left out with --arrivals"),
        (("--arrivals", "12", "--shuffle"), "shuffle must be left out with --arrivals"),
        (("--arrivals", "12", "--delay", "soon"), '--delay "14 days"'),
        (("--arrivals", "12", "--drift", "linear"), "linear:SIZE"),
        (("--arrivals", "0"), "arrivals must be"),
    ],
)
def test_commands_refuse(wrong: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(app, ["simulate", "dp-imed", *SIZE, *wrong])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr


@pytest.mark.usefixtures("interpreted")
def test_studies_in_files_say_how_late(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    text = """
policies = ["imed"]
horizon = 40
runs = 2
seed = 1
arrivals = 12
drift = {kind = "linear", size = 0.1}

[delay]
deadline = "3 days"
law = "exponential"
mean = "1 day"

[problems.easy]
means = [0.8, 0.3]
"""
    study.write_text(text)
    found = said("sweep", "--file", str(study), "--json")
    asked = calendar(2, arrivals=12, delay=Delay(3, "exponential", 1), drift=Drift("linear", 0.1))
    assert found[0]["calendar"] == asked.to_dict()
    for wrong, message in (("size", "drift must have size"), ("kind", "drift.knid must be")):
        changed = text.replace(", size = 0.1", "") if wrong == "size" else text.replace(
            "{kind", '{knid = "x", kind'
        )  # fmt: skip
        study.write_text(changed)
        result = CliRunner().invoke(app, ["sweep", "--file", str(study)])
        assert result.exit_code == 2
        assert message in result.stderr
