"""Small dense algebra on flat sequences, for kernels: row-major, entry (i, j) at [i * d + j].

For the dimensions of bandits (d up to some tens) plain loops beat calls into a linear algebra
library, need no temporary arrays, and run interpreted on lists as well as compiled on arrays.
"""

from __future__ import annotations

import math

from .._compiled import Floats

SWEEPS = 30
"""Jacobi sweeps at most; the method converges quadratically, in about six."""
LAGUERRE = 8
"""Steps of Laguerre's method; a single eigenvalue takes about five."""
FEW = 12
"""Up to so many dimensions Jacobi's method is as quick as any."""
UNROLLED = 10
"""Dimensions up to this are made known to the compiler."""


def of_known_length(values: Floats) -> Floats | tuple[float, ...]:
    """A short vector as a tuple: its length is part of its type, so that a compiled loop knows the
    dimension and unrolls what runs over it. A long one as it is."""
    return tuple(map(float, values)) if len(values) <= UNROLLED else values


def dot(x: Floats, start: int, y: Floats | tuple[float, ...], dimension: int) -> float:
    """<x[start : start + d], y>."""
    total = 0.0
    for i in range(dimension):
        total += x[start + i] * y[i]
    return total


def squared_norm(x: Floats, start: int, matrix: Floats, dimension: int) -> float:
    """x' M x for a symmetric M and x = x[start : start + d]; half of the entries are read."""
    total = 0.0
    for i in range(dimension):
        row = 0.0
        for j in range(i):
            row += matrix[i * dimension + j] * x[start + j]
        xi = x[start + i]
        total += xi * (2.0 * row + matrix[i * dimension + i] * xi)
    return total


def multiply(matrix: Floats, x: Floats, start: int, out: Floats, dimension: int) -> None:
    """out = M x."""
    for i in range(dimension):
        total = 0.0
        for j in range(dimension):
            total += matrix[i * dimension + j] * x[start + j]
        out[i] = total


def grow(
    matrix: Floats, inverse: Floats, along: Floats, x: Floats, start: int, weight: float,
    dimension: int,
) -> float:  # fmt: skip
    """V += w x x' and V^-1 with it (Sherman & Morrison); det V grows by the factor returned.

    `along` is scratch. The factor is 1 + w x'V^-1 x.
    """
    grown = 1.0
    for i in range(dimension):
        total = 0.0
        for j in range(dimension):
            total += inverse[i * dimension + j] * x[start + j]
        along[i] = total
        grown += weight * x[start + i] * total
    for i in range(dimension):
        xi, yi = weight * x[start + i], weight * along[i] / grown
        for j in range(dimension):
            matrix[i * dimension + j] += xi * x[start + j]
            inverse[i * dimension + j] -= yi * along[j]
    return grown


def cholesky(matrix: Floats, factor: Floats, dimension: int) -> bool:
    """Lower L with L L' = M; False, and L is of no use, unless M is positive definite."""
    for i in range(dimension):
        for j in range(i + 1):
            total = matrix[i * dimension + j]
            for k in range(j):
                total -= factor[i * dimension + k] * factor[j * dimension + k]
            if i == j:
                if not total > 0.0:
                    return False
                factor[i * dimension + i] = math.sqrt(total)
            else:
                factor[i * dimension + j] = total / factor[j * dimension + j]
        for j in range(i + 1, dimension):
            factor[i * dimension + j] = 0.0
    return True


def log_determinant(factor: Floats, dimension: int) -> float:
    """log det (L L')."""
    total = 0.0
    for i in range(dimension):
        total += math.log(factor[i * dimension + i])
    return 2.0 * total


def invert(factor: Floats, lower: Floats, inverse: Floats, dimension: int) -> None:
    """lower = L^-1 and inverse = (L L')^-1 = L^-T L^-1."""
    for j in range(dimension):
        for i in range(dimension):
            lower[i * dimension + j] = 0.0
        lower[j * dimension + j] = 1.0 / factor[j * dimension + j]
        for i in range(j + 1, dimension):
            total = 0.0
            for k in range(j, i):
                total -= factor[i * dimension + k] * lower[k * dimension + j]
            lower[i * dimension + j] = total / factor[i * dimension + i]
    for i in range(dimension):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, dimension):
                total += lower[k * dimension + i] * lower[k * dimension + j]
            inverse[i * dimension + j] = total
            inverse[j * dimension + i] = total


def smallest_eigenvalue(matrix: Floats, work: Floats, dimension: int) -> float:
    """Of a symmetric matrix, by cyclic Jacobi rotations on a copy in `work`."""
    for i in range(dimension * dimension):
        work[i] = matrix[i]
    for _ in range(SWEEPS):
        if is_diagonal(work, dimension):
            break
        for p in range(dimension):
            for q in range(p + 1, dimension):
                rotate(work, p, q, dimension)
    least: float = work[0]
    for i in range(1, dimension):
        least = min(least, work[i * dimension + i])
    return least


def least_eigenvalue(matrix: Floats, inverse: Floats, work: Floats, dimension: int) -> float:
    """The smallest eigenvalue of a positive definite V whose inverse is known.

    In few dimensions by Jacobi's method. In many that costs O(d³) for each of some d log T
    releases; there it is 1 over the largest eigenvalue of V^-1, by Lanczos' method, a product of
    V^-1 and a vector a step: T_m, tridiagonal, of the numbers α and β of m steps has a largest
    eigenvalue that rises towards that of V^-1 with m, in rounded arithmetic too (Paige 1971: what
    is lost without orthogonalisation are single copies, not ends of the spectrum). It ends when
    four more steps raise it by less than one part in 10¹², or when a step leads nowhere: every
    eigenvalue of T_m is then one of V^-1 up to β. Where none of 4d steps ends it, Jacobi's method
    does after all.
    """
    if dimension <= FEW:
        return smallest_eigenvalue(matrix, work, dimension)
    d, most = dimension, 4 * dimension
    old, now, new, alpha, beta = 0, d, 2 * d, 3 * d, 3 * d + most  # places in `work`
    size = 0.0
    for i in range(d):
        # no direction that a problem is likely to prefer; no entry is small, none of two alike
        entry = 0.5 + (0.618033988749895 * (i + 1)) % 1.0
        if (0.7548776662466927 * i * i) % 1.0 < 0.5:
            entry = -entry
        work[now + i] = entry
        work[old + i] = 0.0
        size += entry * entry
    for i in range(d):
        work[now + i] /= math.sqrt(size)
    length, before, scale = 0.0, 0.0, 0.0
    for step in range(most):
        for i in range(d):
            work[new + i] = -length * work[old + i]
        for j in range(d):  # column by column, which the compiler can take several entries of
            factor = work[now + j]
            for i in range(d):
                work[new + i] += inverse[j * d + i] * factor
        along, square = 0.0, 0.0
        for i in range(d):
            along += work[new + i] * work[now + i]
        for i in range(d):
            work[new + i] -= along * work[now + i]
            square += work[new + i] * work[new + i]
        length = math.sqrt(square)
        work[alpha + step], work[beta + step] = along, length
        scale = max(scale, along)
        ended = length <= 1e-11 * scale
        if ended or (step >= 7 and step % 4 == 3):
            largest = largest_root(work, alpha, beta, step + 1, before)
            if ended or largest - before <= 1e-12 * largest:
                return 1.0 / largest
            before = largest
        for i in range(d):
            work[old + i] = work[now + i]
            work[now + i] = work[new + i] / length
    return smallest_eigenvalue(matrix, work, dimension)


def largest_root(work: Floats, alpha: int, beta: int, size: int, low: float) -> float:
    """The largest eigenvalue of a symmetric tridiagonal matrix, which is not below `low`.

    The matrix has work[alpha + j] on its diagonal and work[beta + j] beside it. With x above all
    eigenvalues the pivots of x - T are positive. Laguerre's method, from Gershgorin's bound, then
    falls towards the largest eigenvalue, third order, and stays above it. If that is there several
    times over, it falls slowly; the interval that is left is halved instead.
    """
    x = low
    for j in range(size):
        reach = work[beta + j] if j < size - 1 else 0.0
        if j > 0:
            reach += work[beta + j - 1]
        x = max(x, work[alpha + j] + reach)
        low = max(low, work[alpha + j])
    for _ in range(LAGUERRE):
        pivot, slope, bend = x - work[alpha], 1.0, 0.0
        first, second = 0.0, 0.0
        for j in range(1, size + 1):
            if pivot <= 0.0:  # no farther above than rounding
                return x
            ratio = slope / pivot
            first += ratio
            second += ratio * ratio - bend / pivot
            if j < size:
                square = work[beta + j - 1] * work[beta + j - 1] / pivot
                bend = square * (bend - 2.0 * slope * ratio) / pivot
                slope = 1.0 + square * ratio
                pivot = x - work[alpha + j] - square
        inside = (size - 1.0) * (size * second - first * first)
        step = size / (first + math.sqrt(max(inside, 0.0)))
        x -= step
        if step <= 1e-15 * abs(x):
            return x
    while x - low > 1e-15 * abs(x):
        middle = 0.5 * (low + x)
        if middle <= low or middle >= x:
            break
        if is_above(work, alpha, beta, size, middle):
            x = middle
        else:
            low = middle
    return x


def is_above(work: Floats, alpha: int, beta: int, size: int, x: float) -> bool:
    """Whether x is above all eigenvalues of such a matrix: all pivots of x - T are positive."""
    pivot = x - work[alpha]
    for j in range(1, size):
        if pivot <= 0.0:
            return False
        pivot = x - work[alpha + j] - work[beta + j - 1] * work[beta + j - 1] / pivot
    return pivot > 0.0


def eigen(work: Floats, vectors: Floats, dimension: int) -> None:
    """A symmetric matrix in `work` becomes diagonal: M = U diag(work) U', U in `vectors`."""
    for i in range(dimension):
        for j in range(dimension):
            vectors[i * dimension + j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        if is_diagonal(work, dimension):
            break
        for p in range(dimension):
            for q in range(p + 1, dimension):
                cosine, sine = rotate(work, p, q, dimension)
                turn_columns(vectors, p, q, cosine, sine, dimension)


def is_diagonal(work: Floats, dimension: int) -> bool:
    """Whether nothing but rounding is left beside the diagonal."""
    off, trace = 0.0, 0.0
    for i in range(dimension):
        trace += abs(work[i * dimension + i])
        for j in range(i):
            off += abs(work[i * dimension + j])
    return off <= 1e-15 * trace


def rotate(work: Floats, p: int, q: int, dimension: int) -> tuple[float, float]:
    """One Jacobi rotation: make entry (p, q) zero. The cosine and sine of its angle."""
    apq = work[p * dimension + q]
    if apq == 0.0:
        return 1.0, 0.0
    ratio = (work[q * dimension + q] - work[p * dimension + p]) / (2.0 * apq)
    sign = 1.0 if ratio >= 0.0 else -1.0
    tangent = sign / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine = tangent * cosine
    turn_columns(work, p, q, cosine, sine, dimension)
    for k in range(dimension):
        pk, qk = work[p * dimension + k], work[q * dimension + k]
        work[p * dimension + k] = cosine * pk - sine * qk
        work[q * dimension + k] = sine * pk + cosine * qk
    return cosine, sine


def turn_columns(
    matrix: Floats, p: int, q: int, cosine: float, sine: float, dimension: int
) -> None:
    """Columns p and q turned by an angle."""
    for k in range(dimension):
        kp, kq = matrix[k * dimension + p], matrix[k * dimension + q]
        matrix[k * dimension + p] = cosine * kp - sine * kq
        matrix[k * dimension + q] = sine * kp + cosine * kq
