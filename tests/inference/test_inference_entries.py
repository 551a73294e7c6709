"""What releases say of themselves: against their own kernels, and coverage of the rarer kinds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.stats import binom

import discreet
from discreet._compiled import Function
from discreet.errors import InvalidArgument
from discreet.inference import Recording, differences, evidence, intervals, recording
from discreet.inference import _sigmoids as sigmoids
from discreet.inference._record import LONGEST, History, Record, check_kind, note
from discreet.policies import (
    CATALOGUE,
    UCB1,
    EachRound,
    ForgetLaplace,
    Geometric,
    Policy,
    RunningLaplace,
    SecureSum,
)
from discreet.policies._view import View
from discreet.policies.releases._entries import AGAIN, FRESH, TOGETHER, Noise, Silence, entries_of
from discreet.policies.releases._exact import publish_exact

FALSE_ALARM = 1e-7
MEANS = [0.6, 0.5, 0.3]


def row_of(name: str) -> Policy:
    options = {"private-thompson": {"gap_estimation": False, "fill": 64}}
    entry = CATALOGUE[name]
    budget = entry.example_budget
    return entry.policy(budget, **options.get(name, {})) if name in options else entry.example()


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_entries_are_what_the_kernel_adds(name: str) -> None:
    """The noise that a release says is in its sums, against `mean_noise`, which runs the kernel on
    symbols or has a formula of its own; a release without a mean says why."""
    row = row_of(name)
    setting = row.setting(2, 1000)
    found = entries_of(row.release, setting)
    if isinstance(found, Silence):
        assert name.startswith("dp-ftpl")
        assert row.release.name in found.reason
        return
    sizes = [1] * 8 if not row.schedule.grows else [1, 1, 2, 4]
    if found.kind == AGAIN and name == "private-thompson":
        sizes = [8]
    stated = row.release.mean_noise(setting, sizes, *([8] if found.kind == TOGETHER else []))
    if found.sigmoid:
        assert stated is None
        return
    assert stated is not None
    whole = sizes[-1] if found.kind == FRESH else sum(sizes)
    if name == "lazy-dp-ts":
        whole = 4  # 1, then 2, then 4 of 1 + 2 + 5
    draws = len(sizes)
    if found.kind in (AGAIN, FRESH):
        draws = 1
    elif found.reads == "powers":
        draws = 4  # blocks up to 1, 2, 4 and 8
    scale = found.noise.scale * whole**found.power / whole
    if found.noise.each:
        draws = sum(sizes)
    if found.factor != 1.0 or found.noise.kind == "none":
        assert all(part.law == "response" for part in stated.parts)
        return
    variance = draws * scale**2 * (2.0 if found.noise.kind == "laplace" else 1.0)
    if row.release.name == "forget + truncated Laplace":
        assert stated.sd**2 <= variance * (1.0 + 1e-9)
    else:
        assert stated.sd**2 == pytest.approx(variance, rel=1e-6)


def test_a_release_that_publishes_in_its_own_way_must_say_so_itself() -> None:
    @dataclass(frozen=True)
    class Quiet(RunningLaplace):
        name: ClassVar[str] = "quiet"
        publish: ClassVar[Function] = staticmethod(publish_exact)

    row = Policy("mine", EachRound(), Quiet(1.0), UCB1())
    found = recording(row, row.setting(2, 100))
    assert isinstance(found, Silence)
    assert "'quiet' publishes in a way of its own" in found.reason

    @dataclass(frozen=True)
    class Own(EachRound):
        length: ClassVar[Function] = staticmethod(lambda schedule, memory, view, arm: 2)

    sizes = Policy("mine", Own(), ForgetLaplace(1.0), UCB1())
    assert recording(sizes, sizes.setting(2, 100)).looks is None  # type: ignore[union-attr]


def played(row: Policy, horizon: int, seed: int, binary: bool = True) -> Record:
    rehearsal = discreet.Rehearsal(row, 3, horizon=horizon, seed=seed)
    rewards = np.random.default_rng(10_000 + seed)
    while rehearsal.remaining:
        arm, size = int(rehearsal.select()), rehearsal.remaining
        rehearsal.update_many(arm, (rewards.random(size) < MEANS[arm]).astype(float))
    record = rehearsal.public_record(binary=binary)
    assert record is not None
    return record


COVERED: list[tuple[str, Policy, int, float]] = [
    ("idle counters", discreet.policy("dp-ucb-td", epsilon=1.0), 256, 0.7),
    ("tree after blocks", row_of("private-thompson"), 600, 0.7),
    ("sigmoid bits", discreet.policy("ldp-ucb-bs", epsilon=4.0), 150, 1.01),
    ("sigmoids with noise", discreet.policy("ldp-ucb-ls", epsilon=20.0), 150, 1.01),
    ("regular batches", discreet.policy("dp-tsallis", epsilon=2.0), 120, 0.8),
]


@pytest.mark.parametrize(
    ("row", "horizon", "widest"), [c[1:] for c in COVERED], ids=[c[0] for c in COVERED]
)
def test_intervals_cover_on_adaptive_trials(row: Policy, horizon: int, widest: float) -> None:
    """One arm of a trial is counted, so that misses are binomial: false alarms below 1e-7. Where
    outcomes are binary the mean of sigmoids tells their mean."""
    missed = beside = 0
    widths = [0.0]
    for seed in range(45):
        record = played(row, horizon, seed)
        arm = seed % 3
        missed += MEANS[arm] not in intervals(record)[arm]
        if record.recorded.sigmoid:
            free = played(row, horizon, seed, binary=False)
            found = intervals(free)
            assert found.estimand == "sigmoid"
            beside += 0.5 + sigmoids.SLOPE * MEANS[arm] not in found[arm]
            # bounds for any outcomes in [0, 1] hold what holds for binary ones
            wide = intervals(Record(free.recorded, free.arms, free.history))[arm]
            own = intervals(record)[arm]
            assert wide.low <= own.low <= own.high <= wide.high
        else:
            widths.append(intervals(record)[0].width)
    most = binom.isf(FALSE_ALARM, 45, 0.05)
    assert missed <= most
    assert beside <= most
    assert np.mean(widths) < widest


def test_counters_that_run_on_together() -> None:
    """Entries at powers of two of all rounds, with as many noises as there were; the differences
    hold the sums of the blocks."""
    record = played(discreet.policy("dp-ucb-td", epsilon=1.0), 100, 1)
    assert record.recorded.kind == TOGETHER
    assert check_kind("auto", record.recorded) == "anytime"
    for arm in range(3):
        batches = record.batches(arm)
        assert sum(b.draws for b in batches) == 7  # 1, 2, 4, ..., 64
        assert sum(b.size for b in batches) == record.history[arm][-1][0]
        # a tilt is fixed before its block begins: by what was there
        for batch, entry in zip(batches[1:], record.history[arm], strict=False):
            assert batch.planned == entry[0]
        assert batches[0].planned == 1
    assert sum(history[-1][0] for history in record.history) == 64
    gap = differences(record, against=2)[0]
    assert gap.low < gap.high
    assert evidence(record, 0, 2).value > 0.0


def test_means_of_sigmoids() -> None:
    """Both ends are reached: by equal outcomes and by outcomes at the ends of the range."""
    for mean in (0.2, 0.5, 0.9):
        equal = 1.0 / (1.0 + math.exp(-mean))
        split = 0.5 + sigmoids.SLOPE * mean
        assert sigmoids.least_mean(equal, False) == pytest.approx(mean)
        assert sigmoids.largest_mean(split) == pytest.approx(mean)
        assert sigmoids.least_mean(split, True) == pytest.approx(mean)
        assert 0.0 <= sigmoids.largest_mean(equal) - mean <= sigmoids.BEND
    widest = max(
        sigmoids.largest_mean(s) - sigmoids.inverse(s) for s in np.linspace(0.5, 0.731, 5001)
    )
    assert pytest.approx(widest, abs=1e-7) == sigmoids.BEND


def test_evidence_of_sigmoids_allows_for_their_bend() -> None:
    """The first arm has equal outcomes and the second split ones of a higher mean: its sigmoids are
    larger all the same, and no evidence for a higher mean may grow of it."""
    recorded = Recording("running", Noise("none", 0.0), "last", sigmoid=True)
    size = 10**7
    first, second = 1.0 / (1.0 + math.exp(-0.5)), 0.5 + sigmoids.SLOPE * 0.52
    assert first > second
    history = (((size, first),), ((size, second),))
    record = Record(recorded, ("a", "b"), history)
    assert evidence(record, "a", "b").p_value == 1.0
    assert -0.02 in differences(record, against="b")[0]
    # binary outcomes have no bend, and then it is evidence
    assert evidence(Record(recorded, ("a", "b"), history, binary=True), "a", "b").p_value < 0.01


def test_outcomes_of_any_size_have_no_interval() -> None:
    rehearsal = discreet.Rehearsal(discreet.policy("ucb1"), 2, seed=1)
    rehearsal.update(rehearsal.select(), 1e9)
    with pytest.raises(InvalidArgument, match="outcomes in a known range"):
        intervals(rehearsal)
    leader = discreet.Rehearsal(
        discreet.policy("dp-ftpl-gauss", epsilon=1.0, delta=0.01), 2, horizon=100
    )
    with pytest.raises(InvalidArgument, match="a perturbed leader shows its choices only"):
        intervals(leader)


def test_many_batches_of_one_size_are_added_up() -> None:
    """The history stays short, and the evidence is the same to rounding."""
    for kind in ("fresh", "running"):
        recorded = Recording(kind, Noise("laplace", 1.0))
        rng, naive = np.random.default_rng(1), []
        history: History = [[]]
        view = View([0.0], [0], [0])  # type: ignore[arg-type]
        total = 0.0
        for number in range(1, 400):
            x = float(rng.random() + rng.laplace())
            total += x
            size = number if kind == "running" else 1
            value = total / number if kind == "running" else x
            view.value[0], view.size[0] = value, size
            note(recorded, history, 0, [number], view, None)  # type: ignore[arg-type]
            naive.append((size, value))
        assert len(history[0]) == LONGEST
        arms = ("a",)
        short = Record(recorded, arms, (tuple(map(tuple, history[0])),))
        full = Record(recorded, arms, (tuple(naive),))
        assert short.sums(0) == pytest.approx(full.sums(0))
        one, other = intervals(short)[0], intervals(full)[0]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-9)


def test_secure_sums() -> None:
    """Coverage of 45 trials, as above; with dropout the noise is not known."""
    row = Policy("secure", Geometric(2.0), SecureSum(1.0, levels=1), UCB1())
    missed = 0
    for seed in range(45):
        record = played(row, 300, seed)
        missed += MEANS[seed % 3] not in intervals(record, kind="anytime")[seed % 3]
    assert missed <= binom.isf(FALSE_ALARM, 45, 0.05)
    loose = Policy("secure", Geometric(2.0), SecureSum(1.0, levels=1, dropout=0.1), UCB1())
    assert isinstance(recording(loose, loose.setting(2, 100)), Silence)


def test_records_of_earlier_versions_load() -> None:
    record = played(discreet.policy("dp-imed", epsilon=1.0), 200, 1)
    saved = record.to_dict()
    del saved["bounded"]
    for name in ("sigmoid", "doubling", "count"):
        del saved["recorded"][name]
    assert Record.from_dict(saved) == record


def test_regular_batches_are_looked_at_often() -> None:
    """With a release every few rounds there are as many looks as releases, not their logarithm."""
    row = discreet.policy("dp-tsallis", epsilon=1.0)
    found: Any = recording(row, row.setting(2, 1000))
    assert found.looks == row.schedule.releases(1000)
    assert check_kind("auto", found) == "anytime"
