"""Audits from counts: references, and coverage on mechanisms whose ε is known.

Coverage tests repeat an audit N times on a mechanism that is exactly at its bound, with errors at
rate γ allowed: a true rate of γ exceeds the allowed count with probability 1e-7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet.audit._counts import bayesian, from_errors, from_hits
from discreet.audit._one_run import one_run, one_run_gaussian, rejected, tail
from discreet.audit._result import Audit
from discreet.audit._wagers import Wager, wagers
from discreet.errors import InvalidArgument
from discreet.membership import Scores
from discreet.privacy import ZCDP, Approximate, GaussianDP, Pure

GAMMA = 0.1


def covers(bound: Callable[[np.random.Generator], float], truth: float, repeats: int) -> float:
    """The mean bound, if no more bounds are above the truth than chance allows."""
    rng = np.random.default_rng(1)
    found = np.array([bound(rng) for _ in range(repeats)])
    assert (found > truth + 1e-9).sum() <= binom.isf(1e-7, repeats, GAMMA)
    return float(found.mean())


def test_references_at_five_per_cent() -> None:
    assert from_hits((500, 100), 1000).epsilon_lower == pytest.approx(1.3257, abs=5e-5)
    found = from_errors((50, 300), 1000)
    assert found.epsilon_lower == pytest.approx(2.3277, abs=5e-5)
    assert found.parameter[0] == "mu"
    assert found.parameter[2] == pytest.approx(1.9524, abs=5e-5)
    assert one_run(1000, 100, 95).epsilon_lower == pytest.approx(2.1724, abs=5e-5)


def test_complements_count() -> None:
    """A likely event is bounded through its complement, either way round."""
    likely = from_hits((999, 900), 1000)
    assert likely.epsilon_lower == pytest.approx(from_hits((1, 100), 1000).epsilon_lower)
    assert likely.epsilon_lower == pytest.approx(from_hits((100, 1), 1000).epsilon_lower)
    assert likely.epsilon_lower > 2.0


def test_perfect_attacks_prove_what_the_sheet_says() -> None:
    """T perfect rounds per side give about log(T/log(2/γ))."""
    found = from_errors((0, 0), 10_000, confidence=0.95).epsilon_lower
    assert found == pytest.approx(math.log(10_000 / math.log(2 / 0.05)), abs=0.01)


def test_delta_is_one_event_for_the_whole_curve() -> None:
    found = from_errors((50, 300), 1000)
    for delta, epsilon in found.curve.items():
        again = from_errors((50, 300), 1000, delta=delta).epsilon_lower
        assert again == pytest.approx(epsilon)
    assert from_errors((500, 500), 1000).epsilon_lower == 0.0


def test_a_claim_is_violated_or_stands() -> None:
    assert from_errors((50, 300), 1000, claimed=Pure(2.0)).is_violation
    assert from_errors((50, 300), 1000, claimed=Pure(2.0)).verdict == "violation"
    assert not from_errors((50, 300), 1000, claimed=Pure(2.4)).is_violation
    # μ is held against a Gaussian claim, ε against its curve
    assert from_errors((50, 300), 1000, claimed=GaussianDP(1.9), delta=1e-3).is_violation
    assert not from_errors((50, 300), 1000, claimed=GaussianDP(2.5), delta=1e-3).is_violation
    approximate = from_errors((50, 300), 1000, claimed=Approximate(2.0, 0.01), delta=0.01)
    assert approximate.is_violation
    none = from_errors((50, 300), 1000)
    assert none.to_dict()["claimed"] is None
    assert none.verdict == "nothing was claimed"


def test_bound_and_claim_share_one_delta() -> None:
    """At δ = 0 a Gaussian mechanism has no ε at all: its claim must be met at a δ of its own."""
    runs = 10**7
    errors = int(runs * norm.cdf(-3.0)), int(runs * norm.cdf(2.9))
    assert from_errors(errors, runs).epsilon_lower > 0.25
    for claimed in (GaussianDP(0.1), Approximate(0.25, 0.001)):
        found = from_errors(errors, runs, claimed=claimed)
        assert found.delta > 0.0
        assert not found.is_violation
        assert found.epsilon_lower <= found.claimed_epsilon
    rng = np.random.default_rng(7)
    scores = Scores(rng.normal(0.1, 1.0, 2000), rng.normal(0.0, 1.0, 2000))
    assert scores.audit(claimed=GaussianDP(0.1), confidence=1 - 1e-6).delta == 1e-3


def randomised_response(rng: np.random.Generator, runs: int) -> tuple[int, int]:
    """Hits of the true answer on both inputs, ε = 1."""
    truth = 1.0 / (1.0 + math.exp(-1.0))
    return int(rng.binomial(runs, truth)), int(rng.binomial(runs, 1.0 - truth))


def test_coverage_of_hits_and_errors() -> None:
    def hits(rng: np.random.Generator) -> float:
        return from_hits(randomised_response(rng, 400), 400, confidence=1 - GAMMA).epsilon_lower

    def errors(rng: np.random.Generator) -> float:
        right, wrong = randomised_response(rng, 400)
        return from_errors((wrong, 400 - right), 400, confidence=1 - GAMMA).epsilon_lower

    assert covers(hits, 1.0, 800) > 0.7
    assert covers(errors, 1.0, 800) > 0.75


def test_coverage_at_a_delta() -> None:
    """Leaks with probability δ = .1, else randomised response with ε = 1."""

    def bound(rng: np.random.Generator) -> float:
        found = rng.binomial(400, 0.1 + 0.9 / (1.0 + math.exp(-1.0)))
        alarms = rng.binomial(400, 0.9 / (1.0 + math.exp(1.0)))
        return from_errors(
            (int(alarms), 400 - int(found)), 400, delta=0.1, confidence=1 - GAMMA
        ).epsilon_lower

    assert covers(bound, 1.0, 800) > 0.7


def test_coverage_of_gaussian_audits() -> None:
    def bound(rng: np.random.Generator) -> float:
        alarms = rng.binomial(400, norm.cdf(-0.5))
        misses = rng.binomial(400, norm.cdf(-0.5))
        found = from_errors((int(alarms), int(misses)), 400, confidence=1 - GAMMA)
        return found.parameter[2]

    assert covers(bound, 1.0, 800) > 0.75


def test_coverage_of_games_whose_threshold_is_learnt() -> None:
    """Laplace noise of scale 1 on a difference of 1: ε = 1, at every threshold outside [0, 1]."""

    def bound(rng: np.random.Generator) -> float:
        scores = Scores(rng.laplace(1.0, 1.0, 400), rng.laplace(0.0, 1.0, 400))
        return scores.audit(confidence=1 - GAMMA).epsilon_lower

    assert covers(bound, 1.0, 400) > 0.4


def test_audits_cannot_be_told_a_threshold() -> None:
    """The odd rounds prove; changing the even ones moves the threshold, never the counts."""
    rng = np.random.default_rng(3)
    members, nonmembers = rng.normal(1.0, 1.0, 200), rng.normal(0.0, 1.0, 200)
    first = Scores(members, nonmembers).audit()
    assert first.proof is not None
    assert first.proof.of == 100
    assert first.tested == 200
    threshold = float(first.proof.event.split(" > ")[1])
    assert first.proof.hits[1] == int((members[1::2] > threshold + 1e-6).sum())
    with pytest.raises(TypeError):
        Scores(members, nonmembers).audit(threshold=0.0)  # type: ignore[call-arg]


def test_coverage_of_one_run() -> None:
    """M = r = 400 independent canaries by randomised response with ε = 1."""
    truth = 1.0 / (1.0 + math.exp(-1.0))

    @cache
    def proved(right: int) -> float:
        return one_run(400, 400, right, confidence=1 - GAMMA).epsilon_lower

    def bound(rng: np.random.Generator) -> float:
        return proved(int(rng.binomial(400, truth)))

    assert covers(bound, 1.0, 600) > 0.8


def test_coverage_of_gaussian_one_run() -> None:
    """60 canaries released with N(0, 1), μ = 1; the 20 largest |x - ½| are guessed."""

    def bound(rng: np.random.Generator) -> float:
        member = rng.random(60) < 0.5
        seen = member + rng.normal(size=60) - 0.5
        sure = np.argsort(-np.abs(seen))[:20]
        right = int((member[sure] == (seen[sure] > 0)).sum())
        return one_run_gaussian(60, 20, right, confidence=1 - GAMMA).parameter[2]

    assert covers(bound, 1.0, 300) > 0.2


def test_one_run_formulas() -> None:
    """Naive twins of both, from the formulas."""
    assert tail(100, 50, 40, 1.0, 0.0) == pytest.approx(binom.sf(39, 50, 1 / (1 + math.exp(-1.0))))
    q, delta = 1 / (1 + math.exp(-1.0)), 1e-4
    slack = max(sum(binom.pmf(j, 50, q) for j in range(40 - i, 40)) / i for i in range(1, 41))
    expected = binom.sf(39, 50, q) + 2 * 100 * delta * slack
    assert tail(100, 50, 40, 1.0, delta) == pytest.approx(expected)
    hit, wrong = 0.05 * 40 / 100, 0.05 * 10 / 100
    for i in range(39, -1, -1):
        more = max(wrong, norm.cdf(norm.ppf(hit) - 0.3)) if hit < 1 else 1.0
        hit, wrong = min(1.0, hit + i / (50 - i) * (more - wrong)), more
    assert rejected(100, 50, 40, 0.3, 0.05) == (hit + wrong > 0.5)
    mu = one_run_gaussian(100, 50, 48).parameter[2]
    assert mu > 0.2
    assert rejected(100, 50, 48, mu * 0.999, 0.05)
    assert not rejected(100, 50, 48, mu * 1.001, 0.05)
    assert one_run(1000, 100, 95, delta=1e-5).epsilon_lower < one_run(1000, 100, 95).epsilon_lower
    assert one_run(10, 10, 5).epsilon_lower == 0.0


def test_one_run_on_a_gaussian_curve_refutes_gaussian_claims_alone() -> None:
    """Randomised response at ε = 1 keeps ε = 1. The Gaussian curve that it is off has more at
    δ = 1e-5, which says nothing about a claim of ε = 1."""
    canaries = 5000
    right = round(canaries / (1.0 + math.exp(-1.0)))
    found = one_run_gaussian(canaries, canaries, right)
    assert found.epsilon_lower > 1.0
    mu = found.parameter[2]
    for claim in (Pure(1.0), Approximate(1.0, 1e-5), ZCDP(0.01), GaussianDP(1.01 * mu)):
        assert not one_run_gaussian(canaries, canaries, right, claimed=claim).is_violation
    false = GaussianDP(0.99 * mu)
    assert one_run_gaussian(canaries, canaries, right, claimed=false).is_violation


def test_coverage_of_wagers_stopped_at_their_best() -> None:
    """ε = 1: the claim ε = 1 is true, and a wager against it ever wins with probability <= γ."""
    truth = 1.0 / (1.0 + math.exp(-1.0))

    def bound(rng: np.random.Generator) -> float:
        pairs = np.stack([rng.random(600) < truth, rng.random(600) < 1.0 - truth], axis=1)
        return wagers(pairs, confidence=1 - GAMMA).epsilon_lower

    assert covers(bound, 1.0, 120) > 0.4


def test_wagers_agree_with_one_wager_and_use_the_past_only() -> None:
    rng = np.random.default_rng(4)
    pairs = np.stack([rng.random(300) < 0.8, rng.random(300) < 0.2], axis=1)
    bound = wagers(pairs).epsilon_lower
    below, above = Wager(bound), Wager(bound + 0.02)
    for first, second in pairs:
        below.see(bool(first), bool(second))
        above.see(bool(first), bool(second))
    assert below.rejected
    assert not above.rejected
    shorter = wagers(pairs[:150]).epsilon_lower
    assert shorter <= bound
    assert wagers([]).epsilon_lower == 0.0


def test_bayesian_bounds_are_labelled() -> None:
    found = bayesian((50, 300), 1000)
    assert "credible bound, not a confidence bound" in found.inputs
    draws = np.random.default_rng(5)
    level, miss = draws.beta(50.5, 950.5, 10**6), draws.beta(300.5, 700.5, 10**6)
    expected = np.quantile(np.maximum(np.log((1 - miss) / level), np.log((1 - level) / miss)), 0.05)
    assert found.epsilon_lower == pytest.approx(float(expected), abs=0.01)
    assert found.epsilon_lower > from_errors((50, 300), 1000).epsilon_lower


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_hits((500, 1001), 1000), "hits must be a whole number from 0 to 1,000"),
        (lambda: from_hits((5, -1), 1000), "hits must be a whole number from 0 to 1,000"),
        (lambda: from_hits((5.5, 1), 1000), "hits must be a whole number from 0"),
        (lambda: from_errors((0, 0), 0), "runs must be a whole number from 1"),
        (lambda: from_errors((0, 0), 10, delta=1.0), "delta must be a number in [0, 1)"),
        (lambda: from_errors((0, 0), 10, delta=math.nan), "delta must be a number in [0, 1)"),
        (
            lambda: from_errors((0, 0), 10, confidence=0.0),
            "confidence must be a finite number strictly between",
        ),
        (lambda: one_run(10, 11, 3), "guesses must be a whole number from 1 to 10"),
        (lambda: one_run(10, 5, 6), "right must be a whole number from 0 to 5"),
        (lambda: Wager(-1.0), "epsilon must be a finite number from 0 to 700"),
    ],
)
def test_bad_counts_are_named(call: Callable[[], Audit], message: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        call()
    assert message in str(error.value)


def test_score_limits_cover() -> None:
    """All three limits of a normal game, 200 times at 90 %: each must cover, at 1e-7."""
    rng = np.random.default_rng(6)
    missed: dict[str, int] = {"advantage": 0, "auc": 0, "power": 0}
    for _ in range(200):
        scores = Scores(rng.normal(1.0, 1.0, 300), rng.normal(0.0, 1.0, 300), threshold=0.5)
        truths: list[tuple[str, tuple[float, float], Any]] = [
            ("advantage", scores.advantage_limits(1 - GAMMA), 2 * norm.cdf(0.5) - 1),
            ("auc", scores.auc_limits(1 - GAMMA), norm.cdf(1 / math.sqrt(2))),
            ("power", scores.power_limits(0.1, 1 - GAMMA), norm.cdf(norm.ppf(0.1) + 1)),
        ]
        for name, (low, high), truth in truths:
            missed[name] += not low <= truth <= high
    assert max(missed.values()) <= binom.isf(1e-7, 200, GAMMA)


def test_discrete_scores_need_a_coin() -> None:
    scores = Scores([1.0] * 75 + [0.0] * 25, [1.0] * 25 + [0.0] * 75, threshold=0.5)
    assert scores.power(0.1) == pytest.approx(0.3)
    assert scores.power(0.25) == pytest.approx(0.75)
    assert scores.auc == pytest.approx(0.75)
    assert scores.advantage == pytest.approx(0.5)
    assert scores.curve().epsilon(0.0) == pytest.approx(math.log(3.0))
    low, high = scores.power_limits(0.0)
    assert low == 0.0 <= high
    assert scores.power_limits(1.0)[1] == 1.0
