"""Regret in the published regions, and time that does not grow with the horizon.

Means of regrets clipped at M, so Bernstein's inequality holds: a mean of n runs is off by x with
probability at most 2 exp(-n x² / (2σ² + 2Mx/3)). Every region below leaves x so large that this is
below 1e-8, for the σ that is asserted with it.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import discreet

C2 = discreet.Bernoulli([0.75, 0.625, 0.5, 0.375, 0.25])
T = 10**6


def regrets(name: str, runs: int, **options: Any) -> Any:
    row = discreet.policy(name, **(options or {"epsilon": 1.0}))
    return discreet.simulate(row, C2, horizon=T, runs=runs, seed=175, points=2).final_regret


@pytest.fixture(scope="module")
def measured() -> dict[str, Any]:
    return {
        "adap-klucb": regrets("adap-klucb", 1000),
        "dp-imed": regrets("dp-imed", 4000),
        "dp-klucb": regrets("dp-klucb", 4000),
        "gauss-imed": regrets("gauss-imed", 2000, mu=0.1),
        "laplace-imed": regrets("laplace-imed", 2000),
    }


@pytest.mark.parametrize(
    ("name", "low", "high", "middle", "sd", "clip"),
    [
        ("adap-klucb", 1300.0, 1750.0, 1539.0, 200.0, 5000.0),
        ("dp-imed", 95.0, 118.0, 106.0, 45.0, 1000.0),
        ("dp-klucb", 138.0, 170.0, 151.0, 45.0, 1000.0),
        ("gauss-imed", 338.0, 375.0, 356.5, 60.0, 1000.0),
        ("laplace-imed", 101.0, 125.0, 113.0, 30.0, 1000.0),
    ],
)
def test_regret_is_in_its_region(
    measured: dict[str, Any], name: str, low: float, high: float, middle: float, sd: float,
    clip: float,
) -> None:  # fmt: skip
    clipped = np.minimum(measured[name], clip)
    n, off = len(clipped), min(middle - low, high - middle)
    assert 2.0 * math.exp(-n * off**2 / (2.0 * sd**2 + 2.0 * clip * off / 3.0)) < 1e-8
    assert low < clipped.mean() < high
    assert clipped.std() < 1.5 * sd


def test_hardly_any_run_of_dp_imed_goes_wrong(measured: dict[str, Any]) -> None:
    """At most one in 2000 runs has regret above 0.02 T: 15 or more of 4000 has chance 1e-8."""
    assert (measured["dp-imed"] > 0.02 * T).sum() < 15


def test_no_forgetting_is_eight_times_better(measured: dict[str, Any]) -> None:
    """Published: 1539 against 138; the ratio of our means is about 14, far from 8."""
    assert np.minimum(measured["adap-klucb"], 5000.0).mean() > 8.0 * measured["dp-imed"].mean()


def test_less_privacy_is_cheaper() -> None:
    """Doubling ε saves at least a tenth; means of 400 runs have errors of 1 %."""
    row = [discreet.policy("adap-klucb", epsilon=e) for e in (0.25, 0.5, 1.0)]
    means = [r.final_regret.mean() for r in discreet.compare(row, C2, horizon=T, runs=400, seed=3)]
    assert means[0] > 1.1 * means[1] > 1.21 * means[2]


@pytest.mark.parametrize("name", ["adap-klucb", "dp-imed"])
def test_a_horizon_of_1e12_costs_little_more_than_one_of_1e6(name: str) -> None:
    """The number of releases doubles; 6 leaves room for a busy machine."""
    row = discreet.policy(name, epsilon=1.0)
    best = dict.fromkeys((1e6, 1e12), math.inf)
    for _ in range(5):
        for horizon in best:
            began = time.perf_counter()
            discreet.simulate(row, C2, horizon=horizon, runs=300, seed=1, threads=1, points=20)
            best[horizon] = min(best[horizon], time.perf_counter() - began)
    ratio = best[1e12] / best[1e6]
    print(f"{name}: 300 runs take {best[1e6]:.3f} s at 1e6, {ratio:.1f} times that at 1e12")
    assert ratio < 6.0


def test_figures_of_a_result() -> None:
    result = discreet.simulate(discreet.policy("ucb1"), C2, horizon=1000, runs=7, seed=1)
    assert result.mean_regret == pytest.approx(result.regret.mean(axis=0))
    assert result.sd_regret == pytest.approx(result.regret.std(axis=0, ddof=1))
    assert result.final_regret == pytest.approx(result.regret[:, -1])
    assert result.mean_pulls == pytest.approx(result.pulls[:, -1].mean(axis=0))
    assert result.mean_pulls.sum() == pytest.approx(1000)
    summary: Any = result.summary()
    assert summary["regret"]["mean"] == pytest.approx(result.regret[:, -1].mean())
    assert summary["regret"]["sd"] == pytest.approx(result.regret[:, -1].std(ddof=1))
    assert summary["guarantee"]["sentence"].startswith("Protects no one")
    one = discreet.simulate(discreet.policy("ucb1"), C2, horizon=1000, runs=1, seed=1)
    assert not one.sd_regret.any()
    summary = one.summary()
    assert summary["regret"]["sd"] == 0.0
