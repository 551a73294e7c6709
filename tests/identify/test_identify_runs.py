"""Whole runs against naive twins, number by number; strides; batches; errors at most δ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from naive_identify import (
    NaiveTopTwo,
    generator,
    naive_elimination,
    naive_ttucb,
    one_by_one,
)
from scipy.stats import binom

import discreet
from discreet.errors import InvalidArgument
from discreet.identify import (
    IDENTIFIERS,
    BestMean,
    GaussianCost,
    Identifier,
    Likelihood,
    MostPulled,
    PrivateThreshold,
    PrivateTopTwo,
    SharedTopTwo,
    identifier,
    identify,
)
from discreet.policies import UCB1, Doubling, ForgetExact, ForgetLaplace

EASY = [0.9, 0.6, 0.2]
FALSE_ALARM = 1e-7
LOCAL = ("ctb-tt", "local-evidence-tt")


def result_of(row: Identifier, means: list[float], **options: Any) -> discreet.Result:
    found: discreet.Result = identify(row, discreet.Bernoulli(means), threads=1, **options)
    return found


def same(result: discreet.Result, twins: list[tuple[int, int, list[int]]]) -> None:
    for run, (time, answer, pulls) in enumerate(twins):
        assert result.stopping_time[run] == time
        assert result.recommendation[run] == answer
        assert result.final_pulls[run].tolist() == pulls


@pytest.mark.parametrize(
    ("name", "star", "options"),
    [
        ("adap-tt", None, {}),
        ("adap-tt", None, {"sampling": "published"}),
        ("adap-tt", None, {"beta": 0.3}),
        ("adap-tt-star", 0.5, {}),
        ("adap-tt-star", 3.0, {"version": "thesis-k2"}),
    ],
)
def test_top_two_equals_the_naive_twin(
    name: str, star: float | None, options: dict[str, Any]
) -> None:
    runs, most = 3, 20_000
    row = identifier(name, epsilon=1.0, **options)
    result = result_of(row, EASY, risk=0.1, runs=runs, seed=5, max_samples=most)
    shared, beta = options.get("sampling") != "published", options.get("beta", 0.5)
    twins = [
        NaiveTopTwo(EASY, 0.1, 1.0, generator(5, run), star, shared, beta=beta).run(most)
        for run in range(runs)
    ]
    same(result, twins)


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_ttucb_and_ctb_equal_the_naive_twin(epsilon: float | None) -> None:
    means, most = [0.95, 0.5, 0.3], 2_000
    row = identifier("ttucb") if epsilon is None else identifier("ctb-tt", epsilon=epsilon)
    result = result_of(row, means, risk=0.1, runs=2, seed=6, max_samples=most)
    same(result, [naive_ttucb(means, 0.1, generator(6, run), epsilon, most) for run in range(2)])


@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_elimination_equals_the_naive_twin(epsilon: float) -> None:
    result = result_of(identifier("dp-se", epsilon=epsilon), EASY, risk=0.1, runs=5, seed=7)
    same(result, [naive_elimination(EASY, 0.1, epsilon, generator(7, run)) for run in range(5)])


class Walked(SharedTopTwo):
    """The same rule, which the loop does not know how to stride with."""


class WalkedAlone(PrivateTopTwo):
    """Likewise."""


@pytest.mark.parametrize("means", [[0.95, 0.9, 0.9, 0.9, 0.5], [0.7, 0.7, 0.69], [0.8, 0.1]])
@pytest.mark.parametrize("epsilon", [0.02, 0.3, 1e6])
@pytest.mark.parametrize("beta", [0.5, 0.37])
@pytest.mark.filterwarnings("ignore::discreet.identify.EqualBestArms")
def test_strides_are_exact(means: list[float], epsilon: float, beta: float) -> None:
    for sampling, walked in (("shared", Walked), ("published", WalkedAlone)):
        row = identifier("adap-tt", epsilon=epsilon, sampling=sampling, beta=beta)
        options: dict[str, Any] = {"risk": 0.1, "runs": 6, "seed": 8, "max_samples": 300_000}
        fast = result_of(row, means, **options)
        slow = result_of(replace(row, rule=walked(GaussianCost(), beta)), means, **options)
        assert (fast.stopping_time == slow.stopping_time).all()
        assert (fast.pulls == slow.pulls).all()


def test_batch_sums_have_the_law_of_single_rewards() -> None:
    """Mean stopping times of 4000 runs and of 250 twins that draw every reward by itself: they
    differ by more than 5.4 standard errors with probability below 1e-7."""
    means, delta, epsilon = [0.95, 0.1], 0.2, 4.0
    result = result_of(identifier("adap-tt", epsilon=epsilon), means, risk=delta, runs=4000, seed=9)
    times = np.array(
        [
            NaiveTopTwo(means, delta, epsilon, generator(10, run), draw=one_by_one).run(10**6)[0]
            for run in range(250)
        ]
    )
    error = np.hypot(times.std() / np.sqrt(250), result.stopping_time.std() / np.sqrt(4000))
    assert abs(times.mean() - result.stopping_time.mean()) < 5.4 * error


SETTINGS = [
    ("ttucb", None, {}),
    ("adap-tt", 1.0, {}),
    ("adap-tt", 0.1, {}),
    ("adap-tt", 1.0, {"sampling": "published"}),
    ("adap-tt", 0.1, {"sampling": "batched"}),
    ("adap-tt-star", 1.0, {}),
    ("adap-tt-star", 0.1, {"sampling": "batched"}),
    ("adap-tt-star", 0.1, {"version": "thesis-k2"}),
    ("ctb-tt", 1.0, {}),
    ("dp-se", 1.0, {}),
    ("dp-se", 0.1, {}),
]


@pytest.mark.parametrize(("name", "epsilon", "options"), SETTINGS)
@pytest.mark.parametrize("means", [[0.6, 0.4], [0.5, 0.35, 0.35, 0.1]])
def test_error_rate_is_at_most_delta(
    name: str, epsilon: float | None, options: dict[str, Any], means: list[float]
) -> None:
    """300 runs at δ = 0.2; a rate of δ would fail each of these tests with probability 1e-7."""
    row = identifier(name, epsilon=epsilon, **options)
    assert row.delta_correct
    result = result_of(row, means, risk=0.2, runs=300, seed=11, max_samples=2e6)
    assert result.wrong <= binom.isf(FALSE_ALARM, 300, 0.2)
    assert result.unfinished <= 15  # the published bonus forgets an arm now and then


def test_heuristic_threshold_is_not_delta_correct_and_does_err() -> None:
    row = identifier("adap-tt", epsilon=0.1, threshold="heuristic")
    assert not row.delta_correct
    result = result_of(row, [0.6, 0.5, 0.5], risk=0.05, runs=300, seed=12)
    assert result.wrong > binom.isf(FALSE_ALARM, 300, 0.05)
    assert not result.delta_correct
    assert "not δ-correct" in str(row)


def test_public_code_is_not_delta_correct_and_does_err() -> None:
    """No union over phases: with a small ε every new batch is one more chance to stop on noise.
    2000 runs at δ = 0.3; those that have not stopped after 2000 samples count as right."""
    row = identifier("adap-tt", epsilon=0.001, threshold="public")
    assert not row.delta_correct
    assert "public code's threshold (not δ-correct)" in str(row)
    result = result_of(row, [0.501, 0.5], risk=0.3, runs=2000, seed=12, max_samples=2000)
    assert result.wrong > binom.isf(FALSE_ALARM, 2000, 0.3)
    with pytest.raises(InvalidArgument, match="sampling must be 'shared'"):
        identifier("adap-tt", epsilon=1.0, threshold="public", sampling="batched")
    with pytest.raises(InvalidArgument, match="threshold must be"):
        identifier("adap-tt-star", epsilon=1.0, threshold="public")


def test_parts_can_be_recombined() -> None:
    cost = GaussianCost()
    mine = Identifier(
        "mine", Doubling(), ForgetLaplace(2.0), UCB1(),
        stopping=Likelihood(cost, PrivateThreshold()), recommendation=MostPulled(), mixed=True,
    )  # fmt: skip
    assert mine.delta_correct
    assert mine.guarantee.short() == "ε = 2 (interactive)"
    result = result_of(mine, [0.9, 0.1], risk=0.1, runs=50, seed=13)
    assert result.recommendations == [50, 0]
    other = result_of(
        replace(mine, recommendation=BestMean()), [0.9, 0.1], risk=0.1, runs=50, seed=13
    )
    # likelihood cannot stop for an arm that is not ahead
    assert other.stopping_time.mean() <= result.stopping_time.mean()


def test_every_row_has_a_derived_guarantee_and_a_reference() -> None:
    from discreet.references import REFERENCES

    for row in IDENTIFIERS.values():
        assert row.reference in REFERENCES
        made = row.asked(epsilon=0.7 if row.private else None)
        assert made.is_private == row.private
        if row.private:
            definition = "local" if row.name in LOCAL else "interactive"
            assert made.guarantee.short() == f"ε = 0.7 ({definition})"


def test_infinite_budget_is_the_twin_without_noise() -> None:
    """At ε = 1e9 the noise of a sum is about 1e-9: no choice hangs on it."""
    row = identifier("adap-tt", epsilon=1e9, sampling="batched")
    quiet = result_of(row, EASY, risk=0.1, runs=20, seed=14)
    silent = result_of(replace(row, release=ForgetLaplace(1e12)), EASY, risk=0.1, runs=20, seed=14)
    assert (quiet.stopping_time == silent.stopping_time).all()
    exact = replace(row, release=ForgetExact())
    assert not exact.is_private
    assert not exact.delta_correct  # proved for Laplace noise, and for exact means of all rewards
