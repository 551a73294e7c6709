"""Propensities: the shares of a window, laws of sampled choices, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import discreet
from discreet.errors import InvalidArgument, TrialError, UnknownUnit
from discreet.linear._propensity import highest
from discreet.live import Assignment, Features, Trial

FAR = 5.2
"""Standard errors: a false alarm has a probability below 1e-6 in all tests here together."""


def test_shares_of_whole_windows_and_the_first_of_each() -> None:
    """In a window everybody's propensity is the share of their arm among the places of the window;
    and the first of a window gets an arm as often as that says."""
    surplus, variance, uneven = 0.0, 0.0, 0
    for seed in range(30):
        rehearsal = discreet.Rehearsal(
            discreet.policy("dp-imed", epsilon=4.0), ["A", "B"], horizon=96, arrivals=12, delay=0.5,
            default=0.0, seed=seed, assignment=Assignment(window=8, share={"A": 0.2, "B": 0.2}),
        )  # fmt: skip
        visits = []
        for visit in rehearsal.participants():
            rehearsal.answer(visit.unit, float(visit.arm == "A"))
            visits.append((visit.arm, rehearsal.trial.propensity(visit.unit)))
        for start in range(0, 96, 8):
            window = visits[start : start + 8]
            counts = Counter(arm for arm, _ in window)
            assert [p for _, p in window] == [counts[arm] / 8 for arm, _ in window]
            share = counts["A"] / 8
            surplus += (window[0][0] == "A") - share
            variance += share * (1 - share)
            uneven += share != 0.5
    assert uneven > 100
    assert abs(surplus) < FAR * math.sqrt(variance)


def test_a_window_is_remembered(tmp_path: Path) -> None:
    """A trial that is opened again in the middle of a window knows how it was planned; weights have
    their own shares, a batch without coins has 1."""
    path = tmp_path / "trial.db"
    row = discreet.policy("dp-imed", epsilon=1.0)
    with Trial(row, ["A", "B", "C"], path=path, assignment=Assignment(window=6)) as trial:
        for unit in range(2):
            trial.assign(unit)
    with Trial.load(path) as trial:
        trial.assign_many([2, 3])
        assert [trial.propensity(unit) for unit in range(4)] == [1 / 3] * 4
        trial.drop("C")
        arms = trial.assign_many(range(4, 10))
        shares = [trial.propensity(unit) for unit in range(4, 10)]
        assert shares == [arms.count(arm) / 6 for arm in arms]
        weights = trial.weights()
        arm = weights.pick("visitor")
        trial.exposed([("visitor", arm, weights.version)])
        assert trial.propensity("visitor") == weights.shares[arm]
    batch = Trial(
        discreet.policy("dp-se", epsilon=1.0), 2, 1000, assignment=Assignment(streams=False)
    )
    batch.assign("p")
    assert batch.propensity("p") == 1.0


def test_what_is_not_known_is_refused() -> None:
    kits = Assignment(kits={"A": ["K1"], "B": ["K2"]})
    hidden = Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], assignment=kits)
    hidden.assign("p")
    with pytest.raises(TrialError, match="kits"):
        hidden.propensity("p")
    with pytest.raises(UnknownUnit, match="assigned"):
        Trial(discreet.policy("dp-imed", epsilon=1.0), 2).propensity("nobody")
    sampled = discreet.policy("lazy-dp-ts", epsilon=1.0)
    trial = Trial(sampled, 2, assignment=Assignment(streams=False))
    for unit in range(3):
        trial.assign(unit)
        trial.record(unit, 1.0)
    assert trial.propensity(0) == 1.0  # the first two are for arms without a release
    with pytest.raises(TrialError, match=r"Rehearsal\.propensities"):
        trial.propensity(2)


def test_the_highest_of_normals_by_simulation() -> None:
    rng = np.random.default_rng(5)
    for means, sds in (
        ([0.1, 0.3, 0.2], [1.0, 0.2, 0.5]), ([0.0, 0.02], [1e-4, 0.05]),
        ([0.5, 0.5, 0.5, 0.1], [0.3, 0.3, 0.0, 2.0]),
    ):  # fmt: skip
        drawn = np.array(means) + np.array(sds) * rng.standard_normal((100_000, len(means)))
        seen = np.bincount(drawn.argmax(axis=1), minlength=len(means)) / len(drawn)
        found = [highest(means, sds, arm) for arm in range(len(means))]
        assert sum(found) == pytest.approx(1.0, abs=1e-8)
        for p, share in zip(found, seen, strict=True):
            assert abs(p - share) < FAR * math.sqrt(max(p * (1 - p), 1e-5) / len(drawn))
    first = 0.5 * math.erfc(-0.1 / math.sqrt(2 * (0.09 + 0.16)))
    assert highest([0.5, 0.4], [0.3, 0.4], 0) == pytest.approx(first, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "arms", "budget"),
    [
        ("blocks-ts", 3, {"epsilon": 2.0}),
        ("adac-ts", 2, {"rho": 0.5}),
        ("adac-oful", 3, {"rho": 1.0}),
    ],
)
def test_contexts_that_are_public(name: str, arms: int, budget: dict[str, float]) -> None:
    """What is stored is how often the policy chooses the arm, on the state at that moment."""
    from discreet.live._contexts import blocks

    make: Any = discreet.policy
    row = make(name, **budget)
    trial = Trial(row, arms, 300, features=Features(2 * arms, longest=1.0))
    rng, checked = np.random.default_rng(9), 0
    for unit in range(80):
        actions = blocks(rng.uniform(-0.7, 0.7, 2), arms)
        run: Any = trial._run
        head, context = run.head, run.context(actions)
        arm = trial.assign(unit, actions)
        if unit % 26 == 25 and not run.waits:
            p = trial.propensity(unit)
            drawn = [run.steps.turn(run.design, head, context, rng) for _ in range(1500)]
            hits = drawn.count(trial.arms.index(arm))
            assert binomtest(hits, 1500, p).pvalue > 1e-8
            if name == "blocks-ts" and arms == 3:
                each = run.chooser.propensities(head.seen, context, arms)
                assert math.fsum(each) == pytest.approx(1.0, abs=1e-7)
            checked += 1
        trial.record(unit, float(rng.random() < 0.5))
    assert checked >= 2


def test_private_contexts_are_refused() -> None:
    row: Any = discreet.policy("jdp-ts", rho=0.5)
    trial = Trial(row, 2, 100, features=Features(2, longest=1.0))
    trial.assign("p", [[0.5, 0.0], [0.0, 0.5]])
    with pytest.raises(TrialError, match="private"):
        trial.propensity("p")


def test_rehearsals_say_how_likely_each_arm_was() -> None:
    """By the policy's own choices: of 1,000 others with the same state, as many as it says."""
    rehearsal = discreet.Rehearsal(discreet.policy("thompson"), ["A", "B", "C"], seed=2)
    for number in range(40):
        rehearsal.update(rehearsal.select(), float(number % 3 == 0))
    first, second = rehearsal.propensities(4000), rehearsal.propensities(draws=2000)
    assert math.fsum(first.values()) == pytest.approx(1.0)
    chosen = [np.random.default_rng(seed) for seed in range(2000)]
    arms = Counter(_chosen(rehearsal, rng) for rng in chosen)
    for number, name in enumerate(rehearsal.arms):
        p = first[name]
        error = math.sqrt(p * (1 - p) * (1 / 4000 + 1 / 2000))
        assert abs(p - arms[number] / 2000) <= FAR * error
        assert abs(p - second[name]) <= FAR * error
    steady = discreet.Rehearsal(discreet.policy("ucb1"), 2, seed=1)
    assert steady.propensities() == {0: 1.0, 1: 0.0}
    with pytest.raises(InvalidArgument, match="draws"):
        steady.propensities(0)


def _chosen(rehearsal: discreet.Rehearsal, rng: np.random.Generator) -> int:
    """Thompson's choice by its formula: the largest of Beta(1 + successes, 1 + failures)."""
    view = rehearsal._run.view
    drawn = [
        rng.beta(1.0 + value * size, 1.0 + (1.0 - value) * size)
        for value, size in zip(view.value, view.size, strict=True)
    ]
    return int(np.argmax(drawn))
