"""Differences within epochs: the bound against sums written out, and coverage under trends."""

from __future__ import annotations

import json
import math
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

import discreet
from discreet.cli._app import app
from discreet.errors import InvalidArgument
from discreet.inference import EpochRecord, differences, evidence, intervals
from discreet.inference._within import EFFECTS, Within, ahead_within, limits_within
from discreet.live._arguments import grouped
from discreet.policies.releases._entries import NOISELESS, Noise

FALSE_ALARM = 1e-7
TRIALS = 150


LAPLACE = Noise("laplace", 1.0)


def record_of_cells(*epochs: Any, noise: Noise = LAPLACE) -> EpochRecord:
    return EpochRecord(tuple("abc"[: len(epochs[0])]), tuple(epochs), noise)


# --- the bound ------------------------------------------------------------------------------------


def worst_moment(n_a: int, n_c: int, tilt: float, d: float) -> float:
    """log E e^{λ(X_a/n_a - X_c/n_c)}, the largest over places with the least or the largest rate:
    of h places with the largest a random number is a's."""
    n, s, t = n_a + n_c, tilt / n_a, tilt / n_c
    ends = (max(0.0, -d), min(1.0, 1.0 - d))
    of_a = [1.0 + (p + d) * math.expm1(s) for p in ends]
    of_c = [1.0 + p * math.expm1(-t) for p in ends]
    found = []
    for h in range(n + 1):
        mean = 0.0
        for j in range(max(0, h - n_c), min(h, n_a) + 1):
            ways = math.comb(h, j) * math.comb(n - h, n_a - j) / math.comb(n, n_a)
            mean += ways * of_a[1] ** j * of_a[0] ** (n_a - j) * (
                of_c[1] ** (h - j) * of_c[0] ** (n_c - h + j)
            )  # fmt: skip
        found.append(math.log(mean))
    return max(found)


SIZES = [(1, 1), (1, 2), (3, 2), (2, 7), (8, 8), (20, 20), (5, 40), (60, 25)]
GAPS = (-1.0, -0.9, -0.4, -0.1, 0.0, 0.05, 0.3, 0.8, 1.0)


@pytest.mark.parametrize(("n_a", "n_c"), SIZES)
def test_the_bound_covers_the_worst_trend_within_an_epoch(n_a: int, n_c: int) -> None:
    """For all effects' tilts; and for cells of some size it is nearly reached."""
    pair = Within(record_of_cells(((n_a, 0.0), (n_c, 0.0)), noise=NOISELESS), 0, 1)
    tilt = pair._tilts[1][0] * min(n_a, n_c)
    assert tilt.max() <= min(n_a, n_c)
    for d in GAPS:
        for j in range(0, EFFECTS, 3):
            worst, bound = worst_moment(n_a, n_c, tilt[j], d), pair.bound(d)[0, j]
            assert worst <= bound + 1e-12
            if min(n_a, n_c) >= 20 and abs(d) <= 0.4:
                assert worst - tilt[j] * d >= 0.8 * (bound - tilt[j] * d)


def test_the_worst_trend_is_at_the_ends_of_the_rates() -> None:
    """Of rates in between, and of differences below d, by all subsets."""
    rng, n_a, n_c = np.random.default_rng(1), 3, 2
    for number in range(200):
        d, tilt = rng.uniform(-1.0, 1.0), rng.uniform(0.0, 2.0)
        p = rng.uniform(max(0.0, -d), min(1.0, 1.0 - d), 5)
        behind = rng.uniform(0.0, 1.0, 5) * (p + d) * (number % 2)
        total = 0.0
        for mine in combinations(range(5), n_a):
            total += math.prod(
                1.0 + (p[i] + d - behind[i]) * math.expm1(tilt / n_a) if i in mine
                else 1.0 + p[i] * math.expm1(-tilt / n_c)
                for i in range(5)
            )  # fmt: skip
        mean = total / math.comb(5, n_a)
        assert math.log(mean) <= worst_moment(n_a, n_c, tilt, d) + 1e-12


def test_the_bound_grows_with_the_difference() -> None:
    for (n_a, n_c), noise in product(SIZES, (NOISELESS, Noise("laplace", 0.3))):
        pair = Within(record_of_cells(((n_a, 0.0), (n_c, 0.0)), noise=noise), 0, 1)
        grid = [pair.bound(d)[0] for d in np.linspace(-1.0, 1.0, 201)]
        assert (np.diff(grid, axis=0) > 0.0).all()


def test_evidence_is_the_sum_that_is_written_out() -> None:
    record = record_of_cells(((12, 7.5), (8, 2.25)), ((9, 6.0), (30, 11.0)), ((5, 1.0), (0, None)))
    pair = Within(record, 0, 1)
    for d in (-0.3, 0.0, 0.2):
        whole = 0.0
        for j in range(EFFECTS):
            exponent = 0.0
            for e, (n_a, x_a, n_c, x_c) in enumerate([(12, 7.5, 8, 2.25), (9, 6.0, 30, 11.0)]):
                m, most = min(n_a, n_c), max(n_a, n_c)
                tilt = float(pair._tilts[1][e, j]) * m
                s, t, sign, size = tilt / n_a, tilt / n_c, -1.0 if d < 0 else 1.0, abs(d)
                q = [math.log(1 - size + size * math.exp(sign * z)) for z in (s, t, tilt / m)]
                x = s + t - sign * (q[0] + q[1])
                bound = m * q[2] + m * (most + 1) / (m + most) * x * x / 8
                noise = -math.log(1 - s * s) - math.log(1 - t * t)
                exponent += tilt * (x_a / n_a - x_c / n_c) - noise - bound
            whole += math.exp(exponent) / (j + 4)
        whole /= sum(1 / (j + 4) for j in range(EFFECTS))
        assert pair.log(d) == pytest.approx(math.log(whole), abs=1e-9)
        assert evidence(record, "a", "b", margin=d).value == pytest.approx(whole)
    low, high = limits_within(record, 0, 1, 0.05)
    assert pair.log(low) == pytest.approx(math.log(40.0), abs=1e-6)
    assert Within(record, 1, 0).log(-high) == pytest.approx(math.log(40.0), abs=1e-6)
    assert limits_within(record_of_cells(((5, 1.0), (0, None))), 0, 1, 0.05) == (-1.0, 1.0)


# --- coverage -------------------------------------------------------------------------------------

GAP = 0.2
TRENDS: dict[str, Any] = {
    "none": lambda at: np.full_like(at, 0.4),
    "linear": lambda at: 0.1 + 0.6 * at,
    "season": lambda at: 0.4 + 0.35 * np.sin(40.0 * at),
    "saw": lambda at: 0.8 * ((24.0 * at) % 1.0),
}
"""Everybody's rate by the time that has passed; the saw rises within every epoch."""


def played(
    trend: Any, rng: np.random.Generator, scale: float = 0.5, shuffled: bool = True
) -> EpochRecord:
    """24 epochs of 40, whose shares follow who leads in what was released before."""
    epochs: list[Any] = []
    lead = 0.0
    for number in range(24):
        sizes = (20, 20) if number < 2 else (30, 10) if lead > 0 else (10, 30)
        arms = np.repeat([0, 1], sizes)
        if shuffled:
            rng.shuffle(arms)
        rates = trend((number + np.arange(40) / 40) / 24) + GAP * (arms == 0)
        outcomes = rng.random(40) < rates
        cells = [
            (n, outcomes[arms == a].sum() + rng.laplace(0, scale)) for a, n in enumerate(sizes)
        ]
        epochs.append(tuple(cells))
        lead += cells[0][1] / sizes[0] - cells[1][1] / sizes[1]
    return record_of_cells(*epochs, noise=Noise("laplace", scale))


def ever_missed(record: EpochRecord, alpha: float) -> bool:
    """Whether the truth was outside after any epoch."""
    for a, c, d in ((0, 1, GAP), (1, 0, -GAP)):
        pair = Within(record, a, c)
        logs = np.logaddexp.reduce(pair.weights + pair.steps(d).cumsum(axis=0), axis=1)
        if (logs >= math.log(2.0 / alpha)).any():
            return True
    return False


def misses(trend: str, **options: Any) -> int:
    rng = np.random.default_rng(7)
    noise = options.pop("noise", None)
    found = 0
    for _ in range(TRIALS):
        record = played(TRENDS[trend], rng, **options)
        if noise is not None:
            record = EpochRecord(record.arms, record.cells, noise)
        found += ever_missed(record, 0.05)
    return found


@pytest.mark.parametrize("trend", TRENDS)
def test_the_difference_is_never_missed_more_often_than_is_said(trend: str) -> None:
    assert misses(trend) <= binom.isf(FALSE_ALARM, TRIALS, 0.05)


def test_the_count_of_misses_notices_what_is_assumed() -> None:
    """Noise that is not reckoned with, or arms one after the other within an epoch."""
    limit = binom.isf(FALSE_ALARM, TRIALS, 0.05)
    assert misses("none", scale=5.0, noise=NOISELESS) > limit
    assert misses("saw", shuffled=False) > limit


def test_differences_of_several_arms() -> None:
    rng = np.random.default_rng(3)
    rates = (0.3, 0.7, 0.5)
    epochs = [tuple((30, rng.binomial(30, p) + rng.laplace()) for p in rates) for _ in range(20)]
    record = record_of_cells(*epochs)
    found = differences(record)
    assert (found.kind, found.estimand, found.together) == ("anytime", "within", True)
    assert [(row.arm, row.against, row.size) for row in found] == [
        ("a", "b", 1200), ("c", "b", 1200),
    ]  # fmt: skip
    assert found.of("a").high < 0 < 1 - found.of("a").width
    ends = ahead_within(record, 1, 0.95)
    assert [-end for end in reversed(ends[0])] == [found.of("a").low, found.of("a").high]
    control = differences(record, against="a")
    assert control.of("b").width < found.of("a").width  # two comparisons, not three
    assert "differences within epochs" in str(found)
    with pytest.raises(InvalidArgument, match="against must be another arm"):
        evidence(record, "a", "a")


# --- trials ---------------------------------------------------------------------------------------


def rehearsed(**options: Any) -> discreet.Rehearsal:
    row = discreet.policy("dp-imed", epsilon=1.0, ratio=1.5)
    return discreet.Rehearsal(
        row,
        ["A", "B"],
        horizon=600,
        seed=4,
        arrivals=12,
        delay=14,
        missing=0.1,
        default=0.0,
        **grouped(dict(trend=True, share={"A": 0.2, "B": 0.2}, **options)),
    )


def test_a_trial_reports_them(tmp_path: Path) -> None:
    world = rehearsed()
    report = world.play(discreet.Bernoulli([0.8, 0.3]))
    found = differences(world)
    assert found == differences(json.loads(json.dumps(report)))
    (behind,) = report["trend"]["behind"]
    assert report["trend"]["leader"] == "A"
    assert behind["interval"] == pytest.approx([-found[0].high, -found[0].low])
    assert behind["interval"][0] < behind["mean"] < behind["interval"][1]
    assert behind["interval"][0] > 0.1
    text = f"95 % interval {behind['interval'][0]:.4g} to {behind['interval'][1]:.4g}"
    assert text in str(world.trial)
    assert evidence(world, "A", "B").value > 100
    with pytest.raises(InvalidArgument, match=r"within epochs alone: take differences\("):
        intervals(world.trial)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    shown = CliRunner().invoke(app, ["show", str(path)]).output
    assert str(found) in shown
    as_json = json.loads(CliRunner().invoke(app, ["show", str(path), "--json"]).output)
    assert as_json["differences"]["rows"][0]["low"] == found[0].low
    report["trend"]["record"]["cells"] = [[[1]]]
    path.write_text(json.dumps(report))
    assert "damaged" in CliRunner().invoke(app, ["show", str(path)]).output
