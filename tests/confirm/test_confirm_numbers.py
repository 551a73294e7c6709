"""Eight numbers that every version must reach, in one place."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.confirm import alarm, design
from discreet.confirm._families import Family
from discreet.confirm._final import Cells, batched, weighted
from discreet.confirm._lattice import Law, Rule, two_arm_rule
from discreet.confirm._noises import Noise, noise_of
from discreet.confirm._normal import boundaries
from discreet.privacy import Pure

EQUAL, TEXTBOOK = ((133, 133), (266, 266), (400, 400)), (3.471, 2.454, 2.004)
ONE = noise_of(Pure(1.0))


def test_1_textbook_boundaries_at_a_rare_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    law, rule = Law(EQUAL, ONE, 0.01, 0.01), two_arm_rule(TEXTBOOK, 1.0, 2)
    assert law.stops(rule).rejected == pytest.approx(0.04768, abs=6e-6)
    monkeypatch.setattr(Noise, "shrinkage", 0.0)
    assert law.stops(rule).rejected == pytest.approx(0.06062, abs=6e-6)


def test_2_and_6_the_certified_factor_and_a_worked_verdict() -> None:
    plan = design(800, epsilon=1.0)
    assert plan.certificate.factor == pytest.approx(1.0065, abs=3e-3)
    assert plan.power(0.5, 0.35) == pytest.approx(0.9858, abs=5e-4)
    bounds = (3.4711, 2.4544, 2.0040)
    textbook = replace(plan, certificate=replace(plan.certificate, boundaries=bounds))
    found = textbook.verdict([(70, 44), (69, 44)])
    assert found.z == pytest.approx((3.133, 4.349), abs=1e-3)
    assert found.estimate is not None
    assert found.estimate.difference == pytest.approx(0.1840, abs=2e-4)
    assert found.estimate.interval == pytest.approx((0.0875, 0.2723), abs=2e-4)
    assert found.estimate.p_value == pytest.approx(0.00052, abs=1e-5)
    assert found.repeated == pytest.approx((0.0854, 0.2981), abs=1e-4)


def test_3_one_look_with_unequal_arms() -> None:
    law = Law(((300, 150),), noise_of(Pure(0.5)), 0.3, 0.3)
    assert law.stops(Rule((-1.96,), (1.96,))).rejected == pytest.approx(0.05027, abs=6e-6)


def test_4_spending_at_unequal_looks() -> None:
    found = boundaries("lan-demets", (0.3, 0.8, 1.0), 0.05, 2)
    assert found == pytest.approx((3.9286, 2.2509, 2.0251), abs=6e-5)


def test_5_three_treatments_and_a_control() -> None:
    rule = Rule((-math.inf,) * 2, (2.36 * math.sqrt(2), 2.36))
    found = Family(((100, 100), (200, 200)), ONE, (0.35,) * 3, 0.35).stops(rule)
    assert (found.rejected, found.each[0]) == pytest.approx((0.02452, 0.00927), abs=6e-6)


def test_7_the_alarm() -> None:
    found = alarm(400, 0.02, looks=8, epsilon=1.0)
    assert found.thresholds == (7, 9, 11, 12, 14, 15, 17, 18)
    assert (found.error, found.power(0.06)) == pytest.approx((0.04775, 0.8887), abs=4e-5)


class Given(Noise):
    """v = 2 and κ = 2."""

    variance = 2.0
    shrinkage = 2.0


def test_8_statistics_of_epochs() -> None:
    rows = np.array([(40, 40, 21, 15), (56, 24, 29.5, 8), (64, 16, 30, 7.5), (64, 16, 33, 5)])
    cells = Cells(*(rows[:, [i]] for i in range(4)))
    w, b = weighted(cells, Given("laplace", 1.0)), batched(cells, Given("laplace", 1.0))
    assert (w.difference, w.se, b.difference, b.se) == pytest.approx(
        (0.1438, 0.0712, 0.1403, 0.0718), abs=6e-5
    )
    assert (w.z, b.z) == pytest.approx((1.991, 1.926), abs=6e-4)
