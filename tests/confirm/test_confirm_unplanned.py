"""Looks whose sizes nobody planned."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.confirm import Unplanned, unplanned
from discreet.confirm._lattice import Law, two_arm_rule
from discreet.errors import InvalidArgument


@pytest.fixture(scope="module")
def looks() -> list[Unplanned]:
    made = [unplanned(800, epsilon=1.0)]
    for n in (120, 320, 400):
        made.append(made[-1].look(n, n))
    return made[1:]


def test_known_boundaries_and_power(looks: list[Unplanned]) -> None:
    assert looks[-1].boundaries == pytest.approx((5.73, 2.265, 2.036), abs=4e-3)
    assert looks[-1].design.power(0.5, 0.35) == pytest.approx(0.9854, abs=2e-4)
    assert [each.is_over for each in looks] == [False, False, True]


def test_no_look_spends_more_than_its_part(looks: list[Unplanned]) -> None:
    """The exact P(cross by look l) at rates off the grid."""
    for each, share in zip(looks, (0.3, 0.8, 1.0), strict=True):
        rule = two_arm_rule(each.boundaries, 1.0, 2)
        for rate in np.random.default_rng(2).random(8) ** 2:
            law = Law(each.sizes, each.design.noise, rate, rate)
            assert law.stops(rule).rejected <= each.certificates[-1].bound <= each.spent(share)


def test_earlier_boundaries_stay(looks: list[Unplanned]) -> None:
    assert looks[2].boundaries[:2] == looks[1].boundaries
    early = looks[0].look(200, 190, last=True)
    assert early.is_over
    assert early.boundaries[0] == looks[0].boundaries[0]
    assert early.certificates[-1].bound <= 0.05


def test_verdicts_go_on_until_the_last_look(looks: list[Unplanned]) -> None:
    assert looks[0].verdict([(50, 45)]).decision == "go on"
    assert looks[0].verdict([(50, 45)]).estimate is None
    assert looks[1].verdict([(62, 45), (110, 70)]).decision == "better"
    assert looks[2].verdict([(50, 45), (80, 78), (30, 31)]).decision == "no difference shown"
    said = json.loads(json.dumps(looks[1].to_dict(), allow_nan=False))
    assert Unplanned.from_dict(said) == looks[1]
    assert "5.7" in str(looks[1])


def test_what_is_refused(looks: list[Unplanned]) -> None:
    start = unplanned(800, epsilon=1.0)
    with pytest.raises(InvalidArgument, match="so early a look"):
        start.look(20, 20)
    with pytest.raises(InvalidArgument, match="follow a look"):
        start.verdict([(1, 2)])
    for sizes in ((120, 320), (100, 330)):
        with pytest.raises(InvalidArgument, match="grow from look to look"):
            looks[1].look(*sizes)
    with pytest.raises(InvalidArgument, match="grow from look to look"):
        looks[2].look(500, 500)
    with pytest.raises(InvalidArgument) as caught:
        unplanned(800, epsilon=1.0, boundary="pocock")
    assert caught.value.argument == "boundary"
