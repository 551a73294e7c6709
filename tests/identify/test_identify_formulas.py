"""Every formula of the stopping and sampling rules against a naive twin."""

from __future__ import annotations

import math

import pytest
from naive_identify import (
    naive_calibration,
    naive_cost,
    naive_gaussian,
    naive_private,
    naive_starred,
)
from scipy.special import lambertw, zeta

from discreet.errors import InvalidArgument
from discreet.identify import (
    GaussianCost,
    GaussianThreshold,
    HeuristicThreshold,
    NoisyHeuristicThreshold,
    PrivateCost,
    PrivateThreshold,
    PublicThreshold,
    RiskSetting,
    StarredThreshold,
    UnitCost,
)
from discreet.identify._costs import evidence, gain, resistance
from discreet.identify._special import calibration, lambert_bar, log_zeta
from discreet.policies import Doubling, EachRound, Exact, ForgetLaplace, Geometric, LocalBernoulli
from discreet.privacy._source import SIMULATED

WEIGHTS = [(1, 1), (1, 2), (64, 8), (4096, 4096), (2**20, 2**13)]


def setting(arms: int = 5, delta: float = 0.01, epsilon: float = 0.3) -> RiskSetting:
    return RiskSetting(arms, None, SIMULATED, Doubling(), ForgetLaplace(epsilon), delta)


@pytest.mark.parametrize("u", [1e-3, 0.1, 0.5, 0.9, 1.0])
def test_log_zeta(u: float) -> None:
    value, first, second = log_zeta(u)
    assert value == pytest.approx(math.log(zeta(1 + u)), rel=1e-11)
    h = 1e-6 * u
    above, below = log_zeta(u + h), log_zeta(u - h)
    assert first == pytest.approx((above[0] - below[0]) / (2 * h), rel=1e-6)
    assert second == pytest.approx((above[1] - below[1]) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("x", [0.0, 0.1, 1.0, 2.3, 7.0, 30.0, 500.0])
def test_calibration(x: float) -> None:
    assert calibration(x) == pytest.approx(naive_calibration(x), rel=1e-9)


@pytest.mark.parametrize("x", [1.0, 1.0001, 1.5, 4.0, 40.0, 400.0])
def test_lambert(x: float) -> None:
    expected = 1.0 if x == 1.0 else float(-lambertw(-math.exp(-x), -1).real)
    # at 1 two roots meet, and half of the digits are lost
    assert lambert_bar(x) == pytest.approx(expected, rel=1e-7 if x == 1.0 else 1e-10)


@pytest.mark.parametrize(("a", "b"), WEIGHTS)
@pytest.mark.parametrize("delta", [0.3, 0.01])
def test_thresholds(a: int, b: int, delta: float) -> None:
    at = setting(delta=delta)
    wa, wb = float(a), float(b)
    gaussian = GaussianThreshold()
    value = gaussian.value(gaussian.level(at), 0.1, wa, wb, a + b)
    assert value == pytest.approx(naive_gaussian(5, delta, wa, wb), rel=1e-9)
    assert value >= gaussian.least(at)
    private = PrivateThreshold()
    value = private.value(private.level(at), 0.1, wa, wb, a + b)
    assert value == pytest.approx(naive_private(5, delta, 0.3, wa, wb), rel=1e-9)
    for version, c in (("jmlr", 0.5), ("thesis-k2", 3.0)):
        starred = StarredThreshold(version)
        for gap in (0.1, 0.2, 2.0):
            value = starred.value(starred.level(at), gap, wa, wb, a + b)
            assert value == pytest.approx(naive_starred(5, delta, 0.3, gap, wa, wb, c), rel=1e-9)
    heuristic, noisy = HeuristicThreshold(), NoisyHeuristicThreshold()
    plain = math.log((1 + math.log(a + b)) / delta)
    assert heuristic.value(heuristic.level(at), 0.1, wa, wb, a + b) == pytest.approx(plain)
    assert plain >= heuristic.least(at)
    noise = private.value(private.level(at), 0.1, wa, wb, a + b) - 2 * naive_gaussian(
        5, delta / (2 * zeta(2) ** 2 * (math.log2(a) + 2) ** 2 * (math.log2(b) + 2) ** 2), wa, wb
    )
    assert noisy.value(noisy.level(at), 0.1, wa, wb, a + b) == pytest.approx(plain + noise)
    public = PublicThreshold()
    naive = (
        math.log(1 / delta) + math.log(1 + math.log(a)) + math.log(1 + math.log(b))
        + (1 / a + 1 / b) * math.log(1 / delta) ** 2 / 0.3**2
    )  # fmt: skip
    assert public.value(public.level(at), 0.1, wa, wb, a + b) == pytest.approx(naive)
    assert naive >= public.least(at)


@pytest.mark.parametrize("gap", [-0.5, 0.0, 0.05, 0.4, 3.0])
def test_costs(gap: float) -> None:
    at = setting(epsilon=0.2)
    for cost, cut in (
        (GaussianCost(), math.inf),
        (PrivateCost(), 0.1),
        (PrivateCost("thesis-k2"), 0.6),
    ):
        scale = cost.scale(at)
        seen = evidence(gain(scale, gap), 64.0, 8.0)
        assert seen == pytest.approx(naive_cost(gap, 64, 8, cut), rel=1e-12)
        assert resistance(scale, gap) == (math.inf if gap <= 0 else 1 / gain(scale, gap))
    assert gain(UnitCost().scale(at), gap) == pytest.approx(max(gap, 0.0) ** 2 / 2)


def test_only_proved_combinations_are_called_correct() -> None:
    doubling, laplace = Doubling(), ForgetLaplace(1.0)
    assert PrivateThreshold().covers(doubling, laplace)
    assert StarredThreshold().covers(doubling, laplace)
    assert not PrivateThreshold().covers(Geometric(1.5), laplace)
    assert not GaussianThreshold().covers(doubling, laplace)
    assert GaussianThreshold().covers(EachRound(), Exact())
    assert GaussianThreshold().covers(EachRound(), LocalBernoulli(1.0))
    assert not PrivateThreshold().covers(EachRound(), Exact())
    assert not PublicThreshold().delta_correct


def test_unknown_version() -> None:
    with pytest.raises(InvalidArgument, match="version must be 'jmlr' or 'thesis-k2'"):
        StarredThreshold("draft")
