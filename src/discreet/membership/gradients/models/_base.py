"""What trainers and attacks ask of a model, and the gradient of a softmax layer in two factors.

With inputs f to the last layer, logits W(f, 1) and cross-entropy, the gradient in W of one point is
    g = r ⊗ (f, 1),   r = p - e_y,   p = softmax(logits),
so it is known by r and f: its norm is |r| |(f, 1)|, and Σ_classes g = 0 because Σ r = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

    from ...._types import Array


class Model(Protocol):
    """A classifier whose parameters are one vector; a softmax layer comes last in it.

    Example:
        >>> from discreet.membership.gradients.models import SoftmaxRegression
        >>> model = SoftmaxRegression(3, 2)  # one of them
        >>> model.size, model.head, model.classes
        (8, 8, 2)
    """

    @property
    def size(self) -> int:
        """How many parameters it has."""

    @property
    def classes(self) -> int:
        """How many labels there are."""

    @property
    def head(self) -> int:
        """How many of the parameters, the last ones, are the softmax layer's."""

    def start(self, rng: Generator) -> Array:
        """Parameters to begin with."""

    def logits(self, theta: Array, x: Array) -> Array:
        """One row of scores per point."""

    def gradients(self, theta: Array, x: Array, y: Array) -> Array:
        """The gradient of the cross-entropy, one per point."""

    def total(self, theta: Array, x: Array, y: Array, clip: float | None = None) -> Array:
        """The sum of the gradients, each clipped to a norm if told."""

    def layer(self, theta: Array, x: Array, y: Array) -> Factors:
        """The gradients in the softmax layer, as two factors."""

    def input_gradient(self, theta: Array, x: Array, upstream: Array) -> Array:
        """The gradient in x of a loss whose gradient in the softmax layer's inputs is given."""


@dataclass(frozen=True, eq=False)
class Factors:
    """Gradients of a softmax layer: point i has r_i ⊗ (f_i, 1).

    Example:
        >>> import numpy as np
        >>> from discreet.membership.gradients import Factors
        >>> layer = Factors(np.array([[0.5, -0.5]]), np.array([[2.0]]))
        >>> layer.size, layer.dense().tolist()
        (4, [[1.0, 0.5, -1.0, -0.5]])
    """

    residuals: Array
    """(n, classes)"""
    inputs: Array
    """(n, k), without the constant 1"""

    def __len__(self) -> int:
        return len(self.residuals)

    def __getitem__(self, which: Array | slice) -> Factors:
        return Factors(self.residuals[which], self.inputs[which])

    @property
    def size(self) -> int:
        """The length of a gradient."""
        return int(self.residuals.shape[1] * (self.inputs.shape[1] + 1))

    def dense(self, basis: Array | None = None) -> Array:
        """The gradients, one per point; in contrasts of the classes if a basis is given."""
        left = self.residuals if basis is None else self.residuals @ basis
        n, k = self.inputs.shape
        out = np.empty((n, left.shape[1], k + 1), np.result_type(left, self.inputs))
        np.multiply(left[:, :, None], self.inputs[:, None, :], out=out[:, :, :k])
        out[:, :, k] = left
        return out.reshape(n, -1)

    def norms(self) -> Array:
        """|g_i| = |r_i| sqrt(|f_i|² + 1)."""
        inputs = np.einsum("ij,ij->i", self.inputs, self.inputs) + 1.0
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", self.residuals, self.residuals) * inputs))

    def along(self, direction: Array) -> Array:
        """w'g_i of every point for one vector w, without forming the gradients."""
        rows = direction.reshape(self.residuals.shape[1], -1)
        seen = self.inputs @ rows[:, :-1].T + rows[:, -1]
        return np.asarray(np.einsum("ij,ij->i", self.residuals, seen))

    def total(self, clip: float | None = None) -> Array:
        """Σ_i g_i, each clipped to a norm if told: one matrix product."""
        left = self.residuals
        if clip is not None:
            left = left * clip_factors(self.norms(), clip)[:, None]
        k = self.inputs.shape[1]
        out = np.empty((left.shape[1], k + 1), np.result_type(left, self.inputs))
        np.matmul(left.T, self.inputs, out=out[:, :k])
        left.sum(axis=0, out=out[:, k])
        return out.reshape(-1)


def clip_factors(norms: Array, clip: float) -> Array:
    """min{1, c/|g|}, and 1 where g = 0."""
    return np.asarray(clip / np.maximum(norms, np.asarray(clip, norms.dtype)))


def clipped(gradients: Array, clip: float) -> Array:
    """Rows of gradients, each at most of that norm."""
    factors = clip_factors(np.linalg.norm(gradients, axis=1), clip)
    return np.asarray(gradients * factors[:, None])


def softmax(logits: Array) -> Array:
    """softmax over the last axis; the logits are used up."""
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    return logits


def residuals(logits: Array, y: Array) -> Array:
    """softmax(logits) - e_y, one vector per point; the logits are used up."""
    p = softmax(logits)
    p[np.arange(len(y)), y] -= 1
    return p


def losses(logits: Array, y: Array) -> Array:
    """The cross-entropy of each point."""
    top = logits.max(axis=1, keepdims=True)
    total = np.log(np.exp(logits - top).sum(axis=1)) + top[:, 0]
    return np.asarray(total - logits[np.arange(len(y)), y])
