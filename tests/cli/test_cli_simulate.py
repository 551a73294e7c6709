"""`discreet simulate` and `discreet compare` print what the library computes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.cli import _compare as compare
from discreet.cli import _simulate as simulate
from discreet.cli._options import Study, numbers, pairs, value_of, whole
from discreet.errors import InvalidArgument

SMALL = ("--means", ".7,.5", "--horizon", "1e3", "--runs", "8", "--seed", "1")
ENVIRONMENT = discreet.Bernoulli([0.7, 0.5])


def without_clock(summary: dict[str, Any]) -> dict[str, Any]:
    assert summary.pop("seconds") >= 0
    return summary


def test_simulate_is_the_library(call: Callable[..., Any]) -> None:
    result = call("simulate", "adap-klucb", *SMALL, "--epsilon", "2", "--alpha", "1", "--json")
    assert result.exit_code == 0
    row = discreet.policy("adap-klucb", epsilon=2.0, alpha=1.0)
    own = discreet.simulate(row, ENVIRONMENT, horizon=1000, runs=8, seed=1).summary()
    assert without_clock(json.loads(result.stdout)) == without_clock(own)


def test_compare_is_the_library(call: Callable[..., Any]) -> None:
    arguments = ("--epsilon", "2", "--option", "alpha=1", "--points", "7", "--threads", "1")
    result = call("compare", "ucb1", "adap-klucb", *SMALL, *arguments, "--json")
    rows = [discreet.policy("ucb1"), discreet.policy("adap-klucb", epsilon=2.0, alpha=1.0)]
    own = discreet.compare(rows, ENVIRONMENT, horizon=1000, runs=8, seed=1, points=7).summary()
    found = json.loads(result.stdout)
    assert [without_clock(one) for one in found] == [without_clock(one) for one in own]
    assert len(found[0]["regret"]["curve"]["t"]) == 7


def test_the_command_of_the_manual(call: Callable[..., Any]) -> None:
    found = json.loads(call(*simulate.EXAMPLE.split()[1:]).stdout)
    assert found["policy"] == "adap-klucb"
    assert found["horizon"] == 10**7
    assert found["runs"] == 200
    assert found["complete"] is True
    assert sum(found["pulls"]) == pytest.approx(1e7)
    assert found["regret"]["mean"] > 0
    assert found["regret"]["curve"]["t"][-1] == 10**7
    assert found["regret"]["curve"]["mean"][-1] == pytest.approx(found["regret"]["mean"])
    assert found["guarantee"]["budget"] == {"kind": "pure", "epsilon": 1.0}
    assert found["guarantee"]["sentence"].endswith(".")


def test_table_shows_price_speed_and_guarantee(call: Callable[..., Any]) -> None:
    shown = call(*compare.EXAMPLE.split()[1:]).stdout
    rows = {line.split()[0]: line for line in shown.splitlines() if " ± " in line}
    assert list(rows) == ["ucb1", "adap-ucb", "adap-klucb"]
    assert "regret / ucb1" in shown
    means, prices = {}, {}
    for name, line in rows.items():
        found = re.search(r"([\d,.]+) ± ([\d,.]+) +([\d.e+-]+|–) ", line)
        assert found is not None, line
        means[name], prices[name] = float(found[1].replace(",", "")), found[3]
    assert prices.pop("ucb1") == "–"
    for name, price in prices.items():
        assert float(price) == pytest.approx(means[name] / means["ucb1"], rel=0.01)
    assert "the same policy without privacy for adap-ucb, of another family for the others" in shown
    assert "ε = 1 (interactive)" in rows["adap-ucb"]
    assert "adap-ucb: Whatever the other participants do" in shown
    assert "ucb1: Protects no one" in shown
    assert "rounds/s" in shown


def test_no_price_without_an_open_policy(call: Callable[..., Any]) -> None:
    shown = call("compare", "adap-ucb", "adap-klucb", *SMALL, "--epsilon", "1").stdout
    assert "regret /" not in shown
    assert "regret /" not in call("simulate", "ucb1", *SMALL).stdout


def test_twins_are_held_against_their_own(call: Callable[..., Any]) -> None:
    names = ("ucb1", "imed", "adap-ucb", "dp-imed")
    found = {one.name: one for one in discreet.compare(
        [discreet.policy(name, epsilon=1.0 if "p-" in name else None) for name in names],
        ENVIRONMENT, horizon=1000, runs=8, seed=1,
    )}  # fmt: skip
    shown = call("compare", *names, *SMALL, "--epsilon", "1").stdout
    assert "regret / baseline: a multiple of the regret of the same policy without" in shown
    for name, twin in (("adap-ucb", "ucb1"), ("dp-imed", "imed")):
        ratio = found[name].final_regret.mean() / found[twin].final_regret.mean()
        assert f"{ratio:.3g} ({twin})" in shown


def test_the_order_of_arms(call: Callable[..., Any], refuse: Callable[..., str]) -> None:
    stays = ("private-thompson", "--means", ".7,.5", "--horizon", "300", "--runs", "40",
             "--seed", "1", "--epsilon", "1", "--json")  # fmt: skip
    listed, drawn = (
        json.loads(call("simulate", *stays).stdout),
        json.loads(call("simulate", *stays, "--shuffle").stdout),
    )
    assert (listed["shuffle"], drawn["shuffle"]) == (False, True)
    assert listed["regret"]["mean"] == 0.0
    assert drawn["regret"]["mean"] > 10.0
    (compared,) = json.loads(call("compare", *stays).stdout)
    assert compared["regret"] == drawn["regret"]
    (kept,) = json.loads(call("compare", *stays, "--no-shuffle").stdout)
    assert kept["regret"] == listed["regret"]
    linear = ("adac-oful", "--rho", ".5", "--shuffle", "--horizon", "100", "--runs", "2")
    assert "shuffle must be left out for linear policies" in refuse("simulate", *linear)


def test_a_random_seed_is_told_and_repeats(call: Callable[..., Any]) -> None:
    arguments = ("simulate", "adap-ucb", "--means", ".7,.5", "--horizon", "1e3", "--runs", "5",
                 "--epsilon", "1", "--json")  # fmt: skip
    one, other = (json.loads(call(*arguments).stdout) for _ in range(2))
    assert one["seed"] != other["seed"]
    again = json.loads(call(*arguments, "--seed", str(one["seed"])).stdout)
    assert without_clock(again) == without_clock(one)


@pytest.mark.parametrize(
    ("arguments", "budget"),
    [
        ("--rho .5", discreet.ZCDP(0.5)),
        ("--mu .5", discreet.GaussianDP(0.5)),
        ("--epsilon 1 --delta 1e-6", discreet.Approximate(1.0, 1e-6)),
        ("--epsilon 1 --renyi-alpha 4", discreet.Renyi(4.0, 1.0)),
    ],
)
def test_every_kind_of_budget(
    call: Callable[..., Any], arguments: str, budget: discreet.Budget
) -> None:
    shown = call("simulate", "adac-ucb", *SMALL, *arguments.split(), "--json").stdout
    own = discreet.policy("adac-ucb", budget=budget).guarantee.to_dict()
    found = json.loads(shown)["guarantee"]
    assert found["budget"] == own["budget"]
    assert found["budget"]["kind"] == budget.kind


def test_files_are_written(call: Callable[..., Any], tmp_path: Path) -> None:
    arguments = ("--epsilon", "1", "--output", "all.parquet", "--plot", "regret.PNG", "--json")
    result = call("compare", "ucb1", "adap-ucb", *SMALL, *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.parquet", "regret.PNG"]
    loaded = discreet.load(tmp_path / "all.parquet")
    assert loaded.summary() == json.loads(result.stdout)
    assert (tmp_path / "regret.PNG").read_bytes().startswith(b"\x89PNG")
    call("simulate", "ucb1", *SMALL, "--plot", "regret.svg")
    assert "<svg" in (tmp_path / "regret.svg").read_text()


def test_real_trial(call: Callable[..., Any]) -> None:
    size = ("--runs", "4", "--seed", "1", "--json")
    replayed = json.loads(call("simulate", "ucb1", "--data", "actg175", "--replay", *size).stdout)
    assert replayed["horizon"] == 2139
    assert len(replayed["pulls"]) == 4
    drawn = call(
        "simulate", "ucb1", "--data", "actg175", "--outcome", "event-free", "--horizon", "500",
        *size,
    )  # fmt: skip
    environment = discreet.actg175("event-free").resampled()
    own = discreet.simulate(discreet.policy("ucb1"), environment, horizon=500, runs=4, seed=1)
    assert without_clock(json.loads(drawn.stdout)) == without_clock(own.summary())


def test_laws_and_clipping(call: Callable[..., Any], refuse: Callable[..., str]) -> None:
    gaussian = (*SMALL, "--environment", "gaussian", "--epsilon", "1")
    assert "add --clip" in refuse("simulate", "adap-ucb", *gaussian)
    found = call(
        "simulate", "adap-ucb", *gaussian, "--clip", "--environment-option", "sd=.2", "--json"
    )
    environment = discreet.Clipped(discreet.Gaussian([0.7, 0.5], sd=0.2))
    row = discreet.policy("adap-ucb", epsilon=1.0)
    own = discreet.simulate(row, environment, horizon=1000, runs=8, seed=1)
    assert without_clock(json.loads(found.stdout)) == without_clock(own.summary())


def test_an_interrupted_study_is_reported(
    call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from discreet import simulator
    from discreet.simulator import _runs as runs

    def interrupted(*arguments: Any, **options: Any) -> Any:
        start = discreet.Bernoulli.start
        calls = iter(range(100))

        def stop_at_three(environment: Any, rng: Any) -> Any:
            if next(calls) == 3:
                raise KeyboardInterrupt
            return start(environment, rng)

        with monkeypatch.context() as patch:
            patch.setattr(discreet.Bernoulli, "start", stop_at_three)
            return runs.compare(*arguments, **options)

    monkeypatch.setattr(simulator, "compare", interrupted)
    arguments = ("--threads", "1", "--output", "some.parquet", "--json")
    result = call("compare", "ucb1", "adap-ucb", *SMALL, "--epsilon", "1", *arguments)
    assert result.exit_code == 130
    (found,) = json.loads(result.stdout)
    assert found["complete"] is False
    assert found["runs"] == 3
    assert "finished 3 of ucb1" in result.stderr
    assert discreet.load(tmp_path / "some.parquet").complete is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("3.5", 3.5),
        ("1e3", 1000.0),
        ("none", None),
        ("exact", "exact"),
        ("-1", -1),
        ("true", True),
        ("False", False),
    ],
)
def test_values(text: str, value: object) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_pairs() -> None:
    assert pairs("option", ["half-width=.2", "a = b=c"]) == {"half_width": 0.2, "a": "b=c"}
    assert pairs("option", None) == {}
    for wrong in (["alpha"], ["=3"], ["a=1", "a=2"]):
        with pytest.raises(InvalidArgument):
            pairs("option", wrong)


def test_counts_and_lists() -> None:
    assert whole("horizon", "1e7") == 10**7
    assert whole("horizon", "12345678901234567") == 12345678901234567
    assert numbers("means", ".75, 1,-2e-1") == [0.75, 1.0, -0.2]
    for wrong in ("1.5", "x", "", "inf", "nan", "none"):
        with pytest.raises(InvalidArgument):
            whole("horizon", wrong)
    for wrong in ("", "1,", "1;2", "a,b", "none,1"):
        with pytest.raises(InvalidArgument):
            numbers("means", wrong)


def test_flags_are_options_of_some_row() -> None:
    from discreet.policies import CATALOGUE

    flags = Study(alpha=1, beta=1, calibration="x", ratio=1, first=1, power=1).policy_options()
    assert set(flags) <= {name for row in CATALOGUE.values() for name in row.options}
    assert len(flags) == 6
