"""Contexts and problems: what is on offer, what it pays, what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet.linear as linear
from discreet.errors import InvalidArgument
from discreet.linear._trial import covariates

PLANE = linear.FixedActions(np.eye(2))


def offered(contexts: linear.Contexts, rounds: int, seed: int = 1) -> np.ndarray:
    """The actions of some rounds, K × d each."""
    rng = np.random.default_rng(seed)
    state, flat = contexts.start(rng), np.zeros(contexts.arms * contexts.dimension)
    sets: list[Any] = []
    while len(sets) < rounds:
        if type(contexts).offer(state, flat, rng):
            sets.append(flat.reshape(contexts.arms, contexts.dimension).copy())
        else:
            contexts.refill(state, rng)
    return np.array(sets)


def test_fixed_actions_stay() -> None:
    actions = [[1.0, 2.0], [0.0, -1.0], [0.5, 0.5]]
    contexts = linear.FixedActions(actions)
    assert offered(contexts, 3).tolist() == [actions] * 3
    assert contexts.longest == pytest.approx(math.sqrt(5))


def test_pool_is_drawn_uniformly() -> None:
    """4000 draws of 4 sets: each count within 6 sd of 1000 (false alarm < 1e-8)."""
    sets = np.arange(4 * 2 * 3, dtype=float).reshape(4, 2, 3)
    drawn = offered(linear.IIDContexts(sets), 4000)
    counts = [(drawn[:, 0, 0] == s[0, 0]).sum() for s in sets]
    assert sum(counts) == 4000
    assert max(abs(c - 1000) for c in counts) < 6 * math.sqrt(4000 * 3 / 16)


def test_gaussian_contexts_have_the_thesis_law() -> None:
    """Mean 1/sqrt d and variance 1/10 of 60 000 numbers, within 6 standard errors (< 1e-8)."""
    drawn = offered(linear.GaussianContexts(arms=10, dimension=3), 2000)
    assert abs(drawn.mean() - 1 / math.sqrt(3)) < 6 * math.sqrt(0.1 / 60_000)
    assert abs(drawn.var() - 0.1) < 6 * 0.1 * math.sqrt(2 / 60_000)
    assert (np.linalg.norm(drawn, axis=2) > 1).mean() > 0.3


def test_ball_shortens_and_keeps_directions() -> None:
    free = offered(linear.GaussianContexts(arms=4, dimension=3), 200)
    ball = offered(linear.GaussianContexts(arms=4, dimension=3, ball=True), 200)
    length = np.linalg.norm(free, axis=2, keepdims=True)
    np.testing.assert_allclose(ball, free / np.maximum(length, 1.0))


def test_source_serves_its_buffers_in_order() -> None:
    def draw(rng: Any, size: int) -> np.ndarray:
        return np.asarray(rng.uniform(-0.5, 0.5, (size, 3, 2)))

    contexts = linear.ContextSource(draw, longest=1.0, buffer=7)
    drawn = offered(contexts, 20, seed=5)
    rng = np.random.default_rng(5)
    expected = np.concatenate([draw(rng, 7) for _ in range(3)])[:20]
    assert drawn.tolist() == expected.tolist()
    problem = linear.LinearProblem(contexts, [1.0, 0.0], linear.SignRewards())
    result = linear.simulate(linear.policy("adac-oful", rho=1.0), problem, horizon=50, runs=2)
    assert (result.pulls[:, -1].sum(axis=1) == 50).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, size: np.ones((size, 3)),
        lambda rng, size: np.full((size, 3, 2), np.nan),
        lambda rng, size: np.full((size, 3, 2), 5.0),
        lambda rng, size: np.ones((1, 3, 2)),
        "no function",
    ],
)
def test_bad_sources(draw: Any) -> None:
    with pytest.raises(InvalidArgument):
        linear.ContextSource(draw, longest=2.0, buffer=4)


@pytest.mark.parametrize(
    ("rewards", "means", "variance"),
    [
        (linear.GaussianRewards(sd=0.5), [0.3, -2.0], [0.25, 0.25]),
        (linear.SignRewards(), [0.3, -0.9], [1 - 0.09, 1 - 0.81]),
        (linear.BitRewards(), [0.3, 0.9], [0.21, 0.09]),
    ],
)
def test_rewards_have_their_means(rewards: Any, means: list[float], variance: list[float]) -> None:
    """One by one and in batches: mean of 20 000 within 6 standard errors (false alarm < 1e-8)."""
    rng, n = np.random.default_rng(1), 20_000
    environment = rewards.environment(means)
    state = environment.start(rng)
    for arm, (mean, var) in enumerate(zip(means, variance, strict=True)):
        single = [rewards.pay(rewards.parameters(), mean, rng) for _ in range(n)]
        assert abs(np.mean(single) - mean) < 6 * math.sqrt(var / n)
        assert abs(environment.draw(state, arm, n, 0, rng)[0] / n - mean) < 6 * math.sqrt(var / n)
        if rewards.bounds is not None:
            assert set(single) == set(rewards.bounds)


def test_instance_seed_fixes_actions_and_parameter() -> None:
    one, two, other = (
        linear.LinearProblem.random(contexts="fixed", seed=seed) for seed in (1, 1, 2)
    )
    assert one.to_dict() == two.to_dict()
    assert one.to_dict() != other.to_dict()
    assert np.linalg.norm(one.theta) == pytest.approx(1.0)
    np.testing.assert_allclose(np.linalg.norm(one.contexts.average, axis=1), 1.0)


def test_actg175() -> None:
    problem = linear.actg175()
    assert (problem.arms, problem.dimension) == (4, 16)
    assert problem.contexts.longest <= 1.0 + 1e-12
    low, high = problem.contexts.reach(problem.theta)
    assert 0.14 < low < high < 1.0
    # the fit keeps every treatment's own mean outcome among the patients who had it
    from discreet.arms import actg175

    trial, patients = actg175("cd4"), covariates()
    for arm in range(4):
        given = np.array(trial.assigned) == arm
        fitted = patients[given] @ problem.theta[4 * arm : 4 * arm + 4]
        assert fitted.mean() == pytest.approx(trial.rates[arm])
    # a treatment for each patient beats the best treatment for all
    means = problem.contexts.sets @ problem.theta  # type: ignore[attr-defined]
    assert means.max(axis=1).mean() > means.mean(axis=0).max() + 0.003
    assert problem.to_dict()["licence"] == "CC BY 4.0"


@pytest.mark.parametrize(
    "make",
    [
        lambda: linear.LinearProblem(PLANE, [1.0]),
        lambda: linear.LinearProblem(PLANE, [2.0, 0.0], linear.SignRewards()),
        lambda: linear.LinearProblem(PLANE, [-0.1, 0.0], linear.BitRewards()),
        lambda: linear.LinearProblem.random(rewards="sign"),
        lambda: linear.LinearProblem.random(arms=1),
        lambda: linear.LinearProblem.random(dimension=0),
        lambda: linear.LinearProblem.random(contexts="weather"),
        lambda: linear.LinearProblem("contexts", [1.0]),  # type: ignore[arg-type]
        lambda: linear.FixedActions([[1.0, math.inf], [0.0, 1.0]]),
        lambda: linear.FixedActions([[1.0, 0.0]]),
        lambda: linear.IIDContexts(np.eye(2)),
        lambda: linear.GaussianContexts(3, 2, variance=-1.0),
        lambda: linear.GaussianContexts(3, 2, mean=[1.0]),
        lambda: linear.GaussianRewards(sd=0.0),
    ],
)  # fmt: skip
def test_refused(make: Any) -> None:
    with pytest.raises(InvalidArgument):
        make()


@pytest.mark.parametrize(
    "changes",
    [{"horizon": 0}, {"horizon": 2.5}, {"runs": 0}, {"seed": -1}, {"threads": 0}, {"points": 1}],
)
def test_bad_sizes(changes: dict[str, Any]) -> None:
    options: dict[str, Any] = {"horizon": 100, "runs": 1, "seed": 1} | changes
    with pytest.raises(InvalidArgument):
        linear.simulate(linear.policy("oful"), linear.LinearProblem.random(seed=1), **options)


def test_results_save_and_load(tmp_path: Any) -> None:
    import discreet

    result = linear.simulate(
        linear.policy("adac-oful", rho=1.0), linear.LinearProblem.random(seed=1), horizon=50,
        runs=2, seed=1,
    )  # fmt: skip
    (again,) = discreet.load(result.save(tmp_path / "x.parquet"))
    assert again.regret.tolist() == result.regret.tolist()
    assert again.guarantee == result.guarantee


def test_unbounded_rewards_are_clipped_to_a_range_that_fits() -> None:
    """With next to no noise a private row does as well as its twin: clipping bends nothing."""
    actions = linear.FixedActions([[0.6, 0.0], [0.0, 0.6], [0.4, 0.4]])
    problem = linear.LinearProblem(actions, [1.0, 0.5], linear.GaussianRewards(0.5))
    options: dict[str, Any] = {"horizon": 2000, "runs": 4, "seed": 1}
    row = linear.policy("adac-gope", rho=1e6)
    result = linear.simulate(row, problem, **options)
    recipe = result.policy["recipe"]
    assert (recipe["low"], recipe["high"]) == pytest.approx((0.3 - 1.5, 0.6 + 1.5))
    assert result.guarantee.budget == row.guarantee.budget
    told = linear.policy("adac-gope", rho=1e6, low=-1.0, high=1.0)
    assert linear.simulate(told, problem, **options).policy["recipe"]["high"] == 1.0
    bounded = linear.LinearProblem(actions, [1.0, 0.5], linear.SignRewards())
    assert "low" not in linear.simulate(row, bounded, **options).policy["recipe"]
    wide = linear.simulate(
        linear.policy("adac-oful", rho=1.0), linear.LinearProblem.random(seed=1), horizon=50, runs=1
    ).policy["recipe"]
    assert wide["high"] == -wide["low"] == pytest.approx(6.0)
