"""Upper tails of Beta laws, beside SciPy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.policies._betas import beta_beyond, beta_tail, beta_upper_quantile, tail_bound

SHAPES = [
    (a, b)
    for a in (1.0, 1.5, 3.0, 40.0, 3000.0, 2e5)
    for b in (1.0, 1.2, 7.0, 60.0, 5000.0, 3e5)
]  # fmt: skip


def points(a: float, b: float) -> list[float]:
    """Levels above the mean, from one to eight standard deviations."""
    mean = a / (a + b)
    sd = math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    return [x for x in (mean + k * sd for k in (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)) if x < 1.0]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_bounds_lie_above_tails_and_near_them(a: float, b: float) -> None:
    for x in points(a, b):
        tail, bound = float(stats.beta.sf(x, a, b)), tail_bound(a, b, x)
        assert beta_tail(a, b, x) == pytest.approx(tail, rel=1e-7, abs=1e-300)
        assert bound >= tail * (1.0 - 1e-9)
    far = [x for x in points(a, b) if (a + b - 2.0) * x > a - 1.0]
    if min(a, b) >= 40.0:  # Mills' ratio at two standard deviations is 1.19
        assert tail_bound(a, b, far[2]) <= 1.25 * float(stats.beta.sf(far[2], a, b))


@pytest.mark.parametrize(("a", "b"), [(40.0, 60.0), (3000.0, 7.0), (1.0, 5000.0)])
def test_quantiles_are_the_inverse(a: float, b: float) -> None:
    for x in points(a, b)[:4]:
        probability = float(stats.beta.sf(x, a, b))
        mean = a / (a + b)
        assert beta_upper_quantile(a, b, probability, mean) == pytest.approx(x, abs=1e-9)


def test_draws_beyond_a_level_have_the_tail_of_the_law() -> None:
    """Binomial counts, each outside its bounds with probability 1e-8 at most; the seed is fixed."""
    rng, draws = np.random.default_rng(1), 20_000
    for a, b, level in ((30.0, 20.0, 0.72), (400.0, 300.0, 0.61), (5.0, 1.0, 0.7)):
        values = np.array([beta_beyond(a, b, level, rng) for _ in range(draws)])
        for x in (level, level + 0.01, level + 0.03):
            tail = float(stats.beta.sf(x, a, b))
            low, high = (stats.binom.ppf(end, draws, tail) for end in (5e-9, 1.0 - 5e-9))
            assert low <= (values > x).sum() <= high
    assert beta_beyond(2.0, 1.0, 1.0, rng) <= 1.0  # no draw is above 1
