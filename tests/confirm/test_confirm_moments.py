"""Second moments and answers beside a sum: what they cost, and tests that use them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.confirm._lattice import statistic
from discreet.confirm._moments import (
    Arm,
    Spread,
    answered_z,
    difference_bounds,
    fractional_z,
    tipping,
)
from discreet.confirm._noises import noise_of
from discreet.errors import InvalidArgument, UnsupportedBudget
from discreet.privacy import ZCDP, Approximate, Pure
from discreet.privacy._moments import FACTORS, GOLDEN, JointSums, changes

LAWS = [(kind, law) for kind, laws in FACTORS.items() for law in laws]


@pytest.mark.parametrize(("kind", "law"), LAWS)
def test_no_change_costs_more_than_the_sum_alone(kind: str, law: str) -> None:
    """Every pair of outcomes in steps of 1/40, silence too; the worst costs the whole budget."""
    made = JointSums.calibrated(kind, Pure(1.0) if law == "laplace" else ZCDP(0.5))
    losses = [made.loss(tuple(float(d) for d in moved)) for moved in changes(kind)]
    most = 1.0 if law == "laplace" else 0.5
    assert max(losses) <= most * (1 + 1e-12)
    assert max(losses) == pytest.approx(most)


def test_laplace_costs_are_whole_in_fractions() -> None:
    """Without floating-point numbers: Σ|d|/b is at most 1, and 1 is reached."""
    factors = {"moments": (1, 1), "answers": (1, 2), "triple": (1, 2, Fraction(8, 3))}
    for kind, scales in factors.items():
        worst = max(
            sum(abs(d) / Fraction(b) for d, b in zip(moved, scales, strict=True))
            for moved in changes(kind)
        )
        assert worst == 1, kind


@pytest.mark.parametrize(("kind", "law"), LAWS)
def test_the_budget_is_derived_from_the_scales(kind: str, law: str) -> None:
    asked = Pure(0.7) if law == "laplace" else ZCDP(0.3)
    made = JointSums.calibrated(kind, asked)
    number = getattr(made.budget, "epsilon", None) or getattr(made.budget, "rho", None)
    assert number == pytest.approx(0.7 if law == "laplace" else 0.3, rel=1e-6)
    # less noise on the last sum is seen
    less = JointSums(kind, law, (*made.scales[:-1], 0.8 * made.scales[-1]))
    other = getattr(less.budget, "epsilon", None) or getattr(less.budget, "rho", None)
    assert other is not None
    losses = [less.loss(tuple(float(d) for d in moved)) for moved in changes(kind)]
    assert max(losses) <= other
    assert other > 1.001 * (0.7 if law == "laplace" else 0.3)


def test_the_golden_factor_is_the_least() -> None:
    delta = np.linspace(0.0, 1.0, 100_001)
    assert pytest.approx(float((delta**2 * (1 - delta) / (1 + delta)).max()), abs=1e-9) == GOLDEN**2
    assert pytest.approx(0.3003, abs=5e-5) == GOLDEN


def test_budgets_that_are_refused() -> None:
    for kind, budget in (("triple", ZCDP(0.5)), ("moments", Approximate(1.0, 1e-6))):
        with pytest.raises(UnsupportedBudget):
            JointSums.calibrated(kind, budget)
    with pytest.raises(InvalidArgument, match="2 numbers above 0"):
        JointSums("moments", "laplace", (1.0,))


def shares_of_rejections(z: np.ndarray) -> float:
    return float((np.abs(z) > 1.959964).mean())


def test_fractions_keep_their_level_and_beat_rounding() -> None:
    """n = 100 an arm, ε = 1, the noise of three looks, 20,000 trials: type I error of Beta(3, 3)
    within .006 of .05 plus 5 standard errors; Beta(4, 3) is seen about twice as often as after
    rounding (each share within 5 standard errors of what the normal law says, and .02)."""
    rng, runs, n, looks = np.random.default_rng(7), 20_000, 100, 3
    spread, places = Spread.of("moments", Pure(1.0)), np.array([100, 100])

    def noise() -> np.ndarray:
        return np.asarray(rng.laplace(0.0, 1.0, (looks, 2, runs)).sum(0))

    def trials(shape: tuple[float, float]) -> tuple[float, float]:
        first, second, ones = np.zeros((2, runs)), np.zeros((2, runs)), np.zeros((2, runs))
        for arm, (a, b) in enumerate((shape, (3.0, 3.0))):
            for start in range(0, runs, 2_000):
                here = slice(start, start + 2_000)
                y = rng.beta(a, b, (2_000, n))
                first[arm, here], second[arm, here] = (y - 0.5).sum(1), ((y - 0.5) ** 2).sum(1)
                ones[arm, here] = (rng.random(y.shape) < y).sum(1)
        z = fractional_z(places, first + noise(), second + noise(), looks, spread)
        rounded = ones + noise()
        plain = statistic(rounded[0], rounded[1], (n, n), looks, noise_of(Pure(1.0)))
        return shares_of_rejections(z), shares_of_rejections(plain)

    assert abs(trials((3.0, 3.0))[0] - 0.05) < 0.006 + 5 * math.sqrt(0.0475 / runs)
    moment, rounding = trials((4.0, 3.0))
    shift = 4 / 7 - 0.5
    for power, variance in ((moment, 0.0352), (rounding, 0.25)):
        drift = shift / math.sqrt(2 * variance / n + 2 * looks * 2.0 / n**2)
        assert power == pytest.approx(norm.sf(1.96 - drift), abs=0.02 + 5 * 0.0036)
    assert moment > 2 * rounding


@pytest.mark.parametrize(
    ("m", "rho", "epsilon"),
    [(0.5, (0.88, 0.88), 1.0), (0.35, (0.95, 0.7), 0.5), (0.05, (0.95, 0.7), 1.0)],
)
def test_answers_that_differ_between_arms_keep_the_level(
    m: float, rho: tuple[float, float], epsilon: float
) -> None:
    """100,000 trials of 400 an arm at three looks, the last: .05 within .004 plus 5 standard
    errors; false alarm below 1e-6."""
    rng, runs, n, looks = np.random.default_rng(9), 100_000, 400, 3
    spread = Spread.of("answers", Pure(epsilon))
    answered = np.array([rng.binomial(n, each, runs) for each in rho])
    ones = rng.binomial(answered, m)
    first = ones - 0.5 * answered + rng.laplace(0.0, 1.0 / epsilon, (looks, 2, runs)).sum(0)
    counts = answered + rng.laplace(0.0, 2.0 / epsilon, (looks, 2, runs)).sum(0)
    found = shares_of_rejections(answered_z(np.array([n, n]), first, counts, looks, spread))
    assert abs(found - 0.05) < 0.004 + 5 * math.sqrt(0.0475 / runs)


def test_z_of_answers_by_hand() -> None:
    spread = Spread(2.0, 8.0, 2.0)
    z = answered_z(np.array([100, 100]), np.array([10.0, -5.0]), np.array([90.0, 80.0]), 2, spread)
    off = 5.0 / (170.0 + 4.0)
    variance = sum((0.25 - off**2) / r + 2 * (2.0 + off**2 * 8.0) / r**2 for r in (90.0, 80.0))
    assert float(z) == pytest.approx((10 / 90 + 5 / 80) / math.sqrt(variance))


def test_bounds_and_tipping_points() -> None:
    treatment, control = Arm(100, 5.0, 80.0), Arm(100, -10.0, 90.0)
    assert treatment.mean(0.0) == pytest.approx(0.45)
    assert treatment.mean(1.0) == pytest.approx(0.65)
    assert control.mean(0.5) == pytest.approx(0.4)
    assert difference_bounds(treatment, control) == pytest.approx((0.0, 0.30))
    points = dict(tipping(treatment, control, (0.0, 1.0)))
    assert points[0.0] is None
    assert points[1.0] == pytest.approx(0.0)
    worse = Arm(100, -4.0, 80.0)
    ((_, turn),) = tipping(worse, control, (0.5,))
    assert turn is not None
    assert worse.mean(turn) == pytest.approx(control.mean(0.5))
    with pytest.raises(InvalidArgument, match="among"):
        tipping(worse, control, ())
