"""Edges of the calculus that small changes of the code would move unseen elsewhere (see
`make mutants`): boundaries, constants, the far ends of series, and noise that is centred."""

from __future__ import annotations

import importlib.metadata
import math
from dataclasses import replace
from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

import discreet
from discreet.errors import DiscreetError, InvalidArgument, NoConversion
from discreet.privacy import (
    Approximate,
    Definition,
    Gaussian,
    Guarantee,
    Laplace,
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
from discreet.privacy._mechanisms import TruncatedLaplace
from discreet.privacy._shares import check_shares
from discreet.privacy._source import REHEARSED, SECURE, SIMULATED, Source
from discreet.privacy.verification._forms import Form


@pytest.mark.parametrize("epsilon", [0.3, 0.5, 2.0])
def test_the_delta_of_a_group_is_rounded_upwards_whatever_epsilon(epsilon: float) -> None:
    getcontext().prec = 40
    exact = Decimal("1e-9") * sum((Decimal(epsilon) * k).exp() for k in range(4))
    found = Decimal(Approximate(epsilon, 1e-9).group(4).delta)
    assert exact <= found <= exact * (1 + Decimal("1e-11"))


def test_uses_whose_deltas_add_up_to_one_are_refused() -> None:
    thrice = Approximate(0.1, 0.25).times(3)
    assert isinstance(thrice, Approximate)
    assert thrice.epsilon == pytest.approx(0.3)
    assert thrice.delta == 0.75
    with pytest.raises(NoConversion):
        Approximate(0.1, 0.25).times(4)


def test_renyi_groups_end_where_the_proposition_does() -> None:
    assert Renyi(8.0, 0.1).group(3).alpha == 2.0
    assert Renyi(4.0, 0.1).group(2).alpha == 2.0
    assert Renyi(1.5, 0.1).group(1) == Renyi(1.5, 0.1)
    with pytest.raises(NoConversion):
        Renyi(7.9, 0.1).group(3)


def test_a_renyi_budget_far_above_epsilon_promises_nothing_there() -> None:
    assert Renyi(2.0, 100.0).delta_at(0.0) == 1.0


def test_global_promises_hold_for_single_outcomes_alone() -> None:
    promise = Guarantee(Pure(1.0), Definition.GLOBAL)
    assert promise.for_user(1) == promise
    with pytest.raises(NoConversion):
        promise.for_user(2)


def test_noise_on_what_cannot_move_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="sensitivity"):
        Laplace(1.0, sensitivity=0.0)


@pytest.mark.parametrize("length", [0.0099, 0.0101, 0.5])
def test_the_variance_of_truncated_noise_is_its_integral(length: float) -> None:
    """On both sides of the point at which a series takes over."""
    epsilon = 1e-3
    noise = TruncatedLaplace(epsilon, math.expm1(epsilon) / (2.0 * math.expm1(length)))
    assert noise.bound == pytest.approx(length / epsilon)
    mass, second = (
        quad(lambda x, p=p: x**p * math.exp(-epsilon * x), 0.0, noise.bound)[0] for p in (0, 2)
    )
    assert noise.variance == pytest.approx(second / mass, rel=2e-7)


def test_the_bound_of_truncated_noise_does_not_overflow() -> None:
    below, above = (TruncatedLaplace(e, 1e-6).bound * e for e in (49.999999, 50.000001))
    assert above == pytest.approx(below, abs=1e-5)
    assert TruncatedLaplace(699.0, 1e-6).bound == pytest.approx((699.0 - math.log(2e-6)) / 699.0)
    assert TruncatedLaplace(1e4, 1e-6).bound == pytest.approx((1e4 - math.log(2e-6)) / 1e4)


def test_live_noise_is_centred() -> None:
    # at a hundredth of a step both laws are 0 with probability 1 - 2e-43 or more
    assert {secure.laplace(0.01) for _ in range(20)} == {0}
    assert {secure.gaussian(0.01) for _ in range(20)} == {0}


@pytest.mark.parametrize(("found", "sound"), [("0.14.1", False), ("0.14.2", True), ("1.0", True)])
def test_samplers_that_are_biased_are_refused(
    found: str, sound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda package: found)
    if sound:
        secure._opendp.__wrapped__()
    else:
        with pytest.raises(DiscreetError, match=r"0\.14\.2"):
            secure._opendp.__wrapped__()


def test_a_number_minus_a_form() -> None:
    left = 5.0 - (2.0 + Form.symbol(1, 3.0))
    assert left.constant == 3.0
    assert left.padded(2).tolist() == [0.0, -3.0]


@pytest.mark.parametrize("source", [SIMULATED, REHEARSED, SECURE])
def test_every_source_scales_its_noise_to_its_own_steps(source: Source) -> None:
    """The live scales are those that the sampler's own map proves: a little more, never less."""
    budget = Approximate(0.5, 1e-6)
    laplace = source.resolution * 2.0
    exact = source.resolution * Gaussian.calibrated(budget).scale
    paper = source.resolution * math.sqrt(2.0 * math.log(1.25e6)) / 0.5
    assert laplace <= source.laplace_scale(0.5) <= laplace * (1.0 + 1e-5)
    assert exact * (1.0 - 1e-9) <= source.gaussian_scale(budget) <= exact * (1.0 + 1e-5)
    assert source.gaussian_scale(budget, "paper") == pytest.approx(paper, rel=1e-9)


def test_live_scales_are_proved_and_not_rounded_to_less() -> None:
    """1/.7 in floating point is a little too small: sensitivity / scale exceeds .7."""
    assert SIMULATED.laplace_scale(0.7) == 1.0 / 0.7
    assert SECURE.laplace_scale(0.7) == math.nextafter(SECURE.resolution / 0.7, math.inf)


@pytest.mark.parametrize("source", [SIMULATED, REHEARSED, SECURE])
def test_the_old_name_of_the_resolution_is_read_alone(source: Source) -> None:
    assert source.unit == source.resolution
    with pytest.raises(AttributeError):
        setattr(source, "unit", 7)  # noqa: B010 - a type checker refuses the plain assignment


def test_sigmoids_in_steps_and_without() -> None:
    whole, plain = SECURE.kernels["squash"], SIMULATED.kernels["squash"]
    one = SECURE.resolution
    for reward in (-3.0, -0.5, 0.0, 0.5, 3.0):
        assert plain(reward, 1) == pytest.approx(1.0 / (1.0 + math.exp(-reward)))
        assert whole(round(reward * one), one) == pytest.approx(plain(reward, 1) * one, abs=1.0)
    assert (whole(-(10**6) * one, one), whole(10**6 * one, one)) == (0, one)


def test_rehearsed_responses_are_about_rewards_in_steps() -> None:
    """At ε = 60 a response lies with probability 1e-26; of 4,000 about a half, 2,000 ± 155 are 1
    but with probability 1e-6."""
    rng = np.random.default_rng(1)
    response, one = REHEARSED.kernels["response"], REHEARSED.resolution
    assert {response(0, 60.0, rng) for _ in range(50)} == {0}
    assert {response(one, 60.0, rng) for _ in range(50)} == {1}
    assert abs(sum(response(one // 2, 60.0, rng) for _ in range(4000)) - 2000) <= 155


@pytest.mark.parametrize("alpha", [2, 3.0, 8])
def test_skellam_noise_is_for_whole_orders_from_two(alpha: float) -> None:
    check_shares(Renyi(alpha, 0.5), 1, 0.0)
    for wrong in (1.5, 2.5, alpha + 0.1):
        with pytest.raises(InvalidArgument, match="whole number from 2"):
            check_shares(Renyi(wrong, 0.5), 1, 0.0)


def test_conditions_are_kept_as_they_are_given() -> None:
    given: Any = ["rewards lie in [0, 1]"]
    guarantee = Guarantee(Pure(1.0), Definition.INTERACTIVE, conditions=given)
    given.append("or not")
    assert guarantee.conditions == ("rewards lie in [0, 1]",)
    assert hash(guarantee) == hash(replace(guarantee))


@pytest.mark.parametrize("delta", [1e-3, 0.2])
def test_truncated_noise_at_no_epsilon_is_uniform(delta: float) -> None:
    """On |x| <= 1/(2δ): of 20,000 the largest is within a thousandth of that, but for one time in
    e^20, and none is outside."""
    rng = np.random.default_rng(1)
    found = np.abs([noise.truncated_laplace(0.0, delta, rng) for _ in range(20_000)])
    assert 0.999 / (2.0 * delta) < found.max() <= 1.0 / (2.0 * delta)
    assert TruncatedLaplace(0.0, delta).variance == pytest.approx((1.0 / delta) ** 2 / 12.0)


@pytest.mark.parametrize(
    ("sigma", "move", "epsilon"), [(3.0, 1, 0.1), (9.0, 4, 1.0), (50.0, 30, 2.0)]
)
def test_what_a_lattice_adds_to_the_continuous_curve_is_the_largest_term(
    sigma: float, move: int, epsilon: float
) -> None:
    """max g/(σ sqrt(2π)) by a dense grid, with g(x) = f(x) - e^ε f(x + M)."""
    x = np.linspace(-20.0 * sigma, 20.0 * sigma, 2_000_001)
    g = np.exp(-0.5 * (x / sigma) ** 2) - np.exp(epsilon - 0.5 * ((x + move) / sigma) ** 2)
    more = g.max() / (sigma * math.sqrt(2.0 * math.pi))
    found = curves.lattice_delta(sigma, move, epsilon)
    assert found - curves.gaussian_delta(move / sigma, epsilon) == pytest.approx(more, rel=1e-6)


def test_epsilon_zero_beside_a_delta() -> None:
    """Remarks 17 and 19 of Wang & Zhu (2024): policies for (0, δ), by keyword and by name."""
    asked = discreet.privacy.budget_from(epsilon=0.0, delta=0.01)
    assert asked == Approximate(0.0, 0.01)
    for wrong in ({"epsilon": 0.0}, {"epsilon": 0.0, "delta": 0.0}, {"rho": 0.0}, {"mu": 0.0}):
        with pytest.raises(InvalidArgument, match="above 0"):
            discreet.privacy.budget_from(**wrong)
    with pytest.raises(InvalidArgument, match="name one kind of budget"):
        discreet.privacy.budget_from(epsilon=0.0, renyi_alpha=2.0, delta=0.1)
    for name in ("dp-ftpl-new", "gdp-elim-new"):
        row = discreet.policy(name, epsilon=0.0, delta=0.01)
        assert row.guarantee.budget.epsilon == 0.0
        done = discreet.simulate(row, discreet.Bernoulli([0.5, 0.9]), horizon=3000, runs=4, seed=1)
        assert done.pulls[:, -1, 1].min() > 0
    found = discreet.policy("gdp-elim-new", epsilon=0.0, delta=0.01).proved(arms=2, horizon=200)
    assert found.holds
    assert found.unspent == 0.0
    assert "δ = 0.005" in str(found)
    with pytest.raises(InvalidArgument, match="which would never release"):
        discreet.policy("dp-ucb-int", epsilon=0.0, delta=0.01)
