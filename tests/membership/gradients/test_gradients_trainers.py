"""Trainers: who enters a step, what is added, and what is claimed of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from naive_gradients import dp_sum
from scipy.stats import norm

from discreet.errors import InvalidArgument
from discreet.membership.gradients import (
    FullBatch,
    Poisson,
    Shuffled,
    Single,
    SoftmaxRegression,
    Trainer,
    claim,
    last_iterate_delta,
    last_iterate_epsilon,
    shuffled_claim,
)
from discreet.membership.gradients._accounting import most_power
from discreet.privacy.budgets import Approximate, GaussianDP

MODEL = SoftmaxRegression(5, 3)
ALARM = 4.9  # normal quantile of 1e-6 / 2


def data(n: int = 50) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    return rng.random((n, 5)), rng.integers(0, 3, n), MODEL.start(rng).astype(float)


def test_a_full_batch_is_the_mean_of_all() -> None:
    x, y, start = data()
    trace = Trainer(FullBatch(3), 0.5).train(MODEL, x, y, start, np.random.default_rng(1))
    theta = start
    for t in range(3):
        update = MODEL.gradients(theta, x, y).mean(axis=0)
        assert np.allclose(trace.updates[t], update)
        theta = theta - 0.5 * update
        assert np.allclose(trace.parameters[t + 1], theta)


def test_an_epoch_visits_everybody_once_and_drops_the_rest() -> None:
    rng = np.random.default_rng(1)
    batches = list(Shuffled(8, epochs=2).draw(50, rng))
    assert len(batches) == Shuffled(8, epochs=2).steps(50) == 12
    for epoch in (batches[:6], batches[6:]):
        seen = np.concatenate(epoch)
        assert len(np.unique(seen)) == len(seen) == 48
    assert Shuffled(8).divisor(50) == 8.0
    with pytest.raises(InvalidArgument, match="batch must be at most the 5 points"):
        Shuffled(8).steps(5)


def test_poisson_batches_and_single_points() -> None:
    rng = np.random.default_rng(2)
    sizes = [len(batch) for batch in Poisson(0.3, 2000).draw(40, rng)]
    error = math.sqrt(40 * 0.3 * 0.7 / 2000)
    assert abs(np.mean(sizes) - 12.0) < ALARM * error
    assert Poisson(0.3).divisor(40) == pytest.approx(12.0)
    singles = list(Single(500).draw(40, rng))
    assert {len(one) for one in singles} == {1}
    assert len(np.unique(np.concatenate(singles))) > 35
    with pytest.raises(InvalidArgument, match="rate must lie in"):
        Poisson(0.0)


def test_dp_sgd_clips_each_and_adds_noise_to_the_sum() -> None:
    """The noise has standard deviation γc on the sum, γc/B on the update: not γc."""
    x, y, start = data()
    clip, noise = 0.5, 2.0
    exact = dp_sum(MODEL.gradients(start, x, y), clip)
    trainer = Trainer(FullBatch(1), 0.1, clip=clip, noise=noise)
    rng = np.random.default_rng(3)
    drawn = np.array([trainer.train(MODEL, x, y, start, rng).updates[0] for _ in range(400)])
    z = (drawn * 50 - exact) / (noise * clip)
    count = z.size
    assert abs(z.mean()) < ALARM / math.sqrt(count)
    assert abs((z**2).mean() - 1.0) < ALARM * math.sqrt(2.0 / count)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate must be a finite number above 0"),
        ({"clip": -1.0}, "clip must be a finite number above 0"),
        ({"noise": -1.0}, "noise must be a finite number of at least 0"),
        ({"noise": 1.0}, "clip must be given where noise is"),
    ],
)
def test_bad_trainers_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Trainer(FullBatch(), **options)


def test_claims() -> None:
    assert claim(4.0, 16) == GaussianDP(1.0)
    assert claim(4.0, 16, neighbours="replace") == GaussianDP(2.0)
    assert shuffled_claim(0.5, 4) == GaussianDP(4.0)
    poisson = claim(1.0, 10, sampling=0.1, delta=1e-5)
    assert isinstance(poisson, Approximate)
    whole = claim(1.0, 10).to_approximate(1e-5)
    assert poisson.epsilon < whole.epsilon
    exchange = claim(1.0, 10, sampling=0.1, delta=1e-5, neighbours="replace")
    assert isinstance(exchange, Approximate)
    # replacing is removing and adding: at most (2ε, (1 + e^ε)δ)
    group = 2.0 * poisson.epsilon
    loose = claim(1.0, 10, sampling=0.1, delta=1e-5 / (1 + math.exp(poisson.epsilon)))
    assert isinstance(loose, Approximate)
    assert poisson.epsilon < exchange.epsilon <= max(group, 2.0 * loose.epsilon)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((-1.0, 3), {}, "noise must be"),
        ((1.0, 0), {}, "steps must be"),
        ((1.0, 3), {"sampling": 0.0}, "sampling must lie"),
        ((1.0, 3), {"sampling": 0.5, "delta": 0.0}, "delta must be a finite"),
        ((1.0, 3), {"neighbours": "near"}, "neighbours must be 'add-or-remove' or 'replace'"),
    ],
)
def test_bad_claims_are_refused(
    arguments: tuple[object, ...], options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        claim(*arguments, **options)


def test_the_last_iterate_of_full_batches_is_gaussian() -> None:
    for noise, steps in ((2.0, 4), (1.0, 1), (8.0, 100)):
        exact = GaussianDP(math.sqrt(steps) / noise)
        assert last_iterate_epsilon(noise, steps, 1.0, 1e-5) == pytest.approx(
            exact.to_approximate(1e-5).epsilon, rel=1e-6
        )


def test_the_last_iterate_is_the_hockey_stick_of_its_densities() -> None:
    """Against numerical integration of (p - e^ε q)+, both ways."""
    noise, steps, q, epsilon = 1.0, 5, 0.3, 0.7
    x = np.linspace(-30.0, 40.0, 400_001)
    spread = noise * math.sqrt(steps)
    without = norm.pdf(x, 0.0, spread)
    weights = [math.comb(steps, k) * q**k * (1 - q) ** (steps - k) for k in range(steps + 1)]
    with_it = sum(w * norm.pdf(x, k, spread) for k, w in enumerate(weights))
    sticks = [
        np.trapezoid(np.maximum(a - math.exp(epsilon) * b, 0.0), x)
        for a, b in ((with_it, without), (without, with_it))
    ]
    assert last_iterate_delta(noise, steps, q, epsilon) == pytest.approx(max(sticks), rel=1e-6)
    # hiding steps is worth something: below the accountant's of the whole trace
    accountant = claim(noise, steps, sampling=q, delta=1e-5)
    assert isinstance(accountant, Approximate)
    assert last_iterate_epsilon(noise, steps, q, 1e-5) < accountant.epsilon


def test_the_most_power_of_a_full_batch_is_gaussian_and_never_too_small() -> None:
    for level in (0.01, 0.1, 0.5):
        exact = norm.cdf(norm.ppf(level) + 0.5)
        found = most_power(level, 4.0, 4, 1.0)
        assert exact <= found < exact + 0.01
