"""Rewards without a bound: what a row sees of them, and what clipping costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet
from discreet._compiled import Kernel
from discreet.arms import (
    Bernoulli,
    Beta,
    Capped,
    Clipped,
    Delayed,
    Environment,
    FunctionEnvironment,
    Gaussian,
    RewardList,
    RewardTable,
    Sampler,
    Switching,
    clipping_bias,
    clipping_level,
    environment_from_dict,
    pareto,
)
from discreet.arms._sampler import Buffer
from discreet.errors import DiscreetError, InvalidArgument

S1 = [0.9, 0.7, 0.5, 0.3, 0.1]


def test_what_a_row_sees() -> None:
    environment = Capped(pareto(S1, shape=1.55), at=2.0)
    assert environment.means == tuple(S1)
    assert environment.bounds == (0.0, 1.0)
    rng = np.random.default_rng(1)
    buffer = environment.start(rng)
    assert isinstance(buffer, Buffer)
    assert isinstance(environment.environment, Sampler)
    assert buffer.values.min() >= 0.0
    assert buffer.values.max() == 1.0
    kept = buffer.values[1].copy()
    buffer.used[0] = environment.environment.buffer
    environment.refill(buffer, rng)
    assert np.array_equal(buffer.values[1], kept)  # not seen twice
    assert buffer.values[0].max() <= 1.0


def test_clipped_means_by_quadrature_and_the_bias_bound() -> None:
    environment = Capped(pareto(S1, shape=1.55), at=1.0)
    for mean, seen in zip(S1, environment.clipped_means, strict=True):
        arm = stats.pareto(1.55, scale=mean * 0.55 / 1.55)
        x = np.linspace(0.0, 1.0, 200_001)
        assert seen == pytest.approx(float(np.trapezoid(arm.sf(x), x)), rel=1e-4)
        order = 0.5  # E X^1.5 = 1.55/(1.55 - 1.5) c^1.5
        moment = 31.0 * (mean * 0.55 / 1.55) ** 1.5
        assert mean - seen <= clipping_bias(moment, order, 1.0)


def test_the_bias_bound_is_the_largest_ratio() -> None:
    """(x - B)/x^(1+v) is largest at x = B(1+v)/v."""
    for v, b in ((0.5, 1.0), (0.9, 3.0)):
        x = np.linspace(b, 50 * b, 400_001)
        assert ((x - b) / x ** (1 + v)).max() == pytest.approx(clipping_bias(1.0, v, b), rel=1e-6)


def test_settings_round_trip_and_bad_input() -> None:
    environment = Capped(pareto(S1, shape=1.95), at=5.0)
    again = environment_from_dict(environment.to_dict())
    assert again.to_dict() == environment.to_dict()
    assert environment.arranged([4, 3, 2, 1, 0]).means == tuple(reversed(S1))
    bad = (
        lambda: pareto(S1, 1.0),
        lambda: Capped(pareto(S1, 2.0), 0.0),
        lambda: Capped(Delayed(Bernoulli([0.1, 0.2]), rounds=3), 1.0),
        lambda: Capped(Gaussian([0.1, 0.2]), -1.0),
        lambda: Capped([0.1, 0.2], 1.0),  # type: ignore[arg-type]
        lambda: pareto([0.0, 1.0], 2.0),
    )
    for wrong in bad:
        with pytest.raises(DiscreetError):
            wrong()


def test_dp_imed_plays_unbounded_rewards() -> None:
    """T = 1e5, v = .5, ε = .5, B = 1: regret on the true means, far below the 40,000 of uniform
    play. 12 runs; published rows cannot finish their first epoch here."""
    environment = Capped(pareto(S1, shape=1.55), at=1.0)
    row = discreet.policy("dp-imed", epsilon=0.5)
    result = discreet.simulate(row, environment, horizon=1e5, runs=12, seed=3, progress=False)
    assert result.final_regret.mean() < 1000.0
    assert math.isclose(max(result.means), 0.9)
    assert result.guarantee.short() == "ε = 0.5 (interactive)"


# any law: every reward is moved into the range by itself, before anything is summed


def exponential(arm: int, t: int, rng: np.random.Generator) -> float:
    return rng.exponential(1.0 + arm)


FREE = FunctionEnvironment(exponential, means=[1.0, 2.0], bounds=None)


def one_by_one(environment: Environment, arm: int, rounds: int, t: int, seed: int) -> list[float]:
    """Rewards of single draws, interpreted."""
    rng = np.random.Generator(np.random.SFC64(seed))
    state, draw = environment.start(rng), kernel_of(environment)
    return [draw(state, arm, 1, t + played, rng)[0] for played in range(rounds)]


def kernel_of(environment: Environment) -> Any:
    return Kernel(environment.draw).interpreted()  # type: ignore[arg-type]  # kernels are functions


@pytest.mark.parametrize(
    "environment",
    [FREE, Gaussian([0.3, 0.9], 0.5), Beta([2, 3], [2, 1]), Switching([[0.9, 0.1]], at=[0])],
    ids=lambda environment: environment.name,
)
def test_capped_on_any_law_is_the_sum_of_capped_rewards(environment: Environment) -> None:
    at = 0.7
    capped = Capped(environment, at)
    assert capped.means == environment.means
    assert capped.bounds == (0.0, 1.0)
    for arm in (0, 1):
        single = one_by_one(environment, arm, 50, 3, seed=arm)
        rng = np.random.Generator(np.random.SFC64(arm))
        state = capped.start(rng)
        total, served = kernel_of(capped)(state, arm, 50, 3, rng)
        assert served == 50
        assert total == pytest.approx(sum(min(max(x, 0.0), at) / at for x in single), rel=1e-12)
    swapped = capped.arranged([1, 0])
    assert swapped.means == tuple(reversed(environment.means))
    assert swapped.bounds == (0.0, 1.0)


def test_clipped_on_any_law() -> None:
    table = [[2.0, -1.0], [0.5, 0.25], [3.0, 0.0]]
    environment = Clipped(RewardTable(table, bounds=None), 0.0, 1.0)
    assert environment.means == pytest.approx((2.5 / 3, 0.25 / 3))
    assert one_by_one(environment, 0, 3, 0, seed=1) == [1.0, 0.5, 1.0]
    assert environment.limit == 3
    assert environment.standard(3).best.tolist() == [1.0, 0.5, 1.0]  # type: ignore[union-attr]
    assert environment.arranged([1, 0]).means == pytest.approx((0.25 / 3, 2.5 / 3))
    listed = Clipped(RewardList([2.0, 0.5, -3.0], arms=2, bounds=None))
    assert listed.means == pytest.approx((0.5, 0.5))
    moving = Switching([[0.9, 0.1], [0.1, 0.9]], at=[0, 10])
    assert Clipped(moving).ahead(np.array([20]), 20) == moving.ahead(np.array([20]), 20)
    # E min(X, 1) of an exponential variable of mean m is m (1 - e^(-1/m))
    means = [1 - math.exp(-1.0), 2 * (1 - math.exp(-0.5))]
    free = Clipped(FREE, means=means)
    drawn = [x for seed in range(4) for x in one_by_one(free, 1, 500, 0, seed)]
    assert min(drawn) >= 0.0
    assert max(drawn) == 1.0
    # Hoeffding: off by .062 with probability 2 e^(-2 · 2000 · .062²) = 4.2e-7 at most
    assert abs(np.mean(drawn) - means[1]) < 0.062
    assert free.arranged([1, 0]).means == tuple(reversed(means))
    assert Clipped(Gaussian([0.5, 0.7])).to_dict().keys() == {"environment", "of", "low", "high"}
    assert free.to_dict()["means"] == means


def test_what_cannot_be_clipped() -> None:
    moving = Switching([[0.9, 0.1], [0.1, 0.9]], at=[0, 10])
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: Clipped(FREE), "means"),
        (lambda: Clipped(FREE, means=[0.5]), "means"),
        (lambda: Clipped(FREE, means=[0.5, 1.5]), "means[1]"),
        (lambda: Clipped(Gaussian([0.5, 0.7]), means=[0.5, 0.6]), "means"),
        (lambda: Clipped(moving, 0.2, 0.8), "environment"),
        (lambda: Clipped(Delayed(Bernoulli([0.1, 0.2]), rounds=3)), "environment"),
    ]
    for wrong, argument in cases:
        with pytest.raises(InvalidArgument) as refused:
            wrong()
        assert refused.value.argument == argument


@pytest.mark.parametrize(
    ("moment", "order", "epsilon", "outcomes"),
    [(5.0, 0.9, 1.0, 1000), (5.0, 0.9, 0.1, 1000), (0.3, 0.5, 1.0, 1e5), (40.0, 2.0, 0.5, 300)],
)
def test_the_clipping_level_is_the_best_of_many(
    moment: float, order: float, epsilon: float, outcomes: float
) -> None:
    """Against a grid, by the formulas of the three errors."""
    found = clipping_level(moment, order, epsilon, outcomes)
    levels = np.geomspace(found / 1e3, found * 1e3, 20_001)
    bias = moment * levels**-order * order**order / (1 + order) ** (1 + order)
    second = np.full_like(levels, moment ** (2 / (1 + order)))
    if order <= 1:
        second = moment * levels ** (1 - order)
    error = bias + np.sqrt(second / outcomes) + math.sqrt(2) * levels / (epsilon * outcomes)
    assert levels[error.argmin()] == pytest.approx(found, rel=1e-3)


def test_the_second_moment_of_clipped_rewards_is_bounded_as_it_says() -> None:
    """u B^(1-v), for the heaviest tails that there are: two points, and Pareto arms."""
    rng = np.random.default_rng(3)
    for v in (0.3, 0.9, 1.0):
        for x in (
            rng.pareto(1.2 + v, 20_000) + 1.0,
            np.where(rng.random(20_000) < 0.01, 50.0, 0.0),
        ):
            u = np.mean(x ** (1 + v))
            for bound in (0.5, 2.0, 30.0):
                clipped = np.minimum(x, bound)
                assert np.mean(clipped**2) <= u * bound ** (1 - v) * (1 + 1e-12)
                assert np.mean(x - clipped) <= clipping_bias(u, v, bound) * (1 + 1e-12)


def test_levels_need_numbers_above_0() -> None:
    for wrong in (
        (0.0, 1.0, 1.0, 10),
        (1.0, 0.0, 1.0, 10),
        (1.0, 1.0, -1.0, 10),
        (1.0, 1.0, 1.0, 0),
    ):
        with pytest.raises(InvalidArgument):
            clipping_level(*wrong)
