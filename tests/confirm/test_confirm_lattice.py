"""The exact law of a trial: against all of its paths, and against simulated trials."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.confirm import _lattice as lattice
from discreet.confirm._lattice import Law, Rule, Sizes, statistic, two_arm_rule
from discreet.confirm._noises import Noise, noise_of
from discreet.privacy import ZCDP, Pure

EQUAL: Sizes = ((133, 133), (266, 266), (400, 400))
OBF = (3.4711, 2.4544, 2.0040)


def draws_of(noise: Noise) -> list[tuple[int, float]]:
    """A naive table of the noise, from its definition."""
    if noise.kind == "none":
        return [(0, 1.0)]
    span = range(-12, 13)
    if noise.kind == "laplace":
        weights = [math.exp(-abs(y) / noise.scale) for y in span]
    else:
        weights = [math.exp(-(y**2) / (2 * noise.scale**2)) for y in span]
    return [(y, w / sum(weights)) for y, w in zip(span, weights, strict=True)]


def z_of(s1: int, s0: int, size: tuple[int, int], look: int, noise: Noise) -> float:
    """The statistic, written from its formula."""
    n1, n0 = size
    kappa = {"none": 0.0, "laplace": 2.0 * noise.scale, "gaussian": math.sqrt(2) * noise.scale}
    shrink = kappa[noise.kind]
    p = min(max((s1 + s0 + shrink) / (n1 + n0 + 2 * shrink), 0.0), 1.0)
    v = sum(y * y * w for y, w in draws_of(noise))
    var = p * (1 - p) * (1 / n1 + 1 / n0) + look * v / n1**2 + look * v / n0**2
    return (s1 / n1 - s0 / n0) / math.sqrt(var) if var > 0 else 0.0


def brute(
    sizes: Sizes, noise: Noise, rates: tuple[float, float], rule: Rule
) -> tuple[float, float, float]:
    """P(above), P(below), P(futile), path by path."""
    found = {"above": 0.0, "below": 0.0, "futile": 0.0}
    paths = {(0, 0): 1.0}
    before = (0, 0)
    for look, size in enumerate(sizes):
        steps = []
        for arm in (0, 1):
            m = size[arm] - before[arm]
            law: dict[int, float] = {}
            for k, (y, w) in itertools.product(range(m + 1), draws_of(noise)):
                law[k + y] = law.get(k + y, 0.0) + float(binom.pmf(k, m, rates[arm])) * w
            steps.append(law)
        after: dict[tuple[int, int], float] = {}
        for (s1, s0), mass in paths.items():
            for (x1, w1), (x0, w0) in itertools.product(steps[0].items(), steps[1].items()):
                key = (s1 + x1, s0 + x0)
                after[key] = after.get(key, 0.0) + mass * w1 * w0
        paths = {}
        for (s1, s0), mass in after.items():
            z = z_of(s1, s0, size, look + 1, noise)
            if z > rule.upper[look]:
                found["above"] += mass
            elif z < rule.lower[look]:
                found["below"] += mass
            elif look < len(rule.futile) and rule.futile[look][0] < z < rule.futile[look][1]:
                found["futile"] += mass
            else:
                paths[s1, s0] = mass
        before = size
    return found["above"], found["below"], found["futile"]


@pytest.mark.parametrize(
    "noise", [Noise("none", 0.0), Noise("laplace", 0.4), Noise("gaussian", 1.0)],
    ids=lambda noise: noise.kind,
)  # fmt: skip
@pytest.mark.parametrize("sizes", [((3, 3), (5, 5)), ((4, 2), (7, 3))], ids=str)
def test_every_path_is_counted(noise: Noise, sizes: Sizes) -> None:
    rule = Rule((-1.8, -1.45), (1.7, 1.35), ((-0.2, 0.3),))
    for rates in ((0.5, 0.5), (0.9, 0.2), (0.0, 0.0)):
        stops = Law(sizes, noise, *rates).stops(rule)
        found = (stops.above.sum(), stops.below.sum(), stops.futile.sum())
        np.testing.assert_allclose(found, brute(sizes, noise, rates, rule), atol=1e-9)


@pytest.mark.parametrize("budget", [Pure(1.0), ZCDP(0.05)], ids=str)
def test_simulated_trials_agree(budget: Pure | ZCDP) -> None:
    """100,000 trials: each frequency within 5.5 standard errors, false alarm below 1e-6 in all."""
    rng, runs, sizes = np.random.default_rng(1), 100_000, ((60, 40), (150, 100))
    noise, rates = noise_of(budget), (0.3, 0.2)
    rule = Rule((-2.2, -2.0), (2.2, 2.0), ((-0.5, 0.1),))
    reach = len(noise.masses) // 2
    free, sums, before = np.ones(runs, bool), np.zeros((2, runs)), (0, 0)
    above, below, futile = [], [], []
    for look, size in enumerate(sizes):
        for arm in (0, 1):
            sums[arm] += rng.binomial(size[arm] - before[arm], rates[arm], runs)
            sums[arm] += _noise(budget, reach, rng, runs)
        z = statistic(sums[0], sums[1], size, look + 1, noise)
        up, down = free & (z > rule.upper[look]), free & (z < rule.lower[look])
        idle = free & ~up & ~down & rule.gives_up(z, look)
        above.append(up.mean())
        below.append(down.mean())
        futile.append(idle.mean())
        free, before = free & ~up & ~down & ~idle, size
    stops = Law(sizes, noise, *rates).stops(rule)
    for seen, exact in ((above, stops.above), (below, stops.below), (futile, stops.futile)):
        error = np.sqrt(exact * (1 - exact) / runs) + 1.0 / runs
        assert (np.abs(np.array(seen) - exact) < 5.5 * error).all()


def _noise(budget: Pure | ZCDP, reach: int, rng: np.random.Generator, runs: int) -> np.ndarray:
    """By another route than the table: two geometric draws, or a naive table of weights."""
    if isinstance(budget, Pure):
        q = 1.0 - math.exp(-budget.epsilon)
        return rng.geometric(q, runs) - rng.geometric(q, runs)
    y = np.arange(-3 * reach, 3 * reach + 1)
    weights = np.exp(-(y**2) * budget.rho)
    return rng.choice(y, runs, p=weights / weights.sum())


def test_known_errors_and_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rare rate, with and without shrinkage, which it is there for; unequal arms; power."""
    one = noise_of(Pure(1.0))
    textbook, rare = two_arm_rule(OBF, 1.0, 2), Law(EQUAL, one, 0.01, 0.01)
    assert rare.stops(textbook).rejected == pytest.approx(0.04768, abs=6e-6)
    with monkeypatch.context() as bare:
        bare.setattr(Noise, "shrinkage", 0.0)
        assert rare.stops(textbook).rejected == pytest.approx(0.06062, abs=6e-6)
    unequal = Law(((300, 150),), noise_of(Pure(0.5)), 0.3, 0.3).stops(Rule((-1.96,), (1.96,)))
    assert unequal.rejected == pytest.approx(0.05027, abs=6e-6)
    power = Law(EQUAL, one, 0.5, 0.35).stops(two_arm_rule(OBF, 1.0065, 2))
    assert power.rejected == pytest.approx(0.9858, abs=6e-5)


def test_what_is_lost_is_little_and_all_is_accounted_for() -> None:
    for budget in (Pure(math.inf), Pure(0.5), ZCDP(0.02)):
        stops = Law(EQUAL, noise_of(budget), 0.4, 0.4).stops(two_arm_rule(OBF, 1.0, 2))
        assert 0.0 <= stops.lost < 1e-9


def test_exchanges_that_change_nothing() -> None:
    noise, sizes = noise_of(Pure(0.7)), ((30, 20), (70, 50))
    rule = Rule((-math.inf, -math.inf), (1.2, 1.9))
    mirror = Rule((-1.2, -1.9), (math.inf, math.inf))
    a = Law(sizes, noise, 0.2, 0.3).stops(rule)
    b = Law(sizes, noise, 0.8, 0.7).stops(mirror)  # ones and zeros exchanged
    c = Law(tuple((y, x) for x, y in sizes), noise, 0.3, 0.2).stops(mirror)  # the arms
    np.testing.assert_allclose(a.above, b.below, atol=1e-9)
    np.testing.assert_allclose(a.above, c.below, atol=1e-9)


@pytest.mark.parametrize("budget", [Pure(0.3), Pure(3.0), ZCDP(0.02), ZCDP(2.0)], ids=str)
def test_the_noise_is_a_law_with_its_variance(budget: Pure | ZCDP) -> None:
    noise = noise_of(budget)
    reach = len(noise.masses) // 2
    y = np.arange(-reach, reach + 1)
    assert noise.masses.sum() == pytest.approx(1.0, abs=1e-11)
    assert noise.variance == pytest.approx(float(y**2 @ noise.masses), rel=1e-6)
    # a change of one outcome moves the sum by 1: the likelihood ratio keeps ε
    if isinstance(budget, Pure):
        ratios = np.abs(np.diff(np.log(noise.masses)))
        assert ratios.max() <= budget.epsilon + 1e-9


def test_what_is_trimmed_is_counted() -> None:
    """A coarse trim rejects less, by no more than what it says it lost."""
    rule = Rule((-2.2, -2.0), (2.2, 2.0), ((-0.5, 0.1),))
    sizes, noise = ((60, 40), (150, 100)), noise_of(Pure(0.3))
    fine = Law(sizes, noise, 0.3, 0.2).stops(rule)
    rough = Law(sizes, noise, 0.3, 0.2, trim=1e-5).stops(rule)
    assert 1e-6 < rough.lost < 1e-3
    assert fine.rejected - rough.lost - 1e-12 <= rough.rejected <= fine.rejected


def test_transforms_and_products_convolve_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rule, law = two_arm_rule(OBF, 1.0, 2), Law(EQUAL, noise_of(Pure(0.5)), 0.4, 0.35)
    found = []
    for large in (0, 10**9):
        monkeypatch.setattr(lattice, "LARGE", large)
        found.append(law.stops(rule))
    np.testing.assert_allclose(found[0].above, found[1].above, atol=1e-13)
    np.testing.assert_allclose(found[0].below, found[1].below, atol=1e-13)


@pytest.mark.parametrize("sizes", [((7, 7),), ((9, 4),)], ids=str)
def test_cuts_are_those_of_the_statistic(sizes: Sizes) -> None:
    """At every pair of sums, with boundaries that some pairs hit exactly."""
    noise = Noise("laplace", 0.5)
    reach = len(noise.masses) // 2
    s1, s0 = (np.arange(-reach, n + reach + 1) for n in sizes[0])
    z = statistic(s1[:, None].astype(float), s0[None, :].astype(float), sizes[0], 1, noise)
    for bound in (z[reach + 5, reach + 2], z[reach + 4, reach + 1], 1.3):
        rule = Rule((-bound,), (bound,))
        cut = lattice.cuts_of(sizes, noise, rule, 0)
        total = s1[:, None] + s0[None, :] - cut.first
        np.testing.assert_array_equal(s1[:, None] >= cut.up[total], z > bound)
        np.testing.assert_array_equal(s1[:, None] < cut.down[total], z < -bound)


def test_the_last_look_needs_no_ordered_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cuts do not grow with the total every cell is looked at."""
    noise, sizes = Noise("laplace", 0.4), ((4, 2), (7, 3))
    rule = Rule((-1.8, -1.45), (1.7, 1.35))
    quick = Law(sizes, noise, 0.6, 0.3).stops(rule)
    monkeypatch.setattr(lattice.Cuts, "ordered", False)
    slow = Law(sizes, noise, 0.6, 0.3).stops(rule)
    np.testing.assert_allclose(quick.above, slow.above, atol=1e-15)
    np.testing.assert_allclose(quick.below, slow.below, atol=1e-15)
