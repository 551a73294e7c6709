"""Bounds on regret: closed forms, limits, lower below upper, silence outside their domain."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import naive_bounds as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet import theory
from discreet.errors import InvalidArgument
from discreet.references import REFERENCES

MEANS = [0.75, 0.625, 0.5, 0.375, 0.25]
GAPS = [0.125, 0.25, 0.375, 0.5]
T = 1e6
LOG = math.log(T)
instances = st.lists(st.floats(0.02, 0.98), min_size=2, max_size=6).filter(
    lambda means: max(means) - min(means) > 1e-3
)
budgets = st.floats(0.01, 20.0)


def test_published_figures() -> None:
    # algorithms.md, section 1: 106 at ε = 1 and 576 at ε = .1 for T = 1e6
    assert theory.private_bernoulli(MEANS, 1.0) * LOG == pytest.approx(106, abs=1)
    assert theory.private_bernoulli(MEANS, 0.1) * LOG == pytest.approx(576, abs=1)


@pytest.mark.parametrize("epsilon", [0.05, 0.4, 3.0])
def test_lower_bounds_by_their_formulas(epsilon: float) -> None:
    pairs = [(0.75 - gap, gap) for gap in GAPS]
    kls = [naive.kl(mean, 0.75) for mean, _ in pairs]
    assert theory.lai_robbins(MEANS) == pytest.approx(
        sum(gap / k for (_, gap), k in zip(pairs, kls, strict=True))
    )
    for version, factor in (("2024", 1.0), ("2022", 6.0)):
        assert theory.view_private(MEANS, epsilon, version) == pytest.approx(
            sum(g / min(k, factor * epsilon * g) for (_, g), k in zip(pairs, kls, strict=True))
        )
    assert theory.private_bernoulli(MEANS, epsilon) == pytest.approx(
        sum(gap / naive.d_epsilon(mean, 0.75, epsilon) for mean, gap in pairs), rel=1e-5
    )
    assert theory.local_private(MEANS, epsilon) == pytest.approx(
        sum(1.0 / gap for gap in GAPS) / (math.exp(epsilon) - math.exp(-epsilon)) ** 2
    )


def test_minimax_by_their_formulas() -> None:
    assert theory.minimax_pure(5, T, 1.0) == pytest.approx(math.sqrt(4e6) / 27)
    assert theory.minimax_pure(5, 100, 1e-3) == pytest.approx(4 / (22 * 1e-3))
    assert theory.minimax_pure(5, 100, 1e-3, "2022") == pytest.approx(4 / (131 * 1e-3))
    assert theory.minimax_zcdp(5, 100, 1e-6) == pytest.approx(math.sqrt(4e6) / 124)
    assert theory.minimax_zcdp(5, T, 1.0) == pytest.approx(math.sqrt(4e6) / 27)
    e, d, root = 0.5, 1e-3, 1e3
    top = (math.exp(e) - 1) * root + 5 * d * root
    assert theory.minimax_global(T, e, d) == pytest.approx(
        math.log(top / (40 * (math.exp(e) - 1) + 5 * d * root)) / (16 * e)
    )
    assert theory.linear_minimax_pure(3, T, 1.0) == pytest.approx(math.exp(-2) * 3 * 1e3 / 8)
    assert theory.linear_minimax_pure(3, T, 1e-6) == pytest.approx(math.exp(-1) * 3e6 / 4)
    assert theory.linear_minimax_zcdp(3, 4, 1e-8) == pytest.approx(math.exp(-2.25) * 3e4 / 4)


def test_upper_bounds_by_their_formulas() -> None:
    e, a, n = 0.2, 3.5, len(MEANS)
    s = sum(1 / gap for gap in GAPS)
    index = [naive.enough(gap, lambda n: (a * LOG / (2 * n)) ** 0.5 + a * LOG / (e * n))
             for gap in GAPS]  # fmt: skip
    assert theory.adap_ucb(MEANS, T, e, a) == pytest.approx(
        sum(4 * gap * n + 3 * a / (a - 3) for gap, n in zip(GAPS, index, strict=True))
    )
    assert theory.adap_ucb_minimax(n, T, e, a, gaps=sum(GAPS)) == pytest.approx(
        3 * a / (a - 3) * sum(GAPS) + 8 * math.sqrt(a * n * T * LOG) + 16 * a * n * LOG / e
    )
    assert theory.adac_ucb(MEANS, T, 0.1, a) == pytest.approx(
        8 * a * LOG * s + 4 * (8 * math.sqrt(a * LOG / 0.1) + 2 * a / (a - 3))
    )
    assert theory.ldp_ucb_l(MEANS, T, e) == pytest.approx(
        8 * 21**2 * LOG * s + (1 + 2 * math.pi**2 / 3) * sum(GAPS)
    )
    odds = (math.exp(e) + 1) / (math.exp(e) - 1)
    assert theory.ldp_ucb_b(MEANS, T, e) == pytest.approx(
        8 * odds**2 * LOG * s + (1 + math.pi**2 / 3) * sum(GAPS)
    )
    level = math.log(2 * T**4)
    tree = math.sqrt(8) * LOG**1.5 * level / e
    pulls = [naive.enough(gap, lambda n: (2 * level / n) ** 0.5 + tree / n) for gap in GAPS]
    assert theory.dp_ucb(MEANS, T, e) == pytest.approx(
        sum(gap * (n + 4) for gap, n in zip(GAPS, pulls, strict=True))
    )
    d, x = 1e-4, math.exp(e) - 1
    private = 4 / e * math.log((T * x + 2 * T * d) / (2 * x + 2 * T * d))
    assert theory.dp_ftpl_new(MEANS, T, e, d) == pytest.approx(
        sum(max(16 * LOG / gap, private) for gap in GAPS) + 4 * n
    )
    assert theory.dp_ftpl_new(MEANS, T, 0.0, d) == pytest.approx(
        theory.dp_ftpl_new(MEANS, T, 1e-9, d), rel=1e-4
    )
    ratio = (T**2 * x + T**2 * d) / (2 * x + T**2 * d)
    assert theory.gdp_elim_new(MEANS, T, e, d) == pytest.approx(
        sum(1024 * gap * LOG / 0.125**2 + 32 * gap / (e * 0.125) * math.log(ratio) for gap in GAPS)
        + 4 * n
    )


def test_the_last_step_of_the_printed_adap_ucb_bound_fails_near_equality() -> None:
    """At Δ = ε the printed batch is too short: twice the width of the index is still above Δ."""
    gap = e = 0.2
    level = 3.1 * LOG
    printed = 4 * level / (gap * min(e, 2 * gap))
    assert 2 * math.sqrt(level / (2 * printed)) + 2 * level / (e * printed) > gap
    ours = (theory.adap_ucb([0.5, 0.3], T, e) - 93) / gap
    assert ours == pytest.approx(1.309 * 4 * printed, rel=1e-3)
    # far from equality the print is the larger one
    for far in (0.002, 20.0):
        assert theory.adap_ucb([0.5, 0.3], T, far) < 16 * level / min(gap, far) + 93


def test_dp_ucb_has_no_more_regret_than_its_bound_where_privacy_is_weak() -> None:
    """The printed 4 log T/Δ is below what every one of these runs regrets."""
    row = discreet.policy("dp-ucb", epsilon=1e4)
    result = discreet.simulate(
        row, discreet.Bernoulli([0.6, 0.4]), horizon=100_000, runs=10, seed=1
    )
    (upper,) = [line for line in theory.bounds_of(result) if line.side == "upper"]
    assert upper.value is not None
    assert result.final_regret.max() < upper.value
    assert result.final_regret.min() > 4 * math.log(100_000) / 0.2 + 4 * 0.2 + 5


@pytest.mark.parametrize("horizon", [10, 17, 33, 100, 10**4, 10**6, 10**9])
def test_rounds_in_which_an_index_of_dp_ucb_errs(horizon: int) -> None:
    """At most 3 in the mean: Hoeffding for rewards, Chernoff for up to h Laplace nodes of scale
    h/ε, for each of two arms and each number of pulls."""
    levels = math.floor(math.log2(horizon)) + 1
    z = np.linspace(0.01, 0.99, 99)
    wrong = 0.0
    for t in range(1, min(horizon, 2000) + 1):
        level = math.log(2 * t**4)
        reach = math.sqrt(8) * math.log(horizon) ** 1.5 * level / levels
        nodes = float(np.exp(-z * reach - levels * np.log1p(-(z**2))).min())
        wrong += min(1.0, 2 * t * (math.exp(-4 * level) + nodes))
    assert wrong < 3.0


@given(instances, budgets)
def test_order_and_limits(means: list[float], epsilon: float) -> None:
    free = theory.lai_robbins(means)
    sharp = theory.private_bernoulli(means, epsilon)
    view = theory.view_private(means, epsilon)
    old = theory.view_private(means, epsilon, "2022")
    assert free * (1 - 1e-9) <= old <= view * (1 + 1e-9)
    assert view <= sharp * (1 + 1e-9)
    assert theory.private_bernoulli(means, math.inf) == pytest.approx(free)
    assert theory.view_private(means, math.inf) == pytest.approx(free)
    # as ε falls, ε times the bound tends to the number of worse arms
    worse = sum(mean < max(means) for mean in means)
    assert theory.private_bernoulli(means, 1e-6) * 1e-6 == pytest.approx(worse, rel=1e-3)
    # more privacy never costs less
    assert theory.private_bernoulli(means, epsilon / 2) >= sharp * (1 - 1e-9)


@given(instances, budgets, st.floats(4.0, 9.0))
def test_lower_bounds_are_below_upper_bounds(
    means: list[float], epsilon: float, digits: float
) -> None:
    horizon = round(10**digits)
    log = math.log(horizon)
    lower = theory.private_bernoulli(means, epsilon) * log
    local = max(lower, theory.local_private(means, epsilon) * log)
    assert lower <= theory.adap_ucb(means, horizon, epsilon)
    assert lower <= theory.dp_ucb(means, horizon, epsilon)
    assert lower <= theory.gdp_elim_new(means, horizon, epsilon)
    assert local <= theory.ldp_ucb_b(means, horizon, epsilon)
    assert local <= theory.ldp_ucb_l(means, horizon, epsilon)
    assert theory.ldp_ucb_b(means, horizon, epsilon) <= theory.ldp_ucb_l(means, horizon, epsilon)
    arms = len(means)
    assert theory.minimax_pure(arms, horizon, epsilon) <= theory.adap_ucb_minimax(
        arms, horizon, epsilon
    )


@pytest.mark.parametrize("name", ["adap-ucb", "ldp-ucb-b", "dp-ucb"])
def test_simulated_regret_is_below_the_upper_bound(name: str) -> None:
    environment = discreet.Bernoulli([0.75, 0.5])
    row = discreet.policy(name, epsilon=1.0)
    result = discreet.simulate(row, environment, horizon=1e4, runs=10, seed=1)
    (upper,) = [line for line in theory.bounds_of(result) if line.side == "upper"]
    assert upper.policy == name
    assert upper.value is not None
    # the worst of ten runs: regret is at most T Δ = 2500, so this can fail
    assert result.final_regret.max() < upper.value


def test_laws_of_two_points_need_no_more_than_bernoulli() -> None:
    environments = [
        theory.FiniteLaw([0.2, 0.8], [0.3, 0.7]),
        theory.FiniteLaw([0.2, 0.8], [0.6, 0.4]),
    ]
    means = [environment.mean for environment in environments]
    assert theory.lai_robbins(environments) < theory.lai_robbins(means)
    assert theory.lai_robbins(discreet.Gaussian([1.0, 0.0])) == pytest.approx(2.0)


OUTSIDE: list[tuple[Callable[[], object], str]] = [
    (lambda: theory.adap_ucb(MEANS, T, 1.0, alpha=3.0), "alpha"),
    (lambda: theory.adac_ucb(MEANS, T, 1.0, alpha=1.0), "alpha"),
    (lambda: theory.adap_ucb(MEANS, T, 0.0), "epsilon"),
    (lambda: theory.dp_ucb(MEANS, T, 1.0, power=2.0), "power"),
    (lambda: theory.adap_ucb(MEANS, 3, 1.0), "horizon"),
    (lambda: theory.adap_ucb(MEANS, 1e6 + 0.5, 1.0), "horizon"),
    (lambda: theory.view_private(MEANS, -1.0), "epsilon"),
    (lambda: theory.view_private(MEANS, 1.0, "2023"), "version"),
    (lambda: theory.private_bernoulli([0.5, 1.2], 1.0), "means"),
    (lambda: theory.private_bernoulli([0.5], 1.0), "means"),
    (lambda: theory.private_bernoulli(MEANS, math.nan), "epsilon"),
    (lambda: theory.minimax_zcdp(5, T, 1.5), "rho"),
    (lambda: theory.minimax_pure(1, T, 1.0), "arms"),
    (lambda: theory.minimax_pure(10, 5, 1.0), "horizon"),
    (lambda: theory.minimax_global(100, 1.0), "horizon"),
    (lambda: theory.minimax_global(T, 1.0, 1.5), "delta"),
    (lambda: theory.minimax_global(T, 1.0, a=1.0), "a"),
    (lambda: theory.minimax_global(T, 1.0, arms=1), "arms"),
    (lambda: theory.sigmoid_slope(noise="cauchy"), "noise"),
    (lambda: theory.adaptivity_rounds(3, 10.5), "samples"),
    (lambda: theory.dp_ftpl_new(MEANS, T, 0.0), "epsilon"),
    (lambda: theory.linear_minimax_zcdp(3, T, 0.0), "rho"),
    (lambda: theory.adap_klucb(MEANS, T, 1.0, alpha=3.0), "alpha"),
    (lambda: theory.adac_gope(3, 1, T, 1.0, 0.1), "actions"),
    (lambda: theory.adac_oful(3, T, 1.0, 0.1, 0.5), "eigenvalue"),
    (lambda: theory.linear_bounds(3, horizon=T), "epsilon or rho"),
    (lambda: theory.linear_minimax_pure(3, T, 1.0, "2023"), "version"),
    (lambda: theory.linear_minimax_pure(0, T, 1.0), "dimension"),
    (lambda: theory.bounds(MEANS, horizon=T, risk=0.5), "risk"),
]


@pytest.mark.parametrize(("call", "argument"), OUTSIDE)
def test_outside_its_domain_a_bound_is_an_error(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        call()
    assert error.value.argument == argument


def test_every_bound_says_what_it_is() -> None:
    assert len(theory.BOUNDS) >= 20
    for name, entry in theory.BOUNDS.items():
        assert getattr(theory, name) is entry.formula
        assert entry.reference in REFERENCES
        assert entry.side in ("lower", "upper")
        assert entry.quantity in ("regret", "samples")
        assert entry.domain
        assert len(entry.summary) > 10


def test_the_table_and_its_silence() -> None:
    lines = theory.bounds([0.6, 0.5], horizon=100, epsilon=1.0, risk=0.01)
    silent = {line.name: line.silent for line in lines if line.value is None}
    assert set(silent) == {"minimax_global"}
    concentrated = theory.bounds([0.6, 0.5], horizon=100, rho=2.0)
    (only,) = [line for line in concentrated if line.value is None]
    assert only.name == "minimax_zcdp"
    assert "rho must be at most 1" in only.silent
    own = next(line for line in lines if line.name == "private_bernoulli")
    assert own.value == pytest.approx(theory.private_bernoulli([0.6, 0.5], 1.0) * math.log(100))
    samples = [line for line in lines if line.name == "characteristic_time"]
    assert len(samples) == 2
    assert samples[0].value is not None
    assert samples[1].value is not None
    assert samples[0].value <= samples[1].value


def test_overlay_curves() -> None:
    rows = [discreet.policy(n, epsilon=0.5) for n in ("adap-ucb", "ldp-ucb-b")]
    rows.append(discreet.policy("adap-ucb", epsilon=0.5, alpha=1.0))
    found = discreet.compare(rows, discreet.Bernoulli([0.7, 0.5]), horizon=1000, runs=2, seed=1)
    curves = theory.overlay(found)
    assert set(curves) == {
        "lower bound, no privacy", "lower bound, ε = 0.5", "lower bound (local), ε = 0.5",
        "upper bound of adap-ucb", "upper bound of ldp-ucb-b",
    }  # fmt: skip
    at = curves["lower bound, ε = 0.5"](found[0].t)[-1]
    assert at == pytest.approx(theory.private_bernoulli([0.7, 0.5], 0.5) * math.log(1000))
    upper = curves["upper bound of adap-ucb"](found[0].t)
    assert upper[-1] == pytest.approx(theory.adap_ucb([0.7, 0.5], 1000, 0.5))
    assert math.isnan(upper[0])
    tuned = discreet.compare(
        [discreet.policy("dp-ucb", epsilon=0.5)], discreet.Bernoulli([0.7, 0.5]), horizon=1000,
        runs=2, seed=1,
    )  # fmt: skip
    # its width knows T from the first round on: on the way only the bound at T holds
    flat = theory.overlay(tuned)["upper bound of dp-ucb"](tuned[0].t)
    assert set(flat.tolist()) == {theory.dp_ucb([0.7, 0.5], 1000, 0.5)}
    silent = [line.silent for line in theory.bounds_of(found[2]) if line.side == "upper"]
    assert "alpha must be above 3" in silent[0]
    gaussian = discreet.simulate(
        discreet.policy("ucb1"), discreet.Gaussian([0.7, 0.5]), horizon=100, runs=1, seed=1
    )
    with pytest.raises(InvalidArgument, match="Bernoulli"):
        theory.bounds_of(gaussian)


def test_one_budget_and_one_word_for_risk() -> None:
    ask = {"means": [0.6, 0.5], "horizon": 100}
    for wrong, argument in (
        ({"risk": 2.0}, "risk"),
        ({"epsilon": 1.0, "rho": 1.0}, "rho"),
        ({"delta": 0.1}, "delta"),
        ({"epsilon": 1.0, "delta": 2.0}, "delta"),
    ):
        with pytest.raises(InvalidArgument) as error:
            theory.bounds(**ask, **wrong)
        assert error.value.argument == argument


def test_a_theorem_names_its_row_and_nothing_else_does() -> None:
    """A new row with a theorem of its own needs no edit of the table."""
    from discreet.theory import _summary as summary
    from discreet.theory._bound import bound

    named = {entry.row for entry in theory.BOUNDS.values() if entry.row}
    assert named <= set(discreet.CATALOGUE)
    assert {"adap-ucb", "adac-ucb", "dp-ucb"} <= named
    source = Path(summary.__file__).read_text(encoding="utf-8")
    assert not [name for name in discreet.CATALOGUE if f'"{name}"' in source]

    @bound(
        "upper", "regret", "at T", domain="x", reference="azize2022", statement="none",
        row="dp-imed",
    )  # fmt: skip
    def made_up(means: Any, horizon: float, epsilon: float, ratio: float = 2.0) -> float:
        """100 r/ε, for the test alone."""
        return 100.0 * ratio / epsilon

    try:
        lines = theory.bounds([0.6, 0.5], horizon=100, epsilon=0.5)
        (own,) = [line for line in lines if line.policy == "dp-imed"]
        assert own.value == 400.0
        row = discreet.policy("dp-imed", epsilon=0.5, ratio=1.5)
        result = discreet.simulate(row, discreet.Bernoulli([0.6, 0.5]), horizon=100, runs=2, seed=1)
        (found,) = [line for line in theory.bounds_of(result) if line.policy == "dp-imed"]
        assert found.value == 300.0
    finally:
        del theory.BOUNDS["made_up"]


@pytest.mark.parametrize("sd", [0.5, 1.0])
def test_sigmoids_of_gaussian_rewards_keep_the_least_slope(sd: float) -> None:
    """Lemma 7 of Ren et al. (2020) by integrals: every slope on [0, 1] is at least c_s, and c_s is
    reached next to 1."""
    from scipy.integrate import quad
    from scipy.stats import norm

    def mean(mu: float) -> float:
        def inside(x: float) -> float:
            return float(norm.pdf(x, mu, sd)) / (1.0 + math.exp(-x))

        return float(quad(inside, mu - 12 * sd, mu + 12 * sd, points=[mu], epsabs=1e-13)[0])

    least = theory.sigmoid_slope(sd)
    values = [mean(k / 20) for k in range(21)]
    slopes = [20 * (b - a) for a, b in pairwise(values)]
    assert all(slope >= least for slope in slopes)
    assert (mean(1.0) - mean(1.0 - 1e-3)) / 1e-3 == pytest.approx(least, rel=1e-3)


def test_bounds_of_wang_and_zhu_at_epsilon_zero() -> None:
    """Remarks 17 and 19: at ε = 0 the terms are their limits; ε = 1e-7 is within 1e-5 of them."""
    means, rounds, delta = [0.9, 0.8, 0.6], 10**6, 0.01
    power = rounds**0.5
    limit = (power - 40.0) / (16.0 * 5.0 * delta * power)
    assert theory.minimax_global(rounds, 0.0, delta) == pytest.approx(limit, rel=1e-12)
    for formula in (theory.dp_ftpl_new, theory.gdp_elim_new):
        nearly = formula(means, rounds, 1e-7, delta)
        assert formula(means, rounds, 0.0, delta) == pytest.approx(nearly, rel=1e-5)
    assert limit == pytest.approx(theory.minimax_global(rounds, 1e-7, delta), rel=1e-5)
    with pytest.raises(InvalidArgument, match="epsilon"):
        theory.minimax_global(rounds, 0.0, 0.0)
    lines = {x.name: x for x in theory.bounds(means, horizon=rounds, epsilon=0.0, delta=delta)}
    assert lines["minimax_global"].value == pytest.approx(2.0 * limit, rel=1e-12)  # three arms
    assert "above 0" in lines["adap_ucb"].silent
    with pytest.raises(InvalidArgument, match="epsilon must be a finite number above 0"):
        theory.bounds(means, horizon=rounds, epsilon=0.0)
