"""Simulated results, played again release by release."""

from __future__ import annotations

from dataclasses import replace

import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.identify import identifier, identify
from discreet.inference import differences, evidence, intervals, probability_of_best, record_of
from discreet.policies import UCB1, EachRound, ForgetLaplace, Policy

LAW = discreet.Bernoulli([0.7, 0.5, 0.3])


def test_intervals_of_a_simulated_result() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    result = discreet.simulate(row, LAW, horizon=2000, runs=3, seed=1, progress=False)
    for run in range(3):
        record = record_of(result, run)
        assert record.binary
        for arm in range(3):
            # what the horizon cuts off is played and not released
            assert 0 < record.sums(arm)[0] <= result.pulls[run, -1, arm]
    found = intervals(result, run=1)
    assert found.kind == "looks"
    assert 0.7 in found[0]
    assert found != intervals(result, run=2)
    assert differences(result, against=2, run=1)[0].against == 2
    assert evidence(result, 0, 2).value > 0.0
    assert max(probability_of_best(result).values()) > 0.5
    with pytest.raises(InvalidArgument, match="run must be"):
        intervals(result, run=3)
    with pytest.raises(InvalidArgument, match="come out the same when it is played again"):
        intervals(replace(result, seed=2))


def test_arms_that_were_shuffled_keep_their_own_numbers() -> None:
    row = discreet.policy("dp-imed", epsilon=10.0)
    result = discreet.compare([row], LAW, horizon=2000, runs=4, seed=1, progress=False)[0]
    for run in range(4):
        record = record_of(result, run)
        for arm, mean in enumerate(LAW.means):
            size, total, _ = record.sums(arm)
            # seven standard errors and the noise of ten batches
            assert abs(total / size - mean) < 7 * (0.25 / size) ** 0.5 + 3.0 / size


@pytest.mark.parametrize(
    ("name", "size"), [("evidence-tt", {"risk": 0.05}), ("halving", {"participants": 300})]
)
def test_intervals_of_an_identification(name: str, size: dict[str, float]) -> None:
    row = identifier(name, epsilon=1.0)
    result = identify(row, LAW, runs=2, seed=1, progress=False, **size)  # type: ignore[call-overload]
    for run in range(2):
        record = record_of(result, run)
        played = [record.sums(arm)[0] for arm in range(3)]
        assert played == result.final_pulls[run].tolist()
    assert intervals(result).kind == ("anytime" if name == "evidence-tt" else "looks")
    if name == "evidence-tt":  # stopped at (K - 1)/risk = 40 against each other arm
        best = int(result.recommendation[0])
        assert all(evidence(result, best, arm).value >= 40 for arm in range(3) if arm != best)


def test_results_that_cannot_be_played_again_say_so() -> None:
    mine = Policy("mine", EachRound(), ForgetLaplace(1.0), UCB1())
    result = discreet.simulate(mine, LAW, horizon=50, runs=1, seed=1, progress=False)
    with pytest.raises(InvalidArgument, match="a row of the catalogue"):
        intervals(result)
