"""Audits of DP-SGD: never above a true claim, and a false one is found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from naive_gradients import dp_sum
from scipy.stats import binom

from discreet.errors import InvalidArgument
from discreet.membership import Scores
from discreet.membership.gradients import (
    DPSGD,
    ConvNet,
    GradientCanaries,
    PointCanary,
    SoftmaxRegression,
    audit_dpsgd,
    curve_audit,
    fashion_mnist_sample,
)
from discreet.membership.gradients._audits import METHODS, play
from discreet.membership.gradients._dpsgd import totals

ALARM = 4.9  # normal quantile of 1e-6 / 2


def mechanism(noise: float = 2.0, steps: int = 2, sampling: float = 1.0, n: int = 16) -> DPSGD:
    images = fashion_mnist_sample()
    x, y = images.features(7)[:n], images.labels[:n]
    model = SoftmaxRegression(16)
    start = model.start(np.random.default_rng(1))
    return DPSGD(model, x, y, start, noise=noise, steps=steps, sampling=sampling)


def quiet(subject: DPSGD) -> GradientCanaries:
    """A Dirac in a corner that no image touches."""
    gradient = np.zeros(subject.model.size)
    gradient[0] = 1.0
    return GradientCanaries(gradient)


def test_totals_of_many_runs_are_the_naive_sums() -> None:
    subject = mechanism()
    rng = np.random.default_rng(2)
    thetas = np.array([subject.model.start(rng) for _ in range(3)])
    coins = rng.random((3, 16)) < 0.5
    plain = totals(subject.model, thetas, subject.x, subject.y, 1.0)
    some = totals(subject.model, thetas, subject.x, subject.y, 1.0, coins)
    for r in range(3):
        each = subject.model.gradients(thetas[r], subject.x, subject.y)
        assert np.allclose(plain[r], dp_sum(each, 1.0), atol=1e-5)
        assert np.allclose(some[r], dp_sum(each[coins[r]], 1.0), atol=1e-5)


def test_the_score_is_the_likelihood_ratio_of_a_full_batch() -> None:
    """Sums of normals: N(∓m/2, m) with m = T/γ², whatever the data."""
    subject = mechanism(noise=2.0, steps=3)
    (members, nonmembers), _ = play(subject, quiet(subject), 2000, np.random.default_rng(3))
    m = 3 / 4.0
    for scores, mean in ((members, m / 2), (nonmembers, -m / 2)):
        assert abs(scores.mean() - mean) < ALARM * math.sqrt(m / 2000)
        assert abs(scores.var() - m) < ALARM * m * math.sqrt(2.0 / 2000)


def test_sent_or_nothing_shifts_by_the_whole_gradient() -> None:
    """A canary at the others' mean is still seen: the shift is g*, not g* - μ."""
    subject = mechanism(noise=1.0, steps=1)
    each = subject.model.gradients(subject.start, subject.x, subject.y)
    mean = each.mean(axis=0)
    canary = GradientCanaries(mean / np.linalg.norm(mean))
    (members, nonmembers), _ = play(subject, canary, 1000, np.random.default_rng(4))
    gap = members.mean() - nonmembers.mean()
    assert abs(gap - 1.0) < ALARM * math.sqrt(2.0 / 1000)


def test_a_point_and_a_net_can_be_audited() -> None:
    images = fashion_mnist_sample()
    net = ConvNet((28, 28, 1), (2, 2, 2))
    x, y = images.scaled()[:6, ..., None], images.labels[:6]
    subject = DPSGD(net, x, y, net.start(np.random.default_rng(1)), noise=0.5, steps=2)
    canary = PointCanary(images.scaled()[9][..., None], 3)
    (members, nonmembers), (last, _) = play(subject, canary, 40, np.random.default_rng(5))
    assert members.mean() > nonmembers.mean()
    assert np.isfinite(last).all()


REPEATS, SIDE = 200, 60


@pytest.fixture(scope="module")
def repeated() -> dict[float, Any]:
    """Scores of 200 small games on the true mechanism, by sampling."""
    found = {}
    for sampling in (1.0, 0.5):
        subject = mechanism(noise=1.5, sampling=sampling)
        rng = np.random.default_rng(6)
        (members, nonmembers), _ = play(subject, quiet(subject), REPEATS * SIDE, rng)
        found[sampling] = (
            subject, members.reshape(REPEATS, SIDE), nonmembers.reshape(REPEATS, SIDE)
        )  # fmt: skip
    return found


@pytest.mark.parametrize("sampling", [1.0, 0.5])
def test_two_hundred_audits_are_never_above_the_accountant(
    repeated: dict[float, Any], sampling: float
) -> None:
    """Each is wrong with probability at most 1 - confidence: at 1e-6/200 none of 200 may be, and
    at 5 % no more than the binomial quantile of 1e-6."""
    subject, members, nonmembers = repeated[sampling]
    delta = 1e-5
    budget = subject.claim(delta)
    promised = budget.to_approximate(delta).epsilon
    above = 0
    for inside, outside in zip(members, nonmembers, strict=True):
        scores = Scores(inside, outside, threshold=0.0)
        sure = scores.audit(delta=delta, confidence=1.0 - 1e-6 / REPEATS, claimed=budget)
        assert not sure.epsilon_lower > promised
        usual = scores.audit(delta=delta, confidence=0.95, claimed=budget)
        above += usual.epsilon_lower > promised
        if sampling == 1.0:
            curve = curve_audit(scores, subject, delta, 1.0 - 1e-6 / REPEATS)
            assert not curve.is_violation
    assert above <= binom.isf(1e-6, REPEATS, 0.05)


def test_the_curve_audit_has_its_confidence(repeated: dict[float, Any]) -> None:
    subject, members, nonmembers = repeated[1.0]
    wrong = sum(
        curve_audit(Scores(inside, outside, threshold=0.0), subject, 1e-5, 0.95).is_violation
        for inside, outside in zip(members, nonmembers, strict=True)
    )
    assert wrong <= binom.isf(1e-6, REPEATS, 0.05)


@pytest.mark.parametrize("sampling", [1.0, 0.5])
def test_half_the_noise_is_found(sampling: float) -> None:
    """Full batches: μ is 2 where 1 is claimed, so 16 % of 1500 runs per side err where the claim
    needs 31 %, fifteen standard deviations more: missed with probability far below 1e-6."""
    claimed = mechanism(noise=math.sqrt(2.0), sampling=sampling)
    broken = claimed.with_noise(math.sqrt(2.0) / 2)
    sides, _ = play(broken, quiet(broken), 1500, np.random.default_rng(7))
    found = curve_audit(Scores(*sides, threshold=0.0), claimed, 1e-5, 0.95)
    assert found.is_violation
    assert found.epsilon_lower > found.claimed_epsilon


def test_the_table_says_claimed_proved_by_what_and_in_how_many_runs() -> None:
    subject = mechanism(noise=2.0, steps=4)
    table = audit_dpsgd(subject, runs=60, canaries=80, seed=3)
    assert [line.by for line in table.lines] == [
        "send or nothing", "send or nothing, Gaussian", "last iterate", "game (replace)",
        "one run", "one run, Gaussian",
    ]  # fmt: skip
    promised = subject.claim(1e-5).to_approximate(1e-5).epsilon
    exchange = subject.claim(1e-5, "replace").to_approximate(1e-5).epsilon
    for line in table.lines:
        expected = exchange if line.by.startswith("game") else promised
        assert line.claimed == pytest.approx(expected)
        assert line.runs == (1 if line.by.startswith("one run") else 120)
    text = str(table)
    assert "claimed ε  proved ε  by" in text
    assert "heuristic bound: 4.377" in text
    saved: Any = table.to_dict()
    assert saved["lines"][0]["by"] == "send or nothing"
    assert table["one run"].runs == 1
    assert str(audit_dpsgd(subject, runs=60, canaries=80, seed=3)) == text


def test_an_assumption_is_never_a_violation() -> None:
    claimed = mechanism(noise=1.0, steps=2, sampling=0.5)
    table = audit_dpsgd(
        claimed.with_noise(0.05), claimed=claimed, methods=["one-run", "one-run-gaussian"],
        canaries=150, guesses=150, seed=1,
    )  # fmt: skip
    line = table["one run, Gaussian"]
    assert line.note == "assumes a Gaussian curve"
    assert not line.is_violation


def test_methods_can_be_chosen_and_bad_input_is_refused() -> None:
    subject = mechanism()
    only = audit_dpsgd(subject, runs=20, methods=["game"])
    assert [line.by for line in only.lines] == ["game (replace)"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"methods": ["guess"]}, "methods must be among"),
        ({"methods": []}, "methods must name at least one"),
        ({"runs": 1}, "runs must be a whole number from 4"),
        ({"canaries": 10_000}, "canaries must be at most the 170 parameters"),
        ({"delta": 2.0}, "delta must be a number"),
        ({"confidence": 1.0}, "confidence must be a finite"),
    ]
    for options, message in cases:
        with pytest.raises(InvalidArgument, match=message):
            audit_dpsgd(subject, **options)
    with pytest.raises(InvalidArgument, match="canary must be rows of 170 finite numbers"):
        play(subject, GradientCanaries(np.zeros(3)), 4, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="noise must be above 0"):
        subject.with_noise(0.0)
    assert len(METHODS) == 6
