"""The safety alarm: thresholds and error against a naive walk over all sums."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from test_confirm_lattice import draws_of

from discreet.confirm import Alarm, alarm
from discreet.errors import InvalidArgument


def naive(found: Alarm, rate: float, thresholds: tuple[int, ...]) -> float:
    """P(alarm), sum by sum."""
    paths, crossed, before = {0: 1.0}, 0.0, 0
    for size, limit in zip(found.sizes, thresholds, strict=True):
        after: dict[int, float] = {}
        for s, mass in paths.items():
            for k in range(size - before + 1):
                for y, w in draws_of(found.noise):
                    weight = mass * float(binom.pmf(k, size - before, rate)) * w
                    after[s + k + y] = after.get(s + k + y, 0.0) + weight
        crossed += sum(mass for s, mass in after.items() if s >= limit)
        paths, before = {s: mass for s, mass in after.items() if s < limit}, size
    return crossed


def test_known_thresholds_error_and_power() -> None:
    found = alarm(400, 0.02, looks=8, epsilon=1.0)
    assert found.thresholds == (7, 9, 11, 12, 14, 15, 17, 18)
    assert found.error == pytest.approx(0.04775, abs=6e-6)
    assert found.power(0.06) == pytest.approx(0.8887, abs=6e-5)
    assert found.power(0.02) == pytest.approx(found.error, abs=1e-9)
    four = [alarm(400, 0.02, looks=4, epsilon=e).power(0.06) for e in (math.inf, 2.0, 0.25)]
    assert four == pytest.approx([0.992, 0.983, 0.347], abs=6e-4)


def test_every_sum_is_counted_and_thresholds_are_least() -> None:
    found = alarm(12, 0.2, looks=3, epsilon=2.5, risk=0.2)
    assert found.error == pytest.approx(naive(found, 0.2, found.thresholds), abs=1e-9)
    assert found.power(0.5) == pytest.approx(naive(found, 0.5, found.thresholds), abs=1e-9)
    for look in range(3):  # one less would spend more than its part
        lower = list(found.thresholds)
        lower[look] -= 1
        lower[look + 1 :] = [10**6] * (2 - look)
        assert naive(found, 0.2, tuple(lower)) > 0.2 * (look + 1) / 3


def test_the_alarm_is_monotone_in_the_rate() -> None:
    found = alarm(60, 0.1, looks=3, rho=0.5)
    powers = [found.power(rate) for rate in np.linspace(0.0, 0.5, 11)]
    assert powers == sorted(powers)
    assert found.error <= 0.05


def test_verdicts_and_travel() -> None:
    found = alarm(400, 0.02, looks=8, epsilon=1.0)
    assert found.verdict([3, 2]) is None
    assert found.verdict([3, 6, 0]) == 2
    assert found.verdict([7]) == 1
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert Alarm.from_dict(said) == found
    with pytest.raises(InvalidArgument, match="that of its thresholds"):
        Alarm.from_dict({**said, "thresholds": [6, *said["thresholds"][1:]]})
    assert "alarm at sums of 7, 9" in str(found)


@pytest.mark.parametrize("sums", [[], "12", [0.123], [1] * 9, 5])
def test_sums_that_are_refused_are_not_shown(sums: Any) -> None:
    with pytest.raises(InvalidArgument, match="sums must hold") as caught:
        alarm(40, 0.1, looks=8, epsilon=2.0).verdict(sums)
    assert "0.123" not in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "options"),
    [("looks", {"looks": 0}), ("rate", {"rate": 0.0}), ("epsilon", {"epsilon": None})],
)
def test_alarms_that_are_refused(argument: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        alarm(**{"participants": 40, "rate": 0.1, "epsilon": 1.0, **options})
    assert caught.value.argument == argument
