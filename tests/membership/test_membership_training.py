"""Audits of training functions: sound on mechanisms whose budget is known, sharp on broken ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import InvalidArgument
from discreet.privacy._curves import gaussian_epsilon

DELTA = 1e-5


def noisy_sum(sigma: float, size: int = 400) -> Any:
    """Add-or-remove one canary of length 1: exactly 1/σ-Gaussian DP."""

    def train(included: list[Any], seed: int) -> Any:
        rng = np.random.default_rng(seed)
        return np.sum([*included, np.zeros(size)], axis=0) + rng.normal(0.0, sigma, size)

    return train


@pytest.mark.parametrize("options", [{"runs": 1, "canaries": 400}, {"runs": 2000, "canaries": 1}])
def test_the_truth_is_not_exceeded_and_not_far_away(options: dict[str, int]) -> None:
    """At confidence 1 - 1e-7 a bound above the truth has a probability of 1e-7."""
    canaries = list(np.eye(400)[: options["canaries"]])
    found = discreet.audit_training(
        noisy_sum(0.5), canaries=canaries, score=np.dot, delta=DELTA, runs=options["runs"],
        confidence=1.0 - 1e-7, claimed=discreet.GaussianDP(2.0), seed=3,
    )  # fmt: skip
    assert not found.is_violation
    truth = gaussian_epsilon(2.0, DELTA)
    assert 0.5 < found.epsilon_lower < truth
    assert found.policy == "training"
    assert found.seed == 3


@pytest.mark.parametrize("options", [{"runs": 1, "canaries": 400}, {"runs": 400, "canaries": 1}])
def test_too_little_noise_is_found(options: dict[str, int]) -> None:
    canaries = list(np.eye(400)[: options["canaries"]])
    found = discreet.audit_training(
        noisy_sum(0.2), canaries=canaries, score=np.dot, runs=options["runs"],
        claimed=discreet.Approximate(1.0, DELTA), confidence=0.999,
    )  # fmt: skip
    assert found.is_violation
    assert found.delta == DELTA


def test_who_guesses_learns_nothing() -> None:
    def blind(model: Any, canary: Any) -> float:
        return float(canary[0])

    found = discreet.audit_training(
        noisy_sum(0.5, 40), canaries=list(np.eye(40)), score=blind, delta=DELTA,
        confidence=1.0 - 1e-7,
    )  # fmt: skip
    assert found.epsilon_lower == 0.0


def test_what_is_trained_on_what() -> None:
    """Every canary by a fair coin in one run; in every other run if there is one."""
    seen: list[tuple[list[str], int]] = []

    def train(included: list[str], seed: int) -> list[str]:
        seen.append((included, seed))
        return included

    def score(model: list[str], canary: str) -> float:
        return float(canary in model)

    names = [f"c{i}" for i in range(1000)]
    found = discreet.audit_training(train, canaries=names, score=score, seed=5)
    ((included, _),) = seen
    # 6 standard deviations of Bin(1000, 1/2): a probability below 1e-8
    assert abs(len(included) - 500) < 95
    assert found.epsilon_lower > 3.0  # nothing hides them
    seen.clear()
    discreet.audit_training(train, canaries=["c"], score=score, runs=10, seed=5)
    assert [included for included, _ in seen] == [[], ["c"]] * 5
    assert len({seed for _, seed in seen}) == 10


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"canaries": ["a"]}, "canaries"),
        ({"canaries": ["a", "b"], "runs": 20}, "canaries"),
        ({"canaries": ["a"], "runs": 5}, "runs"),
        ({"canaries": ["a", "b"], "guesses": 3}, "guesses"),
        ({"canaries": ["a", "b"], "confidence": 1.0}, "confidence"),
        ({"canaries": ["a", "b"], "score": lambda model, canary: math.nan}, "score"),
        ({"canaries": ["a", "b"], "score": lambda model, canary: "high"}, "score"),
    ],
)
def test_what_cannot_be_audited_is_refused(options: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        discreet.audit_training(
            lambda included, seed: None, **{"score": lambda model, canary: 0.0, **options}
        )
    assert caught.value.argument == argument


def test_training_in_jax() -> None:
    """Logistic regression by noisy gradient descent, written in JAX; the canaries are orthogonal,
    and the score is what their gradients leave in the parameters."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    size, steps, sigma = 64, 4, 4.0
    canaries = list(np.eye(size, dtype=np.float32))

    def loss(theta: Any, x: Any) -> Any:
        return jnp.log1p(jnp.exp(-x @ theta))

    each = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0)))

    def train(included: list[Any], seed: int) -> Any:
        key, theta = jax.random.PRNGKey(seed), jnp.zeros(size)
        batch = jnp.array([*included, np.zeros(size, np.float32)])
        for _ in range(steps):
            key, own = jax.random.split(key)
            gradients = each(theta, batch)  # of length 1/2 at most: no clipping needed at 1
            theta -= gradients.sum(axis=0) + sigma * jax.random.normal(own, (size,))
        return theta

    found = discreet.audit_training(
        train, canaries=canaries, score=lambda theta, x: float(theta @ x),
        claimed=discreet.GaussianDP(math.sqrt(steps) / sigma), delta=DELTA, confidence=1.0 - 1e-7,
    )  # fmt: skip
    assert not found.is_violation
