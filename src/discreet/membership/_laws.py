"""Distributions of data: what one record of a data set is drawn from.

A distribution knows its mean μ and its covariance C, draws rows, and draws sums of n rows in one
go where it can: the column sums of Bernoulli data are binomial, so a data set of n records costs d
draws and not n·d. Columns are independent, or Gaussian with any covariance; `rotated` gives
coordinates in which they are uncorrelated, with variances `spectrum`.

>>> columns = Bernoulli([0.1, 0.5, 0.9] * 100)
>>> columns.easiest()[:3], columns.hardest()[:3]
(array([1., 1., 0.]), array([0., 0., 1.]))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InvalidArgument
from ._sums import BinomialSums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    Matrix = NDArray[float64]

CELLS = 1 << 22
"""Numbers of raw data that are held at once where sums have no distribution of their own."""


class Coordinates:
    """A mean, and coordinates in which columns are uncorrelated."""

    mean: Matrix
    spectrum: Matrix
    """variances of the rotated columns"""
    rotation: Matrix | None = None
    """orthogonal; None if columns are independent as they are"""

    def rotated(self, rows: Matrix) -> Matrix:
        """Rows in coordinates without correlation."""
        return rows if self.rotation is None else np.asarray(rows @ self.rotation)


class Law(Coordinates, ABC):
    """A distribution of records with `columns` entries, mean μ and covariance C.

    Derive from it for other data than `Bernoulli`, `Gaussian` and `Independent` columns have.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.1, 0.5, 0.9])
        >>> isinstance(columns, membership.Law), columns.hardest()
        (True, array([0., 0., 1.]))
    """

    name: str

    @property
    def columns(self) -> int:
        """The dimension d."""
        return len(self.mean)

    @abstractmethod
    def draw(self, rng: Generator, rows: int | None = None) -> Matrix:
        """One row, or an array of rows."""

    def sums(self, rng: Generator, n: int, rounds: int) -> Matrix:
        """Sums of n rows, `rounds` times: an array (rounds, columns)."""
        total = np.zeros((rounds, self.columns))
        most = max(1, CELLS // (rounds * self.columns))
        for start in range(0, n, most):
            rows = min(most, n - start)
            drawn = self.draw(rng, rows * rounds)
            total += drawn.reshape(rounds, rows, self.columns).sum(axis=1)
        return total

    def easiest(self) -> Matrix:
        """The target that is easiest to find: largest ‖z - μ‖ in the metric C⁻¹."""
        raise self._unbounded("easiest")

    def hardest(self) -> Matrix:
        """The target that is hardest to find."""
        return self.mean.copy()

    def back(self, rows: Matrix) -> Matrix:
        """The inverse of `rotated`."""
        return rows if self.rotation is None else np.asarray(rows @ self.rotation.T)

    def check_targets(self, targets: ArrayLike, argument: str = "target") -> Matrix:
        """Targets as an array, one line per target, if they can be drawn from this distribution."""
        try:
            rows = np.asarray(targets, float)
        except (TypeError, ValueError):
            raise InvalidArgument(
                argument, "be numbers, one per column", type(targets).__name__,
                "use law.easiest(), law.hardest() or law.draw(rng)",
            ) from None  # fmt: skip
        if rows.ndim not in (1, 2) or rows.shape[-1] != self.columns or not rows.size:
            raise InvalidArgument(
                argument, f"have one entry for each of {self.columns} columns",
                f"shape {rows.shape}", "use law.easiest(), law.hardest() or law.draw(rng)",
            )  # fmt: skip
        if not np.isfinite(rows).all():
            raise InvalidArgument(
                argument, "be finite", "NaN or infinity", "drop or impute missing entries"
            )
        outside = self._outside(rows)
        if outside.any():
            raise InvalidArgument(
                argument,
                self.support_rule,
                float(rows[outside][0]),
                "use a record of the data itself",
            )
        return rows

    support_rule = "lie in the support"

    def _outside(self, rows: Matrix) -> NDArray[np.bool_]:
        """Which entries the distribution never draws."""
        return np.zeros(rows.shape, bool)

    def _unbounded(self, which: str) -> InvalidArgument:
        return InvalidArgument(
            "target", f"be given: {self.name} columns have no {which} target", which,
            "give a vector, or columns with a support",
        )  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """JSON-ready."""
        return {"law": self.name, "columns": self.columns}


class Bernoulli(Law):
    """Independent columns, 1 with probability p and else 0.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Bernoulli([0.1, 0.5, 0.9])
        >>> columns.columns, columns.easiest()
        (3, array([1., 1., 0.]))
    """

    name = "bernoulli"

    def __init__(self, p: ArrayLike) -> None:
        self.mean = _vector("p", p)
        if not ((self.mean > 0.0) & (self.mean < 1.0)).all():
            worst = self.mean[~((self.mean > 0.0) & (self.mean < 1.0))][0]
            raise InvalidArgument(
                "p", "lie strictly between 0 and 1", float(worst),
                "drop columns that never vary: they tell nothing",
            )  # fmt: skip
        self.spectrum = self.mean * (1.0 - self.mean)
        self._sums = BinomialSums(self.mean)

    def draw(self, rng: Generator, rows: int | None = None) -> Matrix:
        shape = (self.columns,) if rows is None else (rows, self.columns)
        return (rng.random(shape) < self.mean).astype(float)

    def sums(self, rng: Generator, n: int, rounds: int) -> Matrix:
        return self._sums.draw(rng, n, rounds)

    def easiest(self) -> Matrix:
        return (self.mean <= 0.5).astype(float)

    def hardest(self) -> Matrix:
        return (self.mean > 0.5).astype(float)

    support_rule = "hold nothing but 0 and 1"

    def _outside(self, rows: Matrix) -> NDArray[np.bool_]:
        return np.asarray((rows != 0.0) & (rows != 1.0))


class Gaussian(Law):
    """Normal columns, independent with standard deviations `sd`, or with any covariance.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Gaussian([0.0, 1.0], sd=[1.0, 2.0])
        >>> round(membership.leakage(columns, n=10, target=[1.0, 1.0]).score, 3)
        0.1
    """

    name = "gaussian"

    def __init__(
        self, mean: ArrayLike, sd: ArrayLike = 1.0, *, covariance: ArrayLike | None = None
    ) -> None:
        self.mean = _vector("mean", mean)
        if covariance is None:
            deviations = np.broadcast_to(np.asarray(sd, float), self.mean.shape)
            if not (np.isfinite(deviations) & (deviations > 0.0)).all():
                raise InvalidArgument("sd", "be above 0", sd, "drop columns that never vary")
            self.spectrum = deviations**2
            return
        self.spectrum, self.rotation = eigen("covariance", covariance, self.columns)

    def draw(self, rng: Generator, rows: int | None = None) -> Matrix:
        shape = (self.columns,) if rows is None else (rows, self.columns)
        normal = rng.standard_normal(shape) * np.sqrt(self.spectrum)
        return self.mean + self.back(normal)

    def sums(self, rng: Generator, n: int, rounds: int) -> Matrix:
        normal = rng.standard_normal((rounds, self.columns)) * np.sqrt(n * self.spectrum)
        return n * self.mean + self.back(normal)


class Independent(Law):
    """Any independent columns: `function(rng, rows)` draws an array (rows, columns).

    `support` is (low, high), numbers or one per column: targets outside it are refused.

    Example:
        >>> from discreet import membership
        >>> columns = membership.Independent(
        ...     lambda rng, rows: rng.random((rows, 2)), mean=[0.5, 0.5], variance=1 / 12,
        ...     support=(0.0, 1.0),
        ... )
        >>> columns.easiest()
        array([0., 0.])
    """

    name = "independent"

    def __init__(
        self,
        function: Callable[[Generator, int], ArrayLike],
        mean: ArrayLike,
        variance: ArrayLike,
        support: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        self.function = function
        self.mean = _vector("mean", mean)
        self.spectrum = _vector("variance", np.broadcast_to(variance, self.mean.shape))
        if not (self.spectrum > 0.0).all():
            raise InvalidArgument(
                "variance", "be above 0", float(self.spectrum.min()), "drop columns that never vary"
            )
        self.support = None
        if support is not None:
            low, high = (
                np.broadcast_to(np.asarray(end, float), self.mean.shape) for end in support
            )
            if not ((low <= self.mean) & (self.mean <= high)).all():
                raise InvalidArgument(
                    "support", "contain the mean", "a mean outside", "give (low, high)"
                )
            self.support = low, high

    def draw(self, rng: Generator, rows: int | None = None) -> Matrix:
        drawn = np.asarray(self.function(rng, 1 if rows is None else rows), float)
        if drawn.shape != (1 if rows is None else rows, self.columns):
            raise InvalidArgument(
                "function", f"return an array (rows, {self.columns})", f"shape {drawn.shape}",
                "draw all columns of every record",
            )  # fmt: skip
        return drawn[0] if rows is None else drawn

    def easiest(self) -> Matrix:
        if self.support is None:
            raise self._unbounded("easiest")
        low, high = self.support
        return np.where(self.mean - low >= high - self.mean, low, high)

    def _outside(self, rows: Matrix) -> NDArray[np.bool_]:
        if self.support is None:
            return super()._outside(rows)
        low, high = self.support
        return np.asarray((rows < low) | (rows > high))


def eigen(argument: str, matrix: ArrayLike, columns: int) -> tuple[Matrix, Matrix]:
    """Eigenvalues and eigenvectors of a covariance that can be inverted."""
    covariance = np.asarray(matrix, float)
    square = covariance.shape == (columns, columns)
    if not square or not np.isfinite(covariance).all() or not np.allclose(covariance, covariance.T):
        raise InvalidArgument(
            argument, f"be a symmetric matrix {columns} × {columns}", f"shape {covariance.shape}",
            "use numpy.cov(rows, rowvar=False)",
        )  # fmt: skip
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= values[-1] * columns * np.finfo(float).eps:
        raise InvalidArgument(
            argument, "be positive definite", f"least eigenvalue {values[0]:.3g}",
            "drop columns that others determine, or add a ridge to the diagonal",
        )  # fmt: skip
    return values, vectors


def _vector(argument: str, values: ArrayLike) -> Matrix:
    try:
        vector = np.array(values, float)
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise InvalidArgument(
            argument, "be finite numbers, one per column", f"shape {vector.shape}",
            "give a list such as [0.1, 0.5]",
        )  # fmt: skip
    return vector
