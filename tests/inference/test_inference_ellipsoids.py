"""Ellipsoids of linear trials: they hold the parameter, and speak as the trial's own estimates."""

from __future__ import annotations

import random

import pytest

import discreet
from discreet import Features, linear
from discreet.errors import InvalidArgument
from discreet.inference import ellipsoid

TRUTH = (0.6, -0.3)


def test_the_parameter_lies_inside() -> None:
    """The ellipsoid misses with probability at most 1.5e-6: that is the false-alarm rate."""
    chance = random.Random(1)
    row = linear.policy("adac-oful", rho=1.0, failure=1e-6)
    with linear.Trial(row, ["A", "B"], horizon=400, features=Features(dimension=2)) as trial:
        with pytest.raises(InvalidArgument, match="source must be a linear trial"):
            ellipsoid(trial)
        for unit in range(400):
            turn = chance.uniform(0.2, 0.8)
            offered = [[turn, 0.5], [0.5, -turn]]
            arm = trial.assign(unit, offered)
            features = offered["AB".index(str(arm))]
            mean = sum(x * t for x, t in zip(features, TRUTH, strict=True))
            trial.record(unit, 1.0 if chance.random() < (1 + mean) / 2 else -1.0)
        found = ellipsoid(trial)
        assert found.level == 1.0 - 1.5e-6
        for features in ([1.0, 0.0], [0.0, 1.0], [0.6, 0.8]):
            mean = sum(x * t for x, t in zip(features, TRUTH, strict=True))
            assert mean in found.interval(features)
        said = trial.estimates([[0.5, 0.5], [0.5, -0.5]])[0]
        own = found.interval((0.5, 0.5), "A")
        assert own.estimate == pytest.approx(said["mean"])
        assert own.high - own.low == pytest.approx(2 * said["width"], rel=1e-6)
        assert ellipsoid(trial.report()) == found
        with pytest.raises(InvalidArgument, match="features must have 2 entries"):
            found.interval((1.0,))


def test_other_rows_have_none() -> None:
    with pytest.raises(InvalidArgument, match="source must be a linear trial"):
        ellipsoid(discreet.Rehearsal(discreet.policy("dp-imed", epsilon=1.0), 2, horizon=100))
