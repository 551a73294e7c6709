"""Several treatments against a control: the law against all paths, closed testing against its
definition."""

from __future__ import annotations

import itertools
import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, norm
from test_confirm_lattice import draws_of, z_of

from discreet.confirm import SeveralDesign, several
from discreet.confirm._families import Family
from discreet.confirm._lattice import Rule, Sizes, two_arm_rule
from discreet.confirm._noises import Noise, noise_of
from discreet.errors import InvalidArgument
from discreet.privacy import Pure


@cache
def step_of(m: int, rate: float, noise: Noise) -> dict[int, float]:
    law: dict[int, float] = {}
    for k, (y, w) in itertools.product(range(m + 1), draws_of(noise)):
        law[k + y] = law.get(k + y, 0.0) + float(binom.pmf(k, m, rate)) * w
    return {x: w for x, w in law.items() if w > 1e-8}


def brute(
    sizes: Sizes, noise: Noise, rates: tuple[float, ...], control: float, rule: Rule
) -> float:
    """P(some arm crosses), path by path of the control, arm by arm with its own loop."""
    blocks = [(n[0] - m[0], n[1] - m[1]) for m, n in zip(((0, 0), *sizes), sizes, strict=False)]
    crossing = 0.0
    for path in itertools.product(*(step_of(m, control, noise).items() for _, m in blocks)):
        x, weight, stay = np.cumsum([x for x, _ in path]), math.prod(w for _, w in path), 1.0
        for rate in rates:
            paths = {0: 1.0}
            for look, (m, _) in enumerate(blocks):
                after: dict[int, float] = {}
                for y, mass in paths.items():
                    for step, w in step_of(m, rate, noise).items():
                        z = z_of(y + step, int(x[look]), sizes[look], look + 1, noise)
                        if rule.lower[look] <= z <= rule.upper[look]:
                            after[y + step] = after.get(y + step, 0.0) + mass * w
                paths = after
            stay *= sum(paths.values())
        crossing += weight * (1.0 - stay)
    return crossing


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("sizes", [((3, 2),), ((2, 1), (3, 2))], ids=str)
def test_every_path_is_counted(sizes: Sizes, sides: int) -> None:
    noise = Noise("laplace", 0.15)
    rule = two_arm_rule((1.5, 1.2)[: len(sizes)], 1.0, sides)
    for rates, control in (((0.5, 0.5), 0.5), ((0.8, 0.2), 0.3)):
        found = Family(sizes, noise, rates, control).stops(rule)
        assert found.rejected == pytest.approx(brute(sizes, noise, rates, control, rule), abs=1e-6)


def test_known_family_error_and_power() -> None:
    """Three treatments, n = 100, 200, c = 2.36, ε = 1, rate .35; power at .5 and c = 2.371."""
    sizes, noise = ((100, 100), (200, 200)), noise_of(Pure(1.0))
    rule = Rule((-math.inf,) * 2, (2.36 * math.sqrt(2), 2.36))
    found = Family(sizes, noise, (0.35,) * 3, 0.35).stops(rule)
    assert found.rejected == pytest.approx(0.02452, abs=6e-6)
    assert found.each[0] == pytest.approx(0.00927, abs=6e-6)
    assert found.rejected > 1 - (1 - found.each[0]) ** 3 - 0.0035
    assert found.rejected < 1 - (1 - found.each[0]) ** 3  # Šidák is an upper bound
    power = Rule((-math.inf,) * 2, (2.371 * math.sqrt(2), 2.371))
    each = Family(sizes, noise, (0.5, 0.35, 0.35), 0.35).stops(power).each
    assert each[0] == pytest.approx(0.710, abs=6e-4)


def test_rates_near_one_have_the_largest_error_of_one_side() -> None:
    """Which the rates up to a half do not show: 2.371 keeps .025 there, and not at .99."""
    sizes, noise = ((100, 100), (200, 200)), noise_of(Pure(1.0))
    rule = Rule((-math.inf,) * 2, (2.371 * math.sqrt(2), 2.371))
    low = max(Family(sizes, noise, (p,) * 3, p).stops(rule).rejected for p in (0.009, 0.2, 0.5))
    assert low < 0.025 < 0.029 < Family(sizes, noise, (0.991,) * 3, 0.991).stops(rule).rejected


def dunnett(treatments: int, sides: int, c: float) -> float:
    """P(no arm beyond c), one look, normal law with one known variance: correlation ½."""

    def stay(x: float) -> float:
        high = norm.cdf(math.sqrt(2) * c + x)
        low = norm.cdf(-math.sqrt(2) * c + x) if sides == 2 else 0.0
        return float(norm.pdf(x) * (high - low) ** treatments)

    return quad(stay, -9.0, 9.0, epsabs=1e-11)[0]


@pytest.mark.parametrize(
    ("treatments", "sides", "table"),
    # Dunnett 1955, 1964, infinite degrees of freedom, joint risk .05
    [(1, 1, 1.64), (2, 1, 1.92), (3, 1, 2.06), (4, 1, 2.16), (5, 1, 2.23), (9, 1, 2.42),
     (2, 2, 2.21), (3, 2, 2.35), (5, 2, 2.51)],
)  # fmt: skip
def test_large_trials_agree_with_dunnetts_tables(treatments: int, sides: int, table: float) -> None:
    """Without noise, n = 4,000 an arm: the lattice's error at the table's constant is .05."""
    assert dunnett(treatments, sides, table) == pytest.approx(0.95, abs=1.5e-3)
    rule = two_arm_rule((table,), 1.0, sides)
    law = Family(((4000, 4000),), noise_of(Pure(math.inf)), (0.5,) * treatments, 0.5)
    assert law.stops(rule).rejected == pytest.approx(
        1 - dunnett(treatments, sides, table), abs=1.5e-3
    )


@pytest.fixture(scope="module")
def plan() -> SeveralDesign:
    return several(120, 2, looks=2, epsilon=1.0)


def test_designs_keep_their_risk_and_travel(plan: SeveralDesign) -> None:
    assert plan.sizes == ((20, 20), (40, 40))
    assert plan.participants == 120
    assert plan.method == "dunnett"
    assert 0.03 < plan.bound <= 0.05
    assert plan.boundaries(1) < plan.boundaries(2) == plan.boundaries()
    rates = np.linspace(0.0, 1.0, 23)
    assert max(plan.operating((p, p), p).rejected for p in rates) <= plan.bound
    again = SeveralDesign.from_dict(json.loads(json.dumps(plan.to_dict(), allow_nan=False)))
    assert again == plan
    assert "2 treatments against a control" in str(plan)


def test_sidak_serves_three_looks_and_is_no_better_at_two(plan: SeveralDesign) -> None:
    wide = several(120, 2, looks=2, epsilon=1.0, method="sidak")
    assert wide.bound <= 0.05
    assert wide.power(0.9, 0.4) <= plan.power(0.9, 0.4) + 0.01
    three = several(150, 2, looks=3, epsilon=2.0)
    assert (three.method, len(three.boundaries())) == ("sidak", 3)
    assert math.isnan(three.operating((0.5, 0.5), 0.5).rejected)
    assert 0.0 < three.power(0.5, 0.5) < 0.03


def closed(z: np.ndarray, bounds: dict[int, tuple[float, ...]]) -> set[int]:
    """Closed testing by its definition: all intersections."""
    looks, arms = z.shape

    def rejected(group: tuple[int, ...]) -> bool:
        limit = bounds[len(group)]
        return any(abs(z[look, arm]) > limit[look] for arm in group for look in range(looks))

    groups = [g for k in range(1, arms + 1) for g in itertools.combinations(range(arms), k)]
    return {arm for arm in range(arms) if all(rejected(g) for g in groups if arm in g)}


def test_verdicts_are_those_of_closed_testing(plan: SeveralDesign) -> None:
    rng = np.random.default_rng(4)
    bounds = {left: plan.boundaries(left) for left in (1, 2)}
    seen = set()
    for _ in range(400):
        sums = [tuple(int(x) for x in rng.binomial(20, (0.75, 0.65, 0.4))) for _ in range(2)]
        verdict = plan.verdict(sums)
        z = np.array([each.z for each in verdict.comparisons]).T
        found = {
            a for a, each in enumerate(verdict.comparisons) if each.decision in ("better", "worse")
        }
        assert found == closed(z, bounds)
        seen.add(frozenset(found))
        assert verdict.is_over
    assert len(seen) == 4


def test_a_rejection_makes_the_other_boundary_smaller(plan: SeveralDesign) -> None:
    first = plan.verdict([(18, 12, 6)])
    assert [each.decision for each in first.comparisons] == ["better", "go on"]
    assert not first.is_over
    assert "treatment 2, look 1: go on" in str(first)
    low, high = first.comparisons[0].repeated
    assert low < 12 / 20 < high


@pytest.mark.parametrize(("participants", "control"), [(63, None), (62, None), (67, 0.4)])
def test_no_more_participants_than_were_given(participants: int, control: float | None) -> None:
    found = several(participants, 3, looks=1, epsilon=1.0, control=control, method="sidak")
    assert participants - 6 <= found.participants <= participants


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("treatments", {"treatments": 0}), ("method", {"method": "dunnett", "looks": 3}),
        ("method", {"method": "holm"}), ("control", {"control": 1.0}),
        ("looks", {"looks": (60, 100)}), ("participants", {"participants": 2}),
    ],
)  # fmt: skip
def test_designs_that_are_refused(argument: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        several(**{"participants": 120, "treatments": 2, "epsilon": 2.0, **options})
    assert caught.value.argument == argument


def test_sums_of_another_number_of_arms_are_refused(plan: SeveralDesign) -> None:
    with pytest.raises(InvalidArgument, match="3 whole numbers"):
        plan.verdict([(1, 2)])
    with pytest.raises(InvalidArgument, match="have 2 rates"):
        plan.operating((0.5,), 0.5)
