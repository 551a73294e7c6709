"""Strata: Mantel-Haenszel against a loop, forests, the exact law of totals."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2

from discreet import confirm
from discreet.confirm import StrataDesign, strata
from discreet.confirm._lattice import Law, two_arm_rule
from discreet.confirm._noises import Noise, noise_of
from discreet.confirm._strata import totals_law
from discreet.errors import InvalidArgument
from discreet.privacy import Pure

SUMS = [[(18, 11), (11, 8)], [(17, 10), (12, 9)]]


@pytest.fixture(scope="module")
def plan() -> StrataDesign:
    return strata({"north": 120, "south": 80}, looks=2, epsilon=1.0, runs=4_000)


def naive_z(n: list[tuple[int, int]], s: list[tuple[int, int]], look: int, noise: Noise) -> float:
    """Written from the formula, stratum by stratum."""
    top = bottom = 0.0
    kappa, v = noise.shrinkage, noise.variance
    for (n1, n0), (s1, s0) in zip(n, s, strict=True):
        p = min(max((s1 + s0 + kappa) / (n1 + n0 + 2 * kappa), 0.0), 1.0)
        w = n1 * n0 / (n1 + n0)
        top += w * (s1 / n1 - s0 / n0)
        bottom += w**2 * (p * (1 - p) * (1 / n1 + 1 / n0) + look * v * (n1**-2 + n0**-2))
    return top / math.sqrt(bottom)


def test_z_is_that_of_a_loop(plan: StrataDesign) -> None:
    found = plan.verdict(SUMS)
    first = naive_z([(30, 30), (20, 20)], [(18, 11), (11, 8)], 1, plan.noise)
    second = naive_z([(60, 60), (40, 40)], [(35, 21), (23, 17)], 2, plan.noise)
    assert found.z == pytest.approx((first, second))


def test_forests_add_up(plan: StrataDesign) -> None:
    found = plan.forest(SUMS)
    assert [each.name for each in found.strata] == ["north", "south"]
    north, south = found.strata
    assert north.difference == pytest.approx(14 / 60)
    assert south.difference == pytest.approx(6 / 40)
    # equal arms: Mantel-Haenszel weights are the sizes
    assert found.total.difference == pytest.approx(0.6 * 14 / 60 + 0.4 * 6 / 40)
    weights = [1 / north.se**2, 1 / south.se**2]
    mean = np.average([north.difference, south.difference], weights=weights)
    q = sum(
        w * (each.difference - mean) ** 2 for w, each in zip(weights, found.strata, strict=True)
    )
    assert found.q == pytest.approx(q)
    assert found.p_heterogeneity == pytest.approx(chi2.sf(q, 1))
    assert "heterogeneity" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_forests_are_drawn(plan: StrataDesign, tmp_path: Path) -> None:
    figure = plan.forest(SUMS).plot(tmp_path / "forest.png")
    assert (tmp_path / "forest.png").stat().st_size > 1_000
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["north (120)", "south (80)", "all (200)"]


def test_verdicts_and_travel(plan: StrataDesign) -> None:
    assert plan.participants == 200
    assert str(plan.verdict([[(17, 15), (10, 9)]])) == "look 1: go on"
    stopped = plan.verdict([[(29, 5), (18, 4)]])
    assert stopped.decision == "better"
    assert stopped.common is not None
    assert plan.verdict([[(5, 29), (4, 18)]]).decision == "worse"
    assert plan.verdict([[(15, 15), (9, 9)]] * 2).decision == "no difference shown"
    assert StrataDesign.from_dict(json.loads(json.dumps(plan.to_dict(), allow_nan=False))) == plan


def test_rates_that_differ_between_strata_keep_the_level(plan: StrataDesign) -> None:
    """20,000 trials: at most .05 + 5.2 standard errors, false alarm below 1e-6; power is high."""
    for rates in ((0.1, 0.7), (0.4, 0.4), (0.5, 0.05)):
        assert sum(plan.operating(rates, rates, seed=5)) < 0.05 + 5.2 * math.sqrt(0.0475 / 20_000)
    better, worse = plan.operating((0.6, 0.8), (0.2, 0.4))
    assert better > 0.95 > 0.001 > worse


def test_totals_have_the_law_of_their_strata() -> None:
    """Against a sum over all counts of two strata, at one look without noise."""
    sizes = (((3, 2),), ((2, 3),))
    rates, rule = [(0.3, 0.6), (0.8, 0.1)], two_arm_rule((0.9,), 1.0, 2)
    law, exact = totals_law(sizes, noise_of(Pure(math.inf)), rates), 0.0
    for a, b, c, d in itertools.product(range(4), range(3), range(3), range(4)):
        mass = (
            binom.pmf(a, 3, 0.3)
            * binom.pmf(b, 2, 0.8)
            * binom.pmf(c, 2, 0.6)
            * binom.pmf(d, 3, 0.1)
        )
        p = (a + b + c + d) / 10
        spread = math.sqrt(p * (1 - p) * 0.4)
        z = ((a + b) / 5 - (c + d) / 5) / spread if spread else 0.0
        exact += mass * (abs(z) > 0.9)
    assert law.stops(rule).rejected == pytest.approx(exact, abs=1e-10)


def test_totals_are_conservative_where_rates_differ() -> None:
    """At the boundaries of one rate: shares .5/.3/.2, rates .1, .4, .7 (exact)."""
    sizes = tuple(((n // 6, n // 6), (n // 3, n // 3), (n // 2, n // 2)) for n in (400, 240, 160))
    noise, rule = noise_of(Pure(1.0)), two_arm_rule((3.4711, 2.4544, 2.0040), 1.01, 2)
    mixed = totals_law(sizes, noise, [(0.1, 0.1), (0.4, 0.4), (0.7, 0.7)]).stops(rule)
    whole = ((132, 132), (266, 266), (400, 400))
    assert mixed.rejected == pytest.approx(0.021, abs=1e-3)
    assert mixed.rejected < Law(whole, noise, 0.37, 0.37).stops(rule).rejected
    power = totals_law(sizes, noise, [(0.25, 0.1), (0.55, 0.4), (0.85, 0.7)]).stops(rule)
    assert power.rejected == pytest.approx(0.994, abs=1e-3)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("participants", {"participants": [200]}), ("participants", {"participants": 200}),
        ("looks", {"looks": (50, 100)}), ("treated", {"treated": 0.3, "sides": 1}),
        ("runs", {"runs": 20}),
    ],
)  # fmt: skip
def test_designs_that_are_refused(argument: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        strata(**{"participants": [60, 60], "looks": 2, "epsilon": 1.0, "runs": 500, **options})
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "sums", [[], 7, [[(1, 2)]], [[(1, 2), (1,)]], [[(0.123, 2), (1, 2)]], [[1, 2]]]
)
def test_sums_that_are_refused_are_not_shown(plan: StrataDesign, sums: Any) -> None:
    with pytest.raises(InvalidArgument, match="sums must hold") as caught:
        plan.verdict(sums)
    assert "0.123" not in str(caught.value)


@pytest.mark.parametrize("strata", [2, 3, (0.5, 0.3, 0.2)])
def test_sizes_over_strata(strata: int | tuple[float, ...]) -> None:
    """The noise's part of the closed form grows with the number of strata, whatever their shares:
    against the variance of Mantel and Haenszel's difference, solved by search."""
    from statistics import NormalDist

    rates, power, epsilon = (0.6, 0.35), 0.8, 0.5
    found = confirm.size(*rates, power=power, looks=1, epsilon=epsilon, strata=strata, exact=False)
    shares = [1 / strata] * strata if isinstance(strata, int) else strata
    noise = 2 * math.exp(-epsilon) / (1 - math.exp(-epsilon)) ** 2
    normal = NormalDist()
    drift = normal.inv_cdf(0.975) + normal.inv_cdf(power)

    def reached(n: int) -> bool:
        spread = sum(
            f**2 * (sum(p * (1 - p) for p in rates) / (f * n / 2) + 2 * noise / (f * n / 2) ** 2)
            for f in shares
        )
        return (rates[0] - rates[1]) / math.sqrt(spread) >= drift

    wanted = next(n for n in range(2, 5000, 2) if reached(n))
    assert abs(found.participants - wanted) <= 2
    assert (
        found.participants
        > confirm.size(*rates, power=power, looks=1, epsilon=epsilon, exact=False).participants
    )


def test_a_size_over_strata_has_a_design_with_the_power() -> None:
    need = confirm.size(0.7, 0.3, power=0.8, looks=2, epsilon=1.0, strata=2)
    assert isinstance(need.design, confirm.StrataDesign)
    assert "simulated" in str(need)
    better, _ = need.design.operating([0.7, 0.7], [0.3, 0.3], runs=20_000, seed=9)
    assert better >= 0.8 - 5.0 * math.sqrt(0.16 / 20_000)
    assert need.for_privacy > 0
    for wrong in (0, (0.5, 0.6), (1.0,)):
        with pytest.raises(InvalidArgument, match="strata"):
            confirm.size(0.7, 0.3, strata=wrong)
