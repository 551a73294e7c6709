"""Seeds, threads, files, the guard, bad input, and the command."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import discreet
from discreet.cli._app import app
from discreet.errors import DamagedFile, InvalidArgument, UnknownPolicy, UnsupportedBudget
from discreet.identify import (
    BatchedTopTwo,
    BestActive,
    EqualBestArms,
    GaussianCost,
    Identifier,
    OneLeft,
    TopTwo,
    identifier,
    identify,
)
from discreet.policies import Doubling, ForgetLaplace, Phases

ENVIRONMENT = discreet.Bernoulli([0.9, 0.5, 0.4])
ROW = identifier("adap-tt", epsilon=1.0)


def test_a_seed_fixes_everything_whatever_the_threads() -> None:
    one = identify(ROW, ENVIRONMENT, risk=0.1, runs=12, seed=3, threads=1)
    three = identify(ROW, ENVIRONMENT, risk=0.1, runs=12, seed=3, threads=3)
    longer = identify(ROW, ENVIRONMENT, risk=0.1, runs=20, seed=3, threads=2)
    other = identify(ROW, ENVIRONMENT, risk=0.1, runs=12, seed=4, threads=1)
    assert (one.pulls == three.pulls).all()
    assert (one.pulls == longer.pulls[:12]).all()
    assert (one.pulls != other.pulls).any()
    assert (one.final_pulls.sum(axis=1) == one.stopping_time).all()


def test_pauses_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = identify(ROW, ENVIRONMENT, risk=0.1, runs=6, seed=3)
    monkeypatch.setattr("discreet.identify._runs.PATIENCE", 97)
    paused = identify(ROW, ENVIRONMENT, risk=0.1, runs=6, seed=3)
    assert (whole.pulls == paused.pulls).all()
    assert (whole.recommendation == paused.recommendation).all()


def test_a_law_that_must_be_refilled_gives_the_same_law_of_runs() -> None:
    from scipy.stats import bernoulli

    sampler = discreet.Sampler([bernoulli(0.9), bernoulli(0.2)], buffer=16)
    result = identify(identifier("adap-tt", epsilon=2.0), sampler, risk=0.1, runs=20, seed=1)
    assert result.recommendations == [20, 0]


def test_saved_and_loaded(tmp_path: Path) -> None:
    result = identify(ROW, ENVIRONMENT, risk=0.1, runs=5, seed=3)
    (again,) = discreet.load(result.save(tmp_path / "x.parquet"))
    assert again.summary() == result.summary()
    assert (again.stopping_time == result.stopping_time).all()
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


@pytest.mark.parametrize("content", [b"", b"PAR1 but no more"])
def test_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(DamagedFile, match="no such file"):
        discreet.load(path)
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="damaged"):
        discreet.load(path)


def test_files_of_others_and_of_the_future_are_refused(tmp_path: Path) -> None:
    path = identify(ROW, ENVIRONMENT, risk=0.1, runs=2, seed=3).save(tmp_path / "x.parquet")
    table = pq.read_table(path)
    entry = json.loads(table.schema.metadata[b"discreet"])
    wrong = [
        (None, "Parquet file of another program"),
        (entry | {"format": 2, "version": "99.0"}, "format 2 of discreet 99.0 .*upgrade"),
        (entry | {"results": [entry["results"][0] | {"colour": "blue"}]}, "do not fit"),
        (entry | {"results": [entry["results"][0] | {"means": [0.1] * 9}]}, "do not fit"),
        (entry | {"results": [entry["results"][0] | {"runs": 3}]}, "do not fit"),
        (entry | {"results": []}, "do not fit"),
        ([1, 2], "do not fit"),
    ]
    for change, words in wrong:
        metadata = None if change is None else {b"discreet": json.dumps(change).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path)
        with pytest.raises(DamagedFile, match=words):
            discreet.load(path)


def test_several_are_saved_together(tmp_path: Path) -> None:
    environments = (discreet.Bernoulli([0.9, 0.1]), discreet.Bernoulli([0.9, 0.2, 0.1]))
    both = discreet.Comparison(
        tuple(identify(ROW, environment, risk=0.1, runs=2, seed=3) for environment in environments)
    )
    path = both.save(tmp_path / "both.parquet")
    assert discreet.load(path).summary() == both.summary()
    assert len({result.problem for result in both}) == 2


def test_the_guard_ends_hopeless_runs_without_an_answer() -> None:
    result = identify(ROW, discreet.Bernoulli([0.5, 0.499]), risk=0.1, runs=4, seed=1,
                      max_samples=5000)  # fmt: skip
    assert result.unfinished == 4
    assert result.recommendations == [0, 0]
    assert result.error_rate == 0.0
    assert (result.stopping_time == 5000).all()
    assert (result.final_pulls.sum(axis=1) == 5000).all()


def test_equal_best_arms_are_warned_of() -> None:
    with pytest.warns(EqualBestArms, match="arms 0, 2 are equally good"):
        identify(ROW, discreet.Bernoulli([0.5, 0.1, 0.5]), risk=0.1, runs=1, max_samples=100)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"risk": 0.0}, "risk must be a finite number"),
        ({"risk": 1.0}, "risk must be a finite number"),
        ({"risk": float("nan")}, "risk must be a finite number"),
        ({"risk": True}, "risk must be a finite number"),
        ({"environment": discreet.Bernoulli([0.5])}, "environment must have at least 2 arms"),
        ({"environment": discreet.Gaussian([0.5, 0.1])}, "environment must keep rewards in"),
        ({"environment": discreet.RewardList([0.5] * 9, arms=2)}, "independent"),
        ({"runs": 0}, "runs must be"),
        ({"max_samples": 2}, "max_samples must be"),
        ({"max_samples": 10.5}, "max_samples must be"),
        ({"max_samples": float("inf")}, "max_samples must be"),
        ({"seed": -1}, "seed must be"),
        ({"row": discreet.policy("ucb1")}, "row must be an Identifier"),
    ],
)
def test_bad_input(changes: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "row": ROW,
        "environment": ENVIRONMENT,
        "risk": 0.1,
        "runs": 1,
    } | changes
    with pytest.raises(InvalidArgument, match=words):
        identify(given.pop("row"), given.pop("environment"), **given)


def test_bad_rows() -> None:
    with pytest.raises(UnknownPolicy, match="did you mean adap-tt"):
        identifier("adap-t", epsilon=1.0)
    with pytest.raises(UnsupportedBudget, match="be given"):
        identifier("adap-tt")
    with pytest.raises(UnsupportedBudget, match="be left out"):
        identifier("ttucb", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="epsilon must"):
        identifier("adap-tt", epsilon=-1.0)
    with pytest.raises(InvalidArgument, match="be an option of adap-tt"):
        identifier("adap-tt", epsilon=1.0, gamma=1)
    with pytest.raises(InvalidArgument, match="threshold must be"):
        identifier("ttucb", threshold="wild")
    with pytest.raises(InvalidArgument, match="beta must be a finite number"):
        identifier("adap-tt", epsilon=1.0, beta=1.0)
    parts = (Doubling(), ForgetLaplace(1.0), BatchedTopTwo(GaussianCost()))
    with pytest.raises(InvalidArgument, match="eliminate arms"):
        Identifier("x", *parts, stopping=OneLeft(), recommendation=BestActive())
    with pytest.raises(InvalidArgument, match="stopping must be a Stopping"):
        Identifier("x", *parts, stopping=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="risk must be given"):
        discreet.simulate(
            discreet.Policy("x", Phases(), parts[1], identifier("dp-se", epsilon=1.0).rule),
            ENVIRONMENT,
            horizon=100,
        )
    assert TopTwo(GaussianCost()).bounds == (0.0, 1.0)


def test_command(tmp_path: Path) -> None:
    run = CliRunner().invoke
    path = tmp_path / "x.parquet"
    asked = ["identify", "adap-tt", "--means", ".9,.5,.4", "--epsilon", "1", "--risk", "0.1",
             "--runs", "12", "--seed", "3"]  # fmt: skip
    done = run(app, [*asked, "--json", "--output", str(path)])
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    expected = identify(ROW, ENVIRONMENT, risk=0.1, runs=12, seed=3).summary()
    for key in ("policy", "stopping_time", "error_rate", "recommendations", "guarantee"):
        assert summary[key] == expected[key]
    assert discreet.load(path)[0].runs == 12
    assert "wrong answers" in run(app, asked).stdout
    bad = run(app, ["identify", "adap-tt", "--means", ".9,.5", "--epsilon", "1", "--risk", "2"])
    assert bad.exit_code == 2
    assert "risk must be a finite number strictly between 0 and 1" in bad.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guarded = run(app, ["identify", "ttucb", "--means", ".5,.5", "--max-samples", "1e3",
                            "--runs", "2", "--json"])  # fmt: skip
    assert json.loads(guarded.stdout)["unfinished"] == 2
    assert "equally good" in guarded.stderr
