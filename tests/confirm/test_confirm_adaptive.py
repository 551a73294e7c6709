"""Adaptive trials with a test: statistics, the certificate, verdicts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from discreet.confirm import EpochDesign, epochs
from discreet.confirm._adaptive import Plan, split
from discreet.confirm._final import Cells, anytime, batched, mixing, weighted, weights
from discreet.confirm._noises import Noise, noise_of
from discreet.confirm._simulated import Simulated
from discreet.errors import InvalidArgument
from discreet.privacy import Pure

ROWS = [(40, 40, 21, 15), (56, 24, 29.5, 8), (64, 16, 30, 7.5), (64, 16, 33, 5)]


class Given(Noise):
    """v = 2 and κ = 2, whatever the kind."""

    variance = 2.0
    shrinkage = 2.0


def cells_of(rows: list[tuple[float, ...]]) -> Cells:
    return Cells(*(np.array([[row[i]] for row in rows], float) for i in range(4)))


def test_known_statistics() -> None:
    w, b = (
        weighted(cells_of(ROWS), Given("laplace", 1.0)),
        batched(cells_of(ROWS), Given("laplace", 1.0)),
    )
    assert (w.difference, w.se) == pytest.approx((0.1438, 0.0712), abs=6e-5)
    assert (b.difference, b.se) == pytest.approx((0.1403, 0.0718), abs=6e-5)
    assert (w.z, b.z) == pytest.approx((1.991, 1.926), abs=6e-4)


def naive(rows: list[tuple[float, ...]], v: float, kappa: float) -> dict[str, float]:
    """Both statistics once more, a sum at a time, from their formulas."""

    def rate(arms: tuple[int, ...]) -> float:
        x = sum(row[2 + a] for row in rows for a in arms)
        n = sum(row[a] for row in rows for a in arms)
        return min(max((x + kappa) / (n + 2 * kappa), 0.0), 1.0)

    def variance(row: tuple[float, ...], m1: float, m0: float) -> float:
        return m1 * (1 - m1) / row[0] + m0 * (1 - m0) / row[1] + v / row[0] ** 2 + v / row[1] ** 2

    both, one, none = rate((0, 1)), rate((0,)), rate((1,))
    top = bottom = pooled = own = step = size = u_sum = u_top = 0.0
    for row in rows:
        d = row[2] / row[0] - row[3] / row[1]
        omega = 1 / variance(row, 0.5, 0.5)
        top, bottom = top + omega * d, bottom + omega
        pooled += omega**2 * variance(row, both, both)
        own += omega**2 * variance(row, one, none)
        n = row[0] + row[1]
        step, size = step + math.sqrt(n) * d / math.sqrt(variance(row, both, both)), size + n
        u = math.sqrt(n) / math.sqrt(variance(row, one, none))
        u_sum, u_top = u_sum + u, u_top + u * d
    return {
        "wz": top / math.sqrt(pooled), "wd": top / bottom, "wse": math.sqrt(own) / bottom,
        "bz": step / math.sqrt(size), "bd": u_top / u_sum, "bse": math.sqrt(size) / u_sum,
    }  # fmt: skip


def test_statistics_are_those_of_a_loop() -> None:
    rng, noise = np.random.default_rng(2), noise_of(Pure(0.5))
    for _ in range(20):
        n = rng.integers(10, 90, (3, 2))
        rows = [
            (*map(int, pair), *map(int, rng.binomial(pair, 0.4) + rng.integers(-3, 4, 2)))
            for pair in n
        ]
        told = naive(rows, noise.variance, noise.shrinkage)
        w, b = weighted(cells_of(rows), noise), batched(cells_of(rows), noise)
        found = (w.z, w.difference, w.se, b.z, b.difference, b.se)
        assert found == pytest.approx(
            tuple(told[k] for k in ("wz", "wd", "wse", "bz", "bd", "bse"))
        )


def test_the_anytime_interval() -> None:
    assert mixing(0.05) == pytest.approx(8.21, abs=0.01)
    noise = noise_of(Pure(1.0))
    cells = cells_of([(40, 40, 21, 15), (56, 24, 29, 8)])
    v = float(weights(cells, noise).sum())
    low, high = anytime(cells, noise, v, 0.05)
    assert (high - low) / 2 == pytest.approx(3.04 / math.sqrt(v), abs=0.01 / math.sqrt(v))
    assert low < weighted(cells, noise).difference < high


@pytest.fixture(scope="module")
def plan() -> EpochDesign:
    return epochs(300, epsilon=1.0, runs=4_000)


def test_the_factor_is_the_largest_limit(plan: EpochDesign) -> None:
    said = plan.certificate
    assert plan.sizes == (100, 100, 100)
    assert said.factor == pytest.approx(max(said.quantiles))
    assert max(said.errors) < 0.0495  # the limit is above what was seen
    assert said.rates[0] == 0.0
    assert said.rates[-1] == 0.5
    assert "with confidence 0.999" in str(said)
    again = EpochDesign.from_dict(json.loads(json.dumps(plan.to_dict(), allow_nan=False)))
    assert again == plan


def test_the_limit_covers_the_quantile_as_often_as_said() -> None:
    """k of `certify`, by the law of order statistics: uniform draws, 2,000 times. The share of
    limits below the quantile is at most 1 % + 5 standard errors; false alarm below 1e-6."""
    runs, keep, chance = 500, 0.95, 0.01
    k = int(binom.isf(chance, runs, keep)) + 1
    draws = np.sort(np.random.default_rng(8).random((2_000, runs)), axis=1)[:, k - 1]
    missed = float((draws < keep).mean())
    assert missed <= chance + 5 * math.sqrt(chance * (1 - chance) / 2_000)
    assert (
        np.sort(np.random.default_rng(9).random((2_000, runs)), axis=1)[:, k - 12] < keep
    ).mean() > 0.1


def test_fresh_trials_keep_the_risk(plan: EpochDesign) -> None:
    """20,000 trials at rates off the grid: below .05 + 5.2 standard errors; false alarm < 1e-6."""
    for rate in (0.03, 0.27, 0.81):
        found = plan.operating(rate, rate, runs=20_000, seed=77)
        assert found.power < 0.05 + 5.2 * math.sqrt(0.05 * 0.95 / 20_000)
        assert found.in_trial == pytest.approx(0.5, abs=0.02)


def test_play_is_the_trial_that_is_told(plan: EpochDesign) -> None:
    """A simulated trial, step by step through the public face."""
    cells, z = plan.plan.play((0.6, 0.4), 30, np.random.default_rng(3))
    for trial in range(30):
        rows = [
            tuple(int(part[e, trial]) for part in (cells.n1, cells.n0, cells.x1, cells.x0))
            for e in range(3)
        ]
        for epoch in (1, 2, 3):
            assert plan.places(epoch, rows[: epoch - 1]) == rows[epoch - 1][:2]
            verdict = plan.verdict(rows[:epoch])
            assert verdict.z == pytest.approx(z[:epoch, trial])
    assert z.shape == (3, 30)


@pytest.mark.parametrize("participants", [300, 301, 302, 303])
def test_no_more_participants_than_were_given(participants: int) -> None:
    found = epochs(participants, epsilon=1.0, runs=600)
    assert participants - 1 <= found.participants <= participants
    assert all(size % 2 == 0 for size in found.sizes)


def test_shares_follow_the_leader() -> None:
    n1, n0 = split(100, 0.3, np.array([2.0, -0.1, 0.0]))
    assert (n1.tolist(), n0.tolist()) == ([70, 30, 50], [30, 70, 50])


def test_late_outcomes_keep_early_epochs_even() -> None:
    late = Plan((100, 100, 100), 0.3, noise_of(Pure(1.0)), "B", 2, 1)
    cells, _ = late.play((0.9, 0.1), 50, np.random.default_rng(1))
    assert (cells.n1[:2] == 50).all()
    assert (cells.n1[2] == 70).all()


def drifting(plan: Plan, runs: int, rng: np.random.Generator) -> np.ndarray:
    """Equal arms whose rate rises from .2 to .8 over the epochs; and the naive comparison of
    pooled means, both as Z at the end."""
    shape = (len(plan.sizes), runs)
    cells = Cells(*(np.zeros(shape) for _ in range(4)))
    lead = np.zeros(runs)
    for e, rate in enumerate(np.linspace(0.2, 0.8, len(plan.sizes))):
        cells.n1[e], cells.n0[e] = split(plan.sizes[e], plan.least, lead)
        for n, x in ((cells.n1[e], cells.x1[e]), (cells.n0[e], cells.x0[e])):
            q = 1 - math.exp(-1.0)
            x[:] = (
                rng.binomial(n.astype(int), rate) + rng.geometric(q, runs) - rng.geometric(q, runs)
            )
        lead = plan.statistics(cells.until(e + 1))[-1]
    n1, n0 = cells.n1.sum(0), cells.n0.sum(0)
    m = (cells.x1 + cells.x0).sum(0) / (n1 + n0)
    gap = cells.x1.sum(0) / n1 - cells.x0.sum(0) / n0
    pooled = gap / np.sqrt(m * (1 - m) * (1 / n1 + 1 / n0) + 6 / n1**2 + 6 / n0**2)
    return np.array([plan.statistics(cells)[-1], pooled])


def test_a_shared_trend_cancels() -> None:
    """20,000 trials: B rejects at most 5 % + 5.2 standard errors; pooled means reject often."""
    plan = Plan((200,) * 4, 0.2, noise_of(Pure(1.0)), "B", 2, 0)
    z = drifting(plan, 20_000, np.random.default_rng(6))
    rejects = (np.abs(z) > 1.96).mean(1)
    assert rejects[0] < 0.05 + 5.2 * math.sqrt(0.05 * 0.95 / 20_000)
    assert rejects[1] > 0.15


def test_w_is_tested_at_the_end_alone() -> None:
    plan = epochs(300, epsilon=1.0, statistic="W", runs=2_000)
    assert [math.isinf(b) for b in plan.boundaries] == [True, True, False]
    assert plan.verdict([(50, 50, 49, 2)]).decision == "go on"
    rows = [(50, 50, 45, 5), (70, 30, 60, 3), (70, 30, 60, 3)]
    assert plan.verdict(rows).decision == "better"
    assert EpochDesign.from_dict(json.loads(json.dumps(plan.to_dict(), allow_nan=False))) == plan


def test_verdicts(plan: EpochDesign) -> None:
    first = plan.verdict([(50, 50, 30, 22)])
    assert (first.decision, first.final, str(first)) == ("go on", None, "epoch 1: go on")
    stopped = plan.verdict([(50, 50, 48, 5)])
    assert (stopped.decision, stopped.look) == ("better", 1)
    later = plan.verdict([(50, 50, 48, 5), (70, 30, 30, 20)])
    assert (later.decision, later.look, later.final) == ("better", 1, stopped.final)
    assert later.repeated != stopped.repeated
    worse = plan.verdict([(50, 50, 5, 48)])
    assert worse.decision == "worse"
    assert stopped.final is not None
    assert stopped.repeated[0] < stopped.final.difference < stopped.repeated[1]
    assert stopped.anytime[0] < stopped.final.difference < stopped.anytime[1]


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("epochs", {"epochs": 2}), ("least", {"least": 0.05}),
        ("least", {"least": 0.15, "statistic": "W"}), ("least", {"least": 0.6}),
        ("participants", {"participants": 60}), ("participants", {"epsilon": 0.1}),
        ("statistic", {"statistic": "pooled"}), ("lag", {"lag": 3}), ("runs", {"runs": 50}),
        ("epsilon", {"epsilon": None}),
    ],
)  # fmt: skip
def test_designs_that_are_refused(argument: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        epochs(**{"participants": 300, "epsilon": 1.0, "runs": 2_000, **options})
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "cells", [[], 7, [(50, 50, 1)], [(50, 50, 0.123, 7)], [(60, 50, 1, 2)], [(80, 20, 1, 2)] * 2]
)
def test_cells_that_are_refused_are_not_shown(plan: EpochDesign, cells: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        plan.verdict(cells)
    assert caught.value.argument == "cells"
    assert "0.123" not in str(caught.value)


def test_certificates_that_do_not_follow_are_refused(plan: EpochDesign) -> None:
    said = plan.certificate
    small = replace(said, factor=0.9 * said.factor).to_dict()
    with pytest.raises(InvalidArgument, match="follows from"):
        Simulated.from_dict(small)
    wide = replace(said, rates=(*said.rates[::2], 0.5), quantiles=said.quantiles).to_dict()
    with pytest.raises(InvalidArgument, match="follows from"):
        Simulated.from_dict(wide)
    with pytest.raises(InvalidArgument, match="wait until"):
        plan.places(2)
