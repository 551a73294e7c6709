"""The small dense algebra against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.linear import algebra


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_against_numpy(d: int) -> None:
    rng = np.random.default_rng(d)
    half = rng.standard_normal((d, d + 2))
    matrix = half @ half.T
    flat = matrix.ravel().tolist()
    factor, lower, inverse, work = ([0.0] * (d * d) for _ in range(4))
    assert algebra.cholesky(flat, factor, d)
    np.testing.assert_allclose(np.reshape(factor, (d, d)), np.linalg.cholesky(matrix), rtol=1e-9)
    assert algebra.log_determinant(factor, d) == pytest.approx(np.linalg.slogdet(matrix)[1])
    algebra.invert(factor, lower, inverse, d)
    np.testing.assert_allclose(np.reshape(inverse, (d, d)), np.linalg.inv(matrix), rtol=1e-6)
    np.testing.assert_allclose(
        np.reshape(lower, (d, d)), np.linalg.inv(np.linalg.cholesky(matrix)), atol=1e-9
    )
    least = algebra.smallest_eigenvalue(flat, work, d)
    assert least == pytest.approx(np.linalg.eigvalsh(matrix)[0], rel=1e-6)
    x = rng.standard_normal(3 * d).tolist()
    part = np.array(x[d : 2 * d])
    assert algebra.squared_norm(x, d, flat, d) == pytest.approx(part @ matrix @ part)
    out = [0.0] * d
    algebra.multiply(flat, x, d, out, d)
    np.testing.assert_allclose(out, matrix @ part)
    for weight in (1.0, 2.5e6):
        before = np.reshape(flat, (d, d)).copy()
        grown = algebra.grow(flat, inverse, [0.0] * d, x, d, weight, d)
        after = before + weight * np.outer(part, part)
        np.testing.assert_allclose(np.reshape(flat, (d, d)), after)
        np.testing.assert_allclose(np.reshape(inverse, (d, d)) @ after, np.eye(d), atol=1e-5)
        assert math.log(grown) == pytest.approx(
            np.linalg.slogdet(after)[1] - np.linalg.slogdet(before)[1], rel=1e-6
        )


@pytest.mark.parametrize("matrix", [[1.0, 2.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0], [-1.0, 0, 0, 1.0]])
def test_cholesky_refuses_what_is_not_definite(matrix: list[float]) -> None:
    assert not algebra.cholesky(matrix, [0.0] * 4, 2)


def test_cholesky_refuses_nan() -> None:
    assert not algebra.cholesky([float("nan"), 0.0, 0.0, 1.0], [0.0] * 4, 2)


def test_eigenvalue_of_a_diagonal_and_of_an_indefinite_matrix() -> None:
    assert algebra.smallest_eigenvalue([3.0, 0.0, 0.0, 2.0], [0.0] * 4, 2) == 2.0
    assert algebra.smallest_eigenvalue([0.0, 1.0, 1.0, 0.0], [0.0] * 4, 2) == pytest.approx(-1.0)
