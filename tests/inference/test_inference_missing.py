"""Intervals where outcomes are missing: against sums written out, and coverage."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

import discreet
from discreet.cli._app import app
from discreet.errors import InvalidArgument
from discreet.identify._evidence import tilts_for
from discreet.inference import Record, differences, evidence, intervals, probability_of_best
from discreet.inference._best import pair_logs
from discreet.inference._missing import PairOfArms, Side, responder_limits
from discreet.inference._record import pair_recording
from discreet.policies.releases._entries import Noise

FALSE_ALARM = 1e-7
SIZES = (6, 9, 14, 21, 31, 47, 70)
Blocks = list[tuple[int, float, float]]


def record_of_pairs(blocks: list[Blocks], kind: str = "laplace", scale: float = 1.0) -> Record:
    wider = 2.0 if kind == "laplace" else 2.0 / math.sqrt(3.0)
    recorded = pair_recording(Noise(kind, scale), Noise(kind, wider * scale), 0.0)
    arms = tuple("abcd"[: len(blocks)])
    return Record(recorded, arms, tuple(tuple(own) for own in blocks))


def drawn(
    mean: float, answers: Any, rng: np.random.Generator, kind: str = "laplace", scale: float = 1.0
) -> Blocks:
    """Blocks of an arm; `answers(n)` is the probability that each of n participants answers."""
    blocks = []
    for size in SIZES:
        there = int((rng.random(size) < answers(size)).sum())
        total = rng.binomial(there, mean) - 0.5 * there
        if kind == "laplace":
            noises = rng.laplace(scale=(scale, 2.0 * scale))
        else:
            noises = rng.normal(scale=(scale, 2.0 * scale / math.sqrt(3.0)))
        blocks.append((size, total + noises[0], there + noises[1]))
    return blocks


def naive_log(record: Record, arm: int, u: float, up: bool) -> float:
    """log U(u) or log D(u), term by term: Σ over blocks lS - c_u(l)R - κ_S(l) - κ_R(c_u(l))."""
    noise, count = record.recorded.noise, record.recorded.count
    assert count is not None
    terms = []
    for j in range(20):
        value = -math.log(j + 4.0)
        for size, total, answers in record.history[arm]:
            middle = 2.0 ** ((math.floor(2.0 * math.log2(size)) + 0.5) / 2.0)
            tilt = noise.tilt(2.0 * 1.5**-j, middle) * (1.0 if up else -1.0)
            c = math.log((1.0 - u) * math.exp(-tilt / 2) + u * math.exp(tilt / 2))
            value += tilt * total - c * answers
            for law, at in ((noise, tilt), (count, c)):
                square = (at * law.scale) ** 2
                value -= 0.5 * square if law.kind == "gaussian" else -math.log(1.0 - square)
        terms.append(value)
    top = max(terms)
    whole = math.fsum(1.0 / (j + 4.0) for j in range(20))
    return top + math.log(math.fsum(math.exp(t - top) for t in terms) / whole)


@pytest.mark.parametrize(
    ("kind", "scale"), [("laplace", 1.0), ("laplace", 10.0), ("gaussian", 3.0)]
)
def test_evidence_of_pairs_equals_its_definition(kind: str, scale: float) -> None:
    rng = np.random.default_rng(1)
    record = record_of_pairs([drawn(0.7, lambda n: 0.8, rng, kind, scale)], kind, scale)
    tilts = tilts_for(record.recorded.noise, interpreted=True)
    weights = np.array(tilts.single)
    for up in (True, False):
        side = Side(record, 0, tilts, not up)
        for u in (0.05, 0.5, 0.93):
            logs = side.least(np.array([u]), np.array([u]))[0]
            found = logs.max() + math.log(np.exp(logs - logs.max()) @ weights)
            assert found == pytest.approx(naive_log(record, 0, u, up), abs=1e-9)
        # on an interval of u the bound is below every value in it
        bound = side.least(np.array([0.3]), np.array([0.6]))[0]
        for u in np.linspace(0.3, 0.6, 40):
            assert (bound <= side.least(np.array([u]), np.array([u]))[0] + 1e-12).all()


def test_ends_are_where_the_first_mean_is_accepted() -> None:
    rng = np.random.default_rng(2)
    for scale in (20.0,):
        record = record_of_pairs([drawn(0.6, lambda n: 0.7, rng, "laplace", scale)], scale=scale)
        low, high = responder_limits(record, 0, 0.1)
        grid = np.linspace(1e-6, 1.0 - 1e-6, 200)
        level = math.log(20.0)
        ups = [u for u in grid if naive_log(record, 0, float(u), True) < level]
        downs = [u for u in grid if naive_log(record, 0, float(u), False) < level]
        assert low == pytest.approx(max(min(ups), 0.0), abs=6e-3)
        assert low <= min(ups)
        assert high == pytest.approx(max(downs), abs=6e-3)
        assert high >= max(downs)


def test_a_factor_of_the_evidence_has_a_mean_of_at_most_one() -> None:
    """E e^{r(l(y-1/2) - c)} <= 1 at the mean of those who answer, for laws on a grid of [0, 1]."""
    rng = np.random.default_rng(3)
    y = np.linspace(0.0, 1.0, 11)
    for _ in range(200):
        law, share, tilt = rng.dirichlet(np.full(11, 0.3)), rng.random(), rng.uniform(-3.0, 3.0)
        u = float(law @ y)
        c = math.log((1.0 - u) * math.exp(-tilt / 2) + u * math.exp(tilt / 2))
        mean = 1.0 - share + share * float(law @ np.exp(tilt * (y - 0.5) - c))
        assert mean <= 1.0 + 1e-12


@pytest.mark.parametrize(("kind", "scale"), [("laplace", 1.0), ("gaussian", 5.0)])
def test_intervals_cover_though_answers_are_missing(kind: str, scale: float) -> None:
    """Of 50 trials at most as many as a binomial count of 5 % allows with 1e-7; the probability of
    an answer differs between arms and drifts, and those who do not answer are all failures."""
    rng = np.random.default_rng(4)
    missed, missed_all, widths = [0, 0], 0, []
    for _ in range(50):
        blocks = [
            drawn(0.7, lambda n: 0.5 + 0.4 * n / 70.0, rng, kind, scale),
            drawn(0.5, lambda n: 0.9, rng, kind, scale),
        ]
        record = record_of_pairs(blocks, kind, scale)
        found = intervals(record)
        for arm, mean in enumerate((0.7, 0.5)):
            missed[arm] += mean not in found[arm]
        # with failures in place of the missing: 0.9 of the second arm answer
        whole = intervals(record, over="all")[1]
        missed_all += not (whole.low <= 0.45 and whole.high >= 0.55)
        widths.append(found[1].width)
    most = binom.isf(FALSE_ALARM, 50, 0.05)
    assert max(missed) <= most
    assert missed_all <= most
    assert np.mean(widths) < (0.4 if kind == "laplace" else 0.6)


def test_differences_and_evidence_of_pairs() -> None:
    rng = np.random.default_rng(5)
    trials, missed, false = 4, 0, 0
    for number in range(40):
        blocks = [drawn(0.5, lambda n: q, rng) for q in (0.6, 0.9)]  # noqa: B023
        record = record_of_pairs(blocks)
        false += evidence(record, "a", "b").p_value < 0.05
        if number < trials:
            missed += 0.0 not in differences(record, against="b")[0]
    assert false <= binom.isf(FALSE_ALARM, 40, 0.05)
    assert missed <= binom.isf(FALSE_ALARM, trials, 0.05)
    record = record_of_pairs([drawn(m, lambda n: 0.8, rng) for m in (0.95, 0.1)])
    gap = differences(record, against="b")[0]
    assert 0.0 < gap.low < 0.85 < gap.high
    assert gap.estimate is not None
    strong = evidence(record, "a", "b")
    assert strong.p_value < 1e-6
    assert evidence(record, "a", "b", margin=gap.low).p_value <= 0.026
    pair = PairOfArms(record, 0, 1)
    values = pair.least_log(*(np.linspace(0.0, 1.0, 2001),) * 2, 0.0, 0.0)
    assert pair.least(0.0, 0.0) == pytest.approx(values.min(), abs=2e-3)
    assert pair.least(0.0, 0.0) <= values.min()


def test_probability_of_best_of_pairs() -> None:
    rng = np.random.default_rng(6)
    record = record_of_pairs([drawn(m, lambda n: 0.7, rng) for m in (0.8, 0.4, 0.3)])
    found = probability_of_best(record)
    assert math.fsum(found.values()) == pytest.approx(1.0)
    assert found["a"] > 0.99
    # against the sum over all numbers of answers and successes, for one small block
    block, u = (5, 1.3, 4.2), np.array([0.2, 0.5, 0.9])
    small = record_of_pairs([[block]])
    shares = (np.arange(60) + 0.5) / 60
    naive = np.zeros(3)
    for m in range(6):
        answered = float(np.mean(binom.pmf(m, 5, shares))) * math.exp(-abs(block[2] - m) / 2.0)
        for y in range(m + 1):
            off = abs(block[1] - (y - m / 2))
            naive += answered * binom.pmf(y, m, u) * math.exp(-off)
    logs = pair_logs(u, small, 0)
    assert np.exp(logs - logs[0]) == pytest.approx(naive / naive[0], rel=1e-9)


def test_a_trial_with_missing_outcomes_says_what_it_knows(tmp_path: Path) -> None:
    now = [0.0]
    trial = discreet.Trial(
        discreet.policy("dp-imed", epsilon=1.0), ["A", "B"], horizon=400, deadline=1.0,
        missing="estimate", clock=lambda: now[0],
    )  # fmt: skip
    for unit in range(400):
        arm = trial.assign(unit)
        if unit % 4:
            trial.record(unit, 1.0 if arm == "A" else 0.0)
        now[0] += 0.1
    now[0] += 10.0
    found = intervals(trial)
    assert (found.kind, found.estimand) == ("anytime", "responders")
    assert "of those who answer" in str(found)
    assert found == intervals(json.loads(json.dumps(trial.report())))
    assert evidence(trial, "A", "B").value > 1.0
    widest = intervals(trial, over="all")
    assert all(w.low <= f.low and f.high <= w.high for w, f in zip(widest, found, strict=True))
    with pytest.raises(InvalidArgument, match="outcomes are missing"):
        intervals(trial, kind="looks")
    with pytest.raises(InvalidArgument, match="over must be"):
        intervals(trial, over="everybody")
    assert "intervals are for those who answer" in str(trial)
    (tmp_path / "report.json").write_text(json.dumps(trial.report()))
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "report.json")])
    assert shown.exit_code == 0, shown.output
    assert "whatever the missing outcomes were" in shown.output
    assert found.plot().axes[0].get_xlabel().endswith("those who answer (anytime)")
    trial.close()


def test_intervals_cover_on_adaptive_live_trials() -> None:
    """25 live trials in streams, whose shares follow releases; a third of the better arm's outcomes
    is missing and a tenth of the other's. One arm of each is counted: false alarms below 1e-7. With
    missing outcomes as failures the better mean would be seen as .53, and evidence would fade."""
    rng = np.random.default_rng(7)
    row = discreet.policy("dp-imed", epsilon=4.0)
    missed = missed_all = most_on_better = 0
    widths = []
    for number in range(25):
        now = [0.0]

        def clock(now: list[float] = now) -> float:
            return now[0]

        with discreet.Trial(
            row,
            ["A", "B"],
            horizon=400,
            deadline=5.0,
            missing="estimate",
            clock=clock,
            assignment=discreet.Assignment(window=4),
        ) as trial:
            for unit in range(400):
                arm = trial.assign(unit)
                mean, answers = (0.8, 2.0 / 3.0) if arm == "A" else (0.4, 0.9)
                if rng.random() < answers:
                    trial.record(unit, float(rng.random() < mean))
                now[0] += 0.1
            now[0] += 10.0
            name, mean, least, most = (("A", 0.8, 0.8 * 2 / 3, 0.8 * 2 / 3 + 1 / 3),
                                       ("B", 0.4, 0.36, 0.46))[number % 2]  # fmt: skip
            missed += mean not in intervals(trial).of(name)
            whole = intervals(trial, over="all").of(name)
            missed_all += not (whole.low <= least and most <= whole.high)
            played = [arm["assigned"] for arm in trial.report()["arms"] or ()]
            most_on_better += played[0] > played[1]
            widths.append(intervals(trial).of("A").width)
    allowed = binom.isf(FALSE_ALARM, 25, 0.05)
    assert missed <= allowed
    assert missed_all <= allowed
    assert most_on_better > 12  # adaptive
    assert np.mean(widths) < 0.6
