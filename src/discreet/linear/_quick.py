"""The algebra of `_algebra` in many dimensions, where it is interpreted on lists: by NumPy.

For live trials, and for what is public alone: estimates, widths, the choice of an arm, whether a
release is due. Sums of outcomes and their noise are whole numbers and never come here. Results
differ from those of plain loops by rounding.
"""

from __future__ import annotations

from typing import Any

from .._compiled import Function
from . import _algebra as plain

MANY = 16
"""In fewer dimensions plain loops are quicker than making arrays of lists."""


def square(values: Any, dimension: int) -> Any:
    """A matrix of its entries."""
    import numpy as np

    return np.array(values, float).reshape(dimension, dimension)


def squared_norm(x: Any, start: int, matrix: Any, dimension: int) -> float:
    """x' M x."""
    if dimension < MANY:
        return plain.squared_norm(x, start, matrix, dimension)
    import numpy as np

    own = np.array(x[start : start + dimension], float)
    return float(own @ square(matrix, dimension) @ own)


def multiply(matrix: Any, x: Any, start: int, out: Any, dimension: int) -> None:
    """out = M x."""
    if dimension < MANY:
        plain.multiply(matrix, x, start, out, dimension)
        return
    import numpy as np

    own = np.array(x[start : start + dimension], float)
    out[:dimension] = (square(matrix, dimension) @ own).tolist()


def grow(
    matrix: Any, inverse: Any, along: Any, x: Any, start: int, weight: float, dimension: int
) -> float:
    """V += w x x' and V^-1 with it; 1 + w x'V^-1 x."""
    if dimension < MANY:
        return plain.grow(matrix, inverse, along, x, start, weight, dimension)
    import numpy as np

    own, known = np.array(x[start : start + dimension], float), square(inverse, dimension)
    moved = known @ own
    grown = 1.0 + weight * float(own @ moved)
    matrix[:] = (square(matrix, dimension) + weight * np.outer(own, own)).ravel().tolist()
    inverse[:] = (known - (weight / grown) * np.outer(moved, moved)).ravel().tolist()
    along[:dimension] = moved.tolist()
    return grown


def least_eigenvalue(matrix: Any, inverse: Any, work: Any, dimension: int) -> float:
    """The smallest eigenvalue of a positive definite V whose inverse is known."""
    if dimension < MANY:
        return plain.least_eigenvalue(matrix, inverse, work, dimension)
    import numpy as np

    return float(1.0 / np.linalg.eigvalsh(square(inverse, dimension))[-1])


def cholesky(matrix: Any, factor: Any, dimension: int) -> bool:
    """Lower L with L L' = M; False unless M is positive definite."""
    if dimension < MANY:
        return plain.cholesky(matrix, factor, dimension)
    import numpy as np

    try:
        factor[:] = np.linalg.cholesky(square(matrix, dimension)).ravel().tolist()
    except np.linalg.LinAlgError:
        return False
    return True


def invert(factor: Any, lower: Any, inverse: Any, dimension: int) -> None:
    """lower = L^-1 and inverse = L^-T L^-1."""
    if dimension < MANY:
        plain.invert(factor, lower, inverse, dimension)
        return
    import numpy as np

    found = np.tril(np.linalg.inv(square(factor, dimension)))
    lower[:] = found.ravel().tolist()
    inverse[:] = (found.T @ found).ravel().tolist()


QUICK: dict[str, Function] = {
    each.__name__: each
    for each in (squared_norm, multiply, grow, least_eigenvalue, cholesky, invert)
}
"""What kernels of what is public are filled in with."""
