"""Designs: their certificates, sizes and verdicts."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet.confirm import Design, design, size
from discreet.confirm._after import Stop, standard_errors
from discreet.confirm._certificates import Calibration, Question, bound_between, grid, is_composite
from discreet.confirm._designs import ask, sizes_of
from discreet.confirm._lattice import Law, statistic, two_arm_rule
from discreet.errors import InvalidArgument
from discreet.privacy import ZCDP, Pure


@pytest.fixture(scope="module")
def plan() -> Design:
    return design(800, epsilon=1.0)


# the certificate


def test_the_certified_factor_and_power_are_the_known_ones(plan: Design) -> None:
    assert plan.sizes == ((133, 133), (266, 266), (400, 400))
    assert plan.certificate.factor == pytest.approx(1.0065, abs=0.003)  # errors jump in it
    assert plan.power(0.5, 0.35) == pytest.approx(0.9858, abs=5e-4)
    assert plan.certificate.largest <= plan.certificate.bound <= 0.05
    assert plan.certificate.bound > 0.049  # not by giving power away


def test_the_bound_follows_from_what_the_certificate_says(plan: Design) -> None:
    """The lemma once more, from the JSON alone."""
    said = json.loads(json.dumps(plan.certificate.to_dict(), allow_nan=False))
    n, errors = said["participants"], [error + said["allowance"] for error in said["errors"]]
    bound = errors[0] + n * said["rates"][1]
    points = list(zip(said["rates"][1:], errors[1:], strict=True))
    assert points[-1][0] == 0.5
    for (p, f), (q, g) in pairwise(points):
        low, high = math.asin(math.sqrt(p)), math.asin(math.sqrt(q))
        omega = math.sqrt(4 * n + (1 - 2 * p) ** 2 / (4 * p * (1 - p)))
        assert omega * (high - low) < math.pi
        bound = max(bound, max(f, g) / math.cos(omega * (high - low) / 2))
    assert said["bound"] == pytest.approx(bound, abs=1e-12)
    assert said["allowance"] < 1e-5


def test_designs_come_back_from_json_and_are_checked(plan: Design) -> None:
    said = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    again = Design.from_dict(said)
    assert again == plan
    assert again.verdict([(70, 44)]) == plan.verdict([(70, 44)])
    for key, value in (("bound", 0.04), ("rates", said["certificate"]["rates"][:-1])):
        wrong = {**said, "certificate": {**said["certificate"], key: value}}
        if key == "rates":
            wrong["certificate"]["errors"] = said["certificate"]["errors"][:-1]
        with pytest.raises(InvalidArgument, match="follows from its errors"):
            Design.from_dict(wrong)
    with pytest.raises(InvalidArgument, match="be what to_dict made"):
        Design.from_dict({**said, "certificate": {"bound": 0.05}})


def test_rates_between_the_points_keep_the_bound(plan: Design) -> None:
    rule = two_arm_rule(plan.boundaries, 1.0, 2)
    rates = np.random.default_rng(3).random(40) ** 2
    errors = [Law(plan.sizes, plan.noise, p, p).stops(rule).rejected for p in rates]
    assert max(errors) <= plan.certificate.bound
    assert plan.power(0.3, 0.3) == pytest.approx(
        Law(plan.sizes, plan.noise, 0.3, 0.3).stops(rule).rejected
    )


def test_the_lemma_holds_for_the_worst_of_tests() -> None:
    """Rejecting at one number of ones makes f as curved as can be: f = P(K = k)."""
    n = 30
    angles = grid(n, 0.05)
    fine = np.linspace(1e-6, 0.5, 20_001)
    for k in (0, 1, 5, 15):
        f = [
            math.comb(n, k) * math.sin(t) ** (2 * k) * math.cos(t) ** (2 * (n - k)) for t in angles
        ]
        exact = (math.comb(n, k) * fine**k * (1 - fine) ** (n - k)).max()
        bound = bound_between(angles, np.array(f), float(k == 0), n)
        assert exact <= bound <= 1.005 * exact


@pytest.mark.parametrize("treated", [1 / 3, 2 / 3])
def test_one_side_with_unequal_arms_is_certified_on_both_halves(treated: float) -> None:
    """Of the two shares one is worst at small rates, the other at large ones."""
    found = design(90, looks=2, treated=treated, epsilon=2.0, sides=1, risk=0.05)
    assert found.sizes == (((15, 30), (30, 60)) if treated < 0.5 else ((30, 15), (60, 30)))
    assert found.certificate.mirrored
    rule = two_arm_rule(found.boundaries, 1.0, 1)
    errors = [
        Law(found.sizes, found.noise, p, p).stops(rule).rejected for p in np.linspace(0, 1, 81)
    ]
    assert max(errors) <= found.certificate.bound <= 0.05


def test_one_side_covers_worse_treatments_where_it_says_so() -> None:
    found = design(100, looks=2, epsilon=1.0, sides=1)
    assert found.certificate.composite is True
    for control in (0.02, 0.3, 0.8):
        errors = [
            sum(found.operating(control * share, control).above) for share in (0.0, 0.3, 0.7, 1.0)
        ]
        assert errors == sorted(errors)
        assert errors[-1] <= found.certificate.bound
    strict = ask(sizes_of(800, 2), Pure(4.0), "obrien-fleming", 0.025, 1)
    assert is_composite(strict, 1.0) is False  # so little noise, and p̂ can vanish all the same
    assert design(100, looks=2, epsilon=1.0).certificate.composite is None


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": math.inf}, {"epsilon": 0.5}, {"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6},
        {"budget": ZCDP(0.5), "boundary": "pocock"}, {"epsilon": 2.0, "looks": 1, "risk": 0.01},
        {"epsilon": 1.0, "looks": (40, 70, 100), "boundary": "lan-demets"},
        {"epsilon": 1.0, "looks": 4, "boundary": "lan-demets-pocock", "sides": 1},
    ],
    ids=str,
)  # fmt: skip
def test_every_kind_keeps_its_risk(options: dict[str, Any]) -> None:
    found = design(100, **options)
    assert 0.5 * found.risk < found.certificate.bound <= found.risk
    json.dumps(found.to_dict(), allow_nan=False)
    assert str(found.budget) in str(found)


def test_the_error_falls_in_the_factor(plan: Design) -> None:
    asked = Question(plan.sizes, plan.noise, plan.boundaries, plan.risk, plan.sides)
    work = Calibration(asked)
    errors = [work.error(0.2, factor)[0] for factor in (0.9, 0.95, 1.0, 1.05, 1.2)]
    assert errors == sorted(errors, reverse=True)


# power and size


def test_power_grows_with_effect_budget_and_size() -> None:
    small = [design(n, looks=2, epsilon=1.0) for n in (80, 120, 200)]
    powers = [found.power(0.6, 0.3) for found in small]
    assert powers == sorted(powers)
    by_effect = [small[2].power(p, 0.3) for p in (0.35, 0.45, 0.6, 0.8)]
    assert by_effect == sorted(by_effect)
    by_budget = [design(120, looks=2, epsilon=e).power(0.6, 0.3) for e in (0.2, 0.5, 2.0)]
    assert by_budget == sorted(by_budget)
    assert small[2].power(0.3, 0.6) == pytest.approx(small[2].power(0.6, 0.3))


def test_futility_is_not_binding_and_saves_participants() -> None:
    given = {"looks": 3, "epsilon": 1.0, "sides": 1, "risk": 0.025}
    plain, futile = design(200, **given), design(200, futility=(0.0, 0.5), **given)
    assert futile.certificate == plain.certificate
    assert 0.0 < plain.power(0.6, 0.4) - futile.power(0.6, 0.4) < 0.02
    null, none = futile.operating(0.4, 0.4), plain.operating(0.4, 0.4)
    assert null.participants < 0.7 * none.participants
    assert futile.verdict([(15, 18)]).decision == "futile"
    assert futile.verdict([(15, 18), (25, 12)]).decision != "futile"  # overruled


def test_the_mean_number_of_participants_is_the_sum_over_looks(plan: Design) -> None:
    found = plan.operating(0.5, 0.35)
    stops = np.array(found.above) + found.below + found.futile
    stops[-1] = 1.0 - stops[:-1].sum()
    assert found.participants == pytest.approx(stops @ [266, 532, 800])


@pytest.mark.parametrize(
    ("rates", "power", "epsilon", "per_arm"),
    [
        ((0.5, 0.35), 0.9, math.inf, 227), ((0.5, 0.35), 0.9, 1.0, 248),
        ((0.5, 0.35), 0.9, 0.25, 435), ((0.05, 0.04), 0.9, 1.0, 9298),
        ((0.02, 0.01), 0.8, 0.25, 5257),
    ],
)  # fmt: skip
def test_the_closed_form(
    rates: tuple[float, float], power: float, epsilon: float, per_arm: int
) -> None:
    found = size(*rates, power=power, epsilon=epsilon, exact=False)
    assert found.design is None
    assert abs(found.participants - 2 * per_arm) <= 2 + 4e-4 * per_arm
    assert size(*rates[::-1], power=power, epsilon=epsilon, exact=False) == found


def test_the_exact_size_has_the_power_and_is_near_the_closed_form() -> None:
    found = size(0.7, 0.4, power=0.85, looks=2, epsilon=1.0)
    assert isinstance(found.design, Design)
    assert found.design.participants == found.participants
    assert found.power == found.design.power(0.7, 0.4) >= 0.85
    assert found.power < 0.87
    assert found.participants == pytest.approx(found.closed_form, rel=0.08)
    assert found.for_privacy == found.participants - found.without_privacy > 0
    none = size(0.7, 0.4, power=0.85, looks=2, epsilon=math.inf)
    assert (none.participants, none.for_privacy) == (found.without_privacy, 0)


# verdicts


def test_the_worked_example(plan: Design) -> None:
    """Sums 70, 44 of 133, then 139, 88 of 266, with the textbook's boundaries."""
    bounds = (3.4711, 2.4544, 2.0040)
    textbook = replace(plan, certificate=replace(plan.certificate, boundaries=bounds))
    found = textbook.verdict([(70, 44), (69, 44)])
    assert found.z == pytest.approx((3.133, 4.349), abs=1e-3)
    assert (found.decision, found.look, found.level) == ("better", 2, 0.95)
    assert found.repeated == pytest.approx((0.0854, 0.2981), abs=1e-4)
    assert found.estimate is not None
    assert found.estimate.difference == pytest.approx(0.1840, abs=2e-4)
    assert found.estimate.interval == pytest.approx((0.0875, 0.2723), abs=2e-4)
    assert found.estimate.p_value == pytest.approx(0.00052, abs=1e-5)
    assert "look 2: better" in str(found)


def test_a_trial_goes_on_until_it_stops(plan: Design) -> None:
    first = plan.verdict([(70, 44)])
    assert (first.decision, first.estimate, str(first)) == ("go on", None, "look 1: go on")
    low, high = first.repeated
    assert low < 26 / 133 < high
    last = plan.verdict([(50, 45), (48, 50), (52, 47)])
    assert last.decision == "no difference shown"
    assert last.estimate is not None
    assert last.estimate.interval[0] < 0.0 < last.estimate.interval[1]
    assert last.estimate.p_value > 0.05


def test_sums_after_the_stop_change_the_repeated_interval_alone(plan: Design) -> None:
    stopped, after = plan.verdict([(90, 30)]), plan.verdict([(90, 30), (60, 60)])
    assert stopped.decision == after.decision == "better"
    assert (stopped.look, stopped.estimate) == (after.look, after.estimate)
    assert stopped.repeated != after.repeated
    assert plan.verdict([(30, 90)]).decision == "worse"


def test_one_look_is_the_plain_interval() -> None:
    plan = design(400, looks=1, epsilon=1.0)
    found = plan.verdict([(120, 90)])
    assert found.estimate is not None
    se = float(standard_errors(plan.sizes, plan.noise, 120.0, 90.0, 1)[0])
    z = norm.isf(0.025)
    assert found.estimate.difference == pytest.approx(0.15, abs=1e-7)
    assert found.estimate.interval == pytest.approx((0.15 - z * se, 0.15 + z * se), abs=1e-7)
    assert found.estimate.p_value == pytest.approx(2 * norm.sf(0.15 / se), abs=1e-9)


def test_intervals_cover_after_stopping() -> None:
    """P(δ) at the truth is uniform: 800 trials, shares within 5 standard errors, and .01 for the
    normal law; false alarm below 1e-6."""
    plan, rng, truth = design(200, looks=2, epsilon=1.0), np.random.default_rng(5), (0.6, 0.4)
    q = 1.0 - math.exp(-1.0)
    tails, missed = [], 0
    for _ in range(800):
        total, z = np.zeros(2), 0.0
        for look, bound in enumerate(plan.boundaries, 1):
            total += rng.binomial(50, truth) + rng.geometric(q, 2) - rng.geometric(q, 2)
            z = float(statistic(total[0], total[1], plan.sizes[look - 1], look, plan.noise))
            if abs(z) > bound:
                break
        se = standard_errors(plan.sizes, plan.noise, float(total[0]), float(total[1]), look)
        stop = Stop(plan.sizes, plan.rule, se, float(total[0] - total[1]) / (50 * look))
        tails.append(stop.beyond(truth[0] - truth[1]))
        low, high = plan._repeated(total, look)
        missed += not low <= truth[0] - truth[1] <= high
    for level in (0.025, 0.25, 0.5, 0.75, 0.975):
        error = math.sqrt(level * (1 - level) / 800)
        assert abs(np.mean(np.array(tails) < level) - level) < 5 * error + 0.01
    assert missed / 800 < 0.05 + 5 * math.sqrt(0.05 * 0.95 / 800)


def test_no_arm_is_taken_to_be_sure() -> None:
    found = design(40, looks=1, epsilon=math.inf).verdict([(0, 0)])
    assert found.estimate is not None
    assert found.decision == "no difference shown"
    assert found.estimate.interval[1] - found.estimate.interval[0] > 0.05


def test_ties_do_not_reject() -> None:
    """On the lattice and in the verdict: Z at the boundary is inside."""
    plan = design(40, looks=1, epsilon=math.inf)
    z = plan.verdict([(12, 6)]).z[0]
    tied = replace(plan, certificate=replace(plan.certificate, boundaries=(z,)))
    assert tied.verdict([(12, 6)]).decision == "no difference shown"
    below = math.nextafter(z, 0.0)
    crossed = replace(plan, certificate=replace(plan.certificate, boundaries=(below,)))
    assert crossed.verdict([(12, 6)]).decision == "better"
    gained = crossed.power(0.5, 0.4) - tied.power(0.5, 0.4)
    assert gained >= binom.pmf(12, 20, 0.5) * binom.pmf(6, 20, 0.4) - 1e-12


# what is refused


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("epsilon", {}), ("epsilon", {"epsilon": 1.0, "budget": Pure(1.0)}),
        ("participants", {"participants": 1, "epsilon": 1.0}),
        ("participants", {"epsilon": 0.001}),  # the lattice would not fit
        ("looks", {"epsilon": 1.0, "looks": 0}), ("looks", {"epsilon": 1.0, "looks": 2.5}),
        ("looks", {"epsilon": 1.0, "looks": "3"}),
        ("looks[0]", {"epsilon": 1.0, "looks": (9.5, 100)}),
        ("risk", {"epsilon": 1.0, "risk": 1e-9}), ("looks", {"epsilon": 1.0, "looks": (50, 90)}),
        ("looks", {"epsilon": 1.0, "looks": (50, 50, 100)}),
        ("treated", {"epsilon": 1.0, "treated": 1.0}), ("risk", {"epsilon": 1.0, "risk": 0.6}),
        ("sides", {"epsilon": 1.0, "sides": 3}), ("boundary", {"epsilon": 1.0, "boundary": "obf"}),
        ("futility", {"epsilon": 1.0, "futility": (0.0,)}),
        ("futility", {"epsilon": 1.0, "futility": (0.0, 9.0)}),
    ],
)  # fmt: skip
def test_designs_that_are_refused(argument: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        design(**{"participants": 100, **options})
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "sums",
    [[], [(1, 2)] * 4, [(1,)], [(0.123, 7)], [(math.nan, 7)], 7, [("a", 7)], [(math.inf, 7)]],
)
def test_sums_that_are_refused_are_not_shown(plan: Design, sums: Any) -> None:
    with pytest.raises(InvalidArgument, match="sums must hold a pair") as caught:
        plan.verdict(sums)
    assert "0.123" not in str(caught.value)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("treatment", {"treatment": 0.35}), ("treatment", {"treatment": 0.2, "sides": 1}),
        ("power", {"power": 1.0}), ("power", {"power": 0.01}), ("exact", {"exact": 1}),
        ("epsilon", {"epsilon": None}), ("control", {"control": -0.1}),
    ],
)  # fmt: skip
def test_sizes_that_are_refused(argument: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument) as caught:
        size(**{"treatment": 0.5, "control": 0.35, "epsilon": 1.0, **options})
    assert caught.value.argument == argument


def test_shares_and_looks() -> None:
    assert sizes_of(100, 3, 0.29) == ((9, 23), (19, 47), (29, 71))
    assert sizes_of(100, (40, 100)) == ((20, 20), (50, 50))
    assert sizes_of(101, 1) == ((50, 50),)
