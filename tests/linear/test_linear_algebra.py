"""The small dense algebra against NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.linear import _algebra as algebra
from discreet.linear import _quick as quick


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


def design(kind: str, d: int, rng: np.random.Generator) -> Any:
    """V as runs make it: early, late, along axes, along few directions, badly conditioned."""
    if kind == "axes":
        return np.diag(0.1 + rng.integers(0, 4, d).astype(float))
    if kind == "graded":
        basis = np.linalg.qr(rng.standard_normal((d, d)))[0]
        return (basis * np.geomspace(0.1, 1e6, d)) @ basis.T
    rounds = {"first": 1, "early": d // 2, "square": d, "late": 100 * d, "few": 3}[kind]
    played = rng.standard_normal((rounds, d)) / math.sqrt(d) + 1.0 / math.sqrt(d)
    times = 1000.0 if kind == "few" else 1.0
    return 0.1 * np.eye(d) + times * played.T @ played


@pytest.mark.parametrize("d", [algebra.FEW, algebra.FEW + 1, 30])
@pytest.mark.parametrize("kind", ["first", "early", "square", "late", "few", "axes", "graded"])
def test_least_eigenvalue_in_many_dimensions(kind: str, d: int) -> None:
    """Up to FEW dimensions the same number as Jacobi's method; above, to one part in 1e9."""
    matrix = design(kind, d, np.random.default_rng(d))
    flat, inverse = matrix.ravel().tolist(), np.linalg.inv(matrix).ravel().tolist()
    found = algebra.least_eigenvalue(flat, inverse, [0.0] * (d * d), d)
    if d <= algebra.FEW:
        assert found == algebra.smallest_eigenvalue(flat, [0.0] * (d * d), d)
    assert found == pytest.approx(np.linalg.eigvalsh(matrix)[0], rel=1e-9)


def test_least_eigenvalue_without_convergence_is_jacobis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Lanczos' method does not end, the answer is that of the method that always does."""
    monkeypatch.setattr(algebra, "largest_root", lambda work, a, b, size, low: 2.0 * low + 1.0)
    d = algebra.FEW + 1
    matrix = design("late", d, np.random.default_rng(1))
    flat, inverse = matrix.ravel().tolist(), np.linalg.inv(matrix).ravel().tolist()
    found = algebra.least_eigenvalue(flat, inverse, [0.0] * (d * d), d)
    assert found == algebra.smallest_eigenvalue(flat, [0.0] * (d * d), d)


@pytest.mark.parametrize("copies", [1, 2, 7])
def test_largest_root_of_a_tridiagonal_matrix(copies: int) -> None:
    """Single or several times over, which is where Laguerre's method is slow."""
    rng = np.random.default_rng(copies)
    diagonal, beside = rng.uniform(1.0, 2.0, 6), rng.uniform(0.1, 1.0, 6)
    beside[-1] = 1e-13
    work = [*np.tile(diagonal, copies).tolist(), *np.tile(beside, copies).tolist()]
    found = algebra.largest_root(work, 0, 6 * copies, 6 * copies, 0.0)
    block = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    assert found == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-12)


@pytest.mark.parametrize("d", [3, 16, 24])
def test_by_numpy_on_lists_as_by_plain_loops(d: int) -> None:
    """In few dimensions the loops themselves; in many the same but for rounding."""
    rng = np.random.default_rng(d)
    root = rng.standard_normal((d, d + 3))
    matrix = (root @ root.T + np.eye(d)).ravel().tolist()
    inverse = np.linalg.inv(np.array(matrix).reshape(d, d)).ravel().tolist()
    x = [9.0, *rng.standard_normal(d).tolist(), 9.0]

    def both(call: Callable[[Any], tuple[object, ...]]) -> None:
        for ours, loops in zip(call(quick), call(algebra), strict=True):
            np.testing.assert_allclose(np.array(ours, float), np.array(loops, float), rtol=1e-8)

    def grown(by: Any) -> tuple[object, ...]:
        v, known, along = matrix.copy(), inverse.copy(), [0.0] * d
        return by.grow(v, known, along, x, 1, 0.7, d), v, known, along

    def factored(by: Any) -> tuple[object, ...]:
        factor, lower, found = ([0.0] * (d * d) for _ in range(3))
        whole = by.cholesky(matrix, factor, d)
        by.invert(factor, lower, found, d)
        return whole, np.tril(np.reshape(factor, (d, d))), np.array(lower) + 1.0, found

    def product(by: Any) -> tuple[object, ...]:
        out = [0.0] * d
        by.multiply(inverse, x, 1, out, d)
        return out, by.squared_norm(x, 1, matrix, d)

    both(grown)
    both(factored)
    both(product)
    both(lambda by: (by.least_eigenvalue(matrix, inverse, [0.0] * (20 * d * d), d),))
    assert not quick.cholesky([-entry for entry in matrix], [0.0] * (d * d), d)


def test_sums_and_noise_of_live_trials_stay_whole() -> None:
    """NumPy's algebra is for what is public: the ledger of 20 features holds whole numbers."""
    row: Any = discreet.policy("adac-oful", rho=0.5)
    trial = discreet.Trial(row, 2, 30, features=discreet.Features(20))
    rng = np.random.default_rng(1)
    for unit in range(12):
        trial.assign(unit, rng.uniform(-0.2, 0.2, (2, 20)).tolist())
        trial.record(unit, 0.5)
    run: Any = trial._run
    assert run.releases[0] > 3
    held = [entry for part in run.ledger.to_dict().values() for entry in part]
    assert held
    assert all(type(entry) is int for entry in held)
