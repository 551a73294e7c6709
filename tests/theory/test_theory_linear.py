"""The convex program of linear bandits: closed forms, brute force, its own certificate."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from discreet.errors import InvalidArgument
from discreet.theory import lai_robbins, linear_private, linear_programme
from discreet.theory._linear_lower import CERTIFIED


def limits(actions: Any, theta: Any, epsilon: float) -> tuple[Any, Any]:
    """Δ_a and c_a, written from the definition."""
    values = [float(np.dot(a, theta)) for a in actions]
    top = int(np.argmax(values))
    gaps, caps = [], []
    for a, value in zip(actions, values, strict=True):
        away = np.subtract(a, actions[top])
        rho = sum(abs(np.dot(j, away)) / np.dot(j, j) for j in actions if np.dot(j, j) > 0)
        gap = values[top] - value
        gaps.append(gap)
        caps.append(min(gap**2 / 2, epsilon * rho * gap / 2) if gap else 0.0)
    return gaps, caps


def brute(actions: Any, theta: Any, epsilon: float, steps: int = 50) -> float:
    """Try every direction of the weights of the worse actions; the best one has a huge weight."""
    gaps, caps = limits(actions, theta, epsilon)
    worse = [a for a, gap in enumerate(gaps) if gap > 0.0]
    least = math.inf
    for counts in itertools.product(range(steps + 1), repeat=len(worse)):
        if sum(counts) != steps:
            continue
        design = 1e6 * np.outer(actions[np.argmin(gaps)], actions[np.argmin(gaps)])
        design = design + 1e-7 * np.eye(len(theta))
        for a, count in zip(worse, counts, strict=True):
            design = design + count / steps * np.outer(actions[a], actions[a])
        inverse = np.linalg.inv(design)
        scale = max(float(np.array(actions[a]) @ inverse @ actions[a]) / caps[a] for a in worse)
        cost = sum(c / steps * gaps[a] for a, c in zip(worse, counts, strict=True))
        least = min(least, scale * cost)
    return least


@pytest.mark.parametrize("epsilon", [0.01, 0.2, math.inf])
def test_orthogonal_actions_have_a_closed_form(epsilon: float) -> None:
    # ρ_a = 2: min(Δ²/2, εΔ), and every action needs 1/c_a pulls
    theta = [1.0, 0.7, 0.2, -0.5]
    gaps = [0.3, 0.8, 1.5]
    found = linear_programme(np.eye(4).tolist(), theta, epsilon)
    expected = sum(gap / min(gap**2 / 2, epsilon * gap) for gap in gaps)
    assert found.value == pytest.approx(expected, rel=2 * CERTIFIED)
    assert found.value <= expected * (1 + 1e-9)
    pulls = [1 / min(gap**2 / 2, epsilon * gap) for gap in gaps]
    assert found.pulls == pytest.approx([math.inf, *pulls], rel=1e-2)
    # without privacy this is the bound of Gaussian arms
    if math.isinf(epsilon):
        from discreet import Gaussian

        assert found.value == pytest.approx(lai_robbins(Gaussian(theta)), rel=2 * CERTIFIED)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, math.inf])
@pytest.mark.parametrize("seed", [1, 2])
def test_brute_force(epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(4, 3)).round(2).tolist()
    theta = rng.normal(size=3).round(2).tolist()
    expected = brute(actions, theta, epsilon)
    found = linear_private(actions, theta, epsilon)
    assert found == pytest.approx(expected, rel=0.03)
    assert found <= expected * (1 + 1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_many_actions_are_certified_and_privacy_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(12, 4))
    actions = (actions / np.linalg.norm(actions, axis=1)[:, None]).tolist()
    theta = rng.normal(size=4).tolist()
    values = [linear_programme(actions, theta, e) for e in (math.inf, 1.0, 0.1, 0.01)]
    assert all(0.0 <= found.gap <= CERTIFIED for found in values)
    assert sorted(found.value for found in values) == pytest.approx([f.value for f in values])
    assert values[3].value / values[2].value == pytest.approx(10.0, rel=0.05)


def test_parallel_actions_are_free() -> None:
    found = linear_programme([[1.0, 0.0], [0.5, 0.0], [0.0, 1.0]], [1.0, 0.0], math.inf)
    assert found.pulls[1] == 0.0
    assert found.value == pytest.approx(2.0, rel=2 * CERTIFIED)


@pytest.mark.parametrize(
    ("actions", "theta", "argument"),
    [
        ([[1.0, 0.0]], [1.0, 0.0], "actions"),
        ([[1.0, 0.0], [2.0, 0.0]], [1.0, 0.0], "actions"),
        ([[1.0, 0.0], [0.0]], [1.0, 0.0], "actions"),
        ([[1.0, math.nan], [0.0, 1.0]], [1.0, 0.0], "actions"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0], "theta"),
        ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], "theta"),
    ],
)
def test_input(actions: Any, theta: Any, argument: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        linear_private(actions, theta, 1.0)
    assert error.value.argument == argument
