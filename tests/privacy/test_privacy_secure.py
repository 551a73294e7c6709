"""Live noise: integers, no seed, the law of the simulated noise, and OpenDP's own claim.

Live draws cannot be seeded, so every statistical threshold is itself a false-alarm probability of
1e-6; nothing is retried.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

from discreet.errors import DiscreetError, InvalidArgument, UnsupportedBudget
from discreet.privacy import (
    ZCDP,
    Approximate,
    Gaussian,
    GaussianDP,
    Pure,
    Renyi,
)
from discreet.privacy import (
    _curves as curves,
)
from discreet.privacy import (
    _noise as noise,
)
from discreet.privacy import (
    _secure as secure,
)

ALARM = 1e-6
DRAWS = 8000
UNIT = 1 << 20


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_live_and_simulated_noise_follow_one_law(kind: str) -> None:
    scale = 3.0 * UNIT
    law = stats.laplace(scale=scale) if kind == "laplace" else stats.norm(scale=scale)
    live = np.array([getattr(secure, kind)(scale) for _ in range(DRAWS)], dtype=float)
    rng = np.random.default_rng(1)
    simulated = np.array([getattr(noise, kind)(scale, rng) for _ in range(DRAWS)])
    for drawn in (live, simulated):
        assert stats.kstest(drawn, law.cdf).pvalue > ALARM
        # the test would see a scale that is a fifth off
        assert stats.kstest(drawn / 1.2, law.cdf).pvalue < ALARM
    assert stats.ks_2samp(live, simulated).pvalue > ALARM


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_live_noise_has_the_discrete_law(kind: str) -> None:
    k = np.arange(-60, 61)
    mass = np.exp(-np.abs(k) / 2.0) if kind == "laplace" else np.exp(-0.5 * (k / 2.0) ** 2)
    mass /= mass.sum()
    drawn = [getattr(secure, kind)(2.0) for _ in range(DRAWS)]
    assert all(type(x) is int for x in drawn)
    inner = np.abs(k) <= 4
    seen = [drawn.count(int(x)) for x in k[inner]]
    wanted = mass[inner] * DRAWS
    rest = DRAWS - sum(seen)
    result = stats.chisquare([*seen, rest], [*wanted, DRAWS - wanted.sum()])
    assert result.pvalue > ALARM


def test_wide_noise_is_not_clamped_to_32_bits() -> None:
    # all 20 below 2^31 has probability below 1e-50, a repeat below 1e-9
    drawn = [secure.laplace(2.0**40) for _ in range(20)]
    assert max(abs(x) for x in drawn) > 2**31
    assert len(set(drawn)) == 20


def test_low_bits_are_uniform() -> None:
    """No grid: all residues modulo 16 of wide noise are equally likely."""
    drawn = [secure.gaussian(3.0 * UNIT) % 16 for _ in range(DRAWS)]
    assert stats.chisquare(np.bincount(drawn, minlength=16)).pvalue > ALARM


@pytest.mark.parametrize("rng", [np.random.default_rng(0), 0, 7])
def test_no_seed_can_be_passed(rng: object) -> None:
    for draw in (secure.laplace, secure.gaussian):
        with pytest.raises(InvalidArgument, match="rng must be None"):
            draw(1.0, rng)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**60, "1"])
def test_bad_scales_are_refused(scale: object) -> None:
    for draw in (secure.laplace, secure.gaussian):
        with pytest.raises(InvalidArgument, match="scale must"):
            draw(scale)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3, 0.49, 1.0, 1 / 3, 7.7])
@pytest.mark.parametrize("sensitivity", [1, 7, UNIT])
def test_laplace_scale_keeps_the_claim(epsilon: float, sensitivity: int) -> None:
    scale = secure.laplace_scale(epsilon, sensitivity)
    assert secure._measurement("laplace", scale).map(sensitivity) <= epsilon
    assert scale == pytest.approx(sensitivity / epsilon, rel=1e-12)
    assert secure._measurement("laplace", scale * (1 - 1e-9)).map(sensitivity) > epsilon


@pytest.mark.parametrize("rho", [0.001, 0.1, 0.3, 2.0])
@pytest.mark.parametrize("sensitivity", [1, 7, UNIT])
def test_gaussian_scale_keeps_the_claim(rho: float, sensitivity: int) -> None:
    scale = secure.gaussian_scale(ZCDP(rho), sensitivity)
    assert secure._measurement("gaussian", scale).map(sensitivity) <= rho
    assert scale == pytest.approx(sensitivity / math.sqrt(2 * rho), rel=1e-12)
    renyi = secure.gaussian_scale(Renyi(4, rho), sensitivity)
    assert 4 * secure._measurement("gaussian", renyi).map(sensitivity) <= rho
    assert renyi == pytest.approx(sensitivity * math.sqrt(2 / rho), rel=1e-12)


def test_gaussian_scale_for_approximate_budgets() -> None:
    scale = secure.gaussian_scale(Approximate(1.0, 1e-6), UNIT)
    assert curves.lattice_delta(scale, UNIT, 1.0) <= 1e-6
    assert scale / UNIT == pytest.approx(
        Gaussian.calibrated(Approximate(1.0, 1e-6)).scale, rel=1e-6
    )
    for budget in (Pure(1), GaussianDP(1), ZCDP(math.inf), Approximate(1, 0)):
        with pytest.raises(UnsupportedBudget):
            secure.gaussian_scale(budget, UNIT)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, True])
def test_bad_sensitivities_are_refused(sensitivity: object) -> None:
    with pytest.raises(InvalidArgument, match="sensitivity"):
        secure.laplace_scale(1.0, sensitivity)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="sensitivity"):
        secure.gaussian_scale(ZCDP(1), sensitivity)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_bad_epsilons_are_refused(epsilon: float) -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        secure.laplace_scale(epsilon, 1)
    with pytest.raises(InvalidArgument, match="epsilon"):
        secure.randomised_response(1, 2, epsilon)


@pytest.mark.parametrize("units", [0, 1, 4])
def test_response_law(units: int) -> None:
    epsilon, r = 1.0, units / 4
    drawn = [secure.randomised_response(units, 4, epsilon) for _ in range(DRAWS)]
    assert set(drawn) == {0, 1}
    wanted = (r * math.e + 1 - r) / (1 + math.e)
    assert stats.binomtest(sum(drawn), DRAWS, wanted).pvalue > ALARM


@pytest.mark.parametrize("epsilon", [1e-12, 0.1, 1.0, 2.0, 5.0, 36.0, 60.0])
def test_response_keeps_the_claim(epsilon: float) -> None:
    assert secure._response(epsilon).map(1) <= epsilon
    if 0.01 < epsilon < 30:
        assert secure._response(epsilon).map(1) == pytest.approx(epsilon, rel=1e-3)


@pytest.mark.parametrize("units", [-1, 5, 1.0])
def test_bad_units_are_refused(units: object) -> None:
    with pytest.raises(InvalidArgument, match="steps"):
        secure.randomised_response(units, 4, 1.0)  # type: ignore[arg-type]


def test_threads_may_share_the_noise() -> None:
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: secure.laplace(1e9), range(400)))
    # one repeat has probability below 1e-4, four of them below 1e-12
    assert len(set(drawn)) >= 397


def test_an_old_opendp_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.14.1")
    secure._opendp.cache_clear()
    try:
        with pytest.raises(DiscreetError, match=r"0\.14\.2"):
            secure._opendp()
    finally:
        secure._opendp.cache_clear()
