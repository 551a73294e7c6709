"""Intervals: tails against sums, coverage on adaptive trials, differences, evidence, best arm."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom, laplace

import discreet
from discreet.errors import DamagedFile, InvalidArgument
from discreet.identify import identifier
from discreet.identify._evidence import log_single
from discreet.inference import (
    Record,
    differences,
    evidence,
    intervals,
    probability_of_best,
    recording,
)
from discreet.inference._best import log_likelihood
from discreet.inference._intervals import books_of, single_log
from discreet.inference._record import Batch
from discreet.inference._tails import (
    chernoff_limits,
    exact_limits,
    laplace_tail,
    upper_tail,
)
from discreet.policies import (
    DPIMED,
    DPKLUCB,
    UCB1,
    EachRound,
    Geometric,
    Hybrid,
    Policy,
    RememberLaplace,
    Tree,
)
from discreet.policies.releases._entries import NOISELESS, Noise, Silence

MEANS = [0.6, 0.5, 0.3]
FALSE_ALARM = 1e-7


def played(
    row: Policy, means: list[float], horizon: int, seed: int, every: bool = False
) -> Iterator[Record]:
    """An adaptive trial; its record at the end, or after every release."""
    rehearsal = discreet.Rehearsal(row, len(means), horizon=horizon, seed=seed)
    rewards = np.random.default_rng(10_000 + seed)
    while rehearsal.rounds < horizon:
        arm, size = rehearsal.select(), rehearsal.remaining
        bits = rewards.random(size) < means[int(arm)]
        rehearsal.update_many(arm, bits.astype(float))
        if every:
            record = rehearsal.public_record(binary=True)
            assert record is not None
            yield record
    record = rehearsal.public_record(binary=True)
    assert record is not None
    yield record


def test_laplace_tails_equal_their_definition() -> None:
    y = np.array([-3.0, -0.5, 0.0, 0.7, 6.0])
    assert laplace_tail(y, 2.0, 1) == pytest.approx(laplace.sf(y, scale=2.0), rel=1e-12)
    grid = np.arange(-60.0, 60.0, 0.002)
    density = laplace.pdf(grid)
    twice = np.interp(grid, *_convolved(grid, density, density))
    thrice = np.interp(grid, *_convolved(grid, twice, density))
    for at in (-2.0, 0.4, 5.0):
        tail = float(thrice[grid >= at].sum() * 0.002)
        assert laplace_tail(at, 1.0, 3) == pytest.approx(tail, abs=3e-3)
    assert laplace_tail(0.0, 5.0, 12) == pytest.approx(0.5)


def _convolved(grid: Any, f: Any, g: Any) -> tuple[Any, Any]:
    from scipy.signal import fftconvolve

    whole = fftconvolve(f, g) * (grid[1] - grid[0])
    return np.linspace(2 * grid[0], 2 * grid[-1], len(whole)), whole


@pytest.mark.parametrize("noise", [Noise("laplace", 2.0), Noise("gaussian", 3.0)], ids=str)
def test_tails_of_noisy_counts_equal_the_sum(noise: Noise) -> None:
    n, s, k = 30, 21.4, 4
    found = upper_tail(n, s, noise, k)
    assert found is not None
    rng = np.random.default_rng(1)
    for u in (0.2, 0.6):
        if noise.kind == "laplace":
            drawn = rng.laplace(scale=2.0, size=(k, 400_000)).sum(axis=0)
        else:
            drawn = 3.0 * math.sqrt(k) * rng.standard_normal(400_000)
        share = float((rng.binomial(n, u, 400_000) + drawn >= s).mean())
        # six standard errors
        assert found(u) == pytest.approx(share, abs=6 * math.sqrt(0.25 / 400_000))


def test_without_noise_exact_limits_are_those_of_clopper_and_pearson() -> None:
    for n, s in ((20, 0), (20, 7), (50, 50)):
        low, high = exact_limits(n, s, NOISELESS, 0, 0.05) or (math.nan, math.nan)
        assert low == pytest.approx(beta.ppf(0.025, s, n - s + 1) if s else 0.0, abs=1e-9)
        assert high == pytest.approx(beta.ppf(0.975, s + 1, n - s) if s < n else 1.0, abs=1e-9)


def closed_limits(n: int, s: float, noise: Noise, draws: int, alpha: float) -> tuple[float, float]:
    """s/n ± (L/l + lV/2)/n, V = n/4 + 4 log2 k b² (Laplace) or n/4 + kσ², l = min(sqrt(2L/V),
    1/(b sqrt2)), L = log(2/α): wider, but in closed form."""
    level = math.log(2.0 / alpha)
    spread = noise.scale**2 * draws
    variance = n / 4.0 + (4.0 * math.log(2.0) if noise.kind == "laplace" else 1.0) * spread
    tilt = math.sqrt(2.0 * level / variance)
    if noise.kind == "laplace":
        tilt = min(tilt, 1.0 / (noise.scale * math.sqrt(2.0)))
    reach = (level / tilt + tilt * variance / 2.0) / n
    return max(0.0, s / n - reach), min(1.0, s / n + reach)


def test_simpler_limits_are_wider() -> None:
    for noise in (Noise("laplace", 1.0), Noise("laplace", 10.0), Noise("gaussian", 5.0)):
        exact = exact_limits(400, 231.5, noise, 5, 0.05)
        assert exact is not None
        bounded = chernoff_limits(400, 231.5, noise, 5, 0.05)
        closed = closed_limits(400, 231.5, noise, 5, 0.05)
        assert closed[0] <= bounded[0] + 1e-9 <= exact[0] + 1e-9
        assert closed[1] >= bounded[1] - 1e-9 >= exact[1] - 1e-9
    assert exact_limits(10, 500.0, Noise("laplace", 1.0), 2, 0.05) == (1.0, 1.0)


COVERED: list[tuple[str, Policy, int]] = [
    ("running", discreet.policy("dp-imed", epsilon=1.0), 2000),
    ("running, much noise", discreet.policy("dp-klucb", epsilon=0.1), 4000),
    ("forgetting", discreet.policy("adap-klucb", epsilon=1.0), 2000),
    ("Gaussian", discreet.policy("adac-ucb", rho=0.1), 2000),
    ("filling", discreet.policy("lazy-dp-ts", epsilon=1.0), 100),
    ("local bits", discreet.policy("ldp-ucb-b", epsilon=2.0), 100),
    ("local Laplace", discreet.policy("ldp-ucb-l", epsilon=2.0), 100),
    ("exact", discreet.policy("imed"), 100),
    ("tree", Policy("tree", EachRound(), Tree(1.0), UCB1()), 100),
    ("hybrid", Policy("hybrid", EachRound(), Hybrid(1.0), UCB1()), 100),
    ("again", Policy("again", Geometric(2.0), RememberLaplace(1.0), UCB1()), 1000),
]


def misses(record: Record, alpha: float = 0.05) -> int:
    """The arms whose anytime interval misses: U or D of the true mean is 2/α or more."""
    tilts, books = books_of(record)
    level = math.log(2.0 / alpha)
    return sum(
        max(log_single(tilts, books, arm, mean, up) for up in (True, False)) >= level
        for arm, mean in enumerate(MEANS)
    )


def misses_difference(record: Record, arm: int, against: int, alpha: float = 0.05) -> bool:
    """Whether the interval of a difference misses: at its true value E is 2/α or more one way or
    the other, which is less work than both ends; of trees the ends themselves."""
    gap = MEANS[arm] - MEANS[against]
    if record.recorded.kind == "again":
        found = differences(record, 1.0 - alpha, against=against, together=False)
        return gap not in found.of(arm)
    ways = ((arm, against, gap), (against, arm, -gap))
    return any(evidence(record, a, c, margin=d).value >= 2.0 / alpha for a, c, d in ways)


@pytest.mark.parametrize(("row", "horizon"), [c[1:] for c in COVERED], ids=[c[0] for c in COVERED])
def test_intervals_cover_on_adaptive_trials(row: Policy, horizon: int) -> None:
    """An arm misses in 5 % of the trials at most; of every trial one arm is counted, so that counts
    are binomial, with false alarms below 1e-7. Likewise the difference of two arms."""
    anytime = looks = apart = 0
    for seed in range(100):
        record = next(played(row, MEANS, horizon, seed))
        arm = seed % 3
        if record.recorded.kind != "again":
            anytime += (
                misses(record) > 0 and MEANS[arm] not in intervals(record, kind="anytime")[arm]
            )
        if record.recorded.looks is not None and seed < 60:
            looks += MEANS[arm] not in intervals(record, kind="looks")[arm]
        if seed < 40:
            apart += misses_difference(record, arm, (arm + 1) % 3)
    assert anytime <= binom.isf(FALSE_ALARM, 100, 0.05)
    assert looks <= binom.isf(FALSE_ALARM, 60, 0.05)
    assert apart <= binom.isf(FALSE_ALARM, 40, 0.05)


def test_anytime_intervals_hold_at_all_looks_together() -> None:
    row, trials, missed = discreet.policy("dp-imed", epsilon=1.0), 100, 0
    for seed in range(trials):
        records = played(row, MEANS, 1000, seed, every=True)
        missed += any(misses(record, 0.1 / 3) > 0 for record in records)
    assert missed <= binom.isf(FALSE_ALARM, trials, 0.1)


@pytest.mark.parametrize(
    "row",
    [
        identifier("evidence-tt", epsilon=0.5),
        identifier("evidence-tt", rho=0.02),
        identifier("local-evidence-tt", epsilon=2.0),
    ],
    ids=["Laplace", "Gaussian", "local"],
)
def test_intervals_cover_where_evidence_sizes_the_batches_and_stops(row: Any) -> None:
    """At the moment of the answer, which is when the releases say most; one arm and one difference
    of every trial, false alarms below 1e-7."""
    trials, missed, apart = 50, 0, 0
    for seed in range(trials):
        rehearsal = discreet.Rehearsal(row.at(0.2), 3, seed=seed)
        rewards = np.random.default_rng(20_000 + seed)
        while rehearsal.remaining and rehearsal.rounds < 20_000:
            arm, size = int(rehearsal.select()), rehearsal.remaining
            bits = np.zeros(size)
            bits[: rewards.binomial(size, MEANS[arm])] = 1.0
            rehearsal.update_many(arm, bits)
        record = rehearsal.public_record(binary=True)
        assert record is not None
        arm = seed % 3
        missed += MEANS[arm] not in intervals(record)[arm]
        apart += misses_difference(record, arm, (arm + 1) % 3)
    assert missed <= binom.isf(FALSE_ALARM, trials, 0.05)
    assert apart <= binom.isf(FALSE_ALARM, trials, 0.05)


def test_intervals_cover_outcomes_between_the_ends() -> None:
    """Outcomes of a Beta law, whose looks are Chernoff's: 60 trials, as above."""
    missed = {"anytime": 0, "looks": 0}
    for seed in range(60):
        rehearsal = discreet.Rehearsal(
            discreet.policy("dp-imed", epsilon=1.0), 3, horizon=1000, seed=seed
        )
        rewards = np.random.default_rng(30_000 + seed)
        while rehearsal.rounds < 1000:
            arm, size = int(rehearsal.select()), rehearsal.remaining
            rehearsal.update_many(arm, rewards.beta(MEANS[arm], 1.0 - MEANS[arm], size))
        record = rehearsal.public_record()
        assert record is not None
        for kind in missed:
            missed[kind] += MEANS[seed % 3] not in intervals(record, kind=kind)[seed % 3]
    assert max(missed.values()) <= binom.isf(FALSE_ALARM, 60, 0.05)


def test_differences_of_trees_are_those_of_their_intervals() -> None:
    row = Policy("tree", EachRound(), Tree(4.0), UCB1())
    record = next(played(row, MEANS, 512, 1))
    found, each = differences(record, 0.9), intervals(record, 1.0 - 0.1 / 3)
    assert (found.kind, found.together, len(found)) == ("looks", True, 2)
    best = found[0].against
    assert each.of(best).estimate == max(one.estimate for one in each if one.estimate is not None)
    for gap in found:
        one, other = each.of(gap.arm), each.of(best)
        assert (gap.low, gap.high) == (one.low - other.high, one.high - other.low)
        assert gap.size == one.size + other.size
    apart, own = differences(record, 0.9, against=2, together=False)[0], intervals(record, 0.95)
    assert apart.low == own[0].low - own[2].high
    empty = differences(next(played(row, MEANS, 512, 1, every=True)), against=2)
    assert (empty[1].estimate, empty[1].low, empty[1].high) == (None, -1.0, 1.0)


def test_anytime_limits_are_where_the_evidence_is_enough() -> None:
    record = next(played(discreet.policy("dp-imed", epsilon=1.0), MEANS, 1000, 1))
    tilts, books = books_of(record)
    for arm, one in enumerate(intervals(record, 0.9, "anytime")):
        for end, up in ((one.low, True), (one.high, False)):
            if 0.0 < end < 1.0:
                assert log_single(tilts, books, arm, end, up) == pytest.approx(math.log(20))
            at = single_log(tilts, books, arm, up)(0.37)
            assert at == pytest.approx(log_single(tilts, books, arm, 0.37, up), abs=1e-9)


def test_widths_are_as_they_should_be() -> None:
    """IMED on .55 .5 .5 .45 at ε = 1 and T = 5000, 12 trials: .134 anytime and .109 by looks."""
    means, row = [0.55, 0.5, 0.5, 0.45], discreet.policy("dp-imed", epsilon=1.0)
    wide: dict[str, list[float]] = {"anytime": [], "looks": []}
    for seed in range(12):
        record = next(played(row, means, 5000, seed))
        for kind, own in wide.items():
            found = intervals(record, 0.95, kind)
            own.append((found[0].width + found[1].width) / 2)
    assert np.mean(wide["anytime"]) <= 1.1 * 0.134
    assert np.mean(wide["looks"]) <= 1.1 * 0.109


def test_differences_and_evidence() -> None:
    row, trials = discreet.policy("dp-imed", epsilon=1.0), 60
    missed = false = 0
    for seed in range(trials):
        record = next(played(row, [0.5, 0.5, 0.3], 1500, seed))
        false += evidence(record, 0, 1).p_value < 0.05
        if seed < 8:
            found = differences(record, 0.95, against=0)
            missed += any(g not in one for g, one in zip((0.0, -0.2), found, strict=True))
    assert missed <= binom.isf(FALSE_ALARM, 8, 0.05)
    assert false <= binom.isf(FALSE_ALARM, trials, 0.05)
    assert len(differences(record, 0.95)) == 2


def test_evidence_is_that_of_the_stopping_rule() -> None:
    """A search that stops at risk 1e-4 has evidence of 1e4 for its answer, and none against it."""
    rehearsal = discreet.Rehearsal(identifier("evidence-tt", epsilon=1.0).at(1e-4), 2, seed=1)
    rewards = np.random.default_rng(1)
    while rehearsal.remaining:
        arm, size = int(rehearsal.select()), rehearsal.remaining
        rehearsal.update_many(arm, (rewards.random(size) < (0.9, 0.3)[arm]).astype(float))
    strong = evidence(rehearsal, 0, 1)
    assert strong.value >= 1e4
    assert strong.p_value == pytest.approx(1 / strong.value)
    assert evidence(rehearsal, 1, 0).p_value == 1.0
    assert evidence(rehearsal, 0, 1, margin=0.9).p_value == 1.0
    assert evidence(rehearsal, 0, 1, margin=-3.0) == evidence(rehearsal, 0, 1, margin=-1.0)
    gap = differences(rehearsal, 1 - 2e-4, against=1)[0]
    assert 0.0 <= gap.low < 0.6 < gap.high
    assert gap.low in gap
    assert "0 - 1" in str(gap)
    with pytest.raises(InvalidArgument, match="against must be another arm"):
        evidence(rehearsal, 0, 0)
    with pytest.raises(InvalidArgument, match="arm must be one of the arms"):
        evidence(rehearsal, 0, "nobody")


@pytest.mark.parametrize(
    "noise", [Noise("laplace", 1.0), Noise("laplace", 0.1), Noise("gaussian", 3.0)], ids=str
)
def test_likelihoods_equal_their_sum(noise: Noise) -> None:
    b, x = 50, 31.7
    y, u = np.arange(b + 1), np.array([0.2, 0.5, 0.9])
    shape = np.abs(x - y) / noise.scale
    weights = np.exp(-shape if noise.kind == "laplace" else -0.5 * shape**2)
    naive = np.log([float(binom.pmf(y, b, p) @ weights) for p in u])
    found = log_likelihood(u, Batch(b, x), noise)
    assert found - found[0] == pytest.approx(naive - naive[0], rel=1e-6)


def test_probability_of_best() -> None:
    row = discreet.policy("dp-imed", epsilon=1.0)
    found = probability_of_best(next(played(row, [0.7, 0.5, 0.3], 3000, 3)))
    assert math.fsum(found.values()) == pytest.approx(1.0)
    assert found[0] > 0.95
    rehearsal = discreet.Rehearsal(row, 4, horizon=1000, seed=1)
    blind = probability_of_best(rehearsal)
    assert all(value == pytest.approx(0.25) for value in blind.values())
    with pytest.raises(InvalidArgument, match="prior must be"):
        probability_of_best(rehearsal, prior="flat")


def test_kinds_are_fixed_beforehand() -> None:
    record = next(played(discreet.policy("dp-imed", epsilon=1.0), MEANS, 500, 1))
    assert intervals(record).kind == "looks"
    with pytest.raises(InvalidArgument, match="kind must be 'anytime' or 'looks'"):
        intervals(record, kind="end")
    with pytest.raises(InvalidArgument, match="kind must be one of"):
        intervals(record, kind="normal")
    with pytest.raises(InvalidArgument, match="level must lie in"):
        intervals(record, level=95)
    fixed = Record(record.recorded, record.arms, record.history, kind="anytime")
    assert intervals(fixed).kind == "anytime"
    with pytest.raises(InvalidArgument, match="was fixed when the trial was created"):
        intervals(fixed, kind="looks")
    free = next(played(discreet.policy("dp-imed", epsilon=1.0), MEANS, 500, 1))
    assert Record.from_dict(json.loads(json.dumps(free.to_dict()))) == free
    text = str(intervals(free, together=True))
    assert "95 % intervals, looks, all at once" in text
    with pytest.raises(InvalidArgument, match="source must be a trial"):
        intervals({"record": None})
    tree = next(played(Policy("t", EachRound(), Tree(1.0), UCB1()), MEANS, 64, 1))
    with pytest.raises(InvalidArgument, match="disjoint batches"):
        evidence(tree, 0, 1)


def test_equal_shares_may_look_once() -> None:
    """One look covers with 95 % where no outcome changes the shares."""
    row, trials, missed = identifier("uniform", epsilon=1.0, participants=300), 80, 0
    for seed in range(trials):
        rehearsal = discreet.Rehearsal(row, 3, seed=seed)
        rewards = np.random.default_rng(seed)
        while rehearsal.remaining:
            arm, size = rehearsal.select(), rehearsal.remaining
            bits = rewards.random(size) < MEANS[int(arm)]
            rehearsal.update_many(arm, bits.astype(float))
        record = rehearsal.public_record(binary=True)
        assert record is not None
        found = intervals(record)
        assert found.kind == "end"
        missed += MEANS[0] not in found[0]
    assert missed <= binom.isf(FALSE_ALARM, trials, 0.05)


def test_rows_that_cannot_be_read_say_so() -> None:
    for name in ("dp-ftpl-gauss", "dp-ftpl-new"):  # the second one cannot do without a horizon
        row = discreet.policy(name, epsilon=1.0, delta=0.01)
        found = recording(row, row.setting(2, 1000))
        assert isinstance(found, Silence)
        with pytest.raises(InvalidArgument, match=re.escape(found.reason)):
            intervals(discreet.Rehearsal(row, 2, horizon=1000))
    for rule in (DPIMED(), DPKLUCB()):
        assert rule.bounds == (0.0, 1.0)


def test_a_trial_shows_its_intervals(tmp_path: Path) -> None:
    path = tmp_path / "trial"
    row = discreet.policy("dp-imed", epsilon=1.0)
    trial = discreet.Trial(
        row,
        ["A", "B"],
        horizon=400,
        intervals="anytime",
        path=path,
        outcomes=discreet.Outcomes(range=(10.0, 20.0)),
    )
    for unit in range(300):
        trial.record(unit, 20.0 if trial.assign(unit) == "A" else 10.0)
    report = trial.report()
    assert report["intervals"] == {"kind": "anytime", "level": 0.95}
    arms = report["arms"]
    assert arms is not None
    for arm in arms:
        low, high = arm["interval"]
        assert 10.0 <= low <= high <= 20.0  # equal if the noise puts the mean beyond the range
    assert "95 % interval" in str(trial)
    again = intervals(json.loads(json.dumps(report)))
    assert again == intervals(trial)
    with pytest.raises(InvalidArgument, match="was fixed when the trial was created"):
        intervals(trial, kind="looks")
    assert [[row.low, row.high] for row in again] == [arm["interval"] for arm in arms]
    trial.close()
    with discreet.Trial.load(path) as loaded:
        assert loaded.report() == report
        state = loaded._run.to_dict()
        endless = [[[1, math.inf]], []]
        counted = ([[[1, 0.5, -1]], []], [[[1, 0.5, 1.5]], []], [[[1, 0.5, 1, 1]], []])
        damaged: tuple[object, ...] = ([[]], "x", [[[1.5, 0.0]], []], [[[1]], []], endless)
        for damage in (*damaged, *counted):
            with pytest.raises(DamagedFile, match="damaged record"):
                loaded._run.copy().restore(state | {"history": damage})
        older = loaded._run.copy()
        older.restore({name: value for name, value in state.items() if name != "history"})
        assert older.record(["A", "B"], (0.0, 1.0), "auto", False) is None
    with pytest.raises(InvalidArgument, match="intervals must be 'anytime' or 'looks'"):
        discreet.Trial(row, 2, horizon=400, intervals="end")
    figure = again.plot(tmp_path / "intervals.png")
    assert len(figure.axes) == 1
    assert (tmp_path / "intervals.png").stat().st_size > 0


def test_a_saved_report_can_be_shown(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from discreet.cli._app import app

    with discreet.Trial(discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], horizon=200) as trial:
        for unit in range(60):
            trial.record(unit, 1.0 if trial.assign(unit) == "A" else 0.0)
        report = trial.report()
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    shown = CliRunner().invoke(app, ["show", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "95 % intervals, looks, each" in shown.output
    as_json = json.loads(CliRunner().invoke(app, ["show", str(path), "--json"]).output)
    assert [row["low"] for row in as_json["intervals"]["rows"]] == [
        arm["interval"][0] for arm in report["arms"] or ()
    ]
    for broken in ("{", "[]", '{"record": {"recorded": {}}}'):
        path.write_text(broken)
        assert CliRunner().invoke(app, ["show", str(path)]).exit_code != 0


def test_the_planner_says_how_wide_they_will_be() -> None:
    from discreet.theory.planning._widths import interval_widths

    row = discreet.policy("dp-imed", epsilon=1.0)
    short, long = (interval_widths(row, [0.6, 0.4], n, trials=4) for n in (400, 4000))
    assert short.kind == "looks"
    assert 0.0 < long.widths[0] < short.widths[0] < 1.0
    searched = interval_widths(identifier("evidence-tt", epsilon=1.0).at(0.05), [0.9, 0.4], 10**4)
    assert searched.kind == "anytime"
    assert 0.0 < searched.widths[0] < 1.0
