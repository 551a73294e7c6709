"""The numbers of a test that is played are those of its design."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.confirm import design
from discreet.confirm._lattice import statistic
from discreet.confirm._noises import Noise
from discreet.confirm._played import played, z_between
from discreet.policies.releases._whole import whole_sums
from discreet.privacy import _noise, _source
from discreet.privacy.budgets import ZCDP, Pure


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_z_is_the_same_to_the_last_bit(epsilon: float) -> None:
    """So that a live trial and `verdict` cannot disagree."""
    plan = design(300, looks=3, epsilon=epsilon)
    row = played(plan)
    rule = row.rule.parameters(row.setting(2))
    rng = np.random.default_rng(3)
    for _ in range(500):
        look = int(rng.integers(3))
        n = plan.sizes[look][0]
        first, second = (float(x) for x in rng.integers(-20, n + 20, size=2))
        wanted = float(statistic(first, second, plan.sizes[look], look + 1, plan.noise))  # type: ignore[arg-type]
        assert z_between(rule, first, second, *plan.sizes[look], look) == wanted


@pytest.mark.parametrize(
    ("draw", "noise"),
    [
        (_noise.whole_laplace, Noise("laplace", 1.0)),
        (_noise.whole_laplace, Noise("laplace", 4.0)),
        (_noise.whole_gaussian, Noise("gaussian", 0.7)),
        (_noise.whole_gaussian, Noise("gaussian", 3.0)),
    ],
)
def test_rehearsed_noise_has_the_law_of_the_design(draw: object, noise: Noise) -> None:
    """χ² over 20,000 draws; false alarm 1e-6."""
    rng = np.random.default_rng(11)
    drawn = np.array([draw(noise.scale, rng) for _ in range(20_000)])  # type: ignore[operator]
    assert (drawn == np.round(drawn)).all()
    masses = noise.masses
    reach = len(masses) // 2
    likely = [y for y in range(-reach, reach + 1) if 20_000 * masses[y + reach] >= 10]
    wanted = [20_000 * masses[y + reach] for y in likely]
    seen = [float((drawn == y).sum()) for y in likely]
    wanted.append(20_000 - sum(wanted))
    seen.append(20_000 - sum(seen))
    x2 = sum((s - w) ** 2 / w for s, w in zip(seen, wanted, strict=True))
    assert x2 < chi2.isf(1e-6, len(wanted) - 1)


@pytest.mark.parametrize("source", [_source.SIMULATED, _source.REHEARSED, _source.SECURE])
def test_a_trial_draws_at_the_scale_that_the_design_counts_on(source: _source.Source) -> None:
    """OpenDP's map may ask for a few units in the last place more."""
    for budget in (Pure(0.3), ZCDP(0.2)):
        plan = design(40, looks=1, budget=budget)
        row = played(plan)
        scale = row.release.parameters(row.setting(2, None, source)).scale  # type: ignore[attr-defined]
        assert math.isclose(scale, plan.noise.scale, rel_tol=1e-12)
        assert scale >= plan.noise.scale


def test_a_release_of_whole_sums_says_what_it_takes() -> None:
    release = whole_sums(Pure(1.0))
    assert release.takes_binary
    assert release.conditions == ("rewards are 0 or 1",)
