"""One door each: what is a command is a function of `discreet`, and packages stay packages."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import discreet
from discreet.cli._app import COMMANDS
from discreet.errors import DamagedFile, InvalidArgument

ENVIRONMENT = discreet.Bernoulli([0.9, 0.2])
DOORS = (
    "audit", "bounds", "cite", "compare", "cost", "identify", "plan", "policies", "simulate",
    "size", "operating", "sweep", "verify",
)  # fmt: skip


def door(name: str) -> Any:
    return getattr(discreet, name)


@pytest.mark.parametrize("name", DOORS)
def test_a_command_is_a_function(name: str) -> None:
    assert name in {module.NAME for module in COMMANDS}
    assert callable(door(name))


@pytest.mark.parametrize("name", ["identify", "audit", "policies"])
def test_packages_that_are_called_stay_packages(name: str) -> None:
    package = door(name)
    assert isinstance(package, ModuleType)
    assert sys.modules[f"discreet.{name}"] is package
    code = f"import discreet; discreet.{name}; import discreet.{name} as p; print(callable(p))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_they_are_called_as_their_main_functions() -> None:
    row = discreet.policy("uniform", epsilon=2.0, goal="identify")
    own = door("identify")(row, ENVIRONMENT, participants=40, runs=3, seed=1)
    other = discreet.identify.identify(row, ENVIRONMENT, participants=40, runs=3, seed=1)
    assert (own.pulls == other.pulls).all()
    assert inspect.signature(door("identify")) == inspect.signature(discreet.identify.identify)
    assert inspect.signature(door("audit")) == inspect.signature(discreet.audit.audit)
    with pytest.raises(InvalidArgument):
        door("audit")(discreet.policy("dp-imed", epsilon=1.0), transcripts=0)


def test_verify_and_cite() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    found = discreet.verify(row, arms=2, horizon=40)
    assert found.holds
    assert found.to_dict() == row.proved(arms=2, horizon=40).to_dict()
    linear = discreet.policy("adac-oful", rho=0.5)
    own = discreet.verify(linear, horizon=30, dimension=2)
    assert own.to_dict() == linear.proved(horizon=30, dimension=2).to_dict()
    assert own.holds is not False
    with pytest.raises(InvalidArgument, match="dimension must be left out for dp-imed"):
        discreet.verify(row, dimension=2)
    with pytest.raises(InvalidArgument, match="policy must be a policy"):
        discreet.verify("dp-imed")  # type: ignore[arg-type]
    assert discreet.cite("DP-IMED") is discreet.cite(row)
    with pytest.raises(InvalidArgument, match="did you mean dp-imed"):
        discreet.cite("dp-imd")
    assert any(line.side == "lower" for line in discreet.bounds([0.7, 0.5], horizon=1000))


def test_one_load_and_one_vocabulary(tmp_path: Path) -> None:
    search = discreet.policy("uniform", epsilon=2.0, goal="identify")
    found = discreet.identify.identify(search, ENVIRONMENT, participants=40, runs=3, seed=1)
    regret = discreet.simulate(discreet.policy("ucb1"), ENVIRONMENT, horizon=50, runs=2, seed=1)
    late = discreet.simulate(
        discreet.policy("imed"), ENVIRONMENT, horizon=50, runs=2, seed=1, arrivals=12, delay=1
    )
    for result in (found, regret, late):
        again = discreet.load(result.save(tmp_path / "x.parquet"))
        assert isinstance(again, discreet.Comparison)
        assert isinstance(again[0], discreet.Result)
        for word in ("final_regret", "stopping_time", "stopped", "recommendation"):
            assert list(getattr(again[0], word)) == list(getattr(result, word))
        assert again[0].error_rate == result.error_rate
        assert again[0].recommendations == result.recommendations
        assert again[0].unfinished == result.unfinished
        assert "<table>" in again[0]._repr_html_()
        assert again[0].plot(path=tmp_path / "x.png").axes
    for word in ("days", "used", "named", "estimates", "looks"):
        with pytest.raises(InvalidArgument, match=f"asked for {word}"):
            getattr(regret, word)
    assert found.final_pulls.sum(axis=1).tolist() == found.stopping_time.tolist()
    days = discreet.identify.identify(
        search, ENVIRONMENT, participants=40, runs=3, seed=1, arrivals=12, delay=1
    )
    assert [each.is_search for each in (found, regret, late, days)] == [True, False, False, True]
    assert "samples" in repr(found)
    assert "participants" in repr(days)
    assert "days" in repr(days)
    mixed = discreet.Comparison((found, regret, late, days))
    assert discreet.load(mixed.save(tmp_path / "mixed.parquet")).summary() == mixed.summary()
    assert regret.stopping_time.tolist() == [50, 50]
    assert not regret.stopped.any()
    assert found.stopped.all()
    (tmp_path / "y.parquet").write_text("nothing")
    with pytest.raises(DamagedFile):
        discreet.load(tmp_path / "y.parquet")
