"""What is settled before the first outcome: which looks are taken, of which batches, which kind."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet
from discreet.inference import Record, differences, intervals, record_of
from discreet.inference._record import (
    Recording,
    check_kind,
    kept_from,
    narrower,
    reckoned_width,
    recording,
)
from discreet.inference._tails import upper_tail
from discreet.policies.releases._entries import Noise

FALSE_ALARM = 1e-6


def planned(name: str, horizon: int, arms: int = 2, **budget: Any) -> Recording:
    row = discreet.policy(name, **budget)
    found = recording(row, row.setting(arms, horizon))
    assert isinstance(found, Recording)
    return found


def entries(recorded: Recording, totals: Any) -> tuple[tuple[float, ...], ...]:
    """The history of an arm whose batches have these noisy sums."""
    batches = [b - a for a, b in pairwise((0, *recorded.sizes))][: len(totals)]
    if recorded.kind == "fresh":
        return tuple((n, x / n) for n, x in zip(batches, totals, strict=True))
    ends = recorded.sizes[: len(totals)]
    return tuple((n, x / n) for n, x in zip(ends, np.cumsum(totals), strict=True))


def test_sizes_are_those_of_the_schedule() -> None:
    assert planned("dp-imed", 2000, epsilon=1.0).sizes == (20, 40, 80, 160, 320, 640, 1280)
    assert planned("adap-klucb", 100, epsilon=1.0).sizes == (1, 2, 4, 8, 16, 32, 64)
    assert planned("ldp-ucb-b", 100, epsilon=1.0).sizes == ()


def test_small_batches_are_left_out_where_their_noise_outweighs_them() -> None:
    """Against the definition: the suffix whose mean varies least, of all of them."""
    for noise in (Noise("laplace", 50.0), Noise("gaussian", 3.0), Noise("laplace", 0.01)):
        for sizes in ([1, 1, 2, 4, 8, 16, 32], [200, 200, 400, 800], [5], [7, 3, 900, 2]):
            spread = [
                (0.25 * sum(sizes[i:]) + len(sizes[i:]) * noise.variance) / sum(sizes[i:]) ** 2
                for i in range(len(sizes))
            ]
            assert kept_from(sizes, noise) == spread.index(min(spread))
    assert kept_from([1, 1, 2, 4], Noise("laplace", 1.0, each=True)) == 0
    # with much noise the last batches count alone, with hardly any all of them
    assert kept_from([1, 1, 2, 4, 8, 16, 32], Noise("laplace", 50.0)) >= 5
    assert kept_from([1, 1, 2, 4, 8, 16, 32], Noise("laplace", 0.01)) == 0


def test_looks_that_would_be_too_wide_are_not_taken() -> None:
    found = planned("adap-klucb", 50_000, epsilon=0.02)
    assert (found.looks, found.first, found.counted) == (16, 11, 6)
    assert reckoned_width(found, 10) > 1.0 >= reckoned_width(found, 11)
    assert planned("dp-imed", 20_000, epsilon=0.1).first == 1
    assert planned("dp-imed", 2000, epsilon=1.0).first == 1  # arms that lose have few outcomes
    few = entries(found, [0.5] * 10)
    record = Record(found, ("A",), (few,), binary=True, kind="looks")
    assert (intervals(record)[0].low, intervals(record)[0].high) == (0.0, 1.0)
    assert intervals(record)[0].estimate is None


def test_nothing_that_was_released_decides() -> None:
    """Records of one plan and any values have the same looks, batches and kind."""
    recorded = planned("adap-klucb", 50_000, epsilon=0.02)
    seen = set()
    for values in ([0.0] * 15, [1e6] * 15, [-3.0, 7.0, 9.0] * 5):
        record = Record(recorded, ("A",), (entries(recorded, values),), binary=True)
        size, _, draws = record.look(0)
        seen.add((size, draws, recorded.first, intervals(record).kind))
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("name", "horizon", "budget"),
    [
        ("dp-imed", 5000, {"epsilon": 0.1}),
        ("laplace-imed", 5000, {"epsilon": 1.0}),
        ("gauss-imed", 5000, {"mu": 0.2}),
        ("adap-klucb", 5000, {"epsilon": 0.2}),
        ("adac-ucb", 5000, {"rho": 0.05}),
    ],
)
@pytest.mark.parametrize("mean", [0.5, 0.03])
def test_looks_cover_in_law(name: str, horizon: int, budget: dict[str, float], mean: float) -> None:
    """An arm that is played to the end, all looks that are taken: one of them misses in at most 5 %
    of 400 trials. A mean is outside if one of the tails at it is below α/(2P), which is what the
    ends of an interval are found by. Counts beyond have a probability of at most 1e-6."""
    recorded = planned(name, horizon, **budget)
    rng, missed, trials = np.random.default_rng(5), 0, 400
    batches = np.array([b - a for a, b in pairwise((0, *recorded.sizes))])
    draw = rng.laplace if recorded.noise.kind == "laplace" else rng.normal
    assert recorded.counted is not None
    half = 0.05 / recorded.counted / 2.0
    for _ in range(trials):
        totals = rng.binomial(batches, mean) + draw(0.0, recorded.noise.scale, len(batches))
        outside = False
        for look in range(recorded.first, len(batches) + 1):
            record = Record(recorded, ("A",), (entries(recorded, totals[:look]),), binary=True)
            n, s, k = record.look(0)
            low = upper_tail(n, s, recorded.noise, k)
            high = upper_tail(n, n - s, recorded.noise, k)
            assert low is not None
            assert high is not None
            outside = outside or min(low(mean), high(1.0 - mean)) < half
        missed += outside
    assert missed <= binom.isf(FALSE_ALARM, trials, 0.05)


def test_the_kind_is_reckoned_beforehand() -> None:
    for name, horizon, budget in (
        ("dp-imed", 20_000, {"epsilon": 0.1}),
        ("dp-imed", 300, {"epsilon": 1.0}),
        ("adap-klucb", 50_000, {"epsilon": 0.02}),
        ("adac-ucb", 10_000, {"rho": 0.5}),
    ):
        recorded = planned(name, horizon, **budget)
        half = [n for n in recorded.sizes if n <= recorded.sizes[-1] / 2]
        batches = [b - a for a, b in pairwise((0, *half))]
        record = Record(
            recorded, ("A",), (entries(recorded, [n / 2 for n in batches]),), binary=True
        )
        widths = {k: intervals(replace(record, kind=k))[0].width for k in ("looks", "anytime")}
        assert (
            check_kind("auto", recorded)
            == narrower(recorded)
            == min(widths, key=widths.__getitem__)
        )
    # with hardly any look to take all times at once are narrower than a plan of a hundred looks
    assert check_kind("auto", replace(planned("dp-imed", 300, epsilon=1.0), looks=100)) == "anytime"


def mean_width(row: discreet.Policy, horizon: int, what: Any, trials: int = 12) -> float:
    law = discreet.Bernoulli([0.55, 0.5])
    found = discreet.simulate(row, law, horizon=horizon, runs=trials, seed=1, progress=False)
    return float(np.mean([what(record_of(found, run)).width for run in range(trials)]))


def test_differences_are_no_wider_than_those_of_both_arms_looks() -> None:
    """dp-imed, .55 and .5, ε = .1, 20,000 participants: .40 by evidence, .23 by looks (300 trials
    of another seed: .233 ± .007)."""
    row = discreet.policy("dp-imed", epsilon=0.1)
    width = mean_width(row, 20_000, lambda record: differences(record, against=1)[0], trials=40)
    assert width <= 0.26
    found = discreet.simulate(
        row, discreet.Bernoulli([0.55, 0.5]), horizon=20_000, runs=1, seed=1, progress=False
    )
    shown = differences(found, against=1)
    both = intervals(found, 0.975)
    assert shown.kind == "looks"
    assert "looks" in str(shown)
    assert (shown[0].low, shown[0].high) == (both[0].low - both[1].high, both[0].high - both[1].low)
    at_any_time = differences(replace(record_of(found), kind="anytime"), against=1)
    assert at_any_time.kind == "anytime"
    assert shown[0].width < 0.8 * at_any_time[0].width


def test_intervals_of_doubling_batches_with_much_noise() -> None:
    """adap-klucb, ε = .02, 50,000 participants: .055 with all batches and looks, .038 at any time;
    .029 here."""
    row = discreet.policy("adap-klucb", epsilon=0.02)
    assert mean_width(row, 50_000, lambda record: intervals(record)[0]) <= 0.034


def test_differences_cover() -> None:
    """Adaptive trials, the difference of two arms at their last look: misses of 60 trials."""
    row, missed = discreet.policy("dp-imed", epsilon=0.3), 0
    found = discreet.simulate(
        row, discreet.Bernoulli([0.5, 0.45]), horizon=1500, runs=60, seed=2, progress=False
    )
    for run in range(60):
        one = differences(found, against=1, run=run)[0]
        missed += not one.low <= 0.05 <= one.high
        assert math.isfinite(one.width)
    assert missed <= binom.isf(FALSE_ALARM, 60, 0.05)
