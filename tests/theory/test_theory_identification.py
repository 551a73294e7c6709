"""Characteristic times against grids of allocations, closed forms and each other."""

from __future__ import annotations

import math
from collections.abc import Callable

import naive_bounds as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import theory
from discreet.errors import InvalidArgument
from discreet.theory import characteristic_time, identification_samples, total_variation_time

instances = (
    st.lists(st.floats(0.02, 0.98), min_size=2, max_size=5)
    .map(lambda means: sorted(means, reverse=True))
    .filter(lambda means: means[0] - means[1] > 0.01)
)


def bernoulli_tv(p: float, q: float) -> float:
    return abs(p - q)


@pytest.mark.parametrize("epsilon", [0.05, 0.6, 1.2, math.inf])
@pytest.mark.parametrize("beta", [None, 0.5])
@pytest.mark.parametrize("means", [[0.4, 0.7], [0.8, 0.3, 0.6]])
def test_grid(means: list[float], epsilon: float, beta: float | None) -> None:
    steps = 60 if len(means) == 2 else 20
    finite = min(epsilon, 1e9)
    grid = naive.characteristic_time(means, finite, naive.kl, bernoulli_tv, steps, beta)
    found = characteristic_time(means, epsilon, beta=beta)
    # no allocation on a grid is better, but some are nearly as good
    assert found.samples * 0.998 <= grid <= found.samples * 1.06
    # and the allocation that was found is worth what it claims
    own = naive.worth_of(means, found.shares, finite, naive.kl, bernoulli_tv)
    assert own == pytest.approx(1.0 / found.samples, rel=1e-3)


def test_gaussian_grid_and_closed_form() -> None:
    sd = 0.5
    found = characteristic_time([0.3, 0.1], family="gaussian", sd=sd)
    assert found.samples == pytest.approx(8 * sd**2 / 0.2**2)
    assert found.shares == pytest.approx([0.5, 0.5], abs=1e-4)

    def kl(p: float, q: float) -> float:
        return (p - q) ** 2 / (2 * sd**2)

    def tv(p: float, q: float) -> float:
        return math.erf(abs(p - q) / (2 * math.sqrt(2) * sd))

    for epsilon in (0.1, 0.5, 5.0):
        grid = naive.characteristic_time([0.5, 0.2, 0.0], epsilon, kl, tv, 20)
        own = characteristic_time([0.5, 0.2, 0.0], epsilon, family="gaussian", sd=sd)
        assert own.samples * 0.998 <= grid <= own.samples * 1.12
        worth = naive.worth_of([0.5, 0.2, 0.0], own.shares, epsilon, kl, tv)
        assert worth == pytest.approx(1.0 / own.samples, rel=1e-3)


@settings(max_examples=40)
@given(instances, st.floats(0.01, 20.0))
def test_order_limits_and_shares(means: list[float], epsilon: float) -> None:
    free = characteristic_time(means)
    private = characteristic_time(means, epsilon)
    tv = total_variation_time(means)
    gaps = [means[0] - mean for mean in means[1:]]
    assert tv == pytest.approx(1 / min(gaps) + sum(1 / gap for gap in gaps))
    assert 1 / min(gaps) <= tv <= len(means) / min(gaps) * (1 + 1e-12)
    assert private.samples >= max(free.samples, tv / epsilon) * (1 - 1e-7)
    assert characteristic_time(means, 1e-4).samples == pytest.approx(tv / 1e-4, rel=1e-6)
    assert characteristic_time(means, 1e6).samples == pytest.approx(free.samples, rel=1e-6)
    for found in (free, private):
        assert sum(found.shares) == pytest.approx(1.0)
        assert min(found.shares) > 0.0
    # the β-version is worse than the best share, and equal to it at that share
    half = characteristic_time(means, epsilon, beta=0.5).samples
    assert private.samples * (1 - 1e-6) <= half <= 2.0 * private.samples * (1 + 1e-6)
    best = private.shares[0]
    again = characteristic_time(means, epsilon, beta=best).samples
    assert again == pytest.approx(private.samples, rel=1e-5)


@settings(max_examples=40)
@given(instances.filter(lambda means: len(set(means)) == len(means)), st.floats(0.05, 20.0))
def test_lower_is_below_upper(means: list[float], epsilon: float) -> None:
    # the upper bound is that of Gaussian arms of sd 1/2, which is never easier than Bernoulli
    lower = characteristic_time(means, epsilon).samples
    free = characteristic_time(means).samples
    upper = theory.adap_tt_samples(means, epsilon)
    assert free <= upper
    if max(means) - min(means) < 0.5 * epsilon:
        assert lower <= upper


def test_samples() -> None:
    time = characteristic_time([0.7, 0.5, 0.4], 0.3).samples
    found = identification_samples([0.7, 0.5, 0.4], 0.01, 0.3)
    assert found == pytest.approx(time * math.log(1 / 0.03))
    sd = 0.5
    base = characteristic_time([0.7, 0.5, 0.4], beta=0.5, family="gaussian", sd=sd).samples
    assert theory.adap_tt_samples([0.7, 0.5, 0.4], 0.2) == pytest.approx(
        4 * base * (1 + math.sqrt(1 + 0.3**2 / (2 * sd**4 * 0.2**2)))
    )


def test_rates_of_zero_and_one() -> None:
    assert characteristic_time([1.0, 0.5]).samples < characteristic_time([0.9, 0.5]).samples
    assert characteristic_time([1.0, 0.0], 0.5).samples == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: characteristic_time([0.5, 0.5]), "means"),
        (lambda: characteristic_time([0.5, 0.4], -1.0), "epsilon"),
        (lambda: characteristic_time([0.5, 0.4], beta=1.0), "beta"),
        (lambda: characteristic_time([0.5, 0.4], family="beta"), "family"),
        (lambda: characteristic_time([0.5, 0.4], family="gaussian", sd=0.0), "sd"),
        (lambda: identification_samples([0.5, 0.4], 0.34), "risk"),
        (lambda: identification_samples([0.5, 0.4]), "risk"),
        (lambda: theory.adap_tt_samples([0.5, 0.4, 0.4], 1.0), "means"),
    ],
)
def test_input(call: Callable[[], object], argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        call()
    assert error.value.argument == argument


@pytest.mark.parametrize(("version", "c"), [("jmlr", 0.5), ("thesis-k2", 3.0)])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.5])
def test_upper_bound_of_adap_tt_star(version: str, c: float, epsilon: float) -> None:
    """From the stopping rule: n samples are enough once n/T* is above the threshold, with
    log(1/δ) = 1 and shares ω of T*; doubling and forgetting cost a factor 4."""
    means, sd, beta = [0.9, 0.6, 0.4], 0.5, 0.4
    widest = 0.5
    capped = widest >= c * epsilon

    def cost(p: float, q: float) -> float:
        gap = abs(p - q)
        return gap * (min(c * epsilon, gap) if capped else gap)

    def worth(share: float) -> float:
        shares = [(0.6, share), (0.4, 1.0 - beta - share)]
        return min(cost(0.9, m) / (2 * sd**2 * (1 / beta + 1 / w)) for m, w in shares)

    time = 1.0 / max(worth(x) for x in np.linspace(0.001, 0.599, 40_000))

    def short(x: float) -> bool:
        """Whether x T* samples miss the threshold of Theorem 5.23, worst pair of shares."""
        if capped:
            sums = 2 * math.sqrt(max(beta, 1 - beta))
            return x < c / sd**2 + c * epsilon / (math.sqrt(2) * sd) * sums * math.sqrt(x * time)
        y = widest / (sd**2 * epsilon)
        return x * x < x + y * math.sqrt(2 * x) + y * y / 4

    low, high = 0.0, 1e9
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if short(middle) else (low, middle)
    found = theory.adap_tt_star_samples(means, epsilon, beta, version)
    assert found == pytest.approx(4 * time * low, rel=1e-4)


def test_adap_tt_star_as_printed() -> None:
    """The discussion of Theorem 5.23: g1(12) <= 10, and 12 T*_ε,1/2 <= 8 T*_TV/ε if 3ε <= Δmin."""
    means = [0.9, 0.5, 0.3]
    open_time = characteristic_time(means, beta=0.5, family="gaussian", sd=0.5).samples
    assert theory.adap_tt_star_samples(means, math.inf) == pytest.approx(4 * open_time)
    edge = theory.adap_tt_star_samples(means, 0.6 / 2.999, version="thesis-k2")
    assert 9.9 < edge / (4 * open_time) < 10
    epsilon = 1e-6  # g2 is 1 there, and its factor is 12 T*/σ²
    found = theory.adap_tt_star_samples(means, epsilon, version="thesis-k2")
    assert found <= 1.01 * 8 * total_variation_time(means) / epsilon / 0.25
    refused: tuple[Callable[[], float], ...] = (
        lambda: theory.adap_tt_star_samples([0.5, 0.4, 0.4], 1.0),
        lambda: theory.adap_tt_star_samples(means, 1.0, version="draft"),
        lambda: theory.adap_tt_star_samples(means, 0.0),
    )
    for call in refused:
        with pytest.raises(InvalidArgument):
            call()


def test_the_private_time_has_its_published_values() -> None:
    """Means A and B at ε = ∞, 1, .1, .02; without privacy it is T*_KL."""
    first, second = [0.95, 0.9, 0.9, 0.9, 0.5], [0.75, *[0.7] * 4]
    known = {math.inf: (395.5, 1424.7), 1.0: (396.7, 1424.7), 0.1: (931.2, 1620.3)}
    for epsilon, values in known.items():
        for means, value in zip((first, second), values, strict=True):
            found = theory.private_characteristic_time(means, epsilon)
            assert found.samples == pytest.approx(value, abs=0.06)
            assert math.fsum(found.shares) == pytest.approx(1.0)
    plain = theory.characteristic_time(first).samples
    assert theory.private_characteristic_time(first).samples == pytest.approx(plain, rel=1e-6)
    assert theory.private_characteristic_time(first, 0.02).samples >= (
        theory.characteristic_time(first, 0.02).samples
    )


def test_adap_tt_star_is_not_monotone_as_printed() -> None:
    """Theorem 5.23 on means .9, .8, .6: the second branch grows with ε until Δmax = 3ε."""
    found = [
        theory.adap_tt_star_samples([0.9, 0.8, 0.6], epsilon, version="thesis-k2")
        for epsilon in (0.03, 0.1, 1.0)
    ]
    assert [round(x) for x in found] == [26_141, 79_687, 1_880]
