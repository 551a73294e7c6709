"""Optimal designs: known optima, the certificate, lost rank, thin support."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidArgument
from discreet.linear import NoDesign, optimal_design
from discreet.linear import _design as module


def second_moment(points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray((points * weights[:, None]).T @ points)


def certified(points: np.ndarray, tolerance: float) -> module.Design:
    """A design, its certificate recomputed from the definition."""
    design = optimal_design(points, tolerance)
    assert design.weights.min() >= 0.0
    assert design.weights.sum() == pytest.approx(1.0)
    rank = np.linalg.matrix_rank(points, tol=1e-9 * np.linalg.norm(points, 2))
    assert design.rank == rank
    np.testing.assert_allclose(design.basis.T @ design.basis, np.eye(rank), atol=1e-9)
    inverse = np.linalg.pinv(second_moment(points, design.weights), rcond=1e-12)
    largest = max(a @ inverse @ a for a in points)
    assert largest == pytest.approx(design.leverage, rel=1e-5)
    assert design.leverage <= rank * (1.0 + tolerance)
    assert len(design.support) <= rank * (rank + 1) // 2
    return design


@pytest.mark.parametrize("d", [1, 2, 4])
def test_orthonormal_actions_share_equally(d: int) -> None:
    design = certified(np.eye(d), 1e-9)
    np.testing.assert_allclose(design.weights, np.full(d, 1.0 / d), atol=1e-8)
    assert design.gap == pytest.approx(0.0, abs=1e-8)


def test_regression_line() -> None:
    """A line on [-1, 1]: half of the weight at each end, whatever lies between."""
    x = np.linspace(-1.0, 1.0, 11)
    design = certified(np.column_stack([np.ones(11), x]), 1e-8)
    np.testing.assert_allclose(design.weights[[0, -1]], 0.5, atol=1e-6)


def test_quadratic_regression() -> None:
    """A parabola on [-1, 1]: a third at -1, 0 and 1 (Kiefer & Wolfowitz)."""
    x = np.linspace(-1.0, 1.0, 21)
    design = certified(np.column_stack([np.ones(21), x, x * x]), 1e-8)
    np.testing.assert_allclose(design.weights[[0, 10, 20]], 1 / 3, atol=1e-5)


def test_gap_bounds_the_distance_to_the_best() -> None:
    """log det of a nearly exact design is within the gap that a rough one states."""
    points = np.random.default_rng(1).standard_normal((60, 5))
    best = certified(points, 1e-9)
    for tolerance in (0.5, 0.05, 0.005):
        rough = certified(points, tolerance)
        logs = [np.linalg.slogdet(second_moment(points, w.weights))[1] for w in (best, rough)]
        assert -1e-7 <= logs[0] - logs[1] <= rough.gap


@settings(max_examples=30)
@given(
    st.integers(2, 30), st.integers(1, 6), st.integers(1, 6), st.integers(0, 10_000),
    st.sampled_from([1e-2, 1e-5]),
)  # fmt: skip
def test_any_actions(count: int, dimension: int, rank: int, seed: int, tolerance: float) -> None:
    """Low rank, badly scaled, repeated: the certificate holds."""
    rng = np.random.default_rng(seed)
    rank = min(rank, dimension)
    points = rng.standard_normal((count, rank)) @ rng.standard_normal((rank, dimension))
    points *= 10.0 ** rng.uniform(-2, 2)
    points[count // 2 :] = points[: count - count // 2]
    certified(points, tolerance)


def test_lost_rank_is_the_design_of_the_span() -> None:
    points = np.random.default_rng(3).standard_normal((20, 2))
    turn = np.linalg.qr(np.random.default_rng(4).standard_normal((5, 5)))[0][:, :2]
    flat, lifted = certified(points, 1e-7), certified(points @ turn.T, 1e-7)
    np.testing.assert_allclose(flat.weights, lifted.weights, atol=1e-4)


def test_scale_does_not_matter() -> None:
    points = np.random.default_rng(5).standard_normal((20, 3))
    crooked = points @ np.diag([1e-4, 1.0, 1e4])
    np.testing.assert_allclose(
        optimal_design(points, 1e-6).weights, optimal_design(crooked, 1e-6).weights, atol=1e-3
    )


def test_zero_actions() -> None:
    design = optimal_design(np.zeros((3, 2)))
    assert design.rank == 0
    assert design.weights.sum() == 1.0
    assert design.gap == 0.0


def test_thinning_keeps_the_second_moment() -> None:
    points = np.random.default_rng(6).standard_normal((40, 3))
    even = np.full(40, 1 / 40)
    thin = module._thinned(points, even)
    assert (thin > 0).sum() <= 6
    before, after = second_moment(points, even), second_moment(points, thin)
    np.testing.assert_allclose(after / np.trace(after), before / np.trace(before), atol=1e-9)


LARGE = """
import time, numpy as np
from discreet.linear._design import optimal_design
points = np.random.default_rng(7).standard_normal((1000, 20))
points /= np.linalg.norm(points, axis=1, keepdims=True)
started = time.process_time()
design = optimal_design(points)
print(time.process_time() - started, design.gap)
"""


def test_large_problems_take_less_than_a_second() -> None:
    """One thread: on a busy machine the others of a linear algebra library only wait and count."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE], env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    seconds, gap = map(float, done.stdout.split())
    assert seconds < 1.0
    assert gap < 20 * 1e-3


def test_unreachable_tolerance_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STEPS", 3)
    with pytest.raises(NoDesign, match="larger tolerance"):
        optimal_design(np.random.default_rng(8).standard_normal((50, 4)), 1e-6)


@pytest.mark.parametrize(
    ("actions", "tolerance"),
    [([[1.0, np.nan]], 1e-3), ([1.0, 2.0], 1e-3), ([], 1e-3), ("abc", 1e-3), ([[1.0]], 0.0),
     ([[1.0]], "much")],
)  # fmt: skip
def test_bad_input(actions: object, tolerance: object) -> None:
    with pytest.raises(InvalidArgument):
        optimal_design(actions, tolerance)  # type: ignore[arg-type]
