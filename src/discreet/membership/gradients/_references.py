"""What an attacker knows of ordinary gradients: their mean, and the factor of their covariance.

From n references u_i, Ĉ = Σ (u_i - ū)(u_i - ū)'/(n-1), centred; Algorithms 13 and 14 of the thesis
print Σ u_i u_i'/n, the same plus ūū' (`centred=False`), which hides what lies along ū. The matrix
that is inverted is Ĉ + λI: the ridge λ is the variance of the noise that the attacker assumes in
every direction.

Gradients of a softmax layer add up to zero over the classes, so their covariance is singular: it is
worked out in classes - 1 orthonormal contrasts (Helmert's) per input, and nothing is lost.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..._checks import amount, check_flag
from ...errors import InvalidArgument
from .models._base import Factors

if TYPE_CHECKING:
    from ..._types import Array
    from .models._base import Model

RIDGE = 1e-4
"""The variance that is added in every direction, by default."""
CHUNK = 1024
"""References whose gradients are formed at a time."""
FORMAT = 2


@dataclass(frozen=True, eq=False)
class References:
    """Mean and factored covariance of reference gradients.

    >>> import numpy as np
    >>> ordinary = np.random.default_rng(1).normal(0.0, 2.0, (4000, 3))
    >>> known = References.of(ordinary, ridge=0.0)
    >>> bool(abs(known.distances(np.array([2.0, 0.0, 0.0])) - 1.0) < 0.2)  # |v|² / 4
    True
    """

    mean: Array
    """(d,)"""
    factor: Array
    """lower triangular L with LL' = Ĉ + λI, in contrasts if there is a basis"""
    ridge: float
    count: int
    basis: Array | None = None
    """(classes, classes - 1) contrasts of a softmax layer; None: as the gradients come"""
    centred: bool = True
    """whether Ĉ is about the mean, or about 0 as printed"""

    @classmethod
    def of(
        cls,
        gradients: Array | Factors,
        *,
        ridge: float = RIDGE,
        classes: int | None = None,
        centred: bool = True,
    ) -> References:
        """From gradients of references, one per point, or the factors of a softmax layer.

        `classes` says that rows are gradients of a softmax layer with so many classes;
        `centred=False` takes the matrix that the thesis prints.
        """
        from scipy.linalg import blas, cholesky

        if isinstance(gradients, Factors):
            classes = gradients.residuals.shape[1]
        else:
            gradients = np.asarray(gradients)  # whatever the framework, a list too
        n, d = len(gradients), _width(gradients)
        ridge = amount("ridge", ridge, infinite=False, fix=f"use ridge={RIDGE:g}")
        if classes is not None and (classes < 2 or d % classes):
            raise InvalidArgument(
                "classes", f"divide the {d} values of a gradient", classes, "leave it out"
            )
        basis = None if classes is None else contrasts(classes)
        k = d if basis is None else d // basis.shape[0] * basis.shape[1]
        if n < 2 or (ridge == 0.0 and n <= k):
            raise InvalidArgument(
                "references", f"be more than {k}, the dimension, where there is no ridge", n,
                f"use more references, or a ridge such as {RIDGE:g}",
            )  # fmt: skip
        mean = _mean(gradients)
        if not np.isfinite(mean).all():
            raise InvalidArgument(
                "references", "be finite", "a gradient that is not", "lower the learning rate"
            )
        centre = _in(mean[None], basis) if check_flag("centred", centred) else 0.0
        scatter = np.zeros((k, k), order="F")
        for some in _chunks(gradients, basis):
            scatter = blas.dsyrk(
                1.0, some - centre, beta=1.0, c=scatter, trans=1, lower=1, overwrite_c=1
            )
        scatter /= n - 1 if centred else n
        scatter[np.diag_indices(k)] += ridge
        try:
            factor = cholesky(scatter, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            raise InvalidArgument(
                "ridge", "make the covariance of the references invertible", ridge,
                f"use ridge={RIDGE:g} or more references",
            ) from None  # fmt: skip
        return cls(mean, factor, ridge, n, basis, centred)

    def uncentred(self) -> References:
        """The same references with the matrix about 0 that the thesis prints, Σ uu'/n, which is
        (n-1)/n Ĉ + ūū': the factor is updated, not made again. The ridge shrinks by (n-1)/n."""
        if not self.centred:
            return self
        kept = (self.count - 1) / self.count
        factor = np.array(self.factor.T) * math.sqrt(kept)  # rows of L': columns of L in one piece
        added = _in(self.mean[None], self.basis)[0].astype(float)
        for k, row in enumerate(factor):
            length = math.hypot(row[k], added[k])
            cosine, sine = length / row[k], added[k] / row[k]
            row[k] = length
            row[k + 1 :] = (row[k + 1 :] + sine * added[k + 1 :]) / cosine
            added[k + 1 :] = cosine * added[k + 1 :] - sine * row[k + 1 :]
        return References(
            self.mean, np.asfortranarray(factor.T), self.ridge * kept, self.count, self.basis, False
        )

    @property
    def size(self) -> int:
        """The length of a gradient."""
        return len(self.mean)

    def whitened(self, vectors: Array) -> Array:
        """L⁻¹v for every row: |L⁻¹v|² = v'(Ĉ + λI)⁻¹v."""
        return self._half(_in(np.atleast_2d(np.asarray(vectors, float)), self.basis)).T

    def solve(self, vectors: Array) -> Array:
        """(Ĉ + λI)⁻¹v for every row, in the coordinates of the gradients."""
        from scipy.linalg import solve_triangular

        half = self.whitened(vectors)
        whole = solve_triangular(self.factor, half.T, lower=True, trans="T", check_finite=False).T
        out = _out(whole, self.basis)
        return out if np.ndim(vectors) == 2 else out[0]

    def distances(self, vectors: Array) -> Array:
        """v'(Ĉ + λI)⁻¹v for every row."""
        half = self.whitened(vectors)
        found = np.einsum("ij,ij->i", half, half)
        return np.asarray(found if np.ndim(vectors) == 2 else found[0])

    def mahalanobis(self, gradients: Array | Factors, *, among: bool = False) -> Array:
        """|g - ū|² in (Ĉ + λI)⁻¹ for every candidate; divided by B it is the leakage of a batch.

        `among=True` says that each candidate is one of the references, which shrinks its distance:
        it is left out of the mean and covariance that it is held against. With x = u - ū and
        q = x'(Σxx')⁻¹x that is, for all references at once,

            m = (n-2) (n/(n-1))² q/(1 - nq/(n-1)),

        the ridge counting as a fixed part of Σxx'.
        """
        if among and not self.centred:
            raise InvalidArgument(
                "among", "be left out for a covariance that is not centred", among,
                "use References.of(gradients), or among=False as Algorithm 14 has it",
            )  # fmt: skip
        centre = _in(self.mean[None], self.basis)
        found = []
        for some in _chunks(gradients, self.basis):
            half = self._half(some - centre)
            found.append(np.einsum("ij,ij->j", half, half))
        distances = np.concatenate(found) if found else np.empty(0)
        if not among:
            return distances
        n = self.count
        q = distances / (n - 1)
        return (n - 2) * (n / (n - 1)) ** 2 * q / (1.0 - n * q / (n - 1))

    def _half(self, rows: Array) -> Array:
        from scipy.linalg import solve_triangular

        return solve_triangular(self.factor, rows.T, lower=True, check_finite=False)

    def save(self, path: Path) -> Path:
        """Write everything into one file, whole or not at all."""
        from ...simulator._files import written_whole

        basis = np.empty((0, 0)) if self.basis is None else self.basis
        with written_whole(Path(path)) as temporary, open(temporary, "wb") as file:
            np.savez(
                file, format=FORMAT, mean=self.mean, factor=self.factor, ridge=self.ridge,
                count=self.count, basis=basis, centred=self.centred,
            )  # fmt: skip
        return Path(path)

    @classmethod
    def load(cls, path: Path) -> References:
        """What `save` wrote."""
        from ...errors import DamagedFile

        try:
            with np.load(path, allow_pickle=False) as held:
                if int(held["format"]) != FORMAT:
                    raise ValueError(f"format {int(held['format'])}")
                basis = held["basis"]
                return cls(
                    held["mean"], held["factor"], float(held["ridge"]), int(held["count"]),
                    basis if basis.size else None, bool(held["centred"]),
                )  # fmt: skip
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise DamagedFile(
                f"{path} must hold references, got {error}; remove it to have it made again"
            ) from None


def references_at(
    model: Model,
    theta: Array,
    x: Array,
    y: Array,
    *,
    ridge: float = RIDGE,
    cache: bool | str | Path = False,
) -> References:
    """References of a model's softmax layer at given parameters, from points that are not attacked.

    Args:
        model: The model.
        theta: Its parameters.
        x: The points.
        y: Their labels.
        ridge: What is added to the diagonal of the covariance.
        cache: Whether they are kept in the folder `references` of the cache folder
            (`$DISCREET_CACHE`, else the user's); or a path in that folder. They are found again by
            a digest of parameters, points and ridge.

    Returns:
        The references.

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import SoftmaxRegression, references_at
        >>> rng = np.random.default_rng(1)
        >>> model, x, y = SoftmaxRegression(3, 2), rng.random((40, 3)), np.arange(40) % 2
        >>> references_at(model, model.start(rng), x, y).count
        40
    """
    file = None
    if cache:
        file = _cache_file(cache, _key(model, theta, x, y, ridge))
        if file is not None and file.is_file():
            return References.load(file)
    found = References.of(model.layer(theta, x, y), ridge=ridge)
    if file is not None:
        found.save(file)
    return found


def contrasts(classes: int) -> Array:
    """Helmert's orthonormal contrasts: (classes, classes - 1), columns adding up to zero.

    >>> contrasts(3).round(3).tolist()
    [[0.707, 0.408], [-0.707, 0.408], [0.0, -0.816]]
    """
    out = np.zeros((classes, classes - 1))
    for j in range(1, classes):
        out[:j, j - 1] = 1.0 / math.sqrt(j * (j + 1))
        out[j, j - 1] = -j / math.sqrt(j * (j + 1))
    return out


def _key(model: Model, theta: Array, x: Array, y: Array, ridge: float) -> str:
    digest = hashlib.sha256(f"{FORMAT} {model!r} {ridge!r} {x.shape} {x.dtype}".encode())
    for array in (theta, x, np.asarray(y, np.int64)):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()[:32]


def _cache_file(cache: bool | str | Path, key: str) -> Path | None:
    from ..._compiled import cache_folder

    folder = cache_folder() if cache is True else Path(str(cache))
    if folder is None:
        return None
    if cache is True:
        folder = folder / "references"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{key}.npz"


def _width(gradients: Array | Factors) -> int:
    if isinstance(gradients, Factors):
        return gradients.size
    if gradients.ndim != 2:
        raise InvalidArgument(
            "references", "be one vector of numbers per point", f"{gradients.ndim} axes",
            "flatten each gradient",
        )  # fmt: skip
    return int(gradients.shape[1])


def _mean(gradients: Array | Factors) -> Array:
    if isinstance(gradients, Factors):
        left, inputs = (np.asarray(a, float) for a in (gradients.residuals, gradients.inputs))
        return Factors(left, inputs).total() / len(gradients)
    return np.asarray(gradients.mean(axis=0, dtype=float))


def _chunks(gradients: Array | Factors, basis: Array | None) -> Iterator[Array]:
    """Gradients in the coordinates of the factor, some at a time."""
    for at in range(0, len(gradients), CHUNK):
        some = gradients[at : at + CHUNK]
        if isinstance(some, Factors):
            yield np.asarray(some.dense(basis), float)
        else:
            yield _in(np.asarray(some, float), basis)


def _in(rows: Array, basis: Array | None) -> Array:
    """Rows of gradients, in contrasts."""
    if basis is None:
        return rows
    cells = rows.reshape(len(rows), basis.shape[0], -1)
    return np.asarray(np.matmul(basis.T, cells).reshape(len(rows), -1))


def _out(rows: Array, basis: Array | None) -> Array:
    """Rows in contrasts, as gradients."""
    if basis is None:
        return rows
    cells = rows.reshape(len(rows), basis.shape[1], -1)
    return np.asarray(np.matmul(basis, cells).reshape(len(rows), -1))
